/* exec/compile.c - from typed expressions to a program.
 *
 * Sharing is value numbering: an instruction with the same operation and operands as an earlier one whose rows include
 * this one's is not made again. Branches of CASE, AND, OR and COALESCE become guards only when skipping rows matters:
 * the branch can fail, has effects of its own (rand()), or costs more than looking at the rows.
 */
#include "exec/program.h"

#include "base/hash.h"
#include "base/limits.h"

#define BUCKET_COUNT    512u
#define GUARD_COST_MIN  4u /* below it, computing every row is cheaper than selecting rows */

/* Which rows a register holds: those of the blocks around it. What a scope made may be used as long as it is open; the
 * open ones are always the innermost and those around it, so that no chain has to be followed. */
typedef struct scope {
    struct scope *parent;
    nl_block *block;
    bool is_closed;
} scope;

typedef struct known {
    struct known *next;
    scope *scope;
    const nl_expr *expr;         /* same node, or */
    const nl_instruction *instruction; /* same operation on the same registers */
    uint64_t hash;
    uint32_t target;
} known;

typedef struct compiler {
    nl_arena *arena;
    nl_program *program;
    const nl_column *inputs;
    uint32_t input_count;
    nl_list constants; /* const nl_value * */
    nl_list calls;
    bool is_exact;      /* arguments wait for those before them to be non-null: see nl_program.exact */
    bool has_shortcuts; /* an exact program would differ from this one */
    bool has_exact;     /* when this one fails, an exact one is run    */
    known *by_expr[BUCKET_COUNT];
    known *by_value[BUCKET_COUNT];
    known *guarded[BUCKET_COUNT]; /* expressions that stand in their guards already */
    uint32_t depth;
} compiler;

static nl_status compile_expr(compiler *c, scope *at, const nl_expr *expr, uint32_t *target);
static nl_status compile_kind(compiler *c, scope *at, const nl_expr *expr, uint32_t *target);
static nl_status compile_outputs(const compiler *like, const nl_expr *const *exprs, uint32_t expr_count, bool *has_shortcuts, nl_program **out);

static void remember_expr(compiler *c, scope *at, const nl_expr *expr, uint32_t target)
{
    known *entry = NL_NEW(c->arena, known);
    uint32_t bucket = (uint32_t)(nl_hash_u64((uintptr_t)expr) % BUCKET_COUNT);
    *entry = (known){.next = c->by_expr[bucket], .scope = at, .expr = expr, .target = target};
    c->by_expr[bucket] = entry;
}

static bool find_expr(const compiler *c, const nl_expr *expr, uint32_t *target)
{
    for (const known *entry = c->by_expr[nl_hash_u64((uintptr_t)expr) % BUCKET_COUNT]; entry; entry = entry->next) {
        if (entry->expr == expr && !entry->scope->is_closed) {
            *target = entry->target;
            return true;
        }
    }
    return false;
}

static void mark_guarded(compiler *c, const nl_expr *expr)
{
    known *entry = NL_NEW(c->arena, known);
    known **bucket = &c->guarded[nl_hash_u64((uintptr_t)expr) % BUCKET_COUNT];
    *entry = (known){.next = *bucket, .expr = expr};
    *bucket = entry;
}

static bool is_guarded(const compiler *c, const nl_expr *expr)
{
    const known *entry = c->guarded[nl_hash_u64((uintptr_t)expr) % BUCKET_COUNT];
    while (entry && entry->expr != expr) entry = entry->next;
    return entry != NULL;
}

static uint64_t hash_instruction(const nl_instruction *instruction)
{
    uint64_t hash = nl_hash_u64((uint64_t)instruction->op * 31 + instruction->slot);
    if (instruction->op == NL_OP_CALL) hash = nl_hash_u64((uintptr_t)instruction->function->row);
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        hash = nl_hash_mix(hash, instruction->operands[i]);
    return hash;
}

/* The state of a bound function comes from its types and constants, which are operands too: same row, same operands
 * and same types mean the same values. */
static bool is_same_instruction(const nl_instruction *a, const nl_instruction *b)
{
    if (a->op != b->op || a->operand_count != b->operand_count || !nl_type_equal(a->type, b->type)) return false;
    for (uint32_t i = 0; i < a->operand_count; i++)
        if (a->operands[i] != b->operands[i]) return false;
    if (a->op == NL_OP_CALL)
        return a->function->row == b->function->row && a->function->kernel == b->function->kernel &&
               a->function->is_deterministic && b->function->is_deterministic && !a->lambdas && !b->lambdas;
    if (a->op == NL_OP_CAST) return a->cast_mode == b->cast_mode;
    return a->slot == b->slot;
}

static bool can_share(const nl_instruction *instruction)
{
    switch (instruction->op) {
    case NL_OP_COLUMN:
    case NL_OP_CONSTANT:
    case NL_OP_CAST:
    case NL_OP_NOT:
    case NL_OP_IS_NULL:
    case NL_OP_IS_NOT_NULL:
    case NL_OP_IN:
    case NL_OP_FIELD: return true;
    case NL_OP_CALL: return instruction->function->is_deterministic && !instruction->lambdas;
    case NL_OP_AND:
    case NL_OP_OR:
    case NL_OP_CASE:
    case NL_OP_COALESCE: return !instruction->guards;
    case NL_OP_IN_SET: return false;
    }
    return false;
}

static uint32_t emit(compiler *c, scope *at, const nl_instruction *wanted)
{
    uint64_t hash = hash_instruction(wanted);
    uint32_t bucket = (uint32_t)(hash % BUCKET_COUNT);
    bool is_shareable = can_share(wanted);
    for (const known *entry = is_shareable ? c->by_value[bucket] : NULL; entry; entry = entry->next) {
        if (entry->hash == hash && !entry->scope->is_closed && is_same_instruction(entry->instruction, wanted))
            return entry->target;
    }
    nl_instruction *instruction = NL_NEW(c->arena, nl_instruction);
    *instruction = *wanted;
    instruction->target = c->program->register_count++;
    nl_list_add(c->arena, &at->block->instructions, instruction);
    if (instruction->op == NL_OP_CALL) {
        instruction->slot = c->calls.count;
        nl_list_add(c->arena, &c->calls, instruction);
    }
    if (is_shareable) {
        known *entry = NL_NEW(c->arena, known);
        *entry = (known){.next = c->by_value[bucket], .scope = at, .instruction = instruction, .hash = hash, .target = instruction->target};
        c->by_value[bucket] = entry;
    }
    return instruction->target;
}

static bool is_same_constant(const nl_value *a, const nl_value *b)
{
    if (!nl_type_equal(a->type, b->type) || a->is_null != b->is_null) return false;
    if (a->is_null) return true;
    if (a->type->physical == NL_PHYS_F32 || a->type->physical == NL_PHYS_F64)
        return memcmp(&a->real, &b->real, sizeof(double)) == 0; /* 0.0 and -0.0 stay apart */
    return !nl_type_is_nested(a->type) && a->type->id != NL_TYPE_VARIANT && nl_value_equal(a, b);
}

static uint32_t compile_literal(compiler *c, scope *at, const nl_expr *expr)
{
    uint32_t slot = 0;
    for (; slot < c->constants.count; slot++)
        if (slot < 64 && is_same_constant(c->constants.items[slot], &expr->value)) break;
    if (slot == c->constants.count) nl_list_add(c->arena, &c->constants, NL_UNCONST(&expr->value));
    return emit(c, at, &(nl_instruction){.op = NL_OP_CONSTANT, .type = expr->type, .slot = slot});
}

static nl_status compile_column(compiler *c, scope *at, const nl_expr *expr, uint32_t *target)
{
    for (uint32_t i = 0; i < c->input_count; i++) {
        if (c->inputs[i].id != expr->column) continue;
        *target = emit(c, at, &(nl_instruction){.op = NL_OP_COLUMN, .type = c->inputs[i].type, .slot = i});
        return NULL;
    }
    return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "column " NL_STR_FMT "#%u is not among the inputs",
                         NL_STR_ARG(expr->name), expr->column);
}

static uint32_t cost_of(const nl_expr *expr)
{
    uint32_t cost = 0;
    if (expr->kind == NL_EXPR_CALL)
        cost = 1;
    else if (expr->kind == NL_EXPR_CAST || expr->kind == NL_EXPR_IN)
        cost = 2;
    for (uint32_t i = 0; i < expr->child_count; i++) {
        cost += cost_of(expr->children[i]);
        nl_physical physical = expr->children[i]->type->physical;
        bool is_wide = physical == NL_PHYS_STRING || physical == NL_PHYS_LIST || physical == NL_PHYS_STRUCT;
        if (is_wide && (expr->kind == NL_EXPR_CALL || expr->kind == NL_EXPR_CAST)) cost += 3;
    }
    return cost;
}

static bool needs_guard(const nl_expr *expr)
{
    return nl_expr_can_fail(expr) || !nl_expr_is_deterministic(expr) || cost_of(expr) >= GUARD_COST_MIN;
}

/* Compiles an operand that only some rows of `*at` need. When it becomes a guard, *at moves into its scope if later
 * operands see a subset of its rows (is_narrowing). */
static nl_status compile_guarded(compiler *c, scope **at, bool is_narrowing, const nl_expr *expr, nl_block **guard, uint32_t *target)
{
    if (!needs_guard(expr)) return compile_expr(c, *at, expr, target);
    nl_block *block = NL_NEW(c->arena, nl_block);
    scope *inner = NL_NEW(c->arena, scope);
    *inner = (scope){.parent = *at, .block = block};
    NL_TRY(compile_expr(c, inner, expr, target));
    *guard = block;
    if (is_narrowing) *at = inner;
    else inner->is_closed = true;
    return NULL;
}

/* AND, OR, COALESCE, CASE. A guard is kept even when its block came out empty: the operand is still read only for
 * the rows that need it. */
static nl_status compile_branches(compiler *c, scope *at, const nl_expr *expr, nl_op op, uint32_t *target)
{
    uint32_t count = expr->child_count;
    uint32_t *operands = NL_NEW_ARRAY(c->arena, uint32_t, count);
    nl_block **guards = NL_NEW_ARRAY(c->arena, nl_block *, count);
    scope *current = at;
    bool has_guards = false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_value = op == NL_OP_CASE && (i % 2 == 1 || i == count - 1); /* CASE's values do not narrow what follows */
        if (i == 0 && !is_value) {
            NL_TRY(compile_expr(c, current, expr->children[i], &operands[i]));
        } else {
            NL_TRY(compile_guarded(c, &current, !is_value, expr->children[i], &guards[i], &operands[i]));
            has_guards = has_guards || guards[i];
        }
    }
    for (; current != at; current = current->parent) current->is_closed = true;
    *target = emit(c, at, &(nl_instruction){.op = op, .type = expr->type, .span = expr->span, .operands = operands,
                                            .operand_count = count, .guards = has_guards ? guards : NULL});
    return NULL;
}

/* x IN (a, b, c) where b may fail: only rows that a does not match may evaluate b, and none where x is null. The list
 * is cut before each item that may fail, and the parts are joined by OR, which guards its operands. */
static const nl_expr *guard_in_items(compiler *c, const nl_expr *expr)
{
    nl_arena *arena = c->arena;
    nl_list parts = {0};
    for (uint32_t first = 1; first < expr->child_count;) {
        uint32_t end = first + 1;
        while (end < expr->child_count && !nl_expr_can_fail(expr->children[end])) end++;
        const nl_expr **items = NL_NEW_ARRAY(arena, const nl_expr *, end - first + 1);
        items[0] = expr->children[0];
        memcpy(items + 1, expr->children + first, (end - first) * sizeof *items);
        nl_expr *part = nl_expr_new(arena, NL_EXPR_IN, expr->type, items, end - first + 1);
        nl_list_add(arena, &parts, part);
        mark_guarded(c, part);
        first = end;
    }
    const nl_expr *const *operands = (const nl_expr *const *)(void *)parts.items;
    const nl_expr *any = parts.count == 1 ? operands[0] : nl_expr_new(arena, NL_EXPR_OR, expr->type, operands, parts.count);
    if (!expr->children[0]->is_nullable) return any;
    const nl_expr *branch[] = {nl_expr_new(arena, NL_EXPR_IS_NOT_NULL, expr->type, &expr->children[0], 1), any};
    nl_expr *choice = nl_expr_new(arena, NL_EXPR_CASE, expr->type, branch, 2);
    choice->is_nullable = true;
    return choice;
}

static bool needs_guarded_items(const compiler *c, const nl_expr *expr)
{
    if (is_guarded(c, expr)) return false;
    for (uint32_t i = 1; i < expr->child_count; i++)
        if (nl_expr_can_fail(expr->children[i])) return i > 1 || expr->children[0]->is_nullable || expr->child_count > 2;
    return false;
}

static nl_status compile_in(compiler *c, scope *at, const nl_expr *expr, uint32_t *target)
{
    if (needs_guarded_items(c, expr)) return compile_kind(c, at, guard_in_items(c, expr), target);
    bool is_constant = true;
    for (uint32_t i = 1; i < expr->child_count; i++)
        is_constant = is_constant && expr->children[i]->kind == NL_EXPR_LITERAL;
    const nl_type *type = expr->children[0]->type;
    is_constant = is_constant && !nl_type_is_nested(type) && type->id != NL_TYPE_VARIANT && type->id != NL_TYPE_NULL;
    uint32_t count = is_constant ? 1 : expr->child_count;
    uint32_t *operands = NL_NEW_ARRAY(c->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(compile_expr(c, at, expr->children[i], &operands[i]));
    *target = emit(c, at, &(nl_instruction){.op = is_constant ? NL_OP_IN_SET : NL_OP_IN,
                                            .type = expr->type, .span = expr->span, .operands = operands, .operand_count = count,
                                            .set = is_constant ? nl_in_set_new(c->arena, expr->children + 1, expr->child_count - 1) : NULL});
    return NULL;
}

typedef struct capture_search {
    compiler *c;
    const nl_expr *lambda;
    nl_list captured; /* const nl_expr *, distinct columns */
    nl_list inner;    /* parameters of lambdas inside the body */
} capture_search;

static bool find_captured(void *context, const nl_expr *expr)
{
    capture_search *search = context;
    if (expr->kind == NL_EXPR_LAMBDA)
        for (uint32_t i = 0; i < expr->parameter_count; i++)
            nl_list_add(search->c->arena, &search->inner, (void *)(uintptr_t)expr->parameters[i]);
    if (expr->kind != NL_EXPR_COLUMN && expr->kind != NL_EXPR_PARAMETER) return true;
    for (uint32_t i = 0; i < search->lambda->parameter_count; i++)
        if (search->lambda->parameters[i] == expr->column) return true;
    for (uint32_t i = 0; i < search->inner.count; i++)
        if ((uintptr_t)search->inner.items[i] == expr->column) return true;
    for (uint32_t i = 0; i < search->captured.count; i++)
        if (((const nl_expr *)search->captured.items[i])->column == expr->column) return true;
    nl_list_add(search->c->arena, &search->captured, NL_UNCONST(expr));
    return true;
}

/* Where the whole program has an exact form, its lambdas' bodies need none of their own: compiled twice at each level,
 * lambdas in lambdas would be compiled 2^depth times. */
static nl_status compile_body(compiler *c, const nl_expr *const *body, const nl_column *inputs, uint32_t input_count, nl_program **out)
{
    if (!c->is_exact && !c->has_exact) return nl_program_compile(c->arena, body, 1, inputs, input_count, out);
    const compiler like = {.arena = c->arena, .inputs = inputs, .input_count = input_count, .is_exact = c->is_exact, .has_exact = c->has_exact};
    bool has_shortcuts = false;
    NL_TRY(compile_outputs(&like, body, 1, &has_shortcuts, out));
    c->has_shortcuts = c->has_shortcuts || has_shortcuts;
    return NULL;
}

static nl_status compile_lambda(compiler *c, scope *at, const nl_expr *lambda, const nl_lambda_code **code)
{
    capture_search search = {.c = c, .lambda = lambda};
    nl_expr_walk(lambda->children[0], find_captured, &search);
    uint32_t captured_count = search.captured.count;
    uint32_t input_count = captured_count + lambda->parameter_count;
    nl_column *inputs = NL_NEW_ARRAY(c->arena, nl_column, input_count);
    uint32_t *captured = NL_NEW_ARRAY(c->arena, uint32_t, captured_count);
    for (uint32_t i = 0; i < captured_count; i++) {
        const nl_expr *column = search.captured.items[i];
        NL_TRY(compile_column(c, at, column, &captured[i]));
        inputs[i] = (nl_column){.id = column->column, .name = column->name, .type = column->type, .is_nullable = true};
    }
    for (uint32_t i = 0; i < lambda->parameter_count; i++)
        inputs[captured_count + i] = (nl_column){.id = lambda->parameters[i], .type = lambda->parameter_types[i], .is_nullable = true};
    nl_lambda_code *made = NL_NEW(c->arena, nl_lambda_code);
    *made = (nl_lambda_code){.captured = captured, .captured_count = captured_count, .parameter_count = lambda->parameter_count,
                             .result_type = lambda->children[0]->type, .is_nullable = lambda->children[0]->is_nullable};
    NL_TRY(compile_body(c, &lambda->children[0], inputs, input_count, &made->body));
    *code = made;
    return NULL;
}

/* f(a, b) that is null where a is: Spark does not evaluate b there, so b cannot fail there. How many of the first
 * arguments have to be asked whether they are null: 0 where it makes no difference. concat and its like evaluate all. */
static uint32_t shortcut_length(const nl_expr *expr)
{
    const nl_function_row *row = expr->function->row;
    const bool is_variadic = row->signature && strstr(row->signature, "...");
    if (row->nulls != NL_NULL_IN_NULL_OUT || is_variadic) return 0;
    uint32_t length = 0;
    bool has_nullable = false;
    for (uint32_t i = 0; i < expr->child_count; i++) {
        if (has_nullable && expr->children[i]->kind != NL_EXPR_LAMBDA && nl_expr_can_fail(expr->children[i])) length = i;
        has_nullable = has_nullable || expr->children[i]->is_nullable;
    }
    return length;
}

/* CASE WHEN a IS NOT NULL THEN f(a, b) END */
static const nl_expr *guard_arguments(compiler *c, const nl_expr *expr, uint32_t length)
{
    nl_list tests = {0};
    for (uint32_t i = 0; i < length; i++)
        if (expr->children[i]->is_nullable)
            nl_list_add(c->arena, &tests, nl_expr_new(c->arena, NL_EXPR_IS_NOT_NULL, nl_type_boolean(), &expr->children[i], 1));
    const nl_expr *const *operands = (const nl_expr *const *)(void *)tests.items;
    const nl_expr *all = tests.count == 1 ? operands[0] : nl_expr_new(c->arena, NL_EXPR_AND, nl_type_boolean(), operands, tests.count);
    mark_guarded(c, expr);
    nl_expr *choice = nl_expr_new(c->arena, NL_EXPR_CASE, expr->type, (const nl_expr *[]){all, expr}, 2);
    choice->is_nullable = true;
    return choice;
}

static nl_status compile_call(compiler *c, scope *at, const nl_expr *expr, uint32_t *target)
{
    const uint32_t shortcut = is_guarded(c, expr) ? 0 : shortcut_length(expr);
    if (shortcut && c->is_exact) return compile_kind(c, at, guard_arguments(c, expr, shortcut), target);
    c->has_shortcuts = c->has_shortcuts || shortcut;
    uint32_t count = expr->child_count;
    uint32_t *operands = NL_NEW_ARRAY(c->arena, uint32_t, count);
    const nl_lambda_code **lambdas = NULL;
    uint32_t lambda_first = c->program->lambda_count;
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *child = expr->children[i];
        if (child->kind != NL_EXPR_LAMBDA) {
            NL_TRY(compile_expr(c, at, child, &operands[i]));
            continue;
        }
        operands[i] = UINT32_MAX;
        if (!lambdas) lambdas = NL_NEW_ARRAY(c->arena, const nl_lambda_code *, count);
        NL_TRY(compile_lambda(c, at, child, &lambdas[i]));
    }
    if (lambdas) {
        lambda_first = c->program->lambda_count;
        c->program->lambda_count += count;
    }
    *target = emit(c, at, &(nl_instruction){.op = NL_OP_CALL, .type = expr->type, .span = expr->span, .operands = operands,
                                            .operand_count = count, .function = expr->function, .lambdas = lambdas,
                                            .lambda_first = lambda_first});
    return NULL;
}

static nl_status compile_one_operand(compiler *c, scope *at, const nl_expr *expr, nl_op op, uint32_t *target)
{
    uint32_t *operand = NL_NEW(c->arena, uint32_t);
    NL_TRY(compile_expr(c, at, expr->children[0], operand));
    *target = emit(c, at, &(nl_instruction){.op = op, .type = expr->type, .span = expr->span, .operands = operand, .operand_count = 1,
                                            .slot = op == NL_OP_FIELD ? expr->ordinal : 0,
                                            .cast_mode = op == NL_OP_CAST ? expr->cast_mode : NL_CAST_ANSI});
    return NULL;
}

static nl_status compile_kind(compiler *c, scope *at, const nl_expr *expr, uint32_t *target)
{
    switch (expr->kind) {
    case NL_EXPR_LITERAL: *target = compile_literal(c, at, expr); return NULL;
    case NL_EXPR_COLUMN:
    case NL_EXPR_PARAMETER: return compile_column(c, at, expr, target);
    case NL_EXPR_CALL: return compile_call(c, at, expr, target);
    case NL_EXPR_CAST: return compile_one_operand(c, at, expr, NL_OP_CAST, target);
    case NL_EXPR_AND: return compile_branches(c, at, expr, NL_OP_AND, target);
    case NL_EXPR_OR: return compile_branches(c, at, expr, NL_OP_OR, target);
    case NL_EXPR_NOT: return compile_one_operand(c, at, expr, NL_OP_NOT, target);
    case NL_EXPR_IS_NULL: return compile_one_operand(c, at, expr, NL_OP_IS_NULL, target);
    case NL_EXPR_IS_NOT_NULL: return compile_one_operand(c, at, expr, NL_OP_IS_NOT_NULL, target);
    case NL_EXPR_CASE: return compile_branches(c, at, expr, NL_OP_CASE, target);
    case NL_EXPR_COALESCE: return compile_branches(c, at, expr, NL_OP_COALESCE, target);
    case NL_EXPR_IN: return compile_in(c, at, expr, target);
    case NL_EXPR_FIELD: return compile_one_operand(c, at, expr, NL_OP_FIELD, target);
    case NL_EXPR_OUTER:
    case NL_EXPR_LAMBDA:
    case NL_EXPR_AGGREGATE:
    case NL_EXPR_WINDOW:
    case NL_EXPR_GROUPING:
    case NL_EXPR_PYTHON:
    case NL_EXPR_SUBQUERY: break;
    }
    return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "expression kind %d cannot be evaluated here", (int)expr->kind);
}

static nl_status compile_expr(compiler *c, scope *at, const nl_expr *expr, uint32_t *target)
{
    if (find_expr(c, expr, target)) return NULL;
    if (++c->depth > NL_EXPRESSION_DEPTH_MAX * 4)
        return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "expression nested more than %u levels", NL_EXPRESSION_DEPTH_MAX * 4);
    NL_TRY(compile_kind(c, at, expr, target));
    c->depth--;
    remember_expr(c, at, expr, *target);
    return NULL;
}

/* `like` says what to compile: its arena, inputs, is_exact and has_exact. */
static compiler *start(const compiler *like)
{
    compiler *c = NL_NEW(like->arena, compiler);
    *c = *like;
    nl_program *program = NL_NEW(c->arena, nl_program);
    program->arena = c->arena;
    program->input_count = c->input_count;
    program->input_types = NL_NEW_ARRAY(c->arena, const nl_type *, c->input_count);
    for (uint32_t i = 0; i < c->input_count; i++)
        program->input_types[i] = c->inputs[i].type;
    c->program = program;
    return c;
}

static nl_status end(compiler *c, nl_program **out)
{
    nl_program *program = c->program;
    program->constant_count = c->constants.count;
    program->constants = NL_NEW_ARRAY(c->arena, nl_value, c->constants.count);
    for (uint32_t i = 0; i < c->constants.count; i++)
        program->constants[i] = *(const nl_value *)c->constants.items[i];
    program->call_count = c->calls.count;
    program->calls = (const nl_instruction **)(void *)c->calls.items;
    NL_TRY(nl_arena_check(c->arena));
    *out = program;
    return NULL;
}

static nl_status compile_outputs(const compiler *like, const nl_expr *const *exprs, uint32_t expr_count, bool *has_shortcuts, nl_program **out)
{
    compiler *c = start(like);
    nl_program *program = c->program;
    scope *top = NL_NEW(c->arena, scope);
    *top = (scope){.block = &program->main};
    uint32_t *outputs = NL_NEW_ARRAY(c->arena, uint32_t, expr_count);
    for (uint32_t i = 0; i < expr_count; i++)
        NL_TRY(compile_expr(c, top, exprs[i], &outputs[i]));
    program->outputs = outputs;
    program->output_count = expr_count;
    *has_shortcuts = c->has_shortcuts;
    return end(c, out);
}

/* A second run must see the same values. */
static bool are_deterministic(const nl_expr *const *exprs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!nl_expr_is_deterministic(exprs[i])) return false;
    return true;
}

nl_status nl_program_compile(nl_arena *arena, const nl_expr *const *exprs, uint32_t expr_count, const nl_column *inputs,
                             uint32_t input_count, nl_program **out)
{
    compiler like = {.arena = arena, .inputs = inputs, .input_count = input_count, .has_exact = are_deterministic(exprs, expr_count)};
    bool has_shortcuts = false;
    NL_TRY(compile_outputs(&like, exprs, expr_count, &has_shortcuts, out));
    if (!has_shortcuts || !like.has_exact) return NULL;
    like.is_exact = true;
    return compile_outputs(&like, exprs, expr_count, &has_shortcuts, &(*out)->exact);
}

/* Those that cannot fail go first, the cheap ones before the costly ones: they only take rows away from those that
 * can, whose own order stays. */
static void order_conjuncts(nl_arena *arena, nl_list *conjuncts)
{
    nl_list ordered = {0};
    nl_list failing = {0};
    for (uint32_t i = 0; i < conjuncts->count; i++) {
        const nl_expr *expr = conjuncts->items[i];
        bool is_fixed = nl_expr_can_fail(expr) || !nl_expr_is_deterministic(expr);
        nl_list_add(arena, is_fixed ? &failing : &ordered, NL_UNCONST(expr));
    }
    for (uint32_t i = 1; i < ordered.count; i++) { /* insertion sort: stable, and conjuncts are few */
        void *item = ordered.items[i];
        uint32_t cost = cost_of(item);
        uint32_t j = i;
        for (; j > 0 && i < 256 && cost_of(ordered.items[j - 1]) > cost; j--)
            ordered.items[j] = ordered.items[j - 1];
        ordered.items[j] = item;
    }
    for (uint32_t i = 0; i < failing.count; i++)
        nl_list_add(arena, &ordered, failing.items[i]);
    *conjuncts = ordered;
}

static nl_status compile_conjuncts(const compiler *like, const nl_expr *condition, bool *has_shortcuts, nl_program **out)
{
    compiler *c = start(like);
    nl_arena *arena = c->arena;
    nl_program *program = c->program;
    nl_list conjuncts = {0};
    nl_expr_conjuncts(arena, condition, &conjuncts);
    order_conjuncts(arena, &conjuncts);
    uint32_t *targets = NL_NEW_ARRAY(arena, uint32_t, conjuncts.count);
    nl_block **blocks = NL_NEW_ARRAY(arena, nl_block *, conjuncts.count);
    scope *at = NULL;
    for (uint32_t i = 0; i < conjuncts.count; i++) {
        blocks[i] = NL_NEW(arena, nl_block);
        scope *inner = NL_NEW(arena, scope);
        *inner = (scope){.parent = at, .block = blocks[i]};
        at = inner;
        NL_TRY(compile_expr(c, at, conjuncts.items[i], &targets[i]));
    }
    program->conjunct_count = conjuncts.count;
    program->conjunct_blocks = blocks;
    program->conjuncts = targets;
    *has_shortcuts = c->has_shortcuts;
    return end(c, out);
}

nl_status nl_program_compile_filter(nl_arena *arena, const nl_expr *condition, const nl_column *inputs, uint32_t input_count, nl_program **out)
{
    compiler like = {.arena = arena, .inputs = inputs, .input_count = input_count, .has_exact = are_deterministic(&condition, 1)};
    bool has_shortcuts = false;
    NL_TRY(compile_conjuncts(&like, condition, &has_shortcuts, out));
    if (!has_shortcuts || !like.has_exact) return NULL;
    like.is_exact = true;
    return compile_conjuncts(&like, condition, &has_shortcuts, &(*out)->exact);
}
