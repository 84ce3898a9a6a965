/* lakehouse/server_head_test.c - heads as libmicrohttpd 0.9.75 leaves them in its buffer: every separator a NUL. */
#include "base/test_support.h"
#include "lakehouse/server_private.h"

#define HEADERS_MAX 8u

/* What the library makes of a head: cuts at the first NUL of each piece, as it does. '|' stands for a NUL that the client sent. */
typedef struct parsed {
    char raw[512];
    nl_property headers[HEADERS_MAX];
    nl_head head;
    nl_request request;
} parsed;

static nl_str cut(const char *from)
{
    return nl_str_from(from); /* up to the first NUL */
}

/* One line at `at`; *next: behind it. Its end becomes NULs. */
static char *end_line(char *at, char **next)
{
    char *end = at + strcspn(at, "\r\n");
    char *behind = *end == '\r' && end[1] == '\n' ? end + 2 : *end ? end + 1 : end;
    memset(end, 0, (size_t)(behind - end));
    *next = behind;
    return at;
}

static void parse(parsed *made, const char *text)
{
    char *at, *next = made->raw;
    memset(made, 0, sizeof(*made));
    next = made->raw;
    const size_t length = strlen(text);
    assert_true(length < sizeof(made->raw));
    memcpy(made->raw, text, length);
    char *line = end_line(next, &next);
    char *target = strchr(line, ' ');
    *target++ = '\0';
    char *version = strrchr(target, ' ');
    *version++ = '\0';
    for (uint32_t count = 0; *(at = next) && *at != '\r' && *at != '\n'; made->request.header_count = ++count) {
        line = end_line(at, &next);
        char *colon = strchr(line, ':');
        *colon = '\0';
        made->headers[count].key = cut(line);
        char *value = colon + 1 + strspn(colon + 1, " \t");
        for (size_t i = 0; value[i]; i++)
            if (value[i] == '|') value[i] = '\0';
        made->headers[count].value = cut(value);
    }
    end_line(at, &next);
    for (size_t i = 0; target[i]; i++)
        if (target[i] == '|') target[i] = '\0';
    made->head = (nl_head){.method = made->raw, .version = cut(version), .raw_bytes = (size_t)(next - made->raw)};
    made->request.method = cut(made->raw);
    made->request.headers = made->headers;
    nl_head_split(&made->head, &made->request, cut(target));
}

static int32_t check(const char *text, bool knows_raw)
{
    static parsed made;
    const char *said = NULL;
    parse(&made, text);
    if (!knows_raw) made.head.raw_bytes = 0;
    return nl_head_check(&made.head, &made.request, &said);
}

static void what_is_hidden_from_the_headers_is_found(void **state)
{
    (void)state;
    static const char *const good[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\nB:\n\n",
        "GET / HTTP/1.1\r\nHost:x\r\nA:  b  \r\nC:\r\n\r\n",
        "POST http://x/y HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    };
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        assert_int_equal(check(good[i], true), 0);
        assert_int_equal(check(good[i], false), 0);
    }
    static const char *const hiding[] = {
        "GET / HTTP/1.1\r\nHost: x\r\nA: b|c\r\n\r\n",         "GET / HTTP/1.1\r\nHost: x\r\nA: b|\r\nC: d\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1|2\r\n\r\n",
        "GET /a|b HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nA: b|||c\r\nD: e\r\n\r\n",
    };
    for (size_t i = 0; i < NL_COUNT(hiding); i++) {
        assert_int_equal(check(hiding[i], true), 400);
        assert_int_equal(check(hiding[i], false), 0); /* a library that checks by itself would not have let it come so far */
    }
}

static void a_header_that_was_dropped_or_moved_is_found(void **state)
{
    (void)state;
    static parsed made;
    const char *said = NULL;
    parse(&made, "GET / HTTP/1.1\r\nHost: b\r\nC: d\r\nE: f\r\n\r\n");
    assert_int_equal(nl_head_check(&made.head, &made.request, &said), 0);
    made.request.header_count = 2;
    assert_int_equal(nl_head_check(&made.head, &made.request, &said), 400);
    made.request.header_count = 3;
    made.headers[1].value = NL_STR("dd");
    assert_int_equal(nl_head_check(&made.head, &made.request, &said), 400);
    made.headers[1].value = NL_STR("d");
    made.head.raw_bytes = 3;
    assert_int_equal(nl_head_check(&made.head, &made.request, &said), 400);
}

static void lengths_are_read_in_one_way_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        int32_t status;
    } rows[] = {
        {"Content-Length: 5\r\n", 0},
        {"content-length: 0\r\n", 0},
        {"Transfer-Encoding: Chunked\r\n", 0},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Content-Length: -1\r\n", 400},
        {"Content-Length: 18446744073709551615\r\n", 400},
        {"Content-Length: x\r\n", 400},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: identity\r\n", 501},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Transfer-Encoding:\r\n", 501},
        {"Host: a\r\n", 400},
        {"A b: c\r\n", 400},
        {"A: b\ac\r\n", 400},
    };
    char text[300];
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        snprintf(text, sizeof(text), "POST / HTTP/1.1\r\nHost: x\r\n%s\r\n", rows[i].headers);
        assert_int_equal(check(text, true), rows[i].status);
    }
    assert_int_equal(check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", true), 400);
    assert_int_equal(check("GET / HTTP/1.1\r\n\r\n", true), 400);
    assert_int_equal(check("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", true), 400);
    assert_int_equal(check("G@T / HTTP/1.1\r\nHost: x\r\n\r\n", true), 400);
    assert_int_equal(check("GET x HTTP/1.1\r\nHost: x\r\n\r\n", true), 400);
    assert_int_equal(check("GET * HTTP/1.1\r\nHost: x\r\n\r\n", true), 400);
    assert_int_equal(check("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", true), 0);
    assert_int_equal(check("GET /\a HTTP/1.1\r\nHost: x\r\n\r\n", true), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_from_the_headers_is_found),
        cmocka_unit_test(a_header_that_was_dropped_or_moved_is_found),
        cmocka_unit_test(lengths_are_read_in_one_way_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
