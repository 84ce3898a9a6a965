/* The S3 file system against a small S3 (test_s3.h): real sockets, and failures where a test wants them. Quality §3 lists
 * what must come of each failure.
 */
#include "base/log.h"
#include "storage/fault.h"
#include "storage/test_s3.h"

static void test_an_object_is_written_read_described_and_removed(void **state)
{
    (void)state;
    fixture *f = start();
    const nl_str path = NL_STR("s3://b/a folder/k+%20\xc3\xa9?#.txt");
    assert_ok(nl_fs_write_all(f->fs, path, text_bytes("hello world")));
    assert_non_null(find(&f->s3, "a folder/k+%20\xc3\xa9?#.txt"));
    assert_non_null(strstr(f->s3.seen, "PUT /b/a%20folder/k%2B%2520%C3%A9%3F%23.txt\n"));
    assert_non_null(strstr(f->s3.last_head, "AWS4-HMAC-SHA256 Credential=me/"));
    assert_non_null(strstr(f->s3.last_head, "/eu-central-1/s3/aws4_request"));
    assert_non_null(strstr(f->s3.last_head, "x-amz-checksum-crc32: DUoRhQ=="));
    assert_null(strstr(f->s3.last_head, "hidden-secret"));
    nl_file_info info;
    assert_ok(nl_fs_stat(f->fs, path, &info));
    assert_int_equal(info.size_bytes, 11);
    assert_false(info.is_directory);
    assert_true(info.modified_micros == INT64_C(1790856000000000));
    nl_file *file = NULL;
    uint8_t into[12] = {0};
    assert_ok(nl_fs_open(f->fs, path, &file));
    assert_int_equal(nl_file_size(file), 11);
    assert_ok(nl_file_read(file, 6, 5, into));
    assert_string_equal((char *)into, "world");
    assert_ok(nl_file_read(file, 0, 11, into));
    assert_string_equal((char *)into, "hello world");
    assert_fails(nl_file_read(file, 6, 6, into), NILAS_IO_ERROR, "the file has 11");
    nl_file_close(file);
    nl_buffer *content = NULL;
    assert_ok(nl_fs_read_all(f->fs, path, 100, &content));
    assert_int_equal(content->size_bytes, 11);
    nl_buffer_release(content);
    assert_ok(nl_fs_remove(f->fs, path));
    assert_ok(nl_fs_remove(f->fs, path));
    assert_fails(nl_fs_open(f->fs, path, &file), PATH_NOT_FOUND, NULL);
    assert_fails(nl_fs_read_all(f->fs, path, 100, &content), PATH_NOT_FOUND, NULL);
    bool exists = true;
    assert_ok(nl_fs_exists(f->fs, path, &exists));
    assert_false(exists);
    stop(f);
}

static void test_a_known_size_spares_the_first_question(void **state)
{
    (void)state;
    fixture *f = start();
    nl_file *file = NULL;
    uint8_t into[10];
    store(&f->s3, "k", "0123456789", 10, "");
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3a://b/k"), 10, &file));
    assert_string_equal(f->s3.seen, "");
    assert_ok(nl_file_read(file, 2, 3, into));
    assert_memory_equal(into, "234", 3);
    assert_string_equal(f->s3.seen, "GET /b/k\n");
    store(&f->s3, "k", "abcdefghij", 10, ""); /* another object now */
    assert_fails(nl_file_read(file, 2, 3, into), NILAS_IO_ERROR, "changed while it was read");
    nl_file_close(file);
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3a://b/k"), 9, &file)); /* metadata that does not fit */
    assert_fails(nl_file_read(file, 2, 3, into), NILAS_IO_ERROR, "the object has 10 bytes, not 9");
    nl_file_close(file);
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3a://b/k"), 12, &file));
    assert_fails(nl_file_read(file, 10, 2, into), NILAS_IO_ERROR, "shorter than 12");
    nl_file_close(file);
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3a://b/none"), 12, &file));
    assert_fails(nl_file_read(file, 9, 3, into), PATH_NOT_FOUND, NULL);
    nl_file_close(file);
    stop(f);
}

static void test_a_file_opens_with_the_request_that_reads_its_start(void **state)
{
    (void)state;
    fixture *f = start();
    nl_file *file = NULL;
    uint8_t into[10];
    store(&f->s3, "k", "0123456789", 10, "");
    assert_ok(nl_fs_open_start(f->fs, NL_STR("s3a://b/k"), 4, &file)); /* a part of it */
    assert_int_equal(nl_file_size(file), 10);
    assert_ok(nl_file_read(file, 1, 3, into));
    assert_memory_equal(into, "123", 3);
    assert_string_equal(f->s3.seen, "GET /b/k\n");
    assert_ok(nl_file_read(file, 2, 8, into)); /* the rest is asked for */
    assert_memory_equal(into, "23456789", 8);
    store(&f->s3, "k", "abcdefghij", 10, "");
    assert_fails(nl_file_read(file, 6, 3, into), NILAS_IO_ERROR, "changed while it was read");
    nl_file_close(file);
    f->s3.seen[0] = '\0';
    assert_ok(nl_fs_open_start(f->fs, NL_STR("s3a://b/k"), 1000, &file)); /* all of it */
    assert_int_equal(nl_file_size(file), 10);
    for (int i = 0; i < 2; i++) {
        assert_ok(nl_file_read(file, 0, 10, into));
        assert_memory_equal(into, "abcdefghij", 10);
    }
    assert_string_equal(f->s3.seen, "GET /b/k\n");
    nl_file_close(file);
    store(&f->s3, "empty", "", 0, "");
    assert_ok(nl_fs_open_start(f->fs, NL_STR("s3a://b/empty"), 1000, &file)); /* no range of it exists */
    assert_int_equal(nl_file_size(file), 0);
    nl_file_close(file);
    assert_fails(nl_fs_open_start(f->fs, NL_STR("s3a://b/none"), 1000, &file), PATH_NOT_FOUND, NULL);
    stop(f);
}

typedef struct streaming {
    nl_file *file;
    const uint8_t *bytes;
    uint64_t end;
    atomic_uint_fast64_t next, wrong;
} streaming;

enum { STREAM_STEP = 300000 };

static nl_status read_streaming(void *argument, uint64_t index)
{
    streaming *all = argument;
    uint8_t *into = malloc(STREAM_STEP);
    (void)index;
    for (;;) {
        const uint64_t offset = atomic_fetch_add(&all->next, STREAM_STEP);
        if (offset >= all->end) break;
        const size_t length = (size_t)NL_MIN(all->end - offset, (uint64_t)STREAM_STEP);
        nl_file_stream(all->file, offset, all->end);
        nl_status status = nl_file_read(all->file, offset, length, into);
        if (status || memcmp(into, all->bytes + offset, length) != 0) atomic_fetch_add(&all->wrong, 1);
        nl_error_free(status);
    }
    free(into);
    return NULL;
}

/* What is asked for in small steps, by several threads, comes in large pieces, none of them twice. */
static void test_a_stream_comes_in_large_pieces(void **state)
{
    (void)state;
    fixture *f = start();
    const size_t length = 9u << 20;
    uint8_t *bytes = pattern(length);
    streaming all = {.bytes = bytes, .end = length - 1000};
    store(&f->s3, "k", bytes, length, "");
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3://b/k"), length, &all.file));
    nl_pool *pool = nl_pool_new(3, "test");
    assert_ok(nl_pool_for(pool, 3, read_streaming, &all));
    assert_int_equal(atomic_load(&all.wrong), 0);
    assert_int_equal(atomic_load(&f->server.request_count), 5); /* 2 MiB each */
    f->s3.failures[0] = (failure){.match = "GET /b/k", .count = 1, .status = 403};
    atomic_store(&all.next, 0);
    all.end = 400000;
    assert_ok(read_streaming(&all, 0)); /* a piece that failed is read again by who wants it */
    assert_int_equal(atomic_load(&all.wrong), 0);
    nl_file_stream(all.file, 1000000, length);
    nl_file_close(all.file); /* with requests under way */
    nl_pool_free(pool);
    free(bytes);
    stop(f);
}

static void test_large_reads_go_in_pieces(void **state)
{
    (void)state;
    fixture *f = start();
    const size_t length = 20u << 20;
    uint8_t *bytes = pattern(length);
    uint8_t *into = malloc(length);
    nl_file *file = NULL;
    store(&f->s3, "k", bytes, length, "");
    assert_ok(nl_fs_open(f->fs, NL_STR("s3://b/k"), &file));
    assert_ok(nl_file_read(file, 0, length, into));
    assert_memory_equal(bytes, into, length);
    assert_int_equal(atomic_load(&f->server.request_count), 4); /* HEAD and three pieces */
    nl_file_close(file);
    free(bytes);
    free(into);
    stop(f);
}

static void test_ranges_share_requests_and_what_was_fetched_ahead(void **state)
{
    (void)state;
    fixture *f = start();
    const size_t length = 4u << 20;
    uint8_t *bytes = pattern(length);
    uint8_t into[5000];
    nl_file *file = NULL;
    store(&f->s3, "k", bytes, length, "");
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3://b/k"), length, &file));
    const nl_range ranges[] = {{2000000, 100}, {10, 20}, {100, 50}, {3000000, 7}};
    nl_buffer *buffers[4];
    assert_ok(nl_file_read_ranges(file, ranges, 4, f->memory, buffers));
    assert_int_equal(atomic_load(&f->server.request_count), 3);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(buffers[i]->size_bytes, ranges[i].length);
        assert_memory_equal(buffers[i]->data, bytes + ranges[i].offset, ranges[i].length);
        nl_buffer_release(buffers[i]);
    }
    const nl_range ahead[] = {{1000000, 4000}, {1004000, 4000}, {9000000, 1}};
    nl_file_prefetch(file, ahead, 3);
    nl_file_prefetch(file, ahead, 1); /* is on its way already */
    assert_ok(nl_file_read(file, 1000000, 4000, into));
    assert_ok(nl_file_read(file, 1004000, 4000, into));
    assert_memory_equal(into, bytes + 1004000, 4000);
    assert_int_equal(atomic_load(&f->server.request_count), 4);
    nl_file_prefetch(file, ahead, 2);
    assert_ok(nl_file_read(file, 999000, 5000, into)); /* begins before it */
    assert_memory_equal(into, bytes + 999000, 5000);
    assert_int_equal(atomic_load(&f->server.request_count), 6);
    assert_ok(nl_file_read_ranges(file, ahead, 2, f->memory, buffers)); /* what is left of it, and the rest */
    assert_memory_equal(buffers[0]->data, bytes + 1000000, 4000);
    assert_memory_equal(buffers[1]->data, bytes + 1004000, 4000);
    nl_buffer_release(buffers[0]);
    nl_buffer_release(buffers[1]);
    const uint32_t before = atomic_load(&f->server.request_count);
    const nl_range blocks[] = {{0, 4000}, {3000, 4000}};
    nl_file_prefetch(file, &blocks[0], 1);
    assert_ok(nl_file_read(file, 0, 3000, into));
    nl_file_prefetch(file, &blocks[1], 1); /* only 4000 to 7000 is asked for */
    assert_ok(nl_file_read(file, 3000, 4000, into));
    assert_memory_equal(into, bytes + 3000, 4000);
    assert_int_equal(atomic_load(&f->server.request_count), before + 2);
    assert_non_null(strstr(f->s3.last_head, "range: bytes=4000-6999"));
    nl_file_prefetch(file, ahead, 2);
    nl_file_close(file); /* with requests under way */
    free(bytes);
    stop(f);
}

static void test_a_failed_prefetch_is_only_a_slow_read(void **state)
{
    (void)state;
    fixture *f = start();
    nl_file *file = NULL;
    uint8_t into[4];
    store(&f->s3, "k", "0123456789", 10, "");
    f->s3.failures[0] = (failure){.match = "GET /b/k", .count = 1, .status = 403};
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3://b/k"), 10, &file));
    const nl_range range = {2, 4};
    nl_file_prefetch(file, &range, 1);
    assert_ok(nl_file_read(file, 2, 4, into));
    assert_memory_equal(into, "2345", 4);
    nl_file_close(file);
    stop(f);
}

/* Quality §3's table for reads. */
static void test_reads_survive_what_passes_and_name_what_does_not(void **state)
{
    (void)state;
    static const struct {
        failure failure;
        nl_condition condition; /* 0 with text NULL: success */
        const char *text;
        nl_error_kind kind;
    } cases[] = {
        {{.match = "GET", .count = 2, .status = 500}, 0, NULL, 0},
        {{.match = "GET", .count = 2, .status = 503, .body = "<Error><Code>SlowDown</Code></Error>"}, 0, NULL, 0},
        {{.match = "GET", .count = 1, .then = TEST_RESET}, 0, NULL, 0},
        {{.match = "GET", .count = 1, .raw = "HTTP/1.1 206 X\r\nContent-Length: 4\r\nContent-Range: bytes 2-5/10\r\n\r\n23", .then = TEST_CLOSE}, 0, NULL, 0},
        {{.match = "GET", .count = 1, .raw = "HTTP/1.1 206 X\r\nContent-Length: 4\r\nContent-Range: bytes 2-5/10\r\n\r\n23", .then = TEST_STALL}, 0, NULL, 0},
        {{.match = "GET", .count = 9, .status = 503, .body = "<Error><Code>SlowDown</Code><RequestId>Q9</RequestId></Error>"}, NL_COND_NILAS_IO_ERROR, "SlowDown (HTTP 503, bucket b, key k, request id Q9)", NL_KIND_RETRY},
        {{.match = "GET", .count = 9, .then = TEST_CLOSE}, NL_COND_NILAS_IO_ERROR, "after 4 attempts", NL_KIND_RETRY},
        {{.match = "GET", .count = 1, .status = 403, .body = "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>"}, NL_COND_NILAS_IO_ERROR, "AccessDenied: No.", NL_KIND_USER},
        {{.match = "GET", .count = 1, .status = 404}, NL_COND_PATH_NOT_FOUND, "s3://b/k", NL_KIND_USER},
        {{.match = "GET", .count = 1, .status = 412}, NL_COND_NILAS_IO_ERROR, "changed", NL_KIND_DATA},
        {{.match = "GET", .count = 1, .status = 206, .headers = "Content-Range: bytes 3-6/10\r\n", .body = "abcd"}, NL_COND_NILAS_IO_ERROR, "answered with the range", NL_KIND_DATA},
        {{.match = "GET", .count = 1, .status = 206, .headers = "Content-Range: bytes 2-5/11\r\n", .body = "abcd"}, NL_COND_NILAS_IO_ERROR, "not 10", NL_KIND_DATA},
        {{.match = "GET", .count = 1, .status = 200, .body = "abcd"}, NL_COND_NILAS_IO_ERROR, "does not answer ranges", NL_KIND_DATA},
        {{.match = "GET", .count = 1, .status = 200, .body = "0123456789"}, NL_COND_NILAS_IO_ERROR, "longer than it may be", NL_KIND_DATA},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        fixture *f = start();
        nl_file *file = NULL;
        uint8_t into[4];
        store(&f->s3, "k", "0123456789", 10, "");
        f->s3.failures[0] = cases[i].failure;
        assert_ok(nl_fs_open(f->fs, NL_STR("s3://b/k"), &file));
        nl_status status = nl_file_read(file, 2, 4, into);
        if (!cases[i].text) {
            assert_ok(status);
            assert_memory_equal(into, "2345", 4);
        } else {
            if (!status || !strstr(nl_error_message(status), cases[i].text)) fprintf(stderr, "case %u: %s\n", i, status ? nl_error_message(status) : "no error");
            assert_non_null(status);
            assert_int_equal(nl_error_condition(status), cases[i].condition);
            assert_non_null(strstr(nl_error_message(status), cases[i].text));
            if (nl_error_condition(status) == NL_COND_NILAS_IO_ERROR) assert_int_equal(nl_error_kind_of(status), cases[i].kind);
            nl_error_free(status);
        }
        nl_file_close(file);
        stop(f);
    }
}

static void test_a_wrong_checksum_is_never_a_result(void **state)
{
    (void)state;
    fixture *f = start();
    nl_buffer *content = NULL;
    store(&f->s3, "k", "0123456789", 10, "");
    f->s3.spoils_checksum = true;
    assert_ok(nl_fs_read_all(f->fs, NL_STR("s3://b/k"), 100, &content));
    assert_int_equal(atomic_load(&f->server.request_count), 2);
    nl_buffer_release(content);
    f->s3.failures[0] = (failure){.match = "GET", .count = 9, .status = 200, .headers = "x-amz-checksum-crc32: AAAAAA==\r\n", .body = "0123456789"};
    assert_fails(nl_fs_read_all(f->fs, NL_STR("s3://b/k"), 100, &content), NILAS_IO_ERROR, "do not match the checksum");
    f->s3.failures[0] = (failure){.match = "GET", .count = 9, .status = 200, .headers = "x-amz-checksum-crc32: AAAAAA==-3\r\nx-amz-checksum-type: COMPOSITE\r\n", .body = "0123456789"};
    assert_ok(nl_fs_read_all(f->fs, NL_STR("s3://b/k"), 100, &content)); /* of parts: says nothing of the whole */
    nl_buffer_release(content);
    stop(f);
}

static void write_pattern(nl_output *output, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const size_t step = NL_MIN(length - at, (size_t)700001);
        assert_ok(nl_output_write(output, bytes + at, step));
        at += step;
    }
}

static void test_what_is_large_goes_up_in_parts(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        uint32_t part_count;
    } cases[] = {{0, 0}, {1, 0}, {(5u << 20) + 1, 0}, {7864319, 0}, {7864320, 2}, {(15u << 20), 3}, {(15u << 20) + 1, 4}};
    uint8_t *bytes = pattern(16u << 20);
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        fixture *f = start();
        nl_output *output = NULL;
        assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/big"), &output));
        write_pattern(output, bytes, cases[i].length);
        pthread_mutex_lock(&f->server.mutex); /* parts may be on their way */
        assert_null(find(&f->s3, "big"));
        pthread_mutex_unlock(&f->server.mutex);
        assert_ok(nl_output_close(output));
        const object *made = find(&f->s3, "big");
        assert_non_null(made);
        assert_int_equal(made->length, cases[i].length);
        assert_memory_equal(made->bytes, bytes, cases[i].length);
        char suffix[16] = "";
        if (cases[i].part_count) snprintf(suffix, sizeof(suffix), "-%u\"", cases[i].part_count);
        assert_non_null(strstr(made->etag, suffix));
        stop(f);
    }
    free(bytes);
}

static void test_a_small_budget_costs_parts_not_the_upload(void **state)
{
    (void)state;
    fixture *f = start_with(NULL, 0, 14u << 20);
    nl_output *output = NULL;
    uint8_t *bytes = pattern(40u << 20);
    nl_memory_retain(f->memory);
    assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/big"), &output));
    write_pattern(output, bytes, 40u << 20);
    assert_ok(nl_output_close(output));
    assert_memory_equal(find(&f->s3, "big")->bytes, bytes, 40u << 20);
    nl_memory_release(f->memory);
    free(bytes);
    stop(f);
}

static void test_uploads_leave_nothing_behind_when_they_fail(void **state)
{
    (void)state;
    static const failure failures[] = {
        {.match = "?uploads", .count = 9, .status = 403},
        {.match = "partNumber=2", .count = 9, .status = 400, .body = "<Error><Code>InvalidPart</Code></Error>"},
        {.match = "partNumber=1", .count = 9, .then = TEST_CLOSE},
        {.match = "POST /b/big?uploadId", .count = 9, .status = 200, .body = "  <Error><Code>InternalError</Code><Message>later</Message></Error>"},
        {.match = "POST /b/big?uploadId", .count = 1, .status = 200, .body = "<Error><Code>InvalidPart</Code></Error>"},
        {.match = "POST /b/big?uploadId", .count = 1, .status = 412},
    };
    uint8_t *bytes = pattern(12u << 20);
    for (uint32_t i = 0; i < NL_COUNT(failures); i++) {
        fixture *f = start();
        nl_output *output = NULL;
        f->s3.failures[0] = failures[i];
        assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/big"), &output));
        nl_status status = nl_output_write(output, bytes, 12u << 20);
        if (status) {
            nl_error_free(status);
            nl_output_abort(output);
        } else {
            assert_fails(nl_output_close(output), NILAS_IO_ERROR, NULL);
        }
        assert_null(find(&f->s3, "big"));
        assert_int_equal(f->s3.count, 0);
        stop(f);
    }
    fixture *f = start();
    nl_output *output = NULL;
    assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/big"), &output));
    assert_ok(nl_output_write(output, bytes, 12u << 20));
    nl_output_abort(output);
    assert_int_equal(f->s3.count, 0);
    stop(f);
    free(bytes);
}

static void test_lost_answers_of_uploads_are_found_out(void **state)
{
    (void)state;
    static const failure failures[] = {
        {.match = "partNumber=1", .count = 1, .is_carried_out = true, .then = TEST_CLOSE},
        {.match = "POST /b/big?uploadId", .count = 1, .is_carried_out = true, .then = TEST_CLOSE},
        {.match = "POST /b/big?uploadId", .count = 1, .status = 200, .body = "<Error><Code>InternalError</Code></Error>"},
        {.match = "POST /b/big?uploadId", .count = 1, .status = 503},
    };
    uint8_t *bytes = pattern(12u << 20);
    for (uint32_t i = 0; i < NL_COUNT(failures); i++) {
        fixture *f = start();
        nl_output *output = NULL;
        f->s3.failures[0] = failures[i];
        assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/big"), &output));
        assert_ok(nl_output_write(output, bytes, 12u << 20));
        assert_ok(nl_output_close(output));
        assert_int_equal(find(&f->s3, "big")->length, 12u << 20);
        stop(f);
    }
    free(bytes);
}

typedef struct names {
    char text[4096];
    uint32_t count;
} names;

static nl_status note(void *argument, const nl_file_info *info)
{
    names *self = argument;
    const size_t used = strlen(self->text);
    snprintf(self->text + used, sizeof(self->text) - used, "%.*s%s %llu,", (int)info->path.length, info->path.data, info->is_directory ? "/" : "", (unsigned long long)info->size_bytes);
    self->count++;
    return NULL;
}

static void test_folders_are_listed(void **state)
{
    (void)state;
    fixture *f = start();
    const char *keys[] = {"d/", "d/a b+\x01", "d/e/f", "d/e/g", "d/e/", "d/z", "dd", "d2/x"};
    for (uint32_t i = 0; i < NL_COUNT(keys); i++) store(&f->s3, keys[i], "xyz", nl_str_ends(nl_str_from(keys[i]), NL_STR("/")) ? 0 : 3, "");
    f->s3.list_page = 2;
    names flat = {0};
    assert_ok(nl_fs_list(f->fs, NL_STR("s3a://b/d"), false, note, &flat));
    assert_string_equal(flat.text, "s3a://b/d/a b+\x01 3,s3a://b/d/z 3,s3a://b/d/e/ 0,");
    names deep = {0};
    assert_ok(nl_fs_list(f->fs, NL_STR("s3a://b/d/"), true, note, &deep));
    assert_string_equal(deep.text, "s3a://b/d/a b+\x01 3,s3a://b/d/e/f 3,s3a://b/d/e/g 3,s3a://b/d/z 3,");
    names whole = {0};
    assert_ok(nl_fs_list(f->fs, NL_STR("s3://b"), false, note, &whole));
    assert_string_equal(whole.text, "s3://b/d/ 0,s3://b/d2/ 0,s3://b/dd 3,");
    assert_fails(nl_fs_list(f->fs, NL_STR("s3://b/none"), false, note, &whole), PATH_NOT_FOUND, "s3://b/none");
    assert_fails(nl_fs_list(f->fs, NL_STR("s3://nobucket/x"), false, note, &whole), PATH_NOT_FOUND, NULL);
    nl_file_info info;
    assert_ok(nl_fs_stat(f->fs, NL_STR("s3://b/d/e"), &info));
    assert_true(info.is_directory);
    assert_ok(nl_fs_stat(f->fs, NL_STR("s3://b/"), &info));
    assert_true(info.is_directory);
    assert_fails(nl_fs_stat(f->fs, NL_STR("s3://b/x"), &info), PATH_NOT_FOUND, NULL);
    assert_ok(nl_fs_make_directory(f->fs, NL_STR("s3://b/new/er")));
    assert_ok(nl_fs_stat(f->fs, NL_STR("s3://b/new"), &info));
    assert_true(info.is_directory);
    names empty = {0};
    assert_ok(nl_fs_list(f->fs, NL_STR("s3://b/new/er"), false, note, &empty));
    assert_int_equal(empty.count, 0);
    stop(f);
}

static void test_lists_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "", "no xml", "<Other/>", "<ListBucketResult><Contents><Key>d/x</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>d/x</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>else/x</Key><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>d/%zz</Key><Size>1</Size></Contents></ListBucketResult>",
    };
    for (uint32_t i = 0; i < NL_COUNT(answers); i++) {
        fixture *f = start();
        names found = {0};
        f->s3.failures[0] = (failure){.match = "list-type", .count = 1, .status = 200, .body = answers[i]};
        nl_status status = nl_fs_list(f->fs, NL_STR("s3://b/d"), true, note, &found);
        assert_non_null(status);
        nl_error_free(status);
        assert_int_equal(found.count, 0);
        stop(f);
    }
}

static void test_many_objects_and_trees_are_removed(void **state)
{
    (void)state;
    const nl_property batches = {NL_STR_INIT("s3.delete.batch-size"), NL_STR_INIT("3")};
    fixture *f = start_with(&batches, 1, 64u << 20);
    nl_str paths[11];
    char text[11][32];
    for (uint32_t i = 0; i < 11; i++) {
        snprintf(text[i], sizeof(text[i]), "s3://b/t/%s%u&", i == 5 ? "locked" : "k", i);
        paths[i] = nl_str_from(text[i]);
        store(&f->s3, text[i] + 7, "x", 1, "");
    }
    uint64_t removed = 0;
    nl_status status = nl_fs_remove_many(f->fs, paths, 11, &removed);
    assert_non_null(status);
    assert_non_null(strstr(nl_error_message(status), "s3://b/t/locked5&: AccessDenied"));
    assert_non_null(strstr(nl_error_message(status), "AccessDenied: no (1 of 3"));
    nl_error_free(status);
    assert_int_equal(removed, 10);
    assert_int_equal(f->s3.count, 1);
    assert_int_equal(atomic_load(&f->server.request_count), 4);
    f->s3.failures[0] = (failure){.match = "POST /b/?delete", .count = 1, .status = 501};
    assert_ok(nl_fs_remove_many(f->fs, paths + 4, 2, &removed)); /* servers without bulk deletes: one by one */
    assert_int_equal(removed, 2);
    assert_int_equal(f->s3.count, 0);
    for (uint32_t i = 0; i < 5; i++) store(&f->s3, text[i] + 7, "x", 1, "");
    store(&f->s3, "t/", "", 0, "");
    store(&f->s3, "tt", "", 0, "");
    assert_ok(nl_fs_remove_tree(f->fs, NL_STR("s3://b/t")));
    assert_int_equal(f->s3.count, 1);
    assert_ok(nl_fs_remove_tree(f->fs, NL_STR("s3://b/t")));
    assert_fails(nl_fs_remove_tree(f->fs, NL_STR("s3://b/")), NILAS_IO_ERROR, "whole bucket");
    assert_fails(nl_fs_remove(f->fs, NL_STR("s3://b/")), NILAS_IO_ERROR, "bucket");
    stop(f);
}

static void test_renames_copy_and_remove(void **state)
{
    (void)state;
    fixture *f = start();
    store(&f->s3, "a", "A", 1, "");
    store(&f->s3, "b", "B", 1, "");
    assert_fails(nl_fs_rename(f->fs, NL_STR("s3://b/a"), NL_STR("s3://b/b"), false), NILAS_ALREADY_EXISTS, NULL);
    f->s3.failures[0] = (failure){.match = "PUT /b/b", .count = 1, .status = 200, .body = "<Error><Code>InternalError</Code></Error>"};
    assert_ok(nl_fs_rename(f->fs, NL_STR("s3://b/a"), NL_STR("s3://b/b"), true));
    assert_null(find(&f->s3, "a"));
    assert_memory_equal(find(&f->s3, "b")->bytes, "A", 1);
    assert_ok(nl_fs_rename(f->fs, NL_STR("s3://b/b"), NL_STR("s3://b/c"), false));
    assert_fails(nl_fs_rename(f->fs, NL_STR("s3://b/none"), NL_STR("s3://b/c"), true), PATH_NOT_FOUND, "s3://b/none");
    f->s3.failures[0] = (failure){.match = "PUT /b/d", .count = 1, .status = 200, .body = "<Error><Code>AccessDenied</Code></Error>"};
    assert_fails(nl_fs_rename(f->fs, NL_STR("s3://b/c"), NL_STR("s3://b/d"), true), NILAS_IO_ERROR, "AccessDenied");
    assert_non_null(find(&f->s3, "c")); /* not removed when the copy failed */
    stop(f);
}

static void test_properties_shape_requests(void **state)
{
    (void)state;
    const nl_property more[] = {
        {NL_STR_INIT("s3.write.tags.team"), NL_STR_INIT("a&b")},      {NL_STR_INIT("s3.write.storage-class"), NL_STR_INIT("INTELLIGENT_TIERING")},
        {NL_STR_INIT("s3.acl"), NL_STR_INIT("bucket-owner-full-control")}, {NL_STR_INIT("s3.sse.type"), NL_STR_INIT("kms")},
        {NL_STR_INIT("s3.sse.key"), NL_STR_INIT("key-1")},            {NL_STR_INIT("s3.session-token"), NL_STR_INIT("tok")},
        {NL_STR_INIT("s3.checksum-enabled"), NL_STR_INIT("true")},
    };
    fixture *f = start_with(more, NL_COUNT(more), 64u << 20);
    assert_ok(nl_fs_write_all(f->fs, NL_STR("s3n://b/k"), text_bytes("x")));
    const char *lines[] = {"x-amz-tagging: team=a%26b\r\n", "x-amz-storage-class: INTELLIGENT_TIERING\r\n", "x-amz-acl: bucket-owner-full-control\r\n",
                           "x-amz-server-side-encryption: aws:kms\r\n", "x-amz-server-side-encryption-aws-kms-key-id: key-1\r\n", "x-amz-security-token: tok\r\n",
                           "content-md5: nd1MRFm7mbGZLZ2qVzH8Wg==\r\n"};
    for (uint32_t i = 0; i < NL_COUNT(lines); i++) {
        if (i < 6 && !strstr(f->s3.last_head, lines[i])) fprintf(stderr, "%s not in %s", lines[i], f->s3.last_head);
        if (i < 6) assert_non_null(strstr(f->s3.last_head, lines[i]));
    }
    assert_non_null(strstr(f->s3.last_head, "content-md5: "));
    stop(f);
}

static void test_properties_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *text;
    } cases[] = {
        {"s3.endpoint", "ftp://h", "http or https"},
        {"s3.endpoint", "localhost", "scheme is missing"},
        {"s3.multipart.size", "5", "s3.multipart.size must be a number from 5242880"},
        {"s3.multipart.threshold", "0.5", "factor from 1"},
        {"s3.delete.batch-size", "1001", "to 1000"},
        {"s3.sse.type", "rot13", "s3.sse.type must be"},
        {"s3.sse.type", "custom", "256-bit key"},
        {"client.region", "evil.com/", "Not a region"},
        {"s3.access-grants.enabled", "true", "not supported"},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        const nl_property property = {nl_str_from(cases[i].key), nl_str_from(cases[i].value)};
        nl_fs *fs = NULL;
        nl_status status = nl_fs_s3_new(&property, 1, NULL, &fs);
        if (!status || !strstr(nl_error_message(status), cases[i].text)) fprintf(stderr, "%s: %s\n", cases[i].key, status ? nl_error_message(status) : "no error");
        assert_non_null(status);
        assert_non_null(strstr(nl_error_message(status), cases[i].text));
        nl_error_free(status);
    }
}

static void test_hadoop_properties_do_as_well(void **state)
{
    (void)state;
    mini_s3 *s3 = calloc(1, sizeof(*s3));
    test_server server;
    test_server_start(&server, serve, s3);
    const nl_property properties[] = {
        {NL_STR_INIT("hadoop.fs.s3a.endpoint"), nl_str_from(server.url + sizeof("http://") - 1)}, {NL_STR_INIT("fs.s3a.connection.ssl.enabled"), NL_STR_INIT("false")},
        {NL_STR_INIT("fs.s3a.access.key"), NL_STR_INIT("hadoop-me")},                          {NL_STR_INIT("fs.s3a.secret.key"), NL_STR_INIT("s")},
        {NL_STR_INIT("fs.s3a.endpoint.region"), NL_STR_INIT("ap-south-1")},                     {NL_STR_INIT("fs.s3a.path.style.access"), NL_STR_INIT("true")},
    };
    nl_fs *fs = NULL;
    assert_ok(nl_fs_from_properties(properties, NL_COUNT(properties), NULL, &fs));
    assert_ok(nl_fs_write_all(fs, NL_STR("s3a://b/k"), text_bytes("x")));
    assert_non_null(strstr(s3->last_head, "Credential=hadoop-me/"));
    assert_non_null(strstr(s3->last_head, "/ap-south-1/s3/"));
    const nl_property vended[] = {{NL_STR_INIT("s3.access-key-id"), NL_STR_INIT("vended")}, {NL_STR_INIT("s3.secret-access-key"), NL_STR_INIT("v")}};
    nl_fs *with = NULL;
    assert_ok(nl_fs_with_properties(fs, vended, 2, NULL, &with));
    assert_true(with != fs);
    assert_ok(nl_fs_write_all(with, NL_STR("s3a://b/k"), text_bytes("y")));
    assert_non_null(strstr(s3->last_head, "Credential=vended/"));
    nl_fs_release(with);
    const nl_property other = {NL_STR_INIT("owner"), NL_STR_INIT("me")};
    assert_ok(nl_fs_with_properties(fs, &other, 1, NULL, &with));
    assert_ptr_equal(with, fs);
    nl_fs_release(with);
    nl_file *file = NULL;
    assert_fails(nl_fs_open(fs, NL_STR("gs://b/k"), &file), NILAS_UNSUPPORTED, "gs");
    assert_fails(nl_fs_rename(fs, NL_STR("s3a://b/k"), NL_STR("/tmp/k"), true), NILAS_UNSUPPORTED, "from one file system to another");
    assert_fails(nl_fs_open(fs, NL_STR("/no/such/file"), &file), PATH_NOT_FOUND, NULL);
    nl_fs_release(fs);
    const nl_property io = {NL_STR_INIT("io-impl"), NL_STR_INIT("org.apache.iceberg.gcp.gcs.GCSFileIO")};
    assert_fails(nl_fs_from_properties(&io, 1, NULL, &fs), NILAS_ILLEGAL_ARGUMENT, "S3FileIO");
    test_server_stop(&server);
    for (uint32_t i = 0; i < s3->count; i++) free(s3->objects[i].bytes);
    free(s3);
}

static void test_tags_go_before_removal(void **state)
{
    (void)state;
    const nl_property more[] = {{NL_STR_INIT("s3.delete.tags.gone"), NL_STR_INIT("yes")}, {NL_STR_INIT("s3.delete-enabled"), NL_STR_INIT("false")}};
    fixture *f = start_with(more, 2, 64u << 20);
    store(&f->s3, "k", "x", 1, "");
    f->s3.failures[0] = (failure){.match = "GET /b/k?tagging=", .count = 1, .status = 200, .body = "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>"};
    f->s3.failures[1] = (failure){.match = "PUT /b/k?tagging=", .count = 1, .status = 200};
    assert_ok(nl_fs_remove(f->fs, NL_STR("s3://b/k")));
    assert_string_equal(f->s3.seen, "GET /b/k?tagging=\nPUT /b/k?tagging=\n");
    assert_non_null(find(&f->s3, "k"));
    stop(f);
}

/* Writes in parts, commits, lists, renames, reads and removes; every step of it may fail. */
static void run_all(fixture *f, const uint8_t *bytes)
{
    nl_output *output = NULL;
    nl_file *file = NULL;
    uint8_t into[100];
    names found = {0};
    uint64_t removed = 0;
    const nl_str gone[] = {NL_STR("s3://b/w/moved"), NL_STR("s3://b/w/v1")};
    assert_ok(nl_fs_create(f->fs, NL_STR("s3://b/w/big"), &output));
    assert_ok(nl_output_write(output, bytes, 8u << 20));
    assert_ok(nl_output_close(output));
    assert_ok(nl_fs_create_if_absent(f->fs, gone[1], text_bytes("mine")));
    assert_ok(nl_fs_rename(f->fs, NL_STR("s3://b/w/big"), gone[0], true));
    assert_ok(nl_fs_list(f->fs, NL_STR("s3://b/w"), true, note, &found));
    assert_int_equal(found.count, 2);
    assert_ok(nl_fs_open(f->fs, gone[0], &file));
    const nl_range range = {5u << 20, 100};
    nl_file_prefetch(file, &range, 1);
    assert_ok(nl_file_read(file, range.offset, 100, into));
    assert_memory_equal(into, bytes + range.offset, 100);
    nl_file_close(file);
    assert_ok(nl_fs_remove_many(f->fs, gone, 2, &removed));
    assert_int_equal(removed, 2);
    assert_int_equal(f->s3.count, 0);
}

static void test_each_request_may_fail_once(void **state)
{
    (void)state;
    nl_fault_plan *plan = nl_fault_process_plan();
    uint8_t *bytes = pattern(8u << 20);
    if (!plan) skip(); /* faults are not compiled in */
    uint64_t failing = 0;
    uint64_t steps = 0;
    do {
        fixture *f = start();
        const uint64_t before = nl_fault_plan_steps(plan);
        nl_fault_plan_fail_step(plan, ++failing);
        run_all(f, bytes);
        steps = nl_fault_plan_steps(plan) - before;
        nl_fault_plan_fail_step(plan, 0);
        /* When the answer to CreateMultipartUpload is lost nobody knows that upload's id: a bucket's lifecycle ends it. */
        assert_true(f->s3.open_uploads <= 1 && f->s3.open_uploads + 1 == f->s3.upload_count);
        f->s3.open_uploads = 0;
        stop(f);
    } while (steps >= failing);
    assert_true(failing > 20);
    free(bytes);
}

static void test_paths_that_are_none(void **state)
{
    (void)state;
    fixture *f = start();
    nl_file *file = NULL;
    nl_output *output = NULL;
    const char *bad[] = {"/x", "s3:/b/k", "s3://", "s3:///k", "s3://b@h/k", "s3://b:80/k", "http://b/k"};
    for (uint32_t i = 0; i < NL_COUNT(bad); i++) assert_fails(nl_fs_open(f->fs, nl_str_from(bad[i]), &file), NILAS_ILLEGAL_ARGUMENT, "Not a path in S3");
    assert_fails(nl_fs_create(f->fs, NL_STR("s3://b"), &output), NILAS_IO_ERROR, "names a bucket");
    assert_fails(nl_fs_write_all(f->fs, NL_STR("s3://nobucket/k"), text_bytes("x")), NILAS_IO_ERROR, "NoSuchBucket: Said so & meant it. (HTTP 404, bucket nobucket, key k, request id R-17)");
    stop(f);
}

int main(void)
{
    nl_log_set_level(NL_LOG_ERROR);
    setenv("NILAS_FAULT", "none.of_these:1=EIO", 1); /* a plan whose steps a test can let fail */
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_is_written_read_described_and_removed),
        cmocka_unit_test(test_a_known_size_spares_the_first_question),
        cmocka_unit_test(test_a_file_opens_with_the_request_that_reads_its_start),
        cmocka_unit_test(test_a_stream_comes_in_large_pieces),
        cmocka_unit_test(test_large_reads_go_in_pieces),
        cmocka_unit_test(test_ranges_share_requests_and_what_was_fetched_ahead),
        cmocka_unit_test(test_a_failed_prefetch_is_only_a_slow_read),
        cmocka_unit_test(test_reads_survive_what_passes_and_name_what_does_not),
        cmocka_unit_test(test_a_wrong_checksum_is_never_a_result),
        cmocka_unit_test(test_what_is_large_goes_up_in_parts),
        cmocka_unit_test(test_a_small_budget_costs_parts_not_the_upload),
        cmocka_unit_test(test_uploads_leave_nothing_behind_when_they_fail),
        cmocka_unit_test(test_lost_answers_of_uploads_are_found_out),
        cmocka_unit_test(test_folders_are_listed),
        cmocka_unit_test(test_lists_that_cannot_be_are_refused),
        cmocka_unit_test(test_many_objects_and_trees_are_removed),
        cmocka_unit_test(test_renames_copy_and_remove),
        cmocka_unit_test(test_properties_shape_requests),
        cmocka_unit_test(test_properties_that_cannot_be_are_refused),
        cmocka_unit_test(test_hadoop_properties_do_as_well),
        cmocka_unit_test(test_tags_go_before_removal),
        cmocka_unit_test(test_each_request_may_fail_once),
        cmocka_unit_test(test_paths_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
