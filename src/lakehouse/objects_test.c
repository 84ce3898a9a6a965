/* Tests of the object store: what is written is read, whole or not at all, also by readers that opened it before. */
#include "base/test_support.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/limits.h"
#include "base/pool.h"
#include "lakehouse/object_store.h"

typedef struct fixture {
    char folder[64];
    nl_state *state;
    nl_objects *objects;
    nl_arena *arena;
} fixture;

static void open_store(fixture *f)
{
    assert_ok(nl_state_open(nl_str_from(f->folder), &f->state));
    assert_ok(nl_objects_open(f->state, NULL, &f->objects));
}

static void close_store(fixture *f)
{
    nl_objects_close(f->objects);
    nl_state_close(f->state);
}

static int begin(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    snprintf(f->folder, sizeof(f->folder), "/tmp/nilas-objects-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->arena = nl_arena_new(NULL);
    open_store(f);
    assert_ok(nl_objects_create_bucket(f->objects, NL_STR("lake"), false));
    *state = f;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static int end(void **state)
{
    fixture *f = *state;
    close_store(f);
    nl_arena_free(f->arena);
    nftw(f->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

/* Files below objects/, those on their way included. */
static int file_count;
static int count_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)path, (void)info, (void)at;
    file_count += kind == FTW_F;
    return 0;
}

static int count_files(const fixture *f)
{
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/objects", f->folder);
    file_count = 0;
    nftw(folder, count_entry, 16, FTW_PHYS);
    return file_count;
}

static nl_str filled(fixture *f, char letter, size_t length)
{
    char *text = nl_arena_alloc(f->arena, length + 1);
    memset(text, letter, length);
    return (nl_str){text, length};
}

static nl_status put_in(fixture *f, const char *key, nl_str content, nl_write_conditions conditions, nl_object *made)
{
    nl_incoming *bytes = NULL;
    NL_TRY(nl_incoming_new(f->objects, &bytes));
    nl_store_put put = {.bucket = NL_STR("lake"), .key = nl_str_from(key), .bytes = bytes, .conditions = conditions, .arena = f->arena};
    nl_status status = nl_incoming_write(bytes, content.data, content.length);
    if (!status) status = nl_store_write(f->objects, &put);
    nl_incoming_free(bytes);
    if (made) *made = put.made;
    return status;
}

static void put(fixture *f, const char *key, nl_str content)
{
    assert_ok(put_in(f, key, content, (nl_write_conditions){0}, NULL));
}

static void assert_store_fails(nl_status status, const char *code)
{
    assert_non_null(status);
    if (!nl_store_failed_with(status, code)) fprintf(stderr, "%s, wanted %s\n", nl_error_message(status), code);
    assert_true(nl_store_failed_with(status, code));
    nl_error_free(status);
}

static nl_str get_version(fixture *f, const char *key, nl_str version)
{
    nl_object object = {0};
    nl_object_reader *reader = NULL;
    assert_ok(nl_store_open(f->objects, NL_STR("lake"), nl_str_from(key), version, f->arena, &object, &reader));
    assert_non_null(reader);
    char *bytes = nl_arena_alloc(f->arena, (size_t)object.size_bytes + 1);
    assert_ok(nl_object_reader_read(reader, 0, (size_t)object.size_bytes, (uint8_t *)bytes));
    nl_object_reader_free(reader);
    return (nl_str){bytes, (size_t)object.size_bytes};
}

static nl_str get(fixture *f, const char *key)
{
    return get_version(f, key, (nl_str){0});
}

static void test_sizes_around_the_inline_limit(void **state)
{
    fixture *f = *state;
    const size_t sizes[] = {0, 1, NL_OBJECT_INLINE_BYTES_MAX - 1, NL_OBJECT_INLINE_BYTES_MAX, NL_OBJECT_INLINE_BYTES_MAX + 1, 5u << 20};
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        char key[32];
        snprintf(key, sizeof(key), "size/%zu", i);
        put(f, key, filled(f, (char)('a' + i), sizes[i]));
    }
    assert_int_equal(count_files(f), 2);
    close_store(f);
    open_store(f);
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        char key[32];
        snprintf(key, sizeof(key), "size/%zu", i);
        assert_true(nl_str_equal(get(f, key), filled(f, (char)('a' + i), sizes[i])));
    }
}

static void test_etag_is_the_md5(void **state)
{
    fixture *f = *state;
    nl_object made;
    assert_ok(put_in(f, "a", NL_STR("hello"), (nl_write_conditions){0}, &made));
    assert_text(made.etag, "5d41402abc4b2a76b9719d911017c592"); /* md5sum */
    assert_text(made.version, "null");
}

static void test_a_replaced_file_goes_and_its_reader_stays(void **state)
{
    fixture *f = *state;
    put(f, "k", filled(f, 'x', 200000));
    nl_object object = {0};
    nl_object_reader *reader = NULL;
    assert_ok(nl_store_open(f->objects, NL_STR("lake"), NL_STR("k"), (nl_str){0}, f->arena, &object, &reader));
    put(f, "k", NL_STR("short"));
    assert_int_equal(count_files(f), 0);
    uint8_t byte = 0;
    assert_ok(nl_object_reader_read(reader, 199999, 1, &byte));
    assert_int_equal(byte, 'x');
    nl_object_reader_free(reader);
    assert_text(get(f, "k"), "short");
}

static void test_conditions_are_asked_at_the_write(void **state)
{
    fixture *f = *state;
    const nl_write_conditions is_new = {.if_none_match = NL_STR("*")};
    nl_object made;
    assert_store_fails(put_in(f, "c", NL_STR("1"), (nl_write_conditions){.if_match = NL_STR("\"x\"")}, NULL), "NoSuchKey");
    assert_ok(put_in(f, "c", NL_STR("1"), is_new, &made));
    assert_store_fails(put_in(f, "c", NL_STR("2"), is_new, NULL), "PreconditionFailed");
    assert_store_fails(put_in(f, "c", NL_STR("2"), (nl_write_conditions){.if_match = NL_STR("\"x\"")}, NULL), "PreconditionFailed");
    assert_ok(put_in(f, "c", NL_STR("2"), (nl_write_conditions){.if_match = made.etag}, NULL));
    assert_text(get(f, "c"), "2");
    assert_store_fails(put_in(f, "c", filled(f, 'f', 100000), is_new, NULL), "PreconditionFailed");
    assert_int_equal(count_files(f), 0);
}

static void test_names_that_fail(void **state)
{
    fixture *f = *state;
    nl_object object;
    assert_store_fails(nl_store_find(f->objects, NL_STR("none"), NL_STR("k"), (nl_str){0}, f->arena, &object), "NoSuchBucket");
    assert_store_fails(nl_store_find(f->objects, NL_STR("lake"), NL_STR("none"), (nl_str){0}, f->arena, &object), "NoSuchKey");
    assert_store_fails(nl_store_find(f->objects, NL_STR("lake"), NL_STR("none"), NL_STR("null"), f->arena, &object), "NoSuchVersion");
    assert_store_fails(put_in(f, "", NL_STR("1"), (nl_write_conditions){0}, NULL), "InvalidArgument");
    char key[1026];
    memset(key, 'k', 1025);
    key[1025] = '\0';
    assert_store_fails(put_in(f, key, NL_STR("1"), (nl_write_conditions){0}, NULL), "KeyTooLongError");
    key[1024] = '\0';
    put(f, key, NL_STR("1"));
    const char *bad[] = {"ab", "Upper", "a_b", "-ab", "ab-", "a..b", "a-.b", "a.-b", "192.168.1.1", "", "a/b"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) assert_store_fails(nl_objects_create_bucket(f->objects, nl_str_from(bad[i]), false), "InvalidBucketName");
    assert_ok(nl_objects_create_bucket(f->objects, NL_STR("a.b-c"), false));
}

static nl_str list_text(fixture *f, nl_store_list *list)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    list->bucket = NL_STR("lake");
    list->arena = f->arena;
    if (!list->count_max) list->count_max = 1000;
    assert_ok(nl_store_list_objects(f->objects, list));
    for (uint32_t i = 0; i < list->count; i++) {
        nl_append_f(&out, "%s" NL_STR_FMT "%s", i ? " " : "", NL_STR_ARG(list->entries[i].object.key), list->entries[i].is_prefix ? "*" : "");
        if (list->has_versions) nl_append_f(&out, "%s%s", list->entries[i].object.is_marker ? "-" : "", list->entries[i].object.is_latest ? "!" : "");
    }
    if (list->is_truncated) nl_append_c(&out, " …");
    nl_str text = nl_arena_str(f->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static void test_listing_with_delimiter_and_pages(void **state)
{
    fixture *f = *state;
    const char *keys[] = {"a", "b/1", "b/2", "b/c/3", "b0", "c//x", "c/", "d"};
    for (size_t i = 0; i < NL_COUNT(keys); i++) put(f, keys[i], NL_STR("x"));
    assert_text(list_text(f, &(nl_store_list){0}), "a b/1 b/2 b/c/3 b0 c/ c//x d");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/")}), "a b/* b0 c/* d");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/"), .prefix = NL_STR("b/")}), "b/1 b/2 b/c/*");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/"), .prefix = NL_STR("c/")}), "c/ c//*");
    assert_text(list_text(f, &(nl_store_list){.prefix = NL_STR("b")}), "b/1 b/2 b/c/3 b0");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/"), .count_max = 2}), "a b/* …");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/"), .after = NL_STR("b/"), .count_max = 2}), "b0 c/* …");
    assert_text(list_text(f, &(nl_store_list){.delimiter = NL_STR("/"), .after = NL_STR("c/")}), "d");
    assert_text(list_text(f, &(nl_store_list){.after = NL_STR("b/1"), .count_max = 2}), "b/2 b/c/3 …");
    assert_text(list_text(f, &(nl_store_list){.after = NL_STR("d")}), "");
    assert_text(list_text(f, &(nl_store_list){.count_max = 8}), "a b/1 b/2 b/c/3 b0 c/ c//x d");
}

static void test_versions_markers_and_the_null_version(void **state)
{
    fixture *f = *state;
    nl_object first, second;
    put(f, "v", NL_STR("null version"));
    assert_ok(nl_store_set_versioning(f->objects, NL_STR("lake"), NL_VERSIONING_ENABLED));
    assert_ok(put_in(f, "v", NL_STR("one"), (nl_write_conditions){0}, &first));
    assert_ok(put_in(f, "v", filled(f, 'z', 100000), (nl_write_conditions){0}, &second));
    assert_int_equal(first.version.length, 32);
    assert_text(list_text(f, &(nl_store_list){.has_versions = true}), "v! v v");
    nl_store_delete gone = {.key = NL_STR("v")};
    assert_ok(nl_store_delete_many(f->objects, NL_STR("lake"), &gone, 1, f->arena));
    assert_true(gone.done.is_marker);
    assert_text(list_text(f, &(nl_store_list){0}), "");
    assert_text(list_text(f, &(nl_store_list){.has_versions = true}), "v-! v v v");
    assert_text(get_version(f, "v", first.version), "one");
    assert_text(get_version(f, "v", NL_STR("null")), "null version");
    nl_store_delete marker = {.key = NL_STR("v"), .version = gone.done.version};
    assert_ok(nl_store_delete_many(f->objects, NL_STR("lake"), &marker, 1, f->arena));
    assert_true(marker.done.is_marker);
    assert_true(nl_str_equal(get(f, "v"), filled(f, 'z', 100000)));
    assert_ok(nl_store_set_versioning(f->objects, NL_STR("lake"), NL_VERSIONING_SUSPENDED));
    put(f, "v", NL_STR("again"));
    assert_text(get(f, "v"), "again");
    assert_text(list_text(f, &(nl_store_list){.has_versions = true}), "v! v v");
    assert_store_fails(nl_store_delete_bucket(f->objects, NL_STR("lake"), false), "BucketNotEmpty");
    assert_ok(nl_objects_delete_bucket(f->objects, NL_STR("lake"), true));
    assert_ok(nl_objects_delete_bucket(f->objects, NL_STR("lake"), true));
    assert_int_equal(count_files(f), 0);
}

static void test_many_versions_are_jumped_over(void **state)
{
    fixture *f = *state;
    assert_ok(nl_store_set_versioning(f->objects, NL_STR("lake"), NL_VERSIONING_ENABLED));
    for (int i = 0; i < 20; i++) put(f, "a", NL_STR("x"));
    put(f, "b", NL_STR("x"));
    assert_text(list_text(f, &(nl_store_list){0}), "a b");
    nl_store_list page = {.has_versions = true, .count_max = 3};
    assert_text(list_text(f, &page), "a! a a …");
    nl_store_list next = {.has_versions = true, .count_max = 19, .after = NL_STR("a"), .after_sequence = page.entries[2].object.sequence};
    list_text(f, &next);
    assert_int_equal(next.count, 18);
    assert_false(next.is_truncated);
    assert_false(next.entries[0].object.is_latest);
    assert_true(next.entries[17].object.is_latest);
    assert_text(list_text(f, &(nl_store_list){.has_versions = true, .after = NL_STR("a")}), "b!");
}

static nl_status copy(fixture *f, const char *from, const char *to)
{
    nl_object object = {0};
    NL_TRY(nl_store_find(f->objects, NL_STR("lake"), nl_str_from(from), (nl_str){0}, f->arena, &object));
    nl_store_copy wanted = {.bucket = NL_STR("lake"), .key = nl_str_from(from), .data = object.data};
    wanted.target = (nl_store_put){.bucket = NL_STR("lake"), .key = nl_str_from(to), .etag = object.etag, .arena = f->arena};
    return nl_store_copy_object(f->objects, &wanted);
}

static void test_copies_share_a_file_until_the_last_goes(void **state)
{
    fixture *f = *state;
    put(f, "a", filled(f, 'q', 100000));
    assert_ok(copy(f, "a", "b"));
    assert_ok(copy(f, "b", "b"));
    assert_int_equal(count_files(f), 1);
    put(f, "a", NL_STR("other"));
    assert_int_equal(count_files(f), 1);
    assert_true(nl_str_equal(get(f, "b"), filled(f, 'q', 100000)));
    nl_store_delete gone = {.key = NL_STR("b")};
    assert_ok(nl_store_delete_many(f->objects, NL_STR("lake"), &gone, 1, f->arena));
    assert_int_equal(count_files(f), 0);
    assert_store_fails(copy(f, "b", "c"), "NoSuchKey");
}

static void put_part(fixture *f, const nl_upload *upload, uint32_t number, nl_str content, nl_part *part)
{
    nl_incoming *bytes = NULL;
    assert_ok(nl_incoming_new(f->objects, &bytes));
    assert_ok(nl_incoming_write(bytes, content.data, content.length));
    assert_ok(nl_incoming_finish(bytes));
    *part = (nl_part){.number = number, .etag = nl_hex(f->arena, nl_incoming_md5(bytes), 16), .size_bytes = nl_incoming_size(bytes)};
    assert_ok(nl_store_put_part(f->objects, upload, part, bytes));
    nl_incoming_free(bytes);
}

static void test_a_multipart_upload_becomes_an_object(void **state)
{
    fixture *f = *state;
    nl_upload upload = {.bucket = NL_STR("lake"), .key = NL_STR("big")}, found = {0};
    nl_part parts[2], other;
    assert_ok(nl_store_create_upload(f->objects, &upload, f->arena));
    put_part(f, &upload, 5, filled(f, '2', 100), &parts[1]);
    put_part(f, &upload, 1, filled(f, 'x', 100000), &parts[0]);
    put_part(f, &upload, 1, filled(f, '1', 100001), &parts[0]);
    put_part(f, &upload, 9, filled(f, 'x', 100000), &other);
    assert_int_equal(count_files(f), 2);
    assert_ok(nl_store_find_upload(f->objects, NL_STR("lake"), NL_STR("big"), upload.token, f->arena, &found));
    assert_store_fails(nl_store_find_upload(f->objects, NL_STR("lake"), NL_STR("other"), upload.token, f->arena, &found), "NoSuchUpload");
    nl_object object;
    assert_store_fails(nl_store_find(f->objects, NL_STR("lake"), NL_STR("big"), (nl_str){0}, f->arena, &object), "NoSuchKey");
    nl_store_complete complete = {.upload = &upload, .parts = parts, .part_count = 2};
    complete.target = (nl_store_put){.bucket = NL_STR("lake"), .key = NL_STR("big"), .etag = NL_STR("x-2"), .arena = f->arena};
    parts[1].etag = NL_STR("wrong");
    assert_store_fails(nl_store_complete_upload(f->objects, &complete), "InvalidPart");
    const nl_part *listed;
    uint32_t count;
    bool is_truncated;
    assert_ok(nl_store_list_parts(f->objects, upload.id, 0, 2, f->arena, &listed, &count, &is_truncated));
    assert_true(count == 2 && is_truncated && listed[1].number == 5);
    parts[1].etag = listed[1].etag;
    assert_ok(nl_store_complete_upload(f->objects, &complete));
    assert_int_equal(count_files(f), 1);
    nl_str whole = get(f, "big");
    assert_int_equal(whole.length, 100101);
    assert_true(whole.data[100000] == '1' && whole.data[100001] == '2');
    assert_store_fails(nl_store_complete_upload(f->objects, &complete), "NoSuchUpload");
}

static void test_a_reader_of_many_files_holds_them(void **state)
{
    fixture *f = *state;
    nl_upload upload = {.bucket = NL_STR("lake"), .key = NL_STR("big")};
    nl_part parts[2];
    assert_ok(nl_store_create_upload(f->objects, &upload, f->arena));
    put_part(f, &upload, 1, filled(f, '1', 100000), &parts[0]);
    put_part(f, &upload, 2, filled(f, '2', 100000), &parts[1]);
    nl_store_complete complete = {.upload = &upload, .parts = parts, .part_count = 2};
    complete.target = (nl_store_put){.bucket = NL_STR("lake"), .key = NL_STR("big"), .etag = NL_STR("x-2"), .arena = f->arena};
    assert_ok(nl_store_complete_upload(f->objects, &complete));
    nl_object object;
    nl_object_reader *reader = NULL;
    assert_ok(nl_store_open(f->objects, NL_STR("lake"), NL_STR("big"), (nl_str){0}, f->arena, &object, &reader));
    put(f, "big", NL_STR("small"));
    assert_int_equal(count_files(f), 2);
    uint8_t two[2];
    assert_ok(nl_object_reader_read(reader, 99999, 2, two));
    assert_true(two[0] == '1' && two[1] == '2');
    int file;
    uint64_t offset;
    assert_ok(nl_object_reader_file(reader, 99999, 2, &file, &offset));
    assert_int_equal(file, -1);
    assert_ok(nl_object_reader_file(reader, 100010, 5, &file, &offset));
    assert_true(file >= 0 && offset == 10);
    close(file);
    nl_object_reader_free(reader);
    assert_int_equal(count_files(f), 0);
}

static void test_an_aborted_upload_leaves_nothing(void **state)
{
    fixture *f = *state;
    nl_upload upload = {.bucket = NL_STR("lake"), .key = NL_STR("a/b")}, second = {.bucket = NL_STR("lake"), .key = NL_STR("a/b")};
    nl_part part;
    assert_ok(nl_store_create_upload(f->objects, &upload, f->arena));
    assert_ok(nl_store_create_upload(f->objects, &second, f->arena));
    put_part(f, &upload, 1, filled(f, '1', 100000), &part);
    nl_store_list_uploads list = {.bucket = NL_STR("lake"), .count_max = 1, .arena = f->arena};
    assert_ok(nl_store_list_uploads_page(f->objects, &list));
    assert_true(list.count == 1 && list.is_truncated && nl_str_equal(list.uploads[0].token, upload.token));
    list.after = NL_STR("a/b");
    list.after_token = upload.token;
    assert_ok(nl_store_list_uploads_page(f->objects, &list));
    assert_true(list.count == 1 && !list.is_truncated && nl_str_equal(list.uploads[0].token, second.token));
    nl_store_list_uploads folded = {.bucket = NL_STR("lake"), .count_max = 9, .delimiter = NL_STR("/"), .arena = f->arena};
    assert_ok(nl_store_list_uploads_page(f->objects, &folded));
    assert_true(folded.count == 1 && !folded.uploads[0].token.data);
    assert_text(folded.uploads[0].key, "a/");
    assert_ok(nl_store_abort_upload(f->objects, &upload));
    assert_store_fails(nl_store_abort_upload(f->objects, &upload), "NoSuchUpload");
    assert_int_equal(count_files(f), 0);
    assert_ok(nl_store_delete_bucket(f->objects, NL_STR("lake"), false));
}

static void test_documents_and_tags(void **state)
{
    fixture *f = *state;
    nl_str text;
    assert_ok(nl_store_get_document(f->objects, NL_STR("lake"), NL_STR("policy"), f->arena, &text));
    assert_null(text.data);
    assert_ok(nl_store_put_document(f->objects, NL_STR("lake"), NL_STR("policy"), NL_STR("{}")));
    assert_ok(nl_store_get_document(f->objects, NL_STR("lake"), NL_STR("policy"), f->arena, &text));
    assert_text(text, "{}");
    assert_ok(nl_store_put_document(f->objects, NL_STR("lake"), NL_STR("policy"), (nl_str){0}));
    assert_ok(nl_store_get_document(f->objects, NL_STR("lake"), NL_STR("policy"), f->arena, &text));
    assert_null(text.data);
    nl_object object;
    put(f, "t", NL_STR("x"));
    assert_ok(nl_store_set_tags(f->objects, NL_STR("lake"), NL_STR("t"), (nl_str){0}, NL_STR("a=b"), f->arena, &object));
    assert_ok(nl_store_find(f->objects, NL_STR("lake"), NL_STR("t"), (nl_str){0}, f->arena, &object));
    assert_text(object.tags, "a=b");
    assert_store_fails(nl_store_set_tags(f->objects, NL_STR("lake"), NL_STR("u"), (nl_str){0}, NL_STR("a=b"), f->arena, &object), "NoSuchKey");
}

static void test_hidden_buckets_are_not_listed(void **state)
{
    fixture *f = *state;
    const nl_bucket *buckets;
    uint32_t count;
    assert_ok(nl_objects_create_bucket(f->objects, NL_STR("tables--table-s3"), true));
    assert_ok(nl_objects_create_bucket(f->objects, NL_STR("zoo"), false));
    assert_ok(nl_store_list_buckets(f->objects, (nl_str){0}, (nl_str){0}, 100, f->arena, &buckets, &count));
    assert_int_equal(count, 2);
    assert_text(buckets[0].name, "lake");
    assert_ok(nl_store_list_buckets(f->objects, (nl_str){0}, NL_STR("lake"), 100, f->arena, &buckets, &count));
    assert_int_equal(count, 1);
    assert_ok(nl_store_list_buckets(f->objects, NL_STR("zo"), (nl_str){0}, 100, f->arena, &buckets, &count));
    assert_int_equal(count, 1);
}

/* ---- As a file system. */

static nl_status collect(void *argument, const nl_file_info *info)
{
    nl_append_f(argument, NL_STR_FMT "%s ", NL_STR_ARG(info->path), info->is_directory ? "/" : "");
    return NULL;
}

static void test_the_file_system_keeps_its_contracts(void **state)
{
    fixture *f = *state;
    nl_fs *fs = nl_objects_fs(f->objects);
    nl_output *output = NULL;
    nl_buffer *content = NULL;
    nl_file_info info;
    assert_ok(nl_fs_create(fs, NL_STR("s3://lake/t/data/1"), &output));
    assert_ok(nl_output_write(output, "abc", 3));
    bool exists = true;
    assert_ok(nl_fs_exists(fs, NL_STR("s3://lake/t/data/1"), &exists));
    assert_false(exists);
    assert_ok(nl_output_close(output));
    assert_ok(nl_fs_read_all(fs, NL_STR("s3a://lake/t/data/1"), 100, &content));
    assert_memory_equal(content->data, "abc", 3);
    nl_buffer_release(content);
    const nl_bytes two = {(const uint8_t *)"two", 3};
    assert_ok(nl_fs_create_if_absent(fs, NL_STR("s3://lake/t/meta"), two));
    assert_fails(nl_fs_create_if_absent(fs, NL_STR("s3://lake/t/meta"), two), NILAS_ALREADY_EXISTS, "s3://lake/t/meta");
    assert_ok(nl_fs_write_all(fs, NL_STR("s3://lake/t/meta"), two));
    assert_ok(nl_fs_stat(fs, NL_STR("s3://lake/t/meta"), &info));
    assert_true(info.size_bytes == 3 && !info.is_directory);
    assert_ok(nl_fs_stat(fs, NL_STR("s3://lake/t"), &info));
    assert_true(info.is_directory);
    assert_fails(nl_fs_stat(fs, NL_STR("s3://lake/u"), &info), PATH_NOT_FOUND, NULL);
    assert_fails(nl_fs_rename(fs, NL_STR("s3://lake/t/meta"), NL_STR("s3://lake/t/data/1"), false), NILAS_ALREADY_EXISTS, NULL);
    assert_ok(nl_fs_rename(fs, NL_STR("s3://lake/t/meta"), NL_STR("s3://lake/t/meta2"), false));
    nl_builder seen;
    nl_builder_init(&seen, 4096);
    assert_ok(nl_fs_list(fs, NL_STR("s3://lake/t"), false, collect, &seen));
    assert_text(nl_builder_str(&seen), "s3://lake/t/data/ s3://lake/t/meta2 ");
    nl_builder_clear(&seen);
    assert_ok(nl_fs_list(fs, NL_STR("s3://lake/"), true, collect, &seen));
    assert_text(nl_builder_str(&seen), "s3://lake/t/data/1 s3://lake/t/meta2 ");
    nl_builder_fini(&seen);
    assert_fails(nl_fs_list(fs, NL_STR("s3://lake/none"), true, collect, &seen), PATH_NOT_FOUND, NULL);
    const nl_str paths[] = {NL_STR("s3://lake/t/data/1"), NL_STR("s3://none/x"), NL_STR("s3://lake/none")};
    uint64_t removed = 0;
    assert_ok(nl_fs_remove_many(fs, paths, 3, &removed));
    assert_int_equal(removed, 3);
    assert_ok(nl_fs_remove_tree(fs, NL_STR("s3://lake/t")));
    assert_fails(nl_fs_open(fs, NL_STR("s3://lake/t/meta2"), &(nl_file *){NULL}), PATH_NOT_FOUND, NULL);
    nl_fs_release(fs);
}

/* ---- Many at once. */

/* An object of the race: its length says which letter it is made of. */
static nl_status check_whole(nl_objects *objects, const char *key, nl_arena *arena)
{
    nl_object object = {0};
    nl_object_reader *reader = NULL;
    nl_status status = nl_store_open(objects, NL_STR("lake"), nl_str_from(key), (nl_str){0}, arena, &object, &reader);
    if (nl_store_failed_with(status, "NoSuchKey")) {
        nl_error_free(status);
        return NULL;
    }
    NL_TRY(status);
    uint8_t *bytes = nl_arena_alloc(arena, (size_t)object.size_bytes + 1);
    status = nl_object_reader_read(reader, 0, (size_t)object.size_bytes, bytes);
    nl_object_reader_free(reader);
    NL_TRY(status);
    for (uint64_t i = 0; i < object.size_bytes; i++)
        if (bytes[i] != (uint8_t)('a' + object.size_bytes % 26)) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "an object is mixed of two"));
    return NULL;
}

static nl_status put_letters(nl_objects *objects, const char *key, size_t length, nl_arena *arena)
{
    char *text = nl_arena_alloc(arena, length + 1);
    memset(text, (int)('a' + length % 26), length);
    nl_incoming *bytes = NULL;
    NL_TRY(nl_incoming_new(objects, &bytes));
    nl_store_put put = {.bucket = NL_STR("lake"), .key = nl_str_from(key), .bytes = bytes, .arena = arena};
    nl_status status = nl_incoming_write(bytes, text, length);
    if (!status) status = nl_store_write(objects, &put);
    nl_incoming_free(bytes);
    return status;
}

static nl_status race_step(void *argument, uint64_t i)
{
    nl_objects *objects = argument;
    nl_arena *arena = nl_arena_new(NULL);
    const uint64_t chance = i * 0x9e3779b97f4a7c15ull >> 40;
    char key[16];
    snprintf(key, sizeof(key), "race/%d", (int)(chance % 5));
    nl_status status = NULL;
    nl_store_delete gone = {.key = nl_str_from(key)};
    switch (chance / 5 % 4) {
    case 0:
    case 1:
        status = put_letters(objects, key, chance % 2 ? chance % 1000 : 66000 + chance % 20000, arena);
        break;
    case 2:
        status = check_whole(objects, key, arena);
        break;
    default:
        status = nl_store_delete_many(objects, NL_STR("lake"), &gone, 1, arena);
        break;
    }
    nl_arena_free(arena);
    return status;
}

static void test_many_threads_see_whole_objects(void **state)
{
    fixture *f = *state;
    nl_pool *pool = nl_pool_new(8, "race");
    assert_ok(nl_pool_for(pool, 400, race_step, f->objects));
    nl_pool_free(pool);
    nl_store_list list = {.bucket = NL_STR("lake"), .count_max = 10, .arena = f->arena};
    assert_ok(nl_store_list_objects(f->objects, &list));
    int large = 0;
    for (uint32_t i = 0; i < list.count; i++) large += list.entries[i].object.size_bytes > NL_OBJECT_INLINE_BYTES_MAX;
    assert_int_equal(count_files(f), large);
    close_store(f);
    open_store(f);
    assert_int_equal(count_files(f), large);
}

/* ---- Killed on the way. */

static void killed_put(fixture *f, const char *point)
{
    close_store(f);
    const pid_t child = fork();
    if (child == 0) {
        nl_crash_choose(point);
        nl_error_free(nl_state_open(nl_str_from(f->folder), &f->state));
        nl_error_free(nl_objects_open(f->state, NULL, &f->objects));
        nl_error_free(put_in(f, "k", filled(f, 'n', 100000), (nl_write_conditions){0}, NULL));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status)) fprintf(stderr, "%s was not reached\n", point);
    assert_true(WIFSIGNALED(status));
    open_store(f);
}

static void test_killed_at_each_point_the_object_is_old_or_new(void **state)
{
    fixture *f = *state;
    const struct {
        const char *point;
        bool is_new;
    } points[] = {{"s3.body.written", false}, {"s3.body.stored", false}, {"s3.put.indexed", true}};
    for (size_t i = 0; i < NL_COUNT(points); i++) {
        put(f, "k", filled(f, 'o', 90000));
        killed_put(f, points[i].point);
        nl_str now = get(f, "k");
        assert_true(nl_str_equal(now, points[i].is_new ? filled(f, 'n', 100000) : filled(f, 'o', 90000)));
        assert_int_equal(count_files(f), 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_sizes_around_the_inline_limit),
        TEST(test_etag_is_the_md5),
        TEST(test_a_replaced_file_goes_and_its_reader_stays),
        TEST(test_conditions_are_asked_at_the_write),
        TEST(test_names_that_fail),
        TEST(test_listing_with_delimiter_and_pages),
        TEST(test_versions_markers_and_the_null_version),
        TEST(test_many_versions_are_jumped_over),
        TEST(test_copies_share_a_file_until_the_last_goes),
        TEST(test_a_multipart_upload_becomes_an_object),
        TEST(test_a_reader_of_many_files_holds_them),
        TEST(test_an_aborted_upload_leaves_nothing),
        TEST(test_documents_and_tags),
        TEST(test_hidden_buckets_are_not_listed),
        TEST(test_the_file_system_keeps_its_contracts),
        TEST(test_many_threads_see_whole_objects),
#ifdef NL_FAULTS
        TEST(test_killed_at_each_point_the_object_is_old_or_new),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
