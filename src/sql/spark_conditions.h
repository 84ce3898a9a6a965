/* sql/spark_conditions.h - which names Spark's error conditions have: handlers in scripts are declared for them. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* name: in capitals, with its subclass or without: "DIVIDE_BY_ZERO", "UNRESOLVED_COLUMN.WITH_SUGGESTION". */
bool nl_sql_is_spark_condition(nl_str name);
