/* format/xml/xml_reader.c - see xml_reader.h. Each record is a tree of its own; what does not fit goes where the mode says. */
#include "format/xml/xml_reader.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "format/text/text_value.h"
#include "format/xml/xml_convert.h"
#include "format/xml/xml_infer.h"
#include "format/xml/xml_records.h"

#define NO_COLUMN UINT32_MAX

struct nl_xml_reader {
    nl_xml_records records;
    nl_xml_converter converter;
    const nl_xml_options *options;
    nl_str path;
    nl_memory *memory;
    nl_arena *arena;
    const nl_type *type; /* the wanted columns without the corrupt record's */
    uint32_t column_count;
    uint32_t corrupt; /* its place among the wanted ones, or NO_COLUMN */
    nl_column_builder *builder, *corrupt_builder;
    nl_builder scratch;
};

void nl_xml_reader_close(nl_xml_reader *reader)
{
    if (!reader) return;
    nl_xml_records_fini(&reader->records);
    nl_xml_converter_fini(&reader->converter);
    nl_column_builder_free(reader->builder);
    nl_column_builder_free(reader->corrupt_builder);
    nl_builder_fini(&reader->scratch);
    nl_arena_free(reader->arena);
    free(reader);
}

static nl_status check_corrupt_type(nl_arena *arena, const nl_field *field)
{
    if (field->type->id == NL_TYPE_STRING) return NULL;
    return NL_RAISE(INVALID_CORRUPT_RECORD_TYPE, NL_P_STR("columnName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name))),
                    NL_P_STR("actualType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, field->type)))));
}

static nl_status make_builders(nl_xml_reader *reader, const nl_type *wanted)
{
    nl_field *fields = NL_NEW_ARRAY(reader->arena, nl_field, wanted->child_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < wanted->child_count; i++) {
        const nl_field *field = &wanted->children[i];
        if (!nl_str_equal(field->name, reader->options->formats.corrupt_record_name)) {
            fields[count++] = *field;
            continue;
        }
        NL_TRY(check_corrupt_type(reader->arena, field));
        reader->corrupt = i;
        NL_TRY(nl_column_builder_new(field->type, reader->memory, &reader->corrupt_builder));
    }
    reader->type = nl_type_struct(reader->arena, fields, count);
    NL_TRY(nl_arena_check(reader->arena));
    return nl_column_builder_new(reader->type, reader->memory, &reader->builder);
}

nl_status nl_xml_reader_open(const nl_xml_source *source, nl_memory *memory, nl_xml_reader **reader)
{
    nl_xml_reader *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made), NL_P_INT("receivedBytes", 0));
    *made = (nl_xml_reader){.options = source->options,
                            .path = nl_file_path(source->file),
                            .memory = memory,
                            .arena = nl_arena_new(memory),
                            .column_count = source->wanted->child_count,
                            .corrupt = NO_COLUMN};
    nl_xml_converter_init(&made->converter, source->options);
    nl_builder_init(&made->scratch, 3 * (size_t)NL_VALUE_BYTES_MAX);
    nl_status status = make_builders(made, source->wanted);
    if (!status) status = nl_xml_records_init(&made->records, source->file, source->options, source->start, source->stop, memory);
    if (status)
        nl_xml_reader_close(made);
    else
        *reader = made;
    return status;
}

static nl_status add_null_row(nl_xml_reader *reader)
{
    for (uint32_t i = 0; i < reader->type->child_count; i++) NL_TRY(nl_column_builder_null(nl_column_builder_child(reader->builder, i)));
    return nl_column_builder_end_struct(reader->builder);
}

static nl_status add_record(nl_xml_reader *reader, nl_str record)
{
    const uint32_t before = nl_column_builder_length(reader->builder);
    const nl_text_mode mode = reader->options->formats.mode;
    nl_arena *arena = nl_arena_new(reader->memory);
    const nl_xml_node *root = nl_utf8_is_valid(record) ? nl_xml_read_record(arena, record, reader->options) : NULL;
    nl_status status = nl_arena_check(arena);
    reader->converter.is_misfit = false;
    if (!status && root) status = nl_xml_convert(&reader->converter, root, reader->type, reader->builder);
    nl_arena_free(arena);
    NL_TRY(status);
    const bool is_bad = !root || reader->converter.is_misfit;
    if (is_bad && mode != NL_TEXT_PERMISSIVE) {
        nl_column_builder_truncate(reader->builder, before);
        return mode == NL_TEXT_FAIL_FAST ? nl_text_malformed_record(reader->path, record, root ? "a value does not fit its column" : "it is no XML") : NULL;
    }
    if (!root) NL_TRY(add_null_row(reader));
    if (reader->corrupt == NO_COLUMN) return NULL;
    return is_bad ? nl_column_builder_str(reader->corrupt_builder, nl_text_valid_utf8(record, &reader->scratch)) : nl_column_builder_null(reader->corrupt_builder);
}

static nl_status finish_batch(nl_xml_reader *reader, nl_batch *batch)
{
    nl_vector rows;
    nl_batch made;
    const uint32_t row_count = nl_column_builder_length(reader->builder);
    NL_TRY(nl_column_builder_finish(reader->builder, &rows));
    nl_status status = nl_batch_init(&made, reader->column_count, row_count);
    const bool is_made = !status;
    uint32_t from = 0;
    for (uint32_t i = 0; !status && i < reader->column_count; i++) {
        if (i == reader->corrupt)
            status = nl_column_builder_finish(reader->corrupt_builder, &made.columns[i]);
        else
            nl_vector_move(&rows.children[from++], &made.columns[i]);
    }
    if (!status)
        *batch = made;
    else if (is_made)
        nl_batch_fini(&made);
    nl_vector_fini(&rows);
    return status;
}

nl_status nl_xml_reader_next(nl_xml_reader *reader, nl_batch *batch, bool *is_done)
{
    bool is_at_end = false;
    while (nl_column_builder_length(reader->builder) < NL_BATCH_ROWS) {
        nl_str record;
        NL_TRY(nl_xml_records_next(&reader->records, &record, &is_at_end));
        if (is_at_end) break;
        NL_TRY(add_record(reader, record));
    }
    *is_done = nl_column_builder_length(reader->builder) == 0;
    return *is_done ? NULL : finish_batch(reader, batch);
}

/* ---- schema ---- */

typedef struct inference {
    const nl_xml_options *options;
    nl_memory *memory;
    nl_arena *arena;
    const nl_type *type; /* of the records so far; NULL: none */
    bool has_corrupt;
} inference;

static bool is_sampled(const inference *in, uint64_t record)
{
    const double ratio = in->options->formats.sampling_ratio;
    return ratio >= 1 || (double)(nl_hash_u64(record + 1) >> 11) * 0x1p-53 < ratio;
}

/* The type grows only when a record brings something new: the arena holds no more than its versions. */
static nl_status infer_record(inference *in, nl_str record)
{
    nl_arena *scratch = nl_arena_new(in->memory);
    const nl_xml_node *root = nl_utf8_is_valid(record) ? nl_xml_read_record(scratch, record, in->options) : NULL;
    nl_status status = nl_arena_check(scratch);
    if (!status && root) {
        const nl_type *type = nl_xml_infer_record(scratch, root, in->options);
        if (in->type) type = nl_xml_merge(scratch, in->type, type, in->options);
        if (!in->type || !nl_type_equal(in->type, type)) in->type = nl_type_copy(in->arena, type);
    } else if (!status) {
        in->has_corrupt = true;
        if (in->options->formats.mode == NL_TEXT_FAIL_FAST) status = NL_RAISE(MALFORMED_RECORD_IN_PARSING__WITHOUT_SUGGESTION, NL_P_STR("badRecord", in->options->formats.corrupt_record_name), NL_P("failFastMode", "FAILFAST"));
    }
    nl_arena_free(scratch);
    return status ? status : nl_arena_check(in->arena);
}

static nl_status infer_file(inference *in, nl_file *file)
{
    nl_xml_records records;
    bool is_done = false;
    nl_status status = nl_xml_records_init(&records, file, in->options, 0, UINT64_MAX, in->memory);
    for (uint64_t number = 0; !status; number++) {
        nl_str record;
        status = nl_xml_records_next(&records, &record, &is_done);
        if (status || is_done) break;
        if (is_sampled(in, number)) status = infer_record(in, record);
    }
    nl_xml_records_fini(&records);
    return nl_note_if(status, NL_HERE, "inferring the schema of " NL_STR_FMT, NL_STR_ARG(nl_file_path(file)));
}

nl_status nl_xml_infer_schema(nl_file *const *files, uint32_t file_count, const nl_xml_options *options, nl_arena *arena, nl_memory *memory,
                              const nl_type **struct_type)
{
    const nl_field corrupt = {.name = options->formats.corrupt_record_name, .type = nl_type_string(), .is_nullable = true};
    inference in = {.options = options, .memory = memory, .arena = arena};
    for (uint32_t i = 0; i < file_count; i++) NL_TRY(infer_file(&in, files[i]));
    if (!in.type) in.type = nl_type_struct(arena, NULL, 0);
    if (in.has_corrupt && options->formats.mode == NL_TEXT_PERMISSIVE) in.type = nl_xml_merge(arena, in.type, nl_type_struct(arena, &corrupt, 1), options);
    *struct_type = nl_xml_canonical(arena, in.type);
    return nl_arena_check(arena);
}
