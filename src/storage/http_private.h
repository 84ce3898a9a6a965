/* storage/http_private.h - between http.c (what callers see), http_drive.c (the thread) and http_attempt.c (one try). */
#pragma once

#include <pthread.h>
#include <curl/curl.h>

#include "base/limits.h"
#include "base/lock.h"
#include "storage/fault.h"
#include "storage/http.h"

/* libcurl, opened when the first client is made. */
typedef struct nl_curl {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_perform) *multi_perform;
    __typeof__(curl_multi_poll) *multi_poll;
    __typeof__(curl_multi_wakeup) *multi_wakeup;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_url) *url;
    __typeof__(curl_url_set) *url_set;
    __typeof__(curl_url_get) *url_get;
    __typeof__(curl_url_cleanup) *url_cleanup;
    __typeof__(curl_free) *free;
} nl_curl;
NL_MUST_USE nl_status nl_curl_open(const nl_curl **curl);
bool nl_http_is_this_machine(nl_str host); /* no proxy is asked for it (http_attempt.c) */

/* Calls of one list: first in, first out. */
typedef struct nl_http_list {
    nl_http_call *first, *last;
} nl_http_list;

struct nl_http_client {
    atomic_uint references;
    const nl_curl *curl;
    nl_memory *memory; /* counted */
    nl_http_options options; /* all filled in; texts owned by arena */
    nl_fault_plan *faults;   /* borrowed; or NULL */
    nl_arena *arena;
    nl_pool *pool; /* owned: one thread, the driver */
    nl_task_group *group;
    CURLM *multi; /* the driver's, but for multi_wakeup */
    nl_mutex mutex;
    nl_http_list incoming;  /* guarded by mutex */
    bool is_started;        /* guarded by mutex: the driver */
    bool is_ending;         /* guarded by mutex */
    uint32_t abandon_count; /* guarded by mutex: calls marked is_abandoned that the driver has not seen */
    /* The driver's alone: */
    nl_http_list waiting;   /* for their time or for a free connection */
    nl_http_list active;
    uint32_t active_count;
    int64_t swept_ms;
    CURL *idle[16];         /* easy handles to use again */
    uint32_t idle_count;
};

typedef struct nl_http_body {
    nl_buffer *buffer; /* owned; grows; size_bytes is its capacity until the end */
    size_t length;     /* received so far, wherever it goes */
} nl_http_body;

struct nl_http_call {
    nl_http_call *next, *previous;
    nl_http_list *list;      /* the one it is in; NULL: none */
    nl_http_client *client;  /* counted */
    nl_http_request request; /* a copy; url changes with redirects */
    nl_arena *arena;         /* becomes the answer's */
    pthread_cond_t changed;  /* with the client's mutex */
    bool is_taken;           /* guarded by mutex: the driver has it */
    bool is_abandoned;       /* guarded by mutex */
    bool is_done;            /* guarded by mutex; what follows is then the waiter's */
    nl_status status;        /* owned */
    int32_t code;            /* of the answer */
    uint32_t attempts;
    uint32_t stall_count;    /* tries that ended without an answer within the stall time */
    /* Of the present attempt: */
    CURL *easy;
    struct curl_slist *lines;
    nl_builder head;         /* header lines of the last answer, LF after each */
    uint32_t head_count;
    bool is_head_whole;      /* its empty line has come: libcurl takes a head that is cut off for a whole one */
    nl_http_body body;
    const char *problem;     /* why our own callbacks stopped it; static */
    nl_status refusal;       /* memory; owned */
    char words[CURL_ERROR_SIZE];
    int64_t moved_ms;        /* when a byte was last seen going either way */
    uint64_t moved_bytes;
    nl_fault_effect fault;
    bool has_fault;
    /* Of all: */
    int64_t deadline_ms;     /* monotonic */
    int64_t due_ms;          /* not before */
    uint32_t redirect_count;
    bool is_elsewhere;       /* redirected to another host: no credentials */
    bool is_get_now;         /* 303 */
};

int64_t nl_http_now_ms(void); /* monotonic */

/* Sets the easy handle up for one try; the driver adds it to the multi handle. A failure ends the call. */
NL_MUST_USE nl_status nl_http_attempt_begin(nl_http_call *call);
/* Frees what the try used, keeping the answer's head and body. */
void nl_http_attempt_end(nl_http_call *call);

typedef enum nl_http_verdict { NL_HTTP_DONE, NL_HTTP_AGAIN, NL_HTTP_FAILED } nl_http_verdict;
/* Judges a finished try: done (an answer), again (at call->due_ms), or failed (call->status is set). */
nl_http_verdict nl_http_attempt_judge(nl_http_call *call, CURLcode result);
/* Ends a try that the driver stops: cancelled, out of time, stalled. */
nl_http_verdict nl_http_attempt_stopped(nl_http_call *call, CURLcode result, const char *problem);

nl_status nl_http_drive(void *client, uint32_t worker); /* the driver's task */
void nl_http_append(nl_http_list *list, nl_http_call *call);
void nl_http_unlink(nl_http_call *call);
