/* base/log.h - what the program tells its operator. Levels as in log4j; the level is process state (base/process.h). */
#pragma once

typedef enum nl_log_level { NL_LOG_OFF, NL_LOG_ERROR, NL_LOG_WARN, NL_LOG_INFO, NL_LOG_DEBUG } nl_log_level;
void nl_log_set_level(nl_log_level level); /* default WARN */
void nl_log(nl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
