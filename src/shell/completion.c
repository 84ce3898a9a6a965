/* shell/completion.c - candidates by the word before the cursor and the keyword before that word. */
#include "shell/completion.h"

#include <stdlib.h>

#include "command/command.h"
#include "function/function.h"
#include "sql/token.h"

#define SOURCES_MAX 16u /* tables of one statement whose columns are offered */

typedef struct completer {
    nl_session *session;
    nl_arena *arena;
    nl_str before; /* the statement up to the word */
    nl_str word;   /* "ord", "db.or" */
    nl_str stem;   /* of the word, up to its last point, which stays: "db." */
    nl_list items; /* nl_str * */
} completer;

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '`' || (unsigned char)c >= 0x80;
}

/* Offers stem + name when the word begins so, in any case. */
static void offer(completer *self, nl_str name)
{
    const nl_str typed = nl_str_slice(self->word, self->stem.length, self->word.length);
    if (!nl_str_starts_nocase(name, typed)) return;
    nl_str *item = NL_NEW(self->arena, nl_str);
    *item = nl_arena_f(self->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(self->stem), NL_STR_ARG(name));
    nl_list_add(self->arena, &self->items, item);
}

/* Keywords come in the case that was begun. */
static void offer_keywords(completer *self)
{
    const bool is_lower = self->word.length > 0 && self->word.data[0] >= 'a' && self->word.data[0] <= 'z';
    for (uint32_t i = 0; i < nl_keyword_count(); i++) {
        nl_token_kind kind;
        const nl_str keyword = nl_keyword_at(i, &kind);
        char *text = NL_NEW_ARRAY(self->arena, char, keyword.length + 1);
        for (size_t at = 0; at < keyword.length; at++)
            text[at] = is_lower && keyword.data[at] >= 'A' && keyword.data[at] <= 'Z' ? (char)(keyword.data[at] + 32) : keyword.data[at];
        offer(self, (nl_str){text, keyword.length});
    }
}

static void offer_functions(completer *self)
{
    const nl_function_row *row;
    for (uint32_t i = 0; (row = nl_function_at(i)) != NULL; i++)
        if (!row->is_internal) offer(self, nl_str_from(row->name));
}

static void offer_confs(completer *self)
{
    const nl_conf_row *row;
    self->stem = (nl_str){0}; /* keys have points of their own */
    for (uint32_t i = 0; (row = nl_conf_at(i)) != NULL; i++)
        offer(self, nl_str_from(row->key));
}

static void offer_catalogs(completer *self)
{
    const nl_str *names;
    uint32_t count;
    nl_session_catalog_names(self->session, self->arena, &names, &count);
    for (uint32_t i = 0; i < count; i++)
        offer(self, names[i]);
    const nl_property *confs;
    nl_session_list(self->session, self->arena, &confs, &count);
    for (uint32_t i = 0; i < count; i++) {
        const nl_str prefix = NL_STR("spark.sql.catalog.");
        if (!nl_str_starts(confs[i].key, prefix)) continue;
        const nl_str name = nl_str_slice(confs[i].key, prefix.length, confs[i].key.length);
        if (nl_str_find_char(name, '.', 0) == NL_NOT_FOUND) offer(self, name);
    }
}

/* The names before the last point; NULL when they are none. */
static nl_str *stem_parts(completer *self, uint32_t *count)
{
    nl_str rest = nl_str_slice(self->stem, 0, self->stem.length - 1), part;
    uint32_t most = 1;
    for (size_t i = 0; i < rest.length; i++)
        most += rest.data[i] == '.';
    nl_str *parts = NL_NEW_ARRAY(self->arena, nl_str, most);
    *count = 0;
    while (nl_str_next_part(&rest, '.', &part)) {
        if (part.length > 1 && part.data[0] == '`') part = nl_str_slice(part, 1, part.length - 1);
        parts[(*count)++] = part;
    }
    return parts;
}

static void offer_tables(completer *self, bool wants_tables)
{
    uint32_t part_count = 0;
    const nl_str *parts = self->stem.length > 0 ? stem_parts(self, &part_count) : NULL;
    nl_session_name name;
    nl_name_list list = {0};
    nl_status status = nl_session_resolve_namespace(self->session, parts, part_count, self->arena, &name);
    if (!status && wants_tables) {
        status = nl_catalog_list_tables(name.catalog, name.identifier.namespace_parts, name.identifier.namespace_count, self->arena, &list);
        for (uint32_t i = 0; !status && i < list.count; i++)
            offer(self, list.items[i].name);
    }
    nl_error_free(status); /* nothing to offer is all that a failure means here */
    const nl_str *parent = part_count ? name.identifier.namespace_parts : NULL; /* a bare word may be a namespace of the catalog */
    const uint32_t parent_count = part_count ? name.identifier.namespace_count : 0;
    status = nl_session_resolve_namespace(self->session, parts, part_count, self->arena, &name);
    if (!status) status = nl_catalog_list_namespaces(name.catalog, parent, parent_count, self->arena, &list);
    for (uint32_t i = 0; !status && i < list.count; i++)
        if (list.items[i].namespace_count > 0) offer(self, list.items[i].namespace_parts[list.items[i].namespace_count - 1]);
    nl_error_free(status);
    if (part_count > 0) return;
    const nl_list views = nl_session_views(self->session, self->arena);
    for (uint32_t i = 0; wants_tables && i < views.count; i++) offer(self, ((const nl_temp_view *)views.items[i])->name);
    offer_catalogs(self);
}

/* ---- columns of the tables that the statement names ------------------------------------------------------------ */

static void offer_columns(completer *self, nl_str table)
{
    nl_result *result = NULL;
    const nl_str statement = nl_arena_f(self->arena, "DESCRIBE TABLE " NL_STR_FMT, NL_STR_ARG(table));
    nl_status status = nl_command_run(self->session, statement, &result);
    bool is_done = false, is_over = false;
    while (!status && !is_done && !is_over) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        for (uint32_t row = 0; !status && !is_over && row < batch.row_count; row++) {
            const nl_value name = nl_vector_value(&batch.columns[0], row, self->arena);
            is_over = name.is_null || name.text.length == 0 || name.text.data[0] == '#'; /* what follows is not columns */
            if (!is_over) offer(self, nl_arena_str(self->arena, name.text));
        }
        nl_batch_fini(&batch);
    }
    nl_error_free(status);
    nl_result_close(result);
}

static bool names_table(nl_token_kind kind)
{
    switch ((int)kind) {
    case NL_T_FROM:
    case NL_T_JOIN:
    case NL_T_INTO:
    case NL_T_UPDATE:
    case NL_T_TABLE: return true;
    default: return false;
    }
}

/* The text of a.b.c that begins at token `at`; *at is moved behind it. */
static nl_str name_at(nl_str text, const nl_tokens *tokens, uint32_t *at)
{
    const uint32_t start = tokens->items[*at].start;
    uint32_t stop = tokens->items[*at].stop;
    (*at)++;
    while (*at + 1 < tokens->count && tokens->items[*at].kind == NL_T_DOT) {
        stop = tokens->items[*at + 1].stop;
        *at += 2;
    }
    return nl_str_slice(text, start, stop);
}

/* stem "t." offers the columns of t, table or alias; without a stem those of every table named. */
static void offer_columns_of_statement(completer *self)
{
    nl_tokens tokens = {0};
    nl_error_free(nl_lex(self->before, &tokens));
    uint32_t offered = 0;
    const nl_str qualifier = nl_str_slice(self->stem, 0, self->stem.length ? self->stem.length - 1 : 0);
    for (uint32_t i = 0; i + 1 < tokens.count && offered < SOURCES_MAX;) {
        if (!names_table((nl_token_kind)tokens.items[i++].kind)) continue;
        const nl_str table = name_at(self->before, &tokens, &i);
        if (i < tokens.count && tokens.items[i].kind == NL_T_AS) i++;
        const nl_str alias = i < tokens.count ? nl_str_slice(self->before, tokens.items[i].start, tokens.items[i].stop) : (nl_str){0};
        const size_t point = nl_str_find_last_char(table, '.');
        const nl_str last = point == NL_NOT_FOUND ? table : nl_str_slice(table, point + 1, table.length);
        if (qualifier.length > 0 && !nl_str_equal_nocase(qualifier, alias) && !nl_str_equal_nocase(qualifier, last) && !nl_str_equal_nocase(qualifier, table)) continue;
        offer_columns(self, table);
        offered++;
    }
    nl_tokens_free(&tokens);
}

/* ---- the word and what stands before it ------------------------------------------------------------------------ */

static nl_token_kind last_keyword(nl_str before)
{
    nl_tokens tokens = {0};
    nl_error_free(nl_lex(before, &tokens));
    const nl_token_kind kind = tokens.count > 1 ? (nl_token_kind)tokens.items[tokens.count - 2].kind : NL_T_EOF;
    nl_tokens_free(&tokens);
    return kind;
}

static void offer_all(completer *self)
{
    switch ((int)last_keyword(self->before)) {
    case NL_T_FROM:
    case NL_T_JOIN:
    case NL_T_INTO:
    case NL_T_UPDATE:
    case NL_T_TABLE:
    case NL_T_VIEW:
    case NL_T_DESCRIBE:
    case NL_T_DESC: offer_tables(self, true); return;
    case NL_T_USE:
    case NL_T_IN:
    case NL_T_NAMESPACE:
    case NL_T_DATABASE:
    case NL_T_SCHEMA: offer_tables(self, false); return;
    case NL_T_SET:
    case NL_T_RESET: offer_confs(self); break;
    default: break;
    }
    offer_columns_of_statement(self);
    if (self->stem.length > 0) return;
    offer_keywords(self);
    offer_functions(self);
}

static int compare_items(const void *a, const void *b)
{
    return nl_str_compare(**(nl_str *const *)a, **(nl_str *const *)b);
}

void nl_complete(nl_session *session, nl_str before, nl_arena *arena, nl_completions *completions)
{
    size_t start = before.length;
    while (start > 0 && is_word_byte(before.data[start - 1]))
        start--;
    completer self = {.session = session, .arena = arena, .before = nl_str_slice(before, 0, start), .word = nl_str_slice(before, start, before.length)};
    const size_t point = nl_str_find_last_char(self.word, '.');
    if (point != NL_NOT_FOUND) self.stem = nl_str_slice(self.word, 0, point + 1);
    offer_all(&self);
    if (self.items.count > 0) qsort(self.items.items, self.items.count, sizeof(*self.items.items), compare_items);
    nl_str *items = NL_NEW_ARRAY(arena, nl_str, self.items.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < self.items.count; i++) {
        const nl_str item = *(const nl_str *)self.items.items[i];
        if (count == 0 || !nl_str_equal_nocase(items[count - 1], item)) items[count++] = item;
    }
    *completions = (nl_completions){.items = items, .count = count, .word_length = self.word.length};
}

nl_str nl_completions_common(const nl_completions *completions)
{
    if (completions->count == 0) return (nl_str){0};
    nl_str common = completions->items[0];
    for (uint32_t i = 1; i < completions->count; i++) {
        const nl_str item = completions->items[i];
        size_t same = 0;
        while (same < common.length && same < item.length && (common.data[same] | 0x20) == (item.data[same] | 0x20))
            same++;
        common.length = same;
    }
    return common;
}
