/* lakehouse/dialect_private.h - what the sources of the dialect share: tokens, brackets, and the passes over them. */
#pragma once

#include "lakehouse/dialect.h"

#include "base/str.h"

typedef enum nl_token_kind { NL_TOKEN_SPACE, NL_TOKEN_WORD, NL_TOKEN_NUMBER, NL_TOKEN_TEXT, NL_TOKEN_NAME, NL_TOKEN_SIGN } nl_token_kind;

typedef struct nl_token {
    nl_token_kind kind;
    bool is_engines;      /* written by a pass, or a type: no call of Trino's */
    nl_str text;
    nl_str before, after; /* put around it; empty: nothing */
} nl_token;

typedef struct nl_dialect {
    nl_arena *arena;
    nl_token *tokens;  /* with room for one more than there are bytes */
    uint32_t *partner; /* of a bracket: the one that it opens or closes; count: none */
    uint32_t count;
} nl_dialect;

/* The tokens of a text; spaces and comments are tokens, too. */
void nl_dialect_read(nl_dialect *self, nl_str sql);
/* The next token that is no space, from `at` on; count: there is none. */
uint32_t nl_dialect_solid(const nl_dialect *self, uint32_t at);
uint32_t nl_dialect_before(const nl_dialect *self, uint32_t at); /* the last one before `at`; count: none */
bool nl_dialect_is_word(const nl_dialect *self, uint32_t at, const char *word);
bool nl_dialect_is_sign(const nl_dialect *self, uint32_t at, char sign);
bool nl_dialect_is_name(const nl_dialect *self, uint32_t at); /* a word or a quoted name */
/* The bracket that closes the one at `at`; count: none does. Known from the start, so that nesting costs nothing. */
uint32_t nl_dialect_closing(const nl_dialect *self, uint32_t at);
void nl_dialect_drop(nl_dialect *self, uint32_t from, uint32_t to);
void nl_dialect_put(nl_dialect *self, uint32_t at, const char *text); /* static text */
void nl_dialect_put_str(nl_dialect *self, uint32_t at, nl_str text);  /* the engine's text, in the arena */
void nl_dialect_append(const nl_dialect *self, uint32_t from, uint32_t to, nl_builder *out);
nl_str nl_dialect_text(const nl_dialect *self, uint32_t from, uint32_t to); /* the same, in the arena */
nl_str nl_dialect_unquote(nl_arena *arena, nl_str text);              /* "a""b", 'a''b' without quotes; of Trino's own text */
nl_str nl_dialect_literal(nl_arena *arena, nl_str text);              /* any text as a literal of the engine */
/* The commas between the arguments of the call whose bracket is at `open`; how many there are, of which most_count are given. */
uint32_t nl_dialect_commas(const nl_dialect *self, uint32_t open, uint32_t *found, uint32_t most_count);

/* dialect_types.c: a type that begins at `at` becomes the engine's; the token behind it. */
uint32_t nl_dialect_type(nl_dialect *self, uint32_t at);
NL_MUST_USE nl_status nl_dialect_casts(nl_dialect *self);
NL_MUST_USE nl_status nl_dialect_typed_literals(nl_dialect *self);
NL_MUST_USE nl_status nl_dialect_zones(nl_dialect *self); /* AT TIME ZONE */

/* dialect_query.c: sorting, limits, UNNEST, ARRAY[…], time travel, what only Spark has. */
NL_MUST_USE nl_status nl_dialect_backquotes(const nl_dialect *self);
NL_MUST_USE nl_status nl_dialect_query(nl_dialect *self);

/* dialect_statement.c: CREATE TABLE … WITH, ALTER TABLE … EXECUTE, OPTIMIZE, VACUUM, COMMENT … The tokens are Trino's still. */
NL_MUST_USE nl_status nl_dialect_statement(nl_dialect *self, nl_str *then);

/* dialect_functions.c: every call is a row of the table, or refused. */
NL_MUST_USE nl_status nl_dialect_functions(nl_dialect *self);
