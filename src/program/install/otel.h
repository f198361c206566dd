/* otel: Codex's telemetry: keys of the table [otel] in config.toml, beside notify, which lies in the same file. For
 * install/ and its tests; the functions do for both what those of edit.h do for hooks.
 *
 * Our lines end with a comment that names hookd, and only such lines are ever changed or taken out. There is room for
 * one exporter: if the user has another, it stays, and a note says so. */
#ifndef HOOKD_INSTALL_OTEL_H
#define HOOKD_INSTALL_OTEL_H

#include "install/edit.h"

int install_otel_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_otel_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);

#endif
