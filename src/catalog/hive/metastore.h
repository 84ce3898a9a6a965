/* catalog/hive/metastore.h - the calls of the Hive metastore that a catalog makes, and the fields of its structs.
 *
 * Source: the classes of hive_metastore.thrift as of Hive 2.3.10. Tables and databases are trees of wire.h that are
 * changed in place and sent back, so that what newer metastores know besides stays.
 */
#pragma once

#include "catalog/hive/client.h"

enum { /* struct Table */
    NL_HMS_TABLE_NAME = 1,
    NL_HMS_TABLE_DATABASE = 2,
    NL_HMS_TABLE_OWNER = 3,
    NL_HMS_TABLE_CREATED = 4, /* seconds */
    NL_HMS_TABLE_ACCESSED = 5,
    NL_HMS_TABLE_RETENTION = 6,
    NL_HMS_TABLE_STORAGE = 7,
    NL_HMS_TABLE_PARTITION_KEYS = 8,
    NL_HMS_TABLE_PARAMETERS = 9,
    NL_HMS_TABLE_VIEW_TEXT = 10,
    NL_HMS_TABLE_VIEW_EXPANDED = 11,
    NL_HMS_TABLE_TYPE = 12
};
enum { /* struct StorageDescriptor */
    NL_HMS_STORAGE_COLUMNS = 1,
    NL_HMS_STORAGE_LOCATION = 2,
    NL_HMS_STORAGE_INPUT = 3,
    NL_HMS_STORAGE_OUTPUT = 4,
    NL_HMS_STORAGE_COMPRESSED = 5,
    NL_HMS_STORAGE_BUCKETS = 6,
    NL_HMS_STORAGE_SERDE = 7,
    NL_HMS_STORAGE_BUCKET_COLUMNS = 8,
    NL_HMS_STORAGE_SORT_COLUMNS = 9,
    NL_HMS_STORAGE_PARAMETERS = 10
};
enum { NL_HMS_SERDE_NAME = 1, NL_HMS_SERDE_LIBRARY = 2, NL_HMS_SERDE_PARAMETERS = 3 };
enum { NL_HMS_COLUMN_NAME = 1, NL_HMS_COLUMN_TYPE = 2, NL_HMS_COLUMN_COMMENT = 3 };
enum { /* struct Database */
    NL_HMS_DATABASE_NAME = 1,
    NL_HMS_DATABASE_DESCRIPTION = 2,
    NL_HMS_DATABASE_LOCATION = 3,
    NL_HMS_DATABASE_PARAMETERS = 4,
    NL_HMS_DATABASE_OWNER = 6,
    NL_HMS_DATABASE_OWNER_TYPE = 7 /* 1 USER, 2 ROLE, 3 GROUP */
};

#define NL_HMS_TABLE_TYPE_KEY        "table_type"
#define NL_HMS_METADATA_LOCATION_KEY "metadata_location"
#define NL_HMS_PREVIOUS_LOCATION_KEY "previous_metadata_location"

/* The value of a table's or database's parameter; data NULL: absent. */
nl_str nl_hms_parameter(const nl_wire_value *table, const char *key);
nl_str nl_hms_database_parameter(const nl_wire_value *database, const char *key);

/* *table: NULL when there is none. */
NL_MUST_USE nl_status nl_hms_get_table(nl_hive_client *client, nl_str database, nl_str name, nl_arena *arena, nl_wire_value **table);
/* *names: a list of texts, empty for a database that is not there. */
NL_MUST_USE nl_status nl_hms_table_names(nl_hive_client *client, nl_str database, nl_arena *arena, const nl_wire_value **names);
/* *tables: a list of those that are there; or NULL. */
NL_MUST_USE nl_status nl_hms_get_tables(nl_hive_client *client, nl_str database, const nl_wire_value *names, nl_arena *arena, const nl_wire_value **tables);
/* What it throws is left to the caller: AlreadyExistsException, InvalidObjectException, MetaException, NoSuchObjectException. */
NL_MUST_USE nl_status nl_hms_create_table(nl_hive_client *client, const nl_wire_value *table, nl_arena *arena, nl_hive_answer *answer);
/* expected: the metadata_location that the metastore shall find, or empty. Throws InvalidOperationException, MetaException. */
NL_MUST_USE nl_status nl_hms_alter_table(nl_hive_client *client, nl_str database, nl_str name, const nl_wire_value *table, nl_str expected, nl_arena *arena,
                                         nl_hive_answer *answer);
/* The entry alone: files stay. */
NL_MUST_USE nl_status nl_hms_drop_table(nl_hive_client *client, nl_str database, nl_str name, nl_arena *arena, bool *was_dropped);

NL_MUST_USE nl_status nl_hms_database_names(nl_hive_client *client, nl_arena *arena, const nl_wire_value **names);
NL_MUST_USE nl_status nl_hms_get_database(nl_hive_client *client, nl_str name, nl_arena *arena, nl_wire_value **database); /* NULL: there is none */
/* AlreadyExistsException and so on are left to the caller. */
NL_MUST_USE nl_status nl_hms_create_database(nl_hive_client *client, const nl_wire_value *database, nl_arena *arena, nl_hive_answer *answer);
NL_MUST_USE nl_status nl_hms_alter_database(nl_hive_client *client, nl_str name, const nl_wire_value *database, nl_arena *arena);
NL_MUST_USE nl_status nl_hms_drop_database(nl_hive_client *client, nl_str name, nl_arena *arena, nl_hive_answer *answer);
