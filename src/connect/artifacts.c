/* connect/artifacts.c - what clients send ahead of their plans: large local relations, files. Kept by name as long as the
 * session: small ones in memory, others in mapped files without names. Those for functions in Python are published: they
 * lie in a folder of the session, which workers have as SparkFiles' root and on their path (artifact_files.c). */
#include "connect/service_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"

#define MAPPED_BYTES_MIN ((size_t)64 << 10)

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

bool nl_client_artifact(nl_client *client, nl_str name, nl_bytes *content)
{
    nl_mutex_lock(&client->mutex);
    const nl_artifact *artifact = find_artifact(client, name);
    if (artifact) *content = artifact->content;
    nl_mutex_unlock(&client->mutex);
    return artifact != NULL;
}

static void free_artifact(nl_artifact *artifact)
{
    if (!artifact->held) (void)munmap(NL_UNCONST(artifact->content.data), artifact->content.length);
    nl_buffer_release(artifact->held);
    free(NL_UNCONST(artifact->name.data));
    free(artifact);
}

void nl_client_free_artifacts(nl_client *client)
{
    nl_client_free_files(client);
    while (client->artifacts) {
        nl_artifact *next = client->artifacts->next;
        free_artifact(client->artifacts);
        client->artifacts = next;
    }
}

static bool write_all(int file, const uint8_t *data, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, data, length);
        if (written <= 0) return false;
        data += written;
        length -= (size_t)written;
    }
    return true;
}

/* The content as a file without a name, mapped. False: it stays in memory. */
static bool map_content(nl_client *client, nl_artifact *artifact)
{
    const nl_str directory = nl_session_local_directory(client->connect->shared);
    if (artifact->content.length < MAPPED_BYTES_MIN) return false;
    const int file = open(directory.length ? directory.data : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return false;
    void *mapped = MAP_FAILED;
    if (write_all(file, artifact->content.data, artifact->content.length)) mapped = mmap(NULL, artifact->content.length, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return false;
    artifact->content.data = mapped;
    nl_buffer_release(artifact->held);
    artifact->held = NULL;
    return true;
}

static nl_status no_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(nl_artifact)), NL_P("receivedBytes", "0"));
}

/* Takes content. */
static nl_artifact *make_artifact(nl_client *client, nl_str name, nl_buffer *content)
{
    nl_artifact *made = calloc(1, sizeof *made);
    char *copy = malloc(name.length + 1);
    if (!made || !copy) {
        free(made);
        free(copy);
        nl_buffer_release(content);
        return NULL;
    }
    if (name.length) memcpy(copy, name.data, name.length);
    copy[name.length] = 0;
    *made = (nl_artifact){.name = {copy, name.length}, .content = {content->data, content->size_bytes}, .held = content};
    (void)map_content(client, made);
    return made;
}

static bool is_same(nl_bytes a, nl_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Takes content. The first of a name stays: plans may hold its bytes, workers its file. */
static nl_status put_artifact(nl_client *client, nl_str name, nl_buffer *content)
{
    nl_artifact *made = make_artifact(client, name, content);
    if (!made) return no_memory();
    nl_mutex_lock(&client->mutex);
    const nl_artifact *before = find_artifact(client, name);
    const bool is_other = before && !nl_str_starts(name, NL_STR("cache/")) && !is_same(before->content, made->content);
    if (!before) {
        made->next = client->artifacts;
        client->artifacts = made;
    }
    nl_mutex_unlock(&client->mutex);
    if (before) free_artifact(made);
    return is_other ? NL_RAISE(ARTIFACT_ALREADY_EXISTS, NL_P_STR("normalizedRemoteRelativePath", name)) : NULL;
}

nl_status nl_client_copy_artifacts(nl_client *from, nl_client *to)
{
    nl_status status = NULL;
    nl_mutex_lock(&from->mutex);
    const nl_artifact *first = from->artifacts; /* none goes before the client does */
    nl_mutex_unlock(&from->mutex);
    for (const nl_artifact *artifact = first; artifact && !status; artifact = artifact->next) {
        nl_buffer *content = NULL;
        status = nl_buffer_new(from->connect->memory, artifact->content.length, false, &content);
        if (!status && artifact->content.length) memcpy(content->data, artifact->content.data, artifact->content.length);
        nl_artifact *made = status ? NULL : make_artifact(to, artifact->name, content);
        if (!status && !made) status = no_memory();
        if (!made) break;
        made->next = to->artifacts;
        to->artifacts = made;
    }
    return status;
}

/* A relative path that stays below its folder, with one of the prefixes that clients use. */
static nl_status check_name(nl_str name)
{
    static const char *const prefixes[] = {"cache/", "files/", "pyfiles/", "archives/", "jars/", "classes/"};
    enum { PART_BYTES_MAX = 255 };
    bool is_known = false, is_good = name.length > 0 && !memchr(name.data, 0, name.length) && !memchr(name.data, '\\', name.length);
    for (size_t i = 0; i < NL_COUNT(prefixes); i++) is_known |= nl_str_starts(name, nl_str_from(prefixes[i]));
    nl_str rest = nl_str_slice(name, 0, nl_str_starts(name, NL_STR("archives/")) ? NL_MIN(nl_str_find_char(name, '#', 0), name.length) : name.length), part;
    if (rest.length && rest.data[rest.length - 1] == '/') is_good = false;
    while (is_good && rest.length && nl_str_next_part(&rest, '/', &part))
        is_good = part.length > 0 && part.length <= PART_BYTES_MAX && !nl_str_is(part, ".") && !nl_str_is(part, "..");
    if (is_good && nl_str_starts(name, NL_STR("forward_to_fs/")))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Uploading artifact file to local file system destination path is not supported.");
    if (is_good && is_known) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The artifact's name " NL_STR_FMT " is no path that an artifact may have.", NL_STR_ARG(nl_str_slice(name, 0, NL_MIN(name.length, (size_t)200))));
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
        NL_TRY(check_name(name));
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
    NL_TRY(check_name(nl_message_text(begin->name)));
    self->name = nl_arena_str(self->arena, nl_message_text(begin->name));
    self->filled = 0;
    self->total_bytes = (uint64_t)begin->total_bytes;
    self->chunks_left = begin->num_chunks;
    self->is_crc_successful = true;
    return take_chunk(self, begin->initial_chunk);
}

static nl_status take(upload *self, nl_rpc *rpc, const Spark__Connect__AddArtifactsRequest *request)
{
    if (!self->client) {
        nl_connect *connect = nl_rpc_service(rpc);
        const nl_str user = nl_message_text(request->user_context ? request->user_context->user_id : NULL);
        NL_TRY(nl_client_find(connect, user, nl_message_text(request->session_id), nl_message_text(request->client_observed_server_side_session_id), true, &self->client));
        nl_client_heard(self->client, rpc);
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
    if (!status) status = take(self, rpc, (const Spark__Connect__AddArtifactsRequest *)(const void *)request);
    nl_arena_free(arena);
    if (status) nl_rpc_fail(rpc, status, self->client ? self->client->errors : NULL);
}

/* The end of an upload, in the lane: later tasks find its files where they belong. */
typedef struct answering {
    nl_rpc *rpc;       /* counted */
    nl_buffer *framed; /* counted: the answer */
} answering;

static void answer_in_lane(nl_client *client, void *argument)
{
    answering *self = argument;
    nl_status status = nl_client_publish_files(client);
    if (status) {
        nl_rpc_fail(self->rpc, status, client->errors);
    } else {
        (void)nl_rpc_send(self->rpc, self->framed);
        nl_rpc_finish(self->rpc, &(nl_rpc_status){.code = NL_RPC_OK});
    }
    nl_buffer_release(self->framed);
    nl_rpc_release(self->rpc);
    free(self);
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
    answering *end = status ? NULL : calloc(1, sizeof *end);
    if (!status && !end) status = no_memory();
    if (!status) {
        *end = (answering){.rpc = nl_rpc_retain(rpc), .framed = nl_buffer_retain(framed)};
        if (!nl_client_enqueue(self->client, false, answer_in_lane, end)) {
            status = NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", self->client->id));
            nl_buffer_release(end->framed);
            nl_rpc_release(end->rpc);
            free(end);
        }
    }
    nl_buffer_release(framed);
    if (status) nl_rpc_fail(rpc, status, self && self->client ? self->client->errors : NULL);
}
