/* catalog/jdbc/postgres.c - "jdbc:postgresql://host:port/database?key=value" through libpq, opened when first needed.
 * Keys are those of the Java driver (pgjdbc); the ones with a meaning here are translated to libpq's.
 *
 * No statement waits for ever: it is sent without blocking, and its answer awaited until socketTimeout. After that the
 * connection is given up, and the outcome of the statement is unknown. */
#include "catalog/jdbc/database.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/library.h"
#include "base/log.h"
#include "base/number.h"
#include "storage/http.h"

#define KEYWORDS_MAX 24u
#define VALUES_MAX   16u
#define ANSWER_SECONDS_DEFAULT 120 /* pgjdbc waits for ever */

static struct {
    __typeof__(PQconnectdbParams) *connectdbParams;
    __typeof__(PQstatus) *status;
    __typeof__(PQerrorMessage) *errorMessage;
    __typeof__(PQfinish) *finish;
    __typeof__(PQsendQueryParams) *sendQueryParams;
    __typeof__(PQgetResult) *getResult;
    __typeof__(PQconsumeInput) *consumeInput;
    __typeof__(PQisBusy) *isBusy;
    __typeof__(PQsocket) *socket;
    __typeof__(PQresultStatus) *resultStatus;
    __typeof__(PQresultErrorField) *resultErrorField;
    __typeof__(PQclear) *clear;
    __typeof__(PQntuples) *ntuples;
    __typeof__(PQnfields) *nfields;
    __typeof__(PQfname) *fname;
    __typeof__(PQftype) *ftype;
    __typeof__(PQfmod) *fmod;
    __typeof__(PQgetisnull) *getisnull;
    __typeof__(PQgetvalue) *getvalue;
    __typeof__(PQgetlength) *getlength;
    __typeof__(PQcmdTuples) *cmdTuples;
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nl_error *load_error;

struct nl_jdbc_connection {
    PGconn *handle;
    char *where;           /* owned: "the PostgreSQL database at host:port" */
    int64_t answer_ms_max; /* 0: for ever */
    bool is_given_up;      /* an answer did not come: what comes now belongs to nothing */
    bool was_rolled_back;  /* the last statement met another transaction: nothing of it was done */
};

static void load(void)
{
    const nl_library_symbol symbols[] = {
        {"PQconnectdbParams", &lib.connectdbParams},
        {"PQstatus", &lib.status},
        {"PQerrorMessage", &lib.errorMessage},
        {"PQfinish", &lib.finish},
        {"PQsendQueryParams", &lib.sendQueryParams},
        {"PQgetResult", &lib.getResult},
        {"PQconsumeInput", &lib.consumeInput},
        {"PQisBusy", &lib.isBusy},
        {"PQsocket", &lib.socket},
        {"PQresultStatus", &lib.resultStatus},
        {"PQresultErrorField", &lib.resultErrorField},
        {"PQclear", &lib.clear},
        {"PQntuples", &lib.ntuples},
        {"PQnfields", &lib.nfields},
        {"PQfname", &lib.fname},
        {"PQftype", &lib.ftype},
        {"PQfmod", &lib.fmod},
        {"PQgetisnull", &lib.getisnull},
        {"PQgetvalue", &lib.getvalue},
        {"PQgetlength", &lib.getlength},
        {"PQcmdTuples", &lib.cmdTuples},
    };
    load_error = nl_library_open("libpq.so.5", "libpq5", symbols, NL_COUNT(symbols));
}

/* ---- connecting ------------------------------------------------------------------------------------------------ */

typedef struct keywords { /* libpq's, ending with NULL */
    nl_arena *arena;
    const char *names[KEYWORDS_MAX + 1];
    const char *values[KEYWORDS_MAX + 1];
    uint32_t count;
    int64_t answer_seconds; /* socketTimeout */
} keywords;

static void put(keywords *self, const char *name, nl_str value)
{
    uint32_t at = 0;
    while (at < self->count && !nl_str_is(nl_str_from(self->names[at]), name)) at++;
    if (at == KEYWORDS_MAX) return;
    self->names[at] = name;
    self->values[at] = nl_str_c(self->arena, value);
    self->count = NL_MAX(self->count, at + 1);
}

/* What the Java driver calls it, and libpq. */
static const struct {
    const char *java, *libpq;
} key_names[] = {
    {"user", "user"},           {"password", "password"},       {"sslmode", "sslmode"},         {"sslrootcert", "sslrootcert"},
    {"sslcert", "sslcert"},     {"sslkey", "sslkey"},           {"sslpassword", "sslpassword"}, {"ApplicationName", "application_name"},
    {"connectTimeout", "connect_timeout"}, {"loginTimeout", "connect_timeout"},
    {"targetServerType", "target_session_attrs"}, {"channelBinding", "channel_binding"}, {"gssEncMode", "gssencmode"}, {"kerberosServerName", "krbsrvname"},
};
/* Those that are read otherwise. */
static const char *const other_keys[] = {"ssl", "currentSchema", "options", "tcpKeepAlive", "socketTimeout"};
/* Those that tune the Java driver and mean nothing here. */
static const char *const idle_keys[] = {
    "prepareThreshold", "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB", "databaseMetadataCacheFields", "databaseMetadataCacheFieldsMiB", "defaultRowFetchSize",
    "adaptiveFetch", "adaptiveFetchMinimum", "adaptiveFetchMaximum", "maxResultBuffer", "reWriteBatchedInserts", "binaryTransfer", "binaryTransferEnable", "binaryTransferDisable",
    "stringtype", "autosave", "cleanupSavepoints", "preferQueryMode", "assumeMinServerVersion", "disableColumnSanitiser", "loggerLevel", "loggerFile", "logUnclosedConnections",
    "logServerErrorDetail", "sendBufferSize", "receiveBufferSize", "maxSendBufferSize", "tcpNoDelay", "unknownLength", "allowEncodingChanges", "escapeSyntaxCallMode", "groupStartupParameters",
    "hideUnprivilegedObjects", "quoteReturningIdentifiers", "readOnlyMode", "cancelSignalTimeout", "sslResponseTimeout", "hostRecheckSeconds", "loadBalanceHosts", "gssResponseTimeout",
    "convertBooleanToNumeric", "protocolVersion", "jaasLogin", "jaasApplicationName",
};
/* Those that decide who is reached, as whom, or what may be done there, by means that nilas does not have. */
static const char *const refused_keys[] = {"socketFactory", "socketFactoryArg", "sslfactory", "sslfactoryarg", "sslhostnameverifier", "sslpasswordcallback", "authenticationPluginClassName",
                                           "localSocketAddress", "replication", "readOnly", "service", "gsslib", "useSpnego", "sspiServiceClass", "sslNegotiation", "requireAuth"};

static bool is_among(nl_str key, const char *const *keys, size_t key_count)
{
    for (size_t i = 0; i < key_count; i++)
        if (nl_str_is(key, keys[i])) return true;
    return false;
}

static nl_status check_key(nl_str key)
{
    bool is_known = is_among(key, other_keys, NL_COUNT(other_keys)) || is_among(key, idle_keys, NL_COUNT(idle_keys));
    for (uint32_t i = 0; i < NL_COUNT(key_names); i++) is_known = is_known || nl_str_is(key, key_names[i].java);
    if (is_among(key, refused_keys, NL_COUNT(refused_keys)))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The property " NL_STR_FMT " of the PostgreSQL driver is not supported.", NL_STR_ARG(key));
    if (!is_known) nl_log(NL_LOG_WARN, "The property " NL_STR_FMT " has no effect: neither the PostgreSQL driver of Java nor nilas knows it.", NL_STR_ARG(key));
    return NULL;
}

/* libpq has one key for all options. */
static void put_option(keywords *self, nl_str option)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (nl_str_is(nl_str_from(self->names[i]), "options")) option = nl_arena_f(self->arena, "%s " NL_STR_FMT, self->values[i], NL_STR_ARG(option));
    put(self, "options", option);
}

static nl_status put_java(keywords *self, nl_str key, nl_str value)
{
    if (nl_str_is(key, "ssl") && !nl_str_is_nocase(value, "false")) put(self, "sslmode", NL_STR("require"));
    if (nl_str_is(key, "currentSchema")) put_option(self, nl_arena_f(self->arena, "-c search_path=" NL_STR_FMT, NL_STR_ARG(value)));
    if (nl_str_is(key, "options")) put_option(self, value);
    if (nl_str_is(key, "tcpKeepAlive")) put(self, "keepalives", nl_str_is_nocase(value, "false") ? NL_STR("0") : NL_STR("1"));
    if (nl_str_is(key, "socketTimeout") && (!nl_parse_int64(value, &self->answer_seconds) || self->answer_seconds < 0 || self->answer_seconds > INT32_MAX / 1000))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "jdbc.socketTimeout must be a number of seconds (0: wait for ever), not " NL_STR_FMT, NL_STR_ARG(value));
    if (nl_str_is(key, "targetServerType"))
        value = nl_str_is(value, "primary") || nl_str_is(value, "master") ? NL_STR("read-write") : nl_str_is(value, "secondary") ? NL_STR("standby") : NL_STR("any");
    for (uint32_t i = 0; i < NL_COUNT(key_names); i++)
        if (nl_str_is(key, key_names[i].java)) put(self, key_names[i].libpq, value);
    return NULL;
}

/* "host1:5432,host2" → hosts and ports for libpq. */
static void put_hosts(keywords *self, nl_str list)
{
    nl_builder hosts, ports;
    nl_builder_init(&hosts, 1 << 16);
    nl_builder_init(&ports, 1 << 16);
    for (bool is_first = true; is_first || list.length; is_first = false) {
        const size_t comma = nl_str_find_char(list, ',', 0);
        nl_str host = comma == NL_NOT_FOUND ? list : nl_str_slice(list, 0, comma), port = NL_STR("5432");
        list = comma == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(list, comma + 1, list.length);
        const size_t bracket = nl_str_find_char(host, ']', 0);
        const size_t colon = nl_str_find_char(host, ':', bracket == NL_NOT_FOUND ? 0 : bracket);
        if (colon != NL_NOT_FOUND) {
            port = nl_str_slice(host, colon + 1, host.length);
            host = nl_str_slice(host, 0, colon);
        }
        if (bracket != NL_NOT_FOUND && host.length >= 2) host = nl_str_slice(host, 1, host.length - 1);
        nl_append_f(&hosts, "%s" NL_STR_FMT, is_first ? "" : ",", NL_STR_ARG(host.length ? host : NL_STR("localhost")));
        nl_append_f(&ports, "%s" NL_STR_FMT, is_first ? "" : ",", NL_STR_ARG(port));
    }
    put(self, "host", nl_builder_str(&hosts));
    put(self, "port", nl_builder_str(&ports));
    nl_builder_fini(&hosts);
    nl_builder_fini(&ports);
}

/* The next "key=value" of a query, decoded; false: the end. */
static nl_status next_parameter(nl_arena *arena, nl_str *query, nl_property *parameter, bool *is_there)
{
    *is_there = query->length > 0;
    if (!*is_there) return NULL;
    const size_t ampersand = nl_str_find_char(*query, '&', 0);
    const nl_str part = ampersand == NL_NOT_FOUND ? *query : nl_str_slice(*query, 0, ampersand);
    *query = ampersand == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(*query, ampersand + 1, query->length);
    const size_t equals = nl_str_find_char(part, '=', 0);
    *parameter = (nl_property){equals == NL_NOT_FOUND ? part : nl_str_slice(part, 0, equals), NL_STR("")};
    return equals == NL_NOT_FOUND ? NULL : nl_url_decode(arena, nl_str_slice(part, equals + 1, part.length), false, &parameter->value);
}

static nl_status put_parameters(keywords *self, nl_str query)
{
    nl_property parameter;
    for (bool is_there = true;;) {
        NL_TRY(next_parameter(self->arena, &query, &parameter, &is_there));
        if (!is_there) return NULL;
        NL_TRY(put_java(self, parameter.key, parameter.value));
    }
}

static nl_status postgres_check(nl_str uri, const nl_property *properties, uint32_t property_count, nl_arena *arena)
{
    const size_t question = nl_str_find_char(uri, '?', 0);
    nl_str query = question == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(uri, question + 1, uri.length);
    nl_property parameter;
    for (bool is_there = true; is_there;) {
        NL_TRY(next_parameter(arena, &query, &parameter, &is_there));
        if (is_there && parameter.key.length) NL_TRY(check_key(parameter.key));
    }
    for (uint32_t i = 0; i < property_count; i++) NL_TRY(check_key(properties[i].key));
    return NULL;
}

static nl_status read_uri(keywords *self, nl_str uri)
{
    nl_str rest = nl_str_slice(uri, NL_STR("jdbc:postgresql:").length, uri.length), query = NL_STR(""), database;
    const size_t question = nl_str_find_char(rest, '?', 0);
    if (question != NL_NOT_FOUND) {
        query = nl_str_slice(rest, question + 1, rest.length);
        rest = nl_str_slice(rest, 0, question);
    }
    nl_str hosts = NL_STR("localhost");
    if (nl_str_starts(rest, NL_STR("//"))) {
        const size_t slash = nl_str_find_char(rest, '/', 2);
        hosts = nl_str_slice(rest, 2, slash == NL_NOT_FOUND ? rest.length : slash);
        rest = slash == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(rest, slash + 1, rest.length);
    }
    put_hosts(self, hosts);
    NL_TRY(nl_url_decode(self->arena, rest, false, &database));
    if (database.length && !nl_str_is(database, "/")) put(self, "dbname", database);
    return put_parameters(self, query);
}

static const char *value_of(const keywords *words, const char *name)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (nl_str_is(nl_str_from(words->names[i]), name)) return words->values[i];
    return "";
}

static nl_status raise_connection(PGconn *handle, const keywords *words)
{
    const nl_str where = nl_arena_f(words->arena, "the PostgreSQL database at %s:%s", value_of(words, "host"), value_of(words, "port"));
    const nl_str problem = nl_arena_f(words->arena, NL_STR_FMT " (check that it runs, and the catalog's uri, jdbc.user and jdbc.password)",
                                      NL_STR_ARG(nl_str_trim(nl_str_from(handle ? lib.errorMessage(handle) : "out of memory"))));
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Connecting"), NL_P_STR("path", where), NL_P_STR("problem", problem));
    nl_error_set_kind(status, NL_KIND_RETRY);
    return status;
}

static void postgres_close(nl_jdbc_connection *self)
{
    lib.finish(self->handle);
    free(self->where);
    free(self);
}

/* A host that went away without a word is noticed by unanswered packets, within a minute. */
static void put_defaults(keywords *words)
{
    static const struct {
        const char *name, *value;
    } rows[] = {{"connect_timeout", "10"}, {"application_name", "nilas"}, {"client_encoding", "UTF8"}, {"keepalives", "1"}, {"keepalives_idle", "30"},
                {"keepalives_interval", "10"}, {"keepalives_count", "3"}, {"tcp_user_timeout", "60000"}};
    words->answer_seconds = ANSWER_SECONDS_DEFAULT;
    for (size_t i = 0; i < NL_COUNT(rows); i++) put(words, rows[i].name, nl_str_from(rows[i].value));
}

static nl_status connect_in(nl_arena *arena, nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_connection **connection)
{
    keywords words = {.arena = arena};
    put_defaults(&words);
    NL_TRY(read_uri(&words, uri));
    for (uint32_t i = 0; i < property_count; i++) NL_TRY(put_java(&words, properties[i].key, properties[i].value));
    nl_jdbc_connection *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->answer_ms_max = words.answer_seconds * 1000;
    made->where = strdup(nl_arena_f(arena, "the PostgreSQL database at %s:%s", value_of(&words, "host"), value_of(&words, "port")).data);
    made->handle = lib.connectdbParams(words.names, words.values, 0);
    if (lib.status(made->handle) != CONNECTION_OK) {
        nl_status status = raise_connection(made->handle, &words);
        postgres_close(made);
        return status;
    }
    *connection = made;
    return NULL;
}

static nl_status postgres_connect(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_connection **connection)
{
    pthread_once(&once, load);
    if (load_error) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s", nl_error_message(load_error));
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = connect_in(arena, uri, properties, property_count, connection);
    nl_arena_free(arena);
    return status;
}

/* ---- statements ------------------------------------------------------------------------------------------------ */

/* '?' becomes $1, $2 …: none of the catalog's statements has one in a literal. */
static const char *numbered(nl_arena *arena, const char *sql)
{
    nl_builder text;
    nl_builder_init(&text, 1 << 16);
    uint32_t number = 0;
    for (const char *at = sql; *at; at++) {
        if (*at == '?') nl_append_f(&text, "$%u", ++number);
        else nl_append_char(&text, *at);
    }
    const char *result = nl_str_c(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return result;
}

static nl_status raise_result(nl_jdbc_connection *self, const PGresult *answer)
{
    const char *sqlstate = answer ? lib.resultErrorField(answer, PG_DIAG_SQLSTATE) : NULL;
    const char *message = answer ? lib.resultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    if (sqlstate && nl_str_is(nl_str_from(sqlstate), "23505")) return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P("path", message ? message : ""));
    const nl_str problem = nl_str_trim(message ? nl_str_from(message) : nl_str_from(lib.errorMessage(self->handle)));
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "A statement"), NL_P("path", self->where), NL_P_STR("problem", problem));
    /* A serialization failure, a deadlock: PostgreSQL has rolled the transaction back. */
    self->was_rolled_back = sqlstate && (nl_str_is(nl_str_from(sqlstate), "40001") || nl_str_is(nl_str_from(sqlstate), "40P01"));
    if (lib.status(self->handle) == CONNECTION_BAD) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    else if (self->was_rolled_back) nl_error_set_kind(status, NL_KIND_RETRY);
    return status;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until the next result can be taken without waiting. An answer that does not come in time ends the connection. */
static nl_status await_answer(nl_jdbc_connection *self, int64_t deadline_ms)
{
    while (lib.isBusy(self->handle)) {
        const int64_t left_ms = self->answer_ms_max ? deadline_ms - now_ms() : 60000;
        struct pollfd socket = {.fd = lib.socket(self->handle), .events = POLLIN};
        if (self->answer_ms_max && left_ms <= 0) {
            nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "A statement"), NL_P("path", self->where), NL_P("problem", "no answer came within jdbc.socketTimeout"));
            self->is_given_up = true;
            nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
            return status;
        }
        const int ready = poll(&socket, 1, (int)NL_MIN(left_ms, (int64_t)60000));
        if (ready < 0 && errno != EINTR) self->is_given_up = true;
        if (self->is_given_up || (ready > 0 && !lib.consumeInput(self->handle))) {
            nl_status status = raise_result(self, NULL);
            self->is_given_up = true;
            nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
            return status;
        }
    }
    return NULL;
}

/* *answer: the one result of a statement, to be cleared; NULL: none came. */
static nl_status exchange(nl_jdbc_connection *self, const char *sql, int value_count, const char *const *values, PGresult **answer)
{
    *answer = NULL;
    self->was_rolled_back = false;
    if (!lib.sendQueryParams(self->handle, sql, value_count, NULL, values, NULL, NULL, 0)) return raise_result(self, NULL);
    const int64_t deadline_ms = now_ms() + self->answer_ms_max;
    for (;;) {
        nl_status status = await_answer(self, deadline_ms);
        PGresult *next = status ? NULL : lib.getResult(self->handle);
        if (!next) return status;
        if (*answer) lib.clear(*answer); /* the last one counts: an error behind rows */
        *answer = next;
    }
}

static void read_rows(const PGresult *answer, nl_arena *arena, nl_jdbc_result *result)
{
    result->column_count = (uint32_t)lib.nfields(answer);
    result->row_count = (uint32_t)lib.ntuples(answer);
    result->values = NL_NEW_ARRAY(arena, nl_str, (size_t)result->column_count * result->row_count);
    for (uint32_t row = 0; row < result->row_count; row++) {
        for (uint32_t i = 0; i < result->column_count; i++) {
            if (lib.getisnull(answer, (int)row, (int)i)) continue;
            const nl_str value = {lib.getvalue(answer, (int)row, (int)i), (size_t)lib.getlength(answer, (int)row, (int)i)};
            result->values[(size_t)row * result->column_count + i] = nl_arena_str(arena, value);
        }
    }
}

/* Runs the statement; *answer holds its rows, to be cleared, and is NULL after an error. */
static nl_status ask(nl_jdbc_connection *self, const char *sql, uint32_t value_count, const char *const *values, PGresult **answer)
{
    nl_status status = exchange(self, sql, (int)value_count, values, answer);
    const ExecStatusType outcome = *answer ? lib.resultStatus(*answer) : PGRES_FATAL_ERROR;
    if (!status && outcome != PGRES_TUPLES_OK && outcome != PGRES_COMMAND_OK) status = raise_result(self, *answer);
    if (!status) return NULL;
    if (*answer) lib.clear(*answer);
    *answer = NULL;
    return status;
}

static void read_answer(PGresult *answer, nl_arena *arena, nl_jdbc_result *result)
{
    read_rows(answer, arena, result);
    if (!nl_parse_int64(nl_str_from(lib.cmdTuples(answer)), &result->change_count)) result->change_count = 0;
    lib.clear(answer);
}

static nl_status postgres_run_text(nl_jdbc_connection *self, nl_str sql, nl_arena *arena, nl_jdbc_result *result)
{
    PGresult *answer = NULL;
    *result = (nl_jdbc_result){0};
    if (memchr(sql.data, 0, sql.length)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A text with a NUL byte cannot be stored in PostgreSQL");
    NL_TRY(ask(self, nl_str_c(arena, sql), 0, NULL, &answer));
    read_answer(answer, arena, result);
    return nl_arena_check(arena);
}

/* The answer's types are numbers: a second question tells their names. */
static nl_status postgres_describe(nl_jdbc_connection *self, nl_str query, nl_arena *arena, nl_jdbc_result *columns)
{
    PGresult *answer = NULL;
    nl_builder names;
    nl_jdbc_result types = {0};
    NL_TRY(ask(self, nl_str_c(arena, nl_arena_f(arena, "SELECT * FROM (" NL_STR_FMT ") AS nilas_columns LIMIT 0", NL_STR_ARG(query))), 0, NULL, &answer));
    *columns = (nl_jdbc_result){.column_count = 2, .row_count = (uint32_t)lib.nfields(answer)};
    columns->values = NL_NEW_ARRAY(arena, nl_str, (size_t)columns->row_count * 2 + 1);
    nl_builder_init(&names, 1 << 22);
    nl_append_c(&names, "SELECT format_type(t.oid, m) FROM (VALUES (0, 0::oid, 0)");
    for (uint32_t i = 0; i < columns->row_count; i++) {
        columns->values[(size_t)i * 2] = nl_arena_str(arena, nl_str_from(lib.fname(answer, (int)i)));
        nl_append_f(&names, ", (%u, %u::oid, %d)", i + 1, lib.ftype(answer, (int)i), lib.fmod(answer, (int)i));
    }
    nl_append_c(&names, ") AS v(n, oid, m) LEFT JOIN pg_type t ON t.oid = v.oid ORDER BY n OFFSET 1");
    lib.clear(answer);
    nl_status status = postgres_run_text(self, nl_builder_str(&names), arena, &types);
    nl_builder_fini(&names);
    for (uint32_t i = 0; !status && i < NL_MIN(columns->row_count, types.row_count); i++) columns->values[(size_t)i * 2 + 1] = types.values[i];
    return status;
}

/* How values are told as texts, whatever the server's settings are. */
#define TEXT_SETTINGS                                                                                                              \
    "SELECT set_config('datestyle', 'ISO, YMD', true), set_config('timezone', 'UTC', true), set_config('bytea_output', 'hex', true), " \
    "set_config('extra_float_digits', '1', true), set_config('intervalstyle', 'postgres', true)"

static nl_status postgres_query(nl_jdbc_connection *self, nl_str sql)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_jdbc_result done;
    nl_status status = postgres_run_text(self, NL_STR("BEGIN"), arena, &done);
    if (!status) status = postgres_run_text(self, NL_STR(TEXT_SETTINGS), arena, &done);
    if (!status) status = postgres_run_text(self, nl_arena_f(arena, "DECLARE nilas_rows NO SCROLL CURSOR FOR " NL_STR_FMT, NL_STR_ARG(sql)), arena, &done);
    nl_arena_free(arena);
    return status;
}

static nl_status postgres_next_rows(nl_jdbc_connection *self, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result)
{
    return postgres_run_text(self, nl_arena_f(arena, "FETCH FORWARD %u FROM nilas_rows", row_max), arena, result);
}

static nl_status postgres_run(nl_jdbc_connection *self, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    const char *texts[VALUES_MAX];
    *result = (nl_jdbc_result){0};
    for (uint32_t i = 0; i < value_count; i++) {
        if (values[i].length && memchr(values[i].data, 0, values[i].length))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A name or property with a NUL byte cannot be stored in PostgreSQL");
        texts[i] = values[i].data ? nl_str_c(arena, values[i]) : NULL;
    }
    PGresult *answer = NULL;
    NL_TRY(ask(self, numbered(arena, sql), value_count, texts, &answer));
    read_answer(answer, arena, result);
    return NULL;
}

static bool postgres_is_broken(nl_jdbc_connection *self)
{
    return self->is_given_up || lib.status(self->handle) != CONNECTION_OK;
}

static bool postgres_was_rolled_back(nl_jdbc_connection *self)
{
    return self->was_rolled_back;
}

const nl_jdbc_driver nl_jdbc_postgres = {
    .check = postgres_check,
    .connect = postgres_connect,
    .run = postgres_run,
    .is_broken = postgres_is_broken,
    .was_rolled_back = postgres_was_rolled_back,
    .close = postgres_close,
    .run_text = postgres_run_text,
    .describe = postgres_describe,
    .query = postgres_query,
    .next_rows = postgres_next_rows,
    .columns_sql = "SELECT column_name FROM information_schema.columns WHERE table_name = ? AND table_schema = ANY (current_schemas(false))",
};
