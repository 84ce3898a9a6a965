/* scalar/encoding.c - hex, unhex, bin, conv, base64, unbase64, url_encode, url_decode. */
#include "base/number.h"
#include "function/groups.h"
#include "function/scalar/coding.h"

static nl_status hex_number_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_append_f(&context->text, "%llX", (unsigned long long)nl_reader_i64(&context->readers[0], row));
    return NULL;
}
NL_TEXT_KERNEL(hex_number_kernel, hex_number_row)

static nl_status hex_text_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    static const char digits[] = "0123456789ABCDEF";
    nl_str bytes = nl_reader_str(&context->readers[0], row);
    for (size_t i = 0; i < bytes.length; i++) {
        nl_append_char(&context->text, digits[(uint8_t)bytes.data[i] >> 4]);
        nl_append_char(&context->text, digits[(uint8_t)bytes.data[i] & 15]);
    }
    return NULL;
}
NL_TEXT_KERNEL(hex_text_kernel, hex_text_row)

static nl_status bind_hex(nl_bind *bind, nl_bound_function *bound)
{
    bool is_text = bind->argument_types[0]->id == NL_TYPE_STRING || bind->argument_types[0]->id == NL_TYPE_BINARY;
    bound->kernel = is_text ? hex_text_kernel : hex_number_kernel;
    return NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool nl_append_unhex(nl_str text, nl_builder *out)
{
    size_t i = text.length % 2;
    if (i == 1) {
        int digit = hex_digit(text.data[0]);
        if (digit < 0) return false;
        nl_append_char(out, (char)digit);
    }
    for (; i < text.length; i += 2) {
        int high = hex_digit(text.data[i]);
        int low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0) return false;
        nl_append_char(out, (char)(high << 4 | low));
    }
    return true;
}

static nl_status unhex_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    *is_null = !nl_append_unhex(nl_reader_str(&context->readers[0], row), &context->text);
    return NULL;
}
NL_TEXT_KERNEL(unhex_kernel, unhex_row)

static void append_in_base(uint64_t value, uint32_t base, nl_builder *out)
{
    char digits[64];
    uint32_t count = 0;
    do {
        uint32_t digit = (uint32_t)(value % base);
        digits[count++] = (char)(digit < 10 ? '0' + digit : 'A' + digit - 10);
        value /= base;
    } while (value > 0);
    while (count > 0) nl_append_char(out, digits[--count]);
}

static nl_status bin_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    append_in_base((uint64_t)nl_reader_i64(&context->readers[0], row), 2, &context->text);
    return NULL;
}
NL_TEXT_KERNEL(bin_kernel, bin_row)

/* Digits up to the first that is none of the base; too large numbers are an error in ANSI mode, else all ones. */
static nl_status conv_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_str text = nl_str_trim(nl_reader_str(&context->readers[0], row));
    int64_t from = nl_reader_i32(&context->readers[1], row);
    int64_t to = nl_reader_i32(&context->readers[2], row);
    int64_t to_size = to < 0 ? -to : to;
    if (from < 2 || from > 36 || to_size < 2 || to_size > 36 || text.length == 0) {
        *is_null = true;
        return NULL;
    }
    bool is_negative = text.data[0] == '-';
    bool has_overflow = false;
    uint64_t value = 0;
    for (size_t i = is_negative; i < text.length; i++) {
        char c = text.data[i];
        int64_t digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
        if (digit >= from) break;
        has_overflow |= __builtin_mul_overflow(value, (uint64_t)from, &value);
        has_overflow |= __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    if (has_overflow) {
        if (context->eval->confs->is_ansi)
            return NL_RAISE(ARITHMETIC_OVERFLOW, NL_P("message", "Overflow in function conv()"), NL_P("alternative", ""),
                            NL_P("config", "\"spark.sql.ansi.enabled\""));
        value = UINT64_MAX;
    }
    if (is_negative && to > 0) value = (int64_t)value < 0 ? UINT64_MAX : 0 - value; /* Java's: no room for the sign */
    if (to < 0) { /* signed */
        if ((int64_t)value < 0) {
            is_negative = true;
            value = 0 - value;
        }
        if (is_negative && value != 0) nl_append_char(&context->text, '-');
    }
    append_in_base(value, (uint32_t)to_size, &context->text);
    return NULL;
}
NL_TEXT_KERNEL(conv_kernel, conv_row)

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* MIME lines of 76 characters parted by CR LF, as Spark's default (spark.sql.chunkBase64String.enabled false: none). */
void nl_append_base64(nl_str bytes, nl_builder *out)
{
    for (size_t i = 0; i < bytes.length; i += 3) {
        uint32_t group = (uint32_t)(uint8_t)bytes.data[i] << 16;
        if (i + 1 < bytes.length) group |= (uint32_t)(uint8_t)bytes.data[i + 1] << 8;
        if (i + 2 < bytes.length) group |= (uint8_t)bytes.data[i + 2];
        char text[4] = {base64_digits[group >> 18], base64_digits[group >> 12 & 63], base64_digits[group >> 6 & 63], base64_digits[group & 63]};
        if (i + 1 >= bytes.length) text[2] = '=';
        if (i + 2 >= bytes.length) text[3] = '=';
        nl_append(out, (nl_str){text, 4});
    }
}

static nl_status base64_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_append_base64(nl_reader_str(&context->readers[0], row), &context->text);
    return NULL;
}
NL_TEXT_KERNEL(base64_kernel, base64_row)

/* Characters that are no digits are passed over, as Java's MIME decoder does. */
static nl_status unbase64_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    uint32_t group = 0;
    uint32_t bits = 0;
    size_t digit_count = 0;
    for (size_t i = 0; i < text.length && text.data[i] != '='; i++) {
        const char *digit = text.data[i] == '\0' ? NULL : strchr(base64_digits, text.data[i]);
        if (digit == NULL) continue;
        group = group << 6 | (uint32_t)(digit - base64_digits);
        bits += 6;
        digit_count++;
        if (bits < 8) continue;
        bits -= 8;
        nl_append_char(&context->text, (char)(group >> bits));
        group &= (1u << bits) - 1;
    }
    if (digit_count % 4 == 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Last unit does not have enough valid bits");
    return NULL;
}
NL_TEXT_KERNEL(unbase64_kernel, unbase64_row)

static nl_status url_encode_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    nl_str text = nl_reader_str(&context->readers[0], row);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '*';
        if (is_plain)
            nl_append_char(&context->text, c);
        else if (c == ' ')
            nl_append_char(&context->text, '+');
        else
            nl_append_f(&context->text, "%%%02X", (unsigned)(uint8_t)c);
    }
    return NULL;
}
NL_TEXT_KERNEL(url_encode_kernel, url_encode_row)

static nl_status url_decode_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_str text = nl_reader_str(&context->readers[0], row);
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] != '%') {
            nl_append_char(&context->text, text.data[i] == '+' ? ' ' : text.data[i]);
            continue;
        }
        int high = i + 2 < text.length ? hex_digit(text.data[i + 1]) : -1;
        int low = i + 2 < text.length ? hex_digit(text.data[i + 2]) : -1;
        if (high < 0 || low < 0) {
            if (context->function->row->name[0] == 'u') return NL_RAISE(CANNOT_DECODE_URL, NL_P_STR("url", text));
            *is_null = true; /* try_url_decode */
            return NULL;
        }
        nl_append_char(&context->text, (char)(high << 4 | low));
        i += 2;
    }
    return NULL;
}
NL_TEXT_KERNEL(url_decode_kernel, url_decode_row)

#define ROW(row_group) .kind = NL_FUNCTION_SCALAR, .group = row_group, .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "hex", ROW("math"), .keeps_non_null = true, .signature = "(bigint) -> string | (binary) -> string | (string) -> string", .bind = bind_hex, .since = "1.5.0",
     .doc = "A number or bytes in hexadecimal.", .examples = {{"hex(17)", "11"}, {"hex('Spark SQL')", "537061726B2053514C"}}},
    {.name = "unhex", ROW("math"), .signature = "(string) -> binary", .kernel = unhex_kernel, .since = "1.5.0", .doc = "The bytes of a hexadecimal text, or NULL.",
     .examples = {{"CAST(unhex('537061726B2053514C') AS STRING)", "Spark SQL"}}},
    {.name = "bin", ROW("math"), .keeps_non_null = true, .signature = "(bigint) -> string", .kernel = bin_kernel, .since = "1.5.0", .doc = "A number in binary.", .examples = {{"bin(13)", "1101"}}},
    {.name = "conv", ROW("math"), .can_fail = true, .signature = "(string, int, int) -> string", .kernel = conv_kernel, .since = "1.5.0", .doc = "A number of one base in another; negative bases are signed.",
     .examples = {{"conv('100', 2, 10)", "4"}, {"conv(-10, 16, -10)", "-16"}}},
    {.name = "base64", ROW("string"), .keeps_non_null = true, .signature = "(binary) -> string", .kernel = base64_kernel, .since = "1.5.0", .doc = "Bytes in base 64.", .examples = {{"base64('Spark SQL')", "U3BhcmsgU1FM"}}},
    {.name = "unbase64", ROW("string"), .keeps_non_null = true, .can_fail = true, .signature = "(string) -> binary", .kernel = unbase64_kernel, .since = "1.5.0", .doc = "The bytes of a text in base 64.", .examples = {{"unbase64('U3BhcmsgU1FM')", "Spark SQL"}}},
    {.name = "url_encode", ROW("url"), .signature = "(string) -> string", .kernel = url_encode_kernel, .since = "3.4.0", .doc = "The text as a form value in a URL.", .examples = {{"url_encode('https://spark.apache.org')", "https%3A%2F%2Fspark.apache.org"}}},
    {.name = "url_decode", ROW("url"), .can_fail = true, .signature = "(string) -> string", .kernel = url_decode_kernel, .since = "3.4.0", .doc = "The text of a form value in a URL.", .examples = {{"url_decode('https%3A%2F%2Fspark.apache.org')", "https://spark.apache.org"}}},
    {.name = "try_url_decode", ROW("url"), .signature = "(string) -> string", .kernel = url_decode_kernel, .since = "4.0.0", .doc = "As url_decode, but NULL for a malformed text.", .examples = {{"try_url_decode('https%3A%2F%2Fspark.apache.org')", "https://spark.apache.org"}}},
};

NL_DEFINE_FUNCTION_GROUP(encoding, rows);
