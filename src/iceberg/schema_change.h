/* iceberg/schema_change.h - the inside of nl_schema_update, for schema_update.c and schema_apply.c only. */
#pragma once

#include "iceberg/schema_update.h"

typedef struct nl_column_change {
    nl_ice_field field; /* with the changes */
    bool is_updated;
    bool is_deleted;
} nl_column_change;

typedef struct nl_added_column {
    int32_t parent_id; /* 0: the top level */
    nl_str full_name;
    nl_ice_field field;
    bool is_updated;
} nl_added_column;

typedef enum nl_move_kind { NL_MOVE_FIRST, NL_MOVE_BEFORE, NL_MOVE_AFTER } nl_move_kind;
typedef struct nl_column_move {
    nl_move_kind kind;
    int32_t parent_id;
    int32_t field_id;
    int32_t reference_id; /* BEFORE, AFTER */
} nl_column_move;

struct nl_schema_update {
    nl_arena *arena;
    const nl_schema *base;
    nl_schema_update_options options;
    int32_t last_column_id;
    nl_column_change **changes; /* one per base->columns, NULL: none */
    nl_list added;              /* of nl_added_column */
    nl_list moves;              /* of nl_column_move, in order */
    nl_list identifier_names;   /* of nl_str */
};

bool nl_schema_update_deletes(const nl_schema_update *update, int32_t field_id);
