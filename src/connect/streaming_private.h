/* connect/streaming_private.h - what the files of a client's streaming queries share. */
#pragma once

#include "connect/streaming.h"
#include "stream/stream.h"

/* stream_start.c: the options of a query; texts are the message's, lists lie in the arena. */
NL_MUST_USE nl_status nl_stream_options_take(const Spark__Connect__WriteStreamOperationStart *message, nl_session *session, nl_arena *arena, nl_stream_options *options);
nl_str nl_stream_message_option(const Spark__Connect__WriteStreamOperationStart *message, const char *key); /* keys of any case; the last one counts */
/* stream_host.c: *host is owned until a query takes it. */
NL_MUST_USE nl_status nl_stream_host_new(nl_client *client, nl_session *session, const Spark__Connect__WriteStreamOperationStart *message, nl_stream_host **host);
/* streaming.c: an event of a query, to listeners and to those who wait. */
void nl_streams_notify(nl_streams *streams, nl_stream_query *query, nl_stream_event event, nl_str json);
