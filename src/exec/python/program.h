/* exec/python/program.h - pieces of starting a Python, for workers and for the shell's programs. */
#pragma once

#include "base/arena.h"

/* As a shell would find it; a path stays as it is. Empty: not there. */
nl_str nl_python_on_path(nl_arena *arena, nl_str name);
/* That of an activated environment ($VIRTUAL_ENV, $CONDA_PREFIX); empty: there is none. */
nl_str nl_python_of_environment(nl_arena *arena);
/* A text from `text` to `end` as an open file without a name, at its beginning, closed on exec. The caller closes it. */
NL_MUST_USE nl_status nl_python_source_file(const char *text, const char *end, int *file);
