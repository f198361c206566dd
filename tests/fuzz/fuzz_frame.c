/* Hostile frames: the first byte chooses between a HOOK body, a reply body and a header. Whatever
 * decodes is encoded again and must decode to the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_inside(str whole, str part)
{
	check(part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n));
}

static void check_same(const struct wire_hook *a, const struct wire_hook *b)
{
	check(ulid_eq(&a->id, &b->id) && a->at_ms == b->at_ms && a->deadline_ms == b->deadline_ms);
	check(a->pid == b->pid && a->ppid == b->ppid && a->cut == b->cut && a->total == b->total);
	check(memcmp(a->sha256, b->sha256, SHA256_BYTES) == 0);
	check(str_eq(a->agent, b->agent) && str_eq(a->event, b->event) && str_eq(a->cwd, b->cwd));
	check(str_eq(a->payload, b->payload) && a->nargs == b->nargs && a->nenv == b->nenv);
	for (size_t i = 0; i < a->nargs; i++)
		check(str_eq(a->args[i], b->args[i]));
	for (size_t i = 0; i < a->nenv; i++)
		check(str_eq(a->env[i], b->env[i]));
}

static void hook(str body)
{
	size_t cap = body.n + 512;
	struct wire_hook h, again;
	ptrdiff_t head;
	char *frame;

	if (wire_hook_decode(body, &h) < 0)
		return;
	check_inside(body, h.agent);
	check_inside(body, h.event);
	check_inside(body, h.cwd);
	check_inside(body, h.payload);
	frame = malloc(cap);
	head = frame ? wire_hook_encode(&h, frame, cap) : 0;
	check(head > 0 && (size_t)head + h.payload.n <= cap);
	if (h.payload.n)
		memcpy(frame + head, h.payload.p, h.payload.n);
	check(wire_hook_decode(str_n(frame + WIRE_HEADER, (size_t)head - WIRE_HEADER + h.payload.n), &again) == 0);
	check_same(&h, &again);
	free(frame);
}

static void reply(uint8_t type, str body)
{
	uint8_t fixed[WIRE_REPLY_FIXED];
	struct wire_reply r, again;
	struct wire_header h;

	if (wire_reply_decode(type, body, &r) < 0)
		return;
	check_inside(body, r.out);
	check_inside(body, r.err);
	wire_reply_encode(&r, fixed);
	check(wire_header_decode(fixed, &h) == 0 && h.type == type);
	r.out.n = r.err.n = 0;
	wire_reply_encode(&r, fixed);
	body = str_n((const char *)fixed + WIRE_HEADER, sizeof fixed - WIRE_HEADER);
	check(wire_reply_decode(type, body, &again) == 0);
	check(again.exit_code == r.exit_code && again.stored == r.stored);
	check(again.wait_ms == r.wait_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str rest;

	if (size == 0)
		return 0;
	rest = str_n((const char *)data + 1, size - 1);
	if (data[0] < 0x80) {
		hook(rest);
	} else if (data[0] < 0xC0) {
		reply(data[0] & 7, rest);
	} else if (rest.n >= WIRE_HEADER) {
		struct wire_header h;

		if (wire_header_decode(rest.p, &h) == 0)
			check(h.proto != 0);
	}
	return 0;
}
