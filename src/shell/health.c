/* shell/health.c - see health.h. The same facts as the dashboard shows, from iceberg/health.h. */
#include "shell/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iceberg/health.h"
#include "shell/script.h"
#include "shell/spark_options.h"
#include "sql/parser.h"

#define BAR_CHARACTERS 40

void nl_health_print_help(void)
{
    printf("Usage: nilas health TABLE [options]\n\nShows how an Iceberg table is laid out, what is costly about it, and which procedures would help.\nReads metadata and manifests only, and "
           "changes nothing. Options are those of `nilas sql`, as --conf for the catalog.\n");
}

static nl_str size_text(nl_arena *arena, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    uint32_t unit = 0;
    for (; value >= 1024 && unit + 1 < NL_COUNT(units); unit++) value /= 1024;
    return nl_arena_f(arena, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

static void print_facts(nl_arena *arena, const nl_table_health *health)
{
    const int64_t deletes = health->position_deletes + health->equality_deletes + health->vector_deletes;
    printf("Data files     %lld (%s)", (long long)health->data_files, size_text(arena, health->data_bytes).data);
    if (health->partitions) printf(" in %lld partitions", (long long)health->partitions);
    if (health->data_files) printf("; mean %s, target %s", size_text(arena, health->data_bytes / health->data_files).data, size_text(arena, health->target_file_bytes).data);
    printf("\nRows           %lld\n", (long long)health->rows);
    printf("Deletes        %lld", (long long)deletes);
    if (health->rows) printf(" (%.1f %% of the rows)", 100.0 * (double)deletes / (double)health->rows);
    printf(": %lld position delete files, %lld equality delete files, %lld deletion vectors\n", (long long)health->position_delete_files, (long long)health->equality_delete_files,
           (long long)health->vectors);
    if (health->dangling_delete_files) printf("               %lld delete files apply to no data file any more\n", (long long)health->dangling_delete_files);
    printf("Manifests      %lld of data, %lld of deletes (%s)\n", (long long)health->data_manifests, (long long)health->delete_manifests, size_text(arena, health->manifest_bytes).data);
    printf("Snapshots      %lld, of which %lld may expire\n", (long long)health->snapshots, (long long)health->expirable_snapshots);
    printf("Metadata file  %s, names %lld earlier ones\n", size_text(arena, health->metadata_bytes).data, (long long)health->metadata_log);
}

static void print_histogram(nl_arena *arena, const nl_table_health *health)
{
    int64_t most = 1;
    for (uint32_t i = 0; i < NL_HEALTH_SIZES; i++) most = NL_MAX(most, health->size_files[i]);
    printf("\nData files by size\n");
    for (uint32_t i = 0; i < NL_HEALTH_SIZES; i++) {
        const bool is_last = i + 1 == NL_HEALTH_SIZES;
        printf("  %-5s %9s  %8lld  ", is_last ? "from" : "below", size_text(arena, nl_health_size_limit(is_last ? i - 1 : i)).data, (long long)health->size_files[i]);
        const int64_t length = (health->size_files[i] * BAR_CHARACTERS + most - 1) / most;
        for (int64_t k = 0; k < length; k++) putchar('#');
        putchar('\n');
    }
}

static void print_advice(const nl_session_name *name, const nl_table_health *health)
{
    printf("\nWhat to run\n");
    if (health->advice_count == 0) printf("  Nothing: the table is in good shape.\n");
    nl_builder table;
    nl_builder_init(&table, 1 << 16);
    for (uint32_t i = 0; i < name->identifier.namespace_count; i++) nl_append_f(&table, NL_STR_FMT ".", NL_STR_ARG(name->identifier.namespace_parts[i]));
    nl_append(&table, name->identifier.name);
    for (uint32_t i = 0; i < health->advice_count; i++) {
        const nl_health_advice *advice = &health->advice[i];
        if (strcmp(advice->procedure, "set_properties") == 0)
            printf("  ALTER TABLE " NL_STR_FMT ".%s SET TBLPROPERTIES (" NL_STR_FMT ")\n", NL_STR_ARG(name->catalog_name), nl_builder_c(&table), NL_STR_ARG(advice->arguments));
        else
            printf("  CALL " NL_STR_FMT ".system.%s(table => '%s'%s" NL_STR_FMT ")\n", NL_STR_ARG(name->catalog_name), advice->procedure, nl_builder_c(&table),
                   advice->arguments.length ? ", " : "", NL_STR_ARG(advice->arguments));
        printf("    " NL_STR_FMT "; it " NL_STR_FMT ".\n", NL_STR_ARG(advice->why), NL_STR_ARG(advice->effect));
    }
    nl_builder_fini(&table);
}

static nl_status show(nl_session *session, nl_arena *arena, const char *text)
{
    nl_ast_name parsed;
    nl_session_name name;
    nl_iceberg_table *table = NULL;
    nl_table_health health;
    NL_TRY(nl_sql_parse_name(arena, nl_str_from(text), NULL, &parsed));
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, parsed.count + 1);
    for (uint32_t i = 0; i < parsed.count; i++) parts[i] = parsed.parts[i].text;
    NL_TRY(nl_session_resolve(session, parts, parsed.count, arena, &name));
    NL_TRY(nl_catalog_load_table(name.catalog, &name.identifier, &table));
    nl_status status = nl_table_health_read(table, nl_session_pool(session), nl_session_memory(session), arena, &health);
    if (!status) {
        printf(NL_STR_FMT "\n\n", NL_STR_ARG(table->name));
        print_facts(arena, &health);
        if (health.data_files) print_histogram(arena, &health);
        print_advice(&name, &health);
    }
    nl_iceberg_table_release(table);
    return status;
}

int nl_health_main(int argument_count, char **arguments)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_spark_flags flags = {0};
    nl_session *session = NULL;
    const bool is_first = argument_count > 0 && arguments[0][0] != '-';
    bool has_table = is_first;
    int exit_status = EXIT_SUCCESS;
    nl_status status = NULL;
    if (!is_first && argument_count > 1 && arguments[argument_count - 1][0] != '-') { /* behind the options, unless it is a value of the last one */
        status = nl_spark_flags_parse(arena, NL_SPARK_SQL, argument_count - 1, arguments, &flags);
        has_table = status == NULL;
        nl_error_free(status);
    }
    if (is_first || !has_table) {
        flags = (nl_spark_flags){0};
        status = nl_spark_flags_parse(arena, NL_SPARK_SQL, argument_count - is_first, arguments + is_first, &flags);
    }
    if (!status && flags.wants_help) {
        nl_health_print_help();
    } else if (!status && flags.wants_version) {
        printf("nilas %s\n", NILAS_VERSION);
    } else if (status || !has_table) {
        exit_status = NL_EXIT_WRONG_USAGE;
        if (status) nl_shell_print_error(status);
        else fprintf(stderr, "nilas health wants a TABLE, as nilas health lake.sales.orders\n");
    } else {
        status = nl_spark_flags_open_session(&flags, &session);
        if (!status) status = show(session, arena, arguments[is_first ? 0 : argument_count - 1]);
        if (status) nl_shell_print_error(status);
        if (status) exit_status = EXIT_FAILURE;
    }
    nl_session_free(session);
    nl_arena_free(arena);
    return exit_status;
}
