#include "install/approval.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/sha256.h"
#include "install/toml.h"

/* -- the hash ---------------------------------------------------------------------------------- */

/* What Codex fills in for a missing timeout, and the most it takes at an end. A limit of context that
 * is the default anyway counts as none. */
enum { DEFAULT_SECONDS = 600, END_DEFAULT_SECONDS = 1, END_MOST_SECONDS = 3, DEFAULT_LIMIT = 2500 };

enum { ENDS = 1 << 0, UNMATCHED = 1 << 1, LIMITED = 1 << 2 };

/* Ends have short timeouts; UNMATCHED have nothing that a matcher could look at, so it is dropped; a
 * limit of context counts only where there may be context. */
static const struct {
	const char *event;
	unsigned flags;
} rules[] = {
	{ "SessionStart", LIMITED },
	{ "UserPromptSubmit", UNMATCHED | LIMITED },
	{ "PreToolUse", LIMITED },
	{ "PostToolUse", LIMITED },
	{ "SubagentStart", LIMITED },
	{ "Stop", UNMATCHED },
	{ "Interrupt", UNMATCHED | ENDS },
	{ "SessionEnd", ENDS },
};

static unsigned rules_of(str event)
{
	for (size_t i = 0; i < countof(rules); i++)
		if (str_eq(event, str_of(rules[i].event)))
			return rules[i].flags;
	return 0;
}

/* PreToolUse becomes pre_tool_use. */
static str snake(str name, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_NAME);
	str ret;

	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool upper = c >= 'A' && c <= 'Z';

		if (upper && i)
			buf_add_char(&b, '_');
		buf_add_char(&b, upper ? (char)(c + 32) : c);
	}
	ret = arena_str(a, buf_str(&b));
	buf_release(&b);
	return ret;
}

static int64_t seconds_of(const struct install_entry *e)
{
	bool end = rules_of(e->event) & ENDS;
	int64_t seconds = end ? END_DEFAULT_SECONDS : DEFAULT_SECONDS;

	json_int(json_get(e->entry, STR("timeout")), &seconds);
	if (seconds < 1)
		seconds = 1;
	return end ? MIN(seconds, (int64_t)END_MOST_SECONDS) : seconds;
}

static void copy_member(struct json_writer *w, const struct json *from, const char *key)
{
	const struct json *v = json_get(from, str_of(key));

	if (!v || v->type == JSON_NULL)
		return;
	jw_key(w, key);
	jw_value(w, v);
}

/* The entry in the one form that is hashed: sorted keys, no blanks, defaults filled in. */
static void write_canonical(struct buf *b, const struct install_entry *e, struct arena *a)
{
	struct json_writer w = JSON_WRITER(b);
	int64_t limit = DEFAULT_LIMIT;

	jw_object(&w);
	jw_field_str(&w, "event_name", snake(e->event, a));
	jw_key(&w, "hooks");
	jw_array(&w);
	jw_object(&w);
	if (rules_of(e->event) & LIMITED)
		json_int(json_get(e->entry, STR("additionalContextLimit")), &limit);
	if (limit != DEFAULT_LIMIT)
		jw_field_int(&w, "additionalContextLimit", limit);
	jw_field_bool(&w, "async", json_true(json_get(e->entry, STR("async"))));
	jw_field_str(&w, "command", e->command);
	copy_member(&w, e->entry, "statusMessage");
	jw_field_int(&w, "timeout", seconds_of(e));
	jw_field_str(&w, "type", STR("command"));
	jw_end_object(&w);
	jw_end_array(&w);
	if (!(rules_of(e->event) & UNMATCHED))
		copy_member(&w, e->group, "matcher");
	jw_end_object(&w);
}

str install_trust_hash(const struct install_entry *e, struct arena *a)
{
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	write_canonical(&b, e, a);
	sha256_init(&s);
	sha256_add(&s, b.p, b.len);
	sha256_end(&s, digest);
	sha256_hex(digest, hex);
	buf_release(&b);
	return arena_strf(a, "sha256:%s", hex);
}

/* -- who is trusted ---------------------------------------------------------------------------- */

/* An entry, and what would stand for it: worked out once, however long the file of trust is. */
struct wanted {
	struct wanted *next;
	struct install_entry *entry;
	str key, real_key; /* by the path as it was found, and with links followed */
	str hash;
};

struct state {
	struct wanted *wanted;
	bool off; /* no hook runs at all */
};

static str key_of(const char *path, const struct install_entry *e, struct arena *a)
{
	return arena_strf(a, "%s:" STR_FMT ":%u:%u", path, STR_ARG(snake(e->event, a)), e->place[0], e->place[1]);
}

static void want(struct state *s, struct install_entry *e, const char *path, const char *real, struct arena *a)
{
	struct wanted *w = arena_new(a, struct wanted);

	*w = (struct wanted){
		.next = s->wanted,
		.entry = e,
		.key = key_of(path, e, a),
		.real_key = key_of(real, e, a),
		.hash = install_trust_hash(e, a),
	};
	s->wanted = w;
}

/* hooks.state."…".trusted_hash and .enabled, and the switch for all: features.hooks */
static void take(const struct toml_value *v, void *ctx)
{
	struct state *s = ctx;

	if (v->npath == 2 && str_eq(v->path[0], STR("features")) && str_eq(v->path[1], STR("hooks")))
		s->off = str_eq(v->text, STR("false"));
	if (v->npath != 4 || !str_eq(v->path[0], STR("hooks")) || !str_eq(v->path[1], STR("state")))
		return;
	for (struct wanted *w = s->wanted; w; w = w->next) {
		if (!str_eq(v->path[2], w->key) && !str_eq(v->path[2], w->real_key))
			continue;
		if (str_eq(v->path[3], STR("trusted_hash")) && v->type == TOML_STRING && str_eq(v->text, w->hash) &&
			w->entry->trust != INSTALL_DISABLED)
			w->entry->trust = INSTALL_TRUSTED;
		if (str_eq(v->path[3], STR("enabled")) && str_eq(v->text, STR("false")))
			w->entry->trust = INSTALL_DISABLED;
	}
}

static int read_trust(const struct install_request *q, const struct hook_file *f, struct arena *a, str *ret)
{
	struct install_request user = *q;
	struct buf b = BUF_INIT(LIMIT_SETTINGS);
	char dir[FS_PATH], path[FS_PATH];
	int r;

	/* Also for the hooks of a project. */
	user.project = NULL;
	r = hook_file_dir(&user, dir);
	if (r == 0)
		r = fs_join(path, dir, f->trust);
	if (r == 0)
		r = fs_read_file(path, &b);
	if (r == 0)
		*ret = arena_str(a, buf_str(&b));
	buf_release(&b);
	return r;
}

void trust_check(const struct install_request *q, const struct hook_file *f, const char *path,
	struct install_entry *list, struct arena *a)
{
	char *real = realpath(path, NULL);
	struct state s = { 0 };
	struct toml_shape shape;
	str text;

	for (struct install_entry *e = list; e; e = e->next) {
		e->trust = INSTALL_UNTRUSTED;
		want(&s, e, path, real ? real : path, a);
	}
	if (read_trust(q, f, a, &text) == 0)
		toml_scan(text, a, take, &s, &shape, NULL);
	for (struct install_entry *e = list; e && s.off; e = e->next)
		e->trust = INSTALL_DISABLED;
	free(real);
}
