/* session/files.c - how a session reaches files: Hadoop's settings of S3 among its confs, as spark.hadoop.fs.s3a.* or, as Spark
 * also takes them in SET, without "spark.hadoop."; and those of the Hive metastore, for catalogs.
 */
#include "session/session_private.h"

#include "storage/s3.h"

#define SPARK_PREFIX   "spark.hadoop."
#define S3A_PREFIX     "fs.s3a."
#define HIVE_PREFIX    "hive."
#define ICEBERG_PREFIX "iceberg." /* how Iceberg's Hive catalog commits */

uint32_t nl_session_hadoop_properties(const nl_session *session, nl_property *properties)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->confs.count; i++) {
        const nl_property *conf = &session->confs.items[i];
        if (nl_str_starts(conf->key, NL_STR(SPARK_PREFIX S3A_PREFIX)) || nl_str_starts(conf->key, NL_STR(SPARK_PREFIX HIVE_PREFIX)) ||
            nl_str_starts(conf->key, NL_STR(SPARK_PREFIX ICEBERG_PREFIX)))
            properties[count++] = (nl_property){nl_str_slice(conf->key, sizeof("spark.") - 1, conf->key.length), conf->value};
        else if (nl_str_starts(conf->key, NL_STR(S3A_PREFIX)))
            properties[count++] = *conf;
    }
    return count;
}

void nl_session_forget_files(nl_session *session, nl_str changed_key)
{
    const bool is_ours = nl_str_starts(changed_key, NL_STR(SPARK_PREFIX S3A_PREFIX)) || nl_str_starts(changed_key, NL_STR(S3A_PREFIX));
    if (!session->files || !is_ours || session->is_confined) return;
    nl_fs_release(session->files);
    session->files = NULL;
}

void nl_session_confine(nl_session *session, nl_fs *files)
{
    nl_fs_release(session->files);
    session->files = files ? nl_fs_retain(files) : nl_fs_memory_new(); /* nothing is in it */
    session->is_confined = true;
}

nl_status nl_session_files(nl_session *session, nl_fs **fs)
{
    nl_status status = NULL;
    if (!session->files) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_property *properties = NL_NEW_ARRAY(arena, nl_property, session->confs.count + 1);
        const uint32_t count = nl_session_hadoop_properties(session, properties);
        status = nl_fs_from_properties(properties, count, session->memory, &session->files);
        nl_arena_free(arena);
    }
    if (!status) *fs = session->files;
    return status;
}
