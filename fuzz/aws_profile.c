/* fuzz/aws_profile.c - any bytes as a config or credentials file. What is read is found again by its name, and a file of
 * plain words, written out and read again, says the same. */
#include <stdlib.h>

#include "storage/aws_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/')) return false;
    }
    return text.length > 0;
}

static bool write_key(const nl_aws_key *key, nl_builder *out)
{
    bool plain = is_plain(key->name) && (key->nested_count > 0 ? key->value.length == 0 : is_plain(key->value));
    nl_append_f(out, NL_STR_FMT " = " NL_STR_FMT "\n", NL_STR_ARG(key->name), NL_STR_ARG(key->value));
    for (uint32_t i = 0; i < key->nested_count; i++) {
        plain &= is_plain(key->nested[i].key) && is_plain(key->nested[i].value);
        nl_append_f(out, "  " NL_STR_FMT " = " NL_STR_FMT "\n", NL_STR_ARG(key->nested[i].key), NL_STR_ARG(key->nested[i].value));
    }
    return plain;
}

/* False when it holds more than plain words. */
static bool write(const nl_aws_files *files, nl_builder *out)
{
    bool plain = true;
    for (uint32_t i = 0; i < files->sections.count; i++) {
        const nl_aws_section *section = files->sections.items[i];
        if (nl_aws_find_section(files, nl_str_is(section->kind, "services") ? "services" : "profile", section->name) != section) abort();
        plain &= is_plain(section->name);
        nl_append_f(out, "[" NL_STR_FMT " " NL_STR_FMT "]\n", NL_STR_ARG(section->kind), NL_STR_ARG(section->name));
        for (uint32_t k = 0; k < section->keys.count; k++)
            plain &= write_key(section->keys.items[k], out);
    }
    return plain && !nl_builder_failed(out);
}

static bool parse(nl_arena *arena, nl_str text, bool is_credentials, nl_aws_files *files)
{
    nl_status status = nl_aws_files_parse(arena, text, NL_STR("file"), is_credentials, files);
    const bool is_ok = !status;
    nl_error_free(status);
    return is_ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const nl_str text = {(const char *)data, size};
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder first, second;
    nl_builder_init(&first, 4 << 20);
    nl_builder_init(&second, 4 << 20);
    nl_aws_files files = {0}, again = {0}, credentials = {0};
    if (parse(arena, text, false, &files) && write(&files, &first)) {
        if (!parse(arena, nl_builder_str(&first), false, &again) || !write(&again, &second)) abort();
        if (!nl_str_equal(nl_builder_str(&first), nl_builder_str(&second))) abort();
    }
    parse(arena, text, true, &credentials);
    nl_builder_fini(&first);
    nl_builder_fini(&second);
    nl_arena_free(arena);
    return 0;
}
