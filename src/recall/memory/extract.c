/* Extraction without a model: what a finished turn teaches, by rules that are right more often than they are complete.
 *
 *   the user's words        corrections and rules ("no, use pnpm here"), and what they ask to remember
 *   the agent's last words  causes, surprises, decisions it states
 *   what happened           a command that failed and what made it pass; commands that are run again and again; commits
 *
 * Each memory is named after the turn and its text, so that extracting twice gives the same ones. */
#include <stdlib.h>

#include "base/alloc.h"
#include "match/match.h"
#include "memory/memory.h"

enum {
	SENTENCE_LEAST = 16,
	SENTENCE_MOST = 320,
	COMMAND_MOST = 160,
	ERROR_MOST = 140,
	NOTES_MOST = 8, /* of one turn: the seed's hard limit */
	OFTEN = 3,      /* runs of a command */
};

/* -- sentences --------------------------------------------------------------------------------- */

enum speaker { USER, AGENT };

/* What a sentence is, by how it is said. The first row that fits. */
static const struct cue {
	enum speaker speaker;
	const char *type;
	int importance;
	const char *pattern;
} cues[] = {
	{ USER, "decision", 9,
		"^(?:please |also |and )*(?:remember|note|keep in mind|don't forget|do not forget)\\b(?: that| "
		"this|:)?" },
	{ USER, "decision", 8,
		"^(?:no|nope|wrong|stop|actually|not like that|that's wrong|hm+|please)\\b[,.!: -]+(?:no,? |please "
		")?(?:we |you should |always |"
		"never |don't |do not |use |stop |it(?:'s| is) )" },
	{ USER, "decision", 8,
		"^(?:please |and |but |so )*(?:always|never|from now on|in this "
		"(?:repo|repository|project|codebase|package)|"
		"in our (?:repo|project|code|team)|we (?:always|never|only|don't|do not|use|prefer|agreed|decided)|our "
		"(?:convention|style|rule|"
		"policy)|the convention (?:here )?is|as a rule)\\b" },
	{ USER, "decision", 7,
		"^(?:please |and |but )*(?:don't|do not|stop) "
		"(?:use|using|add|adding|write|writing|put|putting|touch|touching|edit|editing|"
		"commit|committing|change|changing|import|importing|mock|mocking|create|creating)\\b" },
	{ USER, "decision", 7, "\\binstead of\\b.{2,60}$" },
	{ AGENT, "bug_fix", 6,
		"\\b(?:root cause|the (?:problem|issue|bug|failure|error|culprit) (?:was|is|came|turned "
		"out)|(?:was|were) caused by|fails? "
		"because|failed because|broke because|the fix (?:was|is)|the reason (?:was|is))\\b" },
	{ AGENT, "gotcha", 6,
		"\\b(?:gotcha|caveat|beware|careful|watch out|surprising(?:ly)?|unexpectedly|turns out|turned out|be "
		"aware|keep in mind|"
		"important to (?:know|note)|note that|only works? (?:if|when|with)|silently|does not work "
		"(?:on|with|when)|doesn't work "
		"(?:on|with|when)|must be (?:run|called|set|done) (?:before|after)|requires? (?:that|a |an |the "
		"|node|python|running))\\b" },
	{ AGENT, "trade_off", 5, "\\b(?:trade-?off|at the cost of|in exchange for|rather than .{2,80} because)\\b" },
	{ AGENT, "decision", 5,
		"\\b(?:i (?:decided|chose|opted)|we (?:decided|chose|agreed)|decided to|chose to|opted for|went with|i "
		"kept|by convention|the "
		"convention)\\b" },
};

struct extractor {
	struct match *cues[countof(cues)];
	struct match *checks; /* commands that say whether the work is right */
	struct match *commit;
	struct match *fetches; /* commands that bring text from elsewhere */
	struct poison *poison;
};

struct extractor *extractor_new(void)
{
	struct extractor *x = xcalloc(1, sizeof *x);

	for (size_t i = 0; i < countof(cues); i++)
		if (match_compile(str_of(cues[i].pattern), MATCH_NOCASE, &x->cues[i], NULL) < 0)
			abort(); /* a pattern of our own */
	if (match_compile(
		    STR("\\b(?:test|tests|check|lint|build|typecheck|format|fmt|compile|install|migrate|bench|e2e|"
			"pytest|jest|"
			"vitest|tox|ctest|tsc|mypy|ruff|eslint|clippy|gradle|mvn|bazel|make|ninja|dev|start|serve)\\b"),
		    MATCH_NOCASE, &x->checks, NULL) < 0 ||
		match_compile(STR("\\bgit\\b[^|;&\\n]*\\bcommit\\b[^\\n]*?\\s-[a-zA-Z]*m\\s*(?:\"([^\"\\n$`]{8,200})|'("
				  "[^'\\n]{8,200}))"),
			0, &x->commit, NULL) < 0)
		abort();
	if (match_compile(STR("\\b(?:curl|wget|http|https|lynx|w3m|gh|glab|nc|ssh|scp|rsync|ftp)\\b"), 0, &x->fetches,
		    NULL) < 0)
		abort();
	x->poison = poison_new();
	return x;
}

void extractor_free(struct extractor *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < countof(cues); i++)
		match_free(x->cues[i]);
	match_free(x->checks);
	match_free(x->commit);
	match_free(x->fetches);
	poison_free(x->poison);
	free(x);
}

/* -- one turn ---------------------------------------------------------------------------------- */

struct turn_facts {
	const struct extractor *extractor;
	struct arena *arena;
	struct ulid id; /* of the batch: its first event */
	str dir, session, agent, batch;
	int64_t at_us;
	memory_sink sink;
	void *arg;
	unsigned notes;
	bool foreign; /* text from outside the project took part */
};

static void emit(struct turn_facts *f, struct memory_note *n)
{
	const char *why = str_eq(n->trust, STR("user")) ? NULL : poison_find(f->extractor->poison, n->text);

	if (f->notes == NOTES_MOST)
		return;
	f->notes++;
	/* Whoever wrote what was fetched may be speaking here: found when asked for, never given by itself. */
	if (f->foreign && !str_eq(n->trust, STR("user")))
		n->trust = STR("web");
	n->uid = ulid_derive(&f->id, n->text);
	n->dir = f->dir;
	n->session = f->session;
	n->agent = f->agent;
	n->batch = f->batch;
	n->created_us = f->at_us;
	if (why) {
		n->status = STR("quarantined");
		n->reason = str_of(why);
	}
	f->sink(n, f->arg);
}

/* The next sentence or line; code and quotes are none. */
static bool next_sentence(str *rest, bool *in_code, str *ret)
{
	while (rest->n) {
		size_t n = 0;

		for (; n < rest->n && rest->p[n] != '\n'; n++)
			if (strchr(".!?", rest->p[n]) &&
				(n + 1 == rest->n || rest->p[n + 1] == ' ' || rest->p[n + 1] == '\n')) {
				n++;
				break;
			}
		*ret = str_trim(str_head(*rest, n));
		*rest = str_from(*rest, MAX(n, (size_t)1));
		if (str_starts(*ret, STR("```")))
			*in_code = !*in_code;
		else if (!*in_code && ret->n && !strchr(">|", ret->p[0]))
			return true;
	}
	return false;
}

/* "- **Note:** x" is what follows the list's mark. */
static str without_marks(str s)
{
	while (s.n && strchr("-*# \t", s.p[0]))
		s = str_from(s, 1);
	while (s.n && strchr("*_ \t", s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Words, not output of a program. */
static bool is_prose(str s)
{
	size_t letters = 0, blanks = 0;

	for (size_t i = 0; i < s.n; i++) {
		letters += (s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z';
		blanks += s.p[i] == ' ';
	}
	return s.n >= SENTENCE_LEAST && s.n <= SENTENCE_MOST && blanks >= 2 && 10 * letters >= 6 * s.n &&
		s.p[s.n - 1] != '?' && s.p[s.n - 1] != ':';
}

static const struct cue *cue_of(const struct extractor *x, enum speaker speaker, str sentence)
{
	for (size_t i = 0; i < countof(cues); i++)
		if (cues[i].speaker == speaker && match_find(x->cues[i], sentence, 0, NULL) == 1)
			return &cues[i];
	return NULL;
}

static void take_sentences(struct turn_facts *f, enum speaker speaker, str text, unsigned most)
{
	bool in_code = false;
	unsigned taken = 0;
	str sentence;

	while (taken < most && next_sentence(&text, &in_code, &sentence)) {
		const struct cue *cue;

		sentence = without_marks(sentence);
		cue = is_prose(sentence) ? cue_of(f->extractor, speaker, sentence) : NULL;
		if (!cue)
			continue;
		emit(f,
			&(struct memory_note){ .type = str_of(cue->type),
				.text = arena_str(f->arena, sentence),
				.importance = cue->importance,
				.trust = speaker == USER ? STR("user") : STR("agent"),
				.origin = speaker == USER ? STR("correction") : STR("message") });
		taken++;
	}
}

/* -- what happened ----------------------------------------------------------------------------- */

struct call {
	str command, file, error, change;
	bool failed;
};

/* "A=1 B='2 3' make": the value of a variable ends at a blank outside quotes. */
static str without_variables(str s)
{
	while (s.n && ((s.p[0] | 32) >= 'a' ? (s.p[0] | 32) <= 'z' : s.p[0] == '_')) {
		size_t n = 0;
		char quote = 0;

		while (n < s.n &&
			(s.p[n] == '_' || (s.p[n] >= '0' && s.p[n] <= '9') ||
				((s.p[n] | 32) >= 'a' && (s.p[n] | 32) <= 'z')))
			n++;
		if (n == s.n || s.p[n] != '=')
			break;
		for (; n < s.n && (quote || s.p[n] != ' '); n++)
			if (quote ? s.p[n] == quote : s.p[n] == '"' || s.p[n] == '\'')
				quote = quote ? 0 : s.p[n];
		s = str_trim(str_from(s, n));
	}
	return s;
}

/* The words that say what a command is for: without directories and variables in front. */
static str goal_of(str command)
{
	str last = command, piece;

	while (str_split(&command, '&', &piece))
		if (str_trim(piece).n > 2)
			last = str_trim(piece);
	return without_variables(str_starts(last, STR("env ")) ? str_trim(str_from(last, 4)) : last);
}

static str first_word(str s)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != ' ')
		n++;
	return str_head(s, n);
}

/* "npm test" and "pnpm test", "pytest x" and "pytest -q x": the same program, or the same words after it. */
static bool same_goal(str a, str b)
{
	str x = goal_of(a), y = goal_of(b), rest_x = str_from(x, first_word(x).n),
	    rest_y = str_from(y, first_word(y).n);

	return str_eq(first_word(x), first_word(y)) || (rest_x.n > 2 && str_eq(rest_x, rest_y));
}

static str line_of(struct arena *a, str error)
{
	str line = STR("");

	while (line.n < 8 && str_split(&error, '\n', &line))
		line = str_trim(line);
	return arena_str(a, str_cut_utf8(line, ERROR_MOST));
}

/* A failed check that passes later: by another command, or after a change of a file. */
static void take_fix(struct turn_facts *f, const struct call *calls, size_t failed, size_t n)
{
	const struct call *was = &calls[failed], *edit = NULL;

	for (size_t i = failed + 1; i < n; i++) {
		const struct call *c = &calls[i];
		bool same = str_eq(c->command, was->command);

		if (str_is_set(c->change) && !str_eq(c->change, STR("read")) && !c->failed)
			edit = c;
		if (!c->command.n || c->failed || !same_goal(c->command, was->command))
			continue;
		if (!same && !edit)
			emit(f,
				&(struct memory_note){ .type = STR("gotcha"),
					.importance = 6,
					.trust = STR("tool"),
					.origin = STR("fix"),
					.text = arena_strf(f->arena,
						"`" STR_FMT "` failed (" STR_FMT "); `" STR_FMT "` worked.",
						STR_ARG(was->command), STR_ARG(line_of(f->arena, was->error)),
						STR_ARG(c->command)) });
		else if (same && edit)
			emit(f,
				&(struct memory_note){ .type = STR("bug_fix"),
					.importance = 5,
					.trust = STR("tool"),
					.origin = STR("fix"),
					.file = edit->file,
					.text = arena_strf(f->arena,
						"`" STR_FMT "` failed (" STR_FMT
						") and passed after a change of " STR_FMT ".",
						STR_ARG(was->command), STR_ARG(line_of(f->arena, was->error)),
						STR_ARG(edit->file)) });
		return;
	}
}

static void take_commit(struct turn_facts *f, const struct call *c)
{
	size_t groups[2 * MATCH_GROUPS];
	size_t at;

	if (c->failed || match_find(f->extractor->commit, c->command, 0, groups) != 1)
		return;
	at = groups[2] != MATCH_UNSET ? 2 : 4;
	emit(f,
		&(struct memory_note){ .type = STR("discovery"),
			.importance = 4,
			.trust = STR("agent"),
			.origin = STR("commit"),
			.text = arena_strf(f->arena, "Committed: " STR_FMT,
				STR_ARG(str_n(c->command.p + groups[at], groups[at + 1] - groups[at]))) });
}

static int read_calls(struct turn_facts *f, struct store *s, int64_t batch, bool (*skips)(str tool, void *arg),
	void *arg, struct call **ret, size_t *ret_n)
{
	enum { CALLS_MAX = 400 };
	struct query *q = store_ask(s,
		"SELECT tool, CASE WHEN class = 'shell' THEN json_extract(input, '$.command') END, file, change, "
		"state, "
		"coalesce(error, output) FROM activities WHERE batch = ?1 AND kind = 'tool' ORDER BY ord LIMIT ?2",
		"ii", batch, (int64_t)CALLS_MAX);
	struct call *calls = arena_alloc(f->arena, CALLS_MAX * sizeof *calls);
	size_t n = 0;
	int got;

	while ((got = query_step(q)) == 1 && n < CALLS_MAX) {
		str command = query_str(q, 1);

		if (skips && skips(query_str(q, 0), arg))
			continue;
		calls[n++] =
			(struct call){ .command = command.n <= COMMAND_MOST ? arena_str(f->arena, command) : STR_NONE,
				.file = arena_str(f->arena, query_str(q, 2)),
				.change = arena_str(f->arena, query_str(q, 3)),
				.failed = !str_eq(query_str(q, 4), STR("done")),
				.error = arena_str(f->arena, query_str(q, 5)) };
	}
	query_reset(q);
	*ret = calls;
	*ret_n = n;
	return MIN(got, 0);
}

/* Run again and again, in more than one session: how things are done here. */
static int take_often(struct turn_facts *f, struct store *s, const struct call *c)
{
	int64_t often = 0;
	int got;

	if (c->failed || match_find(f->extractor->checks, c->command, 0, NULL) != 1)
		return 0;
	got = store_number(s, &often,
		"SELECT count(*) >= ?3 AND count(DISTINCT a.session) > 1 FROM activities a WHERE a.class = 'shell' AND "
		"a.state = "
		"'done' AND a.session IN (SELECT key FROM sessions WHERE project = (SELECT project FROM sessions WHERE "
		"native_id = "
		"?1 LIMIT 1)) AND json_extract(a.input, '$.command') = ?2",
		"ssi", f->session, c->command, (int64_t)OFTEN);
	if (got == 1 && often)
		emit(f,
			&(struct memory_note){ .type = STR("discovery"),
				.importance = 6,
				.trust = STR("agent"),
				.origin = STR("command"),
				.text = arena_strf(f->arena, "Often run here: `" STR_FMT "`.", STR_ARG(c->command)) });
	return MIN(got, 0);
}

static int take_calls(struct turn_facts *f, struct store *s, int64_t batch, bool (*skips)(str tool, void *arg),
	void *arg)
{
	struct call *calls;
	size_t n;
	int r = read_calls(f, s, batch, skips, arg, &calls, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		if (!calls[i].command.n)
			continue;
		if (calls[i].failed)
			take_fix(f, calls, i, n);
		take_commit(f, &calls[i]);
		r = take_often(f, s, &calls[i]);
	}
	return r;
}

/* Whether calls read something that is not of this project. */
static int are_foreign(const struct extractor *x, struct query *q, bool *ret)
{
	int got;

	*ret = false;
	while ((got = query_step(q)) == 1)
		*ret |= query_int(q, 0) || match_find(x->fetches, query_str(q, 1), 0, NULL) != 0;
	query_reset(q);
	return MIN(got, 0);
}

#define FOREIGN \
	"SELECT class IN ('web', 'mcp'), json_extract(input, '$.command') FROM activities WHERE kind = 'tool' AND "

int memory_is_foreign(const struct extractor *x, struct store *s, int64_t batch, bool *ret)
{
	return are_foreign(x, store_ask(s, FOREIGN "batch = ?1", "i", batch), ret);
}

int extractor_is_foreign(const struct extractor *x, struct store *s, int64_t session, bool *ret)
{
	return are_foreign(x, store_ask(s, FOREIGN "session = ?1", "i", session), ret);
}

const char *extractor_suspects(const struct extractor *x, str text)
{
	return poison_find(x->poison, text);
}

int memory_extract(const struct extractor *x, struct store *s, const struct extract_turn *turn, struct arena *a,
	memory_sink sink, void *arg)
{
	char id[ULID_TEXT + 1];
	struct turn_facts f = { .extractor = x,
		.arena = a,
		.id = turn->id,
		.dir = turn->dir,
		.session = turn->session,
		.agent = turn->agent,
		.at_us = turn->at_us,
		.sink = sink,
		.arg = arg };

	int r = memory_is_foreign(x, s, turn->batch, &f.foreign);

	if (r < 0)
		return r;
	ulid_format(&turn->id, id);
	f.batch = arena_str(a, str_of(id));
	if (turn->by_user)
		take_sentences(&f, USER, turn->prompt, 3);
	take_sentences(&f, AGENT, turn->response, 2);
	return take_calls(&f, s, turn->batch, turn->skips, turn->arg);
}
