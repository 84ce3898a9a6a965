/* connect/write.h - DataFrame.write, writeTo and mergeInto: statements whose source is a DataFrame. */
#pragma once

#include "connect/translate.h"

NL_MUST_USE nl_status nl_connect_write(nl_connect_host *host, const Spark__Connect__WriteOperation *message, nl_arena *arena, nl_connect_answer *answer);
NL_MUST_USE nl_status nl_connect_write_v2(nl_connect_host *host, const Spark__Connect__WriteOperationV2 *message, nl_arena *arena, nl_connect_answer *answer);
NL_MUST_USE nl_status nl_connect_merge(nl_connect_host *host, const Spark__Connect__MergeIntoTableCommand *message, nl_arena *arena, nl_connect_answer *answer);
