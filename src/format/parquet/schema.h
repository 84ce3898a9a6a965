/* format/parquet/schema.h - the schema part of a footer: from Thrift's flat list to a tree. Inside the folder only. */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "format/parquet/footer.h"

/* Reads `count` schema elements, whose list head was just read, and links them. Fails: NILAS_CORRUPT_FILE. */
NL_MUST_USE nl_status nl_parquet_schema_read(nl_cursor *in, uint32_t count, nl_arena *arena, nl_parquet_footer *footer);
