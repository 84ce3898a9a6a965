/* format/parquet/encoder.c - a stack of encoders nobody uses at the moment. */
#include "format/parquet/encoder.h"

#include <stdlib.h>

#include "base/lock.h"

struct nl_parquet_encoders {
    nl_memory *memory; /* counted */
    nl_mutex mutex;
    nl_parquet_encoder **idle; /* guarded by mutex */
    uint32_t count, capacity;
};

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_status nl_parquet_encoders_new(nl_memory *memory, nl_parquet_encoders **encoders)
{
    nl_parquet_encoders *made = calloc(1, sizeof(*made));
    if (made == NULL) return no_memory(sizeof(*made));
    made->memory = memory != NULL ? nl_memory_retain(memory) : NULL;
    nl_mutex_init(&made->mutex);
    *encoders = made;
    return NULL;
}

static void free_encoder(nl_parquet_encoder *encoder)
{
    if (encoder == NULL) return;
    nl_codec_context_free(encoder->codec);
    nl_shredder_fini(&encoder->shredder);
    nl_bytes_out_fini(&encoder->form);
    nl_bytes_out_fini(&encoder->body);
    nl_bytes_out_fini(&encoder->packed);
    free(encoder);
}

void nl_parquet_encoders_free(nl_parquet_encoders *encoders)
{
    if (encoders == NULL) return;
    for (uint32_t i = 0; i < encoders->count; i++) free_encoder(encoders->idle[i]);
    free(encoders->idle);
    nl_mutex_fini(&encoders->mutex);
    if (encoders->memory != NULL) nl_memory_release(encoders->memory);
    free(encoders);
}

static nl_status make_encoder(nl_memory *memory, nl_parquet_encoder **encoder)
{
    nl_parquet_encoder *made = calloc(1, sizeof(*made));
    if (made == NULL) return no_memory(sizeof(*made));
    nl_shredder_init(&made->shredder, memory);
    nl_bytes_out_init(&made->form, memory);
    nl_bytes_out_init(&made->body, memory);
    nl_bytes_out_init(&made->packed, memory);
    made->codec = nl_codec_context_new(memory);
    if (made->codec == NULL) {
        free_encoder(made);
        return no_memory(0);
    }
    *encoder = made;
    return NULL;
}

nl_status nl_parquet_encoder_borrow(nl_parquet_encoders *encoders, nl_parquet_encoder **encoder)
{
    nl_mutex_lock(&encoders->mutex);
    *encoder = encoders->count > 0 ? encoders->idle[--encoders->count] : NULL;
    nl_mutex_unlock(&encoders->mutex);
    return *encoder != NULL ? NULL : make_encoder(encoders->memory, encoder);
}

void nl_parquet_encoder_return(nl_parquet_encoders *encoders, nl_parquet_encoder *encoder)
{
    if (encoder == NULL) return;
    nl_mutex_lock(&encoders->mutex);
    if (encoders->count == encoders->capacity) {
        const uint32_t capacity = encoders->capacity * 2 + 4;
        nl_parquet_encoder **grown = realloc(encoders->idle, capacity * sizeof(*grown));
        if (grown != NULL) {
            encoders->idle = grown;
            encoders->capacity = capacity;
        }
    }
    if (encoders->count < encoders->capacity) {
        encoders->idle[encoders->count++] = encoder;
        encoder = NULL;
    }
    nl_mutex_unlock(&encoders->mutex);
    free_encoder(encoder);
}
