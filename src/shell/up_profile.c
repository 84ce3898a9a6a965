/* shell/up_profile.c - see up_profile.h. */
#include "shell/up_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/process.h"
#include "storage/io_error.h"

#define CONFIG_BYTES_MAX (16u << 20) /* nobody's has more; keeps a wrong path from being read into memory */

/* ---- Sections and keys. */

/* A line with its line feed. */
static nl_str next_line(nl_str text, size_t offset)
{
    const size_t end = nl_str_find_char(text, '\n', offset);
    return nl_str_slice(text, offset, end == NL_NOT_FOUND ? text.length : end + 1);
}

static nl_str next_word(nl_str *rest)
{
    *rest = nl_str_trim(*rest);
    size_t end = 0;
    while (end < rest->length && rest->data[end] != ' ' && rest->data[end] != '\t') end++;
    nl_str word = nl_str_slice(*rest, 0, end);
    *rest = nl_str_slice(*rest, end, rest->length);
    if (word.length >= 2 && (word.data[0] == '"' || word.data[0] == '\'') && word.data[word.length - 1] == word.data[0]) word = nl_str_slice(word, 1, word.length - 1);
    return word;
}

/* "[ profile  "nilas" ]" is the section "profile nilas". */
static bool is_header(nl_str line, nl_str wanted, bool *is_wanted)
{
    line = nl_str_trim(line);
    if (line.length == 0 || line.data[0] != '[') return false;
    nl_str name = nl_str_slice(line, 1, nl_str_find_char(line, ']', 0));
    *is_wanted = true;
    while (*is_wanted && (nl_str_trim(name).length || nl_str_trim(wanted).length)) {
        const nl_str found = next_word(&name);
        *is_wanted = nl_str_equal(found, next_word(&wanted));
    }
    return true;
}

/* The body of the section: between its header and the next one. False when it is absent. */
static bool find_section(nl_str text, nl_str header, size_t *start, size_t *stop)
{
    bool is_inside = false, is_wanted = false;
    for (size_t offset = 0; offset < text.length;) {
        const nl_str line = next_line(text, offset);
        if (is_header(line, header, &is_wanted)) {
            if (is_inside) {
                *stop = offset;
                return true;
            }
            is_inside = is_wanted;
            if (is_inside) *start = offset + line.length;
        }
        offset += line.length;
    }
    *stop = text.length;
    return is_inside;
}

/* The key that a line of a body sets; empty for comments, blank and nested lines. */
static nl_str key_of(nl_str line, nl_str *value)
{
    if (line.length == 0 || strchr(" \t#;\r\n", line.data[0])) return (nl_str){0};
    size_t end = 0;
    while (end < line.length && line.data[end] != '=' && line.data[end] != ':') end++;
    *value = nl_str_trim(nl_str_slice(line, end + 1, line.length));
    return nl_str_trim(nl_str_slice(line, 0, end));
}

nl_str nl_ini_get(nl_str text, nl_str header, nl_str key)
{
    size_t start = 0, stop = 0;
    nl_str value;
    if (!find_section(text, header, &start, &stop)) return (nl_str){0};
    for (nl_str line; start < stop; start += line.length) {
        line = next_line(text, start);
        const nl_str found = key_of(line, &value);
        if (found.length && nl_str_equal_nocase(found, key)) return value;
    }
    return (nl_str){0};
}

static bool is_set_here(nl_str key, const nl_property *settings, uint32_t setting_count)
{
    for (uint32_t i = 0; i < setting_count; i++)
        if (nl_str_equal_nocase(key, settings[i].key)) return true;
    return false;
}

static void append_settings(nl_builder *out, const nl_property *settings, uint32_t setting_count)
{
    for (uint32_t i = 0; i < setting_count; i++)
        nl_append_f(out, NL_STR_FMT " =%s" NL_STR_FMT "\n", NL_STR_ARG(settings[i].key), nl_str_starts(settings[i].value, NL_STR("\n")) ? "" : " ", NL_STR_ARG(settings[i].value));
}

nl_str nl_ini_set(nl_arena *arena, nl_str text, nl_str header, const nl_property *settings, uint32_t setting_count)
{
    nl_builder out;
    nl_builder_init(&out, 2 * CONFIG_BYTES_MAX);
    size_t start = text.length, stop = text.length;
    const bool is_there = find_section(text, header, &start, &stop);
    nl_append(&out, nl_str_slice(text, 0, start));
    if (out.length && !nl_str_ends(nl_builder_str(&out), NL_STR("\n"))) nl_append_char(&out, '\n');
    if (!is_there) nl_append_f(&out, "%s[" NL_STR_FMT "]\n", out.length ? "\n" : "", NL_STR_ARG(header));
    append_settings(&out, settings, setting_count);
    bool is_dropped = false; /* the key of ours above, and what is nested below it */
    for (nl_str line, value; start < stop; start += line.length) {
        line = next_line(text, start);
        const nl_str key = key_of(line, &value);
        const bool is_nested = line.length && (line.data[0] == ' ' || line.data[0] == '\t') && nl_str_trim(line).length;
        if (!is_nested) is_dropped = key.length && is_set_here(key, settings, setting_count);
        if (!is_dropped) nl_append(&out, line);
    }
    nl_append(&out, nl_str_slice(text, stop, text.length));
    const nl_str edited = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return edited;
}

/* ---- Files. */

static nl_str home(nl_arena *arena)
{
    const char *set = getenv("HOME");
    if (set && *set) return nl_str_from(set);
    const nl_user user = nl_process_user(arena, getuid());
    return user.name.data ? user.home : NL_STR(".");
}

/* Links are followed: a file kept elsewhere is written there. */
static const char *file_path(nl_arena *arena, const char *variable, const char *name)
{
    const char *set = getenv(variable);
    nl_str path;
    if (!set || !*set) path = nl_arena_f(arena, NL_STR_FMT "/.aws/%s", NL_STR_ARG(home(arena)), name);
    else if (set[0] == '~' && set[1] == '/') path = nl_arena_f(arena, NL_STR_FMT "%s", NL_STR_ARG(home(arena)), set + 1);
    else path = nl_arena_str(arena, nl_str_from(set));
    char *real = realpath(path.data, NULL);
    if (real) path = nl_arena_str(arena, nl_str_from(real));
    free(real);
    return path.data;
}

/* "" when there is none. */
static nl_status read_file(nl_arena *arena, const char *path, nl_str *text)
{
    *text = NL_STR("");
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? NULL : nl_raise_errno(errno, "Opening", nl_str_from(path));
    struct stat found;
    nl_status status = NULL;
    if (fstat(file, &found) != 0) status = nl_raise_errno(errno, "Reading", nl_str_from(path));
    else if (!S_ISREG(found.st_mode) || found.st_size > CONFIG_BYTES_MAX) status = nl_raise_io("Reading", nl_str_from(path), "it is no AWS configuration file");
    char *bytes = status ? NULL : nl_arena_alloc(arena, (size_t)found.st_size + 1);
    size_t length = 0;
    for (ssize_t got = 1; !status && got > 0 && length < (size_t)found.st_size; length += (size_t)NL_MAX(got, 0)) {
        got = read(file, bytes + length, (size_t)found.st_size - length);
        if (got < 0) status = nl_raise_errno(errno, "Reading", nl_str_from(path));
    }
    close(file);
    if (!status) *text = (nl_str){bytes, length};
    return status;
}

static nl_status write_all(int file, nl_str text)
{
    while (text.length) {
        const ssize_t written = write(file, text.data, text.length);
        if (written < 0) return nl_raise_errno(errno, "Writing", NL_STR("the AWS configuration"));
        text = nl_str_slice(text, (size_t)written, text.length);
    }
    return fsync(file) == 0 ? NULL : nl_raise_errno(errno, "Writing", NL_STR("the AWS configuration"));
}

static nl_status replace_file(nl_arena *arena, const char *path, nl_str text)
{
    struct stat found;
    const mode_t mode = stat(path, &found) == 0 ? found.st_mode & 0600 : 0600;
    char *temporary = NL_UNCONST(nl_arena_f(arena, "%s.nilas-XXXXXX", path).data);
    const int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) return nl_raise_errno(errno, "Writing", nl_str_from(path));
    nl_status status = fchmod(file, mode | 0400) == 0 ? write_all(file, text) : nl_raise_errno(errno, "Writing", nl_str_from(path));
    close(file);
    if (!status && rename(temporary, path) != 0) status = nl_raise_errno(errno, "Writing", nl_str_from(path));
    if (status) unlink(temporary);
    return status;
}

static nl_status make_folder_of(nl_arena *arena, const char *path, const char **folder)
{
    const nl_str whole = nl_str_from(path);
    const size_t slash = nl_str_find_last_char(whole, '/');
    *folder = slash == NL_NOT_FOUND ? "." : slash == 0 ? "/" : nl_str_c(arena, nl_str_slice(whole, 0, slash));
    return mkdir(*folder, 0700) == 0 || errno == EEXIST ? NULL : nl_raise_errno(errno, "Making the folder", nl_str_from(*folder));
}

/* The folder's descriptor holds a lock against another nilas until it is closed. */
static nl_status lock_folder(nl_arena *arena, const char *path, int *folder)
{
    const char *name = NULL;
    NL_TRY(make_folder_of(arena, path, &name));
    *folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0) return nl_raise_errno(errno, "Opening", nl_str_from(name));
    if (flock(*folder, LOCK_EX) == 0) return NULL;
    const int error = errno;
    close(*folder);
    return nl_raise_errno(error, "Locking", nl_str_from(name));
}

/* ---- The profile. */

static nl_str services_block(nl_arena *arena, const nl_up_options *options, nl_property *settings, uint32_t *setting_count)
{
    for (uint32_t i = 0; i < nl_up_service_count; i++) {
        if (!nl_up_services[i].aws_name) continue;
        settings[(*setting_count)++] =
            (nl_property){nl_str_from(nl_up_services[i].aws_name), nl_arena_f(arena, "\n    endpoint_url = http://localhost:%u", options->ports[i])};
    }
    return nl_arena_f(arena, "services " NL_STR_FMT, NL_STR_ARG(options->profile));
}

static nl_status write_config(const nl_up_options *options, nl_arena *arena, const char *path, nl_str text, nl_str header)
{
    nl_property services[NL_UP_SERVICES_MAX];
    uint32_t service_count = 0;
    const nl_str services_header = services_block(arena, options, services, &service_count);
    const nl_property settings[] = {
        {NL_STR("region"), NL_STR("us-east-1")}, {NL_STR("services"), options->profile}, {NL_STR("s3"), NL_STR("\n    addressing_style = path\n    signature_version = s3v4")}};
    const nl_str first = nl_ini_set(arena, text, header, settings, NL_COUNT(settings));
    const nl_str edited = nl_ini_set(arena, first, services_header, services, service_count);
    return nl_str_equal(edited, text) ? NULL : replace_file(arena, path, edited);
}

static nl_status write_credentials(const nl_up_options *options, nl_arena *arena, const char *path, nl_str text)
{
    const nl_property settings[] = {{NL_STR("aws_access_key_id"), options->access_key}, {NL_STR("aws_secret_access_key"), options->secret_key}};
    const nl_str edited = nl_ini_set(arena, text, options->profile, settings, NL_COUNT(settings));
    return nl_str_equal(edited, text) ? NULL : replace_file(arena, path, edited);
}

static nl_status configure_locked(const nl_up_options *options, nl_arena *arena, const char *config, const char *credentials)
{
    nl_str config_text, credentials_text;
    const char *folder = NULL;
    NL_TRY(make_folder_of(arena, credentials, &folder));
    NL_TRY(read_file(arena, config, &config_text));
    NL_TRY(read_file(arena, credentials, &credentials_text));
    const bool is_default = nl_str_is(options->profile, "default");
    const nl_str header = is_default ? options->profile : nl_arena_f(arena, "profile " NL_STR_FMT, NL_STR_ARG(options->profile));
    const nl_str key = nl_ini_get(credentials_text, options->profile, NL_STR("aws_access_key_id"));
    const bool is_own = nl_str_equal(nl_ini_get(config_text, header, NL_STR("services")), options->profile);
    if (key.length && !nl_str_equal(key, options->access_key) && !is_own)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the AWS profile " NL_STR_FMT " has credentials that nilas did not write (%s); choose another name with --profile", NL_STR_ARG(options->profile),
                             credentials);
    NL_TRY(write_config(options, arena, config, config_text, header));
    return write_credentials(options, arena, credentials, credentials_text);
}

nl_status nl_up_configure(const nl_up_options *options, nl_arena *arena, nl_str *config_path)
{
    const char *config = file_path(arena, "AWS_CONFIG_FILE", "config"), *credentials = file_path(arena, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    int folder = -1;
    NL_TRY(lock_folder(arena, config, &folder));
    nl_status status = configure_locked(options, arena, config, credentials);
    close(folder);
    *config_path = nl_str_from(config);
    return status;
}
