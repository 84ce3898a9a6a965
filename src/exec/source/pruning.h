/* exec/source/pruning.h - row groups and pages of a Parquet file that a predicate rules out. */
#pragma once

#include "format/data_format.h"
#include "format/parquet/parquet.h"
#include "iceberg/expression.h"

/* By the row group's statistics and Bloom filters. */
NL_MUST_USE nl_status nl_row_group_may_match(nl_parquet_reader *reader, uint32_t row_group, const nl_predicate *predicate, bool *may_match);
/* By the page index: *ranges (in the arena, ascending) are the rows that may match. *range_count 0: none. */
NL_MUST_USE nl_status nl_page_ranges(nl_parquet_reader *reader, uint32_t row_group, uint64_t row_count, const nl_predicate *predicate, nl_arena *arena,
                                     nl_parquet_rows **ranges, uint32_t *range_count);
/* By the statistics of a part of a file of another format, where the format has them. */
NL_MUST_USE nl_status nl_data_part_may_match(nl_data_reader *reader, uint32_t part, const nl_predicate *predicate, bool *may_match);
/* By the statistics of the groups of rows in a part, as nl_page_ranges. row_count: of the part. *ranges NULL: all rows, the format
 * has no such statistics. */
NL_MUST_USE nl_status nl_data_part_ranges(nl_data_reader *reader, uint32_t part, uint64_t row_count, const nl_predicate *predicate, nl_arena *arena,
                                          nl_data_rows **ranges, uint32_t *range_count);
