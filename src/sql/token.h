/* sql/token.h - the words of a statement, inside this folder: kinds, keywords, the lexer. */
#pragma once

#include "base/arena.h"

typedef enum nl_token_kind {
    NL_T_EOF, /* end of input */
    /* keywords: NL_T_ADD … NL_T_ZONE */
#define X(token, text, place, ansi) NL_T_##token,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
    NL_T_IDENTIFIER_WORD, /* an unquoted name, or a path like hdfs://x (an error wherever it is used) */
    NL_T_BACKQUOTED,
    NL_T_STRING_LITERAL,  /* '…', r'…', r"…" */
    NL_T_DOUBLE_QUOTED,   /* "…" */
    NL_T_INTEGER_VALUE,   /* 12    */
    NL_T_TINYINT_LITERAL, /* 12Y   */
    NL_T_SMALLINT_LITERAL,
    NL_T_BIGINT_LITERAL,
    NL_T_EXPONENT,        /* 1e3   */
    NL_T_DECIMAL_VALUE,   /* 1.5   */
    NL_T_FLOAT_LITERAL,
    NL_T_DOUBLE_LITERAL,
    NL_T_BIGDECIMAL_LITERAL,
    NL_T_SEMICOLON,
    NL_T_LEFT_PAREN,
    NL_T_RIGHT_PAREN,
    NL_T_COMMA,
    NL_T_DOT,
    NL_T_LEFT_BRACKET,
    NL_T_RIGHT_BRACKET,
    NL_T_BANG,
    NL_T_EQ,
    NL_T_NULL_SAFE_EQ,
    NL_T_NEQ,      /* <> */
    NL_T_NEQ_BANG, /* != */
    NL_T_LT,
    NL_T_LTE,
    NL_T_GT,
    NL_T_GTE,
    NL_T_SHIFT_LEFT,
    NL_T_SHIFT_RIGHT,
    NL_T_SHIFT_RIGHT_UNSIGNED,
    NL_T_PLUS,
    NL_T_MINUS_SIGN,
    NL_T_ASTERISK,
    NL_T_SLASH,
    NL_T_PERCENT_SIGN,
    NL_T_TILDE,
    NL_T_AMPERSAND,
    NL_T_PIPE,
    NL_T_CONCAT,        /* || */
    NL_T_OPERATOR_PIPE, /* |> */
    NL_T_HAT,
    NL_T_COLON,
    NL_T_DOUBLE_COLON,
    NL_T_ARROW,
    NL_T_FAT_ARROW,
    NL_T_HINT_START, /* slash star plus  */
    NL_T_HINT_END,   /* star slash       */
    NL_T_QUESTION,
    NL_T_UNRECOGNIZED, /* any other character */
    NL_T_COUNT
} nl_token_kind;

#define NL_T_FIRST_KEYWORD NL_T_ADD
#define NL_T_LAST_KEYWORD  NL_T_ZONE

typedef struct nl_token {
    uint16_t kind; /* nl_token_kind */
    uint32_t start;
    uint32_t stop; /* one past the last byte */
    uint32_t line;
    uint32_t position; /* characters since the line's start */
} nl_token;

static inline bool nl_token_is_keyword(nl_token_kind kind)
{
    return kind >= NL_T_FIRST_KEYWORD && kind <= NL_T_LAST_KEYWORD;
}
bool nl_token_is_join_word(nl_token_kind kind);     /* place JOIN in keywords.def                       */
bool nl_token_is_ansi_reserved(nl_token_kind kind); /* no identifier when keywords are enforced         */
const char *nl_token_text(nl_token_kind kind);      /* keywords and signs: "SELECT", "<="; else ""       */
nl_token_kind nl_keyword_find(nl_str word);         /* in any case; NL_T_IDENTIFIER_WORD when it is none */
uint32_t nl_keyword_count(void);
nl_str nl_keyword_at(uint32_t i, nl_token_kind *kind); /* for completion and tests: all rows, sorted */

/* The tokens of a text, without comments and white space; the last one is NL_T_EOF (several lookaheads past it are
 * safe, see NL_LEX_PADDING). `tokens` is owned by the caller (free). Fails: UNCLOSED_BRACKETED_COMMENT, memory. */
#define NL_LEX_PADDING 4
typedef struct nl_tokens {
    nl_token *items;
    uint32_t count; /* without the padding, with one NL_T_EOF */
    bool has_unclosed_comment;
} nl_tokens;
NL_MUST_USE nl_status nl_lex(nl_str text, nl_tokens *tokens);
void nl_tokens_free(nl_tokens *tokens);
