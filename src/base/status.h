/* base/status.h - errors as values: Spark's condition, SQLSTATE, parameters, and the chain of what was being done.
 *
 * NULL is success; anything else is owned by the caller and must be returned, handled or freed (nl_error_free).
 * Threads: an nl_error belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define NL_MUST_USE    __attribute__((warn_unused_result))
#define NL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define NL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NL_UNUSED      __attribute__((unused))

/* The rows of base/conditions.def. A double underscore in an enumerator stands for the dot of a subclass:
 * NL_COND_UNSUPPORTED_FEATURE__SQL_SCRIPTING is "UNSUPPORTED_FEATURE.SQL_SCRIPTING". */
typedef enum nl_condition {
#define X(name, sqlstate, kind, text) NL_COND_##name,
#include "base/conditions.def"
#undef X
    NL_CONDITION_COUNT
} nl_condition;

/* What the caller can do about it. Callers branch on this or on the condition, never on text. */
typedef enum nl_error_kind {
    NL_KIND_USER,          /* fix the query                                                    */
    NL_KIND_DATA,          /* fix the file: path, column, byte offset are parameters           */
    NL_KIND_RETRY,         /* may succeed later                                                */
    NL_KIND_UNKNOWN_STATE, /* a commit may have happened: clean up nothing                     */
    NL_KIND_INTERNAL       /* our bug                                                          */
} nl_error_kind;

typedef struct nl_error nl_error;
typedef nl_error *nl_status;

/* A place in our own source, for notes. */
typedef struct nl_here {
    const char *file;
    int line;
} nl_here;
#define NL_HERE ((nl_here){__FILE__, __LINE__})

/* One message parameter. The text is borrowed and copied by nl_raise. A row with a NULL name ends the list. */
typedef struct nl_param {
    const char *name;
    const char *text;
    nl_str str; /* used when text is NULL and is_number is false */
    int64_t number;
    bool is_number;
} nl_param;
#define NL_P(key, value)     {.name = (key), .text = (value)}
#define NL_P_STR(key, value) {.name = (key), .str = (value)}
#define NL_P_INT(key, value) {.name = (key), .number = (value), .is_number = true}

/* Raises a condition of base/conditions.def. An unknown name does not compile. */
#define NL_RAISE(condition, ...) \
    nl_raise(NL_COND_##condition, NL_HERE, (const nl_param[]){__VA_ARGS__ __VA_OPT__(, ){0}})

/* The condition whose template is just "<message>": for errors that carry their whole text (Iceberg's have no
 * class in Spark). NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use branch (does not exist): %s", name) */
#define NL_RAISE_TEXT(condition, ...) nl_raise_text(NL_COND_##condition, NL_HERE, __VA_ARGS__)

NL_MUST_USE nl_status nl_raise(nl_condition condition, nl_here here, const nl_param *params);
NL_MUST_USE nl_status nl_raise_text(nl_condition condition, nl_here here, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Passes a failure up. The second form also notes what was being done; formatted only on failure. */
#define NL_TRY(call)                                                    \
    do {                                                                \
        nl_status nl_try_status_ = (call);                              \
        if (NL_UNLIKELY(nl_try_status_ != NULL)) return nl_try_status_; \
    } while (0)
#define NL_TRY_NOTE(call, ...)                                                                                 \
    do {                                                                                                       \
        nl_status nl_try_status_ = (call);                                                                     \
        if (NL_UNLIKELY(nl_try_status_ != NULL)) return nl_note_if(nl_try_status_, NL_HERE, __VA_ARGS__);      \
    } while (0)
/* For functions with several resources and one label `done:`; sets `status` and jumps there. */
#define NL_GO(call)                                     \
    do {                                                \
        status = (call);                                \
        if (NL_UNLIKELY(status != NULL)) goto done;     \
    } while (0)

/* Adds a note (what was being done) to a failure; NULL stays NULL. Returns its argument. */
NL_MUST_USE nl_status nl_note_if(nl_status status, nl_here here, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps the first of two failures; the second becomes a note on it. Takes both. */
NL_MUST_USE nl_status nl_first_error(nl_status first, nl_status second);

/* Gives a failure its cause: another failure, with a condition of its own. Takes both, either may be NULL; returns status. */
NL_MUST_USE nl_status nl_error_because(nl_status status, nl_status cause);
nl_error *nl_error_cause(nl_error *error); /* borrowed from the error, or NULL */

void nl_error_free(nl_error *error); /* NULL is fine */

/* Where in the query's text a failure belongs. Offsets are bytes in `text`; line starts at 1, position (column) at 0
 * as Spark counts it in parse errors; a parse error of line 0 shows the text alone. Borrowed text is copied. A context
 * that is already set stays. */
/* The text of a DataFrame begins with \001. It is made of pieces that end with \003: "fragment \002 call site" of an expression, or
 * \004 and SQL. The context of an error keeps the piece that it is in: SQL as if it stood alone, a call site behind \001. */
typedef struct nl_query_context {
    nl_str text;         /* the whole statement                       */
    uint32_t start;      /* first byte of the fragment                */
    uint32_t stop;       /* one past its last byte                    */
    uint32_t line;
    uint32_t position;   /* in characters (code points), not bytes */
    bool is_parse_error; /* words of a parse error: "(line 1, pos 16)" and a dashed caret line */
    bool is_analysis;    /* analysis: "; line 1 pos 7" after the SQLSTATE, no fragment shown     */
} nl_query_context;
void nl_error_set_context(nl_error *error, const nl_query_context *context);
const nl_query_context *nl_error_context(const nl_error *error); /* NULL when there is none */

/* The lines that hold the fragment with carets under it, whatever kind of error it is: "\n== SQL (line 1, position 8) ==\n…". */
void nl_query_context_summary(const nl_query_context *context, nl_builder *out);

nl_condition nl_error_condition(const nl_error *error);
nl_error_kind nl_error_kind_of(const nl_error *error);
void nl_error_set_kind(nl_error *error, nl_error_kind kind);
const char *nl_condition_name(nl_condition condition);  /* "DIVIDE_BY_ZERO"; static */
const char *nl_condition_sqlstate(nl_condition condition); /* "22012"; static; "" for none */
/* The value of a parameter, or NULL. Borrowed from the error. */
const char *nl_error_param(const nl_error *error, const char *name);
uint32_t nl_error_param_count(const nl_error *error);
void nl_error_param_at(const nl_error *error, uint32_t i, const char **name, const char **value);

/* The message as Spark prints it: "[DIVIDE_BY_ZERO] Division by zero. … SQLSTATE: 22012" and the query context. One
 * with the context of a parse error begins with a line feed, as Spark's do. Conditions named _LEGACY_ERROR_… have no
 * "[…]". Borrowed from the error; valid until it is freed or a context is set. */
const char *nl_error_message(nl_error *error);
/* The notes, newest last, one a line; "" when there are none. Borrowed from the error. */
const char *nl_error_notes(nl_error *error);

/* Contracts of our own code. NL_CHECK stays in release builds: it returns INTERNAL_ERROR to the caller. */
#ifdef NDEBUG
#define NL_ASSERT(x) ((void)sizeof(x))
#else
#define NL_ASSERT(x) ((x) ? (void)0 : nl_assert_failed(#x, NL_HERE))
#endif
#define NL_CHECK(x)                                                                                     \
    do {                                                                                                \
        if (NL_UNLIKELY(!(x))) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "check failed: " #x));   \
    } while (0)
_Noreturn void nl_assert_failed(const char *expression, nl_here here);

#define NL_CONTAINER(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))
/* Drops a const that an interface of libc or an owner that frees does not know about. */
#define NL_UNCONST(pointer)                 ((void *)(uintptr_t)(pointer))
#define NL_COUNT(array)                     (sizeof(array) / sizeof((array)[0]))
#define NL_MIN(a, b)                        ((a) < (b) ? (a) : (b))
#define NL_MAX(a, b)                        ((a) > (b) ? (a) : (b))
