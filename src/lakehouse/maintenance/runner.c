/* lakehouse/maintenance/runner.c - see runner.h. What AWS does when: "Considerations and limitations for maintenance jobs" of
 * the S3 Tables guide; there a table's own branches and retention properties hold as well, and they do here, since the
 * procedures respect them.
 */
#include "lakehouse/maintenance/runner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/calendar.h"
#include "base/lock.h"
#include "base/log.h"
#include "iceberg/health.h"
#include "lakehouse/maintenance/job.h"
#include "lakehouse/maintenance/settings.h"

#define PAGE_TABLES 256u
#define SEEN_SLOTS  4096u /* tables remembered; one that falls out is looked at once more */

typedef struct seen {
    uint64_t table;  /* hash of its uuid and version token */
    int64_t day;     /* when it was last looked at: age alone makes snapshots expire */
} seen;

struct nl_maintenance_runner {
    nl_tables *tables;
    nl_queries *queries;
    nl_maintenance_options options;
    nl_memory *memory; /* counted */
    nl_pool *pool;     /* one thread */
    nl_task_group *group;
    nl_mutex mutex;
    pthread_cond_t changed;
    bool is_ending;       /* guarded by mutex */
    nl_session *session;  /* guarded by mutex: of the running job; borrowed */
    seen slots[SEEN_SLOTS]; /* the thread's own */
};

typedef struct visit { /* one table in one round */
    nl_maintenance_runner *runner;
    const nl_warehouse *bucket;
    const nl_table_entry *entry;
    nl_arena *arena;
    nl_iceberg_table *table; /* counted */
    nl_maintenance_setting settings[NL_MAINTENANCE_KIND_COUNT];
} visit;

static bool is_ending(nl_maintenance_runner *self)
{
    nl_mutex_lock(&self->mutex);
    const bool ending = self->is_ending;
    nl_mutex_unlock(&self->mutex);
    return ending;
}

/* ---- One job. */

static nl_status run_job(visit *self, const char *procedure, nl_str arguments)
{
    nl_maintenance_runner *runner = self->runner;
    const nl_identifier identifier = {self->entry->namespace_parts, self->entry->namespace_count, self->entry->name};
    const nl_maintenance_job job = {
        .tables = runner->tables,
        .queries = runner->queries,
        .source = "maintenance",
        .id = nl_arena_f(self->arena, NL_STR_FMT "-%s", NL_STR_ARG(self->entry->uuid), procedure),
        .warehouse_id = self->bucket->id,
        .identifier = &identifier,
        .procedure = procedure,
        .arguments = arguments,
        .is_background = true,
    };
    nl_session *session = NULL;
    NL_TRY(nl_maintenance_session(&job, &session));
    nl_mutex_lock(&runner->mutex);
    runner->session = session;
    const bool is_late = runner->is_ending;
    nl_mutex_unlock(&runner->mutex);
    nl_log(NL_LOG_INFO, "maintenance %s", nl_maintenance_statement(&job, self->arena).data);
    nl_status status = is_late ? NL_RAISE(OPERATION_CANCELED) : nl_maintenance_run(&job, session, NULL, NULL);
    nl_mutex_lock(&runner->mutex);
    runner->session = NULL;
    nl_mutex_unlock(&runner->mutex);
    nl_session_free(session);
    return status;
}

/* Overtaken by a writer, or stopped with the process: neither success nor failure, it comes again. */
static bool is_put_off(nl_error *error)
{
    const nl_condition condition = nl_error_condition(error);
    return condition == NL_COND_OPERATION_CANCELED || condition == NL_COND_NILAS_COMMIT_FAILED || condition == NL_COND_NILAS_VALIDATION_FAILED;
}

/* Takes status. */
static nl_status note_outcome(visit *self, nl_maintenance_kind kind, nl_status status)
{
    nl_maintenance_outcome outcome = {.ran_micros = nl_now_micros()};
    if (status) {
        const bool is_later = is_put_off(status);
        outcome.failure = nl_arena_str(self->arena, nl_str_from(nl_error_message(status)));
        nl_log(is_later ? NL_LOG_INFO : NL_LOG_WARN, "maintenance %s of " NL_STR_FMT ": %s", nl_maintenance_name(kind), NL_STR_ARG(self->entry->name), outcome.failure.data);
        nl_error_free(status);
        if (is_later) return NULL;
    }
    return nl_maintenance_put_outcome(self->runner->tables, self->entry->uuid, kind, &outcome);
}

/* ---- Compaction. */

/* "strategy => 'sort', sort_order => 'zorder(a, b)', options => …"; what a table without a sort order cannot have is binpack. */
static nl_str compaction_arguments(visit *self, const nl_table_metadata *metadata)
{
    const nl_maintenance_setting *setting = &self->settings[NL_MAINTENANCE_COMPACTION];
    const nl_sort_order *order = nl_table_sort_order(metadata);
    const bool has_order = order && order->field_count > 0;
    const bool is_sorted = has_order && (nl_str_is(setting->strategy, "sort") || nl_str_is(setting->strategy, "auto") || !setting->strategy.length);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    if (is_sorted) nl_append_c(&out, "strategy => 'sort', ");
    if (has_order && nl_str_is(setting->strategy, "z-order")) {
        nl_append_c(&out, "strategy => 'sort', sort_order => 'zorder(");
        for (uint32_t i = 0; i < order->field_count; i++) {
            const nl_schema_column *column = nl_schema_find_id(nl_table_schema(metadata), order->fields[i].source_id);
            if (column) nl_append_f(&out, "%s" NL_STR_FMT, i ? ", " : "", NL_STR_ARG(column->full_name));
        }
        nl_append_c(&out, ")', ");
    }
    nl_append_f(&out, "options => map('target-file-size-bytes', '%lld')", (long long)setting->numbers[0] << 20);
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static nl_status compact(visit *self, const nl_table_metadata *metadata)
{
    nl_table_health health;
    NL_TRY(nl_table_health_read(self->table, NULL, self->runner->memory, self->arena, &health));
    nl_status status = health.rewrite_files > 0 ? run_job(self, "rewrite_data_files", compaction_arguments(self, metadata)) : NULL;
    return note_outcome(self, NL_MAINTENANCE_COMPACTION, status);
}

/* ---- Snapshots and files. */

static nl_str older_than(visit *self, int64_t age_micros)
{
    nl_civil at;
    nl_civil_from_micros(nl_now_micros() - age_micros, &at);
    return nl_arena_f(self->arena, "older_than => TIMESTAMP '%04d-%02d-%02d %02d:%02d:%02d'", at.year, at.month, at.day, at.hour, at.minute, at.second);
}

static nl_status expire(visit *self, const nl_table_metadata *metadata)
{
    const nl_maintenance_setting *setting = &self->settings[NL_MAINTENANCE_SNAPSHOTS];
    const int64_t age_ms = setting->numbers[1] * 3600 * 1000;
    const int32_t least = (int32_t)NL_MIN(setting->numbers[0], INT32_MAX);
    const nl_expire_options options = {.has_older_than = true, .older_than_ms = nl_now_micros() / 1000 - age_ms, .retain_last = least};
    const nl_snapshot *const *snapshots = NULL;
    uint32_t count = 0;
    NL_TRY(nl_expirable_snapshots(metadata, &options, self->arena, &snapshots, &count));
    nl_status status = NULL;
    if (count > 0)
        status = run_job(self, "expire_snapshots", nl_arena_f(self->arena, NL_STR_FMT ", retain_last => %d", NL_STR_ARG(older_than(self, age_ms * 1000)), least));
    return note_outcome(self, NL_MAINTENANCE_SNAPSHOTS, status);
}

static nl_status remove_unreferenced(visit *self)
{
    const int64_t days = self->settings[NL_MAINTENANCE_UNREFERENCED].numbers[0];
    return note_outcome(self, NL_MAINTENANCE_UNREFERENCED, run_job(self, "remove_orphan_files", older_than(self, days * 86400 * 1000000)));
}

/* ---- One table. */

static nl_status read_settings(visit *self)
{
    for (uint32_t kind = 0; kind < NL_MAINTENANCE_KIND_COUNT; kind++) {
        const nl_str owner = kind == NL_MAINTENANCE_UNREFERENCED ? self->bucket->token : self->entry->uuid;
        NL_TRY(nl_maintenance_read(self->runner->tables, owner, (nl_maintenance_kind)kind, self->arena, &self->settings[kind]));
    }
    return NULL;
}

static nl_status maintain(visit *self)
{
    NL_TRY(read_settings(self));
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(self->table);
    const bool may_delete = nl_table_property_bool(metadata, "gc.enabled", true);
    nl_status status = NULL;
    if (self->settings[NL_MAINTENANCE_COMPACTION].is_enabled) status = compact(self, metadata);
    nl_table_metadata_release(metadata);
    if (!status) status = nl_iceberg_table_refresh(self->table);
    if (status) return status;
    metadata = nl_iceberg_table_metadata(self->table);
    if (may_delete && self->settings[NL_MAINTENANCE_SNAPSHOTS].is_enabled) status = expire(self, metadata);
    nl_table_metadata_release(metadata);
    if (!status && may_delete && self->settings[NL_MAINTENANCE_UNREFERENCED].is_enabled) status = remove_unreferenced(self);
    return status;
}

static uint64_t fingerprint(nl_str text, uint64_t hash)
{
    for (size_t i = 0; i < text.length; i++) hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3ull; /* FNV-1a */
    return hash;
}

/* Nothing was committed for a while, and it was not looked at today as it is. */
static bool is_due(nl_maintenance_runner *self, const nl_table_entry *entry, seen **slot, seen *now)
{
    const int64_t micros = nl_now_micros();
    if (entry->is_view || !entry->metadata_location.length || micros - entry->modified_micros < self->options.quiet_ms * 1000) return false;
    const uint64_t table = fingerprint(entry->uuid, 0xcbf29ce484222325ull);
    *slot = &self->slots[table % SEEN_SLOTS];
    *now = (seen){.table = fingerprint(entry->version_token, table), .day = micros / 86400000000};
    return (*slot)->table != now->table || (*slot)->day != now->day;
}

static nl_status visit_table(nl_maintenance_runner *self, const nl_warehouse *bucket, nl_catalog *catalog, const nl_table_entry *entry)
{
    seen *slot = NULL, now;
    if (!is_due(self, entry, &slot, &now)) return NULL;
    const nl_identifier identifier = {entry->namespace_parts, entry->namespace_count, entry->name};
    visit one = {.runner = self, .bucket = bucket, .entry = entry, .arena = nl_arena_new(self->memory)};
    nl_status status = nl_catalog_load_table(catalog, &identifier, &one.table);
    if (!status) status = maintain(&one);
    nl_iceberg_table_release(one.table);
    nl_arena_free(one.arena);
    if (!status) *slot = now;
    return status;
}

/* ---- A round. */

static nl_status visit_namespace(nl_maintenance_runner *self, const nl_warehouse *bucket, nl_catalog *catalog, const nl_namespace_entry *space)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_str after = {0};
    nl_status status = NULL;
    for (uint32_t count = PAGE_TABLES; !status && count == PAGE_TABLES && !is_ending(self);) {
        const nl_table_entry *entries = NULL;
        status = nl_tables_list(self->tables, bucket->id, space->parts, space->part_count, false, (nl_str){0}, after, PAGE_TABLES, arena, &entries, &count);
        for (uint32_t i = 0; !status && i < count && !is_ending(self); i++) {
            /* One table's trouble is not another's. */
            nl_error *error = visit_table(self, bucket, catalog, &entries[i]);
            if (error) nl_log(NL_LOG_WARN, "maintenance of " NL_STR_FMT ": %s", NL_STR_ARG(entries[i].name), nl_error_message(error));
            nl_error_free(error);
        }
        if (!status && count) after = entries[count - 1].name;
    }
    nl_arena_free(arena);
    return status;
}

static nl_status visit_bucket(nl_maintenance_runner *self, const nl_warehouse *bucket, nl_arena *arena)
{
    static const nl_commit_environment nobody = {0};
    nl_catalog *catalog = NULL;
    const nl_namespace_entry *spaces = NULL;
    uint32_t count = 0;
    NL_TRY(nl_tables_list_namespaces(self->tables, bucket->id, NULL, 0, (nl_str){0}, (nl_str){0}, UINT32_MAX, arena, &spaces, &count));
    NL_TRY(nl_tables_catalog(self->tables, bucket->id, NL_STR("lake"), &nobody, &catalog));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < count && !is_ending(self); i++) status = visit_namespace(self, bucket, catalog, &spaces[i]);
    nl_catalog_release(catalog);
    return status;
}

static void run_round(nl_maintenance_runner *self)
{
    nl_arena *arena = nl_arena_new(self->memory);
    const nl_warehouse *buckets = NULL;
    uint32_t count = 0;
    nl_error *error = nl_tables_list_warehouses(self->tables, NL_WAREHOUSE_TABLE_BUCKET, arena, &buckets, &count);
    for (uint32_t i = 0; !error && i < count && !is_ending(self); i++) error = visit_bucket(self, &buckets[i], arena);
    if (error) nl_log(NL_LOG_WARN, "maintenance: %s", nl_error_message(error));
    nl_error_free(error);
    nl_arena_free(arena);
}

/* False when it is time to end. */
static bool wait_for_next(nl_maintenance_runner *self)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += self->options.every_ms / 1000;
    until.tv_nsec += self->options.every_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) until = (struct timespec){until.tv_sec + 1, until.tv_nsec - 1000000000};
    nl_mutex_lock(&self->mutex);
    int waited = 0;
    while (!self->is_ending && waited == 0) waited = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
    const bool goes_on = !self->is_ending;
    nl_mutex_unlock(&self->mutex);
    return goes_on;
}

static nl_status maintenance_loop(void *argument, uint32_t worker)
{
    (void)worker;
    while (wait_for_next(argument)) run_round(argument);
    return NULL;
}

nl_status nl_maintenance_start(nl_tables *tables, nl_queries *queries, const nl_maintenance_options *options, nl_memory *memory, nl_maintenance_runner **runner)
{
    nl_maintenance_runner *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->tables = tables;
    made->queries = queries;
    made->options = *options;
    made->memory = nl_memory_retain(memory);
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->changed, NULL);
    made->pool = nl_pool_new(1, "nilas-maintain");
    made->group = nl_task_group_new(made->pool, NULL);
    nl_task_group_add(made->group, maintenance_loop, made);
    *runner = made;
    return NULL;
}

void nl_maintenance_stop(nl_maintenance_runner *runner)
{
    if (!runner) return;
    nl_mutex_lock(&runner->mutex);
    runner->is_ending = true;
    if (runner->session) nl_session_cancel(runner->session);
    pthread_cond_signal(&runner->changed);
    nl_mutex_unlock(&runner->mutex);
    nl_error_free(nl_task_group_wait(runner->group));
    nl_pool_free(runner->pool);
    pthread_cond_destroy(&runner->changed);
    nl_mutex_fini(&runner->mutex);
    nl_memory_release(runner->memory);
    free(runner);
}
