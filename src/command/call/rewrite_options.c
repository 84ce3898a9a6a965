/* command/call/rewrite_options.c - see rewrite_options.h. */
#include "command/call/rewrite_options.h"

#include "base/number.h"

typedef struct option_row {
    const char *name;
    unsigned procedures;
    size_t offset;        /* in nl_rewrite_options; SIZE_MAX: read by name below, or of no effect here */
} option_row;

#define BOTH (NL_REWRITES_DATA | NL_REWRITES_DELETES)
#define NUMBER(name, procedures, member) {name, procedures, offsetof(nl_rewrite_options, member)}
#define OTHER(name, procedures) {name, procedures, SIZE_MAX}
static const option_row option_rows[] = {
    NUMBER("target-file-size-bytes", BOTH, target_file_bytes),
    NUMBER("min-file-size-bytes", BOTH, min_file_bytes),
    NUMBER("max-file-size-bytes", BOTH, max_file_bytes),
    NUMBER("max-file-group-size-bytes", BOTH, max_group_bytes),
    NUMBER("delete-file-threshold", NL_REWRITES_DATA, delete_file_threshold),
    NUMBER("max-files-to-rewrite", NL_REWRITES_DATA, max_files_to_rewrite),
    OTHER("min-input-files", BOTH),
    OTHER("rewrite-all", BOTH),
    OTHER("rewrite-job-order", BOTH),
    OTHER("partial-progress.enabled", BOTH),
    OTHER("partial-progress.max-commits", BOTH),
    OTHER("max-concurrent-file-group-rewrites", BOTH),
    OTHER("partial-progress.max-failed-commits", NL_REWRITES_DATA),
    OTHER("delete-ratio-threshold", NL_REWRITES_DATA),
    OTHER("use-starting-sequence-number", NL_REWRITES_DATA),
    OTHER("output-spec-id", NL_REWRITES_DATA),
    OTHER("remove-dangling-deletes", NL_REWRITES_DATA),
    OTHER("compression-factor", NL_REWRITES_SORTED | NL_REWRITES_ZORDER),
    OTHER("shuffle-partitions-per-file", NL_REWRITES_SORTED | NL_REWRITES_ZORDER),
    OTHER("var-length-contribution", NL_REWRITES_ZORDER),
    OTHER("max-output-size", NL_REWRITES_ZORDER),
};

static nl_str option_value(const nl_property *items, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(items[i].key, name)) return items[i].value;
    return (nl_str){0};
}

/* What Java says of a text that is no number. */
static nl_status bad_number(nl_str value)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(value));
}

static nl_status at_least(const char *name, int64_t value, int64_t least)
{
    if (value >= least) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'%s' is set to %lld but must be %s 0", name, (long long)value, least ? ">" : ">=");
}

static bool is_known(nl_str name, unsigned procedure)
{
    for (uint32_t i = 0; i < NL_COUNT(option_rows); i++)
        if (option_rows[i].procedures & procedure && nl_str_is(name, option_rows[i].name)) return true;
    return false;
}

static nl_status job_order(nl_str text, nl_rewrite_options *options)
{
    static const char *const names[] = {"none", "bytes-asc", "bytes-desc", "files-asc", "files-desc"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(text, names[i])) {
            options->job_order = i;
            return NULL;
        }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid rewrite job order name: " NL_STR_FMT, NL_STR_ARG(text));
}

static nl_status read_number(const nl_property *items, uint32_t count, const char *name, int64_t *value)
{
    const nl_str text = option_value(items, count, name);
    return text.data && !nl_parse_int64(nl_str_trim(text), value) ? bad_number(text) : NULL;
}

static nl_status read_sizes(const nl_property *items, uint32_t count, nl_rewrite_options *options)
{
    NL_TRY(read_number(items, count, "target-file-size-bytes", &options->target_file_bytes));
    options->min_file_bytes = (int64_t)((double)options->target_file_bytes * 0.75);
    options->max_file_bytes = (int64_t)((double)options->target_file_bytes * 1.8);
    for (uint32_t i = 0; i < NL_COUNT(option_rows); i++) {
        int64_t value;
        if (option_rows[i].offset == SIZE_MAX) continue;
        memcpy(&value, (const char *)options + option_rows[i].offset, sizeof value);
        NL_TRY(read_number(items, count, option_rows[i].name, &value));
        memcpy((char *)options + option_rows[i].offset, &value, sizeof value);
    }
    const long long target = options->target_file_bytes, smallest = options->min_file_bytes, largest = options->max_file_bytes;
    NL_TRY(at_least("target-file-size-bytes", target, 1));
    NL_TRY(at_least("min-file-size-bytes", smallest, 0));
    if (target <= smallest)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'target-file-size-bytes' (%lld) must be > 'min-file-size-bytes' (%lld), all new files will be smaller than the min threshold",
                             target, smallest);
    if (target >= largest)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'target-file-size-bytes' (%lld) must be < 'max-file-size-bytes' (%lld), all new files will be larger than the max threshold",
                             target, largest);
    return NULL;
}

/* How sorting goes about it is nilas's business: these are checked, and change nothing. */
static nl_status check_sorting(const nl_property *items, uint32_t count)
{
    const nl_str factor_text = option_value(items, count, "compression-factor");
    double factor = 1;
    int64_t partitions = 1, contribution = 8, output_bytes = INT32_MAX;
    if (factor_text.data && !nl_parse_double(factor_text, &factor)) return bad_number(factor_text);
    NL_TRY(read_number(items, count, "shuffle-partitions-per-file", &partitions));
    NL_TRY(read_number(items, count, "var-length-contribution", &contribution));
    NL_TRY(read_number(items, count, "max-output-size", &output_bytes));
    if (!(factor > 0)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'compression-factor' is set to %.1f but must be > 0", factor);
    NL_TRY(at_least("shuffle-partitions-per-file", partitions, 1));
    if (contribution < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use less than 1 byte for variable length types with ZOrder, 'var-length-contribution' was set to %lld", (long long)contribution);
    if (output_bytes < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot have the interleaved ZOrder value use less than 1 byte, 'max-output-size' was set to %lld", (long long)output_bytes);
    return NULL;
}

static nl_status check_counts(const nl_property *items, uint32_t count, nl_rewrite_settings *settings)
{
    int64_t concurrent = 1;
    NL_TRY(read_number(items, count, "max-concurrent-file-group-rewrites", &concurrent));
    settings->is_partial = nl_str_is_nocase(option_value(items, count, "partial-progress.enabled"), "true");
    if (concurrent < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set max-concurrent-file-group-rewrites to %lld, the value must be positive.", (long long)concurrent);
    if (settings->is_partial && settings->commits_max < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Cannot set partial-progress.max-commits to %lld, the value must be positive when partial-progress.enabled is true",
                             (long long)settings->commits_max);
    return NULL;
}

nl_status nl_read_rewrite_options(const nl_property *items, uint32_t count, unsigned procedure, const char *rewriter, nl_rewrite_options *options,
                                  nl_rewrite_settings *settings)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_known(items[i].key, procedure))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use options [" NL_STR_FMT "], they are not supported by the action or the rewriter %s",
                                 NL_STR_ARG(items[i].key), rewriter);
    NL_TRY(read_sizes(items, count, options));
    NL_TRY(read_number(items, count, "min-input-files", &settings->min_input_files));
    NL_TRY(read_number(items, count, "output-spec-id", &settings->spec_id));
    NL_TRY(read_number(items, count, "partial-progress.max-commits", &settings->commits_max));
    NL_TRY(at_least("min-input-files", settings->min_input_files, 1));
    NL_TRY(at_least("max-file-group-size-bytes", options->max_group_bytes, 1));
    NL_TRY(at_least("delete-file-threshold", options->delete_file_threshold, 0));
    NL_TRY(check_counts(items, count, settings));
    NL_TRY(check_sorting(items, count));
    if (option_value(items, count, "max-files-to-rewrite").data && options->max_files_to_rewrite < 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set max-files-to-rewrite to %lld, the value must be positive integer.", (long long)options->max_files_to_rewrite);
    options->min_input_files = (int32_t)NL_MIN(settings->min_input_files, INT32_MAX);
    options->output_spec_id = (int32_t)settings->spec_id;
    options->rewrites_all = nl_str_is_nocase(option_value(items, count, "rewrite-all"), "true");
    settings->keeps_sequence_number = !nl_str_is_nocase(option_value(items, count, "use-starting-sequence-number"), "false");
    const nl_str ratio = option_value(items, count, "delete-ratio-threshold"), order = option_value(items, count, "rewrite-job-order");
    if (ratio.data && !nl_parse_double(ratio, &options->delete_ratio_threshold)) return bad_number(ratio);
    if (ratio.data && !(options->delete_ratio_threshold > 0 && options->delete_ratio_threshold <= 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "'delete-ratio-threshold' is set to %.1f but must be %s", options->delete_ratio_threshold,
                             options->delete_ratio_threshold > 1 ? "<= 1" : "> 0");
    settings->removes_dangling = nl_str_is_nocase(option_value(items, count, "remove-dangling-deletes"), "true");
    return order.data ? job_order(order, options) : NULL;
}
