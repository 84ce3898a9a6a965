/* command/call/sort_text.h - the sort_order argument of rewrite_data_files: "c ASC NULLS LAST, d" or "zorder(a, b)". */
#pragma once

#include "command/command_private.h"
#include "iceberg/sort_order.h"

/* *order or, for zorder, *zorder (column field ids as (void *)(uintptr_t)id) is set. */
NL_MUST_USE nl_status nl_parse_sort_text(nl_command *command, const nl_schema *schema, nl_str text, const nl_sort_order **order, const nl_list **zorder);
/* The input sorted by the interleaved bits of 8-byte images of the columns (Morton order). */
NL_MUST_USE nl_status nl_sort_by_zorder(nl_command *command, const nl_schema *schema, const nl_list *field_ids, const nl_logical *input, const nl_logical **plan);
