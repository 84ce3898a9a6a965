/* iceberg/expression.h - predicates on columns for pruning: files by partition values and bounds, manifests by summaries.
 *
 * Bound to field ids. Immutable, in the arena they were made in. Comparisons do not hold for null, except NEQ and
 * NOT_IN, which do (as in Iceberg): whoever translates SQL conjoins NOT_NULL with them. Source: Iceberg spec, "Scan
 * Planning"; the evaluators are Java's inclusive and strict metrics evaluators and projections.
 */
#pragma once

#include "iceberg/manifest.h"

typedef enum nl_predicate_kind {
    NL_PREDICATE_TRUE,
    NL_PREDICATE_FALSE,
    NL_PREDICATE_AND,
    NL_PREDICATE_OR,
    NL_PREDICATE_NOT,
    NL_PREDICATE_IS_NULL,
    NL_PREDICATE_NOT_NULL,
    NL_PREDICATE_IS_NAN,
    NL_PREDICATE_NOT_NAN,
    NL_PREDICATE_LT,
    NL_PREDICATE_LTE,
    NL_PREDICATE_GT,
    NL_PREDICATE_GTE,
    NL_PREDICATE_EQ,
    NL_PREDICATE_NEQ,
    NL_PREDICATE_IN,
    NL_PREDICATE_NOT_IN,
    NL_PREDICATE_STARTS_WITH,
    NL_PREDICATE_NOT_STARTS_WITH
} nl_predicate_kind;

typedef struct nl_predicate nl_predicate;
struct nl_predicate {
    nl_predicate_kind kind;
    const nl_predicate *const *children; /* AND, OR: two or more; NOT: one */
    uint32_t child_count;
    int32_t field_id;                    /* the column, or its transformed value: */
    nl_transform transform;              /* IDENTITY for plain columns; bucket(…), days(…) of a column otherwise */
    const nl_value *values;              /* one; IN: several, without null */
    uint32_t value_count;
};

const nl_predicate *nl_predicate_true(void);
const nl_predicate *nl_predicate_false(void);
const nl_predicate *nl_predicate_and(nl_arena *arena, const nl_predicate *a, const nl_predicate *b); /* NULL is true; simplifies */
const nl_predicate *nl_predicate_or(nl_arena *arena, const nl_predicate *a, const nl_predicate *b);
const nl_predicate *nl_predicate_not(nl_arena *arena, const nl_predicate *a); /* pushed down to the leaves */
const nl_predicate *nl_predicate_leaf(nl_arena *arena, nl_predicate_kind kind, int32_t field_id, const nl_value *values, uint32_t value_count);
void nl_predicate_append_json(const nl_predicate *predicate, const nl_schema *schema, nl_builder *out); /* the REST form; NULL is true; what cannot be said is true */
void nl_predicate_append_text(const nl_predicate *predicate, const nl_schema *schema, nl_builder *out); /* as Java prints: ref(name="id") == 5 */

/* Partition predicates (over a spec's result values, field ids = partition field ids) implied by / implying `predicate`. */
NL_MUST_USE nl_status nl_predicate_project_inclusive(nl_arena *arena, const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec,
                                                     const nl_predicate **projected);
NL_MUST_USE nl_status nl_predicate_project_strict(nl_arena *arena, const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec,
                                                  const nl_predicate **projected);
/* Of one partition tuple: does the projected predicate hold? Null semantics: unknown is false. */
bool nl_predicate_matches_partition(const nl_predicate *projected, const nl_partition_spec *spec, const nl_value *partition);
/* May a manifest contain matching files, by its partition summaries? */
bool nl_predicate_may_match_manifest(const nl_predicate *projected, const nl_partition_spec *spec, const nl_schema *schema, const nl_manifest_file *file);
/* Over all entries of a manifest at once, by bounds and counts: clears bits of `alive` (entry_count bits) for entries that cannot match. */
NL_MUST_USE nl_status nl_predicate_prune_entries(const nl_predicate *predicate, const nl_schema *schema, const nl_manifest *manifest, uint8_t *alive);
/* Do all rows of the file match for sure (metadata-only deletes)? */
NL_MUST_USE nl_status nl_predicate_strict_match(const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec, const nl_data_file *file,
                                                bool *all_match);
NL_MUST_USE nl_status nl_predicate_may_match_file(const nl_predicate *predicate, const nl_schema *schema, const nl_partition_spec *spec, const nl_data_file *file,
                                                  bool *may_match);

/* The same question where statistics come from elsewhere (row groups, pages): `facts` tells what is known of a column. */
typedef struct nl_column_facts {
    bool has_lower, has_upper;
    nl_value lower, upper;             /* no value lies outside */
    bool may_have_null, has_only_null; /* only_null: known      */
    bool may_have_nan, has_only_nan;
} nl_column_facts;
typedef nl_status (*nl_facts_fn)(void *argument, const nl_predicate *leaf, nl_column_facts *facts, bool *is_known);
NL_MUST_USE nl_status nl_predicate_may_match_facts(const nl_predicate *predicate, nl_facts_fn facts, void *argument, bool *may_match);
