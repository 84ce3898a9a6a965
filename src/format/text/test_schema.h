/* format/text/test_schema.h - types from their catalog strings ("struct<a:int,b:array<string>>"), for unit tests only. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "column/type.h"

static inline const nl_type *test_parse_type(nl_arena *arena, const char **at);

static inline const nl_type *test_parse_fields(nl_arena *arena, const char **at)
{
    nl_field fields[64];
    uint32_t count = 0;
    while (**at != '>') {
        if (**at == ',') (*at)++;
        const char *colon = strchr(*at, ':');
        fields[count].name = nl_arena_str(arena, (nl_str){*at, (size_t)(colon - *at)});
        *at = colon + 1;
        fields[count] = (nl_field){.name = fields[count].name, .type = test_parse_type(arena, at), .is_nullable = true};
        count++;
    }
    (*at)++;
    return nl_type_struct(arena, fields, count);
}

static inline const nl_type *test_parse_type(nl_arena *arena, const char **at)
{
    static const struct {
        const char *name;
        nl_type_id id;
    } simple[] = {{"void", NL_TYPE_NULL},       {"boolean", NL_TYPE_BOOLEAN},           {"tinyint", NL_TYPE_TINYINT},
                  {"smallint", NL_TYPE_SMALLINT}, {"interval day to second", NL_TYPE_INTERVAL_DT},
                  {"interval year to month", NL_TYPE_INTERVAL_YM}, {"int", NL_TYPE_INT},
                  {"bigint", NL_TYPE_BIGINT},   {"float", NL_TYPE_FLOAT},               {"double", NL_TYPE_DOUBLE},
                  {"string", NL_TYPE_STRING},   {"binary", NL_TYPE_BINARY},             {"date", NL_TYPE_DATE},
                  {"timestamp_ntz", NL_TYPE_TIMESTAMP_NTZ}, {"timestamp", NL_TYPE_TIMESTAMP}, {"variant", NL_TYPE_VARIANT}};
    nl_str rest = nl_str_from(*at);
    int precision, scale, length;
    if (sscanf(*at, "decimal(%d,%d)%n", &precision, &scale, &length) == 2) {
        *at += length;
        return nl_type_decimal(precision, scale);
    }
    if (nl_str_starts(rest, NL_STR("struct<"))) {
        *at += 7;
        return test_parse_fields(arena, at);
    }
    if (nl_str_starts(rest, NL_STR("array<"))) {
        *at += 6;
        const nl_type *element = test_parse_type(arena, at);
        (*at)++;
        return nl_type_array(arena, element, true);
    }
    if (nl_str_starts(rest, NL_STR("map<"))) {
        *at += 4;
        const nl_type *key = test_parse_type(arena, at);
        (*at)++;
        const nl_type *value = test_parse_type(arena, at);
        (*at)++;
        return nl_type_map(arena, key, value, true);
    }
    for (size_t i = 0; i < NL_COUNT(simple); i++) {
        if (!nl_str_starts(rest, nl_str_from(simple[i].name))) continue;
        *at += strlen(simple[i].name);
        return nl_type_of(simple[i].id);
    }
    abort();
}
