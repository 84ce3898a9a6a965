/* format/parquet/test_file.h - opening fixtures and files in memory, for this folder's tests only. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/parquet/parquet.h"
#include "format/parquet/test_text.h"

/* Stops the test with the failure's own words. */
static inline void must(nl_status status)
{
    if (status == NULL) return;
    fail_msg("%s\n%s", nl_error_message(status), nl_error_notes(status));
}

static inline void must_fail(nl_status status, nl_condition condition)
{
    assert_non_null(status);
    if (nl_error_condition(status) != condition) fail_msg("another failure: %s", nl_error_message(status));
    nl_error_free(status);
}

typedef struct open_file {
    nl_file *file;
    nl_parquet_footer *footer;
    nl_arena *arena;
    const nl_type *type; /* the file's own schema */
} open_file;

static inline void open_path(nl_fs *fs, nl_str path, open_file *out)
{
    const nl_parquet_type_options options = {.is_iceberg = true};
    *out = (open_file){.arena = nl_arena_new(NULL)};
    must(nl_fs_open(fs, path, &out->file));
    must(nl_parquet_footer_read(out->file, NULL, &out->footer));
    nl_status status = nl_parquet_footer_type(out->footer, &options, out->arena, &out->type);
    nl_error_free(status); /* out->type stays NULL: the test brings its own */
}

static inline void open_fixture(const char *name, open_file *out)
{
    char path[4096];
    char folder[2048];
    assert_non_null(getcwd(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/tests/fixtures/parquet/%s.parquet", folder, name);
    open_path(nl_fs_local(), nl_str_from(path), out);
}

static inline void close_file(open_file *file)
{
    nl_parquet_footer_release(file->footer);
    nl_file_close(file->file);
    nl_arena_free(file->arena);
}

/* The lines of tests/fixtures/parquet/NAME.rows; lines[i] keep their line end. */
typedef struct expected_rows {
    nl_buffer *bytes;
    nl_str *lines;
    uint32_t count;
} expected_rows;

static inline void read_expected(const char *name, expected_rows *out)
{
    char path[4096];
    char folder[2048];
    assert_non_null(getcwd(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/tests/fixtures/parquet/%s.rows", folder, name);
    *out = (expected_rows){0};
    must(nl_fs_read_all(nl_fs_local(), nl_str_from(path), 1 << 24, &out->bytes));
    nl_str rest = {(const char *)out->bytes->data, out->bytes->size_bytes};
    out->lines = calloc(rest.length + 1, sizeof(nl_str));
    while (rest.length > 0) {
        const size_t end = nl_str_find_char(rest, '\n', 0) + 1;
        out->lines[out->count++] = nl_str_slice(rest, 0, end);
        rest = nl_str_slice(rest, end, rest.length);
    }
}

static inline void free_expected(expected_rows *rows)
{
    nl_buffer_release(rows->bytes);
    free(rows->lines);
}

static inline void check_line(const char *name, uint64_t row, nl_str expected, nl_str got)
{
    if (nl_str_equal(expected, got)) return;
    fail_msg("%s, row %llu:\n  expected " NL_STR_FMT "  got      " NL_STR_FMT, name, (unsigned long long)row, NL_STR_ARG(expected), NL_STR_ARG(got));
}
