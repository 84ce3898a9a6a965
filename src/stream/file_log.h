/* stream/file_log.h - the folder _spark_metadata of a file sink: which files of a folder count. Each batch has a file, one JSON
 * object a line; every tenth holds all of them (N.compact). */
#pragma once

#include "base/json.h"
#include "storage/filesystem.h"

/* Paths of the local disk as "file:///a", others as they are; and back. */
nl_str nl_stream_file_uri(nl_arena *arena, nl_str path);
nl_str nl_stream_uri_path(nl_arena *arena, nl_str uri);

/* The files that the folder's log counts (nl_file_info *, in the arena). *is_sink false: there is no log. */
NL_MUST_USE nl_status nl_stream_sink_log_files(nl_fs *fs, nl_str folder, nl_arena *arena, nl_list *files, bool *is_sink);
/* Is the batch in the log? */
NL_MUST_USE nl_status nl_stream_sink_log_has(nl_fs *fs, nl_str folder, int64_t batch, bool *is_there);
/* The batch's files count from now on. Fails: NILAS_ALREADY_EXISTS. */
/* Makes the log's folder, so that readers know from the beginning whose folder this is. */
NL_MUST_USE nl_status nl_stream_sink_log_open(nl_fs *fs, nl_str folder);
NL_MUST_USE nl_status nl_stream_sink_log_add(nl_fs *fs, nl_str folder, int64_t batch, const nl_file_info *files, uint32_t file_count);
