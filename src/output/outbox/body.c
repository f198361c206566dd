/* An event as others read it.
 *
 * What `data` may have is a table: the name, where the value is, and for which types it is written. The same rows
 * answer criteria. Texts are what was stored, so they are redacted; long ones are shortened until the body fits, and
 * the body names those that were. */
#include "outbox/internal.h"

#include <stdio.h>

/* -- the fields -------------------------------------------------------------------------------- */

enum field_type { FIELD_TEXT, FIELD_TREE, FIELD_TRUTH, FIELD_NUMBER };

enum {
	START = 1 << OUTBOX_SESSION_START,
	PROMPT = 1 << OUTBOX_PROMPT,
	STOP = 1 << OUTBOX_STOP,
	NOTE = 1 << OUTBOX_NOTIFICATION,
	END = 1 << OUTBOX_SESSION_END,
	ERROR = 1 << OUTBOX_ERROR,
	SUMMARY = 1 << OUTBOX_SUMMARY,
	OTHER = 1 << OUTBOX_OTHER,
	ALL = (1 << OUTBOX_TYPE_MAX) - 1,
};

struct field {
	const char *name;
	enum field_type type;
	bool of_event; /* else of the notice */
	size_t offset;
	unsigned types;
};

#define OF_EVENT(name_, TYPE, member, types_)                             \
	{                                                                 \
		name_, TYPE, true, offsetof(struct event, member), types_ \
	}
#define OF_NOTICE(name_, TYPE, member, types_)                                     \
	{                                                                          \
		name_, TYPE, false, offsetof(struct outbox_notice, member), types_ \
	}

static const struct field fields[] = {
	OF_NOTICE("session_id", FIELD_TEXT, native_session, ALL),
	OF_NOTICE("transcript_path", FIELD_TEXT, transcript_path, ALL),
	OF_NOTICE("cwd", FIELD_TEXT, cwd, ALL),
	OF_EVENT("source", FIELD_TEXT, source, START | SUMMARY | OTHER),
	OF_NOTICE("model", FIELD_TEXT, model, START | OTHER),
	OF_EVENT("permission_mode", FIELD_TEXT, permission_mode, START | PROMPT | STOP | OTHER),
	OF_EVENT("prompt_id", FIELD_TEXT, prompt_id, PROMPT | STOP | OTHER),
	OF_NOTICE("prompt", FIELD_TEXT, prompt, PROMPT | STOP | OTHER),
	OF_NOTICE("answer", FIELD_TEXT, answer, STOP),
	OF_EVENT("stop_hook_active", FIELD_TRUTH, stop_hook_active, STOP),
	OF_NOTICE("message", FIELD_TEXT, message, NOTE | ERROR | OTHER),
	OF_NOTICE("heading", FIELD_TEXT, heading, NOTE),
	OF_NOTICE("details", FIELD_TREE, details, NOTE),
	OF_NOTICE("notification_type", FIELD_TEXT, notification_type, NOTE),
	OF_EVENT("reason", FIELD_TEXT, reason, END | OTHER),
	OF_EVENT("error", FIELD_TEXT, error, ERROR | OTHER),
	OF_NOTICE("why", FIELD_TEXT, why, ERROR),
	OF_EVENT("agent_id", FIELD_TEXT, agent_id, NOTE | ERROR | OTHER),
	OF_EVENT("agent_type", FIELD_TEXT, agent_type, NOTE | ERROR | OTHER),
	OF_EVENT("tool_name", FIELD_TEXT, tool_name, NOTE | ERROR | OTHER),
	OF_EVENT("tool_use_id", FIELD_TEXT, tool_use_id, OTHER),
	OF_EVENT("command", FIELD_TEXT, command, OTHER),
	OF_EVENT("file_path", FIELD_TEXT, file_path, OTHER),
	OF_EVENT("is_interrupt", FIELD_TRUTH, is_interrupt, OTHER),
	OF_EVENT("duration_ms", FIELD_NUMBER, duration_ms, OTHER),
	OF_EVENT("tool_input", FIELD_TREE, tool_input, OTHER),
	OF_EVENT("tool_response", FIELD_TREE, tool_response, OTHER),
	OF_NOTICE("type", FIELD_TEXT, inbound_type, OTHER),
	OF_NOTICE("timestamp", FIELD_TEXT, inbound_at, OTHER),
	OF_NOTICE("properties", FIELD_TREE, properties, OTHER),
	OF_NOTICE("text", FIELD_TEXT, text, OTHER),
	OF_NOTICE("seq", FIELD_TREE, seq, OTHER),
	OF_NOTICE("final", FIELD_TREE, final, OTHER),
	OF_NOTICE("skipped_bytes", FIELD_TREE, skipped_bytes, OTHER),
	OF_NOTICE("stop_event_id", FIELD_TEXT, stop, SUMMARY),
	OF_NOTICE("title", FIELD_TEXT, title, STOP | END | SUMMARY),
	OF_NOTICE("summary", FIELD_TEXT, summary, END | SUMMARY),
	OF_NOTICE("transcript", FIELD_TEXT, transcript, STOP),
};

static bool is_of(const struct field *f, const struct outbox_notice *n)
{
	return f->types >> n->meaning.type & 1;
}

static const void *at(const struct field *f, const struct outbox_notice *n)
{
	return (const char *)(f->of_event ? (const void *)n->event : (const void *)n) + f->offset;
}

bool tree_property(const struct json *tree, str name, str *ret)
{
	const struct json *v = json_get(tree, name);

	*ret = STR("");
	if (v && v->type == JSON_BOOL)
		*ret = v->flag ? STR("true") : STR("false");
	else if (v && (v->type == JSON_STRING || v->type == JSON_NUMBER))
		*ret = v->text;
	return v && v->type != JSON_NULL;
}

bool notice_property(const struct outbox_notice *n, str name, struct arena *a, str *ret)
{
	*ret = STR("");
	if (str_starts(name, STR("properties.")))
		return tree_property(n->properties, str_from(name, 11), ret);
	for (size_t i = 0; i < countof(fields); i++) {
		const struct field *f = &fields[i];

		if (!is_of(f, n) || !str_eq(name, str_of(f->name)))
			continue;
		switch (f->type) {
		case FIELD_TEXT: *ret = *(const str *)at(f, n); return !str_empty(*ret);
		case FIELD_TREE: return *(const struct json *const *)at(f, n) != NULL;
		case FIELD_TRUTH: *ret = *(const bool *)at(f, n) ? STR("true") : STR("false"); return true;
		case FIELD_NUMBER:
			*ret = arena_strf(a, "%lld", (long long)*(const int64_t *)at(f, n));
			return *(const int64_t *)at(f, n) != 0;
		}
	}
	return false;
}

void notice_write_names(enum outbox_type type, struct json_writer *w)
{
	jw_array(w);
	for (size_t i = 0; i < countof(fields); i++)
		if (fields[i].types >> type & 1)
			jw_str(w, str_of(fields[i].name));
	jw_end_array(w);
}

/* -- writing ----------------------------------------------------------------------------------- */

/* How long a text and a tree may be; tried in this order until the whole fits. */
static const struct {
	size_t text, tree;
} caps[NOTICE_LEVELS] = { { KIB(64), KIB(48) }, { KIB(16), KIB(12) }, { KIB(4), KIB(3) }, { KIB(1), 512 } };

struct writing {
	struct json_writer w;
	const struct outbox_notice *n;
	size_t cap;
	const char *cut[countof(fields)]; /* names of what was shortened */
	size_t ncut;
};

static void write_text(struct writing *x, const char *name, str text)
{
	str shown = str_cut_utf8(text, caps[x->cap].text);

	if (str_empty(text))
		return;
	jw_field_str(&x->w, name, shown);
	if (shown.n < text.n)
		x->cut[x->ncut++] = name;
}

/* One that is too long becomes the beginning of its text. */
static void write_tree(struct writing *x, const char *name, const struct json *v)
{
	struct buf b = BUF_INIT(LIMIT_RECORD);

	if (v && json_write(&b, v) == 0) {
		if (b.len <= caps[x->cap].tree) {
			jw_key(&x->w, name);
			jw_raw(&x->w, buf_str(&b));
		} else {
			jw_field_str(&x->w, name, str_cut_utf8(buf_str(&b), caps[x->cap].tree));
			x->cut[x->ncut++] = name;
		}
	}
	buf_release(&b);
}

static void write_field(struct writing *x, const struct field *f)
{
	const void *p = at(f, x->n);

	switch (f->type) {
	case FIELD_TEXT: write_text(x, f->name, *(const str *)p); return;
	case FIELD_TREE: write_tree(x, f->name, *(const struct json *const *)p); return;
	case FIELD_TRUTH: jw_field_bool(&x->w, f->name, *(const bool *)p); return;
	case FIELD_NUMBER:
		if (*(const int64_t *)p)
			jw_field_int(&x->w, f->name, *(const int64_t *)p);
		return;
	}
}

/* What an event would have been, and what it lacks. */
static void write_missing(struct writing *x)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = { { NEEDS_SESSION, "session_id" }, { NEEDS_TRANSCRIPT, "transcript_path" },
		{ NEEDS_PROMPT, "prompt" } };
	const struct outbox_meaning *m = &x->n->meaning;

	if (!m->missing)
		return;
	jw_field_str(&x->w, "meant", str_of(outbox_types[m->meant].name));
	jw_key(&x->w, "missing");
	jw_array(&x->w);
	for (size_t i = 0; i < countof(names); i++)
		if (m->missing & names[i].bit)
			jw_str(&x->w, str_of(names[i].name));
	jw_end_array(&x->w);
}

static void write_data(struct writing *x)
{
	jw_key(&x->w, "data");
	jw_object(&x->w);
	write_missing(x);
	for (size_t i = 0; i < countof(fields); i++)
		if (is_of(&fields[i], x->n))
			write_field(x, &fields[i]);
	jw_end_object(&x->w);
}

void notice_write_at(const struct outbox_notice *n, unsigned level, struct buf *ret)
{
	struct writing x = { .w = JSON_WRITER(ret), .n = n, .cap = level };
	char when[CLOCK_TEXT];

	clock_format(n->at_us, 0, when);
	jw_object(&x.w);
	jw_field_str(&x.w, "id", n->id);
	jw_field_str(&x.w, "event_type", n->type);
	jw_field_str(&x.w, "session_id", n->session_id);
	jw_field_str(&x.w, "timestamp", str_of(when));
	jw_field_str(&x.w, "agent", n->agent);
	jw_field_str(&x.w, "event_id", n->event_id);
	jw_field_str(&x.w, "event", n->event_name);
	jw_field_str(&x.w, "native_event", str_cut_utf8(n->native_event, LIMIT_NAME));
	if (!str_empty(n->project_path)) {
		jw_key(&x.w, "project");
		jw_object(&x.w);
		jw_field_str(&x.w, "name", str_cut_utf8(n->project, LIMIT_NAME));
		jw_field_str(&x.w, "path", str_cut_utf8(n->project_path, FS_PATH));
		jw_end_object(&x.w);
	}
	write_data(&x);
	if (x.ncut) {
		jw_key(&x.w, "cut");
		jw_array(&x.w);
		for (size_t i = 0; i < x.ncut; i++)
			jw_str(&x.w, str_of(x.cut[i]));
		jw_end_array(&x.w);
	}
	jw_end_object(&x.w);
}

void notice_write(const struct outbox_notice *n, struct buf *ret)
{
	for (unsigned level = 0; level < NOTICE_LEVELS; level++) {
		buf_clear(ret);
		ret->full = false;
		notice_write_at(n, level, ret);
		if (!ret->full)
			return;
	}
}

/* -- for people -------------------------------------------------------------------------------- */

/* Without line breaks and what drives a terminal. */
static void add_line(struct buf *b, str text, size_t max)
{
	str shown = str_cut_utf8(text, max);
	bool blank = false;

	for (size_t i = 0; i < shown.n; i++) {
		unsigned char c = (unsigned char)shown.p[i];

		if (c <= ' ' || c == 0x7f) {
			blank = b->len > 0;
			continue;
		}
		if (blank)
			buf_add_char(b, ' ');
		blank = false;
		buf_add_char(b, (char)c);
	}
	if (shown.n < text.n)
		buf_add_str(b, STR("…"));
}

void notice_headline(const struct outbox_notice *n, struct buf *ret)
{
	static const char *const verbs[OUTBOX_TYPE_MAX] = {
		[OUTBOX_SESSION_START] = "has started",
		[OUTBOX_PROMPT] = "was asked",
		[OUTBOX_STOP] = "has finished",
		[OUTBOX_NOTIFICATION] = "wants you",
		[OUTBOX_SESSION_END] = "has ended",
		[OUTBOX_ERROR] = "has a problem",
		[OUTBOX_SUMMARY] = "was summarized",
	};
	const char *verb = verbs[n->meaning.type];

	add_line(ret, n->agent, 64);
	buf_addf(ret, " %s", verb ? verb : "reports ");
	if (!verb)
		add_line(ret, n->type, 64);
	if (!str_empty(n->project)) {
		buf_add_str(ret, STR(" in "));
		add_line(ret, n->project, 100);
	}
}

void notice_gist(const struct outbox_notice *n, size_t max, struct buf *ret)
{
	const str texts[OUTBOX_TYPE_MAX] = {
		[OUTBOX_SESSION_START] = n->event->source,
		[OUTBOX_PROMPT] = n->prompt,
		[OUTBOX_STOP] = str_empty(n->answer) ? n->title : n->answer,
		[OUTBOX_NOTIFICATION] = n->message,
		[OUTBOX_SESSION_END] = str_empty(n->title) ? n->event->reason : n->title,
		[OUTBOX_ERROR] = str_empty(n->why) ? n->event->error : n->why,
		[OUTBOX_SUMMARY] = str_empty(n->summary) ? n->title : n->summary,
		[OUTBOX_OTHER] = !str_empty(n->event->command) ? n->event->command
			: !str_empty(n->event->file_path)      ? n->event->file_path
			: !str_empty(n->text)                  ? n->text
			: !str_empty(n->inbound_type)          ? n->inbound_type
							       : n->message,
	};

	add_line(ret, texts[n->meaning.type], max);
}
