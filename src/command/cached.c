/* command/cached.c - see command/cached.h. */
#include "command/cached.h"

#include <stdlib.h>

#include "base/hash.h"
#include "exec/kept.h"

typedef struct entry {
    struct entry *next;
    nl_result *owner;       /* owned: of the plan */
    const nl_logical *plan; /* analyzed */
    nl_storage_level level;
    nl_kept *kept;          /* counted; NULL: nothing has wanted it since it was put or its tables changed */
    uint64_t state;         /* of its tables, when kept was made */
    bool must_check;        /* the session may have changed tables since then; or others those over plain files: */
    uint64_t change_count;  /* nl_session_change_count, when it was last compared with its tables */
} entry;

typedef struct cache {
    nl_session_attachment base;
    entry *first; /* the session's statements: one at a time */
} cache;

static cache *cache_of(const nl_session *session)
{
    nl_session_attachment *attachment = nl_session_cache(session);
    return attachment ? NL_CONTAINER(attachment, cache, base) : NULL;
}

static void drop_entry(entry **place)
{
    entry *gone = *place;
    *place = gone->next;
    nl_kept_release(gone->kept);
    nl_result_close(gone->owner);
    free(gone);
}

static void free_cache(nl_session_attachment *base)
{
    cache *self = NL_CONTAINER(base, cache, base);
    while (self->first) drop_entry(&self->first);
    free(self);
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

static nl_status open_cache(nl_session *session, cache **opened)
{
    *opened = cache_of(session);
    if (*opened) return NULL;
    cache *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->base.free = free_cache;
    nl_session_attachment *attachment = nl_session_set_cache(session, &made->base);
    if (attachment != &made->base) free(made);
    *opened = NL_CONTAINER(attachment, cache, base);
    return NULL;
}

bool nl_cached_is_empty(const nl_session *session)
{
    const cache *known = cache_of(session);
    return !known || !known->first;
}

void nl_command_tables_changed(nl_session *session)
{
    const cache *known = cache_of(session);
    for (entry *e = known ? known->first : NULL; e; e = e->next) e->must_check = true;
}

/* Whole queries leave out hidden columns at the top; inside of other plans they are still there. */
static const nl_logical *without_top(const nl_logical *plan)
{
    while (plan->kind == NL_PLAN_ALIAS) plan = plan->children[0];
    if (plan->kind != NL_PLAN_PROJECT) return plan;
    const nl_logical *below = plan->children[0];
    uint32_t at = 0;
    for (uint32_t i = 0; i < below->column_count; i++) {
        if (below->columns[i].is_hidden) continue;
        if (at == plan->column_count || plan->columns[at].id != below->columns[i].id || plan->project.exprs[at]->kind != NL_EXPR_COLUMN) return plan;
        at++;
    }
    return at == plan->column_count ? without_top(below) : plan;
}

static entry **find(cache *self, const nl_logical *plan)
{
    entry **place = &self->first;
    while (*place && !nl_logical_same((*place)->plan, plan)) place = &(*place)->next;
    return place;
}

/* ---- in place of a plan ---- */

typedef struct use {
    nl_command *command;
    cache *cache;
    const nl_logical *root;
} use;

static uint64_t state_of(const nl_logical *plan)
{
    uint64_t state = 1;
    if (plan->kind == NL_PLAN_SCAN && plan->scan.table->ops->state) state = plan->scan.table->ops->state(plan->scan.table);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) state = nl_hash_mix(state, state_of(plan->cte.definition));
    for (uint32_t i = 0; i < plan->child_count; i++) state = nl_hash_mix(state, state_of(plan->children[i]));
    return state;
}

typedef struct counting {
    nl_column_id id;
    const nl_logical *except;
    bool is_found;
} counting;

static void look_for(counting *c, const nl_logical *plan);

static bool look_in_expr(void *context, const nl_expr *expr)
{
    counting *c = context;
    if ((expr->kind == NL_EXPR_COLUMN || expr->kind == NL_EXPR_OUTER) && expr->column == c->id) c->is_found = true;
    if (expr->kind == NL_EXPR_SUBQUERY) look_for(c, expr->plan);
    return !c->is_found;
}

static bool look_in_node(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, look_in_expr, context) && !((counting *)context)->is_found;
}

static void look_for(counting *c, const nl_logical *plan)
{
    if (plan == c->except || c->is_found) return;
    nl_logical_walk_exprs(plan, look_in_node, c);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) look_for(c, plan->cte.definition);
    for (uint32_t i = 0; i < plan->child_count; i++) look_for(c, plan->children[i]);
}

/* Metadata columns (_file, _pos …) are not kept: a plan that uses one above the part computes it. */
static bool uses_hidden(const use *u, const nl_logical *part)
{
    for (uint32_t i = 0; i < part->column_count; i++) {
        counting c = {.id = part->columns[i].id, .except = part};
        if (!part->columns[i].is_hidden) continue;
        look_for(&c, u->root);
        if (c.is_found) return true;
    }
    return false;
}

static void release_table(void *table)
{
    nl_table_release(table);
}

/* A scan of the rows under the part's own column ids; its hidden columns are null. */
static const nl_logical *scan_over(nl_command *command, const nl_table *table, const nl_logical *part)
{
    nl_arena *arena = command->arena;
    nl_logical *scan = nl_logical_new(arena, NL_PLAN_SCAN, NULL, 0);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, part->column_count + 1);
    uint32_t *places = NL_NEW_ARRAY(arena, uint32_t, part->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, part->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < part->column_count; i++) {
        if (part->columns[i].is_hidden) {
            const nl_value nothing = {.type = part->columns[i].type, .is_null = true};
            exprs[i] = nl_expr_literal(arena, &nothing);
            continue;
        }
        exprs[i] = nl_column_ref(arena, &part->columns[i]);
        places[count] = count;
        columns[count++] = part->columns[i];
    }
    scan->columns = columns;
    scan->column_count = count;
    scan->span = part->span;
    scan->scan.table = table;
    scan->scan.table_columns = places;
    scan->scan.limit = -1;
    return count == part->column_count ? scan : nl_logical_project(arena, scan, part->columns, exprs, part->column_count);
}

static nl_status new_kept(nl_command *command, const nl_storage_level *level, const nl_logical *plan, nl_kept **kept)
{
    const nl_kept_options options = {.use_memory = level->use_memory || level->use_off_heap,
                                     .use_disk = level->use_disk,
                                     .memory = nl_session_memory(command->session),
                                     .spill_directory = nl_session_local_directory(command->session)};
    return nl_kept_new(&options, plan, kept);
}

nl_status nl_cached_make(nl_command *command, const nl_logical *optimized, const nl_logical **scan)
{
    const nl_storage_level level = {.use_memory = true, .use_disk = true};
    const nl_table *table = NULL;
    nl_kept *kept = NULL;
    NL_TRY(new_kept(command, &level, optimized, &kept));
    nl_status status = nl_kept_fill(kept, &command->query, optimized);
    if (!status) status = nl_kept_source_new(kept, NULL, &table);
    nl_kept_release(kept);
    NL_TRY(status);
    nl_arena_on_free(command->arena, release_table, NL_UNCONST(table));
    *scan = scan_over(command, table, optimized);
    return NULL;
}

static nl_status rewrite(use *u, const nl_logical *plan, bool may_be_whole, const nl_logical **result);

/* The part by its entry: rows that are there, or that the statement makes first. */
static nl_status replace(use *u, entry *e, const nl_logical *part, const nl_logical **result)
{
    nl_command *command = u->command;
    const uint64_t state = state_of(part);
    const nl_logical *inner = NULL, *optimized = NULL;
    const nl_table *table = NULL;
    if (e->kept && (e->must_check || e->change_count != command->change_count) && e->state != state) {
        nl_kept_release(e->kept);
        e->kept = NULL;
    }
    e->must_check = false;
    e->change_count = command->change_count;
    if (!e->kept) {
        NL_TRY(new_kept(command, &e->level, part, &e->kept));
        e->state = state;
    }
    if (!nl_kept_is_filled(e->kept)) {
        const nl_logical *made = part;
        while (made->kind == NL_PLAN_ALIAS) made = made->children[0]; /* is the same part: it must not wait for itself */
        NL_TRY(rewrite(u, made, false, &inner));
        NL_TRY(nl_command_optimize(command, inner, &optimized));
    }
    NL_TRY(nl_kept_source_new(e->kept, optimized, &table));
    nl_arena_on_free(command->arena, release_table, NL_UNCONST(table));
    *result = scan_over(command, table, part);
    return NULL;
}

static nl_status rewrite_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    const nl_logical *plan = NULL;
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    NL_TRY(rewrite(context, expr->plan, true, &plan));
    if (plan == expr->plan) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    copy->plan = plan;
    *result = copy;
    return NULL;
}

static nl_status rewrite_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, rewrite_subquery, context, result);
}

static nl_status rewrite_parts(use *u, const nl_logical *plan, const nl_logical **result)
{
    nl_arena *arena = u->command->arena;
    const nl_logical **children = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++) NL_TRY(rewrite(u, plan->children[i], true, &children[i]));
    const nl_logical *current = nl_logical_with_children(arena, plan, children);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) {
        const nl_logical *definition = NULL;
        NL_TRY(rewrite(u, plan->cte.definition, true, &definition));
        if (definition != plan->cte.definition) {
            nl_logical *copy = nl_logical_copy(arena, current);
            copy->cte.definition = definition;
            current = copy;
        }
    }
    return nl_logical_rewrite_exprs(arena, current, rewrite_expr, u, result);
}

static nl_status rewrite(use *u, const nl_logical *plan, bool may_be_whole, const nl_logical **result)
{
    entry *e = may_be_whole ? *find(u->cache, plan) : NULL;
    if (e && !uses_hidden(u, plan)) return replace(u, e, plan, result);
    return rewrite_parts(u, plan, result);
}

nl_status nl_cached_use(nl_command *command, const nl_logical *plan, const nl_logical **result)
{
    use u = {.command = command, .cache = cache_of(command->session), .root = plan};
    *result = plan;
    return u.cache && u.cache->first ? rewrite(&u, plan, true, result) : NULL;
}

nl_status nl_cached_analyze(nl_command *command, const nl_ast_query *query, const nl_logical **plan)
{
    const nl_logical *analyzed = NULL;
    NL_TRY(nl_analyze_query(&command->context, query, &analyzed));
    return nl_cached_use(command, analyzed, plan);
}

/* ---- by trees ---- */

static nl_status analyzed_tree(nl_session *session, const nl_command_tree *tree, nl_result **owner, nl_command **command)
{
    NL_TRY(nl_command_analyze_tree(session, tree, owner));
    *command = nl_result_command(*owner);
    return NULL;
}

static nl_status put(nl_session *session, const nl_command_tree *tree, const nl_storage_level *level, bool is_lazy)
{
    cache *self = NULL;
    nl_result *owner = NULL;
    nl_command *command = NULL;
    NL_TRY(open_cache(session, &self));
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    entry **place = find(self, without_top(command->analyzed));
    if (*place) { /* the level it has stays, as in Spark */
        nl_result_close(owner);
    } else {
        entry *made = calloc(1, sizeof *made);
        if (!made) {
            nl_result_close(owner);
            return no_memory(sizeof *made);
        }
        *made = (entry){.owner = owner, .plan = without_top(command->analyzed), .level = *level};
        *place = made;
    }
    if (is_lazy) return NULL;
    const nl_logical *plan = NULL; /* the scan of what is kept, perhaps under projections */
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    nl_status status = nl_cached_use(command, command->analyzed, &plan);
    while (!status && (plan->kind == NL_PLAN_PROJECT || plan->kind == NL_PLAN_ALIAS)) plan = plan->children[0];
    if (!status && plan->kind == NL_PLAN_SCAN && plan->scan.table->ops->prepare) status = plan->scan.table->ops->prepare(plan->scan.table, &command->query);
    nl_result_close(owner);
    return status;
}

nl_status nl_command_persist(nl_session *session, const nl_command_tree *tree, const nl_storage_level *level)
{
    return put(session, tree, level, true);
}

nl_status nl_command_storage_level(nl_session *session, const nl_command_tree *tree, nl_storage_level *level, bool *is_found)
{
    cache *self = cache_of(session);
    nl_result *owner = NULL;
    nl_command *command = NULL;
    *is_found = false;
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    const entry *e = self ? *find(self, without_top(command->analyzed)) : NULL;
    *is_found = e != NULL;
    if (e) *level = e->level;
    nl_result_close(owner);
    return NULL;
}

static bool contains(const nl_logical *plan, const nl_logical *part)
{
    if (nl_logical_same(plan, part)) return true;
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition && contains(plan->cte.definition, part)) return true;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (contains(plan->children[i], part)) return true;
    return false;
}

static nl_status drop(nl_session *session, const nl_command_tree *tree, bool is_cascade)
{
    cache *self = cache_of(session);
    nl_result *owner = NULL;
    nl_command *command = NULL;
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    for (entry **place = self ? &self->first : NULL; place && *place;) {
        const nl_logical *part = without_top(command->analyzed);
        const bool is_meant = is_cascade ? contains((*place)->plan, part) : nl_logical_same((*place)->plan, part);
        if (is_meant)
            drop_entry(place);
        else
            place = &(*place)->next;
    }
    nl_result_close(owner);
    return NULL;
}

nl_status nl_command_unpersist(nl_session *session, const nl_command_tree *tree)
{
    return drop(session, tree, false);
}

void nl_command_clear_cache(nl_session *session)
{
    cache *self = cache_of(session);
    while (self && self->first) drop_entry(&self->first);
}

void nl_command_rest_cache(nl_session *session)
{
    const cache *self = cache_of(session);
    for (entry *e = self ? self->first : NULL; e; e = e->next) {
        nl_kept_release(e->kept);
        e->kept = NULL;
    }
}

/* ---- questions about plans ---- */

nl_status nl_command_same(nl_session *session, const nl_command_tree *a, const nl_command_tree *b, bool *is_same)
{
    nl_result *of_a = NULL, *of_b = NULL;
    nl_command *first = NULL, *second = NULL;
    NL_TRY(analyzed_tree(session, a, &of_a, &first));
    nl_status status = analyzed_tree(session, b, &of_b, &second);
    if (!status) *is_same = nl_logical_same(without_top(first->analyzed), without_top(second->analyzed));
    nl_result_close(of_a);
    nl_result_close(of_b);
    return status;
}

nl_status nl_command_semantic_hash(nl_session *session, const nl_command_tree *tree, uint64_t *hash)
{
    nl_result *owner = NULL;
    nl_command *command = NULL;
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    *hash = nl_logical_same_hash(without_top(command->analyzed));
    nl_result_close(owner);
    return NULL;
}

/* ---- checkpoints ---- */

static void close_result(void *result)
{
    nl_result_close(result);
}

static nl_status fill_checkpoint(nl_command *command, const nl_storage_level *level, bool is_eager, nl_result *owner, const nl_table **table, bool *is_owned)
{
    const nl_logical *plan = NULL, *optimized = NULL;
    nl_kept *kept = NULL;
    NL_TRY(nl_cached_use(command, command->analyzed, &plan));
    NL_TRY(nl_command_optimize(command, plan, &optimized));
    NL_TRY(new_kept(command, level, optimized, &kept));
    nl_status status = is_eager ? nl_kept_fill(kept, &command->query, optimized) : NULL;
    if (!status) status = nl_kept_source_new(kept, is_eager ? NULL : optimized, table);
    if (!status && !is_eager) {
        nl_kept_source_own(*table, owner, close_result);
        *is_owned = true;
    }
    nl_kept_release(kept);
    return status;
}

nl_status nl_command_checkpoint(nl_session *session, const nl_command_tree *tree, const nl_storage_level *level, bool is_eager, const nl_table **table)
{
    nl_result *owner = NULL;
    nl_command *command = NULL;
    bool is_owned = false;
    const nl_storage_level kept = {.use_memory = level->use_memory, .use_disk = true}; /* there is nothing to make them anew from */
    NL_TRY(analyzed_tree(session, tree, &owner, &command));
    nl_status status = fill_checkpoint(command, &kept, is_eager, owner, table, &is_owned);
    if (!is_owned) nl_result_close(owner);
    return status;
}

/* ---- by names ---- */

typedef struct named {
    const nl_str *parts;
    uint32_t count;
} named;

static nl_status make_named(void *context, nl_session *session, nl_arena *arena, nl_command_made *made)
{
    const named *name = context;
    nl_ast_relation *relation = NL_NEW(arena, nl_ast_relation);
    nl_ast_term *term = NL_NEW(arena, nl_ast_term);
    nl_ast_query *query = NL_NEW(arena, nl_ast_query);
    nl_ast_statement *statement = NL_NEW(arena, nl_ast_statement);
    (void)session;
    relation->kind = NL_AST_RELATION_TABLE;
    relation->table.name.parts = NL_NEW_ARRAY(arena, nl_ast_ident, name->count + 1);
    relation->table.name.count = name->count;
    for (uint32_t i = 0; i < name->count; i++) relation->table.name.parts[i] = (nl_ast_ident){.text = nl_arena_str(arena, name->parts[i]), .is_quoted = true};
    term->kind = NL_AST_TERM_RELATION;
    term->values = relation;
    query->body = term;
    statement->kind = NL_AST_STATEMENT_QUERY;
    statement->query = query;
    made->statement = statement;
    return NULL;
}

nl_status nl_cached_put_name(nl_command *command, const nl_str *parts, uint32_t part_count, const nl_storage_level *level, bool is_lazy)
{
    named name = {parts, part_count};
    return put(command->session, &(nl_command_tree){.make = make_named, .context = &name}, level, is_lazy);
}

nl_status nl_cached_drop_name(nl_command *command, const nl_str *parts, uint32_t part_count, bool is_cascade)
{
    named name = {parts, part_count};
    return drop(command->session, &(nl_command_tree){.make = make_named, .context = &name}, is_cascade);
}

/* ---- levels ---- */

nl_status nl_storage_level_parse(nl_str name, nl_storage_level *level)
{
    static const struct {
        const char *name;
        nl_storage_level level;
    } levels[] = {
        {"NONE", {.replication = 1}},
        {"DISK_ONLY", {.use_disk = true, .replication = 1}},
        {"DISK_ONLY_2", {.use_disk = true, .replication = 2}},
        {"DISK_ONLY_3", {.use_disk = true, .replication = 3}},
        {"MEMORY_ONLY", {.use_memory = true, .deserialized = true, .replication = 1}},
        {"MEMORY_ONLY_2", {.use_memory = true, .deserialized = true, .replication = 2}},
        {"MEMORY_ONLY_SER", {.use_memory = true, .replication = 1}},
        {"MEMORY_ONLY_SER_2", {.use_memory = true, .replication = 2}},
        {"MEMORY_AND_DISK", {.use_disk = true, .use_memory = true, .deserialized = true, .replication = 1}},
        {"MEMORY_AND_DISK_2", {.use_disk = true, .use_memory = true, .deserialized = true, .replication = 2}},
        {"MEMORY_AND_DISK_SER", {.use_disk = true, .use_memory = true, .replication = 1}},
        {"MEMORY_AND_DISK_SER_2", {.use_disk = true, .use_memory = true, .replication = 2}},
        {"OFF_HEAP", {.use_disk = true, .use_memory = true, .use_off_heap = true, .replication = 1}},
    };
    for (uint32_t i = 0; i < NL_COUNT(levels); i++) {
        if (!nl_str_is_nocase(name, levels[i].name)) continue;
        *level = levels[i].level;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid StorageLevel: " NL_STR_FMT, NL_STR_ARG(name));
}
