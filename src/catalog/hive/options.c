/* catalog/hive/options.c - see options.h. */
#include "catalog/hive/options.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "base/process.h"
#include "storage/http.h"

#define CLIENTS_MAX   1000
#define DEFAULT_PORT  "9083"
#define CONF_PREFIX   "hadoop."

/* The setting as it was said last: the catalog's own come after those of all. */
static nl_str conf_of(const nl_catalog *catalog, const char *key)
{
    const nl_str prefix = NL_STR(CONF_PREFIX);
    for (uint32_t i = catalog->property_count; i > 0; i--) {
        const nl_property *property = &catalog->properties[i - 1];
        if (nl_str_starts(property->key, prefix) && nl_str_is(nl_str_slice(property->key, prefix.length, property->key.length), key)) return nl_str_trim(property->value);
    }
    return (nl_str){0};
}

static nl_status wrong(const nl_catalog *catalog, const char *key, nl_str value, const char *wanted)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s of catalog " NL_STR_FMT " must be %s, not " NL_STR_FMT, key, NL_STR_ARG(catalog->name), wanted, NL_STR_ARG(value));
}

static nl_status boolean_of(const nl_catalog *catalog, const char *key, nl_str text, bool fallback, bool *value)
{
    *value = text.length > 0 ? nl_str_is_nocase(text, "true") : fallback;
    return !text.length || *value || nl_str_is_nocase(text, "false") ? NULL : wrong(catalog, key, text, "true or false");
}

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;
static const unit times[] = {{"ms", 1}, {"msec", 1}, {"s", 1000}, {"sec", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"hour", 3600000}, {0}};
static const unit sizes[] = {{"b", 1}, {"k", 1 << 10}, {"kb", 1 << 10}, {"m", 1 << 20}, {"mb", 1 << 20}, {"g", 1 << 30}, {"gb", 1 << 30}, {0}};

/* "600s", "5 min", "1gb"; a number alone counts `plain`. 0 <= value <= max. */
static nl_status quantity_of(const nl_catalog *catalog, const char *key, const unit *units, int64_t plain, int64_t max, int64_t *value)
{
    const nl_str text = conf_of(catalog, key);
    size_t digits = 0;
    int64_t number, factor = 0;
    if (!text.length) return NULL;
    while (digits < text.length && text.data[digits] >= '0' && text.data[digits] <= '9') digits++;
    const nl_str word = nl_str_trim(nl_str_slice(text, digits, text.length));
    if (!word.length) factor = plain;
    for (const unit *known = units; known->name; known++)
        if (nl_str_is_nocase(word, known->name)) factor = known->factor;
    if (!factor || !nl_parse_int64(nl_str_slice(text, 0, digits), &number) || number > max / factor) return wrong(catalog, key, text, "a number with a unit, and not that large");
    *value = number * factor;
    return NULL;
}

static nl_status add_address(const nl_catalog *catalog, nl_str text, nl_hive_address *address)
{
    nl_url url = {0};
    nl_error *error = nl_url_parse(text, &url);
    const bool is_fine = !error && nl_str_is_nocase(url.scheme, "thrift") && url.host.length > 0;
    nl_error_free(error);
    if (!is_fine)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The uri of catalog " NL_STR_FMT " must be thrift://host:port (several with commas), not " NL_STR_FMT, NL_STR_ARG(catalog->name),
                             NL_STR_ARG(text));
    *address = (nl_hive_address){url.host, url.port.length ? url.port : NL_STR(DEFAULT_PORT)};
    return NULL;
}

static nl_status read_addresses(const nl_catalog *catalog, nl_arena *arena, nl_hive_options *options)
{
    nl_str rest = nl_str_trim(nl_catalog_property(catalog, "uri")), part;
    if (!rest.length) rest = conf_of(catalog, "hive.metastore.uris");
    if (!rest.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Hive catalog " NL_STR_FMT " needs the address of a metastore: set spark.sql.catalog." NL_STR_FMT
                             ".uri=thrift://host:9083 (nilas has no metastore of its own), or another type (hadoop, rest, jdbc, glue).",
                             NL_STR_ARG(catalog->name), NL_STR_ARG(catalog->name));
    options->uri = rest;
    nl_hive_address *addresses = NL_NEW_ARRAY(arena, nl_hive_address, rest.length);
    while (nl_str_next_part(&rest, ',', &part)) {
        part = nl_str_trim(part);
        if (part.length) NL_TRY(add_address(catalog, part, &addresses[options->address_count++]));
    }
    options->addresses = addresses;
    return options->address_count ? NULL : wrong(catalog, "uri", options->uri, "thrift://host:port");
}

static nl_str user_name(nl_arena *arena)
{
    const char *name = getenv("HADOOP_USER_NAME");
    if (name && *name) return nl_arena_str(arena, nl_str_from(name));
    const nl_user user = nl_process_user(arena, geteuid());
    return user.name.data ? user.name : NL_STR("nilas");
}

/* What would have to be spoken to a metastore that is told to want it. */
static nl_status refuse_others(const nl_catalog *catalog)
{
    static const char *const keys[] = {"hive.metastore.sasl.enabled", "hive.metastore.use.SSL", "hive.metastore.thrift.compact.protocol.enabled"};
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        bool is_wanted;
        NL_TRY(boolean_of(catalog, keys[i], conf_of(catalog, keys[i]), false, &is_wanted));
        if (is_wanted) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s=true is not supported: nilas speaks Thrift's binary protocol over plain TCP to the Hive metastore.", keys[i]);
    }
    const nl_str mode = conf_of(catalog, "hive.metastore.client.thrift.transport.mode");
    if (!mode.length || nl_str_is_nocase(mode, "binary")) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "hive.metastore.client.thrift.transport.mode=" NL_STR_FMT " is not supported: only binary is.", NL_STR_ARG(mode));
}

static nl_status read_connection(const nl_catalog *catalog, nl_hive_options *options)
{
    int64_t tries = 3, bytes = 100 << 20, clients = 2;
    const nl_str text = nl_catalog_property(catalog, "clients");
    if (text.length && (!nl_parse_int64(text, &clients) || clients < 1 || clients > CLIENTS_MAX)) return wrong(catalog, "clients", text, "a number from 1 to 1000");
    options->connect_delay_ms = 1000;
    options->timeout_ms = 600000;
    NL_TRY(quantity_of(catalog, "hive.metastore.connect.retries", times, 1, 1000, &tries));
    NL_TRY(quantity_of(catalog, "hive.metastore.client.connect.retry.delay", times, 1000, INT32_MAX, &options->connect_delay_ms));
    NL_TRY(quantity_of(catalog, "hive.metastore.client.socket.timeout", times, 1000, INT32_MAX, &options->timeout_ms));
    NL_TRY(quantity_of(catalog, "hive.thrift.client.max.message.size", sizes, 1, INT32_MAX, &bytes));
    NL_TRY(boolean_of(catalog, "hive.metastore.thrift.framed.transport.enabled", conf_of(catalog, "hive.metastore.thrift.framed.transport.enabled"), false, &options->is_framed));
    NL_TRY(boolean_of(catalog, "hive.metastore.execute.setugi", conf_of(catalog, "hive.metastore.execute.setugi"), true, &options->tells_user));
    options->connect_tries = (uint32_t)NL_MAX(tries, 1);
    options->answer_bytes_max = (size_t)bytes;
    options->idle_max = (uint32_t)clients;
    return NULL;
}

static nl_status read_commits(const nl_catalog *catalog, nl_hive_options *options)
{
    options->property_size_max = 32672;
    options->lock_timeout_ms = options->lock_creation_timeout_ms = 180000;
    options->lock_check_min_ms = options->lock_creation_min_ms = 50;
    options->lock_check_max_ms = 250; /* Java: 5000, which leaves a lock unused for seconds when many wait */
    options->lock_creation_max_ms = 5000;
    options->heartbeat_ms = 240000;
    const struct {
        const char *key;
        int64_t *value;
    } numbers[] = {
        {"iceberg.hive.table-property-max-size", &options->property_size_max},
        {"iceberg.hive.lock-timeout-ms", &options->lock_timeout_ms},
        {"iceberg.hive.lock-check-min-wait-ms", &options->lock_check_min_ms},
        {"iceberg.hive.lock-check-max-wait-ms", &options->lock_check_max_ms},
        {"iceberg.hive.lock-creation-timeout-ms", &options->lock_creation_timeout_ms},
        {"iceberg.hive.lock-creation-min-wait-ms", &options->lock_creation_min_ms},
        {"iceberg.hive.lock-creation-max-wait-ms", &options->lock_creation_max_ms},
        {"iceberg.hive.lock-heartbeat-interval-ms", &options->heartbeat_ms},
    };
    for (size_t i = 0; i < NL_COUNT(numbers); i++) NL_TRY(quantity_of(catalog, numbers[i].key, times, 1, INT64_MAX, numbers[i].value));
    NL_TRY(boolean_of(catalog, "list-all-tables", nl_catalog_property(catalog, "list-all-tables"), nl_str_is(catalog->name, "spark_catalog"), &options->lists_all_tables));
    NL_TRY(boolean_of(catalog, "iceberg.engine.hive.lock-enabled", conf_of(catalog, "iceberg.engine.hive.lock-enabled"), true, &options->locks));
    NL_TRY(boolean_of(catalog, "iceberg.engine.hive.enabled", conf_of(catalog, "iceberg.engine.hive.enabled"), false, &options->is_for_hive));
    return boolean_of(catalog, "iceberg.hive.keep.stats", conf_of(catalog, "iceberg.hive.keep.stats"), false, &options->keeps_statistics);
}

nl_status nl_hive_options_read(const nl_catalog *catalog, nl_arena *arena, nl_hive_options *options)
{
    *options = (nl_hive_options){0};
    NL_TRY(refuse_others(catalog));
    NL_TRY(read_addresses(catalog, arena, options));
    NL_TRY(read_connection(catalog, options));
    NL_TRY(read_commits(catalog, options));
    nl_str warehouse = nl_catalog_property(catalog, "warehouse");
    if (!warehouse.length) warehouse = conf_of(catalog, "hive.metastore.warehouse.dir");
    while (warehouse.length > 1 && warehouse.data[warehouse.length - 1] == '/') warehouse.length--;
    options->warehouse = warehouse;
    options->user = user_name(arena);
    return nl_arena_check(arena);
}
