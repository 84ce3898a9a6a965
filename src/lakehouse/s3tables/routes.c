/* lakehouse/s3tables/routes.c - the operations of the service model, each a row. */
#include "lakehouse/s3tables/s3tables_private.h"

#define BUCKET    "buckets/{bucket}"
#define TABLE     "tables/{bucket}/{namespace}/{name}"
#define STANDARD  "{\"storageClass\":\"STANDARD\"}"
#define AES256    "{\"sseAlgorithm\":\"AES256\"}"
#define DISABLED  "{\"status\":\"disabled\"}"

#define GET_DOCUMENT    nl_s3tables_get_document
#define PUT_DOCUMENT    nl_s3tables_put_document
#define DELETE_DOCUMENT nl_s3tables_delete_document

const nl_s3tables_route nl_s3tables_routes[] = {
    {"CreateTableBucket", "PUT", "buckets", 200, NL_S3TABLES_NOTHING, nl_s3tables_create_bucket},
    {"ListTableBuckets", "GET", "buckets", 200, NL_S3TABLES_NOTHING, nl_s3tables_list_buckets},
    {"GetTableBucket", "GET", BUCKET, 200, NL_S3TABLES_BUCKET, nl_s3tables_get_bucket},
    {"DeleteTableBucket", "DELETE", BUCKET, 204, NL_S3TABLES_BUCKET, nl_s3tables_delete_bucket},
    {"GetTableBucketPolicy", "GET", BUCKET "/policy", 200, NL_S3TABLES_BUCKET, GET_DOCUMENT, "policy", "resourcePolicy"},
    {"PutTableBucketPolicy", "PUT", BUCKET "/policy", 200, NL_S3TABLES_BUCKET, PUT_DOCUMENT, "policy", "resourcePolicy", NULL, nl_s3tables_check_policy},
    {"DeleteTableBucketPolicy", "DELETE", BUCKET "/policy", 204, NL_S3TABLES_BUCKET, DELETE_DOCUMENT, "policy"},
    {"GetTableBucketEncryption", "GET", BUCKET "/encryption", 200, NL_S3TABLES_BUCKET, GET_DOCUMENT, "encryption", "encryptionConfiguration", AES256},
    {"PutTableBucketEncryption", "PUT", BUCKET "/encryption", 200, NL_S3TABLES_BUCKET, PUT_DOCUMENT, "encryption", "encryptionConfiguration", NULL,
     nl_s3tables_check_encryption},
    {"DeleteTableBucketEncryption", "DELETE", BUCKET "/encryption", 204, NL_S3TABLES_BUCKET, DELETE_DOCUMENT, "encryption"},
    {"GetTableBucketStorageClass", "GET", BUCKET "/storage-class", 200, NL_S3TABLES_BUCKET, GET_DOCUMENT, "storage-class", "storageClassConfiguration", STANDARD},
    {"PutTableBucketStorageClass", "PUT", BUCKET "/storage-class", 200, NL_S3TABLES_BUCKET, PUT_DOCUMENT, "storage-class", "storageClassConfiguration", NULL,
     nl_s3tables_check_storage_class},
    {"GetTableBucketLogging", "GET", BUCKET "/logging", 200, NL_S3TABLES_BUCKET, GET_DOCUMENT, "logging", "tableBucketLoggingStatus", "{}"},
    {"PutTableBucketLogging", "PUT", BUCKET "/logging", 204, NL_S3TABLES_BUCKET, PUT_DOCUMENT, "logging", "tableBucketLoggingStatus", NULL, nl_s3tables_check_object},
    {"GetTableBucketMaintenanceConfiguration", "GET", BUCKET "/maintenance", 200, NL_S3TABLES_BUCKET, nl_s3tables_get_maintenance},
    {"PutTableBucketMaintenanceConfiguration", "PUT", BUCKET "/maintenance/{type}", 204, NL_S3TABLES_BUCKET, nl_s3tables_put_maintenance},
    {"GetTableBucketMetricsConfiguration", "GET", BUCKET "/metrics", 200, NL_S3TABLES_BUCKET, nl_s3tables_get_metrics},
    {"PutTableBucketMetricsConfiguration", "PUT", BUCKET "/metrics", 204, NL_S3TABLES_BUCKET, nl_s3tables_put_metrics},
    {"DeleteTableBucketMetricsConfiguration", "DELETE", BUCKET "/metrics", 204, NL_S3TABLES_BUCKET, DELETE_DOCUMENT, "metrics"},
    {"GetTableBucketReplication", "GET", "table-bucket-replication", 200, NL_S3TABLES_QUERY_BUCKET, nl_s3tables_get_replication},
    {"PutTableBucketReplication", "PUT", "table-bucket-replication", 200, NL_S3TABLES_QUERY_BUCKET, nl_s3tables_put_replication},
    {"DeleteTableBucketReplication", "DELETE", "table-bucket-replication", 204, NL_S3TABLES_QUERY_BUCKET, nl_s3tables_delete_replication},
    {"CreateNamespace", "PUT", "namespaces/{bucket}", 200, NL_S3TABLES_BUCKET, nl_s3tables_create_namespace},
    {"ListNamespaces", "GET", "namespaces/{bucket}", 200, NL_S3TABLES_BUCKET, nl_s3tables_list_namespaces},
    {"GetNamespace", "GET", "namespaces/{bucket}/{namespace}", 200, NL_S3TABLES_BUCKET, nl_s3tables_get_namespace},
    {"DeleteNamespace", "DELETE", "namespaces/{bucket}/{namespace}", 204, NL_S3TABLES_BUCKET, nl_s3tables_delete_namespace},
    {"CreateTable", "PUT", "tables/{bucket}/{namespace}", 200, NL_S3TABLES_BUCKET, nl_s3tables_create_table},
    {"GetTable", "GET", "get-table", 200, NL_S3TABLES_NOTHING, nl_s3tables_get_table},
    {"ListTables", "GET", "tables/{bucket}", 200, NL_S3TABLES_BUCKET, nl_s3tables_list_tables},
    {"DeleteTable", "DELETE", TABLE, 204, NL_S3TABLES_TABLE, nl_s3tables_delete_table},
    {"RenameTable", "PUT", TABLE "/rename", 204, NL_S3TABLES_TABLE, nl_s3tables_rename_table},
    {"GetTableMetadataLocation", "GET", TABLE "/metadata-location", 200, NL_S3TABLES_TABLE, nl_s3tables_get_location},
    {"UpdateTableMetadataLocation", "PUT", TABLE "/metadata-location", 200, NL_S3TABLES_TABLE, nl_s3tables_update_location},
    {"GetTablePolicy", "GET", TABLE "/policy", 200, NL_S3TABLES_TABLE, GET_DOCUMENT, "policy", "resourcePolicy"},
    {"PutTablePolicy", "PUT", TABLE "/policy", 200, NL_S3TABLES_TABLE, PUT_DOCUMENT, "policy", "resourcePolicy", NULL, nl_s3tables_check_policy},
    {"DeleteTablePolicy", "DELETE", TABLE "/policy", 204, NL_S3TABLES_TABLE, DELETE_DOCUMENT, "policy"},
    {"GetTableEncryption", "GET", TABLE "/encryption", 200, NL_S3TABLES_TABLE, nl_s3tables_get_table_setting, "encryption", "encryptionConfiguration", AES256},
    {"GetTableStorageClass", "GET", TABLE "/storage-class", 200, NL_S3TABLES_TABLE, nl_s3tables_get_table_setting, "storage-class", "storageClassConfiguration",
     STANDARD},
    {"GetTableMaintenanceConfiguration", "GET", TABLE "/maintenance", 200, NL_S3TABLES_TABLE, nl_s3tables_get_maintenance},
    {"PutTableMaintenanceConfiguration", "PUT", TABLE "/maintenance/{type}", 204, NL_S3TABLES_TABLE, nl_s3tables_put_maintenance},
    {"GetTableMaintenanceJobStatus", "GET", TABLE "/maintenance-job-status", 200, NL_S3TABLES_TABLE, nl_s3tables_get_job_status},
    {"GetTableRecordExpirationConfiguration", "GET", "table-record-expiration", 200, NL_S3TABLES_QUERY_TABLE, GET_DOCUMENT, "record-expiration", "configuration",
     DISABLED},
    {"PutTableRecordExpirationConfiguration", "PUT", "table-record-expiration", 204, NL_S3TABLES_QUERY_TABLE, PUT_DOCUMENT, "record-expiration", "value", NULL,
     nl_s3tables_check_expiration},
    {"GetTableRecordExpirationJobStatus", "GET", "table-record-expiration-job-status", 200, NL_S3TABLES_QUERY_TABLE, nl_s3tables_get_expiration_status},
    {"GetTableReplication", "GET", "table-replication", 200, NL_S3TABLES_QUERY_TABLE, nl_s3tables_get_replication},
    {"PutTableReplication", "PUT", "table-replication", 200, NL_S3TABLES_QUERY_TABLE, nl_s3tables_put_replication},
    {"DeleteTableReplication", "DELETE", "table-replication", 204, NL_S3TABLES_QUERY_TABLE, nl_s3tables_delete_replication},
    {"DisassociateTableReplication", "PUT", "table-replication/disassociate", 200, NL_S3TABLES_QUERY_TABLE, nl_s3tables_disassociate},
    {"GetTableReplicationStatus", "GET", "replication-status", 200, NL_S3TABLES_QUERY_TABLE, nl_s3tables_get_replication_status},
    {"ListTagsForResource", "GET", "tag/{bucket}", 200, NL_S3TABLES_NOTHING, nl_s3tables_list_tags},
    {"TagResource", "POST", "tag/{bucket}", 200, NL_S3TABLES_NOTHING, nl_s3tables_tag},
    {"UntagResource", "DELETE", "tag/{bucket}", 204, NL_S3TABLES_NOTHING, nl_s3tables_untag},
    {"StartTableMigration", "POST", "start-table-migration", 202, NL_S3TABLES_NOTHING, nl_s3tables_no_migration},
    {"SyncTableMigration", "POST", "sync-table-migration", 202, NL_S3TABLES_NOTHING, nl_s3tables_no_migration},
    {"UpdateTableMigration", "POST", "update-table-migration", 200, NL_S3TABLES_NOTHING, nl_s3tables_no_migration},
    {"CompleteTableMigration", "POST", "complete-table-migration", 204, NL_S3TABLES_NOTHING, nl_s3tables_no_migration},
    {"GetTableMigration", "GET", "get-table-migration", 200, NL_S3TABLES_NOTHING, nl_s3tables_no_migration},
    {"ListTableMigrations", "GET", "list-table-migrations", 200, NL_S3TABLES_NOTHING, nl_s3tables_list_migrations},
};
const uint32_t nl_s3tables_route_count = NL_COUNT(nl_s3tables_routes);
