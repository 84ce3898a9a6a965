/* lakehouse/state_test.c - many writers, failures of one, kill -9, the lock of the folder, migrations. */
#include "lakehouse/state.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/test_support.h"

#define WRITERS 8
#define WRITES  1000

static char folder[64];

static int make_folder(void **unused)
{
    (void)unused;
    snprintf(folder, sizeof(folder), "/tmp/nilas-state-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(1);
    }
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static const char *const versions[] = {
    "CREATE TABLE numbers(writer INTEGER, number INTEGER, PRIMARY KEY(writer, number)) WITHOUT ROWID",
    "ALTER TABLE numbers ADD COLUMN note TEXT; CREATE TABLE others(a TEXT)",
};

static nl_state *open_state(void)
{
    nl_state *state = NULL;
    assert_ok(nl_state_open(nl_str_from(folder), &state));
    assert_ok(nl_state_migrate(state, "numbers", versions, NL_COUNT(versions)));
    return state;
}

typedef struct number {
    int64_t writer, number;
    bool fails_after_writing;
    bool is_lost; /* rolls the whole transaction back below the writer's feet */
} number;

static nl_status insert(void *argument, nl_sqlite *database)
{
    const number *self = argument;
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare(database, "INSERT INTO numbers(writer, number) VALUES (?, ?)", &statement));
    nl_sqlite_bind_int(statement, 1, self->writer);
    nl_sqlite_bind_int(statement, 2, self->number);
    NL_TRY(nl_sqlite_finish(statement, NULL));
    if (self->is_lost) NL_TRY(nl_sqlite_run(database, "ROLLBACK"));
    return self->fails_after_writing || self->is_lost ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "no") : NULL;
}

static nl_status count_rows(void *argument, nl_sqlite *database)
{
    nl_sqlite_statement *statement = NULL;
    bool has_row = false;
    NL_TRY(nl_sqlite_prepare(database, "SELECT count(*) FROM numbers", &statement));
    NL_TRY(nl_sqlite_step(statement, &has_row));
    *(int64_t *)argument = nl_sqlite_int(statement, 0);
    nl_sqlite_reset(statement);
    return NULL;
}

static int64_t rows_in(nl_state *state)
{
    int64_t count = -1;
    assert_ok(nl_state_read(state, count_rows, &count));
    return count;
}

typedef struct crowd {
    nl_state *state;
    int64_t fails_each; /* every so many-th write of each writer fails; 0: none */
    int64_t loses_each;
    atomic_int wrong_count;
} crowd;

static nl_status write_many(void *argument, uint64_t writer)
{
    crowd *self = argument;
    for (int64_t i = 0; i < WRITES; i++) {
        number one = {.writer = (int64_t)writer, .number = i};
        one.fails_after_writing = self->fails_each && i % self->fails_each == 1;
        one.is_lost = self->loses_each && i % self->loses_each == 2;
        nl_status status = nl_state_write(self->state, insert, &one);
        if (!status != !(one.fails_after_writing || one.is_lost)) atomic_fetch_add(&self->wrong_count, 1);
        nl_error_free(status);
        int64_t count = 0;
        if (i % 50 == 0) NL_TRY(nl_state_read(self->state, count_rows, &count));
    }
    return NULL;
}

static void eight_writers_share_their_syncs(void **unused)
{
    (void)unused;
    crowd self = {.state = open_state()};
    nl_pool *pool = nl_pool_new(WRITERS, "writers");
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_ok(nl_pool_for(pool, WRITERS, write_many, &self));
    clock_gettime(CLOCK_MONOTONIC, &after);
    const double seconds = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    print_message("%d durable writes by %d threads: %.0f a second\n", WRITERS * WRITES, WRITERS, WRITERS * WRITES / seconds);
    nl_pool_free(pool);
    assert_int_equal(self.wrong_count, 0);
    assert_int_equal(rows_in(self.state), WRITERS * WRITES);
    nl_state_close(self.state);
    nl_state *again = open_state();
    assert_int_equal(rows_in(again), WRITERS * WRITES);
    nl_state_close(again);
}

static void a_failing_work_undoes_itself_only(void **unused)
{
    (void)unused;
    crowd self = {.state = open_state(), .fails_each = 3, .loses_each = 100};
    nl_pool *pool = nl_pool_new(WRITERS, "writers");
    assert_ok(nl_pool_for(pool, WRITERS, write_many, &self));
    nl_pool_free(pool);
    assert_int_equal(self.wrong_count, 0);
    int64_t kept = 0;
    for (int64_t i = 0; i < WRITES; i++) kept += i % 3 != 1 && i % 100 != 2;
    assert_int_equal(rows_in(self.state), WRITERS * kept);
    nl_state_close(self.state);
}

static nl_status write_inside(void *argument, nl_sqlite *database)
{
    (void)database;
    return nl_state_write(argument, insert, &(number){0});
}

static void a_write_inside_a_write_is_refused_not_waited_for(void **unused)
{
    (void)unused;
    nl_state *state = open_state();
    assert_fails(nl_state_write(state, write_inside, state), INTERNAL_ERROR, NULL);
    assert_ok(nl_state_write(state, insert, &(number){0}));
    nl_state_close(state);
}

typedef struct double_count {
    nl_state *state;
    int64_t first, second;
} double_count;

static nl_status count_around_a_write(void *argument, nl_sqlite *database)
{
    double_count *self = argument;
    NL_TRY(count_rows(&self->first, database));
    NL_TRY(nl_state_write(self->state, insert, &(number){.number = 5}));
    return count_rows(&self->second, database);
}

static void a_read_sees_one_moment(void **unused)
{
    (void)unused;
    double_count self = {.state = open_state()};
    assert_ok(nl_state_read(self.state, count_around_a_write, &self));
    assert_int_equal(self.first, self.second);
    assert_int_equal(rows_in(self.state), self.first + 1);
    nl_state_close(self.state);
}

/* In the child: writes without end and tells each acknowledged number through the pipe. */
static _Noreturn void write_until_killed(int acknowledged)
{
    nl_state *state = open_state();
    for (int64_t i = 0;; i++) {
        nl_error_free(nl_state_write(state, insert, &(number){.number = i}));
        if (write(acknowledged, &i, sizeof(i)) != sizeof(i)) _exit(1);
    }
}

static void a_kill_loses_nothing_acknowledged(void **unused)
{
    (void)unused;
    for (int round = 0; round < 5; round++) {
        assert_int_equal(remove_folder(NULL) | make_folder(NULL), 0);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) write_until_killed(ends[1]);
        close(ends[1]);
        int64_t last = -1;
        for (int64_t i = 0; i < 50 + 37 * round; i++) assert_int_equal(read(ends[0], &last, sizeof(last)), sizeof(last));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (int64_t next; read(ends[0], &next, sizeof(next)) == sizeof(next);) last = next;
        close(ends[0]);
        nl_state *state = open_state();
        assert_in_range(rows_in(state), last + 1, last + 2);
        nl_state_close(state);
    }
}

static void a_folder_is_served_by_one_process(void **unused)
{
    (void)unused;
    nl_state *state = open_state();
    nl_state *second = NULL;
    char expected[64];
    snprintf(expected, sizeof(expected), "process %d serves it", (int)getpid());
    assert_fails(nl_state_open(nl_str_from(folder), &second), NILAS_IO_ERROR, expected);
    assert_int_equal(nl_state_server(nl_str_from(folder)), getpid());
    nl_state_close(state);
    assert_int_equal(nl_state_server(nl_str_from(folder)), 0);
    assert_int_equal(nl_state_server(NL_STR("/nowhere")), 0);
    state = open_state();
    nl_state_close(state);
}

static void the_folder_is_private_and_uploads_are_emptied(void **unused)
{
    (void)unused;
    char path[128];
    snprintf(path, sizeof(path), "%s/data/below/", folder);
    nl_state *state = NULL;
    assert_ok(nl_state_open(nl_str_from(path), &state));
    snprintf(path, sizeof(path), "%s/data/below", folder);
    assert_text(nl_state_folder(state), path);
    const struct {
        const char *name;
        mode_t mode;
    } expected[] = {{"", 0700}, {"/objects", 0700}, {"/uploads", 0700}, {"/lakehouse.db", 0600}, {"/lakehouse.db-wal", 0600}, {"/lock", 0600}};
    for (size_t i = 0; i < NL_COUNT(expected); i++) {
        struct stat found;
        snprintf(path, sizeof(path), "%s/data/below%s", folder, expected[i].name);
        assert_int_equal(stat(path, &found), 0);
        assert_int_equal(found.st_mode & 0777, expected[i].mode);
    }
    snprintf(path, sizeof(path), "%s/data/below/uploads/half", folder);
    fclose(fopen(path, "w"));
    nl_state_close(state);
    snprintf(path, sizeof(path), "%s/data/below", folder);
    assert_ok(nl_state_open(nl_str_from(path), &state));
    snprintf(path, sizeof(path), "%s/data/below/uploads/half", folder);
    assert_int_equal(access(path, F_OK), -1);
    nl_state_close(state);
}

static void migrations_run_once_and_a_newer_folder_is_refused(void **unused)
{
    (void)unused;
    nl_state *state = NULL;
    assert_ok(nl_state_open(nl_str_from(folder), &state));
    assert_ok(nl_state_migrate(state, "numbers", versions, 1));
    assert_ok(nl_state_write(state, insert, &(number){.number = 1}));
    assert_ok(nl_state_migrate(state, "numbers", versions, 2));
    assert_ok(nl_state_migrate(state, "numbers", versions, 2));
    assert_int_equal(rows_in(state), 1);
    assert_fails(nl_state_migrate(state, "numbers", versions, 1), NILAS_UNSUPPORTED, "newer nilas");
    const char *const broken[] = {"CREATE TABLE half(a TEXT)", "NO SQL"};
    assert_fails(nl_state_migrate(state, "broken", broken, 2), NILAS_IO_ERROR, NULL);
    assert_ok(nl_state_migrate(state, "broken", broken, 1)); /* nothing of the failed one was left */
    nl_state_close(state);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        CASE(eight_writers_share_their_syncs),
        CASE(a_failing_work_undoes_itself_only),
        CASE(a_write_inside_a_write_is_refused_not_waited_for),
        CASE(a_read_sees_one_moment),
        CASE(a_kill_loses_nothing_acknowledged),
        CASE(a_folder_is_served_by_one_process),
        CASE(the_folder_is_private_and_uploads_are_emptied),
        CASE(migrations_run_once_and_a_newer_folder_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
