/* format/parquet/leaf_internal.h - what leaf.c and leaf_repeated.c do for each other. */
#pragma once

#include "format/parquet/leaf.h"

/* The next data page's header. *is_end: there is none (nothing else is set then). */
NL_MUST_USE nl_status nl_leaf_next_header(nl_leaf_cursor *cursor, nl_page_header *header, uint64_t *offset, bool *is_end);
NL_MUST_USE nl_status nl_leaf_open_page(nl_leaf_cursor *cursor, const nl_page_header *header, uint64_t offset);
NL_MUST_USE nl_status nl_leaf_load_dictionary(nl_leaf_cursor *cursor);
/* Leaves the present page for the start of the one that holds `row`, when a later one does. Slots must be known. */
bool nl_leaf_jump(nl_leaf_cursor *cursor, uint64_t row);
/* `count` present values (at most NL_BATCH_ROWS) in the wanted form; *heap is made when strings need it. */
NL_MUST_USE nl_status nl_leaf_read_values(nl_leaf_cursor *cursor, uint32_t count, nl_heap **heap, void *out);
NL_MUST_USE nl_status nl_leaf_keep_bytes(nl_leaf_cursor *cursor, nl_heap **heap);
NL_MUST_USE nl_status nl_leaf_skip_repeated(nl_leaf_cursor *cursor, uint64_t row);
/* Has a page with entries before it, for flat leaves. */
NL_MUST_USE nl_status nl_leaf_enter_page(nl_leaf_cursor *cursor);
/* The present page's values go to the sink as codes of the dictionary. */
bool nl_leaf_takes_codes(const nl_leaf_cursor *cursor, const nl_leaf_sink *sink);
