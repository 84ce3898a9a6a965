/* catalog/glue/input.h - what Glue stores of a database or table, written as JSON.
 *
 * Source: Java's IcebergToGlueConverter. Columns are for people and for engines that do not read Iceberg: the truth is in
 * the metadata file. They are those of the current schema, then what earlier schemas had besides.
 */
#pragma once

#include "base/json.h"
#include "iceberg/metadata.h"

/* The members of a TableInput but Name, TableType and Parameters: Description, StorageDescriptor. existing: the Glue table
 * as GetTable gave it, whose comments stay where the metadata has none; or NULL. */
void nl_glue_write_table(nl_json_writer *writer, const nl_table_metadata *metadata, const json_t *existing);
/* A DatabaseInput: "location" and "comment" become LocationUri and Description. */
void nl_glue_write_database(nl_json_writer *writer, nl_str name, const nl_property *properties, uint32_t property_count);
