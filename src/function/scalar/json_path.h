/* scalar/json_path.h - paths into JSON texts ("$.a[0].b", "$[*].c") and what they find, as Hive and Spark do. */
#pragma once

#include "base/arena.h"
#include "format/json/json_text.h"

typedef enum nl_json_step_kind {
    NL_JSON_STEP_FIELD,   /* .name, ['name']        */
    NL_JSON_STEP_INDEX,   /* [n]                    */
    NL_JSON_STEP_ELEMENTS, /* [*]                   */
    NL_JSON_STEP_NEVER    /* .*, ['*']: finds nothing */
} nl_json_step_kind;

typedef struct nl_json_step {
    nl_json_step_kind kind;
    nl_str name;
    int64_t index;
} nl_json_step;

typedef struct nl_json_path {
    nl_json_step *steps;
    uint32_t count;
} nl_json_path;

/* False: not a path. Names point into `text`, the steps lie in the arena. */
bool nl_json_path_parse(nl_arena *arena, nl_str text, nl_json_path *path);
/* Options of Spark's JSON functions: single quotes and control characters in strings are taken. */
extern const nl_json_options nl_json_function_options;

/* Scratch texts, one per nesting of [*] in a path. */
#define NL_JSON_PATH_STEPS_MAX 64u
typedef struct nl_json_finder {
    nl_json_parser in;
    const nl_json_path *path;
    nl_builder buffers[NL_JSON_PATH_STEPS_MAX];
    uint32_t buffer_count;
} nl_json_finder;
void nl_json_finder_init(nl_json_finder *finder);
void nl_json_finder_fini(nl_json_finder *finder);
/* Appends what the path finds in `text`. False: nothing, or the text is not JSON (then *out holds rubbish). */
bool nl_json_find(nl_json_finder *finder, const nl_json_path *path, nl_str text, nl_builder *out);
/* The parser's present value as Jackson copies it: no blanks, fractions as doubles. False: not JSON. */
bool nl_json_copy_as_jackson(nl_json_parser *in, nl_builder *out);
