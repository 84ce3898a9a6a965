/* catalog/rest/store.c - one table's metadata on a REST server: loading it, and the commit.
 *
 * A commit goes out as the difference of base and new metadata. When its answer gets lost (500, 502, 503, 504, a connection
 * that broke), the table is looked up; if the change is not there, the very same request is sent again. It carries the
 * requirements of the first, so that of the two at most one takes effect, and a conflict at the second try is looked up
 * too: only when the change is surely not there and cannot come any more is it a failed commit, whose files may go.
 */
#include "catalog/rest/rest_private.h"

#include <stdlib.h>
#include <time.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "catalog/rest/metrics.h"
#include "catalog/rest/plan.h"
#include "iceberg/metadata_diff.h"

typedef struct rest_store {
    nl_table_store base;
    nl_remote_catalog *catalog; /* retained */
    nl_arena *arena;          /* owned: the texts */
    nl_identifier identifier;
    nl_str token;             /* a table's own; or empty */
    bool plans_remotely;      /* scan-planning-mode=server, and it is offered */
} rest_store;

static nl_status rest_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    rest_store *self = NL_CONTAINER(base, rest_store, base);
    const nl_remote_session *session;
    nl_remote_table table;
    NL_TRY(nl_remote_session_of(self->catalog, &session));
    nl_arena *arena = nl_arena_new(memory);
    nl_status status = nl_remote_fetch_table(self->catalog, session, &self->identifier, self->token, arena, &table);
    if (!status) *metadata = table.metadata;
    nl_arena_free(arena);
    return status;
}

static void append_commit(nl_builder *out, const nl_metadata_diff *diff, const nl_identifier *identifier)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    if (identifier) {
        nl_json_key(&writer, "identifier");
        nl_remote_append_identifier(&writer, identifier);
    }
    nl_json_key(&writer, "requirements");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < diff->requirement_count; i++) {
        nl_json_before_value(&writer);
        nl_table_requirement_append_json(&diff->requirements[i], out);
        nl_json_after_value(&writer);
    }
    nl_json_end(&writer, ']');
    nl_json_key(&writer, "updates");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < diff->update_count; i++) {
        nl_json_before_value(&writer);
        nl_table_update_append_json(&diff->updates[i], out);
        nl_json_after_value(&writer);
    }
    nl_json_end(&writer, ']');
    nl_json_end(&writer, '}');
}

typedef struct commit { /* one swap */
    rest_store *store;
    const nl_remote_session *session;
    const nl_table_metadata *updated;
    nl_metadata_diff diff;
    nl_remote_request request;
    nl_remote_subject subject;
    nl_memory *memory;
    nl_arena *arena;
    int64_t tries_max, wait_ms_min, wait_ms_max; /* commit.status-check.* */
    int32_t code; /* of the last answer; 0: none came */
} commit;

/* Some servers (Nessie, which has branches of its own) take a commit and keep nothing of a table's own branches and tags. */
static nl_status check_refs_kept(const commit *c, const nl_table_metadata *committed)
{
    for (uint32_t i = 0; i < c->diff.update_count; i++) {
        const nl_table_update *update = &c->diff.updates[i];
        if (update->kind != NL_UPDATE_SET_SNAPSHOT_REF || nl_str_is(update->ref->name, NL_MAIN_BRANCH) || nl_table_ref(committed, update->ref->name)) continue;
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The REST catalog " NL_STR_FMT " does not keep branches and tags of a table: " NL_STR_FMT " is not there after a commit that was taken",
                             NL_STR_ARG(c->subject.catalog), NL_STR_ARG(update->ref->name));
    }
    return NULL;
}

/* NULL done; NILAS_COMMIT_FAILED and others: surely not done by this try; kind UNKNOWN_STATE: nobody knows. */
static nl_status try_once(commit *c, const nl_table_metadata **committed)
{
    nl_remote_answer answer;
    NL_CRASH_POINT("commit.before-swap");
    c->code = 0;
    NL_TRY(nl_remote_send(c->store->catalog, c->session, &c->request, c->arena, &answer));
    NL_CRASH_POINT("commit.after-swap");
    c->code = answer.status;
    if (answer.status == 409 && answer.attempts > 1) /* the first of several tries may have been taken */
        return NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "Cannot say whether the commit was done: a repeated request met a conflict");
    if (!nl_remote_is_good(&answer)) return nl_remote_failure(&answer, &c->subject);
    nl_error *error = nl_remote_committed_read(c->arena, answer.json, c->memory, committed);
    if (!error) return NULL;
    nl_error_set_kind(error, NL_KIND_UNKNOWN_STATE); /* 200, whatever stands in it */
    return error;
}

/* *is_known: the table could be looked up; *committed: its metadata when the change is in it, else NULL. */
static void look_up(commit *c, bool *is_known, const nl_table_metadata **committed)
{
    nl_remote_table table = {0};
    *committed = NULL;
    nl_error *error = nl_remote_fetch_table(c->store->catalog, c->session, &c->store->identifier, c->store->token, c->arena, &table);
    *is_known = !error || nl_error_condition(error) == NL_COND_TABLE_OR_VIEW_NOT_FOUND;
    nl_error_free(error);
    if (!table.metadata) return;
    if (nl_metadata_diff_holds(&c->diff, c->updated, table.metadata)) *committed = table.metadata;
    else nl_table_metadata_release(table.metadata);
}

static void pause_before(const commit *c, int64_t attempt)
{
    int64_t wait_ms = c->wait_ms_min;
    for (int64_t i = 1; i < attempt && wait_ms < c->wait_ms_max; i++)
        wait_ms *= 2;
    wait_ms = NL_MIN(wait_ms, c->wait_ms_max);
    nanosleep(&(struct timespec){.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000}, NULL);
}

/* An answer got lost. `unknown` is taken. */
static nl_status settle(commit *c, nl_status unknown, const nl_table_metadata **committed)
{
    for (int64_t attempt = 0; attempt <= c->tries_max; attempt++) {
        bool is_known = false;
        if (attempt) pause_before(c, attempt);
        look_up(c, &is_known, committed);
        if (*committed) {
            nl_error_free(unknown);
            return NULL;
        }
        if (!is_known) continue;
        nl_status status = try_once(c, committed);
        const bool is_conflict = status && c->code == 409 && (nl_error_condition(status) == NL_COND_NILAS_COMMIT_FAILED || nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS);
        if (is_conflict) { /* with whom? */
            look_up(c, &is_known, committed);
            if (*committed) {
                nl_error_free(status);
                status = NULL;
            } else if (!is_known) {
                nl_error_free(status);
                continue;
            }
        }
        if (!status || is_conflict) {
            nl_error_free(unknown);
            return status;
        }
        nl_error_free(unknown);
        unknown = status;
        nl_error_set_kind(unknown, NL_KIND_UNKNOWN_STATE); /* a refusal of this try says nothing about the first */
    }
    return unknown;
}

/* Whatever the last try met: what counts is that nobody knows. Taken. */
static nl_status say_unknown(nl_status status)
{
    if (!status || nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE || nl_error_condition(status) == NL_COND_NILAS_COMMIT_STATE_UNKNOWN) return status;
    nl_status unknown = NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "Cannot say whether the commit was done: %s", nl_error_message(status));
    nl_error_free(status);
    return unknown;
}

static nl_status read_policy(commit *c, const nl_table_metadata *updated)
{
    NL_TRY(nl_table_property_int(updated, "commit.status-check.num-retries", 3, &c->tries_max));
    NL_TRY(nl_table_property_int(updated, "commit.status-check.min-wait-ms", 1000, &c->wait_ms_min));
    NL_TRY(nl_table_property_int(updated, "commit.status-check.max-wait-ms", 60000, &c->wait_ms_max));
    c->wait_ms_min = NL_MAX(c->wait_ms_min, 0);
    return NULL;
}

static nl_status swap_in(commit *c, const nl_table_metadata *base, nl_builder *body, const nl_table_metadata **committed)
{
    rest_store *self = c->store;
    NL_TRY(nl_remote_require(c->session, NL_REMOTE_COMMIT_TABLE));
    NL_TRY(nl_metadata_diff_make(c->arena, base, c->updated, &c->diff));
    NL_TRY(read_policy(c, c->updated));
    append_commit(body, &c->diff, NULL);
    if (nl_builder_failed(body)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The commit is larger than %zu bytes", body->limit);
    c->request = (nl_remote_request){.method = "POST", .path = nl_remote_item_path(c->arena, c->session, &self->identifier, "tables"), .body = nl_builder_str(body),
                                   .token = self->token, .is_commit = true};
    c->subject = nl_remote_subject_of(c->arena, self->catalog, c->session, base ? NL_REMOTE_COMMIT : NL_REMOTE_NEW_TABLE, &self->identifier);
    nl_status status = try_once(c, committed);
    const bool may_come = status && nl_error_kind_of(status) == NL_KIND_RETRY && nl_error_condition(status) != NL_COND_NILAS_COMMIT_FAILED;
    if (may_come) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE); /* 5xx for a creation; no connection: worth another try */
    if (status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE) status = say_unknown(settle(c, status, committed));
    nl_remote_cache_drop(self->catalog->cache, c->request.path);
    if (!status && base) {
        status = check_refs_kept(c, *committed);
        if (status) {
            nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE); /* something was taken: its files stay */
            nl_table_metadata_release(*committed);
            *committed = NULL;
        }
    }
    return status;
}

static nl_status rest_swap(nl_table_store *base_store, const nl_table_metadata *base, const nl_table_metadata *updated, nl_memory *memory, const nl_table_metadata **committed)
{
    rest_store *self = NL_CONTAINER(base_store, rest_store, base);
    commit c = {.store = self, .updated = updated, .memory = memory};
    nl_builder body;
    NL_TRY(nl_remote_session_of(self->catalog, &c.session));
    c.arena = nl_arena_new(memory);
    nl_builder_init(&body, NL_METADATA_BYTES_MAX);
    *committed = NULL;
    const int64_t start_micros = nl_now_micros();
    nl_status status = swap_in(&c, base, &body, committed);
    nl_builder_fini(&body);
    nl_arena_free(c.arena);
    if (!status) nl_remote_report_commit(self->catalog, &self->identifier, self->token, &(nl_commit_report){base, updated, nl_now_micros() - start_micros});
    return status;
}

static void rest_report_scan(nl_table_store *base, const struct nl_scan_report *report)
{
    rest_store *self = NL_CONTAINER(base, rest_store, base);
    nl_remote_report_scan(self->catalog, &self->identifier, self->token, report);
}

static nl_status rest_plan_scan(nl_table_store *base, const struct nl_scan_planning *input, struct nl_scan_plan **plan)
{
    rest_store *self = NL_CONTAINER(base, rest_store, base);
    *plan = NULL;
    if (!self->plans_remotely || !input->snapshot || input->after_snapshot_id > 0 || input->ignores_deletes) return NULL;
    return nl_remote_plan_scan(self->catalog, &self->identifier, self->token, input, plan);
}

static void rest_free(nl_table_store *base)
{
    rest_store *self = NL_CONTAINER(base, rest_store, base);
    nl_catalog_release(&self->catalog->base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_table_store_ops store_ops = {.load = rest_load, .swap = rest_swap, .plan_scan = rest_plan_scan, .report_scan = rest_report_scan, .free = rest_free};

static bool plans_remotely(const nl_remote_session *session, const nl_remote_table *table)
{
    nl_str mode = nl_remote_property(session, "scan-planning-mode");
    for (uint32_t i = 0; i < table->config_count; i++)
        if (nl_str_is(table->config[i].key, "scan-planning-mode")) mode = table->config[i].value;
    return nl_str_is_nocase(mode, "server") && nl_remote_offers(session, NL_REMOTE_PLAN);
}

nl_status nl_remote_store_new(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_remote_table *table, nl_table_store **store)
{
    rest_store *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    self->base.ops = &store_ops;
    self->arena = nl_arena_new(NULL);
    nl_str *parts = NL_NEW_ARRAY(self->arena, nl_str, (size_t)identifier->namespace_count + 1);
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i] = nl_arena_str(self->arena, identifier->namespace_parts[i]);
    self->identifier = (nl_identifier){.namespace_parts = parts, .namespace_count = identifier->namespace_count, .name = nl_arena_str(self->arena, identifier->name)};
    self->token = nl_arena_str(self->arena, nl_remote_table_token(table));
    self->plans_remotely = plans_remotely(session, table);
    self->catalog = nl_remote_of(nl_catalog_retain(&catalog->base));
    *store = &self->base;
    return NULL;
}

/* ---- several tables at once ---- */

static nl_status make_transaction(nl_arena *arena, const nl_remote_table_change *changes, uint32_t change_count, nl_builder *body)
{
    nl_json_writer writer = {.out = body};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "table-changes");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < change_count; i++) {
        nl_metadata_diff diff;
        NL_TRY(nl_metadata_diff_make(arena, changes[i].base, changes[i].updated, &diff));
        nl_json_before_value(&writer);
        append_commit(body, &diff, &changes[i].identifier);
        nl_json_after_value(&writer);
    }
    nl_json_end(&writer, ']');
    nl_json_end(&writer, '}');
    return nl_builder_failed(body) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The transaction is larger than %zu bytes", body->limit) : NULL;
}

static nl_status send_transaction(nl_remote_catalog *catalog, const nl_remote_table_change *changes, uint32_t change_count, nl_arena *arena, nl_builder *body)
{
    const nl_remote_session *session;
    nl_remote_answer answer;
    NL_TRY(nl_remote_session_of(catalog, &session));
    NL_TRY(nl_remote_require(session, NL_REMOTE_TRANSACTION));
    NL_TRY(make_transaction(arena, changes, change_count, body));
    const nl_remote_request request = {.method = "POST", .path = nl_arena_f(arena, NL_STR_FMT "transactions/commit", NL_STR_ARG(session->prefix)),
                                     .body = nl_builder_str(body), .is_commit = true};
    const nl_remote_subject subject = nl_remote_subject_of(arena, catalog, session, NL_REMOTE_COMMIT, &changes[0].identifier);
    nl_status status = nl_remote_ask(catalog, session, &request, &subject, arena, &answer);
    for (uint32_t i = 0; i < change_count; i++)
        nl_remote_cache_drop(catalog->cache, nl_remote_item_path(arena, session, &changes[i].identifier, "tables"));
    return status;
}

nl_status nl_remote_commit_transaction(nl_catalog *catalog, const nl_remote_table_change *changes, uint32_t change_count)
{
    nl_builder body;
    if (catalog->ops->free != nl_remote_ops.free)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Commits to several tables at once are offered by REST catalogs only; " NL_STR_FMT " is %s", NL_STR_ARG(catalog->name),
                             catalog->ops->type);
    if (!change_count) return NULL;
    nl_arena *arena = nl_arena_new(catalog->memory);
    nl_builder_init(&body, NL_METADATA_BYTES_MAX);
    nl_status status = send_transaction(nl_remote_of(catalog), changes, change_count, arena, &body);
    nl_builder_fini(&body);
    nl_arena_free(arena);
    return status;
}
