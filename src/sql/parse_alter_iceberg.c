/* sql/parse_alter_iceberg.c - what Iceberg's extensions add to ALTER TABLE: partition fields, write order and
 * distribution, identifier fields, branches and tags. Their words are no keywords of Spark, so they are told by text. */
#include "sql/parse.h"

#include "base/number.h"

static bool is_word(const nl_parser *p, const char *word)
{
    return nl_parser_is_word_at(p, p->at, word);
}

static bool takes_word(nl_parser *p, const char *word)
{
    if (!is_word(p, word)) return false;
    p->at++;
    return true;
}

static nl_status parse_field_name(nl_parser *p, nl_ast_ident *name)
{
    return nl_parser_take(p, NL_T_AS) ? nl_parse_identifier(p, name) : NULL;
}

/* ---- partition fields ---------------------------------------------------------------------------------------------------------- */

/* After PARTITION FIELD. */
static nl_status parse_partition_field_change(nl_parser *p, nl_token_kind verb, nl_ast_alter_table *alter)
{
    alter->field = NL_NEW(p->arena, nl_ast_partition_field);
    NL_TRY(nl_parse_partition_field(p, false, alter->field));
    if (verb == NL_T_DROP) {
        alter->action = NL_AST_ALTER_DROP_PARTITION_FIELD;
        return NULL;
    }
    alter->action = NL_AST_ALTER_ADD_PARTITION_FIELD;
    if (verb == NL_T_REPLACE) {
        alter->action = NL_AST_ALTER_REPLACE_PARTITION_FIELD;
        NL_TRY(nl_parser_expect(p, NL_T_WITH));
        alter->by = NL_NEW(p->arena, nl_ast_partition_field);
        NL_TRY(nl_parse_partition_field(p, false, alter->by));
    }
    return parse_field_name(p, &alter->new_name);
}

/* ---- WRITE --------------------------------------------------------------------------------------------------------------------- */

static nl_status parse_write_order(nl_parser *p, nl_ast_write_order *order)
{
    NL_TRY(nl_parse_partition_field(p, false, &order->field));
    order->is_descending = nl_parser_is(p, NL_T_DESC);
    order->has_direction = nl_parser_take(p, NL_T_ASC) || nl_parser_take(p, NL_T_DESC);
    order->is_nulls_first = !order->is_descending;
    order->has_nulls = nl_parser_take(p, NL_T_NULLS);
    if (!order->has_nulls) return NULL;
    order->is_nulls_first = nl_parser_take(p, NL_T_FIRST);
    return order->is_nulls_first ? NULL : nl_parser_expect(p, NL_T_LAST);
}

static nl_status parse_write_orders(nl_parser *p, nl_ast_write_spec *write)
{
    bool has_parentheses = nl_parser_take(p, NL_T_LEFT_PAREN);
    nl_list list = {0};
    do {
        nl_ast_write_order *order = NL_NEW(p->arena, nl_ast_write_order);
        NL_TRY(parse_write_order(p, order));
        nl_list_add(p->arena, &list, order);
    } while (nl_parser_take(p, NL_T_COMMA));
    write->orders = NL_FLATTEN(p, &list, nl_ast_write_order);
    write->order_count = list.count;
    return has_parentheses ? nl_parser_expect(p, NL_T_RIGHT_PAREN) : NULL;
}

/* One of DISTRIBUTED BY PARTITION, [LOCALLY] ORDERED BY …, UNORDERED. */
static nl_status parse_write_part(nl_parser *p, nl_ast_write_spec *write, bool *is_there)
{
    *is_there = true;
    if (takes_word(p, "DISTRIBUTED")) {
        bool is_again = write->is_distributed;
        write->is_distributed = true;
        NL_TRY(nl_parser_expect(p, NL_T_BY));
        NL_TRY(nl_parser_expect(p, NL_T_PARTITION));
        if (is_again) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "ALTER TABLE contains multiple distribution clauses");
        return NULL;
    }
    bool is_again = write->is_ordered || write->is_unordered;
    if (takes_word(p, "UNORDERED")) {
        write->is_unordered = true;
    } else if (is_word(p, "LOCALLY") || is_word(p, "ORDERED")) {
        write->is_locally = takes_word(p, "LOCALLY");
        write->is_ordered = true;
        NL_TRY(nl_parser_expect_word(p, "ORDERED"));
        NL_TRY(nl_parser_expect(p, NL_T_BY));
        NL_TRY(parse_write_orders(p, write));
    } else {
        *is_there = false;
        return NULL;
    }
    if (is_again) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "ALTER TABLE contains multiple ordering clauses");
    return NULL;
}

/* At WRITE. */
static nl_status parse_write(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_WRITE;
    alter->write = NL_NEW(p->arena, nl_ast_write_spec);
    uint32_t word = p->at++;
    bool is_there = true;
    while (is_there) NL_TRY(parse_write_part(p, alter->write, &is_there));
    if (p->at > word + 1) return NULL;
    bool is_end = nl_parser_is(p, NL_T_EOF) || nl_parser_is(p, NL_T_SEMICOLON);
    if (is_end) p->at = word;
    return nl_parser_syntax_error(p);
}

/* ---- branches and tags ------------------------------------------------------------------------------------------------------------ */

/* A whole number, perhaps with a sign or a suffix. */
static nl_status parse_long(nl_parser *p, int64_t *value)
{
    uint32_t first = p->at;
    nl_parser_take(p, NL_T_MINUS_SIGN);
    nl_token_kind kind = nl_parser_kind(p);
    if (kind < NL_T_INTEGER_VALUE || kind > NL_T_BIGDECIMAL_LITERAL) return nl_parser_syntax_error(p);
    p->at++;
    nl_str text = nl_arena_str(p->arena, nl_parser_text_between(p, first, p->at));
    if (nl_parse_int64(text, value)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
}

static nl_ast_time_unit unit_at(const nl_parser *p, uint32_t at)
{
    if (nl_parser_is_word_at(p, at, "DAYS")) return NL_AST_TIME_DAYS;
    if (nl_parser_is_word_at(p, at, "HOURS")) return NL_AST_TIME_HOURS;
    if (nl_parser_is_word_at(p, at, "MINUTES")) return NL_AST_TIME_MINUTES;
    return NL_AST_TIME_NONE;
}

static nl_status parse_duration(nl_parser *p, int64_t *value, nl_ast_time_unit *unit)
{
    NL_TRY(parse_long(p, value));
    *unit = unit_at(p, p->at);
    if (*unit == NL_AST_TIME_NONE) return nl_parser_syntax_error(p);
    p->at++;
    return NULL;
}

/* WITH SNAPSHOT RETENTION [n SNAPSHOTS] [n unit]; at WITH. */
static nl_status parse_snapshot_retention(nl_parser *p, nl_ast_ref_options *ref)
{
    p->at++;
    NL_TRY(nl_parser_expect_word(p, "SNAPSHOT"));
    NL_TRY(nl_parser_expect_word(p, "RETENTION"));
    ref->has_snapshot_retention = true;
    int64_t value;
    NL_TRY(parse_long(p, &value));
    if (takes_word(p, "SNAPSHOTS")) {
        ref->has_min_snapshots = true;
        ref->min_snapshots = value;
        bool has_age = nl_parser_is(p, NL_T_INTEGER_VALUE) || nl_parser_is(p, NL_T_MINUS_SIGN) ||
                       nl_parser_is(p, NL_T_BIGINT_LITERAL);
        return has_age ? parse_duration(p, &ref->max_age, &ref->max_age_unit) : NULL;
    }
    ref->max_age = value;
    ref->max_age_unit = unit_at(p, p->at);
    if (ref->max_age_unit == NL_AST_TIME_NONE) return nl_parser_syntax_error(p);
    p->at++;
    return NULL;
}

static nl_status parse_ref_options(nl_parser *p, nl_ast_ref_options *ref)
{
    NL_TRY(nl_parse_identifier(p, &ref->name));
    if (nl_parser_take_both(p, NL_T_AS, NL_T_OF)) {
        NL_TRY(nl_parser_expect(p, NL_T_VERSION));
        ref->has_version = true;
        NL_TRY(parse_long(p, &ref->version));
    }
    if (takes_word(p, "RETAIN")) NL_TRY(parse_duration(p, &ref->retain, &ref->retain_unit));
    return !ref->is_tag && nl_parser_is(p, NL_T_WITH) ? parse_snapshot_retention(p, ref) : NULL;
}

/* {CREATE [OR REPLACE] | REPLACE} {BRANCH | TAG} …; `at_kind` is the token of BRANCH or TAG. */
static nl_status parse_create_ref(nl_parser *p, uint32_t at_kind, nl_ast_alter_table *alter)
{
    nl_ast_ref_options *ref = NL_NEW(p->arena, nl_ast_ref_options);
    alter->action = NL_AST_ALTER_CREATE_REF;
    alter->ref = ref;
    ref->is_create = nl_parser_is(p, NL_T_CREATE);
    ref->is_replace = !ref->is_create || at_kind > p->at + 1;
    ref->is_tag = nl_parser_is_word_at(p, at_kind, "TAG");
    p->at = at_kind + 1;
    if (!ref->is_replace) NL_TRY(nl_parse_if_not_exists(p, &ref->is_if_not_exists));
    return parse_ref_options(p, ref);
}

static nl_status parse_drop_ref(nl_parser *p, nl_ast_alter_table *alter)
{
    alter->action = NL_AST_ALTER_DROP_REF;
    alter->ref = NL_NEW(p->arena, nl_ast_ref_options);
    alter->ref->is_tag = nl_parser_is_word_at(p, p->at + 1, "TAG");
    p->at += 2;
    NL_TRY(nl_parse_if_exists(p, &alter->is_if_exists));
    return nl_parse_identifier(p, &alter->ref->name);
}

/* ---- which one ---------------------------------------------------------------------------------------------------------------------- */

static bool is_ref_word_at(const nl_parser *p, uint32_t at)
{
    return nl_parser_is_word_at(p, at, "BRANCH") || nl_parser_is_word_at(p, at, "TAG");
}

static nl_status parse_identifier_fields(nl_parser *p, nl_token_kind verb, nl_ast_alter_table *alter)
{
    alter->action = verb == NL_T_SET ? NL_AST_ALTER_SET_IDENTIFIER_FIELDS : NL_AST_ALTER_DROP_IDENTIFIER_FIELDS;
    p->at += 3;
    return nl_parse_names(p, &alter->names);
}

nl_status nl_parse_iceberg_alter(nl_parser *p, nl_ast_alter_table *alter, bool *is_there)
{
    nl_token_kind verb = nl_parser_kind(p);
    *is_there = true;
    if (is_word(p, "WRITE")) return parse_write(p, alter);
    bool is_verb = verb == NL_T_ADD || verb == NL_T_DROP || verb == NL_T_REPLACE;
    if (is_verb && nl_parser_ahead(p, 1) == NL_T_PARTITION && nl_parser_is_word_at(p, p->at + 2, "FIELD")) {
        p->at += 3;
        return parse_partition_field_change(p, verb, alter);
    }
    bool is_identifier = (verb == NL_T_SET || verb == NL_T_DROP) && nl_parser_ahead(p, 1) == NL_T_IDENTIFIER &&
                         nl_parser_is_word_at(p, p->at + 2, "FIELDS");
    if (is_identifier) return parse_identifier_fields(p, verb, alter);
    bool is_or_replace = verb == NL_T_CREATE && nl_parser_ahead(p, 1) == NL_T_OR && nl_parser_ahead(p, 2) == NL_T_REPLACE;
    uint32_t at_kind = p->at + (is_or_replace ? 3 : 1);
    if ((verb == NL_T_CREATE || verb == NL_T_REPLACE) && is_ref_word_at(p, at_kind))
        return parse_create_ref(p, at_kind, alter);
    if (verb == NL_T_DROP && is_ref_word_at(p, p->at + 1)) return parse_drop_ref(p, alter);
    *is_there = false;
    return NULL;
}
