/* exec/source/text_scan.c - scans over CSV, JSON, XML and text files, and over files as they are (binaryFile): parts of files go to whoever asks next; the scan's filter is
 * applied to each batch. */
#include "exec/source/file_source.h"

#include <stdlib.h>

#include "exec/engine.h"
#include "exec/expression.h"
#include "format/text/text_stream.h"

#define PART_BYTES (32ULL << 20)

typedef struct text_part {
    uint32_t file;
    uint64_t start, stop;
} text_part;

typedef struct text_scan {
    nl_scan base;
    const nl_file_source *source; /* counted */
    nl_query *query;
    const nl_logical *node;
    nl_arena *arena;              /* owned */
    nl_program *filter;           /* or NULL */
    text_part *parts;
    uint32_t part_count;
    uint32_t *wanted;             /* data columns to read */
    uint32_t wanted_count;
    uint32_t *place;              /* per output column: its place in `wanted`, or UINT32_MAX for a partition column */
    const nl_type *wanted_type;
    atomic_uint next_part;
    atomic_uint_fast64_t row_count;
} text_scan;

typedef struct text_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_file *file;
    nl_csv_reader *csv;
    nl_json_reader *json;
    nl_plain_text_reader *text;
    nl_xml_reader *xml;
    const nl_plain_file *plain; /* the file being read */
    bool has_file_row;          /* binaryFile: it has been given */
} text_reader;

/* ---- Reading ---- */

static void close_part(text_reader *self)
{
    nl_csv_reader_close(self->csv);
    nl_json_reader_close(self->json);
    nl_plain_text_reader_close(self->text);
    nl_xml_reader_close(self->xml);
    self->xml = NULL;
    self->text = NULL;
    nl_file_close(self->file);
    self->csv = NULL;
    self->json = NULL;
    self->file = NULL;
}

static nl_status open_part(text_reader *self, bool *is_done)
{
    text_scan *scan = NL_CONTAINER(self->base.scan, text_scan, base);
    const nl_file_source *source = scan->source;
    const uint32_t at = atomic_fetch_add(&scan->next_part, 1);
    *is_done = at >= scan->part_count;
    if (*is_done) return NULL;
    NL_TRY(nl_cancel_check(scan->query->cancel));
    const text_part *part = &scan->parts[at];
    self->base.morsel = at;
    self->has_file_row = false;
    self->plain = &source->files.files[part->file];
    nl_error *error = nl_fs_open(source->files.fs, self->plain->path, &self->file);
    if (error && source->selection.ignores_missing && nl_error_condition(error) == NL_COND_PATH_NOT_FOUND) {
        nl_error_free(error);
        return NULL;
    }
    NL_TRY(error);
    if (source->format == NL_FILES_CSV) {
        const nl_csv_source csv = {.file = self->file, .options = &source->csv, .file_type = source->data_type, .wanted = scan->wanted,
                                   .wanted_count = scan->wanted_count, .start = part->start, .stop = part->stop};
        return nl_csv_reader_open(&csv, scan->query->memory, &self->csv);
    }
    if (source->format == NL_FILES_BINARY) return NULL;
    if (source->format == NL_FILES_TEXT)
        return nl_plain_text_reader_open(self->file, &source->text, part->start, part->stop, scan->query->memory, &self->text);
    if (source->format == NL_FILES_XML) {
        const nl_xml_source xml = {.file = self->file, .options = &source->xml, .wanted = scan->wanted_type, .start = part->start, .stop = part->stop};
        return nl_xml_reader_open(&xml, scan->query->memory, &self->xml);
    }
    const nl_json_source json = {.file = self->file, .options = &source->json, .wanted = scan->wanted_type, .start = part->start, .stop = part->stop};
    return nl_json_reader_open(&json, scan->query->memory, &self->json);
}

/* path, modificationTime, length, content: those that are wanted. */
static nl_status file_column(const text_reader *self, uint32_t column, nl_arena *arena, nl_value *value)
{
    const text_scan *scan = NL_CONTAINER(self->base.scan, text_scan, base);
    const nl_str path = self->plain->path;
    const uint64_t size = nl_file_size(self->file);
    nl_file_info info;
    switch (column) {
    case 0: *value = nl_value_string(path.length && path.data[0] == '/' ? nl_arena_f(arena, "file:" NL_STR_FMT, NL_STR_ARG(path)) : path); return NULL;
    case 1:
        NL_TRY(nl_fs_stat_file(scan->source->files.fs, path, &info));
        *value = nl_value_int(nl_type_of(NL_TYPE_TIMESTAMP), nl_floor_div(info.modified_micros, 1000) * 1000);
        return NULL;
    case 2: *value = nl_value_int(nl_type_bigint(), (int64_t)size); return NULL;
    default: break;
    }
    if (size > INT32_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The file " NL_STR_FMT " is too long for one value: %llu bytes.", NL_STR_ARG(path), (unsigned long long)size);
    uint8_t *bytes = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, size + 1, (void **)&bytes));
    NL_TRY(nl_file_read(self->file, 0, size, bytes));
    *value = nl_value_string((nl_str){(const char *)bytes, size});
    value->type = nl_type_binary();
    return NULL;
}

static nl_status whole_file(text_reader *self, nl_batch *rows)
{
    const text_scan *scan = NL_CONTAINER(self->base.scan, text_scan, base);
    nl_arena *arena = nl_arena_new(scan->query->memory);
    nl_status status = nl_batch_init(rows, scan->wanted_count, 1);
    for (uint32_t i = 0; !status && i < scan->wanted_count; i++) {
        nl_value value = {0};
        status = file_column(self, scan->wanted[i], arena, &value);
        if (!status) status = nl_vector_new_constant(&rows->columns[i], &value, 1, scan->query->memory);
    }
    nl_arena_free(arena);
    if (status) nl_batch_fini(rows);
    return status;
}

static nl_status read_rows(text_reader *self, nl_batch *rows, bool *is_done)
{
    const text_scan *scan = NL_CONTAINER(self->base.scan, text_scan, base);
    if (scan->source->format == NL_FILES_BINARY) {
        *is_done = self->has_file_row;
        self->has_file_row = true;
        return *is_done ? NULL : whole_file(self, rows);
    }
    if (self->text) return nl_plain_text_reader_next(self->text, rows, is_done);
    if (self->xml) return nl_xml_reader_next(self->xml, rows, is_done);
    return self->csv ? nl_csv_reader_next(self->csv, rows, is_done) : nl_json_reader_next(self->json, rows, is_done);
}

/* The reader's columns in the order of the scan's, with the folder's values. */
static nl_status arrange(text_reader *self, const nl_batch *rows, nl_batch *batch)
{
    text_scan *scan = NL_CONTAINER(self->base.scan, text_scan, base);
    const uint32_t data_count = scan->source->data_type->child_count;
    NL_TRY(nl_batch_init(batch, scan->node->column_count, rows->row_count));
    for (uint32_t i = 0; i < scan->node->column_count; i++) {
        const uint32_t place = scan->place[i];
        if (place != UINT32_MAX) {
            nl_vector_ref(&rows->columns[place], &batch->columns[i]);
            continue;
        }
        const nl_value *value = &self->plain->partition[scan->node->scan.table_columns[i] - data_count];
        NL_TRY(nl_vector_new_constant(&batch->columns[i], value, rows->row_count, scan->query->memory));
    }
    atomic_fetch_add(&scan->row_count, rows->row_count);
    return self->filter ? nl_program_filter(self->filter, batch) : NULL;
}

static nl_status text_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    text_reader *self = NL_CONTAINER(base, text_reader, base);
    *is_done = false;
    for (;;) {
        nl_batch rows = {0};
        bool is_part_done = false;
        if (!self->file) {
            NL_TRY(open_part(self, is_done));
            if (*is_done) return NULL;
            if (!self->file) continue;
        }
        NL_TRY(read_rows(self, &rows, &is_part_done));
        if (is_part_done) {
            close_part(self);
            continue;
        }
        nl_status status = arrange(self, &rows, batch);
        nl_batch_fini(&rows);
        if (status) return status;
        if (nl_batch_live_rows(batch) > 0) return NULL;
        nl_batch_fini(batch);
    }
}

static void free_text_reader(nl_scan_reader *base)
{
    text_reader *self = NL_CONTAINER(base, text_reader, base);
    close_part(self);
    if (self->filter) nl_program_state_free(self->filter);
    free(self);
}

static nl_status new_text_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    text_scan *scan = NL_CONTAINER(base, text_scan, base);
    text_reader *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.scan = base;
    nl_status status = NULL;
    if (scan->filter) status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &self->filter);
    if (status)
        free_text_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

/* ---- The scan ---- */

static void append_metrics(const nl_scan *base, nl_builder *out)
{
    const text_scan *self = (const text_scan *)(const void *)base;
    nl_append_f(out, "files %u, rows %llu", self->source->files.file_count, (unsigned long long)atomic_load(&self->row_count));
}

static void free_text_scan(nl_scan *base)
{
    text_scan *self = NL_CONTAINER(base, text_scan, base);
    nl_table_release(&self->source->base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_scan_ops text_scan_ops = {
    .new_reader = new_text_reader,
    .next = text_next,
    .free_reader = free_text_reader,
    .append_metrics = append_metrics,
    .free = free_text_scan,
};

static const nl_text_formats *formats_of(const nl_file_source *source)
{
    if (source->format == NL_FILES_TEXT) return &source->text.formats;
    if (source->format == NL_FILES_XML) return &source->xml.formats;
    return source->format == NL_FILES_CSV ? &source->csv.formats : &source->json.formats;
}

static void cut_parts(text_scan *self)
{
    const nl_plain_files *files = &self->source->files;
    uint64_t count = 0;
    for (uint32_t i = 0; i < files->file_count; i++)
        count += files->files[i].size_bytes / PART_BYTES + 1;
    self->parts = NL_NEW_ARRAY(self->arena, text_part, count + 1);
    for (uint32_t i = 0; i < files->file_count; i++) {
        const nl_plain_file *file = &files->files[i];
        if (self->source->format == NL_FILES_BINARY || (self->source->format == NL_FILES_TEXT && self->source->text.is_whole) || !nl_text_is_splittable(file->path, formats_of(self->source))) {
            self->parts[self->part_count++] = (text_part){i, 0, UINT64_MAX};
            continue;
        }
        for (uint64_t start = 0; start == 0 || start < file->size_bytes; start += PART_BYTES)
            self->parts[self->part_count++] = (text_part){i, start, start + PART_BYTES >= file->size_bytes ? UINT64_MAX : start + PART_BYTES};
    }
}

/* Each wanted column once; one column at least, for the number of rows. */
static void choose_columns(text_scan *self)
{
    const uint32_t data_count = self->source->data_type->child_count;
    nl_field *fields = NL_NEW_ARRAY(self->arena, nl_field, self->node->column_count + 1);
    self->wanted = NL_NEW_ARRAY(self->arena, uint32_t, self->node->column_count + 1);
    self->place = NL_NEW_ARRAY(self->arena, uint32_t, self->node->column_count + 1);
    for (uint32_t i = 0; i < self->node->column_count; i++) {
        const uint32_t at = self->node->scan.table_columns[i];
        uint32_t place = 0;
        self->place[i] = UINT32_MAX;
        if (at >= data_count) continue;
        while (place < self->wanted_count && self->wanted[place] != at)
            place++;
        if (place == self->wanted_count) self->wanted[self->wanted_count++] = at;
        self->place[i] = place;
    }
    if (self->wanted_count == 0 && data_count > 0) self->wanted[self->wanted_count++] = 0;
    for (uint32_t i = 0; i < self->wanted_count; i++)
        fields[i] = self->source->data_type->children[self->wanted[i]];
    self->wanted_type = nl_type_struct(self->arena, fields, self->wanted_count);
}

nl_status nl_text_scan_new(const nl_file_source *source, nl_query *query, const nl_logical *node, nl_scan **scan)
{
    text_scan *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.ops = &text_scan_ops;
    self->source = source;
    (void)nl_table_retain(&source->base);
    self->query = query;
    self->node = node;
    self->arena = nl_arena_new(query->memory);
    cut_parts(self);
    choose_columns(self);
    nl_status status = nl_arena_check(self->arena);
    if (!status && node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &self->filter);
    if (status)
        free_text_scan(&self->base);
    else
        *scan = &self->base;
    return status;
}
