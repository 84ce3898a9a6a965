/* format/parquet/leaf.h - one leaf column of one row group, read forwards: skip rows, read rows. Inside the folder only.
 *
 * A cursor stands before a row. Skipping steps over whole pages without decompressing them wherever headers or the
 * offset index tell how many rows they hold. Flat leaves (no repetition) are read into a sink, repeated ones into a
 * window of levels and values, from which assemble.c makes nested vectors.
 */
#pragma once

#include "format/parquet/mapping.h"
#include "format/parquet/page.h"

/* Where a page lies and which row it starts with. */
typedef struct nl_page_slot {
    uint64_t offset;
    uint64_t first_row; /* of the row group */
    uint32_t bytes;     /* header included */
} nl_page_slot;

/* What scans of one row group share about a leaf. Filled under the reader's lock, in place afterwards. */
typedef struct nl_shared_chunk {
    nl_buffer *slots; /* counted; nl_page_slot[slot_count]; NULL: not known */
    uint32_t slot_count;
    nl_shared_vector *dictionary; /* counted; NULL: not loaded */
} nl_shared_chunk;

struct nl_parquet_reader; /* reader_object.h */

#define NL_LEVEL_BLOCK 1024u

typedef struct nl_leaf_cursor {
    struct nl_parquet_reader *reader; /* borrowed */
    const nl_map_leaf *leaf;
    const nl_parquet_chunk *chunk;
    uint32_t leaf_index, row_group;
    nl_memory *memory;         /* borrowed */
    nl_codec_context *context; /* borrowed from the scan */
    nl_page_source source;
    uint64_t group_rows;
    uint64_t last_row;    /* that the scan wants */
    uint64_t stream_row;  /* that other scans of the file will want soon; 0: nobody has said so */
    uint64_t row;         /* the next row */
    uint64_t next_offset; /* of the next page's header */
    uint64_t entries_met; /* of all pages stepped over or opened, in sequence from the start */
    bool is_started;
    nl_buffer *slots;     /* counted */
    uint32_t slot_count;
    uint32_t next_slot;
    /* the present page */
    uint32_t entries_left;    /* entries whose levels were not decoded yet */
    bool is_dictionary_page;
    nl_page page;
    nl_buffer *page_buffer;   /* owned: one reference */
    nl_buffer *spare_buffer;
    nl_values values;
    nl_shared_vector *dictionary; /* counted */
    /* repeated leaves: levels of entries not yet used */
    uint8_t *level_repetition, *level_definition; /* NL_LEVEL_BLOCK each; owned */
    uint32_t level_at, level_count;
    bool ends_at_row; /* the present page is known to end with a row */
    uint64_t page_rows, page_rows_met; /* rows it is announced to hold (ends_at_row), and begun so far */
    nl_buffer *scratch; /* stored forms before conversion, indices, dense values */
} nl_leaf_cursor;

void nl_leaf_cursor_init(nl_leaf_cursor *cursor, struct nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf_index, nl_memory *memory,
                         nl_codec_context *context, uint64_t last_row);
void nl_leaf_cursor_fini(nl_leaf_cursor *cursor);
/* Moves forwards to a row of the row group. */
NL_MUST_USE nl_status nl_leaf_skip_to(nl_leaf_cursor *cursor, uint64_t row);

/* ---- Flat leaves ---- */

typedef enum nl_sink_mode { NL_SINK_EMPTY, NL_SINK_FLAT, NL_SINK_CODES } nl_sink_mode;
typedef struct nl_leaf_sink {
    uint32_t capacity;      /* rows it has room for */
    uint32_t row_count;
    nl_sink_mode mode;
    bool allows_codes;      /* a DICTIONARY vector may come out */
    bool allows_constant;   /* a CONSTANT null may come out */
    bool wants_definitions; /* the levels are needed for structs above */
    uint32_t null_count;
    nl_buffer *values, *codes, *validity, *definitions;
    nl_heap *heap;
} nl_leaf_sink;
NL_MUST_USE nl_status nl_leaf_read(nl_leaf_cursor *cursor, uint32_t row_count, nl_leaf_sink *sink);
/* The rows base + rows[0 … count) of the row group, ascending, none before the cursor's; base is not behind it. */
NL_MUST_USE nl_status nl_leaf_read_rows(nl_leaf_cursor *cursor, uint64_t base, const uint32_t *rows, uint32_t count, nl_leaf_sink *sink);
/* Makes the sink's rows a vector and empties the sink. */
NL_MUST_USE nl_status nl_leaf_sink_finish(const nl_leaf_cursor *cursor, nl_leaf_sink *sink, nl_vector *vector);
void nl_leaf_sink_fini(nl_leaf_sink *sink);

/* ---- Repeated leaves ---- */

typedef struct nl_leaf_window {
    nl_buffer *repetition, *definition; /* bytes, one per entry */
    uint64_t entry_count;
    nl_buffer *values; /* the present ones, dense, in the wanted form */
    uint64_t value_count;
    nl_heap *heap;
} nl_leaf_window;
NL_MUST_USE nl_status nl_leaf_read_repeated(nl_leaf_cursor *cursor, uint32_t row_count, nl_leaf_window *window);
void nl_leaf_window_fini(nl_leaf_window *window);
