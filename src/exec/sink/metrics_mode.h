/* exec/sink/metrics_mode.h - which statistics of a column manifests keep (write.metadata.metrics.*; MetricsConfig). */
#pragma once

#include "iceberg/metadata.h"

typedef enum nl_metrics_kind { NL_METRICS_NONE, NL_METRICS_COUNTS, NL_METRICS_TRUNCATE, NL_METRICS_FULL } nl_metrics_kind;
typedef struct nl_metrics_mode {
    nl_metrics_kind kind;
    uint32_t length; /* TRUNCATE: characters or bytes */
} nl_metrics_mode;

/* Fails on a mode that does not parse: the message names the property. */
NL_MUST_USE nl_status nl_metrics_mode_of(const nl_table_metadata *metadata, int32_t field_id, nl_metrics_mode *mode);
/* A bound cut to the mode's length; the upper one is rounded up. False: there is no such bound. */
bool nl_truncate_bound(nl_arena *arena, const nl_value *value, bool is_upper, uint32_t length, nl_value *out);
