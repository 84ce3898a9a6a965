/* storage/xml.c - see xml.h. One pass over the bytes with an explicit stack; every node costs at least four bytes of the
 * document, so the tree stays proportional to it.
 */
#include "storage/xml.h"

#include "base/limits.h"

typedef struct open_element {
    nl_xml *element;
    nl_xml *last_child;
    nl_str written_name; /* with its prefix: the end tag repeats it */
} open_element;

typedef struct reader {
    nl_arena *arena;
    nl_str in;
    size_t at;
    open_element stack[NL_XML_DEPTH_MAX];
    uint32_t depth;
    nl_xml *root;
} reader;

static nl_status broken(const reader *self, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The XML document is damaged at byte %zu: %s.", self->at, problem);
}

static bool starts(const reader *self, const char *text)
{
    const size_t length = strlen(text);
    return self->in.length - self->at >= length && memcmp(self->in.data + self->at, text, length) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(reader *self)
{
    while (self->at < self->in.length && is_space(self->in.data[self->at])) self->at++;
}

static bool is_name_byte(char c, bool is_first)
{
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (c & 0x80);
    return is_letter || (!is_first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static nl_status read_name(reader *self, nl_str *name)
{
    const size_t start = self->at;
    while (self->at < self->in.length && is_name_byte(self->in.data[self->at], self->at == start)) self->at++;
    *name = nl_str_slice(self->in, start, self->at);
    if (name->length == 0) return broken(self, "a name is missing");
    const size_t colon = nl_str_find_char(*name, ':', 0);
    if (colon == NL_NOT_FOUND) return NULL;
    const nl_str local = nl_str_slice(*name, colon + 1, name->length); /* Namespaces in XML: a prefix and a name, each a name by itself */
    const bool is_good = colon > 0 && local.length > 0 && is_name_byte(local.data[0], true) && nl_str_find_char(local, ':', 0) == NL_NOT_FOUND;
    return is_good ? NULL : broken(self, "a name with colons in the wrong places");
}

static nl_str local_name(nl_str name)
{
    const size_t colon = nl_str_find_char(name, ':', 0);
    return colon == NL_NOT_FOUND ? name : nl_str_slice(name, colon + 1, name.length);
}

/* "&#13;" and "&#xD;". S3 writes control characters of keys this way although XML 1.0 does not know them: all but NUL and
 * surrogates are taken. */
static nl_status read_number(reader *self, nl_str digits, uint32_t *code_point)
{
    const bool is_hex = digits.length > 0 && digits.data[0] == 'x';
    if (is_hex) digits = nl_str_slice(digits, 1, digits.length);
    uint32_t value = 0;
    if (digits.length == 0 || digits.length > 7) return broken(self, "a character reference that is none");
    for (size_t i = 0; i < digits.length; i++) {
        const char c = digits.data[i];
        const char lower = (char)(c | 0x20);
        uint32_t digit = UINT32_MAX;
        if (c >= '0' && c <= '9') digit = (uint32_t)(c - '0');
        if (is_hex && lower >= 'a' && lower <= 'f') digit = (uint32_t)(lower - 'a') + 10;
        if (digit == UINT32_MAX) return broken(self, "a character reference that is none");
        value = value * (is_hex ? 16 : 10) + digit;
    }
    if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return broken(self, "a reference to no character");
    *code_point = value;
    return NULL;
}

static nl_status read_reference(reader *self, char out[4], uint32_t *length)
{
    static const struct {
        const char *name;
        char c;
    } named[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    const size_t end = nl_str_find_char(nl_str_slice(self->in, 0, self->at + 12), ';', self->at);
    if (end == NL_NOT_FOUND) return broken(self, "a reference without its end");
    const nl_str name = nl_str_slice(self->in, self->at + 1, end);
    if (name.length > 0 && name.data[0] == '#') {
        uint32_t code_point = 0;
        NL_TRY(read_number(self, nl_str_slice(name, 1, name.length), &code_point));
        *length = nl_utf8_encode(code_point, out);
        self->at = end + 1;
        return NULL;
    }
    for (uint32_t i = 0; i < NL_COUNT(named); i++) {
        if (!nl_str_is(name, named[i].name)) continue;
        out[0] = named[i].c;
        *length = 1;
        self->at = end + 1;
        return NULL;
    }
    return broken(self, "an entity that is not one of the five");
}

/* Text up to `stop`, references resolved and line ends made LF. Without any of them it stays a slice of the document. */
static nl_status read_text(reader *self, char stop, nl_str *text)
{
    const size_t start = self->at;
    while (self->at < self->in.length && self->in.data[self->at] != stop && self->in.data[self->at] != '&' && self->in.data[self->at] != '\r' &&
           self->in.data[self->at] != '<')
        self->at++;
    *text = nl_str_slice(self->in, start, self->at);
    if (self->at == self->in.length || self->in.data[self->at] == stop) return NULL;
    size_t end = self->at;
    while (end < self->in.length && self->in.data[end] != stop && self->in.data[end] != '<') end++;
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(self->arena, end - start + 4, &memory)); /* a reference is never shorter than what it means */
    char *out = memory;
    size_t length = text->length;
    if (length > 0) memcpy(out, text->data, length);
    while (self->at < end) {
        const char c = self->in.data[self->at];
        if (c == '&') {
            uint32_t more = 0;
            NL_TRY(read_reference(self, out + length, &more));
            length += more;
            continue;
        }
        self->at++;
        if (c == '\r' && self->at < end && self->in.data[self->at] == '\n') continue;
        out[length++] = c == '\r' ? '\n' : c;
    }
    if (self->at != end) return broken(self, "a reference without its end");
    *text = (nl_str){out, length};
    return NULL;
}

static nl_status read_attributes(reader *self, nl_xml *element)
{
    nl_property attributes[32];
    uint32_t count = 0;
    for (;;) {
        const size_t before = self->at;
        skip_space(self);
        if (self->at == self->in.length) return broken(self, "a tag without its end");
        const char c = self->in.data[self->at];
        if (c == '>' || c == '/') break;
        if (before == self->at) return broken(self, "attributes must be apart");
        if (count == NL_COUNT(attributes)) return broken(self, "too many attributes");
        nl_property *attribute = &attributes[count++];
        NL_TRY(read_name(self, &attribute->key));
        skip_space(self);
        if (!starts(self, "=")) return broken(self, "an attribute without a value");
        self->at++;
        skip_space(self);
        if (!starts(self, "\"") && !starts(self, "'")) return broken(self, "an attribute's value must be quoted");
        const char quote = self->in.data[self->at++];
        NL_TRY(read_text(self, quote, &attribute->value));
        if (self->at == self->in.length || self->in.data[self->at] != quote) return broken(self, "an attribute's value without its end");
        self->at++;
        for (uint32_t i = 0; i + 1 < count; i++)
            if (nl_str_equal(attributes[i].key, attribute->key)) return broken(self, "an attribute twice");
    }
    if (count == 0) return NULL;
    nl_property *kept = NL_NEW_ARRAY(self->arena, nl_property, count);
    memcpy(kept, attributes, count * sizeof(*kept));
    element->attributes = kept;
    element->attribute_count = count;
    return NULL;
}

static void add_child(reader *self, nl_xml *element)
{
    if (self->depth == 0) {
        self->root = element;
        return;
    }
    open_element *parent = &self->stack[self->depth - 1];
    if (parent->last_child)
        parent->last_child->next = element;
    else
        parent->element->first_child = element;
    parent->last_child = element;
    parent->element->child_count++;
}

static nl_status read_start_tag(reader *self)
{
    nl_str name = {0};
    self->at++;
    NL_TRY(read_name(self, &name));
    if (self->depth == NL_XML_DEPTH_MAX) return broken(self, "too many levels");
    if (self->depth == 0 && self->root) return broken(self, "a second root");
    nl_xml *element = NL_NEW(self->arena, nl_xml);
    NL_TRY(nl_arena_check(self->arena));
    element->name = local_name(name);
    NL_TRY(read_attributes(self, element));
    add_child(self, element);
    const bool is_empty = self->in.data[self->at] == '/';
    if (is_empty) self->at++;
    if (!starts(self, ">")) return broken(self, "a tag without its end");
    self->at++;
    if (!is_empty) self->stack[self->depth++] = (open_element){.element = element, .written_name = name};
    return NULL;
}

static nl_status read_end_tag(reader *self)
{
    nl_str name = {0};
    self->at += 2;
    NL_TRY(read_name(self, &name));
    skip_space(self);
    if (!starts(self, ">")) return broken(self, "an end tag without its end");
    if (self->depth == 0 || !nl_str_equal(name, self->stack[self->depth - 1].written_name)) return broken(self, "an end tag of another element");
    self->at++;
    self->depth--;
    return NULL;
}

static nl_status add_text(reader *self, nl_str text)
{
    if (text.length == 0) return NULL;
    if (self->depth == 0) return nl_str_trim(text).length == 0 ? NULL : broken(self, "text outside of the root");
    nl_xml *element = self->stack[self->depth - 1].element;
    if (nl_str_trim(element->text).length == 0 && (element->first_child == NULL || nl_str_trim(text).length == 0)) {
        element->text = text; /* the white space between children is of no use to anybody */
        return NULL;
    }
    if (nl_str_trim(text).length == 0 && element->first_child != NULL) return NULL;
    void *memory = NULL; /* pieces around CDATA and comments, of which there are few */
    NL_TRY(nl_arena_alloc_sized(self->arena, element->text.length + text.length, &memory));
    if (element->text.length) memcpy(memory, element->text.data, element->text.length);
    memcpy((char *)memory + element->text.length, text.data, text.length);
    element->text = (nl_str){memory, element->text.length + text.length};
    return NULL;
}

static nl_status read_until(reader *self, size_t opening, const char *closing, nl_str *content)
{
    const size_t end = nl_str_find(self->in, nl_str_from(closing), self->at + opening);
    if (end == NL_NOT_FOUND) return broken(self, "a section without its end");
    *content = nl_str_slice(self->in, self->at + opening, end);
    self->at = end + strlen(closing);
    return NULL;
}

static nl_status read_markup(reader *self)
{
    nl_str content = {0};
    if (starts(self, "</")) return read_end_tag(self);
    if (starts(self, "<!--")) return read_until(self, 4, "-->", &content);
    if (starts(self, "<![CDATA[")) {
        if (self->depth == 0) return broken(self, "text outside of the root");
        NL_TRY(read_until(self, 9, "]]>", &content));
        return add_text(self, content);
    }
    if (starts(self, "<!")) return broken(self, "document types are not accepted");
    if (starts(self, "<?")) return broken(self, "processing instructions are not accepted");
    return read_start_tag(self);
}

static nl_status check_characters(reader *self)
{
    if (!nl_utf8_is_valid(self->in)) return broken(self, "it is not UTF-8");
    for (self->at = 0; self->at < self->in.length; self->at++) {
        const unsigned char c = (unsigned char)self->in.data[self->at];
        if (c < 0x20 && !is_space((char)c)) return broken(self, "a control character");
    }
    self->at = 0;
    return NULL;
}

nl_status nl_xml_parse(nl_arena *arena, nl_bytes document, const nl_xml **root)
{
    reader self = {.arena = arena, .in = {(const char *)document.data, document.length}};
    if (nl_str_starts(self.in, NL_STR("\xef\xbb\xbf"))) self.in = nl_str_slice(self.in, 3, self.in.length);
    NL_TRY(check_characters(&self));
    skip_space(&self); /* CompleteMultipartUpload sends spaces before its answer */
    nl_str declaration = {0};
    if (starts(&self, "<?xml ")) NL_TRY(read_until(&self, 6, "?>", &declaration));
    while (self.at < self.in.length) {
        if (self.in.data[self.at] == '<') {
            NL_TRY(read_markup(&self));
            continue;
        }
        nl_str text = {0};
        NL_TRY(read_text(&self, '<', &text));
        NL_TRY(add_text(&self, text));
    }
    if (self.depth > 0 || !self.root) return broken(&self, "it ends too early");
    NL_TRY(nl_arena_check(arena));
    *root = self.root;
    return NULL;
}

const nl_xml *nl_xml_child(const nl_xml *parent, const char *name)
{
    const nl_xml *child = parent ? parent->first_child : NULL;
    while (child && !nl_str_is(child->name, name)) child = child->next;
    return child;
}

const nl_xml *nl_xml_next(const nl_xml *element)
{
    const nl_xml *next = element->next;
    while (next && !nl_str_equal(next->name, element->name)) next = next->next;
    return next;
}

nl_str nl_xml_text(const nl_xml *parent, const char *name)
{
    const nl_xml *child = nl_xml_child(parent, name);
    if (!child) return (nl_str){0};
    return child->text.data ? child->text : NL_STR("");
}

nl_str nl_xml_attribute(const nl_xml *element, const char *name)
{
    for (uint32_t i = 0; i < element->attribute_count; i++)
        if (nl_str_is(element->attributes[i].key, name)) return element->attributes[i].value;
    return (nl_str){0};
}

static bool needs_reference(char c)
{
    return (unsigned char)c < 0x20 || c == '&' || c == '<' || c == '>' || c == '"' || c == '\'';
}

/* Whole runs at once: a listing is thousands of these. */
void nl_xml_append(nl_builder *builder, nl_str text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (!needs_reference(c)) continue;
        nl_append(builder, nl_str_slice(text, start, i));
        start = i + 1;
        switch (c) {
        case '&': nl_append_c(builder, "&amp;"); break;
        case '<': nl_append_c(builder, "&lt;"); break;
        case '>': nl_append_c(builder, "&gt;"); break;
        case '"': nl_append_c(builder, "&quot;"); break;
        case '\'': nl_append_c(builder, "&apos;"); break;
        default: nl_append_f(builder, "&#%d;", c);
        }
    }
    nl_append(builder, nl_str_slice(text, start, text.length));
}

void nl_xml_append_element(nl_builder *builder, const char *name, nl_str text)
{
    const nl_str tag = nl_str_from(name);
    nl_append_char(builder, '<');
    nl_append(builder, tag);
    nl_append_char(builder, '>');
    nl_xml_append(builder, text);
    nl_append(builder, NL_STR("</"));
    nl_append(builder, tag);
    nl_append_char(builder, '>');
}
