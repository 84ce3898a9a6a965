/* lakehouse/s3/s3.h - a call of the S3 API and what the service's files offer each other.
 *
 * A handler has a begin (before the body: everything that can refuse it early) and an answer (the body is there and was
 * verified). Failures are raised with S3's codes (NL_STORE_RAISE); errors.c knows the status of each.
 */
#pragma once

#include "lakehouse/object_store.h"
#include "lakehouse/s3/payload.h"
#include "lakehouse/server.h"
#include "storage/xml.h"

#define NL_S3_ACCOUNT       "123456789012" /* everything is its */
#define NL_S3_NAMESPACE     "http://s3.amazonaws.com/doc/2006-03-01/"
#define NL_S3_OWNER         "6e696c61736c6f63616c6c616b65686f757365000000000000000000006e696c" /* a canonical user id has 64 digits */
#define NL_S3_OWNER_NAME    "nilas"
#define NL_S3_PAGE_MAX      1000u
#define NL_S3_PUT_BYTES_MAX (5ull << 30) /* S3's limit of one PUT and of one part */

typedef struct nl_s3_call nl_s3_call;

typedef enum nl_s3_body_kind {
    NL_S3_BODY_NONE,     /* what comes is read and thrown away */
    NL_S3_BODY_DOCUMENT, /* XML or JSON, gathered */
    NL_S3_BODY_OBJECT,   /* into the store as it comes */
    NL_S3_BODY_FORM      /* multipart/form-data of a browser */
} nl_s3_body_kind;

typedef struct nl_s3_operation {
    const char *name;      /* as in the API: "PutObject" */
    const char *level;     /* "service", "bucket", "object" */
    const char *method;
    const char *parameter; /* must be in the query; "": none of the others is */
    nl_s3_body_kind body;
    nl_status (*begin)(nl_s3_call *call); /* may be NULL */
    nl_status (*answer)(nl_s3_call *call, nl_reply *reply);
} nl_s3_operation;

typedef struct nl_s3_service {
    nl_service base;
    nl_objects *objects; /* borrowed */
    nl_str access_key, secret_key; /* owned */
    bool is_strict;
} nl_s3_service;

struct nl_s3_call {
    nl_s3_service *service;
    nl_objects *objects;
    nl_request *request;
    nl_arena *arena;
    const nl_s3_operation *operation;
    nl_str bucket, key;               /* decoded */
    const nl_property *parameters;    /* of the query, decoded */
    uint32_t parameter_count;
    nl_sigv4_claim claim;
    bool is_verified;                 /* signed with the key pair of the service */
    nl_s3_payload payload;
    bool has_payload;
    nl_incoming *incoming;            /* owned: bytes of an object */
    nl_builder document;              /* owned: a body of the other kind */
    nl_upload upload;                 /* of parts */
    nl_part part;
    nl_bucket bucket_info;
    nl_str object_headers, object_tags; /* of a put, as they are stored */
    struct nl_s3_form *form;          /* of a form upload */
    nl_property error_headers[4];     /* that an error's reply gets as well */
    uint32_t error_header_count;
};

/* ---- errors.c */
int32_t nl_s3_status(const char *code); /* 500 for one that is not in the table */
void nl_s3_write_error(nl_s3_call *call, nl_request *request, nl_error *error, nl_reply *reply);
void nl_s3_error_header(nl_s3_call *call, const char *name, nl_str value);

/* ---- words.c: what requests say, and how answers are written */
nl_str nl_s3_parameter(const nl_s3_call *call, const char *name); /* data NULL: absent */
bool nl_s3_has(const nl_s3_call *call, const char *name);
nl_str nl_s3_header(const nl_s3_call *call, const char *name);    /* trimmed; data NULL: absent */
/* A parameter or text as a number of 0 … most; absent: fallback. InvalidArgument. */
NL_MUST_USE nl_status nl_s3_number(nl_str text, const char *name, uint32_t fallback, uint32_t most, uint32_t *value);
nl_str nl_s3_iso_time(nl_arena *arena, int64_t micros);  /* 2026-11-30T12:00:00.000Z */
nl_str nl_s3_http_time(nl_arena *arena, int64_t micros); /* Mon, 30 Nov 2026 12:00:00 GMT */
bool nl_s3_parse_http_time(nl_str text, int64_t *micros);
nl_str nl_s3_quoted(nl_arena *arena, nl_str etag);
nl_str nl_s3_unquoted(nl_str etag);
nl_builder *nl_s3_xml(nl_s3_call *call, const char *root); /* begins a document; in the reply's body later */
void nl_s3_element(nl_builder *xml, const char *name, nl_str text);
void nl_s3_element_f(nl_builder *xml, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
void nl_s3_reply_xml(nl_s3_call *call, nl_reply *reply, nl_builder *xml, const char *root);
void nl_s3_owner(nl_builder *xml, const char *element);
void nl_s3_reply(nl_s3_call *call, nl_reply *reply, const char *header, nl_str value); /* no-op for an empty value */
/* A stored header block: value of one; data NULL: absent. */
nl_str nl_s3_stored(nl_str headers, const char *name);
/* Checksums of objects: "CRC32 FULL_OBJECT AAAAAA==". False: there is none. */
bool nl_s3_split_checksum(nl_str stored, const nl_s3_checksum_kind **kind, nl_str *type, nl_str *value);
NL_MUST_USE nl_status nl_s3_read_xml(nl_s3_call *call, const char *root, const nl_xml **document); /* MalformedXML */
bool nl_s3_tags_are_valid(nl_arena *arena, nl_str encoded, uint32_t count_max, const char **problem);

/* ---- authorize.c */
NL_MUST_USE nl_status nl_s3_authorize(nl_s3_call *call, const nl_sigv4_request *request);

/* ---- the handlers */
#define X(name, level, method, parameter, body, begin, answer) nl_status answer(nl_s3_call *call, nl_reply *reply);
#include "lakehouse/s3/operations.def"
#undef X
nl_status nl_s3_copy_object(nl_s3_call *call, nl_reply *reply);
nl_status nl_s3_upload_part_copy(nl_s3_call *call, nl_reply *reply);
nl_status nl_s3_put_object_begin(nl_s3_call *call);
nl_status nl_s3_upload_part_begin(nl_s3_call *call);
nl_status nl_s3_bucket_begin(nl_s3_call *call);
nl_status nl_s3_form_begin(nl_s3_call *call);
nl_status nl_s3_form_take(nl_s3_call *call, nl_bytes bytes);
void nl_s3_form_free(struct nl_s3_form *form);

/* ---- what handlers share */
NL_MUST_USE nl_status nl_s3_collect_headers(nl_s3_call *call, nl_str *headers, nl_str *tags); /* what PUT keeps */
NL_MUST_USE nl_status nl_s3_collect_stored(nl_s3_call *call, const nl_property *all, uint32_t count, nl_str *headers);
void nl_s3_reply_version(nl_s3_call *call, nl_reply *reply, const nl_object *object);
void nl_s3_reply_made(nl_s3_call *call, nl_reply *reply, const nl_object *made);
void nl_s3_reply_checksum(nl_s3_call *call, nl_reply *reply, nl_str stored);
void nl_s3_checksum_elements(nl_builder *xml, nl_str stored, bool with_type);
NL_MUST_USE nl_status nl_s3_storage_class(nl_str wanted, nl_str *storage_class); /* empty for STANDARD; InvalidStorageClass */
NL_MUST_USE nl_status nl_s3_check_canned_acl(nl_str acl);                         /* AccessControlListNotSupported */
NL_MUST_USE nl_status nl_s3_read_tags(nl_s3_call *call, nl_str *encoded);         /* of the document: Tagging */
nl_write_conditions nl_s3_write_conditions(const nl_s3_call *call);
typedef struct nl_s3_range {
    bool is_given;
    uint64_t start, length;
    nl_str checksum; /* of the part that was asked for */
} nl_s3_range;
NL_MUST_USE nl_status nl_s3_parse_range(nl_str header, uint64_t size, nl_s3_range *range); /* InvalidRange */
/* If-Match and its kin of a read, or of a copy's source: NOT_MODIFIED or PreconditionFailed. */
typedef struct nl_s3_conditions {
    nl_str if_match, if_none_match, if_modified_since, if_unmodified_since;
} nl_s3_conditions;
NL_MUST_USE nl_status nl_s3_check_conditions(const nl_s3_conditions *conditions, const nl_object *object, bool *is_not_modified);
NL_MUST_USE nl_status nl_s3_find_source(nl_s3_call *call, nl_str *bucket, nl_str *key, nl_str *version, nl_object *object); /* x-amz-copy-source with its conditions */
/* A source's bytes into `incoming`, through a digest when kind is not NULL. */
NL_MUST_USE nl_status nl_s3_copy_bytes(nl_s3_call *call, nl_object_reader *reader, uint64_t start, uint64_t length, const nl_s3_checksum_kind *kind, nl_incoming *incoming, nl_str *checksum);
nl_str nl_s3_default_type(void);
