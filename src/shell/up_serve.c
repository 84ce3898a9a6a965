/* shell/up_serve.c - the process behind `nilas up`: opens the data folder, starts the services, waits for a signal. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/log.h"
#include "lakehouse/maintenance/runner.h"
#include "lakehouse/tables.h"
#include "shell/up.h"
#include "shell/up_profile.h"

typedef struct lakehouse {
    nl_memory *memory;
    nl_state *state;
    nl_objects *objects;
    nl_tables *tables;
    nl_queries *queries;
    nl_lakehouse_keys keys; /* services borrow it */
    nl_server *server;
    nl_maintenance_runner *maintenance;
} lakehouse;

static int64_t monotonic_micros(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static nl_status open_stores(lakehouse *self, const nl_up_options *options)
{
    self->memory = nl_memory_new(NULL, "lakehouse", SIZE_MAX);
    self->queries = nl_queries_new();
    NL_TRY(nl_state_open(options->data, &self->state));
    NL_TRY(nl_objects_open(self->state, self->memory, &self->objects));
    return nl_tables_open(self->state, self->objects, self->memory, &self->tables);
}

/* A plain warehouse and, on s3://, its bucket. */
static nl_status make_warehouse(lakehouse *self, nl_str name, nl_str location, nl_arena *arena)
{
    static const nl_str scheme = NL_STR_INIT("s3://");
    nl_warehouse found;
    bool exists = false;
    NL_TRY(nl_tables_find_warehouse(self->tables, NL_WAREHOUSE_PLAIN, name, arena, &found, &exists));
    if (exists && nl_str_equal(found.location, location)) return NULL;
    if (exists)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the warehouse " NL_STR_FMT " is at " NL_STR_FMT " already", NL_STR_ARG(name), NL_STR_ARG(found.location));
    if (nl_str_starts(location, scheme)) {
        const nl_str rest = nl_str_slice(location, scheme.length, location.length);
        nl_status status = nl_objects_create_bucket(self->objects, nl_str_slice(rest, 0, nl_str_find_char(rest, '/', 0)), false);
        if (status && nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
        nl_error_free(status);
    }
    const nl_warehouse wanted = {.kind = NL_WAREHOUSE_PLAIN, .name = name, .location = location};
    return nl_tables_create_warehouse(self->tables, &wanted, arena, &found);
}

/* The plain warehouse that tutorials expect, s3://warehouse, is made first: it is the one of clients that name none. */
static nl_status make_warehouses(lakehouse *self, const nl_up_options *options)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = make_warehouse(self, NL_STR("warehouse"), NL_STR("s3://warehouse"), arena);
    for (uint32_t i = 0; i < options->warehouses.count && !status; i++) {
        const nl_property *wanted = options->warehouses.items[i];
        status = make_warehouse(self, wanted->key, wanted->value, arena);
    }
    nl_arena_free(arena);
    return nl_note_if(status, NL_HERE, "making the warehouses");
}

static nl_status start_services(lakehouse *self, const nl_up_options *options, nl_arena *arena, uint16_t ports[NL_UP_SERVICES_MAX])
{
    nl_str *hosts = NL_NEW_ARRAY(arena, nl_str, options->hosts.count + 1);
    for (uint32_t i = 0; i < options->hosts.count; i++) hosts[i] = *(const nl_str *)options->hosts.items[i];
    NL_TRY(nl_server_new(&(nl_server_options){.listen = options->listen, .hosts = hosts, .host_count = options->hosts.count}, self->memory, &self->server));
    self->keys = (nl_lakehouse_keys){.access_key = options->access_key, .secret_key = options->secret_key, .is_strict = options->is_strict};
    const nl_up_stores stores = {.objects = self->objects, .tables = self->tables, .queries = self->queries, .keys = &self->keys};
    for (uint32_t i = 0; i < nl_up_service_count; i++) {
        nl_service *service = NULL;
        if (!options->wanted[i]) continue;
        NL_TRY(nl_up_services[i].make(&stores, &service));
        NL_TRY(nl_server_add(self->server, service, options->ports[i], &ports[i]));
        if (nl_str_is(nl_str_from(nl_up_services[i].name), "s3")) nl_tables_set_s3_port(self->tables, ports[i]);
    }
    return NULL;
}

static void close_lakehouse(lakehouse *self)
{
    nl_maintenance_stop(self->maintenance);
    nl_server_free(self->server);
    nl_queries_free(self->queries);
    nl_tables_close(self->tables);
    nl_objects_close(self->objects);
    nl_state_close(self->state);
    nl_memory_release(self->memory);
}

/* The profile names the ports that were bound; a failure is told, and everything is served all the same. */
static void configure(const nl_up_options *options, nl_arena *arena, nl_up_report *facts)
{
    if (options->has_no_configure) return;
    nl_up_options bound = *options;
    for (uint32_t i = 0; i < nl_up_service_count; i++)
        if (facts->ports[i]) bound.ports[i] = facts->ports[i];
    nl_status status = nl_up_configure(&bound, arena, &facts->config_path);
    if (!status) return;
    facts->config_path = (nl_str){0};
    facts->problem = nl_arena_str(arena, nl_str_from(nl_error_message(status)));
    nl_error_free(status);
}

/* A table that was written to since the last round is left to its writers, and to whoever looks at its files. */
static nl_status start_maintenance(lakehouse *self, const nl_up_options *options)
{
    if (options->has_no_maintenance) return NULL;
    const int64_t every_ms = options->maintenance_seconds * 1000;
    return nl_maintenance_start(self->tables, self->queries, &(nl_maintenance_options){.every_ms = every_ms, .quiet_ms = every_ms}, self->memory, &self->maintenance);
}

static nl_status start(lakehouse *self, const nl_up_options *options, nl_arena *arena, nl_up_report *facts)
{
    NL_TRY(open_stores(self, options));
    NL_TRY(make_warehouses(self, options));
    NL_TRY(start_services(self, options, arena, facts->ports));
    NL_TRY(start_maintenance(self, options));
    nl_up_record record = {.pid = getpid(), .started_micros = nl_now_micros()};
    memcpy(record.ports, facts->ports, sizeof(record.ports));
    NL_TRY(nl_up_record_write(nl_state_folder(self->state), &record));
    configure(options, arena, facts);
    return NULL;
}

/* A second signal ends the process at once. A data folder that was removed ends it too: without it the process would hold
 * its ports, and `nilas down` would not find it any more. */
static void wait_for_the_end(const nl_state *state)
{
    sigset_t set;
    const struct timespec second = {.tv_sec = 1};
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    while (sigtimedwait(&set, NULL, &second) < 0)
        if (nl_state_is_gone(state)) {
            nl_log(NL_LOG_ERROR, "The data folder " NL_STR_FMT " was removed", NL_STR_ARG(nl_state_folder(state)));
            break;
        }
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    nl_log(NL_LOG_INFO, "stopping");
}

/* Many threads serve small requests: a few heaps are enough, and what they free goes back to the system. */
static void keep_memory_small(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 4);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

int nl_up_serve(const nl_up_options *options, void (*report)(void *argument, const nl_up_report *facts), void *argument)
{
    const int64_t begun = monotonic_micros();
    keep_memory_small();
    lakehouse self = {0};
    nl_arena *arena = nl_arena_new(NULL);
    nl_up_report facts = {0};
    facts.error = start(&self, options, arena, &facts);
    facts.ready_micros = monotonic_micros() - begun;
    report(argument, &facts);
    const int exit_status = facts.error ? EXIT_FAILURE : EXIT_SUCCESS;
    if (!facts.error) wait_for_the_end(self.state);
    nl_error_free(facts.error);
    close_lakehouse(&self);
    nl_arena_free(arena);
    return exit_status;
}
