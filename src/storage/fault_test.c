/* storage/fault_test.c - plans, the layer that acts them out, and the sweep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/fault.h"

static nl_fault_plan *plan_of(const char *text)
{
    nl_fault_plan *plan = NULL;
    assert_null(nl_fault_plan_parse(nl_str_from(text), &plan));
    return plan;
}

static void test_plans_that_are_no_plans_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"x",           "local.write",       "local.write:1",        "local.write=EIO",
                                      ":1=EIO",      "a.b:0=EIO",         "a.b:-1=EIO",           "a.b:x=EIO",
                                      "a.b:1=EWHAT", "a.b:1=99",          "a.b:1=600",            "a.b:1=cut",
                                      "a.b:1=cut(x)", "a.b:after(1PB)=EIO", "a.b:1=EIO; nonsense", "a.b:1=late()"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_fault_plan *plan = NULL;
        nl_status status = nl_fault_plan_parse(nl_str_from(bad[i]), &plan);
        assert_int_equal(nl_error_condition(status), NL_COND_NILAS_ILLEGAL_ARGUMENT);
        assert_null(plan);
        nl_error_free(status);
    }
    nl_fault_plan_free(plan_of(""));
    nl_fault_plan_free(plan_of(" ; ; a.b:any=EIO ;"));
    nl_fault_plan_free(NULL);
}

static void test_effects_are_read_with_their_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int kind;
        int64_t number;
    } cases[] = {
        {"s3.get:1=503", NL_FAULT_HTTP, 503},
        {"s3.get:1=EIO", NL_FAULT_ERRNO, EIO},
        {"s3.get:1=ENOSPC", NL_FAULT_ERRNO, ENOSPC},
        {"s3.get:1=reset", NL_FAULT_RESET, 0},
        {"s3.get:1=cut(1000)", NL_FAULT_CUT, 1000},
        {"s3.get:1=cut(2KiB)", NL_FAULT_CUT, 2048},
        {"s3.get:1=late(30s)", NL_FAULT_LATE, 30000},
        {"s3.get:1=late(5ms)", NL_FAULT_LATE, 5},
        {"s3.get:1=lost-reply", NL_FAULT_LOST_REPLY, 0},
        {"s3.get:1=fail", NL_FAULT_FAIL, 0},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_fault_plan *plan = plan_of(cases[i].text);
        nl_fault_effect effect;
        assert_false(nl_fault_meet(plan, "s3.put", 0, &effect));
        assert_true(nl_fault_meet(plan, "s3.get", 0, &effect));
        assert_int_equal(effect.kind, cases[i].kind);
        assert_int_equal(effect.number, cases[i].number);
        assert_false(nl_fault_meet(plan, "s3.get", 0, &effect));
        assert_int_equal(nl_fault_plan_steps(plan), 3);
        nl_fault_plan_free(plan);
    }
    nl_fault_effect effect;
    assert_false(nl_fault_meet(NULL, "s3.get", 0, &effect));
}

static void test_rules_count_for_themselves(void **state)
{
    (void)state;
    nl_fault_plan *plan = plan_of("a.x:2=EIO; a.y:any=503; a.z:after(10)=ENOSPC");
    nl_fault_effect effect;
    assert_false(nl_fault_meet(plan, "a.x", 0, &effect));
    assert_true(nl_fault_meet(plan, "a.y", 0, &effect));
    assert_true(nl_fault_meet(plan, "a.x", 0, &effect));
    assert_false(nl_fault_meet(plan, "a.x", 0, &effect));
    assert_true(nl_fault_meet(plan, "a.y", 0, &effect));
    assert_false(nl_fault_meet(plan, "a.z", 6, &effect));
    assert_false(nl_fault_meet(plan, "a.z", 4, &effect));
    assert_true(nl_fault_meet(plan, "a.z", 1, &effect));
    assert_true(nl_fault_meet(plan, "a.z", 0, &effect)); /* a full disk stays full */
    nl_fault_plan_free(plan);
}

static nl_bytes bytes_of(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

static bool exists(nl_fs *fs, const char *path)
{
    bool answer = false;
    assert_null(nl_fs_exists(fs, nl_str_from(path), &answer));
    return answer;
}

static void test_a_full_disk_publishes_nothing(void **state)
{
    (void)state;
    nl_fault_plan *plan = plan_of("memory.write:after(8)=ENOSPC");
    nl_fs *below = nl_fs_memory_new();
    nl_fs *fs = nl_fs_fault_new(below, plan);
    nl_output *output = NULL;
    assert_null(nl_fs_create(fs, NL_STR("/x"), &output));
    assert_null(nl_output_write(output, "12345678", 8));
    nl_status status = nl_output_write(output, "9", 1);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_IO_ERROR);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY);
    nl_error_free(status);
    status = nl_output_close(output); /* somebody who forgot that a write failed */
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_IO_ERROR);
    nl_error_free(status);
    assert_false(exists(below, "/x"));
    nl_fs_release(fs);
    nl_fs_release(below);
    nl_fault_plan_free(plan);
}

static void test_a_lost_reply_is_of_unknown_state_and_the_work_is_done(void **state)
{
    (void)state;
    nl_fault_plan *plan = plan_of("memory.created:1=EIO; memory.published:1=lost-reply; memory.renamed:1=EIO");
    nl_fs *below = nl_fs_memory_new();
    nl_fs *fs = nl_fs_fault_new(below, plan);
    nl_status status = nl_fs_create_if_absent(fs, NL_STR("/a"), bytes_of("1"));
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    status = nl_fs_write_all(fs, NL_STR("/b"), bytes_of("1"));
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    status = nl_fs_rename(fs, NL_STR("/b"), NL_STR("/c"), false);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    assert_true(exists(below, "/a"));
    assert_true(exists(below, "/c"));
    assert_false(exists(below, "/b"));
    nl_fs_release(fs);
    nl_fs_release(below);
    nl_fault_plan_free(plan);
}

typedef struct swept {
    nl_fs *below;
    uint64_t run_count;
    uint64_t failure_count;
    uint64_t unknown_count;
} swept;

/* A small commit: a data file under a new folder, its list, and the pointer that makes both count. */
static nl_status commit(void *argument, nl_fault_plan *plan)
{
    swept *self = argument;
    self->below = nl_fs_memory_new();
    nl_fs *fs = nl_fs_fault_new(self->below, plan);
    nl_buffer *content = NULL;
    nl_status status = NULL;
    self->run_count++;
    NL_GO(nl_fs_make_directory(fs, NL_STR("/t")));
    NL_GO(nl_fs_write_all(fs, NL_STR("/t/data"), bytes_of("rows")));
    NL_GO(nl_fs_read_all(fs, NL_STR("/t/data"), 100, &content));
    NL_GO(nl_fs_create_if_absent(fs, NL_STR("/t/v1"), bytes_of("data")));
done:
    nl_buffer_release(content);
    nl_fs_release(fs);
    return status;
}

static void check_commit(void *argument, uint64_t step, nl_status status)
{
    swept *self = argument;
    assert_int_equal(status == NULL, step == 0);
    if (status != NULL) {
        self->failure_count++;
        self->unknown_count += nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE;
        assert_int_equal(nl_error_condition(status), NL_COND_NILAS_IO_ERROR);
    }
    if (exists(self->below, "/t/v1")) assert_true(exists(self->below, "/t/data"));
    if (status == NULL) assert_true(exists(self->below, "/t/v1"));
    nl_error_free(status);
    nl_fs_release(self->below);
}

static void test_a_sweep_fails_each_step_once(void **state)
{
    (void)state;
    swept self = {0};
    const nl_fault_sweep sweep = {.run = commit, .check = check_commit, .argument = &self};
    /* make_directory; create, write, fsync, publish, published; open, read; create_if_absent, created */
    assert_int_equal(nl_fault_sweep_run(&sweep), 10);
    assert_int_equal(self.run_count, 11);
    assert_int_equal(self.failure_count, 10);
    assert_int_equal(self.unknown_count, 2);
}

static void test_a_step_is_counted_from_now(void **state)
{
    (void)state;
    nl_fault_plan *plan = plan_of("");
    assert_null(nl_fault_step(plan, "a.b", NL_STR("/x"), 0));
    nl_fault_plan_fail_step(plan, 2);
    assert_null(nl_fault_step(plan, "a.b", NL_STR("/x"), 0));
    nl_status status = nl_fault_step(plan, "a.c", NL_STR("/x"), 0);
    assert_string_equal(nl_error_param(status, "operation"), "a.c");
    nl_error_free(status);
    assert_null(nl_fault_step(plan, "a.b", NL_STR("/x"), 0));
    assert_int_equal(nl_fault_plan_steps(plan), 4);
    nl_fault_plan_free(plan);
}

/* In a child, so that the plan of the environment, which is read once, does not reach the other tests. */
static void test_the_environment_can_break_local_files(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("NILAS_FAULT", "local.stat:2=EACCES", 1);
        nl_fs *fs = NULL;
        nl_file_info info;
        bool is_good = nl_fs_for_path(NL_STR("file:/tmp"), &fs) == NULL;
        is_good = is_good && nl_fs_stat(fs, NL_STR("file:/tmp"), &info) == NULL;
        nl_status status = nl_fs_stat(fs, NL_STR("file:/tmp"), &info);
#ifdef NL_FAULTS
        is_good = is_good && status != NULL && strstr(nl_error_message(status), "Permission denied") != NULL;
#else
        is_good = is_good && status == NULL;
#endif
        nl_error_free(status);
        nl_fs_release(fs);
        _exit(is_good ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

#ifdef NL_FAULTS
static void test_a_plan_can_refuse_memory(void **state)
{
    (void)state;
    nl_fault_plan *plan = plan_of("alloc:1=fail");
    nl_buffer *buffer = NULL;
    nl_status status = nl_buffer_new(NULL, 10, false, &buffer);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    nl_error_free(status);
    nl_fault_plan_free(plan);
}
#else
static void test_a_plan_can_refuse_memory(void **state)
{
    (void)state;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_that_are_no_plans_are_refused),
        cmocka_unit_test(test_effects_are_read_with_their_numbers),
        cmocka_unit_test(test_rules_count_for_themselves),
        cmocka_unit_test(test_a_full_disk_publishes_nothing),
        cmocka_unit_test(test_a_lost_reply_is_of_unknown_state_and_the_work_is_done),
        cmocka_unit_test(test_a_sweep_fails_each_step_once),
        cmocka_unit_test(test_a_step_is_counted_from_now),
        cmocka_unit_test(test_the_environment_can_break_local_files),
        cmocka_unit_test(test_a_plan_can_refuse_memory),
        cmocka_unit_test(test_the_environment_can_break_local_files),
        cmocka_unit_test(test_a_plan_can_refuse_memory),
    };
    return cmocka_run_group_tests_name("storage/fault", tests, NULL, NULL);
}
