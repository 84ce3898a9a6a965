/* function/signature.h - the signature column of a row, parsed and matched against argument types. Private to function/.
 *
 * "(string, int [, int]) -> string | (binary, int [, int]) -> binary" has two alternatives. A pattern is a tree of
 * words; matching one alternative decides what every argument must be cast to and binds the type variables.
 */
#pragma once

#include "function/function.h"

#define NL_SIGNATURE_ARGUMENTS_MAX 16u
#define NL_SIGNATURE_VARIABLES     26u

typedef enum nl_pattern_kind {
    NL_PATTERN_TYPE,     /* a concrete type                                */
    NL_PATTERN_ANY,
    NL_PATTERN_NUMERIC,
    NL_PATTERN_INTEGRAL,
    NL_PATTERN_DECIMAL,  /* any precision                                  */
    NL_PATTERN_INTERVAL_YM, /* any fields                                  */
    NL_PATTERN_INTERVAL_DT,
    NL_PATTERN_VARIABLE,
    NL_PATTERN_ARRAY,    /* children[0]; NULL: of anything                 */
    NL_PATTERN_MAP,
    NL_PATTERN_STRUCT,   /* any struct                                     */
    NL_PATTERN_LAMBDA,   /* children: parameters; result                   */
    NL_PATTERN_UNION,    /* children: either                               */
    NL_PATTERN_BOUND     /* `?`: the row's bind decides                    */
} nl_pattern_kind;

typedef struct nl_pattern nl_pattern;
struct nl_pattern {
    nl_pattern_kind kind;
    const nl_type *type;
    char variable;
    const nl_pattern *children[8];
    uint32_t child_count;
    const nl_pattern *result; /* LAMBDA */
};

typedef struct nl_alternative {
    const nl_pattern *arguments[NL_SIGNATURE_ARGUMENTS_MAX];
    uint32_t argument_count;
    uint32_t required_count;
    bool is_repeating; /* the last argument may be given any number of times (at least required_count in all) */
    const nl_pattern *result;
} nl_alternative;

typedef struct nl_signature {
    nl_alternative *alternatives;
    uint32_t count;
} nl_signature;

/* Signatures are our own text: a bad one is an INTERNAL_ERROR naming the row, found by a test over all rows. */
NL_MUST_USE nl_status nl_signature_parse(nl_arena *arena, const nl_function_row *row, nl_signature *signature);

typedef struct nl_match {
    const nl_type **types;                             /* what the arguments must be cast to        */
    const nl_type *variables[NL_SIGNATURE_VARIABLES];  /* by letter                                 */
    bool variable_nullable[NL_SIGNATURE_VARIABLES];    /* an element, value or argument may be null */
    bool is_exact;                                     /* no argument needs a cast                  */
    uint32_t failed_argument;                          /* when there is no match                    */
} nl_match;

static inline bool nl_alternative_takes(const nl_alternative *alternative, uint32_t count)
{
    return count >= alternative->required_count && (alternative->is_repeating || count <= alternative->argument_count);
}
static inline const nl_pattern *nl_alternative_argument(const nl_alternative *alternative, uint32_t i)
{
    return i < alternative->argument_count ? alternative->arguments[i] : alternative->arguments[alternative->argument_count - 1];
}
/* False: some argument does not fit (match->failed_argument). Lambda arguments with unknown types fit. */
bool nl_alternative_match(const nl_alternative *alternative, const nl_bind *bind, nl_match *match);
/* The type a pattern stands for under a match; NULL for `?`. Unbound variables are void. */
const nl_type *nl_pattern_resolve(nl_arena *arena, const nl_pattern *pattern, const nl_match *match);
/* `"STRING"`, `("INT" or "SMALLINT")`: as the requiredType of errors. */
void nl_pattern_append_sql(nl_arena *arena, const nl_pattern *pattern, nl_builder *out);
