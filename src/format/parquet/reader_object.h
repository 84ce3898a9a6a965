/* format/parquet/reader_object.h - the reader itself, for the files of this folder only. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "format/parquet/leaf.h"
#include "format/parquet/mapping.h"
#include "format/parquet/reader.h"

typedef struct nl_group_state { /* of a row group that scans are open on */
    uint32_t scan_count;
    nl_shared_chunk *chunks; /* one per mapping leaf; owned */
} nl_group_state;

struct nl_parquet_reader {
    atomic_uint references;
    nl_file *file;             /* borrowed */
    nl_parquet_footer *footer; /* counted */
    nl_memory *memory;         /* counted */
    nl_kept_object *kept;      /* counted: where unpacked pages and indexes of the file are kept; NULL: nowhere */
    nl_arena *arena;           /* owns this object */
    nl_mapping mapping;
    nl_parquet_read_options options; /* defaults filled in */
    nl_mutex mutex;
    nl_group_state *groups; /* guarded by mutex: one per row group */
};

NL_MUST_USE nl_status nl_reader_group_open(nl_parquet_reader *reader, uint32_t row_group);
void nl_reader_group_close(nl_parquet_reader *reader, uint32_t row_group);

/* The pages of a leaf's chunk, from the offset index or, when need_all, from a walk over the page headers. *slots is
 * counted, NULL when they are not known. */
NL_MUST_USE nl_status nl_reader_slots(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, bool need_all, nl_memory *memory,
                                      nl_buffer **slots, uint32_t *slot_count);
/* From the file's offset index alone; *slots NULL when it has none that is usable. */
NL_MUST_USE nl_status nl_offset_index_read(nl_file *file, const nl_parquet_chunk *chunk, uint64_t row_count, nl_memory *memory, nl_buffer **slots,
                                           uint32_t *slot_count);
