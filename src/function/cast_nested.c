/* function/cast_nested.c - casts of arrays, maps and structs: the parent's shape is shared, the children are cast.
 *
 * Only elements that a selected row reaches are cast, since others may hold values that would raise.
 */
#include "function/cast_internal.h"

/* The children's rows that selected list rows reach, ascending; NL_ALL_ROWS when all are reached. */
static nl_status reached_elements(const nl_cast *cast, const nl_vector *flat, uint32_t child_length, nl_buffer **buffer,
                                  nl_selection *selection)
{
    const nl_list_view *lists = flat->values;
    nl_buffer *marks = NULL;
    NL_TRY(nl_buffer_new(cast->eval->memory, NL_MAX(child_length, 1u), true, &marks));
    uint32_t reached = 0;
    for (uint32_t i = 0; i < cast->selection.count; i++) {
        uint32_t row = nl_selection_row(cast->selection, i);
        for (uint32_t e = lists[row].offset; e < lists[row].offset + lists[row].length; e++) {
            reached += !marks->data[e];
            marks->data[e] = 1;
        }
    }
    *selection = NL_ALL_ROWS(child_length);
    nl_status status = NULL;
    if (reached < child_length) {
        status = nl_buffer_new(cast->eval->memory, nl_size_mul(NL_MAX(reached, 1u), sizeof(uint32_t)), false, buffer);
        if (status == NULL) {
            uint32_t *rows = (uint32_t *)(void *)(*buffer)->data;
            uint32_t count = 0;
            for (uint32_t e = 0; e < child_length; e++)
                if (marks->data[e]) rows[count++] = e;
            *selection = (nl_selection){.rows = rows, .count = count};
        }
    }
    nl_buffer_release(marks);
    return status;
}

nl_status nl_cast_nested(nl_cast *cast, nl_vector *out)
{
    nl_vector flat = {0};
    nl_buffer *rows = NULL;
    nl_status status = NULL;
    NL_TRY(nl_vector_flatten(cast->source, false, cast->eval->memory, &flat));
    nl_vector_ref(&flat, out);
    for (uint32_t c = 0; c < out->child_count; c++) {
        const nl_type *target = cast->to->children[c].type;
        nl_selection selection = cast->selection;
        if (cast->to->physical == NL_PHYS_LIST)
            NL_GO(reached_elements(cast, &flat, flat.children[c].length, &rows, &selection));
        nl_vector child = {0};
        NL_GO(nl_cast_vector(cast->eval, cast->mode, &flat.children[c], target, selection, &child));
        nl_vector_fini(&out->children[c]);
        out->children[c] = child;
        nl_buffer_release(rows);
        rows = NULL;
    }
    out->type = cast->to;
done:
    nl_buffer_release(rows);
    nl_vector_fini(&flat);
    if (status != NULL) nl_vector_fini(out);
    return status;
}
