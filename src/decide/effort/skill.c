/* SKILL.md: a head between two lines "---" in a small part of YAML, and Markdown below it.
 *
 *   ---
 *   name: code-review
 *   phases: ["0: Setup", "1: Read"]        or   - 0: Setup   on lines of their own
 *   modes: [quick, deep]
 *   templates: {log: assets/LOG.md}
 *   directives: [TESTING, PITFALLS]
 *   next: [fix]
 *   preload: [docs/architecture.md]
 *   gates: {heartbeat: 10, checklists: true}
 *   ---
 *   ## 1: Read                              a phase, and what is said when it is entered
 *
 * Phases that the head does not list are taken from headings, or from a block of JSON as the systems before had it. A
 * file that is none of this gives no more than a name. It is data of a project, so everything is bounded: bytes, depth,
 * lines, items. */
#include <errno.h>

#include "base/limits.h"
#include "effort/effort.h"

enum { LINES_MAX = 20000, ITEMS_MAX = 64, DEPTH_MAX = 4, WORD_MAX = 200, DESCRIPTION_MAX = 1000 };

/* -- the head: YAML as far as people use it there ----------------------------------------------- */

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node {
	struct node *next, *first, **last;
	enum node_kind kind;
	str key, text;
	unsigned n;
};

static struct node *new_node(struct arena *a, enum node_kind kind, str key)
{
	struct node *n = arena_new(a, struct node);

	n->kind = kind;
	n->key = key;
	n->last = &n->first;
	return n;
}

static void add_node(struct node *to, struct node *n)
{
	if (to->n == ITEMS_MAX)
		return;
	*to->last = n;
	to->last = &n->next;
	to->n++;
}

static const struct node *get(const struct node *map, const char *name)
{
	for (const struct node *n = map ? map->first : NULL; n; n = n->next)
		if (map->kind == NODE_MAP && str_eq_name(n->key, str_of(name)))
			return n;
	return NULL;
}

static str unquoted(str text)
{
	text = str_trim(text);
	if (text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0])
		return str_n(text.p + 1, text.n - 2);
	return text;
}

/* Where a piece of a flow list or map ends: at `stop` or a comma outside quotes and brackets. */
static size_t piece_end(str text)
{
	char quote = 0;
	int depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '[' || c == '{') {
			depth++;
		} else if (c == ']' || c == '}') {
			if (depth-- == 0)
				return i;
		} else if (c == ',' && depth == 0) {
			return i;
		}
	}
	return text.n;
}

/* A key may be quoted, and labels of phases have a colon of their own: "1: Read" is a text unless it is a map's. */
static ptrdiff_t colon_of(str text)
{
	char quote = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == ':' && (i + 1 == text.n || text.p[i + 1] == ' ' || text.p[i + 1] == '\t'))
			return (ptrdiff_t)i;
	}
	return -1;
}

static struct node *read_value(struct arena *a, str key, str text, unsigned depth);

static struct node *read_flow(struct arena *a, str key, str text, unsigned depth)
{
	bool map = text.p[0] == '{';
	struct node *n = new_node(a, map ? NODE_MAP : NODE_LIST, key);
	size_t end;

	text = str_n(text.p + 1, text.n - 2);
	while (!str_empty(str_trim(text)) && depth < DEPTH_MAX) {
		str piece, name = STR_NONE;
		ptrdiff_t colon;

		end = piece_end(text);
		piece = str_trim(str_head(text, end));
		colon = map ? colon_of(piece) : -1;
		if (colon >= 0) {
			name = unquoted(str_head(piece, (size_t)colon));
			piece = str_trim(str_from(piece, (size_t)colon + 1));
		}
		if (!str_empty(piece) && (!map || str_is_set(name)))
			add_node(n, read_value(a, name, piece, depth + 1));
		text = str_from(text, end + 1);
	}
	return n;
}

static struct node *read_value(struct arena *a, str key, str text, unsigned depth)
{
	struct node *n;

	text = str_trim(text);
	if (text.n >= 2 && depth < DEPTH_MAX &&
		((text.p[0] == '[' && text.p[text.n - 1] == ']') || (text.p[0] == '{' && text.p[text.n - 1] == '}')))
		return read_flow(a, key, text, depth);
	n = new_node(a, NODE_TEXT, key);
	n->text = unquoted(text);
	return n;
}

struct line {
	unsigned indent;
	str text;
};

/* The next line of the head that says something, or a text that is not set. Comments stand on lines of their own. */
static struct line next_line(str *rest)
{
	str line;

	while (str_split(rest, '\n', &line)) {
		struct line l = { 0 };

		while (l.indent < line.n && line.p[l.indent] == ' ')
			l.indent++;
		l.text = str_trim(line);
		if (!str_empty(l.text) && l.text.p[0] != '#')
			return l;
	}
	return (struct line){ .text = STR_NONE };
}

static struct line peek(str rest)
{
	return next_line(&rest);
}

/* "- item" lines, or "key: value" lines, all at one indentation. */
static struct node *read_block(struct arena *a, str key, str *rest, unsigned indent, unsigned depth)
{
	struct line l = peek(*rest);
	bool list = str_is_set(l.text) && l.text.p[0] == '-';
	struct node *n = new_node(a, list ? NODE_LIST : NODE_MAP, key);

	while (str_is_set((l = peek(*rest)).text) && l.indent >= indent && (l.text.p[0] == '-') == list) {
		ptrdiff_t colon = list ? -1 : colon_of(l.text);
		str name, value;

		(void)next_line(rest);
		if (l.indent > indent || (!list && colon < 0))
			continue; /* the rest of a text over several lines, which nobody asks for */
		name = list ? STR_NONE : unquoted(str_head(l.text, (size_t)colon));
		value = str_trim(str_from(l.text, list ? 1 : (size_t)colon + 1));
		if (!str_empty(value) && value.p[0] != '|' && value.p[0] != '>') {
			add_node(n, read_value(a, name, value, depth));
			continue;
		}
		l = peek(*rest);
		/* A list may stand as far left as its key. */
		if (str_is_set(l.text) && depth < DEPTH_MAX &&
			(l.indent > indent || (!list && l.indent == indent && l.text.p[0] == '-')))
			add_node(n, read_block(a, name, rest, l.indent, depth + 1));
	}
	return n;
}

/* The head, and the text below it. */
static struct node *read_head(struct arena *a, str text, str *ret_body)
{
	str rest = text, line, head;
	const char *begin;

	*ret_body = text;
	if (!str_split(&rest, '\n', &line) || !str_eq(str_trim(line), STR("---")))
		return NULL;
	begin = rest.p;
	while (str_split(&rest, '\n', &line)) {
		if (!str_eq(str_trim(line), STR("---")) && !str_eq(str_trim(line), STR("...")))
			continue;
		head = str_n(begin, (size_t)(line.p - begin));
		*ret_body = rest;
		return read_block(a, STR_NONE, &head, peek(head).indent, 0);
	}
	return NULL;
}

/* -- the body ---------------------------------------------------------------------------------- */

/* "## 1: Read", "### Phase 2.1: Draft": the label, or STR_NONE. */
static str heading_label(str line)
{
	struct effort_phase p;
	size_t marks = 0;
	str label;

	while (marks < line.n && line.p[marks] == '#')
		marks++;
	if (marks < 1 || marks > 4)
		return STR_NONE;
	label = str_trim(str_from(line, marks));
	if (str_starts(label, STR("Phase ")))
		label = str_trim(str_from(label, 6));
	return label.n && label.p[0] >= '0' && label.p[0] <= '9' && effort_phase_parse(label, &p, NULL) == 0 ? label
													     : STR_NONE;
}

static bool is_fence(str line)
{
	return str_starts(line, STR("```")) || str_starts(line, STR("~~~"));
}

/* The first block of JSON that has phases. */
static const struct json *json_block(struct arena *a, str body)
{
	str rest = body, line;
	const char *begin = NULL;
	struct json *v = NULL;

	for (unsigned n = 0; n < LINES_MAX && str_split(&rest, '\n', &line); n++) {
		line = str_trim(line);
		if (begin && is_fence(line)) {
			if (json_parse(a, str_n(begin, (size_t)(line.p - begin)), JSON_COMMENTS, &v, NULL) == 0 &&
				json_get(v, STR("phases")))
				return v;
			begin = NULL;
		} else if (str_eq_nocase(line, STR("```json"))) {
			begin = rest.p;
		}
	}
	return NULL;
}

str effort_skill_section(str text, str phase)
{
	struct effort_phase wanted, found;
	str rest = text, line;
	const char *begin = NULL;
	bool fenced = false;

	if (effort_phase_parse(phase, &wanted, NULL) < 0)
		return STR_NONE;
	for (unsigned n = 0; n < LINES_MAX && str_split(&rest, '\n', &line); n++) {
		str trimmed = str_trim(line), label;

		fenced ^= is_fence(trimmed);
		label = fenced ? STR_NONE : heading_label(trimmed);
		if (!begin && str_is_set(label) && effort_phase_parse(label, &found, NULL) == 0 &&
			found.major == wanted.major && found.is_part == wanted.is_part && found.minor == wanted.minor)
			begin = rest.p;
		else if (begin &&
			(str_is_set(label) || str_starts(trimmed, STR("# ")) || str_starts(trimmed, STR("## "))) &&
			!fenced)
			return str_trim(str_n(begin, (size_t)(line.p - begin)));
	}
	return begin ? str_trim(str_n(begin, (size_t)(text.p + text.n - begin))) : STR_NONE;
}

/* -- what it says ------------------------------------------------------------------------------ */

static void write_text(struct json_writer *w, const char *name, const struct node *n, size_t most)
{
	if (n && n->kind == NODE_TEXT && !str_empty(n->text))
		jw_field_str(w, name, str_cut_utf8(n->text, most));
}

/* A list, one text, or the keys of a map. */
static void write_words(struct json_writer *w, const char *name, const struct node *n)
{
	if (!n)
		return;
	jw_key(w, name);
	jw_array(w);
	if (n->kind == NODE_TEXT && !str_empty(n->text))
		jw_str(w, str_cut_utf8(n->text, WORD_MAX));
	for (const struct node *i = n->first; i; i = i->next) {
		str word = n->kind == NODE_MAP ? i->key : i->text;

		if (!str_empty(word) && (n->kind == NODE_MAP || i->kind == NODE_TEXT))
			jw_str(w, str_cut_utf8(word, WORD_MAX));
	}
	jw_end_array(w);
}

static void write_scalar(struct json_writer *w, str text)
{
	int64_t n;

	if (str_eq(text, STR("true")) || str_eq(text, STR("on")) || str_eq(text, STR("yes")))
		jw_bool(w, true);
	else if (str_eq(text, STR("false")) || str_eq(text, STR("off")) || str_eq(text, STR("no")))
		jw_bool(w, false);
	else if (str_to_int(text, &n))
		jw_int(w, n);
	else
		jw_str(w, str_cut_utf8(text, WORD_MAX));
}

static void write_map(struct json_writer *w, const char *name, const struct node *n)
{
	if (!n || n->kind != NODE_MAP)
		return;
	jw_key(w, name);
	jw_object(w);
	for (const struct node *i = n->first; i; i = i->next) {
		if (i->kind == NODE_LIST || str_empty(i->key) || i->key.n > WORD_MAX)
			continue;
		jw_key_str(w, i->key);
		if (i->kind == NODE_TEXT) {
			write_scalar(w, i->text);
			continue;
		}
		jw_object(w);
		for (const struct node *j = i->first; j; j = j->next) {
			if (j->kind != NODE_TEXT || str_empty(j->key))
				continue;
			jw_key_str(w, j->key);
			write_scalar(w, j->text);
		}
		jw_end_object(w);
	}
	jw_end_object(w);
}

/* -- phases ------------------------------------------------------------------------------------ */

struct labels {
	str list[EFFORT_PHASES_MAX];
	size_t n;
};

static int order_of(str a, str b)
{
	struct effort_phase x, y;
	unsigned p, q;

	(void)effort_phase_parse(a, &x, NULL);
	(void)effort_phase_parse(b, &y, NULL);
	p = x.is_part ? x.minor + 1 : 0;
	q = y.is_part ? y.minor + 1 : 0;
	return x.major != y.major ? (x.major < y.major ? -1 : 1) : p == q ? 0 : p < q ? -1 : 1;
}

/* In its place; a second one with a number that is taken is left out. */
static void add_label(struct labels *l, str label)
{
	struct effort_phase p;
	size_t at = l->n;

	if (l->n == EFFORT_PHASES_MAX || effort_phase_parse(label, &p, NULL) < 0)
		return;
	while (at > 0 && order_of(label, l->list[at - 1]) < 0)
		at--;
	if (at > 0 && order_of(label, l->list[at - 1]) == 0)
		return;
	memmove(&l->list[at + 1], &l->list[at], (l->n - at) * sizeof l->list[0]);
	l->list[at] = str_trim(label);
	l->n++;
}

static void labels_of_head(struct labels *l, const struct node *n, struct arena *a)
{
	for (const struct node *i = n ? n->first : NULL; i; i = i->next) {
		if (n->kind == NODE_MAP && i->kind == NODE_TEXT) /* "1: Read" without quotes */
			add_label(l, arena_strf(a, STR_FMT ": " STR_FMT, STR_ARG(i->key), STR_ARG(i->text)));
		else if (i->kind == NODE_TEXT)
			add_label(l, i->text);
	}
}

static void labels_of_json(struct labels *l, const struct json *list, struct arena *a)
{
	json_each(v, list) {
		str name = json_str(json_get(v, STR("name"))), label = json_str(json_get(v, STR("label")));
		int64_t major = -1, minor = 0;

		if (v->type == JSON_STRING)
			add_label(l, v->text);
		else if (json_int(json_get(v, STR("major")), &major) && json_int(json_get(v, STR("minor")), &minor) &&
			minor)
			add_label(l,
				arena_strf(a, "%lld.%lld: " STR_FMT, (long long)major, (long long)minor,
					STR_ARG(name)));
		else if (major >= 0)
			add_label(l, arena_strf(a, "%lld: " STR_FMT, (long long)major, STR_ARG(name)));
		else
			add_label(l, arena_strf(a, STR_FMT ": " STR_FMT, STR_ARG(label), STR_ARG(name)));
	}
}

static void labels_of_body(struct labels *l, str body)
{
	str rest = body, line;
	bool fenced = false;

	for (unsigned n = 0; n < LINES_MAX && str_split(&rest, '\n', &line); n++) {
		line = str_trim(line);
		fenced ^= is_fence(line);
		if (!fenced && str_is_set(heading_label(line)))
			add_label(l, heading_label(line));
	}
}

/* -- all of it --------------------------------------------------------------------------------- */

static void write_json_words(struct json_writer *w, const char *name, const struct json *list)
{
	unsigned n = 0;

	if (!list || list->type != JSON_ARRAY)
		return;
	jw_key(w, name);
	jw_array(w);
	json_each(v, list)
		if (v->type == JSON_STRING && n++ < ITEMS_MAX)
			jw_str(w, str_cut_utf8(v->text, WORD_MAX));
	jw_end_array(w);
}

/* "logTemplate": "assets/LOG.md" as the systems before had it. */
static void write_json_templates(struct json_writer *w, const struct json *block)
{
	unsigned n = 0;

	jw_key(w, "templates");
	jw_object(w);
	json_each(v, block) {
		ptrdiff_t at = str_find(v->key, STR("Template"));

		if (at <= 0 || v->type != JSON_STRING || v->key.n > WORD_MAX || n++ == ITEMS_MAX)
			continue;
		jw_key_str(w, str_head(v->key, (size_t)at));
		jw_str(w, str_cut_utf8(v->text, WORD_MAX));
	}
	jw_end_object(w);
}

static void write_phases(struct json_writer *w, const struct labels *l)
{
	if (!l->n)
		return;
	jw_key(w, "phases");
	jw_array(w);
	for (size_t i = 0; i < l->n; i++)
		jw_str(w, l->list[i]);
	jw_end_array(w);
}

int effort_skill_parse(str text, struct arena *a, str *ret)
{
	struct buf b = BUF_INIT(EFFORT_JSON_MAX);
	struct json_writer w = JSON_WRITER(&b);
	struct labels labels = { .n = 0 };
	const struct json *block;
	const struct node *head;
	str body;

	if (text.n > EFFORT_SKILL_MAX)
		return -EFBIG;
	if (str_starts(text, STR("\xef\xbb\xbf"))) /* a byte order mark, as some editors write it */
		text = str_from(text, 3);
	head = read_head(a, text, &body);
	block = json_block(a, body);
	labels_of_head(&labels, get(head, "phases"), a);
	if (!labels.n)
		labels_of_json(&labels, json_get(block, STR("phases")), a);
	if (!labels.n)
		labels_of_body(&labels, body);
	jw_object(&w);
	write_text(&w, "name", get(head, "name"), EFFORT_NAME_MAX);
	write_text(&w, "description", get(head, "description"), DESCRIPTION_MAX);
	write_text(&w, "version", get(head, "version"), WORD_MAX);
	write_phases(&w, &labels);
	write_words(&w, "modes", get(head, "modes"));
	if (get(head, "templates"))
		write_map(&w, "templates", get(head, "templates"));
	else if (block)
		write_json_templates(&w, block);
	if (get(head, "directives"))
		write_words(&w, "directives", get(head, "directives"));
	else
		write_json_words(&w, "directives", json_get(block, STR("directives")));
	if (get(head, "next"))
		write_words(&w, "next", get(head, "next"));
	else
		write_json_words(&w, "next", json_get(block, STR("nextSkills")));
	write_words(&w, "preload", get(head, "preload"));
	write_map(&w, "gates", get(head, "gates"));
	jw_end_object(&w);
	*ret = b.full ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return str_is_set(*ret) ? 0 : -E2BIG;
}
