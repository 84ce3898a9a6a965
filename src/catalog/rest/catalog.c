/* catalog/rest/catalog.c - opening a REST catalog, and Nessie's by its own keys. */
#include "catalog/rest/metrics.h"
#include "catalog/rest/tables.h"
#include "catalog/rest/views.h"

#include <stdlib.h>

#include "base/number.h"

static void rest_free(nl_catalog *base)
{
    nl_remote_catalog *self = nl_remote_of(base);
    nl_remote_reporter_free(self->reporter);
    nl_remote_session_free(self->session);
    nl_remote_cache_free(self->cache);
    nl_http_client_release(self->http);
    nl_mutex_fini(&self->mutex);
    free(NL_UNCONST(self->headers));
    free(NL_UNCONST(self->uri.data));
    nl_catalog_fini(base);
    free(self);
}

const nl_catalog_ops nl_remote_ops = {
    .type = "rest",
    .has_views = true,
    .has_rename = true,
    .list_namespaces = nl_remote_list_namespaces,
    .create_namespace = nl_remote_create_namespace,
    .drop_namespace = nl_remote_drop_namespace,
    .namespace_properties = nl_remote_namespace_properties,
    .update_namespace = nl_remote_update_namespace,
    .list_tables = nl_remote_list_tables,
    .load_table = nl_remote_load_table,
    .table_exists = nl_remote_table_exists,
    .new_table = nl_remote_new_table,
    .stage_table = nl_remote_stage_table,
    .drop_table = nl_remote_drop_table,
    .rename_table = nl_remote_rename_table,
    .register_table = nl_remote_register_table,
    .create_table = nl_remote_create_table,
    .list_views = nl_remote_list_views,
    .load_view = nl_remote_load_view,
    .commit_view = nl_remote_commit_view,
    .drop_view = nl_remote_drop_view,
    .rename_view = nl_remote_rename_view,
    .default_location = nl_remote_default_location,
    .free = rest_free,
};

static nl_status number_property(const nl_catalog *catalog, const char *key, int64_t *number)
{
    const nl_str value = nl_catalog_property(catalog, key);
    if (!value.length || (nl_parse_int64(value, number) && *number > 0)) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is no positive number: " NL_STR_FMT, key, NL_STR_ARG(value));
}

/* "http://user:password@host:port"; empty: none is configured. In the arena. */
static nl_status proxy_url(const nl_remote_catalog *self, nl_arena *arena, nl_str *url)
{
    int64_t port = 80;
    const nl_str host = nl_catalog_property(&self->base, "rest.client.proxy.hostname");
    const nl_str user = nl_catalog_property(&self->base, "rest.client.proxy.username"), password = nl_catalog_property(&self->base, "rest.client.proxy.password");
    NL_TRY(number_property(&self->base, "rest.client.proxy.port", &port));
    *url = (nl_str){0};
    if (!host.length) return NULL;
    const nl_str name = nl_url_encode(arena, user, false), secret = nl_url_encode(arena, password, false);
    const nl_str who = user.length ? nl_arena_f(arena, NL_STR_FMT ":" NL_STR_FMT "@", NL_STR_ARG(name), NL_STR_ARG(secret)) : (nl_str){"", 0};
    *url = nl_arena_f(arena, "http://" NL_STR_FMT NL_STR_FMT ":%lld", NL_STR_ARG(who), NL_STR_ARG(host), (long long)port);
    return nl_arena_check(arena);
}

static nl_status make_http(nl_remote_catalog *self)
{
    int64_t connections = 100;
    nl_http_options options = {0};
    NL_TRY(number_property(&self->base, "rest.client.max-connections", &connections));
    NL_TRY(number_property(&self->base, "rest.client.connections-per-route", &connections));
    NL_TRY(number_property(&self->base, "rest.client.connection-timeout-ms", &options.connect_timeout_ms));
    NL_TRY(number_property(&self->base, "rest.client.socket-timeout-ms", &options.stall_timeout_ms));
    options.connections_max = (uint32_t)NL_MIN(connections, 10000);
    nl_arena *arena = nl_arena_new(self->base.memory);
    nl_status status = proxy_url(self, arena, &options.proxy);
    if (!status) status = nl_http_client_new(&options, self->base.memory, &self->http);
    nl_arena_free(arena);
    return status;
}

static nl_status copy_headers(nl_remote_catalog *self)
{
    static const nl_str prefix = NL_STR_INIT("header.");
    nl_property *headers = calloc((size_t)self->base.property_count + 2, sizeof(*headers));
    if (!headers) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", self->base.property_count), NL_P_INT("receivedBytes", 0));
    for (uint32_t i = 0; i < self->base.property_count; i++) {
        const nl_property *property = &self->base.properties[i];
        if (nl_str_starts(property->key, prefix)) headers[self->header_count++] = (nl_property){nl_str_slice(property->key, prefix.length, property->key.length), property->value};
        if (nl_str_is(property->key, "rest.client.user-agent")) headers[self->header_count++] = (nl_property){NL_STR("User-Agent"), property->value};
    }
    self->headers = headers;
    return NULL;
}

static nl_status set_uri(nl_remote_catalog *self)
{
    nl_url url;
    nl_str uri = nl_catalog_property(&self->base, "uri");
    while (uri.length && uri.data[uri.length - 1] == '/')
        uri.length--;
    if (!uri.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid uri for REST catalog " NL_STR_FMT ": set spark.sql.catalog." NL_STR_FMT ".uri",
                                          NL_STR_ARG(self->base.name), NL_STR_ARG(self->base.name));
    self->uri = nl_str_from(strndup(uri.data, uri.length));
    NL_TRY(nl_url_parse(self->uri, &url));
    if (!nl_str_is(url.scheme, "http") && !nl_str_is(url.scheme, "https"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid uri for REST catalog " NL_STR_FMT ": " NL_STR_FMT " is neither http nor https", NL_STR_ARG(self->base.name),
                             NL_STR_ARG(self->uri));
    return NULL;
}

/* Those that need classes of the JVM, and those whose place is taken by the system's own settings. */
static nl_status check_known(const nl_catalog *catalog)
{
    static const char *const unsupported[] = {"rest.client.tls.configurer-impl", "encryption.kms-impl", "encryption.kms-type"};
    for (uint32_t i = 0; i < NL_COUNT(unsupported); i++)
        if (nl_catalog_property(catalog, unsupported[i]).length)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Catalog " NL_STR_FMT ": nilas cannot load the class of %s", NL_STR_ARG(catalog->name), unsupported[i]);
    return NULL;
}

nl_status nl_remote_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                               nl_catalog **catalog)
{
    nl_remote_catalog *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    nl_mutex_init(&self->mutex);
    nl_status status = nl_catalog_init(&self->base, &nl_remote_ops, name, properties, property_count, environment, memory);
    if (status) {
        free(self);
        return status;
    }
    status = check_known(&self->base);
    if (!status) status = set_uri(self);
    if (!status) status = copy_headers(self);
    if (!status) status = nl_remote_cache_new(&self->base, &self->cache);
    if (!status) status = make_http(self);
    if (!status && !nl_str_is_nocase(nl_catalog_property(&self->base, "rest-metrics-reporting-enabled"), "false"))
        status = nl_remote_reporter_new(memory, &self->reporter);
    if (status) {
        rest_free(&self->base);
        return status;
    }
    *catalog = &self->base;
    return NULL;
}
