/* catalog/rest/tables.c - tables of a REST catalog: listing, loading, making, dropping, renaming, registering. */
#include "catalog/rest/tables.h"

nl_str nl_remote_table_token(const nl_remote_table *table)
{
    for (uint32_t i = 0; i < table->config_count; i++)
        if (nl_str_is(table->config[i].key, "token")) return table->config[i].value;
    return (nl_str){0};
}

nl_status nl_remote_list_tables(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_LIST_TABLES));
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_NEW_TABLE, &(nl_identifier){parts, part_count, {0}});
    return nl_remote_list(catalog, session, nl_remote_namespace_path(arena, session, parts, part_count, "/tables"), (nl_str){0}, &subject, false, arena, list);
}

/* ---- Loading ---- */

/* No table lies outside of a namespace, and no path can say so. */
nl_status nl_remote_check_name(const nl_remote_catalog *catalog, const nl_identifier *identifier)
{
    bool is_bad = identifier->namespace_count == 0 || identifier->name.length == 0;
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        is_bad = is_bad || identifier->namespace_parts[i].length == 0;
    if (!is_bad) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, &catalog->base, identifier)));
    nl_arena_free(arena);
    return status;
}

static nl_status fetch(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_str path, nl_str etag, nl_str token, nl_arena *arena,
                       nl_remote_answer *answer)
{
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_TABLE, identifier);
    const nl_remote_request request = {.method = "GET", .path = path, .query = NL_STR("snapshots=all"), .etag = etag, .token = token};
    NL_TRY(nl_remote_send(catalog, session, &request, arena, answer));
    return nl_remote_is_good(answer) || answer->status == 304 ? NULL : nl_remote_failure(answer, &subject);
}

nl_status nl_remote_fetch_table(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_str token, nl_arena *arena,
                              nl_remote_table *table)
{
    nl_remote_answer answer;
    NL_TRY(nl_remote_check_name(catalog, identifier));
    NL_TRY(nl_remote_require(session, NL_REMOTE_LOAD_TABLE));
    const nl_str path = nl_remote_item_path(arena, session, identifier, "tables");
    const nl_str etag = nl_remote_cache_etag(catalog->cache, path, arena);
    nl_status status = fetch(catalog, session, identifier, path, etag, token, arena, &answer);
    if (!status && answer.status == 304) {
        if (nl_remote_cache_find(catalog->cache, path, etag, arena, table)) return NULL;
        status = fetch(catalog, session, identifier, path, (nl_str){0}, token, arena, &answer);
    }
    if (status) {
        nl_remote_cache_drop(catalog->cache, path);
        return status;
    }
    NL_TRY(nl_remote_table_read(arena, answer.json, catalog->base.memory, table));
    nl_remote_cache_put(catalog->cache, path, answer.etag, table);
    return NULL;
}

/* The handle of a table that an answer described. table->metadata is taken. */
static nl_status handle_of(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table, nl_arena *arena,
                           nl_iceberg_table **handle)
{
    nl_fs *fs = NULL;
    nl_table_store *store = NULL;
    const nl_str text = nl_identifier_text(arena, identifier);
    const nl_str name = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(catalog->base.name), NL_STR_ARG(text));
    nl_status status = nl_remote_table_fs(catalog, session, identifier, table, &fs);
    if (!status) status = nl_remote_store_new(catalog, session, identifier, table, &store);
    if (status) {
        if (fs) nl_fs_release(fs);
        nl_table_metadata_release(table->metadata);
        return status;
    }
    status = nl_iceberg_table_new(name, fs, store, table->metadata, catalog->base.memory, handle);
    nl_fs_release(fs);
    if (status) return status;
    (*handle)->manifest_cache = catalog->base.manifest_cache;
    (*handle)->environment = catalog->base.environment;
    return NULL;
}

static nl_status load_in(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_arena *arena, nl_iceberg_table **handle)
{
    const nl_remote_session *session;
    nl_remote_table table;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_fetch_table(catalog, session, identifier, (nl_str){0}, arena, &table));
    return handle_of(catalog, session, identifier, &table, arena, handle);
}

nl_status nl_remote_load_table(nl_catalog *self, const nl_identifier *identifier, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = load_in(nl_remote_of(self), identifier, arena, table);
    nl_arena_free(arena);
    return status;
}

/* ---- Making ---- */

static nl_status append_request(nl_builder *out, nl_arena *arena, const nl_identifier *identifier, const nl_table_request *request, const nl_table_creation *creation,
                                bool is_staged)
{
    static const nl_partition_spec unpartitioned = {0};
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "name");
    nl_json_write_text(&writer, identifier->name);
    if (request->location.length) {
        nl_json_key(&writer, "location");
        nl_json_write_text(&writer, request->location);
    }
    nl_json_key(&writer, "schema");
    nl_json_before_value(&writer);
    nl_schema_append_json(request->schema, out);
    nl_json_after_value(&writer);
    nl_json_key(&writer, "partition-spec");
    nl_json_before_value(&writer);
    nl_partition_spec_append_json(creation->spec ? creation->spec : &unpartitioned, out);
    nl_json_after_value(&writer);
    if (request->sort_order && request->sort_order->field_count) {
        nl_sort_order order = *request->sort_order;
        order.order_id = NL_MAX(order.order_id, 1); /* 0 is the unsorted order's */
        nl_json_key(&writer, "write-order");
        nl_json_before_value(&writer);
        nl_sort_order_append_json(&order, out);
        nl_json_after_value(&writer);
    }
    nl_json_key(&writer, "properties");
    nl_remote_append_properties(&writer, creation->properties, creation->property_count);
    nl_json_key(&writer, "stage-create");
    nl_json_write_bool(&writer, is_staged);
    nl_json_end(&writer, '}');
    return nl_builder_failed(out) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The description of the new table is larger than %zu bytes", out->limit) : nl_arena_check(arena);
}

/* Nobody knows whether it was made: an empty table of the very columns asked for, not there before, is ours. */
static bool is_ours(const nl_table_metadata *metadata, const nl_table_request *request, int64_t start_ms)
{
    const nl_ice_type *made = nl_table_schema(metadata)->root, *wanted = request->schema->root;
    if (metadata->snapshot_count || metadata->last_updated_ms < start_ms - 60000 || made->field_count != wanted->field_count) return false;
    for (uint32_t i = 0; i < made->field_count; i++)
        if (!nl_str_equal(made->fields[i].name, wanted->fields[i].name) || made->fields[i].type->id != wanted->fields[i].type->id) return false;
    return true;
}

/* POST …/tables, and once more when the answer got lost and the table is not there. table->metadata counted. */
static nl_status post_table(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_table_request *request,
                            const nl_remote_request *http, bool is_staged, nl_arena *arena, nl_remote_table *table)
{
    nl_remote_answer answer;
    const int64_t start_ms = nl_now_micros() / 1000;
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_NEW_TABLE, identifier);
    nl_status status = nl_remote_ask(catalog, session, http, &subject, arena, &answer);
    const bool is_lost = status && (nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE || nl_error_condition(status) == NL_COND_NILAS_SERVICE_UNAVAILABLE);
    if (!status) return nl_remote_table_read(arena, answer.json, catalog->base.memory, table);
    if (!is_lost || is_staged) return status;
    nl_error *error = nl_remote_fetch_table(catalog, session, identifier, (nl_str){0}, arena, table);
    if (!error && is_ours(table->metadata, request, start_ms)) {
        nl_error_free(status);
        return NULL;
    }
    if (!error) nl_table_metadata_release(table->metadata);
    const bool is_absent = error && nl_error_condition(error) == NL_COND_TABLE_OR_VIEW_NOT_FOUND;
    nl_error_free(error);
    if (!is_absent) return status;
    nl_error_free(status);
    NL_TRY(nl_remote_ask(catalog, session, http, &subject, arena, &answer));
    return nl_remote_table_read(arena, answer.json, catalog->base.memory, table);
}

static nl_status ask_for_table(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_table_request *request, bool is_staged,
                               nl_arena *arena, nl_remote_table *table)
{
    nl_builder body;
    nl_table_creation creation;
    NL_TRY(nl_remote_require(session, NL_REMOTE_CREATE_TABLE));
    if (!identifier->namespace_count) return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Invalid namespace: a table of a REST catalog lies in one");
    NL_TRY(nl_table_creation_make(session->properties, session->property_count, request, request->location, arena, &creation));
    nl_builder_init(&body, NL_METADATA_BYTES_MAX);
    nl_status status = append_request(&body, arena, identifier, request, &creation, is_staged);
    const nl_remote_request http = {.method = "POST", .body = nl_builder_str(&body),
                                  .path = nl_remote_namespace_path(arena, session, identifier->namespace_parts, identifier->namespace_count, "/tables"),
                                  .is_idempotent = is_staged};
    if (!status) status = post_table(catalog, session, identifier, request, &http, is_staged, arena, table);
    nl_builder_fini(&body);
    return status;
}

static nl_status create_in(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_iceberg_table **handle)
{
    const nl_remote_session *session;
    nl_remote_table table;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(ask_for_table(catalog, session, identifier, request, false, arena, &table));
    return handle_of(catalog, session, identifier, &table, arena, handle);
}

nl_status nl_remote_create_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = create_in(nl_remote_of(self), identifier, request, arena, table);
    nl_arena_free(arena);
    return status;
}

/* The place and the store of a table that an answer described; its metadata is released. */
static nl_status place_of(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table, nl_arena *arena, nl_fs **fs,
                          nl_table_store **store, nl_str *location)
{
    nl_status status = nl_remote_table_fs(catalog, session, identifier, table, fs);
    if (!status) status = nl_remote_store_new(catalog, session, identifier, table, store);
    if (!status) *location = nl_arena_str(arena, table->metadata->location);
    else if (*fs) nl_fs_release(*fs);
    nl_table_metadata_release(table->metadata);
    return status;
}

nl_status nl_remote_stage_table(nl_catalog *self, const nl_identifier *identifier, const nl_table_request *request, nl_arena *arena, nl_fs **fs, nl_table_store **store,
                              nl_str *location)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    nl_remote_table table;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(ask_for_table(catalog, session, identifier, request, true, arena, &table));
    return place_of(catalog, session, identifier, &table, arena, fs, store, location);
}

/* Of a table that is replaced. */
nl_status nl_remote_new_table(nl_catalog *self, const nl_identifier *identifier, nl_str location, nl_arena *arena, nl_fs **fs, nl_table_store **store, nl_str *table_location)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    nl_remote_table table;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_fetch_table(catalog, session, identifier, (nl_str){0}, arena, &table));
    NL_TRY(place_of(catalog, session, identifier, &table, arena, fs, store, table_location));
    if (location.length) *table_location = nl_arena_str(arena, location);
    return NULL;
}

static nl_status register_in(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str metadata_file, nl_arena *arena, nl_iceberg_table **handle)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    nl_remote_table table;
    nl_builder body;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_REGISTER_TABLE));
    nl_builder_init(&body, 1 << 20);
    nl_json_writer writer = {.out = &body};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "name");
    nl_json_write_text(&writer, identifier->name);
    nl_json_key(&writer, "metadata-location");
    nl_json_write_text(&writer, metadata_file);
    nl_json_end(&writer, '}');
    const nl_remote_request request = {.method = "POST", .body = nl_builder_str(&body),
                                     .path = nl_remote_namespace_path(arena, session, identifier->namespace_parts, identifier->namespace_count, "/register")};
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_NEW_TABLE, identifier);
    nl_status status = nl_remote_ask(catalog, session, &request, &subject, arena, &answer);
    nl_builder_fini(&body);
    if (!status) status = nl_remote_table_read(arena, answer.json, catalog->base.memory, &table);
    return status ? status : handle_of(catalog, session, identifier, &table, arena, handle);
}

nl_status nl_remote_register_table(nl_catalog *self, const nl_identifier *identifier, nl_str metadata_file, nl_iceberg_table **table)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = register_in(nl_remote_of(self), identifier, metadata_file, arena, table);
    nl_arena_free(arena);
    return status;
}

/* ---- Dropping and renaming: the same for tables and views ---- */

nl_status nl_remote_exists(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_remote_item_kind *kind, bool *exists)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    *exists = false;
    nl_error *error = nl_remote_check_name(catalog, identifier);
    if (error) {
        nl_error_free(error);
        return NULL;
    }
    NL_TRY(nl_remote_session_of(catalog, &session));
    nl_arena *arena = nl_arena_new(catalog->base.memory);
    /* Where HEAD is not offered the whole is loaded. */
    const bool has_head = nl_remote_offers(session, kind->exists);
    const nl_remote_request request = {.method = has_head ? "HEAD" : "GET", .path = nl_remote_item_path(arena, session, identifier, kind->path)};
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_TABLE, identifier);
    nl_status status = nl_remote_send(catalog, session, &request, arena, &answer);
    if (!status && !nl_remote_is_good(&answer) && answer.status != 404) status = nl_remote_failure(&answer, &subject);
    if (!status) *exists = answer.status != 404;
    nl_arena_free(arena);
    return status;
}

nl_status nl_remote_drop(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_remote_item_kind *kind, nl_str query, bool *was_dropped)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    *was_dropped = false;
    NL_TRY(nl_remote_check_name(catalog, identifier));
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, kind->drop));
    nl_arena *arena = nl_arena_new(catalog->base.memory);
    const nl_str path = nl_remote_item_path(arena, session, identifier, kind->path);
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_TABLE, identifier);
    nl_status status = nl_remote_delete(catalog, session, path, query, arena, &answer, was_dropped);
    nl_remote_cache_drop(catalog->cache, path);
    if (!status && !nl_remote_is_good(&answer) && answer.status != 404) status = nl_remote_failure(&answer, &subject);
    nl_arena_free(arena);
    return status;
}

nl_status nl_remote_drop_table(nl_catalog *self, const nl_identifier *identifier, bool is_purge, bool *was_dropped)
{
    return nl_remote_drop(nl_remote_of(self), identifier, &nl_remote_tables, is_purge ? NL_STR("purgeRequested=true") : NL_STR("purgeRequested=false"), was_dropped);
}

/* Nobody knows whether it was done: it was when only the new name is there. */
static nl_status check_renamed(nl_remote_catalog *catalog, const nl_identifier *from, const nl_identifier *to, const nl_remote_item_kind *kind, nl_status unknown)
{
    bool has_old = true, has_new = false;
    nl_error *error = nl_remote_exists(catalog, from, kind, &has_old);
    if (!error) error = nl_remote_exists(catalog, to, kind, &has_new);
    const bool is_done = !error && !has_old && has_new;
    nl_error_free(error);
    if (!is_done) return unknown;
    nl_error_free(unknown);
    return NULL;
}

static nl_status rename_failure(nl_arena *arena, nl_remote_catalog *catalog, const nl_remote_session *session, const nl_remote_answer *answer, const nl_identifier *from,
                                const nl_identifier *to)
{
    nl_remote_error error;
    nl_remote_error_read(arena, answer->body, &error);
    const bool is_target = answer->status == 409 || nl_str_is(error.type, "NoSuchNamespaceException");
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, is_target ? NL_REMOTE_NEW_TABLE : NL_REMOTE_TABLE, is_target ? to : from);
    return nl_remote_failure(answer, &subject);
}

nl_status nl_remote_rename(nl_remote_catalog *catalog, const nl_identifier *from, const nl_identifier *to, const nl_remote_item_kind *kind)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    nl_builder body;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, kind->rename));
    nl_arena *arena = nl_arena_new(catalog->base.memory);
    nl_builder_init(&body, 1 << 20);
    nl_json_writer writer = {.out = &body};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "source");
    nl_remote_append_identifier(&writer, from);
    nl_json_key(&writer, "destination");
    nl_remote_append_identifier(&writer, to);
    nl_json_end(&writer, '}');
    const nl_remote_request request = {.method = "POST", .path = nl_arena_f(arena, NL_STR_FMT "%s/rename", NL_STR_ARG(session->prefix), kind->path),
                                     .body = nl_builder_str(&body)};
    nl_status status = nl_remote_send(catalog, session, &request, arena, &answer);
    if (!status && !nl_remote_is_good(&answer)) status = rename_failure(arena, catalog, session, &answer, from, to);
    if (status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) status = check_renamed(catalog, from, to, kind, status);
    nl_remote_cache_drop(catalog->cache, nl_remote_item_path(arena, session, from, kind->path));
    nl_remote_cache_drop(catalog->cache, nl_remote_item_path(arena, session, to, kind->path));
    nl_builder_fini(&body);
    nl_arena_free(arena);
    return status;
}

nl_status nl_remote_rename_table(nl_catalog *self, const nl_identifier *from, const nl_identifier *to)
{
    return nl_remote_rename(nl_remote_of(self), from, to, &nl_remote_tables);
}

nl_status nl_remote_table_exists(nl_catalog *self, const nl_identifier *identifier, bool *exists)
{
    return nl_remote_exists(nl_remote_of(self), identifier, &nl_remote_tables, exists);
}
