/* connect/plan.c - relations and commands of a client, run. */
#include "connect/plan.h"

static nl_status not_yet(void)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "This relation or command of Spark Connect is not supported yet.");
}

nl_status nl_connect_run(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result)
{
    (void)host, (void)relation, (void)result;
    return not_yet();
}

nl_status nl_connect_analyze(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_result **result)
{
    (void)host, (void)relation, (void)result;
    return not_yet();
}

nl_status nl_connect_explain(nl_connect_host *host, const Spark__Connect__Relation *relation, int mode, nl_arena *arena, nl_str *text)
{
    (void)host, (void)relation, (void)mode, (void)arena, (void)text;
    return not_yet();
}

nl_status nl_connect_input_files(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, const nl_str **files, uint32_t *count)
{
    (void)host, (void)relation, (void)arena, (void)files, (void)count;
    return not_yet();
}

nl_status nl_connect_command(nl_connect_host *host, const Spark__Connect__Command *command, nl_arena *arena, nl_connect_answer *answer)
{
    (void)host, (void)command, (void)arena, (void)answer;
    return not_yet();
}
