/* fuzz/avro_file.c - any bytes as an Avro file: read as a manifest, as a manifest list, and as a data file. */
#include "format/avro/data_format.h"
#include "format/avro/reader.h"
#include "iceberg/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nl_status read_rows(nl_avro_file *avro, const nl_type *wanted, nl_memory *memory)
{
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_NAME};
    nl_avro_reader *reader;
    NL_TRY(nl_avro_reader_open(avro, wanted, &options, memory, &reader));
    nl_status status = NULL;
    for (uint32_t batches = 0; !status && batches < 64; batches++) { /* rows without bytes would go on for ever */
        nl_batch batch = {0};
        status = nl_avro_reader_next(reader, &batch, NULL);
        const bool is_last = batch.row_count == 0;
        nl_batch_fini(&batch);
        if (is_last) break;
    }
    nl_avro_reader_close(reader);
    return status;
}

/* In parts whose rows are counted first, as scans read it. */
static nl_status read_parts(nl_file *file, const nl_type *wanted, nl_memory *memory)
{
    const nl_data_read read = {.wanted = wanted, .needs_positions = true, .part_bytes = 64};
    nl_data_reader *reader;
    NL_TRY(nl_data_file_open(&nl_avro_data_format, file, &read, memory, &reader));
    nl_status status = NULL;
    for (uint32_t part = 0; !status && part < reader->part_count && part < 8; part++) {
        nl_data_scan *scan = NULL;
        status = nl_data_scan_open(reader, part, memory, &scan);
        for (uint32_t batches = 0; !status && batches < 8; batches++) {
            nl_batch batch = {0};
            uint64_t first_row;
            status = nl_data_scan_next(scan, &batch, &first_row);
            const bool is_last = batch.row_count == 0;
            nl_batch_fini(&batch);
            if (is_last) break;
        }
        nl_data_scan_close(scan);
    }
    nl_data_reader_close(reader);
    return status;
}

static nl_status read_data(nl_fs *fs, nl_str path, nl_memory *memory)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_file *file = NULL;
    nl_avro_file *avro = NULL;
    nl_status status;
    NL_GO(nl_fs_open(fs, path, &file));
    NL_GO(nl_avro_file_open(file, memory, &avro));
    /* Every field as text cannot be: the names are those of the corpus' files. */
    const nl_field fields[] = {{.name = NL_STR("s"), .type = nl_type_string(), .is_nullable = true},
                               {.name = NL_STR("l"), .type = nl_type_bigint(), .is_nullable = true},
                               {.name = NL_STR("st"), .type = nl_type_struct(arena, (const nl_field[]){{.name = NL_STR("a"), .type = nl_type_int(), .is_nullable = true}}, 1), .is_nullable = true},
                               {.name = NL_STR("m"), .type = nl_type_map(arena, nl_type_string(), nl_type_bigint(), true), .is_nullable = true},
                               {.name = NL_STR("dc"), .type = nl_type_decimal(20, 2), .is_nullable = true}};
    status = read_rows(avro, nl_type_struct(arena, fields, NL_COUNT(fields)), memory);
    nl_error_free(read_parts(file, nl_type_struct(arena, fields, NL_COUNT(fields)), memory));
done:
    nl_avro_file_close(avro);
    nl_file_close(file);
    nl_arena_free(arena);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_fs *fs = nl_fs_memory_new();
    const nl_str path = NL_STR("memory:/f.avro");
    nl_status status = nl_fs_write_all(fs, path, (nl_bytes){data, size});
    nl_error_free(status);

    const nl_manifest_file listed = {.path = path, .sequence_number = 7, .added_snapshot_id = 9, .first_row_id = 100};
    const nl_manifest *manifest;
    status = nl_manifest_read(fs, &listed, memory, &manifest);
    if (!status) {
        const nl_column_statistics *statistics;
        nl_error_free(nl_manifest_statistics(manifest, 1, nl_ice_type_of(NL_ICE_LONG), &statistics));
        nl_manifest_release(manifest);
    }
    nl_error_free(status);

    nl_arena *arena = nl_arena_new(memory);
    const nl_manifest_file *files;
    uint32_t count;
    nl_error_free(nl_manifest_list_read(fs, path, memory, arena, &files, &count));
    nl_arena_free(arena);

    nl_error_free(read_data(fs, path, memory));
    nl_fs_release(fs);
    nl_memory_release(memory);
    return 0;
}
