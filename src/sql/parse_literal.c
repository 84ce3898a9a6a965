/* sql/parse_literal.c - constants: NULL, booleans, numbers with their suffixes, strings, typed literals, intervals. */
#include "sql/parse.h"

#include "base/number.h"

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Digits, point and exponent of a number token as an unscaled integer and a scale (below zero for 1e3). The scale is
 * capped far outside of what is allowed, so that a huge exponent cannot overflow. */
typedef struct decimal_parts {
    nl_int128 unscaled;
    int digit_count; /* significant ones; above 38 unscaled is not usable */
    int64_t scale;
} decimal_parts;

static decimal_parts split_decimal(nl_str text)
{
    decimal_parts parts = {0};
    bool is_negative = false;
    bool is_fraction = false;
    size_t i = 0;
    for (; i < text.length && (text.data[i] | 32) != 'e'; i++) {
        char c = text.data[i];
        if (c == '-') is_negative = true;
        if (c == '.') is_fraction = true;
        if (c < '0' || c > '9') continue;
        if (is_fraction) parts.scale++;
        if (parts.digit_count > 0 || c != '0') parts.digit_count++;
        if (parts.digit_count <= NL_DECIMAL_PRECISION_MAX) parts.unscaled = parts.unscaled * 10 + (c - '0');
    }
    int64_t exponent = 0;
    bool is_exponent_negative = false;
    for (; i < text.length; i++) {
        char c = text.data[i];
        if (c == '-') is_exponent_negative = true;
        if (c >= '0' && c <= '9' && exponent < 1000000000) exponent = exponent * 10 + (c - '0');
    }
    parts.scale -= is_exponent_negative ? -exponent : exponent;
    if (is_negative) parts.unscaled = -parts.unscaled;
    return parts;
}

/* As Spark: precision is at least the scale, and a scale below zero is written out as zeros. */
static bool set_decimal(nl_ast_literal *literal, decimal_parts parts, int64_t *precision)
{
    int64_t digits = parts.digit_count > 0 ? parts.digit_count : 1;
    if (parts.scale < 0) {
        digits -= parts.scale;
        for (int64_t i = parts.scale; i < 0 && digits <= NL_DECIMAL_PRECISION_MAX; i++) parts.unscaled *= 10;
        parts.scale = 0;
    }
    *precision = NL_MAX(digits, parts.scale);
    if (*precision > NL_DECIMAL_PRECISION_MAX) return false;
    literal->kind = NL_AST_LITERAL_DECIMAL;
    literal->decimal = parts.unscaled;
    literal->precision = (int)*precision;
    literal->scale = (int)parts.scale;
    return true;
}

/* What a number token is called in range errors, and its range. */
typedef struct number_rule {
    nl_token_kind token;
    nl_ast_literal_kind literal;
    uint8_t suffix_length;
    const char *type_name;
    const char *minimum;
    const char *maximum;
} number_rule;

static const number_rule number_rules[] = {
    {NL_T_TINYINT_LITERAL, NL_AST_LITERAL_TINYINT, 1, "tinyint", "-128", "127"},
    {NL_T_SMALLINT_LITERAL, NL_AST_LITERAL_SMALLINT, 1, "smallint", "-32768", "32767"},
    {NL_T_BIGINT_LITERAL, NL_AST_LITERAL_BIGINT, 1, "bigint", "-9223372036854775808", "9223372036854775807"},
    {NL_T_FLOAT_LITERAL, NL_AST_LITERAL_FLOAT, 1, "float", "-3.4028234663852886E+38", "3.4028234663852886E+38"},
    {NL_T_DOUBLE_LITERAL, NL_AST_LITERAL_DOUBLE, 1, "double", "-1.7976931348623157E+308", "1.7976931348623157E+308"},
    {NL_T_EXPONENT, NL_AST_LITERAL_DOUBLE, 0, "double", "-1.7976931348623157E+308", "1.7976931348623157E+308"},
};

static nl_status refuse_range(nl_parser *p, const number_rule *rule, nl_str text, nl_ast_range range)
{
    return NL_REFUSE(p, range, INVALID_NUMERIC_LITERAL_RANGE, NL_P_STR("rawStrippedQualifier", text),
                         NL_P("minValue", rule->minimum), NL_P("maxValue", rule->maximum),
                         NL_P("typeName", rule->type_name));
}

static bool fits_real(const number_rule *rule, double value)
{
    if (rule->literal == NL_AST_LITERAL_FLOAT) return value >= -3.4028234663852886E+38 && value <= 3.4028234663852886E+38;
    return value >= -__DBL_MAX__ && value <= __DBL_MAX__;
}

static bool fits_integer(const number_rule *rule, int64_t value)
{
    if (rule->literal == NL_AST_LITERAL_TINYINT) return value >= INT8_MIN && value <= INT8_MAX;
    return rule->literal != NL_AST_LITERAL_SMALLINT || (value >= INT16_MIN && value <= INT16_MAX);
}

static nl_status set_by_rule(nl_parser *p, const number_rule *rule, nl_ast_literal *literal, nl_ast_range range)
{
    literal->kind = rule->literal;
    bool is_real = rule->literal == NL_AST_LITERAL_FLOAT || rule->literal == NL_AST_LITERAL_DOUBLE;
    bool fits = is_real ? nl_parse_double(literal->text, &literal->real) && fits_real(rule, literal->real)
                        : nl_parse_int64(literal->text, &literal->integer) && fits_integer(rule, literal->integer);
    return fits ? NULL : refuse_range(p, rule, literal->text, range);
}

/* INT, BIGINT or DECIMAL by size; DECIMAL for 1.5 and 1BD. Only BD errors show where they are in Spark. */
static nl_status set_exact(nl_parser *p, nl_token_kind kind, nl_ast_literal *literal, nl_ast_range range)
{
    bool is_integer = kind == NL_T_INTEGER_VALUE && nl_parse_int64(literal->text, &literal->integer);
    if (is_integer) {
        bool is_int = literal->integer >= INT32_MIN && literal->integer <= INT32_MAX;
        literal->kind = is_int ? NL_AST_LITERAL_INT : NL_AST_LITERAL_BIGINT;
        return NULL;
    }
    int64_t precision;
    if (set_decimal(literal, split_decimal(literal->text), &precision)) return NULL;
    return NL_REFUSE(p, kind == NL_T_BIGDECIMAL_LITERAL ? range : NL_NO_PLACE, DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION,
                     NL_P_INT("precision", precision), NL_P_INT("maxPrecision", NL_DECIMAL_PRECISION_MAX));
}

static bool is_number(nl_token_kind kind)
{
    return kind >= NL_T_INTEGER_VALUE && kind <= NL_T_BIGDECIMAL_LITERAL;
}

/* At a number, or at the minus before it. */
static nl_status parse_number(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    bool is_negative = nl_parser_take(p, NL_T_MINUS_SIGN);
    nl_token_kind kind = nl_parser_kind(p);
    nl_str token = nl_parser_token_text(p, p->at);
    p->at++;
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, first);
    const number_rule *rule = NULL;
    for (size_t i = 0; i < NL_COUNT(number_rules); i++)
        if (number_rules[i].token == kind) rule = &number_rules[i];
    if (kind == NL_T_EXPONENT && p->options.is_exponent_decimal) rule = NULL;
    size_t suffix_length = rule ? rule->suffix_length : kind == NL_T_BIGDECIMAL_LITERAL ? 2 : 0;
    token.length -= suffix_length;
    node->literal.text = is_negative ? nl_arena_f(p->arena, "-" NL_STR_FMT, NL_STR_ARG(token)) : token;
    *expr = node;
    if (rule) return set_by_rule(p, rule, &node->literal, node->range);
    return set_exact(p, kind, &node->literal, node->range);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static const struct unit_word {
    uint16_t token;
    uint8_t unit;
    bool is_plural;
} unit_words[] = {
    {NL_T_NANOSECOND, NL_AST_UNIT_NANOSECOND, false},   {NL_T_NANOSECONDS, NL_AST_UNIT_NANOSECOND, true},
    {NL_T_MICROSECOND, NL_AST_UNIT_MICROSECOND, false}, {NL_T_MICROSECONDS, NL_AST_UNIT_MICROSECOND, true},
    {NL_T_MILLISECOND, NL_AST_UNIT_MILLISECOND, false}, {NL_T_MILLISECONDS, NL_AST_UNIT_MILLISECOND, true},
    {NL_T_SECOND, NL_AST_UNIT_SECOND, false},           {NL_T_SECONDS, NL_AST_UNIT_SECOND, true},
    {NL_T_MINUTE, NL_AST_UNIT_MINUTE, false},           {NL_T_MINUTES, NL_AST_UNIT_MINUTE, true},
    {NL_T_HOUR, NL_AST_UNIT_HOUR, false},               {NL_T_HOURS, NL_AST_UNIT_HOUR, true},
    {NL_T_DAY, NL_AST_UNIT_DAY, false},                 {NL_T_DAYS, NL_AST_UNIT_DAY, true},
    {NL_T_WEEK, NL_AST_UNIT_WEEK, false},               {NL_T_WEEKS, NL_AST_UNIT_WEEK, true},
    {NL_T_MONTH, NL_AST_UNIT_MONTH, false},             {NL_T_MONTHS, NL_AST_UNIT_MONTH, true},
    {NL_T_YEAR, NL_AST_UNIT_YEAR, false},               {NL_T_YEARS, NL_AST_UNIT_YEAR, true},
};

static const struct unit_word *find_unit(nl_token_kind kind)
{
    for (size_t i = 0; i < NL_COUNT(unit_words); i++)
        if (unit_words[i].token == kind) return &unit_words[i];
    return NULL;
}

/* Units that may stand beside TO: whole words from SECOND to YEAR, without WEEK. */
static bool is_range_unit(const struct unit_word *word)
{
    return word && !word->is_plural && word->unit >= NL_AST_UNIT_SECOND && word->unit != NL_AST_UNIT_WEEK;
}

/* Whether `[sign] value unit` stands at a token; *unit_at is the unit's. */
static bool has_interval_part_at(const nl_parser *p, uint32_t at, uint32_t *unit_at)
{
    nl_token_kind kind = nl_parser_kind_at(p, at);
    if (kind == NL_T_PLUS || kind == NL_T_MINUS_SIGN) kind = nl_parser_kind_at(p, ++at);
    bool is_value = kind == NL_T_INTEGER_VALUE || kind == NL_T_DECIMAL_VALUE || nl_parser_is_string_at(p, at);
    *unit_at = at + 1;
    return is_value && find_unit(nl_parser_kind_at(p, at + 1)) != NULL;
}

bool nl_parser_starts_interval(const nl_parser *p)
{
    uint32_t unit_at;
    return nl_parser_is(p, NL_T_INTERVAL) && has_interval_part_at(p, p->at + 1, &unit_at);
}

static nl_status parse_interval_part(nl_parser *p, nl_ast_interval_part *part)
{
    bool is_negative = nl_parser_is(p, NL_T_MINUS_SIGN);
    if (is_negative || nl_parser_is(p, NL_T_PLUS)) p->at++;
    part->is_string = nl_parser_is_string_at(p, p->at);
    nl_str text = part->is_string ? nl_parser_unescape(p, p->at) : nl_parser_token_text(p, p->at);
    part->value = is_negative ? nl_arena_f(p->arena, "-" NL_STR_FMT, NL_STR_ARG(text)) : text;
    p->at++;
    const struct unit_word *word = find_unit(nl_parser_kind(p));
    part->unit = (nl_ast_interval_unit)word->unit;
    p->at++;
    if (!is_range_unit(word) || !nl_parser_is(p, NL_T_TO)) return NULL;
    const struct unit_word *to = find_unit(nl_parser_ahead(p, 1));
    if (!is_range_unit(to)) return NULL;
    p->at += 2;
    part->has_to = true;
    part->to = (nl_ast_interval_unit)to->unit;
    return NULL;
}

nl_status nl_parse_interval(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at++;
    nl_list parts = {0};
    bool has_to = false;
    uint32_t unit_at;
    while (has_interval_part_at(p, p->at, &unit_at)) {
        nl_ast_interval_part *part = NL_NEW(p->arena, nl_ast_interval_part);
        NL_TRY(parse_interval_part(p, part));
        nl_list_add(p->arena, &parts, part);
        has_to |= part->has_to;
    }
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, first);
    node->literal.kind = NL_AST_LITERAL_INTERVAL;
    node->literal.parts = NL_FLATTEN(p, &parts, nl_ast_interval_part);
    node->literal.part_count = parts.count;
    *expr = node;
    if (has_to && parts.count > 1) return NL_REFUSE(p, node->range, _LEGACY_ERROR_TEMP_0024);
    return nl_arena_check(p->arena);
}

/* ---- typed literals ---------------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* X'1F2': an odd first digit is a byte of its own. */
static bool set_binary(nl_parser *p, nl_ast_literal *literal, nl_str digits)
{
    size_t size = (digits.length + 1) / 2;
    char *bytes = nl_arena_alloc(p->arena, size + 1);
    size_t nibble = digits.length % 2;
    for (size_t i = 0; i < digits.length; i++, nibble++) {
        int value = hex_digit(digits.data[i]);
        if (value < 0) return false;
        bytes[nibble / 2] = (char)((bytes[nibble / 2] << 4) | value);
    }
    literal->kind = NL_AST_LITERAL_BINARY;
    literal->text = (nl_str){bytes, size};
    return true;
}

/* A type's name and one string: DATE '…', X'1F', and an error for any other word. */
static nl_status parse_typed_literal(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_ident type;
    NL_TRY(nl_parse_identifier(p, &type));
    nl_str text;
    NL_TRY(nl_parse_string(p, &text));
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, first);
    *expr = node;
    node->literal.text = text;
    switch ((int)p->tokens[first].kind) {
    case NL_T_DATE: node->literal.kind = NL_AST_LITERAL_DATE; return NULL;
    case NL_T_TIMESTAMP: node->literal.kind = NL_AST_LITERAL_TIMESTAMP; return NULL;
    case NL_T_TIMESTAMP_NTZ: node->literal.kind = NL_AST_LITERAL_TIMESTAMP_NTZ; return NULL;
    case NL_T_TIMESTAMP_LTZ: node->literal.kind = NL_AST_LITERAL_TIMESTAMP_LTZ; return NULL;
    case NL_T_INTERVAL: node->literal.kind = NL_AST_LITERAL_INTERVAL_TEXT; return NULL;
    case NL_T_X:
        if (set_binary(p, &node->literal, text)) return NULL;
        return NL_REFUSE(p, node->range, INVALID_TYPED_LITERAL, NL_P("valueType", "\"X\""),
                             NL_P_STR("value", nl_arena_f(p->arena, "'" NL_STR_FMT "'", NL_STR_ARG(text))));
    default: break;
    }
    nl_str name = nl_parser_upper(p, type.text);
    return NL_REFUSE(
        p, node->range, UNSUPPORTED_TYPED_LITERAL,
        NL_P_STR("unsupportedType", nl_arena_f(p->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(name))),
        NL_P("supportedTypes", "\"DATE\", \"TIMESTAMP_NTZ\", \"TIMESTAMP_LTZ\", \"TIMESTAMP\", \"INTERVAL\", \"X\""));
}

/* Adjacent strings are one. */
static nl_status parse_strings(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_str text = nl_parser_unescape(p, p->at++);
    if (nl_parser_is_string_at(p, p->at)) {
        nl_builder joined;
        nl_builder_init(&joined, NL_SQL_TEXT_BYTES_MAX);
        nl_append(&joined, text);
        while (nl_parser_is_string_at(p, p->at)) nl_append(&joined, nl_parser_unescape(p, p->at++));
        text = nl_arena_str(p->arena, nl_builder_str(&joined));
        nl_builder_fini(&joined);
    }
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, first);
    node->literal.kind = NL_AST_LITERAL_STRING;
    node->literal.text = text;
    *expr = node;
    return nl_arena_check(p->arena);
}

static nl_status parse_parameter(nl_parser *p, nl_ast_expr **expr)
{
    uint32_t first = p->at;
    nl_ast_ident name = {0};
    p->parameter_mark_count++;
    if (nl_parser_take(p, NL_T_COLON))
        NL_TRY(nl_parse_identifier(p, &name));
    else
        p->at++;
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_PARAMETER, first);
    node->parameter.name = name;
    if (!name.text.data) node->parameter.index = p->parameter_count++;
    *expr = node;
    return NULL;
}

bool nl_parser_starts_constant(const nl_parser *p)
{
    nl_token_kind kind = nl_parser_kind(p);
    nl_token_kind next = nl_parser_ahead(p, 1);
    if (is_number(kind) || nl_parser_is_string_at(p, p->at)) return true;
    if (kind == NL_T_MINUS_SIGN) return is_number(next);
    if (kind == NL_T_QUESTION) return true;
    if (kind == NL_T_COLON) return nl_parser_is_identifier_at(p, p->at + 1);
    if (kind == NL_T_NULL || kind == NL_T_TRUE || kind == NL_T_FALSE)
        return next != NL_T_LEFT_PAREN && next != NL_T_ARROW;
    if (nl_parser_starts_interval(p)) return true;
    return nl_parser_is_identifier_at(p, p->at) && nl_parser_is_string_at(p, p->at + 1);
}

nl_status nl_parse_constant(nl_parser *p, nl_ast_expr **expr)
{
    if (!nl_parser_starts_constant(p)) {
        if (nl_parser_is_identifier_at(p, p->at)) p->at++; /* it could begin a typed literal: the word behind is wrong */
        return nl_parser_syntax_error(p);
    }
    nl_token_kind kind = nl_parser_kind(p);
    if (is_number(kind) || kind == NL_T_MINUS_SIGN) return parse_number(p, expr);
    if (kind == NL_T_QUESTION || kind == NL_T_COLON) return parse_parameter(p, expr);
    if (nl_parser_is_string_at(p, p->at)) return parse_strings(p, expr);
    if (nl_parser_starts_interval(p)) return nl_parse_interval(p, expr);
    if (nl_parser_is_string_at(p, p->at + 1)) return parse_typed_literal(p, expr);
    p->at++;
    nl_ast_expr *node = nl_parser_new_expr(p, NL_AST_EXPR_LITERAL, p->at - 1);
    node->literal.kind = kind == NL_T_NULL ? NL_AST_LITERAL_NULL : NL_AST_LITERAL_BOOLEAN;
    node->literal.boolean = kind == NL_T_TRUE;
    *expr = node;
    return NULL;
}
