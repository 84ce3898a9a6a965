/* fuzz/rest_response.c - any bytes as the answers of a REST catalog and of its token server: nothing but an error comes of
 * what is not right. The first byte says which answer, the rest is its body. */
#include "catalog/rest/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char table_text[] =
    "{\"format-version\":2,\"table-uuid\":\"a\",\"location\":\"/w\",\"last-sequence-number\":0,\"last-updated-ms\":1,\"last-column-id\":1,\"schemas\":[{\"type\":\"struct\","
    "\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"date\"}]}],\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[{\"name\":"
    "\"a\",\"transform\":\"identity\",\"source-id\":1,\"field-id\":1000}]}],\"default-spec-id\":0,\"last-partition-id\":1000,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],"
    "\"default-sort-order-id\":0}";

static void read_plan(nl_arena *arena, const json_t *json, nl_memory *memory)
{
    nl_remote_plan plan = {0};
    const nl_table_metadata *metadata = NULL;
    nl_error *error = nl_table_metadata_parse((nl_bytes){(const uint8_t *)table_text, sizeof(table_text) - 1}, NL_STR("t"), memory, &metadata);
    if (!error) error = nl_remote_plan_read(arena, json, metadata, &plan);
    nl_error_free(error);
    nl_table_metadata_release(metadata);
}

static void read_as(char which, nl_arena *arena, const json_t *json, nl_memory *memory)
{
    nl_remote_table table = {0};
    nl_remote_config config;
    nl_remote_token token;
    nl_list items = {0};
    nl_str next_page = {0};
    const nl_property *properties = NULL;
    uint32_t property_count = 0;
    const nl_table_metadata *committed = NULL;
    const nl_view_metadata *view = NULL;
    switch (which) {
    case 'c': nl_error_free(nl_remote_config_read(arena, json, &config)); break;
    case 't': nl_error_free(nl_remote_table_read(arena, json, memory, &table)); break;
    case 'm': nl_error_free(nl_remote_committed_read(arena, json, memory, &committed)); break;
    case 'v': nl_error_free(nl_remote_view_read(arena, json, memory, &view)); break;
    case 'n': nl_error_free(nl_remote_page_read(arena, json, true, &items, &next_page)); break;
    case 'i': nl_error_free(nl_remote_page_read(arena, json, false, &items, &next_page)); break;
    case 'l': read_plan(arena, json, memory); break;
    case 's': nl_error_free(nl_remote_signature_read(arena, json, &next_page, &properties, &property_count)); break;
    case 'p': nl_error_free(nl_remote_namespace_read(arena, json, &properties, &property_count)); break;
    default: nl_error_free(nl_remote_token_read(arena, json, &token)); break;
    }
    nl_table_metadata_release(table.metadata);
    nl_table_metadata_release(committed);
    nl_view_metadata_release(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    nl_memory *memory = nl_memory_new(NULL, "fuzz", 256u << 20);
    nl_arena *arena = nl_arena_new(memory);
    const nl_str body = {(const char *)data + 1, size - 1};
    const json_t *json = NULL;
    nl_error *error = nl_json_parse(arena, body, NL_STR("answer"), &json);
    if (!error) read_as((char)data[0], arena, json, memory);
    nl_error_free(error);
    (void)nl_jwt_expiry(body);
    const nl_remote_answer answer = {.status = 400 + data[0], .body = body};
    for (uint32_t kind = NL_REMOTE_SERVICE; kind <= NL_REMOTE_NEW_VIEW; kind++) {
        const nl_remote_subject subject = {.kind = (nl_remote_subject_kind)kind, .catalog = NL_STR("c"), .quoted = NL_STR("`c`")};
        nl_error_free(nl_remote_failure(&answer, &subject));
    }
    nl_arena_free(arena);
    nl_memory_release(memory);
    return 0;
}
