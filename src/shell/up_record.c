/* shell/up_record.c - the file by which `down`, `status` and `dashboard` know what a running `nilas up` serves: lines of a
 * word and a number. Whether it still runs is told by the lock of the folder, not by this file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/number.h"
#include "lakehouse/state.h"
#include "shell/up.h"
#include "storage/io_error.h"

#define RECORD_BYTES_MAX 4096

static nl_status path_of(nl_str folder, const char *name, char path[NL_PATH_BYTES_MAX])
{
    if (folder.length + 32 > NL_PATH_BYTES_MAX) return nl_raise_io("Opening", folder, "the name is too long");
    snprintf(path, NL_PATH_BYTES_MAX, NL_STR_FMT "/%s", NL_STR_ARG(folder), name);
    return NULL;
}

nl_status nl_up_record_write(nl_str folder, const nl_up_record *record)
{
    char path[NL_PATH_BYTES_MAX], temporary[NL_PATH_BYTES_MAX], text[RECORD_BYTES_MAX];
    NL_TRY(path_of(folder, "services", path));
    NL_TRY(path_of(folder, "services.new", temporary));
    int length = snprintf(text, sizeof(text), "pid %lld\nstarted %lld\n", (long long)record->pid, (long long)record->started_micros);
    for (uint32_t i = 0; i < nl_up_service_count; i++)
        if (record->ports[i]) length += snprintf(text + length, sizeof(text) - (size_t)length, "%s %u\n", nl_up_services[i].name, record->ports[i]);
    const int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return nl_raise_errno(errno, "Writing", nl_str_from(temporary));
    const bool is_written = write(file, text, (size_t)length) == length;
    close(file);
    return is_written && rename(temporary, path) == 0 ? NULL : nl_raise_errno(errno, "Writing", nl_str_from(path));
}

static void read_line(nl_str line, nl_up_record *record)
{
    const size_t space = nl_str_find_char(line, ' ', 0);
    int64_t number = 0;
    if (space == NL_NOT_FOUND || !nl_parse_int64(nl_str_slice(line, space + 1, line.length), &number)) return;
    const nl_str word = nl_str_slice(line, 0, space);
    const uint32_t service = nl_up_service_find(word);
    if (nl_str_is(word, "pid")) record->pid = number;
    else if (nl_str_is(word, "started")) record->started_micros = number;
    else if (service < nl_up_service_count) record->ports[service] = (uint16_t)number;
}

nl_status nl_up_record_read(nl_str folder, nl_up_record *record, bool *is_up)
{
    *record = (nl_up_record){0};
    const int64_t pid = nl_state_server(folder);
    *is_up = pid != 0;
    if (!*is_up) return NULL;
    char path[NL_PATH_BYTES_MAX], text[RECORD_BYTES_MAX];
    NL_TRY(path_of(folder, "services", path));
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const ssize_t length = file >= 0 ? read(file, text, sizeof(text)) : 0;
    if (file >= 0) close(file);
    nl_str rest = {text, (size_t)NL_MAX(length, 0)};
    for (nl_str line; nl_str_next_part(&rest, '\n', &line);) read_line(line, record);
    /* One that is starting has not written its own yet. */
    if (record->pid != pid) *record = (nl_up_record){.pid = pid};
    return NULL;
}
