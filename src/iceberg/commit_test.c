/* iceberg/commit_test.c - the loop around a change, over a store whose answers are scripted: three outcomes, kept apart. */
#include "base/test_support.h"
#include "iceberg/operation_private.h"

#define SNAPSHOT 77

typedef struct scripted {
    nl_table_store base;
    const nl_table_metadata *truth; /* counted: what the catalog holds */
    const nl_table_metadata *late;  /* of 'L': comes with the next load but one */
    /* Of swaps, in turn: 'k' done; 'c' another was first; 'v' refused for good; 'u' no answer, and not done; 'U' no answer, and
     * done; 'L' no answer, and done only after it was looked for. */
    const char *fates;
    uint32_t loads_before_late;
    uint32_t unreadable; /* so many loads fail, from the first lost answer on */
    uint32_t swaps, cleanups;
} scripted;

static nl_status scripted_load(nl_table_store *base, nl_memory *memory, const nl_table_metadata **metadata)
{
    scripted *self = NL_CONTAINER(base, scripted, base);
    (void)memory;
    if (self->swaps > 0 && self->unreadable > 0) {
        self->unreadable--;
        return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Loading"), NL_P("path", "t"), NL_P("problem", "nobody there"));
    }
    if (self->late && self->loads_before_late-- == 0) {
        nl_table_metadata_release(self->truth);
        self->truth = self->late;
        self->late = NULL;
    }
    *metadata = nl_table_metadata_retain(self->truth);
    return NULL;
}

static nl_status lost(void)
{
    return NL_RAISE_TEXT(NILAS_COMMIT_STATE_UNKNOWN, "no answer");
}

static nl_status scripted_swap(nl_table_store *base, const nl_table_metadata *expected, const nl_table_metadata *updated, nl_memory *memory, const nl_table_metadata **committed)
{
    scripted *self = NL_CONTAINER(base, scripted, base);
    const char fate = *self->fates ? *self->fates++ : 'k';
    (void)memory, (void)expected;
    self->swaps++;
    switch (fate) {
    case 'c': return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "another was first");
    case 'v': return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "cannot be");
    case 'u': return lost();
    case 'L': self->late = nl_table_metadata_retain(updated); return lost();
    default: break;
    }
    nl_table_metadata_release(self->truth);
    self->truth = nl_table_metadata_retain(updated);
    if (fate == 'U') return lost();
    *committed = nl_table_metadata_retain(updated);
    return NULL;
}

static void scripted_free(nl_table_store *base)
{
    scripted *self = NL_CONTAINER(base, scripted, base);
    nl_table_metadata_release(self->truth);
    nl_table_metadata_release(self->late);
}

static const nl_table_store_ops scripted_ops = {.load = scripted_load, .swap = scripted_swap, .free = scripted_free};

static nl_status add_snapshot(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    (void)argument;
    nl_snapshot *snapshot = NL_NEW(arena, nl_snapshot);
    *snapshot = (nl_snapshot){.snapshot_id = SNAPSHOT, .parent_id = base->current_snapshot_id, .sequence_number = base->last_sequence_number + 1, .operation = NL_STR("append"),
                                  .timestamp_ms = base->last_updated_ms + 1, .manifest_list = NL_STR("/l"), .first_row_id = NL_NONE, .added_rows = NL_NONE};
    nl_snapshot_ref *ref = NL_NEW(arena, nl_snapshot_ref);
    *ref = (nl_snapshot_ref){.name = NL_STR("main"), .snapshot_id = SNAPSHOT, .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    NL_TRY(nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = snapshot}));
    return nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref});
}

static void clean_up(void *argument) /* what nobody will name any more is removed */
{
    ((scripted *)argument)->cleanups++;
}

static const nl_table_metadata *first_metadata(nl_arena *arena)
{
    const nl_table_metadata *metadata, *made;
    const nl_property properties[] = {{NL_STR("commit.status-check.min-wait-ms"), NL_STR("1")}, {NL_STR("commit.status-check.num-retries"), NL_STR("1")},
                                      {NL_STR("commit.retry.min-wait-ms"), NL_STR("1")}, {NL_STR("commit.retry.num-retries"), NL_STR("2")}};
    assert_ok(nl_table_metadata_parse(read_fixture(arena, "iceberg/v2/v1.metadata.json"), NL_STR("/w/t/metadata/v1.metadata.json"), NULL, &metadata));
    assert_ok(nl_table_metadata_update(metadata, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {properties, NL_COUNT(properties)}}, 1, NULL, &made));
    nl_table_metadata_release(metadata);
    return made;
}

typedef enum end { DONE, FAILED, UNKNOWN } end;

static void test_the_three_outcomes_stay_apart(void **state)
{
    (void)state;
    static const struct {
        const char *fates;
        uint32_t unreadable, loads_before_late;
        end end;
        bool is_there;     /* in the catalog, in the end */
        uint32_t swaps, cleanups;
    } rows[] = {
        {"k", 0, 0, DONE, true, 1, 0},
        {"cck", 0, 0, DONE, true, 3, 2},
        {"cccc", 0, 0, FAILED, false, 4, 4}, /* the first goes by metadata that may be old, and does not count */
        {"v", 0, 0, FAILED, false, 1, 1},
        /* No answer, and it is found. */
        {"U", 0, 0, DONE, true, 1, 0},
        {"U", 1, 0, DONE, true, 1, 0}, /* at the second look */
        {"cU", 0, 0, DONE, true, 2, 1},
        /* It is not found, so it is tried again; what the first wrote stays, since it may come yet. */
        {"uk", 0, 0, DONE, true, 2, 0},
        {"uck", 0, 0, DONE, true, 3, 0},
        {"L", 0, 1, DONE, true, 1, 0},   /* came before the second try */
        {"Lc", 0, 1, DONE, true, 1, 0},
        {"Lc", 0, 2, DONE, true, 2, 0},  /* came before the third */
        {"Lv", 0, 2, DONE, true, 2, 0},  /* came when there was no other try: the last look */
        {"Lccc", 0, 4, DONE, true, 4, 0},
        /* No more tries, and not there: it may come yet. */
        {"uv", 0, 0, UNKNOWN, false, 2, 0},
        {"uccc", 0, 0, UNKNOWN, false, 4, 0},
        {"Lv", 0, 9, UNKNOWN, false, 2, 0},
        /* The catalog does not answer at all. */
        {"u", 9, 0, UNKNOWN, false, 1, 0},
        {"U", 9, 0, UNKNOWN, true, 1, 0},
    };
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        scripted store = {.base.ops = &scripted_ops, .truth = first_metadata(arena), .fates = rows[i].fates, .unreadable = rows[i].unreadable,
                          .loads_before_late = rows[i].loads_before_late};
        nl_iceberg_table *table = NULL;
        const int64_t snapshot_id = SNAPSHOT;
        assert_ok(nl_iceberg_table_new(NL_STR("c.n.t"), fs, &store.base, NULL, NULL, &table));
        nl_status status = nl_commit_loop(table, add_snapshot, clean_up, &store, &snapshot_id);
        const end came = !status ? DONE : nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE ? UNKNOWN : FAILED;
        const bool is_there = nl_table_snapshot(store.truth, SNAPSHOT) != NULL;
        if (came != rows[i].end || is_there != rows[i].is_there || store.swaps != rows[i].swaps || store.cleanups != rows[i].cleanups)
            fail_msg("row %u (%s): end %d, there %d, %u swaps, %u cleanups: %s", i, rows[i].fates, came, is_there, store.swaps, store.cleanups, status ? nl_error_message(status) : "");
        nl_error_free(status);
        nl_iceberg_table_release(table);
    }
    nl_fs_release(fs);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_three_outcomes_stay_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
