/* column/arrow.h - the Arrow C data and stream interfaces (Arrow specification, "The Arrow C data interface"). */
#pragma once

#include "column/batch.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Exports use utf8/binary with 32-bit offsets (large_* above 2 GiB), decimal128, timestamps in "UTC" or none, lists,
 * maps and structs: what pyarrow and Spark read everywhere. */
NL_MUST_USE nl_status nl_arrow_export_schema(const nl_type *struct_type, struct ArrowSchema *schema);
NL_MUST_USE nl_status nl_arrow_export_batch(const nl_type *struct_type, const nl_batch *batch, nl_memory *memory, struct ArrowArray *array);
NL_MUST_USE nl_status nl_arrow_import_schema(const struct ArrowSchema *schema, nl_arena *arena, const nl_type **struct_type);
/* Takes *array (released by the batch's last buffer, or here when copied). Any Arrow layout, views and dictionaries included. */
NL_MUST_USE nl_status nl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const nl_type *struct_type, nl_memory *memory, nl_batch *batch);
