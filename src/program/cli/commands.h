/* commands: the rows of cmds[], and what commands share. For cli/ only. */
#ifndef HOOKD_CLI_COMMANDS_H
#define HOOKD_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct cmd cmd_run, cmd_start, cmd_stop, cmd_restart, cmd_status, cmd_doctor, cmd_init, cmd_uninstall,
	cmd_agents, cmd_sessions, cmd_show, cmd_tail, cmd_search, cmd_plans, cmd_remember, cmd_memories, cmd_memory,
	cmd_recall, cmd_review, cmd_jobs, cmd_outbox, cmd_sinks, cmd_why, cmd_preview, cmd_context, cmd_timeline,
	cmd_get, cmd_related, cmd_usage, cmd_stats, cmd_import, cmd_transcript, cmd_export, cmd_decisions, cmd_project,
	cmd_logs, cmd_config, cmd_hooks, cmd_trust, cmd_untrust, cmd_db, cmd_backup, cmd_restore, cmd_purge,
	cmd_retention, cmd_guard, cmd_rules, cmd_reload, cmd_rpc, cmd_mcp, cmd_url, cmd_token, cmd_model, cmd_offline,
	cmd_keeper, cmd_indexer, cmd_index, cmd_code, cmd_symbols, cmd_map, cmd_effort, cmd_task, cmd_fleet, cmd_wait,
	cmd_watch, cmd_queue, cmd_version, cmd_help;

const struct cmd *cli_find(const char *name);
void cli_print_help(const struct cmd *c);
void cli_print_overview(void);

/* cmd_effort.c: who asks, and from where, as members of an open object. An exit code. */
int cli_add_caller(struct cli *cli, struct json_writer *w);

/* Prints a result as it came, with a newline. */
int cli_print_json(const struct json *v);

/* A reader's call: starts the daemon when there is none; on failure prints why. */
struct json *cli_ask(struct cli *cli, const char *method, str params);

/* -- readers (reader.c) ------------------------------------------------------------------------ */

/* Options that readers of captured work share; rows for their tables. */
#define OPTION_PROJECT                                                                   \
	{                                                                                \
		"project", 'p', "NAME", false, "only this project's (name, path or key)" \
	}
#define OPTION_AGENT                                           \
	{                                                      \
		"agent", 0, "NAME", false, "only this agent's" \
	}
#define OPTION_SINCE                                                                                                 \
	{                                                                                                            \
		"since", 0, "WHEN", false, "only what happened since: 30m, 2h, 3d, 2w, 2026-11-01, 2026-11-01T09:30" \
	}
#define OPTION_UNTIL                                                   \
	{                                                              \
		"until", 0, "WHEN", false, "only what happened before" \
	}
#define OPTION_ALL                                                          \
	{                                                                   \
		"all", 0, NULL, false, "also sessions with nothing in them" \
	}
#define OPTION_JSON                                  \
	{                                            \
		"json", 0, NULL, false, "print JSON" \
	}

/* A project as it was written: a name stays a name; "." and everything with a slash is a path from here. */
str cli_project_ref(struct cli *cli, const char *text);

/* Writes the parameters that the shared options say into an open object. 0, or an exit code. */
int cli_add_filter(struct cli *cli, struct json_writer *w);
/* cli_ask() with nothing but those. NULL, and what to exit with, when it cannot be asked. */
struct json *cli_ask_filtered(struct cli *cli, const char *method, int *ret_exit);

/* The members of an object as cells. */
str cell_number(struct cli *cli, const struct json *row, const char *name);
str cell_time(struct cli *cli, const struct json *row, const char *name);
str cell_age(struct cli *cli, const struct json *row, const char *name);
str cell_text(const struct json *row, const char *name);
int64_t cell_int(const struct json *row, const char *name);
/* One line about how long agents have waited for their user, if they have. */
void cli_print_waited(const struct json *result);
/* "1.5 MB" */
str cell_size(struct cli *cli, int64_t bytes);

/* cmd_forget.c: hookd memory forget. */
int cli_forget_memories(struct cli *cli);

/* Yes by option or by answer: EXIT_DONE; else an exit code after saying what to do. */
int cli_ask_yes(struct cli *cli, const char *question);

enum { CLI_LONG_MS = 30 * 60 * 1000 }; /* patience for copying or rewriting a large store */

/* Stops the daemon and waits until its lock is free. 1: it was running; 0: there was none; -errno, in words. */
int cli_stop_daemon(struct cli *cli, struct err *err);

/* Path of the running hookd, for starting it again. */
const char *cli_self_path(struct cli *cli);

#endif
