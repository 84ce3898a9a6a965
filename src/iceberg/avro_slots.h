/* iceberg/avro_slots.h - reading records whose fields are told by field id: manifests and manifest lists.
 *
 * A record type of the writer becomes a list of slots in the writer's order; each knows the id to act upon, or that its
 * value is skipped. For manifest_read.c and manifest_list.c only.
 */
#pragma once

#include "format/avro/file.h"
#include "iceberg/manifest.h"

typedef struct nl_slot {
    int32_t field_id;           /* NL_NONE: unknown, to be skipped */
    const nl_avro_type *type;   /* without the union around it */
    int32_t null_branch;        /* -1: not optional */
    const nl_avro_type *whole;  /* as in the file, for skipping */
} nl_slot;

/* The fields that are known: by id, or by Java's name in files without ids. The id 0 (a manifest entry's status) is told
 * by its name always. */
typedef struct nl_slot_name {
    const char *name;
    int32_t field_id;
} nl_slot_name;

/* The slots of a record, field_count of them; in the arena. names ends with a NULL name. */
NL_MUST_USE nl_status nl_slots_make(nl_arena *arena, const nl_avro_type *record, const nl_slot_name *names, nl_str path, const nl_slot **slots);
/* Reads the branch of an optional slot. */
NL_MUST_USE nl_status nl_slot_is_null(const nl_slot *slot, nl_cursor *in, bool *is_null);
/* Null leaves *value alone. Fails when the slot is of another kind. */
NL_MUST_USE nl_status nl_slot_int64(const nl_slot *slot, nl_cursor *in, int64_t *value);
NL_MUST_USE nl_status nl_slot_int32(const nl_slot *slot, nl_cursor *in, int32_t *value);
NL_MUST_USE nl_status nl_slot_bytes(const nl_slot *slot, nl_cursor *in, nl_bytes *value); /* STRING, BYTES, FIXED; borrowed */
NL_MUST_USE nl_status nl_slot_bool(const nl_slot *slot, nl_cursor *in, int8_t *value);
