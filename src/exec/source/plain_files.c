/* exec/source/plain_files.c - see plain_files.h. */
#include "exec/source/plain_files.h"

#include <stdlib.h>
#include <unistd.h>

#include "function/cast.h"
#include "iceberg/partition.h"
#include "storage/glob.h"

#define DEFAULT_PARTITION "__HIVE_DEFAULT_PARTITION__"

typedef struct found_file {
    nl_str path;
    uint64_t size_bytes;
    int64_t modified_micros;
    nl_str *names, *values; /* of its folders; a value with data NULL is null */
    uint32_t count;
    uint32_t depth; /* 1: right below the path */
} found_file;

typedef struct listing {
    nl_arena *arena;
    const nl_file_selection *selection;
    const nl_glob *path_glob; /* or NULL */
    nl_str base;    /* the folder being listed */
    nl_list found;  /* found_file * */
} listing;

/* ---- names of folders ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

nl_str nl_plain_unescape(nl_arena *arena, nl_str text)
{
    char *out = NL_NEW_ARRAY(arena, char, text.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const int high = text.data[i] == '%' && i + 2 < text.length ? hex_digit(text.data[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(text.data[i + 2]) : -1;
        out[length++] = low >= 0 ? (char)(high * 16 + low) : text.data[i];
        if (low >= 0) i += 2;
    }
    return (nl_str){out, length};
}

/* Spark's list (ExternalCatalogUtils.escapePathName): control characters and those that mean something in a path. */
static void append_escaped(nl_str text, nl_builder *out)
{
    for (size_t i = 0; i < text.length; i++) {
        const uint8_t c = (uint8_t)text.data[i];
        if ((c >= 1 && c <= 0x1f) || c == 0x7f || (c && strchr("\"#%'*/:=?\\{[]^", (char)c))) nl_append_f(out, "%%%02X", c);
        else nl_append_char(out, (char)c);
    }
}

nl_status nl_plain_append_folder(const nl_field *fields, const nl_value *values, uint32_t count, const nl_eval_confs *confs, nl_builder *out)
{
    const nl_text_options style = {.style = NL_TEXT_CAST, .zone = confs->zone};
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) nl_append_char(out, '/');
        append_escaped(fields[i].name, out);
        nl_append_char(out, '=');
        nl_builder_clear(&text);
        if (!values[i].is_null) nl_value_append_text(&values[i], &style, &text);
        if (nl_builder_str(&text).length) append_escaped(nl_builder_str(&text), out); /* no text and no value are one in a folder's name */
        else nl_append_c(out, DEFAULT_PARTITION);
    }
    const bool has_failed = nl_builder_failed(&text) || nl_builder_failed(out);
    nl_builder_fini(&text);
    return has_failed ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The name of a partition's folder is longer than 1 MiB") : NULL;
}

/* ---- Listing ---- */

static bool is_hidden(nl_str name)
{
    if (name.length == 0) return true;
    return name.data[0] == '.' || (name.data[0] == '_' && nl_str_find(name, NL_STR("="), 0) == NL_NOT_FOUND);
}

static void add_folder(listing *self, found_file *file, nl_str folder)
{
    const size_t equals = nl_str_find(folder, NL_STR("="), 0);
    if (equals == NL_NOT_FOUND || equals == 0) return;
    const nl_str value = nl_str_slice(folder, equals + 1, folder.length);
    file->names[file->count] = nl_plain_unescape(self->arena, nl_str_slice(folder, 0, equals));
    file->values[file->count] = nl_str_is(value, DEFAULT_PARTITION) ? (nl_str){0} : nl_plain_unescape(self->arena, value);
    file->count++;
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

/* Is the file in one of the table's partitions, or, when it has none, right in its folder? */
static bool belongs_to_table(const listing *self, nl_str path, uint32_t depth)
{
    const nl_file_table *table = self->selection->table;
    if (!table) return true;
    if (depth != table->partition_count + 1) return false;
    if (table->partition_count == 0) return true;
    nl_str folder = nl_path_parent(nl_str_slice(path, NL_MIN(self->base.length, path.length), path.length));
    while (folder.length > 0 && folder.data[0] == '/') folder = nl_str_slice(folder, 1, folder.length);
    return bsearch(&folder, table->folders, table->folder_count, sizeof(folder), compare_texts) != NULL;
}

static nl_status add_file(listing *self, const nl_file_info *info)
{
    enum { DEPTH_MAX = 64 };
    found_file *file = NL_NEW(self->arena, found_file);
    nl_str parts[DEPTH_MAX], part;
    uint32_t depth = 0;
    nl_str rest = nl_str_slice(info->path, NL_MIN(self->base.length, info->path.length), info->path.length);
    while (nl_str_next_part(&rest, '/', &part)) {
        if (part.length == 0) continue;
        if (is_hidden(part)) return NULL;
        if (depth == DEPTH_MAX) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Folders nest too deeply: " NL_STR_FMT, NL_STR_ARG(info->path));
        parts[depth++] = nl_arena_str(self->arena, part);
    }
    if (!belongs_to_table(self, info->path, depth)) return NULL;
    if (depth > 0 && self->path_glob && !nl_glob_matches(self->path_glob, parts[depth - 1])) return NULL;
    if (self->selection->has_before && info->modified_micros >= self->selection->before_micros) return NULL;
    if (self->selection->has_after && info->modified_micros <= self->selection->after_micros) return NULL;
    *file = (found_file){.path = nl_arena_str(self->arena, info->path), .size_bytes = info->size_bytes, .modified_micros = info->modified_micros, .depth = depth};
    file->names = NL_NEW_ARRAY(self->arena, nl_str, depth + 1);
    file->values = NL_NEW_ARRAY(self->arena, nl_str, depth + 1);
    for (uint32_t i = 0; i + 1 < depth && !self->selection->is_recursive; i++)
        add_folder(self, file, parts[i]);
    nl_list_add(self->arena, &self->found, file);
    return NULL;
}

static nl_status visit(void *argument, const nl_file_info *info)
{
    return info->is_directory ? NULL : add_file(argument, info);
}

nl_status nl_plain_path_absolute(nl_arena *arena, nl_str path, nl_str *whole)
{
    *whole = path;
    if (path.length > 0 && path.data[0] == '/') return NULL;
    if (nl_str_find(path, NL_STR(":"), 0) != NL_NOT_FOUND) return NULL;
    char *folder = getcwd(NULL, 0);
    if (!folder) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The current folder cannot be told: give " NL_STR_FMT " with its whole path", NL_STR_ARG(path));
    *whole = nl_arena_f(arena, "%s/" NL_STR_FMT, folder, NL_STR_ARG(path));
    free(folder);
    return NULL;
}

static nl_status list_found(listing *self, const nl_file_info *info, nl_fs *fs)
{
    const nl_str base = self->selection->base_path;
    self->base = base.length && nl_str_starts(info->path, base) ? base : info->is_directory ? info->path : nl_path_parent(info->path);
    return info->is_directory ? nl_fs_list(fs, info->path, true, visit, self) : add_file(self, info);
}

static nl_status list_named(listing *self, nl_str path, nl_fs *fs)
{
    nl_file_info info;
    nl_error *error = nl_fs_stat(fs, path, &info);
    if (!error) return list_found(self, &info, fs);
    if (self->selection->table && nl_error_condition(error) == NL_COND_PATH_NOT_FOUND) { /* a table that nothing was written to */
        nl_error_free(error);
        return NULL;
    }
    if (nl_error_condition(error) != NL_COND_PATH_NOT_FOUND || path.data[0] != '/') return error;
    nl_error_free(error); /* as Spark tells it */
    return NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", nl_arena_f(self->arena, "file:" NL_STR_FMT, NL_STR_ARG(path))));
}

static nl_status list_path(listing *self, nl_str given, nl_plain_files *files)
{
    nl_str path;
    const nl_file_info *matches = NULL;
    uint32_t match_count = 0;
    NL_TRY(nl_plain_path_absolute(self->arena, given, &path));
    if (!files->fs) NL_TRY(nl_fs_for_path(path, &files->fs));
    if (!self->selection->table && nl_glob_is_pattern(path)) NL_TRY(nl_fs_glob(files->fs, path, self->arena, &matches, &match_count));
    for (uint32_t i = 0; i < match_count; i++)
        NL_TRY(list_found(self, &matches[i], files->fs));
    return match_count > 0 ? NULL : list_named(self, path, files->fs);
}

/* Without partition columns Spark reads no subfolders. */
static void leave_out_subfolders(listing *self)
{
    nl_list kept = {0};
    for (uint32_t i = 0; i < self->found.count; i++) {
        found_file *file = self->found.items[i];
        if (file->count > 0) return;
        if (file->depth <= 1) nl_list_add(self->arena, &kept, file);
    }
    self->found = kept;
}

static int compare_paths(const void *a, const void *b)
{
    const found_file *const *left = a, *const *right = b;
    return nl_str_compare((*left)->path, (*right)->path);
}

/* ---- Partition columns ---- */

static bool fits(nl_arena *arena, const nl_eval_confs *confs, nl_str text, const nl_type *type, nl_value *value)
{
    enum { DATE_LENGTH = 10 }; /* yyyy-MM-dd and nothing shorter */
    const nl_value source = nl_value_string(text);
    if (!text.data) {
        *value = nl_value_null(type);
        return true;
    }
    if (type->id == NL_TYPE_DATE && text.length != DATE_LENGTH) return false;
    if (type->id == NL_TYPE_STRING) {
        *value = source;
        return true;
    }
    nl_status status = nl_cast_value(arena, confs, NL_CAST_TRY, &source, type, value);
    nl_error_free(status);
    return !status && !value->is_null;
}

static void infer_column(listing *self, const nl_eval_confs *confs, uint32_t column, nl_field *field)
{
    const nl_type *const candidates[] = {nl_type_int(), nl_type_bigint(), nl_type_double(), nl_type_of(NL_TYPE_DATE), nl_type_of(NL_TYPE_TIMESTAMP), nl_type_string()};
    uint32_t at = 0;
    bool has_value = false;
    for (uint32_t i = 0; i < self->found.count && at + 1 < NL_COUNT(candidates); i++) {
        const found_file *file = self->found.items[i];
        nl_value ignored;
        has_value = has_value || file->values[column].data;
        const uint32_t before = at;
        while (at + 1 < NL_COUNT(candidates) && !fits(self->arena, confs, file->values[column], candidates[at], &ignored))
            at++;
        /* Numbers do not widen to dates: what fitted as a number before is text beside a date. */
        if (at > before && before < 3 && at >= 3 && i > 0) at = NL_COUNT(candidates) - 1;
    }
    field->type = has_value ? candidates[at] : nl_type_string();
}

static const nl_type *declared_type(const nl_type *schema, nl_str name)
{
    for (uint32_t i = 0; schema && i < schema->child_count; i++)
        if (nl_str_equal_nocase(schema->children[i].name, name)) return schema->children[i].type;
    return NULL;
}

static nl_status make_partitions(listing *self, const nl_eval_confs *confs, nl_plain_files *files)
{
    const found_file *first = self->found.count ? self->found.items[0] : NULL;
    if (self->selection->table) {
        files->partition_fields = self->selection->table->partition_fields;
        files->partition_count = self->selection->table->partition_count;
        return NULL;
    }
    files->partition_count = first ? first->count : 0;
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, files->partition_count + 1);
    for (uint32_t i = 0; i < self->found.count; i++) {
        const found_file *file = self->found.items[i];
        bool is_same = file->count == first->count;
        for (uint32_t j = 0; is_same && j < file->count; j++)
            is_same = nl_str_equal(file->names[j], first->names[j]);
        if (!is_same)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                                 "[CONFLICTING_PARTITION_COLUMN_NAMES] Folders disagree about the partition columns: " NL_STR_FMT " and " NL_STR_FMT,
                                 NL_STR_ARG(first->path), NL_STR_ARG(file->path));
    }
    for (uint32_t j = 0; j < files->partition_count; j++) {
        fields[j] = (nl_field){.name = first->names[j], .is_nullable = true};
        const nl_type *declared = declared_type(self->selection->schema, fields[j].name);
        if (declared)
            fields[j].type = declared;
        else
            infer_column(self, confs, j, &fields[j]);
    }
    files->partition_fields = fields;
    return NULL;
}

/* ---- _metadata ---- */

const nl_type *nl_plain_metadata_type(nl_arena *arena)
{
    const nl_field fields[] = {{.name = NL_STR("file_path"), .type = nl_type_string()},
                               {.name = NL_STR("file_name"), .type = nl_type_string()},
                               {.name = NL_STR("file_size"), .type = nl_type_bigint()},
                               {.name = NL_STR("file_block_start"), .type = nl_type_bigint()},
                               {.name = NL_STR("file_block_length"), .type = nl_type_bigint()},
                               {.name = NL_STR("file_modification_time"), .type = nl_type_of(NL_TYPE_TIMESTAMP)}};
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

/* As java.net.URI writes a path: what cannot stand in one becomes %XX. */
static nl_str escaped_path(nl_arena *arena, nl_str path)
{
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    for (size_t i = 0; i < path.length; i++) {
        const uint8_t c = (uint8_t)path.data[i];
        if (c <= ' ' || c == 0x7f || strchr("\"#%<>?[\\]^`{|}", (char)c)) nl_append_f(&out, "%%%02X", c);
        else nl_append_char(&out, (char)c);
    }
    const nl_str made = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return made;
}

static nl_value metadata_of(nl_arena *arena, const nl_type *type, const found_file *file)
{
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, type->child_count);
    const nl_str path = escaped_path(arena, file->path);
    items[0] = nl_value_string(path.length && path.data[0] == '/' ? nl_arena_f(arena, "file://" NL_STR_FMT, NL_STR_ARG(path)) : path);
    items[1] = nl_value_string(nl_path_name(path));
    items[2] = nl_value_int(nl_type_bigint(), (int64_t)file->size_bytes);
    items[3] = nl_value_int(nl_type_bigint(), 0);
    items[4] = items[2];
    items[5] = nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP), nl_floor_div(file->modified_micros, 1000) * 1000);
    return (nl_value){.type = type, .list = {.items = items, .count = type->child_count}};
}

static void make_files(listing *self, const nl_eval_confs *confs, nl_plain_files *files)
{
    nl_plain_file *list = NL_NEW_ARRAY(self->arena, nl_plain_file, self->found.count + 1);
    const nl_type *metadata = nl_plain_metadata_type(self->arena);
    for (uint32_t i = 0; i < self->found.count; i++) {
        const found_file *file = self->found.items[i];
        nl_value *values = NL_NEW_ARRAY(self->arena, nl_value, files->partition_count + 1);
        for (uint32_t j = 0; j < files->partition_count; j++)
            if (j >= file->count || !fits(self->arena, confs, file->values[j], files->partition_fields[j].type, &values[j])) values[j] = nl_value_null(files->partition_fields[j].type);
        values[files->partition_count] = metadata_of(self->arena, metadata, file);
        list[i] = (nl_plain_file){.path = file->path, .size_bytes = file->size_bytes, .partition = values};
    }
    files->files = list;
    files->file_count = self->found.count;
}

nl_status nl_plain_files_list(const nl_str *paths, uint32_t path_count, const nl_file_selection *selection, const nl_eval_confs *confs,
                              nl_arena *arena, nl_plain_files *files)
{
    listing self = {.arena = arena, .selection = selection};
    if (selection->path_glob.length > 0) NL_TRY(nl_glob_compile(arena, selection->path_glob, &self.path_glob));
    *files = (nl_plain_files){.fs = files->fs};
    for (uint32_t i = 0; i < path_count; i++)
        NL_TRY(list_path(&self, paths[i], files));
    if (!selection->is_recursive && !selection->table) leave_out_subfolders(&self);
    if (self.found.count > 1) qsort(self.found.items, self.found.count, sizeof(*self.found.items), compare_paths);
    NL_TRY(make_partitions(&self, confs, files));
    make_files(&self, confs, files);
    return nl_arena_check(arena);
}

void nl_plain_files_fini(nl_plain_files *files)
{
    if (files->fs) nl_fs_release(files->fs);
    *files = (nl_plain_files){0};
}
