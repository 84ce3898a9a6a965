/* storage/aws_profile.c - the AWS SDKs' shared files: lines into sections, and what of them concerns endpoints.
 *
 * A line that is indented deeper than the key above it belongs to that key: to its block when the key has no value of its
 * own, else to its text. A comment is a line that starts with '#' or ';', or what follows one of them after a blank.
 */
#include "storage/aws_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (1u << 20)
#define SECTIONS_MAX   10000u
#define KEYS_MAX       1000u

typedef struct reader {
    nl_arena *arena;
    nl_aws_files *files;
    nl_str path;
    bool is_credentials;
    uint32_t line;
    nl_aws_section *section; /* NULL before the first */
    nl_aws_key *key;         /* NULL right after a section's head */
    size_t key_indent;
    size_t value_capacity;   /* of the key's value once it has a second line */
} reader;

static nl_status wrong_line(const reader *in, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The AWS configuration file " NL_STR_FMT " cannot be read: line %u %s", NL_STR_ARG(in->path), in->line, problem);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static nl_str lower(nl_arena *arena, nl_str text)
{
    char *out = nl_arena_alloc(arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++)
        out[i] = (char)(text.data[i] >= 'A' && text.data[i] <= 'Z' ? text.data[i] + 32 : text.data[i]);
    return (nl_str){out, text.length};
}

static nl_str without_comment(nl_str value)
{
    for (size_t i = 0; i < value.length; i++)
        if ((value.data[i] == '#' || value.data[i] == ';') && i > 0 && is_blank(value.data[i - 1])) return nl_str_trim(nl_str_slice(value, 0, i));
    return value;
}

static nl_str unquoted(nl_str name)
{
    name = nl_str_trim(name);
    const bool is_quoted = name.length >= 2 && (name.data[0] == '"' || name.data[0] == '\'') && name.data[name.length - 1] == name.data[0];
    return is_quoted ? nl_str_slice(name, 1, name.length - 1) : name;
}

static nl_aws_section *find_section(const nl_aws_files *files, nl_str kind, nl_str name)
{
    for (uint32_t i = 0; i < files->sections.count; i++) {
        nl_aws_section *section = files->sections.items[i];
        if (nl_str_equal(section->name, name) && nl_str_equal(section->kind, kind)) return section;
    }
    return NULL;
}

/* "[profile x]" of a config file, "[x]" of a credentials file; false for sections that mean nothing here. */
static bool section_name(const reader *in, nl_str head, nl_str *kind, nl_str *name)
{
    *kind = NL_STR("profile");
    *name = head;
    if (in->is_credentials || nl_str_is(head, "default")) return true;
    size_t end = 0;
    while (end < head.length && !is_blank(head.data[end]))
        end++;
    *kind = nl_str_slice(head, 0, end);
    *name = unquoted(nl_str_slice(head, end, head.length));
    return (nl_str_is(*kind, "profile") || nl_str_is(*kind, "services")) && name->length > 0;
}

static nl_status begin_section(reader *in, nl_str line)
{
    const size_t end = nl_str_find_last_char(line, ']');
    nl_str kind;
    nl_str name;
    if (end == NL_NOT_FOUND) return wrong_line(in, "begins a section but has no ']'");
    const nl_str head = nl_str_trim(nl_str_slice(line, 1, end));
    if (head.length == 0) return wrong_line(in, "begins a section without a name");
    const bool counts = section_name(in, head, &kind, &name);
    const bool is_bare = !in->is_credentials && nl_str_is(head, "default");
    nl_aws_section *found = counts ? find_section(in->files, kind, name) : NULL;
    in->key = NULL;
    const bool is_other_default = found && !in->is_credentials && is_bare != found->is_bare;
    if (is_other_default && !is_bare) *found = (nl_aws_section){.kind = kind, .name = name};
    if (found && !(is_other_default && is_bare)) {
        in->section = found;
        return NULL;
    }
    in->section = NL_NEW(in->arena, nl_aws_section);
    *in->section = (nl_aws_section){.kind = kind, .name = name, .is_bare = is_bare};
    if (!counts || found) return NULL; /* of no meaning here; "[default]" beside "[profile default]" */
    if (in->files->sections.count >= SECTIONS_MAX) return wrong_line(in, "begins a section too many (10000)");
    nl_list_add(in->arena, &in->files->sections, in->section);
    return NULL;
}

/* Cuts at the first '=' or ':'. */
static bool cut_pair(nl_str line, nl_str *name, nl_str *value)
{
    size_t at = 0;
    while (at < line.length && line.data[at] != '=' && line.data[at] != ':')
        at++;
    if (at == line.length) return false;
    *name = nl_str_trim(nl_str_slice(line, 0, at));
    *value = nl_str_trim(nl_str_slice(line, at + 1, line.length));
    return name->length > 0;
}

static nl_status begin_key(reader *in, nl_str line)
{
    nl_str name;
    nl_str value;
    if (!in->section) return wrong_line(in, "stands before the first section");
    if (!cut_pair(line, &name, &value)) return wrong_line(in, "is neither a section, nor a key with a value, nor a comment");
    name = lower(in->arena, name);
    nl_aws_key *key = NULL;
    for (uint32_t i = 0; i < in->section->keys.count && !key; i++)
        if (nl_str_equal(((nl_aws_key *)in->section->keys.items[i])->name, name)) key = in->section->keys.items[i];
    if (!key) {
        if (in->section->keys.count >= KEYS_MAX) return wrong_line(in, "is a key too many of its section (1000)");
        key = NL_NEW(in->arena, nl_aws_key);
        nl_list_add(in->arena, &in->section->keys, key);
    }
    *key = (nl_aws_key){.name = name, .value = nl_arena_str(in->arena, without_comment(value))};
    in->key = key;
    in->value_capacity = 0;
    return NULL;
}

/* The value's text grows by doubling: a file of nothing but such lines costs a few times its size. */
static void append_line(reader *in, nl_str line)
{
    nl_str *value = &in->key->value;
    const size_t needed = value->length + 1 + line.length;
    if (needed > in->value_capacity) {
        in->value_capacity = 2 * needed;
        char *larger = nl_arena_alloc(in->arena, in->value_capacity);
        memcpy(larger, value->data, value->length);
        value->data = larger;
    }
    char *end = (char *)NL_UNCONST(value->data) + value->length;
    *end = '\n';
    memcpy(end + 1, line.data, line.length);
    value->length = needed;
}

static nl_status continue_key(reader *in, nl_str line)
{
    nl_aws_key *key = in->key;
    if (key->value.length > 0) {
        append_line(in, line);
        return NULL;
    }
    const size_t equals = nl_str_find_char(line, '=', 0);
    if (equals == NL_NOT_FOUND) return wrong_line(in, "belongs to a block but is no key with a value");
    const nl_property pair = {lower(in->arena, nl_str_trim(nl_str_slice(line, 0, equals))),
                              nl_arena_str(in->arena, without_comment(nl_str_trim(nl_str_slice(line, equals + 1, line.length))))};
    for (uint32_t i = 0; i < key->nested_count; i++) {
        if (!nl_str_equal(key->nested[i].key, pair.key)) continue;
        key->nested[i] = pair;
        return NULL;
    }
    if (key->nested_count >= KEYS_MAX) return wrong_line(in, "is a key too many of its block (1000)");
    if ((key->nested_count & (key->nested_count - 1)) == 0) { /* full at every power of two */
        nl_property *larger = NL_NEW_ARRAY(in->arena, nl_property, (size_t)key->nested_count * 2 + 1);
        if (key->nested_count > 0) memcpy(larger, key->nested, key->nested_count * sizeof(nl_property));
        key->nested = larger;
    }
    key->nested[key->nested_count++] = pair;
    return NULL;
}

static nl_status read_line(reader *in, nl_str line)
{
    size_t indent = 0;
    while (indent < line.length && is_blank(line.data[indent]))
        indent++;
    const nl_str text = nl_str_trim(line);
    if (text.length == 0 || text.data[0] == '#' || text.data[0] == ';') return NULL;
    if (in->key && indent > in->key_indent) return continue_key(in, text);
    in->key_indent = indent;
    return text.data[0] == '[' ? begin_section(in, text) : begin_key(in, text);
}

nl_status nl_aws_files_parse(nl_arena *arena, nl_str text, nl_str path, bool is_credentials, nl_aws_files *files)
{
    reader in = {.arena = arena, .files = files, .path = path, .is_credentials = is_credentials};
    if (nl_str_starts(text, NL_STR("\xEF\xBB\xBF"))) text = nl_str_slice(text, 3, text.length);
    nl_str rest = text;
    nl_str line;
    while (nl_str_next_part(&rest, '\n', &line)) {
        in.line++;
        NL_TRY(read_line(&in, line));
        NL_TRY(nl_arena_check(arena));
    }
    return NULL;
}

/* ---- files and environment ---- */

nl_str nl_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? nl_str_from(value) : (nl_str){0};
}

bool nl_aws_is_true(nl_str text)
{
    return nl_str_is_nocase(nl_str_trim(text), "true");
}

nl_str nl_aws_profile_name(bool *is_named)
{
    nl_str name = nl_environment("AWS_PROFILE");
    if (!name.data) name = nl_environment("AWS_DEFAULT_PROFILE");
    *is_named = name.data != NULL;
    return name.data ? name : NL_STR("default");
}

nl_status nl_read_operator_file(nl_arena *arena, nl_str path, nl_str *text, bool *is_there)
{
    const char *name = nl_str_c(arena, path);
    FILE *in = fopen(name, "rbe");
    *is_there = in != NULL;
    if (!in && (errno == ENOENT || errno == ENOTDIR)) return NULL;
    if (!in) return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Opening"), NL_P("path", name), NL_P("problem", strerrordesc_np(errno)));
    /* One byte more than the file says it has shows whether it is longer; pipes say nothing. */
    struct stat info;
    const bool has_size = fstat(fileno(in), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= FILE_BYTES_MAX;
    const size_t room = has_size ? (size_t)info.st_size + 1 : FILE_BYTES_MAX + 1;
    void *data = NULL;
    nl_status refused = nl_arena_alloc_sized(arena, room, &data);
    const size_t length = refused ? 0 : fread(data, 1, room, in);
    const bool has_failed = ferror(in) != 0;
    fclose(in);
    if (refused) return refused;
    if (has_failed) return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Reading"), NL_P("path", name), NL_P("problem", strerrordesc_np(errno)));
    if (length > FILE_BYTES_MAX) return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Reading"), NL_P("path", name), NL_P("problem", "the file has more than 1 MiB"));
    *text = (nl_str){data, length};
    return NULL;
}

/* The file that the variable names, or ~/.aws/<name>; a leading "~/" is the home directory. Empty: there is no home. */
static nl_str file_path(nl_arena *arena, const char *variable, const char *name)
{
    const nl_str home = nl_environment("HOME");
    const nl_str given = nl_environment(variable);
    if (given.data && nl_str_starts(given, NL_STR("~/")) && home.data)
        return nl_arena_f(arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(home), NL_STR_ARG(nl_str_slice(given, 1, given.length)));
    if (given.data) return nl_arena_str(arena, given);
    return home.data ? nl_arena_f(arena, NL_STR_FMT "/.aws/%s", NL_STR_ARG(home), name) : (nl_str){0};
}

static nl_status read_into(nl_arena *arena, nl_str path, bool is_credentials, nl_aws_files *files)
{
    nl_str text;
    bool is_there;
    if (path.length == 0) return NULL;
    NL_TRY(nl_read_operator_file(arena, path, &text, &is_there));
    return is_there ? nl_aws_files_parse(arena, text, path, is_credentials, files) : NULL;
}

nl_status nl_aws_files_read(nl_arena *arena, nl_aws_files *files)
{
    *files = (nl_aws_files){.config_path = file_path(arena, "AWS_CONFIG_FILE", "config"),
                            .credentials_path = file_path(arena, "AWS_SHARED_CREDENTIALS_FILE", "credentials")};
    NL_TRY(read_into(arena, files->config_path, false, files));
    return read_into(arena, files->credentials_path, true, files);
}

const nl_aws_section *nl_aws_find_section(const nl_aws_files *files, const char *kind, nl_str name)
{
    return find_section(files, nl_str_from(kind), name);
}

const nl_aws_key *nl_aws_find_key(const nl_aws_section *section, const char *name)
{
    for (uint32_t i = 0; section && i < section->keys.count; i++) {
        const nl_aws_key *key = section->keys.items[i];
        if (nl_str_is(key->name, name)) return key;
    }
    return NULL;
}

nl_str nl_aws_find_value(const nl_aws_section *section, const char *name)
{
    const nl_aws_key *key = nl_aws_find_key(section, name);
    return key && key->value.length > 0 ? key->value : (nl_str){0};
}

nl_str nl_aws_find_nested(const nl_aws_section *section, const char *name, const char *inner)
{
    const nl_aws_key *key = nl_aws_find_key(section, name);
    for (uint32_t i = 0; key && i < key->nested_count; i++)
        if (nl_str_is(key->nested[i].key, inner)) return key->nested[i].value;
    return (nl_str){0};
}

/* ---- what credentials.h offers of them ---- */

static nl_str first_of(nl_str a, nl_str b)
{
    return a.data ? a : b;
}

nl_status nl_aws_profile_read(nl_arena *arena, nl_aws_profile *profile)
{
    nl_aws_files files;
    bool is_named;
    NL_TRY(nl_aws_files_read(arena, &files));
    const nl_str name = nl_aws_profile_name(&is_named);
    const nl_aws_section *section = nl_aws_find_section(&files, "profile", name);
    const nl_str region = first_of(nl_environment("AWS_REGION"), first_of(nl_environment("AWS_DEFAULT_REGION"), nl_aws_find_value(section, "region")));
    const nl_str endpoint = first_of(nl_environment("AWS_ENDPOINT_URL"), nl_aws_find_value(section, "endpoint_url"));
    *profile = (nl_aws_profile){.name = nl_arena_str(arena, name),
                                .region = nl_arena_str(arena, region),
                                .endpoint_url = nl_arena_str(arena, endpoint),
                                .is_path_style = nl_str_is_nocase(nl_aws_find_nested(section, "s3", "addressing_style"), "path")};
    return NULL;
}

/* "s3tables" to "AWS_ENDPOINT_URL_S3TABLES". */
static const char *endpoint_variable(nl_arena *arena, const char *service)
{
    char *name = NL_UNCONST(nl_arena_f(arena, "AWS_ENDPOINT_URL_%s", service).data);
    for (char *c = name; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c == '-' || *c == ' ' ? '_' : *c);
    return name;
}

nl_status nl_aws_endpoint(nl_arena *arena, const char *service, nl_str *url)
{
    nl_aws_files files;
    bool is_named;
    NL_TRY(nl_aws_files_read(arena, &files));
    const nl_aws_section *profile = nl_aws_find_section(&files, "profile", nl_aws_profile_name(&is_named));
    const nl_str ignored = first_of(nl_environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), nl_aws_find_value(profile, "ignore_configured_endpoint_urls"));
    *url = (nl_str){0};
    if (nl_aws_is_true(ignored)) return NULL;
    nl_str found = first_of(nl_environment(endpoint_variable(arena, service)), nl_environment("AWS_ENDPOINT_URL"));
    const nl_str services = nl_aws_find_value(profile, "services");
    if (!found.data && services.data) {
        const nl_aws_section *section = nl_aws_find_section(&files, "services", services);
        if (!section)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The AWS profile names the services section " NL_STR_FMT ", which " NL_STR_FMT " does not have", NL_STR_ARG(services),
                                 NL_STR_ARG(files.config_path));
        found = nl_aws_find_nested(section, service, "endpoint_url");
    }
    if (!found.data || found.length == 0) found = nl_aws_find_value(profile, "endpoint_url");
    *url = nl_arena_str(arena, found);
    return NULL;
}

nl_str nl_aws_service_url(nl_arena *arena, const char *service, nl_str region)
{
    return nl_arena_f(arena, "https://%s." NL_STR_FMT ".amazonaws.com%s", service, NL_STR_ARG(region), nl_str_starts(region, NL_STR("cn-")) ? ".cn" : "");
}
