/* command/file_clusters.c - see file_clusters.h. */
#include "command/file_clusters.h"

#include <stdlib.h>

#define CLUSTER_BYTES (128ll << 20) /* what Iceberg asks Spark to give one task */

typedef struct cluster_state { /* the bound function's */
    const nl_str *files;       /* sorted */
    const int32_t *clusters;   /* per file */
    uint32_t file_count;
} cluster_state;

static int compare_paths(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static uint32_t find_file(const nl_str *files, uint32_t file_count, nl_str path)
{
    const nl_str *found = file_count ? bsearch(&path, files, file_count, sizeof(*files), compare_paths) : NULL;
    return found ? (uint32_t)(found - files) : UINT32_MAX;
}

static nl_status cluster_of_file(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas,
                                 nl_selection selection, uint32_t length, nl_vector *out)
{
    const cluster_state *state = function->state;
    nl_reader reader;
    nl_str last = {0};
    int32_t cluster = 0;
    (void)lambdas;
    NL_TRY(nl_vector_new_flat(out, nl_type_int(), length, eval->memory));
    int32_t *values = nl_vector_values(out);
    nl_reader_init(&reader, &args[0]);
    const nl_string_view *paths = reader.values;
    memset(values, 0, length * sizeof(*values));
    for (uint32_t i = 0; i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&reader, row)) continue;
        const nl_str path = nl_view_str(&paths[nl_reader_index(&reader, row)]);
        if (!last.data || !nl_str_equal(path, last)) {
            const uint32_t at = find_file(state->files, state->file_count, path);
            cluster = at < state->file_count ? state->clusters[at] : 0;
            last = path;
        }
        values[row] = cluster;
    }
    return NULL;
}

static const nl_function_row cluster_row = {
    .name = "file_cluster",
    .kind = NL_FUNCTION_SCALAR,
    .group = "misc",
    .since = "4.0.0",
    .doc = "The number of the cluster of files that a path is in.",
    .signature = "(string) -> int",
    .nulls = NL_NULL_SEEN,
    .is_internal = true,
    .kernel = cluster_of_file,
};

/* As large as a task of Spark's, or as the table says; and so for each worker, since each may write a file of a cluster. */
static nl_status cluster_bytes(const nl_row_level *self, int64_t *bytes)
{
    NL_TRY(nl_table_property_int(self->target.metadata, "write.spark.advisory-partition-size-bytes", CLUSTER_BYTES, bytes));
    *bytes = NL_MIN(NL_MAX(*bytes, 1), INT64_MAX >> 16) * nl_pool_thread_count(self->command->query.pool);
    return NULL;
}

/* Neighbours in the snapshot's list of files, which were mostly written together, until they are large enough. */
static nl_status number_files(nl_row_level *self, const nl_str *files, uint32_t file_count, int32_t *clusters, int32_t *cluster_count)
{
    int64_t wanted = 0, bytes = 0;
    const nl_scan_plan *plan = NULL;
    NL_TRY(cluster_bytes(self, &wanted));
    NL_TRY(nl_row_level_plan(self, &plan));
    *cluster_count = 1;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const uint32_t at = find_file(files, file_count, plan->tasks[i].file->path);
        if (at >= file_count) continue;
        if (bytes >= wanted) {
            bytes = 0;
            (*cluster_count)++;
        }
        bytes += plan->tasks[i].file->file_size_bytes;
        clusters[at] = *cluster_count - 1;
    }
    return NULL;
}

nl_status nl_row_level_cluster(nl_row_level *self, const nl_logical *plan, const nl_str *files, uint32_t file_count, const nl_expr **cluster)
{
    nl_arena *arena = self->command->arena;
    bool is_wanted = false;
    int32_t cluster_count = 0;
    *cluster = NULL;
    const nl_write_options options = nl_row_level_options(self);
    NL_TRY(nl_write_clusters_by_file(self->target.metadata, &options, &is_wanted));
    if (!is_wanted || file_count < 2) return NULL;
    int32_t *clusters = NL_NEW_ARRAY(arena, int32_t, file_count);
    NL_TRY(number_files(self, files, file_count, clusters, &cluster_count));
    if (cluster_count < 2) return NULL;
    cluster_state *state = NL_NEW(arena, cluster_state);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    const nl_type **types = NL_NEW(arena, const nl_type *);
    *state = (cluster_state){files, clusters, file_count};
    types[0] = nl_type_string();
    *bound = (nl_bound_function){.row = &cluster_row, .result_type = nl_type_int(), .argument_count = 1, .argument_types = types,
                                 .kernel = cluster_of_file, .state = state, .is_deterministic = true};
    const nl_expr *argument = nl_row_level_column(self, plan, "_file");
    *cluster = nl_expr_call(arena, bound, &argument, 1);
    self->has_clusters = true;
    return NULL;
}
