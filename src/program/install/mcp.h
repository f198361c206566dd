/* mcp: `hookd mcp` among the MCP servers of an agent; for install/ and its tests. The functions do for that entry what
 * those of edit.h do for hooks.
 *
 * An entry is ours when it is called "hookd" and runs a program of that name with the word mcp. Whatever else is called
 * so belongs to somebody else: it stays, and a note says so.
 *
 * The plain functions are for a file that holds servers and nothing else of ours; those for settings and for Codex also
 * do what the file holds besides: hooks, notify and telemetry. */
#ifndef HOOKD_INSTALL_MCP_H
#define HOOKD_INSTALL_MCP_H

#include "install/edit.h"

int install_mcp_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_mcp_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_mcp_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);
bool install_mcp_is_empty(const struct install_request *q, str text);

int install_settings_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_settings_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_settings_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);

int install_codex_add(const struct install_request *q, str text, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_codex_remove(const struct install_request *q, str text, str original, struct arena *a, str *ret,
	struct install_counts *ret_counts, struct err *err);
int install_codex_list(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
	struct err *err);

/* -- for both forms ---------------------------------------------------------------------------- */

enum { MCP_WORDS = 4, MCP_WORDS_MAX = 16 };

/* What the agent shall run: hookd (beside hookc) mcp --dir STATE. */
void mcp_words(const struct install_request *q, struct arena *a, str words[MCP_WORDS]);
bool mcp_is_ours(const str *words, size_t n);
bool mcp_is_current(const struct install_request *q, const str *words, size_t n, struct arena *a);
struct install_entry *mcp_entry(const struct install_request *q, const str *words, size_t n, struct arena *a);
/* Of a server that is called like ours. */
extern const str mcp_foreign_note;

#endif
