/* storage/local_test.c - what only real disks have: processes that race, permissions, links, limits, crashes. The
 * contract itself is tested in filesystem_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"
#include "storage/filesystem.h"

/* These stand before libc's when the test is linked, so that a call can be made to fail or to do half of its work.
 * Each field says what the next calls of that name meet; zero means the real thing.
 */
static struct {
    int fsync_at; /* this call from now on fails with EIO */
    int renameat2_error;
    int link_error;
    int rename_error;
    int getrandom_error;
    int unlink_error;
    bool io_is_choppy; /* reads and writes move at most 1,000 bytes and are interrupted every other time */
    int interruption_count;
} broken;

static bool is_interrupted(void)
{
    if (!broken.io_is_choppy || ++broken.interruption_count % 2 == 0) return false;
    errno = EINTR;
    return true;
}

static int fails(int error)
{
    errno = error;
    return -1;
}

int fsync(int descriptor)
{
    if (broken.fsync_at > 0 && --broken.fsync_at == 0) return fails(EIO);
    return (int)syscall(SYS_fsync, descriptor);
}

int renameat2(int old_folder, const char *from, int new_folder, const char *to, unsigned flags)
{
    if (broken.renameat2_error != 0) return fails(broken.renameat2_error);
    return (int)syscall(SYS_renameat2, old_folder, from, new_folder, to, flags);
}

int rename(const char *from, const char *to)
{
    if (broken.rename_error != 0) return fails(broken.rename_error);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
    if (broken.link_error != 0) return fails(broken.link_error);
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    if (broken.unlink_error != 0) return fails(broken.unlink_error);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    if (broken.getrandom_error != 0) return fails(broken.getrandom_error);
    return syscall(SYS_getrandom, bytes, length, flags);
}

ssize_t pread(int descriptor, void *into, size_t length, off_t offset)
{
    if (is_interrupted()) return -1;
    return syscall(SYS_pread64, descriptor, into, broken.io_is_choppy && length > 1000 ? 1000 : length, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t length)
{
    if (is_interrupted()) return -1;
    return syscall(SYS_write, descriptor, bytes, broken.io_is_choppy && length > 1000 ? 1000 : length);
}

typedef struct place {
    nl_fs *fs;
    nl_arena *arena;
    nl_str root;
} place;

static int open_place(void **state)
{
    place *here = calloc(1, sizeof *here);
    char name[] = "/tmp/nilas-local-test-XXXXXX";
    here->arena = nl_arena_new(NULL);
    here->fs = nl_fs_local();
    here->root = nl_arena_str(here->arena, nl_str_from(mkdtemp(name)));
    *state = here;
    return 0;
}

static int close_place(void **state)
{
    place *here = *state;
    memset(&broken, 0, sizeof broken);
    assert_null(nl_fs_remove_tree(here->fs, here->root));
    nl_fs_release(here->fs);
    nl_arena_free(here->arena);
    free(here);
    return 0;
}

static nl_str at(const place *here, const char *name)
{
    return nl_arena_str(here->arena, nl_path_join(here->arena, here->root, nl_str_from(name)));
}

static const char *c_at(const place *here, const char *name)
{
    return at(here, name).data;
}

static nl_bytes bytes_of(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

static void assert_condition(nl_status status, nl_condition condition)
{
    assert_non_null(status);
    assert_string_equal(nl_condition_name(nl_error_condition(status)), nl_condition_name(condition));
    nl_error_free(status);
}

static uint32_t count_files(const place *here)
{
    uint32_t count = 0;
    DIR *folder = opendir(here->root.data);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

/* Runs act in a child; its return value is the exit code, a death by signal is 100 + signal. */
static int in_child(int (*act)(const place *here, int number), const place *here, int number)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(act(here, number));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
}

enum { RACERS = 8, ROUNDS = 40 };

/* Creates every name it can; returns how many it won. Losing must be "already exists" and nothing else. */
static int race(const place *here, int number)
{
    int won = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char name[32];
        char content[32];
        snprintf(name, sizeof name, "v%d", round);
        snprintf(content, sizeof content, "racer %d", number);
        nl_status status = nl_fs_create_if_absent(here->fs, nl_path_join(here->arena, here->root, nl_str_from(name)),
                                                  bytes_of(content));
        won += status == NULL;
        bool is_good = status == NULL || nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS;
        nl_error_free(status);
        if (!is_good) return 99;
    }
    return won;
}

static void check_race(const place *here, int total)
{
    assert_int_equal(total, ROUNDS);
    assert_int_equal(count_files(here), ROUNDS); /* nor is a temporary file left */
    for (int round = 0; round < ROUNDS; round++) {
        char name[32];
        snprintf(name, sizeof name, "v%d", round);
        nl_buffer *content = NULL;
        assert_null(nl_fs_read_all(here->fs, at(here, name), 100, &content));
        assert_int_equal(content->size_bytes, strlen("racer 0"));
        assert_memory_equal(content->data, "racer ", 6);
        nl_buffer_release(content);
    }
}

static void test_of_many_processes_one_creates_each_name(void **state)
{
    const place *here = *state;
    pid_t children[RACERS];
    fflush(NULL);
    for (int i = 0; i < RACERS; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(race(here, i));
    }
    int total = 0;
    for (int i = 0; i < RACERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= ROUNDS);
        total += WEXITSTATUS(status);
    }
    check_race(here, total);
}

typedef struct racer {
    place here; /* with an arena of its own */
    int number;
    int won;
} racer;

static void *race_in_thread(void *argument)
{
    racer *self = argument;
    self->won = race(&self->here, self->number);
    return NULL;
}

static void test_of_many_threads_one_creates_each_name(void **state)
{
    const place *here = *state;
    pthread_t threads[RACERS];
    racer racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){.here = *here, .number = i};
        racers[i].here.arena = nl_arena_new(NULL);
        assert_int_equal(pthread_create(&threads[i], NULL, race_in_thread, &racers[i]), 0);
    }
    int total = 0;
    for (int i = 0; i < RACERS; i++) {
        pthread_join(threads[i], NULL);
        nl_arena_free(racers[i].here.arena);
        assert_true(racers[i].won <= ROUNDS);
        total += racers[i].won;
    }
    check_race(here, total);
}

/* Moves its own file to each name in turn. */
static int race_renames(const place *here, int number)
{
    int won = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char own[32];
        char name[32];
        snprintf(own, sizeof own, ".own%d", number);
        snprintf(name, sizeof name, "v%d", round);
        nl_str from = nl_path_join(here->arena, here->root, nl_str_from(own));
        nl_error_free(nl_fs_write_all(here->fs, from, bytes_of("racer n")));
        nl_status status = nl_fs_rename(here->fs, from, nl_path_join(here->arena, here->root, nl_str_from(name)), false);
        won += status == NULL;
        bool is_good = status == NULL || nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS;
        nl_error_free(status);
        nl_error_free(nl_fs_remove(here->fs, from));
        if (!is_good) return 99;
    }
    return won;
}

static void test_of_many_renames_to_a_name_one_succeeds(void **state)
{
    const place *here = *state;
    pid_t children[RACERS];
    fflush(NULL);
    for (int i = 0; i < RACERS; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(race_renames(here, i));
    }
    int total = 0;
    for (int i = 0; i < RACERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= ROUNDS);
        total += WEXITSTATUS(status);
    }
    check_race(here, total);
}

/* Writes 1 MiB under a file size limit of 256 KiB, which acts like a full disk: exit code 0 when all is as it should be. */
static int write_to_a_full_disk(const place *here, int number)
{
    (void)number;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){256 << 10, 256 << 10});
    static char block[100000];
    nl_output *output = NULL;
    nl_status status = nl_fs_create(here->fs, nl_path_join(here->arena, here->root, NL_STR("big")), &output);
    for (int i = 0; i < 10 && status == NULL; i++) status = nl_output_write(output, block, sizeof block);
    bool is_good = status != NULL && nl_error_condition(status) == NL_COND_NILAS_IO_ERROR;
    nl_error_free(status);
    status = nl_output_close(output);
    is_good = is_good && status != NULL;
    nl_error_free(status);
    return is_good ? 0 : 1;
}

static void test_a_write_that_fails_leaves_neither_file_nor_temporary(void **state)
{
    const place *here = *state;
    assert_int_equal(in_child(write_to_a_full_disk, here, 0), 0);
    assert_int_equal(count_files(here), 0);
}

static int use_up_descriptors(const place *here, int number)
{
    (void)number;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
    nl_file *file = NULL;
    nl_status status = nl_fs_open(here->fs, nl_path_join(here->arena, here->root, NL_STR("x")), &file);
    bool is_good = status != NULL && nl_error_kind_of(status) == NL_KIND_RETRY;
    nl_error_free(status);
    nl_output *output = NULL;
    status = nl_fs_create(here->fs, nl_path_join(here->arena, here->root, NL_STR("y")), &output);
    is_good = is_good && status != NULL && nl_error_kind_of(status) == NL_KIND_RETRY;
    nl_error_free(status);
    return is_good ? 0 : 1;
}

static void test_no_descriptors_left_is_worth_a_retry(void **state)
{
    const place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")));
    assert_int_equal(in_child(use_up_descriptors, here, 0), 0);
}

static const char *const crash_points[] = {"local.written", "local.synced", "local.published", "local.durable"};

static int die_while_writing(const place *here, int number)
{
    nl_crash_choose(crash_points[number]);
    nl_error_free(nl_fs_write_all(here->fs, nl_path_join(here->arena, here->root, NL_STR("x")), bytes_of("new")));
    return 0;
}

/* After death at any point the name holds all of the old or all of the new. */
static void test_a_crash_leaves_the_old_file_or_the_new_one(void **state)
{
    const place *here = *state;
#ifdef NL_FAULTS
    for (int i = 0; i < (int)NL_COUNT(crash_points); i++) {
        assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("old")));
        assert_int_equal(in_child(die_while_writing, here, i), 100 + SIGKILL);
        nl_buffer *content = NULL;
        assert_null(nl_fs_read_all(here->fs, at(here, "x"), 100, &content));
        assert_int_equal(content->size_bytes, 3);
        assert_memory_equal(content->data, i < 2 ? "old" : "new", 3);
        nl_buffer_release(content);
    }
    assert_int_equal(count_files(here), 3); /* "x" and two hidden leftovers */
#else
    assert_int_equal(in_child(die_while_writing, here, 0), 0);
#endif
}

static void test_a_file_that_shrinks_under_a_reader_is_an_error(void **state)
{
    const place *here = *state;
    nl_file *file = NULL;
    uint8_t into[10];
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("0123456789")));
    assert_null(nl_fs_open(here->fs, at(here, "x"), &file));
    assert_int_equal(truncate(c_at(here, "x"), 5), 0);
    assert_null(nl_file_read(file, 0, 5, into));
    assert_condition(nl_file_read(file, 0, 10, into), NL_COND_NILAS_IO_ERROR);
    nl_file_close(file);
}

static void test_special_files_and_long_names_are_refused(void **state)
{
    const place *here = *state;
    nl_file *file = NULL;
    assert_int_equal(mkfifo(c_at(here, "pipe"), 0600), 0);
    assert_condition(nl_fs_open(here->fs, at(here, "pipe"), &file), NL_COND_NILAS_IO_ERROR);
    char name[300];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_condition(nl_fs_write_all(here->fs, at(here, name), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_write_all(here->fs, at(here, "a/"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_open(here->fs, NL_STR("file://elsewhere/x"), &file), NL_COND_NILAS_UNSUPPORTED);
    assert_int_equal(count_files(here), 1);
}

static void test_a_file_where_a_folder_is_needed(void **state)
{
    const place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "f"), bytes_of("1")));
    nl_status status = nl_fs_write_all(here->fs, at(here, "f/x"), bytes_of("1"));
    assert_non_null(status);
    nl_error_free(status);
    bool is_there = true;
    assert_null(nl_fs_exists(here->fs, at(here, "f/x"), &is_there));
    assert_false(is_there);
    assert_null(nl_fs_remove(here->fs, at(here, "f/x")));
    assert_condition(nl_fs_rename(here->fs, at(here, "f"), at(here, "no/such/folder"), false), NL_COND_PATH_NOT_FOUND);
}

static nl_status count_visit(void *argument, const nl_file_info *info)
{
    (void)info;
    ++*(uint32_t *)argument;
    return NULL;
}

static void test_links_are_not_followed_into_folders_nor_removed_through(void **state)
{
    const place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "kept/x"), bytes_of("1")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "t")));
    assert_int_equal(symlink(c_at(here, "t"), c_at(here, "t/circle")), 0);
    assert_int_equal(symlink(c_at(here, "kept"), c_at(here, "t/out")), 0);
    assert_int_equal(symlink(c_at(here, "kept/x"), c_at(here, "t/file")), 0);
    assert_int_equal(symlink("/nowhere/at/all", c_at(here, "t/broken")), 0);
    uint32_t count = 0;
    assert_null(nl_fs_list(here->fs, at(here, "t"), true, count_visit, &count));
    assert_int_equal(count, 1); /* the linked file */
    assert_null(nl_fs_remove_tree(here->fs, at(here, "t")));
    bool is_there = false;
    assert_null(nl_fs_exists(here->fs, at(here, "kept/x"), &is_there));
    assert_true(is_there);
    assert_int_equal(symlink(c_at(here, "kept"), c_at(here, "link")), 0);
    assert_null(nl_fs_remove_tree(here->fs, at(here, "link"))); /* only the link itself */
    assert_null(nl_fs_exists(here->fs, at(here, "kept/x"), &is_there));
    assert_true(is_there);
}

static void test_folders_deeper_than_the_limit_are_an_error_not_a_crash(void **state)
{
    const place *here = *state;
    nl_builder path;
    nl_builder_init(&path, 4000);
    nl_append(&path, here->root);
    for (int i = 0; i < 70; i++) nl_append_c(&path, "/d");
    assert_null(nl_fs_make_directory(here->fs, nl_builder_str(&path)));
    uint32_t count = 0;
    assert_condition(nl_fs_list(here->fs, here->root, true, count_visit, &count), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_remove_tree(here->fs, here->root), NL_COND_NILAS_IO_ERROR);
    path.length -= 2 * 10; /* ten levels less are within it */
    assert_null(nl_fs_remove_tree(here->fs, nl_builder_str(&path)));
    nl_builder_fini(&path);
}

static void test_relative_and_uri_forms_reach_the_same_file(void **state)
{
    const place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")));
    static const char *const forms[] = {"file:", "file://", "file:////", "FILE:", "file://localhost"};
    for (size_t i = 0; i < NL_COUNT(forms); i++) {
        bool is_there = false;
        nl_str path = nl_arena_f(here->arena, "%s%s/x", forms[i], here->root.data);
        assert_null(nl_fs_exists(here->fs, path, &is_there));
        assert_true(is_there);
    }
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(here->root.data), 0);
    assert_null(nl_fs_write_all(here->fs, NL_STR("y"), bytes_of("2")));
    assert_null(nl_fs_write_all(here->fs, NL_STR("sub/z"), bytes_of("3")));
    assert_int_equal(chdir(before), 0);
    bool is_there = false;
    assert_null(nl_fs_exists(here->fs, at(here, "sub/z"), &is_there));
    assert_true(is_there);
}

static void test_permissions_follow_the_umask(void **state)
{
    const place *here = *state;
    mode_t before = umask(027);
    assert_null(nl_fs_write_all(here->fs, at(here, "d/x"), bytes_of("1")));
    umask(before);
    struct stat info;
    assert_int_equal(stat(c_at(here, "d/x"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(stat(c_at(here, "d"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0750);
}

static void test_a_sync_that_fails_publishes_nothing(void **state)
{
    const place *here = *state;
    broken.fsync_at = 1;
    assert_condition(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    broken.fsync_at = 1;
    assert_condition(nl_fs_create_if_absent(here->fs, at(here, "x"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    assert_int_equal(count_files(here), 0);
}

static void test_a_folder_that_cannot_be_synced_leaves_the_state_unknown(void **state)
{
    const place *here = *state;
    broken.fsync_at = 2; /* the first is of the file */
    nl_status status = nl_fs_create_if_absent(here->fs, at(here, "x"), bytes_of("1"));
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    assert_condition(nl_fs_create_if_absent(here->fs, at(here, "x"), bytes_of("2")), NL_COND_NILAS_ALREADY_EXISTS);
    broken.fsync_at = 1;
    status = nl_fs_rename(here->fs, at(here, "x"), at(here, "y"), false);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    assert_int_equal(access(c_at(here, "y"), F_OK), 0);
    broken.fsync_at = 1;
    status = nl_fs_make_directory(here->fs, at(here, "d"));
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_IO_ERROR);
    nl_error_free(status);
}

static void test_without_an_exclusive_rename_a_link_is_as_atomic(void **state)
{
    const place *here = *state;
    broken.renameat2_error = EINVAL;
    assert_null(nl_fs_create_if_absent(here->fs, at(here, "x"), bytes_of("1")));
    assert_condition(nl_fs_create_if_absent(here->fs, at(here, "x"), bytes_of("2")), NL_COND_NILAS_ALREADY_EXISTS);
    assert_null(nl_fs_write_all(here->fs, at(here, "y"), bytes_of("3")));
    assert_condition(nl_fs_rename(here->fs, at(here, "x"), at(here, "y"), false), NL_COND_NILAS_ALREADY_EXISTS);
    assert_null(nl_fs_rename(here->fs, at(here, "x"), at(here, "z"), false));
    assert_int_equal(count_files(here), 2);
    broken.link_error = EPERM; /* a file system that can do neither */
    assert_condition(nl_fs_create_if_absent(here->fs, at(here, "v"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    assert_int_equal(count_files(here), 2);
}

static void test_a_move_that_fails_leaves_nothing(void **state)
{
    const place *here = *state;
    broken.rename_error = EIO;
    assert_condition(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    assert_int_equal(count_files(here), 0);
    broken.rename_error = 0;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")));
    broken.rename_error = EIO;
    assert_condition(nl_fs_rename(here->fs, at(here, "x"), at(here, "y"), true), NL_COND_NILAS_IO_ERROR);
    broken.getrandom_error = EIO;
    assert_condition(nl_fs_write_all(here->fs, at(here, "z"), bytes_of("1")), NL_COND_NILAS_IO_ERROR);
    broken.unlink_error = EIO;
    assert_condition(nl_fs_remove(here->fs, at(here, "x")), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_remove_tree(here->fs, at(here, "x")), NL_COND_NILAS_IO_ERROR);
    broken.unlink_error = 0;
    assert_int_equal(count_files(here), 1);
}

static void test_short_and_interrupted_calls_are_gone_on_with(void **state)
{
    const place *here = *state;
    enum { TOTAL = 200001 };
    uint8_t *bytes = malloc(TOTAL);
    for (size_t i = 0; i < TOTAL; i++) bytes[i] = (uint8_t)(i * 13 + i / 257);
    broken.io_is_choppy = true;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), (nl_bytes){bytes, TOTAL}));
    nl_buffer *content = NULL;
    assert_null(nl_fs_read_all(here->fs, at(here, "x"), TOTAL, &content));
    broken.io_is_choppy = false;
    assert_true(broken.interruption_count > 400);
    assert_int_equal(content->size_bytes, TOTAL);
    assert_memory_equal(content->data, bytes, TOTAL);
    nl_buffer_release(content);
    free(bytes);
}

static void test_places_where_nothing_can_be_made(void **state)
{
    const place *here = *state;
    nl_status status = nl_fs_write_all(here->fs, NL_STR("/proc/nilas/x"), bytes_of("1"));
    assert_non_null(status);
    nl_error_free(status);
    assert_int_equal(symlink("loop", c_at(here, "loop")), 0);
    nl_file_info info;
    assert_condition(nl_fs_stat(here->fs, at(here, "loop"), &info), NL_COND_NILAS_IO_ERROR);
    nl_file *file = NULL;
    assert_condition(nl_fs_open(here->fs, at(here, "loop"), &file), NL_COND_NILAS_IO_ERROR);
    uint32_t count = 0;
    assert_condition(nl_fs_list(here->fs, at(here, "loop"), false, count_visit, &count), NL_COND_NILAS_IO_ERROR);
    assert_null(nl_fs_write_all(here->fs, at(here, "f"), bytes_of("1")));
    assert_condition(nl_fs_list(here->fs, at(here, "f"), false, count_visit, &count), NL_COND_PATH_NOT_FOUND);
    assert_null(nl_fs_write_all(here->fs, at(here, "d/x"), bytes_of("1")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "e")));
    assert_condition(nl_fs_rename(here->fs, at(here, "e"), at(here, "d"), true), NL_COND_NILAS_IO_ERROR);
    assert_null(nl_fs_remove(here->fs, at(here, "e"))); /* an empty folder may be removed as a file may */
    assert_condition(nl_fs_open(here->fs, NL_STR("file:"), &file), NL_COND_PATH_NOT_FOUND);
}

static void test_local_is_one_for_all(void **state)
{
    const place *here = *state;
    nl_fs *again = nl_fs_local();
    assert_ptr_equal(again, here->fs);
    nl_fs_release(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)

static size_t version_of(const char *path, char version[64])
{
    nl_file *file = NULL;
    nl_error_free(nl_fs_open(nl_fs_local(), nl_str_from(path), &file));
    assert_non_null(file);
    const nl_str text = nl_file_version(file);
    assert_true(text.length <= 64);
    memcpy(version, text.data ? text.data : "", text.length);
    nl_file_close(file);
    return text.length;
}

static void write_in_place(const char *path, char content)
{
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, &content, 1), 1);
    close(descriptor);
}

static void test_a_changed_file_has_another_version_and_a_fresh_one_none(void **state)
{
    (void)state;
    char path[] = "/tmp/nilas-local-test-XXXXXX";
    char versions[3][64] = {{0}};
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    write_in_place(path, 'a');
    assert_int_equal(version_of(path, versions[0]), 0); /* the next change may come within the same tick of the clock */
    usleep(150000);
    const size_t length = version_of(path, versions[0]);
    assert_true(length > 0);
    assert_int_equal(version_of(path, versions[1]), length);
    assert_memory_equal(versions[0], versions[1], length);
    write_in_place(path, 'b'); /* as long as before */
    usleep(150000);
    assert_int_equal(version_of(path, versions[2]), length);
    assert_memory_not_equal(versions[0], versions[2], length);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_of_many_processes_one_creates_each_name),
        TEST(test_of_many_threads_one_creates_each_name),
        TEST(test_of_many_renames_to_a_name_one_succeeds),
        TEST(test_a_write_that_fails_leaves_neither_file_nor_temporary),
        TEST(test_no_descriptors_left_is_worth_a_retry),
        TEST(test_a_crash_leaves_the_old_file_or_the_new_one),
        TEST(test_a_file_that_shrinks_under_a_reader_is_an_error),
        TEST(test_special_files_and_long_names_are_refused),
        TEST(test_a_file_where_a_folder_is_needed),
        TEST(test_links_are_not_followed_into_folders_nor_removed_through),
        TEST(test_folders_deeper_than_the_limit_are_an_error_not_a_crash),
        TEST(test_relative_and_uri_forms_reach_the_same_file),
        TEST(test_permissions_follow_the_umask),
        TEST(test_a_sync_that_fails_publishes_nothing),
        TEST(test_a_folder_that_cannot_be_synced_leaves_the_state_unknown),
        TEST(test_without_an_exclusive_rename_a_link_is_as_atomic),
        TEST(test_a_move_that_fails_leaves_nothing),
        TEST(test_short_and_interrupted_calls_are_gone_on_with),
        TEST(test_places_where_nothing_can_be_made),
        TEST(test_local_is_one_for_all),
        cmocka_unit_test(test_a_changed_file_has_another_version_and_a_fresh_one_none),
    };
    return cmocka_run_group_tests_name("storage/local", tests, NULL, NULL);
}
