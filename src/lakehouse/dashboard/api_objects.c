/* lakehouse/dashboard/api_objects.c - buckets and objects: browse, fetch, upload, delete. */
#include "lakehouse/dashboard/dashboard_private.h"

#include <stdlib.h>

#define PAGE_OBJECTS 1000u

nl_status nl_dashboard_buckets(nl_dashboard_call *call)
{
    const nl_bucket *buckets = NULL;
    uint32_t count = 0;
    NL_TRY(nl_store_list_buckets(call->dashboard->stores.objects, (nl_str){0}, (nl_str){0}, 10000, call->request->arena, &buckets, &count));
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "name", buckets[i].name);
        nl_dashboard_member_int(call, "created", buckets[i].created_micros / 1000);
        nl_dashboard_member_bool(call, "isVersioned", buckets[i].versioning != NL_VERSIONING_OFF);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    return NULL;
}

/* Hidden ones, of table buckets, can be looked at by their name but not changed: their objects are a table's files. */
static nl_status check_changeable(nl_dashboard_call *call, nl_str name)
{
    nl_bucket bucket;
    NL_TRY(nl_store_bucket(call->dashboard->stores.objects, name, call->request->arena, &bucket));
    if (bucket.is_hidden) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The bucket " NL_STR_FMT " belongs to a table; its files are changed through the table", NL_STR_ARG(name));
    return NULL;
}

nl_status nl_dashboard_objects(nl_dashboard_call *call)
{
    nl_store_list list = {.delimiter = NL_STR("/"), .count_max = PAGE_OBJECTS, .arena = call->request->arena};
    bool has = false;
    NL_TRY(nl_dashboard_parameter(call, "bucket", &list.bucket));
    list.prefix = nl_request_parameter(call->request, "prefix", &has);
    list.after = nl_request_parameter(call->request, "after", &has);
    NL_TRY(nl_store_list_objects(call->dashboard->stores.objects, &list));
    nl_json_begin(&call->json, '{');
    nl_json_key(&call->json, "entries");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < list.count; i++) {
        const nl_object *object = &list.entries[i].object;
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "key", object->key);
        nl_dashboard_member_bool(call, "isFolder", list.entries[i].is_prefix);
        if (!list.entries[i].is_prefix) {
            nl_dashboard_member_int(call, "size", (int64_t)object->size_bytes);
            nl_dashboard_member_int(call, "modified", object->modified_micros / 1000);
        }
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    if (list.is_truncated && list.count) nl_dashboard_member_text(call, "next", list.entries[list.count - 1].object.key);
    nl_json_end(&call->json, '}');
    return NULL;
}

typedef struct download {
    nl_object_reader *reader;
    uint64_t offset, size;
} download;

static nl_status read_download(void *argument, uint8_t *into, size_t room, size_t *length)
{
    download *self = argument;
    *length = NL_MIN(room, self->size - self->offset);
    if (*length == 0) return NULL;
    NL_TRY(nl_object_reader_read(self->reader, self->offset, *length, into));
    self->offset += *length;
    return NULL;
}

static void free_download(void *argument)
{
    nl_object_reader_free(((download *)argument)->reader);
}

/* The name after the last '/', without what would end a quoted text. */
static nl_str file_name(nl_arena *arena, nl_str key)
{
    const size_t slash = nl_str_find_last_char(key, '/');
    const nl_str name = slash == NL_NOT_FOUND ? key : nl_str_slice(key, slash + 1, key.length);
    char *clean = nl_arena_alloc(arena, name.length + 1);
    for (size_t i = 0; i < name.length; i++) clean[i] = (unsigned char)name.data[i] < 0x20 || strchr("\"\\;", name.data[i]) || (unsigned char)name.data[i] > 0x7e ? '_' : name.data[i];
    return name.length ? (nl_str){clean, name.length} : NL_STR("object");
}

/* Whatever the object is, a browser saves it and never runs it here. */
nl_status nl_dashboard_object(nl_dashboard_call *call)
{
    nl_str bucket, key;
    nl_object object;
    nl_object_reader *reader = NULL;
    NL_TRY(nl_dashboard_parameter(call, "bucket", &bucket));
    NL_TRY(nl_dashboard_parameter(call, "key", &key));
    NL_TRY(nl_store_open(call->dashboard->stores.objects, bucket, key, (nl_str){0}, call->request->arena, &object, &reader));
    if (!reader) return NL_STORE_RAISE("NoSuchKey", "There is no object " NL_STR_FMT, NL_STR_ARG(key));
    nl_reply *reply = call->reply;
    download *self = NL_NEW(call->request->arena, download);
    *self = (download){.reader = reader, .size = object.size_bytes};
    reply->stream = read_download;
    reply->stream_argument = self;
    reply->stream_free = free_download;
    reply->stream_length = (int64_t)object.size_bytes;
    nl_reply_header(call->request, reply, "Content-Type", NL_STR("application/octet-stream"));
    nl_reply_header(call->request, reply, "Content-Disposition", nl_arena_f(call->request->arena, "attachment; filename=\"" NL_STR_FMT "\"", NL_STR_ARG(file_name(call->request->arena, key))));
    return NULL;
}

static void write_done(nl_dashboard_call *call)
{
    nl_json_begin(&call->json, '{');
    nl_dashboard_member_bool(call, "done", true);
    nl_json_end(&call->json, '}');
}

nl_status nl_dashboard_create_bucket(nl_dashboard_call *call)
{
    nl_bucket wanted = {0};
    bool existed = false;
    NL_TRY(nl_dashboard_parameter(call, "bucket", &wanted.name));
    NL_TRY(nl_store_create_bucket(call->dashboard->stores.objects, &wanted, &existed));
    if (existed) return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", wanted.name));
    write_done(call);
    return NULL;
}

nl_status nl_dashboard_delete_bucket(nl_dashboard_call *call)
{
    nl_str bucket;
    NL_TRY(nl_dashboard_parameter(call, "bucket", &bucket));
    NL_TRY(check_changeable(call, bucket));
    NL_TRY(nl_store_delete_bucket(call->dashboard->stores.objects, bucket, false));
    write_done(call);
    return NULL;
}

nl_status nl_dashboard_delete_object(nl_dashboard_call *call)
{
    nl_str bucket;
    nl_store_delete one = {0};
    NL_TRY(nl_dashboard_parameter(call, "bucket", &bucket));
    NL_TRY(nl_dashboard_parameter(call, "key", &one.key));
    NL_TRY(check_changeable(call, bucket));
    NL_TRY(nl_store_delete_many(call->dashboard->stores.objects, bucket, &one, 1, call->request->arena));
    NL_TRY(one.done.failure);
    write_done(call);
    return NULL;
}

nl_status nl_dashboard_upload_begin(nl_dashboard *dashboard, nl_request *request)
{
    nl_incoming *incoming = NULL;
    NL_TRY(nl_incoming_new(dashboard->stores.objects, &incoming));
    request->data = incoming;
    return NULL;
}

nl_status nl_dashboard_upload(nl_dashboard_call *call)
{
    nl_store_put put = {.bytes = call->request->data, .arena = call->request->arena};
    const nl_str type = nl_request_header(call->request, "Content-Type");
    NL_TRY(nl_dashboard_parameter(call, "bucket", &put.bucket));
    NL_TRY(nl_dashboard_parameter(call, "key", &put.key));
    NL_TRY(check_changeable(call, put.bucket));
    if (put.key.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "An object needs a key");
    if (type.length) put.headers = nl_arena_f(call->request->arena, "content-type:" NL_STR_FMT "\n", NL_STR_ARG(type));
    NL_TRY(nl_incoming_finish(put.bytes));
    NL_TRY(nl_store_write(call->dashboard->stores.objects, &put));
    write_done(call);
    return NULL;
}
