/* Calls from hookc: a HOOK frame becomes a call, its answer a DONE frame. The call's bytes are in the connection's
 * buffer; the connection reads on when they are released. */
#include "base/log.h"
#include "engine/turn.h"

static void send_wait(void *arg, enum wire_stored stored, uint32_t ms)
{
	struct wire_reply reply = { .type = WIRE_WAIT, .stored = stored, .wait_ms = ms };
	uint8_t head[WIRE_REPLY_FIXED];
	struct iovec piece = { head, sizeof head };

	wire_reply_encode(&reply, head);
	conn_send(arg, &piece, 1);
}

static void send_done(void *arg, enum wire_stored stored, const struct answer *answer)
{
	struct wire_reply reply = { .type = WIRE_DONE,
		.stored = stored,
		.exit_code = answer->exit_code,
		.out = answer->out->full ? STR_NONE : buf_str(answer->out),
		.err = answer->err };
	uint8_t head[WIRE_REPLY_FIXED];
	struct iovec pieces[3];

	wire_reply_encode(&reply, head);
	pieces[0] = (struct iovec){ head, sizeof head };
	pieces[1] = (struct iovec){ (void *)reply.out.p, reply.out.n };
	pieces[2] = (struct iovec){ (void *)reply.err.p, reply.err.n };
	conn_send(arg, pieces, 3);
}

static void release(void *arg)
{
	conn_answer(arg, NULL, 0);
}

static bool is_gone(void *arg)
{
	return conn_is_gone(arg);
}

static void refuse(struct conn *c)
{
	uint8_t head[WIRE_HEADER];
	struct iovec piece = { head, sizeof head };

	log_warn(LOG_ENGINE, "a frame without agent or key was refused");
	wire_header_encode(head, WIRE_REFUSED, 0);
	conn_answer(c, &piece, 1);
}

void engine_hook(struct conn *c, str body, void *arg)
{
	struct hook_call call = { .way = HOOK_WAY_FRAME,
		.caller = { .wait = send_wait, .done = send_done, .release = release, .is_gone = is_gone, .arg = c } };

	if (wire_hook_decode(body, &call.hook) < 0)
		refuse(c);
	else
		engine_call(arg, &call);
}
