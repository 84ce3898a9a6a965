/* format/orc/data_format.h - ORC behind the interface that all formats of data files have (format/data_format.h). */
#pragma once

#include "format/data_format.h"

/* Of Iceberg tables: columns by the attribute iceberg.id, days and times as they are. */
extern const nl_data_format nl_orc_data_format;
/* Files outside of tables, as Spark's own reader takes them: columns by name in any case (those of files without names by their
 * field_id, from 1, as their place), old days and times of the hybrid calendar, wall-clock times in the machine's zone. Written
 * the same way. */
extern const nl_data_format nl_orc_plain_format;
