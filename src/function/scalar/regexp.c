/* scalar/regexp.c - rlike, regexp_* and split. Constant patterns are compiled at bind time; others per change of text. */
#include "function/groups.h"
#include "function/regex.h"
#include "function/text.h"

#include <ctype.h>

typedef struct regex_state {
    nl_regex *constant; /* in the plan's arena; NULL: the pattern varies, or is bad */
} regex_state;

static void free_regex(void *regex)
{
    nl_regex_free(regex);
}

static nl_status bind_regex(nl_bind *bind, nl_bound_function *bound)
{
    regex_state *state = NL_NEW(bind->arena, regex_state);
    bound->state = state;
    const nl_value *pattern = bind->constants[1];
    if (pattern == NULL || pattern->is_null) return NULL;
    state->constant = nl_regex_compile(pattern->text);
    if (state->constant != NULL) nl_arena_on_free(bind->arena, free_regex, state->constant);
    return NULL;
}

static nl_status bad_pattern(const nl_bound_function *function, nl_str pattern)
{
    nl_builder shown;
    nl_builder name;
    nl_builder_init(&shown, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_builder_init(&name, 256);
    nl_append_f(&shown, "'" NL_STR_FMT "'", NL_STR_ARG(pattern));
    nl_append_char(&name, '`');
    for (size_t i = 0; i < function->name.length; i++) nl_append_char(&name, (char)tolower((unsigned char)function->name.data[i]));
    nl_append_char(&name, '`');
    nl_status status = NL_RAISE(INVALID_PARAMETER_VALUE__PATTERN, NL_P("parameter", "`regexp`"),
                                NL_P_STR("functionName", nl_builder_str(&name)), NL_P_STR("value", nl_builder_str(&shown)));
    nl_builder_fini(&shown);
    nl_builder_fini(&name);
    return status;
}

/* Runs make_row for every row with the row's pattern compiled and match data at hand. */
typedef struct regex_call {
    nl_row_context context;
    const nl_vector *args;
    const nl_regex *regex;
    nl_regex *own; /* the last varying pattern */
    nl_str own_pattern;
    nl_regex_match *match;
    nl_column_builder *builder; /* arrays of strings */
    uint32_t find_count;
} regex_call;

typedef nl_status (*regex_row)(regex_call *call, nl_str text, uint32_t row, bool *is_null);

static nl_status use_pattern(regex_call *call, nl_str pattern)
{
    const regex_state *state = call->context.function->state;
    if (state->constant != NULL) {
        call->regex = state->constant;
    } else if (call->own == NULL || !nl_str_equal(pattern, call->own_pattern)) {
        nl_regex_free(call->own);
        nl_regex_match_free(call->match);
        call->match = NULL;
        call->own = nl_regex_compile(pattern);
        if (call->own == NULL) return bad_pattern(call->context.function, pattern);
        call->own_pattern = pattern;
        call->regex = call->own;
    }
    if (call->match == NULL) call->match = nl_regex_match_new(call->regex);
    if (call->match == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    return NULL;
}

static nl_status run_row(regex_call *call, uint32_t row, regex_row make_row, bool *is_null)
{
    nl_builder_clear(&call->context.text);
    NL_TRY(use_pattern(call, nl_reader_str(&call->context.readers[1], row)));
    return make_row(call, nl_reader_str(&call->context.readers[0], row), row, is_null);
}

static nl_status run_regex(NL_KERNEL_PARAMETERS, regex_row make_row)
{
    regex_call call = {.args = args, .context = {.function = function, .eval = eval}};
    nl_status status = NULL;
    bool is_array = function->result_type->id == NL_TYPE_ARRAY;
    bool is_text = function->result_type->id == NL_TYPE_STRING;
    for (uint32_t i = 0; i < function->argument_count && i < NL_COUNT(call.context.readers); i++)
        nl_reader_init(&call.context.readers[i], &args[i]);
    nl_builder_init(&call.context.text, nl_eval_text_max(eval));
    if (is_array)
        NL_GO(nl_column_builder_new(function->result_type, eval->memory, &call.builder));
    else
        NL_GO(nl_output_init(&call.context.output, function->result_type, length, eval->memory, out));
    uint32_t next = 0;
    for (uint32_t row = 0; row < length; row++) {
        bool is_null = false;
        if (next >= selection.count || nl_selection_row(selection, next) != row) {
            if (is_array) NL_GO(nl_column_builder_end_list(call.builder, 0));
            continue;
        }
        next++;
        NL_GO(run_row(&call, row, make_row, &is_null));
        if (is_null)
            NL_GO(nl_output_null(&call.context.output, row));
        else if (is_text)
            NL_GO(nl_output_builder(&call.context.output, row, &call.context.text));
    }
    if (is_array) status = nl_column_builder_finish(call.builder, out);
done:
    nl_builder_fini(&call.context.text);
    nl_column_builder_free(call.builder);
    nl_regex_match_free(call.match);
    nl_regex_free(call.own);
    return status;
}
#define REGEX_KERNEL(name, make_row)                                                          \
    static nl_status name(NL_KERNEL_PARAMETERS)                                               \
    {                                                                                         \
        return run_regex(function, eval, args, lambdas, selection, length, out, make_row);    \
    }

/* The byte where the search after a match goes on: an empty match moves one character. */
static size_t next_start(const regex_call *call, nl_str text)
{
    size_t stop = nl_regex_stop(call->match);
    if (stop > nl_regex_start(call->match)) return stop;
    return stop >= text.length ? text.length + 1 : nl_utf8_next(text, stop);
}

enum { FINDS_PER_CHECK = 4096 };

static bool find(regex_call *call, nl_str text, size_t start, nl_status *status)
{
    if (++call->find_count % FINDS_PER_CHECK == 0) *status = nl_eval_check(call->context.eval);
    if (*status || nl_builder_failed(&call->context.text)) return false;
    return start <= text.length && nl_regex_find(call->regex, call->match, text, start, status);
}

static nl_status rlike_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    ((uint8_t *)call->context.output.values)[row] = find(call, text, 0, &status);
    return status;
}
REGEX_KERNEL(rlike_kernel, rlike_row)

static nl_status check_group(regex_call *call, int64_t group)
{
    if (group >= 0 && group <= nl_regex_groups(call->regex)) return NULL;
    nl_builder name;
    nl_builder_init(&name, 256);
    nl_append_f(&name, "`%s`", call->context.function->row->name);
    nl_status status = NL_RAISE(INVALID_PARAMETER_VALUE__REGEX_GROUP_INDEX, NL_P("parameter", "`idx`"),
                                NL_P_STR("functionName", nl_builder_str(&name)), NL_P_INT("groupCount", nl_regex_groups(call->regex)),
                                NL_P_INT("groupIndex", group));
    nl_builder_fini(&name);
    return status;
}

static int64_t group_argument(const regex_call *call, uint32_t row)
{
    return call->context.function->argument_count > 2 ? nl_reader_i32(&call->context.readers[2], row) : 1;
}

static nl_status extract_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    bool is_set = false;
    int64_t group = group_argument(call, row);
    if (!find(call, text, 0, &status)) return status;
    NL_TRY(check_group(call, group));
    nl_append(&call->context.text, nl_regex_group(call->match, text, (uint32_t)group, &is_set));
    return NULL;
}
REGEX_KERNEL(extract_kernel, extract_row)

static nl_status extract_all_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    uint32_t count = 0;
    int64_t group = group_argument(call, row);
    for (size_t start = 0; find(call, text, start, &status); start = next_start(call, text)) {
        bool is_set = false;
        NL_TRY(check_group(call, group));
        NL_TRY(nl_column_builder_str(nl_column_builder_child(call->builder, 0), nl_regex_group(call->match, text, (uint32_t)group, &is_set)));
        count++;
    }
    NL_TRY(status);
    return nl_column_builder_end_list(call->builder, count);
}
REGEX_KERNEL(extract_all_kernel, extract_all_row)

static nl_status count_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    int32_t count = 0;
    for (size_t start = 0; find(call, text, start, &status); start = next_start(call, text)) count++;
    ((int32_t *)call->context.output.values)[row] = count;
    return status;
}
REGEX_KERNEL(count_kernel, count_row)

static nl_status substr_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)row;
    nl_status status = NULL;
    bool is_set = false;
    nl_str match = {0};
    if (find(call, text, 0, &status)) match = nl_regex_group(call->match, text, 0, &is_set);
    if (match.length > 0) nl_append(&call->context.text, match);
    else *is_null = true; /* an empty match is none in Spark */
    return status;
}
REGEX_KERNEL(substr_kernel, substr_row)

static nl_status instr_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    int32_t place = 0;
    if (find(call, text, 0, &status)) place = (int32_t)nl_utf8_length(nl_str_slice(text, 0, nl_regex_start(call->match))) + 1;
    ((int32_t *)call->context.output.values)[row] = place;
    return status;
}
REGEX_KERNEL(instr_kernel, instr_row)

/* Java's replacement text: $1, ${name}, \x. False: it names a group that is not there. */
static bool append_replacement(regex_call *call, nl_str text, nl_str with)
{
    nl_builder *out = &call->context.text;
    bool is_set = false;
    for (size_t i = 0; i < with.length; i++) {
        char c = with.data[i];
        size_t plain = i; /* what stands for itself, at once */
        while (plain < with.length && with.data[plain] != '\\' && with.data[plain] != '$') plain++;
        if (plain > i) {
            nl_append(out, nl_str_slice(with, i, plain));
            i = plain - 1;
        } else if (c == '\\') {
            if (++i >= with.length) return false;
            nl_append_char(out, with.data[i]);
        } else if (c == '$' && i + 1 < with.length && with.data[i + 1] == '{') {
            size_t close = nl_str_find_char(with, '}', i);
            int32_t group = close == NL_NOT_FOUND ? -1 : nl_regex_group_number(call->regex, nl_str_slice(with, i + 2, close));
            if (group < 0) return false;
            nl_append(out, nl_regex_group(call->match, text, (uint32_t)group, &is_set));
            i = close;
        } else if (c == '$') {
            if (i + 1 >= with.length || with.data[i + 1] < '0' || with.data[i + 1] > '9') return false;
            uint32_t group = (uint32_t)(with.data[++i] - '0');
            if (group > nl_regex_groups(call->regex)) return false;
            while (i + 1 < with.length && with.data[i + 1] >= '0' && with.data[i + 1] <= '9') { /* as many digits as name a group */
                uint32_t longer = group * 10 + (uint32_t)(with.data[i + 1] - '0');
                if (longer > nl_regex_groups(call->regex)) break;
                group = longer;
                i++;
            }
            nl_append(out, nl_regex_group(call->match, text, group, &is_set));
        }
    }
    return true;
}

static nl_status replace_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    nl_str with = nl_reader_str(&call->context.readers[2], row);
    int64_t position = call->context.function->argument_count > 3 ? nl_reader_i32(&call->context.readers[3], row) : 1;
    size_t copied = 0;
    size_t start = position > 1 ? nl_text_offset(text, position - 1) : 0;
    if (position > 1 && start >= text.length) {
        nl_append(&call->context.text, text);
        return NULL;
    }
    for (; find(call, text, start, &status); start = next_start(call, text)) {
        nl_append(&call->context.text, nl_str_slice(text, copied, nl_regex_start(call->match)));
        if (!append_replacement(call, text, with))
            return NL_RAISE(INVALID_REGEXP_REPLACE, NL_P_STR("source", text), NL_P_STR("pattern", nl_reader_str(&call->context.readers[1], row)),
                            NL_P_STR("replacement", with), NL_P_INT("position", position));
        copied = nl_regex_stop(call->match);
    }
    nl_append(&call->context.text, nl_str_slice(text, copied, text.length));
    return status;
}
REGEX_KERNEL(replace_kernel, replace_row)

/* Java's String.split with a limit: an empty match at the start gives no empty first part. limit <= 0: all parts. */
static nl_status split_row(regex_call *call, nl_str text, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_status status = NULL;
    nl_column_builder *parts = nl_column_builder_child(call->builder, 0);
    int64_t limit = call->context.function->argument_count > 2 ? nl_reader_i32(&call->context.readers[2], row) : -1;
    nl_str pattern = nl_reader_str(&call->context.readers[1], row);
    uint32_t count = 0;
    size_t from = 0;
    size_t start = 0;
    while ((limit <= 0 || count + 1 < limit) && find(call, text, start, &status)) {
        size_t at = nl_regex_start(call->match);
        size_t stop = nl_regex_stop(call->match);
        start = next_start(call, text);
        if (stop == 0) continue;
        if (pattern.length == 0 && at >= text.length) break; /* '' parts characters, without an empty last part */
        NL_TRY(nl_column_builder_str(parts, nl_str_slice(text, from, at)));
        count++;
        from = stop;
    }
    NL_TRY(status);
    NL_TRY(nl_column_builder_str(parts, nl_str_slice(text, from, text.length)));
    return nl_column_builder_end_list(call->builder, count + 1);
}
REGEX_KERNEL(split_kernel, split_row)

static nl_status bind_strings(nl_bind *bind, nl_bound_function *bound)
{
    bound->result_type = nl_type_array(bind->arena, nl_type_string(), false);
    return bind_regex(bind, bound);
}

static nl_status bind_replace(nl_bind *bind, nl_bound_function *bound)
{
    const nl_value *position = bind->argument_count > 3 ? bind->constants[3] : NULL;
    if (bind->argument_count > 3 && position == NULL) return nl_bind_not_foldable(bind, 3, "`position`");
    if (position != NULL && !position->is_null && position->integer < 1)
        return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                        NL_P("exprName", "position"), NL_P("valueRange", "(0, 2147483647]"),
                        NL_P_STR("currentValue", nl_bind_argument_sql(bind, 3)));
    return bind_regex(bind, bound);
}

#define REGEX_ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true
#define TOTAL_ROW REGEX_ROW, .keeps_non_null = true

static const nl_function_row rows[] = {
    {.name = "rlike", .aliases = "regexp,regexp_like", .kind = NL_FUNCTION_SCALAR, .group = "predicate", .nulls = NL_NULL_IN_NULL_OUT,
     .keeps_non_null = true, .can_fail = true, .signature = "(string, string) -> boolean", .bind = bind_regex, .kernel = rlike_kernel, .since = "1.0.0",
     .doc = "Whether a regular expression matches some part of the text.", .examples = {{"rlike('Spark', 'p.r')", "true"}}},
    {.name = "regexp_extract", TOTAL_ROW, .signature = "(string, string [, int]) -> string", .bind = bind_regex, .kernel = extract_kernel, .since = "1.5.0",
     .doc = "A group (1, when not said) of the first match; empty when there is none.", .examples = {{"regexp_extract('100-200', '([0-9]+)-([0-9]+)', 1)", "100"}}},
    {.name = "regexp_extract_all", TOTAL_ROW, .signature = "(string, string [, int]) -> ?", .bind = bind_strings, .kernel = extract_all_kernel, .since = "3.1.0",
     .doc = "A group of every match.", .examples = {{"regexp_extract_all('100-200, 300-400', '([0-9]+)-([0-9]+)', 1)", "[\"100\",\"300\"]"}}},
    {.name = "regexp_replace", TOTAL_ROW, .signature = "(string, string, string [, int]) -> string", .bind = bind_replace, .kernel = replace_kernel, .since = "1.5.0",
     .doc = "The text with every match replaced; $1 stands for a group.", .examples = {{"regexp_replace('100-200', '([0-9]+)', 'num')", "num-num"}}},
    {.name = "regexp_count", TOTAL_ROW, .signature = "(string, string) -> int", .bind = bind_regex, .kernel = count_kernel, .since = "3.4.0",
     .doc = "The number of matches.", .examples = {{"regexp_count('Steven Jones and Stephen Smith', 'Ste(v|ph)en')", "2"}}},
    {.name = "regexp_substr", REGEX_ROW, .signature = "(string, string) -> string", .bind = bind_regex, .kernel = substr_kernel, .since = "3.4.0",
     .doc = "The first match, or NULL.", .examples = {{"regexp_substr('Steven Jones', 'Ste(v|ph)en')", "Steven"}}},
    {.name = "regexp_instr", TOTAL_ROW, .signature = "(string, string [, int]) -> int", .bind = bind_regex, .kernel = instr_kernel, .since = "3.4.0",
     .doc = "The position of the first match, from 1; 0 when there is none.", .examples = {{"regexp_instr('user@spark.apache.org', '@[^.]*')", "5"}}},
    {.name = "split", TOTAL_ROW, .signature = "(string, string [, int]) -> ?", .bind = bind_strings, .kernel = split_kernel, .since = "1.5.0",
     .doc = "The parts of the text between matches of a regular expression, at most so many.", .examples = {{"split('oneAtwoBthreeC', '[ABC]')", "[\"one\",\"two\",\"three\",\"\"]"}}},
};

NL_DEFINE_FUNCTION_GROUP(regexp, rows);
