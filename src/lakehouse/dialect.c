/* lakehouse/dialect.c - see dialect.h. A token keeps its text, or gets another; passes look at neighbours and never at what
 * stands inside literals, names or comments.
 */
#include "lakehouse/dialect_private.h"

#include <ctype.h>

#include "base/status.h"

const nl_property nl_dialect_confs[] = {
    {NL_STR_INIT("spark.sql.ansi.enabled"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.session.timeZone"), NL_STR_INIT("UTC")},
    {NL_STR_INIT("spark.nilas.sql.trino"), NL_STR_INIT("true")},
    {NL_STR_INIT("spark.sql.variable.substitute"), NL_STR_INIT("false")},
};
const uint32_t nl_dialect_conf_count = NL_COUNT(nl_dialect_confs);

/* ---- Tokens. */

static size_t quoted_end(nl_str sql, size_t start)
{
    size_t i = start + 1;
    for (; i < sql.length; i++) {
        if (sql.data[i] != sql.data[start]) continue;
        if (i + 1 < sql.length && sql.data[i + 1] == sql.data[start]) i++;
        else return i + 1;
    }
    return sql.length;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t space_end(nl_str sql, size_t i)
{
    if (nl_str_starts(nl_str_slice(sql, i, sql.length), NL_STR("--"))) {
        const size_t line = nl_str_find_char(sql, '\n', i);
        return line == NL_NOT_FOUND ? sql.length : line + 1;
    }
    if (nl_str_starts(nl_str_slice(sql, i, sql.length), NL_STR("/*"))) {
        const size_t end = nl_str_find(sql, NL_STR("*/"), i + 2);
        return end == NL_NOT_FOUND ? sql.length : end + 2;
    }
    while (i < sql.length && isspace((unsigned char)sql.data[i])) i++;
    return i;
}

/* 12, 1.5, 1.5E-3, .5 */
static size_t number_end(nl_str sql, size_t i)
{
    size_t end = i;
    for (; end < sql.length; end++) {
        const char c = sql.data[end];
        const bool is_sign = (c == '-' || c == '+') && end > i && (sql.data[end - 1] == 'e' || sql.data[end - 1] == 'E');
        if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !is_sign) break;
    }
    return end;
}

static size_t token_end(nl_str sql, size_t i, bool is_behind_name, nl_token_kind *kind)
{
    const char c = sql.data[i];
    const size_t space = space_end(sql, i);
    *kind = NL_TOKEN_SPACE;
    if (space > i) return space;
    *kind = c == '\'' ? NL_TOKEN_TEXT : NL_TOKEN_NAME;
    if (c == '\'' || c == '"' || c == '`') return quoted_end(sql, i);
    const bool is_fraction = c == '.' && !is_behind_name && i + 1 < sql.length && isdigit((unsigned char)sql.data[i + 1]);
    size_t end = i + 1;
    if (isdigit((unsigned char)c) || is_fraction) {
        *kind = NL_TOKEN_NUMBER;
        return number_end(sql, i);
    }
    if (is_word_byte(c)) {
        *kind = NL_TOKEN_WORD;
        while (end < sql.length && is_word_byte(sql.data[end])) end++;
    } else {
        *kind = NL_TOKEN_SIGN;
    }
    return end;
}

void nl_dialect_read(nl_dialect *self, nl_str sql)
{
    self->tokens = NL_NEW_ARRAY(self->arena, nl_token, sql.length + 1);
    for (size_t i = 0; i < sql.length;) {
        nl_token_kind kind;
        const bool is_behind_name = i > 0 && (is_word_byte(sql.data[i - 1]) || strchr("\"`)]", sql.data[i - 1]));
        const size_t end = token_end(sql, i, is_behind_name, &kind);
        self->tokens[self->count++] = (nl_token){.kind = kind, .text = nl_str_slice(sql, i, end)};
        i = end;
    }
}

uint32_t nl_dialect_solid(const nl_dialect *self, uint32_t at)
{
    while (at < self->count && (self->tokens[at].kind == NL_TOKEN_SPACE || self->tokens[at].text.length == 0)) at++;
    return at;
}

bool nl_dialect_is_word(const nl_dialect *self, uint32_t at, const char *word)
{
    return at < self->count && self->tokens[at].kind == NL_TOKEN_WORD && nl_str_is_nocase(self->tokens[at].text, word);
}

bool nl_dialect_is_sign(const nl_dialect *self, uint32_t at, char sign)
{
    return at < self->count && self->tokens[at].kind == NL_TOKEN_SIGN && self->tokens[at].text.data[0] == sign;
}

bool nl_dialect_is_name(const nl_dialect *self, uint32_t at)
{
    return at < self->count && (self->tokens[at].kind == NL_TOKEN_WORD || self->tokens[at].kind == NL_TOKEN_NAME);
}

uint32_t nl_dialect_before(const nl_dialect *self, uint32_t at)
{
    while (at > 0)
        if (self->tokens[--at].kind != NL_TOKEN_SPACE && self->tokens[at].text.length) return at;
    return self->count;
}

uint32_t nl_dialect_closing(const nl_dialect *self, uint32_t at)
{
    return at < self->count && self->partner[at] > at ? self->partner[at] : self->count;
}

static void pair_brackets(nl_dialect *self)
{
    uint32_t *open = NL_NEW_ARRAY(self->arena, uint32_t, self->count + 1), depth = 0;
    self->partner = NL_NEW_ARRAY(self->arena, uint32_t, self->count + 1);
    for (uint32_t i = 0; i <= self->count; i++) self->partner[i] = self->count;
    for (uint32_t i = 0; i < self->count; i++) {
        if (nl_dialect_is_sign(self, i, '(') || nl_dialect_is_sign(self, i, '[')) open[depth++] = i;
        if (!nl_dialect_is_sign(self, i, ')') && !nl_dialect_is_sign(self, i, ']')) continue;
        if (depth == 0) continue;
        self->partner[i] = open[--depth];
        self->partner[open[depth]] = i;
    }
}

void nl_dialect_drop(nl_dialect *self, uint32_t from, uint32_t to)
{
    for (; from < to && from < self->count; from++) self->tokens[from] = (nl_token){.kind = NL_TOKEN_SPACE};
}

void nl_dialect_append(const nl_dialect *self, uint32_t from, uint32_t to, nl_builder *out)
{
    for (; from < to; from++) {
        nl_append(out, self->tokens[from].before);
        nl_append(out, self->tokens[from].text);
        nl_append(out, self->tokens[from].after);
    }
}

nl_str nl_dialect_text(const nl_dialect *self, uint32_t from, uint32_t to)
{
    nl_builder out;
    nl_builder_init(&out, 64u << 20);
    nl_dialect_append(self, from, to, &out);
    const nl_str text = nl_arena_str(self->arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

void nl_dialect_put(nl_dialect *self, uint32_t at, const char *text)
{
    self->tokens[at].text = nl_str_from(text);
    self->tokens[at].is_engines = true;
}

void nl_dialect_put_str(nl_dialect *self, uint32_t at, nl_str text)
{
    self->tokens[at] = (nl_token){.kind = NL_TOKEN_NUMBER, .is_engines = true, .text = text};
}

uint32_t nl_dialect_commas(const nl_dialect *self, uint32_t open, uint32_t *found, uint32_t most_count)
{
    const uint32_t end = nl_dialect_closing(self, open);
    uint32_t count = 0;
    for (uint32_t i = open + 1; i < end; i++) {
        if (nl_dialect_is_sign(self, i, '(') || nl_dialect_is_sign(self, i, '[')) i = nl_dialect_closing(self, i);
        else if (nl_dialect_is_sign(self, i, ',') && count++ < most_count) found[count - 1] = i;
    }
    return count;
}

/* ---- Literals and names. */

nl_str nl_dialect_unquote(nl_arena *arena, nl_str text)
{
    if (text.length < 2 || !strchr("'\"`", text.data[0])) return text;
    char *out = nl_arena_alloc(arena, text.length);
    size_t length = 0;
    for (size_t i = 1; i + 1 < text.length; i++) {
        out[length++] = text.data[i];
        if (text.data[i] == text.data[0]) i++; /* the second of two */
    }
    return (nl_str){out, length};
}

nl_str nl_dialect_literal(nl_arena *arena, nl_str text)
{
    char *out = nl_arena_alloc(arena, 2 * text.length + 2);
    size_t length = 0;
    out[length++] = '\'';
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '\'' || text.data[i] == '\\') out[length++] = '\\';
        out[length++] = text.data[i];
    }
    out[length++] = '\'';
    return (nl_str){out, length};
}

/* "a""b" becomes `a"b`. */
static nl_str engine_name(nl_arena *arena, nl_str text)
{
    if (text.data[0] == '`') return text;
    char *out = nl_arena_alloc(arena, 2 * text.length + 4);
    size_t length = 0;
    const nl_str inside = nl_str_slice(text, 1, text.length - 1);
    out[length++] = '`';
    for (size_t i = 0; i < inside.length; i++) {
        if (inside.data[i] == '`') out[length++] = '`';
        if (inside.data[i] == '"' && i + 1 < inside.length) i++;
        out[length++] = inside.data[i];
    }
    out[length++] = '`';
    return (nl_str){out, length};
}

/* ---- "t$snapshots": Trino's columns of the engine's metadata tables. */

static const struct {
    const char *name, *columns; /* columns NULL: not supported */
} metadata_tables[] = {
    {"snapshots", "trino_round_time(committed_at, 3) AS committed_at, snapshot_id, parent_id, operation, manifest_list, summary"},
    {"history", "trino_round_time(made_current_at, 3) AS made_current_at, snapshot_id, parent_id, is_current_ancestor"},
    {"files", "* EXCEPT (lower_bounds, upper_bounds, readable_metrics, first_row_id, referenced_data_file, content_offset, content_size_in_bytes)"}, /* texts and JSON there */
    {"partitions", "partition, record_count, CAST(file_count AS BIGINT) AS file_count, total_data_file_size_in_bytes AS total_size"},
    {"manifests", "path, length, partition_spec_id, added_snapshot_id, added_data_files_count, existing_data_files_count, deleted_data_files_count, partition_summaries"},
    {"refs", "*"},
    {"metadata_log_entries", "trino_round_time(timestamp, 3) AS timestamp, file, latest_snapshot_id, latest_schema_id, latest_sequence_number"},
    {"properties", NULL}, {"entries", NULL}, {"all_entries", NULL}, {"all_manifests", NULL}, {"data", NULL}, {"changes", NULL},
};

static void append_part(nl_builder *out, nl_arena *arena, nl_str part)
{
    nl_str quoted = part;
    if (part.data[0] != '"') quoted = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(part));
    if (out->length) nl_append_char(out, '.');
    nl_append(out, engine_name(arena, quoted));
}

static nl_status translate_metadata_table(nl_dialect *self, uint32_t at, size_t which, size_t dollar, const nl_dialect_names *names)
{
    const nl_str text = self->tokens[at].text;
    nl_str parts[3];
    uint32_t first = at, count = 0;
    if (!metadata_tables[which].columns) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The metadata table $%s is not supported", metadata_tables[which].name);
    while (count < 3) {
        const uint32_t dot = nl_dialect_before(self, first), name = dot < self->count ? nl_dialect_before(self, dot) : dot;
        if (!nl_dialect_is_sign(self, dot, '.') || !nl_dialect_is_name(self, name)) break;
        parts[count++] = self->tokens[name].text;
        first = name;
    }
    nl_builder out;
    nl_builder_init(&out, 1u << 20);
    if (count < 2 && names && names->catalog.length) append_part(&out, self->arena, names->catalog);
    if (count < 1 && names && names->schema.length) append_part(&out, self->arena, names->schema);
    while (count > 0) append_part(&out, self->arena, parts[--count]);
    append_part(&out, self->arena, nl_arena_f(self->arena, NL_STR_FMT "\"", NL_STR_ARG(nl_str_slice(text, 0, dollar))));
    const nl_str made = nl_arena_f(self->arena, "(SELECT %s FROM " NL_STR_FMT ".%s)", metadata_tables[which].columns, NL_STR_ARG(nl_builder_str(&out)), metadata_tables[which].name);
    nl_builder_fini(&out);
    nl_dialect_drop(self, first, at + 1);
    nl_dialect_put_str(self, first, made);
    return NULL;
}

static nl_status translate_metadata(nl_dialect *self, const nl_dialect_names *names)
{
    for (uint32_t i = 0; i < self->count; i++) {
        const nl_token *one = &self->tokens[i];
        if (one->kind != NL_TOKEN_NAME || one->is_engines || one->text.data[0] != '"' || one->text.length < 4) continue;
        const size_t dollar = nl_str_find_last_char(one->text, '$');
        if (dollar == NL_NOT_FOUND || dollar <= 1) continue;
        for (size_t k = 0; k < NL_COUNT(metadata_tables); k++) {
            if (!nl_str_is_nocase(nl_str_slice(one->text, dollar + 1, one->text.length - 1), metadata_tables[k].name)) continue;
            NL_TRY(translate_metadata_table(self, i, k, dollar, names));
            break;
        }
    }
    return NULL;
}

static bool is_closed(nl_str text)
{
    return text.length > 1 && text.data[text.length - 1] == text.data[0];
}

/* \2603 and \+01F600 of U&'…'; the escape itself twice is itself. False: not such a text. */
static bool decode_unicode(nl_str text, char escape, nl_builder *out)
{
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] != escape) {
            nl_append_char(out, text.data[i]);
            continue;
        }
        if (i + 1 < text.length && text.data[i + 1] == escape) {
            nl_append_char(out, escape);
            i++;
            continue;
        }
        const bool is_long = i + 1 < text.length && text.data[i + 1] == '+';
        const size_t digits = is_long ? 6 : 4, start = i + 1 + is_long;
        uint32_t code = 0;
        if (start + digits > text.length) return false;
        for (size_t k = start; k < start + digits; k++) {
            const char c = (char)tolower((unsigned char)text.data[k]);
            if (!isxdigit((unsigned char)c)) return false;
            code = code * 16 + (uint32_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
        }
        char bytes[4];
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
        nl_append(out, (nl_str){bytes, nl_utf8_encode(code, bytes)});
        i = start + digits - 1;
    }
    return true;
}

/* U&'…' [UESCAPE 'c'] becomes a plain literal. */
static nl_status translate_unicode(nl_dialect *self)
{
    for (uint32_t i = 0; i + 2 < self->count; i++) {
        nl_token *text = &self->tokens[i + 2];
        const bool is_text = nl_dialect_is_word(self, i, "u") && nl_dialect_is_sign(self, i + 1, '&') && text->kind == NL_TOKEN_TEXT && is_closed(text->text);
        if (!is_text) continue;
        char escape = '\\';
        const uint32_t word = nl_dialect_solid(self, i + 3), by = nl_dialect_solid(self, word + 1);
        if (nl_dialect_is_word(self, word, "uescape") && by < self->count && self->tokens[by].text.length == 3) {
            escape = self->tokens[by].text.data[1];
            nl_dialect_drop(self, word, by + 1);
        }
        nl_builder out;
        nl_builder_init(&out, 16u << 20);
        const bool is_good = decode_unicode(nl_dialect_unquote(self->arena, text->text), escape, &out);
        text->text = nl_dialect_literal(self->arena, nl_builder_str(&out));
        text->is_engines = true;
        nl_builder_fini(&out);
        nl_dialect_drop(self, i, i + 2);
        if (!is_good) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A text of U&'…' has an escape that is none");
    }
    return NULL;
}

static void translate_quotes(nl_dialect *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        nl_token *one = &self->tokens[i];
        if (one->is_engines || !is_closed(one->text)) continue;
        if (one->kind == NL_TOKEN_TEXT) one->text = nl_dialect_literal(self->arena, nl_dialect_unquote(self->arena, one->text));
        if (one->kind == NL_TOKEN_NAME) one->text = engine_name(self->arena, one->text);
    }
}

/* ---- Names of tables that the service itself has. */

static nl_str bare(const nl_dialect *self, uint32_t at)
{
    const nl_token *one = &self->tokens[at];
    const nl_str text = one->kind == NL_TOKEN_NAME && one->text.length > 1 ? nl_str_slice(one->text, 1, one->text.length - 1) : one->text;
    char *out = nl_arena_alloc(self->arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++) out[i] = (char)tolower((unsigned char)text.data[i]);
    return (nl_str){out, text.length};
}

/* A name of two or three parts, of which the last but one is information_schema or jdbc. */
static nl_status translate_names(nl_dialect *self, const nl_dialect_names *names)
{
    for (uint32_t i = 0; i < self->count; i++) {
        nl_str parts[3];
        uint32_t count = 0, last = i;
        if (!nl_dialect_is_name(self, i) || nl_dialect_is_sign(self, nl_dialect_before(self, i), '.')) continue;
        for (uint32_t at = i; count < 3 && nl_dialect_is_name(self, at); at = nl_dialect_solid(self, nl_dialect_solid(self, at + 1) + 1)) {
            parts[count++] = bare(self, at);
            last = at;
            if (!nl_dialect_is_sign(self, nl_dialect_solid(self, at + 1), '.')) break;
        }
        if (count < 2 || !(nl_str_is(parts[count - 2], "information_schema") || nl_str_is(parts[count - 2], "jdbc"))) continue;
        nl_str text = {0};
        NL_TRY(names->find(names->argument, parts, count, self->arena, &text));
        if (!text.length) continue;
        nl_dialect_drop(self, i, last + 1);
        nl_dialect_put_str(self, i, text);
    }
    return NULL;
}

nl_status nl_dialect_to_engine(nl_arena *arena, nl_str sql, const nl_dialect_names *names, nl_str *text, nl_str *then)
{
    nl_dialect self = {.arena = arena};
    *then = (nl_str){0};
    nl_dialect_read(&self, sql);
    pair_brackets(&self);
    NL_TRY(nl_dialect_backquotes(&self));
    NL_TRY(translate_unicode(&self));
    NL_TRY(nl_dialect_statement(&self, then));
    NL_TRY(translate_metadata(&self, names));
    NL_TRY(nl_dialect_casts(&self));
    translate_quotes(&self);
    NL_TRY(nl_dialect_typed_literals(&self));
    NL_TRY(nl_dialect_query(&self));
    if (names && names->find) NL_TRY(translate_names(&self, names));
    NL_TRY(nl_dialect_zones(&self));
    NL_TRY(nl_dialect_functions(&self));
    *text = nl_dialect_text(&self, 0, self.count);
    return nl_arena_check(arena);
}
