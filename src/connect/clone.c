/* connect/clone.c - CloneSession: a new session with everything that another one has at the moment. From then on they are apart.
 *
 * It runs in the lane of the one that is cloned; nobody finds the new one before it is complete.
 */
#include "connect/captured.h"
#include "connect/service_private.h"

static nl_status fill(nl_client *from, nl_client *to)
{
    nl_session *session = NULL;
    NL_TRY(nl_client_session(to, &session));
    NL_TRY(nl_session_copy(from->session, session));
    NL_TRY(nl_connect_copy_views(from->session, &to->host));
    NL_TRY(nl_client_copy_artifacts(from, to));
    return nl_client_publish_files(to);
}

nl_status nl_answer_clone(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__CloneSessionRequest *message = (const Spark__Connect__CloneSessionRequest *)(const void *)request->message;
    Spark__Connect__CloneSessionResponse *made = NL_NEW(request->arena, Spark__Connect__CloneSessionResponse);
    nl_client *from = request->client, *to = NULL;
    nl_str id = nl_message_text(message->new_session_id);
    if (id.length == 0) {
        uint8_t bytes[16];
        char text[NL_UUID_TEXT_LENGTH + 1] = {0};
        nl_uuid_new(bytes);
        nl_uuid_format(bytes, text);
        id = nl_arena_str(request->arena, (nl_str){text, NL_UUID_TEXT_LENGTH});
    }
    NL_TRY(nl_client_new(from->connect, from->user, id, &to));
    nl_status status = fill(from, to);
    if (!status) status = nl_client_publish(to);
    if (!status) {
        spark__connect__clone_session_response__init(made);
        made->session_id = NL_UNCONST(from->id.data);
        made->server_side_session_id = from->server_id;
        made->new_session_id = NL_UNCONST(nl_str_c(request->arena, to->id));
        made->new_server_side_session_id = NL_UNCONST(nl_str_c(request->arena, nl_str_from(to->server_id)));
        *answer = &made->base;
    }
    nl_client_release(to);
    return status;
}
