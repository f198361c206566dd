/* err: what is wrong with something a person wrote (a config file, an argument, a hook's output).
 *
 * Mechanism returns -errno; only code that reads what people wrote fills a struct err, so that the
 * message can name the place. line and col count from 1; 0 means "not in a file". */
#ifndef HOOKD_BASE_ERR_H
#define HOOKD_BASE_ERR_H

#include "base/macro.h"

struct err {
	int code; /* -errno */
	unsigned line, col;
	char text[320];
};

/* Fills *err (which may be NULL) and returns code, so that "return err_set(…)" reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);
int err_set_at(struct err *err, int code, unsigned line, unsigned col, const char *fmt, ...) _printf_(5, 6);

#endif
