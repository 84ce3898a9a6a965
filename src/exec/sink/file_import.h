/* exec/sink/file_import.h - an existing file as an entry of a manifest: add_files, snapshot, migrate. */
#pragma once

#include "iceberg/manifest.h"
#include "iceberg/name_mapping.h"

typedef struct nl_file_import {
    nl_fs *fs;                         /* that reaches the file */
    nl_str path;                       /* as the manifest will have it */
    nl_file_format format;
    const nl_table_metadata *metadata;
    const nl_partition_spec *spec;
    const nl_value *partition;         /* one per field of spec, or NULL */
    const nl_name_mapping *mapping;    /* for files without field ids; or NULL */
} nl_file_import;

/* Reads the footer. Counts and bounds are those of the footer as far as it has them and the table's metrics modes want
 * them; a file whose types are not the table's has none. *file lives in the arena. */
NL_MUST_USE nl_status nl_file_import_read(const nl_file_import *import, nl_memory *memory, nl_arena *arena, nl_data_file *file);
