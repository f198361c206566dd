/* sessions: the list. */
#include <errno.h>

#include "api/ops.h"

/* A worktree's session belongs to the main project; the worktree is listed beside it. Lists carry the
 * beginning of the last messages, one session all that is kept of them. */
#define SESSION_SELECT(last)                                                                                          \
	"SELECT s.key, s.agent, s.native_id, s.cwd, coalesce(y.title, s.title), s.status, s.started_at, s.last_at, "  \
	"s.ended_at, "                                                                                                \
	"  s.end_reason, s.events, s.prompts, s.tools, s.model, q.native_id, iif(t.parent IS NULL, s.parent_reason, " \
	"'accepted'), s.transcript, "                                                                                 \
	"  nullif(s.hidden, 0), substr(s.last_user, 1, " last "), substr(s.last_assistant, 1, " last                  \
	"), y.text, y.origin, "                                                                                       \
	"  p.key, p.name, p.path, CASE WHEN w.parent IS NOT NULL THEN w.path END "                                    \
	"FROM sessions s LEFT JOIN projects w ON w.key = s.project "                                                  \
	"LEFT JOIN projects p ON p.key = coalesce(w.parent, w.key) LEFT JOIN accepted t ON t.session = s.key LEFT "   \
	"JOIN sessions q ON q.key = coalesce(t.parent, s.parent) LEFT JOIN summaries y ON y.session = s.key "

static const struct op_column session_columns[] = {
	{ "key", 'i' },
	{ "agent", 's' },
	{ "id", 's' },
	{ "cwd", 's' },
	{ "title", 's' },
	{ "status", 's' },
	{ "started_us", 'i' },
	{ "last_us", 'i' },
	{ "ended_us", 'i' },
	{ "end_reason", 's' },
	{ "events", 'i' },
	{ "prompts", 'i' },
	{ "tools", 'i' },
	{ "model", 's' },
	{ "parent", 's' },
	{ "parent_reason", 's' },
	{ "transcript_path", 's' },
	{ "hidden", 'b' },
	{ "last_user", 's' },
	{ "last_assistant", 's' },
	{ "summary", 's' },
	{ "origin", 's' },
	{ 0 },
};
enum { COLUMN_PROJECT = countof(session_columns) - 1, COLUMN_WORKTREE = COLUMN_PROJECT + 3 };

static void write_session_row(struct json_writer *w, struct query *q)
{
	jw_object(w);
	op_write_columns(w, q, session_columns);
	if (!query_is_null(q, COLUMN_PROJECT)) {
		jw_key(w, "project");
		jw_object(w);
		jw_field_int(w, "key", query_int(q, COLUMN_PROJECT));
		jw_field_str(w, "name", query_str(q, COLUMN_PROJECT + 1));
		jw_field_str(w, "path", query_str(q, COLUMN_PROJECT + 2));
		jw_end_object(w);
		jw_field_str(w, "worktree", query_str(q, COLUMN_WORKTREE));
	}
	jw_end_object(w);
}

int op_write_session(struct op_call *call, int64_t key)
{
	struct query *q = store_ask(call->store, SESSION_SELECT("100000") "WHERE s.key = ?1", "i", key);
	int got = query_step(q);

	if (got == 1)
		write_session_row(call->w, q);
	query_reset(q);
	return got == 1 ? 0 : got < 0 ? got : -ENOENT;
}

#define MORE_FILTER                                                                                          \
	"AND (?7 IS NULL OR s.status = ?7) AND (?8 IS NULL OR instr(lower(coalesce(y.title, s.title, '')), " \
	"lower(?8))) "

/* Newest first; with "after", by key from there on, which goes through all of them without missing one
 * that becomes active meanwhile. */
int op_sessions(struct op_call *call)
{
	bool walk = op_has(call, "after");
	int64_t after = op_int(call, "after");
	struct op_filter f;
	struct query *q;
	bool more = false;
	int got;

	op_read_filter(call, &f);
	q = store_ask(call->store,
		walk ? SESSION_SELECT("300") "WHERE s.key > ?9 AND " OP_FILTER_SQL MORE_FILTER "ORDER BY s.key LIMIT ?6"
		     : SESSION_SELECT("300") "WHERE ?9 = 0 AND " OP_FILTER_SQL MORE_FILTER
					     "ORDER BY s.last_at DESC, s.key DESC LIMIT ?6",
		OP_FILTER_TYPES "issi", OP_FILTER_ARGS(&f), f.limit, f.status, f.text, after);
	jw_object(call->w);
	jw_key(call->w, "sessions");
	jw_array(call->w);
	while (!more && (got = query_step(q)) == 1) {
		write_session_row(call->w, q);
		more = op_is_enough(call);
	}
	query_reset(q);
	jw_end_array(call->w);
	if (more)
		jw_field_bool(call->w, "more", true);
	jw_end_object(call->w);
	return got < 0 ? got : 0;
}
