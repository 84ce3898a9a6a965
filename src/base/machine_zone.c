/* base/machine_zone.c - see machine_zone.h. */
#include "base/machine_zone.h"

#include <stdlib.h>
#include <unistd.h>

const nl_timezone *nl_timezone_machine(void)
{
    char target[512];
    const nl_timezone *zone = nl_timezone_utc();
    nl_str name = nl_str_from(getenv("TZ"));
    if (name.length == 0) {
        const ssize_t length = readlink("/etc/localtime", target, sizeof target);
        const nl_str link = {target, length > 0 ? (size_t)length : 0};
        const size_t at = nl_str_find(link, NL_STR("zoneinfo/"), 0);
        if (at != NL_NOT_FOUND) name = nl_str_slice(link, at + 9, link.length);
    }
    if (name.length > 0 && name.data[0] == ':') name = nl_str_slice(name, 1, name.length);
    if (name.length > 0) {
        nl_error *error = nl_timezone_find(name, &zone);
        if (error) {
            nl_error_free(error);
            zone = nl_timezone_utc();
        }
    }
    return zone;
}
