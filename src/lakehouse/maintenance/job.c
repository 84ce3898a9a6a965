/* lakehouse/maintenance/job.c - see job.h. Names and texts become quoted parts of the statement, never bare ones. */
#include "lakehouse/maintenance/job.h"

#define STATEMENT_BYTES_MAX (1u << 20)

static void append_doubled(nl_builder *out, nl_str part)
{
    nl_append_char(out, '`');
    for (size_t i = 0; i < part.length; i++) {
        if (part.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, part.data[i]);
    }
    nl_append_char(out, '`');
}

/* "`sales`.`orders`" */
static void append_table(nl_builder *out, const nl_identifier *identifier)
{
    for (uint32_t i = 0; i < identifier->namespace_count; i++) {
        append_doubled(out, identifier->namespace_parts[i]);
        nl_append_char(out, '.');
    }
    append_doubled(out, identifier->name);
}

static void append_literal(nl_builder *out, nl_str text)
{
    nl_append_char(out, '\'');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') nl_append_char(out, '\\');
        nl_append_char(out, text.data[i]);
    }
    nl_append_char(out, '\'');
}

nl_str nl_maintenance_statement(const nl_maintenance_job *job, nl_arena *arena)
{
    nl_builder table, out;
    nl_builder_init(&table, STATEMENT_BYTES_MAX);
    nl_builder_init(&out, STATEMENT_BYTES_MAX);
    append_table(&table, job->identifier);
    if (nl_str_is(nl_str_from(job->procedure), "set_properties")) {
        nl_append_f(&out, "ALTER TABLE lake." NL_STR_FMT " SET TBLPROPERTIES (" NL_STR_FMT ")", NL_STR_ARG(nl_builder_str(&table)), NL_STR_ARG(job->arguments));
    } else {
        nl_append_f(&out, "CALL lake.system.%s(table => ", job->procedure);
        append_literal(&out, nl_builder_str(&table));
        if (job->arguments.length) nl_append_f(&out, ", " NL_STR_FMT, NL_STR_ARG(job->arguments));
        nl_append_char(&out, ')');
    }
    const nl_str text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&table);
    nl_builder_fini(&out);
    return text;
}

nl_status nl_maintenance_session(const nl_maintenance_job *job, nl_session **session)
{
    static const nl_property confs[] = {
        {NL_STR_INIT("spark.sql.session.timeZone"), NL_STR_INIT("UTC")},
        {NL_STR_INIT("spark.master"), NL_STR_INIT("local[1]")}, /* from here on: in the background only */
        {NL_STR_INIT("spark.nilas.memory"), NL_STR_INIT("512m")},
    };
    nl_session *made = NULL;
    nl_catalog *catalog = NULL;
    NL_TRY(nl_session_new(confs, job->is_background ? NL_COUNT(confs) : 1, &made));
    nl_status status = nl_tables_catalog(job->tables, job->warehouse_id, NL_STR("lake"), nl_session_environment(made), &catalog);
    if (!status) status = nl_session_put_catalog(made, catalog);
    if (status) nl_session_free(made);
    else *session = made;
    return status;
}

nl_status nl_maintenance_run(const nl_maintenance_job *job, nl_session *session, nl_status (*take)(void *argument, nl_result *result), void *argument)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_result *result = NULL;
    nl_running_query *running = NULL;
    const nl_str statement = nl_maintenance_statement(job, arena);
    nl_status status = job->queries ? nl_query_begin(job->queries, job->source, job->id, statement, session, &running) : NULL;
    if (!status) status = nl_command_run(session, statement, &result);
    if (!status && take) status = take(argument, result);
    nl_result_close(result);
    nl_query_end(running);
    nl_arena_free(arena);
    return status;
}
