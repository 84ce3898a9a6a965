/* connect/message.h - protobuf messages from and to bytes, with the limits that protobuf-c does not have. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"

#define NL_MESSAGE_DEPTH_MAX 1024u /* spark.connect.grpc.marshallerRecursionLimit */

/* Unpacks into the arena, which pays for it and must not be freed before the message is done with.
 * Fails: NILAS_INVALID_PLAN_INPUT when bytes are malformed or nest deeper than NL_MESSAGE_DEPTH_MAX, UNABLE_TO_ACQUIRE_MEMORY. */
NL_MUST_USE nl_status nl_message_unpack(nl_arena *arena, const ProtobufCMessageDescriptor *descriptor, nl_bytes packed, ProtobufCMessage **message);
/* The message framed for a gRPC answer (connect/rpc.h): owned. */
NL_MUST_USE nl_status nl_message_frame(const ProtobufCMessage *message, nl_memory *memory, nl_buffer **framed);
/* An absent string is the empty one. */
static inline nl_str nl_message_text(const char *text)
{
    return nl_str_from(text ? text : "");
}
