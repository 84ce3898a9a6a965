/* iceberg/manifest_internal.h - what stands behind a nl_manifest; for the manifest_*.c files only. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "base/number.h"
#include "format/avro/file.h"
#include "iceberg/manifest.h"

typedef struct nl_manifest_owner {
    nl_manifest manifest; /* first: nl_manifest pointers are turned back into owners */
    nl_arena *arena;
    nl_memory *memory;    /* counted; NULL: charged to nobody */
    nl_list blocks;       /* nl_buffer *, counted */
    size_t block_bytes;
    atomic_uint references;
    nl_mutex mutex;       /* guards statistics and statistics_bytes */
    struct cached_statistics *statistics; /* a chain, allocated by malloc since threads share it */
    size_t statistics_bytes;
} nl_manifest_owner;

nl_manifest_owner *nl_manifest_owner_new(nl_str path, nl_memory *memory);
/* Schema, spec, content and version from a manifest's file metadata; manifest->path is set. */
NL_MUST_USE nl_status nl_manifest_read_head(nl_arena *arena, const nl_avro_file *file, nl_manifest *manifest);
