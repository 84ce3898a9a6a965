/* format/avro/data_format.h - Avro files as data and delete files of Iceberg tables. */
#pragma once

#include "format/data_format.h"

/* Without positions a file is cut by byte ranges at sync markers; with them the heads of its blocks are read first. Keeps
 * no statistics, as Iceberg's Java. Codecs to write: gzip (the default), zstd, snappy, uncompressed. */
extern const nl_data_format nl_avro_data_format;
