/* scalar/json_path.c - parsing and following JSON paths.
 *
 * The rules are those of Spark's GetJsonObject: of several fields of one name the first that gives something counts;
 * elements found by [*] make an array unless there is just one; two [*] in a row flatten.
 */
#include "function/scalar/json_path.h"

#include <math.h>

#include "base/json.h"
#include "base/number.h"

const nl_json_options nl_json_function_options = {.allows_single_quotes = true, .allows_unquoted_controls = true};

/* --- parsing --- */

static bool add_step(nl_json_path *path, nl_json_step step)
{
    if (path->count == NL_JSON_PATH_STEPS_MAX) return false;
    path->steps[path->count++] = step;
    return true;
}

/* After '[': '*]', digits and ']', or a name in single quotes and ']'. */
static bool parse_bracket(nl_str text, size_t *at, nl_json_path *path)
{
    nl_json_step step = {.kind = NL_JSON_STEP_INDEX};
    size_t start = *at;
    if (start < text.length && text.data[start] == '\'') {
        size_t stop = nl_str_find_char(text, '\'', start + 1);
        if (stop == NL_NOT_FOUND || stop == start + 1) return false;
        step.name = nl_str_slice(text, start + 1, stop);
        if (nl_str_find_char(step.name, '?', 0) != NL_NOT_FOUND) return false;
        step.kind = nl_str_is(step.name, "*") ? NL_JSON_STEP_NEVER : NL_JSON_STEP_FIELD;
        *at = stop + 1;
    } else if (start < text.length && text.data[start] == '*') {
        step.kind = NL_JSON_STEP_ELEMENTS;
        *at = start + 1;
    } else {
        while (*at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9') (*at)++;
        if (!nl_parse_int64(nl_str_slice(text, start, *at), &step.index)) return false;
    }
    if (*at >= text.length || text.data[*at] != ']') return false;
    (*at)++;
    return add_step(path, step);
}

bool nl_json_path_parse(nl_arena *arena, nl_str text, nl_json_path *path)
{
    *path = (nl_json_path){.steps = NL_NEW_ARRAY(arena, nl_json_step, NL_JSON_PATH_STEPS_MAX)};
    if (text.length == 0 || text.data[0] != '$') return false;
    for (size_t at = 1; at < text.length;) {
        char c = text.data[at++];
        if (c == '[') {
            if (!parse_bracket(text, &at, path)) return false;
        } else if (c == '.') {
            size_t start = at;
            while (at < text.length && text.data[at] != '.' && text.data[at] != '[') at++;
            nl_str name = nl_str_slice(text, start, at);
            if (name.length == 0) return false;
            nl_json_step step = {.kind = nl_str_is(name, "*") ? NL_JSON_STEP_NEVER : NL_JSON_STEP_FIELD, .name = name};
            if (!add_step(path, step)) return false;
        } else {
            return false;
        }
    }
    return true;
}

/* --- copying --- */

static void append_number(const nl_json_parser *in, nl_builder *out)
{
    double value;
    char text[NL_NUMBER_TEXT_MAX];
    if (in->is_integer) {
        nl_append(out, nl_str_is(in->text, "-0") ? NL_STR("0") : in->text);
    } else if (nl_parse_double(in->text, &value)) {
        const char *quote = isfinite(value) ? "" : "\"";
        nl_append_c(out, quote);
        nl_append(out, (nl_str){text, nl_format_double(value, text)});
        nl_append_c(out, quote);
    }
}

static bool is_start(nl_json_event event)
{
    return event == NL_JSON_OBJECT_START || event == NL_JSON_ARRAY_START;
}

bool nl_json_copy_as_jackson(nl_json_parser *in, nl_builder *out)
{
    uint32_t outside = is_start(in->event) ? in->depth - 1 : in->depth;
    bool needs_comma = false;
    for (nl_json_event event = in->event;; event = nl_json_next(in)) {
        bool is_end = event == NL_JSON_OBJECT_END || event == NL_JSON_ARRAY_END;
        if (needs_comma && !is_end) nl_append_char(out, ',');
        needs_comma = true;
        switch (event) {
        case NL_JSON_OBJECT_START:
        case NL_JSON_ARRAY_START:
            nl_append_char(out, event == NL_JSON_OBJECT_START ? '{' : '[');
            needs_comma = false;
            break;
        case NL_JSON_OBJECT_END:
        case NL_JSON_ARRAY_END:
            nl_append_char(out, event == NL_JSON_OBJECT_END ? '}' : ']');
            break;
        case NL_JSON_NAME:
            nl_json_append_quoted(out, in->text);
            nl_append_char(out, ':');
            needs_comma = false;
            continue;
        case NL_JSON_STRING:
            nl_json_append_quoted(out, in->text);
            break;
        case NL_JSON_NUMBER:
            append_number(in, out);
            break;
        case NL_JSON_TRUE:
            nl_append_c(out, "true");
            break;
        case NL_JSON_FALSE:
            nl_append_c(out, "false");
            break;
        case NL_JSON_NULL:
            nl_append_c(out, "null");
            break;
        case NL_JSON_END:
        case NL_JSON_ERROR:
            return false;
        }
        if (in->depth == outside) return true;
    }
}

/* --- following --- */

typedef enum find_style {
    STYLE_RAW,    /* a string alone is written without quotes   */
    STYLE_QUOTED, /* inside of an array                         */
    STYLE_FLAT    /* inside of an array that takes inner arrays in */
} find_style;

/* What is being written: elements of an array need commas. */
typedef struct target {
    nl_builder *out;
    bool is_array;
    bool has_element;
} target;

static void begin_element(target *to)
{
    if (to->is_array && to->has_element) nl_append_char(to->out, ',');
    to->has_element = true;
}

static bool find_steps(nl_json_finder *finder, uint32_t step, find_style style, target *to);

static bool find_value(nl_json_finder *finder, find_style style, target *to)
{
    nl_json_parser *in = &finder->in;
    if (in->event == NL_JSON_STRING && style == STYLE_RAW) {
        begin_element(to);
        nl_append(to->out, in->text);
        return true;
    }
    if (in->event == NL_JSON_ARRAY_START && style == STYLE_FLAT) {
        bool is_found = false;
        for (nl_json_event event = nl_json_next(in); event != NL_JSON_ARRAY_END && event != NL_JSON_ERROR && event != NL_JSON_END;
             event = nl_json_next(in))
            is_found |= find_value(finder, style, to);
        return is_found;
    }
    begin_element(to);
    return nl_json_copy_as_jackson(in, to->out);
}

static bool find_field(nl_json_finder *finder, uint32_t step, find_style style, target *to)
{
    nl_json_parser *in = &finder->in;
    bool is_found = false;
    for (;;) {
        nl_json_event event = nl_json_next(in);
        if (event != NL_JSON_NAME) return is_found;
        bool is_it = !is_found && nl_str_equal(in->text, finder->path->steps[step].name);
        if (!is_it) {
            if (!nl_json_skip(in)) return false;
            continue;
        }
        if (nl_json_next(in) != NL_JSON_NULL) is_found = find_steps(finder, step + 1, style, to);
    }
}

static bool is_elements(const nl_json_finder *finder, uint32_t step)
{
    return step < finder->path->count && finder->path->steps[step].kind == NL_JSON_STEP_ELEMENTS;
}

/* All elements, each followed from `step`. */
static uint32_t find_all(nl_json_finder *finder, uint32_t step, find_style style, target *to)
{
    nl_json_parser *in = &finder->in;
    uint32_t count = 0;
    for (;;) {
        nl_json_event event = nl_json_next(in);
        if (event == NL_JSON_ARRAY_END || event == NL_JSON_ERROR || event == NL_JSON_END) return count;
        count += find_steps(finder, step, style, to);
    }
}

static bool find_elements(nl_json_finder *finder, uint32_t step, find_style style, target *to)
{
    bool is_double = is_elements(finder, step + 1);
    if (is_double || style == STYLE_QUOTED) {
        begin_element(to);
        target inner = {.out = to->out, .is_array = true};
        nl_append_char(to->out, '[');
        uint32_t count = find_all(finder, is_double ? step + 2 : step + 1, is_double ? STYLE_FLAT : STYLE_QUOTED, &inner);
        nl_append_char(to->out, ']');
        return count > 0;
    }
    nl_builder *buffer = &finder->buffers[finder->buffer_count++];
    nl_builder_clear(buffer);
    target inner = {.out = buffer, .is_array = true};
    uint32_t count = find_all(finder, step + 1, style == STYLE_RAW ? STYLE_QUOTED : STYLE_FLAT, &inner);
    finder->buffer_count--;
    if (count == 0) return false;
    begin_element(to);
    if (count > 1) nl_append_char(to->out, '[');
    nl_append(to->out, nl_builder_str(buffer));
    if (count > 1) nl_append_char(to->out, ']');
    return true;
}

static bool find_index(nl_json_finder *finder, uint32_t step, find_style style, target *to)
{
    nl_json_parser *in = &finder->in;
    bool is_found = false;
    if (is_elements(finder, step + 1)) style = STYLE_QUOTED;
    for (int64_t i = 0;; i++) {
        nl_json_event event = nl_json_next(in);
        if (event == NL_JSON_ARRAY_END || event == NL_JSON_ERROR || event == NL_JSON_END) return is_found;
        if (i == finder->path->steps[step].index)
            is_found = find_steps(finder, step + 1, style, to);
        else if (!nl_json_skip(in))
            return false;
    }
}

/* The parser stands on a value; afterwards on its end. Depth: the path's. */
static bool find_steps(nl_json_finder *finder, uint32_t step, find_style style, target *to)
{
    nl_json_parser *in = &finder->in;
    if (step == finder->path->count) return find_value(finder, style, to);
    nl_json_step_kind kind = finder->path->steps[step].kind;
    if (kind == NL_JSON_STEP_FIELD && in->event == NL_JSON_OBJECT_START) return find_field(finder, step, style, to);
    if (kind == NL_JSON_STEP_ELEMENTS && in->event == NL_JSON_ARRAY_START) return find_elements(finder, step, style, to);
    if (kind == NL_JSON_STEP_INDEX && in->event == NL_JSON_ARRAY_START) return find_index(finder, step, style, to);
    (void)nl_json_skip(in);
    return false;
}

void nl_json_finder_init(nl_json_finder *finder)
{
    *finder = (nl_json_finder){.path = NULL};
    nl_json_init(&finder->in, (nl_str){NULL, 0}, &nl_json_function_options);
    for (uint32_t i = 0; i < NL_JSON_PATH_STEPS_MAX; i++) nl_builder_init(&finder->buffers[i], SIZE_MAX / 4);
}

void nl_json_finder_fini(nl_json_finder *finder)
{
    nl_json_fini(&finder->in);
    for (uint32_t i = 0; i < NL_JSON_PATH_STEPS_MAX; i++) nl_builder_fini(&finder->buffers[i]);
}

bool nl_json_find(nl_json_finder *finder, const nl_json_path *path, nl_str text, nl_builder *out)
{
    target to = {.out = out};
    finder->path = path;
    finder->buffer_count = 0;
    nl_json_reset(&finder->in, text);
    nl_json_event event = nl_json_next(&finder->in);
    if (event == NL_JSON_END || event == NL_JSON_ERROR) return false;
    return find_steps(finder, 0, STYLE_RAW, &to) && finder->in.event != NL_JSON_ERROR && finder->in.event != NL_JSON_END;
}
