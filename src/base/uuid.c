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
