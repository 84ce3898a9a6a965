/* catalog/rest/nessie.c - Nessie by the keys of its own client, through its Iceberg REST endpoint.
 *
 * uri "http://h:19120/api/v2" → "http://h:19120/iceberg/<ref>"; authentication.type BEARER and BASIC → token, basic. Whoever
 * gives the REST endpoint's uri ("…/iceberg") gets what he asked for. Source: Nessie's "Iceberg REST" guide.
 */
#include "catalog/rest/rest_private.h"

static nl_str find(const nl_property *properties, uint32_t property_count, const char *key)
{
    for (uint32_t i = 0; i < property_count; i++)
        if (nl_str_is(properties[i].key, key)) return properties[i].value;
    return (nl_str){0};
}

static nl_str rest_uri(nl_arena *arena, nl_str uri, nl_str ref)
{
    static const nl_str endings[] = {NL_STR_INIT("/api/v1"), NL_STR_INIT("/api/v2")};
    while (uri.length && uri.data[uri.length - 1] == '/')
        uri.length--;
    bool is_native = false;
    for (uint32_t i = 0; i < NL_COUNT(endings) && !is_native; i++) {
        is_native = nl_str_ends(uri, endings[i]);
        if (is_native) uri.length -= endings[i].length;
    }
    if (is_native) uri = nl_arena_f(arena, NL_STR_FMT "/iceberg", NL_STR_ARG(uri));
    if (!ref.length) return uri;
    const nl_str encoded = nl_url_encode(arena, ref, false);
    return nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(uri), NL_STR_ARG(encoded));
}

static nl_status map_authentication(nl_str name, const nl_property *properties, uint32_t property_count, nl_property *mapped, uint32_t *mapped_count)
{
    const nl_str type = find(properties, property_count, "authentication.type");
    if (!type.length || nl_str_is_nocase(type, "NONE")) return NULL;
    if (nl_str_is_nocase(type, "BEARER")) {
        mapped[(*mapped_count)++] = (nl_property){NL_STR("token"), find(properties, property_count, "authentication.token")};
        return NULL;
    }
    if (nl_str_is_nocase(type, "BASIC")) {
        mapped[(*mapped_count)++] = (nl_property){NL_STR("rest.auth.type"), NL_STR("basic")};
        mapped[(*mapped_count)++] = (nl_property){NL_STR("rest.auth.basic.username"), find(properties, property_count, "authentication.username")};
        mapped[(*mapped_count)++] = (nl_property){NL_STR("rest.auth.basic.password"), find(properties, property_count, "authentication.password")};
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Catalog " NL_STR_FMT ": authentication.type=" NL_STR_FMT " of Nessie is not mapped; nilas has NONE, BEARER and BASIC, and for "
                                            "OAuth 2 the keys of REST catalogs: credential, oauth2-server-uri, scope",
                         NL_STR_ARG(name), NL_STR_ARG(type));
}

nl_status nl_nessie_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                                 nl_catalog **catalog)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_property *mapped = NL_NEW_ARRAY(arena, nl_property, (size_t)property_count + 4);
    uint32_t mapped_count = 0;
    if (find(properties, property_count, "ref.hash").length) {
        nl_arena_free(arena);
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Catalog " NL_STR_FMT ": ref.hash is not mapped; a branch is chosen with ref", NL_STR_ARG(name));
    }
    const nl_str ref = find(properties, property_count, "ref");
    for (uint32_t i = 0; i < property_count; i++) {
        mapped[mapped_count] = properties[i];
        if (nl_str_is(properties[i].key, "uri")) mapped[mapped_count].value = rest_uri(arena, properties[i].value, ref);
        mapped_count++;
    }
    nl_status status = map_authentication(name, properties, property_count, mapped, &mapped_count);
    if (!status) status = nl_remote_catalog_open(name, mapped, mapped_count, environment, memory, catalog);
    nl_arena_free(arena);
    return status;
}
