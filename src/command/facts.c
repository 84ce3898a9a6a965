/* command/facts.c - see facts.h. What is shown, and in which order, is what Spark 4.0.1 with Iceberg 1.10 answers. */
#include "command/facts.h"
#include "command/plain_tables.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/number.h"
#include "command/catalog_views.h"
#include "plan/char_type.h"
#include "storage/credentials.h"

#define TEXT_MAX (16u << 20)

nl_status nl_facts_at(nl_command *command, nl_status status, nl_ast_range range)
{
    if (!status) return NULL;
    const nl_query_context context = {.text = command->text,
                                      .start = range.start,
                                      .stop = range.stop,
                                      .line = range.line,
                                      .position = range.position,
                                      .is_analysis = true};
    nl_error_set_context(status, &context);
    return status;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* What a view had when it was made, which stays unless its schema evolves. */
static void take_stored_columns(nl_command *command, nl_facts *facts)
{
    const nl_temp_view *view = nl_view_copy(command->arena, facts->view);
    nl_column *columns = NL_NEW_ARRAY(command->arena, nl_column, view->column_count + 1);
    for (uint32_t i = 0; i < view->column_count; i++)
        columns[i] = (nl_column){.id = nl_plan_new_id(&command->context),
                                 .name = view->columns[i].name,
                                 .type = view->columns[i].type,
                                 .is_nullable = view->columns[i].is_nullable,
                                 .comment = view->columns[i].comment};
    facts->columns = columns;
    facts->row_type = nl_type_struct(command->arena, view->columns, view->column_count);
}

/* Without these a view's columns are those of its query. A schema that evolves is noted when the view is read. */
static bool keeps_columns(const nl_temp_view *view)
{
    return view->query_columns != NULL;
}

static nl_status find_view_columns(nl_command *command, const nl_str *parts, uint32_t part_count, nl_facts *facts)
{
    const nl_str text = nl_arena_f(command->arena, "SELECT * FROM " NL_STR_FMT,
                                   NL_STR_ARG(nl_command_quoted(command, parts, part_count)));
    nl_ast_statement *statement = NULL;
    const nl_logical *plan = NULL;
    NL_TRY(nl_sql_parse(command->arena, text, NULL, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY);
    NL_TRY(nl_analyze_query(&command->context, statement->query, &plan));
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, plan->column_count);
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const nl_column *column = &plan->columns[i];
        fields[i] = (nl_field){.name = column->name, .is_nullable = column->is_nullable, .comment = column->comment};
        NL_TRY(nl_raw_type(command->arena, column, &fields[i].type));
    }
    facts->columns = plan->columns;
    facts->row_type = nl_type_struct(command->arena, fields, plan->column_count);
    return NULL;
}

static nl_status find_catalog_view(nl_command *command, const nl_resolved_relation *found, nl_facts *facts)
{
    nl_session_name name;
    NL_TRY(nl_session_resolve(command->session, found->name, found->name_count, command->arena, &name));
    NL_TRY(nl_catalog_view_find(command, &name, &facts->catalog_view));
    return facts->catalog_view ? nl_catalog_view_as_temporary(command, &name, facts->catalog_view, &facts->view) : NULL;
}

static void release_table(void *table)
{
    nl_table_release(table);
}

/* The table behind a metadata table: the name without its last part, or without two (db.t.branch_b.files). */
static nl_status find_base(nl_command *command, const nl_resolved_relation *found, nl_facts *facts)
{
    nl_iceberg_table *table = NULL;
    for (uint32_t dropped = 1; dropped <= 2 && found->name_count > dropped + 1; dropped++) {
        nl_session_name name;
        bool exists = false;
        NL_TRY(nl_session_resolve(command->session, found->name, found->name_count - dropped, command->arena, &name));
        NL_TRY(nl_catalog_table_exists(name.catalog, &name.identifier, &exists));
        if (!exists) continue;
        NL_TRY(nl_catalog_load_table(name.catalog, &name.identifier, &table));
        break;
    }
    if (!table) return NULL;
    const nl_iceberg_read read = {0};
    const nl_table *source = NULL;
    nl_status status = nl_iceberg_source_new(table, &read, &source);
    nl_iceberg_table_release(table);
    if (status) return status;
    nl_arena_on_free(command->arena, release_table, NL_UNCONST(source));
    facts->source = found->table;
    facts->metadata = nl_iceberg_source_metadata(source);
    facts->snapshot = nl_iceberg_source_snapshot(source);
    facts->is_metadata_table = true;
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_append(&text, nl_iceberg_source_table(source)->name);
    nl_append_char(&text, '.');
    const nl_str last = found->name[found->name_count - 1];
    for (size_t i = 0; i < last.length; i++) /* Iceberg shows the kind in lower case */
        nl_append_char(&text,
                       last.data[i] >= 'A' && last.data[i] <= 'Z' ? (char)(last.data[i] + 'a' - 'A') : last.data[i]);
    facts->name = nl_facts_take(command, &text);
    return NULL;
}

nl_status nl_facts_find(nl_command *command, const nl_str *parts, uint32_t part_count, nl_ast_range range,
                        nl_facts *facts)
{
    nl_resolved_relation found = {0};
    *facts = (nl_facts){0};
    NL_TRY(nl_facts_at(
        command,
        command->resolver.find_relation(&command->resolver, parts, part_count, NULL, NULL, 0, command->arena, &found),
        range));
    if (found.table) nl_arena_on_free(command->arena, release_table, NL_UNCONST(found.table));
    if (found.view || !nl_table_is_iceberg(found.table)) facts->view = nl_command_find_view(command, parts, part_count);
    if (found.view && !facts->view) NL_TRY(find_catalog_view(command, &found, facts));
    if (facts->view && keeps_columns(facts->view)) {
        take_stored_columns(command, facts);
        return NULL;
    }
    if (facts->view) return find_view_columns(command, parts, part_count, facts);
    NL_CHECK(found.table);
    facts->row_type = found.table->row_type;
    facts->columns = nl_plan_scan(&command->context, found.table, found.name, found.name_count)->columns;
    if (!nl_table_is_iceberg(found.table) && found.name_count > 2) {
        nl_session_name name;
        NL_TRY(nl_session_resolve(command->session, found.name, found.name_count, command->arena, &name));
        NL_TRY(nl_plain_find(command, &name, &facts->plain));
        facts->name = nl_command_dotted_name(command, &name);
    }
    if (facts->plain) return NULL;
    if (!nl_table_is_iceberg(found.table)) return find_base(command, &found, facts);
    facts->source = found.table;
    facts->metadata = nl_iceberg_source_metadata(found.table);
    facts->snapshot = nl_iceberg_source_snapshot(found.table);
    facts->name = nl_iceberg_source_table(found.table)->name;
    return NULL;
}

nl_status nl_facts_find_name(nl_command *command, const nl_ast_name *name, nl_facts *facts)
{
    const nl_str *parts;
    uint32_t part_count;
    NL_TRY(nl_command_name(command, name, &parts, &part_count));
    return nl_facts_find(command, parts, part_count, name->range, facts);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

nl_str nl_facts_take(nl_command *command, nl_builder *text)
{
    const nl_str kept = text->length ? nl_arena_str(command->arena, nl_builder_str(text)) : NL_STR("");
    nl_builder_fini(text);
    return kept;
}

nl_str nl_facts_identifier(nl_command *command, nl_str name)
{
    bool is_plain = name.length > 0 && !(name.data[0] >= '0' && name.data[0] <= '9');
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        is_plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    return is_plain ? name : nl_command_quoted(command, &name, 1);
}

nl_str nl_facts_time(nl_command *command, int64_t micros)
{
    static const char *const days[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"}; /* 1970-01-01 was a Thursday */
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const int64_t day = nl_floor_div(micros, NL_MICROS_PER_DAY);
    nl_civil civil;
    nl_civil_from_micros(micros, &civil);
    return nl_arena_f(command->arena, "%s %s %02d %02d:%02d:%02d UTC %04d", days[nl_floor_mod(day, 7)], months[civil.month - 1], (int)civil.day, (int)civil.hour, (int)civil.minute,
                      (int)civil.second, (int)civil.year);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* "[k=v, p=q]", by key. */
nl_str nl_facts_list_text(nl_command *command, const nl_property *items, uint32_t count)
{
    nl_builder text;
    nl_str last = {"", 0};
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t written = 0;; written++) { /* the next key after `last`: there are few */
        const nl_property *next = NULL;
        for (uint32_t i = 0; i < count; i++)
            if ((written == 0 || nl_str_compare(items[i].key, last) > 0) && (!next || nl_str_compare(items[i].key, next->key) < 0)) next = &items[i];
        if (!next) break;
        nl_append_f(&text, "%s" NL_STR_FMT "=" NL_STR_FMT, written ? ", " : "", NL_STR_ARG(next->key), NL_STR_ARG(nl_shown_value(next->key, next->value)));
        last = next->key;
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

static nl_str query_columns(nl_command *command, const nl_temp_view *view)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t i = 0; view->query_columns && i < view->column_count; i++) {
        if (i) nl_append_c(&text, ", ");
        nl_append(&text, nl_command_quoted(command, &view->query_columns[i], 1));
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

uint32_t nl_view_facts(nl_command *command, const nl_facts *facts, nl_view_fact *items)
{
    const nl_temp_view *view = facts->view;
    const nl_session_name scope = {.catalog_name = view->catalog, .identifier = {.namespace_parts = view->namespace_parts, .namespace_count = view->namespace_count}};
    const size_t first = nl_str_find_char(view->name, '.', 0), last = nl_str_find_last_char(view->name, '.');
    uint32_t count = 0;
    items[count++] = (nl_view_fact){"Catalog", nl_str_slice(view->name, 0, first)};
    items[count++] = (nl_view_fact){"Database", first < last ? nl_str_slice(view->name, first + 1, last) : NL_STR("")};
    items[count++] = (nl_view_fact){"Table", nl_str_slice(view->name, last + 1, view->name.length)};
    items[count++] = (nl_view_fact){"Created Time", nl_facts_time(command, view->created_micros)};
    items[count++] = (nl_view_fact){"Last Access", NL_STR("UNKNOWN")};
    items[count++] = (nl_view_fact){"Created By", NL_STR("Spark 4.0.1")};
    items[count++] = (nl_view_fact){"Type", NL_STR("VIEW")};
    if (view->comment.length) items[count++] = (nl_view_fact){"Comment", view->comment};
    if (view->collation.length) items[count++] = (nl_view_fact){"Collation", view->collation};
    items[count++] = (nl_view_fact){"View Text", view->sql};
    items[count++] = (nl_view_fact){"View Original Text", view->sql};
    const char *binding = nl_view_binding_words(command, view);
    if (*binding) items[count++] = (nl_view_fact){"View Schema Mode", nl_str_from(binding)};
    items[count++] = (nl_view_fact){"View Catalog and Namespace", nl_command_dotted_name(command, &scope)};
    items[count++] = (nl_view_fact){"View Query Output Columns", query_columns(command, view)};
    if (view->property_count > 0) items[count++] = (nl_view_fact){"Table Properties", nl_facts_list_text(command, view->properties, view->property_count)};
    return count;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* Keys that have a row of their own, in Spark or in Iceberg, and are no properties to be shown. */
static bool is_reserved(nl_str key)
{
    static const char *const keys[] = {"comment",
                                       "collation",
                                       "location",
                                       "provider",
                                       "owner",
                                       "external",
                                       "is_managed_location",
                                       "format",
                                       "current-snapshot-id",
                                       "format-version",
                                       "sort-order",
                                       "identifier-fields"};
    for (size_t i = 0; i < NL_COUNT(keys); i++)
        if (nl_str_is(key, keys[i])) return true;
    return false;
}

static int compare_properties(const void *a, const void *b)
{
    return nl_str_compare(((const nl_property *)a)->key, ((const nl_property *)b)->key);
}

static nl_str identifier_fields(nl_command *command, const nl_schema *schema)
{
    nl_builder text;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t i = 0; i < schema->identifier_count; i++) {
        const nl_schema_column *column = nl_schema_find_id(schema, schema->identifier_ids[i]);
        if (i) nl_append_char(&text, ',');
        if (column) nl_append(&text, column->full_name);
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

/* What Iceberg says of a table beside its own properties. */
static uint32_t add_facts(nl_command *command, const nl_facts *facts, nl_property *items)
{
    const nl_table_metadata *metadata = facts->metadata;
    const nl_snapshot *current = nl_table_current_snapshot(metadata);
    const nl_str format =
        facts->is_metadata_table ? NL_STR("parquet") : nl_table_property(metadata, "write.format.default", "parquet");
    uint32_t count = 0;
    items[count++] =
        (nl_property){NL_STR("format"), nl_arena_f(command->arena, "iceberg/" NL_STR_FMT, NL_STR_ARG(format))};
    items[count++] =
        (nl_property){NL_STR("current-snapshot-id"),
                      current ? nl_arena_f(command->arena, "%lld", (long long)current->snapshot_id) : NL_STR("none")};
    if (facts->is_metadata_table) return count;
    const nl_schema *schema = nl_table_schema(metadata);
    const nl_sort_order *order = nl_table_sort_order(metadata);
    items[count++] =
        (nl_property){NL_STR("format-version"), nl_arena_f(command->arena, "%d", metadata->format_version)};
    if (order && order->field_count > 0)
        items[count++] = (nl_property){NL_STR("sort-order"), nl_sort_order_describe(command->arena, order, schema)};
    if (schema->identifier_count > 0)
        items[count++] = (nl_property){NL_STR("identifier-fields"), identifier_fields(command, schema)};
    return count;
}

void nl_facts_properties(nl_command *command, const nl_facts *facts, const nl_property **items, uint32_t *count)
{
    enum { FACTS_MAX = 5 };
    const nl_table_metadata *metadata = facts->metadata;
    const bool has_table_properties = metadata && !facts->is_metadata_table;
    const nl_property *given = has_table_properties ? metadata->properties
                               : facts->view        ? facts->view->properties
                                                    : NULL;
    const uint32_t given_count = has_table_properties ? metadata->property_count
                                 : facts->view        ? facts->view->property_count
                                                      : 0;
    nl_property *list = NL_NEW_ARRAY(command->arena, nl_property, (size_t)given_count + FACTS_MAX);
    uint32_t made = metadata ? add_facts(command, facts, list) : 0;
    for (uint32_t i = 0; i < given_count; i++)
        if (!is_reserved(given[i].key)) list[made++] = given[i];
    for (uint32_t i = 0; i < made; i++)
        list[i].value = nl_shown_value(list[i].key, list[i].value);
    qsort(list, made, sizeof(*list), compare_properties);
    *items = list;
    *count = made;
}

nl_str nl_facts_properties_text(nl_command *command, const nl_facts *facts)
{
    const nl_property *items;
    uint32_t count;
    nl_builder text;
    nl_facts_properties(command, facts, &items, &count);
    nl_builder_init(&text, TEXT_MAX);
    nl_append_char(&text, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) nl_append_char(&text, ',');
        nl_append(&text, items[i].key);
        nl_append_char(&text, '=');
        nl_append(&text, items[i].value);
    }
    nl_append_char(&text, ']');
    return nl_facts_take(command, &text);
}

nl_str nl_facts_comment(const nl_facts *facts)
{
    return facts->metadata && !facts->is_metadata_table ? nl_table_property(facts->metadata, "comment", NULL)
                                                        : (nl_str){0};
}

nl_str nl_facts_owner(const nl_facts *facts)
{
    return facts->metadata && !facts->is_metadata_table ? nl_table_property(facts->metadata, "owner", NULL)
                                                        : (nl_str){0};
}

/* ---- partitions -------------------------------------------------------------------------------------------------- */

static const nl_field *child_named(const nl_type *type, nl_str name)
{
    for (uint32_t i = 0; type && type->id == NL_TYPE_STRUCT && i < type->child_count; i++)
        if (nl_str_equal(type->children[i].name, name)) return &type->children[i];
    return NULL;
}

/* The source column's path from the top: its names quoted where they must be, and the field of row_type it leads to. */
static void name_source(nl_command *command, const nl_facts *facts, const nl_schema *schema, nl_facts_partition *item)
{
    enum { DEPTH_MAX = 64 }; /* deeper sources are shown from the depth on */
    const nl_schema_column *path[DEPTH_MAX];
    uint32_t depth = 0;
    const nl_schema_column *column = nl_schema_find_id(schema, item->field->source_id);
    for (; column && depth < DEPTH_MAX;
         column = column->parent_id ? nl_schema_find_id(schema, column->parent_id) : NULL)
        path[depth++] = column;
    nl_builder quoted, plain;
    nl_builder_init(&quoted, TEXT_MAX);
    nl_builder_init(&plain, TEXT_MAX);
    const nl_type *type = facts->row_type;
    for (uint32_t i = depth; i-- > 0;) {
        const nl_str name = path[i]->field->name;
        if (i + 1 < depth) nl_append_char(&quoted, '.');
        if (i + 1 < depth) nl_append_char(&plain, '.');
        nl_append(&quoted, nl_facts_identifier(command, name));
        nl_append(&plain, name);
        item->column = child_named(type, name);
        type = item->column ? item->column->type : NULL;
    }
    item->source = nl_facts_take(command, &quoted);
    item->plain = nl_facts_take(command, &plain);
}

static nl_str transform_text(nl_command *command, const nl_transform *transform, nl_str source)
{
    const char *name = NULL;
    switch (transform->kind) {
    case NL_TRANSFORM_IDENTITY:
    case NL_TRANSFORM_VOID:
        return source;
    case NL_TRANSFORM_BUCKET:
        return nl_arena_f(command->arena, "bucket(%d, " NL_STR_FMT ")", transform->width, NL_STR_ARG(source));
    case NL_TRANSFORM_TRUNCATE:
        return nl_arena_f(command->arena, "truncate(%d, " NL_STR_FMT ")", transform->width, NL_STR_ARG(source));
    case NL_TRANSFORM_UNKNOWN:
        return nl_arena_f(command->arena, NL_STR_FMT "(" NL_STR_FMT ")", NL_STR_ARG(transform->text),
                          NL_STR_ARG(source));
    case NL_TRANSFORM_YEAR:
        name = "years";
        break;
    case NL_TRANSFORM_MONTH:
        name = "months";
        break;
    case NL_TRANSFORM_DAY:
        name = "days";
        break;
    case NL_TRANSFORM_HOUR:
        name = "hours";
        break;
    }
    return nl_arena_f(command->arena, "%s(" NL_STR_FMT ")", name, NL_STR_ARG(source));
}

void nl_facts_partitions(nl_command *command, const nl_facts *facts, const nl_facts_partition **items, uint32_t *count)
{
    *items = NULL;
    *count = 0;
    if (!facts->metadata || facts->is_metadata_table) return;
    const nl_schema *schema = nl_table_schema(facts->metadata);
    const nl_partition_spec *spec = nl_table_spec(facts->metadata);
    nl_facts_partition *list = NL_NEW_ARRAY(command->arena, nl_facts_partition, spec->field_count);
    for (uint32_t i = 0; i < spec->field_count; i++) {
        if (spec->fields[i].transform.kind == NL_TRANSFORM_VOID) continue;
        nl_facts_partition *item = &list[(*count)++];
        item->field = &spec->fields[i];
        name_source(command, facts, schema, item);
        item->text = transform_text(command, &item->field->transform, item->source);
    }
    *items = list;
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* Spark's defaultSize: what it supposes a value to take in memory. Types nest to a bounded depth. */
static int64_t default_size(const nl_type *type)
{
    int64_t sum = 0;
    switch (type->id) {
    case NL_TYPE_NULL:
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_TINYINT:
        return 1;
    case NL_TYPE_SMALLINT:
        return 2;
    case NL_TYPE_INT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_DATE:
    case NL_TYPE_INTERVAL_YM:
        return 4;
    case NL_TYPE_BIGINT:
    case NL_TYPE_DOUBLE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_INTERVAL_DT:
        return 8;
    case NL_TYPE_DECIMAL:
        return type->precision <= 18 ? 8 : 16;
    case NL_TYPE_STRING:
        return 20;
    case NL_TYPE_BINARY:
        return 100;
    case NL_TYPE_INTERVAL:
        return 16;
    case NL_TYPE_VARIANT:
        return 2048;
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
        for (uint32_t i = 0; i < type->child_count; i++)
            sum += default_size(type->children[i].type);
        return sum;
    case NL_TYPE_COUNT:
        break;
    }
    return sum;
}

/* Iceberg counts a partitioned table's rows by the snapshot's summary, and those of others by the files. */
nl_status nl_facts_statistics(const nl_facts *facts, int64_t *row_count, int64_t *bytes)
{
    int64_t rows = 0, ignored = 0;
    if (facts->snapshot) {
        const bool is_summary_enough =
            !facts->is_metadata_table && !nl_partition_spec_is_unpartitioned(nl_table_spec(facts->metadata));
        const nl_str total = is_summary_enough ? nl_snapshot_summary(facts->snapshot, "total-records") : (nl_str){0};
        if (!total.data || !nl_parse_int64(total, &rows))
            NL_TRY(facts->source->ops->estimate(facts->source, NULL, &rows, &ignored));
    }
    *row_count = rows;
    if (rows < 0 || __builtin_mul_overflow(rows, default_size(facts->row_type), bytes)) *bytes = -1;
    return NULL;
}
