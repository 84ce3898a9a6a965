/* command/call/procedure.h - what a procedure is: a row with its parameters, its output columns and its body. */
#pragma once

#include "command/write.h"

#define NL_PARAMETERS_MAX 12
#define NL_OUTPUTS_MAX    8

typedef enum nl_parameter_type {
    NL_PARAMETER_STRING,
    NL_PARAMETER_BIGINT,
    NL_PARAMETER_INT,
    NL_PARAMETER_BOOLEAN,
    NL_PARAMETER_TIMESTAMP,
    NL_PARAMETER_MAP,         /* map<string,string>  */
    NL_PARAMETER_BIGINTS,     /* array<bigint>       */
    NL_PARAMETER_STRINGS      /* array<string>       */
} nl_parameter_type;

typedef struct nl_parameter {
    const char *name; /* NULL ends the list */
    nl_parameter_type type;
    bool is_required;
} nl_parameter;

typedef struct nl_output_column {
    const char *name; /* NULL ends the list */
    nl_type_id type;  /* BIGINT, INT, STRING */
    bool is_nullable;
} nl_output_column;

typedef struct nl_procedure nl_procedure;

typedef struct nl_call { /* one CALL */
    nl_command *command;
    const nl_procedure *procedure;
    nl_catalog *catalog;
    nl_str catalog_name;
    nl_value arguments[NL_PARAMETERS_MAX]; /* null where not given */
    nl_ast_name table_name;                /* the argument `table`, catalog first */
    nl_iceberg_table *table;               /* of that name; counted; NULL for a procedure that makes it */
    nl_write_table target;                 /* the same, opened for writing */
    nl_rows *rows;
} nl_call;

struct nl_procedure {
    const char *name;
    const char *doc;
    nl_parameter parameters[NL_PARAMETERS_MAX + 1];
    nl_output_column outputs[NL_OUTPUTS_MAX + 1];
    nl_status (*run)(nl_call *call);
    bool names_itself;   /* its names are the session's: nothing is opened for it */
    bool makes_table;    /* the argument `table` names what is not there yet */
    bool says_parameter; /* Iceberg has two ways of speaking about its arguments */
};

const nl_procedure *nl_procedure_at(uint32_t i); /* NULL past the end */

/* Arguments by the parameter's position. */
bool nl_call_has(const nl_call *call, uint32_t parameter);
nl_str nl_call_text(const nl_call *call, uint32_t parameter);                    /* data NULL when absent */
int64_t nl_call_int(const nl_call *call, uint32_t parameter, int64_t fallback);
bool nl_call_bool(const nl_call *call, uint32_t parameter, bool fallback);
int64_t nl_call_ms(const nl_call *call, uint32_t parameter);                     /* of a TIMESTAMP */
void nl_call_map(const nl_call *call, uint32_t parameter, const nl_property **items, uint32_t *count);

/* One row: BIGINT and INT outputs. NL_NONE is null where the output is nullable. */
NL_MUST_USE nl_status nl_call_numbers(nl_call *call, const int64_t *values);

/* The argument `where` as a predicate over the table's rows; NULL: not given. */
NL_MUST_USE nl_status nl_call_where(nl_call *call, uint32_t parameter, const nl_predicate **predicate);

/* The rows of a view with the columns file_path and last_modified; in the statement's arena. */
NL_MUST_USE nl_status nl_call_file_list(nl_call *call, nl_str view, const nl_file_info **files, uint32_t *file_count); /* file_list.c */

nl_status nl_call_rewrite_data_files(nl_call *call);            /* rewrite.c */
nl_status nl_call_rewrite_position_delete_files(nl_call *call); /* rewrite_deletes.c */
nl_status nl_call_create_changelog_view(nl_call *call);         /* changelog.c */
nl_status nl_call_compute_table_stats(nl_call *call);           /* statistics.c */
nl_status nl_call_compute_partition_stats(nl_call *call);
nl_status nl_call_add_files(nl_call *call);                     /* add_files.c */
nl_status nl_call_rewrite_table_path(nl_call *call);            /* relocate.c */
nl_status nl_call_snapshot(nl_call *call);                      /* snapshot.c */
nl_status nl_call_migrate(nl_call *call);
