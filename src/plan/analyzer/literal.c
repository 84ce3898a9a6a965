/* Literals: typed values and the text Spark prints for them. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"
#include "base/number.h"

#define MICROS_PER_HOUR   3600000000ll
#define MICROS_PER_MINUTE 60000000ll

/* java.math.BigDecimal.toString: plain, unless the number is tiny; then with an exponent. */
static nl_str decimal_text(nl_arena *arena, nl_int128 unscaled, int scale)
{
    const int digits = nl_decimal_digits(unscaled);
    const int exponent = digits - 1 - scale;
    const nl_value value = {.type = nl_type_decimal(38, exponent < -6 ? 0 : scale), .decimal = unscaled};
    const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    nl_value_append_text(&value, &options, &out);
    nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    if (exponent >= -6) return text;
    const size_t sign = unscaled < 0;
    const nl_str head = nl_str_slice(text, 0, sign + 1);
    const nl_str tail = nl_str_slice(text, sign + 1, text.length);
    return nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT "E%d", NL_STR_ARG(head), tail.length ? "." : "", NL_STR_ARG(tail), exponent);
}

static nl_str value_text(nl_arena *arena, const nl_value *value, nl_text_style style, const nl_timezone *zone)
{
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    const nl_text_options options = {.style = style, .zone = zone};
    nl_value_append_text(value, &options, &out);
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

/* Spark's Literal.sql, except that strings and numbers print bare. */
static nl_str literal_text(nl_scope *scope, const nl_value *value)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_timezone *zone = nl_scope_confs(scope)->zone;
    if (value->is_null) return NL_STR("NULL");
    nl_str text;
    switch (value->type->id) {
    case NL_TYPE_STRING:
        if (!value->type->collation.length) return value->text;
        return nl_arena_f(arena, "'" NL_STR_FMT "' collate " NL_STR_FMT, NL_STR_ARG(value->text), NL_STR_ARG(value->type->collation));
    case NL_TYPE_DECIMAL:
        return decimal_text(arena, value->decimal, value->type->scale);
    case NL_TYPE_DATE:
        text = value_text(arena, value, NL_TEXT_CAST, zone);
        return nl_arena_f(arena, "DATE '" NL_STR_FMT "'", NL_STR_ARG(text));
    case NL_TYPE_TIMESTAMP:
        text = value_text(arena, value, NL_TEXT_CAST, zone);
        return nl_arena_f(arena, "TIMESTAMP '" NL_STR_FMT "'", NL_STR_ARG(text));
    case NL_TYPE_INTERVAL:
        text = value_text(arena, value, NL_TEXT_CAST, zone);
        return nl_arena_f(arena, "INTERVAL '" NL_STR_FMT "'", NL_STR_ARG(text));
    case NL_TYPE_TIMESTAMP_NTZ:
        text = value_text(arena, value, NL_TEXT_CAST, zone);
        return nl_arena_f(arena, "TIMESTAMP_NTZ '" NL_STR_FMT "'", NL_STR_ARG(text));
    case NL_TYPE_BINARY: {
        char *hex = NL_NEW_ARRAY(arena, char, value->text.length * 2 + 1);
        nl_format_hex((const uint8_t *)value->text.data, value->text.length, true, hex);
        return nl_arena_f(arena, "X'%.*s'", (int)(value->text.length * 2), hex);
    }
    case NL_TYPE_INTERVAL_YM:
    case NL_TYPE_INTERVAL_DT:
        return value_text(arena, value, NL_TEXT_SHOW, zone);
    case NL_TYPE_NULL:
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    return value_text(arena, value, NL_TEXT_CAST, zone);
}

/* Spark's Literal.sql, strings quoted and collections written out: what variablereference(…) shows. */
static void append_sql(nl_scope *scope, const nl_value *value, uint32_t depth, nl_builder *out)
{
    const bool is_nested = depth < NL_TYPE_DEPTH_MAX && (value->type->id == NL_TYPE_ARRAY || value->type->id == NL_TYPE_STRUCT);
    if (!value->is_null && value->type->id == NL_TYPE_STRING) {
        nl_append_f(out, "'" NL_STR_FMT "'", NL_STR_ARG(value->text));
        return;
    }
    if (value->is_null || !is_nested) {
        nl_append(out, literal_text(scope, value));
        return;
    }
    const bool is_struct = value->type->id == NL_TYPE_STRUCT;
    nl_append_c(out, is_struct ? "NAMED_STRUCT(" : "ARRAY(");
    for (uint32_t i = 0; i < value->list.count; i++) {
        if (i) nl_append_c(out, ", ");
        if (is_struct) nl_append_f(out, "'" NL_STR_FMT "', ", NL_STR_ARG(value->type->children[i].name));
        append_sql(scope, &value->list.items[i], depth + 1, out);
    }
    nl_append_char(out, ')');
}

nl_str nl_literal_sql(nl_scope *scope, const nl_value *value)
{
    nl_builder out;
    nl_builder_init(&out, NL_TEXT_BYTES_MAX);
    append_sql(scope, value, 0, &out);
    const nl_str text = nl_arena_str(nl_scope_arena(scope), nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

/* ---- typed text: DATE '…', TIMESTAMP '…' ---- */

/* "tomorrow Zulu": the zone behind the word counts for nothing, but must be one. */
static nl_str without_zone(nl_str text)
{
    const nl_timezone *zone = NULL;
    size_t at = 0;
    while (at < text.length && text.data[at] != ' ' && text.data[at] != '\t') at++;
    const nl_str rest = nl_str_trim(nl_str_slice(text, at, text.length));
    if (rest.length == 0) return text;
    nl_status status = nl_timezone_find(rest, &zone);
    const bool is_zone = status == NULL;
    nl_error_free(status);
    return is_zone ? nl_str_slice(text, 0, at) : text;
}

/* today, now, epoch, yesterday, tomorrow; *micros is local time for NTZ and instants for LTZ. */
static bool special_instant(nl_scope *scope, nl_str text, bool is_ntz, int64_t *micros)
{
    const nl_eval_confs *confs = nl_scope_confs(scope);
    const int64_t local_now = nl_timezone_to_local(confs->zone, confs->now_micros);
    const int64_t today = nl_floor_div(local_now, NL_MICROS_PER_DAY) * NL_MICROS_PER_DAY;
    const nl_str word = without_zone(nl_str_trim(text));
    int64_t local;
    if (nl_str_is_nocase(word, "epoch")) {
        *micros = 0;
        return true;
    }
    if (nl_str_is_nocase(word, "now"))
        local = local_now;
    else if (nl_str_is_nocase(word, "today"))
        local = today;
    else if (nl_str_is_nocase(word, "yesterday"))
        local = today - NL_MICROS_PER_DAY;
    else if (nl_str_is_nocase(word, "tomorrow"))
        local = today + NL_MICROS_PER_DAY;
    else
        return false;
    *micros = is_ntz ? local : nl_timezone_from_local(confs->zone, local);
    return true;
}

static nl_status invalid_typed(nl_scope *scope, const char *type, nl_str text)
{
    const nl_str quoted = nl_arena_f(nl_scope_arena(scope), "'" NL_STR_FMT "'", NL_STR_ARG(text));
    return NL_RAISE(INVALID_TYPED_LITERAL, NL_P("valueType", type), NL_P_STR("value", quoted));
}

static nl_status date_value(nl_scope *scope, nl_str text, nl_value *value)
{
    int64_t micros = 0;
    int32_t days = 0;
    if (special_instant(scope, text, true, &micros))
        days = (int32_t)nl_floor_div(micros, NL_MICROS_PER_DAY);
    else if (!nl_cast_date(text, &days))
        return invalid_typed(scope, "\"DATE\"", text);
    *value = nl_value_int(nl_type_of(NL_TYPE_DATE), days);
    return NULL;
}

static nl_status timestamp_value(nl_scope *scope, nl_ast_literal_kind kind, nl_str text, nl_value *value)
{
    int64_t micros = 0;
    const bool is_either = kind == NL_AST_LITERAL_TIMESTAMP && nl_scope_confs(scope)->is_timestamp_ntz; /* a zone in the text makes it an instant */
    const bool is_ntz = kind == NL_AST_LITERAL_TIMESTAMP_NTZ || (is_either && (nl_cast_timestamp_ntz(text, false, &micros) || !nl_cast_timestamp_ntz(text, true, &micros)));
    bool is_valid = special_instant(scope, text, is_ntz, &micros);
    if (!is_valid && is_ntz) is_valid = nl_cast_timestamp_ntz(text, false, &micros);
    if (!is_valid && !is_ntz) is_valid = nl_cast_timestamp(text, nl_scope_confs(scope)->zone, &micros);
    if (!is_valid)
        return invalid_typed(scope, kind == NL_AST_LITERAL_TIMESTAMP ? "\"TIMESTAMP\"" : is_ntz ? "\"TIMESTAMP_NTZ\"" : "\"TIMESTAMP_LTZ\"", text);
    *value = nl_value_int(nl_type_of(is_ntz ? NL_TYPE_TIMESTAMP_NTZ : NL_TYPE_TIMESTAMP), micros);
    return NULL;
}

static nl_status literal_value(nl_scope *scope, const nl_ast_expr *ast, nl_value *value)
{
    const nl_ast_literal *literal = &ast->literal;
    switch (literal->kind) {
    case NL_AST_LITERAL_NULL:
        *value = nl_value_null(nl_type_of(NL_TYPE_NULL));
        return NULL;
    case NL_AST_LITERAL_BOOLEAN:
        *value = nl_value_boolean(literal->boolean);
        return NULL;
    case NL_AST_LITERAL_TINYINT:
        *value = nl_value_int(nl_type_of(NL_TYPE_TINYINT), literal->integer);
        return NULL;
    case NL_AST_LITERAL_SMALLINT:
        *value = nl_value_int(nl_type_of(NL_TYPE_SMALLINT), literal->integer);
        return NULL;
    case NL_AST_LITERAL_INT:
        *value = nl_value_int(nl_type_int(), literal->integer);
        return NULL;
    case NL_AST_LITERAL_BIGINT:
        *value = nl_value_int(nl_type_bigint(), literal->integer);
        return NULL;
    case NL_AST_LITERAL_FLOAT:
        *value = (nl_value){.type = nl_type_of(NL_TYPE_FLOAT), .real = (double)(float)literal->real};
        return NULL;
    case NL_AST_LITERAL_DOUBLE:
        *value = (nl_value){.type = nl_type_double(), .real = literal->real};
        return NULL;
    case NL_AST_LITERAL_DECIMAL:
        *value = (nl_value){.type = nl_type_decimal(literal->precision, literal->scale), .decimal = literal->decimal};
        return NULL;
    case NL_AST_LITERAL_STRING:
        *value = nl_value_string(literal->text);
        value->type = nl_type_collated(nl_scope_arena(scope), scope->env->collation);
        return NULL;
    case NL_AST_LITERAL_BINARY:
        *value = (nl_value){.type = nl_type_binary(), .text = literal->text};
        return NULL;
    case NL_AST_LITERAL_DATE:
        return date_value(scope, literal->text, value);
    case NL_AST_LITERAL_TIMESTAMP:
    case NL_AST_LITERAL_TIMESTAMP_NTZ:
    case NL_AST_LITERAL_TIMESTAMP_LTZ:
        return timestamp_value(scope, literal->kind, literal->text, value);
    case NL_AST_LITERAL_INTERVAL_TEXT:
    case NL_AST_LITERAL_INTERVAL:
        return nl_interval_literal_value(scope, ast, value);
    case NL_AST_LITERAL_VALUE:
        *value = *literal->value;
        return NULL;
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an unknown kind of literal"));
}

nl_status nl_make_literal(nl_scope *scope, const nl_value *value, nl_span span, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_pretty *pretty = nl_pretty_text(arena, literal_text(scope, value));
    *result = nl_expr_with_span(arena, nl_expr_with_pretty(arena, nl_expr_literal(arena, value), pretty), span);
    return NULL;
}

nl_status nl_resolve_literal(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_value value = {0};
    NL_TRY(literal_value(scope, ast, &value));
    return nl_make_literal(scope, &value, nl_span_of(ast->range), result);
}
