/* format/xml/xml_tree.c - see xml_tree.h. No recursion: open elements are found by their parents. */
#include "format/xml/xml_tree.h"

enum { DEPTH_MAX = 512, ENTITIES_MAX = 64, ENTITY_TEXT_MAX = 1 << 16 };

typedef struct reader {
    nl_arena *arena;
    nl_str text;
    size_t at;
    nl_xml_node *document;
    nl_xml_node *open; /* the innermost open element, or the document */
    uint32_t place;
    uint32_t depth;
    nl_builder decoded;
    struct {
        nl_str name, value;
    } entities[ENTITIES_MAX];
    uint32_t entity_count;
} reader;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool nl_xml_is_blank(nl_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!is_space(text.data[i])) return false;
    return true;
}

static bool starts(const reader *in, const char *text)
{
    return nl_str_starts(nl_str_slice(in->text, in->at, in->text.length), nl_str_from(text));
}

static bool skip_to(reader *in, const char *end)
{
    const size_t found = nl_str_find(in->text, nl_str_from(end), in->at);
    if (found == NL_NOT_FOUND) return false;
    in->at = found + strlen(end);
    return true;
}

static void skip_space(reader *in)
{
    while (in->at < in->text.length && is_space(in->text.data[in->at])) in->at++;
}

static bool is_name_char(char c, bool is_first)
{
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (uint8_t)c >= 0x80;
    return is_letter || (!is_first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static nl_str read_name(reader *in)
{
    const size_t start = in->at;
    while (in->at < in->text.length && is_name_char(in->text.data[in->at], in->at == start)) in->at++;
    return nl_str_slice(in->text, start, in->at);
}

static nl_xml_node *add_node(reader *in, nl_xml_kind kind, nl_xml_node *parent)
{
    nl_xml_node *node = NL_NEW(in->arena, nl_xml_node);
    node->kind = kind;
    node->parent = parent;
    node->place = in->place++;
    if (kind == NL_XML_ATTRIBUTE || parent == NULL) return node;
    node->previous = parent->last_child;
    if (parent->last_child)
        parent->last_child->next = node;
    else
        parent->first_child = node;
    parent->last_child = node;
    return node;
}

static bool decode_number(nl_str digits, uint32_t base, nl_builder *out)
{
    uint32_t code = 0;
    if (digits.length == 0) return false;
    for (size_t i = 0; i < digits.length; i++) {
        const char c = digits.data[i];
        const uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint32_t)((c | 32) - 'a' + 10) : 99;
        if (digit >= base) return false;
        code = code * base + digit;
        if (code > 0x10ffff) return false;
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) return false;
    nl_append_code_point(out, code);
    return true;
}

static bool decode_entity(const reader *in, nl_str name, nl_builder *out)
{
    static const struct {
        const char *name;
        char character;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    if (name.length > 1 && name.data[0] == '#') {
        const bool is_hex = name.data[1] == 'x';
        return decode_number(nl_str_slice(name, is_hex ? 2 : 1, name.length), is_hex ? 16 : 10, out);
    }
    for (size_t i = 0; i < NL_COUNT(known); i++) {
        if (!nl_str_is(name, known[i].name)) continue;
        nl_append_char(out, known[i].character);
        return true;
    }
    for (uint32_t i = 0; i < in->entity_count; i++) {
        if (!nl_str_equal(name, in->entities[i].name)) continue;
        nl_append(out, in->entities[i].value);
        return true;
    }
    return false;
}

/* Text with its references replaced, appended to in->decoded. False: one of them is bad. */
static bool decode(reader *in, nl_str raw, bool is_attribute)
{
    for (size_t i = 0; i < raw.length; i++) {
        const char c = raw.data[i];
        if (c == '<' && is_attribute) return false;
        if (c == '\r') { /* line ends are one character */
            if (i + 1 < raw.length && raw.data[i + 1] == '\n') continue;
            nl_append_char(&in->decoded, is_attribute ? ' ' : '\n');
        } else if (c == '&') {
            const size_t stop = nl_str_find_char(raw, ';', i);
            if (stop == NL_NOT_FOUND || !decode_entity(in, nl_str_slice(raw, i + 1, stop), &in->decoded)) return false;
            i = stop;
        } else {
            nl_append_char(&in->decoded, is_attribute && is_space(c) ? ' ' : c);
        }
    }
    return !nl_builder_failed(&in->decoded);
}

static nl_str take_decoded(reader *in)
{
    const nl_str text = nl_arena_str(in->arena, nl_builder_str(&in->decoded));
    nl_builder_clear(&in->decoded);
    return text;
}

/* Text up to the next tag or comment; sections of CDATA belong to it. */
static bool read_text(reader *in)
{
    nl_builder_clear(&in->decoded);
    while (in->at < in->text.length) {
        if (starts(in, "<![CDATA[")) {
            const size_t start = in->at + 9;
            if (!skip_to(in, "]]>")) return false;
            nl_append(&in->decoded, nl_str_slice(in->text, start, in->at - 3));
            continue;
        }
        if (in->text.data[in->at] == '<') break;
        size_t stop = nl_str_find_char(in->text, '<', in->at);
        if (stop == NL_NOT_FOUND) stop = in->text.length;
        if (!decode(in, nl_str_slice(in->text, in->at, stop), false)) return false;
        in->at = stop;
    }
    if (in->open == in->document) return nl_xml_is_blank(nl_builder_str(&in->decoded));
    add_node(in, NL_XML_TEXT, in->open)->text = take_decoded(in);
    return true;
}

/* <!ENTITY name "value"> of an internal subset; others are passed over. */
static bool read_declaration(reader *in)
{
    const bool is_entity = starts(in, "<!ENTITY");
    if (!is_entity) return skip_to(in, ">");
    in->at += 8;
    skip_space(in);
    const nl_str name = read_name(in);
    skip_space(in);
    const char quote = in->at < in->text.length ? in->text.data[in->at] : 0;
    if (quote == '"' || quote == '\'') {
        const size_t start = in->at + 1;
        const size_t stop = nl_str_find_char(in->text, quote, start);
        if (stop == NL_NOT_FOUND || stop - start > ENTITY_TEXT_MAX || in->entity_count == ENTITIES_MAX) return false;
        nl_builder_clear(&in->decoded);
        if (!decode(in, nl_str_slice(in->text, start, stop), false)) return false;
        in->entities[in->entity_count].name = name;
        in->entities[in->entity_count++].value = take_decoded(in);
        in->at = stop + 1;
    }
    return skip_to(in, ">");
}

static bool read_doctype(reader *in)
{
    while (in->at < in->text.length && in->text.data[in->at] != '>') {
        if (in->text.data[in->at++] != '[') continue;
        for (;;) {
            skip_space(in);
            if (in->at >= in->text.length) return false;
            if (in->text.data[in->at] == ']') break;
            const bool is_good = starts(in, "<!--") ? skip_to(in, "-->") : in->text.data[in->at] == '<' ? read_declaration(in) : skip_to(in, ";");
            if (!is_good) return false;
        }
    }
    return skip_to(in, ">");
}

static bool read_attributes(reader *in, nl_xml_node *element)
{
    nl_xml_node *last = NULL;
    for (;;) {
        const size_t before = in->at;
        skip_space(in);
        if (in->at >= in->text.length) return false;
        if (in->text.data[in->at] == '>' || in->text.data[in->at] == '/') return true;
        const nl_str name = read_name(in);
        if (name.length == 0 || in->at == before) return false;
        skip_space(in);
        if (in->at >= in->text.length || in->text.data[in->at++] != '=') return false;
        skip_space(in);
        const char quote = in->at < in->text.length ? in->text.data[in->at] : 0;
        const size_t stop = quote == '"' || quote == '\'' ? nl_str_find_char(in->text, quote, in->at + 1) : NL_NOT_FOUND;
        if (stop == NL_NOT_FOUND) return false;
        nl_builder_clear(&in->decoded);
        if (!decode(in, nl_str_slice(in->text, in->at + 1, stop), true)) return false;
        in->at = stop + 1;
        for (const nl_xml_node *other = element->first_attribute; other; other = other->next)
            if (nl_str_equal(other->name, name)) return false;
        nl_xml_node *attribute = add_node(in, NL_XML_ATTRIBUTE, element);
        attribute->name = name;
        attribute->text = take_decoded(in);
        attribute->previous = last;
        if (last)
            last->next = attribute;
        else
            element->first_attribute = attribute;
        last = attribute;
    }
}

static bool read_end_tag(reader *in)
{
    in->at += 2;
    const nl_str name = read_name(in);
    skip_space(in);
    if (in->open == in->document || !nl_str_equal(name, in->open->name)) return false;
    in->open = in->open->parent;
    in->depth--;
    return in->at < in->text.length && in->text.data[in->at++] == '>';
}

static bool read_start_tag(reader *in)
{
    in->at++;
    const nl_str name = read_name(in);
    if (name.length == 0) return false;
    if (in->open == in->document) /* a second root */
        for (const nl_xml_node *node = in->document->first_child; node; node = node->next)
            if (node->kind == NL_XML_ELEMENT) return false;
    nl_xml_node *element = add_node(in, NL_XML_ELEMENT, in->open);
    element->name = name;
    if (!read_attributes(in, element)) return false;
    if (in->text.data[in->at] == '/') {
        in->at += 2;
        return in->at <= in->text.length && in->text.data[in->at - 1] == '>';
    }
    in->at++;
    in->open = element;
    return ++in->depth <= DEPTH_MAX; /* readers of the tree call themselves once a level */
}

static bool read_markup(reader *in)
{
    if (starts(in, "<!--")) {
        const size_t start = in->at + 4;
        in->at = start;
        if (!skip_to(in, "-->")) return false;
        add_node(in, NL_XML_COMMENT, in->open)->text = nl_arena_str(in->arena, nl_str_slice(in->text, start, in->at - 3));
        return true;
    }
    if (starts(in, "<?")) return skip_to(in, "?>");
    if (starts(in, "<!DOCTYPE")) return in->open == in->document && read_doctype(in);
    if (starts(in, "</")) return read_end_tag(in);
    return read_start_tag(in);
}

static bool has_root(const reader *in)
{
    for (const nl_xml_node *node = in->document->first_child; node; node = node->next)
        if (node->kind == NL_XML_ELEMENT) return true;
    return false;
}

nl_xml_node *nl_xml_read(nl_arena *arena, nl_str text, bool is_first_only)
{
    reader in = {.arena = arena, .text = text};
    nl_builder_init(&in.decoded, text.length * 16 + ENTITY_TEXT_MAX); /* entities are not expanded in entities without end */
    in.document = in.open = add_node(&in, NL_XML_DOCUMENT, NULL);
    bool is_good = true;
    bool is_done = false;
    if (starts(&in, "\xef\xbb\xbf")) in.at = 3;
    while (is_good && !is_done && in.at < text.length) {
        const bool is_markup = text.data[in.at] == '<' && !starts(&in, "<![CDATA[");
        is_good = is_markup ? read_markup(&in) : read_text(&in);
        is_done = is_first_only && in.open == in.document && has_root(&in);
    }
    is_good = is_good && in.open == in.document && has_root(&in) && !nl_builder_failed(&in.decoded);
    nl_builder_fini(&in.decoded);
    return is_good ? in.document : NULL;
}

void nl_xml_append_text(const nl_xml_node *node, nl_builder *out)
{
    if (node->kind == NL_XML_TEXT || node->kind == NL_XML_ATTRIBUTE || node->kind == NL_XML_COMMENT) {
        nl_append(out, node->text);
        return;
    }
    /* in the document's order, back up by the parents */
    for (const nl_xml_node *at = node->first_child; at;) {
        if (at->kind == NL_XML_TEXT) nl_append(out, at->text);
        if (at->first_child) {
            at = at->first_child;
            continue;
        }
        while (at != node && !at->next) at = at->parent;
        at = at == node ? NULL : at->next;
    }
}
