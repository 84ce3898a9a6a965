/* sql/ast_statement.h - every statement of Spark 4.0.1 with the Iceberg extensions, one struct with all its parts. */
#pragma once

#include "sql/ast_query.h"

typedef struct nl_ast_statement nl_ast_statement;

/* ---- parts that several statements share ----------------------------------------------------------------------- */

/* (key = value, key value, key). Keys of several parts are joined by dots, as Spark does. */
typedef struct nl_ast_property {
    nl_str key;
    bool has_value;
    nl_str value;      /* strings without quotes, numbers as written, true and false in lower case              */
    bool is_string;    /* the value was a string literal                                                       */
    nl_ast_expr *expr;     /* OPTIONS of CREATE TABLE only: the value is an expression, and `value` is not set      */
    nl_ast_range range;
} nl_ast_property;

typedef struct nl_ast_properties {
    nl_ast_property *items;
    uint32_t count;
    nl_ast_range range;
} nl_ast_properties;

/* PARTITION (a = 1, b, c = DEFAULT) */
typedef struct nl_ast_partition_value {
    nl_ast_ident name;
    nl_ast_expr *value; /* a literal; NULL: only the name */
    bool is_default;
} nl_ast_partition_value;

typedef struct nl_ast_partition_spec {
    nl_ast_partition_value *items;
    uint32_t count;
    nl_ast_range range;
} nl_ast_partition_spec;

/* One element of PARTITIONED BY, or of Iceberg's PARTITION FIELD and WRITE ORDERED BY: a column, a transform, or (in
 * PARTITIONED BY only) a new column with its type. */
typedef struct nl_ast_transform_argument {
    nl_ast_name column;    /* count 0: then */
    nl_ast_expr *constant; /* a literal     */
} nl_ast_transform_argument;

typedef struct nl_ast_partition_field {
    nl_ast_name column;  /* identity                                   */
    nl_ast_ident transform; /* bucket, truncate, years …: with arguments */
    nl_ast_transform_argument *arguments;
    uint32_t argument_count;
    nl_ast_field *new_column; /* `c int` */
    nl_ast_range range;
} nl_ast_partition_field;

typedef struct nl_ast_partition_fields {
    nl_ast_partition_field *items;
    uint32_t count;
} nl_ast_partition_fields;

typedef struct nl_ast_column_definition {
    nl_ast_ident name;
    nl_ast_type *type;
    bool is_not_null;
    nl_ast_expr *default_value;
    nl_str default_text; /* the expression as written: Spark stores it */
    bool has_comment;
    nl_str comment;
    nl_ast_expr *generated;  /* GENERATED ALWAYS AS (e) */
    nl_str generated_text;
    bool is_identity;    /* GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY */
    bool is_identity_always;
    bool has_start, has_step;
    int64_t start, step;
    nl_ast_range range;
} nl_ast_column_definition;

typedef struct nl_ast_column_definitions {
    nl_ast_column_definition *items;
    uint32_t count;
} nl_ast_column_definitions;

typedef struct nl_ast_column_position { /* FIRST | AFTER name */
    enum { NL_AST_POSITION_UNSAID, NL_AST_POSITION_FIRST, NL_AST_POSITION_AFTER } kind;
    nl_ast_ident after;
} nl_ast_column_position;

typedef struct nl_ast_bucket_spec { /* CLUSTERED BY (…) SORTED BY (…) INTO n BUCKETS */
    nl_ast_idents columns;
    nl_ast_sort_items sorted_by; /* of plain columns */
    int32_t count;
    nl_ast_range range;
} nl_ast_bucket_spec;

typedef struct nl_ast_skew_spec { /* SKEWED BY (…) ON (…): refused by the parser as Spark does; kept for the printer's sake */
    nl_ast_idents columns;
    nl_ast_range range;
} nl_ast_skew_spec;

typedef struct nl_ast_file_format { /* STORED AS x | STORED AS INPUTFORMAT … OUTPUTFORMAT … | STORED BY handler */
    nl_ast_ident name;
    nl_str input_format;
    nl_str output_format;
    nl_str handler;
    nl_ast_properties *handler_properties;
    nl_ast_range range;
} nl_ast_file_format;

/* What may follow the columns of CREATE and REPLACE TABLE, each at most once. */
typedef struct nl_ast_table_clauses {
    nl_ast_properties *options; /* values are expressions */
    nl_ast_partition_fields partitioned_by;
    nl_ast_names cluster_by;
    bool has_cluster_by;
    nl_ast_bucket_spec *bucket;
    nl_ast_row_format *row_format;
    nl_ast_file_format *file_format;
    nl_str location; /* data NULL: absent */
    bool has_comment;
    nl_str comment;
    nl_ast_ident collation;
    nl_ast_properties *properties;
} nl_ast_table_clauses;

/* ---- writes ---------------------------------------------------------------------------------------------------- */

/* What happens to the folder of a DataFrame's save; INSERT OVERWRITE DIRECTORY is the first. */
typedef enum nl_ast_directory_mode { NL_AST_DIRECTORY_OVERWRITE, NL_AST_DIRECTORY_APPEND, NL_AST_DIRECTORY_ERROR, NL_AST_DIRECTORY_IGNORE } nl_ast_directory_mode;

typedef struct nl_ast_insert_target {
    bool is_overwrite;
    bool is_dynamic; /* of a DataFrame's overwritePartitions: whatever the session's mode is */
    nl_ast_directory_mode directory_mode;
    nl_ast_name table;
    nl_ast_properties *options; /* WITH (…) */
    nl_ast_partition_spec *partition;
    bool is_if_not_exists;
    bool is_by_name;
    nl_ast_idents columns;
    nl_ast_expr *replace_where; /* INSERT INTO t REPLACE WHERE */
    bool is_directory;      /* INSERT OVERWRITE [LOCAL] DIRECTORY */
    bool is_local;
    nl_str path; /* data NULL: only in the OPTIONS */
    nl_ast_row_format *row_format;
    nl_ast_file_format *file_format;
    nl_ast_name provider;
    nl_ast_properties *directory_options;
    const nl_str *folder_columns; /* of a DataFrame's partitionBy: their values are the names of folders */
    uint32_t folder_column_count;
    nl_ast_range range;
} nl_ast_insert_target;

typedef struct nl_ast_insert {
    nl_ast_ctes ctes;
    nl_ast_insert_target target;
    nl_ast_query *query;
} nl_ast_insert;

typedef struct nl_ast_multi_insert { /* FROM x INSERT … SELECT … INSERT … SELECT …: every query has that FROM */
    nl_ast_ctes ctes;
    nl_ast_relation *from;
    nl_ast_insert_target *targets;
    nl_ast_query **queries; /* select->from of each begins at `from` */
    uint32_t count;
} nl_ast_multi_insert;

typedef struct nl_ast_delete {
    nl_ast_ctes ctes;
    nl_ast_name table;
    nl_ast_table_alias alias;
    nl_ast_expr *where;
} nl_ast_delete;

typedef struct nl_ast_update {
    nl_ast_ctes ctes;
    nl_ast_name table;
    nl_ast_table_alias alias;
    nl_ast_assignments assignments;
    nl_ast_expr *where;
} nl_ast_update;

typedef enum nl_ast_merge_when { NL_AST_WHEN_MATCHED, NL_AST_WHEN_NOT_MATCHED, NL_AST_WHEN_NOT_MATCHED_BY_SOURCE } nl_ast_merge_when;
typedef enum nl_ast_merge_action { NL_AST_MERGE_DELETE, NL_AST_MERGE_UPDATE, NL_AST_MERGE_UPDATE_STAR, NL_AST_MERGE_INSERT, NL_AST_MERGE_INSERT_STAR } nl_ast_merge_action;

typedef struct nl_ast_merge_clause {
    nl_ast_merge_when when;
    nl_ast_expr *condition;
    nl_ast_merge_action action;
    nl_ast_assignments assignments; /* UPDATE */
    nl_ast_names columns;           /* INSERT */
    nl_ast_exprs values;            /* INSERT */
    nl_ast_range range;
} nl_ast_merge_clause;

typedef struct nl_ast_merge {
    nl_ast_ctes ctes;
    bool is_schema_evolution;
    nl_ast_name table;
    nl_ast_table_alias alias;
    nl_ast_name source_table; /* or */
    nl_ast_query *source_query;
    nl_ast_table_alias source_alias;
    nl_ast_expr *condition;
    nl_ast_merge_clause *clauses; /* in written order: MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE */
    uint32_t clause_count;
} nl_ast_merge;

/* ---- tables, views, namespaces, functions ---------------------------------------------------------------------- */

typedef struct nl_ast_create_table {
    bool is_create;  /* CREATE was written  */
    bool is_replace; /* REPLACE was written */
    bool is_saved;   /* by DataFrameWriter.saveAsTable: its overwrite drops a table of plain files, which REPLACE does not */
    bool is_temporary;
    bool is_external;
    bool is_if_not_exists;
    nl_ast_name name;
    bool has_columns;
    nl_ast_column_definitions columns;
    nl_ast_name provider; /* USING */
    nl_ast_table_clauses clauses;
    nl_ast_query *query;  /* AS */
} nl_ast_create_table;

typedef struct nl_ast_create_table_like {
    bool is_if_not_exists;
    nl_ast_name name;
    nl_ast_name source;
    nl_ast_name provider;
    nl_ast_row_format *row_format;
    nl_ast_file_format *file_format;
    nl_str location;
    nl_ast_properties *properties;
} nl_ast_create_table_like;

typedef enum nl_ast_schema_binding {
    NL_AST_BINDING_UNSAID,
    NL_AST_BINDING_BINDING,
    NL_AST_BINDING_COMPENSATION,
    NL_AST_BINDING_TYPE_EVOLUTION,
    NL_AST_BINDING_EVOLUTION
} nl_ast_schema_binding;

typedef struct nl_ast_view_column {
    nl_ast_ident name;
    bool has_comment;
    nl_str comment;
} nl_ast_view_column;

typedef struct nl_ast_create_view {
    bool is_replace;
    bool is_global;
    bool is_temporary;
    bool is_if_not_exists;
    nl_ast_name name;
    nl_ast_view_column *columns;
    uint32_t column_count;
    bool has_comment;
    nl_str comment;
    nl_ast_schema_binding binding;
    nl_ast_ident collation;
    nl_ast_properties *properties;
    nl_ast_query *query;
    nl_str query_text; /* as written: Spark stores it */
} nl_ast_create_view;

typedef struct nl_ast_create_temp_view_using {
    bool is_replace;
    bool is_global;
    nl_ast_name name;
    bool has_columns;
    nl_ast_fields columns;
    nl_ast_name provider;
    nl_ast_properties *options;
} nl_ast_create_temp_view_using;

typedef struct nl_ast_alter_view {
    nl_ast_name name;
    nl_ast_query *query; /* AS query; or binding */
    nl_str query_text;
    nl_ast_schema_binding binding;
} nl_ast_alter_view;

typedef struct nl_ast_create_namespace {
    bool is_if_not_exists;
    nl_ast_name name;
    bool has_comment;
    nl_str comment;
    nl_str location;
    nl_ast_properties *properties;
} nl_ast_create_namespace;

typedef struct nl_ast_alter_namespace {
    enum { NL_AST_NAMESPACE_SET_PROPERTIES, NL_AST_NAMESPACE_UNSET_PROPERTIES, NL_AST_NAMESPACE_SET_LOCATION } action;
    nl_ast_name name;
    nl_ast_properties *properties;
    nl_str location;
} nl_ast_alter_namespace;

typedef enum nl_ast_object_kind {
    NL_AST_OBJECT_TABLE,
    NL_AST_OBJECT_VIEW,
    NL_AST_OBJECT_NAMESPACE,
    NL_AST_OBJECT_FUNCTION,
    NL_AST_OBJECT_VARIABLE,
    NL_AST_OBJECT_INDEX
} nl_ast_object_kind;

typedef struct nl_ast_drop {
    nl_ast_object_kind object;
    bool is_temporary; /* FUNCTION, VARIABLE */
    bool is_if_exists;
    nl_ast_name name;      /* INDEX: of the table */
    nl_ast_ident index;
    bool is_purge;     /* TABLE */
    bool is_cascade;   /* NAMESPACE; RESTRICT is the default */
} nl_ast_drop;

typedef struct nl_ast_resource {
    nl_ast_ident kind; /* JAR, FILE, ARCHIVE */
    nl_str path;
} nl_ast_resource;

typedef struct nl_ast_create_function {
    bool is_replace;
    bool is_temporary;
    bool is_if_not_exists;
    nl_ast_name name;
    /* AS 'class' USING … */
    nl_str class_name; /* data NULL: an SQL function */
    nl_ast_resource *resources;
    uint32_t resource_count;
    /* f(p type …) RETURNS … RETURN … */
    nl_ast_column_definitions parameters;
    nl_ast_type *returns;
    bool is_table; /* RETURNS TABLE (…) */
    nl_ast_fields table_columns;
    nl_str language; /* upper case not forced; data NULL: not given */
    nl_ast_ident specific_name;
    enum { NL_AST_DETERMINISM_UNSAID, NL_AST_DETERMINISTIC, NL_AST_NOT_DETERMINISTIC } determinism;
    enum { NL_AST_DATA_UNSAID, NL_AST_DATA_NO_SQL, NL_AST_DATA_CONTAINS_SQL, NL_AST_DATA_READS_SQL, NL_AST_DATA_MODIFIES_SQL } data_access;
    enum { NL_AST_NULL_CALL_UNSAID, NL_AST_RETURNS_NULL, NL_AST_CALLED_ON_NULL } null_call;
    enum { NL_AST_RIGHTS_UNSAID, NL_AST_RIGHTS_INVOKER, NL_AST_RIGHTS_DEFINER } rights;
    bool has_comment;
    nl_str comment;
    nl_ast_expr *body_expr; /* or */
    nl_ast_query *body_query;
    nl_str body_text;
} nl_ast_create_function;

typedef struct nl_ast_declare_variable {
    bool is_replace;
    nl_ast_name name;
    nl_ast_type *type;
    nl_ast_expr *default_value;
    nl_str default_text;
} nl_ast_declare_variable;

typedef struct nl_ast_index_column {
    nl_ast_name column;
    nl_ast_properties *options;
} nl_ast_index_column;

typedef struct nl_ast_create_index {
    bool is_if_not_exists;
    nl_ast_ident name;
    nl_ast_name table;
    nl_ast_ident type;
    nl_ast_index_column *columns;
    uint32_t column_count;
    nl_ast_properties *options;
} nl_ast_create_index;

/* ---- ALTER TABLE ----------------------------------------------------------------------------------------------- */

typedef enum nl_ast_alter_action {
    NL_AST_ALTER_ADD_COLUMNS,       /* columns                                      */
    NL_AST_ALTER_RENAME_COLUMN,     /* column, new_name                             */
    NL_AST_ALTER_DROP_COLUMNS,      /* is_if_exists, drop_columns                   */
    NL_AST_ALTER_RENAME_TABLE,      /* rename_to; also of a view                    */
    NL_AST_ALTER_SET_PROPERTIES,    /* properties; also of a view                   */
    NL_AST_ALTER_UNSET_PROPERTIES,  /* is_if_exists, properties; also of a view     */
    NL_AST_ALTER_COLUMNS,           /* columns, each with one change                */
    NL_AST_ALTER_CHANGE_COLUMN,     /* Hive's CHANGE COLUMN a b type: columns[0], new_name */
    NL_AST_ALTER_REPLACE_COLUMNS,   /* columns                                      */
    NL_AST_ALTER_SET_SERDE,         /* serde, properties                            */
    NL_AST_ALTER_ADD_PARTITIONS,    /* is_if_not_exists, partitions                 */
    NL_AST_ALTER_RENAME_PARTITION,  /* partition, partitions[0]                     */
    NL_AST_ALTER_DROP_PARTITIONS,   /* is_if_exists, partitions, is_purge           */
    NL_AST_ALTER_SET_LOCATION,      /* location, perhaps partition                  */
    NL_AST_ALTER_RECOVER_PARTITIONS,
    NL_AST_ALTER_CLUSTER_BY,        /* names; none: CLUSTER BY NONE                 */
    NL_AST_ALTER_COLLATION,         /* new_name                                     */
    /* Iceberg's */
    NL_AST_ALTER_ADD_PARTITION_FIELD,     /* field, new_name                         */
    NL_AST_ALTER_DROP_PARTITION_FIELD,    /* field                                   */
    NL_AST_ALTER_REPLACE_PARTITION_FIELD, /* field, by, new_name                     */
    NL_AST_ALTER_WRITE,                   /* write                                   */
    NL_AST_ALTER_SET_IDENTIFIER_FIELDS,   /* names                                   */
    NL_AST_ALTER_DROP_IDENTIFIER_FIELDS,  /* names                                   */
    NL_AST_ALTER_CREATE_REF,              /* ref                                     */
    NL_AST_ALTER_DROP_REF                 /* ref: is_tag, name; is_if_exists         */
} nl_ast_alter_action;

/* A column as ADD, ALTER and REPLACE COLUMNS give it. For ALTER exactly one of the changes is there. */
typedef struct nl_ast_alter_column {
    nl_ast_name column;
    nl_ast_type *type;
    bool is_not_null;      /* NOT NULL, SET NOT NULL  */
    bool is_drop_not_null;
    nl_ast_expr *default_value;
    nl_str default_text;
    bool is_drop_default;
    bool has_comment;
    nl_str comment;
    nl_ast_column_position position;
    nl_ast_range range;
} nl_ast_alter_column;

typedef struct nl_ast_alter_partition {
    nl_ast_partition_spec spec;
    nl_str location;
} nl_ast_alter_partition;

typedef struct nl_ast_write_order { /* transform [ASC|DESC] [NULLS FIRST|LAST] */
    nl_ast_partition_field field;
    bool is_descending;
    bool is_nulls_first; /* resolved */
    bool has_direction;
    bool has_nulls;
} nl_ast_write_order;

typedef struct nl_ast_write_spec { /* WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY … | UNORDERED] */
    bool is_distributed;
    bool is_unordered;
    bool is_ordered;
    bool is_locally;
    nl_ast_write_order *orders;
    uint32_t order_count;
} nl_ast_write_spec;

typedef enum nl_ast_time_unit { NL_AST_TIME_NONE, NL_AST_TIME_MINUTES, NL_AST_TIME_HOURS, NL_AST_TIME_DAYS } nl_ast_time_unit;

typedef struct nl_ast_ref_options { /* {CREATE [OR REPLACE] | REPLACE} {BRANCH | TAG} … */
    bool is_tag;
    bool is_create;
    bool is_replace;
    bool is_if_not_exists;
    nl_ast_ident name;
    bool has_version;
    int64_t version;
    int64_t retain;
    nl_ast_time_unit retain_unit;
    bool has_snapshot_retention;
    bool has_min_snapshots;
    int64_t min_snapshots;
    int64_t max_age;
    nl_ast_time_unit max_age_unit;
} nl_ast_ref_options;

typedef struct nl_ast_alter_table {
    nl_ast_alter_action action;
    bool is_view; /* ALTER VIEW */
    nl_ast_name name;
    nl_ast_partition_spec *partition;
    bool is_if_exists;
    bool is_if_not_exists;
    bool is_purge;
    nl_ast_alter_column *columns;
    uint32_t column_count;
    nl_ast_name column;
    nl_ast_ident new_name;
    nl_ast_name rename_to;
    nl_ast_names names; /* also DROP COLUMNS */
    nl_ast_properties *properties;
    nl_str serde;
    nl_str location;
    nl_ast_alter_partition *partitions;
    uint32_t partition_count;
    nl_ast_partition_field *field;
    nl_ast_partition_field *by;
    nl_ast_write_spec *write;
    nl_ast_ref_options *ref;
} nl_ast_alter_table;

/* ---- looking, session, maintenance ----------------------------------------------------------------------------- */

typedef enum nl_ast_show_kind {
    NL_AST_SHOW_NAMESPACES,       /* name, pattern */
    NL_AST_SHOW_TABLES,           /* name, pattern */
    NL_AST_SHOW_TABLE_EXTENDED,   /* name, pattern, partition */
    NL_AST_SHOW_TBLPROPERTIES,    /* name, key     */
    NL_AST_SHOW_COLUMNS,          /* name, namespace */
    NL_AST_SHOW_VIEWS,            /* name, pattern */
    NL_AST_SHOW_PARTITIONS,       /* name, partition */
    NL_AST_SHOW_FUNCTIONS,        /* scope, name, pattern or legacy_pattern */
    NL_AST_SHOW_CREATE_TABLE,     /* name, is_serde */
    NL_AST_SHOW_CURRENT_NAMESPACE,
    NL_AST_SHOW_CATALOGS,         /* pattern */
} nl_ast_show_kind;

typedef struct nl_ast_show {
    nl_ast_show_kind kind;
    nl_ast_name name;       /* count 0 and no expression: absent */
    nl_ast_name namespace_name; /* COLUMNS: FROM t FROM ns */
    nl_str pattern;     /* data NULL: absent */
    nl_ast_name legacy_pattern; /* FUNCTIONS LIKE name */
    nl_ast_ident scope;     /* FUNCTIONS: USER, SYSTEM, ALL */
    nl_str key;
    nl_ast_partition_spec *partition;
    bool is_serde;
} nl_ast_show;

typedef struct nl_ast_describe {
    enum { NL_AST_DESCRIBE_FUNCTION, NL_AST_DESCRIBE_NAMESPACE, NL_AST_DESCRIBE_TABLE, NL_AST_DESCRIBE_QUERY } kind;
    bool is_extended; /* EXTENDED or FORMATTED */
    nl_ast_name name;     /* FUNCTION: an operator or a string is one part */
    nl_ast_partition_spec *partition;
    nl_ast_name column;
    bool is_json;
    nl_ast_query *query;
    nl_str query_text;
} nl_ast_describe;

typedef enum nl_ast_explain_mode {
    NL_AST_EXPLAIN_SIMPLE,
    NL_AST_EXPLAIN_EXTENDED,
    NL_AST_EXPLAIN_FORMATTED,
    NL_AST_EXPLAIN_CODEGEN,
    NL_AST_EXPLAIN_COST,
    NL_AST_EXPLAIN_LOGICAL,
    NL_AST_EXPLAIN_ANALYZE /* nilas: runs the query and says what each operator did */
} nl_ast_explain_mode;

typedef struct nl_ast_explain {
    nl_ast_explain_mode mode;
    nl_ast_statement *statement;
} nl_ast_explain;

typedef struct nl_ast_comment_on {
    bool is_namespace; /* else TABLE */
    nl_ast_name name;
    bool is_null;
    nl_str comment;
} nl_ast_comment_on;

typedef struct nl_ast_refresh {
    enum { NL_AST_REFRESH_TABLE, NL_AST_REFRESH_FUNCTION, NL_AST_REFRESH_RESOURCE } kind;
    nl_ast_name name;
    nl_str path; /* RESOURCE: string content or raw text */
} nl_ast_refresh;

typedef struct nl_ast_cache { /* CACHE [LAZY] TABLE t [OPTIONS …] [AS q], UNCACHE TABLE [IF EXISTS] t */
    bool is_lazy;
    bool is_if_exists;
    nl_ast_name name;
    nl_ast_properties *options;
    nl_ast_query *query;
    nl_str query_text;
} nl_ast_cache;

typedef struct nl_ast_analyze {
    bool is_tables; /* ANALYZE TABLES [IN name] */
    nl_ast_name name;
    nl_ast_partition_spec *partition;
    bool is_noscan;
    bool is_all_columns;
    nl_ast_idents columns;
} nl_ast_analyze;

typedef struct nl_ast_load_data {
    bool is_local;
    bool is_overwrite;
    nl_str path;
    nl_ast_name table;
    nl_ast_partition_spec *partition;
} nl_ast_load_data;

typedef struct nl_ast_truncate {
    nl_ast_name table;
    nl_ast_partition_spec *partition;
} nl_ast_truncate;

typedef struct nl_ast_repair {
    nl_ast_name table;
    enum { NL_AST_REPAIR_UNSAID, NL_AST_REPAIR_ADD, NL_AST_REPAIR_DROP, NL_AST_REPAIR_SYNC } option;
} nl_ast_repair;

typedef struct nl_ast_manage_resource { /* ADD JAR x, LIST FILES x y */
    bool is_list;
    nl_ast_ident kind;
    nl_str *paths; /* quotes removed */
    uint32_t path_count;
} nl_ast_manage_resource;

typedef struct nl_ast_call_procedure {
    nl_ast_name name;
    nl_ast_arguments args;
} nl_ast_call_procedure;

typedef struct nl_ast_use {
    bool is_namespace; /* USE NAMESPACE n */
    nl_ast_name name;
} nl_ast_use;

typedef struct nl_ast_set_catalog {
    nl_ast_name name; /* an identifier, a string (is_quoted) or IDENTIFIER(…) */
    bool is_string;
} nl_ast_set_catalog;

/* SET, SET k, SET k=v, SET -v. Texts are as written, trimmed; quotes of `k` and v are removed where Spark does so. */
typedef struct nl_ast_set_conf {
    bool is_verbose;
    nl_str key;   /* data NULL: SET alone */
    nl_str value; /* data NULL: SET k     */
} nl_ast_set_conf;

typedef struct nl_ast_set_time_zone {
    bool is_local;
    nl_str zone;
    nl_ast_expr *interval; /* SET TIME ZONE INTERVAL … */
} nl_ast_set_time_zone;

typedef struct nl_ast_set_variable { /* SET VAR a = 1, b = 2 | SET VAR (a, b) = (query) */
    nl_ast_assignments assignments;
    nl_ast_names targets;
    nl_ast_query *query;
} nl_ast_set_variable;

typedef struct nl_ast_reset {
    nl_str key; /* data NULL: everything */
} nl_ast_reset;

typedef struct nl_ast_execute_immediate {
    bool is_string;
    nl_str text; /* a string, or */
    nl_ast_name variable;
    nl_ast_names into;
    nl_ast_exprs arguments; /* may be NL_AST_EXPR_ALIAS */
    bool has_using;
} nl_ast_execute_immediate;

/* ---- scripts --------------------------------------------------------------------------------------------------- */

typedef struct nl_ast_statements {
    nl_ast_statement **items;
    uint32_t count;
} nl_ast_statements;

typedef struct nl_ast_branch { /* IF/ELSEIF/WHEN condition THEN statements */
    nl_ast_expr *condition;
    nl_ast_statements body;
} nl_ast_branch;

typedef struct nl_ast_block { /* [label:] BEGIN [NOT ATOMIC] … END [label] */
    nl_ast_ident label;
    bool is_not_atomic;
    nl_ast_statements body;
} nl_ast_block;

typedef struct nl_ast_condition_value {
    enum { NL_AST_ON_SQLSTATE, NL_AST_ON_SQLEXCEPTION, NL_AST_ON_NOT_FOUND, NL_AST_ON_CONDITION } kind;
    nl_str sqlstate;
    nl_ast_name condition;
} nl_ast_condition_value;

typedef struct nl_ast_declare_handler {
    bool is_continue; /* else EXIT */
    nl_ast_condition_value *conditions;
    uint32_t condition_count;
    nl_ast_statement *body;
} nl_ast_declare_handler;

typedef struct nl_ast_declare_condition {
    nl_ast_name name;
    nl_str sqlstate; /* "45000" when not given */
    bool has_sqlstate;
} nl_ast_declare_condition;

typedef struct nl_ast_script_branches { /* IF and CASE */
    nl_ast_expr *operand; /* simple CASE */
    nl_ast_branch *branches;
    uint32_t branch_count;
    bool has_else;
    nl_ast_statements otherwise;
} nl_ast_script_branches;

typedef struct nl_ast_script_loop { /* WHILE, REPEAT … UNTIL, LOOP, FOR */
    nl_ast_ident label;
    nl_ast_expr *condition;
    nl_ast_ident variable; /* FOR v AS query */
    nl_ast_query *query;
    nl_ast_statements body;
} nl_ast_script_loop;

/* ---- the statement --------------------------------------------------------------------------------------------- */

typedef enum nl_ast_statement_kind {
    NL_AST_STATEMENT_QUERY,
    NL_AST_STATEMENT_INSERT,
    NL_AST_STATEMENT_MULTI_INSERT,
    NL_AST_STATEMENT_DELETE,
    NL_AST_STATEMENT_UPDATE,
    NL_AST_STATEMENT_MERGE,
    NL_AST_STATEMENT_CREATE_TABLE, /* also REPLACE TABLE */
    NL_AST_STATEMENT_CREATE_TABLE_LIKE,
    NL_AST_STATEMENT_CREATE_VIEW,
    NL_AST_STATEMENT_CREATE_TEMP_VIEW_USING,
    NL_AST_STATEMENT_CREATE_NAMESPACE,
    NL_AST_STATEMENT_CREATE_FUNCTION,
    NL_AST_STATEMENT_CREATE_INDEX,
    NL_AST_STATEMENT_ALTER_TABLE, /* also the ALTER VIEW forms it shares, and Iceberg's */
    NL_AST_STATEMENT_ALTER_VIEW,
    NL_AST_STATEMENT_ALTER_NAMESPACE,
    NL_AST_STATEMENT_DROP,
    NL_AST_STATEMENT_TRUNCATE,
    NL_AST_STATEMENT_DECLARE_VARIABLE,
    NL_AST_STATEMENT_SHOW,
    NL_AST_STATEMENT_DESCRIBE,
    NL_AST_STATEMENT_EXPLAIN,
    NL_AST_STATEMENT_COMMENT_ON,
    NL_AST_STATEMENT_REFRESH,
    NL_AST_STATEMENT_CACHE,
    NL_AST_STATEMENT_UNCACHE,
    NL_AST_STATEMENT_CLEAR_CACHE,
    NL_AST_STATEMENT_ANALYZE,
    NL_AST_STATEMENT_LOAD_DATA,
    NL_AST_STATEMENT_REPAIR,
    NL_AST_STATEMENT_MANAGE_RESOURCE,
    NL_AST_STATEMENT_CALL,
    NL_AST_STATEMENT_USE,
    NL_AST_STATEMENT_SET_CATALOG,
    NL_AST_STATEMENT_SET_CONF,
    NL_AST_STATEMENT_SET_TIME_ZONE,
    NL_AST_STATEMENT_SET_VARIABLE,
    NL_AST_STATEMENT_RESET,
    NL_AST_STATEMENT_EXECUTE_IMMEDIATE,
    /* scripts; all but BLOCK only inside one */
    NL_AST_STATEMENT_BLOCK,
    NL_AST_STATEMENT_DECLARE_CONDITION,
    NL_AST_STATEMENT_DECLARE_HANDLER,
    NL_AST_STATEMENT_IF,
    NL_AST_STATEMENT_CASE,
    NL_AST_STATEMENT_WHILE,
    NL_AST_STATEMENT_REPEAT,
    NL_AST_STATEMENT_LOOP,
    NL_AST_STATEMENT_FOR,
    NL_AST_STATEMENT_LEAVE,
    NL_AST_STATEMENT_ITERATE,
    NL_AST_STATEMENT_KIND_COUNT
} nl_ast_statement_kind;

struct nl_ast_statement {
    nl_ast_statement_kind kind;
    nl_ast_range range;
    nl_str text;              /* the whole text that was parsed, kept for error contexts; borrowed by the arena's user */
    uint32_t parameter_count; /* of ?; top statement only */
    bool is_in_script;        /* SET_VARIABLE: written as SET a = 1 inside BEGIN … END */
    union {
        nl_ast_query *query;
        nl_ast_insert *insert;
        nl_ast_multi_insert *multi_insert;
        nl_ast_delete *delete;
        nl_ast_update *update;
        nl_ast_merge *merge;
        nl_ast_create_table *create_table;
        nl_ast_create_table_like *create_table_like;
        nl_ast_create_view *create_view;
        nl_ast_create_temp_view_using *create_temp_view_using;
        nl_ast_create_namespace *create_namespace;
        nl_ast_create_function *create_function;
        nl_ast_create_index *create_index;
        nl_ast_alter_table *alter_table;
        nl_ast_alter_view *alter_view;
        nl_ast_alter_namespace *alter_namespace;
        nl_ast_drop *drop;
        nl_ast_truncate *truncate;
        nl_ast_declare_variable *declare_variable;
        nl_ast_show *show;
        nl_ast_describe *describe;
        nl_ast_explain *explain;
        nl_ast_comment_on *comment_on;
        nl_ast_refresh *refresh;
        nl_ast_cache *cache;
        nl_ast_analyze *analyze;
        nl_ast_load_data *load_data;
        nl_ast_repair *repair;
        nl_ast_manage_resource *manage_resource;
        nl_ast_call_procedure *call;
        nl_ast_use *use;
        nl_ast_set_catalog *set_catalog;
        nl_ast_set_conf *set_conf;
        nl_ast_set_time_zone *set_time_zone;
        nl_ast_set_variable *set_variable;
        nl_ast_reset *reset;
        nl_ast_execute_immediate *execute_immediate;
        nl_ast_block *block;
        nl_ast_declare_condition *declare_condition;
        nl_ast_declare_handler *declare_handler;
        nl_ast_script_branches *branches; /* IF, CASE */
        nl_ast_script_loop *loop;         /* WHILE, REPEAT, LOOP, FOR */
        nl_ast_ident label;               /* LEAVE, ITERATE */
    };
};
