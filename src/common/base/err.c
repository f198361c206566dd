#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static int fill(struct err *err, int code, unsigned line, unsigned col, const char *fmt, va_list ap)
{
	if (err) {
		err->code = code;
		err->line = line;
		err->col = col;
		vsnprintf(err->text, sizeof err->text, fmt, ap);
	}
	return code;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, 0, 0, fmt, ap);
	va_end(ap);
	return code;
}

int err_set_at(struct err *err, int code, unsigned line, unsigned col, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, line, col, fmt, ap);
	va_end(ap);
	return code;
}
