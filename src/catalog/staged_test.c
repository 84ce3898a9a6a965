/* catalog/staged_test.c - tables made by a statement (CTAS, RTAS) when the answer to their one commit is lost. */
#include "base/test_support.h"
#include "catalog/catalog_private.h"
#include "iceberg/operation_private.h"

#define SNAPSHOT 77

typedef struct keeper { /* a catalog's entry of one table */
    nl_table_store base;
    const nl_table_metadata *truth; /* counted; NULL: no table */
    const char *fates;              /* of swaps: 'k' done; 'u' no answer, not done; 'U' no answer, done */
    uint32_t swaps;
    bool is_away;                   /* answers nothing after the first swap */
} keeper;

static nl_status keeper_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    keeper *self = NL_CONTAINER(base, keeper, base);
    (void)memory;
    if (self->is_away && self->swaps) return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Loading"), NL_P("path", "t"), NL_P("problem", "nobody there"));
    if (!self->truth) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P("relationName", "t"));
    *metadata = nl_table_metadata_retain(self->truth);
    return NULL;
}

static nl_status keeper_swap(nl_table_store *base, const nl_table_metadata *expected, const nl_table_metadata *updated, nl_memory *memory, const nl_table_metadata **committed)
{
    keeper *self = NL_CONTAINER(base, keeper, base);
    const char fate = *self->fates ? *self->fates++ : 'k';
    (void)memory;
    self->swaps++;
    if (fate == 'u') return NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "no answer");
    if (!expected && self->truth) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P("relationName", "t"));
    nl_table_metadata_release(self->truth);
    self->truth = NULL;
    assert_ok(nl_table_metadata_with_file(updated, NL_STR("/w/t/metadata/00001-x.metadata.json"), &self->truth));
    if (fate == 'U') return NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "no answer");
    *committed = nl_table_metadata_retain(self->truth);
    return NULL;
}

static void keeper_free(nl_table_store *base)
{
    (void)base; /* the test looks at it afterwards */
}

static const nl_table_store_ops keeper_ops = {.load = keeper_load, .swap = keeper_swap, .free = keeper_free};

static nl_status add_snapshot(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    (void)argument;
    nl_snapshot *snapshot = NL_NEW(arena, nl_snapshot);
    nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
    *snapshot = (nl_snapshot){.snapshot_id = SNAPSHOT, .parent_id = NL_NONE, .sequence_number = base->last_sequence_number + 1, .operation = NL_STR("append"),
                              .timestamp_ms = base->last_updated_ms + 1, .manifest_list = NL_STR("/l"), .first_row_id = NL_NONE, .added_rows = NL_NONE};
    *ref = (nl_snapshot_ref){.name = NL_STR("main"), .snapshot_id = SNAPSHOT, .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = snapshot}));
    return nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref});
}

static uint32_t cleanups;
static void clean_up(void *argument)
{
    (void)argument;
    cleanups++;
}

static nl_status run(keeper *self, nl_arena *arena, bool replaces)
{
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_property fast[] = {{NL_STR("commit.status-check.min-wait-ms"), NL_STR("1")}, {NL_STR("commit.status-check.num-retries"), NL_STR("1")}, {NL_STR("commit.retry.min-wait-ms"), NL_STR("1")}};
    const nl_schema *schema = NULL;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 1), NULL, 0, &schema));
    const nl_table_creation creation = {.schema = schema, .location = NL_STR("/w/t"), .properties = fast, .property_count = NL_COUNT(fast)};
    const nl_table_metadata *old = NULL, *staged = NULL;
    if (replaces) {
        assert_ok(nl_table_metadata_create(&creation, NULL, &old));
        assert_ok(nl_table_metadata_with_file(old, NL_STR("/w/t/metadata/00000-x.metadata.json"), &self->truth));
        nl_table_metadata_release(old);
    }
    nl_table_store *store = NULL;
    nl_iceberg_table *table = NULL;
    nl_fs *fs = nl_fs_memory_new();
    const int64_t snapshot_id = SNAPSHOT;
    cleanups = 0;
    assert_ok(nl_staged_store_new(&self->base, replaces ? nl_table_metadata_retain(self->truth) : NULL, &creation, NULL, &store, &staged));
    assert_ok(nl_iceberg_table_new(NL_STR("c.n.t"), fs, store, staged, NULL, &table));
    nl_status status = nl_commit_loop(table, add_snapshot, clean_up, NULL, &snapshot_id);
    nl_iceberg_table_release(table);
    nl_fs_release(fs);
    return status;
}

static void test_a_lost_answer_is_looked_up_in_the_catalog(void **state)
{
    (void)state;
    static const struct {
        const char *fates;
        bool is_away;
        bool is_unknown;
        uint32_t swaps;
    } rows[] = {{"k", false, false, 1}, {"U", false, false, 1}, {"u", false, false, 2}, {"uU", false, false, 2}, {"U", true, true, 1}, {"u", true, true, 1}};
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < 2 * NL_COUNT(rows); i++) {
        const bool replaces = i >= NL_COUNT(rows);
        const uint32_t row = i % NL_COUNT(rows);
        keeper self = {.base.ops = &keeper_ops, .fates = rows[row].fates, .is_away = rows[row].is_away};
        nl_status status = run(&self, arena, replaces);
        const bool is_unknown = status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE;
        if (!!status != rows[row].is_unknown || is_unknown != rows[row].is_unknown || self.swaps != rows[row].swaps)
            fail_msg("row %u (%s, replaces %d): %u swaps: %s", row, rows[row].fates, replaces, self.swaps, status ? nl_error_message(status) : "done");
        assert_int_equal(cleanups, 0);
        if (!status) assert_non_null(nl_table_snapshot(self.truth, SNAPSHOT));
        nl_error_free(status);
        nl_table_metadata_release(self.truth);
    }
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lost_answer_is_looked_up_in_the_catalog)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
