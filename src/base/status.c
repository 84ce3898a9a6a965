/* base/status.c - errors as values.
 *
 * An error is one heap object that owns copies of its parameters, its notes and its query context; the message is
 * rendered when somebody asks. Running out of memory while making an error yields one static, immutable error, so
 * reporting never needs memory. The words of the query context follow what Spark 4.0 prints.
 */
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

typedef struct param_copy {
    char *name;
    char *value;
} param_copy;

struct nl_error {
    nl_condition condition;
    nl_error_kind kind;
    bool is_static; /* the out-of-memory error: shared by all threads, never changed, never freed */
    bool has_context;
    uint32_t param_count;
    param_copy *params; /* owned */
    nl_error *cause; /* owned, or NULL */
    nl_builder notes;
    nl_query_context context; /* text is owned                          */
    nl_builder message;       /* rendered on demand; empty until then   */
};

typedef struct condition_row {
    char *name; /* points into `names` */
    const char *sqlstate;
    const char *template;
    nl_error_kind kind;
} condition_row;

/* The names are spelled with "__" where Spark has a dot, and the preprocessor cannot replace that: they are written
 * into this table as they are and squeezed in place once, before the first of them is handed out. */
static struct {
#define X(name, sqlstate, kind, text) char name[sizeof(#name)];
#include "base/conditions.def"
#undef X
} names = {
#define X(name, sqlstate, kind, text) #name,
#include "base/conditions.def"
#undef X
};
static const condition_row rows[] = {
#define X(name, sqlstate, kind, text) {names.name, sqlstate, text, NL_KIND_##kind},
#include "base/conditions.def"
#undef X
};
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static nl_error out_of_memory = {
    .condition = NL_COND_UNABLE_TO_ACQUIRE_MEMORY,
    .kind = NL_KIND_RETRY,
    .is_static = true,
};
static const char out_of_memory_message[] =
    "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire memory: the system has none left. SQLSTATE: 53200";

static void squeeze_names(void)
{
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        char *to = rows[i].name;
        for (const char *from = rows[i].name; *from != '\0'; from++) {
            if (from[0] == '_' && from[1] == '_') {
                *to++ = '.';
                from++;
            } else {
                *to++ = *from;
            }
        }
        *to = '\0';
    }
}

const char *nl_condition_name(nl_condition condition)
{
    NL_ASSERT((unsigned)condition < NL_CONDITION_COUNT);
    pthread_once(&names_once, squeeze_names);
    return rows[condition].name;
}

const char *nl_condition_sqlstate(nl_condition condition)
{
    NL_ASSERT((unsigned)condition < NL_CONDITION_COUNT);
    return rows[condition].sqlstate;
}

/* A NUL-terminated copy, or NULL when the system has no memory. */
static char *copy_text(const char *data, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy == NULL) return NULL;
    if (length > 0) memcpy(copy, data, length);
    copy[length] = '\0';
    return copy;
}

/* Messages are C strings: a zero byte of somebody's text would end them early, so it is shown as a character. */
static void append_visible(nl_builder *out, nl_str text)
{
    size_t start = 0;
    for (size_t zero = nl_str_find_char(text, '\0', 0); zero != NL_NOT_FOUND; zero = nl_str_find_char(text, '\0', start)) {
        nl_append(out, nl_str_slice(text, start, zero));
        nl_append_c(out, "\xe2\x90\x80");
        start = zero + 1;
    }
    nl_append(out, nl_str_slice(text, start, text.length));
}

static char *copy_visible(nl_str text)
{
    nl_builder visible;
    if (nl_str_find_char(text, '\0', 0) == NL_NOT_FOUND) return copy_text(text.data, text.length);
    nl_builder_init(&visible, NL_ERROR_MESSAGE_BYTES_MAX);
    append_visible(&visible, text);
    char *copy = copy_text(visible.data, visible.length);
    nl_builder_fini(&visible);
    return copy;
}

static bool copy_param(const nl_param *param, param_copy *copy)
{
    char digits[24];
    nl_str value = param->str;
    if (param->is_number) {
        snprintf(digits, sizeof digits, "%lld", (long long)param->number);
        value = nl_str_from(digits);
    } else if (param->text != NULL) {
        value = nl_str_from(param->text);
    }
    copy->name = copy_text(param->name, strlen(param->name));
    copy->value = copy_visible(value);
    return copy->name != NULL && copy->value != NULL;
}

nl_status nl_raise(nl_condition condition, nl_here here, const nl_param *params)
{
    NL_ASSERT((unsigned)condition < NL_CONDITION_COUNT);
    (void)here;
    uint32_t param_count = 0;
    while (params != NULL && params[param_count].name != NULL) param_count++;
    nl_error *error = calloc(1, sizeof *error);
    if (error == NULL) return &out_of_memory;
    error->condition = condition;
    error->kind = rows[condition].kind;
    nl_builder_init(&error->notes, NL_ERROR_NOTES_BYTES_MAX);
    nl_builder_init(&error->message, NL_ERROR_MESSAGE_BYTES_MAX);
    if (param_count == 0) return error;
    error->params = calloc(param_count, sizeof *error->params);
    bool is_complete = error->params != NULL;
    for (uint32_t i = 0; is_complete && i < param_count; i++) {
        error->param_count = i + 1;
        is_complete = copy_param(&params[i], &error->params[i]);
    }
    if (is_complete) return error;
    nl_error_free(error);
    return &out_of_memory;
}

nl_status nl_raise_text(nl_condition condition, nl_here here, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) return &out_of_memory;
    nl_status status = nl_raise(condition, here, (const nl_param[]){NL_P("message", text), {0}});
    free(text);
    return status;
}

nl_status nl_note_if(nl_status status, nl_here here, const char *format, ...)
{
    if (status == NULL || status->is_static) return status;
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) return status;
    if (status->notes.length > 0) nl_append_char(&status->notes, '\n');
    nl_append_f(&status->notes, "%s (%s:%d)", text, here.file, here.line);
    free(text);
    return status;
}

nl_status nl_first_error(nl_status first, nl_status second)
{
    if (first == NULL) return second;
    if (second == NULL) return first;
    first = nl_note_if(first, NL_HERE, "then also: %s", nl_error_message(second));
    nl_error_free(second);
    return first;
}

nl_status nl_error_because(nl_status status, nl_status cause)
{
    if (status == NULL || status->is_static || status->cause != NULL)
        nl_error_free(cause);
    else
        status->cause = cause;
    return status;
}

nl_error *nl_error_cause(nl_error *error)
{
    return error->is_static ? NULL : error->cause;
}

static void free_one(nl_error *error)
{
    for (uint32_t i = 0; i < error->param_count; i++) {
        free(error->params[i].name);
        free(error->params[i].value);
    }
    free(error->params);
    if (error->has_context) free(NL_UNCONST(error->context.text.data));
    nl_builder_fini(&error->notes);
    nl_builder_fini(&error->message);
    free(error);
}

void nl_error_free(nl_error *error)
{
    while (error != NULL && !error->is_static) {
        nl_error *cause = error->cause;
        free_one(error);
        error = cause;
    }
}

/* Of a text of pieces (nl_query_context) only the one that is meant is kept: SQL as if it stood alone, a call site after its mark. */
static void take_piece(nl_query_context *context)
{
    const nl_str all = context->text;
    if (all.length == 0 || all.data[0] != '\001' || context->start == 0 || context->start >= context->stop || context->stop > all.length) return;
    size_t begin = context->start;
    while (begin > 1 && all.data[begin - 1] != '\003') begin--;
    const bool is_sql = all.data[begin] == '\004';
    const size_t end = NL_MIN(nl_str_find_char(all, '\003', begin), all.length);
    begin += is_sql ? 1 : 0;
    if (!is_sql) begin--; /* the mark, or the end of the piece before it */
    context->text = nl_str_slice(all, begin, NL_MAX(begin, end));
    context->start = context->start < begin ? 0 : context->start - (uint32_t)begin;
    context->stop = (uint32_t)(NL_MIN((size_t)context->stop, end) - begin);
    if (!is_sql) return;
    context->line = 1;
    context->position = 0;
    for (uint32_t i = 0; i < context->start; i++) {
        const uint8_t c = (uint8_t)context->text.data[i];
        if ((c & 0xC0) != 0x80) context->position++;
        if (c != '\n') continue;
        context->line++;
        context->position = 0;
    }
}

void nl_error_set_context(nl_error *error, const nl_query_context *context)
{
    if (error == NULL || error->is_static || error->has_context) return;
    nl_query_context taken = *context;
    take_piece(&taken);
    char *text = copy_text(taken.text.data, taken.text.length);
    if (text == NULL) return;
    if (taken.text.length && text[0] == '\003') text[0] = '\001';
    context = &taken;
    error->context = *context;
    error->context.text.data = text;
    error->has_context = true;
    nl_builder_clear(&error->message);
}

const nl_query_context *nl_error_context(const nl_error *error)
{
    return error != NULL && error->has_context ? &error->context : NULL;
}

nl_condition nl_error_condition(const nl_error *error)
{
    return error->condition;
}

nl_error_kind nl_error_kind_of(const nl_error *error)
{
    return error->kind;
}

void nl_error_set_kind(nl_error *error, nl_error_kind kind)
{
    if (error != NULL && !error->is_static) error->kind = kind;
}

static const char *find_param(const nl_error *error, nl_str name)
{
    for (uint32_t i = 0; i < error->param_count; i++)
        if (nl_str_is(name, error->params[i].name)) return error->params[i].value;
    return NULL;
}

const char *nl_error_param(const nl_error *error, const char *name)
{
    return find_param(error, nl_str_from(name));
}

uint32_t nl_error_param_count(const nl_error *error)
{
    return error->param_count;
}

void nl_error_param_at(const nl_error *error, uint32_t i, const char **name, const char **value)
{
    NL_ASSERT(i < error->param_count);
    *name = error->params[i].name;
    *value = error->params[i].value;
}

/* The template with "<name>" replaced by parameters; a name without a parameter stays as it is written. */
static void append_template(nl_builder *out, const nl_error *error, nl_str template)
{
    size_t done = 0;
    while (done < template.length) {
        size_t open = nl_str_find_char(template, '<', done);
        size_t close = open == NL_NOT_FOUND ? NL_NOT_FOUND : nl_str_find_char(template, '>', open);
        if (close == NL_NOT_FOUND) break;
        const char *value = find_param(error, nl_str_slice(template, open + 1, close));
        if (value == NULL) {
            nl_append(out, nl_str_slice(template, done, open + 1));
            done = open + 1;
            continue;
        }
        nl_append(out, nl_str_slice(template, done, open));
        nl_append_c(out, value);
        done = close + 1;
    }
    nl_append(out, nl_str_slice(template, done, template.length));
}

/* The start of the character before `offset` (> 0). */
static size_t previous_character(nl_str text, size_t offset)
{
    size_t start = offset - 1;
    while (start > 0 && offset - start < 4 && ((uint8_t)text.data[start] & 0xC0) == 0x80) start--;
    return nl_utf8_next(text, start) == offset ? start : offset - 1;
}

/* Walks back from the fragment to the beginning of its line, over at most the extra characters. */
static size_t shown_start(nl_str text, size_t start, bool *is_cut)
{
    uint32_t shown = 0;
    for (; start > 0 && text.data[start - 1] != '\n' && shown < NL_ERROR_CONTEXT_CHARACTERS; shown++)
        start = previous_character(text, start);
    *is_cut = shown == NL_ERROR_CONTEXT_CHARACTERS; /* Spark marks a cut also when exactly all of it was shown */
    return start;
}

static size_t shown_stop(nl_str text, size_t stop, bool *is_cut)
{
    uint32_t shown = 0;
    for (; stop < text.length && text.data[stop] != '\n' && shown < NL_ERROR_CONTEXT_CHARACTERS; shown++)
        stop = nl_utf8_next(text, stop);
    *is_cut = shown == NL_ERROR_CONTEXT_CHARACTERS;
    return stop;
}

/* One line of the query and the line of carets below it. `line` lies inside `text`. */
static void append_marked_line(nl_builder *out, nl_str text, nl_str line, const nl_query_context *context,
                               const char *before, const char *after)
{
    nl_append_c(out, before);
    append_visible(out, line);
    nl_append_c(out, after);
    nl_append_char(out, '\n');
    nl_append_fill(out, ' ', strlen(before));
    size_t offset = (size_t)(line.data - text.data);
    size_t stop = offset + line.length;
    while (offset < stop && offset < context->stop) {
        nl_append_char(out, offset < context->start ? ' ' : '^');
        offset = nl_utf8_next(text, offset);
    }
    nl_append_char(out, '\n');
}

/* A run-time error: the lines that hold the fragment, with carets under it. */
static void append_fragment(nl_builder *out, const nl_query_context *context)
{
    nl_str text = context->text;
    nl_append_f(out, "\n== SQL (line %u, position %u) ==\n", context->line, context->position + 1);
    bool is_cut_before;
    bool is_cut_after;
    size_t start = shown_start(text, context->start, &is_cut_before);
    size_t stop = shown_stop(text, context->stop, &is_cut_after);
    while (start <= stop) {
        size_t end = nl_str_find_char(nl_str_slice(text, 0, stop), '\n', start);
        bool is_last = end == NL_NOT_FOUND;
        if (is_last) end = stop;
        append_marked_line(out, text, nl_str_slice(text, start, end), context, is_cut_before ? "..." : "",
                           is_last && is_cut_after ? "..." : "");
        is_cut_before = false;
        start = end + 1;
    }
}

/* A parse error: the whole statement, with a dashed line that ends in carets below the line of the failure. */
static void append_statement(nl_builder *out, const nl_query_context *context)
{
    if (context->line == 0) { /* the place is not known: the text alone */
        nl_append_c(out, "\n== SQL ==\n");
        append_visible(out, context->text);
        return;
    }
    nl_append_f(out, " (line %u, pos %u)\n\n== SQL ==\n", context->line, context->position);
    nl_str rest = context->text;
    while (rest.length > 0 && rest.data[rest.length - 1] == '\n') rest.length--;
    uint32_t line = 1;
    for (size_t start = 0; start <= rest.length; line++) {
        size_t end = nl_str_find_char(rest, '\n', start);
        if (end == NL_NOT_FOUND) end = rest.length;
        append_visible(out, nl_str_slice(rest, start, end));
        nl_append_char(out, '\n');
        if (line == context->line) {
            nl_append_fill(out, '-', context->position);
            nl_append_c(out, "^^^\n");
        }
        start = end + 1;
    }
    if (context->line >= line) { /* the failure lies behind the last line that is shown */
        nl_append_fill(out, '-', context->position);
        nl_append_c(out, "^^^\n");
    }
}

/* A call site in a program. */
static bool is_dataframe(const nl_query_context *context)
{
    return context->text.length > 0 && context->text.data[0] == '\001' && context->start < context->stop && context->stop <= context->text.length;
}

static void append_call_site(nl_builder *out, const nl_query_context *context)
{
    const nl_str origin = nl_str_slice(context->text, context->start, context->stop);
    const size_t middle = nl_str_find_char(origin, '\002', 0);
    if (middle == NL_NOT_FOUND) return;
    nl_append_f(out, "\n== DataFrame ==\n\"" NL_STR_FMT "\" was called from\n" NL_STR_FMT "\n", NL_STR_ARG(nl_str_slice(origin, 0, middle)),
                NL_STR_ARG(nl_str_slice(origin, middle + 1, origin.length)));
}

static void append_context(nl_builder *out, const nl_query_context *context)
{
    if (is_dataframe(context)) {
        if (!context->is_analysis) append_call_site(out, context); /* analysis shows the plan instead */
    } else if (context->is_parse_error)
        append_statement(out, context);
    else if (context->is_analysis)
        nl_append_f(out, "; line %u pos %u", context->line, context->position);
    else if (context->start < context->stop && context->stop <= context->text.length)
        append_fragment(out, context);
}

void nl_query_context_summary(const nl_query_context *context, nl_builder *out)
{
    if (is_dataframe(context))
        append_call_site(out, context);
    else if (context->start < context->stop && context->stop <= context->text.length)
        append_fragment(out, context);
}

const char *nl_error_message(nl_error *error)
{
    if (error->is_static) return out_of_memory_message;
    nl_builder *out = &error->message;
    if (out->length > 0) return nl_builder_c(out);
    const char *name = nl_condition_name(error->condition);
    const condition_row *row = &rows[error->condition];
    if (error->has_context && error->context.is_parse_error) nl_append_char(out, '\n'); /* Spark's begin so */
    /* Iceberg's messages come without a class, as Spark shows them. */
    const bool is_bare = strcmp(row->template, "<message>") == 0 && strncmp(name, "NILAS_", 6) == 0;
    const bool is_legacy = strncmp(name, "_LEGACY_ERROR_", 14) == 0;
    if (!is_bare && !is_legacy) nl_append_f(out, "[%s] ", name);
    append_template(out, error, nl_str_from(row->template));
    if (!is_bare && row->sqlstate[0] != '\0') nl_append_f(out, " SQLSTATE: %s", row->sqlstate);
    if (error->has_context) append_context(out, &error->context);
    return nl_builder_failed(out) && out->length == 0 ? out_of_memory_message : nl_builder_c(out);
}

const char *nl_error_notes(nl_error *error)
{
    return error->is_static ? "" : nl_builder_c(&error->notes);
}

void nl_assert_failed(const char *expression, nl_here here)
{
    fprintf(stderr, "nilas: %s:%d: assertion failed: %s\n", here.file, here.line, expression);
    abort();
}
