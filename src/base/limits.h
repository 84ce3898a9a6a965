/* base/limits.h - every limit in one place: its value and why. */
#pragma once

#define NL_BATCH_ROWS               2048u                /* rows in a batch: fits L1/L2 with a few columns          */
#define NL_SQL_TEXT_BYTES_MAX       (16u << 20)          /* nobody writes more by hand; keeps positions in uint32   */
#define NL_EXPRESSION_DEPTH_MAX     1000u                /* recursion of parser and analyzer                        */
#define NL_TYPE_DEPTH_MAX           64u
#define NL_JSON_DEPTH_MAX           256u
#define NL_JSON_BYTES_MAX           (1u << 30)
#define NL_PARQUET_FOOTER_BYTES_MAX (512u << 20)
#define NL_PARQUET_PAGE_BYTES_MAX   (2047u << 20)        /* sizes are int32; a page holds at least one value    */
#define NL_AVRO_BLOCK_BYTES_MAX     (1u << 30)
#define NL_VALUE_BYTES_MAX          (1u << 30)           /* one string or binary value                              */
#define NL_ERROR_MESSAGE_BYTES_MAX  (64u << 20)          /* the statement is repeated in parse errors                */
#define NL_ERROR_NOTES_BYTES_MAX    (1u << 20)
#define NL_ERROR_CONTEXT_CHARACTERS 32u                  /* what Spark shows of a line on either side of a fragment */
#define NL_ZONE_NAME_BYTES_MAX      255u                 /* a file name below the zone folder                        */
#define NL_ZONE_FILE_BYTES_MAX      (1 << 20)            /* the largest TZif file has some thousand bytes            */
#define NL_POOL_THREADS_MAX         256u                 /* more threads than that only wait for each other          */
#define NL_COALESCE_GAP_BYTES       (64u << 10)          /* reading this much for nothing is cheaper than a request   */
#define NL_COALESCE_BYTES_MAX       (8u << 20)           /* one slice that is kept keeps its whole request            */
#define NL_OUTPUT_BUFFER_BYTES      (64u << 10)          /* small writes are gathered to this                        */
#define NL_FOLDER_DEPTH_MAX         64u                  /* a descriptor is held per level; links may form circles    */
#define NL_PATH_BYTES_MAX           4096u                /* PATH_MAX of Linux                                        */
#define NL_MEMORY_FILE_BYTES_MAX    (1u << 30)           /* files of the in-memory file system, which tests use        */
#define NL_ALLOCATION_BYTES_MAX     (1ull << 38)         /* one piece of memory; more than that is a lie in some file */
#define NL_HTTP_HEAD_BYTES_MAX      (64u << 10)          /* all headers of a message                                 */
#define NL_HTTP_HEADERS_MAX         100u
#define NL_HTTP_BODY_BYTES_MAX      (16u << 20)          /* control bodies; objects have lengths known before        */
#define NL_HTTP_REDIRECTS_MAX       5u
#define NL_XML_DEPTH_MAX            16u
#define NL_URL_BYTES_MAX            (16u << 10)
#define NL_OBJECT_INLINE_BYTES_MAX  (64u << 10)          /* up to this an object lies in its row: one fsync makes both durable */
#define NL_OBJECT_KEY_BYTES_MAX     1024u                /* S3's                                                     */
#define NL_OBJECT_PART_BYTES_MIN    (5u << 20)           /* S3's: of every part but the last                         */
#define NL_OBJECT_PARTS_MAX         10000u               /* S3's                                                     */
