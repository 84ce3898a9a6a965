/* fuzz/puffin.c - any bytes as a Puffin file, and every blob of it as a deletion vector. */
#include "format/puffin/puffin.h"
#include "iceberg/deletion_vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_vector(nl_bytes blob)
{
    nl_deletion_vector *vector = NULL;
    nl_status status = nl_deletion_vector_parse(blob, NL_STR("f.puffin"), 4, -1, &vector);
    if (!status) {
        uint8_t alive[128] = {0};
        (void)nl_deletion_vector_mask(vector, 0, 1024, alive);
        (void)nl_deletion_vector_contains(vector, 77);
    }
    nl_error_free(status);
    nl_deletion_vector_free(vector);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_arena *arena = nl_arena_new(memory);
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file = NULL;
    nl_puffin puffin = {0};
    nl_status status;
    NL_GO(nl_fs_write_all(fs, NL_STR("memory:/f.puffin"), (nl_bytes){data, size}));
    NL_GO(nl_fs_open(fs, NL_STR("memory:/f.puffin"), &file));
    NL_GO(nl_puffin_read_footer(file, memory, arena, &puffin));
    for (uint32_t i = 0; i < puffin.blob_count && i < 16; i++) {
        nl_buffer *content = NULL;
        nl_error_free(nl_puffin_read_blob(file, &puffin.blobs[i], memory, &content));
        if (content) read_vector((nl_bytes){content->data, content->size_bytes});
        nl_buffer_release(content);
    }
done:
    nl_error_free(status);
    read_vector((nl_bytes){data, size});
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
    nl_memory_release(memory);
    return 0;
}
