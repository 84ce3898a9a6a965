/* connect/catalog.h - spark.catalog: relations that ask the session about itself. */
#pragma once

#include "connect/plan.h"

/* Runs what the relation asks for; *result is owned and has the columns of pyspark's named tuples. */
NL_MUST_USE nl_status nl_connect_catalog(nl_connect_host *host, const Spark__Connect__Catalog *message, nl_result **result);
