/* storage/s3_private.h - between the parts of the S3 file system: options, requests, reading, writing. */
#pragma once

#include "base/lock.h"
#include "storage/credentials.h"
#include "storage/filesystem_ops.h"
#include "storage/http.h"
#include "storage/piece_cache.h"
#include "storage/s3.h"

#define NL_S3_PIECE_BYTES    (8u << 20)  /* of one GET: larger reads go over several connections at once */
#define NL_S3_STREAM_BYTES   (2u << 20)  /* of one GET of what is read in order: one is read, the next is on its way */
#define NL_S3_PART_BYTES_MIN (5u << 20)  /* S3 takes no smaller parts but the last                       */
#define NL_S3_PARTS_MAX      10000u
#define NL_S3_AHEAD_BYTES    (64u << 20) /* fetched ahead for one file                                   */

typedef struct nl_s3_options { /* texts in the file system's arena */
    nl_str scheme, host, port; /* of the endpoint; port empty: the scheme's */
    nl_str base_path;          /* of the endpoint; without its last slash  */
    bool has_endpoint;         /* somebody else's S3: no other region will be tried */
    bool is_path_style;
    bool is_host_fixed;        /* an address or localhost: buckets cannot be names below it */
    bool is_dual_stack, is_accelerated;
    nl_str region;
    uint64_t part_bytes, threshold_bytes;
    uint32_t thread_count;     /* parts and bulk deletes in flight */
    uint32_t delete_batch;
    bool removes;              /* s3.delete-enabled */
    bool sends_md5;            /* s3.checksum-enabled */
    const nl_property *delete_tags;
    uint32_t delete_tag_count;
    const nl_property *write_headers; /* tags, ACL, storage class, encryption: of PUT and CreateMultipartUpload */
    uint32_t write_header_count;
    const nl_property *key_headers;   /* a customer's key: of everything that touches bytes */
    uint32_t key_header_count;
    nl_http_options http;
} nl_s3_options;
NL_MUST_USE nl_status nl_s3_options_read(const nl_property *properties, uint32_t property_count, nl_arena *arena, nl_s3_options *options);
/* The properties with hadoop.fs.s3a.* said as s3.*: what credentials are looked up in. */
void nl_s3_properties_translate(const nl_property *properties, uint32_t property_count, nl_arena *arena, const nl_property **all, uint32_t *all_count);

typedef struct nl_s3_region { /* of a bucket that lies elsewhere, once the server said so */
    struct nl_s3_region *next;
    nl_str bucket, region;
} nl_s3_region;

typedef struct nl_s3_bucket {
    struct nl_s3_bucket *next;
    nl_str name;
} nl_s3_bucket;

typedef struct nl_s3_fs {
    nl_fs base;
    nl_arena *arena;   /* guarded by mutex after birth */
    nl_memory *memory; /* counted */
    nl_s3_options options;
    nl_credential_source *credentials; /* counted; NULL with a signer */
    nl_s3_signer signer;
    nl_mutex mutex;
    nl_http_client *client; /* guarded by mutex until it is there; made by the first request */
    nl_s3_region *regions;  /* guarded by mutex */
    nl_piece_cache *cache;  /* counted; NULL: nothing is kept */
    nl_str cache_place;     /* of its names */
    uint64_t cache_reader;  /* who we are to it: the same for those who may read the same */
    nl_s3_bucket *conditional_buckets; /* guarded by mutex: seen to keep If-None-Match */
} nl_s3_fs;

/* "s3://bucket/key": key as written, never decoded; may be empty. */
typedef struct nl_s3_place {
    nl_str root; /* "s3://bucket/" as written: what listed paths begin with */
    nl_str bucket, key;
} nl_s3_place;
NL_MUST_USE nl_status nl_s3_place_parse(nl_str path, nl_s3_place *place);

/* An object's name in the cache. */
static inline nl_object_name nl_s3_object_name(const nl_s3_fs *fs, nl_str bucket, nl_str key)
{
    return (nl_object_name){.place = fs->cache_place, .bucket = bucket, .key = key};
}

typedef struct nl_s3_ask {
    const char *method;
    const char *fault; /* "s3.get" */
    nl_str bucket, key;
    nl_str query;      /* encoded, without '?' */
    const nl_property *headers;
    uint32_t header_count;
    nl_bytes body;     /* borrowed until the answer */
    uint8_t *into;     /* borrowed until the answer */
    size_t into_size;
    size_t body_max;
    bool uses_key;     /* with the customer's encryption key */
    bool adds_checksum; /* of the body */
    bool is_idempotent;
} nl_s3_ask;
typedef struct nl_s3_call nl_s3_call; /* owned; wait and abandon free it */
NL_MUST_USE nl_status nl_s3_start(nl_s3_fs *fs, const nl_s3_ask *ask, nl_s3_call **call);
NL_MUST_USE nl_status nl_s3_wait(nl_s3_call *call, nl_http_response *response);
void nl_s3_abandon(nl_s3_call *call);
NL_MUST_USE nl_status nl_s3_send(nl_s3_fs *fs, const nl_s3_ask *ask, nl_http_response *response);

/* An answer that is not what was hoped for, as an error: operation "Reading"; names bucket, key, the server's code,
 * message and request id. is_reading: 404 is PATH_NOT_FOUND. */
NL_MUST_USE nl_status nl_s3_refusal(const char *operation, nl_str path, const nl_http_response *response, bool is_reading);
/* A 200 whose body is an error document: the code ("InternalError"); data NULL: it is none. In the answer's arena. */
nl_str nl_s3_hidden_error(nl_http_response *response);
nl_str nl_s3_error_code(const nl_http_response *response); /* of an answer that failed; data NULL: none given. In its arena */
static inline bool nl_s3_is_good(const nl_http_response *response)
{
    return response->status >= 200 && response->status < 300;
}
static inline nl_bytes nl_s3_body(const nl_http_response *response)
{
    return response->body ? (nl_bytes){response->body->data, response->body->size_bytes} : (nl_bytes){0};
}

/* One PUT of the whole object, under a condition or none (NULL). A refusal is an answer. */
NL_MUST_USE nl_status nl_s3_put(nl_s3_fs *fs, nl_str path, const nl_s3_place *place, nl_bytes content, const nl_property *condition, nl_http_response *response);
NL_MUST_USE nl_status nl_s3_check_object(const nl_s3_place *place, nl_str path); /* that it can be one: a key of 1 to 1024 bytes */

/* The ops of the other files. */
NL_MUST_USE nl_status nl_s3_open(nl_fs *self, nl_str path, nl_file **file);
NL_MUST_USE nl_status nl_s3_open_sized(nl_fs *self, nl_str path, uint64_t size_bytes, nl_file **file);
NL_MUST_USE nl_status nl_s3_open_data(nl_fs *self, nl_str path, uint64_t size_bytes, bool never_changes, nl_file **file);
NL_MUST_USE nl_status nl_s3_open_start(nl_fs *self, nl_str path, size_t start_bytes, nl_file **file);
NL_MUST_USE nl_status nl_s3_read_all(nl_fs *self, nl_str path, size_t length_max, nl_buffer **content);
NL_MUST_USE nl_status nl_s3_create(nl_fs *self, nl_str path, nl_output **output);
NL_MUST_USE nl_status nl_s3_create_if_absent(nl_fs *self, nl_str path, nl_bytes content);
NL_MUST_USE nl_status nl_s3_rename(nl_fs *self, nl_str from, nl_str to, bool replace);
NL_MUST_USE nl_status nl_s3_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument);
NL_MUST_USE nl_status nl_s3_list_keys(nl_s3_fs *fs, const nl_s3_place *place, nl_str prefix, bool is_recursive, bool wants_markers, uint32_t count_max, nl_list_visit visit,
                                      void *argument, uint64_t *entry_count);
NL_MUST_USE nl_status nl_s3_remove(nl_fs *self, nl_str path);
NL_MUST_USE nl_status nl_s3_remove_many(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count);
NL_MUST_USE nl_status nl_s3_remove_tree(nl_fs *self, nl_str path);
