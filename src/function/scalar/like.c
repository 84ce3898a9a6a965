/* scalar/like.c - LIKE and ILIKE.
 *
 * A constant pattern is compiled at bind time into literal pieces between wildcards; patterns that are a prefix, a
 * suffix, a part or the whole of the text are compared without stepping. Others match by the greedy two-pointer way:
 * after a %, the piece is looked for further right, never further left, so the work is bounded by length times pieces.
 */
#include "function/groups.h"
#include "function/text.h"

typedef enum like_shape { LIKE_EQUALS, LIKE_PREFIX, LIKE_SUFFIX, LIKE_CONTAINS, LIKE_ANYTHING, LIKE_PIECES, LIKE_GENERAL } like_shape;

/* The pattern without escapes: `kinds` says for each byte whether it is itself or a wildcard. */
typedef struct like_pattern {
    nl_str bytes;
    const char *kinds; /* 'c' itself, '_' one character, '%' any characters */
    like_shape shape;
    nl_str literal;    /* of the simple shapes */
    nl_str *pieces;    /* PIECES: the texts between the %, never empty */
    uint32_t piece_count;
    bool is_open_left, is_open_right;
} like_pattern;

typedef struct like_state {
    like_pattern constant;
    bool is_constant;
    bool ignores_case;
} like_state;

static nl_status escape_error(nl_str pattern, nl_str escape, bool is_end, nl_str following)
{
    (void)escape;
    nl_builder shown;
    nl_builder_init(&shown, NL_ERROR_MESSAGE_BYTES_MAX);
    nl_append_char(&shown, '\'');
    for (size_t i = 0; i < pattern.length; i++) {
        if (pattern.data[i] == '\\' || pattern.data[i] == '\'') nl_append_char(&shown, '\\');
        nl_append_char(&shown, pattern.data[i]);
    }
    nl_append_char(&shown, '\'');
    nl_builder next;
    nl_builder_init(&next, 64);
    nl_append_f(&next, "'" NL_STR_FMT "'", NL_STR_ARG(following));
    nl_status status = is_end ? NL_RAISE(INVALID_FORMAT__ESC_AT_THE_END, NL_P_STR("format", nl_builder_str(&shown)))
                              : NL_RAISE(INVALID_FORMAT__ESC_IN_THE_MIDDLE, NL_P_STR("format", nl_builder_str(&shown)),
                                         NL_P_STR("char", nl_builder_str(&next)));
    nl_builder_fini(&shown);
    nl_builder_fini(&next);
    return status;
}

/* Unescapes into bytes and kinds, both of pattern.length bytes of space. */
static nl_status parse_pattern(nl_str pattern, nl_str escape, char *bytes, char *kinds, like_pattern *out)
{
    size_t count = 0;
    for (size_t at = 0; at < pattern.length;) {
        nl_str rest = nl_str_slice(pattern, at, pattern.length);
        char kind = 'c';
        if (escape.length > 0 && nl_str_starts(rest, escape)) {
            at += escape.length;
            if (at >= pattern.length) return escape_error(pattern, escape, true, rest);
            rest = nl_str_slice(pattern, at, pattern.length);
            bool is_good = rest.data[0] == '_' || rest.data[0] == '%' || nl_str_starts(rest, escape);
            if (!is_good) return escape_error(pattern, escape, false, nl_str_slice(rest, 0, nl_utf8_next(rest, 0)));
        } else if (pattern.data[at] == '%' || pattern.data[at] == '_') {
            kind = pattern.data[at];
        }
        size_t next = nl_utf8_next(pattern, at);
        for (; at < next; at++) {
            bytes[count] = pattern.data[at];
            kinds[count++] = kind;
        }
    }
    *out = (like_pattern){.bytes = {bytes, count}, .kinds = kinds, .shape = LIKE_GENERAL};
    return NULL;
}

/* Only % between texts: each text is looked for behind the one before it, the last one at the end. */
static void split_pieces(nl_arena *arena, like_pattern *pattern)
{
    const nl_str bytes = pattern->bytes;
    pattern->pieces = NL_NEW_ARRAY(arena, nl_str, bytes.length + 1);
    for (size_t at = 0; at < bytes.length;) {
        size_t stop = at;
        if (pattern->kinds[at] == '_') return;
        while (stop < bytes.length && pattern->kinds[stop] == 'c') stop++;
        if (stop > at) pattern->pieces[pattern->piece_count++] = nl_str_slice(bytes, at, stop);
        at = stop > at ? stop : at + 1;
    }
    pattern->is_open_left = pattern->kinds[0] == '%';
    pattern->is_open_right = pattern->kinds[bytes.length - 1] == '%';
    pattern->shape = LIKE_PIECES;
}

static bool match_pieces(nl_str text, const like_pattern *pattern)
{
    uint32_t first = 0;
    uint32_t stop = pattern->piece_count;
    if (!pattern->is_open_left) {
        if (!nl_str_starts(text, pattern->pieces[0])) return false;
        text = nl_str_slice(text, pattern->pieces[0].length, text.length);
        first = 1;
    }
    if (!pattern->is_open_right) {
        if (!nl_str_ends(text, pattern->pieces[--stop])) return false;
        text = nl_str_slice(text, 0, text.length - pattern->pieces[stop].length);
    }
    size_t from = 0;
    for (uint32_t i = first; i < stop; i++) {
        from = nl_str_find(text, pattern->pieces[i], from);
        if (from == NL_NOT_FOUND) return false;
        from += pattern->pieces[i].length;
    }
    return true;
}

static void classify(nl_arena *arena, like_pattern *pattern)
{
    size_t start = 0;
    size_t stop = pattern->bytes.length;
    while (start < stop && pattern->kinds[start] == '%') start++;
    while (stop > start && pattern->kinds[stop - 1] == '%') stop--;
    for (size_t i = start; i < stop; i++)
        if (pattern->kinds[i] != 'c') {
            split_pieces(arena, pattern);
            return;
        }
    bool open_left = start > 0;
    bool open_right = stop < pattern->bytes.length;
    pattern->literal = nl_str_slice(pattern->bytes, start, stop);
    if (start == stop && open_left)
        pattern->shape = LIKE_ANYTHING;
    else if (open_left && open_right)
        pattern->shape = LIKE_CONTAINS;
    else if (open_left)
        pattern->shape = LIKE_SUFFIX;
    else
        pattern->shape = open_right ? LIKE_PREFIX : LIKE_EQUALS;
}

static bool match_general(nl_str text, const like_pattern *pattern)
{
    size_t t = 0;
    size_t p = 0;
    size_t resume_text = 0;
    size_t resume_pattern = NL_NOT_FOUND;
    while (t < text.length || (p < pattern->bytes.length && pattern->kinds[p] == '%')) {
        if (p < pattern->bytes.length && pattern->kinds[p] == '%') {
            resume_pattern = ++p;
            resume_text = t;
            if (p == pattern->bytes.length) return true;
            continue;
        }
        if (p < pattern->bytes.length && pattern->kinds[p] == '_') {
            t = nl_utf8_next(text, t);
            p++;
            continue;
        }
        if (p < pattern->bytes.length && pattern->bytes.data[p] == text.data[t]) {
            t++;
            p++;
            continue;
        }
        if (resume_pattern == NL_NOT_FOUND || resume_text >= text.length) return false;
        resume_text = nl_utf8_next(text, resume_text);
        t = resume_text;
        p = resume_pattern;
    }
    return p == pattern->bytes.length;
}

static inline bool matches(nl_str text, const like_pattern *pattern)
{
    switch (pattern->shape) {
    case LIKE_EQUALS:
        return nl_str_equal(text, pattern->literal);
    case LIKE_PREFIX:
        return nl_str_starts(text, pattern->literal);
    case LIKE_SUFFIX:
        return nl_str_ends(text, pattern->literal);
    case LIKE_CONTAINS:
        return nl_str_find(text, pattern->literal, 0) != NL_NOT_FOUND;
    case LIKE_ANYTHING:
        return true;
    case LIKE_PIECES:
        return match_pieces(text, pattern);
    case LIKE_GENERAL:
        break;
    }
    return match_general(text, pattern);
}

static nl_status like_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    const like_state *state = context->function->state;
    nl_str text = nl_reader_str(&context->readers[0], row);
    nl_builder_clear(&context->text);
    if (state->ignores_case) {
        nl_text_append_lower(text, &context->text);
        text = nl_builder_str(&context->text);
    }
    uint8_t *result = (uint8_t *)context->output.values + row;
    if (state->is_constant) {
        *result = matches(text, &state->constant);
        return NULL;
    }
    nl_str pattern = nl_reader_str(&context->readers[1], row);
    nl_str escape = context->function->argument_count > 2 ? nl_reader_str(&context->readers[2], row) : NL_STR("\\");
    nl_builder lowered;
    nl_builder_init(&lowered, NL_VALUE_BYTES_MAX);
    if (state->ignores_case) {
        nl_text_append_lower(pattern, &lowered);
        pattern = nl_builder_str(&lowered);
    }
    nl_buffer *space = NULL;
    like_pattern parsed;
    nl_status status = nl_buffer_new(context->eval->memory, nl_size_mul(NL_MAX(pattern.length, (size_t)1), 2), false, &space);
    if (status == NULL) status = parse_pattern(pattern, escape, (char *)space->data, (char *)space->data + pattern.length, &parsed);
    if (status == NULL) *result = match_general(text, &parsed);
    nl_buffer_release(space);
    nl_builder_fini(&lowered);
    return status;
}
NL_VALUE_KERNEL(like_kernel, like_row)

static nl_status bind_like(nl_bind *bind, nl_bound_function *bound)
{
    like_state *state = NL_NEW(bind->arena, like_state);
    state->ignores_case = bind->row->name[0] == 'i';
    bound->state = state;
    const nl_value *pattern = bind->constants[1];
    const nl_value *escape = bind->argument_count > 2 ? bind->constants[2] : NULL;
    bool escape_known = bind->argument_count < 3 || (escape != NULL && !escape->is_null);
    if (pattern == NULL || pattern->is_null || !escape_known) return NULL;
    nl_str text = pattern->text;
    if (state->ignores_case) {
        nl_builder lowered;
        nl_builder_init(&lowered, NL_VALUE_BYTES_MAX);
        nl_text_append_lower(text, &lowered);
        text = nl_arena_str(bind->arena, nl_builder_str(&lowered));
        nl_builder_fini(&lowered);
    }
    char *bytes = nl_arena_alloc(bind->arena, text.length + 1);
    char *kinds = nl_arena_alloc(bind->arena, text.length + 1);
    nl_status status = parse_pattern(text, escape ? escape->text : NL_STR("\\"), bytes, kinds, &state->constant);
    if (status != NULL) { /* raised where the query evaluates it */
        nl_error_free(status);
        return NULL;
    }
    classify(bind->arena, &state->constant);
    state->is_constant = true;
    bound->can_fail = false;
    return NULL;
}

#define LIKE_ROW                                                                                                    \
    .kind = NL_FUNCTION_SCALAR, .group = "predicate", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true,        \
    .can_fail = true, .signature = "(string, string [, string]) -> boolean", .bind = bind_like, .kernel = like_kernel

static const nl_function_row rows[] = {
    {.name = "like", LIKE_ROW, .since = "1.0.0", .doc = "Whether the text matches a pattern: _ is one character, % any number of them.",
     .examples = {{"'Spark' like '_park'", "true"}, {"'a%c' like 'a/%c' escape '/'", "true"}}},
    {.name = "ilike", LIKE_ROW, .since = "3.3.0", .doc = "LIKE without regard to case.", .examples = {{"'Spark' ilike '_Park'", "true"}}},
};

NL_DEFINE_FUNCTION_GROUP(like, rows);
