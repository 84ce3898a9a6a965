/* lakehouse/dialect_parameters.c - the parameters of a prepared statement, which are SQL themselves.
 *
 * Each stands for one value: what would end the expression around it, or begin another one, is refused, and what is more than one
 * token is put into brackets. So a text like `1 OR true` is the value true, never a wider WHERE.
 */
#include "lakehouse/dialect_private.h"

typedef struct parameters {
    const nl_str *items;
    uint32_t count, used;
} parameters;

static nl_status refuse(nl_str text)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "SYNTAX_ERROR: A parameter is one expression, which this is not: " NL_STR_FMT, NL_STR_ARG(text));
}

/* Quotes inside are doubled: with the ones around it there is an even number of them, or it has no end. */
static bool is_closed(const nl_token *token)
{
    size_t count = 0;
    if (token->kind == NL_TOKEN_SPACE) return !nl_str_starts(token->text, NL_STR("/*")) || (token->text.length > 3 && nl_str_ends(token->text, NL_STR("*/")));
    if (token->kind != NL_TOKEN_TEXT && token->kind != NL_TOKEN_NAME) return true;
    for (size_t i = 0; i < token->text.length; i++) count += token->text.data[i] == token->text.data[0];
    return count % 2 == 0;
}

static bool opens(const nl_dialect *self, uint32_t at)
{
    return nl_dialect_is_sign(self, at, '(') || nl_dialect_is_sign(self, at, '[');
}

static bool closes(const nl_dialect *self, uint32_t at)
{
    return nl_dialect_is_sign(self, at, ')') || nl_dialect_is_sign(self, at, ']');
}

/* Comments become spaces: one of a line would swallow what follows. */
static nl_status append_parameter(nl_arena *arena, nl_str text, nl_builder *out)
{
    nl_dialect self = {.arena = arena};
    nl_dialect_read(&self, text);
    int32_t depth = 0;
    uint32_t solid_count = 0;
    nl_builder whole;
    nl_builder_init(&whole, 16u << 20);
    for (uint32_t i = 0; i < self.count; i++) {
        const nl_token *token = &self.tokens[i];
        depth += opens(&self, i) - closes(&self, i);
        if (depth < 0 || !is_closed(token) || nl_dialect_is_sign(&self, i, ';') || (depth == 0 && nl_dialect_is_sign(&self, i, ','))) {
            nl_builder_fini(&whole);
            return refuse(text);
        }
        solid_count += token->kind != NL_TOKEN_SPACE;
        nl_append(&whole, token->kind == NL_TOKEN_SPACE ? NL_STR(" ") : token->text);
    }
    if (solid_count > 1) nl_append_char(out, '(');
    nl_append(out, nl_str_trim(nl_builder_str(&whole)));
    if (solid_count > 1) nl_append_char(out, ')');
    nl_builder_fini(&whole);
    return depth == 0 && solid_count > 0 ? NULL : refuse(text);
}

static nl_status append_statement(nl_arena *arena, nl_str sql, parameters *given, nl_builder *out)
{
    nl_dialect self = {.arena = arena};
    nl_dialect_read(&self, sql);
    for (uint32_t i = 0; i < self.count; i++) {
        if (!nl_dialect_is_sign(&self, i, '?')) {
            nl_append(out, self.tokens[i].text);
            continue;
        }
        if (given->used < given->count) NL_TRY(append_parameter(arena, given->items[given->used], out));
        given->used++;
    }
    return nl_arena_check(arena);
}

nl_status nl_dialect_put_parameters(nl_arena *arena, nl_str sql, const nl_str *items, uint32_t count, nl_str *text)
{
    parameters given = {.items = items, .count = count};
    nl_builder out;
    nl_builder_init(&out, 16u << 20);
    nl_status status = append_statement(arena, sql, &given, &out);
    if (!status && given.used != count)
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "SYNTAX_ERROR: Incorrect number of parameters: expected %u but found %u", given.used, count);
    if (!status) *text = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return status;
}

uint32_t nl_dialect_split_parameters(nl_arena *arena, nl_str text, const nl_str **items)
{
    nl_dialect self = {.arena = arena};
    nl_dialect_read(&self, text);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, self.count + 1);
    const char *start = text.data;
    uint32_t count = 0;
    int32_t depth = 0;
    for (uint32_t i = 0; i < self.count; i++) {
        depth += opens(&self, i) - closes(&self, i);
        if (depth > 0 || !nl_dialect_is_sign(&self, i, ',')) continue;
        parts[count++] = (nl_str){start, (size_t)(self.tokens[i].text.data - start)};
        start = self.tokens[i].text.data + 1;
    }
    parts[count++] = (nl_str){start, (size_t)(text.data + text.length - start)};
    *items = parts;
    return count;
}
