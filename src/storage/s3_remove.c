/* storage/s3_remove.c - removing objects: one, many by bulk requests side by side, whole trees; tags before (or instead). */
#include <stdlib.h>

#include "storage/io_error.h"
#include "storage/s3_private.h"
#include "storage/xml.h"

/* ---- Tags that are put on what is removed ---- */

static nl_status read_tags(nl_s3_fs *fs, const nl_s3_place *place, nl_str path, nl_arena *arena, nl_list *tags, bool *is_there)
{
    nl_http_response response = {0};
    const nl_xml *root = NULL;
    const nl_s3_ask ask = {.method = "GET", .fault = "s3.get_tags", .bucket = place->bucket, .key = place->key, .query = NL_STR("tagging=")};
    NL_TRY(nl_s3_send(fs, &ask, &response));
    *is_there = response.status != 404;
    nl_status status = NULL;
    if (*is_there && !nl_s3_is_good(&response)) status = nl_s3_refusal("Tagging", path, &response, true);
    if (*is_there && !status) status = nl_xml_parse(arena, nl_s3_body(&response), &root);
    for (const nl_xml *tag = root ? nl_xml_child(nl_xml_child(root, "TagSet"), "Tag") : NULL; tag && !status; tag = nl_xml_next(tag)) {
        nl_property *one = NL_NEW(arena, nl_property);
        *one = (nl_property){nl_arena_str(arena, nl_xml_text(tag, "Key")), nl_arena_str(arena, nl_xml_text(tag, "Value"))};
        nl_list_add(arena, tags, one);
    }
    nl_http_response_fini(&response);
    return status;
}

static bool is_replaced(const nl_s3_options *options, nl_str key)
{
    for (uint32_t i = 0; i < options->delete_tag_count; i++)
        if (nl_str_equal(options->delete_tags[i].key, key)) return true;
    return false;
}

static void append_tag(nl_builder *body, const nl_property *tag)
{
    nl_append_c(body, "<Tag>");
    nl_xml_append_element(body, "Key", tag->key);
    nl_xml_append_element(body, "Value", tag->value);
    nl_append_c(body, "</Tag>");
}

static nl_status put_tags(nl_s3_fs *fs, const nl_s3_place *place, nl_str path, const nl_list *tags)
{
    nl_builder body;
    nl_http_response response = {0};
    nl_builder_init(&body, 1u << 20);
    nl_append_c(&body, "<Tagging xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TagSet>");
    for (uint32_t i = 0; i < tags->count; i++)
        if (!is_replaced(&fs->options, ((const nl_property *)tags->items[i])->key)) append_tag(&body, tags->items[i]);
    for (uint32_t i = 0; i < fs->options.delete_tag_count; i++) append_tag(&body, &fs->options.delete_tags[i]);
    nl_append_c(&body, "</TagSet></Tagging>");
    const nl_s3_ask ask = {.method = "PUT", .fault = "s3.put_tags", .bucket = place->bucket, .key = place->key, .query = NL_STR("tagging="),
                           .body = {(const uint8_t *)body.data, body.length}, .adds_checksum = true};
    nl_status status = nl_s3_send(fs, &ask, &response);
    if (!status) {
        if (!nl_s3_is_good(&response) && response.status != 404) status = nl_s3_refusal("Tagging", path, &response, true);
        nl_http_response_fini(&response);
    }
    nl_builder_fini(&body);
    return status;
}

static nl_status tag_before_removal(nl_s3_fs *fs, const nl_s3_place *place, nl_str path)
{
    if (fs->options.delete_tag_count == 0) return NULL;
    nl_arena *arena = nl_arena_new(fs->memory);
    nl_list tags = {0};
    bool is_there = false;
    nl_status status = read_tags(fs, place, path, arena, &tags, &is_there);
    if (!status && is_there) status = put_tags(fs, place, path, &tags);
    nl_arena_free(arena);
    return status;
}

/* ---- One ---- */

nl_status nl_s3_remove(nl_fs *self, nl_str path)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    nl_s3_place place;
    nl_http_response response = {0};
    NL_TRY(nl_s3_place_parse(path, &place));
    if (place.key.length == 0) return nl_raise_io("Removing", path, "the path names a bucket, not an object");
    NL_TRY(tag_before_removal(fs, &place, path));
    if (!fs->options.removes) return NULL;
    const nl_s3_ask ask = {.method = "DELETE", .fault = "s3.delete", .bucket = place.bucket, .key = place.key, .is_idempotent = true};
    NL_TRY_NOTE(nl_s3_send(fs, &ask, &response), "removing " NL_STR_FMT, NL_STR_ARG(path));
    nl_status status = nl_s3_is_good(&response) || response.status == 404 ? NULL : nl_s3_refusal("Removing", path, &response, false);
    nl_http_response_fini(&response);
    return status;
}

/* ---- Many ---- */

typedef struct batch { /* one DeleteObjects */
    const nl_str *paths;
    uint32_t count;
    nl_builder body;
    nl_s3_call *call;
} batch;

static nl_status start_batch(nl_s3_fs *fs, batch *one)
{
    nl_s3_place place = {0};
    nl_builder_init(&one->body, 16u << 20);
    nl_append_c(&one->body, "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for (uint32_t i = 0; i < one->count; i++) {
        NL_TRY(nl_s3_place_parse(one->paths[i], &place));
        nl_append_c(&one->body, "<Object>");
        nl_xml_append_element(&one->body, "Key", place.key);
        nl_append_c(&one->body, "</Object>");
    }
    nl_append_c(&one->body, "</Delete>");
    const nl_s3_ask ask = {.method = "POST", .fault = "s3.delete_many", .bucket = place.bucket, .query = NL_STR("delete="),
                           .body = {(const uint8_t *)one->body.data, one->body.length}, .adds_checksum = true, .is_idempotent = true};
    return nl_s3_start(fs, &ask, &one->call);
}

static nl_str path_of_key(const batch *one, nl_str key)
{
    for (uint32_t i = 0; i < one->count; i++) {
        nl_s3_place place = {0};
        nl_error_free(nl_s3_place_parse(one->paths[i], &place));
        if (nl_str_equal(place.key, key)) return one->paths[i];
    }
    return one->paths[0];
}

/* The keys that were refused; the first one is told. */
static nl_status read_batch_answer(const batch *one, const nl_http_response *response, uint64_t *removed_count)
{
    const nl_xml *root = NULL;
    NL_TRY_NOTE(nl_xml_parse(response->arena, nl_s3_body(response), &root), "removing %u objects", one->count);
    if (nl_str_is(root->name, "Error")) return nl_s3_refusal("Removing", one->paths[0], response, false);
    uint32_t refused_count = 0;
    for (const nl_xml *error = nl_xml_child(root, "Error"); error; error = nl_xml_next(error)) refused_count++;
    *removed_count += one->count - NL_MIN(one->count, refused_count);
    const nl_xml *first = nl_xml_child(root, "Error");
    if (!first) return NULL;
    return nl_raise_io("Removing", path_of_key(one, nl_xml_text(first, "Key")), NL_STR_FMT ": " NL_STR_FMT " (%u of %u objects were refused)", NL_STR_ARG(nl_xml_text(first, "Code")),
                       NL_STR_ARG(nl_xml_text(first, "Message")), refused_count, one->count);
}

static nl_status remove_singly(nl_s3_fs *fs, const nl_str *paths, uint32_t count, uint64_t *removed_count)
{
    nl_status status = NULL;
    for (uint32_t i = 0; i < count; i++) {
        nl_status one = nl_s3_remove(&fs->base, paths[i]);
        *removed_count += one == NULL;
        if (!status)
            status = one;
        else
            nl_error_free(one);
    }
    return status;
}

static nl_status finish_batch(nl_s3_fs *fs, batch *one, uint64_t *removed_count)
{
    nl_http_response response = {0};
    nl_status status = nl_note_if(nl_s3_wait(one->call, &response), NL_HERE, "removing %u objects", one->count);
    one->call = NULL;
    if (!status) {
        /* Google's S3 and small servers have no bulk deletes. */
        const bool is_unknown = response.status == 501 || response.status == 405;
        if (is_unknown)
            status = remove_singly(fs, one->paths, one->count, removed_count);
        else if (!nl_s3_is_good(&response))
            status = nl_s3_refusal("Removing", one->paths[0], &response, false);
        else
            status = read_batch_answer(one, &response, removed_count);
        nl_http_response_fini(&response);
    }
    return status;
}

/* The next batch: paths of one bucket. */
static uint32_t batch_length(const nl_s3_fs *fs, const nl_str *paths, uint32_t count)
{
    nl_s3_place first = {0};
    nl_error_free(nl_s3_place_parse(paths[0], &first));
    uint32_t length = 1;
    while (length < count && length < fs->options.delete_batch) {
        nl_s3_place place = {0};
        nl_error_free(nl_s3_place_parse(paths[length], &place));
        if (!nl_str_equal(place.bucket, first.bucket)) break;
        length++;
    }
    return length;
}

static nl_status remove_batches(nl_s3_fs *fs, const nl_str *paths, uint32_t path_count, batch *batches, uint64_t *removed_count)
{
    const uint32_t flying_max = fs->options.thread_count;
    nl_status status = NULL;
    uint32_t started = 0;
    uint32_t finished = 0;
    uint32_t at = 0;
    while (at < path_count || finished < started) {
        nl_status one = NULL;
        if (at < path_count && started - finished < flying_max) {
            batch *next = &batches[started % flying_max];
            *next = (batch){.paths = paths + at, .count = batch_length(fs, paths + at, path_count - at)};
            at += next->count;
            one = start_batch(fs, next);
            if (one)
                nl_builder_fini(&next->body);
            else
                started++;
        } else {
            batch *oldest = &batches[finished++ % flying_max];
            one = finish_batch(fs, oldest, removed_count);
            nl_builder_fini(&oldest->body);
        }
        if (!status)
            status = one;
        else
            nl_error_free(one);
    }
    return status;
}

static void forget_all(nl_s3_fs *fs, const nl_str *paths, uint32_t path_count)
{
    for (uint32_t i = 0; i < path_count; i++) {
        nl_s3_place place;
        nl_error_free(nl_s3_place_parse(paths[i], &place)); /* it has passed */
        const nl_object_name name = nl_s3_object_name(fs, place.bucket, place.key);
        nl_piece_cache_forget(fs->cache, &name);
    }
}

nl_status nl_s3_remove_many(nl_fs *self, const nl_str *paths, uint32_t path_count, uint64_t *removed_count)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    for (uint32_t i = 0; i < path_count; i++) {
        nl_s3_place place;
        NL_TRY(nl_s3_place_parse(paths[i], &place));
        if (place.key.length == 0) return nl_raise_io("Removing", paths[i], "the path names a bucket, not an object");
    }
    if (path_count == 1 || fs->options.delete_tag_count > 0 || !fs->options.removes) return remove_singly(fs, paths, path_count, removed_count);
    batch *batches = calloc(fs->options.thread_count, sizeof(*batches));
    if (!batches) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    forget_all(fs, paths, path_count);
    nl_status status = remove_batches(fs, paths, path_count, batches, removed_count);
    forget_all(fs, paths, path_count);
    free(batches);
    return status;
}

/* ---- Trees ---- */

#define TREE_PATHS 4000u /* listed, removed, listed on: memory stays bounded */

typedef struct tree {
    nl_s3_fs *fs;
    nl_arena *arena;
    nl_str *paths; /* TREE_PATHS */
    uint32_t count;
} tree;

static nl_status flush_tree(tree *self)
{
    uint64_t removed_count = 0;
    nl_status status = self->count > 0 ? nl_s3_remove_many(&self->fs->base, self->paths, self->count, &removed_count) : NULL;
    self->count = 0;
    nl_arena_free(self->arena);
    self->arena = nl_arena_new(self->fs->memory);
    return status;
}

static nl_status add_to_tree(void *argument, const nl_file_info *info)
{
    tree *self = argument;
    self->paths[self->count++] = nl_arena_str(self->arena, info->path);
    NL_TRY(nl_arena_check(self->arena));
    return self->count == TREE_PATHS ? flush_tree(self) : NULL;
}

nl_status nl_s3_remove_tree(nl_fs *self, nl_str path)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    nl_s3_place place;
    uint64_t entry_count = 0;
    NL_TRY(nl_s3_place_parse(path, &place));
    nl_str key = place.key;
    while (nl_str_ends(key, NL_STR("/"))) key.length--;
    if (key.length == 0) return nl_raise_io("Removing", path, "the path names a whole bucket");
    tree self_tree = {.fs = fs, .arena = nl_arena_new(fs->memory), .paths = calloc(TREE_PATHS, sizeof(nl_str))};
    nl_arena *arena = nl_arena_new(fs->memory);
    nl_status status = self_tree.paths ? NULL : NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    if (!status)
        status = nl_s3_list_keys(fs, &place, nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(key)), true, true, 0, add_to_tree, &self_tree, &entry_count);
    if (!status) status = flush_tree(&self_tree);
    free(self_tree.paths);
    nl_arena_free(self_tree.arena);
    nl_arena_free(arena);
    return status;
}
