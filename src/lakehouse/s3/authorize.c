/* lakehouse/s3/authorize.c - who may call: the key pair of the service is verified, other keys are let in unless strict.
 *
 * There are no accounts: a known key may do everything. Without strict mode an unknown key or none at all may, too, for
 * that is how emulators are used; what is signed with the known key is verified in every mode.
 */
#include "base/calendar.h"
#include "lakehouse/s3/s3.h"

static nl_status refuse_unknown(const nl_s3_call *call)
{
    const char *problem = call->claim.problem ? call->claim.problem : "";
    if (nl_str_find(nl_str_from(problem), NL_STR("not supported"), 0) != NL_NOT_FOUND)
        return NL_STORE_RAISE("InvalidRequest", "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.");
    if (nl_s3_has(call, "X-Amz-Algorithm") || nl_s3_has(call, "X-Amz-Signature")) return NL_STORE_RAISE("AuthorizationQueryParametersError", "%s", problem);
    return NL_STORE_RAISE("AuthorizationHeaderMalformed", "The authorization header is malformed; %s", problem);
}

static nl_status explain(nl_sigv4_verdict verdict, const nl_sigv4_claim *claim)
{
    const bool is_presigned = claim->kind == NL_SIGV4_PRESIGNED;
    switch (verdict) {
    case NL_SIGV4_GOOD:
        return NULL;
    case NL_SIGV4_WRONG:
        return NL_STORE_RAISE("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.");
    case NL_SIGV4_SKEWED:
        if (is_presigned) return NL_STORE_RAISE("AccessDenied", "Request is not valid yet");
        return NL_STORE_RAISE("RequestTimeTooSkewed", "The difference between the request time and the current time is too large.");
    case NL_SIGV4_EXPIRED:
        return NL_STORE_RAISE("AccessDenied", "Request has expired");
    case NL_SIGV4_UNSIGNED_HEADERS:
        return NL_STORE_RAISE("AccessDenied", "There were headers present in the request which were not signed");
    case NL_SIGV4_MALFORMED:
        if (is_presigned) return NL_STORE_RAISE("AuthorizationQueryParametersError", "The query parameters of the signature are malformed.");
        return NL_STORE_RAISE("AuthorizationHeaderMalformed", "The authorization header is malformed.");
    }
    return NL_STORE_RAISE("AccessDenied", "Access Denied");
}

nl_status nl_s3_authorize(nl_s3_call *call, const nl_sigv4_request *request)
{
    nl_sigv4_claim_parse(request, call->arena, &call->claim);
    const nl_s3_service *service = call->service;
    if (call->claim.kind == NL_SIGV4_NONE && nl_s3_header(call, "authorization").length) return NL_STORE_RAISE("InvalidArgument", "Unsupported Authorization Type");
    if (call->claim.kind == NL_SIGV4_NONE) return service->is_strict ? NL_STORE_RAISE("AccessDenied", "Access Denied") : NULL;
    if (call->claim.kind == NL_SIGV4_UNKNOWN) return refuse_unknown(call);
    if (!nl_str_equal(call->claim.scope.access_key, service->access_key)) {
        if (service->is_strict) return NL_STORE_RAISE("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
        return NULL;
    }
    if (!nl_str_is(call->claim.scope.service, "s3"))
        return NL_STORE_RAISE("AuthorizationHeaderMalformed", "The authorization header is malformed; incorrect service \"" NL_STR_FMT "\". This endpoint belongs to \"s3\".", NL_STR_ARG(call->claim.scope.service));
    const bool has_hash = nl_s3_header(call, "x-amz-content-sha256").length > 0;
    if (call->claim.kind == NL_SIGV4_HEADER && !has_hash) return NL_STORE_RAISE("InvalidRequest", "Missing required header for this request: x-amz-content-sha256");
    nl_str canonical;
    const nl_sigv4_verdict verdict = nl_sigv4_verify(request, &call->claim, service->secret_key, nl_now_micros(), call->arena, &canonical);
    call->is_verified = verdict == NL_SIGV4_GOOD;
    return explain(verdict, &call->claim);
}
