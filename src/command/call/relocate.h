/* command/call/relocate.h - rewrite_table_path in parts: metadata as it would be if the table lay elsewhere, staged, and a
 * list of what to copy where. */
#pragma once

#include "command/call/procedure.h"

typedef struct nl_relocation {
    nl_call *call;
    nl_arena *arena;
    nl_str source, target, staging; /* prefixes, each with a slash behind it */
    const nl_table_metadata *end;   /* counted: the version that is copied */
    const nl_table_metadata *start; /* counted: what the other place has already; NULL: nothing */
    nl_list versions;               /* const nl_table_metadata *: counted; end first, then older ones down to start */
    nl_list copies;                 /* nl_property *: from, to */
    nl_list rewritten;              /* nl_rewritten_file *: manifests and delete files, sorted by path when complete */
} nl_relocation;

typedef struct nl_rewritten_file {
    nl_str path; /* where the table has it */
    int64_t size_bytes;
} nl_rewritten_file;

/* The same path below another prefix. Fails: "Path x does not start with y". */
NL_MUST_USE nl_status nl_relocate_path(const nl_relocation *self, nl_str path, nl_str prefix, nl_str *moved);
static inline nl_status nl_relocate_target(const nl_relocation *self, nl_str path, nl_str *moved)
{
    return nl_relocate_path(self, path, self->target, moved);
}
static inline nl_status nl_relocate_staging(const nl_relocation *self, nl_str path, nl_str *moved)
{
    return nl_relocate_path(self, path, self->staging, moved);
}
void nl_relocate_copy(nl_relocation *self, nl_str from, nl_str to);
/* A snapshot's changes are to be copied: the other place does not have them. */
bool nl_relocate_wants(const nl_relocation *self, int64_t snapshot_id);

/* relocate_manifests.c: delete files, manifests, then manifest lists, so that each knows the sizes of what it names. */
NL_MUST_USE nl_status nl_relocate_manifests(nl_relocation *self);
/* relocate_deletes.c: a position delete file with the new paths, staged; entry: borrowed. */
NL_MUST_USE nl_status nl_relocate_delete_file(nl_relocation *self, const nl_data_file *file, int64_t *size_bytes);
/* The entry of a delete file with its paths moved: itself, the data file it is about, the bounds of its paths. */
NL_MUST_USE nl_status nl_relocate_delete_entry(const nl_relocation *self, nl_data_file *file);
