/* storage/s3.h - objects of any S3 as a file system, and the choice of a file system by a catalog's properties. */
#pragma once

#include "storage/filesystem.h"
#include "storage/http.h"

/* Paths s3://, s3a://, s3n://. Properties: s3.* and client.* of Iceberg's S3FileIO, hadoop.fs.s3a.* of Hadoop's S3A; what
 * they leave open comes from the AWS environment and profile. Connects to nothing yet. Unknown s3.* keys: logged once.
 *   open      one HEAD, or none when the caller read the size from metadata (nl_fs_open_sized)
 *   read      ranged GETs in parallel, retried; If-Match with the ETag of opening: a changed object is an error
 *   create    one PUT below s3.multipart.threshold, else a multipart upload with parts in parallel; nothing visible before close
 *   create_if_absent, rename without replace: If-None-Match: *. Before the first create_if_absent in a bucket the server is
 *            tried (but AWS): one that ignores the condition is NILAS_UNSUPPORTED, and nothing is written
 *   remove_many: bulk deletes of s3.delete.batch-size
 */
NL_MUST_USE nl_status nl_fs_s3_new(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **fs);

/* The same with somebody else signing: the REST catalog of s3.remote-signing-enabled. sign is called before each request, in
 * the thread that wants the object, and may block; argument is handed to free when the file system ends. */
typedef struct nl_s3_signer {
    nl_http_sign sign;
    void *argument;            /* taken, also on failure */
    void (*free)(void *argument);
} nl_s3_signer;
NL_MUST_USE nl_status nl_fs_s3_new_signed(const nl_property *properties, uint32_t property_count, const nl_s3_signer *signer, nl_memory *memory, nl_fs **fs);

/* Of a list answer, for the fuzz target: counts keys and prefixes. */
NL_MUST_USE nl_status nl_s3_list_answer_check(nl_bytes answer, uint32_t *entry_count);

/* The file system of a catalog or of a session: every scheme by its own implementation (ResolvingFileIO), S3 made when the
 * first s3 path comes. io-impl may name HadoopFileIO, S3FileIO, ResolvingFileIO (they differ in what a plain path means:
 * nothing here); others: NILAS_ILLEGAL_ARGUMENT listing these. With NILAS_FAULT set it is wrapped. Counted. */
NL_MUST_USE nl_status nl_fs_from_properties(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **fs);
/* A file system above another with more properties (a table's vended credentials and endpoint): its own S3 when they
 * concern it, else the same one retained. */
NL_MUST_USE nl_status nl_fs_with_properties(nl_fs *fs, const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_fs **with);
