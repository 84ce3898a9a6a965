/* lakehouse/rest/service.c - the plain Iceberg REST catalog on a port of its own, :8181. */
#include "lakehouse/rest/rest.h"

#include <stdlib.h>

typedef struct rest_service {
    nl_service base;
    nl_rest_api *rest; /* owned */
} rest_service;

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    nl_rest_api_answer(NL_CONTAINER(service, rest_service, base)->rest, request, reply);
    return NULL;
}

/* What goes wrong before answer(): the request was too large, or memory ran out. */
static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service;
    (void)error;
    const int32_t status = reply->status >= 400 ? reply->status : 500;
    nl_reply_text(request, reply, status, "application/json",
                  nl_arena_f(request->arena, "{\"error\":{\"message\":\"The request could not be read\",\"type\":\"%s\",\"code\":%d}}",
                             status >= 500 ? "InternalServerError" : "BadRequestException", status));
}

static void free_service(nl_service *service)
{
    rest_service *self = NL_CONTAINER(service, rest_service, base);
    nl_rest_api_free(self->rest);
    free(self);
}

static const nl_service_ops ops = {.name = "rest", .default_port = 8181, .answer = answer, .fail = fail, .free = free_service};

nl_status nl_rest_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service)
{
    rest_service *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &ops;
    nl_status status = nl_rest_api_new(&(nl_rest_api_options){.tables = tables, .keys = *keys, .kind = NL_WAREHOUSE_PLAIN, .mount = {"", 0}}, &made->rest);
    if (status) {
        free(made);
        return status;
    }
    *service = &made->base;
    return NULL;
}
