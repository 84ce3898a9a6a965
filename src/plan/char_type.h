/* plan/char_type.h - CHAR(n) and VARCHAR(n), which are strings in queries: what a column of one is where it is stored. */
#pragma once

#include "plan/logical.h"

NL_MUST_USE nl_status nl_raw_type(nl_arena *arena, const nl_column *column, const nl_type **type);
