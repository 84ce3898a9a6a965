/* catalog/glue/glue_private.h - what the files of the Glue catalog share. */
#pragma once

#include "base/json.h"
#include "catalog/glue/client.h"
#include "catalog/glue/input.h"
#include "catalog/pointer.h"

typedef struct nl_glue_catalog {
    nl_catalog base;
    nl_fs *fs;                /* counted */
    nl_glue_client *client;   /* owned */
    nl_metadata_cache *cache; /* owned; or NULL */
    nl_str warehouse;         /* borrowed from the properties; without a slash at its end; may be empty */
    nl_str id;                /* glue.id; borrowed; may be empty */
    bool skips_archive, skips_validation;
    bool tags_tables, tags_namespaces; /* s3.write.table-tag-enabled, s3.write.namespace-tag-enabled */
} nl_glue_catalog;

typedef struct nl_glue_request { /* a JSON object being written */
    nl_builder text;
    nl_json_writer out;
} nl_glue_request;

nl_glue_catalog *nl_glue_of(nl_catalog *catalog);

/* A request names the catalog's id; sending ends it. The answer is in the arena. */
void nl_glue_request_begin(const nl_glue_catalog *self, nl_glue_request *request);
NL_MUST_USE nl_status nl_glue_request_send(const nl_glue_catalog *self, nl_glue_request *request, const char *operation, bool changes, nl_arena *arena,
                                           nl_glue_answer *answer);
void nl_glue_request_text(nl_json_writer *out, const char *key, nl_str value);

/* Members of what Glue answers: a text without data, NULL when there is none. `object` may be NULL. */
nl_str nl_glue_member_text(const json_t *object, const char *key);
const json_t *nl_glue_member(const json_t *object, const char *key);
bool nl_glue_is_missing(const nl_glue_answer *answer);
bool nl_glue_is_iceberg(const json_t *table);

nl_str nl_glue_scope_text(nl_arena *arena, const nl_str *parts, uint32_t part_count);
/* NILAS_VALIDATION_FAILED when the namespace can be no database. */
NL_MUST_USE nl_status nl_glue_database_name(const nl_glue_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_str *database);

/* namespaces.c: the catalog's operations (catalog/catalog.h), and the database itself, NULL when there is none. */
NL_MUST_USE nl_status nl_glue_load_database(const nl_glue_catalog *self, nl_str name, nl_arena *arena, const json_t **database);
NL_MUST_USE nl_status nl_glue_namespace_properties(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, const nl_property **properties,
                                                   uint32_t *property_count);
NL_MUST_USE nl_status nl_glue_list_namespaces(nl_catalog *catalog, const nl_str *parent, uint32_t parent_count, nl_arena *arena, nl_name_list *list);
NL_MUST_USE nl_status nl_glue_list_tables(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
NL_MUST_USE nl_status nl_glue_create_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *properties, uint32_t property_count);
NL_MUST_USE nl_status nl_glue_drop_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, bool *was_dropped);
NL_MUST_USE nl_status nl_glue_update_namespace(nl_catalog *catalog, const nl_str *parts, uint32_t part_count, const nl_property *set, uint32_t set_count, const nl_str *removed,
                                                   uint32_t removed_count);
