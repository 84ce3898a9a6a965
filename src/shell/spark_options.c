/* shell/spark_options.c - reads the command line and spark-defaults.conf. */
#include "shell/spark_options.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/distance.h"
#include "session/session.h"
#include "storage/filesystem.h"

/* What a flag does with its value. */
typedef enum flag_action {
    FLAG_STATEMENT, FLAG_FILE, FLAG_INIT, FLAG_SILENT, FLAG_VERBOSE, FLAG_DATABASE, FLAG_CONF, FLAG_VARIABLE, FLAG_NAMED_CONF,
    FLAG_PROPERTIES, FLAG_FORMAT, FLAG_PYTHON_FILES, FLAG_HELP, FLAG_VERSION, FLAG_IGNORED, FLAG_REFUSED
} flag_action;

typedef struct flag_row {
    const char *name;
    const char *short_name;
    bool has_value;
    uint8_t programs; /* which take it: bits of nl_spark_program */
    flag_action action;
    const char *conf; /* FLAG_NAMED_CONF */
    const char *value_name;
    const char *help;
} flag_row;

#define SQL    NL_SPARK_SQL
#define PYTHON (NL_SPARK_SUBMIT | NL_SPARK_SHELL)
#define ALL    (SQL | PYTHON)
static const flag_row flags_table[] = {
    {"--execute", "-e", true, SQL, FLAG_STATEMENT, NULL, "SQL", "run these statements"},
    {"--file", "-f", true, SQL, FLAG_FILE, NULL, "FILE", "run the statements of a file (- is standard input)"},
    {"--init", "-i", true, SQL, FLAG_INIT, NULL, "FILE", "run a file first"},
    {"--silent", "-S", false, SQL, FLAG_SILENT, NULL, NULL, "results only, no timings"},
    {"--verbose", "-v", false, SQL, FLAG_VERBOSE, NULL, NULL, "print each statement before it runs"},
    {"--verbose", "-v", false, PYTHON, FLAG_VERBOSE, NULL, NULL, "print which Python runs, and the configuration"},
    {"--database", NULL, true, SQL, FLAG_DATABASE, NULL, "NAME", "namespace to begin in"},
    {"--format", NULL, true, SQL, FLAG_FORMAT, NULL, "FORMAT", "table, csv, json, markdown or vertical; without it, spark-sql's own form"},
    {"--conf", "-c", true, ALL, FLAG_CONF, NULL, "KEY=VALUE", "set a configuration key"},
    {"--hiveconf", NULL, true, SQL, FLAG_CONF, NULL, "KEY=VALUE", "the same"},
    {"--define", "-d", true, SQL, FLAG_VARIABLE, NULL, "KEY=VALUE", "${KEY} in statements becomes VALUE"},
    {"--hivevar", NULL, true, SQL, FLAG_VARIABLE, NULL, "KEY=VALUE", "the same"},
    {"--properties-file", NULL, true, ALL, FLAG_PROPERTIES, NULL, "FILE", "read configuration from FILE instead of conf/spark-defaults.conf"},
    {"--name", NULL, true, ALL, FLAG_NAMED_CONF, "spark.app.name", "NAME", "name of the application"},
    {"--master", NULL, true, ALL, FLAG_NAMED_CONF, "spark.master", "MASTER", "local[N] limits the workers to N"},
    {"--remote", NULL, true, SQL, FLAG_NAMED_CONF, "spark.remote", "URL", "send statements to a Spark Connect server, as sc://host:15002"},
    {"--driver-memory", NULL, true, ALL, FLAG_NAMED_CONF, "spark.driver.memory", "SIZE", "accepted"},
    {"--packages", NULL, true, ALL, FLAG_NAMED_CONF, "spark.jars.packages", "LIST", "accepted: nilas has what these would bring"},
    {"--jars", NULL, true, ALL, FLAG_IGNORED, NULL, "LIST", "accepted, not used"},
    {"--executor-memory", NULL, true, ALL, FLAG_IGNORED, NULL, "SIZE", NULL},
    {"--executor-cores", NULL, true, ALL, FLAG_IGNORED, NULL, "N", NULL},
    {"--num-executors", NULL, true, ALL, FLAG_IGNORED, NULL, "N", NULL},
    {"--total-executor-cores", NULL, true, ALL, FLAG_IGNORED, NULL, "N", NULL},
    {"--driver-cores", NULL, true, ALL, FLAG_IGNORED, NULL, "N", NULL},
    {"--driver-java-options", NULL, true, ALL, FLAG_IGNORED, NULL, "OPTIONS", NULL},
    {"--driver-class-path", NULL, true, ALL, FLAG_IGNORED, NULL, "PATH", NULL},
    {"--driver-library-path", NULL, true, ALL, FLAG_IGNORED, NULL, "PATH", NULL},
    {"--repositories", NULL, true, ALL, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--exclude-packages", NULL, true, ALL, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--deploy-mode", NULL, true, ALL, FLAG_IGNORED, NULL, "MODE", NULL},
    {"--queue", NULL, true, ALL, FLAG_IGNORED, NULL, "NAME", NULL},
    {"--files", NULL, true, SQL, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--archives", NULL, true, SQL, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--files", NULL, true, PYTHON, FLAG_NAMED_CONF, "spark.files", "LIST", "files that functions find by SparkFiles.get, apart by commas"},
    {"--archives", NULL, true, PYTHON, FLAG_NAMED_CONF, "spark.archives", "LIST", "the same for zip and tar files, unpacked; FILE#NAME names the folder"},
    {"--py-files", NULL, true, SQL, FLAG_IGNORED, NULL, "LIST", NULL},
    {"--py-files", NULL, true, PYTHON, FLAG_PYTHON_FILES, NULL, "LIST", "zip, egg and py files that the program imports from, apart by commas"},
    {"--help", "-h", false, ALL, FLAG_HELP, NULL, NULL, "show this text"},
    {"-H", NULL, false, SQL, FLAG_HELP, NULL, NULL, NULL},
    {"--class", NULL, true, NL_SPARK_SUBMIT, FLAG_REFUSED, NULL, "CLASS", NULL},
    {"--kill", NULL, true, NL_SPARK_SUBMIT, FLAG_REFUSED, NULL, "ID", NULL},
    {"--status", NULL, true, NL_SPARK_SUBMIT, FLAG_REFUSED, NULL, "ID", NULL},
    {"--supervise", NULL, false, NL_SPARK_SUBMIT, FLAG_IGNORED, NULL, NULL, NULL},
    {"--proxy-user", NULL, true, PYTHON, FLAG_IGNORED, NULL, "VALUE", NULL},
    {"--principal", NULL, true, PYTHON, FLAG_IGNORED, NULL, "VALUE", NULL},
    {"--keytab", NULL, true, PYTHON, FLAG_IGNORED, NULL, "VALUE", NULL},
    {"--version", NULL, false, ALL, FLAG_VERSION, NULL, NULL, "show the version"},
};

void nl_spark_flags_print_help(nl_spark_program program)
{
    for (size_t i = 0; i < NL_COUNT(flags_table); i++) {
        const flag_row *row = &flags_table[i];
        if (!row->help || !(row->programs & program)) continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s%s", row->short_name ? row->short_name : "", row->short_name ? ", " : "    ", row->name,
                 row->value_name ? " " : "", row->value_name ? row->value_name : "");
        printf("  %-32s %s\n", left, row->help);
    }
}

static const flag_row *find_flag(nl_spark_program program, nl_str name)
{
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        if (!(flags_table[i].programs & program))
            continue;
        else if (nl_str_is(name, flags_table[i].name) || (flags_table[i].short_name && nl_str_is(name, flags_table[i].short_name)))
            return &flags_table[i];
    return NULL;
}

static const char *program_name(nl_spark_program program)
{
    return program == NL_SPARK_SQL ? "sql" : program == NL_SPARK_SUBMIT ? "submit" : "pyspark";
}

static nl_status unknown_flag(nl_spark_program program, nl_str name)
{
    nl_nearest nearest = {.word = name};
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        if (flags_table[i].programs & program) nl_nearest_offer(&nearest, nl_str_from(flags_table[i].name));
    const bool is_near = nearest.found.length > 0;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "unknown option " NL_STR_FMT "%s" NL_STR_FMT "%s `nilas %s --help` lists the options", NL_STR_ARG(name),
                         is_near ? "; did you mean " : ";", NL_STR_ARG(nearest.found), is_near ? "?" : "", program_name(program));
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

static void add_script(nl_arena *arena, nl_spark_flags *flags, bool is_file, const char *text)
{
    nl_script_source *source = NL_NEW(arena, nl_script_source);
    *source = (nl_script_source){is_file, text};
    nl_list_add(arena, &flags->scripts, source);
}

static nl_status apply_flag(nl_arena *arena, const flag_row *row, const char *value, nl_list *confs, const char **properties_file,
                            nl_spark_flags *flags)
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
    case FLAG_PYTHON_FILES: flags->python_files = value; break;
    case FLAG_REFUSED: return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is for programs of the JVM and for clusters; nilas submit runs Python programs here", row->name);
    case FLAG_IGNORED: nl_list_add(arena, &flags->notes, (void *)(uintptr_t)row->name); break;
    }
    return NULL;
}

nl_status nl_spark_flags_parse(nl_arena *arena, nl_spark_program program, int argument_count, char **arguments, nl_spark_flags *flags)
{
    nl_list confs = {0};
    const char *properties_file = NULL;
    flags->program_at = argument_count;
    for (int i = 0; i < argument_count; i++) {
        nl_str name = nl_str_from(arguments[i]);
        if (program == NL_SPARK_SUBMIT && !nl_str_starts(name, NL_STR("-"))) {
            flags->program_at = i;
            break;
        }
        const char *value = NULL;
        const size_t equals = nl_str_starts(name, NL_STR("--")) ? nl_str_find_char(name, '=', 0) : NL_NOT_FOUND;
        if (equals != NL_NOT_FOUND) {
            value = arguments[i] + equals + 1;
            name = nl_str_slice(name, 0, equals);
        }
        const flag_row *row = find_flag(program, name);
        if (!row) return unknown_flag(program, name);
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

nl_status nl_spark_flags_open_session(const nl_spark_flags *flags, nl_session **session)
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

nl_str nl_spark_conf_value(const nl_list *confs, const char *key)
{
    nl_str value = {0};
    for (uint32_t i = 0; i < confs->count; i++) {
        const nl_property *conf = confs->items[i];
        if (nl_str_is(conf->key, key)) value = conf->value;
    }
    return value;
}
