/* iceberg/sort_order.h - sort orders (spec: "Sorting"). */
#pragma once

#include "iceberg/partition.h"

typedef struct nl_sort_field {
    nl_transform transform;
    int32_t source_id;
    bool is_descending;
    bool nulls_last;
} nl_sort_field;

typedef struct nl_sort_order {
    int32_t order_id; /* 0: unsorted */
    uint32_t field_count;
    const nl_sort_field *fields;
} nl_sort_order;

bool nl_sort_order_same_fields(const nl_sort_order *a, const nl_sort_order *b);
/* An ordering by `a` is also one by `b`. */
bool nl_sort_order_satisfies(const nl_sort_order *a, const nl_sort_order *b);
const nl_sort_order *nl_sort_order_copy(nl_arena *arena, const nl_sort_order *order);
NL_MUST_USE nl_status nl_sort_order_check(nl_arena *arena, const nl_sort_order *order, const nl_schema *schema);
NL_MUST_USE nl_status nl_sort_order_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_sort_order **order);
void nl_sort_order_append_json(const nl_sort_order *order, nl_builder *out);
/* "id DESC NULLS LAST, bucket(4, s) ASC NULLS FIRST": the property sort-order of SHOW TBLPROPERTIES. */
nl_str nl_sort_order_describe(nl_arena *arena, const nl_sort_order *order, const nl_schema *schema);
