/* lakehouse/maintenance/settings.c - see settings.h. Defaults and ranges: AWS, "S3 Tables maintenance". */
#include "lakehouse/maintenance/settings.h"

#define BODY NL_STR("the request")

typedef struct number_row {
    const char *key;
    int64_t fallback, min, max;
} number_row;

static const struct kind_row {
    const char *name;
    number_row numbers[2];
    bool has_strategy;
} kinds[NL_MAINTENANCE_KIND_COUNT] = {
    {"icebergCompaction", {{"targetFileSizeMB", 512, 64, 512}}, true},
    {"icebergSnapshotManagement", {{"minSnapshotsToKeep", 1, 1, INT32_MAX}, {"maxSnapshotAgeHours", 120, 1, INT32_MAX}}, false},
    {"icebergUnreferencedFileRemoval", {{"unreferencedDays", 3, 1, INT32_MAX}, {"nonCurrentDays", 10, 1, INT32_MAX}}, false},
};

const char *nl_maintenance_name(nl_maintenance_kind kind)
{
    return kinds[kind].name;
}

bool nl_maintenance_kind_of(nl_str name, nl_maintenance_kind *kind)
{
    for (uint32_t i = 0; i < NL_MAINTENANCE_KIND_COUNT; i++) {
        if (!nl_str_is(name, kinds[i].name)) continue;
        *kind = (nl_maintenance_kind)i;
        return true;
    }
    return false;
}

static nl_status read_number(const json_t *settings, const number_row *row, int64_t *number)
{
    int64_t value = *number;
    NL_TRY(nl_json_optional_int64(settings, row->key, BODY, &value));
    if (value < row->min || value > row->max)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s is between %lld and %lld", row->key, (long long)row->min, (long long)row->max);
    *number = value;
    return NULL;
}

static nl_status read_strategy(const json_t *settings, nl_arena *arena, nl_str *strategy)
{
    static const char *const known[] = {"auto", "binpack", "sort", "z-order"};
    nl_str value = {0};
    NL_TRY(nl_json_optional_text(settings, "strategy", BODY, &value));
    if (!value.length) return NULL;
    for (size_t i = 0; i < NL_COUNT(known); i++) {
        if (!nl_str_is(value, known[i])) continue;
        *strategy = nl_arena_str(arena, value);
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "strategy is auto, binpack, sort or z-order");
}

static nl_status apply(nl_maintenance_kind kind, const json_t *value, nl_arena *arena, nl_maintenance_setting *setting)
{
    nl_str status = {0};
    NL_TRY(nl_json_object(value, BODY, "value"));
    NL_TRY(nl_json_optional_text(value, "status", BODY, &status));
    if (status.length && !nl_str_is(status, "enabled") && !nl_str_is(status, "disabled"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "status is enabled or disabled");
    if (status.length) setting->is_enabled = nl_str_is(status, "enabled");
    const json_t *all = json_object_get(value, "settings");
    if (!all || json_is_null(all)) return NULL;
    const json_t *settings = json_object_get(all, kinds[kind].name);
    if (json_object_size(all) != 1 || !json_is_object(settings)) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "settings holds %s and nothing else", kinds[kind].name);
    for (uint32_t i = 0; i < 2; i++)
        if (kinds[kind].numbers[i].key) NL_TRY(read_number(settings, &kinds[kind].numbers[i], &setting->numbers[i]));
    return kinds[kind].has_strategy ? read_strategy(settings, arena, &setting->strategy) : NULL;
}

static nl_str document_name(nl_arena *arena, nl_maintenance_kind kind, const char *what)
{
    return nl_arena_f(arena, "%s.%s", what, kinds[kind].name);
}

nl_status nl_maintenance_read(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, nl_arena *arena, nl_maintenance_setting *setting)
{
    nl_str text;
    const json_t *json;
    nl_maintenance_setting made = {.is_enabled = true, .numbers = {kinds[kind].numbers[0].fallback, kinds[kind].numbers[1].fallback}};
    if (kinds[kind].has_strategy) made.strategy = NL_STR("auto");
    NL_TRY(nl_tables_get_document(tables, owner, document_name(arena, kind, "maintenance"), arena, &text));
    if (text.data) {
        NL_TRY(nl_json_parse(arena, text, NL_STR("the data folder"), &json));
        NL_TRY(apply(kind, json, arena, &made));
    }
    *setting = made;
    return NULL;
}

void nl_maintenance_append_json(nl_maintenance_kind kind, const nl_maintenance_setting *setting, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "status");
    nl_json_write_text(&json, setting->is_enabled ? NL_STR("enabled") : NL_STR("disabled"));
    nl_json_key(&json, "settings");
    nl_json_begin(&json, '{');
    nl_json_key(&json, kinds[kind].name);
    nl_json_begin(&json, '{');
    for (uint32_t i = 0; i < 2; i++) {
        if (!kinds[kind].numbers[i].key) continue;
        nl_json_key(&json, kinds[kind].numbers[i].key);
        nl_json_write_int(&json, setting->numbers[i]);
    }
    if (kinds[kind].has_strategy) {
        nl_json_key(&json, "strategy");
        nl_json_write_text(&json, setting->strategy);
    }
    nl_json_end(&json, '}');
    nl_json_end(&json, '}');
    nl_json_end(&json, '}');
}

nl_status nl_maintenance_put(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, const json_t *value, nl_arena *arena)
{
    nl_maintenance_setting setting;
    nl_builder text;
    NL_TRY(nl_maintenance_read(tables, owner, kind, arena, &setting));
    NL_TRY(apply(kind, value, arena, &setting));
    nl_builder_init(&text, 4096);
    nl_maintenance_append_json(kind, &setting, &text);
    nl_status status = nl_tables_put_document(tables, owner, document_name(arena, kind, "maintenance"), nl_builder_str(&text));
    nl_builder_fini(&text);
    return status;
}

nl_status nl_maintenance_read_outcome(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, nl_arena *arena, nl_maintenance_outcome *outcome)
{
    nl_str text;
    const json_t *json;
    *outcome = (nl_maintenance_outcome){0};
    NL_TRY(nl_tables_get_document(tables, owner, document_name(arena, kind, "outcome"), arena, &text));
    if (!text.data) return NULL;
    NL_TRY(nl_json_parse(arena, text, NL_STR("the data folder"), &json));
    NL_TRY(nl_json_int64(json, "ran", NL_STR("the data folder"), &outcome->ran_micros));
    return nl_json_optional_text(json, "failure", NL_STR("the data folder"), &outcome->failure);
}

nl_status nl_maintenance_put_outcome(nl_tables *tables, nl_str owner, nl_maintenance_kind kind, const nl_maintenance_outcome *outcome)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder text;
    nl_builder_init(&text, 64u << 10);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "ran");
    nl_json_write_int(&json, outcome->ran_micros);
    if (outcome->failure.length) {
        nl_json_key(&json, "failure");
        nl_json_write_text(&json, nl_str_slice(outcome->failure, 0, 4096));
    }
    nl_json_end(&json, '}');
    nl_status status = nl_tables_put_document(tables, owner, document_name(arena, kind, "outcome"), nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_arena_free(arena);
    return status;
}
