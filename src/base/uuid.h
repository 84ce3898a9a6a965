/* base/uuid.h - random bytes of the operating system, and version 4 UUIDs made of them (RFC 4122). */
#pragma once

#include "base/status.h"
#include "base/str.h"

#define NL_UUID_TEXT_LENGTH 36

void nl_random_bytes(void *out, size_t length); /* never fails: waits for the system's pool at boot */
void nl_uuid_new(uint8_t out[16]);
/* "f79c3e09-677c-4bbd-a479-3f349cb785e7", without a NUL. */
void nl_uuid_format(const uint8_t bytes[16], char out[NL_UUID_TEXT_LENGTH]);
bool nl_uuid_parse(nl_str text, uint8_t out[16]); /* 36 characters in any case; false: it is none */
