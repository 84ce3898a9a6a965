/* fuzz/table_metadata.c - any bytes as table metadata; what is accepted must come back from its own JSON the same. */
#include <stdlib.h>

#include "iceberg/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    const nl_table_metadata *metadata;
    nl_status status = nl_table_metadata_parse((nl_bytes){data, size}, NL_STR("f.json"), memory, &metadata);
    if (!status) {
        nl_builder first;
        nl_builder second;
        nl_builder_init(&first, 64u << 20);
        nl_builder_init(&second, 64u << 20);
        const nl_table_metadata *again = NULL;
        nl_table_metadata_append_json(metadata, &first);
        const nl_str text = nl_builder_str(&first);
        nl_status second_status = nl_table_metadata_parse((nl_bytes){(const uint8_t *)text.data, text.length}, NL_STR("g.json"), memory, &again);
        if (!nl_builder_failed(&first) && second_status && nl_error_condition(second_status) == NL_COND_NILAS_CORRUPT_FILE) abort();
        if (!second_status) {
            nl_table_metadata_append_json(again, &second);
            if (!nl_str_equal(nl_builder_str(&first), nl_builder_str(&second))) abort();
        }
        nl_error_free(second_status);
        nl_table_metadata_release(again);
        nl_table_metadata_release(metadata);
        nl_builder_fini(&first);
        nl_builder_fini(&second);
    }
    nl_error_free(status);
    nl_memory_release(memory);
    return 0;
}
