/* session/session_private.h - the session's struct, for the files of this folder. */
#pragma once

#include "base/calendar.h"
#include "base/number.h"
#include "session/session.h"
#include "storage/piece_cache.h"

typedef struct nl_conf_map { /* sorted by key; texts owned and NUL-terminated */
    nl_property *items;
    uint32_t count;
    uint32_t capacity;
} nl_conf_map;
NL_MUST_USE nl_status nl_conf_map_put(nl_conf_map *map, nl_str key, nl_str value);
void nl_conf_map_remove(nl_conf_map *map, nl_str key);
nl_str nl_conf_map_get(const nl_conf_map *map, nl_str key); /* data NULL: absent */
void nl_conf_map_fini(nl_conf_map *map);
bool nl_conf_parse_bytes(nl_str text, int64_t *bytes); /* "512m", "1g", "134217728b" */

typedef struct nl_variable_entry {
    nl_arena *arena; /* owned */
    nl_str name;
    nl_value value;
    nl_value default_value;
} nl_variable_entry;

struct nl_session {
    nl_conf_map confs;
    nl_conf_map initial_confs; /* what RESET goes back to */
    const nl_timezone *zone;
    const nl_timezone *machine_zone;
    nl_memory *memory;
    nl_piece_cache *kept_objects; /* counted; NULL: none */
    nl_pool *pool;
    bool is_pool_shared;
    nl_cancel *cancel; /* of the running statement */
    bool is_confined;  /* nl_session_confine */
    nl_progress own_progress;
    nl_progress *progress; /* of the running statement: own_progress, or that of whoever began it */
    nl_session_turns turns; /* leave NULL: one thread has it always */
    nl_arena *arena;   /* texts that live as long as the session */
    nl_str user;
    nl_str app_id;
    nl_commit_environment environment;
    nl_catalog **catalogs;
    uint32_t catalog_count;
    nl_str current_catalog;
    struct nl_fs *files; /* counted; NULL: not made yet, or its confs have changed */
    nl_arena *namespace_arena; /* owned: of current_namespace, renewed by USE */
    const nl_str *current_namespace;
    uint32_t current_namespace_count;
    nl_shared_objects *own_objects;    /* owned: temporary views and functions */
    nl_shared_objects *shared_objects; /* counted */
    uint64_t number;
    nl_variable_entry *variables;
    uint32_t variable_count;
    _Atomic(nl_session_attachment *) python; /* set once */
    _Atomic(nl_session_attachment *) cache;  /* set once */
};

/* The session's Hadoop settings of S3 as a catalog's properties: "hadoop.fs.s3a.x". properties: room for all confs. */
uint32_t nl_session_hadoop_properties(const nl_session *session, nl_property *properties);
void nl_session_forget_files(nl_session *session, nl_str changed_key);

/* Like nl_session_set, for static keys too: start-up. */
NL_MUST_USE nl_status nl_session_put_conf(nl_session *session, nl_str key, nl_str value);
