/* base/test_support.h - checks that tests share: statuses, texts, fixtures. Only *_test.c files include it; the working
 * folder of tests is the root of the tree. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

static inline void assert_ok_at(nl_status status, const char *file, int line)
{
    if (!status) return;
    fprintf(stderr, "%s:%d: %s\n%s\n", file, line, nl_error_message(status), nl_error_notes(status));
    nl_error_free(status);
    _fail(file, line);
}
#define assert_ok(call) assert_ok_at((call), __FILE__, __LINE__)

/* The status fails with this condition and its message contains `text` (NULL: whatever). */
static inline void assert_fails_at(nl_status status, nl_condition condition, const char *text, const char *file, int line)
{
    if (!status) {
        fprintf(stderr, "%s:%d: should have failed\n", file, line);
        _fail(file, line);
        return;
    }
    const char *message = nl_error_message(status);
    const bool is_right = nl_error_condition(status) == condition && (!text || strstr(message, text));
    if (!is_right) fprintf(stderr, "%s:%d: fails otherwise: %s\n", file, line, message);
    nl_error_free(status);
    if (!is_right) _fail(file, line);
}
#define assert_fails(call, condition, text) assert_fails_at((call), NL_COND_##condition, (text), __FILE__, __LINE__)

static inline void assert_text_at(nl_str actual, const char *expected, const char *file, int line)
{
    if (nl_str_is(actual, expected)) return;
    fprintf(stderr, "%s:%d: is      %.*s\n  should be %s\n", file, line, NL_STR_ARG(actual), expected);
    _fail(file, line);
}
#define assert_text(actual, expected) assert_text_at((actual), (expected), __FILE__, __LINE__)

/* A whole file below tests/fixtures; owned by the arena. */
static inline nl_bytes read_fixture(nl_arena *arena, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "tests/fixtures/%s", name);
    FILE *in = fopen(path, "rb");
    if (!in) {
        fprintf(stderr, "cannot open %s\n", path);
        abort();
    }
    fseek(in, 0, SEEK_END);
    const size_t length = (size_t)ftell(in);
    rewind(in);
    uint8_t *data = nl_arena_alloc(arena, length + 1);
    const size_t got = fread(data, 1, length, in);
    fclose(in);
    if (got != length) abort();
    return (nl_bytes){data, length};
}
