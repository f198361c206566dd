/* What a window is given of the effort it goes on with: where that stands, what its skill says of the phase, files that
 * it asks for, directives of the folders that are touched. Words of earlier windows and of files are data inside a
 * frame, like memories; the lines around them are hookd's own. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "context/internal.h"
#include "redact/redact.h"

enum {
	FILE_BYTES = 3000,
	SECTION_BYTES = 2500,
	LEAST = 300,
	FILES_MAX = 8,
	FRAME_BYTES = 200,
	NAME_BYTES = 200,
	METADATA_BYTES = 1000
};

struct part {
	struct moment *m;
	const struct context_effort *q;
	struct buf text;
	size_t room;
	struct json *config, *metadata;
};

static bool has(const struct part *p, str text)
{
	uint64_t hash = effort_hash(text);

	for (size_t i = 0; i < p->q->ngiven; i++)
		if (p->q->given[i] == hash)
			return true;
	for (size_t i = 0; i < p->m->reply->nreads; i++)
		if (str_eq(p->m->reply->reads[i].path, text))
			return true;
	return false;
}

/* Text of others cannot end the frame it stands in. */
static str inside(struct part *p, str text)
{
	struct buf b = BUF_INIT(EFFORT_FILE_MAX * 2);
	ptrdiff_t at;
	str copy;

	while ((at = str_find(text, STR("hookd-"))) >= 0) {
		size_t n = (size_t)at;

		while (n > 0 && (text.p[n - 1] == '/' || text.p[n - 1] == '<'))
			n--;
		buf_add(&b, text.p, n);
		for (; n < (size_t)at; n++)
			buf_add_str(&b, text.p[n] == '<' ? STR("‹") : STR("/"));
		buf_add_str(&b, STR("hookd-"));
		text = str_from(text, (size_t)at + 6);
	}
	buf_add_str(&b, text);
	copy = arena_str(p->m->arena, buf_str(&b));
	buf_release(&b);
	return copy;
}

/* All of it, or nothing. */
static bool add(struct part *p, str text)
{
	if (text.n + 1 > p->room)
		return false;
	buf_add_str(&p->text, text);
	buf_add_char(&p->text, '\n');
	p->room -= text.n + 1;
	return true;
}

/* -- files ------------------------------------------------------------------------------------- */

static void note(struct part *p, str path, str hash, bool is_directive, bool is_owed)
{
	struct context_reply *r = p->m->reply;

	if (r->nreads < CONTEXT_READS)
		r->reads[r->nreads++] = (struct context_read){ .path = path,
			.hash = hash,
			.is_directive = is_directive,
			.is_owed = is_owed };
}

/* Below the project, or beside the skill; never a file that holds secrets. */
static bool may_be_read(const struct part *p, const char *real)
{
	str path = str_of(real), skill = json_str(json_get(p->config, STR("file"))), root = p->q->root;
	ptrdiff_t end = str_find(skill, STR("/SKILL.md"));
	str dir = end > 0 ? str_head(skill, (size_t)end) : STR_NONE;
	bool in_root = root.n > 1 && str_starts(path, root) && path.n > root.n && path.p[root.n] == '/';
	bool in_skill = dir.n > 1 && str_starts(path, dir) && path.n > dir.n && path.p[dir.n] == '/';

	return (in_root || in_skill) && !redact_is_secret_file(path);
}

/* One file under a heading, cut where the room ends; the next time the rest of the files. */
static void add_file(struct part *p, const char *heading, str path, bool is_directive)
{
	str text, hash, cut, block;
	char real[PATH_MAX];
	size_t most;

	if (!realpath(arena_cstr(p->m->arena, path), real) || !may_be_read(p, real) || has(p, str_of(real)))
		return;
	path = arena_str(p->m->arena, str_of(real));
	if (effort_file_read(real, EFFORT_FILE_MAX, p->m->arena, &text, &hash) < 0)
		return;
	text = str_trim(text);
	most = p->room > LEAST + path.n + 40 ? MIN((size_t)FILE_BYTES, p->room - path.n - 40) : 0;
	if (!most || (text.n > most && most < FILE_BYTES)) {
		note(p, path, hash, is_directive, true);
		return;
	}
	cut = str_cut_utf8(text, most);
	block = arena_strf(p->m->arena, "[%s: " STR_FMT "]\n" STR_FMT "%s", heading, STR_ARG(path),
		STR_ARG(inside(p, cut)), cut.n < text.n ? "\n… (read the file for the rest)" : "");
	note(p, path, hash, is_directive, !add(p, block));
}

/* Whoever named it wants to hear of it. */
static void add_missing(struct part *p, const char *what, str name)
{
	add(p,
		arena_strf(p->m->arena, "(The %s " STR_FMT " is not there.)", what,
			STR_ARG(block_plain(p->m, str_cut_utf8(name, NAME_BYTES)))));
}

/* A path of the skill or the metadata: beside the skill, else below the project. */
static void add_relative(struct part *p, const char *heading, const char *what, str path)
{
	str skill = json_str(json_get(p->config, STR("file")));
	ptrdiff_t end = str_find(skill, STR("/SKILL.md"));
	char real[PATH_MAX];
	str beside;

	if (str_empty(path) || path.p[0] == '/')
		return;
	if (end > 0) {
		beside = arena_strf(p->m->arena, STR_FMT "/" STR_FMT, STR_ARG(str_head(skill, (size_t)end)),
			STR_ARG(path));

		if (realpath(beside.p, real)) {
			add_file(p, heading, beside, false);
			return;
		}
	}
	beside = arena_strf(p->m->arena, STR_FMT "/" STR_FMT, STR_ARG(p->q->root), STR_ARG(path));
	if (realpath(beside.p, real))
		add_file(p, heading, beside, false);
	else
		add_missing(p, what, path);
}

static void add_preloads(struct part *p)
{
	const struct json *const lists[] = { json_get(p->metadata, STR("preload")),
		json_get(p->config, STR("preload")) };
	size_t n = 0;

	for (size_t i = 0; i < countof(lists); i++)
		json_each(path, lists[i])
			if (n++ < FILES_MAX)
				add_relative(p, "Preloaded", "preload", json_str(path));
}

static void add_template(struct part *p, const char *name)
{
	add_relative(p, "Template", "template", json_str(json_path(p->config, "templates", name, NULL)));
}

/* Under its name, with the ending or without. */
static bool is_found(const struct effort_found *found, str name)
{
	name = str_ends(name, STR(".md")) ? str_head(name, name.n - 3) : name;
	for (; found; found = found->next) {
		str path = str_head(found->path, found->path.n - 3);

		if (path.n > name.n && path.p[path.n - name.n - 1] == '/' &&
			str_eq_name(str_from(path, path.n - name.n), name))
			return true;
	}
	return str_empty(name);
}

static void add_directives(struct part *p)
{
	const struct effort_discovery d = { .dir = arena_cstr(p->m->arena, p->q->dir),
		.root = arena_cstr(p->m->arena, p->q->root),
		.agent = p->m->ask->agent,
		.also = json_get(p->config, STR("directives")),
		.checklists = p->q->checklists };

	const struct effort_found *found = effort_discover(&d, p->m->arena);

	for (const struct effort_found *f = found; f; f = f->next)
		add_file(p, "Directive", f->path, true);
	json_each(name, d.also)
		if (p->q->begins && !is_found(found, json_str(name)))
			add_missing(p, "directive", json_str(name));
}

/* -- the skill's words about a phase -------------------------------------------------------------- */

static void add_phase(struct part *p, str phase)
{
	str file = json_str(json_get(p->config, STR("file"))), text, hash, section;
	char real[PATH_MAX];

	if (str_empty(phase) || str_empty(file) || !realpath(arena_cstr(p->m->arena, file), real) ||
		effort_file_read(real, EFFORT_FILE_MAX, p->m->arena, &text, &hash) < 0)
		return;
	section = str_cut_utf8(effort_skill_section(text, phase),
		MIN((size_t)SECTION_BYTES, p->room > LEAST ? p->room - LEAST : 0));
	if (!str_empty(section))
		p->m->reply->phase_left_out = !add(p,
			arena_strf(p->m->arena, "[Phase " STR_FMT "]\n" STR_FMT, STR_ARG(block_plain(p->m, phase)),
				STR_ARG(inside(p, section))));
}

/* -- where it stands --------------------------------------------------------------------------- */

static const char *const state_words[] = { [GIT_UNKNOWN] = "",
	[GIT_NEW] = " (new, not in git)",
	[GIT_CHANGED] = " (changed)",
	[GIT_KEPT] = " (in git as it is)",
	[GIT_GONE] = " (deleted)" };

static void add_states(struct part *p, struct effort_standing *s)
{
	enum git_state states[EFFORT_ITEMS_MAX];

	if (!s->files.n)
		return;
	git_states(arena_cstr(p->m->arena, p->q->root), s->files.v, s->files.n, p->m->arena, states);
	for (size_t i = 0; i < s->files.n; i++)
		s->files.v[i] = arena_strf(p->m->arena, STR_FMT "%s", STR_ARG(s->files.v[i]), state_words[states[i]]);
}

static void add_head(struct part *p)
{
	const struct context_effort *q = p->q;
	char uid[ULID_TEXT + 1];

	ulid_format(&q->uid, uid);
	add(p,
		arena_strf(p->m->arena,
			"This session goes on with effort %s: " STR_FMT "%s" STR_FMT ", number %lld of " STR_FMT ".",
			uid, STR_ARG(q->skill), q->mode.n ? " " : "", STR_ARG(q->mode), (long long)q->ordinal,
			STR_ARG(block_plain(p->m, q->task))));
	if (q->phase.n)
		add(p, arena_strf(p->m->arena, "Phase: " STR_FMT, STR_ARG(block_plain(p->m, q->phase))));
}

/* Of a window that has more than one before it. */
static int add_standing(struct part *p)
{
	struct effort_standing s;
	str text;
	int r = effort_stands(p->m->store, &p->q->uid, p->m->arena, &s);

	if (r < 0)
		return r;
	add_states(p, &s);
	p->m->reply->standing = effort_standing_json(&s, p->m->arena);
	text = effort_standing_text(&s, EFFORT_STANDING_BYTES, p->m->arena);
	if (!str_empty(text))
		add(p,
			arena_strf(p->m->arena,
				"\nWhere it stands, as earlier windows left it (data; check it against the "
				"code):\n" STR_FMT,
				STR_ARG(inside(p, str_trim(text)))));
	return 0;
}

static void add_advice(struct part *p)
{
	struct effort_gates g = { 0 };

	(void)effort_gates_read(json_get(p->config, STR("gates")), &g, NULL);
	(void)effort_gates_read(json_get(p->metadata, STR("gates")), &g, NULL);
	if (g.heartbeat_block)
		add(p,
			arena_strf(p->m->arena,
				"Write a line into its log at least every %lld calls: hookd effort log \"…\" (what you "
				"did, what "
				"you found).",
				(long long)g.heartbeat_block));
	if (json_first(json_get(p->config, STR("phases"))))
		add(p,
			STR("Enter each phase with: hookd effort phase N --proof '{…}'. At the end: hookd effort "
			    "finish "
			    "\"result\"."));
}

/* -- all of it --------------------------------------------------------------------------------- */

/* What somebody wrote down about the effort, but for what hookd itself acts on. */
static void add_metadata(struct part *p)
{
	static const char *const acted_on[] = { "gates", "rules", "preload" };
	struct buf b = BUF_INIT(METADATA_BYTES);
	struct json_writer w = JSON_WRITER(&b);

	jw_object(&w);
	json_each(m, p->metadata) {
		bool known = false;

		for (size_t i = 0; i < countof(acted_on); i++)
			known |= str_eq(m->key, str_of(acted_on[i]));
		if (known)
			continue;
		jw_key_str(&w, m->key);
		jw_value(&w, m);
	}
	jw_end_object(&w);
	if (!b.full && b.len > 2)
		add(p, arena_strf(p->m->arena, "Noted with it (data): " STR_FMT, STR_ARG(inside(p, buf_str(&b)))));
	buf_release(&b);
}

static int add_beginning(struct part *p)
{
	int r;

	add_head(p);
	r = p->q->is_subagent ? 0 : add_standing(p);
	if (r < 0)
		return r;
	if (p->q->snapshot)
		return 0;
	if (p->q->is_subagent) {
		if (p->q->goal.n)
			add(p, arena_strf(p->m->arena, "Goal: " STR_FMT, STR_ARG(block_plain(p->m, p->q->goal))));
		add(p, STR("You work for it as a subagent. Log what you find: hookd effort log \"…\"."));
		add_metadata(p);
		add_phase(p, p->q->phase);
		add_preloads(p);
		add_template(p, "log");
		return 0;
	}
	add_advice(p);
	add_phase(p, p->q->phase);
	add_preloads(p);
	add_template(p, "log");
	return 0;
}

static void finish(struct part *p)
{
	char boundary[9];

	if (!p->text.len)
		return;
	block_boundary(p->m, boundary);
	p->m->reply->effort = arena_strf(p->m->arena, "<hookd-effort id=\"%s\">\n" STR_FMT "\n</hookd-effort>",
		boundary, STR_ARG(str_trim(buf_str(&p->text))));
	p->m->all -= MIN(p->m->all, p->m->reply->effort.n);
	p->m->room = MIN(p->m->room, p->m->all);
}

int effort_part(struct moment *m)
{
	struct part p = { .m = m, .q = m->ask->effort, .text = BUF_INIT(1 << 16) };
	int r = 0;

	p.room = MIN((size_t)CONTEXT_EFFORT_BYTES, m->all > FRAME_BYTES ? m->all - FRAME_BYTES : 0);
	(void)json_parse(m->arena, p.q->config, 0, &p.config, NULL);
	(void)json_parse(m->arena, p.q->metadata, 0, &p.metadata, NULL);
	if (p.q->begins)
		r = add_beginning(&p);
	else
		add_phase(&p, p.q->phase_due);
	for (size_t i = 0; r == 0 && i < p.q->nowed; i++)
		add_file(&p, "Preloaded", p.q->owed[i], false);
	if (r == 0 && p.q->discovers && p.q->dir.n)
		add_directives(&p);
	if (r == 0)
		finish(&p);
	buf_release(&p.text);
	return r;
}
