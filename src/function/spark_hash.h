/* function/spark_hash.h - Spark's hash of rows outside of expressions. */
#pragma once

#include "column/vector.h"

/* The SQL function hash(columns…) of each row, folded onto hashes[row] (42 to begin with). */
void nl_spark_hash_rows(const nl_vector *columns, uint32_t column_count, uint32_t row_count, uint32_t *hashes);
