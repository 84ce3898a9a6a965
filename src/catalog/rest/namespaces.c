/* catalog/rest/namespaces.c - namespaces of a REST catalog. */
#include "catalog/rest/rest_private.h"

static nl_remote_subject subject_of(nl_arena *arena, const nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count)
{
    const nl_identifier identifier = {.namespace_parts = parts, .namespace_count = part_count};
    return nl_remote_subject_of(arena, catalog, session, NL_REMOTE_NAMESPACE, &identifier);
}

/* Listing what is not there is Iceberg's own error, as with every other catalog. */
static nl_status as_missing(nl_status status, const nl_str *parts, uint32_t part_count)
{
    if (!status || nl_error_condition(status) != NL_COND_SCHEMA_NOT_FOUND) return status;
    nl_error_free(status);
    return NL_RAISE_TEXT(NILAS_NO_SUCH_NAMESPACE, "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(parts[part_count - 1]));
}

nl_status nl_remote_list_namespaces(nl_catalog *self, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    nl_str query = {0};
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_LIST_NAMESPACES));
    if (parent_count) {
        const nl_str text = nl_remote_namespace_text(arena, session, parent, parent_count);
        query = nl_arena_f(arena, "parent=" NL_STR_FMT, NL_STR_ARG(text));
    }
    const nl_remote_subject subject = subject_of(arena, catalog, session, parent, parent_count);
    const nl_str path = nl_arena_f(arena, NL_STR_FMT "namespaces", NL_STR_ARG(session->prefix));
    nl_status status = nl_remote_list(catalog, session, path, query, &subject, true, arena, list);
    return parent_count ? as_missing(status, parent, parent_count) : status;
}

static nl_status load_properties(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena,
                                 const nl_property **properties, uint32_t *property_count)
{
    nl_remote_answer answer;
    const nl_remote_subject subject = subject_of(arena, catalog, session, parts, part_count);
    const nl_remote_request request = {.method = "GET", .path = nl_remote_namespace_path(arena, session, parts, part_count, "")};
    NL_TRY(nl_remote_ask(catalog, session, &request, &subject, arena, &answer));
    return nl_remote_namespace_read(arena, answer.json, properties, property_count);
}

nl_status nl_remote_namespace_properties(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties, uint32_t *property_count)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_LOAD_NAMESPACE));
    if (part_count == 0) return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", nl_remote_quoted(arena, catalog, NULL, 0, (nl_str){0})));
    return load_properties(catalog, session, parts, part_count, arena, properties, property_count);
}

static void append_body(nl_builder *out, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "namespace");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < part_count; i++)
        nl_json_write_text(&writer, parts[i]);
    nl_json_end(&writer, ']');
    nl_json_key(&writer, "properties");
    nl_remote_append_properties(&writer, properties, property_count);
    nl_json_end(&writer, '}');
}

/* Nobody knows whether it was made: when it is there now and was not before, it is what was asked for. */
static nl_status check_created(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_status unknown)
{
    const nl_property *properties;
    uint32_t property_count;
    nl_error *error = load_properties(catalog, session, parts, part_count, arena, &properties, &property_count);
    if (error) {
        nl_error_free(error);
        return unknown;
    }
    nl_error_free(unknown);
    return NULL;
}

static nl_status create_in(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, const nl_property *properties,
                           uint32_t property_count, nl_arena *arena)
{
    nl_builder body;
    nl_remote_answer answer;
    const nl_remote_subject subject = subject_of(arena, catalog, session, parts, part_count);
    nl_builder_init(&body, 1 << 22);
    append_body(&body, parts, part_count, properties, property_count);
    const nl_remote_request request = {.method = "POST", .path = nl_arena_f(arena, NL_STR_FMT "namespaces", NL_STR_ARG(session->prefix)), .body = nl_builder_str(&body)};
    nl_status status = nl_remote_ask(catalog, session, &request, &subject, arena, &answer);
    nl_builder_fini(&body);
    if (status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) status = check_created(catalog, session, parts, part_count, arena, status);
    return status;
}

nl_status nl_remote_create_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_CREATE_NAMESPACE));
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = create_in(catalog, session, parts, part_count, properties, property_count, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status drop_in(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, bool *was_dropped)
{
    nl_remote_answer answer;
    const nl_remote_subject subject = subject_of(arena, catalog, session, parts, part_count);
    NL_TRY(nl_remote_delete(catalog, session, nl_remote_namespace_path(arena, session, parts, part_count, ""), (nl_str){0}, arena, &answer, was_dropped));
    if (nl_remote_is_good(&answer) || answer.status == 404) return NULL;
    if (answer.status == 409) {
        nl_remote_error error;
        nl_remote_error_read(arena, answer.body, &error);
        return NL_RAISE_TEXT(NILAS_NAMESPACE_NOT_EMPTY, NL_STR_FMT, NL_STR_ARG(error.message));
    }
    return nl_remote_failure(&answer, &subject);
}

nl_status nl_remote_drop_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, bool *was_dropped)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_DROP_NAMESPACE));
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = drop_in(catalog, session, parts, part_count, arena, was_dropped);
    nl_arena_free(arena);
    return status;
}

static nl_status update_in(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, nl_str body, nl_arena *arena)
{
    nl_remote_answer answer;
    const nl_remote_subject subject = subject_of(arena, catalog, session, parts, part_count);
    /* Setting the same once more changes nothing. */
    const nl_remote_request request = {.method = "POST", .path = nl_remote_namespace_path(arena, session, parts, part_count, "/properties"), .body = body, .is_idempotent = true};
    return nl_remote_ask(catalog, session, &request, &subject, arena, &answer);
}

nl_status nl_remote_update_namespace(nl_catalog *self, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                   uint32_t removed_count)
{
    nl_remote_catalog *catalog = nl_remote_of(self);
    const nl_remote_session *session;
    nl_builder body;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_UPDATE_NAMESPACE));
    nl_builder_init(&body, 1 << 22);
    nl_json_writer writer = {.out = &body};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "removals");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < removed_count; i++)
        nl_json_write_text(&writer, removed[i]);
    nl_json_end(&writer, ']');
    nl_json_key(&writer, "updates");
    nl_remote_append_properties(&writer, set, set_count);
    nl_json_end(&writer, '}');
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = update_in(catalog, session, parts, part_count, nl_builder_str(&body), arena);
    nl_arena_free(arena);
    nl_builder_fini(&body);
    return status;
}
