/* storage/path.c - the forms of paths, and which file system a path belongs to. Path text is never decoded: Iceberg and
 * Hadoop write "%20" and mean these three characters.
 */
#include "storage/filesystem.h"

#include "storage/fault.h"
#include "storage/s3.h"

/* What stands before the colon of a URI; empty for a plain path, whose colons come after a slash. */
static nl_str scheme_of(nl_str path)
{
    size_t length = 0;
    for (; length < path.length && path.data[length] != ':'; length++) {
        char c = path.data[length];
        bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        bool is_other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!is_letter && (length == 0 || !is_other)) return (nl_str){NULL, 0};
    }
    return length == path.length ? (nl_str){NULL, 0} : nl_str_slice(path, 0, length);
}

nl_status nl_fs_for_path(nl_str path, nl_fs **fs)
{
    nl_str scheme = scheme_of(path);
    if (scheme.length == 0 || nl_str_is_nocase(scheme, "file")) {
        *fs = nl_fault_from_environment(nl_fs_local());
        return NULL;
    }
    if (nl_str_is_nocase(scheme, "s3") || nl_str_is_nocase(scheme, "s3a") || nl_str_is_nocase(scheme, "s3n")) return nl_fs_from_properties(NULL, 0, NULL, fs);
    if (nl_str_is_nocase(scheme, "http") || nl_str_is_nocase(scheme, "https")) /* Hadoop has them, and they list nothing */
        return NL_RAISE(FAILED_READ_FILE__UNSUPPORTED_FILE_SYSTEM, NL_P_STR("path", path), NL_P("method", "listStatus"),
                        NL_P("fileSystemClass", nl_str_is_nocase(scheme, "http") ? "org.apache.hadoop.fs.http.HttpFileSystem" : "org.apache.hadoop.fs.http.HttpsFileSystem"));
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                         "No file system for scheme \"" NL_STR_FMT "\" (path " NL_STR_FMT "); there are: file, s3, s3a, s3n.",
                         NL_STR_ARG(scheme), NL_STR_ARG(path));
}

nl_str nl_path_local(nl_arena *arena, nl_str path)
{
    if (!nl_str_is_nocase(scheme_of(path), "file")) return path;
    nl_str rest = nl_str_slice(path, sizeof "file:" - 1, path.length);
    if (nl_str_starts(rest, NL_STR("//localhost/")))
        rest = nl_str_slice(rest, sizeof "//localhost" - 1, rest.length);
    else if (nl_str_starts(rest, NL_STR("//")) && !nl_str_starts(rest, NL_STR("///")))
        return path; /* another machine's file: not ours to open */
    char *copy = nl_arena_alloc(arena, rest.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < rest.length; i++)
        if (rest.data[i] != '/' || length == 0 || copy[length - 1] != '/') copy[length++] = rest.data[i];
    return (nl_str){copy, length};
}

bool nl_path_is_remote(nl_str path)
{
    const nl_str scheme = scheme_of(path);
    return scheme.length > 0 && !nl_str_is_nocase(scheme, "file") && !nl_str_is_nocase(scheme, "memory");
}

nl_str nl_path_join(nl_arena *arena, nl_str folder, nl_str name)
{
    while (name.length > 0 && name.data[0] == '/') name = nl_str_slice(name, 1, name.length);
    bool has_slash = nl_str_ends(folder, NL_STR("/"));
    if (folder.length == 0) return nl_arena_str(arena, name);
    return nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(folder), has_slash ? "" : "/", NL_STR_ARG(name));
}

static nl_str without_end_slashes(nl_str path)
{
    while (path.length > 1 && path.data[path.length - 1] == '/') path.length--;
    return path;
}

nl_str nl_path_name(nl_str path)
{
    path = without_end_slashes(path);
    size_t slash = nl_str_find_last_char(path, '/');
    return slash == NL_NOT_FOUND ? path : nl_str_slice(path, slash + 1, path.length);
}

nl_str nl_path_parent(nl_str path)
{
    path = without_end_slashes(path);
    size_t slash = nl_str_find_last_char(path, '/');
    if (slash == NL_NOT_FOUND) return (nl_str){NULL, 0};
    nl_str scheme = scheme_of(path);
    size_t root = scheme.length > 0 ? scheme.length + 1 : 0; /* never cut into "file:/" or "s3://" */
    while (root < path.length && path.data[root] == '/') root++;
    return slash < root ? nl_str_slice(path, 0, root) : nl_str_slice(path, 0, slash);
}
