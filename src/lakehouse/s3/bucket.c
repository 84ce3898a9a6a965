/* lakehouse/s3/bucket.c - buckets, their versioning, and the documents that are kept with them. */
#include "base/json.h"
#include "lakehouse/s3/s3.h"
#include "storage/xml.h"

#define BUCKET_TAGS_MAX 50u

nl_status nl_s3_bucket_begin(nl_s3_call *call)
{
    return nl_store_bucket(call->objects, call->bucket, call->arena, &call->bucket_info);
}

/* ---- The bucket itself. */

static nl_status read_location(nl_s3_call *call, nl_str *region, const nl_xml **tags)
{
    const nl_xml *root = NULL;
    *region = (nl_str){0};
    if (!nl_str_trim(nl_builder_str(&call->document)).length) return NULL;
    NL_TRY(nl_s3_read_xml(call, "CreateBucketConfiguration", &root));
    if (nl_xml_child(root, "Bucket") || nl_xml_child(root, "Location")) return NL_STORE_RAISE("NotImplemented", "Directory buckets are not offered.");
    *tags = nl_xml_child(root, "Tags");
    *region = nl_str_trim(nl_xml_text(root, "LocationConstraint"));
    if (nl_str_is(*region, "us-east-1")) *region = (nl_str){0};
    return NULL;
}

/* Tags that a bucket is made with, as the document that PutBucketTagging keeps. */
static nl_status put_first_tags(nl_s3_call *call, const nl_xml *tags)
{
    nl_builder xml;
    nl_builder_init(&xml, 1u << 20);
    nl_append_c(&xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Tagging xmlns=\"" NL_S3_NAMESPACE "\"><TagSet>");
    for (const nl_xml *tag = nl_xml_child(tags, "Tag"); tag; tag = nl_xml_next(tag)) {
        nl_append_c(&xml, "<Tag>");
        nl_s3_element(&xml, "Key", nl_xml_text(tag, "Key"));
        nl_s3_element(&xml, "Value", nl_xml_text(tag, "Value"));
        nl_append_c(&xml, "</Tag>");
    }
    nl_append_c(&xml, "</TagSet></Tagging>");
    nl_status status = nl_store_put_document(call->objects, call->bucket, NL_STR("tagging"), nl_builder_str(&xml));
    nl_builder_fini(&xml);
    return status;
}

/* S3 makes no bucket with an access control list, unless it is asked for an ownership setting that allows them. */
static bool wants_acl(const nl_s3_call *call)
{
    const nl_str canned = nl_s3_header(call, "x-amz-acl");
    bool wants = canned.data && !nl_str_is(canned, "private");
    for (uint32_t i = 0; i < call->request->header_count; i++)
        wants = wants || nl_str_starts_nocase(call->request->headers[i].key, NL_STR("x-amz-grant-"));
    return wants;
}

/* In us-east-1 creating one's own bucket again is a success, elsewhere it is not; the region is the one signed for. */
nl_status nl_s3_create_bucket(nl_s3_call *call, nl_reply *reply)
{
    nl_bucket wanted = {.name = call->bucket};
    bool existed = false;
    const nl_xml *tags = NULL;
    if (nl_str_is_nocase(nl_s3_header(call, "x-amz-bucket-object-lock-enabled"), "true")) return NL_STORE_RAISE("NotImplemented", "Object lock is not offered.");
    if (wants_acl(call)) return NL_STORE_RAISE("InvalidBucketAclWithObjectOwnership", "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting");
    NL_TRY(read_location(call, &wanted.region, &tags));
    NL_TRY(nl_store_create_bucket(call->objects, &wanted, &existed));
    nl_str region = call->claim.scope.region;
    const bool is_quiet = (!region.length || nl_str_is(region, "us-east-1")) && !wanted.region.length;
    if (existed && !is_quiet) return NL_STORE_RAISE("BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.");
    if (tags && !existed) NL_TRY(put_first_tags(call, tags));
    nl_s3_reply(call, reply, "Location", nl_arena_f(call->arena, "/" NL_STR_FMT, NL_STR_ARG(call->bucket)));
    reply->status = 200;
    return NULL;
}

nl_status nl_s3_delete_bucket(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(nl_s3_bucket_begin(call));
    if (call->bucket_info.is_hidden) return NL_STORE_RAISE("AccessDenied", "The bucket belongs to a table; delete the table.");
    NL_TRY(nl_store_delete_bucket(call->objects, call->bucket, false));
    reply->status = 204;
    return NULL;
}

nl_status nl_s3_head_bucket(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(nl_s3_bucket_begin(call));
    nl_s3_reply(call, reply, "x-amz-bucket-region", call->bucket_info.region.length ? call->bucket_info.region : NL_STR("us-east-1"));
    nl_s3_reply(call, reply, "x-amz-access-point-alias", NL_STR("false"));
    nl_s3_reply(call, reply, "Content-Type", NL_STR("application/xml"));
    reply->is_head = true;
    reply->status = 200;
    return NULL;
}

nl_status nl_s3_get_location(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(nl_s3_bucket_begin(call));
    nl_builder *xml = nl_s3_xml(call, "LocationConstraint");
    nl_xml_append(xml, call->bucket_info.region);
    nl_s3_reply_xml(call, reply, xml, "LocationConstraint");
    return NULL;
}

/* ---- Versioning. */

nl_status nl_s3_get_versioning(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(nl_s3_bucket_begin(call));
    nl_builder *xml = nl_s3_xml(call, "VersioningConfiguration");
    if (call->bucket_info.versioning != NL_VERSIONING_OFF)
        nl_s3_element(xml, "Status", call->bucket_info.versioning == NL_VERSIONING_ENABLED ? NL_STR("Enabled") : NL_STR("Suspended"));
    nl_s3_reply_xml(call, reply, xml, "VersioningConfiguration");
    return NULL;
}

nl_status nl_s3_put_versioning(nl_s3_call *call, nl_reply *reply)
{
    const nl_xml *root = NULL;
    NL_TRY(nl_s3_read_xml(call, "VersioningConfiguration", &root));
    nl_str status = nl_str_trim(nl_xml_text(root, "Status"));
    const bool is_enabled = nl_str_is(status, "Enabled");
    if (!is_enabled && !nl_str_is(status, "Suspended")) return NL_STORE_RAISE("IllegalVersioningConfigurationException", "The Versioning element must be specified");
    if (nl_str_is(nl_str_trim(nl_xml_text(root, "MfaDelete")), "Enabled")) return NL_STORE_RAISE("NotImplemented", "MFA delete is not offered.");
    NL_TRY(nl_store_set_versioning(call->objects, call->bucket, is_enabled ? NL_VERSIONING_ENABLED : NL_VERSIONING_SUSPENDED));
    reply->status = 200;
    return NULL;
}

/* ---- Documents. */

static const struct document {
    const char *name; /* the query's parameter, and under which it is kept */
    const char *root; /* of the XML; "": JSON */
    const char *absent, *message;
    int32_t put_status;
    const char *standard; /* what there is when none was put; NULL: `absent` */
} documents[] = {
    {"tagging", "Tagging", "NoSuchTagSet", "The TagSet does not exist", 204, NULL},
    {"policy", "", "NoSuchBucketPolicy", "The bucket policy does not exist", 204, NULL},
    {"lifecycle", "LifecycleConfiguration", "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist", 200, NULL},
    {"cors", "CORSConfiguration", "NoSuchCORSConfiguration", "The CORS configuration does not exist", 200, NULL},
    {"encryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionConfigurationNotFoundError", "The server side encryption configuration was not found", 200,
     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ServerSideEncryptionConfiguration xmlns=\"" NL_S3_NAMESPACE
     "\"><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule>"
     "</ServerSideEncryptionConfiguration>"},
    {"publicAccessBlock", "PublicAccessBlockConfiguration", "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found", 200, NULL},
    {"ownershipControls", "OwnershipControls", "OwnershipControlsNotFoundError", "The bucket ownership controls were not found", 200, NULL},
};

static const struct document *document_of(const nl_s3_call *call)
{
    for (uint32_t i = 0; i < NL_COUNT(documents); i++)
        if (nl_str_is(nl_str_from(call->operation->parameter), documents[i].name)) return &documents[i];
    return NULL;
}

nl_status nl_s3_get_bucket_document(nl_s3_call *call, nl_reply *reply)
{
    const struct document *kind = document_of(call);
    NL_CHECK(kind);
    nl_str text = {0};
    NL_TRY(nl_store_get_document(call->objects, call->bucket, nl_str_from(kind->name), call->arena, &text));
    if (!text.data && !kind->standard) return NL_STORE_RAISE(kind->absent, "%s", kind->message);
    if (!text.data) text = nl_str_from(kind->standard);
    nl_reply_text(call->request, reply, 200, kind->root[0] ? "application/xml" : "application/json", text);
    return NULL;
}

nl_status nl_s3_delete_bucket_document(nl_s3_call *call, nl_reply *reply)
{
    const struct document *kind = document_of(call);
    NL_CHECK(kind);
    NL_TRY(nl_store_put_document(call->objects, call->bucket, nl_str_from(kind->name), (nl_str){0}));
    reply->status = 204;
    return NULL;
}

static nl_status check_bucket_tags(const nl_xml *root)
{
    uint32_t count = 0;
    const nl_xml *set = nl_xml_child(root, "TagSet");
    if (!set) return NL_STORE_RAISE("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema");
    for (const nl_xml *tag = nl_xml_child(set, "Tag"); tag; tag = nl_xml_next(tag)) {
        nl_str key = nl_xml_text(tag, "Key"), value = nl_xml_text(tag, "Value");
        if (!key.length || nl_utf8_length(key) > 128 || nl_utf8_length(value) > 256) return NL_STORE_RAISE("InvalidTag", "The TagKey or TagValue you have provided is invalid");
        for (const nl_xml *other = nl_xml_next(tag); other; other = nl_xml_next(other))
            if (nl_str_equal(nl_xml_text(other, "Key"), key)) return NL_STORE_RAISE("InvalidTag", "Cannot provide multiple Tags with the same key");
        if (++count > BUCKET_TAGS_MAX) return NL_STORE_RAISE("BadRequest", "Bucket tag count cannot be greater than 50");
    }
    return NULL;
}

static nl_status check_json(nl_s3_call *call)
{
    const json_t *json = NULL;
    nl_status status = nl_json_parse(call->arena, nl_builder_str(&call->document), NL_STR("policy"), &json);
    if (!status && json_is_object(json) && json_object_get(json, "Statement")) return NULL;
    nl_error_free(status);
    return NL_STORE_RAISE("MalformedPolicy", "Policies must be valid JSON and have statements");
}

nl_status nl_s3_put_bucket_document(nl_s3_call *call, nl_reply *reply)
{
    const struct document *kind = document_of(call);
    NL_CHECK(kind);
    const nl_xml *root = NULL;
    if (!kind->root[0]) NL_TRY(check_json(call));
    else NL_TRY(nl_s3_read_xml(call, kind->root, &root));
    if (nl_str_is(nl_str_from(kind->name), "tagging")) NL_TRY(check_bucket_tags(root));
    NL_TRY(nl_store_put_document(call->objects, call->bucket, nl_str_from(kind->name), nl_builder_str(&call->document)));
    reply->status = kind->put_status;
    return NULL;
}

nl_status nl_s3_get_policy_status(nl_s3_call *call, nl_reply *reply)
{
    nl_str text = {0};
    NL_TRY(nl_store_get_document(call->objects, call->bucket, NL_STR("policy"), call->arena, &text));
    if (!text.data) return NL_STORE_RAISE("NoSuchBucketPolicy", "The bucket policy does not exist");
    nl_builder *xml = nl_s3_xml(call, "PolicyStatus");
    nl_s3_element(xml, "IsPublic", NL_STR("false")); /* a stored policy opens nothing here */
    nl_s3_reply_xml(call, reply, xml, "PolicyStatus");
    return NULL;
}

/* ---- Settings that cannot be put: a bucket has what one has that never had them set. */

static const struct unset {
    const char *name, *root, *content;
    const char *absent, *message; /* NULL: the document with `content` */
} unset[] = {
    {"notification", "NotificationConfiguration", "", NULL, NULL},
    {"logging", "BucketLoggingStatus", "", NULL, NULL},
    {"accelerate", "AccelerateConfiguration", "", NULL, NULL},
    {"requestPayment", "RequestPaymentConfiguration", "<Payer>BucketOwner</Payer>", NULL, NULL},
    {"website", NULL, NULL, "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration"},
    {"replication", NULL, NULL, "ReplicationConfigurationNotFoundError", "The replication configuration was not found"},
    {"object-lock", NULL, NULL, "ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket"},
};

nl_status nl_s3_get_unset(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(nl_s3_bucket_begin(call));
    for (uint32_t i = 0; i < NL_COUNT(unset); i++) {
        if (!nl_str_is(nl_str_from(call->operation->parameter), unset[i].name)) continue;
        if (unset[i].absent) return NL_STORE_RAISE(unset[i].absent, "%s", unset[i].message);
        nl_builder *xml = nl_s3_xml(call, unset[i].root);
        nl_append_c(xml, unset[i].content);
        nl_s3_reply_xml(call, reply, xml, unset[i].root);
        return NULL;
    }
    NL_CHECK(false);
    return NULL;
}

/* ---- Access control lists: disabled, as in every bucket that S3 makes today; the owner has full control. */

static nl_status check_target(nl_s3_call *call)
{
    nl_object object = {0};
    if (!call->key.length) return nl_s3_bucket_begin(call);
    return nl_store_find(call->objects, call->bucket, call->key, nl_s3_parameter(call, "versionId"), call->arena, &object);
}

nl_status nl_s3_get_acl(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(check_target(call));
    nl_builder *xml = nl_s3_xml(call, "AccessControlPolicy");
    nl_s3_owner(xml, "Owner");
    nl_append_c(xml, "<AccessControlList><Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\"><ID>" NL_S3_OWNER "</ID><DisplayName>" NL_S3_OWNER_NAME
                     "</DisplayName></Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList>");
    nl_s3_reply_xml(call, reply, xml, "AccessControlPolicy");
    return NULL;
}

nl_status nl_s3_put_acl(nl_s3_call *call, nl_reply *reply)
{
    NL_TRY(check_target(call));
    nl_str canned = nl_s3_header(call, "x-amz-acl");
    if (nl_str_is(canned, "private") || nl_str_is(canned, "bucket-owner-full-control")) {
        reply->status = 200;
        return NULL;
    }
    return NL_STORE_RAISE("AccessControlListNotSupported", "The bucket does not allow ACLs");
}
