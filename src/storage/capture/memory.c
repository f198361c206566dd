/* Memories and injections: rows that events of hookd's own make. A Memory event names its memory by a ULID and has the
 * members that change, so folding one twice is harmless, and no session's refolding touches the row. */
#include <errno.h>

#include "base/sha256.h"
#include "capture/internal.h"

enum { TEXT_MAX = 4000, PLACE_MAX = 400, HASH_BYTES = 16 };

static str member(const struct step *t, const char *name)
{
	const struct json *v = json_get(t->event.payload, str_of(name));

	return v && v->type == JSON_STRING ? v->text : STR_NONE;
}

static int64_t number(const struct step *t, const char *name, int64_t fallback)
{
	int64_t n = fallback;

	json_int(json_get(t->event.payload, str_of(name)), &n);
	return n;
}

/* -- a new memory ------------------------------------------------------------------------------ */

/* By directory, or by a name that the user gave; neither: for all projects. Worktrees share what is known. */
static int find_project(struct step *t, int64_t *ret)
{
	str dir = member(t, "dir"), name = member(t, "project");
	int got;

	*ret = 0;
	if (str_is_set(dir)) {
		got = project_of(t->store, dir, t->record.at_us, ret);
		if (got == 0 && *ret)
			got = store_number(t->store, ret, "SELECT coalesce(parent, key) FROM projects WHERE key = ?1",
				"i", *ret);
		return MIN(got, 0);
	}
	if (str_empty(name))
		return 0;
	got = store_number(t->store, ret,
		"SELECT key FROM projects WHERE (path = ?1 OR name = ?1) AND merged IS NULL ORDER BY path = ?1 DESC, "
		"key "
		"LIMIT 1",
		"s", name);
	if (got != 0)
		return MIN(got, 0);
	got = store_do(t->store, "INSERT INTO projects(path, name, named, created_at) VALUES (?1, ?2, 1, ?3)", "ssi",
		arena_strf(t->arena, "memories of " STR_FMT, STR_ARG(name)), name, t->record.at_us);
	*ret = store_last_rowid(t->store);
	return got;
}

/* The session it was learned in, if that is known. */
static int find_session(struct step *t, int64_t *ret)
{
	str native = member(t, "session");

	*ret = 0;
	if (str_empty(native))
		return 0;
	return MIN(0,
		store_number(t->store, ret,
			"SELECT key FROM sessions WHERE native_id = ?1 ORDER BY agent = ?2 DESC LIMIT 1", "ss", native,
			member(t, "agent")));
}

/* Two texts that differ in case and blanks only are one memory. */
static void hash_memory(str text, str ref, str file, uint8_t ret[SHA256_BYTES])
{
	struct sha256 h;
	bool blank = true;

	sha256_init(&h);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		bool is_blank = c <= ' ';

		c = is_blank ? ' ' : c >= 'A' && c <= 'Z' ? (unsigned char)(c + 0x20) : c;
		if (!is_blank || !blank)
			sha256_add(&h, &c, 1);
		blank = is_blank;
	}
	sha256_add(&h, "", 1);
	sha256_add(&h, ref.p, ref.n);
	sha256_add(&h, "", 1);
	sha256_add(&h, file.p, file.n);
	sha256_end(&h, ret);
}

int capture_find_memory(struct store *s, int64_t project, str text, str ref, str file, struct ulid *ret)
{
	uint8_t hash[SHA256_BYTES];
	struct query *q;
	int got;

	hash_memory(text, ref, file, hash);
	q = store_ask(s, "SELECT uid FROM memories WHERE project = ?1 AND hash = ?2", "ib", project, hash,
		(size_t)HASH_BYTES);
	got = query_step(q);
	if (got == 1)
		memcpy(ret->b, query_str(q, 0).p, MIN(query_str(q, 0).n, (size_t)ULID_BYTES));
	query_reset(q);
	return got;
}

static str concepts_of(struct step *t)
{
	struct buf b = BUF_INIT(4096);
	struct json_writer w = JSON_WRITER(&b);
	const struct json *list = json_get(t->event.payload, STR("concepts"));
	str text;

	if (!list || list->type != JSON_ARRAY || !list->first)
		return STR_NONE;
	jw_value(&w, list);
	text = b.full ? STR_NONE : arena_str(t->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static str member_or(const struct step *t, const char *name, str fallback)
{
	str text = member(t, name);

	return str_empty(text) ? fallback : text;
}

static int add_memory(struct step *t, const struct ulid *uid)
{
	str text = summary_cut(t->arena, member(t, "text"), TEXT_MAX), file;
	struct ulid batch;
	bool has_batch = ulid_parse(member(t, "batch"), &batch);
	uint8_t hash[SHA256_BYTES];
	int64_t project = 0, session = 0;
	int got = find_project(t, &project);

	if (got == 0)
		got = find_session(t, &session);
	if (got < 0 || str_empty(text))
		return got;
	hash_memory(text, member(t, "ref"), member(t, "file"), hash);
	file = project_relative(t->store, t->arena, project, summary_cut(t->arena, member(t, "file"), PLACE_MAX));
	return store_do(t->store,
		"INSERT INTO memories(key, uid, project, type, text, file, concepts, importance, status, trust, "
		"origin, "
		"session, batch, ref, thread, hash, pinned, created_at, updated_at, change, reason) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, ?19, "
		"?20) "
		"ON CONFLICT DO NOTHING",
		"ibissssisssk"
		"bssbiiis",
		key_of(t->seq, 0), uid->b, (size_t)ULID_BYTES, project, member_or(t, "type", STR("discovery")), text,
		str_empty(file) ? STR_NONE : file, concepts_of(t), number(t, "importance", 5),
		member_or(t, "status", STR("active")), member_or(t, "trust", STR("agent")),
		member_or(t, "origin", STR("import")), session, has_batch ? batch.b : NULL,
		has_batch ? (size_t)ULID_BYTES : 0, member(t, "ref"), member(t, "thread"), hash, (size_t)HASH_BYTES,
		number(t, "pinned", 0), number(t, "created_us", t->record.at_us), t->seq, member(t, "reason"));
}

/* -- changes ----------------------------------------------------------------------------------- */

static int link_memories(struct step *t, const struct ulid *from, const char *kind, const struct ulid *to)
{
	return store_do(t->store,
		"INSERT INTO memory_links(source, kind, target, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
		"bsbi", from->b, (size_t)ULID_BYTES, str_of(kind), to->b, (size_t)ULID_BYTES, t->record.at_us);
}

/* A text that another memory has already is not taken over: that one is the memory then. */
static int change_text(struct step *t, const struct ulid *uid)
{
	str text = summary_cut(t->arena, member(t, "text"), TEXT_MAX);
	uint8_t hash[SHA256_BYTES];

	if (str_empty(text))
		return 0;
	hash_memory(text, member(t, "ref"), member(t, "file"), hash);
	return store_do(t->store, "UPDATE OR IGNORE memories SET text = ?2, hash = ?3 WHERE uid = ?1", "bsb", uid->b,
		(size_t)ULID_BYTES, text, hash, (size_t)HASH_BYTES);
}

static int change_memory(struct step *t, const struct ulid *uid)
{
	struct ulid successor;
	bool superseded = ulid_parse(member(t, "successor"), &successor);
	int r = change_text(t, uid);

	if (r == 0)
		r = store_do(t->store,
			"UPDATE memories SET type = coalesce(?2, type), file = coalesce(?3, file), "
			"importance = coalesce(?4, importance), "
			/* Out of quarantine by the user's word only, and by no detour. */
			"status = CASE WHEN status = 'quarantined' AND NOT ?13 THEN status ELSE coalesce(?5, status) "
			"END, "
			"reason = CASE WHEN ?5 IS NULL OR (status = 'quarantined' AND NOT ?13) THEN reason ELSE ?6 "
			"END, "
			"pinned = coalesce(nullif(?7, -1), pinned), "
			"muted = coalesce(nullif(?8, -1), muted), trust = coalesce(?9, trust), "
			"successor = CASE WHEN ?5 IS NULL THEN successor ELSE ?10 END, updated_at = ?11, change = ?12, "
			"concepts = coalesce(?14, concepts) WHERE uid = ?1",
			"bsskssiisbiiis", uid->b, (size_t)ULID_BYTES, member(t, "type"), member(t, "file"),
			number(t, "importance", 0), member(t, "status"), member(t, "reason"), number(t, "pinned", -1),
			number(t, "muted", -1), member(t, "trust"), superseded ? successor.b : NULL,
			superseded ? (size_t)ULID_BYTES : 0, t->record.at_us, t->seq, number(t, "approved", 0),
			concepts_of(t));
	if (r == 0 && superseded)
		r = link_memories(t, &successor, number(t, "merged", 0) ? "merges" : "supersedes", uid);
	return r;
}

int memory_on_event(struct step *t)
{
	struct ulid uid;

	if (!ulid_parse(member(t, "memory"), &uid))
		return 0;
	return str_eq(member(t, "op"), STR("add")) ? add_memory(t, &uid) : change_memory(t, &uid);
}

/* -- injections -------------------------------------------------------------------------------- */

static int add_injection(struct step *t, const struct ulid *event, const struct json *item, int rank)
{
	struct ulid uid;
	int64_t tokens = 0, score = 0, confidence = 0; /* the last two in thousandths */
	int r;

	if (!ulid_parse(json_str(json_get(item, STR("memory"))), &uid) &&
		!ulid_parse(json_str(json_get(item, STR("code"))), &uid))
		return 0;
	json_int(json_get(item, STR("tokens")), &tokens);
	json_int(json_get(item, STR("score")), &score);
	json_int(json_get(item, STR("confidence")), &confidence);
	r = store_do(t->store,
		"INSERT INTO injections(event, item, session, kind, rank, score, confidence, tokens, ord, at, place) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6 / 1000.0, ?7 / 1000.0, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
		"bbisiiiiiis", event->b, (size_t)ULID_BYTES, uid.b, (size_t)ULID_BYTES, t->session.key,
		member(t, "event"), (int64_t)rank, score, confidence, tokens, t->record.order_us, t->record.at_us,
		json_str(json_get(item, STR("place"))));
	if (r < 0 || !store_changes(t->store))
		return r;
	return store_do(t->store, "UPDATE memories SET shown = shown + 1, shown_at = ?2 WHERE uid = ?1", "bi", uid.b,
		(size_t)ULID_BYTES, t->record.at_us);
}

int injection_on_event(struct step *t)
{
	struct ulid event;
	int r = 0, rank = 0;

	if (!ulid_parse(member(t, "event_id"), &event))
		return 0;
	json_each(item, json_get(t->event.payload, STR("items")))
		r = r < 0 ? r : add_injection(t, &event, item, ++rank);
	return r;
}
