/* log: hookd.log, for people first.
 *
 *     2026-11-15T08:27:50.123Z info  engine  SESSION-START claude 0b1c… cwd=/home/ada/x
 *
 * Levels are set per component ("info,store=debug"). The file is rotated past its size, one old file
 * kept, so a storm of lines is bounded. Lines go to the file and nowhere else: an agent's terminal
 * and decision channel are never written to. Control characters are made visible and a line is cut
 * at 2,000 bytes, so that a hostile payload cannot forge lines.
 *
 * What is logged must come from a record, never from an event. Library code does not log above
 * debug; whoever handles an error logs it, once. Any thread may log. */
#ifndef HOOKD_BASE_LOG_H
#define HOOKD_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_LEVEL_MAX };

enum log_component {
	LOG_DAEMON,
	LOG_SERVER,
	LOG_ENGINE,
	LOG_JOURNAL,
	LOG_STORE,
	LOG_SPOOL,
	LOG_CONFIG,
	LOG_API,
	LOG_LLM,
	LOG_OUTBOX,
	LOG_COMPONENT_MAX,
};

extern const char *const log_level_names[LOG_LEVEL_MAX];
extern const char *const log_component_names[LOG_COMPONENT_MAX];

/* "warn" or "info,store=debug"; an unknown word is an error that lists the known ones. Checks only,
 * when `apply` is false. */
int log_set_levels(str spec, bool apply, struct err *err);

/* Before this, and in commands, lines go nowhere; with path NULL and to_stderr they go to stderr
 * (hookd run --foreground writes both). max_bytes is the size at which the file is rotated; 0:
 * never, for processes that share it with the daemon. */
int log_open(const char *path, size_t max_bytes, bool also_stderr);
void log_close(void);

/* Between the two, lines of info and debug are gathered and written together: one system call for what a turn of the
 * loop has to report. Warnings and errors take what was gathered with them at once. */
void log_gather(void);
void log_flush(void);

bool log_wanted(enum log_component c, enum log_level level);
void log_write(enum log_component c, enum log_level level, const char *fmt, ...) _printf_(3, 4);

#define log_at(c, level, ...)                             \
	do {                                              \
		if (log_wanted(c, level))                 \
			log_write(c, level, __VA_ARGS__); \
	} while (0)
#define log_error(c, ...) log_at(c, LOG_ERROR, __VA_ARGS__)
#define log_warn(c, ...) log_at(c, LOG_WARN, __VA_ARGS__)
#define log_info(c, ...) log_at(c, LOG_INFO, __VA_ARGS__)
#define log_debug(c, ...) log_at(c, LOG_DEBUG, __VA_ARGS__)

#endif
