/* base/tzif.c - reading TZif. The 32-bit block of version 1 is skipped, the 64-bit one and the footer are used. */
#include "base/tzif.h"

#include <stdlib.h>

typedef struct tzif_header {
    uint32_t utc_count, standard_count, leap_count, transition_count, type_count, name_bytes;
} tzif_header;

static tzif_header read_header(nl_cursor *in, uint8_t *version)
{
    nl_bytes magic = nl_cursor_bytes(in, 4);
    if (magic.length != 4 || memcmp(magic.data, "TZif", 4) != 0) nl_cursor_fail(in);
    *version = nl_cursor_u8(in);
    nl_cursor_skip(in, 15);
    tzif_header header;
    header.utc_count = nl_cursor_u32_be(in);
    header.standard_count = nl_cursor_u32_be(in);
    header.leap_count = nl_cursor_u32_be(in);
    header.transition_count = nl_cursor_u32_be(in);
    header.type_count = nl_cursor_u32_be(in);
    header.name_bytes = nl_cursor_u32_be(in);
    return header;
}

/* Bytes of a data block whose times have time_bytes (4 or 8). Counts are 32-bit, so 64 bits hold the sum. */
static uint64_t block_bytes(const tzif_header *header, uint64_t time_bytes)
{
    return header->transition_count * (time_bytes + 1) + header->type_count * 6ull + header->name_bytes +
           header->leap_count * (time_bytes + 4) + header->standard_count + (uint64_t)header->utc_count;
}

/* Reads transitions and types of the 64-bit block; header's counts are known to fit in the file. */
static nl_status read_block(nl_cursor *in, const tzif_header *header, nl_tzif *zone)
{
    uint32_t count = header->transition_count;
    zone->transitions = calloc(count + 1, sizeof *zone->transitions);
    zone->offsets = calloc(count + 1, sizeof *zone->offsets);
    int32_t *types = calloc(header->type_count, sizeof *types);
    nl_status status = NULL;
    if (zone->transitions == NULL || zone->offsets == NULL || types == NULL) {
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", count * 12),
                          NL_P_INT("receivedBytes", 0));
        goto done;
    }
    for (uint32_t i = 0; i < count; i++) zone->transitions[i] = (int64_t)nl_cursor_u64_be(in);
    nl_bytes indexes = nl_cursor_bytes(in, count);
    for (uint32_t i = 0; i < header->type_count; i++) {
        types[i] = (int32_t)nl_cursor_u32_be(in);
        nl_cursor_skip(in, 2); /* daylight flag and the place of the abbreviation */
    }
    NL_GO(nl_cursor_status(in));
    for (uint32_t i = 0; i < count; i++) {
        bool is_sorted = i == 0 || zone->transitions[i - 1] < zone->transitions[i];
        if (!is_sorted || indexes.data[i] >= header->type_count) {
            status = nl_cursor_corrupt(in, "transition %u is out of order or names no type", i);
            goto done;
        }
        zone->offsets[i] = types[indexes.data[i]];
    }
    zone->first_offset = types[0];
    zone->transition_count = count;
done:
    free(types);
    return status;
}

static nl_status parse(nl_cursor *in, nl_tzif *zone)
{
    uint8_t version;
    tzif_header header = read_header(in, &version);
    uint64_t skipped = block_bytes(&header, 4);
    NL_TRY(nl_cursor_status(in));
    if (version < '2' || skipped > nl_cursor_remaining(in)) return nl_cursor_corrupt(in, "no 64-bit time zone data");
    nl_cursor_skip(in, (size_t)skipped);
    header = read_header(in, &version);
    NL_TRY(nl_cursor_status(in));
    size_t start = in->offset;
    uint64_t size = block_bytes(&header, 8);
    if (header.type_count == 0 || header.type_count > 256 || size > nl_cursor_remaining(in))
        return nl_cursor_corrupt(in, "time zone data longer than the file");
    NL_TRY(read_block(in, &header, zone));
    in->offset = start + (size_t)size;
    nl_str footer = {(const char *)in->data + in->offset, nl_cursor_remaining(in)};
    if (footer.length < 2 || footer.data[0] != '\n' || footer.data[footer.length - 1] != '\n')
        return nl_cursor_corrupt(in, "no footer");
    footer = nl_str_slice(footer, 1, footer.length - 1);
    if (footer.length == 0) return NULL; /* the last offset stays for ever */
    zone->has_rule = nl_zone_rule_parse(footer, &zone->rule);
    return zone->has_rule ? NULL : nl_cursor_corrupt(in, "the footer \"" NL_STR_FMT "\" is no rule", NL_STR_ARG(footer));
}

nl_status nl_tzif_parse(nl_cursor *in, nl_tzif *zone)
{
    nl_tzif parsed = {0};
    nl_status status = parse(in, &parsed);
    if (status != NULL)
        nl_tzif_fini(&parsed);
    else
        *zone = parsed;
    return status;
}

void nl_tzif_fini(nl_tzif *zone)
{
    free(zone->transitions);
    free(zone->offsets);
    *zone = (nl_tzif){0};
}
