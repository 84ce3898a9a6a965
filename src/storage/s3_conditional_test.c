/* storage/s3_conditional_test.c - objects created only if absent: lost answers, repeated tries, servers that ignore the condition. */
#include "storage/test_s3.h"

/* A server whose bucket was tried, so that what fails is the object's own PUT. Its connection is kept. */
static fixture *start_proven(void)
{
    fixture *f = start();
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/first"), text_bytes("x")));
    f->s3.seen[0] = '\0';
    return f;
}

static uint32_t count_seen(const fixture *f, const char *text)
{
    uint32_t count = 0;
    for (const char *at = strstr(f->s3.seen, text); at; at = strstr(at + 1, text)) count++;
    return count;
}

static bool holds(fixture *f, const char *key, const char *text)
{
    const object *one = find(&f->s3, key);
    return one && one->length == strlen(text) && memcmp(one->bytes, text, one->length) == 0;
}

static void test_one_of_many_creates_an_object(void **state)
{
    (void)state;
    static const struct {
        failure failure;
        const char *before;
        nl_condition condition; /* 0: success */
        nl_error_kind kind;
        const char *after; /* what is there in the end; NULL: nothing */
    } cases[] = {
        {{0}, NULL, 0, 0, "mine"},
        {{0}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0, "another"},
        {{0}, "mine", NL_COND_NILAS_ALREADY_EXISTS, 0, "mine"}, /* equal bytes, but not ours: nothing was repeated */
        {{.match = "PUT", .count = 2, .status = 409, .body = "<Error><Code>ConditionalRequestConflict</Code></Error>"}, NULL, 0, 0, "mine"},
        {{.match = "PUT", .count = 2, .status = 409, .body = "<Error><Code>ConditionalRequestConflict</Code></Error>"}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0, "another"},
        /* Carried out, and the answer lost: the second try meets the first one's object. */
        {{.match = "PUT", .count = 1, .is_carried_out = true, .then = TEST_CLOSE}, NULL, 0, 0, "mine"},
        {{.match = "PUT", .count = 1, .is_carried_out = true, .then = TEST_RESET}, NULL, 0, 0, "mine"},
        {{.match = "PUT", .count = 1, .then = TEST_CLOSE}, NULL, 0, 0, "mine"},
        {{.match = "PUT", .count = 1, .then = TEST_CLOSE}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0, "another"},
        {{.match = "PUT", .count = 1, .then = TEST_CLOSE}, "othr", NL_COND_NILAS_ALREADY_EXISTS, 0, "othr"}, /* as long as ours */
        {{.match = "PUT", .count = 9, .then = TEST_CLOSE}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_UNKNOWN_STATE, NULL},
        {{.match = "PUT", .count = 9, .then = TEST_CLOSE}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0, "another"},
        {{.match = "PUT", .count = 9, .is_carried_out = true, .then = TEST_CLOSE}, NULL, 0, 0, "mine"},
        {{.match = "PUT", .count = 9, .status = 500}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_UNKNOWN_STATE, NULL},
        {{.match = "PUT", .count = 9, .status = 503}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_UNKNOWN_STATE, NULL},
        {{.match = "PUT", .count = 1, .status = 403}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_USER, NULL}, /* surely not done */
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        fixture *f = start_proven();
        if (cases[i].before) store(&f->s3, "v1", cases[i].before, strlen(cases[i].before), "");
        f->s3.failures[0] = cases[i].failure;
        nl_status status = nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine"));
        const nl_condition condition = status ? nl_error_condition(status) : 0;
        if (!!status != !!cases[i].condition || condition != cases[i].condition) fprintf(stderr, "case %u: %s\n", i, status ? nl_error_message(status) : "no error");
        assert_int_equal(!!status, !!cases[i].condition);
        assert_int_equal(condition, cases[i].condition);
        if (cases[i].kind) assert_int_equal(nl_error_kind_of(status), cases[i].kind);
        if (cases[i].after) assert_true(holds(f, "v1", cases[i].after));
        else assert_null(find(&f->s3, "v1"));
        nl_error_free(status);
        stop(f);
    }
}

/* The first try is carried out, and its answer lost; the second is refused otherwise than by 412, or cannot be looked up:
 * in all of them the object may be there, and is ours. */
static void test_a_refusal_after_a_lost_answer_says_nothing_of_the_first_try(void **state)
{
    (void)state;
    const failure lost = {.match = "PUT /b/v1", .count = 1, .is_carried_out = true, .then = TEST_CLOSE};
    static const failure seconds[] = {{.match = "PUT /b/v1", .count = 9, .status = 403}, {.match = "PUT /b/v1", .count = 9, .status = 500}, {.match = "PUT /b/v1", .count = 9, .then = TEST_RESET}};
    for (uint32_t i = 0; i < NL_COUNT(seconds); i++) {
        fixture *f = start_proven();
        f->s3.failures[0] = lost;
        f->s3.failures[1] = seconds[i];
        assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine")));
        assert_true(holds(f, "v1", "mine"));
        stop(f);
    }
    static const failure looks[] = {{.match = "HEAD /b/v1", .count = 9, .status = 403}, {.match = "HEAD /b/v1", .count = 9, .status = 500}, {.match = "GET /b/v1", .count = 9, .then = TEST_CLOSE}};
    for (uint32_t i = 0; i < NL_COUNT(looks); i++) {
        fixture *f = start_proven();
        f->s3.failures[0] = lost;
        f->s3.failures[1] = looks[i];
        nl_status status = nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine"));
        assert_non_null(status);
        assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
        nl_error_free(status);
        assert_true(holds(f, "v1", "mine"));
        stop(f);
    }
}

/* A kept connection that the server closes instead of answering: libcurl would send the request again by itself, which
 * counts as no second try, and the object that the first one made would be taken for another writer's. */
static void test_a_kept_connection_that_breaks_is_no_conflict(void **state)
{
    (void)state;
    fixture *f = start_proven();
    bool exists;
    assert_ok(nl_fs_exists(f->fs, NL_STR("s3://b/first"), &exists)); /* a connection is idle now */
    f->s3.failures[0] = (failure){.match = "PUT /b/v1", .count = 1, .is_carried_out = true, .then = TEST_CLOSE};
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine")));
    assert_true(holds(f, "v1", "mine"));
    assert_int_equal(count_seen(f, "PUT /b/v1\n"), 2);
    stop(f);
}

/* Two writers at once on a server that takes every PUT would both believe to have won. */
static void test_a_server_that_ignores_the_condition_is_refused(void **state)
{
    (void)state;
    fixture *f = start();
    f->s3.ignores_conditions = true;
    for (int i = 0; i < 2; i++) { /* also the second time: a failure is not remembered as success */
        assert_fails(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/t/metadata/v1"), text_bytes("mine")), NILAS_UNSUPPORTED, "ignores the condition");
        assert_int_equal(f->s3.count, 0); /* neither the object nor what it was tried with */
    }
    nl_status status = nl_fs_create_if_absent(f->fs, NL_STR("s3://b/t/metadata/v1"), text_bytes("mine"));
    assert_non_null(strstr(nl_error_message(status), f->server.url));
    assert_non_null(strstr(nl_error_message(status), "type rest, jdbc or glue"));
    nl_error_free(status);
    assert_int_equal(count_seen(f, "PUT /b/t/metadata/v1\n"), 0);
    assert_ok(nl_fs_write_all(f->fs, NL_STR("s3://b/t/data"), text_bytes("x"))); /* what needs no condition goes on */
    stop(f);
}

static void test_a_server_without_conditional_writes_is_refused(void **state)
{
    (void)state;
    fixture *f = start();
    f->s3.failures[0] = (failure){.match = "PUT", .count = 99, .status = 501, .body = "<Error><Code>NotImplemented</Code></Error>"};
    assert_fails(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine")), NILAS_UNSUPPORTED, "does not offer conditional writes");
    assert_null(find(&f->s3, "v1"));
    stop(f);
}

/* Once for each bucket, near the object, and nothing of it stays. */
static void test_a_server_is_tried_once(void **state)
{
    (void)state;
    fixture *f = start();
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/t/metadata/v1"), text_bytes("1")));
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/t/metadata/v2"), text_bytes("2")));
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/u/metadata/v1"), text_bytes("1")));
    assert_int_equal(count_seen(f, "PUT /b/t/metadata/.nilas-probe-"), 2);
    assert_int_equal(count_seen(f, "DELETE /b/t/metadata/.nilas-probe-"), 1);
    assert_int_equal(count_seen(f, "probe"), 3);
    assert_int_equal(f->s3.count, 3);
    stop(f);
}

/* What the trial meets is no commit whose outcome is open: nothing was written. */
static void test_a_trial_that_fails_is_a_clean_failure(void **state)
{
    (void)state;
    static const failure failures[] = {{.match = "probe", .count = 99, .then = TEST_CLOSE}, {.match = "probe", .count = 99, .status = 500}, {.match = "probe", .count = 99, .status = 403}};
    for (uint32_t i = 0; i < NL_COUNT(failures); i++) {
        fixture *f = start();
        f->s3.failures[0] = failures[i];
        nl_status status = nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine"));
        assert_non_null(status);
        assert_int_not_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
        nl_error_free(status);
        assert_null(find(&f->s3, "v1"));
        pthread_mutex_lock(&f->server.mutex);
        f->s3.failures[0].count = 0;
        pthread_mutex_unlock(&f->server.mutex);
        assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine")));
        stop(f);
    }
    fixture *f = start(); /* passing failures pass; a first try that was carried out proves as much as one that was refused */
    f->s3.failures[0] = (failure){.match = "PUT /b/.nilas-probe", .count = 1, .is_carried_out = true, .then = TEST_CLOSE};
    f->s3.failures[1] = (failure){.match = "DELETE", .count = 9, .status = 403};
    assert_ok(nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine")));
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_of_many_creates_an_object),
        cmocka_unit_test(test_a_refusal_after_a_lost_answer_says_nothing_of_the_first_try),
        cmocka_unit_test(test_a_kept_connection_that_breaks_is_no_conflict),
        cmocka_unit_test(test_a_server_that_ignores_the_condition_is_refused),
        cmocka_unit_test(test_a_server_without_conditional_writes_is_refused),
        cmocka_unit_test(test_a_server_is_tried_once),
        cmocka_unit_test(test_a_trial_that_fails_is_a_clean_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
