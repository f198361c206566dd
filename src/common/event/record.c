/* The bytes of a record: fixed head, then fields (tag, length, bytes). Little endian. */
#include "event/event.h"

#include <errno.h>

#include "base/codec.h"

enum {
	RECORD_VERSION = 1,
	RECORD_HEAD = 40, /* version, kind, class, zero, marks, id, at, order */
	FIELD_HEAD = 5,
};

/* Tags are part of the format on disk: never renumbered, never reused. A kind is written by name,
 * because the enum may be reordered between releases. */
static const struct {
	uint8_t tag;
	size_t offset;
} fields[] = {
	{ 1, offsetof(struct record, agent) },
	{ 2, offsetof(struct record, native) },
	{ 3, offsetof(struct record, session) },
	{ 4, offsetof(struct record, cwd) },
	{ 5, offsetof(struct record, transcript_path) },
	{ 6, offsetof(struct record, agent_id) },
	{ 7, offsetof(struct record, tool_name) },
	{ 8, offsetof(struct record, tool_use_id) },
	{ 9, offsetof(struct record, host) },
	{ 10, offsetof(struct record, payload) },
	{ 11, offsetof(struct record, twin) },
};

enum { TAG_KIND = 64, TAG_CLASS = 65 };

static void add_field(struct buf *b, uint8_t tag, str s)
{
	uint8_t head[FIELD_HEAD] = { tag };

	if (!str_is_set(s))
		return;
	put_le(head + 1, s.n, 4);
	buf_add(b, head, sizeof head);
	buf_add_str(b, s);
}

int record_encode(const struct record *r, struct buf *b)
{
	uint8_t head[RECORD_HEAD] = { RECORD_VERSION };

	put_le(head + 4, r->marks, 4);
	memcpy(head + 8, r->id.b, ULID_BYTES);
	put_le(head + 24, (uint64_t)r->at_us, 8);
	put_le(head + 32, (uint64_t)r->order_us, 8);
	buf_add(b, head, sizeof head);
	add_field(b, TAG_KIND, str_of(event_kinds[r->kind].name));
	add_field(b, TAG_CLASS, str_of(tool_class_names[r->tool_class]));
	for (size_t i = 0; i < countof(fields); i++)
		add_field(b, fields[i].tag, *(const str *)((const char *)r + fields[i].offset));
	return b->full ? -E2BIG : 0;
}

static void take_field(struct record *r, uint8_t tag, str s)
{
	if (tag == TAG_KIND)
		r->kind = event_kind_by_name(s);
	if (tag == TAG_CLASS)
		for (enum tool_class c = 0; c < TOOL_CLASS_MAX; c++)
			if (str_eq(s, str_of(tool_class_names[c])))
				r->tool_class = c;
	for (size_t i = 0; i < countof(fields); i++)
		if (fields[i].tag == tag)
			*(str *)((char *)r + fields[i].offset) = s;
}

int record_decode(str bytes, struct record *ret)
{
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct record r = { 0 };
	size_t at = RECORD_HEAD;

	if (bytes.n < RECORD_HEAD || p[0] != RECORD_VERSION)
		return -EBADMSG;
	r.marks = (unsigned)get_le(p + 4, 4);
	memcpy(r.id.b, p + 8, ULID_BYTES);
	r.at_us = (int64_t)get_le(p + 24, 8);
	r.order_us = (int64_t)get_le(p + 32, 8);
	while (at < bytes.n) {
		size_t n;

		if (bytes.n - at < FIELD_HEAD)
			return -EBADMSG;
		n = (size_t)get_le(p + at + 1, 4);
		if (n > bytes.n - at - FIELD_HEAD)
			return -EBADMSG;
		take_field(&r, p[at], str_n(bytes.p + at + FIELD_HEAD, n));
		at += FIELD_HEAD + n;
	}
	if (str_empty(r.agent))
		return -EBADMSG;
	*ret = r;
	return 0;
}
