/* lakehouse/s3tables/s3tables_private.h - one request of the S3 Tables API on its way through the sources here.
 *
 * Source: the service model "s3tables" of botocore (shapes, patterns, status codes) and AWS's S3 Tables user guide.
 */
#pragma once

#include "base/json.h"
#include "lakehouse/access.h"
#include "lakehouse/rest/rest.h"

#define NL_S3TABLES_BODY    NL_STR("the request")
#define NL_S3TABLES_ACCOUNT NL_STR("123456789012")

typedef struct nl_s3tables_call nl_s3tables_call;
typedef nl_status (*nl_s3tables_handler)(nl_s3tables_call *call);

/* What the path or the query names before the handler is called. */
typedef enum nl_s3tables_subject {
    NL_S3TABLES_NOTHING,
    NL_S3TABLES_BUCKET,         /* path: {bucket} */
    NL_S3TABLES_TABLE,          /* path: {bucket}/{namespace}/{name} */
    NL_S3TABLES_QUERY_BUCKET,   /* ?tableBucketARN= */
    NL_S3TABLES_QUERY_TABLE     /* ?tableArn= */
} nl_s3tables_subject;

typedef struct nl_s3tables_route {
    const char *operation;
    const char *method;
    const char *path;
    int32_t status;             /* of success */
    nl_s3tables_subject subject;
    nl_s3tables_handler handle;
    const char *document;       /* of the generic handlers: its name in the store … */
    const char *member;         /* … and in requests and answers */
    const char *fallback;       /* JSON when nothing is stored; NULL: NotFoundException */
    nl_status (*check)(nl_s3tables_call *call, const json_t *value); /* of what is to be stored; or NULL */
} nl_s3tables_route;
extern const nl_s3tables_route nl_s3tables_routes[];
extern const uint32_t nl_s3tables_route_count;

struct nl_s3tables_call {
    nl_tables *tables;
    const nl_lakehouse_keys *keys;
    nl_request *request;
    nl_reply *reply;
    nl_arena *arena; /* the request's */
    nl_access access;
    const nl_s3tables_route *route;
    nl_str bucket_arn, namespace_name, name, type; /* of the path; type: of a maintenance configuration; bucket_arn also a tag's resource */
    nl_warehouse bucket;     /* found, for subjects */
    nl_table_entry table;
    const json_t *body;      /* NULL: none */
    int32_t error_status;    /* of nl_s3tables_refuse; 0: nothing was refused */
    const char *error_type;
};

NL_MUST_USE nl_status nl_s3tables_refuse(nl_s3tables_call *call, int32_t status, const char *type, const char *format, ...) __attribute__((format(printf, 4, 5)));
NL_MUST_USE nl_status nl_s3tables_bad(nl_s3tables_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
NL_MUST_USE nl_status nl_s3tables_not_found(nl_s3tables_call *call, const char *what); /* "bucket": "The specified bucket does not exist." */

/* The store's refusals in the service's words: condition, status and type of each. NULL stays NULL. */
nl_json_writer nl_s3tables_begin(nl_s3tables_call *call);
void nl_s3tables_end(nl_s3tables_call *call, nl_json_writer *json); /* with the route's status */
void nl_s3tables_text(nl_json_writer *json, const char *key, nl_str value);
void nl_s3tables_time(nl_s3tables_call *call, nl_json_writer *json, const char *key, int64_t micros);
void nl_s3tables_namespace(nl_json_writer *json, nl_str name); /* "namespace":["name"] */
nl_str nl_s3tables_table_arn(nl_s3tables_call *call, const nl_warehouse *bucket, nl_str uuid);

NL_MUST_USE nl_status nl_s3tables_find_bucket(nl_s3tables_call *call, nl_str arn, nl_warehouse *bucket);
NL_MUST_USE nl_status nl_s3tables_find_table_arn(nl_s3tables_call *call, nl_str arn); /* fills bucket and table */
NL_MUST_USE nl_status nl_s3tables_find_namespace(nl_s3tables_call *call, nl_str name, nl_namespace_entry *entry);
NL_MUST_USE nl_status nl_s3tables_check_name(nl_s3tables_call *call, nl_str name, const char *what); /* [0-9a-z_]{1,255} */
nl_str nl_s3tables_parameter(nl_s3tables_call *call, const char *name);

/* Pages. */
NL_MUST_USE nl_status nl_s3tables_page(nl_s3tables_call *call, const char *size_name, nl_str *after, uint32_t *count_max);
void nl_s3tables_write_token(nl_s3tables_call *call, nl_json_writer *json, nl_str last);

/* Documents given when a bucket or table is made: encryptionConfiguration, storageClassConfiguration, tags. */
NL_MUST_USE nl_status nl_s3tables_check_options(nl_s3tables_call *call);
NL_MUST_USE nl_status nl_s3tables_keep_options(nl_s3tables_call *call, nl_str owner);
/* metadata of CreateTable to an Iceberg table; *creation's texts in the request's arena. */
NL_MUST_USE nl_status nl_s3tables_read_metadata(nl_s3tables_call *call, const json_t *metadata, nl_table_creation *creation);

NL_MUST_USE nl_status nl_s3tables_check_encryption(nl_s3tables_call *call, const json_t *value);
NL_MUST_USE nl_status nl_s3tables_check_storage_class(nl_s3tables_call *call, const json_t *value);
NL_MUST_USE nl_status nl_s3tables_check_policy(nl_s3tables_call *call, const json_t *value);
NL_MUST_USE nl_status nl_s3tables_check_expiration(nl_s3tables_call *call, const json_t *value);
NL_MUST_USE nl_status nl_s3tables_check_object(nl_s3tables_call *call, const json_t *value);

nl_status nl_s3tables_create_bucket(nl_s3tables_call *call);
nl_status nl_s3tables_get_bucket(nl_s3tables_call *call);
nl_status nl_s3tables_list_buckets(nl_s3tables_call *call);
nl_status nl_s3tables_delete_bucket(nl_s3tables_call *call);
nl_status nl_s3tables_create_namespace(nl_s3tables_call *call);
nl_status nl_s3tables_get_namespace(nl_s3tables_call *call);
nl_status nl_s3tables_list_namespaces(nl_s3tables_call *call);
nl_status nl_s3tables_delete_namespace(nl_s3tables_call *call);
nl_status nl_s3tables_create_table(nl_s3tables_call *call);
nl_status nl_s3tables_get_table(nl_s3tables_call *call);
nl_status nl_s3tables_list_tables(nl_s3tables_call *call);
nl_status nl_s3tables_delete_table(nl_s3tables_call *call);
nl_status nl_s3tables_rename_table(nl_s3tables_call *call);
nl_status nl_s3tables_get_location(nl_s3tables_call *call);
nl_status nl_s3tables_update_location(nl_s3tables_call *call);
nl_status nl_s3tables_get_document(nl_s3tables_call *call);
nl_status nl_s3tables_put_document(nl_s3tables_call *call);
nl_status nl_s3tables_delete_document(nl_s3tables_call *call);
nl_status nl_s3tables_get_table_setting(nl_s3tables_call *call); /* the table's document, else its bucket's */
nl_status nl_s3tables_get_metrics(nl_s3tables_call *call);
nl_status nl_s3tables_put_metrics(nl_s3tables_call *call);
nl_status nl_s3tables_get_maintenance(nl_s3tables_call *call);
nl_status nl_s3tables_put_maintenance(nl_s3tables_call *call);
nl_status nl_s3tables_get_job_status(nl_s3tables_call *call);
nl_status nl_s3tables_get_expiration_status(nl_s3tables_call *call);
nl_status nl_s3tables_get_replication(nl_s3tables_call *call);
nl_status nl_s3tables_put_replication(nl_s3tables_call *call);
nl_status nl_s3tables_delete_replication(nl_s3tables_call *call);
nl_status nl_s3tables_get_replication_status(nl_s3tables_call *call);
nl_status nl_s3tables_disassociate(nl_s3tables_call *call);
nl_status nl_s3tables_list_tags(nl_s3tables_call *call);
nl_status nl_s3tables_tag(nl_s3tables_call *call);
nl_status nl_s3tables_untag(nl_s3tables_call *call);
nl_status nl_s3tables_no_migration(nl_s3tables_call *call);
nl_status nl_s3tables_list_migrations(nl_s3tables_call *call);
