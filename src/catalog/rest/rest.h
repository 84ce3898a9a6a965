/* catalog/rest/rest.h - the client of the Iceberg REST catalog, for the registry and for whoever commits to many tables. */
#pragma once

#include "catalog/catalog.h"

/* spark.sql.catalog.NAME.type=rest (org.apache.iceberg.rest.RESTCatalog). Connects to nothing yet. Fails:
 * NILAS_ILLEGAL_ARGUMENT without uri or for values that are none. */
NL_MUST_USE nl_status nl_remote_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                           nl_memory *memory, nl_catalog **catalog);
/* type=nessie (org.apache.iceberg.nessie.NessieCatalog): Nessie's own Iceberg REST endpoint by the keys of the Nessie
 * client. uri ".../api/v1" or ".../api/v2" becomes ".../iceberg", ref the branch in it, authentication.* the REST keys. */
NL_MUST_USE nl_status nl_nessie_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                             nl_memory *memory, nl_catalog **catalog);

/* Changes of several tables of one REST catalog, all or none (POST transactions/commit). Outcomes as of a table's swap:
 * NULL done; NILAS_COMMIT_FAILED; NILAS_COMMIT_STATE_UNKNOWN. NILAS_UNSUPPORTED when it is no REST catalog or the server
 * does not offer it. */
typedef struct nl_remote_table_change { /* borrowed */
    nl_identifier identifier;
    const nl_table_metadata *base;
    const nl_table_metadata *updated;
} nl_remote_table_change;
NL_MUST_USE nl_status nl_remote_commit_transaction(nl_catalog *catalog, const nl_remote_table_change *changes, uint32_t change_count);
