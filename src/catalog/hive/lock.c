/* catalog/hive/lock.c - see lock.h. */
#include "catalog/hive/lock.h"

#include <unistd.h>

#include "base/log.h"
#include "base/uuid.h"

enum { LOCK_EXCLUSIVE = 3, LEVEL_TABLE = 2 };
enum { STATE_ACQUIRED = 1, STATE_WAITING = 2 };

typedef struct lock_wish {
    nl_hive_client *client;
    const nl_hive_options *options;
    nl_str database, table, agent;
} lock_wish;

static nl_status call_with(nl_hive_client *client, const nl_hive_method *method, nl_wire_value request, nl_arena *arena, nl_hive_answer *answer)
{
    nl_wire_value arguments = nl_wire_struct();
    nl_wire_set(arena, &arguments, 1, request);
    return nl_hive_call(client, method, &arguments, arena, answer);
}

static nl_wire_value with_number(nl_arena *arena, int64_t id)
{
    nl_wire_value request = nl_wire_struct();
    nl_wire_set_number(arena, &request, 1, NL_WIRE_I64, id);
    return request;
}

static nl_wire_value lock_request(const lock_wish *wish, nl_arena *arena)
{
    char host[256] = "unknown";
    nl_wire_value request = nl_wire_struct(), component = nl_wire_struct(), components = nl_wire_list(NL_WIRE_STRUCT);
    if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '?';
    nl_wire_set_number(arena, &component, 1, NL_WIRE_I32, LOCK_EXCLUSIVE);
    nl_wire_set_number(arena, &component, 2, NL_WIRE_I32, LEVEL_TABLE);
    nl_wire_set_text(arena, &component, 3, wish->database);
    nl_wire_set_text(arena, &component, 4, wish->table);
    nl_wire_add(arena, &components, component);
    nl_wire_set(arena, &request, 1, components);
    nl_wire_set_text(arena, &request, 3, wish->options->user);
    nl_wire_set_text(arena, &request, 4, nl_arena_str(arena, nl_str_from(host)));
    nl_wire_set_text(arena, &request, 5, wish->agent);
    return request;
}

/* A lock whose making was not answered: it is known by its agent. *id stays 0 when there is none. */
static nl_status find_lock(const lock_wish *wish, nl_arena *arena, int64_t *id, int64_t *state)
{
    enum { ELEMENT_ID = 1, ELEMENT_STATE = 5, ELEMENT_AGENT = 13 };
    static const nl_hive_method method = {.name = "show_locks"};
    nl_wire_value request = nl_wire_struct();
    nl_hive_answer answer;
    nl_wire_set_text(arena, &request, 1, wish->database);
    nl_wire_set_text(arena, &request, 2, wish->table);
    nl_wire_set_number(arena, &request, 4, NL_WIRE_BOOL, false);
    NL_TRY(call_with(wish->client, &method, request, arena, &answer));
    NL_TRY(nl_hive_failure(&answer, &method));
    const nl_wire_value *locks = answer.result ? nl_wire_field(answer.result, 1, NL_WIRE_LIST) : NULL;
    for (uint32_t i = 0; locks && i < locks->count; i++)
        if (nl_str_equal(nl_wire_text(&locks->items[i], ELEMENT_AGENT), wish->agent)) {
            *id = nl_wire_number(&locks->items[i], ELEMENT_ID, 0);
            *state = nl_wire_number(&locks->items[i], ELEMENT_STATE, STATE_WAITING);
        }
    return NULL;
}

static nl_status refused(const lock_wish *wish, const nl_hive_answer *answer, const nl_hive_method *method)
{
    const nl_str missing = NL_STR("HIVE_LOCKS");
    if (nl_str_find(answer->message, missing, 0) == NL_NOT_FOUND) return nl_hive_failure(answer, method);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                         "Failed to acquire locks from metastore because the underlying metastore table 'HIVE_LOCKS' does not exist: have the metastore make the tables of its "
                         "transactions (schematool), or commit without locks (engine.hive.lock-enabled=false) to " NL_STR_FMT "." NL_STR_FMT,
                         NL_STR_ARG(wish->database), NL_STR_ARG(wish->table));
}

/* One try to make the lock. *id 0: it was not made. */
static nl_status make_lock(const lock_wish *wish, nl_arena *arena, int64_t *id, int64_t *state)
{
    static const nl_hive_method method = {.name = "lock", .changes = true, .exceptions = {"NoSuchTxnException", "TxnAbortedException"}};
    nl_hive_answer answer;
    nl_error *error = call_with(wish->client, &method, lock_request(wish, arena), arena, &answer);
    if (error && nl_error_kind_of(error) == NL_KIND_UNKNOWN_STATE) {
        nl_error_free(error);
        return find_lock(wish, arena, id, state);
    }
    NL_TRY(error);
    if (answer.exception) return refused(wish, &answer, &method);
    *id = nl_wire_number(answer.result, 1, 0);
    *state = nl_wire_number(answer.result, 2, STATE_WAITING);
    return *id ? NULL : NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "The Hive metastore answered a lock request without a lock");
}

static nl_status create(const lock_wish *wish, nl_arena *arena, int64_t *id, int64_t *state)
{
    const int64_t until = nl_hive_now_ms() + wish->options->lock_creation_timeout_ms;
    int64_t wait = NL_MAX(wish->options->lock_creation_min_ms, 1);
    for (;;) {
        *id = 0;
        nl_error *error = make_lock(wish, arena, id, state);
        if (!error && *id) return NULL;
        const bool may_try = !error || nl_error_condition(error) == NL_COND_NILAS_SERVICE_UNAVAILABLE;
        if (error && (!may_try || nl_hive_now_ms() + wait > until)) {
            nl_error_set_kind(error, may_try ? NL_KIND_RETRY : nl_error_kind_of(error)); /* nothing was committed */
            return error;
        }
        nl_error_free(error);
        nl_hive_sleep_ms(wait);
        wait = NL_MIN(wait * 2, NL_MAX(wish->options->lock_creation_max_ms, 1));
    }
}

static nl_status check(const lock_wish *wish, int64_t id, nl_arena *arena, int64_t *state)
{
    static const nl_hive_method method = {.name = "check_lock", .exceptions = {"NoSuchTxnException", "TxnAbortedException", "NoSuchLockException"}};
    nl_hive_answer answer;
    NL_TRY(call_with(wish->client, &method, with_number(arena, id), arena, &answer));
    if (answer.exception)
        return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Lost the lock on " NL_STR_FMT "." NL_STR_FMT " while waiting for it (%s)", NL_STR_ARG(wish->database), NL_STR_ARG(wish->table),
                             answer.exception);
    *state = nl_wire_number(answer.result, 2, 0);
    return NULL;
}

static nl_status await(const lock_wish *wish, int64_t id, int64_t *state, nl_memory *memory)
{
    const int64_t until = nl_hive_now_ms() + wish->options->lock_timeout_ms;
    int64_t wait = NL_MAX(wish->options->lock_check_min_ms, 1);
    while (*state == STATE_WAITING) {
        if (nl_hive_now_ms() + wait > until)
            return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Timed out after %lld ms waiting for lock on " NL_STR_FMT "." NL_STR_FMT, (long long)wish->options->lock_timeout_ms,
                                 NL_STR_ARG(wish->database), NL_STR_ARG(wish->table));
        nl_hive_sleep_ms(wait);
        wait = NL_MIN(wait + wait / 2 + 1, NL_MAX(wish->options->lock_check_max_ms, 1));
        nl_arena *arena = nl_arena_new(memory);
        nl_status status = check(wish, id, arena, state);
        nl_arena_free(arena);
        NL_TRY(status);
    }
    if (*state == STATE_ACQUIRED) return NULL;
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Could not acquire the lock on " NL_STR_FMT "." NL_STR_FMT ", lock request ended in state %lld", NL_STR_ARG(wish->database),
                         NL_STR_ARG(wish->table), (long long)*state);
}

nl_status nl_hive_lock_take(nl_hive_client *client, const nl_hive_options *options, nl_str database, nl_str table, nl_memory *memory, nl_hive_lock *lock)
{
    uint8_t bytes[16];
    char uuid[NL_UUID_TEXT_LENGTH];
    int64_t state = 0;
    nl_arena *arena = nl_arena_new(memory);
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, uuid);
    const lock_wish wish = {client, options, database, table, nl_arena_f(arena, "Iceberg-%.*s", (int)sizeof(uuid), uuid)};
    *lock = (nl_hive_lock){.client = client, .options = options};
    nl_status status = create(&wish, arena, &lock->id, &state);
    if (!status) {
        status = await(&wish, lock->id, &state, memory);
        lock->heard_ms = nl_hive_now_ms();
        if (status) nl_hive_lock_release(lock, memory);
    }
    nl_arena_free(arena);
    return status;
}

nl_status nl_hive_lock_is_held(nl_hive_lock *lock, nl_arena *arena)
{
    static const nl_hive_method method = {.name = "heartbeat", .exceptions = {"NoSuchLockException", "NoSuchTxnException", "TxnAbortedException"}};
    nl_hive_answer answer;
    if (!lock->id || nl_hive_now_ms() - lock->heard_ms < lock->options->heartbeat_ms) return NULL;
    NL_TRY(call_with(lock->client, &method, with_number(arena, lock->id), arena, &answer));
    if (answer.exception) return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Failed to heartbeat for hive lock. %s", answer.exception);
    lock->heard_ms = nl_hive_now_ms();
    return NULL;
}

void nl_hive_lock_release(nl_hive_lock *lock, nl_memory *memory)
{
    static const nl_hive_method method = {.name = "unlock", .exceptions = {"NoSuchLockException", "TxnOpenException"}}; /* once more does no harm */
    nl_hive_answer answer;
    if (!lock->id) return;
    nl_arena *arena = nl_arena_new(memory);
    nl_error *error = call_with(lock->client, &method, with_number(arena, lock->id), arena, &answer);
    if (!error && !nl_hive_is(&answer, "NoSuchLockException")) error = nl_hive_failure(&answer, &method);
    if (error) nl_log(NL_LOG_WARN, "a lock of the Hive metastore stays until it times out: %s", nl_error_message(error));
    nl_error_free(error);
    nl_arena_free(arena);
    lock->id = 0;
}
