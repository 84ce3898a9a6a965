/* shell/spark_options.h - the flags that `nilas sql`, `submit` and `pyspark` share with Spark's programs, and a few of nilas's own. */
#pragma once

#include "base/arena.h"
#include "iceberg/snapshot.h"
#include "session/session.h"
#include "shell/output.h"

typedef enum nl_spark_program { NL_SPARK_SQL = 1, NL_SPARK_SUBMIT = 2, NL_SPARK_SHELL = 4 } nl_spark_program; /* bits: spark-sql, spark-submit, pyspark */

typedef struct nl_spark_flags { /* texts borrow from argv and the arena */
    nl_list scripts;          /* -e and -f in order: nl_script_source */
    nl_list init_files;       /* -i: const char *      */
    nl_list confs;            /* nl_property *: spark-defaults.conf first, then flags, so that later ones win */
    nl_list variables;        /* nl_property *: -d, --hivevar */
    const char *database;     /* --database */
    bool is_silent;           /* -S */
    bool is_verbose;          /* -v: echo statements */
    bool wants_help;
    bool wants_version;
    bool has_format;
    nl_output_format format;  /* --format */
    const char *python_files; /* --py-files: apart by commas */
    int program_at;           /* SUBMIT: index of the program in the arguments, its own arguments behind it; their count when there is none */
    nl_list notes;            /* const char *: what was accepted without effect; told once, unless silent */
} nl_spark_flags;

typedef struct nl_script_source {
    bool is_file;
    const char *text; /* the SQL, or the file's name; "-" is standard input */
} nl_script_source;

/* Fails: NILAS_ILLEGAL_ARGUMENT naming the flag; files that cannot be read. */
NL_MUST_USE nl_status nl_spark_flags_parse(nl_arena *arena, nl_spark_program program, int argument_count, char **arguments, nl_spark_flags *flags);
void nl_spark_flags_print_help(nl_spark_program program); /* the list of flags */
/* The value of a key among nl_property *: the last one counts; data NULL: there is none. */
nl_str nl_spark_conf_value(const nl_list *confs, const char *key);
/* A session with the flags' confs and variables; owned. */
NL_MUST_USE nl_status nl_spark_flags_open_session(const nl_spark_flags *flags, nl_session **session);
