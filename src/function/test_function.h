/* function/test_function.h - binding and calling functions on small vectors written as text; for unit tests only.
 *
 * A test names the argument types and gives each column's rows as texts (NULL for null), which are cast to the type
 * with nilas's own CAST; results come back as texts, too. Every call is made four times: flat, constant (when there is
 * one row), dictionary, and with a selection, and all must agree.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "function/cast.h"
#include "function/kernel.h"

static nl_arena *test_arena;
static nl_eval_confs test_confs;
static nl_memory *test_memory;

static inline int test_setup(void **state)
{
    (void)state;
    test_memory = nl_memory_new(NULL, "test", SIZE_MAX / 2);
    test_arena = nl_arena_new(NULL);
    test_confs = (nl_eval_confs){.is_ansi = true, .zone = nl_timezone_utc(), .now_micros = 1700000000000000ll};
    return 0;
}

static inline int test_teardown(void **state)
{
    (void)state;
    nl_arena_free(test_arena);
    nl_memory_release(test_memory); /* asserts that everything was given back */
    return 0;
}

static inline void expect_success(nl_status status)
{
    if (status != NULL) print_error("%s\n%s\n", nl_error_message(status), nl_error_notes(status));
    assert_null(status);
}

/* Frees the error. */
static inline void expect_error(nl_status status, const char *condition)
{
    assert_non_null(status);
    if (strcmp(nl_condition_name(nl_error_condition(status)), condition) != 0) print_error("%s\n", nl_error_message(status));
    assert_string_equal(nl_condition_name(nl_error_condition(status)), condition);
    nl_error_free(status);
}

static inline nl_value test_value(const nl_type *type, const char *text);

/* "1,2,null" for arrays, "1:a,2:b" for maps, "1,a" for structs. */
static inline nl_value test_nested_value(const nl_type *type, const char *text)
{
    nl_value *items = NL_NEW_ARRAY(test_arena, nl_value, 64);
    nl_value value = {.type = type};
    nl_str rest = nl_str_from(text);
    nl_str part;
    while (nl_str_next_part(&rest, ',', &part)) {
        nl_str key;
        if (type->id == NL_TYPE_MAP && nl_str_next_part(&part, ':', &key))
            items[value.list.count++] = test_value(type->children[0].type, nl_str_c(test_arena, key));
        uint32_t child = type->id == NL_TYPE_MAP ? 1 : type->id == NL_TYPE_STRUCT ? value.list.count : 0;
        items[value.list.count] = test_value(type->children[child].type, nl_str_is(part, "null") ? NULL : nl_str_c(test_arena, part));
        value.list.count++;
    }
    value.list.items = items;
    return value;
}

static inline nl_value test_value(const nl_type *type, const char *text)
{
    if (text == NULL) return nl_value_null(type);
    if (nl_type_is_nested(type)) return test_nested_value(type, text);
    nl_value in = nl_value_string(nl_str_from(text));
    nl_value out;
    if (type->id == NL_TYPE_STRING) return in;
    if (type->id == NL_TYPE_BINARY) {
        in.type = type;
        return in;
    }
    expect_success(nl_cast_value(test_arena, &test_confs, NL_CAST_ANSI, &in, type, &out));
    return out;
}

static inline nl_vector test_column(const nl_type *type, const char *const *rows, uint32_t count)
{
    nl_column_builder *builder = NULL;
    nl_vector vector = {0};
    expect_success(nl_column_builder_new(type, test_memory, &builder));
    for (uint32_t i = 0; i < count; i++) {
        nl_value value = test_value(type, rows[i]);
        expect_success(nl_column_builder_value(builder, &value));
    }
    expect_success(nl_column_builder_finish(builder, &vector));
    nl_column_builder_free(builder);
    return vector;
}

/* The same rows as a dictionary whose values are the distinct rows in reverse order. */
static inline nl_vector test_dictionary(const nl_vector *flat)
{
    nl_column_builder *builder = NULL;
    nl_vector values = {0};
    nl_vector result = {.type = flat->type, .encoding = NL_DICTIONARY, .length = flat->length, .null_count = UINT32_MAX};
    expect_success(nl_buffer_new(test_memory, flat->length * sizeof(uint32_t) + 4, true, &result.values_buffer));
    uint32_t *indices = (uint32_t *)(void *)result.values_buffer->data;
    result.indices = indices;
    expect_success(nl_column_builder_new(flat->type, test_memory, &builder));
    uint32_t count = 0;
    for (uint32_t row = flat->length; row-- > 0;) {
        if (nl_vector_is_null(flat, row)) continue;
        expect_success(nl_column_builder_row(builder, flat, row));
        indices[row] = count++;
    }
    expect_success(nl_column_builder_finish(builder, &values));
    nl_column_builder_free(builder);
    result.validity = flat->validity;
    result.validity_buffer = nl_buffer_retain(flat->validity_buffer);
    result.dictionary = nl_shared_vector_new(&values);
    return result;
}

/* Text of a row as CAST AS STRING shows it; "NULL" for null. In the test's arena. */
static inline const char *test_text(const nl_vector *vector, uint32_t row)
{
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = test_confs.zone};
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    if (nl_vector_is_null(vector, row))
        nl_append_c(&text, "NULL");
    else
        nl_vector_append_text(vector, row, &options, &text);
    const char *copy = nl_str_c(test_arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static inline nl_str test_argument_sql(const nl_bind *bind, uint32_t i)
{
    return nl_arena_f(bind->arena, "a%u", i + 1);
}

static inline nl_status test_bind(const char *name, const nl_type *const *types, uint32_t count, const nl_value *const *constants,
                                  const nl_bound_function **bound)
{
    const nl_function_row *const *rows = NULL;
    uint32_t row_count = nl_function_find(nl_str_from(name), &rows);
    assert_true(row_count > 0);
    const nl_type **given = NL_NEW_ARRAY(test_arena, const nl_type *, count + 1);
    for (uint32_t i = 0; i < count; i++) given[i] = types[i];
    nl_bind bind = {.arena = test_arena,
                    .confs = &test_confs,
                    .name = nl_str_from(name),
                    .argument_count = count,
                    .argument_types = given,
                    .constants = constants,
                    .argument_sql = test_argument_sql};
    return nl_function_bind(&bind, rows, row_count, bound);
}

/* Casts the arguments as the analyzer would, then calls. */
static inline nl_status test_invoke(const nl_bound_function *bound, const nl_vector *args, nl_selection selection, uint32_t length,
                                    nl_vector *out)
{
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    nl_vector cast[16] = {{0}};
    nl_status status = NULL;
    for (uint32_t i = 0; i < bound->argument_count && status == NULL; i++)
        status = nl_cast_vector(&eval, test_confs.is_ansi ? NL_CAST_ANSI : NL_CAST_LEGACY, &args[i], bound->argument_types[i],
                                selection, &cast[i]);
    if (status == NULL) status = nl_function_call(bound, &eval, cast, NULL, selection, length, out);
    for (uint32_t i = 0; i < bound->argument_count; i++) nl_vector_fini(&cast[i]);
    return status;
}

/* name(args…) on one row: arguments as types and texts. *text: the result. */
static inline nl_status test_call(const char *name, uint32_t count, const nl_type *const *types, const char *const *values,
                                  const char **text)
{
    const nl_bound_function *bound = NULL;
    nl_value constants[16];
    const nl_value *pointers[16];
    nl_vector args[16] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        constants[i] = test_value(types[i], values[i]);
        pointers[i] = &constants[i];
    }
    NL_TRY(test_bind(name, types, count, pointers, &bound));
    static const uint32_t second_only[] = {1};
    nl_status status = NULL;
    const char *first = NULL;
    for (int form = 0; form < 4 && status == NULL; form++) { /* flat, constant, dictionary, selected */
        nl_vector out = {0};
        uint32_t length = form == 3 ? 3 : 1;
        for (uint32_t i = 0; i < count; i++) {
            const char *const rows[] = {form == 3 ? NULL : values[i], values[i], NULL};
            if (form == 1) {
                expect_success(nl_vector_new_constant(&args[i], &constants[i], 1, test_memory));
                continue;
            }
            args[i] = test_column(types[i], rows, length);
            if (form == 2 && types[i]->id != NL_TYPE_NULL) {
                nl_vector dictionary = test_dictionary(&args[i]);
                nl_vector_fini(&args[i]);
                args[i] = dictionary;
            }
        }
        nl_selection selection = form == 3 ? (nl_selection){second_only, 1} : NL_ALL_ROWS(1);
        status = test_invoke(bound, args, selection, length, &out);
        if (status == NULL) {
            const char *shown = test_text(&out, form == 3);
            if (first != NULL) assert_string_equal(shown, first);
            first = shown;
            assert_true(bound->is_nullable || strcmp(shown, "NULL") != 0 || form == 3);
        }
        nl_vector_fini(&out);
        for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    }
    *text = first;
    return status;
}

#define TYPES(...)  ((const nl_type *const[]){__VA_ARGS__})
#define VALUES(...) ((const char *const[]){__VA_ARGS__})

/* One row of a table of calls: expected is the result's text, or "!CONDITION". */
typedef struct test_case {
    const char *name;
    const char *types; /* "int,bigint": names of types separated by ';' */
    const char *values[6];
    const char *expected;
    uint32_t count;
} test_case;

/* "decimal(10,2)", "int", "interval day" … */
static inline const nl_type *test_type(nl_str name)
{
    static const struct {
        const char *name;
        nl_type_id id;
    } names[] = {{"void", NL_TYPE_NULL},     {"boolean", NL_TYPE_BOOLEAN}, {"tinyint", NL_TYPE_TINYINT}, {"smallint", NL_TYPE_SMALLINT},
                 {"int", NL_TYPE_INT},       {"bigint", NL_TYPE_BIGINT},   {"float", NL_TYPE_FLOAT},     {"double", NL_TYPE_DOUBLE},
                 {"string", NL_TYPE_STRING}, {"binary", NL_TYPE_BINARY},   {"date", NL_TYPE_DATE},       {"timestamp", NL_TYPE_TIMESTAMP},
                 {"ntz", NL_TYPE_TIMESTAMP_NTZ}, {"ym", NL_TYPE_INTERVAL_YM}, {"dt", NL_TYPE_INTERVAL_DT}, {"interval", NL_TYPE_INTERVAL}};
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is(name, names[i].name)) return nl_type_of(names[i].id);
    if (nl_str_is(name, "ints")) return nl_type_array(test_arena, nl_type_int(), true);
    if (nl_str_is(name, "texts")) return nl_type_array(test_arena, nl_type_string(), true);
    if (nl_str_is(name, "map")) return nl_type_map(test_arena, nl_type_int(), nl_type_string(), true);
    if (nl_str_is(name, "day")) return nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_DAY);
    if (nl_str_is(name, "month")) return nl_type_interval_ym(NL_FIELD_MONTH, NL_FIELD_MONTH);
    int precision = 10;
    int scale = 0;
    assert_int_equal(sscanf(nl_str_c(test_arena, name), "decimal(%d,%d)", &precision, &scale), 2);
    return nl_type_decimal(precision, scale);
}

static inline void run_cases(const test_case *cases, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_type *types[6];
        uint32_t argument_count = 0;
        nl_str rest = nl_str_from(cases[i].types);
        nl_str part;
        while (argument_count < 6 && nl_str_next_part(&rest, ';', &part)) types[argument_count++] = test_type(part);
        const char *text = NULL;
        nl_status status = test_call(cases[i].name, argument_count, types, cases[i].values, &text);
        const char *shown = text;
        if (status != NULL) shown = nl_arena_f(test_arena, "!%s", nl_condition_name(nl_error_condition(status))).data;
        if (strcmp(shown, cases[i].expected) != 0) {
            print_error("case %u: %s(%s) of %s, %s, %s gives %s, not %s\n", i, cases[i].name, cases[i].types,
                        cases[i].values[0] ? cases[i].values[0] : "NULL", cases[i].values[1] ? cases[i].values[1] : "-",
                        cases[i].values[2] ? cases[i].values[2] : "-", shown, cases[i].expected);
            if (status != NULL) print_error("%s\n", nl_error_message(status));
        }
        assert_string_equal(shown, cases[i].expected);
        nl_error_free(status);
    }
}
