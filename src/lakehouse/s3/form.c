/* lakehouse/s3/form.c - PostObject: an upload by a browser's form.
 *
 * Source: Amazon S3 API Reference, "POST Object" and "Browser-Based Uploads Using POST": fields come before the file; the
 * policy is signed with the signing key; its conditions hold for every field. RFC 7578 for the form itself.
 */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"
#include "lakehouse/s3/s3.h"

#define FIELDS_MAX      64u
#define FIELD_BYTES_MAX (64u << 10)
#define FIELDS_BYTES_MAX (1u << 20) /* of all fields before the file */

struct nl_s3_form {
    nl_s3_call *call;
    nl_str boundary; /* "\r\n--…" */
    enum { FORM_PREAMBLE, FORM_HEAD, FORM_FIELD, FORM_FILE, FORM_DONE } state;
    uint8_t *kept;   /* owned: bytes that may be the beginning of a boundary, or a head or field so far */
    size_t kept_length, kept_capacity;
    size_t total;    /* of what came before the file */
    nl_property fields[FIELDS_MAX];
    uint32_t field_count;
    nl_str name, filename, type; /* of the part that is being read */
    bool is_file;
};

static nl_status malformed(const char *why)
{
    return NL_STORE_RAISE("MalformedPOSTRequest", "The body of your POST request is not well-formed multipart/form-data: %s.", why);
}

/* The value of "name=…" in a header; quotes taken off. */
static nl_str parameter_of(nl_str header, const char *name)
{
    nl_str part;
    while (nl_str_next_part(&header, ';', &part)) {
        part = nl_str_trim(part);
        const size_t equals = nl_str_find_char(part, '=', 0);
        if (equals == NL_NOT_FOUND || !nl_str_is_nocase(nl_str_slice(part, 0, equals), name)) continue;
        nl_str value = nl_str_slice(part, equals + 1, part.length);
        if (value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"') value = nl_str_slice(value, 1, value.length - 1);
        return value.data ? value : NL_STR("");
    }
    return (nl_str){0};
}

nl_status nl_s3_form_begin(nl_s3_call *call)
{
    nl_str type = nl_s3_header(call, "Content-Type");
    nl_str boundary = parameter_of(type, "boundary");
    if (!nl_str_starts_nocase(type, NL_STR("multipart/form-data"))) return NL_STORE_RAISE("MethodNotAllowed", "The specified method is not allowed against this resource.");
    if (!boundary.length || boundary.length > 70) return malformed("it has no boundary");
    NL_TRY(nl_s3_bucket_begin(call));
    struct nl_s3_form *form = calloc(1, sizeof(*form));
    if (!form) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*form)), NL_P("receivedBytes", "0"));
    call->form = form;
    form->call = call;
    form->boundary = nl_arena_f(call->arena, "\r\n--" NL_STR_FMT, NL_STR_ARG(boundary));
    NL_TRY(nl_incoming_new(call->objects, &call->incoming));
    return nl_s3_form_take(call, (nl_bytes){(const uint8_t *)"\r\n", 2}); /* the first boundary has no line before it */
}

void nl_s3_form_free(struct nl_s3_form *form)
{
    if (!form) return;
    free(form->kept);
    free(form);
}

static nl_status keep(struct nl_s3_form *form, nl_bytes bytes)
{
    const size_t needed = form->kept_length + bytes.length;
    if (needed > form->kept_capacity) {
        const size_t capacity = NL_MAX(2 * form->kept_capacity, needed + 4096);
        uint8_t *grown = realloc(form->kept, capacity);
        if (!grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P("receivedBytes", "0"));
        form->kept = grown;
        form->kept_capacity = capacity;
    }
    memcpy(form->kept + form->kept_length, bytes.data, bytes.length);
    form->kept_length = needed;
    return NULL;
}

static void drop(struct nl_s3_form *form, size_t count)
{
    form->kept_length -= count;
    memmove(form->kept, form->kept + count, form->kept_length);
}

static nl_str kept_text(const struct nl_s3_form *form)
{
    return (nl_str){(const char *)form->kept, form->kept_length};
}

/* The part's own headers, up to an empty line. */
static nl_status read_head(struct nl_s3_form *form, nl_str head)
{
    nl_arena *arena = form->call->arena;
    form->name = form->type = (nl_str){0};
    nl_str line;
    while (nl_str_next_part(&head, '\n', &line)) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        nl_str name = nl_str_slice(line, 0, colon), value = colon == NL_NOT_FOUND ? (nl_str){0} : nl_str_trim(nl_str_slice(line, colon + 1, line.length));
        if (nl_str_is_nocase(name, "content-disposition")) {
            form->name = nl_arena_str(arena, parameter_of(value, "name"));
            form->filename = nl_arena_str(arena, parameter_of(value, "filename"));
        } else if (nl_str_is_nocase(name, "content-type")) {
            form->type = nl_arena_str(arena, value);
        }
    }
    if (!form->name.length) return malformed("a part has no name");
    form->is_file = nl_str_is(form->name, "file");
    form->state = form->is_file ? FORM_FILE : FORM_FIELD;
    return NULL;
}

static nl_status end_field(struct nl_s3_form *form, nl_str value)
{
    if (form->field_count == FIELDS_MAX) return malformed("it has too many fields");
    nl_str name = nl_arena_str(form->call->arena, form->name);
    for (size_t i = 0; i < name.length; i++)
        if (name.data[i] >= 'A' && name.data[i] <= 'Z') ((char *)NL_UNCONST(name.data))[i] = (char)(name.data[i] | 0x20);
    form->fields[form->field_count++] = (nl_property){name, nl_arena_str(form->call->arena, value)};
    return NULL;
}

/* One step with what is kept; *goes_on: there may be another. */
static nl_status step(struct nl_s3_form *form, bool *goes_on)
{
    nl_str text = kept_text(form);
    *goes_on = false;
    if (form->state == FORM_HEAD) {
        if (nl_str_starts(text, NL_STR("--"))) { /* the end; S3 ignores what follows the file, and so is all that comes now */
            form->state = FORM_DONE;
            return NULL;
        }
        const size_t end = nl_str_find(text, NL_STR("\r\n\r\n"), 0);
        if (end == NL_NOT_FOUND) return form->kept_length > FIELD_BYTES_MAX ? malformed("a part's head is too long") : NULL;
        NL_TRY(read_head(form, nl_str_slice(text, 0, end)));
        drop(form, end + 4);
        *goes_on = true;
        return NULL;
    }
    const size_t end = nl_str_find(text, form->boundary, 0);
    if (end != NL_NOT_FOUND) {
        if (form->state == FORM_FIELD) NL_TRY(end_field(form, nl_str_slice(text, 0, end)));
        if (form->state == FORM_FILE) NL_TRY(nl_incoming_write(form->call->incoming, text.data, end));
        form->state = form->state == FORM_FILE ? FORM_DONE : FORM_HEAD; /* fields behind the file are ignored */
        drop(form, end + form->boundary.length);
        *goes_on = form->state == FORM_HEAD;
        return NULL;
    }
    if (form->state == FORM_FIELD && form->kept_length > FIELD_BYTES_MAX) return malformed("a field is too long");
    if (form->state == FORM_FIELD || form->kept_length < form->boundary.length) return NULL;
    const size_t sure = form->kept_length - form->boundary.length + 1; /* these cannot begin a boundary */
    if (form->state == FORM_FILE) NL_TRY(nl_incoming_write(form->call->incoming, text.data, sure));
    drop(form, sure);
    return NULL;
}

nl_status nl_s3_form_take(nl_s3_call *call, nl_bytes bytes)
{
    struct nl_s3_form *form = call->form;
    if (!form || form->state == FORM_DONE) return NULL;
    if (form->state != FORM_FILE) form->total += bytes.length;
    if (form->total > FIELDS_BYTES_MAX + NL_HTTP_HEAD_BYTES_MAX) return malformed("its fields are too long");
    NL_TRY(keep(form, bytes));
    for (bool goes_on = true; goes_on && form->state != FORM_DONE;) NL_TRY(step(form, &goes_on));
    return NULL;
}

static nl_str field(const struct nl_s3_form *form, const char *name)
{
    for (uint32_t i = 0; i < form->field_count; i++)
        if (nl_str_is(form->fields[i].key, name)) return form->fields[i].value;
    return (nl_str){0};
}

/* ---- Who sent it. */

static nl_status denied(const char *why)
{
    return NL_STORE_RAISE("AccessDenied", "Invalid according to Policy: %s", why);
}

static bool is_signature(const struct nl_s3_form *form, nl_str secret_key, nl_str scope_text, nl_str policy, nl_str claimed)
{
    nl_str rest = scope_text, parts[4];
    for (uint32_t i = 0; i < 4; i++)
        if (!nl_str_next_part(&rest, '/', &parts[i])) return false;
    nl_arena *arena = form->call->arena;
    const nl_sigv4_scope scope = {.date = parts[0], .region = parts[1], .service = parts[2]};
    nl_sigv4_chain chain;
    uint8_t digest[32];
    nl_sigv4_chain_begin(&chain, &scope, secret_key, NL_STR(""), NL_STR(""), arena);
    nl_hmac_sha256((nl_bytes){chain.key, 32}, (nl_bytes){(const uint8_t *)policy.data, policy.length}, digest);
    nl_str right = nl_hex(arena, digest, 32);
    uint8_t difference = claimed.length != 64;
    for (size_t i = 0; i < 64 && claimed.length == 64; i++) difference |= (uint8_t)(right.data[i] ^ claimed.data[i]);
    return difference == 0;
}

static nl_status check_signature(const struct nl_s3_form *form)
{
    const nl_s3_service *service = form->call->service;
    nl_str credential = field(form, "x-amz-credential"), policy = field(form, "policy");
    const size_t slash = nl_str_find_char(credential, '/', 0);
    if (field(form, "awsaccesskeyid").data) return NL_STORE_RAISE("InvalidRequest", "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.");
    if (!credential.length || !policy.length) return service->is_strict ? NL_STORE_RAISE("AccessDenied", "Access Denied") : NULL;
    if (slash == NL_NOT_FOUND) return NL_STORE_RAISE("InvalidArgument", "The x-amz-credential field is malformed.");
    if (!nl_str_equal(nl_str_slice(credential, 0, slash), service->access_key))
        return service->is_strict ? NL_STORE_RAISE("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.") : NULL;
    if (is_signature(form, service->secret_key, nl_str_slice(credential, slash + 1, credential.length), policy, field(form, "x-amz-signature"))) return NULL;
    return NL_STORE_RAISE("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.");
}

/* ---- The policy. */

static nl_str form_value(const struct nl_s3_form *form, nl_str name)
{
    if (nl_str_is(name, "bucket")) return form->call->bucket;
    if (nl_str_is(name, "key")) return form->call->key;
    for (uint32_t i = 0; i < form->field_count; i++)
        if (nl_str_equal_nocase(form->fields[i].key, name)) return form->fields[i].value;
    return (nl_str){0};
}

static nl_status check_equal(const struct nl_s3_form *form, const char *name, const json_t *wanted)
{
    if (!json_is_string(wanted) || !nl_str_equal(form_value(form, nl_str_from(name)), nl_str_from(json_string_value(wanted)))) return denied("Policy Condition failed");
    return NULL;
}

static nl_status check_condition(const struct nl_s3_form *form, const json_t *condition)
{
    if (json_is_object(condition)) {
        const char *name;
        json_t *wanted;
        json_object_foreach((json_t *)NL_UNCONST(condition), name, wanted) NL_TRY(check_equal(form, name, wanted));
        return NULL;
    }
    if (!json_is_array(condition) || json_array_size(condition) != 3) return NL_STORE_RAISE("InvalidPolicyDocument", "The content of the form does not meet the conditions specified in the policy document.");
    nl_str word = nl_str_from(json_string_value(json_array_get(condition, 0)));
    const json_t *second = json_array_get(condition, 1), *third = json_array_get(condition, 2);
    if (nl_str_is_nocase(word, "content-length-range")) {
        const int64_t size = (int64_t)nl_incoming_size(form->call->incoming);
        if (size < json_integer_value(second)) return NL_STORE_RAISE("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
        return size > json_integer_value(third) ? NL_STORE_RAISE("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size") : NULL;
    }
    nl_str name = nl_str_from(json_string_value(second)), value = nl_str_from(json_string_value(third));
    if (!nl_str_starts(name, NL_STR("$"))) return NL_STORE_RAISE("InvalidPolicyDocument", "A policy's condition names no field.");
    nl_str is = form_value(form, nl_str_slice(name, 1, name.length));
    const bool holds = nl_str_is_nocase(word, "eq") ? nl_str_equal(is, value) : nl_str_is_nocase(word, "starts-with") && nl_str_starts(is, value);
    return holds ? NULL : denied("Policy Condition failed");
}

static nl_status check_policy(const struct nl_s3_form *form)
{
    nl_str encoded = field(form, "policy");
    nl_arena *arena = form->call->arena;
    const json_t *policy = NULL;
    nl_bytes text;
    if (!encoded.length) return NULL;
    if (!nl_base64_decode(arena, encoded, &text)) return NL_STORE_RAISE("InvalidPolicyDocument", "The policy is not base64.");
    nl_status status = nl_json_parse(arena, (nl_str){(const char *)text.data, text.length}, NL_STR("policy"), &policy);
    const json_t *conditions = status ? NULL : json_object_get(policy, "conditions");
    nl_error_free(status);
    if (!json_is_array(conditions)) return NL_STORE_RAISE("InvalidPolicyDocument", "Invalid Policy: Invalid JSON.");
    int64_t ends = 0;
    nl_str expiration = nl_str_from(json_string_value(json_object_get(policy, "expiration")));
    if (!nl_cast_timestamp(expiration, nl_timezone_utc(), &ends)) return NL_STORE_RAISE("InvalidPolicyDocument", "Invalid Policy: Invalid 'expiration' value.");
    if (ends < nl_now_micros()) return denied("Policy expired.");
    size_t i;
    json_t *condition;
    json_array_foreach((json_t *)NL_UNCONST(conditions), i, condition) NL_TRY(check_condition(form, condition));
    return NULL;
}

/* ---- The object. */

static nl_str key_with_filename(const struct nl_s3_form *form, nl_str key)
{
    nl_str variable = NL_STR("${filename}");
    const size_t at = nl_str_find(key, variable, 0);
    if (at == NL_NOT_FOUND) return key;
    return nl_arena_f(form->call->arena, NL_STR_FMT NL_STR_FMT NL_STR_FMT, NL_STR_ARG(nl_str_slice(key, 0, at)), NL_STR_ARG(form->filename), NL_STR_ARG(nl_str_slice(key, at + variable.length, key.length)));
}

static nl_status reply_stored(nl_s3_call *call, nl_reply *reply, const nl_object *made)
{
    int64_t status = 204;
    nl_str location = nl_arena_f(call->arena, "http://" NL_STR_FMT "/" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(nl_s3_header(call, "Host")), NL_STR_ARG(call->bucket), NL_STR_ARG(call->key));
    nl_str redirect = field(call->form, "success_action_redirect");
    if (!nl_parse_int64(field(call->form, "success_action_status"), &status) || (status != 200 && status != 201)) status = 204;
    nl_s3_reply(call, reply, "ETag", nl_s3_quoted(call->arena, made->etag));
    nl_s3_reply(call, reply, "Location", redirect.length ? redirect : location);
    nl_s3_reply_made(call, reply, made);
    reply->status = redirect.length ? 303 : (int32_t)status;
    if (status != 201 || redirect.length) return NULL;
    nl_builder *xml = nl_s3_xml(call, "PostResponse");
    nl_s3_element(xml, "Location", location);
    nl_s3_element(xml, "Bucket", call->bucket);
    nl_s3_element(xml, "Key", call->key);
    nl_s3_element(xml, "ETag", nl_s3_quoted(call->arena, made->etag));
    nl_s3_reply_xml(call, reply, xml, "PostResponse");
    return NULL;
}

static nl_status read_settings(nl_s3_call *call, nl_store_put *put)
{
    const struct nl_s3_form *form = call->form;
    for (uint32_t i = 0; i < form->field_count; i++)
        if (nl_str_starts(form->fields[i].key, NL_STR("x-amz-checksum-")) || nl_str_starts(form->fields[i].key, NL_STR("x-amz-server-side-encryption-customer-")))
            return NL_STORE_RAISE("NotImplemented", "Forms with the field " NL_STR_FMT " are not offered.", NL_STR_ARG(form->fields[i].key));
    NL_TRY(nl_s3_check_canned_acl(field(form, "acl")));
    NL_TRY(nl_s3_storage_class(field(form, "x-amz-storage-class"), &put->storage_class));
    if (!field(form, "tagging").length) return NULL;
    nl_append(&call->document, field(form, "tagging"));
    return nl_s3_read_tags(call, &put->tags);
}

nl_status nl_s3_form_answer(nl_s3_call *call, nl_reply *reply)
{
    struct nl_s3_form *form = call->form;
    if (!form->is_file || form->state != FORM_DONE) return NL_STORE_RAISE("InvalidArgument", "POST requires exactly one file upload per request.");
    call->key = key_with_filename(form, field(form, "key"));
    if (!call->key.length) return NL_STORE_RAISE("InvalidArgument", "Bucket POST must contain a field named 'key'.  If it is specified, please check the order of the fields.");
    if (!nl_utf8_is_valid(call->key) || nl_str_find_char(call->key, '\0', 0) != NL_NOT_FOUND) return NL_STORE_RAISE("InvalidArgument", "The key is not valid UTF-8.");
    NL_TRY(check_signature(form));
    NL_TRY(check_policy(form));
    nl_store_put put = {.bucket = call->bucket, .key = call->key, .bytes = call->incoming, .arena = call->arena};
    NL_TRY(nl_s3_collect_stored(call, form->fields, form->field_count, &put.headers));
    NL_TRY(read_settings(call, &put));
    NL_TRY(nl_store_write(call->objects, &put));
    return reply_stored(call, reply, &put.made);
}
