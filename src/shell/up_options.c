/* shell/up_options.c - see up_options.h. A flag wins over its environment variable, that one over the default. */
#include "shell/up_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/distance.h"
#include "base/number.h"

typedef struct flag_row flag_row;
typedef nl_status (*flag_action)(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options);
struct flag_row {
    const char *name, *short_name;
    int commands;           /* of nl_up_command */
    const char *variable;   /* of the environment, or NULL */
    const char *value_name; /* NULL: takes none */
    flag_action act;
    size_t place;           /* of the member in nl_up_options */
    const char *help;
};

static nl_status set_text(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    (void)arena;
    if (value.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants a %s", row->name, row->value_name);
    memcpy((char *)options + row->place, &value, sizeof(value));
    return NULL;
}

static nl_status set_true(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    (void)arena, (void)value;
    *((bool *)options + row->place) = true;
    return NULL;
}

static nl_status add_host(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    (void)row;
    for (nl_str part; nl_str_next_part(&value, ',', &part);) {
        nl_str *host = NL_NEW(arena, nl_str);
        *host = nl_str_trim(part);
        if (host->length) nl_list_add(arena, &options->hosts, host);
    }
    return NULL;
}

static nl_status parse_port(nl_str text, const char *where, uint16_t *port)
{
    int64_t number = -1;
    if (!nl_parse_int64(text, &number) || number < 0 || number > 65535)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s: " NL_STR_FMT " is no port; a port is a number up to 65535, 0 any free one", where, NL_STR_ARG(text));
    *port = (uint16_t)number;
    return NULL;
}

static nl_status unknown_service(nl_str name)
{
    nl_nearest nearest = {.word = name};
    nl_builder known;
    nl_builder_init(&known, 1024);
    for (uint32_t i = 0; i < nl_up_service_count; i++) {
        nl_nearest_offer(&nearest, nl_str_from(nl_up_services[i].name));
        nl_append_f(&known, "%s%s", i ? ", " : "", nl_up_services[i].name);
    }
    nl_status status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "there is no service " NL_STR_FMT "%s" NL_STR_FMT "%s The services are %s", NL_STR_ARG(name),
                                     nearest.found.length ? "; did you mean " : ".", NL_STR_ARG(nearest.found), nearest.found.length ? "?" : "", nl_builder_c(&known));
    nl_builder_fini(&known);
    return status;
}

static nl_status set_port(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    (void)arena;
    const size_t equals = nl_str_find_char(value, '=', 0);
    if (equals == NL_NOT_FOUND) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants NAME=PORT, as s3=9001, not " NL_STR_FMT, row->name, NL_STR_ARG(value));
    const uint32_t service = nl_up_service_find(nl_str_slice(value, 0, equals));
    if (service == nl_up_service_count) return unknown_service(nl_str_slice(value, 0, equals));
    return parse_port(nl_str_slice(value, equals + 1, value.length), row->name, &options->ports[service]);
}

/* A name is the prefix of paths of the REST catalog: "config" and the like begin other paths. */
static bool is_warehouse_name(nl_str name)
{
    static const char *const taken[] = {"config", "oauth", "namespaces", "tables", "views", "transactions", "aws"};
    bool is_good = name.length > 0 && name.length <= 255;
    for (size_t i = 0; i < name.length; i++) is_good = is_good && (isalnum((unsigned char)name.data[i]) || strchr("-_.", name.data[i]));
    for (size_t i = 0; i < NL_COUNT(taken); i++) is_good = is_good && !nl_str_is(name, taken[i]);
    return is_good;
}

static nl_status add_warehouse(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    const size_t equals = nl_str_find_char(value, '=', 0);
    const nl_str name = nl_str_slice(value, 0, equals), location = equals == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(value, equals + 1, value.length);
    const bool is_place = nl_str_starts(location, NL_STR("s3://")) || nl_str_starts(location, NL_STR("file:/")) || nl_str_starts(location, NL_STR("/"));
    if (!is_warehouse_name(name) || !is_place)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants NAME=LOCATION, as lab=s3://lab or lab=file:/srv/lab, not " NL_STR_FMT, row->name, NL_STR_ARG(value));
    nl_property *warehouse = NL_NEW(arena, nl_property);
    *warehouse = (nl_property){name, location};
    while (warehouse->value.length > 1 && warehouse->value.data[warehouse->value.length - 1] == '/') warehouse->value.length--;
    nl_list_add(arena, &options->warehouses, warehouse);
    return NULL;
}

static nl_status set_maintenance(nl_arena *arena, const flag_row *row, nl_str value, nl_up_options *options)
{
    (void)arena;
    int64_t seconds = 0;
    if (!nl_parse_int64(value, &seconds) || seconds < 1 || seconds > 86400)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s wants seconds, between 1 and 86400, not " NL_STR_FMT, row->name, NL_STR_ARG(value));
    options->maintenance_seconds = seconds;
    return NULL;
}

#define PLACE(member) offsetof(nl_up_options, member)
#define ALL           (NL_UP | NL_DOWN | NL_STATUS | NL_CONFIGURE | NL_LOGS | NL_DASHBOARD)
static const flag_row flags_table[] = {
    {"--data", NULL, ALL & ~NL_CONFIGURE, "NILAS_DATA", "FOLDER", set_text, PLACE(data), "where everything is kept (default ~/.local/share/nilas)"},
    {"--detach", "-d", NL_UP, NULL, NULL, set_true, PLACE(is_detached), "go on in the background once everything is ready"},
    {"--port", "-p", NL_UP | NL_CONFIGURE, NULL, "NAME=PORT", set_port, 0, "another port for a service (also NILAS_PORT_S3=…)"},
    {"--profile", NULL, NL_UP | NL_CONFIGURE, "NILAS_PROFILE", "NAME", set_text, PLACE(profile), "the AWS profile to write (default nilas)"},
    {"--no-configure", NULL, NL_UP, NULL, NULL, set_true, PLACE(has_no_configure), "leave the AWS configuration alone"},
    {"--warehouse", NULL, NL_UP, NULL, "NAME=LOCATION", add_warehouse, 0, "another warehouse of the REST catalog, on s3:// or file:"},
    {"--maintenance-every", NULL, NL_UP, "NILAS_MAINTENANCE_EVERY", "SECONDS", set_maintenance, 0, "how often table buckets are looked after (default 600)"},
    {"--no-maintenance", NULL, NL_UP, NULL, NULL, set_true, PLACE(has_no_maintenance), "no compaction and expiry in the background"},
    {"--access-key", NULL, NL_UP | NL_CONFIGURE, "NILAS_ACCESS_KEY", "KEY", set_text, PLACE(access_key), "the key pair that is known here (default nilas)"},
    {"--secret-key", NULL, NL_UP | NL_CONFIGURE, "NILAS_SECRET_KEY", "KEY", set_text, PLACE(secret_key), "better in the environment: others see command lines"},
    {"--strict", NULL, NL_UP, NULL, NULL, set_true, PLACE(is_strict), "refuse unsigned requests and other keys than this one"},
    {"--listen", NULL, NL_UP, "NILAS_LISTEN", "ADDRESS", set_text, PLACE(listen), "beside this machine: needs a key pair and is strict"},
    {"--host", NULL, NL_UP, "NILAS_HOST", "NAME", add_host, 0, "a name that clients call this machine by, beside localhost"},
    {"--verbose", "-v", NL_UP, NULL, NULL, set_true, PLACE(is_verbose), "a line for each request (NILAS_LOG=info)"},
    {"--follow", "-f", NL_LOGS, NULL, NULL, set_true, PLACE(is_following), "go on with what is written from now on"},
    {"--help", "-h", ALL, NULL, NULL, set_true, PLACE(wants_help), "show this text"},
    {"--version", NULL, ALL, NULL, NULL, set_true, PLACE(wants_version), "show the version"},
};

static const struct {
    nl_up_command command;
    const char *usage, *about;
} commands[] = {
    {NL_UP, "up [SERVICE…] [options]", "Serves a lakehouse on this machine: object storage, catalogs, query services, all in one data folder.\nWithout a SERVICE all are started, else those named and what they need."},
    {NL_DOWN, "down [options]", "Stops what `nilas up` serves from the data folder."},
    {NL_STATUS, "status [options]", "Shows what is served: exit status 0 when it is up, 3 when not."},
    {NL_CONFIGURE, "configure [options]", "Writes the AWS profile that leads clients to the services; other profiles stay as they are."},
    {NL_LOGS, "logs [options]", "Shows what a detached `nilas up` has written."},
    {NL_DASHBOARD, "dashboard [options]", "Shows the address of the dashboard, and opens it where there is a desktop."},
};

static uint32_t command_at(nl_up_command command)
{
    uint32_t i = 0;
    while (commands[i].command != command) i++;
    return i;
}

void nl_up_options_print_help(nl_up_command command)
{
    printf("Usage: nilas %s\n\n%s\n", commands[command_at(command)].usage, commands[command_at(command)].about);
    if (command == NL_UP) {
        printf("\nServices:\n");
        for (uint32_t i = 0; i < nl_up_service_count; i++) printf("  %-10s :%-5u  %s\n", nl_up_services[i].name, nl_up_services[i].port, nl_up_services[i].help);
    }
    printf("\nOptions:\n");
    for (size_t i = 0; i < NL_COUNT(flags_table); i++) {
        const flag_row *row = &flags_table[i];
        if (!(row->commands & (int)command)) continue;
        char left[64];
        snprintf(left, sizeof(left), "%s%s%s%s%s", row->short_name ? row->short_name : "", row->short_name ? ", " : "    ", row->name, row->value_name ? " " : "",
                 row->value_name ? row->value_name : "");
        printf("  %-26s %s%s%s%s\n", left, row->help, row->variable ? " [" : "", row->variable ? row->variable : "", row->variable ? "]" : "");
    }
}

static const flag_row *find_flag(nl_up_command command, nl_str name)
{
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        if ((flags_table[i].commands & (int)command) && (nl_str_is(name, flags_table[i].name) || (flags_table[i].short_name && nl_str_is(name, flags_table[i].short_name)))) return &flags_table[i];
    return NULL;
}

static nl_status unknown_flag(nl_up_command command, nl_str name)
{
    nl_nearest nearest = {.word = name};
    for (size_t i = 0; i < NL_COUNT(flags_table); i++)
        if (flags_table[i].commands & (int)command) nl_nearest_offer(&nearest, nl_str_from(flags_table[i].name));
    const nl_str usage = nl_str_from(commands[command_at(command)].usage);
    const bool is_near = nearest.found.length > 0;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "unknown option " NL_STR_FMT "%s" NL_STR_FMT "%s `nilas " NL_STR_FMT " --help` lists the options", NL_STR_ARG(name),
                         is_near ? "; did you mean " : ";", NL_STR_ARG(nearest.found), is_near ? "?" : "", NL_STR_ARG(nl_str_slice(usage, 0, nl_str_find_char(usage, ' ', 0))));
}

static nl_status read_environment(nl_arena *arena, nl_up_options *options)
{
    for (size_t i = 0; i < NL_COUNT(flags_table); i++) {
        const flag_row *row = &flags_table[i];
        const char *value = row->variable && (row->commands & (int)options->command) ? getenv(row->variable) : NULL;
        if (value && *value) NL_TRY(row->act(arena, row, nl_str_from(value), options));
    }
    for (uint32_t i = 0; i < nl_up_service_count; i++) {
        char name[64] = "NILAS_PORT_";
        size_t length = strlen(name);
        for (const char *c = nl_up_services[i].name; *c && length < sizeof(name) - 1; c++) name[length++] = (char)toupper((unsigned char)*c);
        const char *value = getenv(name);
        if (value && *value) NL_TRY(parse_port(nl_str_from(value), name, &options->ports[i]));
    }
    return NULL;
}

static nl_status read_argument(nl_arena *arena, nl_up_options *options, int count, char **arguments, int *i)
{
    const nl_str whole = nl_str_from(arguments[*i]);
    if (whole.length < 2 || whole.data[0] != '-') {
        if (options->command != NL_UP) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "there is no argument " NL_STR_FMT " here", NL_STR_ARG(whole));
        const uint32_t service = nl_up_service_find(whole);
        if (service == nl_up_service_count) return unknown_service(whole);
        nl_up_service_want(service, options->wanted);
        return NULL;
    }
    const size_t equals = nl_str_starts(whole, NL_STR("--")) ? nl_str_find_char(whole, '=', 0) : NL_NOT_FOUND;
    const nl_str name = nl_str_slice(whole, 0, equals);
    const flag_row *row = find_flag(options->command, name);
    if (!row) return unknown_flag(options->command, name);
    nl_str value = {0};
    if (row->value_name) {
        if (equals == NL_NOT_FOUND && *i + 1 >= count) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " wants a %s", NL_STR_ARG(name), row->value_name);
        value = equals == NL_NOT_FOUND ? nl_str_from(arguments[++*i]) : nl_str_slice(whole, equals + 1, whole.length);
    } else if (equals != NL_NOT_FOUND) {
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " takes no value", NL_STR_ARG(name));
    }
    return row->act(arena, row, value, options);
}

static bool is_plain(nl_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] <= 0x20 || (unsigned char)text.data[i] >= 0x7f) return false;
    return true;
}

/* The profile's name becomes the name of a section, the keys lines of a file. */
static nl_status check(const nl_up_options *options)
{
    for (size_t i = 0; i < options->profile.length; i++)
        if (!isalnum((unsigned char)options->profile.data[i]) && !strchr("-_.", options->profile.data[i]))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the profile's name " NL_STR_FMT " may have letters, digits, '-', '_' and '.'", NL_STR_ARG(options->profile));
    if (!is_plain(options->access_key) || !is_plain(options->secret_key))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the keys may have printable ASCII characters without spaces only");
    if (!options->access_key.length != !options->secret_key.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "--access-key and --secret-key belong together: give both");
    if (options->listen.length && !options->access_key.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "--listen opens the services to other machines: choose a key pair with --access-key and NILAS_SECRET_KEY, so that not everybody may use them");
    return NULL;
}

static nl_str default_folder(nl_arena *arena)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && data[0] == '/') return nl_arena_f(arena, "%s/nilas", data);
    return nl_arena_f(arena, "%s/.local/share/nilas", home && *home ? home : ".");
}

nl_status nl_up_options_parse(nl_arena *arena, nl_up_command command, int argument_count, char **arguments, nl_up_options *options)
{
    *options = (nl_up_options){.command = command, .profile = NL_STR("nilas"), .data = default_folder(arena), .maintenance_seconds = 600};
    for (uint32_t i = 0; i < nl_up_service_count; i++) options->ports[i] = nl_up_services[i].port;
    NL_TRY(read_environment(arena, options));
    bool has_names = false;
    for (int i = 0; i < argument_count; i++) NL_TRY(read_argument(arena, options, argument_count, arguments, &i));
    for (uint32_t i = 0; i < nl_up_service_count; i++) has_names |= options->wanted[i];
    for (uint32_t i = 0; i < nl_up_service_count; i++) options->wanted[i] |= !has_names;
    NL_TRY(check(options));
    if (!options->access_key.length) options->access_key = options->secret_key = NL_STR("nilas");
    options->is_strict |= options->listen.length > 0;
    return NULL;
}
