/* What comes in: whether it was signed by whom the user trusts, and what of it is kept.
 *
 * The signature is the only proof there is, so it comes first: nothing of a body is parsed before it holds. What is
 * kept are a type and some properties, each of them short; the rest of the body is dropped. */
#include "outbox/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmac.h"

enum { PROPERTIES_MAX = 32, PROPERTY_NAME = 64, PROPERTY_TEXT = 1024, TYPE_TEXT = 128 };

const char *const inbound_type_names[INBOUND_TYPE_MAX] = {
	[INBOUND_GENERIC] = "generic",
	[INBOUND_GITHUB] = "github",
};

const struct inbound *inbound_find(const struct sinks *s, str name)
{
	for (size_t i = 0; i < s->ninbound; i++)
		if (str_eq(s->inbound[i]->name, name))
			return s->inbound[i];
	return NULL;
}

/* -- whether it is genuine --------------------------------------------------------------------- */

/* What is signed: with GitHub the body, else the time, a dot and the body. */
static void add_signed(struct hmac *h, const struct inbound *in, const struct inbound_request *q)
{
	if (in->type != INBOUND_GITHUB) {
		hmac_add(h, q->timestamp);
		hmac_add(h, STR("."));
	}
	hmac_add(h, q->body);
}

static bool is_in_time(str timestamp, int64_t now_us)
{
	int64_t at;

	return timestamp.n <= 12 && str_to_int(timestamp, &at) && llabs(now_us / USEC_PER_SEC - at) <= INBOUND_WINDOW_S;
}

/* The same for the same, however often it is sent: by its own name where the signature covers the time anyway. */
static void find_digest(const struct inbound *in, const struct inbound_request *q, uint8_t ret[SHA256_BYTES])
{
	bool named = in->type != INBOUND_GITHUB && !str_empty(q->delivery);
	str what = named ? q->delivery : q->body;
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, "hookd inbound", 14); /* with its NUL */
	sha256_add(&s, in->name.p, in->name.n);
	sha256_add(&s, named ? "\1" : "", 1);
	if (!named && in->type != INBOUND_GITHUB)
		sha256_add(&s, q->timestamp.p, q->timestamp.n);
	sha256_add(&s, what.p ? what.p : "", what.n);
	sha256_end(&s, ret);
}

int inbound_check(const struct inbound *in, const struct inbound_request *q, int64_t now_us, uint8_t ret[SHA256_BYTES],
	struct err *err)
{
	const str prefix = STR("sha256=");
	char secret[SECRET_MAX];
	uint8_t digest[SHA256_BYTES];
	struct hmac h;
	bool genuine;

	if (secret_read(in->secret_file, secret, err) < 0)
		return -EIO;
	hmac_init(&h, str_of(secret));
	add_signed(&h, in, q);
	hmac_end(&h, digest);
	explicit_bzero(secret, sizeof secret);
	explicit_bzero(&h, sizeof h);
	genuine = hmac_is(digest, str_starts(q->signature, prefix) ? str_from(q->signature, prefix.n) : STR(""));
	explicit_bzero(digest, sizeof digest);
	if (!genuine)
		return err_set(err, -EPERM, "the signature is wrong");
	if (in->type != INBOUND_GITHUB && !is_in_time(q->timestamp, now_us))
		return err_set(err, -ESTALE, "the timestamp is more than %d seconds off", INBOUND_WINDOW_S);
	find_digest(in, q, ret);
	return 0;
}

/* -- what it says ------------------------------------------------------------------------------ */

struct saying {
	struct json_writer w;
	unsigned n;
};

static void add_property(struct saying *s, str name, const struct json *v)
{
	if (!v || s->n == PROPERTIES_MAX || str_empty(name) || name.n > PROPERTY_NAME)
		return;
	if (v->type == JSON_STRING) {
		jw_key_str(&s->w, name);
		jw_str(&s->w, str_cut_utf8(v->text, PROPERTY_TEXT));
	} else if (v->type == JSON_BOOL || (v->type == JSON_NUMBER && v->text.n <= PROPERTY_NAME)) {
		jw_key_str(&s->w, name);
		jw_value(&s->w, v);
	} else {
		return;
	}
	s->n++;
}

/* Where GitHub has what people ask about. */
static const struct {
	const char *name, *path[4];
} github[] = {
	{ "action", { "action" } },
	{ "repository", { "repository", "full_name" } },
	{ "sender", { "sender", "login" } },
	{ "ref", { "ref" } },
	{ "head", { "head_commit", "id" } },
	{ "message", { "head_commit", "message" } },
	{ "number", { "pull_request", "number" } },
	{ "title", { "pull_request", "title" } },
	{ "url", { "pull_request", "html_url" } },
	{ "merged", { "pull_request", "merged" } },
	{ "branch", { "pull_request", "head", "ref" } },
	{ "issue", { "issue", "number" } },
	{ "issue_title", { "issue", "title" } },
	{ "issue_url", { "issue", "html_url" } },
	{ "comment", { "comment", "body" } },
	{ "comment_by", { "comment", "user", "login" } },
	{ "review", { "review", "state" } },
	{ "workflow", { "workflow_run", "name" } },
	{ "conclusion", { "workflow_run", "conclusion" } },
	{ "workflow_url", { "workflow_run", "html_url" } },
	{ "workflow_branch", { "workflow_run", "head_branch" } },
	{ "check", { "check_run", "name" } },
	{ "check_conclusion", { "check_run", "conclusion" } },
	{ "release", { "release", "tag_name" } },
	{ "state", { "state" } },
	{ "description", { "description" } },
};

static void add_github(struct saying *s, const struct json *root)
{
	for (size_t i = 0; i < countof(github); i++) {
		const struct json *v = root;

		for (size_t k = 0; k < countof(github[i].path) && github[i].path[k] && v; k++)
			v = json_get(v, str_of(github[i].path[k]));
		add_property(s, str_of(github[i].name), v);
	}
}

/* `properties`, or else what the body has beside its own names. */
static void add_generic(struct saying *s, const struct json *root)
{
	const struct json *given = json_get(root, STR("properties"));
	bool own = !given || given->type != JSON_OBJECT;

	json_each(m, own ? root : given)
		if (!own || !(str_eq(m->key, STR("type")) || str_eq(m->key, STR("timestamp"))))
			add_property(s, m->key, m);
}

/* GitHub's action is part of the type: pull_request.opened. */
static str type_of(const struct inbound *in, const struct inbound_request *q, const struct json *root, struct arena *a)
{
	bool hub = in->type == INBOUND_GITHUB;
	str type = hub ? q->event : json_str(json_get(root, STR("type")));
	str action = hub ? json_str(json_get(root, STR("action"))) : STR_NONE;

	if (str_empty(type) && !hub)
		type = json_str(json_get(root, STR("event_type"))); /* as another hookd sends it */
	if (str_empty(type))
		type = str_empty(q->event) ? STR("event") : q->event;
	type = str_cut_utf8(type, TYPE_TEXT);
	if (str_empty(action))
		return type;
	return arena_strf(a, STR_FMT "." STR_FMT, STR_ARG(type), STR_ARG(str_cut_utf8(action, TYPE_TEXT)));
}

static bool is_wanted(const struct inbound *in, str type, const struct json *properties)
{
	const struct sink_criteria *c = &in->when;

	if (!test_holds(&in->events, type, true) || !test_holds(&c->type, type, true))
		return false;
	for (size_t i = 0; i < c->n; i++) {
		str value;
		bool there = tree_property(properties, c->properties[i].property, &value);

		if (!test_holds(&c->properties[i], value, there))
			return false;
	}
	return true;
}

static str write_payload(const struct inbound *in, const struct inbound_request *q, const struct json *root, str type,
	int64_t now_us, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_RECORD);
	struct saying s = { .w = JSON_WRITER(&b) };
	str given = json_str(json_get(root, STR("timestamp"))), payload;
	char when[CLOCK_TEXT];
	int64_t at;

	if (str_empty(given) || given.n >= CLOCK_TEXT || !clock_parse(given.p, given.n, &at))
		at = now_us;
	clock_format(at, 0, when);
	jw_object(&s.w);
	jw_field_str(&s.w, "source", in->name);
	jw_field_str(&s.w, "type", type);
	jw_field_str(&s.w, "timestamp", str_of(when));
	jw_field_str(&s.w, "delivery", str_cut_utf8(q->delivery, TYPE_TEXT));
	jw_key(&s.w, "properties");
	jw_object(&s.w);
	if (in->type == INBOUND_GITHUB)
		add_github(&s, root);
	else
		add_generic(&s, root);
	jw_end_object(&s.w);
	jw_end_object(&s.w);
	payload = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return payload;
}

int inbound_normalise(const struct inbound *in, const struct inbound_request *q, int64_t now_us, struct arena *a,
	str *ret)
{
	struct json *root = NULL, *made = NULL;
	str type;

	if (json_parse(a, q->body, JSON_LENIENT_UTF8, &root, NULL) < 0 || root->type != JSON_OBJECT)
		return -EBADMSG;
	type = type_of(in, q, root, a);
	*ret = write_payload(in, q, root, type, now_us, a);
	if (!str_is_set(*ret) || json_parse(a, *ret, JSON_LENIENT_UTF8, &made, NULL) < 0)
		return -EBADMSG;
	return is_wanted(in, type, json_get(made, STR("properties"))) ? 0 : -ENOENT;
}

/* -- whom it is told --------------------------------------------------------------------------- */

bool inbound_tells(const struct inbound *in)
{
	return in->to.session.how != TEST_NONE || in->to.agent.how != TEST_NONE || in->to.project.how != TEST_NONE;
}

bool inbound_is_for(const struct inbound *in, str agent, str session, str cwd)
{
	return inbound_tells(in) && test_holds(&in->to.session, session, !str_empty(session)) &&
		test_holds(&in->to.agent, agent, true) && test_holds(&in->to.project, cwd, !str_empty(cwd));
}
