/* command/transforms.h - partition transforms and sort orders as DDL writes them. */
#pragma once

#include "command/command_private.h"
#include "iceberg/sort_order.h"

/* days(ts), bucket(16, id), truncate(id, 4), c … Fails: "Transform is not supported: …". */
NL_MUST_USE nl_status nl_partition_addition_of(nl_command *command, const nl_ast_partition_field *field, nl_partition_addition *addition);
/* The same type with every nested field nullable. */
const nl_type *nl_all_nullable(nl_arena *arena, const nl_type *type);
/* Makes a staged table real without any rows. */
NL_MUST_USE nl_status nl_commit_staged(nl_iceberg_table *table);
