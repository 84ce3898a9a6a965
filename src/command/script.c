/* command/script.c - runs BEGIN … END: blocks, handlers, IF, CASE, loops.
 *
 * Each statement inside runs as a statement of its own, with the script's text, so that errors tell their place in it. The rows
 * of the last query are the script's; those of each query are made in full before the next statement, or a handler, has its turn.
 */
#include "command/script.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"

typedef enum flow { FLOW_NEXT, FLOW_LEAVE, FLOW_ITERATE } flow;

typedef struct script {
    nl_command *command; /* the script's own */
    nl_script_scope *scope;
    nl_result *last;     /* of the last query so far; owned; or NULL */
    flow flow;           /* LEAVE and ITERATE unwind to the statement of that label */
    nl_str label;
} script;

static nl_status run_statement(script *s, const nl_ast_statement *statement);

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static nl_str key_of(nl_arena *arena, const nl_script_scope *scope, nl_str name)
{
    return nl_arena_f(arena, "\1%" PRIu64 "\1" NL_STR_FMT, scope->id, NL_STR_ARG(name));
}

static void open_scope(script *s, nl_str label, nl_script_scope *scope)
{
    static atomic_uint_fast64_t next_id = 1;
    uint8_t bytes[16];
    char text[NL_UUID_TEXT_LENGTH + 1] = {0};
    *scope = (nl_script_scope){.outer = s->scope, .label = label, .id = atomic_fetch_add(&next_id, 1), .arena = nl_arena_new(s->command->memory)};
    if (!label.data) {
        nl_uuid_new(bytes);
        nl_uuid_format(bytes, text);
        scope->label = nl_arena_str(scope->arena, nl_str_from(text));
    }
    s->scope = scope;
}

static void close_scope(script *s)
{
    nl_script_scope *scope = s->scope;
    for (uint32_t i = 0; i < scope->variables.count; i++) nl_session_drop_variable(s->command->session, *(const nl_str *)scope->variables.items[i]);
    s->scope = NL_UNCONST(scope->outer);
    nl_arena_free(scope->arena);
}

nl_str nl_script_find(nl_command *command, const nl_str *parts, uint32_t count, const nl_script_scope **owner)
{
    if (count == 0 || count > 2) return (nl_str){0};
    for (const nl_script_scope *scope = command->scope; scope; scope = scope->outer) {
        if (count == 2 && !nl_str_equal_nocase(scope->label, parts[0])) continue;
        const nl_str key = key_of(command->arena, scope, parts[count - 1]);
        if (!nl_session_find_variable(command->session, key)) continue;
        *owner = scope;
        return key;
    }
    return (nl_str){0};
}

nl_str nl_script_shown(nl_arena *arena, const nl_script_scope *owner, nl_str name)
{
    const char *quote = nl_str_find_char(owner->label, '-', 0) == NL_NOT_FOUND ? "" : "`"; /* those that nobody wrote have dashes */
    return nl_arena_f(arena, "local.%s" NL_STR_FMT "%s." NL_STR_FMT, quote, NL_STR_ARG(owner->label), quote, NL_STR_ARG(name));
}

/* Spark keeps the names of variables and labels in small letters. */
static nl_str small(nl_arena *arena, nl_str name)
{
    char *made = NL_NEW_ARRAY(arena, char, name.length + 1);
    for (size_t i = 0; i < name.length; i++) made[i] = name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] - 'A' + 'a') : name.data[i];
    return (nl_str){made, name.length};
}

nl_status nl_script_declare(nl_command *command, nl_str name, const nl_value *value)
{
    nl_script_scope *scope = NL_UNCONST(command->scope);
    const nl_str key = key_of(scope->arena, scope, name);
    const nl_str full[] = {small(scope->arena, scope->label), small(scope->arena, name)};
    if (nl_session_find_variable(command->session, key)) return NL_RAISE(VARIABLE_ALREADY_EXISTS, NL_P_STR("variableName", nl_command_quoted(command, full, 2)));
    nl_str *listed = NL_NEW(scope->arena, nl_str);
    *listed = key;
    nl_list_add(scope->arena, &scope->variables, listed);
    return nl_session_put_variable(command->session, key, value, value, false);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

/* A command for one statement of the script; ends with its result. */
static nl_status begin(script *s, nl_result **result, nl_command **inner)
{
    NL_TRY(nl_cancel_check(nl_session_cancel_token(s->command->session)));
    NL_TRY(nl_result_new(s->command->session, result, inner));
    (*inner)->text = s->command->text;
    (*inner)->scope = s->scope;
    (*inner)->is_kept = true;
    nl_command_prepare(*inner);
    (*inner)->context.parameters = s->command->context.parameters;
    (*inner)->context.parameter_names = s->command->context.parameter_names;
    (*inner)->context.parameter_count = s->command->context.parameter_count;
    return NULL;
}

static nl_status run_one(script *s, const nl_ast_statement *statement)
{
    nl_result *result = NULL;
    nl_command *inner = NULL;
    NL_TRY(begin(s, &result, &inner));
    nl_status status = nl_command_dispatch(inner, statement);
    if (status || nl_result_kind_of(result) != NL_RESULT_QUERY) {
        nl_result_close(result);
        return status;
    }
    nl_result_close(s->last);
    s->last = result;
    return NULL;
}

static nl_status run_body(script *s, const nl_ast_statements *body)
{
    for (uint32_t i = 0; i < body->count && s->flow == FLOW_NEXT; i++) NL_TRY(run_statement(s, body->items[i]));
    return NULL;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static nl_str upper_text(script *s, nl_ast_range range)
{
    const nl_str text = nl_str_slice(s->command->text, range.start, range.stop);
    char *made = NL_NEW_ARRAY(s->command->arena, char, text.length + 1);
    for (size_t i = 0; i < text.length; i++) made[i] = text.data[i] >= 'a' && text.data[i] <= 'z' ? (char)(text.data[i] - 'a' + 'A') : text.data[i];
    return (nl_str){made, text.length};
}

/* CASE x WHEN y: x = y. */
static nl_ast_expr *equality(nl_arena *arena, nl_ast_expr *operand, nl_ast_expr *value)
{
    nl_ast_expr *equal = NL_NEW(arena, nl_ast_expr);
    equal->kind = NL_AST_EXPR_BINARY;
    equal->range = value->range;
    equal->binary.op = NL_AST_BINARY_EQ;
    equal->binary.left = operand;
    equal->binary.right = value;
    return equal;
}

/* SELECT condition: false when it is null, an error when it is no boolean. */
static nl_status evaluate(nl_command *inner, script *s, nl_ast_expr *operand, nl_ast_expr *condition, bool *is_true)
{
    nl_ast_expr *tested = operand ? equality(inner->arena, operand, condition) : condition;
    const nl_ast_select select = {.items = {&tested, 1}};
    const nl_ast_term term = {.kind = NL_AST_TERM_SELECT, .select = NL_UNCONST(&select)};
    const nl_ast_query query = {.body = NL_UNCONST(&term)};
    const nl_logical *plan = NULL;
    uint32_t row_count = 0;
    NL_TRY(nl_analyze_query(&inner->context, &query, &plan));
    if (plan->column_count != 1 || plan->columns[0].type->id != NL_TYPE_BOOLEAN)
        return NL_RAISE(INVALID_BOOLEAN_STATEMENT, NL_P_STR("invalidStatement", upper_text(s, condition->range)));
    nl_value value = nl_value_null(nl_type_boolean());
    NL_TRY(nl_command_first_row(inner, plan, &value, &row_count));
    *is_true = row_count > 0 && !value.is_null && value.boolean;
    return NULL;
}

/* operand: of a simple CASE; or NULL. */
static nl_status holds(script *s, nl_ast_expr *operand, nl_ast_expr *condition, bool *is_true)
{
    nl_result *result = NULL;
    nl_command *inner = NULL;
    *is_true = false;
    NL_TRY(begin(s, &result, &inner));
    nl_status status = evaluate(inner, s, operand, condition, is_true);
    nl_result_close(result);
    return status;
}

static nl_status run_branches(script *s, const nl_ast_script_branches *node)
{
    for (uint32_t i = 0; i < node->branch_count; i++) {
        const nl_ast_branch *branch = &node->branches[i];
        bool is_true = false;
        NL_TRY(holds(s, node->operand, branch->condition, &is_true));
        if (is_true) return run_body(s, &branch->body);
    }
    return node->has_else ? run_body(s, &node->otherwise) : NULL;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* After a turn of the loop: ITERATE of its own label begins the next, LEAVE of it ends it, those of others end it, too. */
static bool goes_on(script *s, nl_ast_ident label)
{
    if (s->flow == FLOW_NEXT) return true;
    const bool is_own = label.text.data && nl_str_equal_nocase(label.text, s->label);
    if (!is_own) return false;
    const bool is_iterate = s->flow == FLOW_ITERATE;
    s->flow = FLOW_NEXT;
    return is_iterate;
}

static nl_status run_loop(script *s, const nl_ast_statement *statement)
{
    const nl_ast_script_loop *loop = statement->loop;
    for (;;) {
        bool is_true = false;
        if (statement->kind == NL_AST_STATEMENT_WHILE) {
            NL_TRY(holds(s, NULL, loop->condition, &is_true));
            if (!is_true) return NULL;
        }
        NL_TRY(run_body(s, &loop->body));
        if (!goes_on(s, loop->label)) return NULL;
        if (statement->kind == NL_AST_STATEMENT_REPEAT) {
            NL_TRY(holds(s, NULL, loop->condition, &is_true));
            if (is_true) return NULL;
        }
        NL_TRY(nl_cancel_check(nl_session_cancel_token(s->command->session))); /* a body may have nothing to run */
    }
}

/* One row of a FOR: its columns are variables of a scope that is called as the FOR's variable. */
static nl_status run_row(script *s, const nl_ast_script_loop *loop, const nl_type *schema, const nl_batch *batch, uint32_t row)
{
    nl_result *result = NULL;
    nl_command *inner = NULL;
    NL_TRY(begin(s, &result, &inner));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < schema->child_count; i++) {
        const nl_value value = nl_vector_value(&batch->columns[i], row, inner->arena);
        status = nl_script_declare(inner, schema->children[i].name, &value);
    }
    nl_result_close(result);
    NL_TRY(status);
    return run_body(s, &loop->body);
}

static nl_status run_rows(script *s, const nl_ast_script_loop *loop, nl_result *rows)
{
    bool is_done = false;
    for (;;) {
        nl_batch batch = {0};
        NL_TRY(nl_result_next(rows, &batch, &is_done));
        if (is_done) return NULL;
        nl_status status = NULL;
        bool is_over = false;
        for (uint32_t i = 0; !status && !is_over && i < batch.row_count; i++) {
            nl_script_scope scope;
            open_scope(s, loop->variable.text, &scope);
            status = run_row(s, loop, nl_result_schema(rows), &batch, i);
            close_scope(s);
            is_over = !status && !goes_on(s, loop->label);
        }
        nl_batch_fini(&batch);
        if (status || is_over) return status;
    }
}

static nl_status run_for(script *s, const nl_ast_script_loop *loop)
{
    const nl_ast_statement statement = {.kind = NL_AST_STATEMENT_QUERY, .query = loop->query};
    nl_result *rows = NULL;
    nl_command *inner = NULL;
    NL_TRY(begin(s, &rows, &inner));
    inner->is_kept = false; /* rows come as the loop takes them */
    nl_status status = nl_command_dispatch(inner, &statement);
    if (!status) status = run_rows(s, loop, rows);
    nl_result_close(rows);
    return status;
}

/* ---- blocks and handlers ----------------------------------------------------------------------------------------- */

static nl_str dotted(nl_arena *arena, const nl_ast_name *name)
{
    nl_str text = name->parts[0].text;
    for (uint32_t i = 1; i < name->count; i++) text = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(name->parts[i].text));
    return text;
}

/* How closely a handler names an error: its condition before the condition without its subclass before its SQLSTATE before
 * SQLEXCEPTION; 0: not at all. */
static int closeness(nl_arena *arena, const nl_ast_condition_value *on, nl_str condition, nl_str sqlstate)
{
    const size_t dot = nl_str_find_char(condition, '.', 0);
    const bool is_not_found = nl_str_starts(sqlstate, NL_STR("02"));
    switch (on->kind) {
    case NL_AST_ON_CONDITION: {
        const nl_str name = dotted(arena, &on->condition);
        if (nl_str_equal_nocase(name, condition)) return 4;
        return dot != NL_NOT_FOUND && nl_str_equal_nocase(name, nl_str_slice(condition, 0, dot)) ? 3 : 0;
    }
    case NL_AST_ON_SQLSTATE: return nl_str_equal_nocase(on->sqlstate, sqlstate) ? 2 : 0;
    case NL_AST_ON_NOT_FOUND: return is_not_found ? 1 : 0;
    case NL_AST_ON_SQLEXCEPTION:
    default: return is_not_found || nl_str_starts(sqlstate, NL_STR("XX")) ? 0 : 1;
    }
}

static const nl_ast_declare_handler *find_handler(script *s, const nl_ast_block *block, const nl_error *error)
{
    const nl_ast_declare_handler *found = NULL;
    const nl_str condition = nl_str_from(nl_condition_name(nl_error_condition(error)));
    const nl_str sqlstate = nl_str_from(nl_condition_sqlstate(nl_error_condition(error)));
    int best = 0;
    if (nl_error_condition(error) == NL_COND_OPERATION_CANCELED) return NULL;
    for (uint32_t i = 0; i < block->body.count; i++) {
        if (block->body.items[i]->kind != NL_AST_STATEMENT_DECLARE_HANDLER) continue;
        const nl_ast_declare_handler *handler = block->body.items[i]->declare_handler;
        for (uint32_t j = 0; j < handler->condition_count; j++) {
            const int how = closeness(s->command->arena, &handler->conditions[j], condition, sqlstate);
            if (how <= best) continue;
            best = how;
            found = handler;
        }
    }
    return found;
}

static nl_status run_block(script *s, const nl_ast_block *block)
{
    nl_script_scope scope;
    open_scope(s, block->label.text, &scope);
    nl_status status = run_body(s, &block->body);
    const nl_ast_declare_handler *handler = status ? find_handler(s, block, status) : NULL;
    if (handler) { /* EXIT: the block is over; errors of the handler itself are those of blocks around it */
        nl_error_free(status);
        status = run_statement(s, handler->body);
    }
    close_scope(s);
    const bool is_own = s->flow == FLOW_LEAVE && block->label.text.data && nl_str_equal_nocase(block->label.text, s->label);
    if (is_own) s->flow = FLOW_NEXT;
    return status;
}

static nl_status refuse_drop(const nl_ast_statement *statement)
{
    if (statement->kind != NL_AST_STATEMENT_DROP || statement->drop->object != NL_AST_OBJECT_VARIABLE) return NULL;
    return NL_RAISE(UNSUPPORTED_FEATURE__SQL_SCRIPTING_DROP_TEMPORARY_VARIABLE);
}

static nl_status run_statement(script *s, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_BLOCK: return run_block(s, statement->block);
    case NL_AST_STATEMENT_IF:
    case NL_AST_STATEMENT_CASE: return run_branches(s, statement->branches);
    case NL_AST_STATEMENT_WHILE:
    case NL_AST_STATEMENT_REPEAT:
    case NL_AST_STATEMENT_LOOP: return run_loop(s, statement);
    case NL_AST_STATEMENT_FOR: return run_for(s, statement->loop);
    case NL_AST_STATEMENT_LEAVE:
    case NL_AST_STATEMENT_ITERATE:
        s->flow = statement->kind == NL_AST_STATEMENT_LEAVE ? FLOW_LEAVE : FLOW_ITERATE;
        s->label = statement->label.text;
        return NULL;
    case NL_AST_STATEMENT_DECLARE_HANDLER:
    case NL_AST_STATEMENT_DECLARE_CONDITION: return NULL; /* looked for when something fails */
    default:
        NL_TRY(refuse_drop(statement));
        return run_one(s, statement);
    }
}

/* ---- the script -------------------------------------------------------------------------------------------------- */

static nl_status next_of_last(void *context, nl_batch *batch, bool *is_done)
{
    return nl_result_next(context, batch, is_done);
}

static void close_last(void *context)
{
    nl_result_close(context);
}

nl_status nl_run_script(nl_command *command, const nl_ast_statement *statement)
{
    script s = {.command = command};
    nl_status status = run_block(&s, statement->block);
    if (status || !s.last) {
        nl_result_close(s.last);
        return status;
    }
    nl_command_forward(command, nl_result_schema(s.last), &(nl_result_source){next_of_last, close_last, s.last});
    return NULL;
}
