/* stream/source_iceberg.c - an Iceberg table as a stream: what its append snapshots have added, file after file.
 *
 * An offset is a snapshot and how many of the files that it has added are read. Snapshots that rewrite files are passed over;
 * those that delete or overwrite are an error unless the options say that they may be. Iceberg 1.10, SparkMicroBatchStream. */
#include "stream/source.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/number.h"
#include "exec/sources.h"
#include "iceberg/scan_planning.h"
#include "sql/parser.h"

typedef struct offset {
    int64_t snapshot_id, position; /* -1, -1: before the first snapshot */
    bool scans_all;
} offset;
static const offset start_offset = {-1, -1, false};

typedef struct iceberg_stream {
    nl_stream_source base;
    nl_arena *arena;         /* owned */
    nl_iceberg_table *table; /* counted */
    nl_memory *memory;
    nl_pool *pool;
    int64_t from_ms;         /* INT64_MIN: the oldest snapshot */
    int64_t file_max, row_max;
    bool skips_deletes, skips_overwrites;
    bool is_frozen;
    offset initial;
    const nl_type *row_type; /* of the leaf: columns that come later are not seen */
} iceberg_stream;

/* The snapshots from the oldest to the current one. */
typedef struct lineage {
    nl_arena *arena;
    const nl_table_metadata *metadata; /* counted */
    const nl_snapshot **items;
    uint32_t count;
} lineage;

/* ---- options and schema ---- */

static nl_status limit_of(const nl_stream_definition *definition, const char *key, int64_t *limit)
{
    const nl_str text = nl_stream_option(definition, key);
    if (!text.data) return NULL;
    if (!nl_parse_int64(text, limit)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(text));
    if (*limit < 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s must be positive: " NL_STR_FMT, key, NL_STR_ARG(text));
    return NULL;
}

static bool is_set(const nl_stream_definition *definition, const char *key)
{
    return nl_str_is_nocase(nl_stream_option(definition, key), "true");
}

static nl_status load(nl_session *session, const nl_stream_definition *definition, nl_arena *arena, nl_iceberg_table **table)
{
    nl_ast_name name;
    nl_session_name resolved;
    const nl_str written = definition->name.length ? definition->name : definition->path_count ? definition->paths[0] : nl_stream_option(definition, "path");
    if (!written.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot open table without a location: path is not set");
    if (nl_str_find_char(written, '/', 0) != NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Iceberg tables are read by their names: a table's path (" NL_STR_FMT ") is not supported.", NL_STR_ARG(written));
    NL_TRY(nl_sql_parse_name(arena, written, &(nl_sql_options){.is_unplaced = true}, &name));
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, name.count + 1);
    for (uint32_t i = 0; i < name.count; i++) parts[i] = name.parts[i].text;
    NL_TRY(nl_session_resolve(session, parts, name.count, arena, &resolved));
    return nl_catalog_load_table(resolved.catalog, &resolved.identifier, table);
}

static nl_status refuse_options(const nl_stream_definition *definition)
{
    static const char *const refused[] = {"snapshot-id", "as-of-timestamp", "branch", "tag", "start-snapshot-id", "end-snapshot-id"};
    for (size_t i = 0; i < NL_COUNT(refused); i++)
        if (nl_stream_option(definition, refused[i]).data) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] A stream of an Iceberg table does not take the option %s.", refused[i]);
    if (definition->schema) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "An Iceberg table has its own schema: readStream takes none for it.");
    return NULL;
}

static nl_status describe(nl_session *session, nl_stream_definition *definition, nl_arena *arena, const nl_type **row_type, nl_str *label)
{
    nl_iceberg_table *table = NULL;
    NL_TRY(refuse_options(definition));
    NL_TRY(load(session, definition, arena, &table));
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    nl_status status = nl_ice_type_to_sql(arena, nl_table_schema(metadata)->root, row_type);
    *label = nl_arena_str(arena, table->name);
    nl_table_metadata_release(metadata);
    nl_iceberg_table_release(table);
    return status;
}

/* ---- offsets ---- */

static nl_str offset_text(nl_arena *arena, const offset *at)
{
    return nl_arena_f(arena, "{\"version\":1,\"snapshot_id\":%" PRId64 ",\"position\":%" PRId64 ",\"scan_all_files\":%s}", at->snapshot_id, at->position,
                      at->scans_all ? "true" : "false");
}

static nl_status parse_offset(nl_arena *arena, nl_str text, offset *at)
{
    const json_t *json = NULL;
    int64_t version = 1;
    NL_TRY(nl_json_parse(arena, text, NL_STR("the offset of an Iceberg source"), &json));
    NL_TRY(nl_json_object(json, text, "an offset"));
    NL_TRY(nl_json_int64(json, "version", text, &version));
    NL_TRY(nl_json_int64(json, "snapshot_id", text, &at->snapshot_id));
    NL_TRY(nl_json_int64(json, "position", text, &at->position));
    NL_TRY(nl_json_bool(json, "scan_all_files", text, &at->scans_all));
    if (version > 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "This version of Iceberg source only supports version 1 and below of offset, got version %" PRId64, version);
    return NULL;
}

static bool is_start(const offset *at)
{
    return at->snapshot_id == -1 && at->position == -1;
}

/* ---- snapshots ---- */

static void open_lineage(const iceberg_stream *self, lineage *line)
{
    *line = (lineage){.arena = nl_arena_new(NULL), .metadata = nl_iceberg_table_metadata(self->table)};
    const uint32_t most = line->metadata->snapshot_count;
    const nl_snapshot **newest = NL_NEW_ARRAY(line->arena, const nl_snapshot *, (size_t)most + 1);
    line->items = NL_NEW_ARRAY(line->arena, const nl_snapshot *, (size_t)most + 1);
    for (const nl_snapshot *at = nl_table_current_snapshot(line->metadata); at && line->count < most; at = nl_table_snapshot(line->metadata, at->parent_id))
        newest[line->count++] = at;
    for (uint32_t i = 0; i < line->count; i++) line->items[i] = newest[line->count - 1 - i];
}

static void close_lineage(lineage *line)
{
    nl_table_metadata_release(line->metadata);
    nl_arena_free(line->arena);
}

static nl_status find_snapshot(const lineage *line, int64_t snapshot_id, uint32_t *at)
{
    for (*at = 0; *at < line->count; (*at)++)
        if (line->items[*at]->snapshot_id == snapshot_id) return NULL;
    if (nl_table_snapshot(line->metadata, snapshot_id))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find snapshot after %" PRId64 ": not an ancestor of table's current snapshot", snapshot_id);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot load current offset at snapshot %" PRId64 ", the snapshot was expired or removed", snapshot_id);
}

static nl_status should_process(const iceberg_stream *self, const nl_snapshot *snapshot, bool *is_read)
{
    const nl_str operation = snapshot->operation;
    *is_read = nl_str_is(operation, "append");
    if (*is_read || nl_str_is(operation, "replace")) return NULL;
    if (nl_str_is(operation, "delete")) {
        if (self->skips_deletes) return NULL;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot process delete snapshot: %" PRId64 ", to ignore deletes, set streaming-skip-delete-snapshots=true", snapshot->snapshot_id);
    }
    if (nl_str_is(operation, "overwrite")) {
        if (self->skips_overwrites) return NULL;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot process overwrite snapshot: %" PRId64 ", to ignore overwrites, set streaming-skip-overwrite-snapshots=true",
                             snapshot->snapshot_id);
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot process unknown snapshot operation: " NL_STR_FMT " (snapshot id %" PRId64 ")", NL_STR_ARG(operation), snapshot->snapshot_id);
}

/* Files that the snapshot has added; all of the table's files with scans_all. *plan is counted. */
static nl_status added_files(const iceberg_stream *self, const lineage *line, const nl_snapshot *snapshot, bool scans_all, nl_scan_plan **plan)
{
    const nl_scan_planning planning = {.fs = self->table->fs,
                                       .cache = self->table->manifest_cache,
                                       .metadata = line->metadata,
                                       .snapshot = snapshot,
                                       .schema = nl_table_schema(line->metadata),
                                       .after_snapshot_id = scans_all ? NL_NONE : snapshot->parent_id,
                                       .ignores_deletes = true,
                                       .memory = self->memory};
    return nl_scan_plan_new(&planning, plan);
}

/* Where reading begins. */
static nl_status first_offset(const iceberg_stream *self, const lineage *line, offset *at)
{
    *at = start_offset;
    if (line->count == 0) return NULL;
    if (self->from_ms == INT64_MIN) {
        *at = (offset){line->items[0]->snapshot_id, 0, false};
        return NULL;
    }
    if (line->items[line->count - 1]->timestamp_ms < self->from_ms) return NULL;
    uint32_t i = line->count - 1;
    while (i > 0 && line->items[i - 1]->timestamp_ms >= self->from_ms) i--;
    if (i == 0 && line->items[0]->parent_id != NL_NONE && line->items[0]->timestamp_ms > self->from_ms)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find snapshot older than %" PRId64, self->from_ms);
    *at = (offset){line->items[i]->snapshot_id, 0, false};
    return NULL;
}

/* ---- how far ---- */

typedef struct walk {
    int64_t files, rows;   /* so far */
    int64_t file_max, row_max;
    bool is_full;
} walk;

/* Goes on in one snapshot from a position. */
static void take_files(walk *w, const nl_scan_plan *plan, int64_t from, int64_t *position)
{
    for (*position = 0; *position < plan->task_count; (*position)++) {
        if (*position < from) continue;
        if (w->files + 1 > w->file_max) {
            w->is_full = true;
            return;
        }
        w->files++;
        w->rows += plan->tasks[*position].file->record_count;
        if (w->rows >= w->row_max) {
            (*position)++;
            w->is_full = true;
            return;
        }
    }
}

static nl_status next_snapshot(const iceberg_stream *self, const lineage *line, uint32_t *at, bool *is_there)
{
    *is_there = false;
    for (uint32_t i = *at + 1; i < line->count; i++) {
        NL_TRY(should_process(self, line->items[i], is_there));
        if (!*is_there) continue;
        *at = i;
        return NULL;
    }
    return NULL;
}

static nl_status walk_on(const iceberg_stream *self, const lineage *line, walk *w, offset *at)
{
    uint32_t i;
    NL_TRY(find_snapshot(line, at->snapshot_id, &i));
    for (int64_t from = at->position;; from = -1) {
        nl_scan_plan *plan = NULL;
        bool is_there = false;
        NL_TRY(added_files(self, line, line->items[i], at->scans_all, &plan));
        take_files(w, plan, from, &at->position);
        nl_scan_plan_release(plan);
        at->snapshot_id = line->items[i]->snapshot_id;
        if (w->is_full || i + 1 == line->count) return NULL;
        NL_TRY(next_snapshot(self, line, &i, &is_there));
        if (!is_there) return NULL;
        at->scans_all = false;
    }
}

static nl_status latest_in(iceberg_stream *self, const lineage *line, nl_arena *arena, nl_str start, bool is_limited, nl_str *end)
{
    offset at = self->initial;
    walk w = {.file_max = is_limited ? self->file_max : INT64_MAX, .row_max = is_limited ? self->row_max : INT64_MAX};
    if (start.length) NL_TRY(parse_offset(arena, start, &at));
    if (is_start(&at)) NL_TRY(first_offset(self, line, &at));
    const offset before = at;
    if (!is_start(&at)) NL_TRY(walk_on(self, line, &w, &at));
    if (is_start(&at) || (before.snapshot_id == at.snapshot_id && before.position == at.position))
        *end = start; /* nothing has come */
    else
        *end = offset_text(arena, &at);
    return NULL;
}

static nl_status latest(nl_stream_source *base, nl_arena *arena, nl_str start, bool is_limited, nl_str *end)
{
    iceberg_stream *self = NL_CONTAINER(NL_UNCONST(base), iceberg_stream, base);
    lineage line;
    if (!self->is_frozen) NL_TRY(nl_iceberg_table_refresh(self->table));
    open_lineage(self, &line);
    nl_status status = latest_in(self, &line, arena, start, is_limited, end);
    close_lineage(&line);
    return status;
}

static nl_status freeze(nl_stream_source *base)
{
    iceberg_stream *self = NL_CONTAINER(base, iceberg_stream, base);
    self->is_frozen = true;
    return nl_iceberg_table_refresh(self->table);
}

/* ---- what lies between ---- */

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

/* The snapshot's files from one position to another as a table; files: what they are is kept by the chain. */
static nl_status snapshot_table(const iceberg_stream *self, const nl_snapshot *snapshot, const nl_scan_plan *plan, int64_t from, int64_t to, bool scans_all, nl_arena *kept,
                                const nl_table **table, int64_t *row_count)
{
    const int64_t first = NL_MAX(from, 0), last = NL_MIN(to, (int64_t)plan->task_count);
    nl_str *files = NL_NEW_ARRAY(kept, nl_str, (size_t)NL_MAX(last - first, 0) + 1);
    uint32_t count = 0;
    for (int64_t i = first; i < last; i++) {
        files[count++] = nl_arena_str(kept, plan->tasks[i].file->path);
        *row_count += plan->tasks[i].file->record_count;
    }
    qsort(files, count, sizeof *files, compare_paths);
    const nl_iceberg_read read = {.start_snapshot_id = scans_all || snapshot->parent_id == NL_NONE ? 0 : snapshot->parent_id,
                                  .end_snapshot_id = snapshot->snapshot_id,
                                  .is_restricted = true,
                                  .files = files,
                                  .file_count = count};
    return nl_iceberg_source_new(self->table, &read, table);
}

static nl_status add_tables(const iceberg_stream *self, const lineage *line, const offset *from, const offset *to, nl_stream_chain *chain, int64_t *row_count)
{
    uint32_t i;
    NL_TRY(find_snapshot(line, from->snapshot_id, &i));
    for (; i < line->count; i++) {
        const nl_snapshot *snapshot = line->items[i];
        const bool is_first = snapshot->snapshot_id == from->snapshot_id, is_last = snapshot->snapshot_id == to->snapshot_id;
        const bool scans_all = is_first && from->scans_all;
        nl_scan_plan *plan = NULL;
        const nl_table *table = NULL;
        bool is_read = false;
        NL_TRY(should_process(self, snapshot, &is_read));
        if (is_read || scans_all) {
            NL_TRY(added_files(self, line, snapshot, scans_all, &plan));
            nl_status status = snapshot_table(self, snapshot, plan, is_first ? from->position : 0, is_last ? to->position : INT64_MAX, scans_all, nl_stream_chain_arena(chain), &table, row_count);
            nl_scan_plan_release(plan);
            NL_TRY(status);
            NL_TRY(nl_stream_chain_add(chain, table));
        }
        if (is_last) return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot load current offset at snapshot %" PRId64 ", the snapshot was expired or removed", to->snapshot_id);
}

static nl_status fill_chain(iceberg_stream *self, const nl_stream_range *range, const lineage *line, nl_stream_chain *chain, int64_t *row_count)
{
    offset from = self->initial, to;
    if (!range->end.length) return NULL; /* the table has no snapshot yet */
    if (range->start.length) NL_TRY(parse_offset(line->arena, range->start, &from));
    NL_TRY(parse_offset(line->arena, range->end, &to));
    if (is_start(&from)) NL_TRY(first_offset(self, line, &from));
    return is_start(&to) ? NULL : add_tables(self, line, &from, &to, chain, row_count);
}

static nl_status table_of(nl_stream_source *base, const nl_stream_range *range, const nl_table **table, int64_t *row_count)
{
    iceberg_stream *self = NL_CONTAINER(NL_UNCONST(base), iceberg_stream, base);
    nl_stream_chain *chain = NULL;
    lineage line;
    *row_count = 0;
    open_lineage(self, &line);
    nl_status status = nl_stream_chain_new(self->row_type, &chain);
    if (!status) status = fill_chain(self, range, &line, chain, row_count);
    close_lineage(&line);
    if (status)
        nl_stream_chain_free(chain);
    else
        *table = nl_stream_chain_table(chain);
    return status;
}

static void append_description(const nl_stream_source *base, nl_builder *out)
{
    const iceberg_stream *self = NL_CONTAINER(NL_UNCONST(base), iceberg_stream, base);
    nl_append_f(out, "org.apache.iceberg.spark.source.SparkMicroBatchStream[" NL_STR_FMT "]", NL_STR_ARG(self->table->name));
}

static void free_source(nl_stream_source *base)
{
    iceberg_stream *self = NL_CONTAINER(NL_UNCONST(base), iceberg_stream, base);
    nl_iceberg_table_release(self->table);
    nl_arena_free(self->arena);
}

static const nl_stream_source_ops ops = {.latest = latest, .table = table_of, .freeze = freeze, .append_description = append_description, .free = free_source};

/* ---- opening ---- */

/* The offset that the stream began with is kept, so that it stays the same while the table has no snapshot yet. */
static nl_status take_initial(iceberg_stream *self, const nl_stream_source_environment *environment)
{
    const nl_str folder = nl_arena_f(self->arena, "sources/%u/offsets", environment->ordinal);
    const nl_str path = nl_stream_checkpoint_path(environment->checkpoint, self->arena, nl_str_c(self->arena, folder), NL_STR("0"));
    nl_fs *fs = environment->checkpoint->fs;
    bool exists = false;
    NL_TRY(nl_fs_exists(fs, path, &exists));
    if (exists) {
        nl_buffer *content = NULL;
        NL_TRY(nl_fs_read_all(fs, path, 1 << 16, &content));
        nl_status status = parse_offset(self->arena, (nl_str){(const char *)content->data, content->size_bytes}, &self->initial);
        nl_buffer_release(content);
        return status;
    }
    lineage line;
    open_lineage(self, &line);
    nl_status status = first_offset(self, &line, &self->initial);
    close_lineage(&line);
    NL_TRY(status);
    const nl_str text = offset_text(self->arena, &self->initial);
    return nl_fs_create_if_absent(fs, path, (nl_bytes){(const uint8_t *)text.data, text.length});
}

static nl_status read_settings(iceberg_stream *self, const nl_stream_definition *definition)
{
    const nl_str from = nl_stream_option(definition, "stream-from-timestamp");
    self->from_ms = INT64_MIN;
    self->file_max = self->row_max = INT64_MAX;
    if (from.data && !nl_parse_int64(from, &self->from_ms)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "For input string: \"" NL_STR_FMT "\"", NL_STR_ARG(from));
    NL_TRY(limit_of(definition, "streaming-max-files-per-micro-batch", &self->file_max));
    NL_TRY(limit_of(definition, "streaming-max-rows-per-micro-batch", &self->row_max));
    self->skips_deletes = is_set(definition, "streaming-skip-delete-snapshots");
    self->skips_overwrites = is_set(definition, "streaming-skip-overwrite-snapshots");
    return NULL;
}

static nl_status open_iceberg(const nl_stream_definition *definition, const nl_type *row_type, const nl_stream_source_environment *environment, nl_stream_source **source)
{
    nl_arena *arena = nl_arena_new(NULL);
    iceberg_stream *self = NL_NEW(arena, iceberg_stream);
    *self = (iceberg_stream){.base.ops = &ops, .arena = arena, .row_type = nl_type_copy(arena, row_type), .memory = environment->memory, .pool = environment->pool};
    nl_status status = read_settings(self, definition);
    if (!status) status = load(environment->session, definition, arena, &self->table);
    if (!status) status = take_initial(self, environment);
    if (status)
        free_source(&self->base);
    else
        *source = &self->base;
    return status;
}

const nl_stream_kind nl_stream_kind_iceberg = {.name = "iceberg", .describe = describe, .open = open_iceberg};
