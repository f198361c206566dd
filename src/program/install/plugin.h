/* plugin: the file that connects an agent which has plugins instead of hooks (opencode); for install/ only. It is
 * wholly ours. Functions as in edit.h. */
#ifndef HOOKD_INSTALL_PLUGIN_H
#define HOOKD_INSTALL_PLUGIN_H

#include "install/edit.h"

/* opencode.js, compiled in by tools/embed_bytes.py. */
extern const unsigned char plugin_opencode[];
extern const size_t plugin_opencode_size;

int install_plugin_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_plugin_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_plugin_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);
bool install_plugin_is_empty(const struct install_request *q, str text);

#endif
