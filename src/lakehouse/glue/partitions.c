/* lakehouse/glue/partitions.c - partitions of tables: rows keyed by their values, a JSON array of texts. */
#include "lakehouse/glue/glue_private.h"

#include "base/calendar.h"

#define KEYS_MAX 64u

typedef struct partition_row {
    nl_str key, json;
    int64_t created_micros;
} partition_row;

typedef enum partition_kind { CREATE, UPDATE, DELETE } partition_kind;

typedef struct partition_change { /* one of a batch */
    const json_t *values; /* that name it */
    nl_str key, new_key, json;
    const char *code; /* what was wrong; NULL: nothing */
    const char *message;
} partition_change;

typedef struct partition_work {
    nl_glue_call *call;
    nl_str database, name;
    nl_glue_row table;
    partition_kind kind;
    partition_change *changes;
    uint32_t change_count;
    /* Reading. */
    nl_str expression, after;
    nl_glue_key keys[KEYS_MAX];
    uint32_t key_count;
    int64_t segment, segment_count, count_max;
    nl_list list; /* partition_row * */
} partition_work;

/* ---- tables and keys ------------------------------------------------------------------------------------------- */

static nl_status names(nl_glue_call *call, partition_work *work)
{
    work->call = call;
    NL_TRY(nl_glue_need(call, call->body, "DatabaseName", &work->database));
    return nl_glue_need(call, call->body, "TableName", &work->name);
}

static nl_status find_table(partition_work *self, nl_sqlite *database)
{
    const json_t *document, *keys;
    NL_TRY(nl_glue_need_row(self->call, database, self->database, self->name, &self->table));
    NL_TRY(nl_json_parse(self->call->arena, self->table.json.length ? self->table.json : NL_STR("{}"), NL_STR("the data folder"), &document));
    keys = json_object_get(document, "PartitionKeys");
    if (json_array_size(keys) > KEYS_MAX) return nl_glue_invalid(self->call, "The table has more than %u partition keys", KEYS_MAX);
    self->key_count = (uint32_t)json_array_size(keys);
    for (uint32_t i = 0; i < self->key_count; i++) self->keys[i] = (nl_glue_key){nl_glue_text(json_array_get(keys, i), "Name"), nl_glue_text(json_array_get(keys, i), "Type")};
    return NULL;
}

static bool are_values(const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (!json_is_string(json_array_get(values, i))) return false;
    return json_array_size(values) > 0;
}

static nl_status find_partition(const partition_work *self, nl_sqlite *database, nl_str key, partition_row *row, bool *exists)
{
    nl_sqlite_statement *select;
    NL_TRY(nl_sqlite_prepare(database, "SELECT key, json, created_micros FROM glue_partitions WHERE table_id = ? AND key = ?", &select));
    nl_sqlite_bind_int(select, 1, self->table.id);
    nl_sqlite_bind_text(select, 2, key);
    NL_TRY(nl_sqlite_step(select, exists));
    if (*exists) *row = (partition_row){nl_sqlite_text(select, 0, self->call->arena), nl_sqlite_text(select, 1, self->call->arena), nl_sqlite_int(select, 2)};
    nl_sqlite_reset(select);
    return NULL;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

static nl_status write_change(const partition_work *self, nl_sqlite *database, const partition_change *change)
{
    nl_sqlite_statement *statement;
    if (self->kind == CREATE) {
        NL_TRY(nl_sqlite_prepare(database, "INSERT INTO glue_partitions (table_id, key, json, created_micros) VALUES (?, ?, ?, ?)", &statement));
        nl_sqlite_bind_int(statement, 1, self->table.id);
        nl_sqlite_bind_text(statement, 2, change->key);
        nl_sqlite_bind_text(statement, 3, change->json);
        nl_sqlite_bind_int(statement, 4, nl_now_micros());
    } else if (self->kind == UPDATE) {
        NL_TRY(nl_sqlite_prepare(database, "UPDATE glue_partitions SET key = ?3, json = ?4 WHERE table_id = ?1 AND key = ?2", &statement));
        nl_sqlite_bind_int(statement, 1, self->table.id);
        nl_sqlite_bind_text(statement, 2, change->key);
        nl_sqlite_bind_text(statement, 3, change->new_key);
        nl_sqlite_bind_text(statement, 4, change->json);
    } else {
        NL_TRY(nl_sqlite_prepare(database, "DELETE FROM glue_partitions WHERE table_id = ? AND key = ?", &statement));
        nl_sqlite_bind_int(statement, 1, self->table.id);
        nl_sqlite_bind_text(statement, 2, change->key);
    }
    return nl_sqlite_finish(statement, NULL);
}

static void refuse_change(partition_change *change, const char *code, const char *message)
{
    change->code = code;
    change->message = message;
}

static nl_status change_one(const partition_work *self, nl_sqlite *database, partition_change *change)
{
    partition_row row;
    bool exists, is_taken = false;
    change->code = NULL;
    if (json_array_size(change->values) != self->key_count) {
        refuse_change(change, "InvalidInputException", "The number of partition keys do not match the number of partition values");
        return NULL;
    }
    NL_TRY(find_partition(self, database, change->key, &row, &exists));
    if (self->kind == CREATE && exists) refuse_change(change, "AlreadyExistsException", "Partition already exists.");
    if (self->kind != CREATE && !exists) refuse_change(change, "EntityNotFoundException", "Partition not found.");
    if (self->kind == UPDATE && !change->code && !nl_str_equal(change->key, change->new_key)) {
        NL_TRY(find_partition(self, database, change->new_key, &row, &is_taken));
        if (is_taken) refuse_change(change, "AlreadyExistsException", "Partition already exists.");
    }
    return change->code ? NULL : write_change(self, database, change);
}

static nl_status change_work(void *argument, nl_sqlite *database)
{
    partition_work *self = argument;
    NL_TRY(find_table(self, database));
    for (uint32_t i = 0; i < self->change_count; i++) NL_TRY(change_one(self, database, &self->changes[i]));
    return NULL;
}

/* values: of the partition that is changed; input: of what it becomes. Either may be NULL. */
static nl_status read_change(nl_glue_call *call, const json_t *values, const json_t *input, partition_change *change)
{
    const json_t *new_values = json_object_get(input, "Values");
    if (!values) values = new_values;
    if (input && !new_values) new_values = values;
    if (!are_values(values) || (input && (!are_values(new_values) || json_array_size(values) != json_array_size(new_values))))
        return nl_glue_invalid(call, "The values of a partition are missing, or no texts");
    change->values = values;
    change->key = nl_glue_json_text(call->arena, values);
    change->new_key = input ? nl_glue_json_text(call->arena, new_values) : (nl_str){0};
    change->json = input ? nl_glue_json_text(call->arena, input) : (nl_str){0};
    return NULL;
}

static nl_status change_single(nl_glue_call *call, partition_kind kind, const json_t *values, const json_t *input)
{
    partition_change change = {0};
    partition_work work = {.kind = kind, .changes = &change, .change_count = 1};
    NL_TRY(names(call, &work));
    NL_TRY(read_change(call, values, input, &change));
    NL_TRY(nl_state_write(call->glue->tables->state, change_work, &work));
    return change.code ? nl_glue_refuse(call, change.code, "%s", change.message) : nl_glue_answer_nothing(call);
}

static nl_status change_batch(nl_glue_call *call, partition_kind kind, const char *list_key, size_t most, const char *error_key)
{
    partition_work work = {.kind = kind};
    const json_t *list;
    NL_TRY(names(call, &work));
    NL_TRY(nl_glue_need_list(call, list_key, most, &list));
    work.change_count = (uint32_t)json_array_size(list);
    work.changes = NL_NEW_ARRAY(call->arena, partition_change, (size_t)work.change_count + 1);
    for (uint32_t i = 0; i < work.change_count; i++) {
        const json_t *item = json_array_get(list, i), *input = json_object_get(item, "PartitionInput");
        if (kind == UPDATE) NL_TRY(read_change(call, json_object_get(item, "PartitionValueList"), input, &work.changes[i]));
        else NL_TRY(read_change(call, json_object_get(item, "Values"), kind == CREATE ? item : NULL, &work.changes[i]));
    }
    NL_TRY(nl_state_write(call->glue->tables->state, change_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Errors");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.change_count; i++) {
        if (!work.changes[i].code) continue;
        nl_json_begin(&json, '{');
        nl_json_key(&json, error_key);
        nl_json_write_json(&json, work.changes[i].values);
        nl_glue_write_failure(&json, work.changes[i].code, work.changes[i].message);
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_glue_end(call, &json);
    return NULL;
}

nl_status nl_glue_create_partition(nl_glue_call *call)
{
    const json_t *input;
    NL_TRY(nl_glue_need_object(call, "PartitionInput", &input));
    return change_single(call, CREATE, NULL, input);
}

nl_status nl_glue_batch_create_partition(nl_glue_call *call)
{
    return change_batch(call, CREATE, "PartitionInputList", 100, "PartitionValues");
}

nl_status nl_glue_update_partition(nl_glue_call *call)
{
    const json_t *input, *values;
    NL_TRY(nl_glue_need_object(call, "PartitionInput", &input));
    NL_TRY(nl_glue_need_list(call, "PartitionValueList", 100, &values));
    return change_single(call, UPDATE, values, input);
}

nl_status nl_glue_batch_update_partition(nl_glue_call *call)
{
    return change_batch(call, UPDATE, "Entries", 100, "PartitionValueList");
}

nl_status nl_glue_delete_partition(nl_glue_call *call)
{
    const json_t *values;
    NL_TRY(nl_glue_need_list(call, "PartitionValues", 100, &values));
    return change_single(call, DELETE, values, NULL);
}

nl_status nl_glue_batch_delete_partition(nl_glue_call *call)
{
    return change_batch(call, DELETE, "PartitionsToDelete", 25, "PartitionValues");
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static nl_status write_partition(const partition_work *work, nl_json_writer *json, const partition_row *row, bool without_columns)
{
    static const char *const own[] = {"DatabaseName", "TableName", "CreationTime", "CatalogId", "StorageDescriptor", NULL};
    static const char *const columns[] = {"Columns", NULL}, *const nothing[] = {NULL};
    const json_t *document, *storage;
    NL_TRY(nl_json_parse(work->call->arena, row->json, NL_STR("the data folder"), &document));
    storage = json_object_get(document, "StorageDescriptor");
    nl_json_begin(json, '{');
    nl_glue_write_members(json, document, own);
    if (storage) {
        nl_json_key(json, "StorageDescriptor");
        nl_json_begin(json, '{');
        nl_glue_write_members(json, storage, without_columns ? columns : nothing);
        nl_json_end(json, '}');
    }
    nl_glue_write_text(json, "DatabaseName", work->table.database);
    nl_glue_write_text(json, "TableName", work->table.name);
    nl_glue_write_text(json, "CatalogId", NL_STR(NL_GLUE_ACCOUNT));
    nl_glue_write_seconds(json, "CreationTime", row->created_micros);
    nl_json_end(json, '}');
    return NULL;
}

static nl_status is_wanted(const partition_work *self, nl_str key, bool *wanted)
{
    const json_t *values;
    nl_str texts[KEYS_MAX];
    NL_TRY(nl_json_parse(self->call->arena, key, NL_STR("the data folder"), &values));
    for (uint32_t i = 0; i < self->key_count; i++) texts[i] = nl_str_from(json_string_value(json_array_get(values, i)));
    return nl_glue_evaluate(self->call, self->expression, self->keys, texts, self->key_count, wanted);
}

static nl_status list_work(void *argument, nl_sqlite *database)
{
    partition_work *self = argument;
    nl_sqlite_statement *select;
    nl_arena *arena = self->call->arena;
    bool wanted;
    self->list = (nl_list){0};
    NL_TRY(find_table(self, database));
    NL_TRY(nl_glue_evaluate(self->call, self->expression, self->keys, NULL, self->key_count, &wanted));
    NL_TRY(nl_sqlite_prepare(database, "SELECT key, json, created_micros FROM glue_partitions WHERE table_id = ?1 AND key > ?2 AND id % ?3 = ?4 ORDER BY key", &select));
    nl_sqlite_bind_int(select, 1, self->table.id);
    nl_sqlite_bind_text(select, 2, self->after);
    nl_sqlite_bind_int(select, 3, self->segment_count);
    nl_sqlite_bind_int(select, 4, self->segment);
    for (bool has_row; self->list.count < self->count_max;) {
        NL_TRY(nl_sqlite_step(select, &has_row));
        if (!has_row) return nl_arena_check(arena);
        const nl_str key = nl_sqlite_text(select, 0, arena);
        nl_status status = is_wanted(self, key, &wanted);
        if (status) {
            nl_sqlite_reset(select);
            return status;
        }
        if (!wanted) continue;
        partition_row *row = NL_NEW(arena, partition_row);
        *row = (partition_row){key, nl_sqlite_text(select, 1, arena), nl_sqlite_int(select, 2)};
        nl_list_add(arena, &self->list, row);
    }
    nl_sqlite_reset(select);
    return nl_arena_check(arena);
}

nl_status nl_glue_get_partitions(nl_glue_call *call)
{
    partition_work work = {.segment_count = 1};
    const json_t *segment = json_object_get(call->body, "Segment");
    int64_t size;
    NL_TRY(names(call, &work));
    NL_TRY(nl_glue_page_size(call, 1000, &size));
    work.count_max = size + 1;
    work.expression = nl_glue_text(call->body, "Expression");
    work.after = nl_glue_text(call->body, "NextToken");
    if (!work.after.data) work.after = NL_STR("");
    if (json_is_object(segment)) {
        work.segment = (int64_t)json_integer_value(json_object_get(segment, "SegmentNumber"));
        work.segment_count = (int64_t)json_integer_value(json_object_get(segment, "TotalSegments"));
        if (work.segment_count < 1 || work.segment_count > 10 || work.segment < 0 || work.segment >= work.segment_count) return nl_glue_invalid(call, "Segment: the numbers are out of range");
    }
    NL_TRY(nl_state_read(call->glue->tables->state, list_work, &work));
    const bool without_columns = json_is_true(json_object_get(call->body, "ExcludeColumnSchema"));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Partitions");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count && i < size; i++) NL_TRY(write_partition(&work, &json, work.list.items[i], without_columns));
    nl_json_end(&json, ']');
    if (work.list.count > size) nl_glue_write_text(&json, "NextToken", ((const partition_row *)work.list.items[size - 1])->key);
    nl_glue_end(call, &json);
    return NULL;
}

static nl_status find_work(void *argument, nl_sqlite *database)
{
    partition_work *self = argument;
    self->list = (nl_list){0};
    NL_TRY(find_table(self, database));
    for (uint32_t i = 0; i < self->change_count; i++) {
        partition_row *row = NL_NEW(self->call->arena, partition_row);
        bool exists;
        NL_TRY(find_partition(self, database, self->changes[i].key, row, &exists));
        self->changes[i].code = exists ? NULL : "EntityNotFoundException";
        if (exists) nl_list_add(self->call->arena, &self->list, row);
    }
    return NULL;
}

nl_status nl_glue_get_partition(nl_glue_call *call)
{
    const json_t *values;
    partition_change change = {0};
    partition_work work = {.changes = &change, .change_count = 1};
    NL_TRY(names(call, &work));
    NL_TRY(nl_glue_need_list(call, "PartitionValues", 100, &values));
    NL_TRY(read_change(call, values, NULL, &change));
    NL_TRY(nl_state_read(call->glue->tables->state, find_work, &work));
    if (!work.list.count) return nl_glue_refuse(call, "EntityNotFoundException", "Cannot find partition.");
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Partition");
    NL_TRY(write_partition(&work, &json, work.list.items[0], false));
    nl_glue_end(call, &json);
    return NULL;
}

nl_status nl_glue_batch_get_partition(nl_glue_call *call)
{
    const json_t *list;
    partition_work work = {0};
    NL_TRY(names(call, &work));
    NL_TRY(nl_glue_need_list(call, "PartitionsToGet", 1000, &list));
    work.change_count = (uint32_t)json_array_size(list);
    work.changes = NL_NEW_ARRAY(call->arena, partition_change, (size_t)work.change_count + 1);
    for (uint32_t i = 0; i < work.change_count; i++) NL_TRY(read_change(call, json_object_get(json_array_get(list, i), "Values"), NULL, &work.changes[i]));
    NL_TRY(nl_state_read(call->glue->tables->state, find_work, &work));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Partitions");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < work.list.count; i++) NL_TRY(write_partition(&work, &json, work.list.items[i], false));
    nl_json_end(&json, ']');
    nl_json_key(&json, "UnprocessedKeys");
    nl_json_begin(&json, '['); /* what is not there is left out, as Glue does: nothing is unprocessed */
    nl_json_end(&json, ']');
    nl_glue_end(call, &json);
    return NULL;
}

/* None can be made here. */
nl_status nl_glue_get_partition_indexes(nl_glue_call *call)
{
    nl_glue_row row;
    NL_TRY(nl_glue_load_row(call, "TableName", &row));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "PartitionIndexDescriptorList");
    nl_json_begin(&json, '[');
    nl_json_end(&json, ']');
    nl_glue_end(call, &json);
    return NULL;
}
