/* exec/source/iceberg_source.c - an Iceberg table at a snapshot as a relation. */
#include "base/hash.h"
#include "exec/sources.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "exec/data_formats.h"
#include "exec/source/file_fields.h"
#include "exec/source/file_scan.h"
#include "exec/source/predicate.h"
#include "iceberg/name_mapping.h"

/* Hidden columns; those of a changelog are visible, behind the table's own. */
enum { META_SPEC_ID, META_PARTITION, META_FILE, META_POS, META_DELETED, META_ROW_ID, META_LAST_UPDATED, META_HIDDEN_COUNT,
       META_CHANGE_TYPE = META_HIDDEN_COUNT, META_CHANGE_ORDINAL, META_COMMIT_SNAPSHOT, META_COUNT };
#define CHANGE_COLUMNS (META_COUNT - META_HIDDEN_COUNT)

typedef struct iceberg_source {
    nl_table base;
    nl_arena *arena;
    nl_iceberg_table *table;           /* counted */
    const nl_table_metadata *metadata; /* counted */
    const nl_snapshot *snapshot;       /* NULL: no rows */
    const nl_schema *schema;
    const nl_type *file_type;          /* row_type with every field id: what is read of files */
    const nl_ice_type *partition_union;
    const nl_type *partition_type;     /* of _partition */
    nl_name_mapping mapping;
    bool has_mapping;
    int64_t after_snapshot_id;         /* incremental append; NL_NONE: none */
    bool is_restricted;                /* to these files, sorted by path */
    const nl_str *files;
    uint32_t file_count;
    bool is_changelog;
    nl_changelog_range range;
    bool is_pinned;                    /* to the snapshot, whatever the table's current one */
    nl_str branch;                     /* empty: main */
} iceberg_source;

static const iceberg_source *source_of(const nl_table *table)
{
    return (const iceberg_source *)(const void *)table; /* its first member */
}

/* ---- which snapshot -------------------------------------------------------------------------------------------- */

static nl_str time_text(nl_arena *arena, int64_t ms)
{
    nl_civil civil;
    nl_civil_from_micros(ms * 1000, &civil);
    const nl_str second = nl_arena_f(arena, "%04d-%02d-%02dT%02d:%02d:%02d", civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second);
    const int32_t thousandths = civil.microsecond / 1000; /* Java leaves them out when they are zero */
    return thousandths ? nl_arena_f(arena, NL_STR_FMT ".%03d+00:00", NL_STR_ARG(second), thousandths) : nl_arena_f(arena, NL_STR_FMT "+00:00", NL_STR_ARG(second));
}

/* The last entry of main's log that is not after the time. */
static nl_status snapshot_as_of(iceberg_source *self, int64_t as_of_ms)
{
    const nl_table_metadata *metadata = self->metadata;
    const nl_snapshot_log_entry *found = NULL;
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++)
        if (metadata->snapshot_log[i].timestamp_ms <= as_of_ms) found = &metadata->snapshot_log[i];
    if (!found)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find a snapshot older than " NL_STR_FMT, NL_STR_ARG(time_text(self->arena, as_of_ms)));
    self->snapshot = nl_table_snapshot(metadata, found->snapshot_id);
    return NULL;
}

static nl_status snapshot_of_ref(iceberg_source *self, nl_str name, bool is_tag)
{
    const nl_snapshot_ref *ref = nl_table_ref(self->metadata, name);
    if (!ref || ref->is_tag != is_tag)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use %s (does not exist): " NL_STR_FMT, is_tag ? "tag" : "branch", NL_STR_ARG(name));
    self->snapshot = nl_table_snapshot(self->metadata, ref->snapshot_id);
    return NULL;
}

static nl_status choose_range(iceberg_source *self, const nl_iceberg_read *read)
{
    if (read->has_snapshot_id || read->has_timestamp || read->tag.length || read->branch.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set neither snapshot-id, as-of-timestamp, branch and tag for changelogs");
    self->after_snapshot_id = NL_NONE;
    self->schema = nl_table_schema(self->metadata);
    self->range = (nl_changelog_range){.start_snapshot_id = read->start_snapshot_id,
                                       .end_snapshot_id = read->end_snapshot_id,
                                       .has_start_ms = read->has_start_ms,
                                       .has_end_ms = read->has_end_ms,
                                       .start_ms = read->start_ms,
                                       .end_ms = read->end_ms};
    return NULL;
}

static nl_status choose_snapshot(iceberg_source *self, const nl_iceberg_read *read)
{
    self->snapshot = nl_table_current_snapshot(self->metadata);
    self->after_snapshot_id = read->start_snapshot_id > 0 ? read->start_snapshot_id : NL_NONE;
    self->is_restricted = read->is_restricted;
    self->files = read->files;
    self->file_count = read->file_count;
    self->is_pinned = read->tag.length || read->has_timestamp || read->has_snapshot_id || read->end_snapshot_id > 0;
    self->branch = nl_arena_str(self->arena, read->branch);
    self->is_changelog = read->is_changelog;
    if (read->is_changelog) return choose_range(self, read);
    if (read->has_start_ms || read->has_end_ms)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set start-timestamp or end-timestamp for incremental scans and batch scan. They are only valid for changelog scans.");
    if (read->branch.length) {
        NL_TRY(snapshot_of_ref(self, read->branch, false));
        self->schema = nl_table_schema(self->metadata); /* a branch is read with the table's schema */
        return NULL;
    }
    if (read->tag.length)
        NL_TRY(snapshot_of_ref(self, read->tag, true));
    else if (read->has_timestamp)
        NL_TRY(snapshot_as_of(self, read->as_of_ms));
    else if (read->has_snapshot_id || read->end_snapshot_id > 0) {
        const int64_t id = read->has_snapshot_id ? read->snapshot_id : read->end_snapshot_id;
        self->snapshot = nl_table_snapshot(self->metadata, id);
        if (!self->snapshot) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find snapshot with ID %lld", (long long)id);
    }
    const bool is_past = read->tag.length || read->has_timestamp || read->has_snapshot_id;
    self->schema = is_past ? nl_table_snapshot_schema(self->metadata, self->snapshot) : nl_table_schema(self->metadata);
    return NULL;
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

/* Field ids tell filters which statistics speak of a column: columns that statistics hold in another form have none. */
static const nl_type *prunable_type(nl_arena *arena, const nl_ice_type *ice, const nl_type *sql)
{
    if (ice->id != NL_ICE_STRUCT) return sql;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, sql->child_count);
    for (uint32_t i = 0; i < sql->child_count; i++) {
        const nl_ice_type *type = ice->fields[i].type;
        fields[i] = sql->children[i];
        fields[i].type = prunable_type(arena, type, fields[i].type);
        if (type->id == NL_ICE_UUID || type->id == NL_ICE_FIXED) fields[i].field_id = 0;
    }
    return nl_type_struct(arena, fields, sql->child_count);
}

static const nl_type *changelog_type(nl_arena *arena, const nl_type *table_type)
{
    const nl_field added[CHANGE_COLUMNS] = {
        {.name = NL_STR("_change_type"), .type = nl_type_string(), .comment = NL_STR("Record type in changelog")},
        {.name = NL_STR("_change_ordinal"), .type = nl_type_int(), .comment = NL_STR("Change ordinal in changelog")},
        {.name = NL_STR("_commit_snapshot_id"), .type = nl_type_bigint(), .comment = NL_STR("Commit snapshot ID")},
    };
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, table_type->child_count + CHANGE_COLUMNS);
    for (uint32_t i = 0; i < table_type->child_count; i++)
        fields[i] = table_type->children[i];
    for (uint32_t i = 0; i < CHANGE_COLUMNS; i++)
        fields[table_type->child_count + i] = added[i];
    return nl_type_struct(arena, fields, table_type->child_count + CHANGE_COLUMNS);
}

static nl_status make_types(iceberg_source *self)
{
    NL_TRY(nl_ice_type_to_sql(self->arena, self->schema->root, &self->file_type));
    self->base.row_type = prunable_type(self->arena, self->schema->root, self->file_type);
    if (self->is_changelog) self->base.row_type = changelog_type(self->arena, self->base.row_type);
    NL_TRY(nl_table_partition_type_union(self->arena, self->metadata, &self->partition_union));
    NL_TRY(nl_ice_type_to_sql(self->arena, self->partition_union, &self->partition_type));
    nl_field fields[META_HIDDEN_COUNT] = {
        [META_SPEC_ID] = {.name = NL_STR("_spec_id"), .type = nl_type_int(), .is_nullable = false},
        [META_PARTITION] = {.name = NL_STR("_partition"), .type = self->partition_type, .is_nullable = true},
        [META_FILE] = {.name = NL_STR("_file"), .type = nl_type_string(), .is_nullable = false},
        [META_POS] = {.name = NL_STR("_pos"), .type = nl_type_bigint(), .is_nullable = false},
        [META_DELETED] = {.name = NL_STR("_deleted"), .type = nl_type_boolean(), .is_nullable = false},
        [META_ROW_ID] = {.name = NL_STR("_row_id"), .type = nl_type_bigint(), .is_nullable = true},
        [META_LAST_UPDATED] = {.name = NL_STR("_last_updated_sequence_number"), .type = nl_type_bigint(), .is_nullable = true},
    };
    const uint32_t count = self->metadata->format_version >= 3 ? META_HIDDEN_COUNT : META_ROW_ID;
    self->base.metadata_type = nl_type_struct(self->arena, fields, count);
    return NULL;
}

/* ---- files without field ids, and columns that files lack ------------------------------------------------------ */

typedef struct scan_owner { /* what the file scan's callbacks need; lives as long as the scan */
    const iceberg_source *source; /* counted through its table */
    nl_scan_plan *plan;
    const nl_table *table;
    struct unit_context *contexts;
    const nl_file_change *changes; /* of a changelog: one per task */
} scan_owner;

typedef struct unit_context {
    const iceberg_source *source;
    const nl_file_task *task;
} unit_context;

static int32_t mapped_field_id(void *argument, const nl_parquet_node *node)
{
    const unit_context *context = argument;
    return nl_file_field_id(context->source->has_mapping ? &context->source->mapping : NULL, node);
}

static int32_t mapped_data_field_id(void *argument, const nl_str *path, uint32_t depth)
{
    const unit_context *context = argument;
    return nl_mapped_field_id(&context->source->mapping, path, depth);
}

/* Identity partition values of files that do not hold the column (imported tables), then the initial default. */
static bool missing_value(void *argument, const nl_field *field, const nl_value **value)
{
    const unit_context *context = argument;
    const nl_partition_spec *spec = context->task->spec;
    for (uint32_t i = 0; i < spec->field_count; i++)
        if (spec->fields[i].source_id == field->field_id && spec->fields[i].transform.kind == NL_TRANSFORM_IDENTITY && context->task->file->partition) {
            *value = &context->task->file->partition[i];
            return !(*value)->is_null;
        }
    const nl_schema_column *column = nl_schema_find_id(context->source->schema, field->field_id);
    *value = column ? column->field->initial_default : NULL;
    return *value != NULL;
}

static void *unit_argument(void *owner, const nl_scan_unit *unit)
{
    scan_owner *self = owner;
    return &self->contexts[unit->task - self->plan->tasks];
}

static void free_owner(void *owner)
{
    scan_owner *self = owner;
    nl_scan_plan_release(self->plan);
    nl_table_release(self->table);
    free(self->contexts);
    free(self);
}

/* ---- planning -------------------------------------------------------------------------------------------------- */

/* *changes: of a changelog, else NULL. */
static nl_status plan_files(const iceberg_source *self, const nl_predicate *predicate, nl_pool *pool, nl_memory *memory, nl_scan_plan **plan,
                            const nl_file_change **changes)
{
    *changes = NULL;
    const nl_scan_planning planning = {
        .fs = self->table->fs,
        .cache = self->table->manifest_cache,
        .metadata = self->metadata,
        .snapshot = self->snapshot,
        .schema = self->schema,
        .predicate = predicate && predicate->kind != NL_PREDICATE_TRUE ? predicate : NULL,
        .after_snapshot_id = self->after_snapshot_id,
        .pool = pool,
        .memory = memory,
    };
    if (self->is_changelog) return nl_changelog_plan(&planning, &self->range, plan, changes);
    nl_table_store *store = self->table->store;
    if (store->ops->plan_scan) {
        NL_TRY(store->ops->plan_scan(store, &planning, plan));
        if (*plan) return NULL;
    }
    return nl_scan_plan_new(&planning, plan);
}

/* The file's partition tuple in the shape of _partition: fields of other specs are null. */
static nl_value partition_value(const iceberg_source *self, const nl_file_task *task, nl_arena *arena)
{
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, self->partition_type->child_count);
    for (uint32_t i = 0; i < self->partition_type->child_count; i++) {
        items[i] = nl_value_null(self->partition_type->children[i].type);
        for (uint32_t j = 0; j < task->spec->field_count; j++)
            if (task->spec->fields[j].field_id == self->partition_union->fields[i].id && task->file->partition) {
                items[i] = task->file->partition[j];
                items[i].type = self->partition_type->children[i].type;
            }
    }
    return (nl_value){.type = self->partition_type, .list = {items, self->partition_type->child_count}};
}

typedef struct column_layout { /* how the node's columns come about */
    nl_scan_column *columns;
    nl_field *read_fields;
    uint32_t read_count;
    uint32_t constant_count;
    bool wants[META_COUNT];
    uint32_t constants[META_COUNT];
} column_layout;

static uint32_t read_field(column_layout *layout, const nl_field *field)
{
    for (uint32_t i = 0; i < layout->read_count; i++)
        if (layout->read_fields[i].field_id == field->field_id) return i;
    layout->read_fields[layout->read_count] = *field;
    layout->read_fields[layout->read_count].is_nullable = true; /* what the file says is not what the table says */
    return layout->read_count++;
}

static nl_unit_column_kind kind_of_metadata(uint32_t meta)
{
    switch (meta) {
    case META_FILE: return NL_COLUMN_PATH;
    case META_POS: return NL_COLUMN_POSITION;
    case META_ROW_ID: return NL_COLUMN_ROW_ID;
    case META_LAST_UPDATED: return NL_COLUMN_OR_CONSTANT;
    default: return NL_COLUMN_CONSTANT;
    }
}

/* Which column stands so many places behind the table's own. */
static uint32_t hidden_column(const iceberg_source *self, uint32_t place)
{
    if (!self->is_changelog) return place;
    return place < CHANGE_COLUMNS ? META_HIDDEN_COUNT + place : place - CHANGE_COLUMNS;
}

static void lay_out_columns(const iceberg_source *self, const nl_logical *scan, nl_arena *arena, column_layout *layout)
{
    const uint32_t visible = self->file_type->child_count;
    layout->columns = NL_NEW_ARRAY(arena, nl_scan_column, scan->column_count);
    layout->read_fields = NL_NEW_ARRAY(arena, nl_field, visible + self->schema->column_count + 2);
    for (uint32_t i = 0; i < scan->column_count; i++) {
        const uint32_t at = scan->scan.table_columns[i];
        nl_scan_column *column = &layout->columns[i];
        if (at < visible) {
            *column = (nl_scan_column){.kind = NL_COLUMN_FROM_FILE, .read_column = read_field(layout, &self->file_type->children[at])};
            continue;
        }
        const uint32_t meta = hidden_column(self, at - visible);
        column->kind = kind_of_metadata(meta);
        if (column->kind == NL_COLUMN_PATH || column->kind == NL_COLUMN_POSITION) continue;
        if (column->kind != NL_COLUMN_CONSTANT) { /* row lineage: a file may hold it, of rows that were copied */
            const nl_field field = {.name = self->base.metadata_type->children[meta].name,
                                    .type = nl_type_bigint(),
                                    .is_nullable = true,
                                    .field_id = meta == META_ROW_ID ? NL_FIELD_ID_ROW_ID : NL_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER};
            column->read_column = read_field(layout, &field);
        }
        if (!layout->wants[meta]) layout->constants[meta] = layout->constant_count++;
        layout->wants[meta] = true;
        column->constant = layout->constants[meta];
    }
}

/* Columns that only equality deletes look at. */
static nl_status add_delete_keys(const iceberg_source *self, const nl_scan_plan *plan, nl_arena *arena, column_layout *layout)
{
    if (plan->delete_files == 0) return NULL;
    for (uint32_t t = 0; t < plan->task_count; t++)
        for (uint32_t d = 0; d < plan->tasks[t].delete_count; d++) {
            const nl_data_file *file = plan->tasks[t].deletes[d];
            for (uint32_t i = 0; i < file->equality_id_count; i++) {
                const nl_schema_column *column = nl_schema_find_id(self->schema, file->equality_ids[i]);
                if (!column) continue; /* said when the delete file is loaded */
                nl_field field = {.name = column->field->name, .field_id = column->field->id, .is_nullable = true};
                NL_TRY(nl_ice_type_to_sql(arena, column->field->type, &field.type));
                (void)read_field(layout, &field);
            }
        }
    return NULL;
}

static void fill_changes(const column_layout *layout, const nl_file_change *change, nl_value *constants)
{
    if (layout->wants[META_CHANGE_TYPE])
        constants[layout->constants[META_CHANGE_TYPE]] = nl_value_string(change->is_delete ? NL_STR("DELETE") : NL_STR("INSERT"));
    if (layout->wants[META_CHANGE_ORDINAL]) constants[layout->constants[META_CHANGE_ORDINAL]] = nl_value_int(nl_type_int(), change->ordinal);
    if (layout->wants[META_COMMIT_SNAPSHOT]) constants[layout->constants[META_COMMIT_SNAPSHOT]] = nl_value_int(nl_type_bigint(), change->snapshot_id);
}

/* change: of a changelog, else NULL. */
static void fill_constants(const iceberg_source *self, const column_layout *layout, const nl_file_task *task, const nl_file_change *change, nl_arena *arena,
                           nl_scan_unit *unit)
{
    nl_value *constants = NL_NEW_ARRAY(arena, nl_value, layout->constant_count);
    if (change) fill_changes(layout, change, constants);
    if (layout->wants[META_SPEC_ID]) constants[layout->constants[META_SPEC_ID]] = nl_value_int(nl_type_int(), task->spec->spec_id);
    if (layout->wants[META_PARTITION]) constants[layout->constants[META_PARTITION]] = partition_value(self, task, arena);
    if (layout->wants[META_DELETED]) constants[layout->constants[META_DELETED]] = nl_value_boolean(false);
    /* Files of before the table was upgraded have no row ids until a commit gives them some. */
    const bool has_lineage = task->file->first_row_id != NL_NONE;
    if (layout->wants[META_ROW_ID])
        constants[layout->constants[META_ROW_ID]] = has_lineage ? nl_value_int(nl_type_bigint(), task->file->first_row_id) : nl_value_null(nl_type_bigint());
    if (layout->wants[META_LAST_UPDATED])
        constants[layout->constants[META_LAST_UPDATED]] =
            has_lineage ? nl_value_int(nl_type_bigint(), task->file_sequence_number) : nl_value_null(nl_type_bigint());
    unit->constants = constants;
}

static nl_status check_readable(const nl_file_task *task)
{
    NL_TRY(nl_data_format_check(task->file));
    if (task->file->key_metadata.data)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot read encrypted data files: " NL_STR_FMT, NL_STR_ARG(task->file->path));
    return NULL;
}

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static bool is_read(const iceberg_source *self, nl_str path)
{
    return !self->is_restricted || (self->file_count > 0 && bsearch(&path, self->files, self->file_count, sizeof(path), compare_paths));
}

static nl_status make_units(const iceberg_source *self, const scan_owner *owner, const column_layout *layout, bool is_exact, bool has_filter, nl_arena *arena,
                            nl_scan_unit *units, uint32_t *unit_count)
{
    const nl_scan_plan *plan = owner->plan;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const nl_file_task *task = &plan->tasks[i];
        if (!is_read(self, task->file->path)) continue;
        NL_TRY(check_readable(task));
        nl_scan_unit *unit = &units[(*unit_count)++];
        *unit = (nl_scan_unit){
            .path = task->file->path,
            .format = nl_data_format_of(task->file->format),
            .row_count = task->file->record_count,
            .size_bytes = (uint64_t)NL_MAX(task->file->file_size_bytes, 0),
            .never_changes = true,
            .task = task,
            .is_wholly_matching = has_filter ? is_exact && task->is_wholly_matching : true,
        };
        fill_constants(self, layout, task, owner->changes ? &owner->changes[i] : NULL, arena, unit);
    }
    return nl_arena_check(arena);
}

/* For catalogs that collect what scans found. */
static void report_scan(const iceberg_source *self, const nl_file_scan_plan *scan, const nl_scan_plan *plan, int64_t start_micros)
{
    nl_table_store *store = self->table->store;
    if (!store->ops->report_scan) return;
    nl_arena *arena = nl_arena_new(NULL);
    int32_t *ids = NL_NEW_ARRAY(arena, int32_t, (size_t)scan->read_type->child_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < scan->read_type->child_count; i++)
        if (scan->read_type->children[i].field_id > 0 && nl_schema_find_id(self->schema, scan->read_type->children[i].field_id)) ids[count++] = scan->read_type->children[i].field_id;
    const nl_scan_report report = {.table_name = self->table->name, .schema = self->schema, .snapshot_id = self->snapshot ? self->snapshot->snapshot_id : NL_NONE,
                                   .predicate = scan->predicate, .field_ids = ids, .field_count = count, .plan = plan, .planning_micros = nl_now_micros() - start_micros};
    store->ops->report_scan(store, &report);
    nl_arena_free(arena);
}

static nl_status prepare_scan(const iceberg_source *self, nl_query *query, const nl_logical *scan, nl_file_scan_plan *out, scan_owner *owner)
{
    column_layout layout = {0};
    bool is_exact = false;
    nl_arena *arena = out->arena;
    const int64_t start_micros = nl_now_micros();
    NL_TRY(nl_predicate_of_expr(arena, scan->scan.filter, scan, &out->predicate, &is_exact));
    NL_TRY(plan_files(self, out->predicate, query->pool, query->memory, &owner->plan, &owner->changes));
    lay_out_columns(self, scan, arena, &layout);
    NL_TRY(add_delete_keys(self, owner->plan, arena, &layout));
    owner->contexts = calloc(owner->plan->task_count + 1, sizeof(*owner->contexts));
    if (!owner->contexts) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", owner->plan->task_count), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < owner->plan->task_count; i++)
        owner->contexts[i] = (unit_context){self, &owner->plan->tasks[i]};
    out->units = NL_NEW_ARRAY(arena, nl_scan_unit, owner->plan->task_count);
    out->files_total = NL_MAX(owner->plan->files_total, owner->plan->task_count);
    out->columns = layout.columns;
    out->read_type = nl_type_struct(arena, layout.read_fields, layout.read_count);
    NL_TRY(make_units(self, owner, &layout, is_exact, scan->scan.filter != NULL, arena, out->units, &out->unit_count));
    if (owner->plan->delete_files > 0) out->deletes = nl_delete_cache_new(self->table->fs, self->schema, query->memory);
    report_scan(self, out, owner->plan, start_micros);
    return NULL;
}

static nl_status iceberg_open_scan(const nl_table *table, nl_query *query, const nl_logical *scan, nl_scan **out)
{
    const iceberg_source *self = source_of(table);
    scan_owner *owner = calloc(1, sizeof(*owner));
    if (!owner) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*owner)), NL_P("receivedBytes", "0"));
    owner->table = nl_table_retain(table);
    owner->source = self;
    nl_file_scan_plan plan = {
        .query = query,
        .node = scan,
        .arena = nl_arena_new(query->memory),
        .fs = nl_fs_retain(self->table->fs),
        .match = NL_PARQUET_MATCH_FIELD_ID,
        .field_id_of = mapped_field_id,
        .data_field_id_of = self->has_mapping ? mapped_data_field_id : NULL,
        .missing_value_of = missing_value,
        .unit_argument = unit_argument,
        .owner = owner,
        .free_owner = free_owner,
    };
    nl_status status = prepare_scan(self, query, scan, &plan, owner);
    if (!status) return nl_file_scan_new(&plan, out);
    free_owner(owner);
    nl_fs_release(plan.fs);
    nl_arena_free(plan.arena);
    return status;
}

/* ---- what the optimizer asks ----------------------------------------------------------------------------------- */

static nl_status iceberg_estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    const iceberg_source *self = source_of(table);
    const nl_predicate *predicate = NULL;
    nl_scan_plan *plan = NULL;
    const nl_file_change *changes = NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = scan ? nl_predicate_of_expr(arena, scan->scan.filter, scan, &predicate, NULL) : NULL;
    if (!status) status = plan_files(self, predicate, NULL, self->table->memory, &plan, &changes);
    *row_count = plan ? plan->row_count : -1;
    *bytes = plan ? plan->bytes : -1;
    nl_scan_plan_release(plan);
    nl_arena_free(arena);
    return status;
}

#define STATISTICS_FILES_MAX 20000u

static nl_status iceberg_column_statistics(const nl_table *table, uint32_t column, nl_arena *arena, nl_table_column_statistics *statistics)
{
    const iceberg_source *self = source_of(table);
    nl_scan_plan *plan = NULL;
    const nl_file_change *changes = NULL;
    *statistics = (nl_table_column_statistics){.null_count = -1, .distinct_count = -1};
    if (column >= self->base.row_type->child_count) return NULL;
    const int32_t field_id = self->base.row_type->children[column].field_id;
    const nl_schema_column *field = field_id ? nl_schema_find_id(self->schema, field_id) : NULL;
    if (!field || nl_ice_type_is_nested(field->field->type)) return NULL;
    NL_TRY(plan_files(self, NULL, NULL, self->table->memory, &plan, &changes));
    bool has_all = plan->task_count > 0 && plan->task_count <= STATISTICS_FILES_MAX;
    int64_t null_count = 0;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && has_all && i < plan->task_count; i++) {
        const nl_data_file *file = plan->tasks[i].file;
        nl_bytes lower_bytes, upper_bytes;
        nl_value lower, upper;
        int64_t nulls = 0;
        if (nl_metric_find(&file->null_value_counts, field_id, &nulls)) null_count += nulls;
        has_all = nl_bound_find(&file->lower_bounds, field_id, &lower_bytes) && nl_bound_find(&file->upper_bounds, field_id, &upper_bytes);
        if (!has_all) break;
        status = nl_single_value_decode(field->field->type, lower_bytes, arena, &lower);
        if (!status) status = nl_single_value_decode(field->field->type, upper_bytes, arena, &upper);
        if (status) break;
        if (i == 0 || nl_value_compare(&lower, &statistics->lower) < 0) statistics->lower = nl_value_copy(arena, &lower);
        if (i == 0 || nl_value_compare(&upper, &statistics->upper) > 0) statistics->upper = nl_value_copy(arena, &upper);
    }
    statistics->has_bounds = has_all;
    statistics->null_count = has_all ? null_count : -1;
    nl_scan_plan_release(plan);
    return status;
}

/* Bounds are exact for types that are never cut. */
static bool has_exact_bounds(const nl_ice_type *type) /* text is truncated, NaN is outside of the bounds of floats */
{
    static const nl_ice_type_id exact[] = {NL_ICE_INT,       NL_ICE_LONG,        NL_ICE_DATE,   NL_ICE_TIMESTAMP,
                                           NL_ICE_TIMESTAMPTZ, NL_ICE_DECIMAL, NL_ICE_BOOLEAN};
    for (uint32_t i = 0; i < NL_COUNT(exact); i++)
        if (type->id == exact[i]) return true;
    return false;
}

typedef struct metadata_aggregate {
    const iceberg_source *source;
    nl_arena *arena;
    char kind;
    const nl_schema_column *column; /* NULL: count(*) */
    nl_value value;
    bool is_known;
} metadata_aggregate;

static nl_status add_file(metadata_aggregate *self, const nl_data_file *file)
{
    int64_t nulls;
    nl_bytes bytes;
    nl_value bound;
    const int32_t field_id = self->column ? self->column->field->id : 0;
    if (self->kind == '*') {
        self->value.integer += file->record_count;
        return NULL;
    }
    self->is_known = self->is_known && nl_metric_find(&file->null_value_counts, field_id, &nulls);
    if (!self->is_known) return NULL;
    if (self->kind == 'n') {
        self->value.integer += file->record_count - nulls;
        return NULL;
    }
    if (nulls == file->record_count) return NULL; /* nothing but nulls: no bounds, and none are needed */
    self->is_known = nl_bound_find(self->kind == '<' ? &file->lower_bounds : &file->upper_bounds, field_id, &bytes);
    if (!self->is_known) return NULL;
    NL_TRY(nl_single_value_decode(self->column->field->type, bytes, self->arena, &bound));
    const int order = self->value.is_null ? 0 : nl_value_compare(&bound, &self->value);
    if (self->value.is_null || (self->kind == '<' ? order < 0 : order > 0)) {
        const nl_type *type = self->value.type;
        self->value = bound;
        self->value.type = type;
    }
    return NULL;
}

static nl_status aggregate_one(const iceberg_source *self, const nl_scan_plan *plan, char kind, uint32_t column, nl_arena *arena, nl_value *value, bool *is_known)
{
    metadata_aggregate aggregate = {.source = self, .arena = arena, .kind = kind, .is_known = true, .value = nl_value_int(nl_type_bigint(), 0)};
    if (kind != '*') {
        const nl_field *field = column < self->base.row_type->child_count ? &self->base.row_type->children[column] : NULL;
        aggregate.column = field && field->field_id ? nl_schema_find_id(self->schema, field->field_id) : NULL;
        if (!aggregate.column || nl_ice_type_is_nested(aggregate.column->field->type)) aggregate.is_known = false;
        if (aggregate.is_known && kind != 'n') {
            aggregate.is_known = has_exact_bounds(aggregate.column->field->type);
            aggregate.value = nl_value_null(field->type);
        }
    }
    for (uint32_t i = 0; aggregate.is_known && i < plan->task_count; i++)
        NL_TRY(add_file(&aggregate, plan->tasks[i].file));
    *value = aggregate.value;
    *is_known = aggregate.is_known;
    return NULL;
}

static nl_status iceberg_aggregate(const nl_table *table, const nl_logical *scan, const char *kinds, const uint32_t *columns, uint32_t count, nl_arena *arena,
                                   nl_value *values, bool *is_known)
{
    const iceberg_source *self = source_of(table);
    const nl_predicate *predicate = NULL;
    nl_scan_plan *plan = NULL;
    const nl_file_change *changes = NULL;
    bool is_exact = true;
    if (scan) NL_TRY(nl_predicate_of_expr(arena, scan->scan.filter, scan, &predicate, &is_exact));
    NL_TRY(plan_files(self, predicate, NULL, self->table->memory, &plan, &changes));
    *is_known = is_exact && !self->is_restricted;
    for (uint32_t i = 0; *is_known && i < plan->task_count; i++)
        *is_known = plan->tasks[i].is_wholly_matching && plan->tasks[i].delete_count == 0;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && *is_known && i < count; i++)
        status = aggregate_one(self, plan, kinds[i], columns[i], arena, &values[i], is_known);
    nl_scan_plan_release(plan);
    return status;
}

static void iceberg_append_text(const nl_table *table, nl_builder *out)
{
    const iceberg_source *self = source_of(table);
    nl_append(out, self->table->name);
    if (self->is_changelog) nl_append(out, NL_STR(".changes"));
    if (self->snapshot) nl_append_f(out, " (snapshot %lld)", (long long)self->snapshot->snapshot_id);
}

static void iceberg_free(nl_table *table)
{
    iceberg_source *self = (iceberg_source *)(void *)table;
    nl_table_metadata_release(self->metadata);
    nl_iceberg_table_release(self->table);
    nl_arena_free(self->arena);
    free(self);
}

static bool is_same_read(const nl_table *a, const nl_table *b)
{
    const iceberg_source *x = source_of(a), *y = source_of(b);
    if (x->is_restricted || y->is_restricted || x->is_changelog || y->is_changelog || x->is_pinned != y->is_pinned || x->after_snapshot_id != y->after_snapshot_id) return false;
    if (!nl_str_equal(x->metadata->location, y->metadata->location) || !nl_str_equal(x->branch, y->branch)) return false;
    if (!nl_str_equal(x->metadata->uuid, y->metadata->uuid) || !nl_type_equal(a->row_type, b->row_type)) return false;
    return !x->is_pinned || x->snapshot == y->snapshot || (x->snapshot && y->snapshot && x->snapshot->snapshot_id == y->snapshot->snapshot_id);
}

static uint64_t state_of(const nl_table *table)
{
    const iceberg_source *self = source_of(table);
    return nl_hash_u64(self->snapshot ? (uint64_t)self->snapshot->snapshot_id : 0);
}

static const nl_table_ops iceberg_ops = {
    .kind = "iceberg",
    .is_same = is_same_read,
    .state = state_of,
    .estimate = iceberg_estimate,
    .column_statistics = iceberg_column_statistics,
    .aggregate_from_metadata = iceberg_aggregate,
    .open_scan = iceberg_open_scan,
    .append_text = iceberg_append_text,
    .free = iceberg_free,
};

static nl_status read_mapping(iceberg_source *self)
{
    const nl_str json = nl_table_property(self->metadata, "schema.name-mapping.default", NULL);
    self->has_mapping = json.data != NULL;
    return self->has_mapping ? nl_name_mapping_parse(self->arena, json, &self->mapping) : NULL;
}

nl_status nl_iceberg_source_new(nl_iceberg_table *table, const nl_iceberg_read *read, const nl_table **source)
{
    iceberg_source *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    self->base.ops = &iceberg_ops;
    atomic_init(&self->base.references, 1);
    self->arena = nl_arena_new(table->memory);
    self->table = nl_iceberg_table_retain(table);
    self->metadata = nl_iceberg_table_metadata(table);
    nl_status status = choose_snapshot(self, read);
    if (!status) status = make_types(self);
    if (!status) status = read_mapping(self);
    if (status)
        iceberg_free(&self->base);
    else
        *source = &self->base;
    return status;
}

bool nl_table_is_iceberg(const nl_table *table)
{
    return table->ops == &iceberg_ops && !source_of(table)->is_changelog;
}

nl_iceberg_table *nl_iceberg_source_table(const nl_table *source)
{
    return source_of(source)->table;
}

const nl_table_metadata *nl_iceberg_source_metadata(const nl_table *source)
{
    return source_of(source)->metadata;
}

const nl_snapshot *nl_iceberg_source_snapshot(const nl_table *source)
{
    return source_of(source)->snapshot;
}
