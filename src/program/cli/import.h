/* import: history already on disk, for `hookd import` and `hookd init`. For cli/ only.
 *
 * Files are read and redacted here, in the command's own process; the daemon gets records in frames of about a
 * megabyte and answers when one is committed, together with how far its file has been read. So an import can be
 * interrupted at any moment and continues where it stopped, and hooks never wait for one: while a frame is folded by
 * the writer, the next one is made here. */
#ifndef HOOKD_CLI_IMPORT_H
#define HOOKD_CLI_IMPORT_H

#include "cli/commands.h"
#include "transcript/transcript.h"

struct import_files {
	struct import_file {
		const char *agent; /* NULL: recognised by its contents */
		const char *path;
		int64_t bytes;
	} * list;
	size_t n, cap;
	int64_t bytes;
};

/* Adds the history of an agent (NULL: of all that hookd can read), newest first. */
int import_find(struct cli *cli, const char *agent, struct import_files *files);
/* Adds one file, or everything below a directory. 0, or an exit code after printing the reason. */
int import_add_path(struct cli *cli, const char *path, struct import_files *files);

struct import_result {
	uint64_t files, unchanged, refused, replaced; /* of files: nothing new in them; not readable as a transcript */
	uint64_t lines, broken;
	int64_t bytes, fresh, known; /* read; records that were new, and that the store had already */
	bool interrupted;
};

/* Reads them all into the store, with progress on a terminal. 0, or an exit code after printing the reason. */
int import_run(struct cli *cli, const struct import_files *files, struct import_result *ret);

/* What `hookd init` does about history: says what there is, asks unless the user has agreed to everything, imports
 * it, and says what can be done with it. False: there was none, or it was not wanted. */
bool import_offer(struct cli *cli, bool agreed, bool quiet, struct import_result *ret);

/* "12 files of Claude Code and Codex CLI, 34.5 MB" */
str import_describe(struct cli *cli, const struct import_files *files);

/* Text for people: 3.4 MB. */
str import_size(struct cli *cli, int64_t bytes);

#endif
