/* shell/up_services.h - the services that `nilas up` knows: one row each. */
#pragma once

#include "lakehouse/queries.h"
#include "lakehouse/server.h"
#include "lakehouse/tables.h"

#define NL_UP_SERVICES_MAX 16u

typedef struct nl_up_stores { /* what services are made of; borrowed */
    nl_objects *objects;
    nl_tables *tables;
    nl_queries *queries;
    const nl_lakehouse_keys *keys;
} nl_up_stores;

typedef struct nl_up_service {
    const char *name;
    uint16_t port;
    const char *aws_name; /* the key of its endpoint in an AWS profile; NULL: none */
    const char *note;     /* shown beside its address; NULL: nothing */
    const char *needs[4]; /* services that are started with it */
    const char *help;
    nl_status (*make)(const nl_up_stores *stores, nl_service **service);
} nl_up_service;

extern const nl_up_service nl_up_services[];
extern const uint32_t nl_up_service_count;
/* The index of a service, or nl_up_service_count. */
uint32_t nl_up_service_find(nl_str name);
/* Marks a service and those it needs. */
void nl_up_service_want(uint32_t service, bool wanted[NL_UP_SERVICES_MAX]);
