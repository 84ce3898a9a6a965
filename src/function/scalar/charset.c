/* scalar/charset.c - text to and from bytes: encode, decode, to_binary, and the hexadecimal and base 64 of to_binary. */
#include "function/groups.h"
#include "function/scalar/coding.h"

typedef enum charset {
    CHARSET_LATIN1,
    CHARSET_ASCII,
    CHARSET_UTF16, /* with a byte order mark, big-endian without */
    CHARSET_UTF16BE,
    CHARSET_UTF16LE,
    CHARSET_UTF32,
    CHARSET_UTF8,
    CHARSET_WINDOWS, /* windows-1252 */
    CHARSET_UNKNOWN
} charset;

static charset find_charset(nl_str name)
{
    static const char *const names[] = {"ISO-8859-1", "US-ASCII", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-8", "windows-1252"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return (charset)i;
    return CHARSET_UNKNOWN;
}

static nl_status raise_charset(const nl_bound_function *function, nl_str name)
{
    return NL_RAISE(INVALID_PARAMETER_VALUE__CHARSET, NL_P("parameter", "`charset`"),
                    NL_P("functionName", function->row->name[0] == 'e' ? "`encode`" : "`decode`"),
                    NL_P("charsets", "iso-8859-1, us-ascii, utf-16, utf-16be, utf-16le, utf-32, utf-8"), NL_P_STR("charset", name));
}

static nl_status raise_malformed(const nl_bound_function *function, nl_str name)
{
    return NL_RAISE(MALFORMED_CHARACTER_CODING, NL_P("function", function->row->name[0] == 'e' ? "`encode`" : "`decode`"),
                    NL_P_STR("charset", name));
}

/* What windows-1252 has at 0x80 … 0x9F; 0: nothing. */
static const uint16_t windows_codes[32] = {0x20AC, 0, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0, 0x17D, 0,
                                           0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0, 0x17E, 0x178};

/* The byte of a character; -1: there is none. */
static int byte_of(charset to, uint32_t code_point)
{
    if (to == CHARSET_ASCII) return code_point < 128 ? (int)code_point : -1;
    if (to == CHARSET_LATIN1) return code_point < 256 ? (int)code_point : -1;
    for (int i = 0; i < 32; i++)
        if (windows_codes[i] == code_point && code_point) return 128 + i;
    return code_point < 128 || (code_point >= 160 && code_point < 256) ? (int)code_point : -1;
}

/* --- encode --- */

static void append_unit(uint32_t unit, bool is_little, nl_builder *out)
{
    nl_append_char(out, (char)(is_little ? unit & 255 : unit >> 8));
    nl_append_char(out, (char)(is_little ? unit >> 8 : unit & 255));
}

static void append_utf16(uint32_t code_point, bool is_little, nl_builder *out)
{
    if (code_point < 0x10000) {
        append_unit(code_point, is_little, out);
        return;
    }
    append_unit(0xD800 + ((code_point - 0x10000) >> 10), is_little, out);
    append_unit(0xDC00 + ((code_point - 0x10000) & 0x3FF), is_little, out);
}

/* False: the charset lacks a character, and it is not to be replaced. */
static bool encode_text(charset to, nl_str text, bool replaces, nl_builder *out)
{
    if (to == CHARSET_UTF8) {
        nl_append(out, text);
        return true;
    }
    if (to == CHARSET_UTF16 && text.length > 0) append_unit(0xFEFF, false, out);
    for (size_t offset = 0; offset < text.length;) {
        uint32_t code_point = nl_utf8_decode(text, &offset);
        if (to == CHARSET_UTF32) {
            append_unit(code_point >> 16, false, out);
            append_unit(code_point & 0xFFFF, false, out);
        } else if (to == CHARSET_LATIN1 || to == CHARSET_ASCII || to == CHARSET_WINDOWS) {
            const int byte = byte_of(to, code_point);
            if (byte < 0 && !replaces) return false;
            nl_append_char(out, byte < 0 ? '?' : (char)byte);
        } else {
            append_utf16(code_point, to == CHARSET_UTF16LE, out);
        }
    }
    return true;
}

/* --- decode --- */

static uint32_t unit_at(nl_str bytes, size_t at, bool is_little)
{
    uint32_t a = (uint8_t)bytes.data[at];
    uint32_t b = (uint8_t)bytes.data[at + 1];
    return is_little ? b << 8 | a : a << 8 | b;
}

static bool decode_utf16(charset from, nl_str bytes, nl_builder *out)
{
    bool is_little = from == CHARSET_UTF16LE;
    size_t at = 0;
    if (from == CHARSET_UTF16 && bytes.length >= 2) {
        uint32_t mark = unit_at(bytes, 0, false);
        is_little = mark == 0xFFFE;
        if (mark == 0xFEFF || mark == 0xFFFE) at = 2;
    }
    while (bytes.length - at >= 2) {
        uint32_t unit = unit_at(bytes, at, is_little);
        at += 2;
        if (unit >= 0xDC00 && unit <= 0xDFFF) return false;
        if (unit >= 0xD800 && unit <= 0xDBFF) {
            uint32_t low = bytes.length - at >= 2 ? unit_at(bytes, at, is_little) : 0;
            if (low < 0xDC00 || low > 0xDFFF) return false;
            at += 2;
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        }
        nl_append_code_point(out, unit);
    }
    return at == bytes.length;
}

static bool decode_utf32(nl_str bytes, nl_builder *out)
{
    bool is_little = false;
    size_t at = 0;
    if (bytes.length >= 4) {
        is_little = memcmp(bytes.data, "\xFF\xFE\0\0", 4) == 0;
        if (is_little || memcmp(bytes.data, "\0\0\xFE\xFF", 4) == 0) at = 4;
    }
    for (; bytes.length - at >= 4; at += 4) {
        uint32_t first = unit_at(bytes, at, is_little);
        uint32_t second = unit_at(bytes, at + 2, is_little);
        uint32_t code_point = is_little ? second << 16 | first : first << 16 | second;
        if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) return false;
        nl_append_code_point(out, code_point);
    }
    return at == bytes.length;
}

static bool decode_bytes(charset from, nl_str bytes, bool replaces, nl_builder *out)
{
    switch (from) {
    case CHARSET_UTF8:
        if (replaces) nl_append_binary(out, bytes, NL_BINARY_UTF8); /* U+FFFD for what is no UTF-8 */
        else nl_append(out, bytes);
        return replaces || nl_utf8_is_valid(bytes);
    case CHARSET_WINDOWS:
        for (size_t i = 0; i < bytes.length; i++) {
            const uint8_t c = (uint8_t)bytes.data[i];
            const uint32_t code_point = c >= 128 && c < 160 ? windows_codes[c - 128] : c;
            if (code_point == 0 && c && !replaces) return false;
            nl_append_code_point(out, code_point == 0 && c ? 0xFFFD : code_point);
        }
        return true;
    case CHARSET_LATIN1:
    case CHARSET_ASCII:
        for (size_t i = 0; i < bytes.length; i++) {
            uint8_t c = (uint8_t)bytes.data[i];
            const bool is_bad = from == CHARSET_ASCII && c > 127;
            if (is_bad && !replaces) return false;
            nl_append_code_point(out, is_bad ? 0xFFFD : c);
        }
        return true;
    case CHARSET_UTF32:
        return decode_utf32(bytes, out);
    case CHARSET_UTF16:
    case CHARSET_UTF16BE:
    case CHARSET_UTF16LE:
    case CHARSET_UNKNOWN:
        break;
    }
    return decode_utf16(from, bytes, out);
}

static nl_status recode_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str in = nl_reader_str(&context->readers[0], row);
    nl_str name = nl_reader_str(&context->readers[1], row);
    const nl_eval_confs *confs = context->eval->confs;
    charset set = find_charset(name);
    if (set == CHARSET_UNKNOWN || (set == CHARSET_WINDOWS && !confs->is_java_charsets)) return raise_charset(context->function, name);
    bool is_encoding = context->function->row->name[0] == 'e';
    bool is_good = is_encoding ? encode_text(set, in, confs->replaces_codes, &context->text) : decode_bytes(set, in, confs->replaces_codes, &context->text);
    return is_good ? NULL : raise_malformed(context->function, name);
}
NL_TEXT_KERNEL(recode_kernel, recode_row)

/* --- to_binary --- */

typedef enum binary_format { FORMAT_HEX, FORMAT_UTF8, FORMAT_BASE64, FORMAT_COUNT } binary_format;

typedef struct binary_state {
    binary_format format;
    bool is_lenient;
} binary_state;

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Blanks are passed over, but not behind padding, which may be missing only as a whole. */
static bool append_base64(nl_str text, nl_builder *out)
{
    uint32_t group = 0;
    uint32_t bits = 0;
    size_t digit_count = 0;
    size_t padding = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
        if (is_blank && padding == 0) continue;
        if (c == '=') {
            padding++;
            continue;
        }
        int value = base64_value(c);
        if (value < 0 || padding > 0) return false;
        digit_count++;
        group = group << 6 | (uint32_t)value;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        nl_append_char(out, (char)(group >> bits));
        group &= (1u << bits) - 1;
    }
    size_t rest = digit_count % 4;
    if (rest == 1) return false;
    return padding == 0 || (padding <= 2 && rest > 0 && rest + padding == 4);
}

static nl_status binary_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    static const char *const names[] = {"'HEX'", "'UTF-8'", "'BASE64'"};
    const binary_state *state = context->function->state;
    nl_str text = nl_reader_str(&context->readers[0], row);
    bool is_good = true;
    if (state->format == FORMAT_UTF8)
        nl_append(&context->text, text);
    else if (state->format == FORMAT_HEX)
        is_good = nl_append_unhex(text, &context->text);
    else
        is_good = append_base64(text, &context->text);
    if (is_good) return NULL;
    if (state->is_lenient) {
        *is_null = true;
        return NULL;
    }
    nl_builder quoted;
    nl_builder_init(&quoted, NL_VALUE_BYTES_MAX);
    nl_append_f(&quoted, "'" NL_STR_FMT "'", NL_STR_ARG(text));
    nl_status status = NL_RAISE(CONVERSION_INVALID_INPUT, NL_P_STR("str", nl_builder_str(&quoted)), NL_P("fmt", names[state->format]),
                                NL_P("targetType", "\"BINARY\""), NL_P("suggestion", "`try_to_binary`"));
    nl_builder_fini(&quoted);
    return status;
}
NL_TEXT_KERNEL(binary_kernel, binary_row)

static nl_status always_null_kernel(NL_KERNEL_PARAMETERS)
{
    (void)selection;
    return nl_vector_new_null(out, function->result_type, length, eval->memory);
}

static nl_status bind_binary(nl_bind *bind, nl_bound_function *bound)
{
    static const char *const names[] = {"hex", "utf-8", "base64"};
    binary_state *state = NL_NEW(bind->arena, binary_state);
    state->is_lenient = bind->row->name[0] == 't' && bind->row->name[1] == 'r';
    bound->state = state;
    bound->can_fail = !state->is_lenient;
    if (bind->argument_count == 1) return NULL;
    const nl_value *format = bind->constants[1];
    if (format == NULL) return nl_bind_not_foldable(bind, 1, "`fmt`");
    if (format->is_null) return NULL;
    state->format = FORMAT_COUNT;
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(format->text, names[i])) state->format = (binary_format)i;
    if (nl_str_is_nocase(format->text, "utf8")) state->format = FORMAT_UTF8;
    if (state->format != FORMAT_COUNT) return NULL;
    if (state->is_lenient) {
        bound->kernel = always_null_kernel;
        return NULL;
    }
    return NL_RAISE(DATATYPE_MISMATCH__INVALID_ARG_VALUE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P("inputName", "fmt"), NL_P("requireType", "case-insensitive \"STRING\""),
                    NL_P("validValues", "'hex', 'utf-8', 'utf8', or 'base64'"),
                    NL_P_STR("inputValue", nl_arena_f(bind->arena, "'" NL_STR_FMT "'", NL_STR_ARG(format->text))));
}

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "encode", ROW, .can_fail = true, .signature = "(string, string) -> binary", .kernel = recode_kernel, .since = "1.5.0",
     .doc = "The bytes of a text in a charset.", .examples = {{"encode('abc', 'utf-8')", "abc"}}},
    {.name = "decode", ROW, .keeps_non_null = true, .can_fail = true, .signature = "(binary, string) -> string", .kernel = recode_kernel, .since = "1.5.0",
     .doc = "The text of bytes in a charset; with more arguments, the result behind the search value that equals the first.",
     .examples = {{"decode(encode('abc', 'utf-8'), 'utf-8')", "abc"}, {"decode(2, 1, 'Southlake', 2, 'San Francisco', 'Other')", "San Francisco"}}},
    {.name = "to_binary", ROW, .keeps_non_null = true, .can_fail = true, .signature = "(string [, string]) -> binary", .bind = bind_binary,
     .kernel = binary_kernel, .since = "3.3.0", .doc = "The bytes a text stands for: 'hex', 'utf-8' or 'base64'.", .examples = {{"to_binary('abc', 'utf-8')", "abc"}}},
    {.name = "try_to_binary", ROW, .signature = "(string [, string]) -> binary", .bind = bind_binary, .kernel = binary_kernel, .since = "3.3.0",
     .doc = "As to_binary, but NULL for a text that is malformed.", .examples = {{"try_to_binary('a!', 'base64')", "NULL"}}},
};

NL_DEFINE_FUNCTION_GROUP(charset, rows);
