/* command/facts.h - what DESCRIBE and SHOW tell of one relation: an Iceberg table, one of its metadata tables, a view.
 */
#pragma once

#include "command/command_private.h"
#include "exec/sources.h"

typedef struct nl_facts {
    nl_str name;                       /* "lake.db.t", "lake.db.t.files"; as Iceberg names the table */
    const nl_type *row_type;           /* STRUCT of the columns, with comments */
    const nl_column *columns;          /* the same, as a plan gives them */
    const nl_temp_view *view;          /* or NULL; borrowed from the session, or made of catalog_view */
    const nl_view_metadata *catalog_view; /* a view that a catalog keeps; or NULL */
    const nl_table *source;            /* an Iceberg table's source or a metadata table's; NULL: a view, plain files */
    const nl_table_metadata *metadata; /* the table's; NULL as source is. Lives as long as the command */
    const nl_snapshot *snapshot;       /* what is read; or NULL: nothing yet */
    bool is_metadata_table;
    const struct nl_plain_table *plain; /* a table over plain files; or NULL */
} nl_facts;

/* Finds the relation that `parts` name. Everything is in the command's arena or kept by the command.
 * Fails: TABLE_OR_VIEW_NOT_FOUND at `range`. */
NL_MUST_USE nl_status nl_facts_find(nl_command *command, const nl_str *parts, uint32_t part_count, nl_ast_range range,
                                    nl_facts *facts);
NL_MUST_USE nl_status nl_facts_find_name(nl_command *command, const nl_ast_name *name, nl_facts *facts);

/* What Spark tells of a view that the session catalog keeps, in its order. */
#define NL_VIEW_FACTS_MAX 16u
typedef struct nl_view_fact {
    const char *title;
    nl_str value;
} nl_view_fact;
uint32_t nl_view_facts(nl_command *command, const nl_facts *facts, nl_view_fact *items);
/* "Mon Nov 30 15:45:31 UTC 2026", as Java shows a Date. */
nl_str nl_facts_time(nl_command *command, int64_t micros);

/* The table's properties as Spark shows them: with Iceberg's own (format, current-snapshot-id …), without those that
 * have a row of their own (comment, owner …), secrets covered, sorted by key. */
void nl_facts_properties(nl_command *command, const nl_facts *facts, const nl_property **items, uint32_t *count);
/* "[a=1,b=2]" */
nl_str nl_facts_list_text(nl_command *command, const nl_property *items, uint32_t count); /* "[k=v, p=q]", by key, secrets covered */
nl_str nl_facts_properties_text(nl_command *command, const nl_facts *facts);
nl_str nl_facts_comment(const nl_facts *facts); /* data NULL: none; as nl_facts_owner */
nl_str nl_facts_owner(const nl_facts *facts);

/* The partition fields in force, dropped ones (void) left out. count 0: unpartitioned. */
typedef struct nl_facts_partition {
    const nl_partition_field *field;
    nl_str source;          /* "st.`x y`": quoted where it must be */
    nl_str plain;           /* "st.x y" */
    nl_str text;            /* "days(ts)", "bucket(4, id)", "st.a" */
    const nl_field *column; /* of row_type, the nested field itself; NULL: not found */
} nl_facts_partition;
void nl_facts_partitions(nl_command *command, const nl_facts *facts, const nl_facts_partition **items, uint32_t *count);

/* Rows and bytes as Spark's planner estimates them. -1: unknown. */
NL_MUST_USE nl_status nl_facts_statistics(const nl_facts *facts, int64_t *row_count, int64_t *bytes);

/* Says where in the statement an analysis failed, in Spark's form "; line 1 pos 9". Returns its argument. */
nl_status nl_facts_at(nl_command *command, nl_status status, nl_ast_range range);
/* A builder's text in the command's arena; ends the builder. */
nl_str nl_facts_take(nl_command *command, nl_builder *text);
/* Like nl_command_quoted for one part, but only where a plain identifier would not do. */
nl_str nl_facts_identifier(nl_command *command, nl_str name);
