/* storage/s3_list.c - listing: pages of ListObjectsV2, with keys percent-encoded so that every key fits into XML. */
#include "base/number.h"
#include "storage/io_error.h"
#include "storage/s3_private.h"
#include "storage/xml.h"

typedef struct listing {
    nl_s3_fs *fs;
    const nl_s3_place *place;
    nl_str path;
    nl_str prefix;
    bool wants_markers; /* "folder/" objects of no bytes, which stand for folders */
    nl_list_visit visit;
    void *argument;
    uint64_t entry_count; /* markers and the prefix itself included */
} listing;

/* A page's decoded text, from its arena. */
static nl_status key_of(nl_arena *arena, bool is_encoded, nl_str text, nl_str *key)
{
    *key = text;
    return is_encoded ? nl_url_decode(arena, text, true, key) : NULL;
}

static nl_status visit_entry(listing *self, nl_arena *arena, nl_str key, nl_file_info *info)
{
    self->entry_count++;
    const bool is_marker = nl_str_ends(key, NL_STR("/"));
    if (!info->is_directory && (is_marker || nl_str_equal(key, self->prefix)) && !self->wants_markers) return NULL;
    if (!nl_str_starts(key, self->prefix)) return nl_raise_io("Listing", self->path, "the server lists a key that does not begin with the prefix");
    if (info->is_directory) {
        if (key.length == self->prefix.length) return NULL;
        key.length--; /* its slash */
    }
    info->path = nl_arena_f(arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(self->place->root), NL_STR_ARG(key));
    NL_TRY(nl_arena_check(arena));
    return self->visit ? self->visit(self->argument, info) : NULL;
}

static nl_status visit_object(listing *self, nl_arena *arena, const nl_xml *object, bool is_encoded)
{
    nl_file_info info = {0};
    int64_t size = -1;
    nl_str key = {0};
    const nl_str text = nl_xml_text(object, "Key");
    if (text.length == 0 || !nl_parse_int64(nl_str_trim(nl_xml_text(object, "Size")), &size) || size < 0)
        return nl_raise_io("Listing", self->path, "the server lists an object without key or size");
    NL_TRY(key_of(arena, is_encoded, text, &key));
    info.size_bytes = (uint64_t)size;
    (void)nl_cast_timestamp(nl_xml_text(object, "LastModified"), nl_timezone_utc(), &info.modified_micros); /* unreadable: 1970 */
    return visit_entry(self, arena, key, &info);
}

static nl_status visit_page(listing *self, nl_arena *arena, nl_bytes answer, nl_str *token)
{
    const nl_xml *root = NULL;
    NL_TRY_NOTE(nl_xml_parse(arena, answer, &root), "listing " NL_STR_FMT, NL_STR_ARG(self->path));
    if (!nl_str_is(root->name, "ListBucketResult")) return nl_raise_io("Listing", self->path, "the server's answer is not a list");
    const bool is_encoded = nl_str_is(nl_xml_text(root, "EncodingType"), "url");
    for (const nl_xml *object = nl_xml_child(root, "Contents"); object; object = nl_xml_next(object)) NL_TRY(visit_object(self, arena, object, is_encoded));
    for (const nl_xml *group = nl_xml_child(root, "CommonPrefixes"); group; group = nl_xml_next(group)) {
        nl_file_info info = {.is_directory = true};
        nl_str key = {0};
        NL_TRY(key_of(arena, is_encoded, nl_xml_text(group, "Prefix"), &key));
        if (nl_str_ends(key, NL_STR("/"))) NL_TRY(visit_entry(self, arena, key, &info));
    }
    const bool has_more = nl_str_is_nocase(nl_str_trim(nl_xml_text(root, "IsTruncated")), "true");
    *token = has_more ? nl_xml_text(root, "NextContinuationToken") : (nl_str){0};
    if (has_more && token->length == 0) return nl_raise_io("Listing", self->path, "the server says that more follows, but not where");
    return NULL;
}

static nl_status count_entry(void *argument, const nl_file_info *info)
{
    (void)info;
    ++*(uint32_t *)argument;
    return NULL;
}

nl_status nl_s3_list_answer_check(nl_bytes answer, uint32_t *entry_count)
{
    const nl_s3_place place = {.root = NL_STR("s3://b/"), .bucket = NL_STR("b")};
    listing self = {.place = &place, .path = NL_STR("s3://b/"), .visit = count_entry, .argument = entry_count};
    nl_arena *arena = nl_arena_new(NULL);
    nl_str token = {0};
    *entry_count = 0;
    nl_status status = visit_page(&self, arena, answer, &token);
    nl_arena_free(arena);
    return status;
}

static nl_str query_of(nl_arena *arena, const listing *self, bool is_recursive, uint32_t count_max, nl_str token)
{
    nl_builder query;
    nl_builder_init(&query, 64u << 10);
    if (token.length > 0) nl_append_f(&query, "continuation-token=" NL_STR_FMT "&", NL_STR_ARG(nl_url_encode(arena, token, false)));
    if (!is_recursive) nl_append_c(&query, "delimiter=%2F&");
    nl_append_c(&query, "encoding-type=url&list-type=2&");
    if (count_max > 0) nl_append_f(&query, "max-keys=%u&", count_max);
    nl_append_f(&query, "prefix=" NL_STR_FMT, NL_STR_ARG(nl_url_encode(arena, self->prefix, false)));
    const nl_str text = nl_arena_str(arena, nl_builder_str(&query));
    nl_builder_fini(&query);
    return text;
}

/* One page of at most count_max entries when that is not 0, else all pages. */
nl_status nl_s3_list_keys(nl_s3_fs *fs, const nl_s3_place *place, nl_str prefix, bool is_recursive, bool wants_markers, uint32_t count_max, nl_list_visit visit, void *argument,
                          uint64_t *entry_count)
{
    nl_arena *lasting = nl_arena_new(fs->memory); /* the token outlives its page */
    listing self = {.fs = fs, .place = place, .prefix = prefix, .wants_markers = wants_markers, .visit = visit, .argument = argument};
    self.path = nl_arena_f(lasting, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(place->root), NL_STR_ARG(prefix));
    nl_str token = {0};
    nl_status status = NULL;
    do {
        nl_http_response response = {0};
        nl_arena *arena = nl_arena_new(fs->memory);
        const nl_s3_ask ask = {.method = "GET", .fault = "s3.list", .bucket = place->bucket, .query = query_of(arena, &self, is_recursive, count_max, token)};
        status = nl_note_if(nl_s3_send(fs, &ask, &response), NL_HERE, "listing " NL_STR_FMT, NL_STR_ARG(self.path));
        token = (nl_str){0};
        if (!status && !nl_s3_is_good(&response)) status = nl_s3_refusal("Listing", self.path, &response, true);
        if (!status) status = visit_page(&self, arena, nl_s3_body(&response), &token);
        nl_arena *next = nl_arena_new(fs->memory);
        token = nl_arena_str(next, token);
        nl_str path = nl_arena_str(next, self.path);
        nl_http_response_fini(&response);
        nl_arena_free(arena);
        nl_arena_free(lasting);
        lasting = next;
        self.path = path;
    } while (!status && token.length > 0 && count_max == 0);
    nl_arena_free(lasting);
    *entry_count = self.entry_count;
    return status;
}

nl_status nl_s3_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    nl_s3_fs *fs = NL_CONTAINER(self, nl_s3_fs, base);
    nl_s3_place place;
    uint64_t entry_count = 0;
    NL_TRY(nl_s3_place_parse(path, &place));
    nl_arena *arena = nl_arena_new(fs->memory);
    nl_str key = place.key;
    if (key.length > 0 && !nl_str_ends(key, NL_STR("/"))) key = nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(key));
    if (nl_str_ends(place.root, NL_STR("/")) == false) place.root = nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(place.root)); /* "s3://bucket" */
    nl_status status = nl_s3_list_keys(fs, &place, key, is_recursive, false, 0, visit, argument, &entry_count);
    nl_arena_free(arena);
    if (!status && entry_count == 0 && key.length > 0) status = NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", path));
    return status;
}
