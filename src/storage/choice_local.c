/* storage/choice_local.c - the choice of a file system while there is only the local one: for the REST client's tests. It
 * goes as soon as storage/choice.c is there. */
#include "storage/s3.h"

__attribute__((weak)) nl_status nl_fs_from_properties(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **fs)
{
    (void)properties, (void)property_count, (void)memory;
    *fs = nl_fs_local();
    return NULL;
}

__attribute__((weak)) nl_status nl_fs_with_properties(nl_fs *fs, const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **with)
{
    (void)properties, (void)property_count, (void)memory;
    *with = nl_fs_retain(fs);
    return NULL;
}
