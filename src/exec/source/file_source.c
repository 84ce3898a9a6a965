/* exec/source/file_source.c - see exec/sources.h: Parquet, CSV, JSON, XML and other files that belong to no table. */
#include "exec/source/file_source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "exec/engine.h"
#include "exec/source/file_scan.h"
#include "exec/source/predicate.h"
#include "format/orc/data_format.h"
#include "format/orc/tail.h"

static const char *const format_names[] = {[NL_FILES_PARQUET] = "parquet", [NL_FILES_CSV] = "csv", [NL_FILES_JSON] = "json", [NL_FILES_TEXT] = "text", [NL_FILES_BINARY] = "binaryFile", [NL_FILES_XML] = "xml", [NL_FILES_ORC] = "orc"};

static const nl_file_source *source_of(const nl_table *table)
{
    return (const nl_file_source *)(const void *)table;
}

/* Parquet and ORC: columns that are read one by one, and statistics. */
static bool has_footers(const nl_file_source *self)
{
    return self->format == NL_FILES_PARQUET || self->format == NL_FILES_ORC;
}

/* ---- Schemas ---- */

const char *nl_file_format_title(nl_str format)
{
    static const char *const titles[] = {"CSV", "JSON", "XML", "Text", "ORC"};
    for (uint32_t i = 0; i < NL_COUNT(titles); i++)
        if (nl_str_is_nocase(format, titles[i])) return titles[i];
    return "Parquet";
}

static nl_status cannot_infer(const nl_file_source *self)
{
    return NL_RAISE(UNABLE_TO_INFER_SCHEMA, NL_P("format", nl_file_format_title(nl_str_from(format_names[self->format]))));
}

static nl_status forgive_missing(const nl_file_source *self, nl_status status)
{
    if (!status || !self->selection.ignores_missing || nl_error_condition(status) != NL_COND_PATH_NOT_FOUND) return status;
    nl_error_free(status);
    return NULL;
}

static nl_status footer_type(nl_file_source *self, nl_file *file, nl_memory *memory, const nl_type **type)
{
    nl_parquet_footer *footer = NULL;
    const nl_parquet_type_options options = {0};
    NL_TRY(nl_parquet_footer_read(file, memory, &footer));
    nl_status status = nl_parquet_footer_type(footer, &options, self->arena, type);
    nl_parquet_footer_release(footer);
    return status;
}

static nl_status orc_tail_type(nl_file_source *self, nl_file *file, nl_memory *memory, const nl_type **type)
{
    nl_orc_tail *tail = NULL;
    NL_TRY(nl_orc_tail_read(file, memory, &tail));
    nl_status status = nl_orc_tail_type(tail, self->arena, type);
    if (!status) *type = nl_type_copy(self->arena, *type); /* names are the tail's */
    nl_orc_tail_release(tail);
    return status;
}

/* The columns of both, those of `more` that `type` lacks behind. */
static nl_status merge_types(nl_file_source *self, const nl_type **type, const nl_type *more)
{
    const nl_type *known = *type;
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, known->child_count + more->child_count + 1);
    uint32_t count = known->child_count;
    for (uint32_t i = 0; i < count; i++) fields[i] = known->children[i];
    for (uint32_t i = 0; i < more->child_count; i++) {
        const nl_field *field = &more->children[i];
        uint32_t at = 0;
        while (at < known->child_count && !nl_str_equal_nocase(known->children[at].name, field->name)) at++;
        if (at == known->child_count) {
            fields[count++] = *field;
        } else if (!nl_type_equal(known->children[at].type, field->type)) {
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "mergeSchema: the column " NL_STR_FMT " is " NL_STR_FMT " in one file and " NL_STR_FMT " in another one.", NL_STR_ARG(field->name),
                                 NL_STR_ARG(nl_type_sql(self->arena, known->children[at].type)), NL_STR_ARG(nl_type_sql(self->arena, field->type)));
        }
    }
    *type = nl_type_struct(self->arena, fields, count);
    return nl_arena_check(self->arena);
}

/* The first file speaks for all, unless mergeSchema is asked for. */
static nl_status footers_type(nl_file_source *self, nl_memory *memory, const nl_type **type)
{
    const nl_type *found = NULL;
    for (uint32_t i = 0; i < self->files.file_count && (!found || self->merges_schema); i++) {
        nl_file *file = NULL;
        const nl_type *one = NULL;
        NL_TRY(forgive_missing(self, nl_fs_open(self->files.fs, self->files.files[i].path, &file)));
        if (!file) continue;
        nl_status status = self->format == NL_FILES_ORC ? orc_tail_type(self, file, memory, &one) : footer_type(self, file, memory, &one);
        nl_file_close(file);
        NL_TRY(status);
        if (found) NL_TRY(merge_types(self, &found, one));
        else found = one;
    }
    if (!found) return cannot_infer(self);
    *type = found;
    return NULL;
}

static nl_status text_type(nl_file_source *self, nl_memory *memory, const nl_type **type)
{
    nl_status status = NULL;
    uint32_t open_count = 0;
    nl_file **files = calloc(self->files.file_count + 1, sizeof(*files));
    if (!files) return nl_out_of_memory(self->files.file_count);
    for (uint32_t i = 0; !status && i < self->files.file_count; i++) {
        status = forgive_missing(self, nl_fs_open(self->files.fs, self->files.files[i].path, &files[open_count]));
        open_count += files[open_count] != NULL;
    }
    if (!status && self->format == NL_FILES_CSV) status = nl_csv_infer_schema(files, open_count, &self->csv, self->arena, memory, type);
    if (!status && self->format == NL_FILES_XML) status = nl_xml_infer_schema(files, open_count, &self->xml, self->arena, memory, type);
    if (!status && self->format == NL_FILES_JSON) status = nl_json_infer_schema(files, open_count, &self->json, self->arena, memory, type);
    for (uint32_t i = 0; i < open_count; i++)
        nl_file_close(files[i]);
    free(files);
    return status;
}

static const nl_type *binary_type(nl_arena *arena)
{
    const nl_field fields[] = {{.name = NL_STR("path"), .type = nl_type_string(), .is_nullable = true},
                               {.name = NL_STR("modificationTime"), .type = nl_type_of(NL_TYPE_TIMESTAMP), .is_nullable = true},
                               {.name = NL_STR("length"), .type = nl_type_bigint(), .is_nullable = true},
                               {.name = NL_STR("content"), .type = nl_type_binary(), .is_nullable = true}};
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

static nl_status infer(nl_file_source *self, nl_memory *memory, const nl_type **type)
{
    if (self->format == NL_FILES_TEXT) {
        *type = nl_type_struct(self->arena, &(nl_field){.name = NL_STR("value"), .type = nl_type_string(), .is_nullable = true}, 1);
        return NULL;
    }
    if (self->format == NL_FILES_BINARY) {
        *type = binary_type(self->arena);
        return NULL;
    }
    if (self->files.file_count == 0) return cannot_infer(self);
    return has_footers(self) ? footers_type(self, memory, type) : text_type(self, memory, type);
}

/* Data columns, then partition columns; one that is in both keeps its place and takes the folder's value. */
static void make_row_type(nl_file_source *self, const nl_type *type)
{
    nl_field *data = NL_NEW_ARRAY(self->arena, nl_field, type->child_count + 1);
    nl_field *all = NL_NEW_ARRAY(self->arena, nl_field, type->child_count + self->files.partition_count + 1);
    nl_str *names = NL_NEW_ARRAY(self->arena, nl_str, self->files.partition_count + 1);
    uint32_t count = 0;
    for (uint32_t j = 0; j < self->files.partition_count; j++) names[j] = self->files.partition_fields[j].name;
    for (uint32_t i = 0; i < type->child_count; i++) {
        bool is_partition = false;
        for (uint32_t j = 0; j < self->files.partition_count; j++)
            if (nl_str_equal_nocase(type->children[i].name, names[j])) {
                names[j] = type->children[i].name; /* a schema's spelling counts */
                is_partition = true;
            }
        if (is_partition) continue;
        data[count] = type->children[i];
        data[count].is_nullable = true;
        data[count].field_id = (int32_t)count + 1; /* for filters: these ids are ours alone */
        all[count] = data[count];
        count++;
    }
    for (uint32_t j = 0; j < self->files.partition_count; j++) {
        all[count + j] = self->files.partition_fields[j];
        all[count + j].name = names[j];
    }
    self->data_type = nl_type_struct(self->arena, data, count);
    self->base.row_type = nl_type_struct(self->arena, all, count + self->files.partition_count);
    for (uint32_t i = 0; i < self->base.row_type->child_count; i++)
        if (nl_str_equal_nocase(all[i].name, NL_STR("_metadata"))) return; /* a column of that name hides it */
    const nl_field hidden = {.name = NL_STR("_metadata"), .type = nl_plain_metadata_type(self->arena)};
    self->base.metadata_type = nl_type_struct(self->arena, &hidden, 1);
}

/* ---- Parquet and ORC scans ---- */

static nl_status prepare_columns(const nl_file_source *self, const nl_logical *node, nl_file_scan_plan *plan)
{
    bool is_exact = false;
    const uint32_t data_count = self->data_type->child_count;
    nl_field *fields = NL_NEW_ARRAY(plan->arena, nl_field, node->column_count + 1);
    uint32_t field_count = 0;
    plan->columns = NL_NEW_ARRAY(plan->arena, nl_scan_column, node->column_count + 1);
    for (uint32_t i = 0; i < node->column_count; i++) {
        const uint32_t at = node->scan.table_columns[i];
        if (at >= data_count) {
            plan->columns[i] = (nl_scan_column){.kind = NL_COLUMN_CONSTANT, .constant = at - data_count};
            continue;
        }
        uint32_t read = 0;
        while (read < field_count && fields[read].field_id != self->data_type->children[at].field_id)
            read++;
        if (read == field_count) fields[field_count++] = self->data_type->children[at];
        plan->columns[i] = (nl_scan_column){.kind = NL_COLUMN_FROM_FILE, .read_column = read};
    }
    plan->read_type = nl_type_struct(plan->arena, fields, field_count);
    plan->units = NL_NEW_ARRAY(plan->arena, nl_scan_unit, self->files.file_count + 1);
    plan->unit_count = plan->files_total = self->files.file_count;
    for (uint32_t i = 0; i < self->files.file_count; i++)
        plan->units[i] = (nl_scan_unit){.path = self->files.files[i].path, .format = self->format == NL_FILES_ORC ? &nl_orc_plain_format : NULL, .row_count = -1,
                                        .size_bytes = self->files.files[i].size_bytes, .constants = self->files.files[i].partition};
    return nl_predicate_of_expr(plan->arena, node->scan.filter, node, &plan->predicate, &is_exact);
}

static void release_table(void *table)
{
    nl_table_release(table);
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const nl_file_source *self = source_of(table);
    if (!has_footers(self)) return nl_text_scan_new(self, query, node, out);
    nl_file_scan_plan plan = {
        .query = query,
        .node = node,
        .arena = nl_arena_new(query->memory),
        .fs = nl_fs_retain(self->files.fs),
        .match = NL_PARQUET_MATCH_NAME_NOCASE,
        .ignores_missing = self->selection.ignores_missing,
        .owner = nl_table_retain(table),
        .free_owner = release_table,
    };
    nl_status status = prepare_columns(self, node, &plan);
    if (!status) return nl_file_scan_new(&plan, out);
    nl_table_release(table);
    nl_fs_release(plan.fs);
    nl_arena_free(plan.arena);
    return status;
}

/* ---- The table ---- */

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    const nl_file_source *self = source_of(table);
    (void)scan;
    *row_count = -1;
    *bytes = 0;
    for (uint32_t i = 0; i < self->files.file_count; i++)
        *bytes += (int64_t)self->files.files[i].size_bytes;
    return NULL;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    const nl_file_source *self = source_of(table);
    nl_append_f(out, "%s files, %u", format_names[self->format], self->files.file_count);
}

static void free_source(nl_table *table)
{
    nl_file_source *self = (nl_file_source *)(void *)table;
    nl_plain_files_fini(&self->files);
    nl_arena_free(self->arena);
    free(self);
}

static uint64_t hash_text(uint64_t hash, nl_str text)
{
    return nl_hash_mix(hash, nl_hash_bytes(text.data, text.length, hash));
}

static void identify(nl_file_source *self, const nl_str *paths, uint32_t path_count, const nl_property *options, uint32_t option_count)
{
    uint64_t hash = nl_hash_u64(path_count);
    for (uint32_t i = 0; i < path_count; i++) hash = hash_text(hash, paths[i]);
    for (uint32_t i = 0; i < option_count; i++) hash = hash_text(hash_text(hash, options[i].key), options[i].value);
    self->identity = hash;
}

static bool is_same(const nl_table *a, const nl_table *b)
{
    return source_of(a)->identity == source_of(b)->identity && nl_type_equal(a->row_type, b->row_type);
}

static uint64_t state(const nl_table *table)
{
    const nl_file_source *self = source_of(table);
    uint64_t hash = nl_hash_u64(self->files.file_count);
    for (uint32_t i = 0; i < self->files.file_count; i++) hash = nl_hash_mix(hash_text(hash, self->files.files[i].path), self->files.files[i].size_bytes);
    return hash;
}

#define FILE_SOURCE_OPS(name) \
    {.kind = name, .estimate = estimate, .is_same = is_same, .state = state, .open_scan = open_scan, .append_text = append_text, .free = free_source}
static const nl_table_ops file_ops[] = {
    [NL_FILES_PARQUET] = FILE_SOURCE_OPS("parquet"),
    [NL_FILES_CSV] = FILE_SOURCE_OPS("csv"),
    [NL_FILES_JSON] = FILE_SOURCE_OPS("json"),
    [NL_FILES_TEXT] = FILE_SOURCE_OPS("text"),
    [NL_FILES_BINARY] = FILE_SOURCE_OPS("binaryFile"),
    [NL_FILES_XML] = FILE_SOURCE_OPS("xml"),
    [NL_FILES_ORC] = FILE_SOURCE_OPS("orc"),
};

static bool find_format(nl_str name, nl_plain_format *format)
{
    for (uint32_t i = 0; i < NL_COUNT(format_names); i++) {
        *format = (nl_plain_format)i;
        if (nl_str_is_nocase(name, format_names[i])) return true;
    }
    return false;
}

bool nl_file_format_is_known(nl_str name)
{
    nl_plain_format format;
    return find_format(name, &format);
}

/* A time of the option timeZone, else of the session's. */
static nl_status parse_modified(nl_text_option_list list, const char *key, const nl_eval_confs *confs, bool *is_given, int64_t *micros)
{
    const nl_str *text = nl_text_option_find(list, key);
    const nl_str *zone_name = nl_text_option_find(list, "timeZone");
    const nl_timezone *zone = confs->zone ? confs->zone : nl_timezone_utc();
    char lower[32];
    if (!text) return NULL;
    if (zone_name) NL_TRY(nl_timezone_find(*zone_name, &zone));
    *is_given = nl_cast_timestamp(*text, zone, micros);
    if (*is_given) return NULL;
    snprintf(lower, sizeof(lower), "%s", key);
    for (char *c = lower; *c; c++) *c |= 0x20;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "The timestamp provided for the '%s' option is invalid. The expected format is 'YYYY-MM-DDTHH:mm:ss', but the provided timestamp: " NL_STR_FMT ".", lower,
                         NL_STR_ARG(*text));
}

static nl_status parse_options(nl_file_source *self, const nl_property *options, uint32_t count, const nl_eval_confs *confs)
{
    const nl_text_session session = {.zone = confs->zone, .prefers_ntz = confs->is_timestamp_ntz};
    nl_text_option *items = NL_NEW_ARRAY(self->arena, nl_text_option, count + 1);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (nl_text_option){nl_arena_str(self->arena, options[i].key), nl_arena_str(self->arena, options[i].value)};
    const nl_text_option_list list = {items, count};
    NL_TRY(nl_text_option_bool(list, "recursiveFileLookup", &self->selection.is_recursive));
    NL_TRY(nl_text_option_bool(list, "ignoreMissingFiles", &self->selection.ignores_missing));
    for (uint32_t i = 0; i < count; i++) {
        if (nl_str_is_nocase(items[i].key, "pathGlobFilter")) self->selection.path_glob = items[i].value;
        if (nl_str_is_nocase(items[i].key, "basePath")) NL_TRY(nl_plain_path_absolute(self->arena, nl_path_local(self->arena, items[i].value), &self->selection.base_path));
    }
    NL_TRY(parse_modified(list, "modifiedBefore", confs, &self->selection.has_before, &self->selection.before_micros));
    NL_TRY(parse_modified(list, "modifiedAfter", confs, &self->selection.has_after, &self->selection.after_micros));
    NL_TRY(nl_text_option_bool(list, "mergeSchema", &self->merges_schema));
    if (self->format == NL_FILES_TEXT) return nl_plain_text_options_parse(list, &session, NL_TEXT_READ, self->arena, &self->text);
    if (self->format == NL_FILES_CSV) return nl_csv_options_parse(list, &session, NL_TEXT_READ, self->arena, &self->csv);
    if (self->format == NL_FILES_JSON) return nl_json_options_parse(list, &session, NL_TEXT_READ, self->arena, &self->json);
    if (self->format == NL_FILES_XML) return nl_xml_file_options_parse(list, &session, NL_TEXT_READ, self->arena, &self->xml);
    return NULL;
}

static nl_status open_source(nl_file_source *self, const nl_str *paths, uint32_t path_count, const nl_type *schema, const nl_eval_confs *confs, nl_memory *memory)
{
    const nl_type *type = schema ? nl_type_copy(self->arena, schema) : NULL;
    self->selection.schema = type;
    NL_TRY(nl_plain_files_list(paths, path_count, &self->selection, confs, self->arena, &self->files));
    if (!type) NL_TRY(infer(self, memory, &type));
    if (self->format == NL_FILES_TEXT && type->child_count != 1) return NL_RAISE(_LEGACY_ERROR_TEMP_1290, NL_P_INT("schemaSize", type->child_count));
    if (self->format == NL_FILES_BINARY) type = binary_type(self->arena); /* it has no other */
    if (self->format == NL_FILES_XML) NL_TRY(nl_xml_check_type(type));
    make_row_type(self, type);
    return nl_arena_check(self->arena);
}

static nl_file_table *copy_table(nl_arena *arena, const nl_file_table *table)
{
    nl_file_table *copy = NL_NEW(arena, nl_file_table);
    nl_str *folders = NL_NEW_ARRAY(arena, nl_str, table->folder_count + 1);
    for (uint32_t i = 0; i < table->folder_count; i++) folders[i] = nl_arena_str(arena, table->folders[i]);
    *copy = *table;
    copy->folders = folders;
    copy->data_type = nl_type_copy(arena, table->data_type);
    copy->partition_fields = nl_type_copy(arena, nl_type_struct(arena, table->partition_fields, table->partition_count))->children;
    return copy;
}

/* A source without files yet: its format, where it reads and its options. To be freed by free_source, after an error, too. */
static nl_status start_source(nl_fs *fs, nl_str format, const nl_property *options, uint32_t option_count, const nl_eval_confs *confs, nl_memory *memory,
                              nl_file_source **source)
{
    nl_plain_format kind;
    if (!find_format(format, &kind))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas does not read " NL_STR_FMT " files yet; it reads parquet, orc, csv, json, text, xml and binaryFile", NL_STR_ARG(format));
    nl_file_source *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.ops = &file_ops[kind];
    self->format = kind;
    self->arena = nl_arena_new(memory);
    self->files.fs = nl_fs_retain(fs);
    atomic_init(&self->base.references, 1);
    *source = self;
    return parse_options(self, options, option_count, confs);
}

/* Hands the source over, or frees it after an error. */
static nl_status hand_over(nl_file_source *self, nl_status status, const nl_table **source)
{
    if (!status)
        *source = &self->base;
    else if (self)
        free_source(&self->base);
    return status;
}

nl_status nl_file_table_source_new(nl_fs *fs, nl_str format, nl_str location, const nl_file_table *table, const nl_property *options, uint32_t option_count,
                                   const nl_eval_confs *confs, nl_memory *memory, const nl_table **source)
{
    nl_file_source *self = NULL;
    nl_status status = start_source(fs, format, options, option_count, confs, memory, &self);
    if (!status) {
        self->selection.table = copy_table(self->arena, table);
        identify(self, &location, 1, options, option_count);
        status = open_source(self, &location, 1, table->data_type, confs, memory);
    }
    return hand_over(self, status, source);
}

nl_status nl_file_source_new(nl_fs *fs, nl_str format, const nl_str *paths, uint32_t path_count, const nl_property *options, uint32_t option_count,
                             const nl_type *schema, const nl_eval_confs *confs, nl_memory *memory, const nl_table **source)
{
    nl_file_source *self = NULL;
    nl_status status = start_source(fs, format, options, option_count, confs, memory, &self);
    if (!status) {
        identify(self, paths, path_count, options, option_count);
        status = open_source(self, paths, path_count, schema, confs, memory);
    }
    return hand_over(self, status, source);
}

void nl_file_source_paths(const nl_table *source, nl_arena *arena, nl_list *paths)
{
    const bool is_files = source->ops >= file_ops && source->ops < file_ops + NL_COUNT(file_ops);
    if (!is_files) return;
    const nl_file_source *self = (const nl_file_source *)(const void *)source;
    for (uint32_t i = 0; i < self->files.file_count; i++) {
        const nl_str path = self->files.files[i].path;
        nl_str *uri = NL_NEW(arena, nl_str);
        *uri = path.length && path.data[0] == '/' ? nl_arena_f(arena, "file://" NL_STR_FMT, NL_STR_ARG(path)) : nl_arena_str(arena, path);
        nl_list_add(arena, paths, uri);
    }
}
