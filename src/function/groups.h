/* function/groups.h - the list of row arrays. A new file with rows adds its name here and exports nl_functions_NAME. */
#pragma once

#include "function/kernel.h"

#define NL_FUNCTION_GROUPS(G) \
    G(arithmetic)             \
    G(comparison)             \
    G(special)                \
    G(concat)                 \
    G(datetime_parts)         \
    G(datetime_basic)         \
    G(datetime_format)        \
    G(datetime_units)         \
    G(string_basic)           \
    G(string_more)            \
    G(like)                   \
    G(regexp)                 \
    G(math)                   \
    G(round)                  \
    G(bitwise)                \
    G(hash)                   \
    G(collection)             \
    G(lambda)                 \
    G(array)                  \
    G(sequence)               \
    G(array_more)             \
    G(array_sort)             \
    G(map_more)               \
    G(map_sort)               \
    G(misc)                   \
    G(random)                 \
    G(sentences)              \
    G(encoding)               \
    G(charset)                \
    G(aes)                    \
    G(format_number)          \
    G(format_string)          \
    G(to_number)              \
    G(time_window)            \
    G(json)                   \
    G(variant)                \
    G(variant_generators)     \
    G(variant_schema)         \
    G(csv)                    \
    G(xml)                    \
    G(xpath)                  \
    G(reflect)                \
    G(collated)               \
    G(url)                    \
    G(json_tuple)             \
    G(generators)             \
    G(basic_aggregates)       \
    G(first_aggregates)       \
    G(moments)                \
    G(logic_aggregates)       \
    G(collect)                \
    G(join)                   \
    G(percentile)             \
    G(approx_percentile)      \
    G(distinct)               \
    G(histogram)              \
    G(count_min)              \
    G(bitmap)                 \
    G(hll)                    \
    G(ranking)                \
    G(trino_text)             \
    G(trino_time)             \
    G(trino_list)             \
    G(trino_number)           \
    G(trino_json)

#define G(name) extern const nl_function_group nl_functions_##name;
NL_FUNCTION_GROUPS(G)
#undef G

#define NL_DEFINE_FUNCTION_GROUP(name, array) \
    const nl_function_group nl_functions_##name = {.rows = (array), .count = NL_COUNT(array)}
