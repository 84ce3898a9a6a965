/* api/api.c - the public C API over command: errors as handles, results as Arrow C streams. */
#include "nilas/nilas.h"

#include "column/arrow.h"
#include "command/command.h"

#include <errno.h>
#include <stdlib.h>

/* The public handles are the inner objects under other names. */
static nilas_error *public_error(nl_error *error)
{
    return (nilas_error *)(void *)error;
}
static nl_session *inner_session(nilas_session *session)
{
    return (nl_session *)(void *)session;
}

nilas_error *nilas_session_open(const char *const *keys, const char *const *values, size_t count, nilas_session **session)
{
    nl_property *confs = calloc(count ? count : 1, sizeof(*confs));
    if (!confs) return public_error(NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)count), NL_P("receivedBytes", "0")));
    for (size_t i = 0; i < count; i++)
        confs[i] = (nl_property){nl_str_from(keys[i]), nl_str_from(values[i])};
    nl_session *opened = NULL;
    nl_status status = nl_session_new(confs, (uint32_t)count, &opened);
    free(confs);
    if (!status) *session = (nilas_session *)(void *)opened;
    return public_error(status);
}

void nilas_session_close(nilas_session *session)
{
    nl_session_free(inner_session(session));
}

void nilas_session_cancel(nilas_session *session)
{
    nl_session_cancel(inner_session(session));
}

typedef struct result_stream { /* private_data of the stream */
    nl_result *result;
    nl_memory *memory;
    nl_error *error; /* the last failure: get_last_error speaks of it */
} result_stream;

static int keep_error(result_stream *self, nl_status status)
{
    nl_error_free(self->error);
    self->error = status;
    return status ? EIO : 0;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    result_stream *self = stream->private_data;
    return keep_error(self, nl_arrow_export_schema(nl_result_schema(self->result), out));
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    result_stream *self = stream->private_data;
    nl_batch batch = {0};
    bool is_done = false;
    *out = (struct ArrowArray){0}; /* a released array ends the stream */
    nl_status status = nl_result_next(self->result, &batch, &is_done);
    if (!status && !is_done) status = nl_arrow_export_batch(nl_result_schema(self->result), &batch, self->memory, out);
    nl_batch_fini(&batch);
    return keep_error(self, status);
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    result_stream *self = stream->private_data;
    return self->error ? nl_error_message(self->error) : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    result_stream *self = stream->private_data;
    nl_result_close(self->result);
    nl_error_free(self->error);
    free(self);
    *stream = (struct ArrowArrayStream){0};
}

nilas_error *nilas_session_run(nilas_session *session, const char *sql, size_t length, struct ArrowArrayStream *stream)
{
    result_stream *self = calloc(1, sizeof(*self));
    if (!self) return public_error(NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0")));
    nl_status status = nl_command_run(inner_session(session), (nl_str){sql, length}, &self->result);
    if (status) {
        free(self);
        return public_error(status);
    }
    self->memory = nl_session_memory(inner_session(session));
    *stream = (struct ArrowArrayStream){
        .get_schema = get_schema, .get_next = get_next, .get_last_error = get_last_error, .release = release_stream, .private_data = self};
    return NULL;
}

const char *nilas_error_condition(const nilas_error *error)
{
    return nl_condition_name(nl_error_condition((const nl_error *)(const void *)error));
}

const char *nilas_error_sqlstate(const nilas_error *error)
{
    return nl_condition_sqlstate(nl_error_condition((const nl_error *)(const void *)error));
}

const char *nilas_error_message(nilas_error *error)
{
    return nl_error_message((nl_error *)(void *)error);
}

void nilas_error_free(nilas_error *error)
{
    nl_error_free((nl_error *)(void *)error);
}

const char *nilas_version(void)
{
    return NILAS_VERSION;
}
