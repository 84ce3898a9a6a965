/* shell/completion.h - completes keywords, functions, catalogs, namespaces and tables at the terminal. */
#pragma once

#include "session/session.h"

void nl_completion_install(nl_session *session); /* borrowed until the program ends */
