/* fuzz/json_rows.c - any bytes as a file of JSON lines (or, when the first byte is odd, as one document): inferred, read
 * with that schema and with a fixed one, whole and in parts. */
#include <stdlib.h>

#include "column/value.h"
#include "format/json/json_reader.h"
#include "format/text/text_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nl_status read_rows(const nl_json_source *source, nl_memory *memory, nl_builder *out)
{
    nl_json_reader *reader = NULL;
    bool is_done = false;
    nl_status status = nl_json_reader_open(source, memory, &reader);
    while (!status && !is_done) {
        nl_batch batch = {0};
        status = nl_json_reader_next(reader, &batch, &is_done);
        for (uint32_t row = 0; row < batch.row_count; row++) {
            for (uint32_t i = 0; i < batch.column_count; i++) {
                nl_vector_append_text(&batch.columns[i], row, &(nl_text_options){.style = NL_TEXT_CAST}, out);
                nl_append_char(out, nl_vector_is_null(&batch.columns[i], row) ? '\1' : '\2');
            }
        }
        nl_batch_fini(&batch);
    }
    nl_json_reader_close(reader);
    return status;
}

static nl_status read_both_ways(nl_json_source source, nl_memory *memory, uint64_t step)
{
    nl_builder whole, parts;
    nl_builder_init(&whole, 16 << 20);
    nl_builder_init(&parts, 16 << 20);
    nl_status status = read_rows(&source, memory, &whole);
    if (!status && nl_text_is_splittable(NL_STR("f"), &source.options->formats)) {
        for (source.start = 0; !status && source.start < nl_file_size(source.file); source.start += step) {
            source.stop = source.start + step;
            status = read_rows(&source, memory, &parts);
        }
        if (!status && !nl_str_equal(nl_builder_str(&whole), nl_builder_str(&parts))) abort();
    }
    nl_builder_fini(&whole);
    nl_builder_fini(&parts);
    return status;
}

/* One field of every kind, so that letters of the alphabet find a type each. */
static const nl_type *fixed_schema(nl_arena *arena)
{
    const nl_type *ints = nl_type_array(arena, nl_type_int(), true);
    nl_field inner[] = {{.name = NL_STR("x"), .type = nl_type_int(), .is_nullable = true},
                        {.name = NL_STR("y"), .type = ints, .is_nullable = true}};
    const nl_type *record = nl_type_struct(arena, inner, 2);
    nl_field fields[] = {
        {.name = NL_STR("a"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("b"), .type = nl_type_string(), .is_nullable = true},
        {.name = NL_STR("c"), .type = nl_type_array(arena, record, true), .is_nullable = true},
        {.name = NL_STR("d"), .type = nl_type_map(arena, nl_type_string(), record, true), .is_nullable = true},
        {.name = NL_STR("e"), .type = nl_type_of(NL_TYPE_VARIANT), .is_nullable = true},
        {.name = NL_STR("f"), .type = nl_type_decimal(10, 2), .is_nullable = true},
        {.name = NL_STR("g"), .type = nl_type_of(NL_TYPE_TIMESTAMP), .is_nullable = true},
        {.name = NL_STR("h"), .type = nl_type_binary(), .is_nullable = true},
        {.name = NL_STR("i"), .type = nl_type_double(), .is_nullable = true},
        {.name = NL_STR("_corrupt_record"), .type = nl_type_string(), .is_nullable = true},
    };
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    const nl_text_option multi_line = {NL_STR("multiLine"), NL_STR("true")};
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_arena *arena = nl_arena_new(memory);
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file = NULL;
    nl_json_file_options options;
    nl_status status;
    NL_GO(nl_json_options_parse((nl_text_option_list){&multi_line, data[0] & 1}, &(nl_text_session){0}, NL_TEXT_READ, arena,
                                &options));
    NL_GO(nl_fs_write_all(fs, NL_STR("memory:/f"), (nl_bytes){data + 1, size - 1}));
    NL_GO(nl_fs_open(fs, NL_STR("memory:/f"), &file));
    nl_json_source source = {file, &options, fixed_schema(arena), 0, UINT64_MAX};
    NL_GO(read_both_ways(source, memory, 1 + size % 7));
    NL_GO(nl_json_infer_schema(&file, 1, &options, arena, memory, &source.wanted));
    NL_GO(read_both_ways(source, memory, 1 + size % 5));
done:
    nl_error_free(status);
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
    nl_memory_release(memory);
    return 0;
}
