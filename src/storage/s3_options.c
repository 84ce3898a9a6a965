/* storage/s3_options.c - the properties of an S3 file system. Names: Iceberg's S3FileIOProperties, HttpClientProperties and
 * AwsClientProperties (docs/aws.md of Iceberg 1.10), and Hadoop's S3A (core-default.xml).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "storage/digest.h"
#include "storage/s3_private.h"

/* s3.* that are read here or by credentials.c, and those that change nothing in nilas. The rest is logged. */
static const char *const known[] = {
    "endpoint", "path-style-access", "access-key-id", "secret-access-key", "session-token", "session-token-expires-at-ms", "cross-region-access-enabled", "checksum-enabled",
    "multipart.size", "multipart.part-size-bytes", "multipart.threshold", "multipart.num-threads", "delete.batch-size", "delete.num-threads", "delete-enabled", "write.storage-class",
    "acl", "sse.type", "sse.key", "sse.md5", "remote-signing-enabled", "retry.num-retries", "retry.min-wait-ms", "retry.max-wait-ms", "staging-dir", "region", "dualstack-enabled",
    "acceleration-enabled", "use-arn-region-enabled", "preload-client-enabled", "duplicate-listing", "directory-bucket.list-prefix-as-directory", "crt.enabled", "signer",
    "signer.uri", "signer.endpoint", "analytics-accelerator.enabled", "access-grants.enabled", "access-grants.fallback-to-iam-enabled", "chunked-encoding-enabled",
    "connect-timeout", "request-timeout", "proxy-uri", "ssl.enabled", "verify-ssl", "ca-file",
};
/* Named and not done: silence would be an answer that is not true. */
static const char *const refused[] = {"access-grants.enabled"};

typedef struct source {
    const nl_property *items;
    uint32_t count;
    nl_arena *arena;
} source;

static nl_str find(const source *from, const char *key)
{
    for (uint32_t i = from->count; i > 0; i--) /* a later one replaces an earlier one */
        if (nl_str_is(from->items[i - 1].key, key)) return from->items[i - 1].value;
    return (nl_str){0};
}

static nl_str find_s3a(const source *from, const char *name) /* hadoop.fs.s3a.NAME, also without "hadoop." */
{
    char key[128];
    snprintf(key, sizeof(key), "hadoop.fs.s3a.%s", name);
    const nl_str found = find(from, key);
    return found.data ? found : find(from, key + sizeof("hadoop.") - 1);
}

static bool is_true(nl_str text)
{
    return nl_str_is_nocase(nl_str_trim(text), "true");
}

static nl_status read_number(const source *from, const char *key, int64_t least, int64_t most, int64_t *number)
{
    const nl_str text = find(from, key);
    if (!text.data) return NULL;
    if (nl_parse_int64(nl_str_trim(text), number) && *number >= least && *number <= most) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The property %s must be a number from %lld to %lld, not \"" NL_STR_FMT "\".", key, (long long)least, (long long)most, NL_STR_ARG(text));
}

void nl_s3_properties_translate(const nl_property *properties, uint32_t property_count, nl_arena *arena, const nl_property **all, uint32_t *all_count)
{
    static const struct {
        const char *s3a, *s3;
    } names[] = {{"access.key", "s3.access-key-id"}, {"secret.key", "s3.secret-access-key"}, {"session.token", "s3.session-token"}};
    const source from = {properties, property_count, arena};
    nl_property *made = NL_NEW_ARRAY(arena, nl_property, property_count + NL_COUNT(names) + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < NL_COUNT(names); i++) { /* first: what is said as s3.* wins */
        const nl_str value = find_s3a(&from, names[i].s3a);
        if (value.data && !find(&from, names[i].s3).data) made[count++] = (nl_property){nl_str_from(names[i].s3), value};
    }
    const nl_str provider = find_s3a(&from, "aws.credentials.provider");
    if (nl_str_find(provider, NL_STR("Anonymous"), 0) != NL_NOT_FOUND && !find(&from, "client.credentials-provider").data)
        made[count++] = (nl_property){NL_STR("client.credentials-provider"), NL_STR("software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider")};
    for (uint32_t i = 0; i < property_count; i++) made[count++] = properties[i];
    *all = made;
    *all_count = count;
}

/* ---- Endpoint and region ---- */

static bool is_address(nl_str host)
{
    bool is_number = host.length > 0;
    for (size_t i = 0; i < host.length; i++) is_number = is_number && ((host.data[i] >= '0' && host.data[i] <= '9') || host.data[i] == '.');
    return is_number || nl_str_find_char(host, ':', 0) != NL_NOT_FOUND || nl_str_is_nocase(host, "localhost");
}

static nl_status read_region(const source *from, const nl_aws_profile *profile, nl_s3_options *options)
{
    static const char *const keys[] = {"client.region", "s3.region"};
    for (uint32_t i = 0; i < NL_COUNT(keys) && options->region.length == 0; i++) options->region = find(from, keys[i]);
    if (options->region.length == 0) options->region = find_s3a(from, "endpoint.region");
    if (options->region.length == 0) options->region = profile->region;
    if (options->region.length == 0) options->region = NL_STR("us-east-1");
    for (size_t i = 0; i < options->region.length; i++) {
        const char c = options->region.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') continue;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a region: \"" NL_STR_FMT "\".", NL_STR_ARG(options->region));
    }
    options->region = nl_arena_str(from->arena, options->region);
    return NULL;
}

static nl_status read_endpoint(const source *from, const nl_aws_profile *profile, nl_s3_options *options)
{
    nl_str endpoint = find(from, "s3.endpoint");
    if (endpoint.length == 0) {
        endpoint = find_s3a(from, "endpoint");
        const bool is_plain = nl_str_is_nocase(find_s3a(from, "connection.ssl.enabled"), "false");
        if (endpoint.length > 0 && nl_str_find(endpoint, NL_STR("://"), 0) == NL_NOT_FOUND)
            endpoint = nl_arena_f(from->arena, "%s://" NL_STR_FMT, is_plain ? "http" : "https", NL_STR_ARG(endpoint));
    }
    if (endpoint.length == 0) NL_TRY(nl_aws_endpoint(from->arena, "s3", &endpoint));
    options->has_endpoint = endpoint.length > 0;
    if (!options->has_endpoint) {
        options->scheme = NL_STR("https");
        options->is_dual_stack = is_true(find(from, "s3.dualstack-enabled"));
        options->is_accelerated = is_true(find(from, "s3.acceleration-enabled"));
    } else {
        nl_url url;
        NL_TRY(nl_url_parse(endpoint, &url));
        if (url.query.length > 0 || (!nl_str_is_nocase(url.scheme, "http") && !nl_str_is_nocase(url.scheme, "https")))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The S3 endpoint must be an http or https URL without a query: \"" NL_STR_FMT "\".", NL_STR_ARG(endpoint));
        options->scheme = nl_str_is_nocase(url.scheme, "http") ? NL_STR("http") : NL_STR("https");
        options->host = nl_arena_str(from->arena, url.host);
        options->port = nl_arena_str(from->arena, url.port);
        while (nl_str_ends(url.path, NL_STR("/"))) url.path.length--;
        options->base_path = nl_arena_str(from->arena, url.path);
    }
    nl_str style = find(from, "s3.path-style-access");
    if (!style.data) style = find_s3a(from, "path.style.access");
    options->is_path_style = style.data ? is_true(style) : profile->is_path_style;
    options->is_host_fixed = options->has_endpoint && is_address(options->host);
    return NULL;
}

/* ---- Headers of writes ---- */

static nl_str tagging_of(const source *from, const char *prefix)
{
    const size_t prefix_length = strlen(prefix);
    nl_str text = {0};
    for (uint32_t i = 0; i < from->count; i++) {
        const nl_property *item = &from->items[i];
        if (!nl_str_starts(item->key, nl_str_from(prefix))) continue;
        const nl_str name = nl_url_encode(from->arena, nl_str_slice(item->key, prefix_length, item->key.length), false);
        const nl_str value = nl_url_encode(from->arena, item->value, false);
        text = nl_arena_f(from->arena, NL_STR_FMT "%s" NL_STR_FMT "=" NL_STR_FMT, NL_STR_ARG(text), text.length ? "&" : "", NL_STR_ARG(name), NL_STR_ARG(value));
    }
    return text;
}

static nl_status read_encryption(const source *from, nl_s3_options *options, nl_property *headers, uint32_t *count)
{
    const nl_str type = find(from, "s3.sse.type");
    const nl_str key = find(from, "s3.sse.key");
    if (type.length == 0 || nl_str_is_nocase(type, "none")) return NULL;
    if (nl_str_is_nocase(type, "s3")) {
        headers[(*count)++] = (nl_property){NL_STR("x-amz-server-side-encryption"), NL_STR("AES256")};
    } else if (nl_str_is_nocase(type, "kms") || nl_str_is_nocase(type, "dsse-kms")) {
        headers[(*count)++] = (nl_property){NL_STR("x-amz-server-side-encryption"), nl_str_is_nocase(type, "kms") ? NL_STR("aws:kms") : NL_STR("aws:kms:dsse")};
        if (key.length > 0) headers[(*count)++] = (nl_property){NL_STR("x-amz-server-side-encryption-aws-kms-key-id"), nl_arena_str(from->arena, key)};
    } else if (nl_str_is_nocase(type, "custom")) {
        nl_property *own = NL_NEW_ARRAY(from->arena, nl_property, 3);
        nl_str md5 = find(from, "s3.sse.md5");
        nl_bytes raw = {0};
        if (!nl_base64_decode(from->arena, key, &raw) || raw.length != 32)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "s3.sse.key must be a 256-bit key in base64 when s3.sse.type is custom.");
        if (md5.length == 0) {
            uint8_t digest[16];
            nl_md5(raw, digest);
            md5 = nl_base64_encode(from->arena, (nl_bytes){digest, sizeof(digest)});
        }
        own[0] = (nl_property){NL_STR("x-amz-server-side-encryption-customer-algorithm"), NL_STR("AES256")};
        own[1] = (nl_property){NL_STR("x-amz-server-side-encryption-customer-key"), nl_arena_str(from->arena, key)};
        own[2] = (nl_property){NL_STR("x-amz-server-side-encryption-customer-key-MD5"), nl_arena_str(from->arena, md5)};
        options->key_headers = own;
        options->key_header_count = 3;
    } else {
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "s3.sse.type must be none, s3, kms, dsse-kms or custom, not \"" NL_STR_FMT "\".", NL_STR_ARG(type));
    }
    return NULL;
}

static nl_status read_write_headers(const source *from, nl_s3_options *options)
{
    nl_property *headers = NL_NEW_ARRAY(from->arena, nl_property, 8);
    uint32_t count = 0;
    const nl_str tagging = tagging_of(from, "s3.write.tags.");
    const nl_str storage_class = find(from, "s3.write.storage-class");
    const nl_str acl = find(from, "s3.acl");
    if (tagging.length > 0) headers[count++] = (nl_property){NL_STR("x-amz-tagging"), tagging};
    if (storage_class.length > 0) headers[count++] = (nl_property){NL_STR("x-amz-storage-class"), nl_arena_str(from->arena, storage_class)};
    if (acl.length > 0) headers[count++] = (nl_property){NL_STR("x-amz-acl"), nl_arena_str(from->arena, acl)};
    NL_TRY(read_encryption(from, options, headers, &count));
    options->write_headers = headers;
    options->write_header_count = count;
    return NULL;
}

static void read_delete_tags(const source *from, nl_s3_options *options)
{
    static const nl_str prefix = NL_STR_INIT("s3.delete.tags.");
    nl_property *tags = NL_NEW_ARRAY(from->arena, nl_property, from->count + 1);
    for (uint32_t i = 0; i < from->count; i++)
        if (nl_str_starts(from->items[i].key, prefix))
            tags[options->delete_tag_count++] = (nl_property){nl_arena_str(from->arena, nl_str_slice(from->items[i].key, prefix.length, from->items[i].key.length)),
                                                              nl_arena_str(from->arena, from->items[i].value)};
    options->delete_tags = tags;
}

/* ---- Numbers ---- */

static nl_status read_sizes(const source *from, nl_s3_options *options)
{
    int64_t part = 32 << 20;
    const int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t threads = NL_MAX((int64_t)4, NL_MIN(cores, (int64_t)32));
    int64_t batch = 250;
    double factor = 1.5;
    NL_TRY(read_number(from, "s3.multipart.part-size-bytes", NL_S3_PART_BYTES_MIN, INT64_C(1) << 31, &part));
    NL_TRY(read_number(from, "s3.multipart.size", NL_S3_PART_BYTES_MIN, INT64_C(1) << 31, &part));
    NL_TRY(read_number(from, "s3.multipart.num-threads", 1, 1000, &threads));
    NL_TRY(read_number(from, "s3.delete.batch-size", 1, 1000, &batch));
    const nl_str threshold = find(from, "s3.multipart.threshold");
    if (threshold.data && (!nl_parse_double(nl_str_trim(threshold), &factor) || !(factor >= 1) || factor > 100))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The property s3.multipart.threshold must be a factor from 1 to 100, not \"" NL_STR_FMT "\".", NL_STR_ARG(threshold));
    options->part_bytes = (uint64_t)part;
    options->threshold_bytes = (uint64_t)((double)part * factor);
    options->thread_count = (uint32_t)threads;
    options->delete_batch = (uint32_t)batch;
    options->removes = !nl_str_is_nocase(find(from, "s3.delete-enabled"), "false");
    options->sends_md5 = is_true(find(from, "s3.checksum-enabled"));
    return NULL;
}

static nl_status read_http(const source *from, nl_s3_options *options)
{
    static const struct {
        const char *name;
        bool is_connect;
    } times[] = {{"http-client.urlconnection.connection-timeout-ms", true}, {"http-client.apache.connection-timeout-ms", true},
                 {"http-client.urlconnection.socket-timeout-ms", false}, {"http-client.apache.socket-timeout-ms", false}};
    int64_t connections = 50;
    int64_t retries = 5;
    for (uint32_t i = 0; i < NL_COUNT(times); i++)
        NL_TRY(read_number(from, times[i].name, 1, 86400000, times[i].is_connect ? &options->http.connect_timeout_ms : &options->http.stall_timeout_ms));
    NL_TRY(read_number(from, "http-client.apache.max-connections", 1, 10000, &connections));
    NL_TRY(read_number(from, "s3.retry.num-retries", 0, 100, &retries));
    NL_TRY(read_number(from, "s3.retry.min-wait-ms", 1, 3600000, &options->http.backoff_first_ms));
    NL_TRY(read_number(from, "s3.retry.max-wait-ms", 1, 3600000, &options->http.backoff_ms_max));
    options->http.deadline_ms = 600000; /* a part over a slow line; those that do not move end much earlier */
    options->http.connections_max = (uint32_t)connections;
    options->http.attempts_max = (uint32_t)retries + 1;
    options->http.proxy = nl_arena_str(from->arena, find(from, "http-client.proxy-endpoint"));
    options->http.ca_file = nl_arena_str(from->arena, find(from, "s3.ca-file"));
    options->http.is_insecure = nl_str_is_nocase(find(from, "s3.verify-ssl"), "false");
    return NULL;
}

static nl_status check_names(const source *from)
{
    for (uint32_t i = 0; i < NL_COUNT(refused); i++) {
        char key[64];
        snprintf(key, sizeof(key), "s3.%s", refused[i]);
        if (is_true(find(from, key))) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The property %s is not supported.", key);
    }
    for (uint32_t i = 0; i < from->count; i++) {
        const nl_str key = from->items[i].key;
        bool is_known = !nl_str_starts(key, NL_STR("s3.")) || nl_str_starts(key, NL_STR("s3.write.tags.")) || nl_str_starts(key, NL_STR("s3.delete.tags."));
        for (uint32_t j = 0; j < NL_COUNT(known) && !is_known; j++) is_known = nl_str_is(nl_str_slice(key, 3, key.length), known[j]);
        if (!is_known) nl_log(NL_LOG_WARN, "The property " NL_STR_FMT " has no effect: nilas does not know it.", NL_STR_ARG(key));
    }
    if (find(from, "s3.staging-dir").data) nl_log(NL_LOG_INFO, "The property s3.staging-dir has no effect: parts are staged in memory.");
    return NULL;
}

nl_status nl_s3_options_read(const nl_property *properties, uint32_t property_count, nl_arena *arena, nl_s3_options *options)
{
    const source from = {properties, property_count, arena};
    nl_aws_profile profile = {0};
    *options = (nl_s3_options){0};
    NL_TRY(check_names(&from));
    NL_TRY(nl_aws_profile_read(arena, &profile));
    NL_TRY(read_region(&from, &profile, options));
    NL_TRY(read_endpoint(&from, &profile, options));
    NL_TRY(read_write_headers(&from, options));
    read_delete_tags(&from, options);
    NL_TRY(read_sizes(&from, options));
    NL_TRY(read_http(&from, options));
    return nl_arena_check(arena);
}
