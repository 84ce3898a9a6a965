/* base/uuid.c - see uuid.h. */
#include "base/uuid.h"

#include <sys/random.h>

void nl_random_bytes(void *out, size_t length)
{
    size_t filled = 0;
    while (filled < length) {
        const ssize_t count = getrandom((uint8_t *)out + filled, length - filled, 0);
        if (count > 0) filled += (size_t)count; /* a signal may interrupt it: go on */
    }
}

void nl_uuid_new(uint8_t out[16])
{
    nl_random_bytes(out, 16);
    out[6] = (uint8_t)((out[6] & 0x0f) | 0x40); /* version 4 */
    out[8] = (uint8_t)((out[8] & 0x3f) | 0x80); /* the variant of RFC 4122 */
}

void nl_uuid_format(const uint8_t bytes[16], char out[NL_UUID_TEXT_LENGTH])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t at = 0;
    for (uint32_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out[at++] = '-';
        out[at++] = digits[bytes[i] >> 4];
        out[at++] = digits[bytes[i] & 15];
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool nl_uuid_parse(nl_str text, uint8_t out[16])
{
    uint32_t digits = 0;
    if (text.length != 36) return false;
    memset(out, 0, 16);
    for (size_t i = 0; i < 36; i++) {
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        const int digit = hex_digit(text.data[i]);
        if (is_dash != (text.data[i] == '-') || (!is_dash && digit < 0)) return false;
        if (is_dash) continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | digit);
        digits++;
    }
    return true;
}
