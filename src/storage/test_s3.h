/* storage/test_s3.h - a small S3 for tests: one bucket "b", objects in memory, real sockets, and failures where a test wants
 * them. What the real service does was read in its API reference. Only *_test.c files include it.
 */
#pragma once

#include "base/number.h"
#include "storage/digest.h"
#include "storage/s3.h"
#include "storage/test_server.h"
#include "storage/xml.h"

typedef struct object {
    char key[1100];
    uint8_t *bytes;
    size_t length;
    char etag[64];
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
    object objects[256];
    uint32_t count;
    uint32_t upload_count, open_uploads;
    char aborted[64]; /* the last upload that was: parts that come late are refused */
    failure failures[4];
    char seen[32768]; /* "GET /b/k?x\n" … */
    char last_head[4096];
    bool spoils_checksum; /* wrong x-amz-checksum-crc32 the next time */
    uint32_t list_page;
    bool ignores_conditions; /* of PUT: as servers of old */
    void (*before)(struct mini_s3 *self, const char *line); /* what others do just before a request is carried out; or NULL */
    void (*after)(struct mini_s3 *self, const char *line, test_answer *answer); /* its delay is not under the lock of the server */
} mini_s3;

static inline object *find(mini_s3 *self, const char *key)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (strcmp(self->objects[i].key, key) == 0) return &self->objects[i];
    return NULL;
}

static inline void store(mini_s3 *self, const char *key, const void *bytes, size_t length, const char *etag_suffix)
{
    object *one = find(self, key);
    if (!one) {
        if (self->count == NL_COUNT(self->objects)) abort();
        one = &self->objects[self->count++];
        snprintf(one->key, sizeof(one->key), "%.1099s", key);
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

static inline void drop(mini_s3 *self, const char *key)
{
    object *one = find(self, key);
    if (!one) return;
    free(one->bytes);
    *one = self->objects[--self->count];
}

static inline void refuse(test_answer *answer, int status, const char *code)
{
    char body[512];
    snprintf(body, sizeof(body), "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>Said so &amp; meant it.</Message><RequestId>R-17</RequestId></Error>", code);
    test_answer_text(answer, status, "x-amz-request-id: R-17\r\n", body);
}

static inline int compare_objects(const void *a, const void *b)
{
    return strcmp(((const object *)a)->key, ((const object *)b)->key);
}

static inline bool query_value(const char *query, const char *name, char *value, size_t size)
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

static inline void list(mini_s3 *self, const char *query, test_answer *answer)
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

static inline void get(mini_s3 *self, const test_request *request, const char *key, test_answer *answer)
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
    if (has_range && from < one->length) to = NL_MIN(to, (unsigned long long)one->length - 1);
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

static inline void put(mini_s3 *self, const test_request *request, const char *key, test_answer *answer)
{
    char value[1100];
    char headers[256];
    if (!self->ignores_conditions && test_header(request, "If-None-Match", value, sizeof(value)) && find(self, key)) {
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

static inline void complete(mini_s3 *self, const test_request *request, const char *key, const char *id, test_answer *answer)
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

static inline void remove_all(mini_s3 *self, const test_request *request, test_answer *answer)
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

static inline void act(mini_s3 *self, const test_request *request, test_answer *answer)
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

static inline void serve(void *argument, const test_request *request, test_answer *answer)
{
    mini_s3 *self = argument;
    char line[4200];
    snprintf(line, sizeof(line), "%s %s\n", request->method, request->target);
    const size_t used = strlen(self->seen);
    snprintf(self->seen + used, sizeof(self->seen) - used, "%s", line);
    snprintf(self->last_head, sizeof(self->last_head), "%s", request->head);
    if (self->before) self->before(self, line);
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
    if (self->after) self->after(self, line, answer);
}

typedef struct fixture {
    mini_s3 s3;
    test_server server;
    nl_memory *memory;
    nl_fs *fs;
} fixture;

static inline fixture *start_with(const nl_property *more, uint32_t more_count, size_t memory_bytes)
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

static inline fixture *start(void)
{
    return start_with(NULL, 0, 512u << 20);
}

static inline void stop(fixture *f)
{
    nl_fs_release(f->fs);
    test_server_stop(&f->server);
    for (uint32_t i = 0; i < f->s3.count; i++) free(f->s3.objects[i].bytes);
    assert_int_equal(f->s3.open_uploads, 0);
    assert_int_equal(nl_memory_used(f->memory), 0);
    nl_memory_release(f->memory);
    free(f);
}

static inline uint8_t *pattern(size_t length)
{
    uint8_t *bytes = malloc(length + 1);
    uint32_t x = 12345;
    for (size_t i = 0; i < length; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    return bytes;
}

static inline nl_bytes text_bytes(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}
