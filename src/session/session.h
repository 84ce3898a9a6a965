/* session/session.h - what one connection holds: confs, catalogs, current namespace, temporary views, variables,
 * cancellation, and what its statements share (memory, workers).
 *
 * Threads: one statement at a time; nl_session_cancel may come from any thread or signal handler.
 */
#pragma once

#include <stdatomic.h>

#include "base/pool.h"
#include "catalog/catalog.h"
#include "column/value.h"
#include "sql/parser.h"

typedef struct nl_session nl_session;
struct nl_ast_query; /* sql/ast.h */

/* *session is owned. Confs given here are the start values (spark-defaults.conf, --conf), names of any case kept. */
NL_MUST_USE nl_status nl_session_new(const nl_property *confs, uint32_t conf_count, nl_session **session);
/* What the sessions of one program share, as Spark's SharedState: global temporary views, the views, functions and tables over
 * plain files of the session catalog. Counted; threads: any. */
typedef struct nl_shared_objects nl_shared_objects;
nl_shared_objects *nl_shared_objects_new(void); /* owned; NULL: no memory */
nl_shared_objects *nl_shared_objects_retain(nl_shared_objects *list);
void nl_shared_objects_release(nl_shared_objects *list); /* NULL is fine */
/* With it a budget that theirs lie below, and workers. NULL: each has its own. */
typedef struct nl_session_shared {
    nl_memory *memory; /* counted */
    nl_pool *pool;     /* borrowed: outlives the sessions */
    nl_shared_objects *objects; /* counted */
} nl_session_shared;
NL_MUST_USE nl_status nl_session_new_sharing(const nl_property *confs, uint32_t conf_count, const nl_session_shared *shared, nl_session **session);
void nl_session_free(nl_session *session);
nl_shared_objects *nl_session_shared_objects(const nl_session *session); /* borrowed */
/* How often sessions of the program have changed tables over plain files: what one keeps of them may be old when it has grown. */
uint64_t nl_session_change_count(const nl_session *session);
void nl_session_note_change(nl_session *session);
uint64_t nl_session_number(const nl_session *session);                   /* no other session of the program has it, nor had */

/* Confs. Known ones are rows of session/confs.def with type, default and one line of documentation; others are kept as
 * given, as Spark does. Values are checked: INVALID_CONF_VALUE.*, CANNOT_MODIFY_CONFIG for static ones. */
NL_MUST_USE nl_status nl_session_set(nl_session *session, nl_str key, nl_str value);
/* A start value that comes later, before any statement: from the builder of the program that the session belongs to. Static
 * ones count, too. */
NL_MUST_USE nl_status nl_session_set_initial(nl_session *session, nl_str key, nl_str value);
NL_MUST_USE nl_status nl_session_unset(nl_session *session, nl_str key);
/* The value in force; data NULL: unknown and unset. Borrowed until the next set. */
nl_str nl_session_get(const nl_session *session, nl_str key);
bool nl_session_get_bool(const nl_session *session, const char *key);
int64_t nl_session_get_int(const nl_session *session, const char *key);
int64_t nl_session_get_bytes(const nl_session *session, const char *key);  /* "1g"; 0: unset, or no size */
int64_t nl_session_get_millis(const nl_session *session, const char *key); /* "2m", "100ms", "5" (milliseconds); 0: unset, or no time */
/* What the confs say to the parser, and of what timestamps without a zone in their type's name are. */
nl_sql_options nl_session_sql_options(const nl_session *session);
bool nl_session_prefers_timestamp_ntz(const nl_session *session);
/* Explicitly set ones, sorted by key; in the arena. */
void nl_session_list(const nl_session *session, nl_arena *arena, const nl_property **confs, uint32_t *conf_count);
typedef struct nl_conf_row {
    const char *key;
    const char *type;          /* "boolean" "int" "string" "time" "bytes" "enum" */
    const char *default_value; /* NULL: <undefined> */
    bool is_static;
    const char *since;
    const char *doc;
} nl_conf_row;
const nl_conf_row *nl_conf_at(uint32_t i);  /* NULL past the end */
const nl_conf_row *nl_conf_find(nl_str key); /* exact */
bool nl_conf_is_known(nl_str key);           /* a row, a catalog, a known property of one, or of a family that needs no effect here */
nl_str nl_conf_nearest(nl_arena *arena, nl_str key); /* the known key that differs least; empty when none is near */

/* For sessions of strangers (Athena, Trino): files are those of `files` (counted here) and nothing else of this machine,
 * catalogs are those that were put (nl_session_put_catalog) and no built-in ones, and settings cannot be changed. */
void nl_session_confine(nl_session *session, nl_fs *files);
bool nl_session_is_confined(const nl_session *session);

/* Catalogs by name, made when first named. CATALOG_NOT_FOUND. Borrowed: lives as long as the session. */
NL_MUST_USE nl_status nl_session_catalog(nl_session *session, nl_str name, nl_catalog **catalog);
/* A catalog of the process itself under its own name (the lakehouse's services); counted: taken, also on failure. */
NL_MUST_USE nl_status nl_session_put_catalog(nl_session *session, nl_catalog *catalog);
const nl_commit_environment *nl_session_environment(const nl_session *session); /* for catalogs made so; lives as long as the session */
bool nl_session_has_catalog(const nl_session *session, nl_str name); /* configured or built in */
/* Names of catalogs loaded so far, spark_catalog included, sorted: SHOW CATALOGS. */
void nl_session_catalog_names(const nl_session *session, nl_arena *arena, const nl_str **names, uint32_t *name_count);
nl_str nl_session_current_catalog(const nl_session *session);
void nl_session_current_namespace(const nl_session *session, const nl_str **parts, uint32_t *part_count); /* borrowed */
nl_str nl_session_default_namespace(const nl_session *session, nl_str catalog); /* where USE catalog begins; borrowed */
NL_MUST_USE nl_status nl_session_use(nl_session *session, nl_str catalog, const nl_str *namespace_parts, uint32_t part_count); /* checked by the caller */

/* a.b.c as written → catalog and the rest: the first part when it names a catalog, else the current one (and its
 * current namespace when only one part is left). Results borrow from parts, session and arena. */
typedef struct nl_session_name {
    nl_catalog *catalog;
    nl_str catalog_name;
    nl_identifier identifier;
} nl_session_name;
NL_MUST_USE nl_status nl_session_resolve(nl_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_session_name *name);
/* The same for a namespace: no parts gives the current one. */
NL_MUST_USE nl_status nl_session_resolve_namespace(nl_session *session, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_session_name *name);

/* `default` of spark_catalog is there before anything was written into it; everything else the catalog knows. */
bool nl_session_is_default_database(const nl_session_name *name);
NL_MUST_USE nl_status nl_session_namespace_exists(const nl_session_name *name, bool *exists);

/* Temporary views. The definition is SQL text with the namespace it was made in, or an opaque handle (a relation over
 * files with options, a DataFrame plan) that `free` ends. */
typedef struct nl_temp_view {
    nl_str name;
    bool is_global;             /* in global_temp */
    nl_str sql;                 /* empty: handle */
    nl_str catalog;             /* in force when it was made */
    const nl_str *namespace_parts;
    uint32_t namespace_count;
    const nl_field *columns;    /* names given, or NULL; of a view that is kept by its full name: what it had when it was made */
    uint32_t column_count;
    const nl_str *query_columns; /* with a binding: what its query calls them */
    nl_ast_schema_binding binding; /* of a view that is kept by its full name; UNSAID: spark.sql.legacy.viewSchemaBindingMode is off */
    int64_t created_micros;
    nl_str comment;
    nl_str collation;           /* DEFAULT COLLATION; or empty */
    const nl_property *properties;
    uint32_t property_count;
    void *handle;
    void *(*retain)(void *handle); /* what a copy of the view holds */
    void (*free)(void *handle);
    /* A DataFrame: its query, made anew in the arena of each statement that names the view. NULL: the handle is a table. */
    nl_status (*make_query)(void *handle, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text);
} nl_temp_view;
/* Everything in the arena but the handle, which both share. */
nl_temp_view nl_temp_view_copy(nl_arena *arena, const nl_temp_view *view);
/* Copies everything but the handle, which is taken. TEMP_TABLE_OR_VIEW_ALREADY_EXISTS unless is_replace. Global ones, and those
 * with a full name (which has dots), are those of all sessions of the program. */
NL_MUST_USE nl_status nl_session_put_view(nl_session *session, const nl_temp_view *view, bool is_replace);
/* In any case; or NULL. It lives as long as the arena, whatever becomes of the name. */
const nl_temp_view *nl_session_find_view(const nl_session *session, nl_str name, bool is_global, nl_arena *arena);
bool nl_session_drop_view(nl_session *session, nl_str name, bool is_global);
nl_list nl_session_views(const nl_session *session, nl_arena *arena); /* of const nl_temp_view *, which live as long as the arena */

/* Session variables (DECLARE VARIABLE). default_value NULL: the one it has stays. */
NL_MUST_USE nl_status nl_session_put_variable(nl_session *session, nl_str name, const nl_value *value, const nl_value *default_value, bool is_replace);
const nl_value *nl_session_find_variable(const nl_session *session, nl_str name);
const nl_value *nl_session_variable_default(const nl_session *session, nl_str name); /* NULL: no such variable */
bool nl_session_drop_variable(nl_session *session, nl_str name);

/* Functions written in SQL (CREATE FUNCTION … RETURN …): the statement's text, and where its names belong. */
typedef struct nl_session_function {
    nl_str name; /* a temporary one's own name, else the full one ("spark_catalog.default.f") */
    bool is_temporary;
    bool is_ansi; /* spark.sql.ansi.enabled when it was made: so its body runs */
    nl_str text;
    nl_str catalog; /* in force when it was made */
    const nl_str *namespace_parts;
    uint32_t namespace_count;
    const struct nl_python_function *python; /* or it is one in Python (function/python.h), temporary; text is empty */
} nl_session_function;
/* Copies everything; takes the place of one that is there. */
NL_MUST_USE nl_status nl_session_put_function(nl_session *session, const nl_session_function *function);
/* In any case; or NULL. It lives as long as the arena. */
const nl_session_function *nl_session_find_function(const nl_session *session, nl_str name, bool is_temporary, nl_arena *arena);
bool nl_session_drop_function(nl_session *session, nl_str name, bool is_temporary);
nl_list nl_session_functions(const nl_session *session, nl_arena *arena); /* of const nl_session_function *, which live as long as the arena */

/* Gives a new session what another one has: settings, variables, temporary functions, the current namespace; not its views
 * (their handles belong to whoever made them), nor what a later folder keeps with it. */
NL_MUST_USE nl_status nl_session_copy(const nl_session *from, nl_session *to);

/* What the running statement has read so far: workers add, the shell's progress bar reads, also from a signal handler.
 * The totals grow as scans are planned; rows_total counts only files whose number of rows is known. */
typedef struct nl_progress {
    atomic_uint_fast64_t rows, rows_total, bytes, files, files_total;
    atomic_uint_fast64_t changed_rows; /* inserted, updated and deleted ones, once they are committed; updates copied on write count whole files */
} nl_progress;
nl_progress *nl_session_progress(nl_session *session); /* lives as long as the session; nl_session_begin sets it to zero */

/* What a later folder keeps with the session: exec its Python workers. Ended before everything else of the session. */
typedef struct nl_session_attachment nl_session_attachment;
struct nl_session_attachment {
    void (*free)(nl_session_attachment *self);
};
nl_session_attachment *nl_session_python(const nl_session *session); /* NULL: none yet */
/* Taken unless another thread was first: the one in force is returned. Statements of one session may run side by side. */
nl_session_attachment *nl_session_set_python(nl_session *session, nl_session_attachment *attachment);

/* The same of command: results that cache() keeps. */
nl_session_attachment *nl_session_cache(const nl_session *session);
nl_session_attachment *nl_session_set_cache(nl_session *session, nl_session_attachment *attachment);

/* What statements share. */
nl_memory *nl_session_memory(nl_session *session);
nl_pool *nl_session_pool(nl_session *session);
/* Files that belong to no catalog, reached as spark.hadoop.fs.s3a.* says at the moment. Borrowed: until these confs change. */
NL_MUST_USE nl_status nl_session_files(nl_session *session, struct nl_fs **fs);
nl_cancel *nl_session_cancel_token(nl_session *session); /* of the running statement; renewed by nl_session_begin */
void nl_session_begin(nl_session *session);              /* a new statement starts */
/* The same, and the statement ends when `cancel` (counted) is set. A query made so goes on under its own cancellation while
 * the next statement begins: whoever made it keeps `cancel` and `progress` (NULL: the session's own) until its result is closed. */
void nl_session_begin_with(nl_session *session, nl_cancel *cancel, nl_progress *progress);

/* Statements that share a session take turns at it: one thread at a time has it. While a statement's workers run it needs
 * nothing of the session and lets others have their turn. Without turns (a session of one thread) nothing happens. */
typedef struct nl_session_turns {
    bool (*is_mine)(void *context); /* the calling thread has it */
    void (*leave)(void *context);
    void (*enter)(void *context); /* waits until it is free */
    void *context;
} nl_session_turns;
void nl_session_set_turns(nl_session *session, const nl_session_turns *turns);
typedef struct nl_session_pause { /* what the statement goes on with */
    bool is_left;
    nl_cancel *cancel; /* counted */
    nl_progress *progress;
} nl_session_pause;
nl_session_pause nl_session_leave(nl_session *session); /* NULL is fine: nothing happens */
void nl_session_enter(nl_session *session, nl_session_pause *pause);
/* For a moment, from a thread that may or may not have it: to read settings. true: it was taken, nl_session_unclaim gives it back. */
bool nl_session_claim(nl_session *session);
void nl_session_unclaim(nl_session *session, bool is_claimed);
void nl_session_cancel(nl_session *session);             /* async-signal-safe */
nl_str nl_session_user(const nl_session *session);
nl_str nl_session_app_id(const nl_session *session);     /* "local-1759312345678" */
/* Time zone of spark.sql.session.timeZone. */
const nl_timezone *nl_session_zone(const nl_session *session);
nl_str nl_session_local_directory(const nl_session *session); /* spark.local.dir: spill files */
