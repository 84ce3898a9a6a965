/* catalog/rest/vended.c - the file system of one table: the catalog's own, or above it one with the properties and the
 * credentials that the server hands out with the table. Credentials go by the longest prefix of a path; those that end are
 * asked for again five minutes before (GET …/credentials, or the table once more).
 *
 * A file that is open keeps the file system it was opened in, so earlier ones live as long as this one.
 */
#include "catalog/rest/rest_private.h"
#include "storage/filesystem_ops.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/log.h"
#include "base/number.h"

#define REFRESH_BEFORE_MICROS 300000000
#define AGAIN_MICROS          60000000 /* after a renewal that failed */
#define GENERATIONS_MAX       100000   /* of credentials in the life of a table's handle */

typedef struct route {
    nl_str prefix; /* in the generation's arena; empty: every path */
    nl_fs *fs;     /* counted */
    bool is_signed; /* by the server: a signature is for one object, not for a list of them */
} route;

typedef struct generation { /* what one answer brought */
    struct generation *previous;
    nl_arena *arena;
    route *routes;
    uint32_t route_count;
} generation;

typedef struct vended_fs {
    nl_fs base;
    nl_remote_catalog *catalog; /* retained */
    nl_arena *arena;          /* owned: identifier, config */
    nl_identifier identifier;
    nl_str token, endpoint;   /* endpoint: client.refresh-credentials-endpoint or empty */
    const nl_property *config;
    uint32_t config_count;
    nl_mutex mutex;
    generation *current;      /* guarded; owned, with those before */
    uint32_t generation_count;
    int64_t refresh_micros;   /* guarded; NL_NONE: never */
} vended_fs;

static vended_fs *vended_of(nl_fs *fs)
{
    return NL_CONTAINER(fs, vended_fs, base);
}

static nl_str find_property(const nl_property *properties, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(properties[i].key, key)) return properties[i].value;
    return (nl_str){0};
}

static void generation_free(generation *g)
{
    for (uint32_t i = 0; i < g->route_count; i++)
        nl_fs_release(g->routes[i].fs);
    nl_arena_free(g->arena);
}

/* The earliest end of any credential, in microseconds; NL_NONE: none ends. */
static int64_t end_of(const nl_property *config, uint32_t config_count, const nl_remote_credential *credentials, uint32_t credential_count)
{
    int64_t end = NL_NONE, ms;
    for (uint32_t i = 0; i <= credential_count; i++) {
        const nl_property *properties = i < credential_count ? credentials[i].config : config;
        const nl_str text = find_property(properties, i < credential_count ? credentials[i].config_count : config_count, "s3.session-token-expires-at-ms");
        if (!text.length || !nl_parse_int64(text, &ms) || ms < 0 || ms > INT64_MAX / 1000) continue;
        if (end == NL_NONE || ms * 1000 < end) end = ms * 1000;
    }
    return end;
}

/* Signed requests are for S3 alone: the route before it keeps the other paths. */
static nl_status add_signed_route(generation *g, nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_property *config,
                                  uint32_t config_count, nl_str token)
{
    nl_property *all = NL_NEW_ARRAY(g->arena, nl_property, (size_t)session->property_count + config_count + 1);
    memcpy(all, session->properties, session->property_count * sizeof(*all));
    if (config_count) memcpy(all + session->property_count, config, config_count * sizeof(*all));
    route *r = &g->routes[g->route_count];
    NL_TRY(nl_remote_signed_fs(catalog, session, identifier, all, session->property_count + config_count, token, &r->fs));
    r->prefix = NL_STR("s3");
    r->is_signed = true;
    g->route_count++;
    return NULL;
}

static nl_status add_route(generation *g, const nl_remote_session *session, const nl_property *config, uint32_t config_count, const nl_remote_credential *credential,
                           nl_memory *memory)
{
    const uint32_t more = credential ? credential->config_count : 0;
    nl_property *all = NL_NEW_ARRAY(g->arena, nl_property, (size_t)config_count + more + 1);
    if (config_count) memcpy(all, config, config_count * sizeof(*all));
    uint32_t count = config_count;
    for (uint32_t i = 0; i < more; i++) {
        uint32_t at = 0;
        while (at < count && !nl_str_equal(all[at].key, credential->config[i].key))
            at++;
        all[at] = credential->config[i];
        count = NL_MAX(count, at + 1);
    }
    route *r = &g->routes[g->route_count];
    NL_TRY(nl_fs_with_properties(session->fs, all, count, memory, &r->fs));
    r->prefix = credential ? nl_arena_str(g->arena, credential->prefix) : (nl_str){0};
    g->route_count++;
    return NULL;
}

static nl_status make_generation(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_property *config, uint32_t config_count, const nl_remote_credential *credentials,
                                 uint32_t credential_count, nl_str token, generation **made)
{
    nl_memory *memory = catalog->base.memory;
    nl_arena *arena = nl_arena_new(memory);
    generation *g = NL_NEW(arena, generation);
    g->arena = arena;
    g->routes = NL_NEW_ARRAY(arena, route, (size_t)credential_count + 2);
    nl_status status = add_route(g, session, config, config_count, NULL, memory);
    if (!status && (nl_remote_signs(config, config_count) || nl_remote_signs(session->properties, session->property_count)))
        status = add_signed_route(g, catalog, session, identifier, config, config_count, token);
    for (uint32_t i = 0; i < credential_count && !status; i++)
        status = add_route(g, session, config, config_count, &credentials[i], memory);
    if (status) generation_free(g);
    else *made = g;
    return status;
}

static void publish(vended_fs *self, generation *g, int64_t end_micros)
{
    nl_mutex_lock(&self->mutex);
    if (g) {
        g->previous = self->current;
        self->current = g;
        self->generation_count++;
    }
    self->refresh_micros = end_micros == NL_NONE ? NL_NONE : NL_MAX(end_micros - REFRESH_BEFORE_MICROS, nl_now_micros() + (g ? 0 : AGAIN_MICROS));
    nl_mutex_unlock(&self->mutex);
}

/* New credentials: from the endpoint named or advertised, else with the table itself. */
static nl_status ask_credentials(vended_fs *self, const nl_remote_session *session, nl_arena *arena, const nl_remote_credential **credentials, uint32_t *credential_count,
                                 const nl_property **config, uint32_t *config_count)
{
    nl_remote_answer answer;
    const nl_remote_subject subject = nl_remote_subject_of(arena, self->catalog, session, NL_REMOTE_TABLE, &self->identifier);
    const nl_str path = nl_remote_item_path(arena, session, &self->identifier, "tables");
    nl_remote_request request = {.method = "GET", .path = path, .token = self->token};
    const bool is_whole = nl_str_find(self->endpoint, NL_STR("://"), 0) != NL_NOT_FOUND;
    *config = self->config;
    *config_count = self->config_count;
    if (self->endpoint.length) {
        const nl_str below = self->endpoint.data[0] == '/' ? nl_str_slice(self->endpoint, 1, self->endpoint.length) : self->endpoint;
        request.path = is_whole ? self->endpoint : nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(session->uri), NL_STR_ARG(below));
    } else if (nl_remote_offers(session, NL_REMOTE_CREDENTIALS)) {
        request.path = nl_arena_f(arena, NL_STR_FMT "/credentials", NL_STR_ARG(path));
    }
    NL_TRY(nl_remote_ask(self->catalog, session, &request, &subject, arena, &answer));
    if (!nl_str_equal(request.path, path)) return nl_remote_credentials_read(arena, answer.json, credentials, credential_count);
    nl_remote_table table;
    NL_TRY(nl_remote_table_read(arena, answer.json, self->catalog->base.memory, &table));
    nl_table_metadata_release(table.metadata);
    *credentials = table.credentials;
    *credential_count = table.credential_count;
    *config = table.config;
    *config_count = table.config_count;
    return NULL;
}

static nl_status renew(vended_fs *self, nl_arena *arena)
{
    const nl_remote_session *session;
    const nl_remote_credential *credentials = NULL;
    const nl_property *config;
    uint32_t credential_count = 0, config_count;
    generation *made = NULL;
    NL_TRY(nl_remote_session_of(self->catalog, &session));
    NL_TRY(ask_credentials(self, session, arena, &credentials, &credential_count, &config, &config_count));
    NL_TRY(make_generation(self->catalog, session, &self->identifier, config, config_count, credentials, credential_count, self->token, &made));
    publish(self, made, end_of(config, config_count, credentials, credential_count));
    return NULL;
}

/* The credentials in force may still do when new ones cannot be had: the storage says so if not. */
static void renew_when_due(vended_fs *self)
{
    nl_mutex_lock(&self->mutex);
    const bool is_due = self->refresh_micros != NL_NONE && nl_now_micros() >= self->refresh_micros && self->generation_count < GENERATIONS_MAX;
    const int64_t end_micros = self->refresh_micros + REFRESH_BEFORE_MICROS;
    if (is_due) self->refresh_micros = nl_now_micros() + AGAIN_MICROS; /* one thread asks, the others go on meanwhile */
    nl_mutex_unlock(&self->mutex);
    if (!is_due) return;
    nl_arena *arena = nl_arena_new(NULL);
    nl_error *error = renew(self, arena);
    nl_arena_free(arena);
    if (!error) return;
    nl_log(NL_LOG_WARN, "the credentials of table %.*s were not renewed: %s", NL_STR_ARG(self->identifier.name), nl_error_message(error));
    nl_error_free(error);
    publish(self, NULL, end_micros);
}

/* Where a path belongs. Borrowed: lives as long as self. */
static const route *route_for(nl_fs *fs, nl_str path)
{
    vended_fs *self = vended_of(fs);
    renew_when_due(self);
    nl_mutex_lock(&self->mutex);
    const generation *g = self->current;
    const route *best = &g->routes[0];
    for (uint32_t i = 1; i < g->route_count; i++)
        if (g->routes[i].prefix.length >= best->prefix.length && nl_str_starts(path, g->routes[i].prefix)) best = &g->routes[i];
    nl_mutex_unlock(&self->mutex);
    return best;
}

static nl_fs *fs_for(nl_fs *fs, nl_str path)
{
    return route_for(fs, path)->fs;
}

static nl_status vended_open(nl_fs *self, nl_str path, nl_file **file)
{
    return nl_fs_open(fs_for(self, path), path, file);
}

static nl_status vended_create(nl_fs *self, nl_str path, nl_output **output)
{
    return nl_fs_create(fs_for(self, path), path, output);
}

static nl_status vended_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    return nl_fs_create_if_absent(fs_for(self, path), path, content);
}

static nl_status vended_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    return nl_fs_rename(fs_for(self, to), from, to, replace);
}

static nl_status vended_remove(nl_fs *self, nl_str path)
{
    return nl_fs_remove(fs_for(self, path), path);
}

/* Runs of paths that go to the same place. */
static nl_status vended_remove_many(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count)
{
    nl_status first = NULL;
    *removed_count = 0;
    for (uint32_t start = 0, stop; start < path_count; start = stop) {
        uint64_t count = 0;
        const route *chosen = route_for(self, paths[start]);
        nl_fs *fs = chosen->fs;
        stop = start + 1;
        if (chosen->is_signed) {
            nl_status status = nl_fs_remove(fs, paths[start]);
            *removed_count += status == NULL;
            first = nl_first_error(first, status);
            continue;
        }
        while (stop < path_count && fs_for(self, paths[stop]) == fs)
            stop++;
        first = nl_first_error(first, nl_fs_remove_many(fs, &paths[start], stop - start, &count));
        *removed_count += count;
    }
    return first;
}

static nl_status vended_remove_tree(nl_fs *self, nl_str path)
{
    return nl_fs_remove_tree(fs_for(self, path), path);
}

static nl_status vended_make_directory(nl_fs *self, nl_str path)
{
    return nl_fs_make_directory(fs_for(self, path), path);
}

static nl_status vended_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    return nl_fs_stat(fs_for(self, path), path, info);
}

static nl_status vended_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    return nl_fs_list(fs_for(self, path), path, is_recursive, visit, argument);
}

static void vended_free(nl_fs *fs)
{
    vended_fs *self = vended_of(fs);
    for (generation *g = self->current, *previous; g; g = previous) {
        previous = g->previous;
        generation_free(g);
    }
    nl_mutex_fini(&self->mutex);
    nl_arena_free(self->arena);
    nl_catalog_release(&self->catalog->base);
    free(self);
}

static const nl_fs_ops vended_ops = {.scheme = "vended",
                                     .open = vended_open,
                                     .create = vended_create,
                                     .create_if_absent = vended_create_if_absent,
                                     .rename = vended_rename,
                                     .remove = vended_remove,
                                     .remove_many = vended_remove_many,
                                     .remove_tree = vended_remove_tree,
                                     .make_directory = vended_make_directory,
                                     .stat = vended_stat,
                                     .list = vended_list,
                                     .free = vended_free};

static vended_fs *new_vended(nl_remote_catalog *catalog, const nl_identifier *identifier, const nl_remote_table *table)
{
    vended_fs *self = calloc(1, sizeof(*self));
    if (!self) return NULL;
    self->base.ops = &vended_ops;
    atomic_init(&self->base.references, 1);
    nl_mutex_init(&self->mutex);
    self->catalog = nl_remote_of(nl_catalog_retain(&catalog->base));
    self->arena = nl_arena_new(NULL);
    nl_str *parts = NL_NEW_ARRAY(self->arena, nl_str, (size_t)identifier->namespace_count + 1);
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i] = nl_arena_str(self->arena, identifier->namespace_parts[i]);
    self->identifier = (nl_identifier){parts, identifier->namespace_count, nl_arena_str(self->arena, identifier->name)};
    self->config = nl_properties_copy(self->arena, table->config, table->config_count);
    self->config_count = table->config_count;
    self->token = nl_arena_str(self->arena, nl_remote_table_token(table));
    self->endpoint = nl_arena_str(self->arena, find_property(table->config, table->config_count, "client.refresh-credentials-endpoint"));
    return self;
}

nl_status nl_remote_table_fs(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table, nl_fs **fs)
{
    nl_memory *memory = catalog->base.memory;
    const int64_t end = end_of(table->config, table->config_count, table->credentials, table->credential_count);
    const bool is_signed = nl_remote_signs(table->config, table->config_count) || nl_remote_signs(session->properties, session->property_count);
    if (!table->credential_count && end == NL_NONE && !is_signed) return nl_fs_with_properties(session->fs, table->config, table->config_count, memory, fs);
    generation *made = NULL;
    NL_TRY(make_generation(catalog, session, identifier, table->config, table->config_count, table->credentials, table->credential_count, nl_remote_table_token(table), &made));
    vended_fs *self = new_vended(catalog, identifier, table);
    if (!self) {
        generation_free(made);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    }
    const nl_str enabled = find_property(table->config, table->config_count, "client.refresh-credentials-enabled");
    publish(self, made, nl_str_is_nocase(enabled, "false") ? NL_NONE : end);
    *fs = &self->base;
    return NULL;
}
