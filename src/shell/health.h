/* shell/health.h - `nilas health TABLE`: how a table is laid out, and which maintenance it needs. */
#pragma once

int nl_health_main(int argument_count, char **arguments);
void nl_health_print_help(void);
