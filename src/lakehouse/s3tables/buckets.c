/* lakehouse/s3tables/buckets.c - table buckets and their namespaces. */
#include "lakehouse/s3tables/s3tables_private.h"

#define BUCKET_NAME_MIN 3u
#define BUCKET_NAME_MAX 63u

static nl_status check_bucket_name(nl_s3tables_call *call, nl_str name)
{
    bool is_good = name.length >= BUCKET_NAME_MIN && name.length <= BUCKET_NAME_MAX;
    for (size_t i = 0; i < name.length; i++)
        is_good = is_good && ((name.data[i] >= 'a' && name.data[i] <= 'z') || (name.data[i] >= '0' && name.data[i] <= '9') || name.data[i] == '-');
    is_good = is_good && name.data[0] != '-' && name.data[name.length - 1] != '-';
    return is_good ? NULL : nl_s3tables_bad(call, "The specified bucket name is not valid.");
}

nl_status nl_s3tables_create_bucket(nl_s3tables_call *call)
{
    nl_str name = {0};
    nl_warehouse made;
    NL_TRY(nl_json_text(call->body ? call->body : json_null(), "name", NL_S3TABLES_BODY, &name));
    NL_TRY(check_bucket_name(call, name));
    NL_TRY(nl_s3tables_check_options(call));
    const nl_str region = call->access.region.length ? call->access.region : NL_STR("us-east-1");
    const nl_warehouse wanted = {
        .kind = NL_WAREHOUSE_TABLE_BUCKET,
        .name = name,
        .arn = nl_arena_f(call->arena, "arn:aws:s3tables:" NL_STR_FMT ":" NL_STR_FMT ":bucket/" NL_STR_FMT, NL_STR_ARG(region), NL_STR_ARG(NL_S3TABLES_ACCOUNT),
                          NL_STR_ARG(name))};
    nl_status status = nl_tables_create_warehouse(call->tables, &wanted, call->arena, &made);
    if (status && nl_error_condition(status) == NL_COND_NILAS_ALREADY_EXISTS) {
        nl_error_free(status);
        return nl_s3tables_refuse(call, 409, "ConflictException", "The bucket that you tried to create already exists, and you own it.");
    }
    if (status) return status;
    NL_TRY(nl_s3tables_keep_options(call, made.token));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "arn", made.arn);
    nl_s3tables_end(call, &json);
    return NULL;
}

static void write_bucket(nl_s3tables_call *call, nl_json_writer *json, const nl_warehouse *bucket)
{
    nl_s3tables_text(json, "arn", bucket->arn);
    nl_s3tables_text(json, "name", bucket->name);
    nl_s3tables_text(json, "ownerAccountId", NL_S3TABLES_ACCOUNT);
    nl_s3tables_time(call, json, "createdAt", bucket->created_micros);
    nl_s3tables_text(json, "tableBucketId", bucket->token);
    nl_s3tables_text(json, "type", NL_STR("customer"));
}

nl_status nl_s3tables_get_bucket(nl_s3tables_call *call)
{
    nl_json_writer json = nl_s3tables_begin(call);
    write_bucket(call, &json, &call->bucket);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_list_buckets(nl_s3tables_call *call)
{
    const nl_warehouse *all;
    nl_str after;
    uint32_t all_count, count_max, count = 0;
    const nl_str prefix = nl_s3tables_parameter(call, "prefix"), type = nl_s3tables_parameter(call, "type");
    if (type.length && !nl_str_is(type, "customer") && !nl_str_is(type, "aws")) return nl_s3tables_bad(call, "type is customer or aws");
    NL_TRY(nl_s3tables_page(call, "maxBuckets", &after, &count_max));
    NL_TRY(nl_tables_list_warehouses(call->tables, NL_WAREHOUSE_TABLE_BUCKET, call->arena, &all, &all_count));
    if (nl_str_is(type, "aws")) all_count = 0;
    nl_json_writer json = nl_s3tables_begin(call);
    nl_str last = {0};
    bool has_more = false;
    nl_json_key(&json, "tableBuckets");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < all_count && !has_more; i++) {
        if (!nl_str_starts(all[i].name, prefix) || (after.length && nl_str_compare(all[i].name, after) <= 0)) continue;
        has_more = count++ == count_max;
        if (has_more) break;
        nl_json_begin(&json, '{');
        write_bucket(call, &json, &all[i]);
        nl_json_end(&json, '}');
        last = all[i].name;
    }
    nl_json_end(&json, ']');
    if (has_more) nl_s3tables_write_token(call, &json, last);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_delete_bucket(nl_s3tables_call *call)
{
    return nl_tables_drop_warehouse(call->tables, call->bucket.id);
}

/* ---- Namespaces ---- */

nl_status nl_s3tables_create_namespace(nl_s3tables_call *call)
{
    const json_t *array = call->body ? json_object_get(call->body, "namespace") : NULL;
    const json_t *first = json_array_get(array, 0);
    if (json_array_size(array) != 1 || !json_is_string(first)) return nl_s3tables_bad(call, "namespace is a list of exactly one name");
    const nl_str name = {json_string_value(first), json_string_length(first)};
    NL_TRY(nl_s3tables_check_name(call, name, "namespace"));
    NL_TRY(nl_tables_create_namespace(call->tables, call->bucket.id, &name, 1, NULL, 0, NULL));
    nl_json_writer json = nl_s3tables_begin(call);
    nl_s3tables_text(&json, "tableBucketARN", call->bucket.arn);
    nl_s3tables_namespace(&json, name);
    nl_s3tables_end(call, &json);
    return NULL;
}

static void write_namespace(nl_s3tables_call *call, nl_json_writer *json, const nl_namespace_entry *entry)
{
    nl_s3tables_namespace(json, entry->parts[0]);
    nl_s3tables_time(call, json, "createdAt", entry->created_micros);
    nl_s3tables_text(json, "createdBy", NL_S3TABLES_ACCOUNT);
    nl_s3tables_text(json, "ownerAccountId", NL_S3TABLES_ACCOUNT);
    nl_s3tables_text(json, "namespaceId", entry->uuid);
    nl_s3tables_text(json, "tableBucketId", call->bucket.token);
}

nl_status nl_s3tables_get_namespace(nl_s3tables_call *call)
{
    nl_namespace_entry entry;
    NL_TRY(nl_s3tables_find_namespace(call, call->namespace_name, &entry));
    nl_json_writer json = nl_s3tables_begin(call);
    write_namespace(call, &json, &entry);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_list_namespaces(nl_s3tables_call *call)
{
    const nl_namespace_entry *entries;
    nl_str after;
    uint32_t count_max, count;
    NL_TRY(nl_s3tables_page(call, "maxNamespaces", &after, &count_max));
    NL_TRY(nl_tables_list_namespaces(call->tables, call->bucket.id, NULL, 0, nl_s3tables_parameter(call, "prefix"), after, count_max + 1, call->arena, &entries,
                                     &count));
    const bool has_more = count > count_max;
    if (has_more) count = count_max;
    nl_json_writer json = nl_s3tables_begin(call);
    nl_json_key(&json, "namespaces");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&json, '{');
        write_namespace(call, &json, &entries[i]);
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    if (has_more) nl_s3tables_write_token(call, &json, entries[count - 1].parts[0]);
    nl_s3tables_end(call, &json);
    return NULL;
}

nl_status nl_s3tables_delete_namespace(nl_s3tables_call *call)
{
    nl_namespace_entry entry;
    bool was_dropped;
    NL_TRY(nl_s3tables_find_namespace(call, call->namespace_name, &entry));
    return nl_tables_drop_namespace(call->tables, call->bucket.id, &call->namespace_name, 1, NULL, &was_dropped);
}
