/* catalog/glue/client.h - one operation of the Glue API: AWS JSON 1.1 over HTTP, signed with SigV4.
 *
 * Source: AWS Glue Web API Reference; Smithy's AWS JSON 1.1 protocol.
 */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/memory.h"

typedef struct nl_glue_client nl_glue_client; /* owned; threads: any */

/* Properties: glue.endpoint, client.region (glue.region), glue.access-key-id …, client.credentials-provider; what they leave
 * open comes from the AWS environment and profile. Connects to nothing yet. Fails: NILAS_ILLEGAL_ARGUMENT. */
NL_MUST_USE nl_status nl_glue_client_new(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_glue_client **client);
void nl_glue_client_free(nl_glue_client *client); /* NULL is fine */

typedef struct nl_glue_answer { /* in the arena of the call */
    const json_t *json; /* the answer's object, when it succeeded */
    nl_str error;       /* "EntityNotFoundException"; empty: it succeeded */
    nl_str message;     /* of the error */
    int32_t status;
} nl_glue_answer;
/* Sends `operation` with a JSON object. A refusal of Glue's is an answer; nl_glue_failure makes an error of it. Throttled
 * requests are sent again. changes: the operation must not happen twice: what nobody knows is an error of kind UNKNOWN_STATE. */
NL_MUST_USE nl_status nl_glue_call(nl_glue_client *client, const char *operation, nl_str body, bool changes, nl_arena *arena, nl_glue_answer *answer);
bool nl_glue_is(const nl_glue_answer *answer, const char *error);
/* NULL when it succeeded. NILAS_FORBIDDEN, NILAS_VALIDATION_FAILED, NILAS_IO_ERROR (RETRY; UNKNOWN_STATE with changes) … */
NL_MUST_USE nl_status nl_glue_failure(const nl_glue_answer *answer, const char *operation, bool changes);
