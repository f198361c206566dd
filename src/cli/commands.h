/* commands: the rows of cmds[], and what commands share. For cli/ only. */
#ifndef HOOKD_CLI_COMMANDS_H
#define HOOKD_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct cmd cmd_run, cmd_start, cmd_stop, cmd_restart, cmd_status, cmd_doctor, cmd_init, cmd_uninstall,
	cmd_sessions, cmd_tail, cmd_logs, cmd_config, cmd_db, cmd_backup, cmd_restore, cmd_purge, cmd_retention, cmd_rpc, cmd_offline, cmd_version, cmd_help;

const struct cmd *cli_find(const char *name);
void cli_print_help(const struct cmd *c);
void cli_print_overview(void);

/* Prints a result as it came, with a newline. */
int cli_print_json(const struct json *v);

/* A reader's call: starts the daemon when there is none; on failure prints why. */
struct json *cli_ask(struct cli *cli, const char *method, str params);

/* Stops the daemon and waits until its lock is free. 1: it was running; 0: there was none; -errno, in words. */
int cli_stop_daemon(struct cli *cli, struct err *err);

/* Path of the running hookd, for starting it again. */
const char *cli_self_path(struct cli *cli);

#endif
