/* sql/ast_statement.h - every statement of Spark 4.0.1 with the Iceberg extensions, one struct with all its parts. */
#pragma once

#include "sql/ast_query.h"

typedef struct nl_statement nl_statement;

/* ---- parts that several statements share ----------------------------------------------------------------------- */

/* (key = value, key value, key). Keys of several parts are joined by dots, as Spark does. */
typedef struct nl_property {
    nl_str key;
    bool has_value;
    nl_str value;      /* strings without quotes, numbers as written, true and false in lower case              */
    bool is_string;    /* the value was a string literal                                                       */
    nl_expr *expr;     /* OPTIONS of CREATE TABLE only: the value is an expression, and `value` is not set      */
    nl_range range;
} nl_property;

typedef struct nl_properties {
    nl_property *items;
    uint32_t count;
    nl_range range;
} nl_properties;

/* PARTITION (a = 1, b, c = DEFAULT) */
typedef struct nl_partition_value {
    nl_ident name;
    nl_expr *value; /* a literal; NULL: only the name */
    bool is_default;
} nl_partition_value;

typedef struct nl_partition_spec {
    nl_partition_value *items;
    uint32_t count;
    nl_range range;
} nl_partition_spec;

/* One element of PARTITIONED BY, or of Iceberg's PARTITION FIELD and WRITE ORDERED BY: a column, a transform, or (in
 * PARTITIONED BY only) a new column with its type. */
typedef struct nl_transform_argument {
    nl_name column;    /* count 0: then */
    nl_expr *constant; /* a literal     */
} nl_transform_argument;

typedef struct nl_partition_field {
    nl_name column;  /* identity                                   */
    nl_ident transform; /* bucket, truncate, years …: with arguments */
    nl_transform_argument *arguments;
    uint32_t argument_count;
    nl_ast_field *new_column; /* `c int` */
    nl_range range;
} nl_partition_field;

typedef struct nl_partition_fields {
    nl_partition_field *items;
    uint32_t count;
} nl_partition_fields;

typedef struct nl_column_definition {
    nl_ident name;
    nl_ast_type *type;
    bool is_not_null;
    nl_expr *default_value;
    nl_str default_text; /* the expression as written: Spark stores it */
    bool has_comment;
    nl_str comment;
    nl_expr *generated;  /* GENERATED ALWAYS AS (e) */
    nl_str generated_text;
    bool is_identity;    /* GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY */
    bool is_identity_always;
    bool has_start, has_step;
    int64_t start, step;
    nl_range range;
} nl_column_definition;

typedef struct nl_column_definitions {
    nl_column_definition *items;
    uint32_t count;
} nl_column_definitions;

typedef struct nl_column_position { /* FIRST | AFTER name */
    enum { NL_POSITION_UNSAID, NL_POSITION_FIRST, NL_POSITION_AFTER } kind;
    nl_ident after;
} nl_column_position;

typedef struct nl_bucket_spec { /* CLUSTERED BY (…) SORTED BY (…) INTO n BUCKETS */
    nl_idents columns;
    nl_sort_items sorted_by; /* of plain columns */
    int32_t count;
    nl_range range;
} nl_bucket_spec;

typedef struct nl_skew_spec { /* SKEWED BY (…) ON (…): refused by the parser as Spark does; kept for the printer's sake */
    nl_idents columns;
    nl_range range;
} nl_skew_spec;

typedef struct nl_file_format { /* STORED AS x | STORED AS INPUTFORMAT … OUTPUTFORMAT … | STORED BY handler */
    nl_ident name;
    nl_str input_format;
    nl_str output_format;
    nl_str handler;
    nl_properties *handler_properties;
    nl_range range;
} nl_file_format;

/* What may follow the columns of CREATE and REPLACE TABLE, each at most once. */
typedef struct nl_table_clauses {
    nl_properties *options; /* values are expressions */
    nl_partition_fields partitioned_by;
    nl_names cluster_by;
    bool has_cluster_by;
    nl_bucket_spec *bucket;
    nl_row_format *row_format;
    nl_file_format *file_format;
    nl_str location; /* data NULL: absent */
    bool has_comment;
    nl_str comment;
    nl_ident collation;
    nl_properties *properties;
} nl_table_clauses;

/* ---- writes ---------------------------------------------------------------------------------------------------- */

typedef struct nl_insert_target {
    bool is_overwrite;
    nl_name table;
    nl_properties *options; /* WITH (…) */
    nl_partition_spec *partition;
    bool is_if_not_exists;
    bool is_by_name;
    nl_idents columns;
    nl_expr *replace_where; /* INSERT INTO t REPLACE WHERE */
    bool is_directory;      /* INSERT OVERWRITE [LOCAL] DIRECTORY */
    bool is_local;
    nl_str path; /* data NULL: only in the OPTIONS */
    nl_row_format *row_format;
    nl_file_format *file_format;
    nl_name provider;
    nl_properties *directory_options;
    nl_range range;
} nl_insert_target;

typedef struct nl_insert {
    nl_ctes ctes;
    nl_insert_target target;
    nl_query *query;
} nl_insert;

typedef struct nl_multi_insert { /* FROM x INSERT … SELECT … INSERT … SELECT …: every query has that FROM */
    nl_ctes ctes;
    nl_relation *from;
    nl_insert_target *targets;
    nl_query **queries; /* select->from of each begins at `from` */
    uint32_t count;
} nl_multi_insert;

typedef struct nl_delete {
    nl_ctes ctes;
    nl_name table;
    nl_table_alias alias;
    nl_expr *where;
} nl_delete;

typedef struct nl_update {
    nl_ctes ctes;
    nl_name table;
    nl_table_alias alias;
    nl_assignments assignments;
    nl_expr *where;
} nl_update;

typedef enum nl_merge_when { NL_WHEN_MATCHED, NL_WHEN_NOT_MATCHED, NL_WHEN_NOT_MATCHED_BY_SOURCE } nl_merge_when;
typedef enum nl_merge_action { NL_MERGE_DELETE, NL_MERGE_UPDATE, NL_MERGE_UPDATE_STAR, NL_MERGE_INSERT, NL_MERGE_INSERT_STAR } nl_merge_action;

typedef struct nl_merge_clause {
    nl_merge_when when;
    nl_expr *condition;
    nl_merge_action action;
    nl_assignments assignments; /* UPDATE */
    nl_names columns;           /* INSERT */
    nl_exprs values;            /* INSERT */
    nl_range range;
} nl_merge_clause;

typedef struct nl_merge {
    nl_ctes ctes;
    bool is_schema_evolution;
    nl_name table;
    nl_table_alias alias;
    nl_name source_table; /* or */
    nl_query *source_query;
    nl_table_alias source_alias;
    nl_expr *condition;
    nl_merge_clause *clauses; /* in written order: MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE */
    uint32_t clause_count;
} nl_merge;

/* ---- tables, views, namespaces, functions ---------------------------------------------------------------------- */

typedef struct nl_create_table {
    bool is_create;  /* CREATE was written  */
    bool is_replace; /* REPLACE was written */
    bool is_temporary;
    bool is_external;
    bool is_if_not_exists;
    nl_name name;
    bool has_columns;
    nl_column_definitions columns;
    nl_name provider; /* USING */
    nl_table_clauses clauses;
    nl_query *query;  /* AS */
} nl_create_table;

typedef struct nl_create_table_like {
    bool is_if_not_exists;
    nl_name name;
    nl_name source;
    nl_name provider;
    nl_row_format *row_format;
    nl_file_format *file_format;
    nl_str location;
    nl_properties *properties;
} nl_create_table_like;

typedef enum nl_schema_binding {
    NL_BINDING_UNSAID,
    NL_BINDING_BINDING,
    NL_BINDING_COMPENSATION,
    NL_BINDING_TYPE_EVOLUTION,
    NL_BINDING_EVOLUTION
} nl_schema_binding;

typedef struct nl_view_column {
    nl_ident name;
    bool has_comment;
    nl_str comment;
} nl_view_column;

typedef struct nl_create_view {
    bool is_replace;
    bool is_global;
    bool is_temporary;
    bool is_if_not_exists;
    nl_name name;
    nl_view_column *columns;
    uint32_t column_count;
    bool has_comment;
    nl_str comment;
    nl_schema_binding binding;
    nl_ident collation;
    nl_properties *properties;
    nl_query *query;
    nl_str query_text; /* as written: Spark stores it */
} nl_create_view;

typedef struct nl_create_temp_view_using {
    bool is_replace;
    bool is_global;
    nl_name name;
    bool has_columns;
    nl_ast_fields columns;
    nl_name provider;
    nl_properties *options;
} nl_create_temp_view_using;

typedef struct nl_alter_view {
    nl_name name;
    nl_query *query; /* AS query; or binding */
    nl_str query_text;
    nl_schema_binding binding;
} nl_alter_view;

typedef struct nl_create_namespace {
    bool is_if_not_exists;
    nl_name name;
    bool has_comment;
    nl_str comment;
    nl_str location;
    nl_properties *properties;
} nl_create_namespace;

typedef struct nl_alter_namespace {
    enum { NL_NAMESPACE_SET_PROPERTIES, NL_NAMESPACE_UNSET_PROPERTIES, NL_NAMESPACE_SET_LOCATION } action;
    nl_name name;
    nl_properties *properties;
    nl_str location;
} nl_alter_namespace;

typedef enum nl_object_kind {
    NL_OBJECT_TABLE,
    NL_OBJECT_VIEW,
    NL_OBJECT_NAMESPACE,
    NL_OBJECT_FUNCTION,
    NL_OBJECT_VARIABLE,
    NL_OBJECT_INDEX
} nl_object_kind;

typedef struct nl_drop {
    nl_object_kind object;
    bool is_temporary; /* FUNCTION, VARIABLE */
    bool is_if_exists;
    nl_name name;      /* INDEX: of the table */
    nl_ident index;
    bool is_purge;     /* TABLE */
    bool is_cascade;   /* NAMESPACE; RESTRICT is the default */
} nl_drop;

typedef struct nl_resource {
    nl_ident kind; /* JAR, FILE, ARCHIVE */
    nl_str path;
} nl_resource;

typedef struct nl_create_function {
    bool is_replace;
    bool is_temporary;
    bool is_if_not_exists;
    nl_name name;
    /* AS 'class' USING … */
    nl_str class_name; /* data NULL: an SQL function */
    nl_resource *resources;
    uint32_t resource_count;
    /* f(p type …) RETURNS … RETURN … */
    nl_column_definitions parameters;
    nl_ast_type *returns;
    bool is_table; /* RETURNS TABLE (…) */
    nl_ast_fields table_columns;
    nl_str language; /* upper case not forced; data NULL: not given */
    nl_ident specific_name;
    enum { NL_DETERMINISM_UNSAID, NL_DETERMINISTIC, NL_NOT_DETERMINISTIC } determinism;
    enum { NL_DATA_UNSAID, NL_DATA_NO_SQL, NL_DATA_CONTAINS_SQL, NL_DATA_READS_SQL, NL_DATA_MODIFIES_SQL } data_access;
    enum { NL_NULL_CALL_UNSAID, NL_RETURNS_NULL, NL_CALLED_ON_NULL } null_call;
    enum { NL_RIGHTS_UNSAID, NL_RIGHTS_INVOKER, NL_RIGHTS_DEFINER } rights;
    bool has_comment;
    nl_str comment;
    nl_expr *body_expr; /* or */
    nl_query *body_query;
    nl_str body_text;
} nl_create_function;

typedef struct nl_declare_variable {
    bool is_replace;
    nl_name name;
    nl_ast_type *type;
    nl_expr *default_value;
    nl_str default_text;
} nl_declare_variable;

typedef struct nl_index_column {
    nl_name column;
    nl_properties *options;
} nl_index_column;

typedef struct nl_create_index {
    bool is_if_not_exists;
    nl_ident name;
    nl_name table;
    nl_ident type;
    nl_index_column *columns;
    uint32_t column_count;
    nl_properties *options;
} nl_create_index;

/* ---- ALTER TABLE ----------------------------------------------------------------------------------------------- */

typedef enum nl_alter_action {
    NL_ALTER_ADD_COLUMNS,       /* columns                                      */
    NL_ALTER_RENAME_COLUMN,     /* column, new_name                             */
    NL_ALTER_DROP_COLUMNS,      /* is_if_exists, drop_columns                   */
    NL_ALTER_RENAME_TABLE,      /* rename_to; also of a view                    */
    NL_ALTER_SET_PROPERTIES,    /* properties; also of a view                   */
    NL_ALTER_UNSET_PROPERTIES,  /* is_if_exists, properties; also of a view     */
    NL_ALTER_COLUMNS,           /* columns, each with one change                */
    NL_ALTER_CHANGE_COLUMN,     /* Hive's CHANGE COLUMN a b type: columns[0], new_name */
    NL_ALTER_REPLACE_COLUMNS,   /* columns                                      */
    NL_ALTER_SET_SERDE,         /* serde, properties                            */
    NL_ALTER_ADD_PARTITIONS,    /* is_if_not_exists, partitions                 */
    NL_ALTER_RENAME_PARTITION,  /* partition, partitions[0]                     */
    NL_ALTER_DROP_PARTITIONS,   /* is_if_exists, partitions, is_purge           */
    NL_ALTER_SET_LOCATION,      /* location, perhaps partition                  */
    NL_ALTER_RECOVER_PARTITIONS,
    NL_ALTER_CLUSTER_BY,        /* names; none: CLUSTER BY NONE                 */
    NL_ALTER_COLLATION,         /* new_name                                     */
    /* Iceberg's */
    NL_ALTER_ADD_PARTITION_FIELD,     /* field, new_name                         */
    NL_ALTER_DROP_PARTITION_FIELD,    /* field                                   */
    NL_ALTER_REPLACE_PARTITION_FIELD, /* field, by, new_name                     */
    NL_ALTER_WRITE,                   /* write                                   */
    NL_ALTER_SET_IDENTIFIER_FIELDS,   /* names                                   */
    NL_ALTER_DROP_IDENTIFIER_FIELDS,  /* names                                   */
    NL_ALTER_CREATE_REF,              /* ref                                     */
    NL_ALTER_DROP_REF                 /* ref: is_tag, name; is_if_exists         */
} nl_alter_action;

/* A column as ADD, ALTER and REPLACE COLUMNS give it. For ALTER exactly one of the changes is there. */
typedef struct nl_alter_column {
    nl_name column;
    nl_ast_type *type;
    bool is_not_null;      /* NOT NULL, SET NOT NULL  */
    bool is_drop_not_null;
    nl_expr *default_value;
    nl_str default_text;
    bool is_drop_default;
    bool has_comment;
    nl_str comment;
    nl_column_position position;
    nl_range range;
} nl_alter_column;

typedef struct nl_alter_partition {
    nl_partition_spec spec;
    nl_str location;
} nl_alter_partition;

typedef struct nl_write_order { /* transform [ASC|DESC] [NULLS FIRST|LAST] */
    nl_partition_field field;
    bool is_descending;
    bool is_nulls_first; /* resolved */
    bool has_direction;
    bool has_nulls;
} nl_write_order;

typedef struct nl_write_spec { /* WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY … | UNORDERED] */
    bool is_distributed;
    bool is_unordered;
    bool is_ordered;
    bool is_locally;
    nl_write_order *orders;
    uint32_t order_count;
} nl_write_spec;

typedef enum nl_time_unit { NL_TIME_NONE, NL_TIME_MINUTES, NL_TIME_HOURS, NL_TIME_DAYS } nl_time_unit;

typedef struct nl_ref_options { /* {CREATE [OR REPLACE] | REPLACE} {BRANCH | TAG} … */
    bool is_tag;
    bool is_create;
    bool is_replace;
    bool is_if_not_exists;
    nl_ident name;
    bool has_version;
    int64_t version;
    int64_t retain;
    nl_time_unit retain_unit;
    bool has_snapshot_retention;
    bool has_min_snapshots;
    int64_t min_snapshots;
    int64_t max_age;
    nl_time_unit max_age_unit;
} nl_ref_options;

typedef struct nl_alter_table {
    nl_alter_action action;
    bool is_view; /* ALTER VIEW */
    nl_name name;
    nl_partition_spec *partition;
    bool is_if_exists;
    bool is_if_not_exists;
    bool is_purge;
    nl_alter_column *columns;
    uint32_t column_count;
    nl_name column;
    nl_ident new_name;
    nl_name rename_to;
    nl_names names; /* also DROP COLUMNS */
    nl_properties *properties;
    nl_str serde;
    nl_str location;
    nl_alter_partition *partitions;
    uint32_t partition_count;
    nl_partition_field *field;
    nl_partition_field *by;
    nl_write_spec *write;
    nl_ref_options *ref;
} nl_alter_table;

/* ---- looking, session, maintenance ----------------------------------------------------------------------------- */

typedef enum nl_show_kind {
    NL_SHOW_NAMESPACES,       /* name, pattern */
    NL_SHOW_TABLES,           /* name, pattern */
    NL_SHOW_TABLE_EXTENDED,   /* name, pattern, partition */
    NL_SHOW_TBLPROPERTIES,    /* name, key     */
    NL_SHOW_COLUMNS,          /* name, namespace */
    NL_SHOW_VIEWS,            /* name, pattern */
    NL_SHOW_PARTITIONS,       /* name, partition */
    NL_SHOW_FUNCTIONS,        /* scope, name, pattern or legacy_pattern */
    NL_SHOW_CREATE_TABLE,     /* name, is_serde */
    NL_SHOW_CURRENT_NAMESPACE,
    NL_SHOW_CATALOGS,         /* pattern */
} nl_show_kind;

typedef struct nl_show {
    nl_show_kind kind;
    nl_name name;       /* count 0 and no expression: absent */
    nl_name namespace_name; /* COLUMNS: FROM t FROM ns */
    nl_str pattern;     /* data NULL: absent */
    nl_name legacy_pattern; /* FUNCTIONS LIKE name */
    nl_ident scope;     /* FUNCTIONS: USER, SYSTEM, ALL */
    nl_str key;
    nl_partition_spec *partition;
    bool is_serde;
} nl_show;

typedef struct nl_describe {
    enum { NL_DESCRIBE_FUNCTION, NL_DESCRIBE_NAMESPACE, NL_DESCRIBE_TABLE, NL_DESCRIBE_QUERY } kind;
    bool is_extended; /* EXTENDED or FORMATTED */
    nl_name name;     /* FUNCTION: an operator or a string is one part */
    nl_partition_spec *partition;
    nl_name column;
    bool is_json;
    nl_query *query;
    nl_str query_text;
} nl_describe;

typedef struct nl_explain {
    enum { NL_EXPLAIN_SIMPLE, NL_EXPLAIN_EXTENDED, NL_EXPLAIN_FORMATTED, NL_EXPLAIN_CODEGEN, NL_EXPLAIN_COST, NL_EXPLAIN_LOGICAL } mode;
    nl_statement *statement;
} nl_explain;

typedef struct nl_comment_on {
    bool is_namespace; /* else TABLE */
    nl_name name;
    bool is_null;
    nl_str comment;
} nl_comment_on;

typedef struct nl_refresh {
    enum { NL_REFRESH_TABLE, NL_REFRESH_FUNCTION, NL_REFRESH_RESOURCE } kind;
    nl_name name;
    nl_str path; /* RESOURCE: string content or raw text */
} nl_refresh;

typedef struct nl_cache { /* CACHE [LAZY] TABLE t [OPTIONS …] [AS q], UNCACHE TABLE [IF EXISTS] t */
    bool is_lazy;
    bool is_if_exists;
    nl_name name;
    nl_properties *options;
    nl_query *query;
    nl_str query_text;
} nl_cache;

typedef struct nl_analyze {
    bool is_tables; /* ANALYZE TABLES [IN name] */
    nl_name name;
    nl_partition_spec *partition;
    bool is_noscan;
    bool is_all_columns;
    nl_idents columns;
} nl_analyze;

typedef struct nl_load_data {
    bool is_local;
    bool is_overwrite;
    nl_str path;
    nl_name table;
    nl_partition_spec *partition;
} nl_load_data;

typedef struct nl_truncate {
    nl_name table;
    nl_partition_spec *partition;
} nl_truncate;

typedef struct nl_repair {
    nl_name table;
    enum { NL_REPAIR_UNSAID, NL_REPAIR_ADD, NL_REPAIR_DROP, NL_REPAIR_SYNC } option;
} nl_repair;

typedef struct nl_manage_resource { /* ADD JAR x, LIST FILES x y */
    bool is_list;
    nl_ident kind;
    nl_str *paths; /* quotes removed */
    uint32_t path_count;
} nl_manage_resource;

typedef struct nl_call_procedure {
    nl_name name;
    nl_arguments args;
} nl_call_procedure;

typedef struct nl_use {
    bool is_namespace; /* USE NAMESPACE n */
    nl_name name;
} nl_use;

typedef struct nl_set_catalog {
    nl_name name; /* an identifier, a string (is_quoted) or IDENTIFIER(…) */
    bool is_string;
} nl_set_catalog;

/* SET, SET k, SET k=v, SET -v. Texts are as written, trimmed; quotes of `k` and v are removed where Spark does so. */
typedef struct nl_set_conf {
    bool is_verbose;
    nl_str key;   /* data NULL: SET alone */
    nl_str value; /* data NULL: SET k     */
} nl_set_conf;

typedef struct nl_set_time_zone {
    bool is_local;
    nl_str zone;
    nl_expr *interval; /* SET TIME ZONE INTERVAL … */
} nl_set_time_zone;

typedef struct nl_set_variable { /* SET VAR a = 1, b = 2 | SET VAR (a, b) = (query) */
    nl_assignments assignments;
    nl_names targets;
    nl_query *query;
} nl_set_variable;

typedef struct nl_reset {
    nl_str key; /* data NULL: everything */
} nl_reset;

typedef struct nl_execute_immediate {
    bool is_string;
    nl_str text; /* a string, or */
    nl_name variable;
    nl_names into;
    nl_exprs arguments; /* may be NL_EXPR_ALIAS */
    bool has_using;
} nl_execute_immediate;

/* ---- scripts --------------------------------------------------------------------------------------------------- */

typedef struct nl_statements {
    nl_statement **items;
    uint32_t count;
} nl_statements;

typedef struct nl_branch { /* IF/ELSEIF/WHEN condition THEN statements */
    nl_expr *condition;
    nl_statements body;
} nl_branch;

typedef struct nl_block { /* [label:] BEGIN [NOT ATOMIC] … END [label] */
    nl_ident label;
    bool is_not_atomic;
    nl_statements body;
} nl_block;

typedef struct nl_condition_value {
    enum { NL_ON_SQLSTATE, NL_ON_SQLEXCEPTION, NL_ON_NOT_FOUND, NL_ON_CONDITION } kind;
    nl_str sqlstate;
    nl_name condition;
} nl_condition_value;

typedef struct nl_declare_handler {
    bool is_continue; /* else EXIT */
    nl_condition_value *conditions;
    uint32_t condition_count;
    nl_statement *body;
} nl_declare_handler;

typedef struct nl_declare_condition {
    nl_name name;
    nl_str sqlstate; /* "45000" when not given */
    bool has_sqlstate;
} nl_declare_condition;

typedef struct nl_script_branches { /* IF and CASE */
    nl_expr *operand; /* simple CASE */
    nl_branch *branches;
    uint32_t branch_count;
    bool has_else;
    nl_statements otherwise;
} nl_script_branches;

typedef struct nl_script_loop { /* WHILE, REPEAT … UNTIL, LOOP, FOR */
    nl_ident label;
    nl_expr *condition;
    nl_ident variable; /* FOR v AS query */
    nl_query *query;
    nl_statements body;
} nl_script_loop;

/* ---- the statement --------------------------------------------------------------------------------------------- */

typedef enum nl_statement_kind {
    NL_STATEMENT_QUERY,
    NL_STATEMENT_INSERT,
    NL_STATEMENT_MULTI_INSERT,
    NL_STATEMENT_DELETE,
    NL_STATEMENT_UPDATE,
    NL_STATEMENT_MERGE,
    NL_STATEMENT_CREATE_TABLE, /* also REPLACE TABLE */
    NL_STATEMENT_CREATE_TABLE_LIKE,
    NL_STATEMENT_CREATE_VIEW,
    NL_STATEMENT_CREATE_TEMP_VIEW_USING,
    NL_STATEMENT_CREATE_NAMESPACE,
    NL_STATEMENT_CREATE_FUNCTION,
    NL_STATEMENT_CREATE_INDEX,
    NL_STATEMENT_ALTER_TABLE, /* also the ALTER VIEW forms it shares, and Iceberg's */
    NL_STATEMENT_ALTER_VIEW,
    NL_STATEMENT_ALTER_NAMESPACE,
    NL_STATEMENT_DROP,
    NL_STATEMENT_TRUNCATE,
    NL_STATEMENT_DECLARE_VARIABLE,
    NL_STATEMENT_SHOW,
    NL_STATEMENT_DESCRIBE,
    NL_STATEMENT_EXPLAIN,
    NL_STATEMENT_COMMENT_ON,
    NL_STATEMENT_REFRESH,
    NL_STATEMENT_CACHE,
    NL_STATEMENT_UNCACHE,
    NL_STATEMENT_CLEAR_CACHE,
    NL_STATEMENT_ANALYZE,
    NL_STATEMENT_LOAD_DATA,
    NL_STATEMENT_REPAIR,
    NL_STATEMENT_MANAGE_RESOURCE,
    NL_STATEMENT_CALL,
    NL_STATEMENT_USE,
    NL_STATEMENT_SET_CATALOG,
    NL_STATEMENT_SET_CONF,
    NL_STATEMENT_SET_TIME_ZONE,
    NL_STATEMENT_SET_VARIABLE,
    NL_STATEMENT_RESET,
    NL_STATEMENT_EXECUTE_IMMEDIATE,
    /* scripts; all but BLOCK only inside one */
    NL_STATEMENT_BLOCK,
    NL_STATEMENT_DECLARE_CONDITION,
    NL_STATEMENT_DECLARE_HANDLER,
    NL_STATEMENT_IF,
    NL_STATEMENT_CASE,
    NL_STATEMENT_WHILE,
    NL_STATEMENT_REPEAT,
    NL_STATEMENT_LOOP,
    NL_STATEMENT_FOR,
    NL_STATEMENT_LEAVE,
    NL_STATEMENT_ITERATE,
    NL_STATEMENT_KIND_COUNT
} nl_statement_kind;

struct nl_statement {
    nl_statement_kind kind;
    nl_range range;
    nl_str text;              /* the whole text that was parsed, kept for error contexts; borrowed by the arena's user */
    uint32_t parameter_count; /* of ?; top statement only */
    union {
        nl_query *query;
        nl_insert *insert;
        nl_multi_insert *multi_insert;
        nl_delete *delete;
        nl_update *update;
        nl_merge *merge;
        nl_create_table *create_table;
        nl_create_table_like *create_table_like;
        nl_create_view *create_view;
        nl_create_temp_view_using *create_temp_view_using;
        nl_create_namespace *create_namespace;
        nl_create_function *create_function;
        nl_create_index *create_index;
        nl_alter_table *alter_table;
        nl_alter_view *alter_view;
        nl_alter_namespace *alter_namespace;
        nl_drop *drop;
        nl_truncate *truncate;
        nl_declare_variable *declare_variable;
        nl_show *show;
        nl_describe *describe;
        nl_explain *explain;
        nl_comment_on *comment_on;
        nl_refresh *refresh;
        nl_cache *cache;
        nl_analyze *analyze;
        nl_load_data *load_data;
        nl_repair *repair;
        nl_manage_resource *manage_resource;
        nl_call_procedure *call;
        nl_use *use;
        nl_set_catalog *set_catalog;
        nl_set_conf *set_conf;
        nl_set_time_zone *set_time_zone;
        nl_set_variable *set_variable;
        nl_reset *reset;
        nl_execute_immediate *execute_immediate;
        nl_block *block;
        nl_declare_condition *declare_condition;
        nl_declare_handler *declare_handler;
        nl_script_branches *branches; /* IF, CASE */
        nl_script_loop *loop;         /* WHILE, REPEAT, LOOP, FOR */
        nl_ident label;               /* LEAVE, ITERATE */
    };
};
