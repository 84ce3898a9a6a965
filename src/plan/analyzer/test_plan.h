/* plan/analyzer/test_plan.h - what the analyzer's and optimizer's tests share: a resolver of in-memory tables, and the
 * way from text to a plan's schema or to the error. Private to tests. */
#pragma once

#include "plan/plan.h"
#include "sql/parser.h"

typedef struct test_table {
    nl_table table;
    const char *name;
    int64_t row_count;
} test_table;

typedef struct test_session {
    nl_resolver resolver; /* first member */
    nl_arena *arena;
    nl_eval_confs confs;
    test_table tables[16];
    uint32_t table_count;
    nl_plan_context context;
} test_session;

static nl_status test_estimate(const nl_table *table, const struct nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)scan;
    *row_count = ((const test_table *)(const void *)table)->row_count;
    *bytes = *row_count * 100;
    return NULL;
}

static void test_append_text(const nl_table *table, nl_builder *out)
{
    nl_append_c(out, ((const test_table *)(const void *)table)->name);
}

static void test_table_free(nl_table *table)
{
    (void)table; /* lives in the session's array */
}

static const nl_table_ops test_table_ops = {
    .kind = "test", .estimate = test_estimate, .append_text = test_append_text, .free = test_table_free};

static nl_status test_find_relation(nl_resolver *self, const nl_str *parts, uint32_t part_count, const nl_time_travel *travel,
                                    const nl_str *in_namespace, uint32_t in_namespace_count, nl_arena *arena, nl_resolved_relation *found)
{
    (void)travel, (void)in_namespace, (void)in_namespace_count;
    test_session *session = (test_session *)(void *)self;
    for (uint32_t i = 0; i < session->table_count; i++) {
        if (!nl_str_is_nocase(parts[part_count - 1], session->tables[i].name)) continue;
        nl_str *name = NL_NEW_ARRAY(arena, nl_str, 3);
        name[0] = NL_STR("local");
        name[1] = NL_STR("default");
        name[2] = nl_str_from(session->tables[i].name);
        found->table = nl_table_retain(&session->tables[i].table);
        found->name = name;
        found->name_count = 3;
        return NULL;
    }
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(parts[part_count - 1]))));
}

static inline void test_add_table(test_session *session, const char *name, const char *schema, int64_t row_count)
{
    test_table *table = &session->tables[session->table_count++];
    nl_error_free(nl_sql_parse_schema(session->arena, nl_str_from(schema), &table->table.row_type));
    table->table.ops = &test_table_ops;
    table->table.references = 1;
    table->name = name;
    table->row_count = row_count;
}

static inline void test_session_init(test_session *session)
{
    *session = (test_session){.arena = nl_arena_new(NULL)};
    session->resolver.find_relation = test_find_relation;
    session->confs = (nl_eval_confs){.is_ansi = true,
                                     .zone = nl_timezone_utc(),
                                     .now_micros = 1700000000000000ll,
                                     .current_catalog = NL_STR("spark_catalog"),
                                     .current_namespace = NL_STR("default"),
                                     .user = NL_STR("somebody"),
                                     .version = NL_STR("4.0.1")};
    session->context = (nl_plan_context){.arena = session->arena,
                                         .confs = &session->confs,
                                         .resolver = &session->resolver,
                                         .next_column_id = 1};
}

static inline void test_session_fini(test_session *session)
{
    nl_arena_free(session->arena);
}

/* The plan of a query; or NULL and *error. */
static inline const nl_logical *test_plan(test_session *session, const char *sql, nl_error **error)
{
    nl_ast_statement *statement = NULL;
    const nl_logical *plan = NULL;
    session->context.text = nl_str_from(sql);
    session->context.depth = 0;
    *error = nl_sql_parse(session->arena, nl_str_from(sql), NULL, &statement);
    if (!*error) *error = nl_analyze_query(&session->context, statement->query, &plan);
    return *error ? NULL : plan;
}

/* "a:int,b:string" */
static inline nl_str test_schema(test_session *session, const nl_logical *plan)
{
    nl_builder out;
    nl_builder_init(&out, 1u << 20);
    for (uint32_t i = 0; i < plan->column_count; i++) {
        if (i) nl_append_char(&out, ',');
        nl_append(&out, plan->columns[i].name);
        nl_append_char(&out, ':');
        nl_append(&out, nl_type_name(session->arena, plan->columns[i].type));
    }
    const nl_str text = nl_arena_str(session->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}
