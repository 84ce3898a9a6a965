/* shell/submit.h - `nilas submit` and `nilas pyspark`: PySpark programs on a private Spark Connect server of this process. */
#pragma once

int nl_submit_main(int argument_count, char **arguments);
int nl_pyspark_main(int argument_count, char **arguments);
void nl_submit_print_help(void);
void nl_pyspark_print_help(void);
