/* exec/data_formats.c - see data_formats.h. */
#include "exec/data_formats.h"

#include "format/avro/data_format.h"
#include "format/orc/data_format.h"

const nl_data_format *nl_data_format_of(nl_file_format format)
{
    switch (format) {
    case NL_FORMAT_AVRO: return &nl_avro_data_format;
    case NL_FORMAT_ORC: return &nl_orc_data_format;
    case NL_FORMAT_PARQUET:
    case NL_FORMAT_PUFFIN: break;
    }
    return NULL;
}

nl_status nl_data_format_find(nl_str name, nl_file_format *format)
{
    nl_file_format found;
    if (!nl_file_format_parse(name, &found)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid file format: " NL_STR_FMT, NL_STR_ARG(name));
    if (found == NL_FORMAT_PUFFIN) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Unsupported data file format: PUFFIN");
    if (found != NL_FORMAT_PARQUET && !nl_data_format_of(found))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot write data files of format %s yet; parquet, avro and orc it can", nl_file_format_name(found));
    *format = found;
    return NULL;
}

nl_status nl_data_format_check(const nl_data_file *file)
{
    if (file->format == NL_FORMAT_PARQUET || nl_data_format_of(file->format)) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot read %s files of format %s yet: " NL_STR_FMT, file->content == NL_CONTENT_DATA ? "data" : "delete",
                         nl_file_format_name(file->format), NL_STR_ARG(file->path));
}
