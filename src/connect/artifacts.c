/* connect/artifacts.c - what clients send ahead of their plans: large local relations, files. Kept in memory, by name, as long
 * as the session. */
#include "connect/service_private.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct upload_summary {
    char *name; /* in the arena */
    bool is_crc_successful;
} upload_summary;

/* One AddArtifacts call. The network thread's. */
typedef struct upload {
    nl_arena *arena;
    nl_client *client; /* counted; NULL before the first message */
    nl_list summaries;
    nl_str name;       /* of the chunked artifact being received; data NULL: none */
    nl_buffer *content;
    uint64_t filled, total_bytes;
    int64_t chunks_left;
    bool is_crc_successful;
} upload;

static nl_artifact *find_artifact(nl_client *client, nl_str name)
{
    nl_artifact *artifact = client->artifacts;
    while (artifact && !nl_str_equal(artifact->name, name)) artifact = artifact->next;
    return artifact;
}

nl_buffer *nl_client_artifact(nl_client *client, nl_str name)
{
    nl_mutex_lock(&client->mutex);
    nl_artifact *artifact = find_artifact(client, name);
    nl_buffer *content = artifact ? nl_buffer_retain(artifact->content) : NULL;
    nl_mutex_unlock(&client->mutex);
    return content;
}

void nl_client_free_artifacts(nl_client *client)
{
    while (client->artifacts) {
        nl_artifact *next = client->artifacts->next;
        nl_buffer_release(client->artifacts->content);
        free(NL_UNCONST(client->artifacts->name.data));
        free(client->artifacts);
        client->artifacts = next;
    }
}

/* Takes content. The first of a name stays: plans may hold its bytes. */
static nl_status put_artifact(nl_client *client, nl_str name, nl_buffer *content)
{
    nl_artifact *made = calloc(1, sizeof *made);
    char *copy = malloc(name.length + 1);
    if (!made || !copy) {
        free(made);
        free(copy);
        nl_buffer_release(content);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    }
    if (name.length) memcpy(copy, name.data, name.length);
    *made = (nl_artifact){.name = {copy, name.length}, .content = content};
    nl_mutex_lock(&client->mutex);
    const bool is_there = find_artifact(client, name) != NULL;
    if (!is_there) {
        made->next = client->artifacts;
        client->artifacts = made;
    }
    nl_mutex_unlock(&client->mutex);
    if (!is_there) return NULL;
    nl_buffer_release(content);
    free(copy);
    free(made);
    return NULL;
}

static bool is_intact(const Spark__Connect__AddArtifactsRequest__ArtifactChunk *chunk)
{
    return chunk && (int64_t)nl_crc32(chunk->data.data, chunk->data.len, 0) == chunk->crc;
}

static void add_summary(upload *self, nl_str name, bool is_crc_successful)
{
    upload_summary *summary = NL_NEW(self->arena, upload_summary);
    *summary = (upload_summary){NL_UNCONST(nl_str_c(self->arena, name)), is_crc_successful};
    nl_list_add(self->arena, &self->summaries, summary);
}

static nl_status take_batch(upload *self, const Spark__Connect__AddArtifactsRequest__Batch *batch)
{
    for (size_t i = 0; i < batch->n_artifacts; i++) {
        const Spark__Connect__AddArtifactsRequest__SingleChunkArtifact *artifact = batch->artifacts[i];
        const nl_str name = nl_message_text(artifact->name);
        nl_buffer *content = NULL;
        add_summary(self, name, is_intact(artifact->data));
        if (!is_intact(artifact->data)) continue;
        NL_TRY(nl_buffer_new(self->client->connect->memory, artifact->data->data.len, false, &content));
        if (artifact->data->data.len) memcpy(content->data, artifact->data->data.data, artifact->data->data.len);
        NL_TRY(put_artifact(self->client, name, content));
    }
    return NULL;
}

static nl_status take_chunk(upload *self, const Spark__Connect__AddArtifactsRequest__ArtifactChunk *chunk)
{
    const size_t length = chunk ? chunk->data.len : 0;
    if (!self->name.data) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "A chunk of no artifact was sent.");
    if (length > self->total_bytes - self->filled || self->chunks_left <= 0)
        return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The chunks of the artifact " NL_STR_FMT " are more than was announced.", NL_STR_ARG(self->name));
    self->is_crc_successful &= is_intact(chunk);
    if (self->filled + length > (self->content ? self->content->size_bytes : 0)) {
        nl_buffer *larger = NULL;
        const uint64_t doubled = NL_MAX(self->filled + length, self->filled * 2);
        NL_TRY(nl_buffer_new(self->client->connect->memory, (size_t)NL_MIN(doubled, self->total_bytes), false, &larger));
        if (self->filled) memcpy(larger->data, self->content->data, self->filled);
        nl_buffer_release(self->content);
        self->content = larger;
    }
    if (length) memcpy(self->content->data + self->filled, chunk->data.data, length);
    self->filled += length;
    if (--self->chunks_left > 0) return NULL;
    add_summary(self, self->name, self->is_crc_successful);
    nl_buffer *content = self->content;
    const nl_str name = self->name;
    self->content = NULL;
    self->name = (nl_str){0};
    if (!content) NL_TRY(nl_buffer_new(NULL, 0, false, &content));
    content->size_bytes = (size_t)self->filled;
    if (self->is_crc_successful) return put_artifact(self->client, name, content);
    nl_buffer_release(content);
    return NULL;
}

static nl_status begin_chunked(upload *self, const Spark__Connect__AddArtifactsRequest__BeginChunkedArtifact *begin)
{
    if (self->name.data) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The artifact " NL_STR_FMT " is not complete.", NL_STR_ARG(self->name));
    if (begin->total_bytes < 0 || begin->num_chunks <= 0) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The size of an artifact is not possible.");
    self->name = nl_arena_str(self->arena, nl_message_text(begin->name));
    self->filled = 0;
    self->total_bytes = (uint64_t)begin->total_bytes;
    self->chunks_left = begin->num_chunks;
    self->is_crc_successful = true;
    return take_chunk(self, begin->initial_chunk);
}

static nl_status take(upload *self, nl_connect *connect, const Spark__Connect__AddArtifactsRequest *request)
{
    if (!self->client) {
        const nl_str user = nl_message_text(request->user_context ? request->user_context->user_id : NULL);
        NL_TRY(nl_client_find(connect, user, nl_message_text(request->session_id), nl_message_text(request->client_observed_server_side_session_id), true, &self->client));
    }
    switch (request->payload_case) {
    case SPARK__CONNECT__ADD_ARTIFACTS_REQUEST__PAYLOAD_BATCH:
        return take_batch(self, request->batch);
    case SPARK__CONNECT__ADD_ARTIFACTS_REQUEST__PAYLOAD_BEGIN_CHUNK:
        return begin_chunked(self, request->begin_chunk);
    case SPARK__CONNECT__ADD_ARTIFACTS_REQUEST__PAYLOAD_CHUNK:
        return take_chunk(self, request->chunk);
    case SPARK__CONNECT__ADD_ARTIFACTS_REQUEST__PAYLOAD__NOT_SET:
    case _SPARK__CONNECT__ADD_ARTIFACTS_REQUEST__PAYLOAD__CASE_IS_INT_SIZE:
    default:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The payload of the AddArtifacts request is not known.");
    }
}

static void end_upload(nl_rpc *rpc, void *state)
{
    (void)rpc;
    upload *self = state;
    nl_buffer_release(self->content);
    nl_client_release(self->client);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_rpc_hooks hooks = {.closed = end_upload};

/* The call's upload, made at its first message; NULL when it was refused. */
static upload *upload_of(nl_rpc *rpc)
{
    upload *self = nl_rpc_state(rpc);
    if (self) return self;
    self = calloc(1, sizeof *self);
    if (self) {
        nl_connect *connect = nl_rpc_service(rpc);
        self->arena = nl_arena_new(connect->memory);
        if (nl_rpc_set_hooks(rpc, &hooks, self)) return self;
        end_upload(rpc, self);
    }
    nl_rpc_finish(rpc, &(nl_rpc_status){.code = NL_RPC_RESOURCE_EXHAUSTED, .message = NL_STR("no memory for an upload")});
    return NULL;
}

void nl_artifacts_message(nl_rpc *rpc, nl_buffer *message)
{
    nl_connect *connect = nl_rpc_service(rpc);
    upload *self = upload_of(rpc);
    ProtobufCMessage *request = NULL;
    if (!self) return;
    nl_arena *arena = nl_arena_new(connect->memory);
    nl_status status = nl_message_unpack(arena, &spark__connect__add_artifacts_request__descriptor, (nl_bytes){message->data, message->size_bytes}, &request);
    if (!status) status = take(self, connect, (const Spark__Connect__AddArtifactsRequest *)(const void *)request);
    nl_arena_free(arena);
    if (status) nl_rpc_fail(rpc, status, self->client ? self->client->errors : NULL);
}

void nl_artifacts_end(nl_rpc *rpc)
{
    nl_connect *connect = nl_rpc_service(rpc);
    upload *self = nl_rpc_state(rpc);
    nl_buffer *framed = NULL;
    Spark__Connect__AddArtifactsResponse answer = SPARK__CONNECT__ADD_ARTIFACTS_RESPONSE__INIT;
    nl_status status = NULL;
    if (!self || !self->client || self->name.data) {
        status = NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The artifacts are not complete.");
    } else {
        answer.session_id = NL_UNCONST(self->client->id.data);
        answer.server_side_session_id = self->client->server_id;
        answer.artifacts = NL_NEW_ARRAY(self->arena, Spark__Connect__AddArtifactsResponse__ArtifactSummary *, self->summaries.count + 1);
        for (uint32_t i = 0; i < self->summaries.count; i++) {
            const upload_summary *summary = self->summaries.items[i];
            Spark__Connect__AddArtifactsResponse__ArtifactSummary *message = NL_NEW(self->arena, Spark__Connect__AddArtifactsResponse__ArtifactSummary);
            spark__connect__add_artifacts_response__artifact_summary__init(message);
            message->name = summary->name;
            message->has_is_crc_successful = true;
            message->is_crc_successful = summary->is_crc_successful;
            answer.artifacts[answer.n_artifacts++] = message;
        }
        status = nl_message_frame(&answer.base, connect->memory, &framed);
    }
    if (status) {
        nl_rpc_fail(rpc, status, self && self->client ? self->client->errors : NULL);
        return;
    }
    (void)nl_rpc_send(rpc, framed);
    nl_rpc_finish(rpc, &(nl_rpc_status){.code = NL_RPC_OK});
    nl_buffer_release(framed);
}
