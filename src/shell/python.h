/* shell/python.h - the user's own Python: finding it, and running a PySpark program in it. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* The interpreter for `program` (a path; empty: the working folder decides), as spark-submit and Python's tools would
 * have it: spark.pyspark.driver.python, spark.pyspark.python (confs: nl_property *), $PYSPARK_DRIVER_PYTHON,
 * $PYSPARK_PYTHON, an activated environment ($VIRTUAL_ENV, $CONDA_PREFIX), `.venv` in the folder of the program or of
 * the terminal or above it (uv, venv, poetry), poetry's own environment of that project, python3 on $PATH.
 * Fails: NILAS_ILLEGAL_ARGUMENT, naming what was looked at. */
NL_MUST_USE nl_status nl_python_find(nl_arena *arena, const nl_list *confs, nl_str program, nl_str *interpreter);

typedef struct nl_python_run {
    nl_str interpreter;
    nl_str program;            /* empty: an interactive shell                                  */
    char **arguments;          /* of the program, NULL at the end                              */
    nl_str remote;             /* SPARK_REMOTE: "sc://localhost:40404/;token=…"                */
    const char *python_files;  /* --py-files; or NULL                                          */
    nl_str files, archives;    /* spark.files, spark.archives: for functions of every session  */
} nl_python_run;
/* Runs it to its end under python/nilas/driver.py. Terminal signals reach it directly; SIGTERM and SIGHUP are passed on.
 * *exit_status: its own, or 128 and the number of the signal that ended it. It does not outlive this process. */
NL_MUST_USE nl_status nl_python_run_program(nl_arena *arena, const nl_python_run *run, int *exit_status);
