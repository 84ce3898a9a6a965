/* sql/spark_conditions.c - the names of Spark 4.0.1's error conditions, also of those that nilas never raises. */
#include "sql/spark_conditions.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/status.h"

static const char *const names[] = {
#define X(name) name,
#include "sql/spark_conditions.def"
#undef X
};

static int compare(const void *key, const void *entry)
{
    const nl_str *wanted = key;
    const char *name = *(const char *const *)entry;
    const size_t length = strlen(name);
    const int order = memcmp(wanted->data, name, NL_MIN(wanted->length, length));
    if (order != 0) return order;
    return wanted->length < length ? -1 : wanted->length > length;
}

/* _LEGACY_ERROR_TEMP_ and four digits, or more. */
static bool is_numbered(nl_str name)
{
    const nl_str start = NL_STR("_LEGACY_ERROR_TEMP_");
    if (!nl_str_starts(name, start) || name.length < start.length + 4) return false;
    for (size_t i = start.length; i < name.length; i++)
        if (name.data[i] < '0' || name.data[i] > '9') return false;
    return true;
}

bool nl_sql_is_spark_condition(nl_str name)
{
    return name.length > 0 && (is_numbered(name) || bsearch(&name, names, NL_COUNT(names), sizeof names[0], compare) != NULL);
}
