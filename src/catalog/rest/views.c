/* catalog/rest/views.c - views of a REST catalog. A server that does not offer them has none. */
#include "catalog/rest/tables.h"
#include "catalog/rest/views.h"

nl_status nl_remote_list_views(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(catalog, &session));
    *list = (nl_name_list){0};
    if (!nl_remote_offers(session, NL_REMOTE_LIST_VIEWS)) return NULL;
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_NEW_VIEW, &(nl_identifier){parts, part_count, {0}});
    return nl_remote_list(catalog, session, nl_remote_namespace_path(arena, session, parts, part_count, "/views"), (nl_str){0}, &subject, false, arena, list);
}

static nl_status load_in(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_arena *arena, const nl_view_metadata **view)
{
    nl_remote_answer answer;
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_VIEW, identifier);
    const nl_remote_request request = {.method = "GET", .path = nl_remote_item_path(arena, session, identifier, "views")};
    NL_TRY(nl_remote_ask(catalog, session, &request, &subject, arena, &answer));
    return nl_remote_view_read(arena, answer.json, catalog->base.memory, view);
}

nl_status nl_remote_load_view(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata **view)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_check_name(catalog, identifier));
    NL_TRY(nl_remote_session_of(catalog, &session));
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status;
    if (!nl_remote_offers(session, NL_REMOTE_LOAD_VIEW)) status = NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_quoted_identifier(arena, self, identifier)));
    else status = load_in(catalog, session, identifier, arena, view);
    nl_arena_free(arena);
    return status;
}

static void append_creation(nl_builder *out, const nl_identifier *identifier, const nl_view_metadata *view)
{
    nl_json_writer writer = {.out = out};
    nl_view_version version = *nl_view_current_version(view);
    version.schema_id = nl_view_schema(view)->schema_id;
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "name");
    nl_json_write_text(&writer, identifier->name);
    nl_json_key(&writer, "schema");
    nl_json_before_value(&writer);
    nl_schema_append_json(nl_view_schema(view), out);
    nl_json_after_value(&writer);
    nl_json_key(&writer, "view-version");
    nl_json_before_value(&writer);
    nl_view_version_append_json(&version, out);
    nl_json_after_value(&writer);
    nl_json_key(&writer, "properties");
    nl_remote_append_properties(&writer, view->properties, view->property_count);
    nl_json_end(&writer, '}');
}

static bool has_version(const nl_view_metadata *view, int32_t version_id)
{
    bool is_there = false;
    for (uint32_t i = 0; i < view->version_count; i++)
        is_there = is_there || view->versions[i].version_id == version_id;
    return is_there;
}

static bool has_schema(const nl_view_metadata *view, int32_t schema_id)
{
    bool is_there = false;
    for (uint32_t i = 0; i < view->schema_count; i++)
        is_there = is_there || view->schemas[i]->schema_id == schema_id;
    return is_there;
}

/* An update with the ids that it leads to, as Java's client sends them: its server takes a new version's own id for granted
 * when its schema is "the one added last", and does not count a version that was there already as added; Nessie takes
 * schemas by their ids, and none twice. False: nothing is to be sent. */
static bool with_ids(const nl_view_update *update, const nl_view_metadata *base, const nl_view_metadata *updated, nl_view_version *version, nl_schema *schema,
                     nl_view_update *sent)
{
    const int32_t schema_id = nl_view_schema(updated)->schema_id;
    const bool is_known = has_schema(base, schema_id);
    *sent = *update;
    if (update->kind == NL_VIEW_ADD_SCHEMA) {
        *schema = *update->schema;
        schema->schema_id = schema_id;
        sent->schema = schema;
        return !is_known;
    }
    if (update->kind == NL_VIEW_ADD_VERSION) {
        *version = *update->version;
        version->version_id = updated->current_version_id;
        if (is_known) version->schema_id = schema_id;
        sent->version = version;
    }
    if (update->kind == NL_VIEW_SET_CURRENT_VERSION && update->number == -1 && has_version(base, updated->current_version_id)) sent->number = updated->current_version_id;
    return true;
}

static void append_change(nl_builder *out, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated, const nl_view_update *updates,
                          uint32_t update_count)
{
    nl_json_writer writer = {.out = out};
    nl_view_version version;
    nl_view_update sent;
    nl_schema schema;
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "identifier");
    nl_remote_append_identifier(&writer, identifier);
    nl_json_key(&writer, "requirements");
    nl_json_begin(&writer, '[');
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "type");
    nl_json_write_text(&writer, NL_STR("assert-view-uuid"));
    nl_json_key(&writer, "uuid");
    nl_json_write_text(&writer, base->uuid);
    nl_json_end(&writer, '}');
    nl_json_end(&writer, ']');
    nl_json_key(&writer, "updates");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < update_count; i++) {
        if (!with_ids(&updates[i], base, updated, &version, &schema, &sent)) continue;
        nl_json_before_value(&writer);
        nl_view_update_append_json(&sent, out);
        nl_json_after_value(&writer);
    }
    nl_json_end(&writer, ']');
    nl_json_end(&writer, '}');
}

/* The answer got lost: the view that was wanted has the same text in force and the same properties. */
static bool is_same(const nl_view_metadata *view, const nl_view_metadata *wanted)
{
    const nl_view_version *made = nl_view_current_version(view), *sought = nl_view_current_version(wanted);
    if (!made || !sought || made->representation_count != sought->representation_count) return false;
    for (uint32_t i = 0; i < sought->representation_count; i++) {
        const nl_view_representation *text = nl_view_representation_of(view, sought->representations[i].dialect);
        if (!text || !nl_str_equal(text->sql, sought->representations[i].sql)) return false;
    }
    for (uint32_t i = 0; i < wanted->property_count; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < view->property_count && !is_there; k++)
            is_there = nl_str_equal(view->properties[k].key, wanted->properties[i].key) && nl_str_equal(view->properties[k].value, wanted->properties[i].value);
        if (!is_there) return false;
    }
    return true;
}

static nl_status settle(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_view_metadata *wanted, nl_arena *arena,
                        nl_status unknown, const nl_view_metadata **committed)
{
    const nl_view_metadata *view = NULL;
    nl_error *error = load_in(catalog, session, identifier, arena, &view);
    if (!error && is_same(view, wanted)) {
        nl_error_free(unknown);
        *committed = view;
        return NULL;
    }
    if (!error) nl_view_metadata_release(view);
    nl_error_free(error);
    nl_error_set_kind(unknown, NL_KIND_UNKNOWN_STATE);
    return unknown;
}

typedef struct view_commit {
    const nl_identifier *identifier;
    const nl_view_metadata *base, *updated;
    const nl_view_update *updates;
    uint32_t update_count;
} view_commit;

static nl_status commit_in(nl_remote_catalog *catalog, const view_commit *c, nl_builder *body, nl_arena *arena, const nl_view_metadata **committed)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, c->base ? NL_REMOTE_COMMIT_VIEW : NL_REMOTE_CREATE_VIEW));
    if (c->base) append_change(body, c->identifier, c->base, c->updated, c->updates, c->update_count);
    else append_creation(body, c->identifier, c->updated);
    if (nl_builder_failed(body)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The view is larger than %zu bytes", body->limit);
    const nl_str path = c->base ? nl_remote_item_path(arena, session, c->identifier, "views")
                                : nl_remote_namespace_path(arena, session, c->identifier->namespace_parts, c->identifier->namespace_count, "/views");
    const nl_remote_request request = {.method = "POST", .path = path, .body = nl_builder_str(body), .is_commit = true};
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, c->base ? NL_REMOTE_COMMIT : NL_REMOTE_NEW_VIEW, c->identifier);
    nl_status status = nl_remote_ask(catalog, session, &request, &subject, arena, &answer);
    if (!status) return nl_remote_view_read(arena, answer.json, catalog->base.memory, committed);
    const nl_error_kind kind = nl_error_kind_of(status);
    const bool is_lost = kind == NL_KIND_UNKNOWN_STATE || (kind == NL_KIND_RETRY && nl_error_condition(status) != NL_COND_NILAS_COMMIT_FAILED);
    return is_lost ? settle(catalog, session, c->identifier, c->updated, arena, status, committed) : status;
}

nl_status nl_remote_commit_view(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated, const nl_view_update *updates,
                              uint32_t update_count, const nl_view_metadata **committed)
{
    nl_builder body;
    const view_commit c = {identifier, base, updated, updates, update_count};
    nl_arena *arena = nl_arena_new(self->memory);
    nl_builder_init(&body, NL_METADATA_BYTES_MAX);
    nl_status status = commit_in(nl_remote_of(self), &c, &body, arena, committed);
    nl_builder_fini(&body);
    nl_arena_free(arena);
    return status;
}

nl_status nl_remote_drop_view(nl_catalog *self, const nl_identifier *identifier, bool *was_dropped)
{
    const nl_remote_session *session;
    *was_dropped = false;
    NL_TRY(nl_remote_session_of(nl_remote_of(self), &session));
    return nl_remote_offers(session, NL_REMOTE_DROP_VIEW) ? nl_remote_drop(nl_remote_of(self), identifier, &nl_remote_views, (nl_str){0}, was_dropped) : NULL;
}

nl_status nl_remote_rename_view(nl_catalog *self, const nl_identifier *from, const nl_identifier *to)
{
    return nl_remote_rename(nl_remote_of(self), from, to, &nl_remote_views);
}

/* What a view's metadata holds until the server, which is not told it, chooses a place. */
nl_status nl_remote_default_location(nl_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_str *location)
{
    const nl_str text = nl_identifier_text(arena, identifier);
    *location = nl_arena_f(arena, "rest:" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(self->name), NL_STR_ARG(text));
    return nl_arena_check(arena);
}
