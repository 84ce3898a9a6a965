/* command/alter_table.h - what the files of ALTER TABLE share. */
#pragma once

#include "command/command_private.h"
#include "iceberg/operation.h"

typedef struct nl_alter {
    nl_command *command;
    const nl_ast_alter_table *ast;
    nl_session_name name;
    nl_iceberg_table *table; /* counted */
} nl_alter;

/* Columns and identifier fields: one schema change. */
NL_MUST_USE nl_status nl_alter_columns(nl_alter *self);
/* ADD, DROP and REPLACE PARTITION FIELD. */
NL_MUST_USE nl_status nl_alter_partition_fields(nl_alter *self);
/* WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY … | UNORDERED]. */
NL_MUST_USE nl_status nl_alter_write(nl_alter *self);
/* Iceberg's refusals as Spark shows those of ALTER TABLE: "Unsupported table change: …". Takes status. */
NL_MUST_USE nl_status nl_alter_unsupported(nl_status status);
