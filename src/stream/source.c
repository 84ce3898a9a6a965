/* stream/source.c - streams as tables without rows, and the kinds of sources by format. */
#include "stream/source.h"

#include <stdlib.h>

#include "plan/logical.h"
#include "exec/scan.h"

typedef struct stream_table {
    nl_table base;
    nl_arena *arena; /* owned */
    nl_stream_definition definition;
    const nl_stream_kind *kind;
    nl_str label;
} stream_table;

static const stream_table *stream_of(const nl_table *table)
{
    return NL_CONTAINER(NL_UNCONST(table), stream_table, base);
}

/* ---- which kind ---- */

static const nl_stream_kind *kind_of(nl_str format)
{
    static const char *const files[] = {"parquet", "csv", "json", "text", "xml", "avro", "orc"};
    if (nl_str_is_nocase(format, "rate")) return &nl_stream_kind_rate;
    if (nl_str_is_nocase(format, "rate-micro-batch")) return &nl_stream_kind_rate_micro;
    if (nl_str_is_nocase(format, "iceberg")) return &nl_stream_kind_iceberg;
    for (size_t i = 0; i < NL_COUNT(files); i++)
        if (nl_str_is_nocase(format, files[i])) return &nl_stream_kind_files;
    return NULL;
}

static nl_status raise_unknown(nl_str format)
{
    static const char *const others[] = {"socket", "kafka", "delta", "kinesis"};
    for (size_t i = 0; i < NL_COUNT(others); i++)
        if (nl_str_is_nocase(format, others[i])) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not read streams of the format %s.", others[i]);
    return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", format));
}

nl_str nl_stream_option(const nl_stream_definition *definition, const char *key)
{
    for (uint32_t i = definition->option_count; i-- > 0;)
        if (nl_str_is_nocase(definition->options[i].key, key)) return definition->options[i].value;
    return (nl_str){0};
}

/* ---- the table ---- */

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)table, (void)scan;
    *row_count = *bytes = -1;
    return NULL;
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    (void)query, (void)node, (void)out;
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_str message = nl_arena_f(scratch, "Queries with streaming sources must be executed with writeStream.start();\n" NL_STR_FMT,
                                      NL_STR_ARG(stream_of(table)->definition.format));
    nl_status status = NL_RAISE(_LEGACY_ERROR_TEMP_3102, NL_P_STR("msg", message));
    nl_arena_free(scratch);
    return status;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    nl_append_f(out, "StreamingRelation " NL_STR_FMT, NL_STR_ARG(stream_of(table)->definition.format));
}

static void free_stream(nl_table *table)
{
    stream_table *self = NL_CONTAINER(NL_UNCONST(table), stream_table, base);
    nl_arena_free(self->arena);
}

static const nl_table_ops stream_ops = {.kind = "stream", .estimate = estimate, .open_scan = open_scan, .append_text = append_text, .free = free_stream};

nl_stream_definition nl_stream_definition_copy(nl_arena *arena, const nl_stream_definition *from)
{
    nl_stream_definition made = *from;
    nl_str *paths = NL_NEW_ARRAY(arena, nl_str, from->path_count + 1);
    nl_property *options = NL_NEW_ARRAY(arena, nl_property, from->option_count + 1);
    made.format = nl_arena_str(arena, from->format);
    made.name = nl_arena_str(arena, from->name);
    for (uint32_t i = 0; i < from->path_count; i++) paths[i] = nl_arena_str(arena, from->paths[i]);
    for (uint32_t i = 0; i < from->option_count; i++) options[i] = (nl_property){nl_arena_str(arena, from->options[i].key), nl_arena_str(arena, from->options[i].value)};
    made.paths = paths;
    made.options = options;
    made.schema = from->schema ? nl_type_copy(arena, from->schema) : NULL;
    return made;
}

nl_status nl_stream_table_new(nl_session *session, const nl_stream_definition *definition, const nl_table **table)
{
    const nl_stream_kind *kind = kind_of(definition->format);
    if (!kind) return raise_unknown(definition->format);
    nl_arena *arena = nl_arena_new(nl_session_memory(session));
    stream_table *made = NL_NEW(arena, stream_table);
    made->arena = arena;
    made->base.ops = &stream_ops;
    made->kind = kind;
    made->definition = nl_stream_definition_copy(arena, definition);
    made->label = made->definition.format;
    atomic_init(&made->base.references, 1);
    nl_status status = kind->describe(session, &made->definition, arena, &made->base.row_type, &made->label);
    if (!status) status = nl_arena_check(arena);
    if (status)
        nl_arena_free(arena);
    else
        *table = &made->base;
    return status;
}

bool nl_table_is_stream(const nl_table *table)
{
    return table->ops == &stream_ops;
}

const nl_stream_definition *nl_stream_table_definition(const nl_table *table)
{
    return &stream_of(table)->definition;
}

nl_str nl_stream_table_label(const nl_table *table)
{
    return stream_of(table)->label;
}

bool nl_plan_is_streaming(const nl_logical *plan)
{
    if (plan->kind == NL_PLAN_SCAN && nl_table_is_stream(plan->scan.table)) return true;
    if ((plan->kind == NL_PLAN_CTE || plan->kind == NL_PLAN_CTE_REF) && plan->cte.definition && nl_plan_is_streaming(plan->cte.definition)) return true;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (nl_plan_is_streaming(plan->children[i])) return true;
    return false;
}

nl_status nl_stream_source_open(const nl_table *leaf, const nl_stream_source_environment *environment, nl_stream_source **source)
{
    const stream_table *self = stream_of(leaf);
    return self->kind->open(&self->definition, self->base.row_type, environment, source);
}

void nl_stream_source_free(nl_stream_source *source)
{
    if (source) source->ops->free(source);
}

/* ---- counting what is read ---- */

typedef struct counted_table {
    nl_table base;
    const nl_table *table; /* counted */
    atomic_int_fast64_t *count;
} counted_table;

typedef struct counted_scan {
    nl_scan base;
    nl_scan *scan; /* owned */
    atomic_int_fast64_t *count;
} counted_scan;

typedef struct counted_reader {
    nl_scan_reader base;
    nl_scan_reader *reader; /* owned */
} counted_reader;

static nl_status counted_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    counted_reader *self = NL_CONTAINER(base, counted_reader, base);
    counted_scan *scan = NL_CONTAINER(base->scan, counted_scan, base);
    NL_TRY(scan->scan->ops->next(self->reader, batch, is_done));
    self->base.morsel = self->reader->morsel;
    if (!*is_done) atomic_fetch_add(scan->count, nl_batch_live_rows(batch));
    return NULL;
}

static void free_counted_reader(nl_scan_reader *base)
{
    counted_reader *self = NL_CONTAINER(base, counted_reader, base);
    self->reader->scan->ops->free_reader(self->reader);
    free(self);
}

static nl_status new_counted_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    counted_scan *scan = NL_CONTAINER(NL_UNCONST(base), counted_scan, base);
    counted_reader *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->base.scan = base;
    nl_status status = scan->scan->ops->new_reader(scan->scan, worker, &made->reader);
    if (status)
        free(made);
    else
        *reader = &made->base;
    return status;
}

static void append_counted_metrics(const nl_scan *base, nl_builder *out)
{
    const counted_scan *scan = NL_CONTAINER(NL_UNCONST(base), counted_scan, base);
    scan->scan->ops->append_metrics(scan->scan, out);
}

static void free_counted_scan(nl_scan *base)
{
    counted_scan *scan = NL_CONTAINER(NL_UNCONST(base), counted_scan, base);
    scan->scan->ops->free(scan->scan);
    free(scan);
}

static const nl_scan_ops counted_scan_ops = {
    .new_reader = new_counted_reader, .next = counted_next, .free_reader = free_counted_reader, .append_metrics = append_counted_metrics, .free = free_counted_scan};

static nl_status open_counted_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const counted_table *self = NL_CONTAINER(NL_UNCONST(table), counted_table, base);
    counted_scan *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->base.ops = &counted_scan_ops;
    made->count = self->count;
    nl_logical *inner = nl_logical_copy(query->arena, node);
    inner->scan.table = self->table;
    nl_status status = self->table->ops->open_scan(self->table, query, inner, &made->scan);
    if (status)
        free(made);
    else
        *out = &made->base;
    return status;
}

static void append_counted_text(const nl_table *table, nl_builder *out)
{
    const counted_table *self = NL_CONTAINER(NL_UNCONST(table), counted_table, base);
    if (self->table->ops->append_text) self->table->ops->append_text(self->table, out);
}

static void free_counted(nl_table *table)
{
    counted_table *self = NL_CONTAINER(NL_UNCONST(table), counted_table, base);
    nl_table_release(self->table);
    free(self);
}

static const nl_table_ops counted_ops = {.kind = "counted", .estimate = estimate, .open_scan = open_counted_scan, .append_text = append_counted_text, .free = free_counted};

nl_status nl_stream_counted_table(const nl_table *table, atomic_int_fast64_t *count, const nl_table **counted)
{
    counted_table *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->base.ops = &counted_ops;
    made->base.row_type = table->row_type;
    made->base.metadata_type = table->metadata_type;
    made->table = nl_table_retain(table);
    made->count = count;
    atomic_init(&made->base.references, 1);
    *counted = &made->base;
    return NULL;
}
