/* Whether a command may change what runs: see config/owner.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "config/owner.h"

/* Some agents give their commands a terminal. These variables are theirs. */
static const char *const agent_variables[] = { "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX",
	"CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "COPILOT_CLI", "QWEN_CODE", "OPENCODE", "AI_AGENT",
	"HOOKD_HOOK" };

static const char *agent_around(void)
{
	for (size_t i = 0; i < countof(agent_variables); i++)
		if (getenv(agent_variables[i]))
			return agent_variables[i];
	return NULL;
}

bool cli_has_terminal(void)
{
	return isatty(STDIN_FILENO) && (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)) && !agent_around();
}

/* Takes the token out of the file that was named, if it is the right one. */
static int take_token(struct cli *cli, const char *path, const char *token)
{
	char given[OWNER_TOKEN + 1];
	int r = owner_token_from(path, given);

	if (r < 0)
		return cli_fail("%s holds no token that can be used: %s", path,
			r == -EPERM             ? "others can read or write it, or it is not yours"
				: r == -EBADMSG ? "it is not one"
						: strerror(-r));
	if (!owner_token_is(token, str_of(given)))
		return cli_fail("%s holds another token than that of %s", path, cli->paths.state);
	return EXIT_DONE;
}

/* 0: yes; NOT_OWNER: there is neither a terminal nor a token; else an exit code after a message. */
enum { NOT_OWNER = -1 };

static int find_out(struct cli *cli)
{
	static char token[OWNER_TOKEN + 1];
	const char *file = cli_value(cli, "token-file", NULL);
	struct err err = { 0 };
	int r;

	if (cli->owner)
		return EXIT_DONE;
	if (!file && !cli_has_terminal())
		return NOT_OWNER;
	if (owner_token(&cli->paths, token, &err) < 0)
		return cli_fail("%s", err.text);
	r = file ? take_token(cli, file, token) : EXIT_DONE;
	if (r == EXIT_DONE) {
		cli->owner = token;
		cli->owner_by = file ? "token" : "terminal";
	}
	return r;
}

int cli_need_owner(struct cli *cli, const char *what)
{
	const char *agent = agent_around();
	int r = find_out(cli);

	if (r != NOT_OWNER)
		return r;
	if (agent)
		return cli_fail(
			"nothing was changed: %s is for the owner, and %s says that an agent runs this; use a terminal "
			"of your own, or --token-file",
			what, agent);
	return cli_fail(
		"nothing was changed: %s is for the owner; run it at a terminal, or give the owner's token with "
		"--token-file",
		what);
}

int cli_offer_owner(struct cli *cli)
{
	int r = find_out(cli);

	return r == NOT_OWNER ? EXIT_DONE : r;
}

void cli_note_change(struct cli *cli, const char *what, str detail)
{
	owner_note(&cli->paths, what, detail,
		cli->owner_by                ? cli->owner_by
			: cli_has_terminal() ? "terminal"
					     : "program");
}
