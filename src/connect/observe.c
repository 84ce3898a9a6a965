/* connect/observe.c - the metrics of DataFrame.observe(): aggregates over the rows that pass a step. They are computed by a
 * query of their own over the step's input. */
#include "connect/translate.h"

typedef struct making {
    nl_connect_host *host;
    const Spark__Connect__CollectMetrics *message;
} making;

static nl_status make(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const making *m = context;
    nl_translator t = {.host = m->host, .arena = arena};
    nl_ast_query *query = NULL;
    nl_ast_dataframe *dataframe = NL_NEW(arena, nl_ast_dataframe);
    nl_ast_pipe *pipe = NL_NEW(arena, nl_ast_pipe);
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    (void)session;
    NL_TRY(nl_translate_query(&t, m->message->input, &query));
    dataframe->kind = NL_AST_DATAFRAME_AGGREGATE;
    NL_TRY(nl_translate_exprs(&t, m->message->metrics, m->message->n_metrics, &dataframe->exprs));
    *pipe = (nl_ast_pipe){.kind = NL_AST_PIPE_DATAFRAME, .left = query->body, .dataframe = dataframe};
    *term = (nl_ast_term){.kind = NL_AST_TERM_PIPE, .pipe = pipe};
    query->body = term;
    statement->kind = NL_AST_STATEMENT_QUERY;
    statement->query = query;
    made->statement = statement;
    made->text = t.text;
    return NULL;
}

static nl_status take_row(nl_result *result, nl_arena *arena, nl_connect_observation *observation)
{
    const nl_type *schema = nl_result_schema(result);
    nl_str *keys = NL_NEW_ARRAY(arena, nl_str, schema->child_count + 1);
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, schema->child_count + 1);
    bool is_done = false;
    nl_batch batch = {0};
    do {
        nl_batch_fini(&batch);
        NL_TRY(nl_result_next(result, &batch, &is_done));
    } while (!is_done && nl_batch_live_rows(&batch) == 0);
    for (uint32_t i = 0; !is_done && i < schema->child_count; i++) {
        const nl_value value = nl_vector_value(&batch.columns[i], nl_selection_row(nl_batch_selection(&batch), 0), arena);
        values[i] = nl_value_copy(arena, &value);
        values[i].type = nl_type_copy(arena, value.type);
        keys[i] = nl_arena_str(arena, schema->children[i].name);
    }
    observation->keys = keys;
    observation->values = values;
    observation->count = is_done ? 0 : schema->child_count;
    nl_batch_fini(&batch);
    return NULL;
}

static nl_status observe(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, nl_connect_observation *observation)
{
    making m = {.host = host, .message = relation->collect_metrics};
    const nl_command_tree tree = {.make = make, .context = &m};
    nl_result *result = NULL;
    observation->name = nl_copy_text(arena, m.message->name);
    observation->plan_id = relation->common && relation->common->has_plan_id ? relation->common->plan_id : 0;
    NL_TRY(nl_command_run_tree(host->session, &tree, &result));
    nl_status status = take_row(result, arena, observation);
    nl_result_close(result);
    return status;
}

nl_status nl_connect_observe(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, const nl_connect_observation **list, uint32_t *count)
{
    nl_list found = {0};
    const Spark__Connect__Relation *input = relation;
    *count = 0;
    while (input) {
        const Spark__Connect__Relation *here = input;
        if (here->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_COLLECT_METRICS) nl_list_add(arena, &found, NL_UNCONST(here));
        if (here->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_SHOW_STRING)
            input = here->show_string->input;
        else if (here->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_HTML_STRING)
            input = here->html_string->input;
        else if (!nl_translate_input(here, &input))
            break;
    }
    nl_connect_observation *made = NL_NEW_ARRAY(arena, nl_connect_observation, found.count + 1);
    for (uint32_t i = 0; i < found.count; i++) NL_TRY(observe(host, found.items[i], arena, &made[i]));
    *list = made;
    *count = found.count;
    return NULL;
}
