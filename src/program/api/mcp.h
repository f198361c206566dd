/* mcp: the Model Context Protocol as a dialect of the operations. Rows marked OP_MCP are its tools.
 *
 * DESIGN. Only the protocol is here, and no transport: a message as text goes in; either its reply is there at once
 * (handshakes, lists, errors), or an operation is to be called first. The daemon does that for POST /mcp, `hookd mcp`
 * for its standard input, so that starting `hookd mcp` starts nothing else.
 *
 *     struct mcp m;
 *     mcp_begin(&m, text, NULL);
 *     if (m.op)
 *         mcp_finish(&m, answer_of(m.op, m.arguments));
 *     send(m.reply);                       … unless it is empty: nothing is sent
 *     mcp_release(&m);
 *
 * Both eras are served in one process: the versions with a handshake (2024-11-05 to 2025-11-25), and 2026-07-28, which
 * has none and says in each message's _meta what it needs. A message without an id is never answered, and an answer to
 * what could not be read has no id (MCP knows no null). */
#ifndef HOOKD_API_MCP_H
#define HOOKD_API_MCP_H

#include "api/api.h"

/* What came with a message over HTTP. */
struct mcp_headers {
	str version; /* MCP-Protocol-Version */
	str method;  /* Mcp-Method */
	str name;    /* Mcp-Name */
};

struct mcp {
	const struct op *op;          /* to be called, or NULL */
	const struct json *arguments; /* with these, or NULL */
	struct buf reply;             /* empty: none */
	int status;                   /* of HTTP */
	/* Private. */
	struct arena arena;
	const struct json *root, *id;
	bool modern;
};

/* headers: NULL for stdio. The text must live until mcp_release(). */
void mcp_begin(struct mcp *m, str text, const struct mcp_headers *headers);
void mcp_finish(struct mcp *m, const struct op_answer *answer);
void mcp_release(struct mcp *m);

/* Of those with a handshake, or the one without. */
bool mcp_knows_version(str version);

#endif
