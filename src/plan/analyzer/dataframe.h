/* plan/analyzer/dataframe.h - the steps of DataFrames that have files of their own. Private to the analyzer. */
#pragma once

#include "plan/analyzer/analyzer.h"

typedef struct nl_dataframe_step {
    nl_env *env; /* pipe_input is the input */
    nl_arena *arena;
    nl_scope *outer;
    const nl_ast_dataframe *dataframe;
    const nl_logical *input;
} nl_dataframe_step;

/* dataframe.c */
/* "SELECT …" without FROM, over the input. Names in it are the input's: quote them (nl_quote_name). */
NL_MUST_USE nl_status nl_dataframe_select_text(nl_dataframe_step *step, nl_str text, const nl_logical **plan);
/* Runs a plan now. values: row after row; fewer than row_max rows when there are no more. */
NL_MUST_USE nl_status nl_dataframe_run(nl_dataframe_step *step, const nl_logical *plan, uint32_t row_max, const nl_value **values, uint32_t *count);
NL_MUST_USE nl_status nl_dataframe_run_row(nl_dataframe_step *step, const nl_logical *plan, const nl_value **values);

/* dataframe_shape.c */
NL_MUST_USE nl_status nl_dataframe_drop(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_rename(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_to_df(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_to_schema(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_deduplicate(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_set_by_name(nl_dataframe_step *step, const nl_logical **plan);
/* The first visible column of that name; NULL: none. */
const nl_column *nl_dataframe_column(const nl_dataframe_step *step, const nl_logical *plan, nl_str name);
/* The same, or UNRESOLVED_COLUMN. */
NL_MUST_USE nl_status nl_dataframe_need_column(nl_dataframe_step *step, nl_str name, const nl_column **column);

/* dataframe_watermark.c */
NL_MUST_USE nl_status nl_dataframe_watermark(nl_dataframe_step *step, const nl_logical **plan);

/* dataframe_na.c */
NL_MUST_USE nl_status nl_dataframe_fill_na(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_drop_na(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_replace(nl_dataframe_step *step, const nl_logical **plan);

/* dataframe_statistics.c */
NL_MUST_USE nl_status nl_dataframe_summary(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_crosstab(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_correlation(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_quantiles(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_freq_items(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_sample_by(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_transpose(nl_dataframe_step *step, const nl_logical **plan);

/* dataframe_python.c */
NL_MUST_USE nl_status nl_dataframe_python(nl_dataframe_step *step, const nl_logical **plan);

/* pivot.c, unpivot.c */
NL_MUST_USE nl_status nl_dataframe_pivot(nl_dataframe_step *step, const nl_logical **plan);
NL_MUST_USE nl_status nl_dataframe_unpivot(nl_dataframe_step *step, const nl_logical **plan);
