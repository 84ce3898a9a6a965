/* lakehouse/object_store.h - the object store as its S3 service and its own files see it; others take objects.h.
 *
 * An object version is a row (bucket, key, sequence) with its headers; its bytes are parts (rows of their own, by the number
 * `data`): each inline, or a range of a file. Files are written once and shared: a copy is a row more. A file goes when
 * no part names it and no reader that began before that still runs.
 * Failures that S3 has a name for are NILAS_OBJECT_STORE with that name as `code` ("NoSuchKey", "PreconditionFailed").
 * Texts come back in the arena given. Keys are any bytes, 1 to 1,024 of them, ordered as bytes.
 */
#pragma once

#include "lakehouse/objects.h"
#include "storage/digest.h"

#define NL_STORE_RAISE(error_code, ...) nl_store_raise((error_code), NL_HERE, __VA_ARGS__)
NL_MUST_USE nl_status nl_store_raise(const char *code, nl_here here, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *nl_store_code(const nl_error *error); /* "NoSuchKey"; NULL when it is another failure */
bool nl_store_failed_with(const nl_error *error, const char *code);

typedef enum nl_versioning { NL_VERSIONING_OFF, NL_VERSIONING_ENABLED, NL_VERSIONING_SUSPENDED } nl_versioning;

typedef struct nl_bucket {
    int64_t id;
    nl_str name;
    nl_str region; /* LocationConstraint; empty: us-east-1 */
    int64_t created_micros;
    nl_versioning versioning;
    bool is_hidden;
} nl_bucket;
/* NoSuchBucket. */
NL_MUST_USE nl_status nl_store_bucket(nl_objects *objects, nl_str name, nl_arena *arena, nl_bucket *bucket);
/* *existed: it was there already and stays as it is. InvalidBucketName. */
NL_MUST_USE nl_status nl_store_create_bucket(nl_objects *objects, const nl_bucket *wanted, bool *existed);
/* NoSuchBucket, BucketNotEmpty. Uploads under way are dropped. */
NL_MUST_USE nl_status nl_store_delete_bucket(nl_objects *objects, nl_str name, bool with_contents);
NL_MUST_USE nl_status nl_store_set_versioning(nl_objects *objects, nl_str name, nl_versioning versioning);
/* Those not hidden, by name, after `after`, with the prefix. */
NL_MUST_USE nl_status nl_store_list_buckets(nl_objects *objects, nl_str prefix, nl_str after, uint32_t count_max, nl_arena *arena, const nl_bucket **buckets, uint32_t *count);
/* Documents kept with a bucket: "policy", "lifecycle" … text.data NULL: removed, or none. NoSuchBucket. */
NL_MUST_USE nl_status nl_store_put_document(nl_objects *objects, nl_str bucket, nl_str name, nl_str text);
NL_MUST_USE nl_status nl_store_get_document(nl_objects *objects, nl_str bucket, nl_str name, nl_arena *arena, nl_str *text);
bool nl_bucket_name_is_valid(nl_str name);

/* Bytes on their way in: kept in memory while few, else in a file. MD5 and size are counted along. */
typedef struct nl_incoming nl_incoming; /* owned; one thread at a time */
NL_MUST_USE nl_status nl_incoming_new(nl_objects *objects, nl_incoming **incoming);
NL_MUST_USE nl_status nl_incoming_write(nl_incoming *incoming, const void *bytes, size_t length);
NL_MUST_USE nl_status nl_incoming_finish(nl_incoming *incoming); /* on disk; nothing more is written */
uint64_t nl_incoming_size(const nl_incoming *incoming);
const uint8_t *nl_incoming_md5(const nl_incoming *incoming); /* 16 bytes, after finish */
void nl_incoming_free(nl_incoming *incoming);                /* its file goes unless a put or a part took it; NULL is fine */

typedef struct nl_object {
    nl_str key;
    nl_str version;        /* "null" or 32 characters */
    int64_t sequence;      /* larger is newer */
    bool is_marker;        /* a delete marker */
    bool is_latest;
    bool is_versioned;     /* its bucket has or had versioning: the version is told to clients */
    uint64_t size_bytes;
    int64_t modified_micros;
    nl_str etag;           /* without quotes */
    nl_str headers;        /* "content-type:text/plain\n…": lower-case names, what GET gives back */
    nl_str tags;           /* "a=b&c=d", encoded as in x-amz-tagging */
    nl_str checksum;       /* "CRC32 FULL_OBJECT AAAAAA==", or empty */
    nl_str storage_class;  /* empty: STANDARD */
    uint32_t part_count;   /* of a multipart upload; 0: it was none */
    int64_t data;          /* whose parts are its bytes */
} nl_object;

/* version empty: the latest. NoSuchBucket, NoSuchKey, NoSuchVersion; a delete marker is found (is_marker). */
NL_MUST_USE nl_status nl_store_find(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object);

/* An object open for reading: it stays readable whatever happens to its key. Owned; threads: any. */
typedef struct nl_object_reader nl_object_reader;
/* reader stays NULL for a delete marker. */
NL_MUST_USE nl_status nl_store_open(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_arena *arena, nl_object *object, nl_object_reader **reader);
NL_MUST_USE nl_status nl_object_reader_read(nl_object_reader *reader, uint64_t offset, size_t length, uint8_t *into);
/* When the range lies in one file: a descriptor of the caller's own and where the range begins in it; else *file is -1. */
NL_MUST_USE nl_status nl_object_reader_file(nl_object_reader *reader, uint64_t offset, uint64_t length, int *file, uint64_t *file_offset);
void nl_object_reader_free(nl_object_reader *reader); /* NULL is fine */

/* Conditions of a write, asked of what is there at the moment of the write. Empty: not asked. */
typedef struct nl_write_conditions {
    nl_str if_match;      /* an ETag, quoted or not, or "*" */
    nl_str if_none_match; /* the same */
} nl_write_conditions;

typedef struct nl_store_put {
    nl_str bucket, key;
    nl_incoming *bytes; /* finished; borrowed, but its file is taken on success */
    nl_str etag;        /* empty: the MD5 */
    nl_str headers, tags, checksum, storage_class;
    nl_write_conditions conditions;
    nl_state_work also;   /* run after the rows in the same transaction: both or neither; NULL: nothing */
    void *also_argument;
    nl_arena *arena;
    nl_object made; /* out: version, sequence, etag, modified … */
} nl_store_put;
NL_MUST_USE nl_status nl_store_write(nl_objects *objects, nl_store_put *put);

/* A copy without bytes: the parts are shared. The new object's headers, tags, checksum as given when replaces_…. */
typedef struct nl_store_copy {
    nl_str bucket, key, version; /* the source */
    int64_t data;                /* of the source as it was found: another one since then is NoSuchKey … */
    nl_store_put target;         /* bytes NULL; etag, headers, tags, checksum, storage_class are what the target gets */
} nl_store_copy;
NL_MUST_USE nl_status nl_store_copy_object(nl_objects *objects, nl_store_copy *copy);

/* What a delete did. */
typedef struct nl_store_deleted {
    nl_str version;    /* removed, or of the marker made; empty: neither is told */
    bool is_marker;    /* a marker was made, or the version removed was one */
    bool was_there;
    nl_status failure; /* of this one among many; owned */
} nl_store_deleted;
typedef struct nl_store_delete {
    nl_str key;
    nl_str version;  /* empty: the current one, by a marker where the bucket has versions */
    nl_str if_match; /* empty: not asked; what is not there is deleted already */
    bool asks_time, asks_size;
    int64_t if_modified_micros; /* compared in whole seconds */
    uint64_t if_size_bytes;
    nl_store_deleted done;
} nl_store_delete;
/* All in one transaction; each has its own outcome in done. NoSuchBucket. */
NL_MUST_USE nl_status nl_store_delete_many(nl_objects *objects, nl_str bucket, nl_store_delete *deletes, uint32_t delete_count, nl_arena *arena);
/* Every version and marker below a prefix, in transactions of some thousands. */
NL_MUST_USE nl_status nl_store_delete_below(nl_objects *objects, nl_str bucket, nl_str prefix);

NL_MUST_USE nl_status nl_store_set_tags(nl_objects *objects, nl_str bucket, nl_str key, nl_str version, nl_str tags, nl_arena *arena, nl_object *object);

/* Listings: a page, in order of bytes. */
typedef struct nl_listed {
    bool is_prefix; /* object.key is a common prefix, nothing else is set */
    nl_object object;
} nl_listed;
typedef struct nl_store_list {
    nl_str bucket, prefix, delimiter;
    nl_str after;           /* keys and common prefixes up to this one are left out; empty: none */
    int64_t after_sequence; /* versions: of key `after` those older than this follow; 0: none of them */
    bool has_versions;      /* every version and marker; else current objects */
    uint32_t count_max;
    nl_arena *arena;
    const nl_listed *entries; /* out */
    uint32_t count;
    bool is_truncated;
} nl_store_list;
NL_MUST_USE nl_status nl_store_list_objects(nl_objects *objects, nl_store_list *list);

/* Multipart uploads. */
typedef struct nl_upload {
    int64_t id;
    nl_str token; /* the upload id that clients see */
    nl_str bucket, key, headers, tags, storage_class;
    nl_str checksum_algorithm, checksum_type; /* "CRC32", "COMPOSITE"; empty: none */
    int64_t initiated_micros;
} nl_upload;
typedef struct nl_part {
    uint32_t number;
    uint64_t size_bytes;
    uint64_t start; /* in the object; once complete */
    nl_str etag;
    nl_str checksum; /* as an object's */
    int64_t modified_micros;
} nl_part;
NL_MUST_USE nl_status nl_store_create_upload(nl_objects *objects, nl_upload *upload, nl_arena *arena); /* sets id, token, initiated */
NL_MUST_USE nl_status nl_store_find_upload(nl_objects *objects, nl_str bucket, nl_str key, nl_str token, nl_arena *arena, nl_upload *upload); /* NoSuchUpload */
/* bytes: finished; its file is taken. */
NL_MUST_USE nl_status nl_store_put_part(nl_objects *objects, const nl_upload *upload, const nl_part *part, nl_incoming *bytes);
NL_MUST_USE nl_status nl_store_list_parts(nl_objects *objects, int64_t data, uint32_t after, uint32_t count_max, nl_arena *arena, const nl_part **parts, uint32_t *count, bool *is_truncated);
NL_MUST_USE nl_status nl_store_abort_upload(nl_objects *objects, const nl_upload *upload);
/* Those parts, in that order, become the object; others of the upload go. InvalidPart, NoSuchUpload. */
typedef struct nl_store_complete {
    const nl_upload *upload;
    const nl_part *parts; /* number and etag as they were checked */
    uint32_t part_count;
    nl_store_put target;  /* bytes NULL */
} nl_store_complete;
NL_MUST_USE nl_status nl_store_complete_upload(nl_objects *objects, nl_store_complete *complete);
typedef struct nl_store_list_uploads {
    nl_str bucket, prefix, delimiter, after;
    nl_str after_token; /* of key `after`, uploads behind this one follow */
    uint32_t count_max;
    nl_arena *arena;
    const nl_upload *uploads; /* out; a common prefix has only its key, token.data NULL */
    uint32_t count;
    bool is_truncated;
} nl_store_list_uploads;
NL_MUST_USE nl_status nl_store_list_uploads_page(nl_objects *objects, nl_store_list_uploads *list);
