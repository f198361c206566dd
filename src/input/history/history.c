#include "history/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/agents.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"

enum {
	STRING_MAX = 16 << 10,       /* of one string in an input or output */
	STEP_BACK_US = 10 * 1000000, /* how far a clock may step back and still be the order of lines */
	READY_MAX = 2,
	PENDING_MAX = 64, /* calls whose results have not come yet */
	DEEP = 40,        /* nesting up to which strings are looked at */
};

struct words;

/* A result names its call by id only; a hook repeats the whole call. */
struct pending {
	char *id, *tool, *input; /* input is JSON */
};

struct history {
	struct transcript *transcript;
	struct redactor *redactor;
	struct arena arena;
	struct buf payload, state;
	const struct agent *agent;
	const struct words *said;
	char *path;
	struct transcript_item item;
	const enum event_kind *ready; /* what is still to be made of the item; ends with EVENT_UNKNOWN */
	struct pending pending[PENDING_MAX];
	unsigned next_pending;
	int64_t last_us;
	bool muted; /* by a wholly private prompt, until the next one */
};

/* -- an item in the words of the agent's hook -------------------------------------------------- */

/* A value with its long strings cut. */
static void write_short(struct json_writer *w, const struct json *v)
{
	if (w->depth > DEEP) {
		jw_value(w, v);
		return;
	}
	switch (v->type) {
	case JSON_OBJECT:
		jw_object(w);
		json_each(m, v) {
			jw_key_str(w, m->key);
			write_short(w, m);
		}
		jw_end_object(w);
		break;
	case JSON_ARRAY:
		jw_array(w);
		json_each(i, v)
			write_short(w, i);
		jw_end_array(w);
		break;
	case JSON_STRING: jw_str(w, str_cut_utf8(v->text, STRING_MAX)); break;
	default: jw_value(w, v);
	}
}

/* What agents call the same thing in their hooks. */
static const struct words {
	const char *agent, *prompt_id, *message;
	bool has_call_ids; /* else calls pair by tool and input, as they do live */
	bool one_for_all;  /* the file is not a session's own */
} words[] = {
	{ "codex", "turn_id", "last_assistant_message", true }, { "gemini", "prompt_id", "prompt_response", false },
	{ "copilot", "prompt_id", "last_assistant_message", false },
	{ "opencode", "prompt_id", "last_assistant_message", true, .one_for_all = true },
	/* Its hooks name calls otherwise than its files. */
	{ "qwen", "prompt_id", "last_assistant_message", false },
	{ NULL, "prompt_id", "last_assistant_message", true }, /* all others */
};

static const struct words *words_of(const struct agent *agent)
{
	const struct words *w = words;

	while (w->agent && strcmp(w->agent, agent->name) != 0)
		w++;
	return w;
}

static void field(struct json_writer *w, const char *name, str value)
{
	if (!str_empty(value))
		jw_field_str(w, name, value);
}

static void tree(struct json_writer *w, const char *name, const struct json *v)
{
	if (!v)
		return;
	jw_key(w, name);
	write_short(w, v);
}

static void write_prompt(struct history *h, struct json_writer *w)
{
	jw_field_str(w, "prompt", h->item.text);
}

static char *copy(str s)
{
	char *p = xmalloc(s.n + 1);

	memcpy(p, s.p, s.n);
	p[s.n] = 0;
	return p;
}

static void forget_call(struct pending *p)
{
	free(p->id);
	free(p->tool);
	free(p->input);
	*p = (struct pending){ 0 };
}

static struct pending *find_call(struct history *h, str id)
{
	for (size_t i = 0; i < PENDING_MAX && !str_empty(id); i++)
		if (h->pending[i].id && str_eq(id, str_of(h->pending[i].id)))
			return &h->pending[i];
	return NULL;
}

/* The oldest is replaced. */
static void remember_call(struct history *h)
{
	const struct transcript_item *i = &h->item;
	struct pending *p = &h->pending[h->next_pending++ % PENDING_MAX];
	struct buf b = BUF_INIT(LIMIT_PAYLOAD);
	struct json_writer w = JSON_WRITER(&b);

	forget_call(p);
	if (str_empty(i->tool_id) || !i->input)
		return;
	write_short(&w, i->input);
	p->id = copy(i->tool_id);
	p->tool = copy(str_empty(i->tool) ? STR("") : i->tool);
	p->input = copy(buf_str(&b));
	buf_release(&b);
}

static void write_call(struct history *h, struct json_writer *w)
{
	const struct transcript_item *i = &h->item;
	struct pending *call = i->kind == TRANSCRIPT_RESULT ? find_call(h, i->tool_id) : NULL;

	field(w, "tool_name", call && str_empty(i->tool) ? str_of(call->tool) : i->tool);
	if (h->said->has_call_ids)
		field(w, "tool_use_id", i->tool_id);
	tree(w, "tool_input", i->input);
	if (call && !i->input) {
		jw_key(w, "tool_input");
		jw_raw(w, str_of(call->input));
	}
	tree(w, "tool_response", i->output);
	if (i->failed && i->output && i->output->type == JSON_STRING)
		jw_field_str(w, "error", str_cut_utf8(i->output->text, STRING_MAX));
	if (call)
		forget_call(call);
	if (i->kind == TRANSCRIPT_CALL)
		remember_call(h);
}

static void write_answer(struct history *h, struct json_writer *w)
{
	field(w, h->said->message, h->item.text);
}

static void write_usage(struct history *h, struct json_writer *w)
{
	const struct transcript_item *i = &h->item;
	const struct {
		const char *name;
		int64_t n;
	} counts[] = {
		{ "input_tokens", i->tokens.input },
		{ "cache_read_tokens", i->tokens.cache_read },
		{ "cache_write_tokens", i->tokens.cache_write },
		{ "output_tokens", i->tokens.output },
		{ "reasoning_tokens", i->tokens.reasoning },
	};

	jw_field_str(w, "message_id", i->id);
	for (size_t n = 0; n < countof(counts); n++)
		if (counts[n].n > 0)
			jw_field_int(w, counts[n].name, counts[n].n);
}

static void write_compacted(struct history *h, struct json_writer *w)
{
	field(w, "trigger", h->item.source);
	field(w, "compact_summary", str_cut_utf8(h->item.text, STRING_MAX));
}

/* Which events an item becomes, in a session and in a subagent, whose prompt is the parent's call. A result that
 * failed is a failure; an answer that is not the last of its turn is no event: hooks do not report it either. */
static const struct {
	enum event_kind kinds[READY_MAX + 1], subagent[2];
	void (*write)(struct history *h, struct json_writer *w);
} shapes[TRANSCRIPT_KIND_MAX] = {
	[TRANSCRIPT_START] = { { EVENT_SESSION_START }, { EVENT_SUBAGENT_START }, NULL },
	[TRANSCRIPT_PROMPT] = { { EVENT_USER_PROMPT_SUBMIT }, { 0 }, write_prompt },
	[TRANSCRIPT_ANSWER] = { { EVENT_STOP }, { EVENT_SUBAGENT_STOP }, write_answer },
	[TRANSCRIPT_CALL] = { { EVENT_PRE_TOOL_USE }, { EVENT_PRE_TOOL_USE }, write_call },
	[TRANSCRIPT_RESULT] = { { EVENT_POST_TOOL_USE }, { EVENT_POST_TOOL_USE }, write_call },
	[TRANSCRIPT_USAGE] = { { EVENT_MODEL_USAGE }, { EVENT_MODEL_USAGE }, write_usage },
	[TRANSCRIPT_COMPACTED] = { { EVENT_POST_COMPACT, EVENT_SESSION_START }, { 0 }, write_compacted },
};

static str source_of(const struct transcript_item *i)
{
	if (i->kind == TRANSCRIPT_COMPACTED)
		return STR("compact");
	return str_empty(i->source) ? STR("startup") : i->source;
}

static void write_payload(struct history *h, enum event_kind kind)
{
	const struct transcript_item *i = &h->item;
	struct json_writer w = JSON_WRITER(&h->payload);

	buf_clear(&h->payload);
	jw_object(&w);
	field(&w, "session_id", i->session);
	field(&w, "cwd", i->cwd);
	/* A subagent's file is not the session's. */
	if (!h->said->one_for_all)
		jw_field_str(&w, str_empty(i->agent_id) ? "transcript_path" : "agent_transcript_path", str_of(h->path));
	field(&w, h->said->prompt_id, i->prompt_id);
	field(&w, "agent_id", i->agent_id);
	field(&w, "agent_type", i->agent_type);
	if (kind == EVENT_SESSION_START || kind == EVENT_MODEL_USAGE)
		field(&w, "model", i->model);
	if (kind == EVENT_SESSION_START)
		jw_field_str(&w, "source", source_of(i));
	else if (shapes[i->kind].write)
		shapes[i->kind].write(h, &w);
	jw_end_object(&w);
}

/* -- an event of its own ----------------------------------------------------------------------- */

/* The key: what it is, and when. Tokens are reported again when an answer has grown, so their number is part of it. */
static struct ulid make_id(const struct history *h, enum event_kind kind, int64_t at_us)
{
	const struct transcript_item *i = &h->item;
	const str parts[] = { str_of(h->agent->name), i->session, i->agent_id, str_of(event_kinds[kind].name), i->id };
	uint8_t hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	for (size_t n = 0; n < countof(parts); n++) {
		sha256_add(&s, parts[n].p, parts[n].n);
		sha256_add(&s, "\0", 1);
	}
	if (kind == EVENT_MODEL_USAGE)
		sha256_add(&s, &i->tokens, sizeof i->tokens);
	sha256_end(&s, hash);
	return ulid_from(at_us / USEC_PER_MSEC, hash);
}

static int64_t next_time(struct history *h)
{
	int64_t at = h->item.at_us;

	if (at <= h->last_us && h->last_us - at < STEP_BACK_US)
		at = h->last_us + 1;
	h->last_us = at;
	return at;
}

static void make_record(struct history *h, enum event_kind kind, struct record *ret)
{
	int64_t at = next_time(h);
	struct wire_hook hook = { .at_ms = at / USEC_PER_MSEC,
		.agent = str_of(h->agent->name),
		.event = str_of(event_kinds[kind].name),
		.payload = STR_NONE };
	struct redact_report report = { 0 };
	struct event e;

	arena_reset(&h->arena);
	write_payload(h, kind);
	hook.id = make_id(h, kind, at);
	hook.payload = buf_str(&h->payload);
	agent_parse(h->agent, &hook, &h->arena, &e);
	if (event_kinds[kind].flags & EVENT_IS_OWN)
		e.kind = kind; /* which no agent can say */
	e.at_us = at;
	e.marks |= EVENT_IMPORTED;
	if (kind == EVENT_USER_PROMPT_SUBMIT)
		h->muted = false;
	redact(h->redactor, &h->arena, &e, h->muted ? REDACT_MUTED : 0, ret, &report);
	h->muted |= report.wholly_private;
	ret->order_us = at;
}

static const enum event_kind *kinds_of(const struct transcript_item *i)
{
	static const enum event_kind failure[] = { EVENT_POST_TOOL_USE_FAILURE, EVENT_UNKNOWN },
				     none[] = { EVENT_UNKNOWN };

	if ((i->kind == TRANSCRIPT_ANSWER && !i->final) || str_empty(i->session))
		return none;
	if (i->kind == TRANSCRIPT_RESULT && i->failed)
		return failure;
	return str_empty(i->agent_id) ? shapes[i->kind].kinds : shapes[i->kind].subagent;
}

int history_next(struct history *h, struct record *ret)
{
	int r;

	while (!h->ready || *h->ready == EVENT_UNKNOWN) {
		r = transcript_next(h->transcript, &h->item);
		if (r <= 0)
			return r;
		h->ready = kinds_of(&h->item);
	}
	make_record(h, *h->ready++, ret);
	return 1;
}

/* -- opening and going on ---------------------------------------------------------------------- */

/* "<muted> <last time> <the reader's state>" */
static str take_state(struct history *h, str state)
{
	str word, rest = state;
	int64_t number = 0;

	if (!str_split(&rest, ' ', &word) || !str_to_int(word, &number))
		return STR_NONE;
	h->muted = number != 0;
	if (!str_split(&rest, ' ', &word) || !str_to_int(word, &number))
		return STR_NONE;
	h->last_us = number;
	return rest;
}

void history_position(struct history *h, struct transcript_position *ret)
{
	transcript_position(h->transcript, ret);
	buf_clear(&h->state);
	buf_addf(&h->state, "%d %lld " STR_FMT, h->muted, (long long)h->last_us, STR_ARG(ret->state));
	ret->state = buf_str(&h->state);
}

int history_open(const struct transcript_request *q, struct redactor *redactor, struct history **ret, struct err *err)
{
	struct history *h = xcalloc(1, sizeof *h);
	struct transcript_request own = *q;
	int r;

	own.state = take_state(h, q->state);
	if (q->offset && !str_is_set(own.state))
		own.offset = 0; /* the state of another release: from the beginning */
	r = transcript_open(&own, &h->transcript, err);
	if (r < 0) {
		free(h);
		return r;
	}
	if (transcript_was_replaced(h->transcript) || !own.offset) {
		h->muted = false;
		h->last_us = 0;
	}
	h->redactor = redactor;
	h->agent = agent_find(str_of(transcript_agent(h->transcript)));
	h->said = words_of(h->agent);
	h->path = xstrdup(q->path);
	buf_init(&h->payload, LIMIT_PAYLOAD);
	buf_init(&h->state, MIB(1));
	*ret = h;
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < PENDING_MAX; i++)
		forget_call(&h->pending[i]);
	transcript_close(h->transcript);
	arena_release(&h->arena);
	buf_release(&h->payload);
	buf_release(&h->state);
	free(h->path);
	free(h);
}

const struct transcript *history_transcript(const struct history *h)
{
	return h->transcript;
}

void history_write_head(struct history *h, const char *path, struct buf *b)
{
	struct transcript_position at;
	struct transcript_counts n;
	struct json_writer w = JSON_WRITER(b);

	history_position(h, &at);
	transcript_get_counts(h->transcript, &n);
	jw_object(&w);
	jw_field_str(&w, "path", str_of(path));
	jw_field_str(&w, "agent", str_of(h->agent->name));
	jw_field_str(&w, "identity", at.identity);
	jw_field_int(&w, "offset", at.offset);
	jw_field_str(&w, "state", at.state);
	jw_field_int(&w, "lines", (int64_t)n.lines);
	jw_field_int(&w, "broken", (int64_t)(n.broken + n.long_lines));
	jw_end_object(&w);
}
