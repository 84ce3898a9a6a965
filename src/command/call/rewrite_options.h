/* command/call/rewrite_options.h - the options of rewrite_data_files and rewrite_position_delete_files. */
#pragma once

#include "command/call/procedure.h"
#include "iceberg/maintenance.h"

/* Which of them knows an option; those of sorting and of a Z-order come with strategy => 'sort'. */
enum { NL_REWRITES_DATA = 1, NL_REWRITES_DELETES = 2, NL_REWRITES_SORTED = 4, NL_REWRITES_ZORDER = 8 };

typedef struct nl_rewrite_settings { /* what is not about choosing files */
    bool is_partial;
    int64_t commits_max;
    int64_t min_input_files;
    int64_t spec_id;
    bool keeps_sequence_number;
    bool removes_dangling;
} nl_rewrite_settings;

/* Fills both over their defaults; sizes left open follow from target_file_bytes. rewriter: for the message about unknown
 * options. Fails: NILAS_ILLEGAL_ARGUMENT. */
NL_MUST_USE nl_status nl_read_rewrite_options(const nl_property *items, uint32_t count, unsigned procedure, const char *rewriter, nl_rewrite_options *options,
                                              nl_rewrite_settings *settings);
