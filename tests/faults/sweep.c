/* tests/faults/sweep.c - statements whose first step on storage fails, then their second, and so on to the last.
 *
 *     sweep [--steps N] [NAME…]       only every k-th step, so that about N are tried; only the operations named
 *
 * After each run: success, or an error that is no internal one; no descriptor and no temporary file is left; a fresh
 * session finds the table as before (after a clean error, with exactly the files of before) or as after; then the same
 * statement succeeds. The same again with charges of memory refused instead of steps failing.
 */
#include "base/limits.h"
#include "column/value.h"
#include "command/command.h"
#include "storage/fault.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SETUP_MAX 8
#define TABLE "lake.db.t"

typedef struct operation {
    const char *name;
    const char *setup[SETUP_MAX];
    const char *sql;
    bool goes_on_after_commit; /* what fails behind the commit is reported, and the change stays */
} operation;

#define CREATE(mode) CREATE_VERSION("2", mode)
#define CREATE_VERSION(version, mode) "CREATE TABLE " TABLE " (id bigint, p int, s string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version' = '" version "', 'commit.retry.min-wait-ms' = '1', " \
    "'commit.status-check.min-wait-ms' = '1', 'write.delete.mode' = '" mode "', 'write.update.mode' = '" mode "', 'write.merge.mode' = '" mode "')"
#define FILL "INSERT INTO " TABLE " SELECT id, CAST(id % 2 AS int), concat('a', id) FROM range(10)", \
             "INSERT INTO " TABLE " SELECT id, CAST(id % 2 AS int), concat('b', id) FROM range(10, 20)"
#define SOURCE "(SELECT id, CAST(id % 2 AS int) AS p, 'new' AS s FROM range(8, 12) UNION ALL SELECT 100L, 1, 'added') s"
#define MERGE "MERGE INTO " TABLE " t USING " SOURCE " ON t.id = s.id WHEN MATCHED AND t.id = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET s = s.s " \
              "WHEN NOT MATCHED THEN INSERT *"

static const operation operations[] = {
    {"append", {CREATE("copy-on-write"), FILL}, "INSERT INTO " TABLE " SELECT id, CAST(id % 2 AS int), 'more' FROM range(20, 26)"},
    {"overwrite", {CREATE("copy-on-write"), FILL}, "INSERT OVERWRITE " TABLE " SELECT id, 1, 'other' FROM range(30, 34)"},
    {"delete_cow", {CREATE("copy-on-write"), FILL}, "DELETE FROM " TABLE " WHERE id IN (3, 14)"},
    {"delete_mor", {CREATE("merge-on-read"), FILL}, "DELETE FROM " TABLE " WHERE id IN (3, 14)"},
    {"delete_whole", {CREATE("copy-on-write"), FILL}, "DELETE FROM " TABLE " WHERE p = 1"},
    {"update_mor", {CREATE("merge-on-read"), FILL, "DELETE FROM " TABLE " WHERE id = 5"}, "UPDATE " TABLE " SET s = 'x' WHERE id IN (3, 14)"},
    {"merge_cow", {CREATE("copy-on-write"), FILL}, MERGE},
    {"merge_mor", {CREATE("merge-on-read"), FILL, "DELETE FROM " TABLE " WHERE id = 9"}, MERGE},
    {"merge_vectors", {CREATE_VERSION("3", "merge-on-read"), FILL, "DELETE FROM " TABLE " WHERE id IN (9, 11)"}, MERGE},
    {"compact", {CREATE("merge-on-read"), FILL, "DELETE FROM " TABLE " WHERE id IN (3, 14)"},
     "CALL lake.system.rewrite_data_files(table => 'db.t', options => map('rewrite-all', 'true'))"},
    {"expire", {CREATE("copy-on-write"), FILL, "DELETE FROM " TABLE " WHERE id = 3"},
     "CALL lake.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)", true},
    {"delete_files", {CREATE("merge-on-read"), FILL, "DELETE FROM " TABLE " WHERE id IN (3, 14)", "DELETE FROM " TABLE " WHERE id = 5"},
     "CALL lake.system.rewrite_position_delete_files(table => 'db.t', options => map('rewrite-all', 'true'))"},
    {"manifests", {CREATE("copy-on-write"), FILL}, "CALL lake.system.rewrite_manifests('db.t')"},
};

typedef struct sweep {
    char warehouse[64], base[80];
    nl_fault_plan *plan;
    const operation *operation;
    nl_str before, after;       /* malloced */
    nl_str files_before;
    uint64_t tried, failed, unknown;
    uint32_t errors;            /* of this test */
} sweep;

static void complain(sweep *self, uint64_t step, const char *what, const char *more)
{
    self->errors++;
    printf("FAILED %s, step %llu: %s\n    %s\n", self->operation->name, (unsigned long long)step, what, more);
}

/* ---- folders --------------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void remove_tree(const char *path)
{
    enum { OPEN_FOLDERS = 16 };
    (void)nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static const char *copy_from, *copy_to; /* nftw hands no argument on */

static int copy_entry(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    char target[4096], bytes[1 << 16];
    (void)facts, (void)where;
    snprintf(target, sizeof(target), "%s%s", copy_to, path + strlen(copy_from));
    if (kind == FTW_D) return mkdir(target, 0777);
    FILE *in = fopen(path, "rb"), *out = fopen(target, "wb");
    size_t count;
    while (in && out && (count = fread(bytes, 1, sizeof(bytes), in)) > 0)
        if (fwrite(bytes, 1, count, out) != count) abort();
    if (!in || !out || fclose(in) != 0 || fclose(out) != 0) abort();
    return 0;
}

static void copy_tree(const char *from, const char *to)
{
    enum { OPEN_FOLDERS = 16 };
    remove_tree(to);
    copy_from = from;
    copy_to = to;
    if (nftw(from, copy_entry, OPEN_FOLDERS, FTW_PHYS) != 0) abort();
}

static nl_list *name_list; /* nftw again */
static nl_arena *name_arena;

static int note_name(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    if (kind == FTW_D) return 0;
    nl_str *name = NL_NEW(name_arena, nl_str);
    *name = nl_arena_str(name_arena, nl_str_from(path));
    (void)where;
    nl_list_add(name_arena, name_list, name);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return nl_str_compare(**(nl_str *const *)a, **(nl_str *const *)b);
}

static nl_str malloced(nl_str text)
{
    return nl_str_from(strndup(text.data ? text.data : "", text.length));
}

/* Every file below the warehouse, a line each. */
static nl_str file_names(const sweep *self)
{
    enum { OPEN_FOLDERS = 16 };
    nl_list names = {0};
    nl_builder out;
    nl_builder_init(&out, 1 << 24);
    name_arena = nl_arena_new(NULL);
    name_list = &names;
    (void)nftw(self->warehouse, note_name, OPEN_FOLDERS, FTW_PHYS);
    if (names.count > 1) qsort(names.items, names.count, sizeof(void *), compare_names);
    for (uint32_t i = 0; i < names.count; i++)
        nl_append_f(&out, NL_STR_FMT "\n", NL_STR_ARG(*(const nl_str *)names.items[i]));
    const nl_str text = malloced(nl_builder_str(&out));
    nl_builder_fini(&out);
    nl_arena_free(name_arena);
    return text;
}

static uint32_t descriptor_count(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

static nl_session *new_session(const sweep *self)
{
    nl_session *session = NULL;
    const nl_property confs[] = {
        {NL_STR("spark.sql.session.timeZone"), NL_STR("UTC")},
        {NL_STR("spark.sql.catalog.lake"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
        {NL_STR("spark.sql.catalog.lake.type"), NL_STR("hadoop")},
        {NL_STR("spark.sql.catalog.lake.warehouse"), nl_str_from(self->warehouse)},
        {NL_STR("spark.sql.warehouse.dir"), nl_str_from(self->warehouse)},
    };
    nl_error *error = nl_session_new(confs, NL_COUNT(confs), &session);
    if (error) printf("no session: %s\n", nl_error_message(error));
    nl_error_free(error);
    return session;
}

static nl_status run_in(nl_session *session, const char *sql, nl_builder *out)
{
    nl_result *result = NULL;
    nl_session_begin(session);
    NL_TRY(nl_command_run(session, nl_str_from(sql), &result));
    const nl_type *schema = nl_result_schema(result);
    const nl_text_options options = {.style = NL_TEXT_SHOW, .zone = nl_session_zone(session)};
    nl_status status = NULL;
    for (bool is_done = schema->child_count == 0; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        for (uint32_t row = 0; out && !status && row < batch.row_count; row++) {
            for (uint32_t i = 0; i < schema->child_count; i++) {
                if (i) nl_append_char(out, '|');
                nl_vector_append_text(&batch.columns[i], row, &options, out);
            }
            nl_append_char(out, '\n');
        }
        nl_batch_fini(&batch);
    }
    nl_result_close(result);
    return status;
}

/* NULL when all went well. */
static nl_status run_fresh(const sweep *self, const char *sql, nl_builder *out)
{
    nl_session *session = new_session(self);
    if (!session) abort();
    nl_status status = run_in(session, sql, out);
    nl_session_free(session);
    return status;
}

/* What a fresh reader sees: the rows, and how many snapshots there are. */
static nl_str table_state(sweep *self, uint64_t step)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 24);
    nl_error *error = run_fresh(self, "SELECT * FROM " TABLE " ORDER BY id", &out);
    if (!error) error = run_fresh(self, "SELECT count(*), max(operation) FROM " TABLE ".snapshots", &out);
    if (error) complain(self, step, "the table cannot be read", nl_error_message(error));
    nl_error_free(error);
    const nl_str text = malloced(nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

static void prepare(sweep *self)
{
    remove_tree(self->warehouse);
    if (mkdir(self->warehouse, 0777) != 0) abort();
    nl_error *error = run_fresh(self, "CREATE NAMESPACE lake.db", NULL);
    for (uint32_t i = 0; !error && i < SETUP_MAX && self->operation->setup[i]; i++)
        error = run_fresh(self, self->operation->setup[i], NULL);
    if (error) complain(self, 0, "the preparation failed", nl_error_message(error));
    nl_error_free(error);
    copy_tree(self->warehouse, self->base);
    self->before = table_state(self, 0);
    self->files_before = file_names(self);
    error = run_fresh(self, self->operation->sql, NULL);
    if (error) complain(self, 0, "the operation fails by itself", nl_error_message(error));
    nl_error_free(error);
    self->after = table_state(self, 0);
    if (nl_str_equal(self->before, self->after)) complain(self, 0, "the operation changes nothing", "");
}

static void check_files(sweep *self, uint64_t step, bool is_as_before, bool is_clean)
{
    const nl_str names = file_names(self);
    if (nl_str_find(names, NL_STR(".tmp\n"), 0) != NL_NOT_FOUND) complain(self, step, "a temporary file is left", names.data);
    if (is_as_before && is_clean && !nl_str_equal(names, self->files_before)) complain(self, step, "files are left of a clean failure", names.data);
    free((void *)(uintptr_t)names.data);
}

/* status: of the disturbed run; taken. */
static void check_outcome(sweep *self, uint64_t step, nl_status status)
{
    const bool has_failed = status != NULL;
    const bool is_unknown = status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE;
    char message[512] = "";
    if (status) snprintf(message, sizeof(message), "%s: %s", nl_condition_name(nl_error_condition(status)), nl_error_message(status));
    if (status && nl_error_kind_of(status) == NL_KIND_INTERNAL) complain(self, step, "an internal error", message);
    nl_error_free(status);
    self->failed += has_failed;
    self->unknown += is_unknown;
    const nl_str state = table_state(self, step);
    const bool is_before = nl_str_equal(state, self->before), is_after = nl_str_equal(state, self->after);
    if (!is_before && !is_after) complain(self, step, "the table is neither as before nor as after", state.data);
    if (!has_failed && !is_after) complain(self, step, "success was reported and the change is not there", state.data);
    if (has_failed && is_after && !is_unknown && !self->operation->goes_on_after_commit) complain(self, step, "a clean failure was reported and the change is there", message);
    check_files(self, step, is_before, has_failed && !is_unknown);
    free((void *)(uintptr_t)state.data);
    if (!is_before) return;
    nl_error *error = run_fresh(self, self->operation->sql, NULL);
    if (error) complain(self, step, "the same statement fails afterwards", nl_error_message(error));
    nl_error_free(error);
    const nl_str again = table_state(self, step);
    if (!nl_str_equal(again, self->after)) complain(self, step, "the same statement gives another table afterwards", again.data);
    free((void *)(uintptr_t)again.data);
}

/* One run with its step-th storage step (or charge of memory) failing. *met: whether it came that far. */
static void disturb(sweep *self, uint64_t step, bool is_memory, bool *met)
{
    copy_tree(self->base, self->warehouse);
    nl_session *session = new_session(self);
    const uint32_t descriptors = descriptor_count();
    const uint64_t steps_before = nl_fault_plan_steps(self->plan);
    if (is_memory)
        nl_memory_fail_charge(step);
    else
        nl_fault_plan_fail_step(self->plan, step);
    nl_status status = run_in(session, self->operation->sql, NULL);
    nl_fault_plan_fail_step(self->plan, 0);
    nl_memory_fail_charge(0);
    *met = is_memory ? status != NULL : nl_fault_plan_steps(self->plan) - steps_before >= step;
    if (descriptor_count() > descriptors) complain(self, step, "descriptors are left open", "");
    nl_session_free(session);
    self->tried++;
    check_outcome(self, step, status);
}

static void sweep_storage(sweep *self, uint64_t steps_wanted)
{
    copy_tree(self->base, self->warehouse);
    const uint64_t steps_before = nl_fault_plan_steps(self->plan);
    nl_error_free(run_fresh(self, self->operation->sql, NULL));
    const uint64_t step_count = nl_fault_plan_steps(self->plan) - steps_before;
    const uint64_t stride = steps_wanted && step_count > steps_wanted ? (step_count + steps_wanted - 1) / steps_wanted : 1;
    bool met = true;
    for (uint64_t step = 1; met; step += stride)
        disturb(self, step, false, &met);
    printf("%-14s %4llu storage steps, %4llu tried, %4llu failed, %llu unknown\n", self->operation->name, (unsigned long long)step_count,
           (unsigned long long)self->tried, (unsigned long long)self->failed, (unsigned long long)self->unknown);
}

/* Charges are many and alike, and a refused one may just lead to a smaller one: ever larger gaps up to a limit. */
static void sweep_memory(sweep *self, bool is_short)
{
    const uint64_t charges_max = 2000;
    self->tried = self->failed = 0;
    for (uint64_t step = 1; step < charges_max; step += 1 + step / (is_short ? 3 : 25)) {
        bool met = false;
        disturb(self, step, true, &met);
    }
    printf("%-14s      charges of memory: %4llu tried, %4llu refused\n", self->operation->name, (unsigned long long)self->tried, (unsigned long long)self->failed);
}

static void run_operation(sweep *self, const operation *one, uint64_t steps_wanted)
{
    self->operation = one;
    self->tried = self->failed = self->unknown = 0;
    prepare(self);
    if (self->errors == 0) sweep_storage(self, steps_wanted);
    if (self->errors == 0) sweep_memory(self, steps_wanted > 0);
    free((void *)(uintptr_t)self->before.data);
    free((void *)(uintptr_t)self->after.data);
    free((void *)(uintptr_t)self->files_before.data);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    sweep self = {0};
    uint64_t steps_wanted = 0;
    uint32_t named = 0, errors = 0;
    setenv("NILAS_FAULT", "nothing.at_all:1=EIO", 1); /* puts the layer in; the sweep arms it */
    self.plan = nl_fault_process_plan();
    if (!self.plan) {
        printf("faults are not compiled in: skipped\n");
        return EXIT_SUCCESS;
    }
    snprintf(self.warehouse, sizeof(self.warehouse), "%s/nilas-sweep-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(self.warehouse)) return EXIT_FAILURE;
    snprintf(self.base, sizeof(self.base), "%s.base", self.warehouse);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps_wanted = strtoull(argv[++i], NULL, 10);
        else
            named++;
    }
    for (uint32_t i = 0; i < NL_COUNT(operations); i++) {
        bool is_wanted = named == 0;
        for (int j = 1; j < argc; j++)
            is_wanted = is_wanted || strcmp(argv[j], operations[i].name) == 0;
        self.errors = 0;
        if (is_wanted) run_operation(&self, &operations[i], steps_wanted);
        errors += self.errors;
    }
    remove_tree(self.warehouse);
    remove_tree(self.base);
    printf("%u errors\n", errors);
    return errors ? EXIT_FAILURE : EXIT_SUCCESS;
}
