/* iceberg/manifest_read.c - manifests: Avro records into compact entries (spec: "Manifests"), and what entries inherit from
 * the manifest list (spec: "Sequence Number Inheritance", "First Row ID Inheritance").
 *
 * The file's decompressed blocks are kept; paths, bounds and packed statistics point into them. Equal partition tuples
 * are decoded once: the raw bytes of a tuple are its key.
 */
#include "base/hash.h"
#include "base/json.h"
#include "base/lock.h"
#include "iceberg/avro_slots.h"
#include "iceberg/manifest_internal.h"

static const nl_slot_name entry_names[] = {
    {"status", 0}, {"snapshot_id", 1}, {"data_file", 2}, {"sequence_number", 3}, {"file_sequence_number", 4}, {NULL, 0}};

static const nl_slot_name file_names[] = {{"content", 134},
                                          {"file_path", 100},
                                          {"file_format", 101},
                                          {"partition", 102},
                                          {"record_count", 103},
                                          {"file_size_in_bytes", 104},
                                          {"column_sizes", 108},
                                          {"value_counts", 109},
                                          {"null_value_counts", 110},
                                          {"nan_value_counts", 137},
                                          {"lower_bounds", 125},
                                          {"upper_bounds", 128},
                                          {"key_metadata", 131},
                                          {"split_offsets", 132},
                                          {"equality_ids", 135},
                                          {"sort_order_id", 140},
                                          {"first_row_id", 142},
                                          {"referenced_data_file", 143},
                                          {"content_offset", 144},
                                          {"content_size_in_bytes", 145},
                                          {NULL, 0}};

/* What reading one manifest needs at hand. */
typedef struct reader {
    nl_manifest_owner *owner;
    nl_arena *arena;
    const nl_manifest_file *listed;
    const nl_slot *entry_slots;
    uint32_t entry_slot_count;
    const nl_slot *file_slots;
    uint32_t file_slot_count;
    const nl_avro_type *partition_record; /* the writer's */
    const int32_t *partition_places;      /* per field of partition_record: index into the spec's fields, or -1 */
    nl_list tuples;                       /* const nl_value *: distinct partitions */
    nl_bytes *tuple_keys;                 /* their raw bytes */
    uint32_t tuple_key_room;
    uint32_t *table;                      /* open addressing: tuple index + 1 */
    uint32_t table_room;                  /* a power of two */
    int64_t next_row_id;                  /* NL_NONE: first row ids are not given */
} reader;

/* ---- Statistics and lists ---- */

static nl_status check_pair(const nl_avro_type *pair, bool is_bound, const nl_cursor *in)
{
    const bool is_record = pair->kind == NL_AVRO_RECORD && pair->field_count == 2;
    const nl_avro_kind key = is_record ? pair->fields[0].type->kind : NL_AVRO_NULL;
    const nl_avro_kind value = is_record ? pair->fields[1].type->kind : NL_AVRO_NULL;
    const bool fits = is_bound ? value == NL_AVRO_BYTES : value == NL_AVRO_LONG || value == NL_AVRO_INT;
    if ((key != NL_AVRO_INT && key != NL_AVRO_LONG) || !fits)
        return nl_cursor_corrupt(in, "a statistics map that is not of column ids and %s", is_bound ? "bytes" : "counts");
    return NULL;
}

/* A varint of at most ten bytes; false at the end of the data or when it is longer. */
static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *bits)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; *at < end && shift < 70; shift += 7) {
        const uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << (shift & 63);
        if (byte & 0x80) continue;
        *bits = value;
        return true;
    }
    return false;
}

/* Most bytes of a manifest are statistics, so this loop goes over the bytes by itself instead of through the cursor. */
static nl_status walk_pairs(nl_cursor *in, uint64_t count, bool is_bound)
{
    const uint8_t *at = in->data + in->offset;
    const uint8_t *end = in->data + in->length;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key;
        uint64_t value;
        if (!take_varint(&at, end, &key) || !take_varint(&at, end, &value)) return nl_cursor_corrupt(in, "a statistics map that is cut short");
        if (key > UINT32_MAX) return nl_cursor_corrupt(in, "a column id that does not fit 32 bits");
        if (!is_bound) continue;
        if ((value & 1) || value / 2 > (uint64_t)(end - at)) return nl_cursor_corrupt(in, "a bound that is longer than what is left");
        at += value / 2;
    }
    nl_cursor_skip(in, (size_t)(at - (in->data + in->offset)));
    return NULL;
}

/* The parts of a map that came in several blocks, put together. */
static nl_status append_part(nl_arena *arena, nl_metric_map *map, const uint8_t *part, size_t part_bytes, uint32_t count)
{
    if (map->count == 0) {
        *map = (nl_metric_map){part, (uint32_t)part_bytes, count};
        return NULL;
    }
    void *joined;
    const size_t total = (size_t)map->size_bytes + part_bytes;
    NL_TRY(nl_arena_alloc_sized(arena, total, &joined));
    memcpy(joined, map->data, map->size_bytes);
    memcpy((uint8_t *)joined + map->size_bytes, part, part_bytes);
    *map = (nl_metric_map){joined, (uint32_t)total, map->count + count};
    return NULL;
}

static nl_status read_map(const reader *reading, const nl_slot *slot, nl_cursor *in, bool is_bound, nl_metric_map *map)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    if (slot->type->kind != NL_AVRO_ARRAY) return nl_cursor_corrupt(in, "a statistics map that is not an Avro array");
    NL_TRY(check_pair(slot->type->fields[0].type, is_bound, in));
    *map = (nl_metric_map){.data = in->data + in->offset};
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(in, 2, &count, &block_bytes));
        if (count == 0) return NULL;
        const size_t start = in->offset;
        NL_TRY(walk_pairs(in, count, is_bound));
        if (block_bytes >= 0 && in->offset - start != (size_t)block_bytes) return nl_cursor_corrupt(in, "an array block of another length than it says");
        NL_TRY(append_part(reading->arena, map, in->data + start, in->offset - start, (uint32_t)count));
    }
}

/* Numbers of an array, as int64. */
static nl_status read_numbers(const reader *reading, const nl_slot *slot, nl_cursor *in, int64_t **numbers, uint32_t *number_count)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return NULL;
    const nl_avro_kind kind = slot->type->kind == NL_AVRO_ARRAY ? slot->type->fields[0].type->kind : NL_AVRO_NULL;
    if (kind != NL_AVRO_INT && kind != NL_AVRO_LONG) return nl_cursor_corrupt(in, "the field with id %d is not an array of numbers", slot->field_id);
    uint32_t used = 0;
    int64_t *items = NULL;
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(in, 1, &count, &block_bytes));
        if (count == 0) break;
        void *more;
        NL_TRY(nl_arena_alloc_sized(reading->arena, nl_size_mul(used + count, sizeof(int64_t)), &more));
        if (used) memcpy(more, items, used * sizeof(int64_t));
        items = more;
        for (uint64_t i = 0; i < count; i++)
            items[used++] = nl_cursor_zigzag(in);
        NL_TRY(nl_cursor_status(in));
    }
    *numbers = items ? items : NL_NEW(reading->arena, int64_t); /* empty is not absent */
    *number_count = used;
    return NULL;
}

static nl_status read_equality_ids(const reader *reading, const nl_slot *slot, nl_cursor *in, nl_data_file *file)
{
    int64_t *numbers = NULL;
    uint32_t count = 0;
    NL_TRY(read_numbers(reading, slot, in, &numbers, &count));
    if (!numbers) return NULL;
    int32_t *ids = NL_NEW_ARRAY(reading->arena, int32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] < INT32_MIN || numbers[i] > INT32_MAX) return nl_cursor_corrupt(in, "an equality id does not fit 32 bits");
        ids[i] = (int32_t)numbers[i];
    }
    file->equality_ids = ids;
    file->equality_id_count = count;
    return NULL;
}

/* ---- Partitions ---- */

static nl_status decode_decimal(nl_bytes bytes, const nl_cursor *in, nl_int128 *value)
{
    if (bytes.length == 0 || bytes.length > 16) return nl_cursor_corrupt(in, "a decimal of %zu bytes", bytes.length);
    nl_uint128 bits = bytes.data[0] & 0x80 ? ~(nl_uint128)0 : 0;
    for (size_t i = 0; i < bytes.length; i++)
        bits = (bits << 8) | bytes.data[i];
    *value = (nl_int128)bits;
    return nl_decimal_fits(*value, NL_DECIMAL_PRECISION_MAX) ? NULL : nl_cursor_corrupt(in, "a decimal of more than 38 digits");
}

/* One partition value of the storage type `type`; the cursor is behind the union's branch. */
static nl_status decode_value(const reader *reading, const nl_avro_type *avro, const nl_type *type, nl_cursor *in, nl_value *value)
{
    const nl_physical physical = type->physical;
    const bool is_integral = physical == NL_PHYS_I32 || physical == NL_PHYS_I64;
    nl_slot slot = {.field_id = 102, .type = avro, .null_branch = -1};
    int8_t flag = 0;
    nl_bytes bytes = {0};
    value->is_null = false;
    if (type->id == NL_TYPE_DECIMAL) {
        NL_TRY(nl_slot_bytes(&slot, in, &bytes));
        return decode_decimal(bytes, in, &value->decimal);
    }
    if (is_integral) {
        NL_TRY(nl_slot_int64(&slot, in, &value->integer));
        if (physical == NL_PHYS_I32 && (value->integer < INT32_MIN || value->integer > INT32_MAX))
            return nl_cursor_corrupt(in, "a partition value does not fit 32 bits");
        return NULL;
    }
    if (physical == NL_PHYS_F32 || physical == NL_PHYS_F64) {
        if (avro->kind == NL_AVRO_FLOAT) value->real = nl_cursor_f32(in);
        else if (avro->kind == NL_AVRO_DOUBLE) value->real = nl_cursor_f64(in);
        else return nl_cursor_corrupt(in, "a partition value of an unexpected Avro type");
        return nl_cursor_status(in);
    }
    if (physical == NL_PHYS_BOOL) {
        NL_TRY(nl_slot_bool(&slot, in, &flag));
        value->boolean = flag != 0;
        return NULL;
    }
    if (physical != NL_PHYS_STRING) { /* a type nobody partitions by: its value is passed over */
        value->is_null = true;
        return nl_avro_skip(avro, in);
    }
    NL_TRY(nl_slot_bytes(&slot, in, &bytes));
    value->text = nl_arena_str(reading->arena, (nl_str){(const char *)bytes.data, bytes.length});
    return NULL;
}

static nl_status decode_tuple(const reader *reading, nl_cursor *in, const nl_value **tuple)
{
    const nl_ice_type *partition_type = reading->owner->manifest.partition_type;
    nl_value *values = NL_NEW_ARRAY(reading->arena, nl_value, (size_t)partition_type->field_count + 1);
    for (uint32_t i = 0; i < partition_type->field_count; i++)
        values[i] = nl_value_null(nl_ice_type_storage(reading->arena, partition_type->fields[i].type));
    for (uint32_t i = 0; i < reading->partition_record->field_count; i++) {
        const nl_avro_type *whole = reading->partition_record->fields[i].type;
        const int32_t place = reading->partition_places[i];
        nl_slot slot = {.field_id = 102, .whole = whole};
        bool is_null;
        if (place < 0) {
            NL_TRY(nl_avro_skip(whole, in));
            continue;
        }
        slot.type = nl_avro_unwrap(whole, &slot.null_branch);
        NL_TRY(nl_slot_is_null(&slot, in, &is_null));
        if (!is_null) NL_TRY(decode_value(reading, slot.type, values[place].type, in, &values[place]));
    }
    *tuple = values;
    return nl_arena_check(reading->arena);
}

static void grow_table(reader *reading)
{
    const uint32_t room = reading->table_room ? reading->table_room * 2 : 64;
    reading->table = NL_NEW_ARRAY(reading->arena, uint32_t, room);
    reading->table_room = room;
    for (uint32_t i = 0; i < reading->tuples.count; i++) {
        uint32_t at = (uint32_t)nl_hash_bytes(reading->tuple_keys[i].data, reading->tuple_keys[i].length, 0) & (room - 1);
        while (reading->table[at])
            at = (at + 1) & (room - 1);
        reading->table[at] = i + 1;
    }
}

static void keep_key(reader *reading, nl_bytes key)
{
    const uint32_t count = reading->tuples.count;
    if (count == reading->tuple_key_room) {
        const uint32_t room = count ? count * 2 : 32;
        nl_bytes *keys = NL_NEW_ARRAY(reading->arena, nl_bytes, room);
        if (count) memcpy(keys, reading->tuple_keys, count * sizeof(*keys));
        reading->tuple_keys = keys;
        reading->tuple_key_room = room;
    }
    reading->tuple_keys[count] = key;
}

static nl_status read_partition(reader *reading, const nl_slot *slot, nl_cursor *in, nl_manifest_entry *entry)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null || slot->type != reading->partition_record) return nl_cursor_corrupt(in, "an entry without partition tuple");
    const size_t start = in->offset;
    NL_TRY(nl_avro_skip(slot->type, in));
    NL_TRY(nl_cursor_status(in));
    const nl_bytes key = {in->data + start, in->offset - start};
    if ((reading->tuples.count + 1) * 2 > reading->table_room) grow_table(reading);
    uint32_t at = (uint32_t)nl_hash_bytes(key.data, key.length, 0) & (reading->table_room - 1);
    for (; reading->table[at]; at = (at + 1) & (reading->table_room - 1)) {
        const uint32_t index = reading->table[at] - 1;
        const nl_bytes known = reading->tuple_keys[index];
        if (known.length != key.length || (key.length && memcmp(known.data, key.data, key.length) != 0)) continue;
        entry->partition_index = index;
        return NULL;
    }
    const nl_value *tuple = NULL;
    nl_cursor tuple_cursor = *in;
    tuple_cursor.offset = start;
    NL_TRY(decode_tuple(reading, &tuple_cursor, &tuple));
    keep_key(reading, key);
    entry->partition_index = reading->tuples.count;
    reading->table[at] = reading->tuples.count + 1;
    nl_list_add(reading->arena, &reading->tuples, (void *)(uintptr_t)tuple);
    return nl_arena_check(reading->arena);
}

/* ---- Entries ---- */

static nl_status read_text(const nl_slot *slot, nl_cursor *in, nl_str *text)
{
    nl_bytes bytes = {0};
    NL_TRY(nl_slot_bytes(slot, in, &bytes));
    *text = (nl_str){(const char *)bytes.data, bytes.length};
    return NULL;
}

static nl_status read_format(const nl_slot *slot, nl_cursor *in, nl_data_file *file)
{
    nl_str text = {0};
    NL_TRY(read_text(slot, in, &text));
    if (!nl_file_format_parse(text, &file->format)) return nl_cursor_corrupt(in, "the file format " NL_STR_FMT, NL_STR_ARG(text));
    return NULL;
}

static nl_status read_content(const nl_slot *slot, nl_cursor *in, nl_data_file *file)
{
    int64_t content = 0;
    NL_TRY(nl_slot_int64(slot, in, &content));
    if (content < NL_CONTENT_DATA || content > NL_CONTENT_EQUALITY_DELETES) return nl_cursor_corrupt(in, "a file content of %lld", (long long)content);
    file->content = (nl_file_content)content;
    return NULL;
}

static nl_status read_file_field(reader *reading, const nl_slot *slot, nl_cursor *in, nl_manifest_entry *entry)
{
    nl_data_file *file = &entry->file;
    int64_t *offsets = NULL;
    switch (slot->field_id) {
    case 134: return read_content(slot, in, file);
    case 100: return read_text(slot, in, &file->path);
    case 101: return read_format(slot, in, file);
    case 102: return read_partition(reading, slot, in, entry);
    case 103: return nl_slot_int64(slot, in, &file->record_count);
    case 104: return nl_slot_int64(slot, in, &file->file_size_bytes);
    case 108: return read_map(reading, slot, in, false, &file->column_sizes);
    case 109: return read_map(reading, slot, in, false, &file->value_counts);
    case 110: return read_map(reading, slot, in, false, &file->null_value_counts);
    case 137: return read_map(reading, slot, in, false, &file->nan_value_counts);
    case 125: return read_map(reading, slot, in, true, &file->lower_bounds);
    case 128: return read_map(reading, slot, in, true, &file->upper_bounds);
    case 131: return nl_slot_bytes(slot, in, &file->key_metadata);
    case 132:
        NL_TRY(read_numbers(reading, slot, in, &offsets, &file->split_offset_count));
        file->split_offsets = offsets;
        return NULL;
    case 135: return read_equality_ids(reading, slot, in, file);
    case 140: return nl_slot_int32(slot, in, &file->sort_order_id);
    case 142: return nl_slot_int64(slot, in, &file->first_row_id);
    case 143: return read_text(slot, in, &file->referenced_data_file);
    case 144: return nl_slot_int64(slot, in, &file->content_offset);
    case 145: return nl_slot_int64(slot, in, &file->content_size_bytes);
    default: return nl_avro_skip(slot->whole, in);
    }
}

static nl_status read_data_file(reader *reading, const nl_slot *slot, nl_cursor *in, nl_manifest_entry *entry)
{
    bool is_null;
    NL_TRY(nl_slot_is_null(slot, in, &is_null));
    if (is_null) return nl_cursor_corrupt(in, "an entry without data file");
    for (uint32_t i = 0; i < reading->file_slot_count; i++)
        NL_TRY(read_file_field(reading, &reading->file_slots[i], in, entry));
    return NULL;
}

/* Java ignores split offsets that cannot be right; so must we, or a scan would skip rows. */
static void check_split_offsets(nl_data_file *file)
{
    for (uint32_t i = 0; i < file->split_offset_count; i++) {
        const bool is_good = file->split_offsets[i] < file->file_size_bytes && (i == 0 || file->split_offsets[i] > file->split_offsets[i - 1]);
        if (is_good) continue;
        file->split_offsets = NULL;
        file->split_offset_count = 0;
        return;
    }
}

static void inherit(reader *reading, nl_manifest_entry *entry)
{
    const nl_manifest_file *listed = reading->listed;
    if (entry->snapshot_id == NL_NONE) entry->snapshot_id = listed->added_snapshot_id;
    /* v1 files store no sequence numbers: theirs is 0 whatever the status. Later only added files inherit. */
    const bool inherits = listed->sequence_number == 0 || entry->status == NL_ENTRY_ADDED;
    if (entry->sequence_number == NL_NONE && inherits) entry->sequence_number = listed->sequence_number;
    if (entry->file_sequence_number == NL_NONE && inherits) entry->file_sequence_number = listed->sequence_number;
    nl_data_file *file = &entry->file;
    if (reading->next_row_id == NL_NONE) {
        file->first_row_id = NL_NONE;
    } else if (entry->status != NL_ENTRY_DELETED && file->content == NL_CONTENT_DATA && file->first_row_id == NL_NONE) {
        file->first_row_id = reading->next_row_id;
        reading->next_row_id += file->record_count;
    }
}

static nl_status read_entry(reader *reading, nl_cursor *in, nl_manifest_entry *entry)
{
    int64_t status = NL_NONE;
    *entry = (nl_manifest_entry){.snapshot_id = NL_NONE, .sequence_number = NL_NONE, .file_sequence_number = NL_NONE};
    entry->file = (nl_data_file){.spec_id = reading->listed->spec_id,
                                 .sort_order_id = NL_NONE,
                                 .first_row_id = NL_NONE,
                                 .content_offset = NL_NONE,
                                 .content_size_bytes = NL_NONE};
    for (uint32_t i = 0; i < reading->entry_slot_count; i++) {
        const nl_slot *slot = &reading->entry_slots[i];
        switch (slot->field_id) {
        case 0: NL_TRY(nl_slot_int64(slot, in, &status)); break;
        case 1: NL_TRY(nl_slot_int64(slot, in, &entry->snapshot_id)); break;
        case 2: NL_TRY(read_data_file(reading, slot, in, entry)); break;
        case 3: NL_TRY(nl_slot_int64(slot, in, &entry->sequence_number)); break;
        case 4: NL_TRY(nl_slot_int64(slot, in, &entry->file_sequence_number)); break;
        default: NL_TRY(nl_avro_skip(slot->whole, in)); break;
        }
    }
    NL_TRY(nl_cursor_status(in));
    if (status < NL_ENTRY_EXISTING || status > NL_ENTRY_DELETED) return nl_cursor_corrupt(in, "an entry status of %lld", (long long)status);
    if (entry->file.record_count < 0 || entry->file.file_size_bytes < 0) return nl_cursor_corrupt(in, "a data file with a negative count or size");
    if (!entry->file.path.length) return nl_cursor_corrupt(in, "a data file without path");
    entry->status = (nl_entry_status)status;
    check_split_offsets(&entry->file);
    inherit(reading, entry);
    return NULL;
}

/* ---- The file ---- */

/* What an Avro type can hold as a partition value. */
static const nl_ice_type *type_of_avro(nl_arena *arena, const nl_avro_type *avro)
{
    int32_t null_branch;
    avro = nl_avro_unwrap(avro, &null_branch);
    const bool is_nanos = avro->logical == NL_AVRO_TIMESTAMP_NANOS;
    switch ((int)avro->kind) {
    case NL_AVRO_BOOLEAN: return nl_ice_type_of(NL_ICE_BOOLEAN);
    case NL_AVRO_INT: return nl_ice_type_of(avro->logical == NL_AVRO_DATE ? NL_ICE_DATE : NL_ICE_INT);
    case NL_AVRO_LONG:
        if (avro->logical == NL_AVRO_TIME_MICROS) return nl_ice_type_of(NL_ICE_TIME);
        if (avro->logical != NL_AVRO_TIMESTAMP_MICROS && !is_nanos) return nl_ice_type_of(NL_ICE_LONG);
        if (avro->adjusts_to_utc) return nl_ice_type_of(is_nanos ? NL_ICE_TIMESTAMPTZ_NS : NL_ICE_TIMESTAMPTZ);
        return nl_ice_type_of(is_nanos ? NL_ICE_TIMESTAMP_NS : NL_ICE_TIMESTAMP);
    case NL_AVRO_FLOAT: return nl_ice_type_of(NL_ICE_FLOAT);
    case NL_AVRO_DOUBLE: return nl_ice_type_of(NL_ICE_DOUBLE);
    case NL_AVRO_STRING: return nl_ice_type_of(NL_ICE_STRING);
    case NL_AVRO_BYTES: return nl_ice_type_of(NL_ICE_BINARY);
    case NL_AVRO_FIXED:
        if (avro->logical == NL_AVRO_DECIMAL) return nl_ice_type_decimal(arena, avro->precision, avro->scale);
        return avro->logical == NL_AVRO_UUID ? nl_ice_type_of(NL_ICE_UUID) : nl_ice_type_fixed(arena, avro->size_bytes);
    default: return nl_ice_type_of(NL_ICE_UNKNOWN);
    }
}

/* A manifest of an old spec that was written again after the source column had been dropped does not have the column in
 * its schema: then the values themselves tell their type. */
static void complete_partition_type(reader *reading)
{
    nl_manifest *manifest = &reading->owner->manifest;
    nl_ice_field *fields = NL_NEW_ARRAY(reading->arena, nl_ice_field, (size_t)manifest->spec->field_count + 1);
    for (uint32_t i = 0; i < manifest->spec->field_count; i++)
        fields[i] = manifest->partition_type->fields[i];
    for (uint32_t i = 0; i < reading->partition_record->field_count; i++) {
        const int32_t place = reading->partition_places[i];
        if (place >= 0 && !nl_schema_find_id(manifest->schema, manifest->spec->fields[place].source_id))
            fields[place].type = type_of_avro(reading->arena, reading->partition_record->fields[i].type);
    }
    manifest->partition_type = nl_ice_type_struct(reading->arena, fields, manifest->spec->field_count);
}

static nl_status place_partitions(reader *reading)
{
    const nl_manifest *manifest = &reading->owner->manifest;
    const nl_avro_type *record = reading->partition_record;
    int32_t *places = NL_NEW_ARRAY(reading->arena, int32_t, (size_t)record->field_count + 1);
    NL_TRY(nl_arena_check(reading->arena));
    for (uint32_t i = 0; i < record->field_count; i++) {
        places[i] = -1;
        for (uint32_t k = 0; k < manifest->spec->field_count && places[i] < 0; k++) {
            const nl_partition_field *field = &manifest->spec->fields[k];
            const bool is_it = record->fields[i].field_id ? record->fields[i].field_id == field->field_id : nl_str_equal(record->fields[i].name, field->name);
            if (is_it) places[i] = (int32_t)k;
        }
    }
    reading->partition_places = places;
    complete_partition_type(reading);
    return nl_arena_check(reading->arena);
}

static nl_status make_slots(reader *reading, const nl_avro_type *record, nl_str path)
{
    NL_TRY(nl_slots_make(reading->arena, record, entry_names, path, &reading->entry_slots));
    reading->entry_slot_count = record->field_count;
    const nl_avro_type *data_file = NULL;
    for (uint32_t i = 0; i < reading->entry_slot_count; i++)
        if (reading->entry_slots[i].field_id == 2) data_file = reading->entry_slots[i].type;
    if (!data_file) return nl_json_corrupt(path, "its Avro schema has no data_file");
    NL_TRY(nl_slots_make(reading->arena, data_file, file_names, path, &reading->file_slots));
    reading->file_slot_count = data_file->field_count;
    for (uint32_t i = 0; i < reading->file_slot_count; i++)
        if (reading->file_slots[i].field_id == 102) reading->partition_record = reading->file_slots[i].type;
    if (!reading->partition_record || reading->partition_record->kind != NL_AVRO_RECORD)
        return nl_json_corrupt(path, "its Avro schema has no partition record");
    return place_partitions(reading);
}

static int64_t metadata_number(const nl_avro_file *file, const char *key, int64_t fallback)
{
    const nl_str text = nl_avro_file_metadata(file, key);
    int64_t value;
    return text.data && nl_parse_int64(text, &value) ? value : fallback;
}

nl_status nl_manifest_read_head(nl_arena *arena, const nl_avro_file *file, nl_manifest *manifest)
{
    const nl_str path = manifest->path;
    const nl_str schema_text = nl_avro_file_metadata(file, "schema");
    const nl_str spec_text = nl_avro_file_metadata(file, "partition-spec");
    const json_t *json;
    if (!schema_text.data || !spec_text.data) return nl_json_corrupt(path, "a manifest needs schema and partition-spec in its metadata");
    NL_TRY(nl_json_parse(arena, schema_text, path, &json));
    NL_TRY(nl_schema_from_json(arena, json, path, &manifest->schema));
    NL_TRY(nl_json_parse(arena, spec_text, path, &json));
    if (json_is_object(json)) NL_TRY(nl_partition_spec_from_json(arena, json, path, &manifest->spec)); /* some writers put the whole spec */
    else NL_TRY(nl_partition_fields_from_json(arena, json, (int32_t)metadata_number(file, "partition-spec-id", 0), path, &manifest->spec));
    manifest->format_version = (int32_t)metadata_number(file, "format-version", 1);
    manifest->content = nl_str_is_nocase(nl_avro_file_metadata(file, "content"), "deletes") ? NL_MANIFEST_DELETES : NL_MANIFEST_DATA;
    manifest->partition_type = nl_partition_type(arena, manifest->spec, manifest->schema);
    return nl_arena_check(arena);
}

/* Blocks are kept as long as the manifest: one that was decompressed into much too large a buffer is copied. */
static nl_status trim(nl_manifest_owner *owner, nl_avro_block *block)
{
    nl_buffer *data = block->data;
    nl_list_add(owner->arena, &owner->blocks, data); /* owned from here on, also on failure */
    if (data->charged_bytes <= data->size_bytes + data->size_bytes / 4 + 512) return NULL;
    nl_buffer *exact;
    NL_TRY(nl_buffer_new(owner->memory, data->size_bytes, false, &exact));
    memcpy(exact->data, data->data, data->size_bytes);
    owner->blocks.items[owner->blocks.count - 1] = exact;
    nl_buffer_release(data);
    block->data = exact;
    return NULL;
}

static nl_status keep_blocks(reader *reading, nl_avro_file *file, nl_list *blocks, uint64_t *row_count)
{
    for (;;) {
        nl_avro_block *block = NL_NEW(reading->arena, nl_avro_block);
        NL_TRY(nl_avro_file_next(file, block));
        if (!block->data) return NULL;
        nl_list_add(reading->arena, blocks, block);
        NL_TRY(trim(reading->owner, block));
        reading->owner->block_bytes += block->data->size_bytes;
        *row_count += block->row_count;
        NL_TRY(nl_arena_check(reading->arena));
    }
}

static nl_status read_entries(reader *reading, nl_avro_file *file)
{
    nl_manifest *manifest = &reading->owner->manifest;
    nl_list blocks = {0};
    uint64_t row_count = 0;
    NL_TRY(keep_blocks(reading, file, &blocks, &row_count));
    if (row_count > UINT32_MAX) return nl_json_corrupt(manifest->path, "a manifest of %llu entries", (unsigned long long)row_count);
    void *memory;
    NL_TRY(nl_arena_alloc_sized(reading->arena, nl_size_mul((size_t)row_count, sizeof(nl_manifest_entry)) + 1, &memory));
    nl_manifest_entry *entries = memory;
    for (uint32_t i = 0; i < blocks.count; i++) {
        const nl_avro_block *block = blocks.items[i];
        nl_cursor in = nl_avro_block_cursor(file, block);
        for (uint64_t k = 0; k < block->row_count; k++) {
            nl_manifest_entry *entry = &entries[manifest->entry_count];
            NL_TRY(read_entry(reading, &in, entry));
            manifest->entry_count++;
            manifest->live_count += nl_manifest_entry_is_live(entry);
        }
        if (nl_cursor_remaining(&in)) return nl_cursor_corrupt(&in, "%zu bytes are left behind the last entry of a block", nl_cursor_remaining(&in));
    }
    manifest->entries = entries;
    manifest->partition_count = reading->tuples.count;
    manifest->partitions = (const nl_value *const *)reading->tuples.items;
    if (manifest->spec->field_count)
        for (uint32_t i = 0; i < manifest->entry_count; i++)
            entries[i].file.partition = manifest->partitions[entries[i].partition_index];
    return NULL;
}

static nl_status make_partition_columns(reader *reading, nl_memory *memory)
{
    nl_manifest *manifest = &reading->owner->manifest;
    nl_vector *columns = NL_NEW_ARRAY(reading->arena, nl_vector, (size_t)manifest->spec->field_count + 1);
    manifest->partition_columns = columns;
    for (uint32_t i = 0; i < manifest->spec->field_count; i++) {
        nl_column_builder *builder;
        NL_TRY(nl_column_builder_new(nl_ice_type_storage(reading->arena, manifest->partition_type->fields[i].type), memory, &builder));
        nl_status status = NULL;
        for (uint32_t k = 0; k < manifest->partition_count && !status; k++)
            status = nl_column_builder_value(builder, &manifest->partitions[k][i]);
        if (!status) status = nl_column_builder_finish(builder, &columns[i]);
        nl_column_builder_free(builder);
        NL_TRY(status);
    }
    return NULL;
}

static nl_status read_manifest(reader *reading, nl_avro_file *file, nl_memory *memory)
{
    nl_manifest *manifest = &reading->owner->manifest;
    NL_TRY(nl_manifest_read_head(reading->arena, file, manifest));
    manifest->spec_id = reading->listed->spec_id;
    NL_TRY(make_slots(reading, nl_avro_file_schema(file), manifest->path));
    reading->next_row_id = manifest->content == NL_MANIFEST_DATA ? reading->listed->first_row_id : NL_NONE;
    NL_TRY(read_entries(reading, file));
    return make_partition_columns(reading, memory);
}

nl_status nl_manifest_read(nl_fs *fs, const nl_manifest_file *listed, nl_memory *memory, const nl_manifest **manifest)
{
    nl_file *file = NULL;
    nl_avro_file *avro = NULL;
    nl_manifest_owner *owner = nl_manifest_owner_new(listed->path, memory);
    reader reading = {.owner = owner, .arena = owner->arena, .listed = listed, .next_row_id = NL_NONE};
    nl_status status;
    NL_GO(listed->length > 0 ? nl_fs_open_sized(fs, listed->path, (uint64_t)listed->length, &file) : nl_fs_open(fs, listed->path, &file));
    nl_file_prefetch(file, &(nl_range){.offset = 0, .length = nl_file_size(file)}, 1); /* all of it is going to be read */
    NL_GO(nl_avro_file_open(file, memory, &avro));
    NL_GO(read_manifest(&reading, avro, memory));
    *manifest = &owner->manifest;
done:
    nl_avro_file_close(avro);
    nl_file_close(file);
    if (status) nl_manifest_release(&owner->manifest);
    return nl_note_if(status, NL_HERE, "reading manifest " NL_STR_FMT, NL_STR_ARG(listed->path));
}
