/* Strings with collations: which collation a call has, and calls that compare made into calls over collation keys.
 *
 * Which one counts is a matter of strength (Spark 4.0, "Collation precedence"): COLLATE is explicit, columns are implicit,
 * literals take what the others have. The engine compares bytes only; so comparisons get keys here, searches in UTF8_LCASE
 * become searches in lower case, and what is neither and compares is refused.
 */
#include "plan/analyzer/analyzer.h"

#include "function/collation.h"

/* The collation of strings from columns whose collations differ: they may be joined and shown, not compared. */
#define INDETERMINATE "null"

typedef enum strength { STRENGTH_NONE, STRENGTH_DEFAULT, STRENGTH_IMPLICIT, STRENGTH_EXPLICIT } strength;

static bool is_string(const nl_expr *expr)
{
    return expr->type && expr->type->id == NL_TYPE_STRING;
}

static bool holds_collation(const nl_type *type)
{
    if (!type) return false;
    if (type->id == NL_TYPE_STRING && type->collation.length) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (holds_collation(type->children[i].type)) return true;
    return false;
}

static bool is_named(nl_str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return false;
}

static strength strength_of(const nl_expr *expr)
{
    if (!is_string(expr)) return STRENGTH_NONE;
    switch ((int)expr->kind) {
    case NL_EXPR_LITERAL:
        return STRENGTH_DEFAULT;
    case NL_EXPR_CALL: {
        strength most = STRENGTH_DEFAULT;
        if (strcmp(expr->call->row->name, "collate") == 0) return STRENGTH_EXPLICIT;
        for (uint32_t i = 0; i < expr->child_count; i++) most = NL_MAX(most, strength_of(expr->children[i]));
        return most;
    }
    case NL_EXPR_CAST: /* of ours around a call that keeps its collation */
        return expr->children[0]->kind == NL_EXPR_CALL && is_string(expr->children[0]) ? strength_of(expr->children[0]) : STRENGTH_IMPLICIT;
    default:
        return STRENGTH_IMPLICIT;
    }
}

static const nl_type *plain_of(const nl_type *type)
{
    return type->string_kind == NL_STRING_PLAIN ? type : nl_type_string();
}

static nl_status raise_mismatch(nl_arena *arena, const nl_type *a, const nl_type *b)
{
    return NL_RAISE(COLLATION_MISMATCH__EXPLICIT,
                    NL_P_STR("explicitTypes", nl_arena_f(arena, NL_STR_FMT ", " NL_STR_FMT, NL_STR_ARG(nl_quote_type(arena, a)), NL_STR_ARG(nl_quote_type(arena, b)))));
}

/* The type that the strings among args have together. */
static nl_status common_collation(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_type **type)
{
    nl_arena *arena = nl_scope_arena(scope);
    strength most = STRENGTH_NONE;
    *type = nl_type_string();
    for (uint32_t i = 0; i < count; i++) {
        const strength own = strength_of(args[i]);
        if (own == STRENGTH_NONE || own < most) continue;
        const nl_type *other = plain_of(args[i]->type);
        if (own > most) {
            most = own;
            *type = other;
        } else if (own == STRENGTH_EXPLICIT && !nl_type_equal(*type, other)) {
            return raise_mismatch(arena, *type, other);
        } else if (own == STRENGTH_IMPLICIT && !nl_type_equal(*type, other)) {
            /* an explicit one may follow */
            for (uint32_t k = i + 1; k < count; k++)
                if (strength_of(args[k]) == STRENGTH_EXPLICIT) return common_collation(scope, name, args + k, count - k, type);
            *type = nl_type_collated(arena, NL_STR(INDETERMINATE));
        }
    }
    return NULL;
}

static bool is_indeterminate(const nl_type *type)
{
    return nl_str_is(type->collation, INDETERMINATE);
}

static const nl_expr *shown_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value yes = nl_value_boolean(true);
    return nl_expr_with_pretty(arena, nl_expr_literal(arena, &yes), nl_pretty_call(scope, name, args, count));
}

static nl_status raise_indeterminate(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count)
{
    return NL_RAISE(INDETERMINATE_COLLATION_IN_EXPRESSION, NL_P_STR("expr", nl_quote_expr(nl_scope_arena(scope), shown_call(scope, name, args, count))));
}

/* Another collation for the same string; a literal shows it, as Spark does. */
static const nl_expr *with_collation(nl_arena *arena, const nl_expr *expr, const nl_type *type)
{
    if (!is_string(expr) || nl_type_equal(expr->type, type)) return expr;
    const nl_pretty *pretty = nl_expr_pretty(arena, expr);
    if (expr->kind != NL_EXPR_LITERAL || type->collation.length == 0) return nl_expr_with_pretty(arena, nl_expr_cast(arena, expr, type, NL_CAST_ANSI), pretty);
    nl_value value = expr->value;
    value.type = type;
    pretty = nl_pretty_text(arena, nl_arena_f(arena, "'" NL_STR_FMT "' collate " NL_STR_FMT, NL_STR_ARG(nl_expr_pretty_str(arena, expr)), NL_STR_ARG(type->collation)));
    return nl_expr_with_pretty(arena, nl_expr_literal(arena, &value), pretty);
}

static nl_status key_of(nl_scope *scope, const nl_expr *expr, const nl_expr **key)
{
    *key = expr;
    return is_string(expr) && expr->type->collation.length ? nl_call_function(scope, NL_STR("collation_key"), &expr, 1, key) : NULL;
}

static bool any_collation(const nl_expr *const *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (holds_collation(args[i]->type)) return true;
    return false;
}

nl_status nl_collate_same(nl_scope *scope, nl_str name, const nl_expr **args, uint32_t count)
{
    const nl_type *type = NULL;
    if (!any_collation(args, count)) return NULL;
    NL_TRY(common_collation(scope, name, args, count, &type));
    if (is_indeterminate(type)) return raise_indeterminate(scope, name, args, count);
    for (uint32_t i = 0; i < count; i++) args[i] = with_collation(nl_scope_arena(scope), args[i], type);
    return NULL;
}

nl_status nl_collate_values(nl_scope *scope, nl_str name, const nl_expr **values, uint32_t count)
{
    const nl_type *type = NULL;
    if (!any_collation(values, count)) return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!is_string(values[i]) && values[i]->type->id != NL_TYPE_NULL) return NULL;
    NL_TRY(common_collation(scope, name, values, count, &type));
    for (uint32_t i = 0; i < count; i++) values[i] = with_collation(nl_scope_arena(scope), values[i], type);
    return NULL;
}

nl_status nl_collate_operands(nl_scope *scope, nl_str name, const nl_expr **args, uint32_t count)
{
    NL_TRY(nl_collate_same(scope, name, args, count));
    for (uint32_t i = 0; i < count; i++) NL_TRY(key_of(scope, args[i], &args[i]));
    return NULL;
}

static nl_status unsupported(nl_arena *arena, nl_str name, const nl_type *type)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The function " NL_STR_FMT " over " NL_STR_FMT " is not supported.", NL_STR_ARG(name), NL_STR_ARG(nl_type_sql(arena, type)));
}

static const char *const comparisons[] = {"=", "==", "<=>", "<", "<=", ">", ">=", "!=", "<>"};
static const char *const extremes[] = {"least", "greatest"};
/* Answers that are the same in lower case. */
static const char *const searches[] = {"contains", "startswith", "endswith", "instr", "locate", "position", "find_in_set", "like", "rlike", "regexp_like", "regexp"};
/* Those whose answer is a part of the text: done by rows of their own, lcase_NAME. */
static const char *const cuts[] = {"replace", "substring_index", "split_part", "trim", "ltrim", "rtrim", "translate", "btrim"};
/* Strings that are made of the arguments keep their collation. */
static const char *const makers[] = {"concat", "||", "concat_ws", "upper", "ucase", "lower", "lcase", "initcap", "substring", "substr", "left", "right", "repeat", "reverse",
                                     "lpad", "rpad", "overlay", "elt", "make_valid_utf8", "validate_utf8", "try_validate_utf8", "hex",
                                     "trim", "ltrim", "rtrim", "btrim", "nvl", "quote", "coalesce", "ifnull", "if", "iff", "nvl2"};
/* They look at bytes or characters only, or at no more than one string. */
static const char *const plains[] = {"length", "len", "char_length", "character_length", "bit_length", "octet_length", "ascii", "base64", "unbase64", "levenshtein", "is_valid_utf8", "luhn_check", "md5", "sha", "sha1", "sha2", "crc32", "hash", "xxhash64", "typeof", "is_variant_null",
                                     "isnull", "isnotnull", "array", "struct", "named_struct", "to_json", "assert_true", "raise_error", "explode", "inline", "size", "cardinality", "url_encode", "url_decode", "try_url_decode"};
/* Their strings keep to themselves; the result is a plain string, or has the collation of the first. */
static const char *const apart[] = {"encode", "decode", "to_binary", "try_to_binary", "soundex", "parse_url", "try_parse_url", "format_number", "regexp_count", "regexp_instr"};
static const char *const apart_keeping[] = {"left", "right", "sentences", "split", "format_string", "printf", "regexp_extract", "regexp_extract_all", "regexp_substr"};
/* What may be done with strings whose collation is indeterminate. */
static const char *const tolerant[] = {"concat", "||", "concat_ws", "lpad", "rpad", "overlay", "elt", "coalesce", "nvl", "ifnull", "nvl2", "if", "iff", "array", "levenshtein", "like", "rlike",
                                       "regexp", "regexp_like"};
/* These find out when they run. */
static const char *const late[] = {"split_part", "str_to_map", "least", "greatest"};
/* Searches and cuts that Spark has for no collation that is sensitive to case and not to accents. */
static const char *const other_searches[] = {"str_to_map", "regexp_replace"};

static bool is_trim(nl_str name)
{
    return nl_str_is_nocase(name, "trim") || nl_str_is_nocase(name, "ltrim") || nl_str_is_nocase(name, "rtrim");
}

/* Patterns look at bytes or at lower case; other searches at all collations but those that are sensitive to case and not to
 * accents; of those nilas has UTF8_LCASE. */
static nl_status check_search(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_type *type)
{
    static const char *const patterns[] = {"like", "rlike", "regexp_like", "regexp", "regexp_replace"};
    nl_arena *arena = nl_scope_arena(scope);
    nl_collation collation;
    if (nl_str_is(type->collation, "UTF8_LCASE")) return NULL;
    NL_TRY(nl_collation_find(arena, type->collation, &collation));
    const bool is_refused = is_named(name, patterns, NL_COUNT(patterns)) || (collation.is_accent_insensitive && !collation.is_case_insensitive);
    if (!is_refused) return unsupported(arena, name, type);
    const nl_expr *first = args[is_trim(name) && count > 1];
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown_call(scope, name, args, count))), NL_P("paramIndex", "first"),
                    NL_P("requiredType", "\"STRING\""), NL_P_STR("inputSql", nl_quote_expr(arena, first)), NL_P_STR("inputType", nl_quote_type(arena, type)));
}

static nl_status call_search(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **folded = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        folded[i] = args[i];
        if (!is_string(args[i])) continue;
        const nl_expr *plain = nl_expr_cast(arena, args[i], nl_type_string(), NL_CAST_ANSI);
        NL_TRY(nl_call_function(scope, NL_STR("lower"), &plain, 1, &folded[i]));
    }
    return nl_call_function(scope, name, folded, count, result);
}

static nl_status call_plain(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **plain = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) plain[i] = is_string(args[i]) ? nl_expr_cast(arena, args[i], nl_type_string(), NL_CAST_ANSI) : args[i];
    return nl_call_function(scope, name, plain, count, result);
}

/* ---- least, greatest ---- */

static nl_status record_of(nl_scope *scope, const nl_expr *arg, int32_t place, const nl_expr **record)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value names[3] = {nl_value_string(NL_STR("k")), nl_value_string(NL_STR("i")), nl_value_string(NL_STR("v"))};
    const nl_value position = nl_value_int(nl_type_int(), place), nothing = nl_value_null(nl_type_of(NL_TYPE_NULL));
    const nl_expr *key = NULL, *made = NULL;
    NL_TRY(key_of(scope, arg, &key));
    const nl_expr *const members[] = {nl_expr_literal(arena, &names[0]), key, nl_expr_literal(arena, &names[1]), nl_expr_literal(arena, &position), nl_expr_literal(arena, &names[2]),
                                      nl_expr_cast(arena, arg, nl_type_string(), NL_CAST_ANSI)};
    NL_TRY(nl_call_bound(scope, NL_STR("named_struct"), members, NL_COUNT(members), &made));
    const nl_expr *const choice[] = {nl_expr_is_null(arena, arg, false), nl_expr_literal(arena, &nothing), made};
    return nl_make_case(scope, choice, NL_COUNT(choice), NULL, record);
}

/* Of equal strings the first one: records of key, place and string are compared. */
static nl_status call_extreme(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_type *type, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_least = nl_str_is_nocase(name, "least");
    const nl_expr **records = NL_NEW_ARRAY(arena, const nl_expr *, count + 1), *chosen = NULL;
    for (uint32_t i = 0; i < count; i++) NL_TRY(record_of(scope, args[i], is_least ? (int32_t)i : -(int32_t)i, &records[i]));
    NL_TRY(nl_call_bound(scope, name, records, count, &chosen));
    *result = nl_expr_cast(arena, nl_expr_field(arena, chosen, 2), type, NL_CAST_ANSI);
    return NULL;
}

/* The type with another collation in place of its strings'. */
static const nl_type *collated(nl_arena *arena, const nl_type *type, const nl_type *string)
{
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, collated(arena, type->children[0].type, string), type->children[0].is_nullable);
    return type->id == NL_TYPE_STRING ? string : type;
}

/* Patterns over UTF8_LCASE pay no regard to case. */
static nl_status call_apart(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **plain = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const bool is_lcase = is_string(args[0]) && nl_str_is(args[0]->type->collation, "UTF8_LCASE");
    const nl_value flags = nl_value_string(NL_STR("(?i)"));
    for (uint32_t i = 0; i < count; i++) plain[i] = is_string(args[i]) ? nl_expr_cast(arena, args[i], nl_type_string(), NL_CAST_ANSI) : args[i];
    if (is_lcase && count > 1 && (nl_str_starts_nocase(name, NL_STR("regexp")) || nl_str_is_nocase(name, "split"))) {
        const nl_expr *const both[] = {nl_expr_literal(arena, &flags), plain[1]};
        NL_TRY(nl_call_function(scope, NL_STR("concat"), both, 2, &plain[1]));
    }
    NL_TRY(nl_call_function(scope, name, plain, count, result));
    if (is_named(name, apart_keeping, NL_COUNT(apart_keeping)) && is_string(args[0]) && args[0]->type->collation.length)
        *result = nl_expr_cast(arena, *result, collated(arena, (*result)->type, args[0]->type), NL_CAST_ANSI);
    return NULL;
}

static nl_status call_collated(nl_scope *scope, nl_str name, const nl_expr **args, uint32_t count, const nl_type *type, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    bool keeps = is_named(name, makers, NL_COUNT(makers));
    const bool is_search = is_named(name, searches, NL_COUNT(searches)), is_cut = is_named(name, cuts, NL_COUNT(cuts)) && count > 1;
    if (is_search || is_cut || is_named(name, other_searches, NL_COUNT(other_searches))) NL_TRY(check_search(scope, name, args, count, type));
    if (is_named(name, comparisons, NL_COUNT(comparisons))) {
        const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, count);
        for (uint32_t i = 0; i < count; i++) NL_TRY(key_of(scope, args[i], &keys[i]));
        return nl_call_function(scope, name, keys, count, result);
    }
    if (is_search) return call_search(scope, name, args, count, result);
    if (nl_str_is_nocase(name, "regexp_replace")) {
        NL_TRY(call_apart(scope, name, args, count, result));
        *result = nl_expr_cast(arena, *result, type, NL_CAST_ANSI);
        return NULL;
    }
    if (is_named(name, extremes, NL_COUNT(extremes))) return call_extreme(scope, name, args, count, type, result);
    if (is_cut) {
        const nl_expr **all = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
        const nl_value nothing = nl_value_string(NL_STR(""));
        memcpy(all, args, count * sizeof *all);
        if (nl_str_is_nocase(name, "replace") && count == 2) all[count++] = nl_expr_literal(arena, &nothing);
        if (is_trim(name)) { /* trim(characters, text) */
            all[0] = args[1];
            all[1] = args[0];
        }
        const nl_str cut = nl_str_is_nocase(name, "btrim") ? NL_STR("trim") : name;
        char *lower = NL_NEW_ARRAY(arena, char, cut.length + 1);
        for (size_t i = 0; i < cut.length; i++) lower[i] = (char)(cut.data[i] >= 'A' && cut.data[i] <= 'Z' ? cut.data[i] | 32 : cut.data[i]);
        NL_TRY(call_plain(scope, nl_arena_f(arena, "lcase_%s", lower), all, count, result));
        keeps = true;
    } else if (keeps || is_named(name, plains, NL_COUNT(plains))) {
        NL_TRY(call_plain(scope, name, args, count, result));
    } else {
        return unsupported(arena, name, type);
    }
    if (keeps && is_string(*result)) *result = nl_expr_cast(arena, *result, type, NL_CAST_ANSI);
    return NULL;
}

static bool is_own(nl_str name)
{
    static const char *const own[] = {"collate", "collation", "collation_key", "typeof", "struct", "named_struct", "map", "array", "to_json", "size", "cardinality"};
    return is_named(name, own, NL_COUNT(own));
}

/* Strings of different collations: where that cannot be, or only shows when it runs. */
static nl_status check_indeterminate(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count)
{
    if (is_named(name, late, NL_COUNT(late))) return NL_RAISE(INDETERMINATE_COLLATION);
    return is_named(name, tolerant, NL_COUNT(tolerant)) ? NULL : raise_indeterminate(scope, name, args, count);
}

nl_status nl_collate_call(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, bool *is_done, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *type = NULL;
    *is_done = false;
    if (!any_collation(args, count) || (is_own(name) && !nl_str_is_nocase(name, "array"))) return NULL;
    NL_TRY(nl_collate_array_call(scope, name, args, count, is_done, result));
    if (*is_done) return NULL;
    const nl_expr **same = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const bool is_apart = is_named(name, apart, NL_COUNT(apart)) || is_named(name, apart_keeping, NL_COUNT(apart_keeping));
    bool has_string = false;
    for (uint32_t i = 0; i < count; i++) {
        has_string |= is_string(args[i]);
        if (!is_string(args[i]) && holds_collation(args[i]->type)) return unsupported(arena, name, args[i]->type);
    }
    if (!has_string) return NULL;
    *is_done = true;
    if (is_apart) {
        NL_TRY(call_apart(scope, name, args, count, result));
        *result = nl_expr_with_pretty(arena, *result, nl_pretty_call(scope, name, args, count));
        return NULL;
    }
    NL_TRY(common_collation(scope, name, args, count, &type));
    if (is_indeterminate(type)) NL_TRY(check_indeterminate(scope, name, args, count));
    for (uint32_t i = 0; i < count; i++) same[i] = with_collation(arena, args[i], type);
    if (nl_str_is_nocase(name, "array")) return nl_call_bound(scope, name, same, count, result);
    if (is_indeterminate(type) && is_named(name, searches, NL_COUNT(searches)))
        NL_TRY(call_plain(scope, name, args, count, result));
    else if (type->collation.length)
        NL_TRY(call_collated(scope, name, same, count, type, result));
    else
        NL_TRY(nl_call_function(scope, name, same, count, result));
    const bool shows_written = nl_str_is_nocase(name, "btrim"); /* Spark replaces it by another and shows what was written */
    *result = nl_expr_with_pretty(arena, *result, nl_pretty_call(scope, name, shows_written ? args : same, count));
    return NULL;
}

nl_status nl_collate_aggregate(nl_scope *scope, nl_str *name, const nl_expr ***args, uint32_t *count, bool is_distinct)
{
    nl_arena *arena = nl_scope_arena(scope);
    static const char *const counting[] = {"count", "approx_count_distinct", "hll_sketch_agg"};
    static const char *const taking[] = {"first", "first_value", "last", "last_value", "any_value", "collect_list", "array_agg", "count", "count_if", "min_by", "max_by"};
    if (*count == 0 || !any_collation(*args, *count)) return NULL;
    const bool is_min = nl_str_is_nocase(*name, "min"), is_max = nl_str_is_nocase(*name, "max");
    if ((is_min || is_max) && *count == 1 && is_string((*args)[0])) {
        const nl_expr **both = NL_NEW_ARRAY(arena, const nl_expr *, 2);
        both[0] = (*args)[0];
        NL_TRY(key_of(scope, both[0], &both[1]));
        *name = is_min ? NL_STR("min_first_by") : NL_STR("max_first_by");
        *args = both;
        *count = 2;
        return NULL;
    }
    if (nl_str_is_nocase(*name, "collect_set") && *count == 1)
        return NL_RAISE(DATATYPE_MISMATCH__UNSUPPORTED_INPUT_TYPE, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown_call(scope, *name, *args, 1))), NL_P("functionName", "`collect_set`"),
                        NL_P("dataType", "\"MAP\" or \"COLLATED STRING\""));
    const bool is_joining = nl_str_is_nocase(*name, "listagg") || nl_str_is_nocase(*name, "string_agg");
    if (is_joining) { /* value, delimiter, directions, what WITHIN GROUP orders by */
        if (is_distinct && holds_collation((*args)[0]->type)) return unsupported(arena, *name, (*args)[0]->type);
        const nl_expr **keyed = NL_NEW_ARRAY(arena, const nl_expr *, *count);
        for (uint32_t i = 0; i < *count; i++) {
            keyed[i] = (*args)[i];
            if (i >= 3) NL_TRY(key_of(scope, keyed[i], &keyed[i]));
        }
        *args = keyed;
        return NULL;
    }
    const bool is_counting = is_named(*name, counting, NL_COUNT(counting));
    if (is_counting && (is_distinct || !nl_str_is_nocase(*name, "count"))) {
        const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, *count);
        for (uint32_t i = 0; i < *count; i++) NL_TRY(key_of(scope, (*args)[i], &keys[i]));
        *args = keys;
        return NULL;
    }
    return is_named(*name, taking, NL_COUNT(taking)) ? NULL : unsupported(arena, *name, (*args)[0]->type);
}
