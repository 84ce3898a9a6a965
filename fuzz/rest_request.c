/* fuzz/rest_request.c - any bytes as a request to the catalog services: "METHOD PATH?QUERY", headers, an empty line, the body. Paths
 * below /v1 go to the plain REST catalog, the others to S3 Tables, which has the one of table buckets below /iceberg.
 *
 * Whatever comes, the answer has a status that HTTP knows, errors have the service's form, and none says that the fault is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "lakehouse/server.h"
#include "lakehouse/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nl_service *plain, *buckets;

static void must(nl_status status)
{
    if (!status) return;
    fprintf(stderr, "%s\n%s\n", nl_error_message(status), nl_error_notes(status));
    abort();
}

static void ask(const char *text)
{
    char input[1024];
    const int length = snprintf(input, sizeof(input), "%s", text);
    LLVMFuzzerTestOneInput((const uint8_t *)input, (size_t)length);
}

/* One data folder for the whole run, with a table in each kind of warehouse. */
static void open_services(void)
{
    static char folder[] = "/tmp/nilas-fuzz-XXXXXX";
    static const nl_lakehouse_keys keys = {NL_STR_INIT("nilas"), NL_STR_INIT("nilas"), false};
    nl_state *state;
    nl_objects *objects;
    nl_tables *tables;
    nl_warehouse made;
    if (!mkdtemp(folder)) abort();
    nl_arena *arena = nl_arena_new(NULL);
    must(nl_state_open(nl_str_from(folder), &state));
    must(nl_objects_open(state, NULL, &objects));
    must(nl_tables_open(state, objects, NULL, &tables));
    must(nl_objects_create_bucket(objects, NL_STR("warehouse"), false));
    must(nl_tables_create_warehouse(tables, &(nl_warehouse){.kind = NL_WAREHOUSE_PLAIN, .name = NL_STR("w"), .location = NL_STR("s3://warehouse")}, arena, &made));
    must(nl_rest_service_new(tables, &keys, &plain));
    must(nl_s3tables_service_new(tables, &keys, &buckets));
    nl_arena_free(arena);
    ask("POST /v1/namespaces\n\n{\"namespace\":[\"n\"]}");
    ask("POST /v1/namespaces/n/tables\n\n{\"name\":\"t\",\"schema\":{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"x\",\"type\":\"int\",\"required\":false}]}}");
    ask("PUT /buckets\n\n{\"name\":\"lake\"}");
}

static nl_str next_line(nl_str *rest)
{
    const size_t end = nl_str_find_char(*rest, '\n', 0);
    const nl_str line = nl_str_slice(*rest, 0, end);
    *rest = end == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(*rest, end + 1, rest->length);
    return line;
}

static nl_request read_request(nl_arena *arena, nl_str text)
{
    nl_request request = {.arena = arena, .method = NL_STR("GET")};
    nl_str rest = text, line = next_line(&rest);
    const size_t space = nl_str_find_char(line, ' ', 0);
    request.method = nl_str_slice(line, 0, space);
    const nl_str target = space == NL_NOT_FOUND ? NL_STR("/") : nl_str_slice(line, space + 1, line.length);
    const size_t question = nl_str_find_char(target, '?', 0);
    request.path = nl_str_slice(target, 0, question);
    request.query = question == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(target, question + 1, target.length);
    if (!request.method.length) request.method = NL_STR("GET");
    nl_property *headers = NL_NEW_ARRAY(arena, nl_property, 8);
    while (request.header_count < 8 && (line = next_line(&rest)).length) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        if (colon == NL_NOT_FOUND) continue;
        headers[request.header_count++] = (nl_property){nl_str_slice(line, 0, colon), nl_str_trim(nl_str_slice(line, colon + 1, line.length))};
    }
    request.headers = headers;
    request.body = (nl_bytes){(const uint8_t *)rest.data, rest.length};
    return request;
}

static void check_error(const nl_request *request, const nl_reply *reply, bool is_rest)
{
    const json_t *json;
    if (reply->status < 400 || nl_str_is(request->method, "HEAD")) return;
    if (reply->status >= 500 || !reply->body) abort();
    must(nl_json_parse(request->arena, nl_builder_str(reply->body), NL_STR("the answer"), &json));
    const json_t *error = is_rest ? json_object_get(json, "error") : json;
    const bool is_oauth = is_rest && json_is_string(error);
    if (!is_oauth && !json_is_string(json_object_get(error, "message"))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!plain) open_services();
    nl_arena *arena = nl_arena_new(NULL);
    const nl_request request = read_request(arena, (nl_str){(const char *)data, size});
    const bool is_plain = nl_str_starts(request.path, NL_STR("/v1/")), is_rest = is_plain || nl_str_starts(request.path, NL_STR("/iceberg/"));
    nl_service *service = is_plain ? plain : buckets;
    nl_reply reply = {.status = 200, .file = -1};
    nl_request copy = request;
    must(service->ops->answer(service, &copy, &reply));
    if (reply.status < 200 || reply.status > 599) abort();
    check_error(&request, &reply, is_rest);
    if (reply.body) nl_builder_fini(reply.body);
    nl_arena_free(arena);
    return 0;
}
