/* format/xml/xml_writer.h - batches to an XML file: a declaration, the root element, an element a row. */
#pragma once

#include "column/batch.h"
#include "format/text/text_output.h"
#include "format/xml/xml_options.h"

typedef struct nl_xml_writer nl_xml_writer;
/* path: with the compression's suffix; struct_type and options: borrowed, outlive the writer. */
NL_MUST_USE nl_status nl_xml_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type, const nl_xml_options *options, nl_memory *memory, nl_xml_writer **writer);
NL_MUST_USE nl_status nl_xml_writer_write(nl_xml_writer *writer, const nl_batch *batch);
NL_MUST_USE nl_status nl_xml_writer_close(nl_xml_writer *writer); /* takes writer, also on failure. A file without rows is empty. */
void nl_xml_writer_abort(nl_xml_writer *writer);                  /* takes writer; NULL is fine */

/* Types that XML files cannot hold. Fails: UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE. */
NL_MUST_USE nl_status nl_xml_check_type(const nl_type *struct_type);
