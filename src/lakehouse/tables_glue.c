/* lakehouse/tables_glue.c - the Glue catalog's warehouse, and what Glue knows of a table beside its pointer.
 *
 * Every table of the warehouse is a row of glue_tables: triggers make, rename, count and remove it with the pointer's row,
 * in the same transaction, so that whoever commits (Glue's API, Athena, the engine) gives the table its next version. Rows
 * without an entry are tables of other formats, which Glue alone knows. See glue/README.md.
 */
#include "lakehouse/tables_private.h"

#define IS_GLUE(row) "(SELECT kind FROM warehouses WHERE id = " row ".warehouse_id) = 2"
_Static_assert(NL_WAREHOUSE_GLUE == 2, "the triggers name the kind");

static const char *const versions[] = {
    "CREATE TABLE glue_tables (id INTEGER PRIMARY KEY AUTOINCREMENT, database TEXT NOT NULL, name TEXT NOT NULL, entry TEXT UNIQUE, json TEXT,"
    " metadata_location TEXT, version INTEGER NOT NULL, created_micros INTEGER NOT NULL, modified_micros INTEGER NOT NULL, UNIQUE (database, name));"
    "CREATE TABLE glue_versions (table_id INTEGER NOT NULL, version INTEGER NOT NULL, json TEXT, metadata_location TEXT, pointer TEXT, previous TEXT,"
    " modified_micros INTEGER NOT NULL, PRIMARY KEY (table_id, version)) WITHOUT ROWID;"
    "CREATE TABLE glue_partitions (id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL, key TEXT NOT NULL, json TEXT NOT NULL,"
    " created_micros INTEGER NOT NULL, UNIQUE (table_id, key));"
    "CREATE TABLE glue_items (kind TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, json TEXT NOT NULL, created_micros INTEGER NOT NULL,"
    " PRIMARY KEY (kind, scope, name)) WITHOUT ROWID;"

    "INSERT INTO glue_tables (database, name, entry, version, created_micros, modified_micros) SELECT n.uuid, t.name, t.uuid, 0, t.created_micros, t.modified_micros"
    " FROM tables t JOIN namespaces n ON n.warehouse_id = t.warehouse_id AND n.name = t.namespace WHERE " IS_GLUE("t") ";"

    "CREATE TRIGGER glue_table_made AFTER INSERT ON tables WHEN " IS_GLUE("NEW") " BEGIN"
    " INSERT INTO glue_tables (database, name, entry, version, created_micros, modified_micros) SELECT uuid, NEW.name, NEW.uuid, 0, NEW.created_micros, NEW.modified_micros"
    " FROM namespaces WHERE warehouse_id = NEW.warehouse_id AND name = NEW.namespace; END;"
    "CREATE TRIGGER glue_table_changed AFTER UPDATE ON tables WHEN " IS_GLUE("NEW") " BEGIN"
    " UPDATE glue_tables SET version = version + 1, name = NEW.name, modified_micros = NEW.modified_micros,"
    " database = (SELECT uuid FROM namespaces WHERE warehouse_id = NEW.warehouse_id AND name = NEW.namespace) WHERE entry = NEW.uuid; END;"
    "CREATE TRIGGER glue_table_gone AFTER DELETE ON tables WHEN " IS_GLUE("OLD") " BEGIN DELETE FROM glue_tables WHERE entry = OLD.uuid; END;"
    "CREATE TRIGGER glue_table_deleted AFTER DELETE ON glue_tables BEGIN"
    " DELETE FROM glue_versions WHERE table_id = OLD.id; DELETE FROM glue_partitions WHERE table_id = OLD.id;"
    " DELETE FROM glue_items WHERE kind = 'tags' AND scope = OLD.database AND name = OLD.id; END;"
    "CREATE TRIGGER glue_database_goes BEFORE DELETE ON namespaces WHEN EXISTS (SELECT 1 FROM glue_tables WHERE database = OLD.uuid) BEGIN"
    " SELECT RAISE(ABORT, 'the database still has tables of the Glue catalog'); END;"
    "CREATE TRIGGER glue_database_gone AFTER DELETE ON namespaces BEGIN DELETE FROM glue_items WHERE scope = OLD.uuid; END;",
};

static nl_status make_glue(nl_tables *tables, nl_arena *arena, nl_warehouse *warehouse)
{
    const nl_warehouse wanted = {.kind = NL_WAREHOUSE_GLUE, .name = NL_STR(NL_GLUE_CATALOG), .location = NL_STR("s3://" NL_GLUE_BUCKET)};
    const nl_str name = NL_STR("default");
    if (tables->objects) {
        nl_status status = nl_objects_create_bucket(tables->objects, NL_STR(NL_GLUE_BUCKET), false);
        if (status && nl_error_condition(status) != NL_COND_NILAS_ALREADY_EXISTS) return status;
        nl_error_free(status);
    }
    NL_TRY(nl_tables_create_warehouse(tables, &wanted, arena, warehouse));
    return nl_tables_create_namespace(tables, warehouse->id, &name, 1, NULL, 0, NULL);
}

nl_status nl_tables_open_glue(nl_tables *tables, nl_arena *arena, nl_warehouse *warehouse)
{
    bool exists;
    NL_TRY(nl_state_migrate(tables->state, "glue", versions, NL_COUNT(versions)));
    NL_TRY(nl_tables_find_warehouse(tables, NL_WAREHOUSE_GLUE, NL_STR(NL_GLUE_CATALOG), arena, warehouse, &exists));
    return exists ? NULL : make_glue(tables, arena, warehouse);
}
