/* column/arrow_internal.h - shared by the Arrow files. */
#pragma once

#include <stdbool.h>

/* "d:10,2" or "d:10,2,64". False when it is something else or no decimal of Spark's. */
bool nl_arrow_decimal_format(const char *format, int *precision, int *scale, int *bits);
