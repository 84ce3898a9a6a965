/* input_file_name() and the place of the block being read: hidden columns of the scan below, carried up to where they are asked
 * for. Above what brings rows of several files together (aggregation, sorting, DISTINCT, LIMIT) nothing is known, as in Spark, and
 * the functions' own values say so.
 */
#include "plan/optimizer/carry.h"

enum { FACT_NAME, FACT_START, FACT_LENGTH, FACT_COUNT };

static const char *const fact_functions[FACT_COUNT] = {"input_file_name", "input_file_block_start", "input_file_block_length"};
static const char *const fact_fields[FACT_COUNT] = {"file_path", "file_block_start", "file_block_length"}; /* of _metadata */

typedef struct naming {
    nl_carrier carrier;
    const nl_expr *facts[FACT_COUNT]; /* over the child of the node being rewritten; NULL: nothing is read there */
} naming;

static bool find_fact(const nl_expr *expr, uint32_t *fact)
{
    for (*fact = 0; *fact < FACT_COUNT; (*fact)++)
        if (nl_is_call(expr, fact_functions[*fact])) return true;
    return false;
}

static bool is_no_fact(void *context, const nl_expr *expr)
{
    uint32_t fact;
    (void)context;
    return !find_fact(expr, &fact);
}

static bool walk_one(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, is_no_fact, context);
}

/* The scan's hidden column that tells the file; UINT32_MAX: it has none. */
static uint32_t hidden_column(const nl_table *table)
{
    const nl_type *hidden = table->metadata_type;
    for (uint32_t i = 0; hidden && i < hidden->child_count; i++)
        if (nl_str_is(hidden->children[i].name, "_file") || nl_str_is(hidden->children[i].name, "_metadata")) return i;
    return UINT32_MAX;
}

static bool reads_files(const nl_logical *plan)
{
    bool reads = plan->kind == NL_PLAN_SCAN && hidden_column(plan->scan.table) != UINT32_MAX;
    for (uint32_t i = 0; i < plan->child_count && !reads; i++) reads = reads_files(plan->children[i]);
    return reads;
}

static const nl_column *find_in_scan(nl_carrier *self, const nl_logical *plan, const nl_logical **carrying)
{
    nl_arena *arena = self->context->arena;
    const uint32_t hidden = plan->kind == NL_PLAN_SCAN ? hidden_column(plan->scan.table) : UINT32_MAX;
    if (hidden == UINT32_MAX) return NULL;
    const uint32_t place = plan->scan.table->row_type->child_count + hidden;
    const nl_field *field = &plan->scan.table->metadata_type->children[hidden];
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (plan->scan.table_columns[i] == place) return &plan->columns[i];
    nl_logical *copy = nl_logical_copy(arena, plan);
    uint32_t *places = NL_NEW_ARRAY(arena, uint32_t, plan->column_count + 1);
    nl_copy_items(places, plan->scan.table_columns, plan->column_count * sizeof *places);
    places[plan->column_count] = place;
    copy->scan.table_columns = places;
    *carrying = copy;
    return nl_carry_add_column(arena, copy, plan->column_count,
                      &(nl_column){.id = nl_plan_new_id(self->context), .name = field->name, .type = field->type, .is_nullable = field->is_nullable, .is_hidden = true});
}

/* ---- the rule ---- */

static uint32_t count_sources(const nl_logical *plan)
{
    uint32_t count = plan->kind == NL_PLAN_SCAN && hidden_column(plan->scan.table) != UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < plan->child_count; i++) {
        const uint32_t one = count_sources(plan->children[i]);
        count += one;
        most = NL_MAX(most, one);
    }
    return plan->kind == NL_PLAN_SET ? most : count; /* branches of a set are not read side by side */
}

static nl_status replace(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const naming *self = context;
    uint32_t fact;
    *result = expr;
    if (!find_fact(expr, &fact) || !self->facts[fact]) return NULL;
    *result = nl_expr_with_span(arena, self->facts[fact], expr->span);
    return NULL;
}

static nl_status replace_in(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, replace, context, result);
}

/* What the carried column says of the three. Of Iceberg's files only the names are told. */
static nl_status make_facts(naming *self, const nl_column *column)
{
    nl_arena *arena = self->carrier.context->arena;
    const nl_expr *ref = nl_column_ref(arena, column);
    for (uint32_t i = 0; i < FACT_COUNT; i++) self->facts[i] = NULL;
    if (column->type->id != NL_TYPE_STRUCT) {
        self->facts[FACT_NAME] = ref;
        return NULL;
    }
    for (uint32_t i = 0; i < FACT_COUNT; i++)
        for (uint32_t f = 0; f < column->type->child_count; f++)
            if (nl_str_is(column->type->children[f].name, fact_fields[i])) self->facts[i] = nl_expr_field(arena, ref, f);
    return NULL;
}

static bool is_missing_fact(void *context, const nl_expr *expr)
{
    const naming *self = context;
    uint32_t fact;
    return !find_fact(expr, &fact) || self->facts[fact];
}

static bool has_all(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, is_missing_fact, context);
}

static bool find_asked(void *context, const nl_expr *expr)
{
    const nl_expr **found = context;
    uint32_t fact;
    if (!find_fact(expr, &fact)) return true;
    *found = expr;
    return false;
}

static bool walk_asked(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, find_asked, context);
}

static nl_status visit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    naming *self = context;
    const nl_logical *child = NULL;
    const nl_expr *asked = NULL;
    *result = plan;
    if (plan->child_count == 0 || nl_logical_walk_exprs(plan, walk_one, NULL)) return NULL;
    if (count_sources(plan) > 1) {
        (void)nl_logical_walk_exprs(plan, walk_asked, &asked);
        return NL_RAISE(MULTI_SOURCES_UNSUPPORTED_FOR_EXPRESSION, NL_P_STR("expr", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_expr_pretty_str(arena, asked)))));
    }
    if (plan->child_count != 1) return NULL;
    const nl_column *column = nl_carry(&self->carrier, plan->children[0], &child);
    if (!column) return NULL;
    NL_TRY(make_facts(self, column));
    if (!nl_logical_walk_exprs(plan, has_all, self)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] Blocks of Iceberg's files are not told: the table has the columns _file and _pos.");
    return nl_carry_rewrite(plan, child, column, arena, replace_in, self, result);
}

nl_status nl_rule_name_input_files(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    naming self = {.carrier = {.context = context, .find = find_in_scan, .has = reads_files}};
    return nl_logical_rewrite(context->arena, plan, visit, &self, result);
}
