/* session/session.c - the life of a session, its catalogs, and how names are resolved against them. */
#include "session/object_list.h"
#include "session/session_private.h"

#include "base/machine_zone.h"
#include "base/process.h"
#include "storage/filesystem.h"

#include <stdlib.h>
#include <unistd.h>

#define BUILT_IN_CATALOG "local" /* hadoop, ./warehouse: there without any configuration */
#define SESSION_CATALOG  "spark_catalog"
#define CATALOG_PREFIX   "spark.sql.catalog."

static size_t memory_limit(const nl_session *session)
{
    int64_t bytes;
    if (nl_conf_parse_bytes(nl_session_get(session, NL_STR("spark.nilas.memory")), &bytes) && bytes > 0) return (size_t)bytes;
    const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return machine / 5 * 4;
}

/* local[N] and local: N and one worker; everything else: one per core. */
static uint32_t worker_count(const nl_session *session)
{
    const nl_str master = nl_session_get(session, NL_STR("spark.master"));
    if (nl_str_is(master, "local")) return 1;
    int64_t count;
    if (nl_str_starts(master, NL_STR("local[")) && nl_str_ends(master, NL_STR("]")) &&
        nl_parse_int64(nl_str_slice(master, 6, master.length - 1), &count) && count > 0 && count <= 1024)
        return (uint32_t)count;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}

static nl_str user_name(nl_arena *arena)
{
    const char *name = getenv("SPARK_USER");
    if (name && *name) return nl_arena_str(arena, nl_str_from(name));
    const nl_user user = nl_process_user(arena, geteuid());
    return user.name.data ? user.name : NL_STR("nilas");
}

/* Engine and version name the dialect whose commits these are, as readers of the history expect; iceberg-version says
 * which library wrote them. */
static void set_environment(nl_session *session)
{
    enum { COUNT = 4 };
    nl_property *properties = NL_NEW_ARRAY(session->arena, nl_property, COUNT);
    properties[0] = (nl_property){NL_STR("engine-version"), NL_STR("4.0.1")};
    properties[1] = (nl_property){NL_STR("app-id"), session->app_id};
    properties[2] = (nl_property){NL_STR("engine-name"), NL_STR("spark")};
    properties[3] = (nl_property){NL_STR("iceberg-version"), NL_STR("nilas " NILAS_VERSION)};
    session->environment = (nl_commit_environment){properties, COUNT};
}

static bool has_configured_catalog(const nl_session *session)
{
    for (uint32_t i = 0; i < session->confs.count; i++) {
        const nl_str key = session->confs.items[i].key;
        if (!nl_str_starts(key, NL_STR(CATALOG_PREFIX))) continue;
        if (nl_str_find_char(key, '.', sizeof(CATALOG_PREFIX) - 1) == NL_NOT_FOUND) return true;
    }
    return false;
}

nl_str nl_session_default_namespace(const nl_session *session, nl_str catalog)
{
    nl_builder key;
    if (nl_str_is(catalog, SESSION_CATALOG)) return nl_session_get(session, NL_STR(CATALOG_PREFIX SESSION_CATALOG ".defaultDatabase"));
    nl_builder_init(&key, 4096);
    nl_append_f(&key, CATALOG_PREFIX NL_STR_FMT ".default-namespace", NL_STR_ARG(catalog));
    const nl_str configured = nl_conf_map_get(&session->confs, nl_builder_str(&key));
    nl_builder_fini(&key);
    return configured.length > 0 ? configured : NL_STR("default");
}

/* A quarter of the memory, if nobody says otherwise. The first session of a process decides. */
static nl_piece_cache *obtain_cache(const nl_session *session, nl_memory *memory)
{
    int64_t bytes;
    const nl_str size = nl_session_get(session, NL_STR("spark.nilas.objectCache.size"));
    if (!nl_conf_parse_bytes(size, &bytes) || bytes < 0) bytes = (int64_t)(nl_memory_limit(memory) / 4);
    const int64_t trust_ms = nl_session_get_int(session, "spark.nilas.objectCache.trustMs");
    const nl_piece_cache_options options = {
        .limit_bytes = (size_t)bytes,
        .trust_micros = NL_MIN(trust_ms, INT64_MAX / 1000) * 1000,
        .keeps_parts = nl_session_get_bool(session, "spark.nilas.objectCache.pages"),
    };
    return nl_piece_cache_obtain(memory, &options);
}

nl_shared_objects *nl_session_shared_objects(const nl_session *session)
{
    return session->shared_objects;
}

uint64_t nl_session_change_count(const nl_session *session)
{
    return atomic_load(&session->shared_objects->change_count);
}

void nl_session_note_change(nl_session *session)
{
    atomic_fetch_add(&session->shared_objects->change_count, 1);
}

uint64_t nl_session_number(const nl_session *session)
{
    return session->number;
}

static nl_status start(nl_session *session, const nl_property *confs, uint32_t conf_count, const nl_session_shared *shared)
{
    session->machine_zone = session->zone = nl_timezone_machine();
    for (uint32_t i = 0; i < conf_count; i++) {
        NL_TRY(nl_session_put_conf(session, confs[i].key, confs[i].value));
        NL_TRY(nl_conf_map_put(&session->initial_confs, confs[i].key, confs[i].value));
    }
    session->arena = nl_arena_new(NULL);
    session->namespace_arena = nl_arena_new(NULL);
    session->user = user_name(session->arena);
    session->app_id = nl_arena_f(session->arena, "local-%lld", (long long)(nl_now_micros() / 1000));
    set_environment(session);
    session->memory = nl_memory_new(shared->memory, "session", memory_limit(session));
    session->kept_objects = obtain_cache(session, session->memory);
    session->pool = shared->pool ? shared->pool : nl_pool_new(worker_count(session), "worker");
    session->is_pool_shared = shared->pool != NULL;
    session->own_objects = nl_shared_objects_new();
    session->shared_objects = shared->objects ? nl_shared_objects_retain(shared->objects) : nl_shared_objects_new();
    if (!session->own_objects || !session->shared_objects) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P("requestedBytes", "a session"), NL_P("receivedBytes", "0"));
    session->number = nl_shared_objects_number(session->shared_objects);
    session->cancel = nl_cancel_new(NULL);
    session->progress = &session->own_progress;
    nl_str catalog = nl_conf_map_get(&session->confs, NL_STR("spark.sql.defaultCatalog"));
    if (!catalog.data) catalog = has_configured_catalog(session) ? NL_STR(SESSION_CATALOG) : NL_STR(BUILT_IN_CATALOG);
    const nl_str initial_namespace = nl_session_default_namespace(session, catalog);
    return nl_session_use(session, catalog, &initial_namespace, 1);
}

nl_status nl_session_new_sharing(const nl_property *confs, uint32_t conf_count, const nl_session_shared *shared, nl_session **session)
{
    nl_session *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    nl_status status = start(made, confs, conf_count, shared);
    if (status)
        nl_session_free(made);
    else
        *session = made;
    return status;
}

nl_status nl_session_new(const nl_property *confs, uint32_t conf_count, nl_session **session)
{
    return nl_session_new_sharing(confs, conf_count, &(nl_session_shared){0}, session);
}

void nl_session_free(nl_session *session)
{
    if (!session) return;
    nl_session_attachment *python = nl_session_python(session);
    nl_session_attachment *cache = nl_session_cache(session);
    if (python) python->free(python);
    if (cache) cache->free(cache);
    nl_shared_objects_release(session->own_objects); /* while what their handles need is there */
    nl_shared_objects_release(session->shared_objects);
    while (session->variable_count > 0)
        nl_session_drop_variable(session, session->variables[0].name);
    for (uint32_t i = 0; i < session->catalog_count; i++)
        nl_catalog_release(session->catalogs[i]);
    free(session->catalogs);
    nl_fs_release(session->files);
    free(session->variables);
    nl_conf_map_fini(&session->confs);
    nl_conf_map_fini(&session->initial_confs);
    if (session->pool && !session->is_pool_shared) nl_pool_free(session->pool);
    if (session->cancel) nl_cancel_release(session->cancel);
    nl_piece_cache_release(session->kept_objects);
    if (session->memory) nl_memory_release(session->memory);
    nl_arena_free(session->namespace_arena);
    nl_arena_free(session->arena);
    free(session);
}

nl_session_attachment *nl_session_python(const nl_session *session)
{
    return session->python;
}

nl_session_attachment *nl_session_set_python(nl_session *session, nl_session_attachment *attachment)
{
    nl_session_attachment *first = NULL;
    return atomic_compare_exchange_strong(&session->python, &first, attachment) ? attachment : first;
}

nl_session_attachment *nl_session_cache(const nl_session *session)
{
    return session->cache;
}

nl_session_attachment *nl_session_set_cache(nl_session *session, nl_session_attachment *attachment)
{
    nl_session_attachment *first = NULL;
    return atomic_compare_exchange_strong(&session->cache, &first, attachment) ? attachment : first;
}

bool nl_session_is_confined(const nl_session *session)
{
    return session->is_confined;
}

bool nl_session_has_catalog(const nl_session *session, nl_str name)
{
    for (uint32_t i = 0; i < session->catalog_count; i++)
        if (nl_str_equal(session->catalogs[i]->name, name)) return true;
    if (session->is_confined) return false;
    if (nl_str_is(name, BUILT_IN_CATALOG) || nl_str_is(name, SESSION_CATALOG)) return true;
    nl_builder key;
    nl_builder_init(&key, 4096);
    nl_append_c(&key, CATALOG_PREFIX);
    nl_append(&key, name);
    const bool found = nl_conf_map_get(&session->confs, nl_builder_str(&key)).data != NULL;
    nl_builder_fini(&key);
    return found;
}

/* spark.sql.catalog.NAME → key "", spark.sql.catalog.NAME.x → key "x". */
static uint32_t catalog_properties(const nl_session *session, nl_str name, nl_property *properties)
{
    uint32_t count = 0;
    const size_t name_at = sizeof(CATALOG_PREFIX) - 1;
    count = nl_session_hadoop_properties(session, properties); /* first: the catalog's own win */
    for (uint32_t i = 0; i < session->confs.count; i++) {
        const nl_property *conf = &session->confs.items[i];
        if (!nl_str_starts(conf->key, NL_STR(CATALOG_PREFIX))) continue;
        const nl_str rest = nl_str_slice(conf->key, name_at, conf->key.length);
        if (nl_str_equal(rest, name))
            properties[count++] = (nl_property){NL_STR(""), conf->value};
        else if (nl_str_starts(rest, name) && rest.data[name.length] == '.')
            properties[count++] = (nl_property){nl_str_slice(rest, name.length + 1, rest.length), conf->value};
    }
    return count;
}

static nl_status open_catalog(nl_session *session, nl_str name, nl_catalog **catalog)
{
    enum { BUILT_IN_PROPERTIES = 3 };
    nl_arena *arena = nl_arena_new(NULL);
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, session->confs.count + BUILT_IN_PROPERTIES);
    uint32_t count = catalog_properties(session, name, properties);
    bool has_class = false;
    for (uint32_t i = 0; i < count; i++)
        has_class = has_class || properties[i].key.length == 0;
    if (!has_class) {
        const nl_str warehouse = nl_str_is(name, BUILT_IN_CATALOG) ? NL_STR("warehouse") : nl_session_get(session, NL_STR("spark.sql.warehouse.dir"));
        properties[count++] = (nl_property){NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")};
        properties[count++] = (nl_property){NL_STR("type"), NL_STR("hadoop")};
        properties[count++] = (nl_property){NL_STR("warehouse"), warehouse};
    }
    nl_status status = nl_catalog_open(nl_arena_str(session->arena, name), properties, count, &session->environment, session->memory, catalog);
    nl_arena_free(arena);
    return status;
}

nl_status nl_session_put_catalog(nl_session *session, nl_catalog *catalog)
{
    nl_catalog **catalogs = realloc(session->catalogs, (session->catalog_count + 1) * sizeof(*catalogs));
    if (!catalogs) {
        nl_catalog_release(catalog);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*catalogs)), NL_P("receivedBytes", "0"));
    }
    catalogs[session->catalog_count] = catalog;
    session->catalogs = catalogs;
    session->catalog_count++;
    return NULL;
}

const nl_commit_environment *nl_session_environment(const nl_session *session)
{
    return &session->environment;
}

nl_status nl_session_catalog(nl_session *session, nl_str name, nl_catalog **catalog)
{
    for (uint32_t i = 0; i < session->catalog_count; i++)
        if (nl_str_equal(session->catalogs[i]->name, name)) {
            *catalog = session->catalogs[i];
            return NULL;
        }
    if (!nl_session_has_catalog(session, name)) {
        nl_str quoted = nl_arena_f(session->arena, "`" NL_STR_FMT "`", NL_STR_ARG(name));
        return NL_RAISE(CATALOG_NOT_FOUND, NL_P_STR("catalogName", quoted),
                        NL_P_STR("config", nl_arena_f(session->arena, "\"" CATALOG_PREFIX NL_STR_FMT "\"", NL_STR_ARG(name))));
    }
    nl_catalog *opened = NULL;
    NL_TRY_NOTE(open_catalog(session, name, &opened), "opening catalog " NL_STR_FMT, NL_STR_ARG(name));
    NL_TRY(nl_session_put_catalog(session, opened));
    *catalog = opened;
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

void nl_session_catalog_names(const nl_session *session, nl_arena *arena, const nl_str **names, uint32_t *name_count)
{
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, session->catalog_count + 2);
    uint32_t count = 0;
    list[count++] = NL_STR(SESSION_CATALOG);
    bool has_current = nl_str_is(session->current_catalog, SESSION_CATALOG);
    for (uint32_t i = 0; i < session->catalog_count; i++) {
        const nl_str name = session->catalogs[i]->name;
        has_current = has_current || nl_str_equal(name, session->current_catalog);
        const bool is_folder = nl_str_find_char(name, '/', 0) != NL_NOT_FOUND; /* of tables that are known by their paths */
        if (!nl_str_is(name, SESSION_CATALOG) && !is_folder) list[count++] = name;
    }
    if (!has_current) list[count++] = session->current_catalog;
    qsort(list, count, sizeof(*list), compare_names);
    *names = list;
    *name_count = count;
}

nl_str nl_session_current_catalog(const nl_session *session)
{
    return session->current_catalog;
}

void nl_session_current_namespace(const nl_session *session, const nl_str **parts, uint32_t *part_count)
{
    *parts = session->current_namespace;
    *part_count = session->current_namespace_count;
}

nl_status nl_session_use(nl_session *session, nl_str catalog, const nl_str *namespace_parts, uint32_t part_count)
{
    nl_arena *arena = nl_arena_new(NULL); /* the arguments may point into the old one */
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, part_count);
    for (uint32_t i = 0; i < part_count; i++)
        parts[i] = nl_arena_str(arena, namespace_parts[i]);
    const nl_str name = nl_arena_str(arena, catalog);
    nl_arena_free(session->namespace_arena);
    session->namespace_arena = arena;
    session->current_catalog = name;
    session->current_namespace = parts;
    session->current_namespace_count = part_count;
    return NULL;
}

nl_status nl_session_resolve(nl_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_session_name *name)
{
    NL_ASSERT(part_count > 0);
    (void)arena;
    nl_session_name found = {.identifier.name = parts[part_count - 1]};
    if (part_count == 1) {
        found.catalog_name = session->current_catalog;
        found.identifier.namespace_parts = session->current_namespace;
        found.identifier.namespace_count = session->current_namespace_count;
    } else {
        const bool names_catalog = nl_session_has_catalog(session, parts[0]);
        found.catalog_name = names_catalog ? parts[0] : session->current_catalog;
        found.identifier.namespace_parts = parts + names_catalog;
        found.identifier.namespace_count = part_count - 1 - names_catalog;
    }
    NL_TRY(nl_session_catalog(session, found.catalog_name, &found.catalog));
    found.catalog_name = found.catalog->name;
    *name = found;
    return NULL;
}

nl_status nl_session_resolve_namespace(nl_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_session_name *name)
{
    (void)arena;
    nl_session_name found = {0};
    if (part_count == 0) {
        found.catalog_name = session->current_catalog;
        found.identifier.namespace_parts = session->current_namespace;
        found.identifier.namespace_count = session->current_namespace_count;
    } else {
        const bool names_catalog = nl_session_has_catalog(session, parts[0]);
        found.catalog_name = names_catalog ? parts[0] : session->current_catalog;
        found.identifier.namespace_parts = parts + names_catalog;
        found.identifier.namespace_count = part_count - names_catalog;
    }
    NL_TRY(nl_session_catalog(session, found.catalog_name, &found.catalog));
    found.catalog_name = found.catalog->name;
    *name = found;
    return NULL;
}

bool nl_session_is_default_database(const nl_session_name *name)
{
    return nl_str_is(name->catalog_name, SESSION_CATALOG) && name->identifier.namespace_count == 1 &&
           nl_str_is_nocase(name->identifier.namespace_parts[0], "default");
}

nl_status nl_session_namespace_exists(const nl_session_name *name, bool *exists)
{
    *exists = true;
    if (nl_session_is_default_database(name)) return NULL;
    return nl_catalog_namespace_exists(name->catalog, name->identifier.namespace_parts, name->identifier.namespace_count, exists);
}

nl_memory *nl_session_memory(nl_session *session)
{
    return session->memory;
}

nl_pool *nl_session_pool(nl_session *session)
{
    return session->pool;
}

nl_cancel *nl_session_cancel_token(nl_session *session)
{
    return session->cancel;
}

nl_progress *nl_session_progress(nl_session *session)
{
    return session->progress;
}

static void reset_progress(nl_progress *progress)
{
    atomic_store(&progress->rows, 0);
    atomic_store(&progress->rows_total, 0);
    atomic_store(&progress->bytes, 0);
    atomic_store(&progress->files, 0);
    atomic_store(&progress->changed_rows, 0);
    atomic_store(&progress->files_total, 0);
}

void nl_session_begin_with(nl_session *session, nl_cancel *cancel, nl_progress *progress)
{
    session->progress = progress ? progress : &session->own_progress;
    reset_progress(session->progress);
    nl_cancel_release(session->cancel);
    session->cancel = nl_cancel_retain(cancel);
}

void nl_session_begin(nl_session *session)
{
    reset_progress(session->progress);
    if (!nl_cancel_is_set(session->cancel)) return;
    nl_cancel *old = session->cancel; /* a signal handler must never meet one that is freed */
    session->cancel = nl_cancel_new(NULL);
    nl_cancel_release(old);
}

void nl_session_set_turns(nl_session *session, const nl_session_turns *turns)
{
    session->turns = *turns;
}

nl_session_pause nl_session_leave(nl_session *session)
{
    if (!session || !session->turns.leave) return (nl_session_pause){0};
    if (!session->turns.is_mine(session->turns.context)) return (nl_session_pause){0};
    const nl_session_pause pause = {.is_left = true, .cancel = nl_cancel_retain(session->cancel), .progress = session->progress};
    session->turns.leave(session->turns.context);
    return pause;
}

void nl_session_enter(nl_session *session, nl_session_pause *pause)
{
    if (!pause->is_left) return;
    session->turns.enter(session->turns.context);
    nl_cancel_release(session->cancel);
    session->cancel = pause->cancel;
    session->progress = pause->progress;
    *pause = (nl_session_pause){0};
}

bool nl_session_claim(nl_session *session)
{
    if (!session->turns.leave || session->turns.is_mine(session->turns.context)) return false;
    session->turns.enter(session->turns.context);
    return true;
}

void nl_session_unclaim(nl_session *session, bool is_claimed)
{
    if (is_claimed) session->turns.leave(session->turns.context);
}

void nl_session_cancel(nl_session *session)
{
    nl_cancel_set(session->cancel);
}

nl_str nl_session_user(const nl_session *session)
{
    return session->user;
}

nl_str nl_session_app_id(const nl_session *session)
{
    return session->app_id;
}

const nl_timezone *nl_session_zone(const nl_session *session)
{
    return session->zone;
}

nl_str nl_session_local_directory(const nl_session *session)
{
    return nl_session_get(session, NL_STR("spark.local.dir"));
}
