/* function/signature.c - a recursive-descent parser for signatures, and their matching.
 *
 * Matching goes through the arguments twice: first the plain ones bind type variables to the common type of all their
 * occurrences, then every argument's target type is the pattern resolved under these bindings.
 */
#include "function/signature.h"

#include "function/coercion.h"

typedef struct parser {
    nl_arena *arena;
    nl_str text;
    size_t at;
    bool has_failed;
} parser;

static void skip_spaces(parser *in)
{
    while (in->at < in->text.length && in->text.data[in->at] == ' ') in->at++;
}

static bool accept(parser *in, const char *token)
{
    skip_spaces(in);
    nl_str rest = nl_str_slice(in->text, in->at, in->text.length);
    if (!nl_str_starts(rest, nl_str_from(token))) return false;
    in->at += strlen(token);
    return true;
}

static void expect(parser *in, const char *token)
{
    if (!accept(in, token)) in->has_failed = true;
}

static nl_str word(parser *in)
{
    skip_spaces(in);
    size_t start = in->at;
    while (in->at < in->text.length) {
        char c = in->text.data[in->at];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?')) break;
        in->at++;
    }
    return nl_str_slice(in->text, start, in->at);
}

typedef struct type_word {
    const char *word;
    nl_pattern_kind kind;
    nl_type_id type;
} type_word;

static const type_word type_words[] = {
    {"boolean", NL_PATTERN_TYPE, NL_TYPE_BOOLEAN},
    {"tinyint", NL_PATTERN_TYPE, NL_TYPE_TINYINT},
    {"smallint", NL_PATTERN_TYPE, NL_TYPE_SMALLINT},
    {"int", NL_PATTERN_TYPE, NL_TYPE_INT},
    {"bigint", NL_PATTERN_TYPE, NL_TYPE_BIGINT},
    {"float", NL_PATTERN_TYPE, NL_TYPE_FLOAT},
    {"double", NL_PATTERN_TYPE, NL_TYPE_DOUBLE},
    {"string", NL_PATTERN_TYPE, NL_TYPE_STRING},
    {"binary", NL_PATTERN_TYPE, NL_TYPE_BINARY},
    {"date", NL_PATTERN_TYPE, NL_TYPE_DATE},
    {"timestamp", NL_PATTERN_TYPE, NL_TYPE_TIMESTAMP},
    {"timestamp_ntz", NL_PATTERN_TYPE, NL_TYPE_TIMESTAMP_NTZ},
    {"interval", NL_PATTERN_TYPE, NL_TYPE_INTERVAL},
    {"variant", NL_PATTERN_TYPE, NL_TYPE_VARIANT},
    {"void", NL_PATTERN_TYPE, NL_TYPE_NULL},
    {"interval_ym", NL_PATTERN_INTERVAL_YM, NL_TYPE_INTERVAL_YM},
    {"interval_dt", NL_PATTERN_INTERVAL_DT, NL_TYPE_INTERVAL_DT},
    {"any", NL_PATTERN_ANY, NL_TYPE_NULL},
    {"numeric", NL_PATTERN_NUMERIC, NL_TYPE_NULL},
    {"integral", NL_PATTERN_INTEGRAL, NL_TYPE_NULL},
    {"decimal", NL_PATTERN_DECIMAL, NL_TYPE_NULL},
    {"struct", NL_PATTERN_STRUCT, NL_TYPE_NULL},
    {"array", NL_PATTERN_ARRAY, NL_TYPE_NULL},
    {"map", NL_PATTERN_MAP, NL_TYPE_NULL},
    {"lambda", NL_PATTERN_LAMBDA, NL_TYPE_NULL},
    {"?", NL_PATTERN_BOUND, NL_TYPE_NULL},
};

static const nl_pattern *parse_pattern(parser *in);

static void add_child(parser *in, nl_pattern *pattern, const nl_pattern *child)
{
    if (pattern->child_count == NL_COUNT(pattern->children))
        in->has_failed = true;
    else
        pattern->children[pattern->child_count++] = child;
}

static nl_pattern *parse_single(parser *in)
{
    nl_pattern *pattern = NL_NEW(in->arena, nl_pattern);
    nl_str name = word(in);
    if (name.length == 1 && name.data[0] >= 'A' && name.data[0] <= 'Z') {
        pattern->kind = NL_PATTERN_VARIABLE;
        pattern->variable = name.data[0];
        return pattern;
    }
    for (uint32_t i = 0; i < NL_COUNT(type_words); i++) {
        if (!nl_str_is(name, type_words[i].word)) continue;
        pattern->kind = type_words[i].kind;
        if (pattern->kind == NL_PATTERN_TYPE) pattern->type = nl_type_of(type_words[i].type);
        if ((pattern->kind == NL_PATTERN_ARRAY || pattern->kind == NL_PATTERN_MAP) && accept(in, "<")) {
            do add_child(in, pattern, parse_pattern(in));
            while (accept(in, ","));
            expect(in, ">");
        }
        if (pattern->kind == NL_PATTERN_LAMBDA) {
            expect(in, "(");
            do add_child(in, pattern, parse_pattern(in));
            while (accept(in, ","));
            expect(in, ")");
            expect(in, "->");
            pattern->result = parse_pattern(in);
        }
        return pattern;
    }
    in->has_failed = true;
    return pattern;
}

static const nl_pattern *parse_pattern(parser *in)
{
    nl_pattern *first = parse_single(in);
    if (in->has_failed || !accept(in, "/")) return first;
    nl_pattern *either = NL_NEW(in->arena, nl_pattern);
    either->kind = NL_PATTERN_UNION;
    add_child(in, either, first);
    do add_child(in, either, parse_single(in));
    while (!in->has_failed && accept(in, "/"));
    return either;
}

static void parse_alternative(parser *in, nl_alternative *alternative)
{
    expect(in, "(");
    bool is_optional = false;
    if (!accept(in, ")")) {
        for (;;) {
            if (alternative->argument_count == NL_SIGNATURE_ARGUMENTS_MAX) in->has_failed = true;
            if (in->has_failed) return;
            if (accept(in, "[")) {
                is_optional = true;
                accept(in, ",");
            }
            alternative->arguments[alternative->argument_count++] = parse_pattern(in);
            if (!is_optional) alternative->required_count++;
            if (accept(in, "...")) {
                alternative->is_repeating = true;
            }
            while (accept(in, "]")) {
            }
            skip_spaces(in);
            if (in->at < in->text.length && in->text.data[in->at] == '[') continue;
            if (!accept(in, ",")) break;
        }
        expect(in, ")");
    }
    expect(in, "->");
    alternative->result = parse_pattern(in);
}

nl_status nl_signature_parse(nl_arena *arena, const nl_function_row *row, nl_signature *signature)
{
    parser in = {.arena = arena, .text = nl_str_from(row->signature)};
    uint32_t count = 1;
    for (const char *c = row->signature; *c != '\0'; c++) count += *c == '|';
    signature->alternatives = NL_NEW_ARRAY(arena, nl_alternative, count);
    signature->count = 0;
    do parse_alternative(&in, &signature->alternatives[signature->count++]);
    while (!in.has_failed && signature->count < count && accept(&in, "|"));
    skip_spaces(&in);
    if (in.has_failed || in.at != in.text.length)
        return NL_RAISE_TEXT(INTERNAL_ERROR, "the signature of %s cannot be read at byte %zu: %s", row->name, in.at,
                             row->signature);
    return NULL;
}

static bool accepts_ansi_class(const nl_pattern *pattern, const nl_type *type)
{
    switch (pattern->kind) {
    case NL_PATTERN_TYPE:
        if (pattern->type->id == NL_TYPE_STRING) return type->id == NL_TYPE_STRING;
        return nl_type_equal(pattern->type, type);
    case NL_PATTERN_ANY:
    case NL_PATTERN_VARIABLE:
    case NL_PATTERN_BOUND:
        return true;
    case NL_PATTERN_NUMERIC:
        return nl_type_is_numeric(type);
    case NL_PATTERN_INTEGRAL:
        return nl_type_is_integral(type);
    case NL_PATTERN_DECIMAL:
        return type->id == NL_TYPE_DECIMAL;
    case NL_PATTERN_INTERVAL_YM:
        return type->id == NL_TYPE_INTERVAL_YM;
    case NL_PATTERN_INTERVAL_DT:
        return type->id == NL_TYPE_INTERVAL_DT;
    case NL_PATTERN_STRUCT:
        return type->id == NL_TYPE_STRUCT;
    case NL_PATTERN_ARRAY:
        return type->id == NL_TYPE_ARRAY &&
               (pattern->child_count == 0 || accepts_ansi_class(pattern->children[0], type->children[0].type));
    case NL_PATTERN_MAP:
        return type->id == NL_TYPE_MAP &&
               (pattern->child_count < 2 || (accepts_ansi_class(pattern->children[0], type->children[0].type) &&
                                             accepts_ansi_class(pattern->children[1], type->children[1].type)));
    case NL_PATTERN_LAMBDA:
        return false;
    case NL_PATTERN_UNION:
        for (uint32_t i = 0; i < pattern->child_count; i++)
            if (accepts_ansi_class(pattern->children[i], type)) return true;
        return false;
    }
    return false;
}

/* The type a void argument takes, and the one a string is read as where only a class is asked for. */
static const nl_type *default_type(nl_arena *arena, const nl_pattern *pattern)
{
    switch (pattern->kind) {
    case NL_PATTERN_TYPE:
        return pattern->type;
    case NL_PATTERN_NUMERIC:
        return nl_type_double();
    case NL_PATTERN_INTEGRAL:
        return nl_type_int();
    case NL_PATTERN_DECIMAL:
        return nl_type_decimal(38, 18);
    case NL_PATTERN_INTERVAL_YM:
        return nl_type_of(NL_TYPE_INTERVAL_YM);
    case NL_PATTERN_INTERVAL_DT:
        return nl_type_of(NL_TYPE_INTERVAL_DT);
    case NL_PATTERN_UNION:
        return default_type(arena, pattern->children[0]);
    case NL_PATTERN_ARRAY: {
        const nl_type *element = pattern->child_count ? default_type(arena, pattern->children[0]) : nl_type_of(NL_TYPE_NULL);
        return nl_type_array(arena, element, true);
    }
    case NL_PATTERN_MAP: {
        const nl_type *key = pattern->child_count ? default_type(arena, pattern->children[0]) : nl_type_of(NL_TYPE_NULL);
        const nl_type *value = pattern->child_count ? default_type(arena, pattern->children[1]) : nl_type_of(NL_TYPE_NULL);
        return nl_type_map(arena, key, value, true);
    }
    case NL_PATTERN_ANY:
    case NL_PATTERN_VARIABLE:
    case NL_PATTERN_STRUCT:
    case NL_PATTERN_LAMBDA:
    case NL_PATTERN_BOUND:
        break;
    }
    return nl_type_of(NL_TYPE_NULL);
}

/* What `type` must be cast to for `pattern`, by Spark's implicit casts; NULL when it does not fit. */
static const nl_type *coerce(nl_arena *arena, const nl_pattern *pattern, const nl_type *type, nl_type_rules rules)
{
    if (accepts_ansi_class(pattern, type)) return type;
    if (type->id == NL_TYPE_NULL) return default_type(arena, pattern);
    switch (pattern->kind) {
    case NL_PATTERN_TYPE:
        return nl_can_cast_implicitly(type, pattern->type, rules) ? pattern->type : NULL;
    case NL_PATTERN_NUMERIC:
    case NL_PATTERN_DECIMAL:
        if (type->id == NL_TYPE_STRING) return default_type(arena, pattern);
        if (pattern->kind == NL_PATTERN_DECIMAL && nl_type_is_integral(type)) return nl_decimal_of_integer(type);
        if (pattern->kind == NL_PATTERN_DECIMAL && type->id == NL_TYPE_FLOAT) return nl_type_decimal(14, 7);
        if (pattern->kind == NL_PATTERN_DECIMAL && type->id == NL_TYPE_DOUBLE) return nl_type_decimal(30, 15);
        return NULL;
    case NL_PATTERN_INTEGRAL:
        return type->id == NL_TYPE_STRING && rules == NL_RULES_LEGACY ? nl_type_int() : NULL;
    case NL_PATTERN_UNION:
        for (uint32_t i = 0; i < pattern->child_count; i++) {
            const nl_pattern *child = pattern->children[i];
            if (child->kind == NL_PATTERN_TYPE && nl_is_upcast(type, child->type)) return child->type;
        }
        for (uint32_t i = 0; i < pattern->child_count; i++) {
            const nl_pattern *child = pattern->children[i];
            if (rules != NL_RULES_LEGACY && nl_type_is_numeric(type) && child->kind == NL_PATTERN_TYPE && nl_type_is_numeric(child->type)) continue;
            const nl_type *target = coerce(arena, child, type, rules);
            if (target != NULL) return target;
        }
        return NULL;
    case NL_PATTERN_ARRAY:
        if (type->id != NL_TYPE_ARRAY) return NULL;
        {
            const nl_type *element = coerce(arena, pattern->children[0], type->children[0].type, rules);
            return element ? nl_type_array(arena, element, type->contains_null) : NULL;
        }
    case NL_PATTERN_MAP:
        if (type->id != NL_TYPE_MAP) return NULL;
        {
            const nl_type *key = coerce(arena, pattern->children[0], type->children[0].type, rules);
            const nl_type *value = coerce(arena, pattern->children[1], type->children[1].type, rules);
            return key && value ? nl_type_map(arena, key, value, type->contains_null) : NULL;
        }
    case NL_PATTERN_ANY:
    case NL_PATTERN_VARIABLE:
    case NL_PATTERN_INTERVAL_YM:
    case NL_PATTERN_INTERVAL_DT:
    case NL_PATTERN_STRUCT:
    case NL_PATTERN_LAMBDA:
    case NL_PATTERN_BOUND:
        break;
    }
    return NULL;
}

/* Widens the variables of `pattern` by `type`. False: no common type with what was seen before. */
static bool bind_variables(const nl_bind *bind, const nl_pattern *pattern, const nl_type *type, bool is_nullable,
                           nl_match *match)
{
    switch (pattern->kind) {
    case NL_PATTERN_VARIABLE: {
        uint32_t slot = (uint32_t)(pattern->variable - 'A');
        const nl_type *before = match->variables[slot];
        match->variable_nullable[slot] |= is_nullable;
        match->variables[slot] = before == NULL ? type : nl_common_type(bind->arena, before, type, nl_confs_rules(bind->confs));
        if (match->variables[slot] != NULL) return true;
        match->variables[slot] = before;
        return false;
    }
    case NL_PATTERN_ARRAY:
        if (type->id != NL_TYPE_ARRAY || pattern->child_count == 0) return true;
        return bind_variables(bind, pattern->children[0], type->children[0].type, type->contains_null, match);
    case NL_PATTERN_MAP:
        if (type->id != NL_TYPE_MAP || pattern->child_count == 0) return true;
        return bind_variables(bind, pattern->children[0], type->children[0].type, false, match) &&
               bind_variables(bind, pattern->children[1], type->children[1].type, type->contains_null, match);
    case NL_PATTERN_LAMBDA:
        return bind_variables(bind, pattern->result, type, is_nullable, match);
    case NL_PATTERN_UNION:
    case NL_PATTERN_TYPE:
    case NL_PATTERN_ANY:
    case NL_PATTERN_NUMERIC:
    case NL_PATTERN_INTEGRAL:
    case NL_PATTERN_DECIMAL:
    case NL_PATTERN_INTERVAL_YM:
    case NL_PATTERN_INTERVAL_DT:
    case NL_PATTERN_STRUCT:
    case NL_PATTERN_BOUND:
        break;
    }
    return true;
}

static bool has_variable(const nl_pattern *pattern)
{
    if (pattern->kind == NL_PATTERN_VARIABLE) return true;
    for (uint32_t i = 0; i < pattern->child_count; i++)
        if (has_variable(pattern->children[i])) return true;
    return false;
}

bool nl_alternative_match(const nl_alternative *alternative, const nl_bind *bind, nl_match *match)
{
    const nl_type_rules rules = nl_confs_rules(bind->confs);
    *match = (nl_match){.types = NL_NEW_ARRAY(bind->arena, const nl_type *, NL_MAX(bind->argument_count, 1u)), .is_exact = true};
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        const nl_pattern *pattern = nl_alternative_argument(alternative, i);
        const nl_type *type = bind->argument_types[i];
        bool is_lambda = pattern->kind == NL_PATTERN_LAMBDA;
        bool is_nullable = bind->argument_nullable == NULL || bind->argument_nullable[i];
        match->failed_argument = i;
        if (is_lambda && type == NULL) continue;
        if (type == NULL) return false; /* a lambda where none is taken */
        if (is_lambda && bind->lambdas != NULL && bind->lambdas[i] == NULL) return false;
        if (!is_lambda && bind->lambdas != NULL && bind->lambdas[i] != NULL) return false;
        if (is_lambda) {
            if (bind->lambdas != NULL && bind->lambdas[i]->parameter_count != pattern->child_count) return false;
            if (!bind_variables(bind, pattern, type, bind->lambdas ? bind->lambdas[i]->is_nullable : true, match)) return false;
            match->types[i] = type;
            continue;
        }
        const nl_type *target = coerce(bind->arena, pattern, type, rules);
        if (target == NULL) return false;
        if (!bind_variables(bind, pattern, target, is_nullable, match)) return false;
        match->types[i] = target;
        if (!nl_type_equal(target, type)) match->is_exact = false;
    }
    for (uint32_t i = 0; i < bind->argument_count; i++) {
        const nl_pattern *pattern = nl_alternative_argument(alternative, i);
        if (pattern->kind == NL_PATTERN_LAMBDA || !has_variable(pattern)) continue;
        const nl_type *resolved = nl_pattern_resolve(bind->arena, pattern, match);
        if (resolved != NULL && !nl_type_equal(resolved, match->types[i])) {
            match->types[i] = resolved;
            match->is_exact = false;
        }
    }
    return true;
}

const nl_type *nl_pattern_resolve(nl_arena *arena, const nl_pattern *pattern, const nl_match *match)
{
    switch (pattern->kind) {
    case NL_PATTERN_TYPE:
        return pattern->type;
    case NL_PATTERN_VARIABLE: {
        const nl_type *type = match->variables[pattern->variable - 'A'];
        return type ? type : nl_type_of(NL_TYPE_NULL);
    }
    case NL_PATTERN_ARRAY: {
        if (pattern->child_count == 0) return NULL;
        const nl_pattern *child = pattern->children[0];
        const nl_type *element = nl_pattern_resolve(arena, child, match);
        bool is_nullable = child->kind != NL_PATTERN_VARIABLE || match->variable_nullable[child->variable - 'A'];
        return element ? nl_type_array(arena, element, is_nullable) : NULL;
    }
    case NL_PATTERN_MAP: {
        if (pattern->child_count < 2) return NULL;
        const nl_pattern *child = pattern->children[1];
        const nl_type *key = nl_pattern_resolve(arena, pattern->children[0], match);
        const nl_type *value = nl_pattern_resolve(arena, child, match);
        bool is_nullable = child->kind != NL_PATTERN_VARIABLE || match->variable_nullable[child->variable - 'A'];
        return key && value ? nl_type_map(arena, key, value, is_nullable) : NULL;
    }
    case NL_PATTERN_LAMBDA:
    case NL_PATTERN_ANY:
    case NL_PATTERN_NUMERIC:
    case NL_PATTERN_INTEGRAL:
    case NL_PATTERN_DECIMAL:
    case NL_PATTERN_STRUCT:
    case NL_PATTERN_UNION:
    case NL_PATTERN_BOUND:
        break;
    case NL_PATTERN_INTERVAL_YM:
        return nl_type_of(NL_TYPE_INTERVAL_YM);
    case NL_PATTERN_INTERVAL_DT:
        return nl_type_of(NL_TYPE_INTERVAL_DT);
    }
    return NULL;
}

static const char *class_name(nl_pattern_kind kind)
{
    switch (kind) {
    case NL_PATTERN_NUMERIC:
        return "\"NUMERIC\"";
    case NL_PATTERN_INTEGRAL:
        return "\"INTEGRAL\"";
    case NL_PATTERN_DECIMAL:
        return "\"DECIMAL\"";
    case NL_PATTERN_INTERVAL_YM:
        return "\"INTERVAL YEAR TO MONTH\"";
    case NL_PATTERN_INTERVAL_DT:
        return "\"INTERVAL DAY TO SECOND\"";
    case NL_PATTERN_ARRAY:
        return "\"ARRAY\"";
    case NL_PATTERN_MAP:
        return "\"MAP\"";
    case NL_PATTERN_STRUCT:
        return "\"STRUCT\"";
    case NL_PATTERN_LAMBDA:
        return "\"LAMBDA\"";
    case NL_PATTERN_TYPE:
    case NL_PATTERN_ANY:
    case NL_PATTERN_VARIABLE:
    case NL_PATTERN_UNION:
    case NL_PATTERN_BOUND:
        break;
    }
    return "\"ANY\"";
}

void nl_pattern_append_sql(nl_arena *arena, const nl_pattern *pattern, nl_builder *out)
{
    if (pattern->kind == NL_PATTERN_TYPE) {
        nl_append_f(out, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, pattern->type)));
    } else if (pattern->kind == NL_PATTERN_UNION) {
        nl_append_char(out, '(');
        for (uint32_t i = 0; i < pattern->child_count; i++) {
            if (i > 0) nl_append_c(out, " or ");
            nl_pattern_append_sql(arena, pattern->children[i], out);
        }
        nl_append_char(out, ')');
    } else {
        nl_append_c(out, class_name(pattern->kind));
    }
}
