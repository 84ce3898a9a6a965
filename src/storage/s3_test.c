/* The S3 file system against a small S3 of this file: real sockets, objects in memory, and failures where a test wants
 * them. What the real service does was read in its API reference; quality §3 lists what must come of each failure.
 */
#include "base/log.h"
#include "base/number.h"
#include "storage/digest.h"
#include "storage/fault.h"
#include "storage/s3.h"
#include "storage/test_server.h"
#include "storage/xml.h"

typedef struct object {
    char key[1100];
    uint8_t *bytes;
    size_t length;
    char etag[48];
    bool is_part; /* key "upload-id/number" */
} object;

typedef struct failure { /* a request whose line holds `match` is answered so, `count` times */
    const char *match;
    uint32_t count;
    int status;
    const char *headers, *body, *raw;
    int then;
    bool is_carried_out; /* and then the answer is lost */
} failure;

typedef struct mini_s3 {
    object objects[64];
    uint32_t count;
    uint32_t upload_count, open_uploads;
    char aborted[64]; /* the last upload that was: parts that come late are refused */
    failure failures[4];
    char seen[32768]; /* "GET /b/k?x\n" … */
    char last_head[4096];
    bool spoils_checksum; /* wrong x-amz-checksum-crc32 the next time */
    uint32_t list_page;
} mini_s3;

static object *find(mini_s3 *self, const char *key)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (strcmp(self->objects[i].key, key) == 0) return &self->objects[i];
    return NULL;
}

static void store(mini_s3 *self, const char *key, const void *bytes, size_t length, const char *etag_suffix)
{
    object *one = find(self, key);
    if (!one) {
        if (self->count == NL_COUNT(self->objects)) abort();
        one = &self->objects[self->count++];
        snprintf(one->key, sizeof(one->key), "%s", key);
    } else {
        free(one->bytes);
    }
    uint8_t digest[16];
    nl_md5((nl_bytes){bytes, length}, digest);
    char hex[33];
    for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    snprintf(one->etag, sizeof(one->etag), "\"%s%s\"", hex, etag_suffix);
    one->bytes = malloc(length + 1);
    memcpy(one->bytes, bytes, length);
    one->length = length;
}

static void drop(mini_s3 *self, const char *key)
{
    object *one = find(self, key);
    if (!one) return;
    free(one->bytes);
    *one = self->objects[--self->count];
}

static void refuse(test_answer *answer, int status, const char *code)
{
    char body[512];
    snprintf(body, sizeof(body), "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>Said so &amp; meant it.</Message><RequestId>R-17</RequestId></Error>", code);
    test_answer_text(answer, status, "x-amz-request-id: R-17\r\n", body);
}

static int compare_objects(const void *a, const void *b)
{
    return strcmp(((const object *)a)->key, ((const object *)b)->key);
}

static bool query_value(const char *query, const char *name, char *value, size_t size)
{
    nl_str rest = nl_str_from(query);
    nl_str pair;
    while (nl_str_next_part(&rest, '&', &pair)) {
        const size_t equals = nl_str_find_char(pair, '=', 0);
        if (!nl_str_is(nl_str_slice(pair, 0, equals), name)) continue;
        nl_arena *arena = nl_arena_new(NULL);
        nl_str decoded = {0};
        assert_ok(nl_url_decode(arena, nl_str_slice(pair, equals + 1, pair.length), false, &decoded));
        snprintf(value, size, "%.*s", (int)decoded.length, decoded.data);
        nl_arena_free(arena);
        return true;
    }
    return false;
}

static void list(mini_s3 *self, const char *query, test_answer *answer)
{
    char prefix[1100] = "", delimiter[8] = "", token[1100] = "", text[16] = "1000";
    int64_t max = 1000;
    nl_builder body;
    nl_builder_init(&body, 1 << 20);
    nl_arena *arena = nl_arena_new(NULL);
    query_value(query, "prefix", prefix, sizeof(prefix));
    query_value(query, "delimiter", delimiter, sizeof(delimiter));
    query_value(query, "continuation-token", token, sizeof(token));
    query_value(query, "max-keys", text, sizeof(text));
    (void)nl_parse_int64(nl_str_from(text), &max);
    if (self->list_page) max = NL_MIN(max, (int64_t)self->list_page);
    qsort(self->objects, self->count, sizeof(object), compare_objects);
    nl_append_c(&body, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>");
    char last_group[1100] = "";
    char last[1100] = "";
    bool is_truncated = false;
    for (uint32_t i = 0; i < self->count; i++) {
        const char *key = self->objects[i].key;
        if (strncmp(key, prefix, strlen(prefix)) != 0 || strchr(key, '|') || strcmp(key, token) <= 0) continue;
        const char *slash = delimiter[0] ? strchr(key + strlen(prefix), '/') : NULL;
        if (slash && strncmp(last_group, key, (size_t)(slash - key) + 1) == 0) continue;
        if (max == 0) {
            is_truncated = true;
            break;
        }
        max--;
        if (slash) {
            snprintf(last_group, sizeof(last_group), "%.*s", (int)(slash - key) + 1, key);
            nl_append_f(&body, "<CommonPrefixes><Prefix>" NL_STR_FMT "</Prefix></CommonPrefixes>", NL_STR_ARG(nl_url_encode(arena, nl_str_from(last_group), true)));
            snprintf(last, sizeof(last), "%.1000s\x7f", last_group);
            continue;
        }
        snprintf(last, sizeof(last), "%s", key);
        nl_append_f(&body, "<Contents><Key>" NL_STR_FMT "</Key><LastModified>2026-10-01T12:00:00.000Z</LastModified><Size>%zu</Size></Contents>",
                    NL_STR_ARG(nl_url_encode(arena, nl_str_from(key), true)), self->objects[i].length);
    }
    nl_append_f(&body, "<IsTruncated>%s</IsTruncated>", is_truncated ? "true" : "false");
    if (is_truncated) nl_xml_append_element(&body, "NextContinuationToken", nl_str_from(last));
    nl_append_c(&body, "</ListBucketResult>");
    test_answer_f(answer, 200, "", body.data, body.length);
    nl_builder_fini(&body);
    nl_arena_free(arena);
}

static void get(mini_s3 *self, const test_request *request, const char *key, test_answer *answer)
{
    object *one = find(self, key);
    char value[256];
    char headers[512];
    if (!one) {
        refuse(answer, 404, "NoSuchKey");
        return;
    }
    if (test_header(request, "If-Match", value, sizeof(value)) && strcmp(value, one->etag) != 0) {
        refuse(answer, 412, "PreconditionFailed");
        return;
    }
    unsigned long long from = 0, to = one->length;
    const bool has_range = test_header(request, "Range", value, sizeof(value)) && sscanf(value, "bytes=%llu-%llu", &from, &to) == 2;
    if (has_range && to >= one->length) {
        refuse(answer, 416, "InvalidRange");
        return;
    }
    int used = snprintf(headers, sizeof(headers), "ETag: %s\r\nLast-Modified: Thu, 01 Oct 2026 12:00:00 GMT\r\n", one->etag);
    if (has_range) used += snprintf(headers + used, sizeof(headers) - (size_t)used, "Content-Range: bytes %llu-%llu/%zu\r\n", from, to, one->length);
    if (!has_range && test_header(request, "x-amz-checksum-mode", value, sizeof(value))) {
        nl_arena *arena = nl_arena_new(NULL);
        uint32_t crc = __builtin_bswap32(nl_crc32c((nl_bytes){one->bytes, one->length}, 0)) + self->spoils_checksum;
        self->spoils_checksum = false;
        snprintf(headers + used, sizeof(headers) - (size_t)used, "x-amz-checksum-crc32c: " NL_STR_FMT "\r\n", NL_STR_ARG(nl_base64_encode(arena, (nl_bytes){(uint8_t *)&crc, 4})));
        nl_arena_free(arena);
    }
    if (strcmp(request->method, "HEAD") == 0) {
        test_answer_f(answer, 200, headers, NULL, 0);
        free(answer->bytes);
        char head[1024];
        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n", one->length, headers);
        answer->bytes = strdup(head);
        answer->length = strlen(head);
        return;
    }
    if (has_range)
        test_answer_f(answer, 206, headers, one->bytes + from, (size_t)(to - from + 1));
    else
        test_answer_f(answer, 200, headers, one->bytes, one->length);
}

static void put(mini_s3 *self, const test_request *request, const char *key, test_answer *answer)
{
    char value[1100];
    char headers[256];
    if (test_header(request, "If-None-Match", value, sizeof(value)) && find(self, key)) {
        refuse(answer, 412, "PreconditionFailed");
        return;
    }
    if (test_header(request, "x-amz-copy-source", value, sizeof(value))) {
        object *from = find(self, value + sizeof("/b/") - 1);
        if (!from) {
            refuse(answer, 404, "NoSuchKey");
            return;
        }
        store(self, key, from->bytes, from->length, "");
        test_answer_text(answer, 200, "", "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>");
        return;
    }
    store(self, key, request->body, request->body_length, "");
    snprintf(headers, sizeof(headers), "ETag: %s\r\n", find(self, key)->etag);
    test_answer_text(answer, 200, headers, "");
}

static void complete(mini_s3 *self, const test_request *request, const char *key, const char *id, test_answer *answer)
{
    uint8_t *whole = malloc(256u << 20);
    size_t length = 0;
    char name[1100];
    uint32_t number = 1;
    for (;; number++) {
        snprintf(name, sizeof(name), "%s|%u", id, number);
        object *one = find(self, name);
        if (!one) break;
        assert_non_null(strstr(request->body, "<ChecksumCRC32>"));
        memcpy(whole + length, one->bytes, one->length);
        length += one->length;
        drop(self, name);
    }
    if (number == 1) {
        refuse(answer, 404, "NoSuchUpload");
    } else {
        char suffix[16];
        snprintf(suffix, sizeof(suffix), "-%u", number - 1);
        store(self, key, whole, length, suffix);
        self->open_uploads--;
        test_answer_text(answer, 200, "", "   \n<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>");
    }
    free(whole);
}

static void remove_all(mini_s3 *self, const test_request *request, test_answer *answer)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_xml *root = NULL;
    nl_builder body;
    nl_builder_init(&body, 1 << 20);
    nl_append_c(&body, "<DeleteResult>");
    assert_ok(nl_xml_parse(arena, (nl_bytes){(const uint8_t *)request->body, request->body_length}, &root));
    for (const nl_xml *one = nl_xml_child(root, "Object"); one; one = nl_xml_next(one)) {
        const char *key = nl_str_c(arena, nl_xml_text(one, "Key"));
        if (!strstr(key, "locked")) {
            drop(self, key);
            continue;
        }
        nl_append_c(&body, "<Error>");
        nl_xml_append_element(&body, "Key", nl_str_from(key));
        nl_append_c(&body, "<Code>AccessDenied</Code><Message>no</Message></Error>");
    }
    nl_append_c(&body, "</DeleteResult>");
    test_answer_f(answer, 200, "", body.data, body.length);
    nl_builder_fini(&body);
    nl_arena_free(arena);
}

static void act(mini_s3 *self, const test_request *request, test_answer *answer)
{
    char path[4096];
    nl_arena *arena = nl_arena_new(NULL);
    char *question = strchr(request->target, '?');
    const char *query = question ? question + 1 : "";
    nl_str decoded = {0};
    assert_ok(nl_url_decode(arena, nl_str_slice(nl_str_from(request->target), 0, question ? (size_t)(question - request->target) : SIZE_MAX), false, &decoded));
    snprintf(path, sizeof(path), "%.*s", (int)decoded.length, decoded.data);
    nl_arena_free(arena);
    if (strncmp(path, "/b/", 3) != 0) {
        refuse(answer, 404, "NoSuchBucket");
        return;
    }
    const char *key = path + 3;
    char id[64], number[16], name[128];
    const bool has_id = query_value(query, "uploadId", id, sizeof(id));
    if (strcmp(request->method, "POST") == 0 && strncmp(query, "uploads", 7) == 0) {
        self->open_uploads++;
        snprintf(name, sizeof(name), "<InitiateMultipartUploadResult><UploadId>up+%u</UploadId></InitiateMultipartUploadResult>", ++self->upload_count);
        test_answer_text(answer, 200, "", name);
    } else if (has_id && strcmp(id, self->aborted) == 0) {
        refuse(answer, 404, "NoSuchUpload");
    } else if (has_id && strcmp(request->method, "PUT") == 0) {
        assert_true(query_value(query, "partNumber", number, sizeof(number)));
        snprintf(name, sizeof(name), "%s|%s", id, number);
        put(self, request, name, answer);
    } else if (has_id && strcmp(request->method, "POST") == 0) {
        complete(self, request, key, id, answer);
    } else if (has_id && strcmp(request->method, "DELETE") == 0) {
        for (int i = 1; i < 20; i++) {
            snprintf(name, sizeof(name), "%s|%d", id, i);
            drop(self, name);
        }
        self->open_uploads--;
        snprintf(self->aborted, sizeof(self->aborted), "%s", id);
        test_answer_text(answer, 204, "", "");
    } else if (strcmp(request->method, "POST") == 0) {
        remove_all(self, request, answer);
    } else if (strcmp(request->method, "PUT") == 0) {
        put(self, request, key, answer);
    } else if (strcmp(request->method, "DELETE") == 0) {
        drop(self, key);
        test_answer_text(answer, 204, "", "");
    } else if (strstr(query, "list-type=2")) {
        list(self, query, answer);
    } else {
        get(self, request, key, answer);
    }
}

static void serve(void *argument, const test_request *request, test_answer *answer)
{
    mini_s3 *self = argument;
    char line[4200];
    snprintf(line, sizeof(line), "%s %s\n", request->method, request->target);
    const size_t used = strlen(self->seen);
    snprintf(self->seen + used, sizeof(self->seen) - used, "%s", line);
    snprintf(self->last_head, sizeof(self->last_head), "%s", request->head);
    for (uint32_t i = 0; i < NL_COUNT(self->failures); i++) {
        failure *one = &self->failures[i];
        if (!one->match || one->count == 0 || !strstr(line, one->match)) continue;
        one->count--;
        if (one->is_carried_out) {
            act(self, request, answer);
            free(answer->bytes);
            *answer = (test_answer){0};
        } else if (one->raw) {
            answer->bytes = strdup(one->raw);
            answer->length = strlen(one->raw);
        } else if (one->status > 0) {
            test_answer_text(answer, one->status, one->headers ? one->headers : "", one->body ? one->body : "");
        }
        answer->then = one->then;
        return;
    }
    act(self, request, answer);
}

typedef struct fixture {
    mini_s3 s3;
    test_server server;
    nl_memory *memory;
    nl_fs *fs;
} fixture;

static fixture *start_with(const nl_property *more, uint32_t more_count, size_t memory_bytes)
{
    fixture *f = calloc(1, sizeof(*f));
    nl_property properties[16] = {
        {NL_STR("s3.access-key-id"), NL_STR("me")},
        {NL_STR("s3.secret-access-key"), NL_STR("hidden-secret")},
        {NL_STR("client.region"), NL_STR("eu-central-1")},
        {NL_STR("s3.retry.num-retries"), NL_STR("3")},
        {NL_STR("s3.retry.min-wait-ms"), NL_STR("10")},
        {NL_STR("s3.multipart.size"), NL_STR("5242880")},
        {NL_STR("http-client.apache.socket-timeout-ms"), NL_STR("4000")},
    };
    test_server_start(&f->server, serve, &f->s3);
    properties[7] = (nl_property){NL_STR("s3.endpoint"), nl_str_from(f->server.url)};
    for (uint32_t i = 0; i < more_count; i++) properties[8 + i] = more[i];
    f->memory = nl_memory_new(NULL, "test", memory_bytes);
    assert_ok(nl_fs_s3_new(properties, 8 + more_count, f->memory, &f->fs));
    return f;
}

static fixture *start(void)
{
    return start_with(NULL, 0, 512u << 20);
}

static void stop(fixture *f)
{
    nl_fs_release(f->fs);
    test_server_stop(&f->server);
    for (uint32_t i = 0; i < f->s3.count; i++) free(f->s3.objects[i].bytes);
    assert_int_equal(f->s3.open_uploads, 0);
    assert_int_equal(nl_memory_used(f->memory), 0);
    nl_memory_release(f->memory);
    free(f);
}

static uint8_t *pattern(size_t length)
{
    uint8_t *bytes = malloc(length + 1);
    uint32_t x = 12345;
    for (size_t i = 0; i < length; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return bytes;
}

static nl_bytes text_bytes(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

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
    assert_fails(nl_file_read(file, 9, 3, into), NILAS_IO_ERROR, "shorter than 12");
    nl_file_close(file);
    assert_ok(nl_fs_open_sized(f->fs, NL_STR("s3a://b/none"), 12, &file));
    assert_fails(nl_file_read(file, 9, 3, into), PATH_NOT_FOUND, NULL);
    nl_file_close(file);
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
    nl_file_prefetch(file, &blocks[1], 1); /* only 4000 to 7000 is asked for */
    assert_ok(nl_file_read(file, 0, 3000, into));
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

static void test_one_of_many_creates_an_object(void **state)
{
    (void)state;
    static const struct {
        failure failure;
        const char *before;
        nl_condition condition; /* 0: success */
        nl_error_kind kind;
    } cases[] = {
        {{0}, NULL, 0, 0},
        {{0}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0},
        {{0}, "mine", NL_COND_NILAS_ALREADY_EXISTS, 0}, /* equal bytes, but not ours: nothing was repeated */
        {{.match = "PUT", .count = 2, .status = 409, .body = "<Error><Code>ConditionalRequestConflict</Code></Error>"}, NULL, 0, 0},
        {{.match = "PUT", .count = 1, .is_carried_out = true, .then = TEST_CLOSE}, NULL, 0, 0},
        {{.match = "PUT", .count = 1, .then = TEST_CLOSE}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0},
        {{.match = "PUT", .count = 9, .then = TEST_CLOSE}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_UNKNOWN_STATE},
        {{.match = "PUT", .count = 9, .then = TEST_CLOSE}, "another", NL_COND_NILAS_ALREADY_EXISTS, 0},
        {{.match = "PUT", .count = 9, .is_carried_out = true, .then = TEST_CLOSE}, NULL, 0, 0},
        {{.match = "PUT", .count = 9, .status = 500}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_UNKNOWN_STATE},
        {{.match = "PUT", .count = 1, .status = 403}, NULL, NL_COND_NILAS_IO_ERROR, NL_KIND_USER},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        fixture *f = start();
        if (cases[i].before) store(&f->s3, "v1", cases[i].before, strlen(cases[i].before), "");
        f->s3.failures[0] = cases[i].failure;
        nl_status status = nl_fs_create_if_absent(f->fs, NL_STR("s3://b/v1"), text_bytes("mine"));
        const nl_condition condition = status ? nl_error_condition(status) : 0;
        if (!!status != !!cases[i].condition || condition != cases[i].condition) fprintf(stderr, "case %u: %s\n", i, status ? nl_error_message(status) : "no error");
        assert_int_equal(!!status, !!cases[i].condition);
        assert_int_equal(condition, cases[i].condition);
        if (cases[i].kind) assert_int_equal(nl_error_kind_of(status), cases[i].kind);
        nl_error_free(status);
        stop(f);
    }
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
        cmocka_unit_test(test_large_reads_go_in_pieces),
        cmocka_unit_test(test_ranges_share_requests_and_what_was_fetched_ahead),
        cmocka_unit_test(test_a_failed_prefetch_is_only_a_slow_read),
        cmocka_unit_test(test_reads_survive_what_passes_and_name_what_does_not),
        cmocka_unit_test(test_a_wrong_checksum_is_never_a_result),
        cmocka_unit_test(test_what_is_large_goes_up_in_parts),
        cmocka_unit_test(test_a_small_budget_costs_parts_not_the_upload),
        cmocka_unit_test(test_uploads_leave_nothing_behind_when_they_fail),
        cmocka_unit_test(test_lost_answers_of_uploads_are_found_out),
        cmocka_unit_test(test_one_of_many_creates_an_object),
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
