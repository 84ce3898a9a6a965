/* storage/glob.c - see glob.h. What patterns mean was read off Hadoop's documentation of FileSystem.globStatus and tried on
 * real Spark: `*` in a character class stands for itself and a dot, for instance.
 *
 * A name's pattern becomes a small program whose states are run side by side (Thompson, 1968), so that no pattern takes
 * more time than its length times that of the name.
 */
#include "storage/glob.h"

#include <stdlib.h>

#include "base/limits.h"

#define EXPANSIONS_MAX 4096u
#define GROUP_DEPTH_MAX 64u

typedef struct span { /* of characters, both ends included */
    uint32_t first, last;
} span;

typedef struct step {
    enum { STEP_CHARACTER, STEP_ANY, STEP_CLASS, STEP_SPLIT, STEP_JUMP, STEP_END } kind;
    uint32_t character;
    bool is_negated;
    const span *spans;
    uint32_t span_count;
    uint32_t to;    /* JUMP, and the first way of SPLIT */
    uint32_t other; /* the second */
} step;

struct nl_glob {
    const step *steps;
    uint32_t step_count;
    bool is_literal; /* then `text` is the whole name */
    nl_str text;
};

bool nl_glob_is_pattern(nl_str path)
{
    for (size_t i = 0; i < path.length; i++)
        if (path.data[i] && strchr("*?[]{}\\", path.data[i])) return true;
    return false;
}

/* ---- Compiling ---- */

typedef struct open_group { /* alternatives begun and not ended */
    uint32_t split;         /* the SPLIT before the present alternative */
    nl_list jumps;          /* from the ends of earlier alternatives, as numbers */
} open_group;

typedef struct compiler {
    nl_arena *arena;
    nl_str pattern;
    step *steps; /* room for three per character and two more */
    uint32_t count;
    open_group groups[GROUP_DEPTH_MAX];
    uint32_t depth;
} compiler;

static nl_status refuse(nl_str pattern, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Illegal file pattern: %s: " NL_STR_FMT, problem, NL_STR_ARG(pattern));
}

static step *emit(compiler *self, int kind)
{
    step *made = &self->steps[self->count++];
    *made = (step){.kind = kind};
    return made;
}

static nl_status read_escaped(const compiler *self, size_t *at, uint32_t *character)
{
    if (*at == self->pattern.length) return refuse(self->pattern, "Missing escaped character");
    *character = nl_utf8_decode(self->pattern, at);
    return NULL;
}

static void add_span(span *spans, uint32_t *count, uint32_t first, uint32_t last)
{
    spans[(*count)++] = (span){first, last};
}

/* One character of a class; in front of what is no range. */
static nl_status read_class_character(const compiler *self, size_t *at, uint32_t *character, bool *is_escaped)
{
    if (*at == self->pattern.length) return refuse(self->pattern, "Unclosed character class");
    *character = nl_utf8_decode(self->pattern, at);
    *is_escaped = *character == '\\';
    if (*is_escaped) return read_escaped(self, at, character);
    return *character == '[' ? refuse(self->pattern, "Unclosed character class") : NULL;
}

static nl_status read_class(compiler *self, size_t *at)
{
    step *made = emit(self, STEP_CLASS);
    const nl_str pattern = self->pattern;
    span *spans = NL_NEW_ARRAY(self->arena, span, 2 * (pattern.length - *at) + 1);
    made->spans = spans;
    if (*at < pattern.length && (pattern.data[*at] == '^' || pattern.data[*at] == '!')) {
        made->is_negated = true;
        (*at)++;
    }
    for (bool is_first = true;; is_first = false) {
        uint32_t first = 0, last = 0;
        bool is_escaped = false;
        NL_TRY(read_class_character(self, at, &first, &is_escaped));
        if (first == ']' && !is_escaped && !is_first) return NULL;
        last = first;
        if (*at + 1 < pattern.length && pattern.data[*at] == '-' && pattern.data[*at + 1] != ']') {
            (*at)++;
            bool is_last_escaped = false;
            NL_TRY(read_class_character(self, at, &last, &is_last_escaped));
            if (last < first) return refuse(pattern, "A character class with a range from its end");
        } else if ((first == '*' || first == '?') && !is_escaped) { /* Hadoop writes them as a regular expression's */
            add_span(spans, &made->span_count, '.', '.');
            if (first == '?') continue;
        }
        add_span(spans, &made->span_count, first, last);
    }
}

static nl_status begin_group(compiler *self)
{
    if (self->depth == GROUP_DEPTH_MAX) return refuse(self->pattern, "Groups nest too deeply");
    self->groups[self->depth++] = (open_group){.split = self->count};
    step *split = emit(self, STEP_SPLIT);
    split->to = self->count;
    return NULL;
}

/* The alternative that ends here jumps behind the group, the next one is the other way of the split before it. */
static void next_alternative(compiler *self)
{
    open_group *group = &self->groups[self->depth - 1];
    nl_list_add(self->arena, &group->jumps, &self->steps[self->count]);
    emit(self, STEP_JUMP);
    self->steps[group->split].other = self->count;
    group->split = self->count;
    step *split = emit(self, STEP_SPLIT);
    split->to = self->count;
}

static void end_group(compiler *self)
{
    const open_group *group = &self->groups[--self->depth];
    self->steps[group->split].kind = STEP_JUMP; /* the last alternative has no other */
    for (uint32_t i = 0; i < group->jumps.count; i++)
        ((step *)group->jumps.items[i])->to = self->count;
}

static nl_status compile(compiler *self)
{
    for (size_t at = 0; at < self->pattern.length;) {
        const uint32_t start = self->count;
        uint32_t character = nl_utf8_decode(self->pattern, &at);
        if (character == '*') { /* split to any and on; any, and back */
            emit(self, STEP_SPLIT);
            emit(self, STEP_ANY);
            emit(self, STEP_JUMP)->to = start;
            self->steps[start].to = start + 1;
            self->steps[start].other = self->count;
        } else if (character == '?') {
            emit(self, STEP_ANY);
        } else if (character == '[') {
            NL_TRY(read_class(self, &at));
        } else if (character == '{') {
            NL_TRY(begin_group(self));
        } else if (character == ',' && self->depth > 0) {
            next_alternative(self);
        } else if (character == '}' && self->depth > 0) {
            end_group(self);
        } else {
            if (character == '\\') NL_TRY(read_escaped(self, &at, &character));
            emit(self, STEP_CHARACTER)->character = character;
        }
    }
    if (self->depth > 0) return refuse(self->pattern, "Unclosed group");
    emit(self, STEP_END);
    return NULL;
}

nl_status nl_glob_compile(nl_arena *arena, nl_str pattern, const nl_glob **glob)
{
    compiler *self = NL_NEW(arena, compiler);
    nl_glob *made = NL_NEW(arena, nl_glob);
    if (pattern.length > NL_PATH_BYTES_MAX) return refuse(nl_str_slice(pattern, 0, 256), "It is too long");
    if (!nl_glob_is_pattern(pattern)) {
        *made = (nl_glob){.is_literal = true, .text = nl_arena_str(arena, pattern)};
        *glob = made;
        return NULL;
    }
    *self = (compiler){.arena = arena, .pattern = pattern, .steps = NL_NEW_ARRAY(arena, step, 3 * pattern.length + 2)};
    NL_TRY(compile(self));
    *made = (nl_glob){.steps = self->steps, .step_count = self->count};
    *glob = made;
    return nl_arena_check(arena);
}

/* ---- Matching ---- */

typedef struct states { /* steps that may come next */
    uint32_t *list;
    uint32_t count;
    uint8_t *is_in; /* per step */
} states;

/* Adds a step, and those that it leads to without a character. `pending` has room for each step once. */
static void add_state(const nl_glob *glob, states *all, uint32_t at, uint32_t *pending)
{
    uint32_t pending_count = 0;
    if (!all->is_in[at]) pending[pending_count++] = at;
    all->is_in[at] = 1;
    while (pending_count > 0) {
        const uint32_t now = pending[--pending_count];
        const step *one = &glob->steps[now];
        const uint32_t ways[] = {one->to, one->other};
        const uint32_t way_count = one->kind == STEP_SPLIT ? 2 : one->kind == STEP_JUMP ? 1 : 0;
        if (way_count == 0) all->list[all->count++] = now;
        for (uint32_t i = 0; i < way_count; i++) {
            if (all->is_in[ways[i]]) continue;
            all->is_in[ways[i]] = 1;
            pending[pending_count++] = ways[i];
        }
    }
}

static bool takes(const step *one, uint32_t character)
{
    if (one->kind == STEP_CHARACTER) return one->character == character;
    if (one->kind != STEP_CLASS) return one->kind == STEP_ANY;
    bool is_in = false;
    for (uint32_t i = 0; i < one->span_count && !is_in; i++)
        is_in = character >= one->spans[i].first && character <= one->spans[i].last;
    return is_in != one->is_negated;
}

static bool run(const nl_glob *glob, nl_str name, states *now, states *next, uint32_t *pending)
{
    add_state(glob, now, 0, pending);
    for (size_t at = 0; at < name.length && now->count > 0;) {
        const uint32_t character = nl_utf8_decode(name, &at);
        next->count = 0;
        memset(next->is_in, 0, glob->step_count);
        for (uint32_t i = 0; i < now->count; i++)
            if (takes(&glob->steps[now->list[i]], character)) add_state(glob, next, now->list[i] + 1, pending);
        states *before = now;
        now = next;
        next = before;
    }
    for (uint32_t i = 0; i < now->count; i++)
        if (glob->steps[now->list[i]].kind == STEP_END) return true;
    return false;
}

bool nl_glob_matches(const nl_glob *glob, nl_str name)
{
    if (glob->is_literal) return nl_str_equal(glob->text, name);
    nl_arena *arena = nl_arena_new(NULL);
    states now = {NL_NEW_ARRAY(arena, uint32_t, glob->step_count), 0, NL_NEW_ARRAY(arena, uint8_t, glob->step_count)};
    states next = {NL_NEW_ARRAY(arena, uint32_t, glob->step_count), 0, NL_NEW_ARRAY(arena, uint8_t, glob->step_count)};
    const bool is_match = run(glob, name, &now, &next, NL_NEW_ARRAY(arena, uint32_t, glob->step_count));
    nl_arena_free(arena);
    return is_match;
}

/* ---- Groups that hold slashes ---- */

/* Behind the character at `at`, which may be an escaped one. */
static size_t skip(nl_str text, size_t at)
{
    return NL_MIN(at + (text.data[at] == '\\' ? 2 : 1), text.length);
}

/* The first outermost group with a slash in it: from `{` to behind `}`. false: there is none. */
static bool find_group(nl_str text, size_t *from, size_t *to)
{
    uint32_t depth = 0;
    bool has_slash = false;
    for (size_t at = 0; at < text.length; at = skip(text, at)) {
        const char c = text.data[at];
        if (c == '{' && depth++ == 0) {
            *from = at;
            has_slash = false;
        }
        has_slash = has_slash || (c == '/' && depth > 0);
        if (c != '}' || depth == 0 || --depth > 0 || !has_slash) continue;
        *to = at + 1;
        return true;
    }
    return false;
}

static nl_status expand(nl_arena *arena, nl_str pattern, nl_list *expanded)
{
    nl_list waiting = {0};
    nl_str *first = NL_NEW(arena, nl_str);
    *first = pattern;
    nl_list_add(arena, &waiting, first);
    while (waiting.count > 0) {
        nl_str *text = waiting.items[--waiting.count];
        size_t from = 0, to = 0;
        if (waiting.count + expanded->count > EXPANSIONS_MAX) return refuse(nl_str_slice(pattern, 0, 256), "Its groups stand for too many paths");
        if (!find_group(*text, &from, &to)) {
            nl_list_add(arena, expanded, text);
            continue;
        }
        uint32_t depth = 0;
        size_t start = from + 1;
        for (size_t at = from; at < to; at = skip(*text, at)) {
            const char c = text->data[at];
            depth += c == '{';
            if (depth == 1 && (c == ',' || c == '}')) {
                nl_str *one = NL_NEW(arena, nl_str);
                *one = nl_arena_f(arena, NL_STR_FMT NL_STR_FMT NL_STR_FMT, NL_STR_ARG(nl_str_slice(*text, 0, from)), NL_STR_ARG(nl_str_slice(*text, start, at)),
                                  NL_STR_ARG(nl_str_slice(*text, to, text->length)));
                nl_list_add(arena, &waiting, one);
                start = at + 1;
            }
            depth -= c == '}';
        }
        NL_TRY(nl_arena_check(arena));
    }
    return NULL;
}

/* ---- Walking ---- */

typedef struct candidate {
    nl_file_info info;
    bool is_seen; /* listed, so that it is there, and `info` is whole */
} candidate;

typedef struct walk {
    nl_fs *fs;
    nl_arena *arena;
    const nl_glob *glob; /* of the part being looked at */
    bool is_last;
    nl_list found; /* candidate * */
} walk;

static nl_status visit(void *argument, const nl_file_info *info)
{
    walk *self = argument;
    if (!self->is_last && !info->is_directory) return NULL;
    if (!nl_glob_matches(self->glob, nl_path_name(info->path))) return NULL;
    candidate *made = NL_NEW(self->arena, candidate);
    *made = (candidate){*info, true};
    made->info.path = nl_arena_str(self->arena, info->path);
    nl_list_add(self->arena, &self->found, made);
    return nl_arena_check(self->arena);
}

static nl_status forgive_missing(nl_status status)
{
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    return NULL;
}

/* Names within one candidate. */
static nl_status look_into(walk *self, const candidate *folder)
{
    nl_file_info info = folder->info;
    bool is_folder = folder->is_seen ? info.is_directory : true;
    if (!folder->is_seen && !nl_path_is_remote(info.path)) { /* a disk refuses to list a file; far storage has nothing below one */
        nl_error *error = nl_fs_stat(self->fs, folder->info.path, &info);
        is_folder = !error && info.is_directory;
        NL_TRY(forgive_missing(error));
    }
    return is_folder ? forgive_missing(nl_fs_list(self->fs, folder->info.path, false, visit, self)) : NULL;
}

static nl_str unescaped(nl_arena *arena, nl_str text)
{
    char *copy = nl_arena_alloc(arena, text.length + 1);
    size_t length = 0;
    for (size_t at = 0; at < text.length; at++) {
        if (text.data[at] == '\\' && at + 1 < text.length) at++;
        copy[length++] = text.data[at];
    }
    return (nl_str){copy, length};
}

static bool needs_matching(nl_str part)
{
    for (size_t at = 0; at < part.length; at = skip(part, at))
        if (strchr("*?[{", part.data[at])) return true;
    return false;
}

static nl_status step_down(walk *self, nl_str part, nl_list *candidates)
{
    self->found = (nl_list){0};
    if (needs_matching(part)) {
        NL_TRY(nl_glob_compile(self->arena, part, &self->glob));
        for (uint32_t i = 0; i < candidates->count; i++)
            NL_TRY(look_into(self, candidates->items[i]));
    } else {
        const nl_str name = unescaped(self->arena, part);
        for (uint32_t i = 0; i < candidates->count; i++) {
            candidate *made = NL_NEW(self->arena, candidate);
            *made = (candidate){.info.path = nl_path_join(self->arena, ((const candidate *)candidates->items[i])->info.path, name)};
            nl_list_add(self->arena, &self->found, made);
        }
    }
    *candidates = self->found;
    return nl_arena_check(self->arena);
}

/* Where names begin: behind "/", "file:///" or "s3://bucket/". */
static size_t root_length(nl_str path)
{
    const size_t colon = nl_str_find(path, NL_STR(":/"), 0);
    size_t at = colon == NL_NOT_FOUND || nl_str_find_char(path, '/', 0) < colon ? 0 : colon + 1;
    const bool has_authority = at > 0 && nl_path_is_remote(path);
    while (at < path.length && path.data[at] == '/') at++;
    if (!has_authority) return at;
    at = NL_MIN(nl_str_find_char(path, '/', at), path.length);
    while (at < path.length && path.data[at] == '/') at++;
    return at;
}

static nl_status glob_one(walk *self, nl_str pattern, nl_list *matches)
{
    const size_t root = root_length(pattern);
    candidate *start = NL_NEW(self->arena, candidate);
    nl_list candidates = {0};
    nl_str rest = nl_str_slice(pattern, root, pattern.length), part;
    while (rest.length > 0 && rest.data[rest.length - 1] == '/') rest.length--;
    start->info.path = nl_arena_str(self->arena, nl_str_slice(pattern, 0, root));
    nl_list_add(self->arena, &candidates, start);
    while (nl_str_next_part(&rest, '/', &part)) {
        if (part.length == 0) continue;
        self->is_last = rest.length == 0;
        NL_TRY(step_down(self, part, &candidates));
    }
    for (uint32_t i = 0; i < candidates.count; i++) {
        candidate *one = candidates.items[i];
        if (!one->is_seen) {
            const nl_str path = one->info.path;
            nl_error *error = nl_fs_stat(self->fs, path, &one->info);
            one->info.path = path;
            one->is_seen = !error;
            NL_TRY(forgive_missing(error));
        }
        if (one->is_seen) nl_list_add(self->arena, matches, &one->info);
    }
    return NULL;
}

static int compare_paths(const void *a, const void *b)
{
    const nl_file_info *const *left = a, *const *right = b;
    return nl_str_compare((*left)->path, (*right)->path);
}

nl_status nl_fs_glob(nl_fs *fs, nl_str pattern, nl_arena *arena, const nl_file_info **infos, uint32_t *info_count)
{
    nl_list expanded = {0}, matches = {0};
    walk self = {.fs = fs, .arena = arena};
    NL_TRY(expand(arena, pattern, &expanded));
    for (uint32_t i = 0; i < expanded.count; i++)
        NL_TRY(glob_one(&self, *(const nl_str *)expanded.items[i], &matches));
    if (matches.count > 1) qsort(matches.items, matches.count, sizeof(*matches.items), compare_paths);
    nl_file_info *all = NL_NEW_ARRAY(arena, nl_file_info, matches.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < matches.count; i++) {
        const nl_file_info *one = matches.items[i];
        if (count == 0 || !nl_str_equal(all[count - 1].path, one->path)) all[count++] = *one;
    }
    *infos = all;
    *info_count = count;
    return nl_arena_check(arena);
}
