/* Reading the user's sinks. One that has a mistake is left out as a whole: half a sink could send what it must not. */
#include "outbox/fields.h"
#include "outbox/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/url.h"
#include "config/names.h"

_Static_assert(EVENT_KIND_MAX <= 64, "a set of kinds is 64 bits");

enum { TIMEOUT_S = 10, FILE_MB = 64, WORD_MAX = 4096, VALUE_MAX = 256, TOPIC_MAX = 64 };

struct reader {
	str text;
	const char *home;
	struct sinks *sinks;
	struct sink_problem **tail;
	struct sink *sink; /* the one at hand */
	bool broken;       /* it has a mistake */
	bool contracts;    /* the file is hookd's own */
};

/* -- complaints -------------------------------------------------------------------------------- */

static struct err *add_problem(struct reader *r)
{
	static struct err ignored;
	struct sink_problem *p;

	r->broken = true;
	if (++r->sinks->nproblems > SINK_PROBLEMS_MAX)
		return &ignored;
	p = arena_new(&r->sinks->arena, struct sink_problem);
	*r->tail = p;
	r->tail = &p->next;
	return &p->err;
}

#define complain(r, at, ...)                                                   \
	do {                                                                   \
		unsigned line_ = 0, col_ = 0;                                  \
		json_locate((r)->text, (at), &line_, &col_);                   \
		err_set_at(add_problem(r), -EINVAL, line_, col_, __VA_ARGS__); \
	} while (0)

static void complain_unfit(struct reader *r, const struct json *v, const char *name, const char *fit)
{
	char shown[NAME_SHOWN];

	if (v->type == JSON_STRING)
		complain(r, v->begin, "'%s' must be %s, not '%s'", name, fit, name_shown(v->text, shown));
	else
		complain(r, v->begin, "'%s' must be %s, not %s", name, fit, json_type_name(v->type));
}

/* -- values ------------------------------------------------------------------------------------ */

static str keep(struct reader *r, str text)
{
	return arena_str(&r->sinks->arena, text);
}

static bool is_one_line(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
	return true;
}

/* False: it is not what it must be. */
typedef bool take_fn(struct reader *r, const struct sink_field *f, const struct json *v, void *to);

static bool take_name(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	str name = json_str(v);
	bool fits = name.n > 0 && name.n <= SINK_NAME;

	(void)f;
	for (size_t i = 0; i < name.n; i++)
		fits = fits && strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", name.p[i]) && name.p[i];
	*(str *)to = fits ? keep(r, name) : STR_NONE;
	return fits;
}

static bool take_type(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)r, (void)f;
	for (enum sink_type t = 0; t < SINK_TYPE_MAX; t++)
		if (str_eq(json_str(v), str_of(sink_types[t].name))) {
			*(enum sink_type *)to = t;
			return true;
		}
	return false;
}

static bool take_bool(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)r, (void)f;
	*(bool *)to = json_true(v);
	return v->type == JSON_BOOL;
}

static bool take_int(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	int64_t n;

	(void)r;
	if (v->type != JSON_NUMBER || !json_int(v, &n) || n < f->minimum || n > f->maximum)
		return false;
	*(int64_t *)to = n;
	return true;
}

static bool take_url(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	struct err err = { 0 };

	if (v->type != JSON_STRING || v->text.n > WORD_MAX)
		return false;
	if (url_check(v->text, &err) < 0)
		complain(r, v->begin, "'%s': %s", f->name, err.text);
	*(str *)to = keep(r, v->text);
	return true;
}

/* Absolute; STR_NONE: it is not. */
static str take_path(struct reader *r, str text)
{
	if (text.n > WORD_MAX || !is_one_line(text))
		return STR_NONE;
	if (str_starts(text, STR("~/")) && r->home && r->home[0] == '/')
		return arena_strf(&r->sinks->arena, "%s" STR_FMT, r->home, STR_ARG(str_from(text, 1)));
	return text.n > 1 && text.p[0] == '/' ? keep(r, text) : STR_NONE;
}

static bool take_file(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)f;
	*(str *)to = take_path(r, json_str(v));
	return str_is_set(*(str *)to);
}

static bool take_command(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	struct sink_words *w = to;

	(void)f;
	if (v->type != JSON_ARRAY || !v->count || v->count > SINK_WORDS)
		return false;
	json_each(item, v) {
		if (item->type != JSON_STRING || item->text.n > WORD_MAX || str_find_char(item->text, 0) >= 0)
			return false;
		w->words[w->n++] = keep(r, item->text);
	}
	w->words[0] = take_path(r, w->words[0]);
	return str_is_set(w->words[0]);
}

static bool is_header_name(str s)
{
	static const char *const ours[] = { "content-type", "content-length", "host", "authorization",
		"idempotency-key", "user-agent", "expect", "transfer-encoding", "connection" };

	for (size_t i = 0; i < s.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", s.p[i]) || !s.p[i])
			return false;
	for (size_t i = 0; i < countof(ours); i++)
		if (str_eq_nocase(s, str_of(ours[i])))
			return false;
	return s.n > 0 && s.n <= 64 && !str_eq_nocase(str_head(s, 8), STR("x-hookd-"));
}

static bool take_headers(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	str *headers = to;

	(void)f;
	if (v->type != JSON_OBJECT || v->count > SINK_HEADERS)
		return false;
	json_each(m, v) {
		char shown[NAME_SHOWN];

		if (!is_header_name(m->key))
			complain(r, m->begin, "'%s' is no name of a header that may be added",
				name_shown(m->key, shown));
		if (m->type != JSON_STRING || !is_one_line(m->text) || m->text.n > 1000)
			return false;
		headers[r->sink->nheaders++] =
			arena_strf(&r->sinks->arena, STR_FMT ": " STR_FMT, STR_ARG(m->key), STR_ARG(m->text));
	}
	return true;
}

static bool take_form(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)r, (void)f;
	*(bool *)to = str_eq(json_str(v), STR("markdown"));
	return *(bool *)to || str_eq(json_str(v), STR("none"));
}

/* -- which events ------------------------------------------------------------------------------ */

/* What only hookd makes is not told, but for its decisions and what it hears. */
static bool may_be_named(enum event_kind k)
{
	return k != EVENT_UNKNOWN &&
		(!(event_kinds[k].flags & EVENT_IS_OWN) || k == EVENT_DECISION || k == EVENT_OUTPUT ||
			k == EVENT_INBOUND);
}

static void write_type(struct json_writer *w, str name, enum outbox_type type)
{
	jw_object(w);
	jw_field_str(w, "type", name);
	jw_key(w, "properties");
	notice_write_names(type, w);
	jw_end_object(w);
}

void outbox_write_vocabulary(struct json_writer *w)
{
	jw_object(w);
	jw_key(w, "types");
	jw_array(w);
	for (enum outbox_type t = 0; t < OUTBOX_OTHER; t++)
		write_type(w, str_of(outbox_types[t].name), t);
	for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++)
		if (may_be_named(k))
			write_type(w, str_of(event_kinds[k].name), OUTBOX_OTHER);
	jw_end_array(w);
	jw_end_object(w);
}

static void complain_event(struct reader *r, const struct json *v)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (size_t i = 0; i < OUTBOX_OTHER; i++)
		name_suggest(&near, v->text, str_of(outbox_types[i].name));
	for (enum event_kind k = 0; k < EVENT_KIND_MAX; k++)
		if (may_be_named(k))
			name_suggest(&near, v->text, str_of(event_kinds[k].name));
	if (near.best.p)
		complain(r, v->begin, "there is no event '%s'; did you mean '" STR_FMT "'?", name_shown(v->text, shown),
			STR_ARG(near.best));
	else
		complain(r, v->begin,
			"there is no event '%s'; there are session_start, prompt, stop, notification, "
			"session_end, error, summary and the names that `hookd agents` lists",
			name_shown(v->text, shown));
}

static bool take_event(struct sink *s, str name)
{
	enum event_kind k = event_kind_by_name(name);

	for (enum outbox_type t = 0; t < OUTBOX_OTHER; t++)
		if (str_eq(name, str_of(outbox_types[t].name)))
			return s->types[t] = true;
	if (!may_be_named(k))
		return false;
	s->kinds |= UINT64_C(1) << k;
	return true;
}

static bool take_events(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)f, (void)to;
	if (v->type != JSON_ARRAY || !v->count)
		return false;
	json_each(item, v) {
		if (item->type != JSON_STRING)
			return false;
		if (!take_event(r->sink, item->text))
			complain_event(r, item);
	}
	return true;
}

/* -- criteria ---------------------------------------------------------------------------------- */

static bool take_value(struct reader *r, const struct json *v, struct sink_test *t)
{
	bool plain = v->type == JSON_STRING || v->type == JSON_NUMBER;

	if (!plain || v->text.n > VALUE_MAX || t->values.n == SINK_WORDS)
		return false;
	t->how = TEST_ONE_OF;
	t->values.words[t->values.n++] = keep(r, v->text);
	return true;
}

/* "text", "te*t", ["a", "b*"], true: it is there, false: it is not. */
static bool take_test(struct reader *r, const struct json *v, struct sink_test *t)
{
	if (v->type == JSON_BOOL) {
		t->how = v->flag ? TEST_THERE : TEST_ABSENT;
		return true;
	}
	if (v->type != JSON_ARRAY)
		return take_value(r, v, t);
	json_each(item, v)
		if (!take_value(r, item, t))
			return false;
	return v->count > 0;
}

static const char test_fit[] =
	"a text (with * for anything), a list of at most 32 of them, or true (it is there) or false";

static void take_properties(struct reader *r, const struct json *v, struct sink_criteria *c)
{
	char shown[NAME_SHOWN];

	if (v->type != JSON_OBJECT || v->count > SINK_PROPERTIES) {
		complain(r, v->begin, "'properties' must be an object with at most %d members", SINK_PROPERTIES);
		return;
	}
	if (c->n) {
		complain(r, v->begin, "'properties' appears a second time");
		return;
	}
	c->properties = arena_alloc(&r->sinks->arena, (v->count + 1) * sizeof *c->properties);
	json_each(m, v) {
		struct sink_test *t = &c->properties[c->n++];

		t->property = keep(r, m->key);
		if (!take_test(r, m, t))
			complain_unfit(r, m, name_shown(m->key, shown), test_fit);
	}
}

static bool take_when(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	struct sink_criteria *c = to;
	const struct {
		const char *name;
		struct sink_test *test;
	} tests[] = { { "type", &c->type }, { "agent", &c->agent }, { "project", &c->project } };

	(void)f;
	if (v->type != JSON_OBJECT)
		return false;
	json_each(m, v) {
		char shown[NAME_SHOWN];
		size_t i = 0;

		while (i < countof(tests) && !str_eq(m->key, str_of(tests[i].name)))
			i++;
		if (str_eq(m->key, STR("properties")))
			take_properties(r, m, c);
		else if (i == countof(tests))
			complain(r, m->begin, "'%s' is no criterion; there are type, agent, project and properties",
				name_shown(m->key, shown));
		else if (tests[i].test->how != TEST_NONE)
			complain(r, m->begin, "'%s' appears a second time", tests[i].name);
		else if (!take_test(r, m, tests[i].test))
			complain_unfit(r, m, tests[i].name, test_fit);
	}
	return true;
}

/* -- what comes in ----------------------------------------------------------------------------- */

static bool take_kind(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)r, (void)f;
	for (enum inbound_type t = 0; t < INBOUND_TYPE_MAX; t++)
		if (str_eq(json_str(v), str_of(inbound_type_names[t]))) {
			*(enum inbound_type *)to = t;
			return true;
		}
	return false;
}

static bool take_list_of_types(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	(void)f;
	return v->type != JSON_BOOL && take_test(r, v, to);
}

static bool take_to(struct reader *r, const struct sink_field *f, const struct json *v, void *to)
{
	struct inbound *in = (struct inbound *)((char *)to - f->offset);
	const struct {
		const char *name;
		struct sink_test *test;
	} tests[] = { { "session", &in->to.session }, { "agent", &in->to.agent }, { "project", &in->to.project } };

	if (v->type != JSON_OBJECT || !v->count)
		return false;
	json_each(m, v) {
		size_t i = 0;

		while (i < countof(tests) && !str_eq(m->key, str_of(tests[i].name)))
			i++;
		if (i == countof(tests) || tests[i].test->how != TEST_NONE || m->type == JSON_BOOL ||
			!take_test(r, m, tests[i].test))
			return false;
	}
	return true;
}

/* -- a sink ------------------------------------------------------------------------------------ */

static take_fn *const takers[] = {
	[SINK_FIELD_NAME] = take_name,
	[SINK_FIELD_TYPE] = take_type,
	[SINK_FIELD_BOOL] = take_bool,
	[SINK_FIELD_INT] = take_int,
	[SINK_FIELD_URL] = take_url,
	[SINK_FIELD_FILE] = take_file,
	[SINK_FIELD_COMMAND] = take_command,
	[SINK_FIELD_HEADERS] = take_headers,
	[SINK_FIELD_EVENTS] = take_events,
	[SINK_FIELD_FORM] = take_form,
	[SINK_FIELD_WHEN] = take_when,
	[SINK_FIELD_KIND] = take_kind,
	[SINK_FIELD_TEST] = take_list_of_types,
	[SINK_FIELD_TO] = take_to,
};

/* What is read: a sink, or what may come in. */
struct target {
	const struct sink_field *fields;
	const char *noun, *type_name;
	unsigned type;
	void *at;
};

static const struct sink_field *find_field(const struct sink_field *fields, str name)
{
	for (const struct sink_field *f = fields; f->name; f++)
		if (str_eq(name, str_of(f->name)))
			return f;
	return NULL;
}

static void complain_unknown(struct reader *r, const struct target *t, const struct json *m, size_t at)
{
	struct name_suggestion near = { 0 };
	char shown[NAME_SHOWN];

	for (const struct sink_field *f = t->fields; f->name; f++)
		name_suggest(&near, m->key, str_of(f->name));
	if (near.best.p)
		complain(r, at, "'%s' means nothing in %s; did you mean '" STR_FMT "'?", name_shown(m->key, shown),
			t->noun, STR_ARG(near.best));
	else
		complain(r, at, "'%s' means nothing in %s; see docs/outbox.md", name_shown(m->key, shown), t->noun);
}

static void take_field(struct reader *r, const struct target *t, const struct sink_field *f, const struct json *m)
{
	if (!(f->types >> t->type & 1))
		complain(r, m->begin, "%s of type %s has no '%s'", t->noun, t->type_name, f->name);
	else if (!takers[f->type](r, f, m, (char *)t->at + f->offset))
		complain_unfit(r, m, f->name, f->text);
}

/* The type first: it says what else may stand there. */
static bool take_first(struct reader *r, const struct target *t, const struct json *v)
{
	const struct json *type = json_get(v, STR("type"));
	const struct sink_field *f = find_field(t->fields, STR("type"));

	if (v->type != JSON_OBJECT)
		complain(r, v->begin, "%s must be an object, not %s", t->noun, json_type_name(v->type));
	else if (!type)
		complain(r, v->begin, "%s needs a 'type': %s", t->noun, f->text);
	else if (!takers[f->type](r, f, type, (char *)t->at + f->offset))
		complain_unfit(r, type, "type", f->text);
	return !r->broken;
}

static void take_members(struct reader *r, const struct target *t, const struct json *v)
{
	uint32_t seen = 0;

	json_each(m, v) {
		const struct sink_field *f = find_field(t->fields, m->key);
		uint32_t bit = f ? UINT32_C(1) << (f - t->fields) : 0;

		if (!f)
			complain_unknown(r, t, m, m->begin);
		else if (seen & bit)
			complain(r, m->begin, "'%s' appears a second time here", f->name);
		else
			take_field(r, t, f, m);
		seen |= bit;
	}
	for (const struct sink_field *f = t->fields; f->name; f++)
		if (f->needed >> t->type & 1 && !(seen >> (f - t->fields) & 1))
			complain(r, v->begin, "%s of type %s needs '%s': %s", t->noun, t->type_name, f->name, f->text);
}

/* An address of ntfy ends with the topic, and messages go to the server. */
static void split_topic(struct reader *r, const struct json *v)
{
	struct sink *s = r->sink;
	size_t from = s->url.n;

	while (s->url.n && s->url.p[s->url.n - 1] == '/')
		s->url.n--;
	from = s->url.n;
	while (from && s->url.p[from - 1] != '/')
		from--;
	s->topic = str_from(s->url, from);
	s->url = str_head(s->url, from);
	if (str_ends(s->url, STR("://")) || str_empty(s->topic) || s->topic.n > TOPIC_MAX)
		complain(r, v->begin, "'url' of ntfy must end with the topic: https://ntfy.sh/mytopic");
}

static void finish_sink(struct reader *r, const struct json *v)
{
	struct sink *s = r->sink;
	bool any = s->kinds != 0;

	for (size_t t = 0; t < OUTBOX_TYPE_MAX; t++)
		any |= s->types[t];
	for (size_t t = 0; t < OUTBOX_OTHER && !any; t++)
		s->types[t] = outbox_types[t].unasked;
	if (s->type == SINK_NTFY)
		split_topic(r, v);
	for (size_t i = 0; i < r->sinks->n; i++)
		if (str_eq(r->sinks->list[i]->name, s->name))
			complain(r, v->begin, "there is a sink '" STR_FMT "' already", STR_ARG(s->name));
}

static void take_sink(struct reader *r, const struct json *v)
{
	struct target t = { .fields = sink_fields, .noun = "a sink" };
	unsigned col;

	if (r->sinks->n == SINKS_MAX) {
		complain(r, v->begin, "there are more than %d sinks; this one is ignored", SINKS_MAX);
		return;
	}
	r->sink = r->sinks->list[r->sinks->n] = arena_new(&r->sinks->arena, struct sink);
	*r->sink =
		(struct sink){ .contract = r->contracts, .enabled = true, .timeout_s = TIMEOUT_S, .max_mb = FILE_MB };
	r->broken = false;
	json_locate(r->text, v->begin, &r->sink->line, &col);
	t.at = r->sink;
	if (take_first(r, &t, v)) {
		t.type = r->sink->type;
		t.type_name = sink_types[t.type].name;
		take_members(r, &t, v);
	}
	if (!r->broken)
		finish_sink(r, v);
	if (!r->broken)
		r->sinks->n++;
}

static void take_inbound(struct reader *r, const struct json *v)
{
	struct target t = { .fields = inbound_fields, .noun = "an entry of 'inbound'" };
	struct inbound *in;
	unsigned col;

	if (r->sinks->ninbound == INBOUND_MAX) {
		complain(r, v->begin, "there are more than %d entries of 'inbound'; this one is ignored", INBOUND_MAX);
		return;
	}
	t.at = in = arena_new(&r->sinks->arena, struct inbound);
	*in = (struct inbound){ .enabled = true };
	r->broken = false;
	json_locate(r->text, v->begin, &in->line, &col);
	if (take_first(r, &t, v)) {
		t.type = in->type;
		t.type_name = inbound_type_names[t.type];
		take_members(r, &t, v);
	}
	if (!r->broken && inbound_find(r->sinks, in->name))
		complain(r, v->begin, "there is an entry '" STR_FMT "' of 'inbound' already", STR_ARG(in->name));
	if (!r->broken && (in->when.agent.how != TEST_NONE || in->when.project.how != TEST_NONE))
		complain(r, v->begin, "'when' of what comes in has type and properties, not agent and project");
	if (!r->broken)
		r->sinks->inbound[r->sinks->ninbound++] = in;
}

/* -- the file ---------------------------------------------------------------------------------- */

static uint64_t kinds_of(const struct sink *s)
{
	uint64_t kinds = s->kinds;

	for (enum outbox_type t = 0; t < OUTBOX_OTHER; t++)
		if (s->types[t])
			kinds |= outbox_kinds_of(t);
	return s->enabled ? kinds : 0;
}

static void take_list(struct reader *r, const struct json *list, const char *name,
	void (*take)(struct reader *r, const struct json *v))
{
	if (list && list->type != JSON_ARRAY)
		complain(r, list->begin, "'%s' must be a list of objects, not %s", name, json_type_name(list->type));
	else
		json_each(v, list)
			take(r, v);
}

static void take_text(struct reader *r, struct arena *a)
{
	struct json *root;
	struct err err;

	if (str_starts(r->text, STR("\xEF\xBB\xBF")))
		r->text = str_from(r->text, 3);
	if (str_empty(str_trim(r->text)))
		return;
	if (json_parse(a, r->text, JSON_COMMENTS, &root, &err) < 0) {
		*add_problem(r) = err;
		return;
	}
	take_list(r, json_get(root, STR("sinks")), "sinks", take_sink);
	if (!r->contracts)
		take_list(r, json_get(root, STR("inbound")), "inbound", take_inbound);
}

static struct sinks *parse_both(str text, str contracts, const char *home)
{
	struct sinks *s = xcalloc(1, sizeof *s);
	struct reader r = { .text = text, .home = home, .sinks = s, .tail = &s->problems };
	struct arena a;

	s->refs = 1;
	arena_init(&s->arena);
	arena_init(&a);
	take_text(&r, &a);
	r.text = contracts;
	r.contracts = true;
	take_text(&r, &a);
	arena_release(&a);
	for (size_t i = 0; i < s->n; i++)
		s->kinds |= s->list[i]->hears = kinds_of(s->list[i]);
	return s;
}

struct sinks *sinks_parse(str text, const char *home)
{
	return parse_both(text, STR(""), home);
}

static bool read_file(const char *path, struct buf *b, struct err *err)
{
	int r = path ? fs_read_file(path, b) : 0;

	if (r < 0 && r != -ENOENT)
		err_set(err, r, "%.200s cannot be read: %s", path, strerror(-r));
	return r >= 0 || r == -ENOENT;
}

struct sinks *sinks_load(const char *path, const char *contracts, const char *home, struct err *err)
{
	struct buf b = BUF_INIT(LIMIT_CONFIG), more = BUF_INIT(LIMIT_CONFIG);
	struct sinks *s = NULL;

	if (read_file(path, &b, err) && read_file(contracts, &more, err))
		s = parse_both(buf_str(&b), buf_str(&more), home);
	buf_release(&b);
	buf_release(&more);
	return s;
}

struct sinks *sinks_ref(struct sinks *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void sinks_unref(struct sinks *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	arena_release(&s->arena);
	free(s);
}

const struct sink *sinks_find(const struct sinks *s, str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->list[i]->name, name))
			return s->list[i];
	return NULL;
}
