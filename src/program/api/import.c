/* History comes in: frames of records from `hookd import`.
 *
 * A frame is one transaction: its records and how far its file has been read are committed together. The loop only
 * passes the frame to the writer; the answer reports the result. */
#include <errno.h>
#include <stdlib.h>

#include "api/import.h"
#include "api/ops.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum { SETTLE_AT_ONCE = 8 }; /* sessions in one transaction, so that events come in between */

struct import {
	struct import_frame frame; /* its body lies in the connection's buffer until the answer */
	struct loop *loop;
	struct conn *conn;
	int result;
};

/* -- on the writer ----------------------------------------------------------------------------- */

static int keep_position(struct store *s, const struct json *head, const char *purpose)
{
	str path = json_str(json_get(head, STR("path")));
	int64_t offset = 0, lines = 0, broken = 0;

	if (str_empty(path))
		return 0;
	json_int(json_get(head, STR("offset")), &offset);
	json_int(json_get(head, STR("lines")), &lines);
	json_int(json_get(head, STR("broken")), &broken);
	return store_do(s,
		"INSERT INTO transcripts(path, agent, identity, offset, state, lines, broken, read_at, purpose) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(path, purpose) DO UPDATE SET agent = ?2, "
		"identity = ?3, offset = ?4, state = ?5, lines = ?6, broken = ?7, read_at = ?8",
		"sssisiiis", path, json_str(json_get(head, STR("agent"))), json_str(json_get(head, STR("identity"))),
		offset, json_str(json_get(head, STR("state"))), lines, broken, clock_wall_us(), str_of(purpose));
}

static int fold_records(struct import_frame *m, struct store *s, str rest)
{
	struct record r;
	str piece;
	int got;

	while ((got = wire_records_next(&rest, &piece)) == 1) {
		if (record_decode(piece, &r) < 0) {
			m->unreadable++;
			continue;
		}
		/* Of hookd's own kinds transcripts contain only tokens. */
		if (event_kinds[r.kind].flags & EVENT_IS_OWN && r.kind != EVENT_MODEL_USAGE) {
			m->unreadable++;
			continue;
		}
		r.marks |= EVENT_IMPORTED;
		/* A record that cannot be folded must not block its file forever. */
		got = capture_fold_carefully(m->capture, s, &r);
		if (got < 0)
			return got;
		m->fresh += got > 0;
		m->known += !got;
	}
	return got;
}

int import_take_frame(struct store *s, void *arg)
{
	struct import_frame *m = arg;
	struct arena arena = { 0 };
	struct json *head = NULL;
	str rest = m->body, piece;
	int r = wire_records_next(&rest, &piece);

	if (r != 1 || json_parse(&arena, piece, 0, &head, NULL) < 0 || head->type != JSON_OBJECT)
		r = -EBADMSG;
	if (r == 1)
		r = fold_records(m, s, rest);
	if (r == 0)
		r = capture_finish(m->capture, s);
	if (r == 0)
		r = keep_position(s, head, m->purpose);
	if (r < 0)
		capture_forget(m->capture);
	arena_release(&arena);
	return r;
}

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
	return import_take_frame(s, &((struct import *)arg)->frame);
}

void api_records(struct conn *c, str body, void *arg)
{
	const struct api_context *ctx = api_context_of(arg);
	struct import *m = xcalloc(1, sizeof *m);

	m->frame = (struct import_frame){ .capture = ctx->capture, .purpose = "import", .body = body };
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
