/* function/registry.c - every function by name: the groups, and a hash table over their names and aliases.
 *
 * The table is built once, at the first question, and is read-only afterwards.
 */
#include <pthread.h>
#include <stdlib.h>

#include "function/groups.h"

static const nl_function_group *const groups[] = {
#define G(name) &nl_functions_##name,
    NL_FUNCTION_GROUPS(G)
#undef G
};

typedef struct entry {
    nl_str name;
    const nl_function_row **rows; /* in `pool` */
    uint32_t count;
    uint32_t filled;
} entry;

#define ROWS_MAX   2048u
#define POOL_SIZE  2048u
#define TABLE_SIZE 4096u /* open addressing; a power of two, at least twice the names */

static struct {
    const nl_function_row *sorted[ROWS_MAX]; /* one per visible name, by name */
    uint32_t sorted_count;
    entry table[TABLE_SIZE];
    const nl_function_row *pool[POOL_SIZE]; /* rows, name by name */
    uint32_t total;                         /* names with their rows; a test keeps it below POOL_SIZE */
} registry; /* written under `once`, then constant */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(nl_str name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        hash = (hash ^ (uint8_t)c) * 16777619u;
    }
    return hash;
}

static entry *find_slot(nl_str name)
{
    uint32_t slot = hash_name(name) & (TABLE_SIZE - 1);
    while (registry.table[slot].count > 0 && !nl_str_equal_nocase(registry.table[slot].name, name))
        slot = (slot + 1) & (TABLE_SIZE - 1);
    return &registry.table[slot];
}

/* Calls visit for every row under each of its names. */
static void each_name(void (*visit)(nl_str name, const nl_function_row *row))
{
    for (uint32_t g = 0; g < NL_COUNT(groups); g++) {
        for (uint32_t i = 0; i < groups[g]->count; i++) {
            const nl_function_row *row = &groups[g]->rows[i];
            visit(nl_str_from(row->name), row);
            nl_str rest = nl_str_from(row->aliases);
            nl_str alias;
            while (nl_str_next_part(&rest, ',', &alias)) visit(alias, row);
        }
    }
}

static void count_name(nl_str name, const nl_function_row *row)
{
    entry *slot = find_slot(name);
    slot->name = name;
    slot->count++;
    registry.total++;
    if (nl_str_is(name, row->name) && registry.sorted_count < ROWS_MAX) registry.sorted[registry.sorted_count++] = row;
}

static void place_row(nl_str name, const nl_function_row *row)
{
    entry *slot = find_slot(name);
    if (registry.total <= POOL_SIZE) slot->rows[slot->filled++] = row;
}

static int compare_rows(const void *a, const void *b)
{
    const nl_function_row *const *left = a;
    const nl_function_row *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static void build(void)
{
    each_name(count_name);
    uint32_t used = 0;
    for (uint32_t i = 0; i < TABLE_SIZE && registry.total <= POOL_SIZE; i++) {
        registry.table[i].rows = &registry.pool[used];
        used += registry.table[i].count;
    }
    each_name(place_row);
    qsort(registry.sorted, registry.sorted_count, sizeof registry.sorted[0], compare_rows);
}

uint32_t nl_function_find(nl_str name, const nl_function_row *const **rows)
{
    pthread_once(&once, build);
    const entry *slot = find_slot(name);
    if (slot->count > 0) *rows = (const nl_function_row *const *)slot->rows;
    return slot->count;
}

const nl_function_row *nl_function_at(uint32_t i)
{
    pthread_once(&once, build);
    return i < registry.sorted_count ? registry.sorted[i] : NULL;
}
