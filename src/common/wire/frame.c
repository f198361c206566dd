#include "wire/wire.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/macro.h"

/* Fields of a HOOK frame. A number is never given a second meaning. The payload comes last, so that
 * its bytes need not be moved behind the head. */
enum tag {
	TAG_ID = 1,
	TAG_AT_MS = 2,
	TAG_DEADLINE_MS = 3,
	TAG_PID = 4,
	TAG_PPID = 5,
	TAG_AGENT = 6,
	TAG_EVENT = 7,
	TAG_CWD = 8,
	TAG_ARG = 9,  /* may repeat */
	TAG_ENV = 10, /* may repeat */
	TAG_CUT = 11, /* total, then the hash */
	TAG_PAYLOAD = 12,
	TAG_MAX,
};

enum { CUT_BYTES = 8 + SHA256_BYTES };

/* -- header ------------------------------------------------------------------------------------ */

void wire_header_encode(void *p, uint8_t type, uint32_t length)
{
	uint8_t *out = p;

	out[0] = WIRE_MAGIC;
	out[1] = WIRE_PROTO;
	out[2] = type;
	out[3] = 0;
	put_le(out + 4, length, 4);
}

int wire_header_decode(const void *p, struct wire_header *ret)
{
	const uint8_t *in = p;

	if (in[0] != WIRE_MAGIC || in[1] == 0)
		return -EBADMSG;
	/* A number we do not speak may use the rest as it likes; the caller refuses it by its
	 * number, which is a better answer than "nonsense". */
	if (in[1] >= WIRE_PROTO_MIN && in[1] <= WIRE_PROTO)
		if (in[2] == 0 || in[2] >= WIRE_TYPE_MAX || in[3] != 0)
			return -EBADMSG;
	ret->proto = in[1];
	ret->type = in[2];
	ret->length = (uint32_t)get_le(in + 4, 4);
	return 0;
}

/* -- HOOK -------------------------------------------------------------------------------------- */

/* Where the head is being written. Once something did not fit, nothing more is. */
struct writer {
	uint8_t *p;
	size_t n, cap;
	bool full;
};

static void add_bytes(struct writer *w, const void *p, size_t n)
{
	if (w->full || n > w->cap - w->n) {
		w->full = true;
		return;
	}
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

static void add_field_head(struct writer *w, enum tag tag, size_t n)
{
	uint8_t head[WIRE_FIELD_HEADER];

	if (n > UINT32_MAX) {
		w->full = true;
		return;
	}
	head[0] = (uint8_t)tag;
	put_le(head + 1, n, 4);
	add_bytes(w, head, sizeof head);
}

static void add_str(struct writer *w, enum tag tag, str s)
{
	add_field_head(w, tag, s.n);
	add_bytes(w, s.p, s.n);
}

static void add_number(struct writer *w, enum tag tag, uint64_t v, size_t bytes)
{
	uint8_t le[8];

	put_le(le, v, sizeof le);
	add_field_head(w, tag, bytes);
	add_bytes(w, le, bytes);
}

ptrdiff_t wire_hook_encode(const struct wire_hook *h, void *p, size_t cap)
{
	struct writer w = { .p = p, .n = WIRE_HEADER, .cap = cap, .full = cap < WIRE_HEADER };
	uint64_t length;

	add_str(&w, TAG_ID, str_n((const char *)h->id.b, ULID_BYTES));
	add_number(&w, TAG_AT_MS, (uint64_t)h->at_ms, 8);
	add_number(&w, TAG_DEADLINE_MS, h->deadline_ms, 4);
	add_number(&w, TAG_PID, h->pid, 4);
	add_number(&w, TAG_PPID, h->ppid, 4);
	add_str(&w, TAG_AGENT, h->agent);
	if (!str_empty(h->event))
		add_str(&w, TAG_EVENT, h->event);
	if (!str_empty(h->cwd))
		add_str(&w, TAG_CWD, h->cwd);
	for (size_t i = 0; i < h->nargs && i < WIRE_ARGS_MAX; i++)
		add_str(&w, TAG_ARG, h->args[i]);
	for (size_t i = 0; i < h->nenv && i < WIRE_ENV_MAX; i++)
		add_str(&w, TAG_ENV, h->env[i]);
	if (h->cut) {
		uint8_t total[8];

		put_le(total, h->total, sizeof total);
		add_field_head(&w, TAG_CUT, CUT_BYTES);
		add_bytes(&w, total, sizeof total);
		add_bytes(&w, h->sha256, SHA256_BYTES);
	}
	add_field_head(&w, TAG_PAYLOAD, h->payload.n);
	length = (uint64_t)(w.n - WIRE_HEADER) + h->payload.n;
	if (w.full || length > UINT32_MAX)
		return -ENOBUFS;
	wire_header_encode(p, WIRE_HOOK, (uint32_t)length);
	return (ptrdiff_t)w.n;
}

/* The size a field must have, or 0 for "any". */
static const uint8_t field_sizes[TAG_MAX] = {
	[TAG_ID] = ULID_BYTES,
	[TAG_AT_MS] = 8,
	[TAG_DEADLINE_MS] = 4,
	[TAG_PID] = 4,
	[TAG_PPID] = 4,
	[TAG_CUT] = CUT_BYTES,
};

static void take_field(struct wire_hook *h, enum tag tag, str v)
{
	switch (tag) {
	case TAG_ID: memcpy(h->id.b, v.p, ULID_BYTES); break;
	case TAG_AT_MS: h->at_ms = (int64_t)get_le(v.p, 8); break;
	case TAG_DEADLINE_MS: h->deadline_ms = (uint32_t)get_le(v.p, 4); break;
	case TAG_PID: h->pid = (uint32_t)get_le(v.p, 4); break;
	case TAG_PPID: h->ppid = (uint32_t)get_le(v.p, 4); break;
	case TAG_AGENT: h->agent = v; break;
	case TAG_EVENT: h->event = v; break;
	case TAG_CWD: h->cwd = v; break;
	case TAG_ARG:
		if (h->nargs < WIRE_ARGS_MAX)
			h->args[h->nargs++] = v;
		break;
	case TAG_ENV:
		if (h->nenv < WIRE_ENV_MAX)
			h->env[h->nenv++] = v;
		break;
	case TAG_CUT:
		h->cut = true;
		h->total = get_le(v.p, 8);
		memcpy(h->sha256, v.p + 8, SHA256_BYTES);
		break;
	case TAG_PAYLOAD: h->payload = v; break;
	case TAG_MAX: break;
	}
}

int wire_hook_decode(str body, struct wire_hook *ret)
{
	struct wire_hook h = { 0 };
	uint32_t seen = 0;

	while (body.n) {
		uint8_t tag;
		size_t n;

		if (body.n < WIRE_FIELD_HEADER)
			return -EBADMSG;
		tag = (uint8_t)body.p[0];
		n = (size_t)get_le(body.p + 1, 4);
		body = str_from(body, WIRE_FIELD_HEADER);
		if (n > body.n)
			return -EBADMSG;
		if (tag > 0 && tag < TAG_MAX) {
			if (field_sizes[tag] && field_sizes[tag] != n)
				return -EBADMSG;
			/* Two payloads or two agents: whichever we took, somebody could mean the
			 * other. */
			if (seen >> tag & 1 && tag != TAG_ARG && tag != TAG_ENV)
				return -EBADMSG;
			seen |= UINT32_C(1) << tag;
			take_field(&h, tag, str_head(body, n));
		}
		body = str_from(body, n);
	}
	if (!(seen >> TAG_ID & 1) || str_empty(h.agent))
		return -EBADMSG;
	/* As many bits as a ULID has for it: whoever counts with it need not fear an overflow. */
	if (h.at_ms < 0 || h.at_ms >> 48)
		return -EBADMSG;
	if (!h.cut)
		h.total = h.payload.n;
	*ret = h;
	return 0;
}

/* -- replies ----------------------------------------------------------------------------------- */

/* The fixed part of a reply's body: stored, exit code, two zero bytes, then wait_ms and the lengths
 * of out and err. What follows err is left for later releases and skipped. */
enum { AT_STORED = 0, AT_EXIT = 1, AT_WAIT_MS = 4, AT_OUT = 8, AT_ERR = 12, REPLY_BODY = 16 };

void wire_reply_encode(const struct wire_reply *r, uint8_t out[WIRE_REPLY_FIXED])
{
	uint8_t *body = out + WIRE_HEADER;

	memset(out, 0, WIRE_REPLY_FIXED);
	wire_header_encode(out, (uint8_t)r->type, (uint32_t)(REPLY_BODY + r->out.n + r->err.n));
	body[AT_STORED] = (uint8_t)r->stored;
	body[AT_EXIT] = r->exit_code;
	put_le(body + AT_WAIT_MS, r->wait_ms, 4);
	put_le(body + AT_OUT, r->out.n, 4);
	put_le(body + AT_ERR, r->err.n, 4);
}

int wire_reply_decode(uint8_t type, str body, struct wire_reply *ret)
{
	uint64_t out, err;

	if (type != WIRE_WAIT && type != WIRE_DONE && type != WIRE_REFUSED)
		return -EBADMSG;
	if (body.n < REPLY_BODY || (uint8_t)body.p[AT_STORED] >= WIRE_STORED_MAX)
		return -EBADMSG;
	out = get_le(body.p + AT_OUT, 4);
	err = get_le(body.p + AT_ERR, 4);
	if (out + err > body.n - REPLY_BODY)
		return -EBADMSG;
	*ret = (struct wire_reply){
		.type = (enum wire_type)type,
		.stored = (enum wire_stored)(uint8_t)body.p[AT_STORED],
		.wait_ms = (uint32_t)get_le(body.p + AT_WAIT_MS, 4),
		.exit_code = (uint8_t)body.p[AT_EXIT],
		.out = str_n(body.p + REPLY_BODY, (size_t)out),
		.err = str_n(body.p + REPLY_BODY + out, (size_t)err),
	};
	return 0;
}

const char *wire_stored_name(enum wire_stored s)
{
	static const char *const names[WIRE_STORED_MAX] = {
		[WIRE_STORED_NO] = "no",
		[WIRE_STORED_JOURNALED] = "journaled",
		[WIRE_STORED_COMMITTED] = "committed",
	};

	return (unsigned)s < WIRE_STORED_MAX ? names[s] : "?";
}

/* -- decision events --------------------------------------------------------------------------- */
