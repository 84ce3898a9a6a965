/* catalog/rest/views.h - the operations of views of a REST catalog. */
#pragma once

#include "catalog/rest/rest_private.h"

nl_status nl_remote_list_views(nl_catalog *self, const nl_str *parts, uint32_t part_count, nl_arena *arena, nl_name_list *list);
nl_status nl_remote_load_view(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata **view);
nl_status nl_remote_commit_view(nl_catalog *self, const nl_identifier *identifier, const nl_view_metadata *base, const nl_view_metadata *updated,
                              const nl_view_update *updates, uint32_t update_count, const nl_view_metadata **committed);
nl_status nl_remote_drop_view(nl_catalog *self, const nl_identifier *identifier, bool *was_dropped);
nl_status nl_remote_rename_view(nl_catalog *self, const nl_identifier *from, const nl_identifier *to);
nl_status nl_remote_default_location(nl_catalog *self, const nl_identifier *identifier, nl_arena *arena, nl_str *location);
