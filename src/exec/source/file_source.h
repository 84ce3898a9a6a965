/* exec/source/file_source.h - plain files as a table: what file_source.c and text_scan.c share. */
#pragma once

#include "exec/scan.h"
#include "exec/source/plain_files.h"
#include "exec/sources.h"
#include "format/csv/csv_reader.h"
#include "format/json/json_reader.h"
#include "format/text/plain_text.h"
#include "format/xml/xml_reader.h"
#include "format/xml/xml_writer.h"

typedef enum nl_plain_format { NL_FILES_PARQUET, NL_FILES_CSV, NL_FILES_JSON, NL_FILES_TEXT, NL_FILES_BINARY, NL_FILES_XML, NL_FILES_ORC } nl_plain_format;

typedef struct nl_file_source {
    nl_table base;
    nl_arena *arena; /* owned */
    nl_plain_format format;
    nl_plain_files files;
    nl_file_selection selection;
    const nl_type *data_type; /* STRUCT: what the files hold; the row type is this and the partition columns */
    nl_csv_options csv;
    nl_json_file_options json;
    nl_plain_text_options text;
    nl_xml_options xml;
    bool merges_schema;
    uint64_t identity; /* of paths and options */
} nl_file_source;

/* All but Parquet and ORC: files, or parts of them, are handed out one by one. */
NL_MUST_USE nl_status nl_text_scan_new(const nl_file_source *source, nl_query *query, const nl_logical *node, nl_scan **scan);
