/* connect/plan_test.c - messages as clients make them, and as none does. Answers are those of Spark 4.0.1. */
#include "connect/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/test_support.h"

typedef Spark__Connect__Relation relation;

typedef struct fixture {
    nl_session *session;
    nl_connect_host host;
    nl_arena *arena;
} fixture;

static int set_up(void **state)
{
    fixture *f = test_calloc(1, sizeof *f);
    nl_status status = nl_session_new(NULL, 0, &f->session);
    assert_null(status);
    f->host.session = f->session;
    f->arena = nl_arena_new(NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    nl_arena_free(f->arena);
    nl_session_free(f->session);
    test_free(f);
    return 0;
}

#define NEW(f, Type, init)                                  \
    ({                                                      \
        Type *made_ = NL_NEW((f)->arena, Type);             \
        init(made_);                                        \
        made_;                                              \
    })

static relation *new_relation(fixture *f)
{
    return NEW(f, relation, spark__connect__relation__init);
}

static relation *range(fixture *f, int64_t end)
{
    relation *made = new_relation(f);
    made->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_RANGE;
    made->range = NEW(f, Spark__Connect__Range, spark__connect__range__init);
    made->range->has_end = made->range->has_step = true;
    made->range->end = end;
    made->range->step = 1;
    return made;
}

static relation *filtered(fixture *f, relation *input, const char *text)
{
    relation *made = new_relation(f);
    Spark__Connect__Expression *condition = NEW(f, Spark__Connect__Expression, spark__connect__expression__init);
    condition->expr_type_case = SPARK__CONNECT__EXPRESSION__EXPR_TYPE_EXPRESSION_STRING;
    condition->expression_string = NEW(f, Spark__Connect__Expression__ExpressionString, spark__connect__expression__expression_string__init);
    condition->expression_string->expression = NL_UNCONST(text);
    made->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_FILTER;
    made->filter = NEW(f, Spark__Connect__Filter, spark__connect__filter__init);
    made->filter->input = input;
    made->filter->condition = condition;
    return made;
}

static relation *shown(fixture *f, relation *input, int32_t rows, int32_t truncate, bool is_vertical)
{
    relation *made = new_relation(f);
    made->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_SHOW_STRING;
    made->show_string = NEW(f, Spark__Connect__ShowString, spark__connect__show_string__init);
    made->show_string->input = input;
    made->show_string->num_rows = rows;
    made->show_string->truncate = truncate;
    made->show_string->has_vertical = true;
    made->show_string->vertical = is_vertical;
    return made;
}

static relation *aliased(fixture *f, relation *input, const char *name)
{
    relation *made = new_relation(f);
    made->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_SUBQUERY_ALIAS;
    made->subquery_alias = NEW(f, Spark__Connect__SubqueryAlias, spark__connect__subquery_alias__init);
    made->subquery_alias->input = input;
    made->subquery_alias->alias = NL_UNCONST(name);
    return made;
}

static uint64_t count_rows(fixture *f, const relation *what)
{
    nl_result *result = NULL;
    uint64_t count = 0;
    nl_status status = nl_connect_run(&f->host, what, &result);
    assert_null(status);
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        assert_null(status);
        count += nl_batch_live_rows(&batch);
        nl_batch_fini(&batch);
    }
    nl_result_close(result);
    return count;
}

static void assert_shows(fixture *f, const relation *what, const char *expected)
{
    nl_result *result = NULL;
    nl_batch batch = {0};
    bool is_done = false;
    nl_status status = nl_connect_run(&f->host, what, &result);
    assert_null(status);
    status = nl_result_next(result, &batch, &is_done);
    assert_null(status);
    const nl_value text = nl_vector_value(&batch.columns[0], 0, f->arena);
    assert_string_equal(nl_str_c(f->arena, text.text), expected);
    nl_batch_fini(&batch);
    nl_result_close(result);
}

static void assert_refused(fixture *f, const relation *what, nl_condition condition)
{
    nl_result *result = NULL;
    nl_status status = nl_connect_run(&f->host, what, &result);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), condition);
    nl_error_free(status);
}

static void test_steps_run_over_their_input(void **state)
{
    fixture *f = *state;
    assert_int_equal(count_rows(f, filtered(f, range(f, 10), "id > 3")), 6);
    assert_int_equal(count_rows(f, filtered(f, aliased(f, range(f, 10), "t"), "t.id = 3")), 1);
}

static void test_show_prints_what_spark_prints(void **state)
{
    fixture *f = *state;
    assert_shows(f, shown(f, range(f, 3), 2, 20, false), "+---+\n| id|\n+---+\n|  0|\n|  1|\n+---+\nonly showing top 2 rows");
    assert_shows(f, shown(f, range(f, 1), 20, 0, false), "+---+\n|id |\n+---+\n|0  |\n+---+\n");
    assert_shows(f, shown(f, range(f, 1), 20, 20, true), "-RECORD 0--\n id  | 0   \n");
    assert_shows(f, shown(f, range(f, 0), 20, 20, true), "(0 rows)");
}

static void test_what_no_client_sends_is_invalid_input(void **state)
{
    fixture *f = *state;
    relation *project = new_relation(f), *literal = new_relation(f);
    Spark__Connect__Expression *empty = NEW(f, Spark__Connect__Expression, spark__connect__expression__init), *exprs[] = {empty, NULL};
    assert_refused(f, new_relation(f), NL_COND_NILAS_INVALID_PLAN_INPUT);
    assert_refused(f, filtered(f, NULL, "id > 3"), NL_COND_NILAS_INVALID_PLAN_INPUT);
    assert_refused(f, shown(f, NULL, 1, 1, false), NL_COND_NILAS_INVALID_PLAN_INPUT);
    project->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_PROJECT;
    project->project = NEW(f, Spark__Connect__Project, spark__connect__project__init);
    project->project->input = range(f, 1);
    project->project->n_expressions = 2;
    project->project->expressions = exprs;
    assert_refused(f, project, NL_COND_NILAS_INVALID_PLAN_INPUT);
    literal->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_LOCAL_RELATION;
    literal->local_relation = NEW(f, Spark__Connect__LocalRelation, spark__connect__local_relation__init);
    assert_refused(f, literal, NL_COND_NILAS_INVALID_PLAN_INPUT);
    uint8_t junk[] = "ARROW1 but not really an Arrow stream";
    literal->local_relation->has_data = true;
    literal->local_relation->data = (ProtobufCBinaryData){sizeof junk, junk};
    assert_refused(f, literal, NL_COND_NILAS_ILLEGAL_ARGUMENT);
}

static void test_long_chains_end_in_an_error_not_in_the_stack(void **state)
{
    fixture *f = *state;
    relation *chain = range(f, 10);
    for (int i = 0; i < 400; i++) chain = filtered(f, chain, "id > 3");
    assert_int_equal(count_rows(f, chain), 6);
    for (int i = 0; i < 5000; i++) chain = filtered(f, chain, "id > 3");
    assert_refused(f, chain, NL_COND_FAILED_TO_PARSE_TOO_COMPLEX);
}

static void test_a_view_keeps_the_view_of_its_own_name_that_it_reads(void **state)
{
    fixture *f = *state;
    Spark__Connect__Command command = SPARK__CONNECT__COMMAND__INIT;
    Spark__Connect__CreateDataFrameViewCommand view = SPARK__CONNECT__CREATE_DATA_FRAME_VIEW_COMMAND__INIT;
    nl_connect_answer answer;
    relation *read = new_relation(f);
    read->rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_READ;
    read->read = NEW(f, Spark__Connect__Read, spark__connect__read__init);
    read->read->read_type_case = SPARK__CONNECT__READ__READ_TYPE_NAMED_TABLE;
    read->read->named_table = NEW(f, Spark__Connect__Read__NamedTable, spark__connect__read__named_table__init);
    read->read->named_table->unparsed_identifier = NL_UNCONST("v");
    command.command_type_case = SPARK__CONNECT__COMMAND__COMMAND_TYPE_CREATE_DATAFRAME_VIEW;
    command.create_dataframe_view = &view;
    view.name = NL_UNCONST("v");
    view.has_replace = view.replace = true;
    view.input = range(f, 10);
    nl_status status = nl_connect_command(&f->host, &command, f->arena, &answer);
    assert_null(status);
    for (int i = 0; i < 3; i++) {
        view.input = filtered(f, read, i == 0 ? "id > 3" : i == 1 ? "id > 5" : "id < 9");
        status = nl_connect_command(&f->host, &command, f->arena, &answer);
        assert_null(status);
    }
    assert_int_equal(count_rows(f, read), 3);
}

static void test_types_come_back_as_they_went(void **state)
{
    fixture *f = *state;
    static const char *const types[] = {"a: int, b: string",
                                        "a INT NOT NULL, b DECIMAL(10,2), c ARRAY<MAP<STRING, STRUCT<x: DATE>>>",
                                        "a TIMESTAMP, b TIMESTAMP_NTZ, c BINARY, d INTERVAL DAY TO SECOND, e INTERVAL YEAR, f CHAR(3), g VARCHAR(5), h BOOLEAN"};
    for (size_t i = 0; i < NL_COUNT(types); i++) {
        const nl_type *type = NULL, *back = NULL;
        Spark__Connect__DataType *message = NULL;
        assert_null(nl_connect_parse_ddl(f->arena, nl_str_from(types[i]), &type));
        assert_null(nl_connect_type_to_proto(f->arena, type, &message));
        assert_null(nl_connect_type_from_proto(f->arena, message, &back));
        assert_true(nl_type_equal_with_nullability(type, back));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_steps_run_over_their_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_show_prints_what_spark_prints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_no_client_sends_is_invalid_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_chains_end_in_an_error_not_in_the_stack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_view_keeps_the_view_of_its_own_name_that_it_reads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types_come_back_as_they_went, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
