/* shell/connect.h - `nilas connect`: a Spark Connect server in the foreground. */
#pragma once

int nl_connect_main(int argument_count, char **arguments); /* the exit status */
void nl_connect_print_help(void);
