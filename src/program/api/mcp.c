#include "api/mcp.h"

#include <errno.h>
#include <stdio.h>

#include "api/ops.h"
#include "base/limits.h"
#include "base/utf8.h"

#define MODERN "2026-07-28"
#define META "io.modelcontextprotocol/"

/* Newest first; the first of them is offered to who asks for one we do not know. */
static const char *const legacy[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

enum {
	MCP_PARSE_ERROR = -32700,
	MCP_BAD_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_BAD_PARAMS = -32602,
	MCP_HEADER_MISMATCH = -32020,
	MCP_UNKNOWN_VERSION = -32022,
	LIST_TTL_MS = 3600 * 1000,
	SHOWN = 60, /* bytes of a name in an error */
};

static const char instructions[] =
	"What coding agents did on this machine, in any project and with any agent: sessions, prompts, answers, tool "
	"calls, plans and their cost, and what was learned from it. Search gives rows with the price of reading each; "
	"timeline shows what happened around one, get reads some in full. Context says what helps with a task; "
	"remember "
	"keeps what later sessions should know.";

static bool is_legacy(str version)
{
	for (size_t i = 0; i < countof(legacy); i++)
		if (str_eq(version, str_of(legacy[i])))
			return true;
	return false;
}

bool mcp_knows_version(str version)
{
	return is_legacy(version) || str_eq(version, STR(MODERN));
}

static bool is_tool(const struct op *op)
{
	return op->flags & OP_MCP;
}

/* -- replies ----------------------------------------------------------------------------------- */

static void begin_reply(struct mcp *m, struct json_writer *w)
{
	*w = (struct json_writer)JSON_WRITER(&m->reply);
	jw_object(w);
	jw_field_str(w, "jsonrpc", STR("2.0"));
	if (m->id) {
		jw_key(w, "id");
		jw_value(w, m->id);
	}
}

static void write_versions(struct json_writer *w)
{
	jw_array(w);
	jw_str(w, STR(MODERN));
	for (size_t i = 0; i < countof(legacy); i++)
		jw_str(w, str_of(legacy[i]));
	jw_end_array(w);
}

/* requested: of a version we do not know; else STR_NONE. */
static void fail(struct mcp *m, int code, int status, str requested, const char *fmt, str about)
{
	struct json_writer w;
	char message[256];

	m->op = NULL;
	m->status = status;
	snprintf(message, sizeof message, fmt, STR_ARG(str_cut_utf8(about, SHOWN)));
	begin_reply(m, &w);
	jw_key(&w, "error");
	jw_object(&w);
	jw_field_int(&w, "code", code);
	jw_field_str(&w, "message", str_of(message));
	if (str_is_set(requested)) {
		jw_key(&w, "data");
		jw_object(&w);
		jw_key(&w, "supported");
		write_versions(&w);
		jw_field_str(&w, "requested", requested);
		jw_end_object(&w);
	}
	jw_end_object(&w);
	jw_end_object(&w);
}

static void write_server_info(struct json_writer *w, const char *key)
{
	jw_key(w, key);
	jw_object(w);
	jw_field_str(w, "name", STR("hookd"));
	jw_field_str(w, "version", STR(HOOKD_VERSION));
	jw_end_object(w);
}

static void begin_result(struct mcp *m, struct json_writer *w)
{
	begin_reply(m, w);
	jw_key(w, "result");
	jw_object(w);
	if (m->modern)
		jw_field_str(w, "resultType", STR("complete"));
}

/* lasting: it stays the same for as long as this release runs. */
static void end_result(struct mcp *m, struct json_writer *w, bool lasting)
{
	if (m->modern && lasting) {
		jw_field_int(w, "ttlMs", LIST_TTL_MS);
		jw_field_str(w, "cacheScope", STR("public"));
	}
	if (m->modern) {
		jw_key(w, "_meta");
		jw_object(w);
		write_server_info(w, META "serverInfo");
		jw_end_object(w);
	}
	jw_end_object(w);
	jw_end_object(w);
}

static void write_capabilities(struct json_writer *w)
{
	jw_key(w, "capabilities");
	jw_object(w);
	jw_key(w, "tools");
	jw_object(w);
	jw_end_object(w);
	jw_end_object(w);
}

/* -- methods ----------------------------------------------------------------------------------- */

static void initialize(struct mcp *m, const struct json *params)
{
	str asked = json_str(json_get(params, STR("protocolVersion")));
	struct json_writer w;

	begin_result(m, &w);
	jw_field_str(&w, "protocolVersion", is_legacy(asked) ? asked : str_of(legacy[0]));
	write_capabilities(&w);
	write_server_info(&w, "serverInfo");
	jw_field_str(&w, "instructions", str_of(instructions));
	end_result(m, &w, false);
}

static void discover(struct mcp *m, const struct json *params)
{
	struct json_writer w;

	(void)params;
	begin_result(m, &w);
	jw_key(&w, "supportedVersions");
	write_versions(&w);
	write_capabilities(&w);
	jw_field_str(&w, "instructions", str_of(instructions));
	end_result(m, &w, true);
}

static void ping(struct mcp *m, const struct json *params)
{
	struct json_writer w;

	(void)params;
	begin_result(m, &w);
	end_result(m, &w, false);
}

static void write_tool(struct json_writer *w, const struct op *op)
{
	bool reads = op->flags & OP_IS_READ;

	jw_object(w);
	jw_field_str(w, "name", str_of(op->name));
	jw_field_str(w, "description", str_of(op->text));
	jw_key(w, "inputSchema");
	op_write_schema(w, op);
	jw_key(w, "outputSchema");
	op_write_result_schema(w, op);
	jw_key(w, "annotations");
	jw_object(w);
	jw_field_bool(w, "readOnlyHint", reads);
	jw_field_bool(w, "destructiveHint", op->flags & OP_DESTROYS);
	jw_field_bool(w, "idempotentHint", reads || op->flags & OP_IDEMPOTENT);
	jw_field_bool(w, "openWorldHint", false);
	jw_end_object(w);
	jw_end_object(w);
}

/* All on one page, so no cursor was ever given out. */
static void list_tools(struct mcp *m, const struct json *params)
{
	struct json_writer w;

	if (json_get(params, STR("cursor"))) {
		fail(m, MCP_BAD_PARAMS, 200, STR_NONE, "there is no such cursor%.*s", STR(""));
		return;
	}
	begin_result(m, &w);
	jw_key(&w, "tools");
	jw_array(&w);
	for (const struct op *op = ops; op->name; op++)
		if (is_tool(op))
			write_tool(&w, op);
	jw_end_array(&w);
	end_result(m, &w, true);
}

static void call_tool(struct mcp *m, const struct json *params)
{
	str name = json_str(json_get(params, STR("name")));

	for (const struct op *op = ops; op->name; op++)
		if (is_tool(op) && str_eq(name, str_of(op->name))) {
			m->op = op;
			m->arguments = json_get(params, STR("arguments"));
			return;
		}
	fail(m, MCP_BAD_PARAMS, 200, STR_NONE, "there is no tool '%.*s'; tools/list has them", name);
}

static const struct method {
	const char *name;
	void (*run)(struct mcp *m, const struct json *params);
	bool in_legacy, in_modern;
} methods[] = {
	{ "initialize", initialize, .in_legacy = true },
	{ "ping", ping, .in_legacy = true },
	{ "server/discover", discover, .in_modern = true },
	{ "tools/list", list_tools, .in_legacy = true, .in_modern = true },
	{ "tools/call", call_tool, .in_legacy = true, .in_modern = true },
};

/* -- what a message must have ------------------------------------------------------------------ */

static bool is_request(const struct json *v)
{
	const struct json *params = json_get(v, STR("params"));
	const struct json *method = json_get(v, STR("method"));

	return v->type == JSON_OBJECT && str_eq(json_str(json_get(v, STR("jsonrpc"))), STR("2.0")) && method &&
		method->type == JSON_STRING && (!params || params->type == JSON_OBJECT);
}

/* An answer to a request of ours: we make none. */
static bool is_reply(const struct json *v)
{
	return v->type == JSON_OBJECT && !json_get(v, STR("method")) &&
		(json_get(v, STR("result")) || json_get(v, STR("error")));
}

static bool is_id(const struct json *id)
{
	int64_t number;

	return id->type == JSON_STRING || (id->type == JSON_NUMBER && json_int(id, &number));
}

static str meta(const struct json *params, const char *name)
{
	return json_str(json_path(params, "_meta", name, NULL));
}

/* A header may carry a name in base64: =?base64?…?= */
static bool is_header_name(str header, str name)
{
	static const str before = { "=?base64?", 9 }, after = { "?=", 2 };
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char plain[LIMIT_NAME];
	uint32_t bits = 0;
	size_t n = 0;
	int have = 0;

	if (!str_starts(header, before) || !str_ends(header, after))
		return str_eq(header, name);
	header = str_head(str_from(header, before.n), header.n - before.n - after.n);
	for (size_t i = 0; i < header.n && header.p[i] != '='; i++) {
		const char *digit = memchr(digits, header.p[i], 64);

		if (!digit || n == sizeof plain)
			return false;
		bits = bits << 6 | (uint32_t)(digit - digits);
		have += 6;
		if (have >= 8) {
			have -= 8;
			plain[n++] = (char)(bits >> have);
		}
	}
	return str_eq(str_n(plain, n), name);
}

/* False: it has been answered. */
static bool check_headers(struct mcp *m, const struct mcp_headers *h, str method, const struct json *params)
{
	str version = meta(params, META "protocolVersion");
	const char *wrong = NULL;

	if (!m->modern)
		return true;
	if (!str_is_set(h->version) || (str_is_set(version) && !str_eq(version, h->version)))
		wrong = "MCP-Protocol-Version";
	else if (!str_eq(h->method, method))
		wrong = "Mcp-Method";
	else if (str_eq(method, STR("tools/call")) && !is_header_name(h->name, json_str(json_get(params, STR("name")))))
		wrong = "Mcp-Name";
	if (wrong)
		fail(m, MCP_HEADER_MISMATCH, 400, STR_NONE, "the header %.*s is missing, or not what the body says",
			str_of(wrong));
	return !wrong;
}

static bool check_version(struct mcp *m, const struct mcp_headers *h, const struct json *params)
{
	str version = meta(params, META "protocolVersion");
	const struct json *can = json_path(params, "_meta", META "clientCapabilities", NULL);

	if (!m->modern)
		return true;
	if (!str_is_set(version) && h)
		version = h->version;
	if (!str_eq(version, STR(MODERN))) {
		fail(m, MCP_UNKNOWN_VERSION, 400, str_is_set(version) ? version : STR(""),
			"unsupported protocol version '%.*s'", version);
		return false;
	}
	if (!can || can->type != JSON_OBJECT) {
		fail(m, MCP_BAD_PARAMS, 400, STR_NONE, "_meta: %.*s is missing", STR(META "clientCapabilities"));
		return false;
	}
	return true;
}

static void serve(struct mcp *m, const struct mcp_headers *h)
{
	const struct json *params = json_get(m->root, STR("params"));
	str method = json_str(json_get(m->root, STR("method")));
	bool first = str_eq(method, STR("initialize"));

	m->modern = str_eq(method, STR("server/discover")) ||
		(!first && str_is_set(meta(params, META "protocolVersion"))) ||
		(h && str_is_set(h->version) && !is_legacy(h->version));
	if ((h && !check_headers(m, h, method, params)) || !check_version(m, h, params))
		return;
	for (size_t i = 0; i < countof(methods); i++)
		if (str_eq(method, str_of(methods[i].name)) &&
			(m->modern ? methods[i].in_modern : methods[i].in_legacy)) {
			methods[i].run(m, params);
			return;
		}
	fail(m, MCP_NO_METHOD, m->modern ? 404 : 200, STR_NONE, "there is no method '%.*s'", method);
}

void mcp_begin(struct mcp *m, str text, const struct mcp_headers *headers)
{
	struct err err = { 0 };
	struct json *root;

	*m = (struct mcp){ .status = 200 };
	buf_init(&m->reply, 3 * LIMIT_RPC_REPLY);
	if (json_parse(&m->arena, text, 0, &root, &err) < 0) {
		fail(m, MCP_PARSE_ERROR, 400, STR_NONE, "not JSON: %.*s", str_of(err.text));
		return;
	}
	m->root = root;
	if (is_reply(root)) {
		m->status = 202;
		return;
	}
	if (is_request(root) && !json_get(root, STR("id"))) {
		m->status = 202; /* a notification: there is none that we act on */
		return;
	}
	if (!is_request(root) || !is_id(json_get(root, STR("id")))) {
		fail(m, MCP_BAD_REQUEST, 400, STR_NONE, "not a JSON-RPC 2.0 request%.*s", STR(""));
		return;
	}
	m->id = json_get(root, STR("id"));
	serve(m, headers);
}

void mcp_finish(struct mcp *m, const struct op_answer *answer)
{
	str text = answer->code ? answer->message : answer->result;
	struct json_writer w;

	begin_result(m, &w);
	jw_key(&w, "content");
	jw_array(&w);
	jw_object(&w);
	jw_field_str(&w, "type", STR("text"));
	jw_field_str(&w, "text", text);
	jw_end_object(&w);
	jw_end_array(&w);
	if (answer->code) {
		jw_field_bool(&w, "isError", true);
	} else {
		jw_key(&w, "structuredContent");
		jw_raw(&w, text);
	}
	end_result(m, &w, false);
	if (!m->reply.full)
		return;
	buf_clear(&m->reply);
	mcp_finish(m, &(struct op_answer){ OP_FAILED, .message = STR("the answer is too large; ask for less") });
}

void mcp_release(struct mcp *m)
{
	buf_release(&m->reply);
	arena_release(&m->arena);
}
