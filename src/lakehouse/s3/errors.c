/* lakehouse/s3/errors.c - S3's error codes with their statuses, and the XML of an error. Source: Amazon S3 API Reference,
 * "Error responses".
 */
#include "base/limits.h"
#include "lakehouse/s3/s3.h"
#include "storage/xml.h"

static const struct {
    const char *code;
    int32_t status;
} statuses[] = {
    {"AccessControlListNotSupported", 400},
    {"AccessDenied", 403},
    {"AuthorizationHeaderMalformed", 400},
    {"AuthorizationQueryParametersError", 400},
    {"BadDigest", 400},
    {"BadRequest", 400},
    {"BucketAlreadyExists", 409},
    {"BucketAlreadyOwnedByYou", 409},
    {"BucketNotEmpty", 409},
    {"EntityTooLarge", 400},
    {"EntityTooSmall", 400},
    {"IllegalLocationConstraintException", 400},
    {"IllegalVersioningConfigurationException", 400},
    {"IncompleteBody", 400},
    {"InternalError", 500},
    {"InvalidAccessKeyId", 403},
    {"InvalidArgument", 400},
    {"InvalidBucketAclWithObjectOwnership", 400},
    {"InvalidBucketName", 400},
    {"InvalidDigest", 400},
    {"InvalidPart", 400},
    {"InvalidPartNumber", 416},
    {"InvalidPartOrder", 400},
    {"InvalidPolicyDocument", 400},
    {"InvalidRange", 416},
    {"InvalidRequest", 400},
    {"InvalidStorageClass", 400},
    {"InvalidTag", 400},
    {"InvalidURI", 400},
    {"KeyTooLongError", 400},
    {"MalformedPOSTRequest", 400},
    {"MalformedPolicy", 400},
    {"MalformedTrailerError", 400},
    {"MalformedXML", 400},
    {"MetadataTooLarge", 400},
    {"MethodNotAllowed", 405},
    {"MissingContentLength", 411},
    {"NoSuchBucket", 404},
    {"NoSuchBucketPolicy", 404},
    {"NoSuchCORSConfiguration", 404},
    {"NoSuchKey", 404},
    {"NoSuchLifecycleConfiguration", 404},
    {"NoSuchPublicAccessBlockConfiguration", 404},
    {"NoSuchTagSet", 404},
    {"NoSuchUpload", 404},
    {"NoSuchVersion", 404},
    {"NoSuchWebsiteConfiguration", 404},
    {"NotImplemented", 501},
    {"ObjectLockConfigurationNotFoundError", 404},
    {"OwnershipControlsNotFoundError", 404},
    {"PreconditionFailed", 412},
    {"ReplicationConfigurationNotFoundError", 404},
    {"RequestTimeTooSkewed", 403},
    {"ServerSideEncryptionConfigurationNotFoundError", 404},
    {"SignatureDoesNotMatch", 403},
    {"SlowDown", 503},
    {"XAmzContentSHA256Mismatch", 400},
};

int32_t nl_s3_status(const char *code)
{
    for (uint32_t i = 0; i < NL_COUNT(statuses); i++)
        if (nl_str_is(nl_str_from(code), statuses[i].code)) return statuses[i].status;
    return 500;
}

void nl_s3_error_header(nl_s3_call *call, const char *name, nl_str value)
{
    if (call->error_header_count < NL_COUNT(call->error_headers)) call->error_headers[call->error_header_count++] = (nl_property){nl_str_from(name), value};
}

/* What an error of the store is to a client of S3. A full disk or memory is worth another try. */
static const char *code_of(nl_error *error, const char **message)
{
    const char *code = nl_store_code(error);
    if (code) {
        *message = nl_error_param(error, "message");
        return code;
    }
    const bool is_passing = nl_error_kind_of(error) == NL_KIND_RETRY;
    *message = is_passing ? "Please reduce your request rate, or make room: the disk or the memory is full." : "We encountered an internal error. Please try again. The log has the reason.";
    return is_passing ? "SlowDown" : "InternalError";
}

void nl_s3_write_error(nl_s3_call *call, nl_request *request, nl_error *error, nl_reply *reply)
{
    const char *message = "";
    const char *code = code_of(error, &message);
    reply->status = nl_s3_status(code);
    for (uint32_t i = 0; call && i < call->error_header_count; i++)
        nl_reply_header(request, reply, nl_str_c(request->arena, call->error_headers[i].key), call->error_headers[i].value);
    nl_reply_header(request, reply, "Content-Type", NL_STR("application/xml"));
    nl_builder *xml = NL_NEW(request->arena, nl_builder);
    nl_builder_init(xml, 256u << 10);
    nl_append_c(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>");
    nl_xml_append_element(xml, "Code", nl_str_from(code));
    nl_xml_append_element(xml, "Message", nl_str_from(message));
    if (call && call->bucket.length) nl_xml_append_element(xml, "BucketName", call->bucket);
    if (call && call->key.length && nl_utf8_is_valid(call->key)) nl_xml_append_element(xml, "Key", call->key);
    nl_xml_append_element(xml, "Resource", request->path);
    nl_xml_append_element(xml, "RequestId", request->id);
    nl_xml_append_element(xml, "HostId", request->id);
    nl_append_c(xml, "</Error>");
    reply->body = xml;
    if (!nl_str_is(request->method, "HEAD")) return;
    reply->is_head = true; /* the code travels in the status alone, as S3 does it */
}
