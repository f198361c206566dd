/* The walk over a payload, and the record. */
#include "redact/redact.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "redact/internal.h"

enum {
	LIMIT_PATH = 4096,
	FILE_NAME_SHOWN = 64,
	KEEP_BUFFER = 1 << 20, /* larger buffers are given back after use */
	TORN_WORD = 4096,      /* at a cut: a word of up to this length may be half a secret */
	PIN_MIN = 3,
	KEY_MIN = 12,     /* an object's key that is a secret itself */
	OF_MIN = 12,      /* a member of an object that has the name of a secret: {"cookies": {"sid": "…"}} */
	INPUT_LEVELS = 2, /* JSON in a string, and once more in that */
	LIST_MAX = 64,    /* words of a command that comes as a list */
	PEEK = 2,         /* payload, tool_response, file: levels that may name the file */
	/* Kept free for brackets and one more member on each level when the record is full. */
	RESERVE = 64 * LIMIT_JSON_DEPTH,
};

/* Names, paths and the host's variables have the rest of a record. */
#define LIMIT_RECORD_HOST KIB(32)
#define LIMIT_RECORD_PAYLOAD (LIMIT_RECORD - KIB(64))

struct redactor *redactor_new(void)
{
	struct redactor *r = xcalloc(1, sizeof *r);

	buf_init(&r->out, LIMIT_RECORD_PAYLOAD);
	if (secrets_init(r) < 0)
		abort(); /* the tables outgrew the automaton: a mistake that no test run survives */
	return r;
}

void redactor_free(struct redactor *r)
{
	if (!r)
		return;
	secrets_release(r);
	buf_release(&r->out);
	free(r);
}

/* -- writing within the limit ------------------------------------------------------------------ */

struct walk {
	struct redactor *r;
	struct arena *a;
	struct buf *out;
	size_t limit; /* of out, without the reserve */
	bool cut;     /* something did not fit */
	int levels;   /* of JSON in strings */
};

/* What is known about a value from its place. */
struct place {
	str file;         /* a secret file is mentioned */
	bool contents;    /* and this may be what is in it */
	bool command;     /* or a command that puts something into it */
	const char *name; /* it is under the name of a secret */
	const char *of;   /* the object it is in has the name of a secret */
	bool pin;         /* it is the number of a card, or the like, if it is a number */
};

/* Length of s as a JSON string at most: only short pieces at the limit are counted exactly. */
static str fit(str s, size_t room)
{
	size_t used = 2, i = 0, n;

	while (i < s.n) {
		unsigned char c = (unsigned char)s.p[i];

		n = c < 0x80 ? 1 : utf8_sequence((const unsigned char *)s.p + i, s.n - i);
		used += n > 1 ? n : c < 0x20 || c >= 0x7F ? 6 : c == '"' || c == '\\' ? 2 : 1;
		if (used > room)
			break;
		i += n ? n : 1;
	}
	return str_head(s, i);
}

static void put_string(struct walk *w, str s)
{
	size_t room = w->limit > w->out->len ? w->limit - w->out->len : 0;

	if (s.n > room / 6) {
		str part = fit(s, room);

		w->cut |= part.n < s.n;
		s = part;
	}
	json_write_string(w->out, s);
}

static bool is_full(struct walk *w)
{
	if (w->out->len >= w->limit)
		w->cut = true;
	return w->out->len >= w->limit;
}

/* -- strings ----------------------------------------------------------------------------------- */

static bool is_digits(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

/* What a command writes into a secret file is not kept, the rest of it is. */
static str mask_command(struct walk *w, str command, str file)
{
	struct buf b;
	str masked = command;

	buf_init(&b, command.n + KIB(64));
	if (command_mask(&b, command, file)) {
		masked = arena_str(w->a, buf_str(&b));
		w->r->secrets++;
	}
	buf_release(&b);
	return masked;
}

static void walk_string(struct walk *w, str s, const struct place *place)
{
	char text[FILE_NAME_SHOWN + 80];

	if (place->contents && s.n) {
		str name = str_cut_utf8(place->file, FILE_NAME_SHOWN);

		snprintf(text, sizeof text, "[contents of " STR_FMT " not kept: %zu bytes]", STR_ARG(name), s.n);
		w->r->secrets++;
		put_string(w, secrets_clean(w->r, str_of(text), NULL));
	} else if (place->of && !place->name && s.n >= OF_MIN && (value_is_random(s) || value_is_drawn(s))) {
		snprintf(text, sizeof text, "[redacted:%s]", place->of);
		w->r->secrets++;
		put_string(w, str_of(text));
	} else if ((place->name && value_is_secret(s)) || (place->pin && s.n >= PIN_MIN && is_digits(s))) {
		snprintf(text, sizeof text, "[redacted:%s]", place->name ? place->name : "pin");
		w->r->secrets++;
		put_string(w, str_of(text));
	} else {
		put_string(w, known_clean(w->r, place->command ? mask_command(w, s, place->file) : s));
	}
}

/* A number has no part that could be kept instead. */
static void walk_number(struct walk *w, str number, const struct place *place)
{
	if ((place->name && value_is_secret_number(place->name, number)) ||
		(place->pin && number.n >= PIN_MIN && is_digits(number))) {
		char text[80];

		snprintf(text, sizeof text, "[redacted:%s]", place->name ? place->name : "pin");
		w->r->secrets++;
		put_string(w, str_of(text));
	} else if (!is_full(w) && number.n < w->limit - w->out->len) {
		buf_add_str(w->out, number);
	} else {
		w->cut = true;
		buf_add_str(w->out, STR("null"));
	}
}

/* -- which file -------------------------------------------------------------------------------- */

/* ["bash", "-lc", "cat .env"] or ["cat", ".env"] */
static bool list_touches(struct walk *w, const struct json *list, str *ret)
{
	struct buf *b = &w->r->text;

	buf_clear(b);
	json_each(item, list) {
		if (str_find_char(json_str(item), ' ') >= 0 && command_touches(w->a, json_str(item), ret))
			return true;
		buf_add_str(b, str_head(json_str(item), LIMIT_PATH));
		buf_add_char(b, ' ');
	}
	return command_touches(w->a, buf_str(b), ret);
}

static bool command_or_patch_touches(struct walk *w, str text, str *ret)
{
	return file_patch_touches(text, ret) || known_command_touches(w->r, w->a, text, ret);
}

/* One path, or a list of them. */
static bool names_secret_file(struct walk *w, const struct json *v, str *ret)
{
	if (v->type == JSON_STRING)
		return known_path_is_secret(w->r, v->text, ret);
	json_each(item, v)
		if (item->type == JSON_STRING && known_path_is_secret(w->r, item->text, ret))
			return true;
	return false;
}

/* Does a member of obj, or of a tool's input or output in it, name a secret file? */
static bool find_file(struct walk *w, const struct json *obj, int levels, str *ret)
{
	json_each(m, obj) {
		enum file_key kind;
		bool found = false;

		if (m->type != JSON_STRING && m->type != JSON_OBJECT && m->type != JSON_ARRAY)
			continue;
		kind = known_key(w->r, m->key).kind;
		switch (kind) {
		case FILE_KEY_PATH: found = m->type != JSON_OBJECT && names_secret_file(w, m, ret); break;
		case FILE_KEY_COMMAND:
			found = m->type == JSON_STRING ? command_or_patch_touches(w, m->text, ret)
						       : m->type == JSON_ARRAY && list_touches(w, m, ret);
			break;
		case FILE_KEY_INPUT:
		case FILE_KEY_RESPONSE:
			found = m->type == JSON_OBJECT && levels > 0 && find_file(w, m, levels - 1, ret);
			found |= m->type == JSON_STRING && kind == FILE_KEY_INPUT && file_patch_touches(m->text, ret);
			break;
		default: break;
		}
		if (found)
			return true;
	}
	return false;
}

/* -- the walk ---------------------------------------------------------------------------------- */

static void walk_value(struct walk *w, const struct json *v, const struct place *place);

/* {"name": "DB_PASSWORD", "value": "…"}: the name under which the value belongs, or NULL. */
static const char *pair_name(struct walk *w, const struct json *obj)
{
	const char *name = NULL;
	bool value = false;

	json_each(m, obj) {
		value |= str_eq_nocase(m->key, STR("value"));
		if (!name && m->type == JSON_STRING && m->text.n <= LIMIT_NAME &&
			(str_eq_nocase(m->key, STR("name")) || str_eq_nocase(m->key, STR("key"))))
			secrets_clean(w->r, m->text, &name);
	}
	return value ? name : NULL;
}

/* {"toolArgs": "{\"path\": …}"}: input that an agent sends as text. False: it is none, or nothing in it is a secret. */
static bool walk_input(struct walk *w, str text, const struct place *place)
{
	struct walk inner = *w;
	struct json *v;
	struct buf b;
	unsigned before = w->r->secrets;
	bool found;

	if (w->levels == INPUT_LEVELS || !str_starts(str_trim(text), STR("{")) ||
		json_parse(w->a, text, JSON_LENIENT_UTF8, &v, NULL) < 0)
		return false;
	buf_init(&b, LIMIT_RECORD_PAYLOAD);
	inner.out = &b;
	inner.limit = LIMIT_RECORD_PAYLOAD - RESERVE;
	inner.levels++;
	walk_value(&inner, v, place);
	found = w->r->secrets > before;
	w->cut |= found && inner.cut;
	if (found)
		put_string(w, buf_str(&b));
	buf_release(&b);
	return found;
}

/* {"tokens": {"9f8a…": "alice"}}: a key under the name of a secret may be secret as well. */
static void put_key(struct walk *w, str key, str clean, const struct place *around)
{
	char text[80];

	if (around->of && str_eq(clean, key) && key.n >= KEY_MIN && value_is_random(key)) {
		snprintf(text, sizeof text, "[redacted:%s]", around->of);
		w->r->secrets++;
		clean = str_of(text);
	}
	put_string(w, clean);
}

static void walk_member(struct walk *w, const struct json *m, const struct place *around)
{
	struct place place = *around;
	struct key_facts key = known_key(w->r, m->key);
	const char *name = key.name;

	put_key(w, m->key, key.clean, around);
	buf_add_char(w->out, ':');
	place.pin = key.pin;
	place.name = name || !str_eq_nocase(m->key, STR("value")) ? name : around->name ? around->name : around->of;
	if (str_is_set(place.file)) {
		enum file_key kind = key.kind;

		if (kind == FILE_KEY_CONTENT || kind == FILE_KEY_RESPONSE)
			place.contents = true;
		if (kind == FILE_KEY_PATH || kind == FILE_KEY_PLAIN || kind == FILE_KEY_COMMAND)
			place.contents = kind == FILE_KEY_COMMAND && patch_is(json_str(m));
		if (kind == FILE_KEY_INPUT && patch_is(json_str(m)))
			place.contents = true;
		place.command = kind == FILE_KEY_COMMAND;
	}
	if (key.kind == FILE_KEY_INPUT && m->type == JSON_STRING && walk_input(w, m->text, &place))
		return;
	walk_value(w, m, &place);
}

static void walk_object(struct walk *w, const struct json *v, const struct place *around)
{
	struct place place = { .file = around->file,
		.contents = around->contents,
		.name = pair_name(w, v),
		.of = around->name };

	if (!str_is_set(place.file) && !find_file(w, v, PEEK, &place.file))
		place.file = STR_NONE;
	buf_add_char(w->out, '{');
	json_each(m, v) {
		if (is_full(w))
			break;
		if (m != v->first)
			buf_add_char(w->out, ',');
		walk_member(w, m, &place);
	}
	buf_add_char(w->out, '}');
}

/* A word of a command that comes as a list, if it has a secret. */
static bool walk_operand(struct walk *w, struct command *c, str word)
{
	struct span span;

	if (!c || !operands_next(c, word, &span))
		return false;
	w->r->secrets++;
	put_string(w,
		arena_strf(w->a, STR_FMT "[redacted:%s]" STR_FMT, STR_ARG(str_head(word, span.begin)), span.name,
			STR_ARG(str_from(word, span.end))));
	return true;
}

/* In ["mysql", "--password", "…"] one element is the name of the next. */
static void walk_array(struct walk *w, const struct json *v, const struct place *around)
{
	bool words = v->count > 1 && v->count <= LIST_MAX && v->first->type == JSON_STRING;
	struct command *c = words && !around->contents ? operands_begin(w->a) : NULL;
	struct place place = *around;

	buf_add_char(w->out, '[');
	json_each(m, v) {
		str flag = json_str(m);

		if (is_full(w))
			break;
		if (m != v->first)
			buf_add_char(w->out, ',');
		if (m->type != JSON_STRING || !walk_operand(w, c, m->text))
			walk_value(w, m, &place);
		place.name = around->name;
		if (flag.n > 2 && flag.p[0] == '-')
			secrets_clean(w->r, flag, &place.name);
	}
	buf_add_char(w->out, ']');
}

static void walk_value(struct walk *w, const struct json *v, const struct place *place)
{
	switch (v->type) {
	case JSON_STRING: walk_string(w, v->text, place); break;
	case JSON_NUMBER: walk_number(w, v->text, place); break;
	case JSON_OBJECT: walk_object(w, v, place); break;
	case JSON_ARRAY: walk_array(w, v, place); break;
	default: json_write(w->out, v);
	}
}

/* -- payloads ---------------------------------------------------------------------------------- */

static struct walk walk_begin(struct redactor *r, struct arena *a, size_t max)
{
	buf_clear(&r->out);
	return (struct walk){ r, a, &r->out, max - RESERVE };
}

static str walk_end(struct walk *w)
{
	str text = arena_str(w->a, buf_str(w->out));

	if (w->out->cap > KEEP_BUFFER)
		buf_release(w->out);
	return text;
}

static void add_member(struct walk *w, const char *key, str value)
{
	if (!str_is_set(value))
		return;
	if (w->out->len > 1)
		buf_add_char(w->out, ',');
	json_write_string(w->out, str_of(key));
	buf_add_char(w->out, ':');
	put_string(w, value);
}

/* What is left of an event whose contents are private. */
static str make_private(struct redactor *r, struct arena *a, const struct record *rec)
{
	struct walk w = walk_begin(r, a, LIMIT_RECORD_PAYLOAD);

	buf_add_char(w.out, '{');
	add_member(&w, "hook_event_name", rec->native);
	add_member(&w, "session_id", rec->session);
	add_member(&w, "tool_name", rec->tool_name);
	add_member(&w, "tool_use_id", rec->tool_use_id);
	if (w.out->len > 1)
		buf_add_char(w.out, ',');
	buf_add_str(w.out, STR("\"private\":true}"));
	return walk_end(&w);
}

static str make_tree(struct redactor *r, struct arena *a, const struct event *e, bool *ret_cut)
{
	struct walk w = walk_begin(r, a, LIMIT_RECORD_PAYLOAD);
	struct place place = { .file = STR_NONE };
	bool object = e->payload->type == JSON_OBJECT;

	if (str_is_set(e->file_path) && known_path_is_secret(r, e->file_path, &place.file))
		;
	else if (!str_is_set(e->command) || !known_command_touches(r, a, e->command, &place.file))
		place.file = STR_NONE;
	/* Readers of records expect an object. */
	if (!object)
		buf_add_str(w.out, STR("{\"value\":"));
	walk_value(&w, e->payload, &place);
	if (!object)
		buf_add_char(w.out, '}');
	*ret_cut = w.cut;
	return walk_end(&w);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Text that was JSON once may spell a tag or a secret in escapes (\u003cprivate>). */
static str unescape_ascii(struct arena *a, str s)
{
	char *out;
	size_t n = 0;

	if (str_find(s, STR("\\u00")) < 0)
		return s;
	out = arena_bytes(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		int high = -1, low = -1;

		if (s.n - i >= 6 && memcmp(s.p + i, "\\u00", 4) == 0) {
			high = hex_digit(s.p[i + 4]);
			low = hex_digit(s.p[i + 5]);
		}
		if (high < 2 || high > 7 || low < 0 || high * 16 + low == 0x7F) {
			out[n++] = s.p[i];
			continue;
		}
		out[n++] = (char)(high * 16 + low);
		i += 5;
	}
	return str_n(out, n);
}

/* Where the bytes were cut off, the last word may be half a secret, too short to tell. */
static str drop_torn_word(str s)
{
	size_t n = 0;

	while (n < s.n && n < TORN_WORD && !strchr(" \t\r\n\"'\\,:{}[]<>", s.p[s.n - n - 1]))
		n++;
	return str_head(s, s.n - (n < 4 ? 0 : n));
}

static str make_raw(struct redactor *r, struct arena *a, const struct event *e, str raw, bool *ret_cut)
{
	struct walk w = walk_begin(r, a, LIMIT_RECORD_PAYLOAD);
	char hex[SHA256_HEX + 1];

	if (e->marks & EVENT_CUT)
		raw = drop_torn_word(raw);
	buf_add_char(w.out, '{');
	add_member(&w, "raw", secrets_clean(r, raw, NULL));
	if (e->marks & EVENT_CUT) {
		sha256_hex(e->sha256, hex);
		buf_addf(w.out, ",\"cut\":{\"bytes\":%llu,\"sha256\":\"%s\"}", (unsigned long long)e->total, hex);
	}
	buf_add_char(w.out, '}');
	*ret_cut = w.cut;
	return walk_end(&w);
}

static str make_host(struct redactor *r, struct arena *a, const struct event *e)
{
	struct walk w = walk_begin(r, a, LIMIT_RECORD_HOST);
	size_t first;

	buf_addf(w.out, "{\"pid\":%u,\"ppid\":%u,\"env\":{", e->pid, e->ppid);
	first = w.out->len;
	for (size_t i = 0; i < e->nenv && !is_full(&w); i++) {
		str value = e->env[i], name;
		struct place place = { .file = STR_NONE };

		if (!str_split(&value, '=', &name) || !str_is_set(value))
			continue;
		if (w.out->len > first)
			buf_add_char(w.out, ',');
		put_string(&w, secrets_clean(r, name, &place.name));
		buf_add_char(w.out, ':');
		walk_string(&w, value, &place);
	}
	buf_add_str(w.out, STR("}}"));
	return walk_end(&w);
}

/* -- private prompts --------------------------------------------------------------------------- */

/* A turn reported as a whole contains its prompt and the answer, which may come after the next prompt has been sent. */
static bool is_prompt(enum event_kind kind)
{
	return kind == EVENT_USER_PROMPT_SUBMIT || kind == EVENT_USER_PROMPT_EXPANSION || kind == EVENT_TURN_COMPLETE;
}

/* Nothing but blanks is left, and some of it was private. A cut payload was never parsed: there the
 * prompt is private when the tag opens right after its name and never closes. */
static bool is_wholly_private(struct redactor *r, const struct event *e, str raw)
{
	struct tags_report tags = { { 0 } };
	str left;

	if (!is_prompt(e->kind) || (!str_is_set(e->prompt) && e->payload))
		return false;
	buf_clear(&r->untagged);
	tags_strip(&r->untagged, e->payload ? e->prompt : raw, &tags);
	left = str_trim(buf_str(&r->untagged));
	if (!tags.removed[0])
		return false;
	if (e->payload)
		return left.n == 0;
	return str_ends(left, STR("\"prompt\":\"")) || str_ends(left, STR("\"prompt\": \""));
}

bool redact_leaves_nothing(str prompt)
{
	_cleanup_(buf_release) struct buf left = BUF_INIT(LIMIT_PAYLOAD * 2);
	struct tags_report tags = { { 0 } };

	tags_strip(&left, prompt, &tags);
	return str_empty(str_trim(buf_str(&left)));
}

/* -- record ------------------------------------------------------------------------------------ */

static str clean_field(struct redactor *r, struct arena *a, str s, size_t max)
{
	str clean;

	if (!str_is_set(s))
		return STR_NONE;
	clean = secrets_clean(r, s, NULL);
	if (!utf8_valid(clean)) {
		buf_clear(&r->out);
		utf8_add_clean(&r->out, clean);
		clean = buf_str(&r->out);
	}
	return arena_str(a, str_cut_utf8(clean, max));
}

static const struct {
	size_t from, to, max;
} fields[] = {
#define FIELD(member, max)                                                           \
	{                                                                            \
		offsetof(struct event, member), offsetof(struct record, member), max \
	}
	FIELD(agent, LIMIT_NAME),
	FIELD(native, LIMIT_NAME),
	FIELD(session, LIMIT_NAME),
	FIELD(tool_name, LIMIT_NAME),
	FIELD(tool_use_id, LIMIT_NAME),
	FIELD(agent_id, LIMIT_NAME),
	FIELD(cwd, LIMIT_PATH),
	FIELD(transcript_path, LIMIT_PATH),
#undef FIELD
};

void redact(struct redactor *r, struct arena *a, const struct event *e, unsigned flags, struct record *ret,
	struct redact_report *ret_report)
{
	struct record rec = { .id = e->id,
		.at_us = e->at_us,
		.order_us = e->at_us,
		.kind = e->kind,
		.tool_class = e->tool_class,
		.marks = e->marks };
	str raw = e->payload ? STR_NONE : unescape_ascii(a, e->raw);
	bool private, cut = false;

	r->secrets = 0;
	for (size_t i = 0; i < countof(fields); i++)
		*(str *)((char *)&rec + fields[i].to) =
			clean_field(r, a, *(const str *)((const char *)e + fields[i].from), fields[i].max);
	private = is_wholly_private(r, e, raw);
	if (private || (flags & REDACT_MUTED)) {
		rec.marks |= EVENT_PRIVATE;
		rec.payload = make_private(r, a, &rec);
	} else if (e->payload) {
		rec.payload = make_tree(r, a, e, &cut);
	} else {
		rec.payload = make_raw(r, a, e, str_is_set(raw) ? raw : STR(""), &cut);
	}
	if (cut)
		rec.marks |= EVENT_CUT;
	if (e->kind == EVENT_SESSION_START)
		rec.host = make_host(r, a, e);
	if (ret_report)
		*ret_report = (struct redact_report){ .secrets = r->secrets, .wholly_private = private };
	if (r->text.cap > KEEP_BUFFER)
		buf_release(&r->text);
	if (r->untagged.cap > KEEP_BUFFER)
		buf_release(&r->untagged);
	*ret = rec;
}

str redact_text(struct redactor *r, struct arena *a, str text)
{
	return clean_field(r, a, text, SIZE_MAX);
}
