/* exec/group_table.h - a hash table of rows by key: open addressing over row addresses, rows in stores by hash.
 *
 * Threads: a table belongs to one worker.
 */
#pragma once

#include "exec/engine.h"
#include "exec/row.h"

#define NL_GROUP_PARTS_BITS 4u /* stores per table, by the top bits of the hash */
#define NL_GROUP_PARTS      (1u << NL_GROUP_PARTS_BITS)

/* Before every row's columns. */
typedef struct nl_group_header {
    uint64_t hash;
    uint32_t is_dead; /* merged into another row: not to be output */
    uint32_t arrival; /* how many rows its table had before it; counts only while they are few */
} nl_group_header;

typedef struct nl_group_table {
    nl_exec *exec;
    const nl_row_layout *layout; /* columns: the keys; states behind */
    uint32_t key_count;
    nl_row_store parts[NL_GROUP_PARTS];
    nl_buffer *directory; /* uint64_t: 16 bits of the hash, 48 of the address; 0 is free */
    uint64_t mask;
    uint64_t group_count; /* in the directory */
    uint64_t row_count;   /* in the stores */
    uint64_t epoch;       /* changes when addresses become stale */
    /* The last find's, by position in the selection: */
    uint8_t **rows;
    uint32_t *fresh;      /* positions whose row is new */
    uint32_t fresh_count;
    nl_buffer *scratch;
    uint32_t scratch_rows;
    uint64_t *hashes;     /* by batch row */
    uint32_t hash_rows;
    nl_buffer *hash_buffer;
    uint32_t *batch_rows, *pending, *candidates;
    uint64_t *slots;
} nl_group_table;

void nl_group_table_init(nl_group_table *table, nl_exec *exec, const nl_row_layout *layout, uint32_t key_count);
void nl_group_table_fini(nl_group_table *table); /* states must have been destroyed */
/* Forgets all groups; rows stay in their stores (finding the same key again makes a second row). */
void nl_group_table_forget(nl_group_table *table);
void nl_group_table_drop_directory(nl_group_table *table); /* forgets, and gives its memory back */
size_t nl_group_table_bytes(const nl_group_table *table);
/* Space that `count` more groups with key_bytes of long keys would need beyond what is there. */
size_t nl_group_table_growth(const nl_group_table *table, uint32_t count, size_t key_bytes);

/* Hashes of the keys of all row_count rows, into table->hashes. */
NL_MUST_USE nl_status nl_group_table_hash(nl_group_table *table, const nl_vector *keys, uint32_t row_count);
/* For each selected row the address of its group's row, into table->rows; new ones are listed in table->fresh, their
 * keys written. Keys: encoded (nl_group_keys_encode), hashed. adopt: by selected position, rows to use instead of
 * making new ones (their hash and keys are set already); or NULL. */
NL_MUST_USE nl_status nl_group_table_find(nl_group_table *table, const nl_vector *keys, nl_selection selection, uint8_t *const *adopt);

/* Replaces nested keys by their encoded form and brings -0.0 and NaN to one form. keys: owned vectors. */
NL_MUST_USE nl_status nl_group_keys_encode(nl_vector *keys, uint32_t key_count, nl_selection selection, nl_memory *memory);
