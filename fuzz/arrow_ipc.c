/* fuzz/arrow_ipc.c - an Arrow IPC stream from a client. */
#include <stddef.h>
#include <stdint.h>

#include "column/arrow_ipc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256 << 20);
    nl_ipc_reader *reader = NULL;
    nl_status status = nl_ipc_reader_new((nl_str){(const char *)data, size}, NULL, memory, &reader);
    bool is_done = false;
    while (!status && !is_done) {
        nl_batch batch;
        status = nl_ipc_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) nl_batch_fini(&batch);
    }
    if (status) nl_error_free(status);
    nl_ipc_reader_free(reader);
    nl_memory_release(memory);
    return 0;
}
