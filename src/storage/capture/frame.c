/* A frame of records that were made elsewhere, from an agent's own log. It is one transaction: its records and how far
 * that file has been read are committed together. */
#include <errno.h>

#include "base/clock.h"
#include "capture/internal.h"
#include "wire/wire.h"

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

static int fold_records(struct capture_frame *m, struct store *s, str rest)
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

int capture_take_frame(struct store *s, void *arg)
{
	struct capture_frame *m = arg;
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
