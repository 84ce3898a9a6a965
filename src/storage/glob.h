/* storage/glob.h - patterns of names and paths as Hadoop reads them, over any file system.
 *
 * `*` and `?` stay within one part of a path, and match names that begin with a dot, too. [a-z] [^a] [!a] are characters,
 * {a,b} alternatives, which may hold slashes and nest; a backslash takes the next character as it is.
 */
#pragma once

#include "storage/filesystem.h"

typedef struct nl_glob nl_glob; /* of one name; in an arena */

bool nl_glob_is_pattern(nl_str path); /* holds one of * ? [ ] { } \ */
/* Fails: NILAS_ILLEGAL_ARGUMENT for a group or character class without its end, and a backslash at the end. */
NL_MUST_USE nl_status nl_glob_compile(nl_arena *arena, nl_str pattern, const nl_glob **glob);
bool nl_glob_matches(const nl_glob *glob, nl_str name); /* time: name times pattern, whatever they are */

/* Files and folders that a path with patterns stands for, by path, each once; all in the arena. *infos is empty when there
 * are none. The bucket of an object store is taken as it is. Fails: as compiling and listing do; NILAS_ILLEGAL_ARGUMENT
 * for groups that stand for too many paths. Blocks. */
NL_MUST_USE nl_status nl_fs_glob(nl_fs *fs, nl_str pattern, nl_arena *arena, const nl_file_info **infos, uint32_t *info_count);
