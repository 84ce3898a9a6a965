/* iceberg/avro_slots.c - see avro_slots.h. */
#include "iceberg/avro_slots.h"

nl_status nl_slots_make(nl_arena *arena, const nl_avro_type *record, const nl_slot_name *names, nl_str path, const nl_slot **slots)
{
    if (record->kind != NL_AVRO_RECORD)
        return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", path), NL_P_INT("offset", 0), NL_P("column", ""),
                        NL_P("problem", "its Avro schema has another type where a record belongs"));
    const bool has_ids = nl_avro_has_field_ids(record);
    nl_slot *made = NL_NEW_ARRAY(arena, nl_slot, (size_t)record->field_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < record->field_count; i++) {
        const nl_avro_field *field = &record->fields[i];
        made[i].whole = field->type;
        made[i].type = nl_avro_unwrap(field->type, &made[i].null_branch);
        made[i].field_id = NL_NONE;
        for (const nl_slot_name *known = names; known->name; known++) {
            const bool by_id = has_ids && known->field_id != 0;
            if (by_id ? field->field_id == known->field_id : nl_str_is(field->name, known->name)) made[i].field_id = known->field_id;
        }
    }
    *slots = made;
    return NULL;
}

nl_status nl_slot_is_null(const nl_slot *slot, nl_cursor *in, bool *is_null)
{
    *is_null = false;
    if (slot->null_branch < 0) return NULL;
    const int64_t branch = nl_cursor_zigzag(in);
    NL_TRY(nl_cursor_status(in));
    if (branch != 0 && branch != 1) return nl_cursor_corrupt(in, "branch %lld of a union of two types", (long long)branch);
    *is_null = branch == slot->null_branch;
    return NULL;
}

static nl_status wrong_kind(const nl_slot *slot, const nl_cursor *in)
{
    return nl_cursor_corrupt(in, "the field with id %d is of an unexpected Avro type", slot->field_id);
}

nl_status nl_slot_int64(const nl_slot *slot, nl_cursor *in, int64_t *value)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    if (slot->type->kind != NL_AVRO_INT && slot->type->kind != NL_AVRO_LONG) return wrong_kind(slot, in);
    const int64_t read = nl_cursor_zigzag(in);
    NL_TRY(nl_cursor_status(in));
    *value = read;
    return NULL;
}

nl_status nl_slot_int32(const nl_slot *slot, nl_cursor *in, int32_t *value)
{
    int64_t wide = *value;
    NL_TRY(nl_slot_int64(slot, in, &wide));
    if (wide < INT32_MIN || wide > INT32_MAX) return nl_cursor_corrupt(in, "the field with id %d does not fit 32 bits", slot->field_id);
    *value = (int32_t)wide;
    return NULL;
}

nl_status nl_slot_bytes(const nl_slot *slot, nl_cursor *in, nl_bytes *value)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    if (slot->type->kind == NL_AVRO_FIXED) {
        *value = nl_cursor_bytes(in, slot->type->size_bytes);
        return nl_cursor_status(in);
    }
    if (slot->type->kind != NL_AVRO_STRING && slot->type->kind != NL_AVRO_BYTES) return wrong_kind(slot, in);
    NL_TRY(nl_avro_bytes(in, value));
    if (!value->data) value->data = (const uint8_t *)""; /* empty is not absent */
    return NULL;
}

nl_status nl_slot_bool(const nl_slot *slot, nl_cursor *in, int8_t *value)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    if (slot->type->kind != NL_AVRO_BOOLEAN) return wrong_kind(slot, in);
    const uint8_t byte = nl_cursor_u8(in);
    NL_TRY(nl_cursor_status(in));
    *value = byte != 0;
    return NULL;
}
