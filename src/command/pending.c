/* command/pending.c - what other parts call and is not there yet: each says so. */
#include "command/command_private.h"

#include "exec/sources.h"

nl_status nl_file_source_new(nl_str format, const nl_str *paths, uint32_t path_count, const nl_property *options, uint32_t option_count, const nl_type *schema,
                             const nl_eval_confs *confs, nl_memory *memory, nl_pool *pool, const nl_table **source)
{
    (void)paths, (void)path_count, (void)options, (void)option_count, (void)schema, (void)confs, (void)memory, (void)pool, (void)source;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot read plain files yet: " NL_STR_FMT, NL_STR_ARG(format));
}

bool nl_file_format_is_known(nl_str format)
{
    (void)format;
    return false;
}
