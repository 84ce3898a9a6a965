/* lakehouse/glue/search.c - SearchTables: over all databases, by text, by members, sorted. */
#include "lakehouse/glue/glue_private.h"

#include <stdlib.h>

#include "base/number.h"

typedef struct search_work {
    nl_glue_call *call;
    nl_list list; /* nl_glue_row * */
} search_work;

static nl_status list_work(void *argument, nl_sqlite *database)
{
    search_work *self = argument;
    nl_sqlite_statement *select;
    self->list = (nl_list){0};
    NL_TRY(nl_sqlite_prepare(database, NL_GLUE_ROWS " ORDER BY n.name, g.name", &select));
    nl_sqlite_bind_int(select, 1, self->call->glue->warehouse.id);
    for (bool has_row;;) {
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(self->call->arena);
        nl_glue_row *row = NL_NEW(self->call->arena, nl_glue_row);
        nl_glue_read_row(select, self->call->arena, row);
        nl_list_add(self->call->arena, &self->list, row);
    }
}

static bool has_text(nl_arena *arena, nl_str text, nl_str part)
{
    return nl_str_find(nl_glue_lower(arena, text), part, 0) != NL_NOT_FOUND;
}

/* In names, descriptions, columns and values of parameters; a quoted text is a whole name. */
static bool matches_text(nl_arena *arena, const json_t *table, nl_str wanted)
{
    const json_t *columns = json_object_get(json_object_get(table, "StorageDescriptor"), "Columns");
    const char *key;
    json_t *value;
    if (!wanted.length) return true;
    if (wanted.length > 1 && wanted.data[0] == '"' && wanted.data[wanted.length - 1] == '"') return nl_str_equal_nocase(nl_glue_text(table, "Name"), nl_str_slice(wanted, 1, wanted.length - 1));
    const nl_str part = nl_glue_lower(arena, wanted);
    if (has_text(arena, nl_glue_text(table, "Name"), part) || has_text(arena, nl_glue_text(table, "DatabaseName"), part) || has_text(arena, nl_glue_text(table, "Description"), part)) return true;
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (has_text(arena, nl_glue_text(json_array_get(columns, i), "Name"), part) || has_text(arena, nl_glue_text(json_array_get(columns, i), "Comment"), part)) return true;
    json_object_foreach(json_object_get(table, "Parameters"), key, value)
        if (has_text(arena, nl_str_from(json_string_value(value)), part)) return true;
    return false;
}

static nl_str member(nl_arena *arena, const json_t *table, const char *key)
{
    const json_t *value = json_object_get(table, key);
    if (json_is_number(value)) return nl_arena_f(arena, "%.3f", json_number_value(value));
    return value ? nl_glue_text(table, key) : nl_glue_text(json_object_get(table, "Parameters"), key);
}

static bool passes(nl_arena *arena, const json_t *table, const json_t *filter)
{
    static const struct {
        const char *name;
        bool less, equal, more;
    } comparators[] = {{"EQUALS", false, true, false}, {"GREATER_THAN", false, false, true}, {"LESS_THAN", true, false, false}, {"GREATER_THAN_EQUALS", false, true, true}, {"LESS_THAN_EQUALS", true, true, false}};
    const nl_str key = nl_glue_text(filter, "Key"), wanted = nl_glue_text(filter, "Value"), comparator = nl_glue_text(filter, "Comparator");
    const nl_str value = member(arena, table, nl_str_c(arena, key));
    size_t i = 0;
    while (i + 1 < NL_COUNT(comparators) && !nl_str_is(comparator, comparators[i].name)) i++;
    if (!comparator.length) i = 0;
    if (!value.data) return false;
    double a = 0, b = 0;
    const bool are_numbers = nl_parse_double(value, &a) && nl_parse_double(wanted, &b);
    const int order = are_numbers ? (a < b ? -1 : a > b) : nl_str_compare(nl_glue_lower(arena, value), nl_glue_lower(arena, wanted));
    return order < 0 ? comparators[i].less : order > 0 ? comparators[i].more : comparators[i].equal;
}

typedef struct found_table {
    nl_str json, sort_key;
    uint32_t position;
    bool is_descending;
} found_table;

static int compare_found(const void *left, const void *right)
{
    const found_table *a = left, *b = right;
    const int order = nl_str_compare(a->sort_key, b->sort_key);
    if (order) return a->is_descending ? -order : order;
    return a->position < b->position ? -1 : a->position > b->position;
}

static nl_status show(nl_glue_call *call, const nl_glue_row *row, nl_str *text)
{
    nl_builder builder;
    nl_builder_init(&builder, 32u << 20);
    nl_json_writer json = {.out = &builder};
    nl_status status = nl_glue_write_row(call, &json, row);
    *text = nl_arena_str(call->arena, nl_builder_str(&builder));
    nl_builder_fini(&builder);
    return status;
}

static nl_status filter(nl_glue_call *call, const nl_list *rows, found_table *found, uint32_t *count)
{
    const json_t *filters = json_object_get(call->body, "Filters"), *sort = json_array_get(json_object_get(call->body, "SortCriteria"), 0), *table;
    const nl_str text = nl_glue_text(call->body, "SearchText"), field = nl_glue_text(sort, "FieldName");
    *count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        found_table *next = &found[*count];
        NL_TRY(show(call, rows->items[i], &next->json));
        NL_TRY(nl_json_parse(call->arena, next->json, NL_STR("the data folder"), &table));
        bool is_wanted = matches_text(call->arena, table, text);
        for (size_t j = 0; j < json_array_size(filters) && is_wanted; j++) is_wanted = passes(call->arena, table, json_array_get(filters, j));
        if (!is_wanted) continue;
        next->position = i;
        next->is_descending = nl_str_is(nl_glue_text(sort, "Sort"), "DESC");
        next->sort_key = field.length ? member(call->arena, table, nl_str_c(call->arena, field)) : (nl_str){0};
        (*count)++;
    }
    qsort(found, *count, sizeof(*found), compare_found);
    return nl_arena_check(call->arena);
}

nl_status nl_glue_search_tables(nl_glue_call *call)
{
    search_work work = {.call = call};
    const nl_str token = nl_glue_text(call->body, "NextToken");
    int64_t from = 0, size;
    uint32_t count;
    if (token.length && (!nl_parse_int64(token, &from) || from < 0)) return nl_glue_invalid(call, "NextToken is none of this service's");
    NL_TRY(nl_glue_page_size(call, 1000, &size));
    NL_TRY(nl_state_read(call->glue->tables->state, list_work, &work));
    found_table *found = NL_NEW_ARRAY(call->arena, found_table, (size_t)work.list.count + 1);
    NL_TRY(filter(call, &work.list, found, &count));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "TableList");
    nl_json_begin(&json, '[');
    int64_t at = from;
    for (; at < count && at - from < size; at++) {
        nl_json_before_value(&json);
        nl_append(json.out, found[at].json);
        nl_json_after_value(&json);
    }
    nl_json_end(&json, ']');
    if (at < count) nl_glue_write_text(&json, "NextToken", nl_arena_f(call->arena, "%lld", (long long)at));
    nl_glue_end(call, &json);
    return NULL;
}
