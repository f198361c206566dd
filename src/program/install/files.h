/* files: which files an agent reads its hooks from, and what is special about them; for install/
 * only. One row for each file, an agent's rows side by side, the one with the hooks first. */
#ifndef HOOKD_INSTALL_FILES_H
#define HOOKD_INSTALL_FILES_H

#include <stdbool.h>

#include "install/edit.h"
#include "install/install.h"

/* How a kind of file is edited; each function as in edit.h. */
struct hook_format {
	const char *noun; /* what we put in, for people */
	int (*add)(const struct install_request *q, str text, struct arena *a, str *ret,
		struct install_counts *ret_counts, struct err *err);
	int (*remove)(const struct install_request *q, str text, str original, struct arena *a, str *ret,
		struct install_counts *ret_counts, struct err *err);
	int (*list)(const struct install_request *q, str text, struct arena *a, struct install_entry **ret,
		struct err *err);
	bool (*is_empty)(const struct install_request *q, str text);
};

struct hook_file {
	const char *agent;
	const char *program;
	const char *user, *project; /* the file there; NULL: there is none */
	bool mcp;                   /* it holds MCP servers and no hooks */
	bool at_home;               /* it is beside the agent's folder, unless the environment has moved that */
	const char *project_dir; /* the agent's folder in a project; NULL: named like the one in the home directory */
	const struct hook_format *format;
	/* Of hook entries. */
	bool shell;              /* the command is a line for a shell; otherwise program and arguments */
	const char *suffix;      /* behind such a line; "" when there is nothing to add */
	bool flat;               /* an event's list holds entries; otherwise groups of entries */
	bool bare;               /* an entry is a command and nothing else */
	bool version;            /* the file begins with "version": 1 */
	const char *name;        /* entries have this name */
	const char *off;         /* the object that can switch them off: "enabled", "disabled" by name */
	const char *timeout;     /* its name; NULL: "timeout" */
	unsigned per_second;     /* what timeouts are counted in; 0: entries have none */
	unsigned end_seconds;    /* at the end of a session the agent allows no more; 0: no such rule */
	bool comments;           /* the agent's JSON may hold them */
	const char *const *root; /* the only keys the agent bears beside "hooks"; NULL: any */
	const char *trust;       /* in the user's directory: which hooks the agent may run */
	const char *how_to_trust;
};

/* The first or next file of an agent that the request is about; NULL: no more. */
const struct hook_file *hook_file_next(const struct install_request *q, const struct hook_file *last);

/* The file with the hooks; NULL: this agent is not known. */
const struct hook_file *hook_file_first(const struct agent *agent);

/* Where the file is. */
int hook_file_dir(const struct install_request *q, char out[FS_PATH]);
int hook_file_path(const struct install_request *q, const struct hook_file *f, char out[FS_PATH]);

#endif
