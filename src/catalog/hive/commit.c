/* catalog/hive/commit.c - the pointer of a table or view in the metastore: read, and swapped under the metastore's lock.
 *
 * A commit takes the lock, looks whether the entry is the one that it is based on, and alters it; the metastore is told
 * besides which metadata_location it shall find (Hive 2.3.10, 3.1.4 and 4 look at it, HIVE-26882), so that with
 * engine.hive.lock-enabled=false one of several writers wins, and an alteration that is sent twice is done once.
 * Source: Java's HiveTableOperations, HiveViewOperations.
 */
#include "catalog/hive/hive.h"
#include "catalog/hive/lock.h"

#include <stdlib.h>

#define UNKNOWN_TRIES_MAX 5
#define UNKNOWN_WAIT_MS   100 /* doubled before each further try */

typedef struct hive_pointer {
    nl_pointer base;
    nl_hive_catalog *catalog; /* which outlives its tables */
    nl_arena *arena;          /* owned: the texts below */
    nl_str database, name, quoted, quoted_database, shown;
    bool is_view;
    const nl_view_metadata *view_base, *view; /* borrowed */
} hive_pointer;

static nl_status not_found(const hive_pointer *self)
{
    return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", self->quoted));
}

static nl_status hive_read(nl_pointer *base, nl_arena *arena, nl_str *metadata_file)
{
    hive_pointer *self = NL_CONTAINER(base, hive_pointer, base);
    nl_wire_value *entry;
    NL_TRY(nl_hms_get_table(self->catalog->client, self->database, self->name, arena, &entry));
    if (!(self->is_view ? nl_hive_is_view(entry) : nl_hive_is_table(entry))) return not_found(self);
    *metadata_file = nl_hms_parameter(entry, NL_HMS_METADATA_LOCATION_KEY);
    if (metadata_file->length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " is missing metadata_location property", NL_STR_ARG(self->shown));
    return NULL;
}

/* ---- one try ----------------------------------------------------------------------------------------------------- */

typedef struct swap {
    hive_pointer *pointer;
    nl_hive_content content;
    nl_hive_lock lock; /* id 0: without */
    nl_arena *arena;
} swap;

static nl_str location_of(const nl_wire_value *entry)
{
    return nl_hms_parameter(entry, NL_HMS_METADATA_LOCATION_KEY);
}

static nl_status look_at(const swap *self, nl_wire_value **entry)
{
    return nl_hms_get_table(self->pointer->catalog->client, self->pointer->database, self->pointer->name, self->arena, entry);
}

static bool is_as_expected(const swap *self, const nl_wire_value *entry)
{
    const nl_str expected = self->content.previous;
    return expected.length ? entry && nl_str_equal(location_of(entry), expected) : !entry;
}

static nl_status moved_on(const swap *self, const nl_wire_value *entry)
{
    const nl_str expected = self->content.previous, current = location_of(entry);
    if (!expected.length) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", self->pointer->quoted));
    if (!entry) return not_found(self->pointer);
    return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Cannot commit: Base metadata location '" NL_STR_FMT "' is not same as the current %s metadata location '" NL_STR_FMT "' for " NL_STR_FMT,
                         NL_STR_ARG(expected), self->pointer->is_view ? "view" : "table", NL_STR_ARG(current), NL_STR_ARG(self->pointer->shown));
}

/* The metastore threw something, so nothing is under way any more: what the entry says now is the outcome. */
static nl_status settle(const swap *self, const nl_hive_answer *answer)
{
    static const nl_hive_method method = {.name = "the commit"};
    nl_wire_value *entry = NULL;
    if (nl_hive_is(answer, "TApplicationException")) { /* it broke somewhere: before or after */
        nl_status status = nl_hive_failure(answer, &method);
        nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
        return status;
    }
    nl_error *error = look_at(self, &entry);
    if (error) {
        nl_error_set_kind(error, NL_KIND_UNKNOWN_STATE);
        return error;
    }
    if (entry && nl_str_equal(location_of(entry), self->content.next)) return NULL;
    if (!is_as_expected(self, entry)) return moved_on(self, entry);
    /* The entry does not exist although the creation was refused: its database is not there, or the metastore has a reason. */
    if (nl_hive_is(answer, "NoSuchObjectException") || (nl_hive_is(answer, "InvalidObjectException") && !self->content.previous.length && nl_str_find(answer->message, self->pointer->database, 0) == 0))
        return NL_RAISE(SCHEMA_NOT_FOUND, NL_P_STR("schemaName", self->pointer->quoted_database));
    return nl_hive_failure(answer, &method);
}

static nl_status send_entry(swap *self, nl_wire_value *entry)
{
    hive_pointer *pointer = self->pointer;
    nl_hive_catalog *catalog = pointer->catalog;
    nl_hive_answer answer;
    nl_wire_value made;
    if (!entry) {
        made = nl_hive_entry_new(self->arena, &catalog->options, pointer->database, pointer->name, &self->content);
        NL_TRY(nl_hive_entry_update(self->arena, &catalog->options, &self->content, &made));
        NL_TRY(nl_hms_create_table(catalog->client, &made, self->arena, &answer));
    } else {
        NL_TRY(nl_hive_entry_update(self->arena, &catalog->options, &self->content, entry));
        NL_TRY(nl_hive_lock_is_held(&self->lock, self->arena));
        NL_TRY(nl_hms_alter_table(catalog->client, pointer->database, pointer->name, entry, self->content.previous, self->arena, &answer));
    }
    return answer.exception ? settle(self, &answer) : NULL;
}

/* *is_known: what it returns is the outcome. has_doubt: nobody knows that of an earlier try. */
static nl_status try_swap(swap *self, bool has_doubt, bool *is_known)
{
    nl_wire_value *entry = NULL;
    *is_known = !has_doubt;
    NL_TRY(look_at(self, &entry));
    if (entry && nl_str_equal(location_of(entry), self->content.next)) {
        *is_known = true;
        return NULL;
    }
    if (!is_as_expected(self, entry)) return moved_on(self, entry); /* in doubt: the pointer's store looks through the log of the one in force */
    nl_status status = send_entry(self, entry);
    *is_known = !status || (!has_doubt && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE);
    return status;
}

/* An alteration whose outcome nobody knows is looked up and sent again: the location that it expects lets at most one of them
 * take effect. */
static nl_status swap_entry(swap *self)
{
    nl_status doubt = NULL;
    for (int tries = 1;; tries++) {
        bool is_known;
        nl_status status = try_swap(self, doubt != NULL, &is_known);
        if (is_known) {
            nl_error_free(doubt);
            return status;
        }
        if (!doubt) doubt = status;
        else nl_error_free(status);
        if (tries == UNKNOWN_TRIES_MAX) return doubt;
        nl_hive_sleep_ms((int64_t)UNKNOWN_WAIT_MS << tries);
    }
}

/* The metadata that the commit is based on, for the properties that it takes away. */
static nl_status load_base(hive_pointer *self, nl_str expected, const nl_table_metadata **base)
{
    const nl_file_info key = {.path = expected};
    *base = expected.length ? nl_metadata_cache_find(self->catalog->cache, &key) : NULL;
    if (*base || !expected.length) return NULL;
    return nl_table_metadata_read(self->catalog->fs, expected, self->catalog->base.memory, base);
}

static nl_status check_first(const swap *self)
{
    nl_wire_value *entry = NULL;
    NL_TRY(look_at(self, &entry));
    return is_as_expected(self, entry) ? NULL : moved_on(self, entry);
}

static nl_status locked_swap(swap *self)
{
    hive_pointer *pointer = self->pointer;
    nl_hive_catalog *catalog = pointer->catalog;
    nl_memory *memory = catalog->base.memory;
    const nl_table_metadata *base = self->content.table_base;
    const bool locks = nl_hive_locks(&catalog->options, base ? base : self->content.table);
    if (locks) NL_TRY(check_first(self)); /* a commit that is too late already need not stand in line */
    if (locks) NL_TRY(nl_hive_lock_take(catalog->client, &catalog->options, pointer->database, pointer->name, memory, &self->lock));
    nl_status status = swap_entry(self);
    nl_hive_lock_release(&self->lock, memory);
    return status;
}

static nl_status hive_swap(nl_pointer *base, nl_str expected, nl_str next, const nl_table_metadata *updated)
{
    hive_pointer *self = NL_CONTAINER(base, hive_pointer, base);
    swap one = {.pointer = self, .content = {.table = updated, .next = next, .previous = expected}};
    NL_CHECK(self->is_view ? self->view && !updated : updated != NULL);
    if (self->is_view) one.content.view = self->view, one.content.view_base = self->view_base;
    else NL_TRY(load_base(self, expected, &one.content.table_base));
    one.arena = nl_arena_new(self->catalog->base.memory);
    nl_status status = locked_swap(&one);
    nl_arena_free(one.arena);
    nl_table_metadata_release(one.content.table_base);
    return status;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void hive_pointer_free(nl_pointer *base)
{
    hive_pointer *self = NL_CONTAINER(base, hive_pointer, base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_pointer_ops pointer_ops = {.read = hive_read, .swap = hive_swap, .free = hive_pointer_free};

nl_status nl_hive_pointer_new(nl_hive_catalog *catalog, const nl_identifier *identifier, bool is_view, nl_pointer **pointer)
{
    hive_pointer *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &pointer_ops;
    made->catalog = catalog;
    made->arena = nl_arena_new(NULL);
    made->is_view = is_view;
    made->database = nl_arena_str(made->arena, identifier->namespace_parts[0]);
    made->name = nl_arena_str(made->arena, identifier->name);
    made->quoted = nl_quoted_identifier(made->arena, &catalog->base, identifier);
    made->quoted_database = nl_quoted_namespace(made->arena, &catalog->base, identifier->namespace_parts, identifier->namespace_count);
    made->shown = nl_identifier_text(made->arena, identifier);
    *pointer = &made->base;
    return NULL;
}

void nl_hive_pointer_set_view(nl_pointer *pointer, const nl_view_metadata *base, const nl_view_metadata *updated)
{
    hive_pointer *self = NL_CONTAINER(pointer, hive_pointer, base);
    self->view_base = base;
    self->view = updated;
}
