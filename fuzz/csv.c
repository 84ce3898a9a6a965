/* fuzz/csv.c - any bytes as a CSV file: inferred, read whole and in parts, which must give the same rows. The first byte
 * chooses options. */
#include <stdlib.h>

#include "column/value.h"
#include "format/csv/csv_reader.h"
#include "format/text/text_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const nl_text_option choices[] = {
    {NL_STR_INIT("header"), NL_STR_INIT("true")},      {NL_STR_INIT("multiLine"), NL_STR_INIT("true")},
    {NL_STR_INIT("escape"), NL_STR_INIT("\"")},        {NL_STR_INIT("sep"), NL_STR_INIT("||")},
    {NL_STR_INIT("comment"), NL_STR_INIT("#")},        {NL_STR_INIT("ignoreLeadingWhiteSpace"), NL_STR_INIT("true")},
    {NL_STR_INIT("inferSchema"), NL_STR_INIT("true")}, {NL_STR_INIT("lineSep"), NL_STR_INIT(";")},
};

static nl_status read_rows(const nl_csv_source *source, nl_memory *memory, nl_builder *out)
{
    nl_csv_reader *reader = NULL;
    bool is_done = false;
    nl_status status = nl_csv_reader_open(source, memory, &reader);
    while (!status && !is_done) {
        nl_batch batch = {0};
        status = nl_csv_reader_next(reader, &batch, &is_done);
        for (uint32_t row = 0; row < batch.row_count; row++) {
            for (uint32_t i = 0; i < batch.column_count; i++) {
                nl_vector_append_text(&batch.columns[i], row, &(nl_text_options){.style = NL_TEXT_CAST}, out);
                nl_append_char(out, nl_vector_is_null(&batch.columns[i], row) ? '\1' : '\2');
            }
        }
        nl_batch_fini(&batch);
    }
    nl_csv_reader_close(reader);
    return status;
}

static nl_status read_all(nl_file *file, const nl_csv_options *options, nl_arena *arena, nl_memory *memory, uint64_t step)
{
    const nl_type *type;
    uint32_t wanted[16];
    nl_builder whole, parts;
    NL_TRY(nl_csv_infer_schema(&file, 1, options, arena, memory, &type));
    if (type->child_count == 0 || type->child_count > 16) return NULL;
    for (uint32_t i = 0; i < 16; i++)
        wanted[i] = i;
    nl_builder_init(&whole, 16 << 20);
    nl_builder_init(&parts, 16 << 20);
    nl_csv_source source = {file, options, type, wanted, type->child_count, 0, UINT64_MAX};
    nl_status status = read_rows(&source, memory, &whole);
    if (!status && !options->has_header && nl_text_is_splittable(NL_STR("f"), &options->formats)) {
        for (source.start = 0; !status && source.start < nl_file_size(file); source.start += step) {
            source.stop = source.start + step;
            status = read_rows(&source, memory, &parts);
        }
        if (!status && !nl_str_equal(nl_builder_str(&whole), nl_builder_str(&parts))) abort();
    }
    nl_builder_fini(&whole);
    nl_builder_fini(&parts);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    nl_text_option chosen[NL_COUNT(choices)];
    nl_text_option_list list = {.items = chosen};
    for (size_t i = 0; i < NL_COUNT(choices); i++) {
        if (data[0] >> i & 1) chosen[list.count++] = choices[i];
    }
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_arena *arena = nl_arena_new(memory);
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file = NULL;
    nl_csv_options options;
    nl_status status;
    NL_GO(nl_csv_options_parse(list, &(nl_text_session){0}, NL_TEXT_READ, arena, &options));
    NL_GO(nl_fs_write_all(fs, NL_STR("memory:/f"), (nl_bytes){data + 1, size - 1}));
    NL_GO(nl_fs_open(fs, NL_STR("memory:/f"), &file));
    NL_GO(read_all(file, &options, arena, memory, 1 + size % 7));
done:
    nl_error_free(status);
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
    nl_memory_release(memory);
    return 0;
}
