/* cli: `hookd <command>`, one file per command, one table.
 *
 * A command is a descriptor: name, arguments, description, options, what it needs, and a function.
 * Help, usage errors and completions are made from the table. Conventions that every command follows:
 *
 *   exit codes   0 done, 1 failed, 64 usage error; never 2, which agents read as "block"
 *   errors       one line on stderr, lower case: what failed: why; what to do
 *   --json       readers print JSON; writers have --dry-run
 *   colour       only on a terminal and without NO_COLOR
 */
#ifndef HOOKD_CLI_CLI_H
#define HOOKD_CLI_CLI_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "config/paths.h"
#include "json/json.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 64 };
/* Of plumbing: somebody else is doing it. */
enum { EXIT_BUSY = 75 };

enum { OPTIONS_MAX = 80, ARGS_MAX = 32 };

/* One option of a command: "--json", or "--agent NAME" when `value` is set. */
struct cmd_option {
	const char *name;  /* without the dashes */
	char letter;       /* -n, or 0 */
	const char *value; /* what it is called in help; NULL: a flag */
	bool repeat;       /* may be given several times */
	const char *text;
};

enum {
	CMD_HIDDEN = 1 << 0,   /* plumbing: not in the overview */
	CMD_ANYWHERE = 1 << 1, /* runs even where there is no place for hookd's files */
};

struct cli;

struct cmd {
	const char *name;
	const char *args; /* usage after the options, "" for none */
	const char *text; /* one sentence */
	unsigned flags;
	int min_args, max_args;
	const struct cmd_option *options; /* ends with a row without a name */
	int (*run)(struct cli *cli);
};

/* What a command is called with. Everything lives in the arena until the process ends. */
struct cli {
	const struct cmd *cmd;
	struct arena arena;
	struct paths paths;
	const char *self; /* argv[0] */
	const char *dir;  /* --dir, or NULL */
	const char *args[ARGS_MAX];
	int nargs;
	struct {
		const struct cmd_option *option;
		const char *value;
	} given[OPTIONS_MAX];
	int ngiven;
	const char *owner;    /* the owner's token, once cli_need_owner() has found that this is the owner; or NULL */
	const char *owner_by; /* "terminal" or "token" */
	int answer_ms;        /* how long to wait for the daemon's answer; 0: the default */
	bool colour;          /* stdout is a terminal and NO_COLOR is not set */
};

extern const struct cmd *const cmds[]; /* ends with NULL */

/* Options that were given. */
bool cli_has(const struct cli *cli, const char *option);
const char *cli_value(const struct cli *cli, const char *option, const char *fallback);
/* --timeout SECONDS, in milliseconds; -1: not given, so never. False: it is no such number. */
bool cli_timeout_ms(const struct cli *cli, int64_t *ret);
/* The i-th value of an option that may be repeated, or NULL. */
const char *cli_value_at(const struct cli *cli, const char *option, int i);

/* "hookd: <text>" on stderr; gives EXIT_FAILED, so that "return cli_fail(…)" reads well. */
int cli_fail(const char *fmt, ...) _printf_(1, 2);
int cli_usage_error(const struct cli *cli, const char *fmt, ...) _printf_(2, 3);

/* Asks on the terminal; false without one. */
bool cli_confirm(const char *question);

/* -- what only the owner may do (owner.c) ------------------------------------------------------ */

/* EXIT_DONE: this is the owner, at a terminal or with the token; calls of the daemon carry the token from now on.
 * Else an exit code, after saying what is missing. what: "hookd trust". */
int cli_need_owner(struct cli *cli, const char *what);
/* The same for a command that may do without: not being the owner is no error. */
int cli_offer_owner(struct cli *cli);
/* Records a change that was made. */
void cli_note_change(struct cli *cli, const char *what, str detail);
/* A person sits there, and no agent. */
bool cli_has_terminal(void);

/* -- talking to the daemon (client.c) ---------------------------------------------------------- */

/* Calls an operation. Starts the daemon first when `start` and there is none.
 * 0: *ret is the result, in cli->arena. -ENOENT: no daemon. -EREMOTE: the daemon refused, err says
 * why. Other -errno: no answer. */
int cli_call(struct cli *cli, bool start, const char *method, str params, struct json **ret, struct err *err);

/* A daemon answers and means to stay: one that has lost its lock is about to leave, and the one started now would wait
 * for it. */
bool cli_daemon_runs(struct cli *cli);

/* Starts a daemon detached and waits until it answers. -EEXIST: one is already running. */
int cli_start_daemon(struct cli *cli, struct err *err);

/* -- output ------------------------------------------------------------------------------------ */

/* Rows of columns, each as wide as its widest cell; on a terminal the widest are cut until it fits, those in front
 * that are `firm` only when nothing else helps. */
struct table {
	struct arena *arena;
	unsigned columns, rows, cap, firm;
	str *cells;
};

void table_init(struct table *t, struct arena *a, unsigned columns);
void table_add(struct table *t, const str *cells);
void table_print(const struct table *t, bool colour);

/* Columns of the terminal; SIZE_MAX when stdout is none. */
size_t cli_terminal_width(void);

/* -- terminal.c: text that may come from anywhere ------------------------------------------------ */

/* From here on nothing printed with stdio can drive a terminal: see terminal.c. Made for main(). */
void cli_guard_output(void);

/* Characters, not bytes; wide ones count as one, which only costs alignment. */
size_t cli_width(str s);
/* Text that may come from anywhere: control characters are made visible, lines become one. */
void cli_print_safe(str text);
/* The same into a buf, at most limit characters with "…" for the rest. Returns how many characters. */
size_t cli_add_safe(struct buf *b, str text, size_t limit);
/* The same character by character: *ret is the next one or its replacement, *at moves on. */
size_t cli_next_safe(str text, size_t *at, char room[4], str *ret);

#endif
