/* lakehouse/rooted_fs.h - local files below one folder only: metadata that clients write names files, and purging or reading
 * must not follow it elsewhere. */
#pragma once

#include "storage/filesystem.h"

/* Is the path below root (not root itself), without ".." on the way? Both local, in any form. */
bool nl_path_is_below(nl_str path, nl_str root);
/* below: retained. Every path outside fails with NILAS_ILLEGAL_ARGUMENT naming it. Counted. */
NL_MUST_USE nl_status nl_fs_rooted_new(nl_fs *below, nl_str root, nl_fs **fs);
