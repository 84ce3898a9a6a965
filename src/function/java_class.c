/* function/java_class.c - a table of names, searched by halves. */
#include "function/java_class.h"

#include <strings.h>

#define PACKAGE "org.apache.spark.sql.catalyst.expressions."

typedef struct java_class {
    const char *function;
    const char *name;
} java_class;

static const java_class classes[] = {
#define JAVA_CLASS(function, name) {function, name},
#include "function/java_class.def"
#undef JAVA_CLASS
};

static int order_of(const char *name, nl_str function)
{
    const int order = strncasecmp(name, function.data, function.length);
    return order == 0 && name[function.length] != 0 ? 1 : order;
}

static const char *find(nl_str function)
{
    size_t low = 0;
    for (size_t high = NL_COUNT(classes); low < high;) {
        const size_t middle = (low + high) / 2;
        const int order = order_of(classes[middle].function, function);
        if (order == 0) return classes[middle].name;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return "Expression";
}

nl_str nl_java_class(nl_arena *arena, nl_str function)
{
    return nl_arena_f(arena, PACKAGE "%s", find(function));
}

nl_str nl_java_class_called(nl_arena *arena, nl_str function)
{
    const nl_str name = nl_str_from(find(function));
    if (nl_str_starts(name, NL_STR("aggregate."))) return nl_str_from(PACKAGE "aggregate.AggregateExpression");
    const bool is_builder = nl_str_ends(name, NL_STR("Builder"));
    return nl_arena_f(arena, PACKAGE NL_STR_FMT "%s", NL_STR_ARG(name), is_builder ? "$" : "");
}
