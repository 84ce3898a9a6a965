/* fuzz/s3_xml.c - any bytes as an answer of S3: the XML reader, and what a list means. What is read is written and read again
 * the same.
 */
#include <stdlib.h>

#include "storage/s3.h"
#include "storage/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_element(const nl_xml *element, nl_builder *out)
{
    nl_append_f(out, "<" NL_STR_FMT ">", NL_STR_ARG(element->name));
    if (!element->first_child) nl_xml_append(out, element->text);
    for (const nl_xml *child = element->first_child; child; child = child->next) write_element(child, out);
    nl_append_f(out, "</" NL_STR_FMT ">", NL_STR_ARG(element->name));
}

static void check_round_trip(const nl_xml *root)
{
    nl_builder first;
    nl_builder second;
    nl_builder_init(&first, 64u << 20);
    nl_builder_init(&second, 64u << 20);
    nl_arena *arena = nl_arena_new(NULL);
    const nl_xml *again = NULL;
    write_element(root, &first);
    nl_status status = nl_xml_parse(arena, (nl_bytes){(const uint8_t *)first.data, first.length}, &again);
    if (status) abort();
    write_element(again, &second);
    if (!nl_str_equal(nl_builder_str(&first), nl_builder_str(&second))) abort();
    nl_arena_free(arena);
    nl_builder_fini(&first);
    nl_builder_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_xml *root = NULL;
    uint32_t entry_count = 0;
    nl_status status = nl_xml_parse(arena, (nl_bytes){data, size}, &root);
    if (!status) check_round_trip(root);
    nl_error_free(status);
    nl_error_free(nl_s3_list_answer_check((nl_bytes){data, size}, &entry_count));
    nl_arena_free(arena);
    return 0;
}
