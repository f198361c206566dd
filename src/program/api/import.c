/* History comes in: frames of records from `hookd import`. The loop only passes a frame to the writer; the answer
 * reports the result. */
#include <stdlib.h>

#include "api/ops.h"
#include "base/alloc.h"
#include "base/clock.h"

enum { SETTLE_AT_ONCE = 8 }; /* sessions in one transaction, so that events come in between */

struct import {
	struct capture_frame frame; /* its body lies in the connection's buffer until the answer */
	struct loop *loop;
	struct conn *conn;
	int result;
};

/* -- on the loop ------------------------------------------------------------------------------- */

static void answer(void *arg)
{
	struct import *m = arg;
	struct buf b = BUF_INIT(KIB(4));
	struct json_writer w = JSON_WRITER(&b);
	struct wire_reply reply = { .type = WIRE_DONE,
		.stored = m->result < 0 ? WIRE_STORED_NO : WIRE_STORED_COMMITTED,
		.exit_code = m->result < 0 };
	uint8_t head[WIRE_REPLY_FIXED];
	struct iovec pieces[2];

	jw_object(&w);
	if (m->result < 0) {
		jw_field_str(&w, "error", str_of(strerror(-m->result)));
	} else {
		jw_field_int(&w, "new", m->frame.fresh);
		jw_field_int(&w, "known", m->frame.known);
		jw_field_int(&w, "unreadable", m->frame.unreadable);
	}
	jw_end_object(&w);
	reply.out = buf_str(&b);
	wire_reply_encode(&reply, head);
	pieces[0] = (struct iovec){ head, sizeof head };
	pieces[1] = (struct iovec){ b.p, b.len };
	conn_answer(m->conn, pieces, 2);
	buf_release(&b);
	free(m);
}

static void frame_taken(int result, void *arg)
{
	struct import *m = arg;

	m->result = result;
	loop_post(m->loop, answer, m);
}

static int take_frame(struct store *s, void *arg)
{
	return capture_take_frame(s, &((struct import *)arg)->frame);
}

void api_records(struct conn *c, str body, void *arg)
{
	const struct api_context *ctx = api_context_of(arg);
	struct import *m = xcalloc(1, sizeof *m);

	m->frame = (struct capture_frame){ .capture = ctx->capture, .purpose = "import", .body = body };
	m->loop = ctx->loop;
	m->conn = c;
	writer_post_then(ctx->writer, take_frame, frame_taken, m);
}

/* -- operations -------------------------------------------------------------------------------- */

int op_transcripts(struct op_call *call)
{
	static const struct op_column columns[] = { { "path", 's' }, { "agent", 's' }, { "identity", 's' },
		{ "offset", 'i' }, { "state", 's' }, { "lines", 'i' }, { "broken", 'i' }, { "read_at", 'i' }, { 0 } };
	int64_t limit = op_int(call, "limit");
	str after = op_text(call, "after");
	int r;

	jw_object(call->w);
	r = op_write_list(call, "transcripts",
		store_ask(call->store,
			"SELECT path, agent, identity, offset, state, lines, broken, read_at FROM transcripts "
			"WHERE purpose = 'import' AND path > ?1 ORDER BY path LIMIT ?2",
			"si", str_is_set(after) ? after : STR(""), limit),
		columns);
	jw_end_object(call->w);
	return r;
}

int op_settle(struct op_call *call)
{
	int left = capture_refold_due(call->ctx->capture, call->store, SETTLE_AT_ONCE);
	int r = left;

	/* What is old is over: shown so at once, not a minute later. */
	if (left == 0)
		r = capture_complete_stale(call->store, clock_wall_us());
	if (r < 0) {
		capture_forget(call->ctx->capture);
		return r;
	}
	jw_object(call->w);
	jw_field_int(call->w, "left", left);
	jw_end_object(call->w);
	return 0;
}
