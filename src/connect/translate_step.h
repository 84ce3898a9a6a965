/* connect/translate_step.h - one step of a DataFrame: a pipe operator over what was made before it. Private to src/connect. */
#pragma once

#include "connect/translate.h"

typedef struct nl_step {
    nl_translator *t;
    nl_arena *arena;   /* of t */
    nl_ast_term *left; /* what the step stands over */
    nl_ast_term *made; /* the step itself, once it is made */
} nl_step;

/* What makes a step, to be filled by the caller; all in the arena. */
nl_ast_dataframe *nl_step_dataframe(nl_step *s, nl_ast_dataframe_kind kind);
/* A join of `left` with `right`, without kind and condition. */
nl_ast_relation *nl_step_join(nl_step *s, nl_ast_term *right);
nl_ast_grouping *nl_step_grouping(nl_step *s, nl_ast_expr *expr);

/* translate_as_of.c */
NL_MUST_USE nl_status nl_step_as_of_join(nl_step *s, const Spark__Connect__AsOfJoin *message);
