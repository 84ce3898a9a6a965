/* exec/source/file_ahead.c - see file_ahead.h. Opening with a known size asks nothing, so files can be opened long before
 * somebody reads them; what was asked for ahead waits within them.
 */
#include "exec/source/file_ahead.h"

#include <stdlib.h>

#include "base/lock.h"

#define FILES_AHEAD 8u
#define WHOLE_BYTES (1u << 20)  /* smaller files are fetched in one piece */
#define TAIL_BYTES  (64u << 10) /* what reading a footer begins with      */
#define TAIL_BYTES_MAX (1u << 20) /* of large files: the page indexes lie before the footer */
#define TAIL_SHARE  256u

struct nl_file_ahead {
    nl_fs *fs;
    const nl_scan_unit *units;
    uint32_t unit_count;
    bool is_remote;
    nl_mutex mutex;
    nl_file **files;    /* guarded by mutex: opened and not taken yet, by unit */
    uint32_t next_unit; /* guarded by mutex: the first that was not looked at  */
};

nl_status nl_file_ahead_new(nl_fs *fs, const nl_scan_unit *units, uint32_t unit_count, nl_file_ahead **ahead)
{
    nl_file_ahead *made = calloc(1, sizeof(*made));
    nl_file **files = calloc(unit_count + 1u, sizeof(*files));
    if (!made || !files) {
        free(made);
        free(files);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(unit_count * sizeof(*files))), NL_P("receivedBytes", "0"));
    }
    *made = (nl_file_ahead){.fs = fs, .units = units, .unit_count = unit_count, .files = files};
    made->is_remote = unit_count > 0 && nl_path_is_remote(units[0].path);
    nl_mutex_init(&made->mutex);
    *ahead = made;
    return NULL;
}

void nl_file_ahead_free(nl_file_ahead *ahead)
{
    if (!ahead) return;
    for (uint32_t i = 0; i < ahead->unit_count; i++) nl_file_close(ahead->files[i]);
    nl_mutex_fini(&ahead->mutex);
    free(ahead->files);
    free(ahead);
}

static nl_status open_unit(nl_file_ahead *ahead, const nl_scan_unit *unit, nl_file **file)
{
    if (unit->size_bytes == 0) return nl_fs_open(ahead->fs, unit->path, file);
    NL_TRY(nl_fs_open_data(ahead->fs, unit->path, unit->size_bytes, unit->never_changes, file));
    const uint64_t tail = NL_MIN(NL_MAX(unit->size_bytes / TAIL_SHARE, (uint64_t)TAIL_BYTES), (uint64_t)TAIL_BYTES_MAX);
    const uint64_t length = unit->size_bytes <= WHOLE_BYTES ? unit->size_bytes : tail;
    const nl_range end = {.offset = unit->size_bytes - length, .length = length};
    nl_file_prefetch(*file, &end, 1);
    return NULL;
}

/* Opens those that come after `at`; a failure is left for whoever opens the file in earnest. */
static void look_ahead(nl_file_ahead *ahead, uint32_t at)
{
    for (;;) {
        nl_file *file = NULL;
        nl_mutex_lock(&ahead->mutex);
        ahead->next_unit = NL_MAX(ahead->next_unit, at + 1);
        const uint32_t next = ahead->next_unit;
        const bool is_far = next >= ahead->unit_count || next > at + FILES_AHEAD || ahead->units[next].size_bytes == 0;
        if (!is_far) ahead->next_unit++;
        nl_mutex_unlock(&ahead->mutex);
        if (is_far) return;
        nl_error_free(open_unit(ahead, &ahead->units[next], &file));
        nl_mutex_lock(&ahead->mutex);
        ahead->files[next] = file;
        nl_mutex_unlock(&ahead->mutex);
    }
}

nl_status nl_file_ahead_open(nl_file_ahead *ahead, const nl_scan_unit *unit, nl_file **file)
{
    if (!ahead->is_remote) return nl_fs_open(ahead->fs, unit->path, file);
    const uint32_t at = (uint32_t)(unit - ahead->units);
    NL_ASSERT(at < ahead->unit_count);
    nl_mutex_lock(&ahead->mutex);
    nl_file *opened = ahead->files[at];
    ahead->files[at] = NULL;
    nl_mutex_unlock(&ahead->mutex);
    if (!opened) NL_TRY(open_unit(ahead, unit, &opened));
    look_ahead(ahead, at);
    *file = opened;
    return NULL;
}
