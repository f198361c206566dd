/* Title and summary of a session, without a model: what was asked, what changed, how it ended. Everything is cut at
 * the border of a word, and says where it was cut. */
#include "memory/memory.h"

enum {
	TITLE_MOST = 80,
	ASKED_MOST = 100, /* of one prompt */
	ASKED = 3,        /* prompts, files and commits that are named; the rest is counted */
	FILES = 5,
	COMMITS = 3,
	RESULT_MOST = 280,
	TEXT_MOST = 2000,
};

/* -- one text ---------------------------------------------------------------------------------- */

/* The first line with words in it, without marks of lists and headings. */
static str first_line(str text)
{
	str line = STR("");

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		while (line.n && strchr("#*->`= \t", line.p[0]))
			line = str_from(line, 1);
		if (line.n > 1)
			return line;
	}
	return STR("");
}

/* All of it in one line, without the marks it begins with; more than is ever shown. */
static str in_one_line(struct arena *a, str text)
{
	enum { MOST = 512 };
	struct buf b = BUF_INIT(MOST);
	bool blank = true;
	str line;

	text = str_cut_utf8(text, MOST - 1);
	for (size_t i = 0; i < text.n; i++) {
		bool is_blank = (unsigned char)text.p[i] <= ' ', is_mark = !b.len && strchr("#*->`=", text.p[i]);

		if (!is_mark && !(is_blank && blank))
			buf_add_char(&b, is_blank ? ' ' : text.p[i]);
		blank = is_blank || is_mark;
	}
	line = arena_str(a, str_trim(buf_str(&b)));
	buf_release(&b);
	return line;
}

str memory_shorten(struct arena *a, str text, size_t most)
{
	str cut = str_trim(text);
	size_t n;

	if (cut.n <= most)
		return arena_str(a, cut);
	cut = str_cut_utf8(cut, most);
	for (n = cut.n; n > most / 2 && cut.p[n - 1] != ' '; n--)
		;
	if (n > most / 2) /* else it has no words: a path, or a script without spaces */
		cut.n = n;
	cut = str_trim(cut);
	while (cut.n && strchr(",;:-([{", cut.p[cut.n - 1]))
		cut = str_trim(str_head(cut, cut.n - 1));
	return arena_strf(a, STR_FMT "…", STR_ARG(cut));
}

/* A command of the agent says less than words do. */
static bool is_command(str prompt)
{
	return prompt.n && strchr("/!<", prompt.p[0]) != NULL;
}

/* -- lists of the session ---------------------------------------------------------------------- */

/* What the user asked, and from the first of it the title. */
static int add_asked(struct store *s, int64_t session, struct arena *a, struct session_summary *ret, struct buf *text)
{
	struct query *q = store_ask(s,
		"SELECT substr(prompt, 1, 2000) FROM batches WHERE session = ?1 AND source IN ('user', 'plan') AND NOT "
		"private AND prompt <> '' ORDER BY ord LIMIT 500",
		"i", session);
	str fallback = STR_NONE;
	int got, n = 0, named = 0;

	while ((got = query_step(q)) == 1) {
		str line = in_one_line(a, query_str(q, 0));

		if (!line.n)
			continue;
		n++;
		if (str_empty(fallback))
			fallback = memory_shorten(a, line, TITLE_MOST);
		if (is_command(str_trim(query_str(q, 0))))
			continue;
		if (str_empty(ret->title))
			ret->title = memory_shorten(a, line, TITLE_MOST);
		if (named++ < ASKED)
			buf_addf(text, "%s\"" STR_FMT "\"",
				named > 1 ? "; " : "Asked: ", STR_ARG(memory_shorten(a, line, ASKED_MOST)));
	}
	query_reset(q);
	if (named && n > MIN(named, (int)ASKED))
		buf_addf(text, " and %d more", n - MIN(named, (int)ASKED));
	if (named)
		buf_add_str(text, STR(".\n"));
	if (str_empty(ret->title))
		ret->title = fallback;
	return MIN(got, 0);
}

/* A list of names behind a word; most of them named, the rest counted. */
static int add_names(struct query *q, const char *word, int most, struct arena *a, struct buf *text)
{
	int got, n = 0;

	while ((got = query_step(q)) == 1)
		if (n++ < most)
			buf_addf(text, "%s" STR_FMT, n > 1 ? ", " : word,
				STR_ARG(memory_shorten(a, query_str(q, 0), ASKED_MOST)));
	query_reset(q);
	if (n > most)
		buf_addf(text, " and %d more", n - most);
	if (n)
		buf_add_str(text, STR(".\n"));
	return MIN(got, 0);
}

static int add_files(struct store *s, int64_t session, struct arena *a, struct buf *text)
{
	return add_names(
		store_ask(s,
			"SELECT file FROM activities WHERE session = ?1 AND kind = 'tool' AND state = 'done' AND "
			"change IN ('created', 'modified') AND file IS NOT NULL GROUP BY file ORDER BY count(*) DESC, "
			"file LIMIT 1000",
			"i", session),
		"Changed: ", FILES, a, text);
}

static int add_commits(struct store *s, int64_t session, struct arena *a, struct buf *text)
{
	return add_names(
		store_ask(s,
			"SELECT substr(text, length('Committed: ') + 1) FROM memories WHERE session = ?1 AND origin = "
			"'commit' AND status = 'active' ORDER BY created_at, key LIMIT 100",
			"i", session),
		"Committed: ", COMMITS, a, text);
}

/* The agent's last words, if they are its own: whoever wrote a page that was read may speak in them. */
static int add_result(const struct extractor *x, struct store *s, int64_t session, struct arena *a, struct buf *text)
{
	bool foreign = false;
	int got = extractor_is_foreign(x, s, session, &foreign);
	struct query *q;
	str line = STR("");

	if (got < 0 || foreign)
		return got;
	q = store_ask(s,
		"SELECT response FROM batches WHERE session = ?1 AND response <> '' AND NOT private ORDER BY ord DESC "
		"LIMIT 1",
		"i", session);
	got = query_step(q);
	if (got == 1)
		line = memory_shorten(a, first_line(query_str(q, 0)), RESULT_MOST);
	query_reset(q);
	if (line.n && !extractor_suspects(x, line))
		buf_addf(text, "Result: " STR_FMT "\n", STR_ARG(line));
	return MIN(got, 0);
}

/* -- what kind of session ---------------------------------------------------------------------- */

/* By what was planned, read and changed, as seed 000 counts. */
static int find_origin(struct store *s, int64_t session, struct session_summary *ret)
{
	struct query *q = store_ask(s,
		"SELECT total(change IN ('created', 'modified')), total(change = 'read' OR class = 'search'), (SELECT "
		"count(*) FROM plans WHERE session = ?1) FROM activities WHERE session = ?1 AND kind = 'tool' AND "
		"state = "
		"'done'",
		"i", session);
	int got = query_step(q);
	int64_t changed = query_int(q, 0), looked = query_int(q, 1), plans = query_int(q, 2);

	query_reset(q);
	ret->origin = plans && changed <= 2             ? "planning"
		: looked > 5 * changed && changed <= 2  ? "investigation"
		: changed >= 3 && looked <= 5 * changed ? "implementation"
							: "mixed";
	return MIN(got, 0);
}

int memory_summarize(const struct extractor *x, struct store *s, int64_t session, struct arena *a,
	struct session_summary *ret)
{
	struct buf text = BUF_INIT(TEXT_MOST);
	int r;

	*ret = (struct session_summary){ .title = STR_NONE, .text = STR_NONE };
	r = add_asked(s, session, a, ret, &text);
	if (r == 0)
		r = add_files(s, session, a, &text);
	if (r == 0)
		r = add_commits(s, session, a, &text);
	if (r == 0)
		r = add_result(x, s, session, a, &text);
	if (r == 0)
		r = find_origin(s, session, ret);
	if (text.len)
		ret->text = arena_str(a, str_trim(buf_str(&text)));
	buf_release(&text);
	return r;
}
