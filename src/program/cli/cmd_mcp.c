/* mcp: the Model Context Protocol on standard input and output. Each line is a message; what needs the store is asked
 * of the daemon, which is started by the first such call and found again if it was restarted meanwhile. */
#include <stdio.h>

#include "api/mcp.h"
#include "base/limits.h"
#include "cli/commands.h"

enum { MESSAGE_MAX = 16 << 20 };

static void call_operation(struct cli *cli, struct mcp *m)
{
	struct buf params = BUF_INIT(LIMIT_RPC_LINE), result = BUF_INIT(LIMIT_RPC_REPLY);
	struct op_answer answer = { 0 };
	struct json *got = NULL;
	struct err err = { 0 };

	if (m->arguments)
		json_write(&params, m->arguments);
	if (params.full) {
		answer = (struct op_answer){ OP_BAD_PARAMS, .message = STR("the arguments are longer than 4 MiB") };
	} else if (cli_call(cli, true, m->op->name, buf_str(&params), &got, &err) < 0) {
		answer = (struct op_answer){ OP_FAILED, .message = str_of(err.text) };
	} else {
		json_write(&result, got);
		answer.result = buf_str(&result);
	}
	mcp_finish(m, &answer);
	buf_release(&params);
	buf_release(&result);
}

/* The next line, without its end; one that does not fit comes cut, and is no JSON then. False: the input has ended. */
static bool read_message(struct buf *line)
{
	int c;

	buf_clear(line);
	line->full = false;
	while ((c = getc_unlocked(stdin)) != EOF && c != '\n')
		if (!line->full)
			buf_add_char(line, (char)c);
	return c != EOF || line->len;
}

static void serve_message(struct cli *cli, str text)
{
	struct arena own = cli->arena;
	struct mcp m;

	cli->arena = (struct arena){ 0 }; /* for the daemon's answers, which may be many */
	mcp_begin(&m, text, NULL);
	if (m.op)
		call_operation(cli, &m);
	if (m.reply.len) {
		fwrite(m.reply.p, 1, m.reply.len, stdout);
		putchar('\n');
		fflush(stdout);
	}
	mcp_release(&m);
	arena_release(&cli->arena);
	cli->arena = own;
}

static int run_mcp(struct cli *cli)
{
	struct buf line = BUF_INIT(MESSAGE_MAX);
	str text;

	while (read_message(&line)) {
		text = str_trim(buf_str(&line));
		if (!str_empty(text))
			serve_message(cli, text);
	}
	buf_release(&line);
	return EXIT_DONE;
}

const struct cmd cmd_mcp = {
	.name = "mcp",
	.args = "",
	.text = "Serves sessions, search and more to agents, as an MCP server on standard input and output.",
	.run = run_mcp,
};
