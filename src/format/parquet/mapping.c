/* format/parquet/mapping.c - the wanted struct is walked beside the file's tree.
 *
 * Source: LogicalTypes.md, "Nested Types", with its rules for files written before the three-level form; Iceberg spec,
 * Column Projection.
 */
#include "format/parquet/mapping.h"

#include "base/limits.h"

typedef struct mapper {
    const nl_parquet_footer *footer;
    const nl_parquet_read_options *options;
    nl_arena *arena;
    nl_mapping *mapping;
    uint32_t leaf_capacity;
} mapper;

static bool is_group_named(const nl_parquet_node *node, nl_str list_name)
{
    if (nl_str_is(node->name, "array")) return true;
    const nl_str suffix = NL_STR("_tuple");
    return node->name.length == list_name.length + suffix.length && nl_str_starts(node->name, list_name) && nl_str_ends(node->name, suffix);
}

bool nl_parquet_list_shape_of(const nl_parquet_node *node, nl_parquet_list_shape *shape)
{
    if (node->repetition == NL_PARQUET_REPEATED && node->logical != NL_PARQUET_LIST && node->logical != NL_PARQUET_MAP) {
        *shape = (nl_parquet_list_shape){.repeated = node, .element = node}; /* an unannotated repeated field */
        return true;
    }
    if (node->is_leaf || node->logical != NL_PARQUET_LIST || node->child_count != 1) return false;
    const nl_parquet_node *repeated = node->children[0];
    if (repeated->repetition != NL_PARQUET_REPEATED) return false;
    const bool is_element = repeated->is_leaf || repeated->child_count != 1 || is_group_named(repeated, node->name) ||
                            repeated->children[0]->repetition == NL_PARQUET_REPEATED;
    *shape = (nl_parquet_list_shape){.repeated = repeated, .element = is_element ? repeated : repeated->children[0]};
    return true;
}

bool nl_parquet_map_shape_of(const nl_parquet_node *node, nl_parquet_map_shape *shape)
{
    if (node->is_leaf || node->logical != NL_PARQUET_MAP || node->child_count != 1) return false;
    const nl_parquet_node *repeated = node->children[0];
    if (repeated->repetition != NL_PARQUET_REPEATED || repeated->is_leaf || repeated->child_count != 2) return false;
    *shape = (nl_parquet_map_shape){.repeated = repeated, .key = repeated->children[0], .value = repeated->children[1]};
    return true;
}

nl_str nl_parquet_node_path(nl_arena *arena, const nl_parquet_node *node)
{
    if (node->parent == NULL) return NL_STR("");
    if (node->parent->parent == NULL) return node->name;
    const nl_str above = nl_parquet_node_path(arena, node->parent); /* the schema's depth is bounded */
    return nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(above), NL_STR_ARG(node->name));
}

static const char *unit_text(nl_parquet_unit unit)
{
    return unit == NL_PARQUET_MILLIS ? "MILLIS" : unit == NL_PARQUET_MICROS ? "MICROS" : "NANOS";
}

static nl_str logical_text(nl_arena *arena, const nl_parquet_node *node)
{
    static const char *const names[] = {
        [NL_PARQUET_STRING] = " (STRING)", [NL_PARQUET_MAP] = " (MAP)",         [NL_PARQUET_LIST] = " (LIST)",
        [NL_PARQUET_ENUM] = " (ENUM)",     [NL_PARQUET_DATE] = " (DATE)",       [NL_PARQUET_UNKNOWN] = " (UNKNOWN)",
        [NL_PARQUET_JSON] = " (JSON)",     [NL_PARQUET_BSON] = " (BSON)",       [NL_PARQUET_UUID] = " (UUID)",
        [NL_PARQUET_FLOAT16] = " (FLOAT16)", [NL_PARQUET_VARIANT] = " (VARIANT)", [NL_PARQUET_INTERVAL] = " (INTERVAL)",
        [NL_PARQUET_GEOMETRY] = " (GEOMETRY)", [NL_PARQUET_GEOGRAPHY] = " (GEOGRAPHY)", [NL_PARQUET_OTHER] = "",
    };
    if (node->logical == NL_PARQUET_DECIMAL) return nl_arena_f(arena, " (DECIMAL(%u,%u))", node->precision, node->scale);
    if (node->logical == NL_PARQUET_INTEGER) return nl_arena_f(arena, " (INTEGER(%u,%s))", node->bit_width, node->is_signed ? "true" : "false");
    if (node->logical == NL_PARQUET_TIME || node->logical == NL_PARQUET_TIMESTAMP)
        return nl_arena_f(arena, " (%s(%s,%s))", node->logical == NL_PARQUET_TIME ? "TIME" : "TIMESTAMP", unit_text(node->unit),
                          node->is_utc ? "true" : "false");
    const char *name = (size_t)node->logical < NL_COUNT(names) ? names[node->logical] : NULL;
    return nl_str_from(name != NULL ? name : "");
}

nl_str nl_parquet_node_text(nl_arena *arena, const nl_parquet_node *node)
{
    static const char *const repetitions[] = {"required", "optional", "repeated"};
    static const char *const physicals[] = {"boolean", "int32", "int64", "int96", "float", "double", "binary", "fixed_len_byte_array"};
    nl_str kind = NL_STR("group");
    if (node->is_leaf) kind = nl_str_from(physicals[node->physical]);
    if (node->is_leaf && node->physical == NL_PARQUET_FIXED) kind = nl_arena_f(arena, "fixed_len_byte_array(%u)", node->type_length);
    const nl_str logical = logical_text(arena, node);
    return nl_arena_f(arena, "%s " NL_STR_FMT " " NL_STR_FMT NL_STR_FMT, repetitions[node->repetition], NL_STR_ARG(kind), NL_STR_ARG(node->name),
                      NL_STR_ARG(logical));
}

static nl_status mismatch(const mapper *m, const nl_parquet_node *node, const nl_type *wanted)
{
    const nl_str column = nl_parquet_node_path(m->arena, node);
    const nl_str expected = nl_type_name(m->arena, wanted);
    const nl_str actual = nl_parquet_node_text(m->arena, node);
    const nl_str quoted = nl_arena_f(m->arena, "[" NL_STR_FMT "]", NL_STR_ARG(column));
    return NL_RAISE(FAILED_READ_FILE__PARQUET_COLUMN_DATA_TYPE_MISMATCH, NL_P_STR("path", m->footer->path), NL_P_STR("column", quoted),
                    NL_P_STR("expectedType", expected), NL_P_STR("actualType", actual));
}

/* ---- Finding the node of a wanted field ---- */

static int32_t id_of(const mapper *m, const nl_parquet_node *node)
{
    if (m->options->field_id_of != NULL) return m->options->field_id_of(m->options->argument, node);
    return node->has_field_id ? node->field_id : 0;
}

static bool is_match(const mapper *m, nl_parquet_match match, const nl_parquet_node *node, const nl_field *field)
{
    if (match == NL_PARQUET_MATCH_FIELD_ID) return field->field_id != 0 && id_of(m, node) == field->field_id;
    return match == NL_PARQUET_MATCH_NAME_NOCASE ? nl_str_equal_nocase(node->name, field->name) : nl_str_equal(node->name, field->name);
}

static nl_status find_child(const mapper *m, const nl_parquet_node *group, const nl_field *field, uint32_t position, const nl_parquet_node **out)
{
    *out = NULL;
    nl_parquet_match match = m->options->match;
    if (match == NL_PARQUET_MATCH_POSITION) {
        if (group->parent == NULL) {
            *out = position < group->child_count ? group->children[position] : NULL;
            return NULL;
        }
        match = NL_PARQUET_MATCH_NAME;
    }
    for (uint32_t i = 0; i < group->child_count; i++) {
        if (!is_match(m, match, group->children[i], field)) continue;
        if (*out != NULL)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Found duplicate field(s) \"" NL_STR_FMT "\": [" NL_STR_FMT ", " NL_STR_FMT "] in " NL_STR_FMT,
                                 NL_STR_ARG(field->name), NL_STR_ARG((*out)->name), NL_STR_ARG(group->children[i]->name), NL_STR_ARG(m->footer->path));
        *out = group->children[i];
    }
    return NULL;
}

/* ---- Building ---- */

static void map_missing(const mapper *m, const nl_field *field, nl_map_node *out)
{
    *out = (nl_map_node){.kind = NL_MAP_MISSING, .type = field->type, .leaf = NL_PARQUET_NO_LEAF, .first_leaf = m->mapping->leaf_count};
    const nl_value *value = NULL;
    if (m->options->missing_value_of != NULL && m->options->missing_value_of(m->options->argument, field, &value) && !value->is_null)
        out->missing_value = value;
}

static nl_status add_leaf(mapper *m, const nl_parquet_node *node, const nl_type *wanted, int32_t field_id, uint32_t *index)
{
    nl_mapping *mapping = m->mapping;
    if (mapping->leaf_count == m->leaf_capacity) { /* several wanted fields may share a leaf, so the file's count is no bound */
        const uint32_t capacity = m->leaf_capacity ? m->leaf_capacity * 2 : 16;
        nl_map_leaf *grown = NL_NEW_ARRAY(m->arena, nl_map_leaf, capacity);
        NL_TRY(nl_arena_check(m->arena));
        if (mapping->leaf_count > 0) memcpy(grown, mapping->leaves, mapping->leaf_count * sizeof(*grown));
        mapping->leaves = grown;
        m->leaf_capacity = capacity;
    }
    nl_map_leaf *leaf = &mapping->leaves[mapping->leaf_count];
    *leaf = (nl_map_leaf){.node = node, .ordinal = node->first_leaf, .type = wanted, .field_id = field_id};
    leaf->place = (nl_parquet_place){.path = m->footer->path, .column = nl_parquet_node_path(m->arena, node)};
    if (wanted != NULL && !nl_conversion_find(node, wanted, &leaf->conversion)) return mismatch(m, node, wanted);
    *index = mapping->leaf_count++;
    return NULL;
}

/* The levels of the place where a node's vector has its rows. */
typedef struct context {
    uint16_t definition, repetition;
    uint32_t depth;
} context;

/* True recursion over the wanted type; context.depth bounds it. */
static nl_status map_node(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, bool is_element, nl_map_node *out);

static nl_status map_leaf(mapper *m, const nl_parquet_node *node, const nl_field *field, nl_map_node *out)
{
    if (!node->is_leaf) return mismatch(m, node, field->type);
    out->kind = NL_MAP_LEAF;
    return add_leaf(m, node, field->type, field->field_id, &out->leaf);
}

/* The leaf of a file group that costs least to read levels from. */
static const nl_parquet_node *cheapest_leaf(const nl_parquet_footer *footer, const nl_parquet_node *group)
{
    const nl_parquet_node *best = footer->leaves[group->first_leaf];
    for (uint32_t i = 1; i < group->leaf_count; i++) {
        const nl_parquet_node *leaf = footer->leaves[group->first_leaf + i];
        if (leaf->max_repetition < best->max_repetition) best = leaf;
    }
    return best;
}

/* A node needs one leaf whose levels describe it; when no wanted child has one, a leaf is read for its levels alone. */
static nl_status set_level_leaf(mapper *m, nl_map_node *out)
{
    for (uint32_t i = 0; i < out->child_count; i++) {
        if (out->children[i].kind == NL_MAP_MISSING) continue;
        out->leaf = out->children[i].leaf;
        return NULL;
    }
    if (out->node->leaf_count == 0)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Column " NL_STR_FMT " of " NL_STR_FMT " is a group without columns.", NL_STR_ARG(out->node->name),
                             NL_STR_ARG(m->footer->path));
    return add_leaf(m, cheapest_leaf(m->footer, out->node), NULL, 0, &out->leaf);
}

static nl_status map_struct(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, nl_map_node *out)
{
    if (node->is_leaf) return mismatch(m, node, field->type);
    out->kind = NL_MAP_STRUCT;
    out->child_count = field->type->child_count;
    out->children = NL_NEW_ARRAY(m->arena, nl_map_node, out->child_count);
    NL_TRY(nl_arena_check(m->arena));
    for (uint32_t i = 0; i < out->child_count; i++) {
        const nl_field *wanted = &field->type->children[i];
        const nl_parquet_node *child = NULL;
        NL_TRY(find_child(m, node, wanted, i, &child));
        if (child == NULL)
            map_missing(m, wanted, &out->children[i]);
        else
            NL_TRY(map_node(m, child, wanted, at, false, &out->children[i]));
    }
    return set_level_leaf(m, out);
}

static nl_status map_list(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, bool is_element, nl_map_node *out)
{
    nl_parquet_list_shape shape;
    const bool is_own_element = is_element && node->repetition == NL_PARQUET_REPEATED && node->logical != NL_PARQUET_LIST;
    if (is_own_element || !nl_parquet_list_shape_of(node, &shape)) return mismatch(m, node, field->type);
    out->kind = NL_MAP_LIST;
    /* An unannotated repeated field has no group that could be null. */
    out->definition = shape.repeated == node ? at.definition : node->max_definition;
    out->element_definition = shape.repeated->max_definition;
    out->element_repetition = shape.repeated->max_repetition;
    out->child_count = 1;
    out->children = NL_NEW(m->arena, nl_map_node);
    const context below = {.definition = out->element_definition, .repetition = out->element_repetition, .depth = at.depth};
    NL_TRY(map_node(m, shape.element, &field->type->children[0], below, shape.element == shape.repeated, &out->children[0]));
    return set_level_leaf(m, out);
}

static nl_status map_map(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, nl_map_node *out)
{
    nl_parquet_map_shape shape;
    if (!nl_parquet_map_shape_of(node, &shape)) return mismatch(m, node, field->type);
    out->kind = NL_MAP_LIST;
    out->definition = node->max_definition;
    out->element_definition = shape.repeated->max_definition;
    out->element_repetition = shape.repeated->max_repetition;
    out->child_count = 2;
    out->children = NL_NEW_ARRAY(m->arena, nl_map_node, 2);
    const context below = {.definition = out->element_definition, .repetition = out->element_repetition, .depth = at.depth};
    NL_TRY(map_node(m, shape.key, &field->type->children[0], below, false, &out->children[0]));
    NL_TRY(map_node(m, shape.value, &field->type->children[1], below, false, &out->children[1]));
    return set_level_leaf(m, out);
}

static nl_status map_variant(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, nl_map_node *out)
{
    static const char *const parts[] = {"metadata", "value"};
    if (node->is_leaf) return mismatch(m, node, field->type);
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (nl_str_is(node->children[i]->name, "typed_value"))
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Column " NL_STR_FMT " of " NL_STR_FMT " is a shredded variant, which nilas cannot read yet.",
                                 NL_STR_ARG(node->name), NL_STR_ARG(m->footer->path));
    }
    out->kind = NL_MAP_STRUCT;
    out->child_count = 2;
    out->children = NL_NEW_ARRAY(m->arena, nl_map_node, 2);
    for (uint32_t k = 0; k < 2; k++) {
        const nl_field wanted = {.name = nl_str_from(parts[k]), .type = nl_type_binary()};
        const nl_parquet_node *found = NULL;
        for (uint32_t i = 0; i < node->child_count; i++) {
            if (nl_str_is(node->children[i]->name, parts[k])) found = node->children[i];
        }
        if (found == NULL) return mismatch(m, node, field->type);
        NL_TRY(map_node(m, found, &wanted, at, false, &out->children[k]));
    }
    return set_level_leaf(m, out);
}

static nl_status map_node(mapper *m, const nl_parquet_node *node, const nl_field *field, context at, bool is_element, nl_map_node *out)
{
    const nl_type *type = field->type;
    at.depth++;
    if (at.depth > NL_TYPE_DEPTH_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A column of " NL_STR_FMT " is nested too deeply.", NL_STR_ARG(m->footer->path));
    if (type->id == NL_TYPE_NULL) {
        map_missing(m, field, out);
        return NULL;
    }
    *out = (nl_map_node){.type = type, .node = node, .slot_definition = at.definition, .slot_repetition = at.repetition};
    out->first_leaf = m->mapping->leaf_count;
    out->definition = is_element && node->repetition == NL_PARQUET_REPEATED ? at.definition : node->max_definition;
    /* A repeated field that is no list's element can only be read as a list of its own. */
    if (node->repetition == NL_PARQUET_REPEATED && !is_element && type->id != NL_TYPE_ARRAY) return mismatch(m, node, type);
    nl_status status = NULL;
    if (type->id == NL_TYPE_ARRAY)
        status = map_list(m, node, field, at, is_element, out);
    else if (type->id == NL_TYPE_MAP)
        status = map_map(m, node, field, at, out);
    else if (type->id == NL_TYPE_STRUCT)
        status = map_struct(m, node, field, at, out);
    else if (type->id == NL_TYPE_VARIANT)
        status = map_variant(m, node, field, at, out);
    else
        status = map_leaf(m, node, field, out);
    NL_TRY(status);
    out->leaf_count = m->mapping->leaf_count - out->first_leaf;
    return nl_arena_check(m->arena);
}

nl_status nl_mapping_make(const nl_parquet_footer *footer, const nl_type *wanted, const nl_parquet_read_options *options, nl_arena *arena,
                          nl_mapping *mapping)
{
    NL_ASSERT(wanted->id == NL_TYPE_STRUCT);
    *mapping = (nl_mapping){.column_count = wanted->child_count};
    mapping->columns = NL_NEW_ARRAY(arena, nl_map_node, wanted->child_count);
    NL_TRY(nl_arena_check(arena));
    mapper m = {.footer = footer, .options = options, .arena = arena, .mapping = mapping};
    for (uint32_t i = 0; i < wanted->child_count; i++) {
        const nl_field *field = &wanted->children[i];
        const nl_parquet_node *node = NULL;
        NL_TRY(find_child(&m, footer->root, field, i, &node));
        if (node == NULL)
            map_missing(&m, field, &mapping->columns[i]);
        else
            NL_TRY(map_node(&m, node, field, (context){0}, false, &mapping->columns[i]));
    }
    return NULL;
}
