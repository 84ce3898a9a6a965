/* stream/watermark.h - which columns are event times: those whose metadata has a delay, and what is made of them. */
#pragma once

#include "plan/logical.h"

/* Is the projection a withWatermark? *column: the child's event time. */
bool nl_watermark_begins(const nl_logical *plan, const nl_column **column, int64_t *delay_ms);
bool nl_watermark_delay(nl_str metadata, int64_t *delay_ms);
