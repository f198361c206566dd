/* JSON-RPC 2.0: a request as text becomes a call of an operation, its answer a reply as text. */
#include <errno.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/limits.h"

enum { RPC_PARSE_ERROR = -32700, RPC_BAD_REQUEST = -32600 };

struct rpc {
	struct arena arena;
	const struct json *id;
	void (*done)(str reply, void *arg);
	void *arg;
};

static void rpc_free(struct rpc *r)
{
	arena_release(&r->arena);
	free(r);
}

static void write_reply(struct buf *b, const struct json *id, const struct op_answer *answer)
{
	struct json_writer w = JSON_WRITER(b);

	jw_object(&w);
	jw_field_str(&w, "jsonrpc", STR("2.0"));
	jw_key(&w, "id");
	if (id)
		jw_value(&w, id);
	else
		jw_null(&w);
	if (answer->code) {
		jw_key(&w, "error");
		jw_object(&w);
		jw_field_int(&w, "code", answer->code);
		jw_field_str(&w, "message", answer->message);
		jw_end_object(&w);
	} else {
		jw_key(&w, "result");
		jw_raw(&w, answer->result);
	}
	jw_end_object(&w);
}

static void reply(const struct op_answer *answer, void *arg)
{
	struct rpc *r = arg;
	struct buf b;

	if (!answer) {
		r->done(STR_NONE, r->arg);
		rpc_free(r);
		return;
	}
	buf_init(&b, LIMIT_RPC_REPLY + KIB(64));
	write_reply(&b, r->id, answer);
	if (b.full) {
		buf_clear(&b);
		write_reply(&b, NULL,
			&(struct op_answer){ OP_FAILED,
				.message = STR("the answer is larger than 24 MiB; ask for less") });
	}
	r->done(buf_str(&b), r->arg);
	buf_release(&b);
	rpc_free(r);
}

static void refuse(struct rpc *r, int code, const char *message)
{
	reply(&(struct op_answer){ code, .message = str_of(message) }, r);
}

void rpc_call(struct api *a, str text, bool over_tcp, void (*done)(str reply, void *arg), void *arg)
{
	struct rpc *r = xcalloc(1, sizeof *r);
	struct op_request q = { .scope = OP_OWNER, .over_tcp = over_tcp, .done = reply, .arg = r };
	struct err err = { 0 };
	struct json *root, *method;

	r->done = done;
	r->arg = arg;
	/* The tree borrows from the text. */
	if (json_parse(&r->arena, text, JSON_LENIENT_UTF8, &root, &err) < 0) {
		refuse(r, RPC_PARSE_ERROR, err.text);
		return;
	}
	r->id = json_get(root, STR("id"));
	method = json_get(root, STR("method"));
	if (!method)
		method = json_get(root, STR("cmd")); /* the older form */
	if (!method || method->type != JSON_STRING) {
		refuse(r, RPC_BAD_REQUEST, "a request is an object with a method");
		return;
	}
	q.method = method->text;
	q.params = json_get(root, STR("params"));
	if (!q.params)
		q.params = json_get(root, STR("args"));
	q.env = json_get(root, STR("env"));
	q.token = json_str(json_get(root, STR("token")));
	api_call(a, &q);
}

/* -- on the socket ----------------------------------------------------------------------------- */

static void answer_line(str text, void *arg)
{
	struct iovec pieces[] = { { (void *)text.p, text.n }, { (void *)"\n", 1 } };

	if (str_is_set(text))
		conn_answer(arg, pieces, 2);
}

void api_line(struct conn *c, str line, void *arg)
{
	/* The line lies in the connection's buffer until the answer. */
	rpc_call(arg, line, false, answer_line, c);
}
