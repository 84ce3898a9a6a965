/* function/cast_variant.c - casts from and to VARIANT, row by row into a column builder. */
#include "function/cast_internal.h"
#include "function/variant_value.h"

static nl_status to_variant(nl_cast *cast, nl_column_builder *column)
{
    nl_variant_builder made;
    nl_status status = NULL;
    nl_variant_builder_init(&made);
    for (uint32_t row = 0, next = 0; row < cast->length; row++) {
        const bool is_selected = next < cast->selection.count && nl_selection_row(cast->selection, next) == row;
        next += is_selected;
        if (!is_selected) {
            NL_GO(nl_column_builder_null(column));
            continue;
        }
        NL_GO(nl_variant_append_row(&made, cast->source, row));
        NL_GO(nl_variant_end_row(&made, "cast", column));
    }
done:
    nl_variant_builder_fini(&made);
    return status;
}

static nl_status from_variant(nl_cast *cast, nl_column_builder *column)
{
    nl_variant_reader reader = {0};
    nl_variant_cast how;
    nl_status status = NULL;
    nl_variant_cast_init(&how, cast->eval->confs, cast->mode != NL_CAST_TRY);
    NL_GO(nl_variant_reader_open(&reader, cast->source, cast->eval->memory));
    for (uint32_t row = 0, next = 0; row < cast->length; row++) {
        const bool is_selected = next < cast->selection.count && nl_selection_row(cast->selection, next) == row;
        next += is_selected;
        if (!is_selected) {
            NL_GO(nl_column_builder_null(column));
            continue;
        }
        nl_variant variant;
        NL_GO(nl_variant_reader_at(&reader, row, &variant));
        NL_GO(nl_variant_cast_append(&how, &variant, cast->to, column));
    }
done:
    nl_variant_reader_close(&reader);
    nl_variant_cast_fini(&how);
    return status;
}

nl_status nl_cast_variant(nl_cast *cast, nl_vector *out)
{
    nl_column_builder *column = NULL;
    NL_TRY(nl_column_builder_new(cast->to, cast->eval->memory, &column));
    nl_status status = cast->from->id == NL_TYPE_VARIANT ? from_variant(cast, column) : to_variant(cast, column);
    if (status == NULL) status = nl_column_builder_finish(column, out);
    nl_column_builder_free(column);
    return status;
}
