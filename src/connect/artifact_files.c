/* connect/artifact_files.c - artifacts that workers in Python look for as files: in a folder of the session that ends with it.
 *
 * The folder's name has this process's id: what a process that was killed has left behind is removed by the next one.
 * Workers learn of it by three settings: nilas.python.files (the folder), .includes (packages on Python's path) and
 * .archives ("name#folder": unpacked by the first worker that needs them), names apart by line ends.
 */
#include "connect/service_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "storage/io_error.h"

#define FOLDER_PREFIX "nilas-files-"
#define TEXT_BYTES_MAX (1u << 20)

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    enum { OPEN_MAX = 16 };
    (void)nftw(path, remove_entry, OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

void nl_client_free_files(nl_client *client)
{
    if (client->files_root) remove_folder(client->files_root);
    free(client->files_root);
    client->files_root = NULL;
}

static const char *directory_of(const nl_connect *connect)
{
    const nl_str directory = nl_session_local_directory(connect->shared);
    return directory.length ? directory.data : "/tmp";
}

/* A folder of ours whose process has ended. */
static bool is_left_behind(const char *directory, const char *name)
{
    struct stat status;
    char path[4096];
    int64_t process = 0;
    const nl_str prefix = NL_STR(FOLDER_PREFIX), whole = nl_str_from(name);
    if (!nl_str_starts(whole, prefix)) return false;
    nl_str rest = nl_str_slice(whole, prefix.length, whole.length), number;
    if (!nl_str_next_part(&rest, '-', &number) || !nl_parse_int64(number, &process) || process <= 0 || process > INT32_MAX) return false;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) return false;
    return kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

void nl_connect_clean_files(const nl_connect *connect)
{
    const char *directory = directory_of(connect);
    DIR *list = opendir(directory);
    char path[4096];
    for (const struct dirent *entry = list ? readdir(list) : NULL; entry; entry = readdir(list)) {
        if (!is_left_behind(directory, entry->d_name)) continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        remove_folder(path);
    }
    if (list) closedir(list);
}

static nl_status make_root(nl_client *client)
{
    char path[4096];
    if (client->files_root) return NULL;
    const int length = snprintf(path, sizeof path, "%s/" FOLDER_PREFIX "%d-XXXXXX", directory_of(client->connect), (int)getpid());
    if (length < 0 || (size_t)length >= sizeof path || !mkdtemp(path)) return nl_raise_errno(errno, "Making", NL_STR("a folder for artifacts"));
    client->files_root = strdup(path);
    if (client->files_root) return NULL;
    remove_folder(path);
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", length), NL_P("receivedBytes", "0"));
}

/* Folders on the way to a file; the name was checked. */
static void make_parents(char *path, size_t root_length)
{
    for (char *slash = strchr(path + root_length + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static nl_status write_file(const nl_client *client, const char *below, nl_str name, nl_bytes content)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s" NL_STR_FMT, client->files_root, below, NL_STR_ARG(name));
    if (length < 0 || (size_t)length >= sizeof path) return nl_raise_errno(ENAMETOOLONG, "Writing", name);
    make_parents(path, strlen(client->files_root));
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) return NL_RAISE(ARTIFACT_ALREADY_EXISTS, NL_P_STR("normalizedRemoteRelativePath", name));
    if (file < 0) return nl_raise_errno(errno, "Making", nl_str_from(path));
    nl_status status = NULL;
    for (size_t done = 0; done < content.length && !status;) {
        const ssize_t written = write(file, content.data + done, content.length - done);
        if (written < 0 && errno != EINTR) status = nl_raise_errno(errno, "Writing", nl_str_from(path));
        if (written > 0) done += (size_t)written;
    }
    close(file);
    return status;
}

/* The names without their prefix; those of archives with "#folder". */
typedef struct published {
    nl_builder includes, archives;
} published;

static nl_str after_slash(nl_str name)
{
    const size_t slash = nl_str_find_char(name, '/', 0);
    return nl_str_slice(name, slash + 1, name.length);
}

static void note(published *p, nl_str artifact)
{
    const nl_str name = after_slash(artifact);
    if (nl_str_starts(artifact, NL_STR("archives/"))) nl_append_f(&p->archives, "%s" NL_STR_FMT, p->archives.length ? "\n" : "", NL_STR_ARG(name));
    if (nl_str_starts(artifact, NL_STR("pyfiles/")) && !nl_str_ends(name, NL_STR(".py")))
        nl_append_f(&p->includes, "%s" NL_STR_FMT, p->includes.length ? "\n" : "", NL_STR_ARG(name));
}

static bool is_file(nl_str artifact)
{
    return nl_str_starts(artifact, NL_STR("files/")) || nl_str_starts(artifact, NL_STR("pyfiles/")) || nl_str_starts(artifact, NL_STR("archives/"));
}

/* Everything that is new, oldest last in the list; the list only grows at its head, so what was read stays. */
static nl_status publish(nl_client *client, nl_artifact *first, published *p, bool *is_any)
{
    for (nl_artifact *artifact = first; artifact; artifact = artifact->next) {
        if (!is_file(artifact->name)) continue;
        note(p, artifact->name);
        if (artifact->is_published) continue;
        nl_str name = after_slash(artifact->name);
        const bool is_archive = nl_str_starts(artifact->name, NL_STR("archives/")); /* unpacked, its folder has the name */
        if (is_archive) name = nl_str_slice(name, 0, NL_MIN(nl_str_find_char(name, '#', 0), name.length));
        NL_TRY(make_root(client));
        NL_TRY(write_file(client, is_archive ? ".archives/" : "", name, artifact->content));
        artifact->is_published = *is_any = true;
    }
    return NULL;
}

nl_status nl_client_publish_files(nl_client *client)
{
    nl_session *session = NULL;
    published p;
    bool is_any = false;
    NL_TRY(nl_client_session(client, &session));
    nl_mutex_lock(&client->mutex);
    nl_artifact *first = client->artifacts;
    nl_mutex_unlock(&client->mutex);
    nl_builder_init(&p.includes, TEXT_BYTES_MAX);
    nl_builder_init(&p.archives, TEXT_BYTES_MAX);
    nl_status status = publish(client, first, &p, &is_any);
    if (!status && is_any) status = nl_session_set(session, NL_STR("nilas.python.files"), nl_str_from(client->files_root));
    if (!status && is_any) status = nl_session_set(session, NL_STR("nilas.python.includes"), nl_builder_str(&p.includes));
    if (!status && is_any) status = nl_session_set(session, NL_STR("nilas.python.archives"), nl_builder_str(&p.archives));
    nl_builder_fini(&p.includes);
    nl_builder_fini(&p.archives);
    return status;
}
