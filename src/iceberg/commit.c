/* iceberg/commit.c - the optimistic loop around every change of a table.
 *
 * Source: Iceberg spec, "Commit Conflict Resolution and Retry"; the properties commit.retry.* and commit.status-check.*.
 */
#include "iceberg/operation_private.h"

#include <time.h>

#include "base/calendar.h"
#include "base/uuid.h"

typedef struct retry_policy {
    int64_t retries;
    int64_t wait_ms_min;
    int64_t wait_ms_max;
    int64_t total_ms_max;
} retry_policy;

nl_status nl_property_number(const nl_table_metadata *metadata, const char *key, int64_t fallback, int64_t *value)
{
    return nl_table_property_int(metadata, key, fallback, value);
}

static nl_status read_policy(const nl_table_metadata *metadata, const char *const keys[4], const int64_t defaults[4], retry_policy *policy)
{
    int64_t values[4];
    for (uint32_t i = 0; i < NL_COUNT(values); i++)
        NL_TRY(nl_table_property_int(metadata, keys[i], defaults[i], &values[i]));
    *policy = (retry_policy){values[0], values[1], values[2], values[3]};
    return NULL;
}

static nl_status retry_policy_of(const nl_table_metadata *metadata, retry_policy *policy)
{
    static const char *const keys[] = {"commit.retry.num-retries", "commit.retry.min-wait-ms", "commit.retry.max-wait-ms", "commit.retry.total-timeout-ms"};
    static const int64_t defaults[] = {4, 100, 60000, 1800000};
    return read_policy(metadata, keys, defaults, policy);
}

static nl_status status_policy_of(const nl_table_metadata *metadata, retry_policy *policy)
{
    static const char *const keys[] = {"commit.status-check.num-retries", "commit.status-check.min-wait-ms", "commit.status-check.max-wait-ms",
                                       "commit.status-check.total-timeout-ms"};
    static const int64_t defaults[] = {3, 1000, 60000, 1800000};
    return read_policy(metadata, keys, defaults, policy);
}

/* Exponential with a tenth of jitter, so that writers that collided once do not do so again. */
static void back_off(const retry_policy *policy, int64_t attempt)
{
    uint8_t noise[16];
    int64_t wait_ms = policy->wait_ms_min;
    for (int64_t i = 1; i < attempt && wait_ms < policy->wait_ms_max; i++)
        wait_ms *= 2;
    wait_ms = NL_MIN(wait_ms, policy->wait_ms_max);
    nl_uuid_new(noise);
    wait_ms += wait_ms * noise[0] / 2560;
    const struct timespec pause = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void keep_metadata(nl_iceberg_table *table, const nl_table_metadata *metadata) /* takes metadata */
{
    nl_mutex_lock(&table->mutex);
    const nl_table_metadata *previous = table->metadata;
    table->metadata = metadata;
    nl_mutex_unlock(&table->mutex);
    nl_table_metadata_release(previous);
}

nl_str nl_metadata_folder(nl_arena *arena, const nl_table_metadata *metadata)
{
    const nl_str path = nl_table_property(metadata, "write.metadata.path", NULL);
    if (path.length) return nl_arena_str(arena, path);
    return nl_path_join(arena, metadata->location, NL_STR("metadata"));
}

int64_t nl_new_snapshot_id(const nl_table_metadata *base)
{
    for (;;) {
        uint8_t bytes[16];
        uint64_t high, low;
        nl_uuid_new(bytes);
        memcpy(&high, bytes, sizeof high);
        memcpy(&low, bytes + sizeof high, sizeof low);
        const int64_t id = (int64_t)((high ^ low) & INT64_MAX);
        if (id > 0 && !nl_table_snapshot(base, id)) return id;
    }
}

/* One attempt: build from the handle's metadata and swap. *committed NULL: nothing to change. */
static nl_status attempt_once(nl_iceberg_table *table, nl_metadata_change build, void *argument, nl_arena *arena, const nl_table_metadata *base,
                              const nl_table_metadata **committed)
{
    const nl_table_metadata *updated = NULL;
    nl_metadata_builder *builder = nl_metadata_builder_new(base, table->memory);
    nl_status status = build(argument, base, arena, builder);
    const bool has_changes = !status && nl_metadata_builder_has_changes(builder);
    if (has_changes) status = nl_metadata_builder_finish(builder, NL_NONE, &updated);
    nl_metadata_builder_free(builder);
    *committed = NULL;
    if (status || !has_changes) return status;
    status = table->store->ops->swap(table->store, base, updated, table->memory, committed);
    nl_table_metadata_release(updated);
    return status;
}

static bool contains_commit(const nl_table_metadata *metadata, int64_t snapshot_id)
{
    return nl_table_snapshot(metadata, snapshot_id) != NULL;
}

/* The reply got lost: the truth is in the catalog. Returns NULL when the commit is there, NILAS_COMMIT_FAILED when it
 * surely is not, `unknown` when it cannot be said. */
static nl_status check_outcome(nl_iceberg_table *table, const nl_table_metadata *base, const int64_t *snapshot_id, nl_status unknown)
{
    retry_policy policy = {0};
    nl_error_free(status_policy_of(base, &policy));
    for (int64_t attempt = 0; snapshot_id && *snapshot_id != NL_NONE && attempt <= policy.retries; attempt++) {
        if (attempt > 0) back_off(&policy, attempt);
        nl_error *error = nl_iceberg_table_refresh(table);
        if (error) {
            nl_error_free(error);
            continue;
        }
        const nl_table_metadata *current = nl_iceberg_table_metadata(table);
        const bool is_there = contains_commit(current, *snapshot_id);
        nl_table_metadata_release(current);
        nl_error_free(unknown);
        return is_there ? NULL : NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "The commit to " NL_STR_FMT " did not arrive", NL_STR_ARG(table->name));
    }
    return unknown;
}

/* No more attempts after one whose answer was lost: unless that one is there, nobody may clean up. */
static nl_status last_look(nl_iceberg_table *table, const int64_t *snapshot_id, nl_status failure)
{
    nl_error *error = nl_iceberg_table_refresh(table);
    const nl_table_metadata *current = error ? NULL : nl_iceberg_table_metadata(table);
    const bool is_there = current && snapshot_id && *snapshot_id != NL_NONE && contains_commit(current, *snapshot_id);
    nl_table_metadata_release(current);
    nl_error_free(error);
    if (is_there) {
        nl_error_free(failure);
        return NULL;
    }
    nl_error_set_kind(failure, NL_KIND_UNKNOWN_STATE);
    return failure;
}

static nl_status run_attempts(nl_iceberg_table *table, nl_metadata_change build, void (*after_failure)(void *argument), void *argument, const int64_t *snapshot_id)
{
    const int64_t start_ms = nl_now_micros() / 1000;
    bool was_lost = false;
    for (int64_t attempt = 0;; attempt++) {
        nl_arena *arena = nl_arena_new(table->memory);
        const nl_table_metadata *base = nl_iceberg_table_metadata(table), *committed = NULL;
        retry_policy policy = {0};
        const bool is_there = was_lost && snapshot_id && contains_commit(base, *snapshot_id);
        nl_status status = retry_policy_of(base, &policy);
        if (!status && !is_there) status = attempt_once(table, build, argument, arena, base, &committed);
        if (status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) {
            was_lost = true;
            status = check_outcome(table, base, snapshot_id, status);
        }
        if (!status && committed) keep_metadata(table, committed);
        nl_table_metadata_release(base);
        nl_arena_free(arena);
        if (!status || nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) return status;
        if (after_failure && !was_lost) after_failure(argument);
        const bool is_late = nl_now_micros() / 1000 - start_ms > policy.total_ms_max;
        if (nl_error_condition(status) != NL_COND_NILAS_COMMIT_FAILED || attempt > policy.retries || is_late)
            return was_lost ? last_look(table, snapshot_id, status) : status;
        nl_error_free(status);
        /* The first attempt goes by metadata that may be old: that it lost costs no wait and no retry. */
        if (attempt > 0) back_off(&policy, attempt);
        status = nl_iceberg_table_refresh(table);
        if (status && was_lost) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
        if (status) return status;
    }
}

nl_status nl_say_unknown(nl_status status, const char *what, nl_str name)
{
    if (!status || nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) return status;
    const nl_condition condition = nl_error_condition(status);
    /* These say more than that, or what the caller waits for. */
    if (condition == NL_COND_NILAS_COMMIT_STATE_UNKNOWN || condition == NL_COND_NILAS_UNSUPPORTED || condition == NL_COND_OPERATION_CANCELED ||
        condition == NL_COND_UNABLE_TO_ACQUIRE_MEMORY)
        return status;
    nl_status unknown = NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "Cannot say whether %s " NL_STR_FMT " was done: %s", what, NL_STR_ARG(name), nl_error_message(status));
    nl_error_free(status);
    return unknown;
}

/* After an answer that got lost the commit may still arrive: its files stay, and each attempt after it asks first. */
nl_status nl_commit_loop(nl_iceberg_table *table, nl_metadata_change build, void (*after_failure)(void *argument), void *argument, const int64_t *snapshot_id)
{
    return nl_say_unknown(run_attempts(table, build, after_failure, argument, snapshot_id), "the commit to", table->name);
}

nl_status nl_table_change(nl_iceberg_table *table, nl_metadata_change change, void *argument)
{
    return nl_commit_loop(table, change, NULL, argument, NULL);
}
