/* lakehouse/dialect_statement.c - statements that are written otherwise: CREATE TABLE … WITH (…), ALTER TABLE, COMMENT ON COLUMN, ALTER TABLE
 * … EXECUTE, Athena's OPTIMIZE and VACUUM, FOR VERSION AS OF. Works on Trino's own tokens, before any other pass.
 * Source: Trino's documentation, "SQL statement syntax" and "Iceberg connector"; Athena's user guide, "Working with Iceberg tables".
 */
#include "lakehouse/dialect_private.h"

#include <ctype.h>

#include "base/calendar.h"
#include "base/number.h"

#define solid      nl_dialect_solid
#define before(self, at) nl_dialect_before(self, at)
#define is_word    nl_dialect_is_word
#define is_sign    nl_dialect_is_sign
#define closing    nl_dialect_closing
#define drop       nl_dialect_drop

#define INVALID(...) NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, __VA_ARGS__)
#define UNSUPPORTED(...) NL_RAISE_TEXT(NILAS_UNSUPPORTED, __VA_ARGS__)

/* Behind the words that follow each other from `at` on; count: they do not stand there. */
static uint32_t behind_words(const nl_dialect *self, uint32_t at, const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        at = solid(self, at);
        if (!is_word(self, at, words[i])) return self->count;
        at++;
    }
    return solid(self, at);
}
#define WORDS(self, at, ...) behind_words(self, at, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* a.b."c": the token behind it, and its text for the engine. */
static uint32_t read_name(const nl_dialect *self, uint32_t at, nl_str parts[4], uint32_t *count)
{
    *count = 0;
    for (at = solid(self, at); nl_dialect_is_name(self, at) && *count < 4; at = solid(self, at + 1)) {
        parts[(*count)++] = nl_dialect_unquote(self->arena, self->tokens[at].text);
        at = solid(self, at + 1);
        if (!is_sign(self, at, '.')) break;
    }
    return at;
}

static void append_quoted(nl_builder *out, nl_str part)
{
    nl_append_char(out, '`');
    for (size_t i = 0; i < part.length; i++) {
        if (part.data[i] == '`') nl_append_char(out, '`');
        nl_append_char(out, part.data[i]);
    }
    nl_append_char(out, '`');
}

/* ---- Properties: name = value, … between brackets. */

typedef struct property {
    nl_str name;
    uint32_t from, to; /* the value's tokens */
} property;

enum { PROPERTIES_MAX = 64 };

static nl_status read_properties(const nl_dialect *self, uint32_t open, property *list, uint32_t *count)
{
    uint32_t comma[PROPERTIES_MAX];
    const uint32_t end = closing(self, open), commas = nl_dialect_commas(self, open, comma, PROPERTIES_MAX);
    *count = 0;
    if (commas >= PROPERTIES_MAX) return UNSUPPORTED("So many properties are not supported");
    for (uint32_t i = 0; i <= commas; i++) {
        const uint32_t name = solid(self, i ? comma[i - 1] + 1 : open + 1), equal = solid(self, name + 1);
        if (!is_sign(self, equal, '=') || name >= self->count) return INVALID("Properties are written as name = value");
        list[(*count)++] = (property){nl_dialect_unquote(self->arena, self->tokens[name].text), solid(self, equal + 1), i < commas ? comma[i] : end};
    }
    return NULL;
}

static nl_status value_text(const nl_dialect *self, const property *one, nl_str *text)
{
    if (one->from >= self->count || solid(self, one->from + 1) < one->to) return UNSUPPORTED("The value of the property " NL_STR_FMT " is not supported", NL_STR_ARG(one->name));
    *text = nl_dialect_unquote(self->arena, self->tokens[one->from].text);
    return NULL;
}

/* 'bucket(id, 4)' becomes bucket(4, `id`). */
static nl_status append_partition(nl_arena *arena, nl_str field, nl_builder *out)
{
    static const char *const times[] = {"year", "month", "day", "hour"};
    field = nl_str_trim(field);
    const size_t open = nl_str_find_char(field, '(', 0);
    if (open == NL_NOT_FOUND) {
        append_quoted(out, nl_dialect_unquote(arena, field));
        return NULL;
    }
    if (field.data[field.length - 1] != ')') return INVALID("Unable to parse partitioning value: " NL_STR_FMT, NL_STR_ARG(field));
    const nl_str transform = nl_str_trim(nl_str_slice(field, 0, open)), inside = nl_str_slice(field, open + 1, field.length - 1);
    const size_t comma = nl_str_find_last_char(inside, ',');
    for (size_t i = 0; comma == NL_NOT_FOUND && i < NL_COUNT(times); i++) {
        if (!nl_str_is_nocase(transform, times[i])) continue;
        nl_append_f(out, "%ss(", times[i]);
        append_quoted(out, nl_dialect_unquote(arena, nl_str_trim(inside)));
        nl_append_char(out, ')');
        return NULL;
    }
    int64_t width = 0;
    const bool is_wide = nl_str_is_nocase(transform, "bucket") || nl_str_is_nocase(transform, "truncate");
    if (!is_wide || comma == NL_NOT_FOUND || !nl_parse_int64(nl_str_trim(nl_str_slice(inside, comma + 1, inside.length)), &width) || width <= 0)
        return INVALID("Unable to parse partitioning value: " NL_STR_FMT, NL_STR_ARG(field));
    nl_append_f(out, "%s(%lld, ", nl_str_is_nocase(transform, "bucket") ? "bucket" : "truncate", (long long)width);
    append_quoted(out, nl_dialect_unquote(arena, nl_str_trim(nl_str_slice(inside, 0, comma))));
    nl_append_char(out, ')');
    return NULL;
}

static nl_status append_partitioning(const nl_dialect *self, const property *one, nl_builder *out)
{
    const uint32_t open = solid(self, one->from + 1), end = closing(self, open);
    if (!is_word(self, one->from, "array") || !is_sign(self, open, '[') || end >= one->to) return INVALID("Invalid value for catalog table property 'partitioning'");
    if (solid(self, open + 1) == end) return NULL;
    nl_append_c(out, " PARTITIONED BY (");
    bool is_first = true;
    for (uint32_t i = solid(self, open + 1); i < end; i = solid(self, i + 1)) {
        if (is_sign(self, i, ',')) continue;
        if (self->tokens[i].kind != NL_TOKEN_TEXT) return INVALID("Invalid value for catalog table property 'partitioning'");
        if (!is_first) nl_append_c(out, ", ");
        is_first = false;
        NL_TRY(append_partition(self->arena, nl_dialect_unquote(self->arena, self->tokens[i].text), out));
    }
    nl_append_char(out, ')');
    return NULL;
}

/* What a property of Trino's or Athena's is called in a table's own properties; NULL: it has its clause, or says nothing new. */
static const struct {
    const char *name, *key;
} known_properties[] = {
    {"format", "write.format.default"}, {"format_version", "format-version"}, {"compression_codec", "write.parquet.compression-codec"}, {"write_compression", "write.parquet.compression-codec"},
    {"max_commit_retry", "commit.retry.num-retries"}, {"object_store_layout_enabled", "write.object-storage.enabled"}, {"data_location", "write.data.path"},
    {"vacuum_max_snapshot_age_seconds", NULL}, {"vacuum_min_snapshots_to_keep", "history.expire.min-snapshots-to-keep"}, {"vacuum_max_metadata_files_to_keep", "write.metadata.previous-versions-max"},
    {"optimize_rewrite_delete_file_threshold", "optimize_rewrite_delete_file_threshold"}, {"optimize_rewrite_data_file_threshold", "optimize_rewrite_data_file_threshold"},
};

static nl_status append_property(const nl_dialect *self, const property *one, nl_builder *properties)
{
    nl_str value;
    NL_TRY(value_text(self, one, &value));
    const char *key = NULL;
    bool is_known = false;
    for (size_t i = 0; i < NL_COUNT(known_properties); i++) {
        if (!nl_str_is_nocase(one->name, known_properties[i].name)) continue;
        is_known = true;
        key = known_properties[i].key;
    }
    if (!is_known) return INVALID("Catalog table property '" NL_STR_FMT "' does not exist", NL_STR_ARG(one->name));
    int64_t seconds = 0;
    if (!key && !nl_parse_int64(value, &seconds)) return INVALID("vacuum_max_snapshot_age_seconds wants a number");
    if (!key) value = nl_arena_f(self->arena, "%lld", (long long)seconds * 1000);
    char *lower = nl_arena_alloc(self->arena, value.length + 1);
    for (size_t i = 0; i < value.length; i++) lower[i] = nl_str_is(one->name, "data_location") ? value.data[i] : (char)tolower((unsigned char)value.data[i]);
    nl_append_f(properties, "%s'%s' = " NL_STR_FMT, properties->length ? ", " : "", key ? key : "history.expire.max-snapshot-age-ms",
                NL_STR_ARG(nl_dialect_literal(self->arena, (nl_str){lower, value.length})));
    return NULL;
}

/* WITH (…) as USING iceberg PARTITIONED BY (…) LOCATION '…' TBLPROPERTIES (…). */
static nl_status table_clauses(const nl_dialect *self, uint32_t open, nl_builder *clauses, nl_builder *properties)
{
    property list[PROPERTIES_MAX + 1];
    uint32_t count = 0;
    NL_TRY(read_properties(self, open, list, &count));
    nl_append_c(clauses, " USING iceberg");
    for (uint32_t i = 0; i < count; i++) {
        nl_str value;
        if (nl_str_is_nocase(list[i].name, "partitioning") || nl_str_is_nocase(list[i].name, "partitioned_by")) {
            NL_TRY(append_partitioning(self, &list[i], clauses));
        } else if (nl_str_is_nocase(list[i].name, "location")) {
            NL_TRY(value_text(self, &list[i], &value));
            nl_append_f(clauses, " LOCATION " NL_STR_FMT, NL_STR_ARG(nl_dialect_literal(self->arena, value)));
        } else if (nl_str_is_nocase(list[i].name, "table_type")) {
            NL_TRY(value_text(self, &list[i], &value));
            if (!nl_str_is_nocase(value, "iceberg")) return UNSUPPORTED("Tables of the type " NL_STR_FMT " are not supported", NL_STR_ARG(value));
        } else if (nl_str_is_nocase(list[i].name, "is_external")) {
            continue;
        } else if (nl_str_is_nocase(list[i].name, "sorted_by") || nl_str_is_nocase(list[i].name, "extra_properties") || nl_str_is_nocase(list[i].name, "orc_bloom_filter_columns")) {
            return UNSUPPORTED("The table property " NL_STR_FMT " is not supported", NL_STR_ARG(list[i].name));
        } else {
            NL_TRY(append_property(self, &list[i], properties));
        }
    }
    if (properties->length) nl_append_f(clauses, " TBLPROPERTIES (" NL_STR_FMT ")", NL_STR_ARG(nl_builder_str(properties)));
    return NULL;
}

static nl_status replace_with(nl_dialect *self, uint32_t with, uint32_t open)
{
    nl_builder clauses, properties;
    nl_builder_init(&clauses, 1u << 20);
    nl_builder_init(&properties, 1u << 20);
    nl_status status = table_clauses(self, open, &clauses, &properties);
    if (!status) {
        const nl_str text = nl_arena_str(self->arena, nl_builder_str(&clauses));
        drop(self, with, closing(self, open) + 1);
        nl_dialect_put_str(self, with, text);
    }
    nl_builder_fini(&clauses);
    nl_builder_fini(&properties);
    return status;
}

/* ---- CREATE TABLE. */

/* name type …, name type …: each type becomes the engine's. */
static void translate_columns(nl_dialect *self, uint32_t open)
{
    const uint32_t end = closing(self, open);
    for (uint32_t name = solid(self, open + 1); name < end;) {
        const uint32_t type = solid(self, name + 1);
        if (nl_dialect_is_name(self, name)) self->tokens[name].is_engines = self->tokens[name].kind == NL_TOKEN_WORD;
        uint32_t at = type < end && nl_dialect_is_name(self, type) ? nl_dialect_type(self, type) : type;
        for (; at < end && !is_sign(self, at, ','); at = solid(self, at + 1))
            if (is_sign(self, at, '(')) at = closing(self, at);
        name = solid(self, at + 1);
    }
}

/* The last WITH [NO] DATA. */
static bool take_no_data(nl_dialect *self)
{
    uint32_t data = self->count;
    for (uint32_t i = self->count; i-- > 0 && data == self->count;)
        if (self->tokens[i].kind != NL_TOKEN_SPACE && !is_sign(self, i, ';')) data = i;
    if (!is_word(self, data, "data")) return false;
    const uint32_t no = before(self, data), with = is_word(self, no, "no") ? before(self, no) : no;
    if (!is_word(self, with, "with")) return false;
    const bool is_empty = is_word(self, no, "no");
    drop(self, with, data + 1);
    return is_empty;
}

/* (a, b) without types: the names of the query's columns. */
static bool are_aliases(const nl_dialect *self, uint32_t open)
{
    const uint32_t next = solid(self, solid(self, open + 1) + 1);
    return is_sign(self, next, ',') || is_sign(self, next, ')');
}

/* No calls of Trino's; literals are Trino's all the same. */
static void engines(nl_dialect *self, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) self->tokens[i].is_engines = self->tokens[i].kind != NL_TOKEN_TEXT;
}

static nl_status create_table(nl_dialect *self, uint32_t at)
{
    nl_str parts[4], aliases = {0};
    uint32_t count = 0;
    const uint32_t exists = WORDS(self, at, "if", "not", "exists");
    at = read_name(self, exists < self->count ? exists : at, parts, &count);
    if (is_sign(self, at, '(') && closing(self, at) < self->count) {
        const uint32_t end = closing(self, at);
        if (are_aliases(self, at)) {
            aliases = nl_dialect_text(self, at, end + 1);
            for (size_t i = 0; i < aliases.length; i++)
                if (aliases.data[i] == '"') return UNSUPPORTED("Quoted column names before AS are not supported; name the columns in the query");
            drop(self, at, end + 1);
        } else {
            translate_columns(self, at);
        }
        at = solid(self, end + 1);
    }
    for (; at < self->count && !is_word(self, at, "as"); at = solid(self, at + 1)) {
        const uint32_t open = solid(self, at + 1);
        if (is_sign(self, at, '(')) {
            engines(self, at, closing(self, at)); /* PARTITIONED BY, TBLPROPERTIES */
            at = closing(self, at);
        } else if (is_word(self, at, "with") && is_sign(self, open, '(') && closing(self, open) < self->count) {
            const uint32_t end = closing(self, open);
            NL_TRY(replace_with(self, at, open));
            at = end;
        }
    }
    if (at >= self->count) return NULL;
    const bool is_empty = take_no_data(self);
    if (!is_empty && !aliases.length) return NULL;
    self->tokens[at].after = NL_STR(" SELECT * FROM (");
    uint32_t last = self->count - 1;
    while (last > at && (self->tokens[last].kind == NL_TOKEN_SPACE || is_sign(self, last, ';'))) last--;
    self->tokens[last].after = nl_arena_f(self->arena, ") AS ctas_" NL_STR_FMT "%s", NL_STR_ARG(aliases), is_empty ? " LIMIT 0" : "");
    return NULL;
}

/* ---- Maintenance: procedures of the engine. */

/* CALL catalog.system.name(table => 'a.b', arguments). */
static nl_str procedure(const nl_dialect *self, const nl_str *parts, uint32_t count, const char *name, nl_str arguments)
{
    nl_builder call, table;
    nl_builder_init(&call, 1u << 20);
    nl_builder_init(&table, 1u << 20);
    const uint32_t first = count > 2;
    for (uint32_t i = first; i < count; i++) {
        if (i > first) nl_append_char(&table, '.');
        append_quoted(&table, parts[i]);
    }
    nl_append_c(&call, "CALL ");
    if (first) append_quoted(&call, parts[0]);
    nl_append_f(&call, "%ssystem.%s(table => " NL_STR_FMT NL_STR_FMT ")", first ? "." : "", name, NL_STR_ARG(nl_dialect_literal(self->arena, nl_builder_str(&table))), NL_STR_ARG(arguments));
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&call));
    nl_builder_fini(&call);
    nl_builder_fini(&table);
    return text;
}

/* '7d', '36h', '10.5s' as microseconds. */
static bool read_duration(nl_str text, int64_t *micros)
{
    static const struct {
        const char *unit;
        double micros;
    } units[] = {{"ms", 1e3}, {"us", 1}, {"s", 1e6}, {"m", 6e7}, {"h", 3.6e9}, {"d", 8.64e10}};
    size_t end = 0;
    while (end < text.length && (isdigit((unsigned char)text.data[end]) || text.data[end] == '.')) end++;
    double number = 0;
    if (!nl_parse_double(nl_str_slice(text, 0, end), &number)) return false;
    for (size_t i = 0; i < NL_COUNT(units); i++) {
        if (!nl_str_is(nl_str_trim(nl_str_slice(text, end, text.length)), units[i].unit)) continue;
        *micros = (int64_t)(number * units[i].micros);
        return number < 1e6;
    }
    return false;
}

/* '10MB' as bytes. */
static bool read_size(nl_str text, int64_t *bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB"};
    size_t end = 0;
    while (end < text.length && isdigit((unsigned char)text.data[end])) end++;
    if (!nl_parse_int64(nl_str_slice(text, 0, end), bytes) || *bytes > 1000000) return false;
    for (size_t i = 0; i < NL_COUNT(units); i++) {
        if (nl_str_is_nocase(nl_str_slice(text, end, text.length), units[i])) return true;
        *bytes *= 1024;
    }
    return false;
}

static nl_str time_argument(nl_arena *arena, int64_t age_micros)
{
    char text[NL_NUMBER_TEXT_MAX];
    const uint32_t length = nl_format_timestamp(nl_now_micros() - age_micros, text);
    return nl_arena_f(arena, ", older_than => TIMESTAMP '%.*s'", (int)length, text);
}

/* WHERE … as the procedure's argument: read in Trino's dialect, given as the engine's text. */
static nl_status where_argument(const nl_dialect *self, uint32_t where, nl_str *argument)
{
    nl_str text, then;
    uint32_t end = self->count;
    while (end > where && (self->tokens[end - 1].kind == NL_TOKEN_SPACE || is_sign(self, end - 1, ';'))) end--;
    NL_TRY(nl_dialect_to_engine(self->arena, nl_arena_f(self->arena, "SELECT " NL_STR_FMT, NL_STR_ARG(nl_dialect_text(self, where + 1, end))), NULL, &text, &then));
    *argument = nl_arena_f(self->arena, ", where => " NL_STR_FMT, NL_STR_ARG(nl_dialect_literal(self->arena, nl_str_slice(text, strlen("SELECT "), text.length))));
    return NULL;
}

static void become(nl_dialect *self, nl_str text)
{
    drop(self, 0, self->count);
    nl_dialect_put_str(self, 0, text);
}

/* ALTER TABLE t EXECUTE optimize[(file_size_threshold => '10MB')] [WHERE …], expire_snapshots(retention_threshold => '7d') … */
static nl_status execute(nl_dialect *self, uint32_t at, const nl_str *parts, uint32_t count)
{
    const nl_str name = at < self->count ? self->tokens[at].text : NL_STR("");
    const uint32_t open = solid(self, at + 1);
    nl_str value = {0}, key = {0}, arguments = NL_STR("");
    int64_t number = 7 * NL_MICROS_PER_DAY;
    uint32_t behind = open;
    if (is_sign(self, open, '(') && closing(self, open) < self->count) {
        const uint32_t word = solid(self, open + 1), equal = solid(self, word + 1), literal = solid(self, equal + 2);
        behind = solid(self, closing(self, open) + 1);
        if (word < closing(self, open)) {
            if (!is_sign(self, equal, '=') || literal >= closing(self, open) || solid(self, literal + 1) != closing(self, open)) return UNSUPPORTED("Only one argument by its name is supported");
            key = self->tokens[word].text;
            value = nl_dialect_unquote(self->arena, self->tokens[literal].text);
        }
    }
    if (nl_str_is_nocase(name, "optimize")) {
        if (key.length && (!nl_str_is_nocase(key, "file_size_threshold") || !read_size(value, &number))) return INVALID("Invalid argument of optimize: " NL_STR_FMT, NL_STR_ARG(key));
        if (is_word(self, behind, "where")) NL_TRY(where_argument(self, behind, &arguments));
        const nl_str size = key.length ? nl_arena_f(self->arena, ", 'min-file-size-bytes', '%lld'", (long long)number) : NL_STR("");
        become(self, procedure(self, parts, count, "rewrite_data_files", nl_arena_f(self->arena, NL_STR_FMT ", options => map('min-input-files', '2'" NL_STR_FMT ")", NL_STR_ARG(arguments), NL_STR_ARG(size))));
        return NULL;
    }
    const bool is_expiry = nl_str_is_nocase(name, "expire_snapshots");
    if (is_expiry || nl_str_is_nocase(name, "remove_orphan_files")) {
        if (key.length && (!nl_str_is_nocase(key, "retention_threshold") || !read_duration(value, &number))) return INVALID("Invalid argument of " NL_STR_FMT ": " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(key));
        become(self, procedure(self, parts, count, is_expiry ? "expire_snapshots" : "remove_orphan_files", time_argument(self->arena, number)));
        return NULL;
    }
    if (nl_str_is_nocase(name, "optimize_manifests")) {
        become(self, procedure(self, parts, count, "rewrite_manifests", NL_STR("")));
        return NULL;
    }
    return UNSUPPORTED("Table procedure not registered: " NL_STR_FMT, NL_STR_ARG(name));
}

/* SET PROPERTIES a = 'x', …: as SET TBLPROPERTIES. */
static nl_status set_properties(nl_dialect *self, uint32_t at, uint32_t from)
{
    nl_builder properties;
    nl_builder_init(&properties, 1u << 20);
    nl_status status = NULL;
    for (uint32_t name = from; !status && name < self->count && !is_sign(self, name, ';');) {
        const uint32_t equal = solid(self, name + 1), value = solid(self, equal + 1), next = solid(self, value + 1);
        if (!is_sign(self, equal, '=') || (next < self->count && !is_sign(self, next, ',') && !is_sign(self, next, ';'))) {
            status = UNSUPPORTED("This value of a table property cannot be changed here");
            break;
        }
        const property one = {nl_dialect_unquote(self->arena, self->tokens[name].text), value, next};
        status = append_property(self, &one, &properties);
        name = is_sign(self, next, ',') ? solid(self, next + 1) : next;
    }
    if (!status) {
        const nl_str text = nl_arena_f(self->arena, "SET TBLPROPERTIES (" NL_STR_FMT ")", NL_STR_ARG(nl_builder_str(&properties)));
        drop(self, at, self->count);
        nl_dialect_put_str(self, at, text);
    }
    nl_builder_fini(&properties);
    return status;
}

static nl_status alter_table(nl_dialect *self, uint32_t at)
{
    nl_str parts[4];
    uint32_t count = 0;
    const uint32_t exists = WORDS(self, at, "if", "exists");
    at = read_name(self, exists < self->count ? exists : at, parts, &count);
    if (is_word(self, at, "execute")) return execute(self, solid(self, at + 1), parts, count);
    const uint32_t properties = WORDS(self, at, "set", "properties"), add = WORDS(self, at, "add", "column"), columns = WORDS(self, at, "add", "columns"), alter = WORDS(self, at, "alter", "column");
    const uint32_t own = NL_MIN(WORDS(self, at, "set", "tblproperties"), WORDS(self, at, "unset", "tblproperties"));
    if (properties < self->count) return set_properties(self, at, properties);
    if (own < self->count) { /* Athena's form is the engine's */
        engines(self, at, self->count);
        return NULL;
    }
    if (columns < self->count && is_sign(self, columns, '(')) translate_columns(self, columns);
    if (add < self->count) {
        const uint32_t missing = WORDS(self, add, "if", "not", "exists");
        if (missing < self->count) return UNSUPPORTED("ADD COLUMN IF NOT EXISTS is not supported");
        nl_str column[4];
        uint32_t column_count = 0;
        (void)nl_dialect_type(self, read_name(self, add, column, &column_count));
    }
    if (alter < self->count) {
        nl_str column[4];
        uint32_t column_count = 0;
        const uint32_t set = read_name(self, alter, column, &column_count), type = WORDS(self, set, "set", "data", "type");
        if (type < self->count) {
            drop(self, set, type);
            nl_dialect_put_str(self, set, NL_STR("TYPE "));
            (void)nl_dialect_type(self, type);
        }
    }
    return NULL;
}

/* ---- Athena's. */

/* OPTIMIZE t REWRITE DATA USING BIN_PACK [WHERE …] */
static nl_status optimize(nl_dialect *self, uint32_t at)
{
    nl_str parts[4], where = NL_STR("");
    uint32_t count = 0;
    at = WORDS(self, read_name(self, at, parts, &count), "rewrite", "data", "using", "bin_pack");
    const bool is_end = at >= self->count || is_sign(self, at, ';');
    uint32_t last = self->count;
    for (uint32_t i = self->count; i-- > 0 && last == self->count;)
        if (self->tokens[i].kind != NL_TOKEN_SPACE && !is_sign(self, i, ';')) last = i;
    if (!count || (is_end && !is_word(self, last, "bin_pack"))) return INVALID("OPTIMIZE is written as OPTIMIZE table REWRITE DATA USING BIN_PACK [WHERE …]");
    if (!is_end && !is_word(self, at, "where")) return INVALID("OPTIMIZE is written as OPTIMIZE table REWRITE DATA USING BIN_PACK [WHERE …]");
    if (!is_end) NL_TRY(where_argument(self, at, &where));
    become(self, procedure(self, parts, count, "rewrite_data_files", nl_arena_f(self->arena, NL_STR_FMT ", options => map('min-input-files', '2')", NL_STR_ARG(where))));
    return NULL;
}

/* VACUUM t: old snapshots, then files that belong to nothing. The table's own properties say what is old. */
static nl_status vacuum(nl_dialect *self, uint32_t at, nl_str *then)
{
    nl_str parts[4];
    uint32_t count = 0;
    (void)read_name(self, at, parts, &count);
    if (!count) return INVALID("VACUUM wants a table");
    *then = procedure(self, parts, count, "remove_orphan_files", NL_STR(""));
    become(self, procedure(self, parts, count, "expire_snapshots", NL_STR("")));
    return NULL;
}

/* ---- FOR VERSION AS OF BIGINT '1', FOR TIMESTAMP AS OF TIMESTAMP '… UTC' */

static nl_status translate_travel(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t version = WORDS(self, i, "for", "version", "as", "of"), time = WORDS(self, i, "for", "timestamp", "as", "of");
        if (!is_word(self, i, "for")) continue;
        if (version < self->count && is_word(self, version, "bigint")) {
            const uint32_t text = solid(self, version + 1);
            if (text >= self->count || self->tokens[text].kind != NL_TOKEN_TEXT) continue;
            self->tokens[text].text = nl_dialect_unquote(self->arena, self->tokens[text].text);
            self->tokens[text].kind = NL_TOKEN_NUMBER;
            drop(self, version, text);
        } else if (time < self->count) {
            for (uint32_t k = i; k < time; k++) self->tokens[k].is_engines = true;
            if (is_word(self, time, "timestamp")) self->tokens[time].is_engines = true; /* the engine reads this literal, zone and all */
        }
    }
    return NULL;
}

/* COMMENT ON COLUMN a.b.c IS 'x' */
static nl_status comment_on_column(nl_dialect *self, uint32_t at)
{
    nl_str parts[4];
    uint32_t count = 0;
    const uint32_t is = read_name(self, at, parts, &count), text = solid(self, is + 1);
    if (count < 2 || !is_word(self, is, "is") || text >= self->count) return NULL;
    nl_builder out;
    nl_builder_init(&out, 1u << 20);
    nl_append_c(&out, "ALTER TABLE ");
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (i) nl_append_char(&out, '.');
        append_quoted(&out, parts[i]);
    }
    nl_append_c(&out, " ALTER COLUMN ");
    append_quoted(&out, parts[count - 1]);
    const bool is_null = is_word(self, text, "null");
    nl_append_f(&out, " COMMENT " NL_STR_FMT, NL_STR_ARG(is_null ? NL_STR("''") : nl_dialect_literal(self->arena, nl_dialect_unquote(self->arena, self->tokens[text].text))));
    const nl_str made = nl_arena_str(self->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    become(self, made);
    return NULL;
}

/* MERGE … USING (query) AS s(a, b): the names go into a query of their own. */
static void merge_source(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const uint32_t open = solid(self, i + 1), end = closing(self, open);
        if (!is_word(self, i, "using") || !is_sign(self, open, '(') || end >= self->count) continue;
        const uint32_t as = solid(self, end + 1), name = is_word(self, as, "as") ? solid(self, as + 1) : as, columns = solid(self, name + 1), last = closing(self, columns);
        if (!nl_dialect_is_name(self, name) || !is_sign(self, columns, '(') || last >= self->count) return;
        nl_builder alias;
        nl_builder_init(&alias, 1u << 16);
        append_quoted(&alias, nl_dialect_unquote(self->arena, self->tokens[name].text));
        self->tokens[open].before = NL_STR("(SELECT * FROM ");
        self->tokens[last].after = nl_arena_f(self->arena, ") AS " NL_STR_FMT, NL_STR_ARG(nl_builder_str(&alias)));
        nl_builder_fini(&alias);
        return;
    }
}

nl_status nl_dialect_statement(nl_dialect *self, nl_str *then)
{
    const uint32_t first = solid(self, 0), replace = WORDS(self, first, "create", "or", "replace", "table"), create = WORDS(self, first, "create", "table"),
                   external = WORDS(self, first, "create", "external", "table"), alter = WORDS(self, first, "alter", "table"), comment = WORDS(self, first, "comment", "on", "column");
    NL_TRY(translate_travel(self));
    if (external < self->count) return UNSUPPORTED("External tables of other formats than Iceberg are not supported");
    if (create < self->count || replace < self->count) return create_table(self, NL_MIN(create, replace));
    if (alter < self->count) return alter_table(self, alter);
    if (comment < self->count) return comment_on_column(self, comment);
    if (is_word(self, first, "merge")) merge_source(self);
    if (is_word(self, first, "optimize")) return optimize(self, solid(self, first + 1));
    if (is_word(self, first, "vacuum")) return vacuum(self, solid(self, first + 1), then);
    if (is_word(self, first, "set") || is_word(self, first, "reset") || is_word(self, first, "cache") || is_word(self, first, "uncache") || is_word(self, first, "refresh") || is_word(self, first, "add") || is_word(self, first, "unload"))
        return UNSUPPORTED("The statement " NL_STR_FMT " is not supported", NL_STR_ARG(self->tokens[first].text));
    return NULL;
}
