/* iceberg/view_update.c - new view metadata from old by a list of updates, as Java's ViewMetadata.Builder makes it. */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/json.h"
#include "base/number.h"
#include "base/uuid.h"
#include "iceberg/view.h"

#define HISTORY_DEFAULT 10

typedef struct view_builder {
    nl_view_metadata *view; /* a deep copy of the base, being changed */
    const nl_view_metadata *base; /* or NULL */
    int32_t last_schema_id, last_version_id; /* NL_NONE: none was added */
    uint32_t added_versions;
    bool is_current_set;
} view_builder;

/* ---- growing arrays: views are small, each addition copies --------------------------------------------------- */

static void add_schema(nl_view_metadata *view, const nl_schema *schema)
{
    const nl_schema **grown = NL_NEW_ARRAY(view->arena, const nl_schema *, view->schema_count + 1);
    if (view->schema_count) memcpy(grown, view->schemas, view->schema_count * sizeof(*grown));
    grown[view->schema_count++] = schema;
    view->schemas = grown;
}

static void add_version(nl_view_metadata *view, nl_view_version version)
{
    nl_view_version *grown = NL_NEW_ARRAY(view->arena, nl_view_version, view->version_count + 1);
    if (view->version_count) memcpy(grown, view->versions, view->version_count * sizeof(*grown));
    grown[view->version_count++] = version;
    view->versions = grown;
}

static void add_log_entry(nl_view_metadata *view, nl_view_log_entry entry)
{
    nl_view_log_entry *grown = NL_NEW_ARRAY(view->arena, nl_view_log_entry, view->log_count + 1);
    if (view->log_count) memcpy(grown, view->log, view->log_count * sizeof(*grown));
    grown[view->log_count++] = entry;
    view->log = grown;
}

static void set_property(nl_view_metadata *view, nl_property property)
{
    nl_property *changed = NL_NEW_ARRAY(view->arena, nl_property, view->property_count + 1);
    uint32_t at = 0;
    if (view->property_count) memcpy(changed, view->properties, view->property_count * sizeof(*changed));
    while (at < view->property_count && !nl_str_equal(changed[at].key, property.key)) at++;
    changed[at] = (nl_property){nl_arena_str(view->arena, property.key), nl_arena_str(view->arena, property.value)};
    view->properties = changed;
    view->property_count = NL_MAX(view->property_count, at + 1);
}

static void remove_property(nl_view_metadata *view, nl_str key)
{
    nl_property *kept = NL_NEW_ARRAY(view->arena, nl_property, view->property_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->property_count; i++)
        if (!nl_str_equal(view->properties[i].key, key)) kept[count++] = view->properties[i];
    view->properties = kept;
    view->property_count = count;
}

/* ---- the updates ----------------------------------------------------------------------------------------------- */

static nl_status apply_schema(view_builder *self, const nl_schema *schema)
{
    nl_view_metadata *view = self->view;
    int32_t id = 0;
    for (uint32_t i = 0; i < view->schema_count; i++) {
        if (nl_schema_same(view->schemas[i], schema)) {
            self->last_schema_id = view->schemas[i]->schema_id;
            return NULL;
        }
        id = NL_MAX(id, view->schemas[i]->schema_id + 1);
    }
    nl_schema *added = NL_NEW(view->arena, nl_schema);
    *added = *nl_schema_copy(view->arena, schema);
    added->schema_id = id;
    add_schema(view, added);
    self->last_schema_id = id;
    return NULL;
}

static bool same_namespace(const nl_view_version *a, const nl_view_version *b)
{
    bool is_same = a->default_namespace_count == b->default_namespace_count && nl_str_equal(a->default_catalog, b->default_catalog);
    for (uint32_t i = 0; is_same && i < a->default_namespace_count; i++) is_same = nl_str_equal(a->default_namespace[i], b->default_namespace[i]);
    return is_same;
}

static bool same_version(const nl_view_version *a, const nl_view_version *b)
{
    bool is_same = a->schema_id == b->schema_id && a->representation_count == b->representation_count && a->summary_count == b->summary_count && same_namespace(a, b);
    for (uint32_t i = 0; is_same && i < a->representation_count; i++)
        is_same = nl_str_equal(a->representations[i].sql, b->representations[i].sql) && nl_str_equal(a->representations[i].dialect, b->representations[i].dialect);
    for (uint32_t i = 0; is_same && i < a->summary_count; i++)
        is_same = nl_str_equal(a->summary[i].key, b->summary[i].key) && nl_str_equal(a->summary[i].value, b->summary[i].value);
    return is_same;
}

static nl_property *copy_properties(nl_arena *arena, const nl_property *properties, uint32_t property_count)
{
    nl_property *copies = NL_NEW_ARRAY(arena, nl_property, property_count + 1);
    for (uint32_t i = 0; i < property_count; i++) copies[i] = (nl_property){nl_arena_str(arena, properties[i].key), nl_arena_str(arena, properties[i].value)};
    return copies;
}

static nl_view_version copy_version(nl_arena *arena, const nl_view_version *version)
{
    nl_view_version copy = *version;
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, version->default_namespace_count + 1);
    nl_view_representation *representations = NL_NEW_ARRAY(arena, nl_view_representation, version->representation_count + 1);
    for (uint32_t i = 0; i < version->default_namespace_count; i++) parts[i] = nl_arena_str(arena, version->default_namespace[i]);
    for (uint32_t i = 0; i < version->representation_count; i++) {
        const nl_view_representation *from = &version->representations[i];
        representations[i] = (nl_view_representation){nl_arena_str(arena, from->type), nl_arena_str(arena, from->sql), nl_arena_str(arena, from->dialect)};
    }
    copy.summary = copy_properties(arena, version->summary, version->summary_count);
    copy.default_catalog = nl_arena_str(arena, version->default_catalog);
    copy.default_namespace = parts;
    copy.representations = representations;
    copy.unknown = nl_json_keep(arena, version->unknown);
    return copy;
}

static nl_status check_dialects(const nl_view_version *version)
{
    if (version->representation_count == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid view version: it has no representation");
    for (uint32_t i = 0; i < version->representation_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (nl_str_equal_nocase(version->representations[i].dialect, version->representations[k].dialect))
                return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid view version: Cannot add multiple queries for dialect " NL_STR_FMT,
                                     NL_STR_ARG(version->representations[i].dialect));
    return NULL;
}

static bool has_schema(const nl_view_metadata *view, int32_t schema_id)
{
    for (uint32_t i = 0; i < view->schema_count; i++)
        if (view->schemas[i]->schema_id == schema_id) return true;
    return false;
}

static nl_status apply_version(view_builder *self, const nl_view_version *version)
{
    nl_view_metadata *view = self->view;
    nl_view_version added = copy_version(view->arena, version);
    NL_TRY(check_dialects(version));
    if (added.schema_id == -1) {
        if (self->last_schema_id == NL_NONE) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set last added schema: no schema has been added");
        added.schema_id = self->last_schema_id;
    }
    if (!has_schema(view, added.schema_id)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot add version with unknown schema: %d", added.schema_id);
    for (uint32_t i = 0; i < view->version_count; i++) {
        if (same_version(&view->versions[i], &added)) {
            self->last_version_id = view->versions[i].version_id;
            return NULL;
        }
        added.version_id = NL_MAX(added.version_id, view->versions[i].version_id + 1);
    }
    add_version(view, added);
    self->last_version_id = added.version_id;
    self->added_versions++;
    return NULL;
}

static nl_status apply_current(view_builder *self, int32_t version_id)
{
    nl_view_metadata *view = self->view;
    const nl_view_version *version = NULL;
    if (version_id == -1) {
        if (self->last_version_id == NL_NONE) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set last version id: no current version id has been set");
        version_id = self->last_version_id;
    }
    for (uint32_t i = 0; i < view->version_count; i++)
        if (view->versions[i].version_id == version_id) version = &view->versions[i];
    if (!version) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set current version to unknown version: %d", version_id);
    if (self->base && self->base->current_version_id == version_id && !self->is_current_set) return NULL;
    view->current_version_id = version_id;
    self->is_current_set = true;
    const bool is_new = self->added_versions && version_id == self->last_version_id;
    add_log_entry(view, (nl_view_log_entry){is_new ? version->timestamp_ms : nl_now_micros() / 1000, version_id});
    return NULL;
}

static nl_status apply_uuid(view_builder *self, nl_str uuid)
{
    nl_view_metadata *view = self->view;
    if (view->uuid.length && !nl_str_equal(view->uuid, uuid)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot reassign uuid");
    view->uuid = nl_arena_str(view->arena, uuid);
    return NULL;
}

static nl_status apply_format(int32_t version)
{
    return version == 1 ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot upgrade view format to version %d: nilas has version 1", version);
}

static nl_status apply(view_builder *self, const nl_view_update *update)
{
    switch (update->kind) {
    case NL_VIEW_ASSIGN_UUID: return apply_uuid(self, update->text);
    case NL_VIEW_UPGRADE_FORMAT_VERSION: return apply_format(update->number);
    case NL_VIEW_ADD_SCHEMA: return apply_schema(self, update->schema);
    case NL_VIEW_SET_LOCATION: self->view->location = nl_arena_str(self->view->arena, update->text); return NULL;
    case NL_VIEW_SET_PROPERTIES:
        for (uint32_t i = 0; i < update->property_count; i++) set_property(self->view, update->properties[i]);
        return NULL;
    case NL_VIEW_REMOVE_PROPERTIES:
        for (uint32_t i = 0; i < update->property_count; i++) remove_property(self->view, update->properties[i].key);
        return NULL;
    case NL_VIEW_ADD_VERSION: return apply_version(self, update->version);
    case NL_VIEW_SET_CURRENT_VERSION: return apply_current(self, update->number);
    }
    return NULL;
}

/* ---- finishing ------------------------------------------------------------------------------------------------- */

static nl_str dialect_list(nl_arena *arena, const nl_view_version *version)
{
    nl_str text = NL_STR("");
    for (uint32_t i = 0; i < version->representation_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(text), i ? ", " : "", NL_STR_ARG(version->representations[i].dialect));
    return text;
}

/* Another engine's text may be lost by replacing the view: only when the view's owner said so. */
static nl_status check_lost_dialects(const view_builder *self)
{
    const nl_view_version *before = self->base ? nl_view_current_version(self->base) : NULL, *after = nl_view_current_version(self->view);
    const nl_str allowed = nl_view_property(self->view, "replace.drop-dialect.allowed");
    if (!before || !self->is_current_set || (allowed.data && nl_str_is_nocase(allowed, "true"))) return NULL;
    for (uint32_t i = 0; i < before->representation_count; i++) {
        if (nl_view_representation_of(self->view, before->representations[i].dialect)) continue;
        const nl_str old_list = dialect_list(self->view->arena, before), new_list = dialect_list(self->view->arena, after);
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n"
                             "Previous dialects: [" NL_STR_FMT "]\nNew dialects: [" NL_STR_FMT "]",
                             NL_STR_ARG(old_list), NL_STR_ARG(new_list));
    }
    return NULL;
}

static nl_status history_size(const view_builder *self, uint32_t *size)
{
    const nl_str text = nl_view_property(self->view, "version.history.num-entries");
    int64_t entries = HISTORY_DEFAULT;
    if (text.data && (!nl_parse_int64(text, &entries) || entries < 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "version.history.num-entries must be positive but was " NL_STR_FMT, NL_STR_ARG(text));
    *size = (uint32_t)NL_MIN(NL_MAX(entries, (int64_t)self->added_versions), (int64_t)UINT32_MAX);
    return NULL;
}

static int compare_newest_first(const void *a, const void *b)
{
    const nl_view_version *left = a, *right = b;
    return (left->version_id < right->version_id) - (left->version_id > right->version_id);
}

static bool has_version(const nl_view_metadata *view, int32_t version_id)
{
    for (uint32_t i = 0; i < view->version_count; i++)
        if (view->versions[i].version_id == version_id) return true;
    return false;
}

/* The newest `size` versions and the current one; the log from the last entry on whose predecessors are all known. */
static void cut_history(nl_view_metadata *view, uint32_t size)
{
    if (view->version_count <= size) return;
    nl_view_version *sorted = NL_NEW_ARRAY(view->arena, nl_view_version, view->version_count), *kept = NL_NEW_ARRAY(view->arena, nl_view_version, size);
    memcpy(sorted, view->versions, view->version_count * sizeof(*sorted));
    qsort(sorted, view->version_count, sizeof(*sorted), compare_newest_first);
    uint32_t count = 0;
    kept[count++] = *nl_view_current_version(view);
    for (uint32_t i = 0; i < view->version_count && count < size; i++)
        if (sorted[i].version_id != view->current_version_id) kept[count++] = sorted[i];
    view->versions = kept;
    view->version_count = count;
    uint32_t start = 0;
    for (uint32_t i = 0; i < view->log_count; i++)
        if (!has_version(view, view->log[i].version_id)) start = i + 1;
    view->log += start;
    view->log_count -= start;
}

static nl_status finish(view_builder *self)
{
    nl_view_metadata *view = self->view;
    uint32_t size = HISTORY_DEFAULT;
    if (!view->location.length) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid location: null");
    if (!view->version_count) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid view: no versions were added");
    if (!nl_view_current_version(view)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find current version %d in view versions", view->current_version_id);
    if (!view->uuid.length) {
        uint8_t bytes[16];
        char text[NL_UUID_TEXT_LENGTH];
        nl_uuid_new(bytes);
        nl_uuid_format(bytes, text);
        view->uuid = nl_arena_str(view->arena, (nl_str){text, sizeof(text)});
    }
    NL_TRY(check_lost_dialects(self));
    NL_TRY(history_size(self, &size));
    cut_history(view, size);
    return nl_arena_check(view->arena);
}

nl_status nl_view_metadata_update(const nl_view_metadata *base, const nl_view_update *updates, uint32_t update_count, nl_memory *memory, const nl_view_metadata **metadata)
{
    view_builder self = {.base = base, .last_schema_id = NL_NONE, .last_version_id = NL_NONE};
    NL_TRY(nl_view_metadata_begin(base, memory, &self.view));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < update_count; i++) status = apply(&self, &updates[i]);
    if (!status) status = finish(&self);
    if (status) nl_view_metadata_release(self.view);
    else *metadata = self.view;
    return status;
}
