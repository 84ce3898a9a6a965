/* exec/program.h - the inside of a compiled expression; only exec/program*.c and exec/compile.c look here.
 *
 * A program is a tree of blocks of instructions. An instruction reads registers and writes one. The operands of AND,
 * OR, CASE and COALESCE may have a block of their own (a guard), which runs only for the rows that need the operand.
 * Sharing: a register may be read wherever its block's rows include the reader's rows, that is in the same block and
 * in the guards below it.
 */
#pragma once

#include "exec/expression.h"

typedef enum nl_op {
    NL_OP_COLUMN,
    NL_OP_CONSTANT,
    NL_OP_CALL,
    NL_OP_CAST,
    NL_OP_AND,
    NL_OP_OR,
    NL_OP_NOT,
    NL_OP_IS_NULL,
    NL_OP_IS_NOT_NULL,
    NL_OP_CASE,
    NL_OP_COALESCE,
    NL_OP_IN,     /* operands compared one by one   */
    NL_OP_IN_SET, /* operand 0 looked up in a set   */
    NL_OP_FIELD
} nl_op;

typedef struct nl_block {
    nl_list instructions; /* nl_instruction * */
} nl_block;

/* The constants of an IN list, for lookups: see program_in.c. */
typedef struct nl_in_set {
    const nl_value *values; /* distinct order does not matter; no nulls */
    uint32_t count;
    bool has_null;
    uint32_t slot_mask;
    uint32_t *slots;       /* value index + 1; 0 is free  */
    uint64_t *hashes;      /* by value index              */
} nl_in_set;

/* A lambda argument: its body as a program over the captured registers, then the parameters. */
typedef struct nl_lambda_code {
    nl_program *body;
    const uint32_t *captured; /* registers of the surrounding program */
    uint32_t captured_count;
    uint32_t parameter_count;
    const nl_type *result_type;
    bool is_nullable;
} nl_lambda_code;

typedef struct nl_instruction {
    nl_op op;
    uint32_t target;
    const nl_type *type;
    nl_span span;
    uint32_t operand_count;
    const uint32_t *operands;
    nl_block *const *guards;              /* one per operand, entries may be NULL; or NULL */
    uint32_t slot;                        /* COLUMN: input; CONSTANT: constant; CALL: call; FIELD: ordinal */
    const nl_bound_function *function;    /* CALL */
    const nl_lambda_code *const *lambdas; /* CALL: one per operand, or NULL */
    uint32_t lambda_first;                /* CALL: the state's first lambda of this call */
    nl_cast_mode cast_mode;               /* CAST */
    const nl_in_set *set;                 /* IN_SET */
} nl_instruction;

struct nl_program {
    nl_arena *arena;
    nl_block main;
    uint32_t register_count;
    uint32_t input_count;
    const nl_type **input_types;
    nl_value *constants;
    uint32_t constant_count;
    const nl_instruction **calls; /* for worker states */
    uint32_t call_count;
    uint32_t lambda_count;
    uint32_t output_count;
    const uint32_t *outputs;      /* registers */
    /* A filter: conjunct i runs its block for the rows that conjuncts before it left. */
    uint32_t conjunct_count;
    nl_block *const *conjunct_blocks;
    const uint32_t *conjuncts;    /* registers */
    /* The same, where an argument is evaluated only for rows whose arguments before it are not null, as Spark does: run
     * for a batch on which this program, which evaluates all of them, failed. NULL: it would be no other. */
    nl_program *exact;
};

/* What an nl_lambda of a running call is. */
typedef struct nl_bound_lambda {
    nl_lambda base;
    const nl_lambda_code *code;
    struct nl_program_state *outer;
    struct nl_program_state *body;
} nl_bound_lambda;

struct nl_program_state {
    const nl_program *program;
    nl_eval eval;
    nl_str text;
    nl_vector *registers;
    uint8_t *is_owned;     /* the register must be finished; else it borrows the batch's or a constant's buffers */
    nl_vector *constants;
    void **worker_states;  /* per call */
    nl_bound_lambda *lambdas;
    nl_vector *arguments;  /* scratch: contiguous operands of one call */
    uint32_t argument_capacity;
    const nl_lambda **lambda_arguments;
    const nl_batch *batch; /* while running */
    uint32_t length;
    nl_program_state *exact; /* made when the program first fails */
};

/* Runs a block for the selected rows of the state's batch. */
NL_MUST_USE nl_status nl_block_run(nl_program_state *state, const nl_block *block, nl_selection selection);
static inline const nl_vector *nl_operand(const nl_program_state *state, const nl_instruction *instruction, uint32_t i)
{
    return &state->registers[instruction->operands[i]];
}

/* program_logic.c; *out is zeroed on entry and a BOOLEAN vector of state->length rows on success. */
NL_MUST_USE nl_status nl_run_and_or(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_run_not(nl_program_state *state, const nl_vector *operand, nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_run_is_null(nl_program_state *state, const nl_vector *operand, bool is_negated, nl_vector *out);
/* The selected rows whose boolean is true: their count; rows needs selection.count entries. */
uint32_t nl_select_true(const nl_vector *boolean, nl_selection selection, uint32_t *rows);
/* program_choose.c */
NL_MUST_USE nl_status nl_run_case(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_run_coalesce(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_run_field(nl_program_state *state, const nl_instruction *instruction, nl_vector *out);
/* program_in.c */
const nl_in_set *nl_in_set_new(nl_arena *arena, const nl_expr *const *literals, uint32_t count);
NL_MUST_USE nl_status nl_run_in(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out);
NL_MUST_USE nl_status nl_run_in_set(nl_program_state *state, const nl_instruction *instruction, nl_selection selection, nl_vector *out);
