/* fuzz/variant.c - any bytes as a variant: a byte with the length of the metadata, the metadata, the value. */
#include "column/variant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || (size_t)data[0] + 1 > size) return 0;
    nl_str metadata = {(const char *)data + 1, data[0]};
    nl_str value = {(const char *)data + 1 + data[0], size - 1 - data[0]};
    nl_variant variant, field;
    bool found;
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    nl_status status = nl_variant_open(metadata, value, &variant);
    if (!status && variant.kind == NL_VARIANT_OBJECT) status = nl_variant_find(&variant, NL_STR("a"), &found, &field);
    if (!status) status = nl_variant_append_json(&variant, nl_timezone_utc(), &out);
    nl_error_free(status);
    nl_builder_fini(&out);
    return 0;
}
