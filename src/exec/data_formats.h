/* exec/data_formats.h - which formats of Iceberg's data and delete files are read and written how. */
#pragma once

#include "format/data_format.h"
#include "iceberg/manifest.h"

/* NULL for Parquet, which scans and writers handle by themselves, and for formats that nilas has not. */
const nl_data_format *nl_data_format_of(nl_file_format format);
/* "parquet", "avro" …, any case: a format to write. Fails: Spark's words for one that Iceberg does not have; NILAS_UNSUPPORTED. */
NL_MUST_USE nl_status nl_data_format_find(nl_str name, nl_file_format *format);
/* NILAS_UNSUPPORTED for a data or delete file of a format that nilas cannot read. */
NL_MUST_USE nl_status nl_data_format_check(const nl_data_file *file);
