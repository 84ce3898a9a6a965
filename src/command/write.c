/* command/write.c - see write.h. */
#include "command/write.h"

#include "base/number.h"
#include "command/views.h"

void nl_write_table_fini(nl_write_table *target)
{
    nl_table_metadata_release(target->metadata);
    nl_iceberg_table_release(target->table);
    *target = (nl_write_table){0};
}

static nl_status fill_types(nl_command *command, nl_write_table *target)
{
    const nl_schema *schema = nl_table_schema(target->metadata);
    if (target->metadata->format_version > NL_FORMAT_VERSION_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot write tables of format version %d", target->metadata->format_version);
    return nl_ice_type_to_sql(command->arena, schema->root, &target->row_type);
}

static nl_status choose_branch(nl_command *command, nl_write_table *target)
{
    const nl_str wap_id = nl_session_get(command->session, NL_STR("spark.wap.id"));
    const nl_str wap_branch = nl_session_get(command->session, NL_STR("spark.wap.branch"));
    const bool has_wap = nl_table_property_bool(target->metadata, "write.wap.enabled", false);
    if (has_wap && wap_id.length && wap_branch.length)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot set both WAP ID and branch, but got ID [" NL_STR_FMT "] and branch [" NL_STR_FMT "]",
                             NL_STR_ARG(wap_id), NL_STR_ARG(wap_branch));
    if (has_wap && wap_branch.length && target->branch.length)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot write to both branch and WAP branch, but got branch [" NL_STR_FMT "] and WAP branch [" NL_STR_FMT "]",
                             NL_STR_ARG(target->branch), NL_STR_ARG(wap_branch));
    if (has_wap && wap_branch.length) target->branch = nl_arena_str(command->arena, wap_branch);
    if (has_wap && wap_id.length) target->staged_wap_id = nl_arena_str(command->arena, wap_id);
    target->snapshot = nl_table_current_snapshot(target->metadata);
    if (target->branch.length == 0) return NULL;
    const nl_snapshot_ref *ref = nl_table_ref(target->metadata, target->branch);
    if (ref) target->snapshot = nl_table_snapshot(target->metadata, ref->snapshot_id);
    return NULL;
}

static nl_status check_selector(const nl_table_metadata *metadata, nl_str selector, nl_str *branch)
{
    int64_t id;
    if (nl_str_starts(selector, NL_STR("branch_"))) {
        *branch = nl_str_slice(selector, 7, selector.length);
        const nl_snapshot_ref *ref = nl_table_ref(metadata, *branch);
        if (ref && !ref->is_tag) return NULL;
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot use branch (does not exist): " NL_STR_FMT, NL_STR_ARG(*branch));
    }
    if (nl_str_starts(selector, NL_STR("tag_"))) {
        const nl_snapshot_ref *ref = nl_table_ref(metadata, nl_str_slice(selector, 4, selector.length));
        id = ref ? ref->snapshot_id : 0;
    } else if (!nl_str_starts(selector, NL_STR("snapshot_id_")) || !nl_parse_int64(nl_str_slice(selector, 12, selector.length), &id)) {
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot write to " NL_STR_FMT ": it is not a branch", NL_STR_ARG(selector));
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot write to table at a specific snapshot: %lld", (long long)id);
}

static bool is_selector(nl_str text)
{
    static const char *const prefixes[] = {"branch_", "tag_", "snapshot_id_", "at_timestamp_"};
    for (uint32_t i = 0; i < NL_COUNT(prefixes); i++)
        if (nl_str_starts(text, nl_str_from(prefixes[i]))) return true;
    return false;
}

static void remember_name(nl_command *command, const nl_session_name *name, nl_write_table *target)
{
    const nl_identifier *identifier = &name->identifier;
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, identifier->namespace_count + 2);
    parts[0] = name->catalog_name;
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        parts[i + 1] = identifier->namespace_parts[i];
    parts[identifier->namespace_count + 1] = identifier->name;
    target->name_parts = parts;
    target->name_count = identifier->namespace_count + 2;
    target->name = nl_command_quoted(command, parts, target->name_count);
}

static nl_status open_named(nl_command *command, const nl_ast_name *name, nl_write_table *target)
{
    nl_session_name resolved;
    nl_str selector = {0};
    bool exists = false;
    NL_TRY(nl_command_table_name(command, name, &resolved));
    NL_TRY(nl_catalog_table_exists(resolved.catalog, &resolved.identifier, &exists));
    if (!exists && resolved.identifier.namespace_count > 0 && is_selector(resolved.identifier.name)) {
        selector = resolved.identifier.name;
        resolved.identifier.name = resolved.identifier.namespace_parts[--resolved.identifier.namespace_count];
    }
    remember_name(command, &resolved, target);
    NL_TRY(nl_catalog_load_table(resolved.catalog, &resolved.identifier, &target->table));
    target->metadata = nl_iceberg_table_metadata(target->table);
    return selector.length ? check_selector(target->metadata, selector, &target->branch) : NULL;
}

nl_status nl_write_table_open(nl_command *command, const nl_ast_name *name, nl_write_table *target)
{
    *target = (nl_write_table){0};
    nl_status status = open_named(command, name, target);
    if (status && nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        nl_error_free(status);
        NL_TRY(nl_command_refuse_view(command, name, "write"));
        status = nl_command_name_not_found(command, name);
    }
    if (!status) status = fill_types(command, target);
    if (!status) status = choose_branch(command, target);
    if (status) nl_write_table_fini(target);
    return status;
}

nl_status nl_write_table_of(nl_command *command, nl_iceberg_table *table, nl_str name, nl_write_table *target)
{
    *target = (nl_write_table){.table = table, .metadata = nl_iceberg_table_metadata(table), .name = name};
    nl_status status = fill_types(command, target);
    if (!status) target->snapshot = nl_table_current_snapshot(target->metadata);
    if (status) nl_write_table_fini(target);
    return status;
}

/* ---- options --------------------------------------------------------------------------------------------------- */

static nl_str option(const nl_ast_properties *options, const char *key)
{
    for (uint32_t i = 0; options && i < options->count; i++)
        if (nl_str_is_nocase(options->items[i].key, key)) return options->items[i].value;
    return (nl_str){0};
}

nl_write_options nl_write_options_of(nl_command *command, const nl_ast_properties *options)
{
    nl_write_options result = {
        .format = option(options, "write-format"),
        .delete_format = option(options, "delete-format"),
        .codec = option(options, "compression-codec"),
        .codec_level = option(options, "compression-level"),
        .distribution_mode = option(options, "distribution-mode"),
        .fanout = option(options, "fanout-enabled"),
        .ignores_order = nl_str_is_nocase(option(options, "use-table-distribution-and-ordering"), "false"),
        .deletes_by_partition = nl_str_is_nocase(option(options, "delete-granularity"), "partition"),
    };
    int64_t number;
    if (!result.codec.length) result.codec = nl_session_get(command->session, NL_STR("spark.sql.iceberg.compression-codec"));
    if (!result.codec_level.length) result.codec_level = nl_session_get(command->session, NL_STR("spark.sql.iceberg.compression-level"));
    if (!result.distribution_mode.length) result.distribution_mode = nl_session_get(command->session, NL_STR("spark.sql.iceberg.distribution-mode"));
    if (nl_parse_int64(option(options, "target-file-size-bytes"), &number)) result.target_file_bytes = number;
    if (nl_parse_int64(option(options, "output-spec-id"), &number)) {
        result.has_spec_id = true;
        result.spec_id = (int32_t)number;
    }
    return result;
}

/* ---- running and committing ------------------------------------------------------------------------------------ */

nl_status nl_write_rows(nl_command *command, const nl_write_table *target, const nl_write_options *options, const nl_logical *input, nl_iceberg_sink **sink,
                        nl_written_files *files)
{
    const nl_logical *optimized = NULL, *plan = NULL;
    nl_iceberg_sink *made = NULL;
    NL_TRY(nl_iceberg_append_plan(&command->query, target->table, target->metadata, options, input, &plan, &made));
    nl_status status = nl_command_optimize(command, plan, &optimized);
    if (!status) status = nl_iceberg_sink_run(made, &command->query, optimized);
    if (!status) status = nl_iceberg_sink_finish(made, command->arena, files);
    if (status) {
        nl_iceberg_sink_discard(made);
        nl_iceberg_sink_free(made);
    } else {
        *sink = made;
    }
    return status;
}

static void complete_operation(nl_command *command, const nl_write_table *target, const nl_written_files *files, nl_operation *operation)
{
    nl_data_file *added = NL_NEW_ARRAY(command->arena, nl_data_file, files->data_file_count + files->delete_file_count);
    if (files->data_file_count > 0) memcpy(added, files->data_files, files->data_file_count * sizeof(*added));
    if (files->delete_file_count > 0) memcpy(added + files->data_file_count, files->delete_files, files->delete_file_count * sizeof(*added));
    operation->added_files = added;
    operation->added_count = files->data_file_count + files->delete_file_count;
    operation->branch = target->branch;
    operation->staged_wap_id = target->staged_wap_id;
    operation->pool = command->query.pool;
    if (!operation->filter_schema) operation->filter_schema = nl_table_schema(target->metadata);
    nl_property *properties = NL_NEW_ARRAY(command->arena, nl_property, operation->property_count + 1);
    properties[0] = (nl_property){NL_STR("spark.app.id"), nl_session_app_id(command->session)};
    if (operation->property_count > 0) memcpy(properties + 1, operation->properties, operation->property_count * sizeof(*properties));
    operation->properties = properties;
    operation->property_count++;
}

/* Whole files that were dropped: what the snapshot says; else the rows that went through the sink. */
static void count_changes(nl_command *command, const nl_write_table *target, const nl_operation *operation, const nl_written_files *files)
{
    int64_t count = files->row_count;
    if (operation->kind == NL_OPERATION_DELETE) {
        const nl_table_metadata *metadata = nl_iceberg_table_metadata(target->table);
        const nl_snapshot *snapshot = nl_table_current_snapshot(metadata);
        if (!snapshot || !nl_parse_int64(nl_snapshot_summary(snapshot, "deleted-records"), &count)) count = 0;
        nl_table_metadata_release(metadata);
    }
    atomic_fetch_add(&nl_session_progress(command->session)->changed_rows, (uint64_t)count);
}

nl_status nl_commit_files(nl_command *command, const nl_write_table *target, nl_operation *operation, nl_iceberg_sink *sink, const nl_written_files *files)
{
    complete_operation(command, target, files, operation);
    nl_status status = nl_operation_commit(target->table, operation, NULL);
    if (!status) count_changes(command, target, operation, files);
    if (status && sink && nl_error_kind_of(status) != NL_KIND_UNKNOWN_STATE) nl_iceberg_sink_discard(sink);
    nl_iceberg_sink_free(sink);
    return status;
}
