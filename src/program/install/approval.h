/* trust: which of our entries the agent would run; for install/ only.
 *
 * Codex runs a hook only when its config.toml holds the hash of the entry under the entry's place:
 *
 *   [hooks.state."/home/ada/.codex/hooks.json:pre_tool_use:0:0"]
 *   trusted_hash = "sha256:…"
 *
 * Only the user grants trust; nothing here ever writes such an entry. */
#ifndef HOOKD_INSTALL_APPROVAL_H
#define HOOKD_INSTALL_APPROVAL_H

#include "install/files.h"

/* Fills in `trust` of the entries found in the hook file at path. A file of trust that is missing or
 * cannot be read trusts nobody. */
void trust_check(const struct install_request *q, const struct hook_file *f, const char *path,
	struct install_entry *list, struct arena *a);

#endif
