/* format/written.c - see written.h. */
#include "format/written.h"

nl_status nl_required_is_null(nl_str name)
{
    nl_builder path; /* "`id`" and a line's end, before the sentence that Spark adds */
    nl_builder_init(&path, 1 << 16);
    nl_append_f(&path, "\n- field `" NL_STR_FMT "`\n", NL_STR_ARG(name));
    nl_status status = NL_RAISE(NOT_NULL_ASSERT_VIOLATION, NL_P("walkedTypePath", nl_builder_c(&path)));
    nl_builder_fini(&path);
    return status;
}
