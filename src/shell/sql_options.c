/* shell/sql_options.c - reads the command line and spark-defaults.conf. */
#include "shell/sql_options.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/distance.h"
#include "session/session.h"
#include "storage/filesystem.h"

/* What a flag does with its value. */
typedef enum flag_action {
    FLAG_STATEMENT, FLAG_FILE, FLAG_INIT, FLAG_SILENT, FLAG_VERBOSE, FLAG_DATABASE, FLAG_CONF, FLAG_VARIABLE, FLAG_NAMED_CONF,
    FLAG_PROPERTIES, FLAG_FORMAT, FLAG_HELP, FLAG_VERSION, FLAG_IGNORED
} flag_action;

typedef struct flag_row {
    const char *name;
    const char *short_name;
    bool has_value;
    flag_action action;
    const char *conf; /* FLAG_NAMED_CONF */
    const char *value_name;
    const char *help;
} flag_row;

static const flag_row flags_table[] = {
    {"--execute", "-e", true, FLAG_STATEMENT, NULL, "SQL", "run these statements"},
    {"--file", "-f", true, FLAG_FILE, NULL, "FILE", "run the statements of a file (- is standard input)"},
    {"--init", "-i", true, FLAG_INIT, NULL, "FILE", "run a file first"},
    {"--silent", "-S", false, FLAG_SILENT, NULL, NULL, "results only, no timings"},
    {"--verbose", "-v", false, FLAG_VERBOSE, NULL, NULL, "print each statement before it runs"},
    {"--database", NULL, true, FLAG_DATABASE, NULL, "NAME", "namespace to begin in"},
    {"--format", NULL, true, FLAG_FORMAT, NULL, "FORMAT", "table, csv, json, markdown or vertical; without it, spark-sql's own form"},
    {"--conf", "-c", true, FLAG_CONF, NULL, "KEY=VALUE", "set a configuration key"},
    {"--hiveconf", NULL, true, FLAG_CONF, NULL, "KEY=VALUE", "the same"},
    {"--define", "-d", true, FLAG_VARIABLE, NULL, "KEY=VALUE", "${KEY} in statements becomes VALUE"},
    {"--hivevar", NULL, true, FLAG_VARIABLE, NULL, "KEY=VALUE", "the same"},
    {"--properties-file", NULL, true, FLAG_PROPERTIES, NULL, "FILE", "read configuration from FILE instead of conf/spark-defaults.conf"},
    {"--name", NULL, true, FLAG_NAMED_CONF, "spark.app.name", "NAME", "name of the application"},
    {"--master", NULL, true, FLAG_NAMED_CONF, "spark.master", "MASTER", "local[N] limits the workers to N"},
    {"--driver-memory", NULL, true, FLAG_NAMED_CONF, "spark.driver.memory", "SIZE", "accepted"},
    {"--packages", NULL, true, FLAG_NAMED_CONF, "spark.jars.packages", "LIST", "accepted: nilas has what these would bring"},
    {"--jars", NULL, true, FLAG_IGNORED, NULL, "LIST", "accepted, not used"},
    {"--executor-memory", NULL, true, FLAG_IGNORED, NULL, "SIZE", NULL},
    {"--executor-cores", NULL, true, FLAG_IGNORED, NULL, "N", NULL},
    {"--num-executors", NULL, true, FLAG_IGNORED, NULL, "N", NULL},
    {"--total-executor-cores", NULL, true, FLAG_IGNORED, NULL, "N", NULL},
    {"--driver-cores", NULL, true, FLAG_IGNORED, NULL, "N", NULL},
    {"--driver-java-options", NULL, true, FLAG_IGNORED, NULL, "OPTIONS", NULL},
    {"--driver-class-path", NULL, true, FLAG_IGNORED, NULL, "PATH", NULL},
    {"--driver-library-path", NULL, true, FLAG_IGNORED, NULL, "PATH", NULL},
    {"--repositories", NULL, true, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--exclude-packages", NULL, true, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--deploy-mode", NULL, true, FLAG_IGNORED, NULL, "MODE", NULL},
    {"--queue", NULL, true, FLAG_IGNORED, NULL, "NAME", NULL},
    {"--files", NULL, true, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--archives", NULL, true, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--py-files", NULL, true, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--help", "-h", false, FLAG_HELP, NULL, NULL, "show this text"},
    {"-H", NULL, false, FLAG_HELP, NULL, NULL, NULL},
    {"--version", NULL, false, FLAG_VERSION, NULL, NULL, "show the version"},
};

void nl_sql_flags_print_help(void)
{
    printf("Usage: nilas sql [options]\n\nRuns Spark SQL on Iceberg tables and files. Takes spark-sql's options; without -e and -f it\n"
           "reads statements from the terminal or from standard input.\n\nOptions:\n");
    for (size_t i = 0; i < NL_COUNT(flags_table); i++) {
        const flag_row *row = &flags_table[i];
        if (!row->help) continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", row->short_name ? row->short_name : "", row->short_name ? ", " : "    ", row->name,
                 row->value_name ? " " : "", row->value_name ? row->value_name : "");
        printf("  %-32s %s\n", left, row->help);
    }
    printf("\nConfiguration comes from $SPARK_CONF_DIR/spark-defaults.conf (or $SPARK_HOME/conf), then from options. With\n"
           "no catalog configured, `local` keeps Iceberg tables in ./warehouse.\n\n"
           "The shell's own commands: quit; exit; source FILE; !COMMAND;\n"
           "Exit status: 0 when every statement succeeded, 1 when one failed, 2 when the command line is wrong, 3 when the\n"
           "file of -f is not there, 130 after Ctrl-C.\n");
}

static const flag_row *find_flag(nl_str name)
{
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        if (nl_str_is(name, flags_table[i].name) || (flags_table[i].short_name && nl_str_is(name, flags_table[i].short_name)))
            return &flags_table[i];
    return NULL;
}

static nl_status unknown_flag(nl_str name)
{
    nl_nearest nearest = {.word = name};
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        nl_nearest_offer(&nearest, nl_str_from(flags_table[i].name));
    const bool is_near = nearest.found.length > 0;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "unknown option " NL_STR_FMT "%s" NL_STR_FMT "%s `nilas sql --help` lists the options", NL_STR_ARG(name),
                         is_near ? "; did you mean " : ";", NL_STR_ARG(nearest.found), is_near ? "?" : "");
}

static nl_property *make_property(nl_arena *arena, nl_str key, nl_str value)
{
    nl_property *property = NL_NEW(arena, nl_property);
    *property = (nl_property){key, value};
    return property;
}

static nl_status split_assignment(nl_arena *arena, nl_str flag, nl_str text, nl_property **property)
{
    const size_t at = nl_str_find_char(text, '=', 0);
    if (at == NL_NOT_FOUND)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " wants KEY=VALUE, not " NL_STR_FMT, NL_STR_ARG(flag), NL_STR_ARG(text));
    *property = make_property(arena, nl_str_trim(nl_str_slice(text, 0, at)), nl_str_slice(text, at + 1, text.length));
    return NULL;
}

/* One line of a properties file: key and value apart by white space, `=` or `:`; # and ! begin comments. */
static void read_property_line(nl_arena *arena, nl_str line, nl_list *confs)
{
    line = nl_str_trim(line);
    if (line.length == 0 || line.data[0] == '#' || line.data[0] == '!') return;
    size_t key_end = 0;
    while (key_end < line.length && !strchr(" \t=:", line.data[key_end]))
        key_end++;
    size_t value_start = key_end;
    bool has_separator = false;
    while (value_start < line.length && strchr(" \t=:", line.data[value_start])) {
        const bool is_separator = line.data[value_start] == '=' || line.data[value_start] == ':';
        if (is_separator && has_separator) break;
        has_separator = has_separator || is_separator;
        value_start++;
    }
    const nl_str key = nl_str_slice(line, 0, key_end);
    if (nl_str_starts(key, NL_STR("spark.")))
        nl_list_add(arena, confs, make_property(arena, key, nl_str_trim(nl_str_slice(line, value_start, line.length))));
}

static nl_status read_properties(nl_arena *arena, const char *path, nl_list *confs)
{
    enum { BYTES_MAX = 16 << 20 };
    nl_fs *fs = nl_fs_local();
    nl_buffer *content = NULL;
    char resolved[4096];
    if (!realpath(path, resolved)) {
        nl_fs_release(fs);
        return NL_RAISE(PATH_NOT_FOUND, NL_P("path", path));
    }
    nl_status status = nl_fs_read_all(fs, nl_str_from(resolved), BYTES_MAX, &content);
    nl_fs_release(fs);
    if (status) return status;
    nl_str rest = nl_arena_str(arena, (nl_str){(const char *)content->data, content->size_bytes});
    nl_buffer_release(content);
    nl_str line;
    while (nl_str_next_part(&rest, '\n', &line))
        read_property_line(arena, line, confs);
    return NULL;
}

static nl_status read_default_properties(nl_arena *arena, nl_list *confs)
{
    const char *folder = getenv("SPARK_CONF_DIR");
    nl_str path = {0};
    if (folder && *folder)
        path = nl_arena_f(arena, "%s/spark-defaults.conf", folder);
    else if (getenv("SPARK_HOME"))
        path = nl_arena_f(arena, "%s/conf/spark-defaults.conf", getenv("SPARK_HOME"));
    struct stat info;
    if (path.length == 0 || stat(path.data, &info) != 0) return NULL;
    return read_properties(arena, path.data, confs);
}

static void add_script(nl_arena *arena, nl_sql_flags *flags, bool is_file, const char *text)
{
    nl_script_source *source = NL_NEW(arena, nl_script_source);
    *source = (nl_script_source){is_file, text};
    nl_list_add(arena, &flags->scripts, source);
}

static nl_status apply_flag(nl_arena *arena, const flag_row *row, const char *value, nl_list *confs, const char **properties_file,
                            nl_sql_flags *flags)
{
    nl_property *property = NULL;
    const nl_str text = nl_str_from(value);
    switch (row->action) {
    case FLAG_STATEMENT: add_script(arena, flags, false, value); break;
    case FLAG_FILE: add_script(arena, flags, true, value); break;
    case FLAG_INIT: nl_list_add(arena, &flags->init_files, (void *)(uintptr_t)value); break;
    case FLAG_SILENT: flags->is_silent = true; break;
    case FLAG_VERBOSE: flags->is_verbose = true; break;
    case FLAG_DATABASE: flags->database = value; break;
    case FLAG_CONF:
        NL_TRY(split_assignment(arena, nl_str_from(row->name), text, &property));
        nl_list_add(arena, confs, property);
        break;
    case FLAG_VARIABLE:
        NL_TRY(split_assignment(arena, nl_str_from(row->name), text, &property));
        nl_list_add(arena, &flags->variables, property);
        break;
    case FLAG_NAMED_CONF: nl_list_add(arena, confs, make_property(arena, nl_str_from(row->conf), text)); break;
    case FLAG_PROPERTIES: *properties_file = value; break;
    case FLAG_FORMAT:
        if (!nl_output_format_find(text, &flags->format))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "--format is one of table, csv, json, markdown, vertical, not %s", value);
        flags->has_format = true;
        break;
    case FLAG_HELP: flags->wants_help = true; break;
    case FLAG_VERSION: flags->wants_version = true; break;
    case FLAG_IGNORED: nl_list_add(arena, &flags->notes, (void *)(uintptr_t)row->name); break;
    }
    return NULL;
}

nl_status nl_sql_flags_parse(nl_arena *arena, int argument_count, char **arguments, nl_sql_flags *flags)
{
    nl_list confs = {0};
    const char *properties_file = NULL;
    for (int i = 0; i < argument_count; i++) {
        nl_str name = nl_str_from(arguments[i]);
        const char *value = NULL;
        const size_t equals = nl_str_starts(name, NL_STR("--")) ? nl_str_find_char(name, '=', 0) : NL_NOT_FOUND;
        if (equals != NL_NOT_FOUND) {
            value = arguments[i] + equals + 1;
            name = nl_str_slice(name, 0, equals);
        }
        const flag_row *row = find_flag(name);
        if (!row) return unknown_flag(name);
        if (row->has_value && !value) {
            if (i + 1 == argument_count)
                return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " wants a value", NL_STR_ARG(name));
            value = arguments[++i];
        }
        NL_TRY(apply_flag(arena, row, value, &confs, &properties_file, flags));
    }
    if (properties_file)
        NL_TRY(read_properties(arena, properties_file, &flags->confs));
    else
        NL_TRY(read_default_properties(arena, &flags->confs));
    for (uint32_t i = 0; i < confs.count; i++)
        nl_list_add(arena, &flags->confs, confs.items[i]);
    return NULL;
}

nl_status nl_sql_flags_open_session(const nl_sql_flags *flags, nl_session **session)
{
    const uint32_t count = flags->confs.count + flags->variables.count;
    nl_property *confs = calloc(count ? count : 1, sizeof(*confs));
    if (!confs) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", count), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < flags->confs.count; i++)
        confs[i] = *(const nl_property *)flags->confs.items[i];
    for (uint32_t i = 0; i < flags->variables.count; i++)
        confs[flags->confs.count + i] = *(const nl_property *)flags->variables.items[i];
    nl_status status = nl_session_new(confs, count, session);
    free(confs);
    return status;
}
