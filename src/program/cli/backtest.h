/* backtest: what the current rules would have decided about history. For cli/ only. */
#ifndef HOOKD_CLI_BACKTEST_H
#define HOOKD_CLI_BACKTEST_H

#include "cli/commands.h"

/* `hookd guard backtest`: exit code. */
int backtest_run(struct cli *cli);

/* `hookd guard learn`: exit code. */
int backtest_learn(struct cli *cli);

/* One line for `hookd init`, when there is something to say. */
void backtest_tell(struct cli *cli);

#endif
