/* exec/window_large.h - one partition that does not fit into memory: its rows lie on disk and are evaluated in slices. */
#pragma once

#include "exec/window.h"

typedef struct nl_window_large nl_window_large;

/* Which way each call goes, into call->road. *is_possible false: one of them needs the whole partition at once. */
NL_MUST_USE nl_status nl_window_large_plan(nl_window *window, bool *is_possible);

NL_MUST_USE nl_status nl_window_large_new(nl_window *window, nl_eval *eval, nl_window_large **large); /* owned; eval borrowed */
void nl_window_large_free(nl_window_large *large); /* NULL is fine */
/* The partition's next rows, in order. new_peer: per row, does it differ from the one before it in the order? */
NL_MUST_USE nl_status nl_window_large_add(nl_window_large *large, const nl_batch *rows, const uint8_t *new_peer);
/* After the last row: what must be known of the whole partition. */
NL_MUST_USE nl_status nl_window_large_finish(nl_window_large *large);
/* The child's columns, then the results, of the next rows. Empty: no more. */
NL_MUST_USE nl_status nl_window_large_next(nl_window_large *large, nl_batch *batch);
