/* command/plain_statistics.c - ANALYZE TABLE of tables over plain files: bytes and rows of the table or of its partitions. */
#include "command/facts.h"
#include "command/plain_tables.h"

#include "exec/source/plain_files.h"

#define TEXT_MAX (1u << 20)

const nl_plain_statistics *nl_plain_statistics_of(const nl_plain_table *table, nl_str folder)
{
    for (uint32_t i = 0; i < table->statistics_count; i++)
        if (nl_str_equal(table->statistics[i].folder, folder)) return &table->statistics[i];
    return NULL;
}

static nl_status add_size(void *argument, const nl_file_info *info)
{
    int64_t *bytes = argument;
    if (!info->is_directory) *bytes += (int64_t)info->size_bytes;
    return NULL;
}

/* Folders whose names begin with a point or an underscore hold no rows; neither do such files, which are few and small. */
static nl_status size_of(nl_command *command, const nl_plain_table *table, nl_str folder, int64_t *bytes)
{
    nl_fs *fs = NULL;
    *bytes = 0;
    NL_TRY(nl_session_files(command->session, &fs));
    return nl_fs_list(fs, folder.length ? nl_plain_folder_path(command, table, folder) : table->location, true, add_size, bytes);
}

/* "SELECT count(*) FROM `ns`.`t` WHERE CAST(`ds` AS STRING) = '2017-08-01' AND …": partition columns compare as texts. */
static nl_str count_query(nl_command *command, const nl_plain_table *table, nl_str folder)
{
    nl_builder text;
    nl_str part;
    nl_builder_init(&text, TEXT_MAX);
    nl_append_c(&text, "SELECT count(*) FROM ");
    nl_append(&text, nl_plain_quoted(command, table));
    for (uint32_t i = 0; nl_str_next_part(&folder, '/', &part); i++) {
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        const nl_str name = nl_plain_unescape(command->arena, nl_str_slice(part, 0, equals));
        const nl_str value = nl_plain_unescape(command->arena, nl_str_slice(part, NL_MIN(equals + 1, part.length), part.length));
        const bool is_null = nl_str_is(value, "__HIVE_DEFAULT_PARTITION__");
        nl_append_f(&text, " %s CAST(" NL_STR_FMT " AS STRING) %s", i ? "AND" : "WHERE", NL_STR_ARG(nl_command_quoted(command, &name, 1)), is_null ? "IS NULL" : "= '");
        for (size_t c = 0; c < value.length && !is_null; c++) {
            if (value.data[c] == '\'' || value.data[c] == '\\') nl_append_char(&text, '\\');
            nl_append_char(&text, value.data[c]);
        }
        if (!is_null) nl_append_char(&text, '\'');
    }
    return nl_facts_take(command, &text);
}

static nl_status count_rows(nl_command *command, const nl_plain_table *table, nl_str folder, int64_t *rows)
{
    nl_ast_statement *statement = NULL;
    const nl_logical *plan = NULL;
    nl_value value;
    uint32_t row_count = 0;
    NL_TRY(nl_sql_parse(command->arena, count_query(command, table, folder), NULL, &statement));
    NL_CHECK(statement->kind == NL_AST_STATEMENT_QUERY);
    NL_TRY(nl_analyze_query(&command->context, statement->query, &plan));
    NL_TRY(nl_command_first_row(command, plan, &value, &row_count));
    *rows = row_count > 0 ? value.integer : 0;
    return NULL;
}

static nl_status analyze_one(nl_command *command, const nl_plain_table *table, nl_str folder, bool is_noscan, nl_plain_statistics *found)
{
    *found = (nl_plain_statistics){.folder = folder, .row_count = -1};
    NL_TRY(size_of(command, table, folder, &found->size_bytes));
    return is_noscan ? NULL : count_rows(command, table, folder, &found->row_count);
}

nl_status nl_plain_analyze(nl_command *command, const nl_plain_table *table, const nl_ast_analyze *analyze)
{
    nl_plain_table changed = *table;
    nl_str *pieces;
    NL_TRY(nl_plain_check_own(command, table));
    if (analyze->is_all_columns || analyze->columns.count > 0) return NULL; /* minima and their kin are not kept: files have them */
    NL_TRY(nl_plain_pieces(command, table, analyze->partition, &pieces));
    nl_plain_statistics *items = NL_NEW_ARRAY(command->arena, nl_plain_statistics, table->statistics_count + table->folder_count + 2);
    uint32_t fresh = 0, count = 0;
    if (!analyze->partition) NL_TRY(analyze_one(command, table, NL_STR(""), analyze->is_noscan, &items[fresh++]));
    for (uint32_t i = 0; analyze->partition && i < table->folder_count; i++)
        if (nl_plain_matches(table, table->folders[i], pieces)) NL_TRY(analyze_one(command, table, table->folders[i], analyze->is_noscan, &items[fresh++]));
    count = fresh;
    for (uint32_t i = 0; i < table->statistics_count; i++) {
        bool is_fresh = false;
        for (uint32_t j = 0; j < fresh; j++) is_fresh = is_fresh || nl_str_equal(items[j].folder, table->statistics[i].folder);
        if (!is_fresh) items[count++] = table->statistics[i];
    }
    changed.statistics = items;
    changed.statistics_count = count;
    return nl_session_put_plain_table(command->session, &changed);
}
