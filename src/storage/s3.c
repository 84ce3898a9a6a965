/* storage/s3.c - the S3 file system: its birth, what a path is, and the table of its operations. */
#include <stdlib.h>

#include "base/number.h"
#include "storage/digest.h"
#include "storage/s3_private.h"

static nl_s3_fs *fs_of(nl_fs *self)
{
    return NL_CONTAINER(self, nl_s3_fs, base);
}

/* "Wed, 21 Oct 2015 07:28:00 GMT"; 0 when it is something else. */
static int64_t http_date_micros(nl_str text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t day = 0;
    int64_t year = 0;
    int64_t time[3] = {0};
    if (text.length != 29) return 0;
    const size_t month = nl_str_find(nl_str_from(months), nl_str_slice(text, 8, 11), 0);
    if (month == NL_NOT_FOUND || !nl_parse_int64(nl_str_slice(text, 5, 7), &day) || !nl_parse_int64(nl_str_slice(text, 12, 16), &year)) return 0;
    for (uint32_t i = 0; i < 3; i++)
        if (!nl_parse_int64(nl_str_slice(text, 17 + 3 * i, 19 + 3 * i), &time[i])) return 0;
    return (nl_days_from_civil(year, (int32_t)(month / 3) + 1, (int32_t)day) * 86400 + time[0] * 3600 + time[1] * 60 + time[2]) * 1000000;
}

/* Is there anything below the key? Then it is a folder. */
static nl_status stat_folder(nl_s3_fs *fs, const nl_s3_place *place, nl_str path, nl_file_info *info)
{
    nl_arena *arena = nl_arena_new(fs->memory);
    uint64_t entry_count = 0;
    const bool has_slash = place->key.length == 0 || nl_str_ends(place->key, NL_STR("/"));
    const nl_str prefix = has_slash ? place->key : nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(place->key));
    nl_status status = nl_s3_list_keys(fs, place, prefix, true, true, 1, NULL, NULL, &entry_count);
    nl_arena_free(arena);
    if (!status && entry_count == 0 && place->key.length > 0) status = NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", path));
    if (!status) info->is_directory = true;
    return status;
}

static nl_status start_stat(nl_s3_fs *fs, nl_str path, nl_s3_call **call)
{
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    if (place.key.length == 0) return NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", path));
    const nl_s3_ask ask = {.method = "HEAD", .fault = "s3.head", .bucket = place.bucket, .key = place.key, .uses_key = true};
    return nl_note_if(nl_s3_start(fs, &ask, call), NL_HERE, "looking for " NL_STR_FMT, NL_STR_ARG(path));
}

static nl_status finish_stat(nl_s3_call *call, nl_str path, nl_file_info *info)
{
    nl_http_response response = {0};
    int64_t length = -1;
    NL_TRY_NOTE(nl_s3_wait(call, &response), "looking for " NL_STR_FMT, NL_STR_ARG(path));
    nl_status status = nl_s3_is_good(&response) ? NULL : nl_s3_refusal("Describing", path, &response, true);
    if (!status) {
        if (nl_parse_int64(nl_http_header(&response, "content-length"), &length) && length >= 0) info->size_bytes = (uint64_t)length;
        info->modified_micros = http_date_micros(nl_http_header(&response, "last-modified"));
    }
    nl_http_response_fini(&response);
    return status;
}

static nl_status s3_stat_file(nl_fs *self, nl_str path, nl_file_info *info)
{
    nl_s3_call *call = NULL;
    NL_TRY(start_stat(fs_of(self), path, &call));
    return finish_stat(call, path, info);
}

static nl_status s3_stat_files(nl_fs *self, const nl_str *paths, uint32_t path_count, nl_file_info *infos)
{
    enum { CALLS_MAX = 16 };
    nl_status status = NULL;
    for (uint32_t from = 0; from < path_count && !status; from += CALLS_MAX) {
        nl_s3_call *calls[CALLS_MAX] = {0};
        const uint32_t count = NL_MIN(path_count - from, (uint32_t)CALLS_MAX);
        for (uint32_t i = 0; i < count && !status; i++) status = start_stat(fs_of(self), paths[from + i], &calls[i]);
        for (uint32_t i = 0; i < count; i++) {
            nl_file_info *info = &infos[from + i];
            *info = (nl_file_info){.path = paths[from + i]};
            if (status)
                nl_s3_abandon(calls[i]);
            else
                status = finish_stat(calls[i], paths[from + i], info);
            if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) continue;
            nl_error_free(status);
            status = NULL;
            *info = (nl_file_info){0};
        }
    }
    return status;
}

static nl_status s3_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    nl_s3_place place;
    NL_TRY(nl_s3_place_parse(path, &place));
    if (place.key.length == 0 || nl_str_ends(place.key, NL_STR("/"))) return stat_folder(fs_of(self), &place, path, info);
    nl_status status = s3_stat_file(self, path, info);
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    return stat_folder(fs_of(self), &place, path, info);
}

/* Folders that exist without files in them are objects "folder/" of no bytes, as Hadoop's S3A makes them. */
static nl_status s3_make_directory(nl_fs *self, nl_str path)
{
    nl_s3_fs *fs = fs_of(self);
    nl_s3_place place;
    nl_file_info info = {0};
    nl_http_response response = {0};
    NL_TRY(nl_s3_place_parse(path, &place));
    while (nl_str_ends(place.key, NL_STR("/"))) place.key.length--;
    if (place.key.length == 0) return NULL;
    nl_status status = stat_folder(fs, &place, path, &info);
    if (!status || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    nl_arena *arena = nl_arena_new(fs->memory);
    const nl_s3_ask ask = {.method = "PUT", .fault = "s3.put", .bucket = place.bucket, .key = nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(place.key)),
                           .body = {(const uint8_t *)"", 0}, .adds_checksum = true, .uses_key = true};
    status = nl_s3_send(fs, &ask, &response);
    if (!status) {
        if (!nl_s3_is_good(&response)) status = nl_s3_refusal("Making a folder", path, &response, false);
        nl_http_response_fini(&response);
    }
    nl_arena_free(arena);
    return status;
}

static void s3_free(nl_fs *self)
{
    nl_s3_fs *fs = fs_of(self);
    nl_http_client_release(fs->client);
    nl_piece_cache_release(fs->cache);
    if (fs->credentials) nl_credential_source_release(fs->credentials);
    if (fs->signer.free) fs->signer.free(fs->signer.argument);
    nl_mutex_fini(&fs->mutex);
    nl_arena_free(fs->arena);
    nl_memory_release(fs->memory);
    free(fs);
}

static const nl_fs_ops s3_ops = {
    .scheme = "s3",
    .open = nl_s3_open,
    .open_sized = nl_s3_open_sized,
    .open_data = nl_s3_open_data,
    .open_start = nl_s3_open_start,
    .read_all = nl_s3_read_all,
    .create = nl_s3_create,
    .create_if_absent = nl_s3_create_if_absent,
    .rename = nl_s3_rename,
    .remove = nl_s3_remove,
    .remove_many = nl_s3_remove_many,
    .remove_tree = nl_s3_remove_tree,
    .make_directory = s3_make_directory,
    .stat = s3_stat,
    .stat_file = s3_stat_file,
    .stat_files = s3_stat_files,
    .list = nl_s3_list,
    .free = s3_free,
};

/* Who asks is told by all that was configured, keys among it; whoever signs for us decides anew each time. */
static uint64_t reader_of(const nl_s3_fs *fs, const nl_property *properties, uint32_t property_count)
{
    nl_digest digest;
    uint8_t bytes[NL_DIGEST_BYTES_MAX] = {0};
    uint64_t reader = 0;
    nl_status status = fs->signer.sign ? NULL : nl_digest_begin(NL_DIGEST_SHA256, &digest);
    nl_error_free(status);
    if (fs->signer.sign || status) return nl_piece_cache_new_reader(fs->cache);
    for (uint32_t i = 0; i < property_count; i++) {
        const nl_str texts[] = {properties[i].key, properties[i].value};
        for (uint32_t j = 0; j < NL_COUNT(texts); j++) {
            const uint64_t length = texts[j].length;
            nl_digest_update(&digest, (nl_bytes){(const uint8_t *)&length, sizeof(length)});
            nl_digest_update(&digest, (nl_bytes){(const uint8_t *)texts[j].data, texts[j].length});
        }
    }
    (void)nl_digest_end(&digest, bytes);
    memcpy(&reader, bytes, sizeof(reader));
    return reader;
}

static void find_cache(nl_s3_fs *fs, const nl_property *properties, uint32_t property_count)
{
    const nl_s3_options *options = &fs->options;
    fs->cache = nl_piece_cache_find(fs->memory);
    fs->cache_reader = reader_of(fs, properties, property_count);
    if (options->has_endpoint) /* AWS: buckets have their names all over it */
        fs->cache_place = nl_arena_f(fs->arena, NL_STR_FMT "://" NL_STR_FMT ":" NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(options->scheme), NL_STR_ARG(options->host), NL_STR_ARG(options->port), NL_STR_ARG(options->base_path));
}

static nl_status fill(nl_s3_fs *fs, const nl_property *properties, uint32_t property_count)
{
    const nl_property *all = NULL;
    uint32_t all_count = 0;
    NL_TRY(nl_s3_options_read(properties, property_count, fs->arena, &fs->options));
    find_cache(fs, properties, property_count);
    if (fs->signer.sign) return NULL;
    nl_s3_properties_translate(properties, property_count, fs->arena, &all, &all_count);
    return nl_credential_source_new(all, all_count, "s3", fs->memory, &fs->credentials);
}

nl_status nl_fs_s3_new_signed(const nl_property *properties, uint32_t property_count, const nl_s3_signer *signer, nl_memory *memory, nl_fs **fs)
{
    nl_s3_fs *made = calloc(1, sizeof(*made));
    if (!made) {
        if (signer && signer->free) signer->free(signer->argument);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    }
    made->base.ops = &s3_ops;
    atomic_init(&made->base.references, 1);
    made->memory = nl_memory_retain(memory);
    made->arena = nl_arena_new(memory);
    nl_mutex_init(&made->mutex);
    if (signer) made->signer = *signer;
    nl_status status = fill(made, properties, property_count);
    if (status)
        s3_free(&made->base);
    else
        *fs = &made->base;
    return status;
}

nl_status nl_fs_s3_new(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **fs)
{
    return nl_fs_s3_new_signed(properties, property_count, NULL, memory, fs);
}
