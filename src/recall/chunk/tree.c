/* Pieces by the syntax tree, in two steps. First the tree becomes units: runs of whole lines in the order of the file that
 * cover all of it, each a definition or what stands between definitions. What is too large for a chunk is opened and its
 * parts are units in its place. Then neighbours that say little alone are packed into one chunk. */
#include "chunk/internal.h"
#include "chunk/names.h"

enum {
	GRAMMAR_BYTES_MAX = 2 << 20,
	PARSE_MS = 2000, /* of the processor: ordinary source takes a hundredth */
	PARSE_MEMORY = 256 << 20,
	NODES_MAX = 4000000,
	DEPTH_MAX = 64, /* of nodes that are opened; what is deeper is cut by its lines */
	WRAPS_MAX = 4,
	NAME_DEPTH = 12,
	FEW_LINES = 3,     /* of text that are put to a neighbour */
	LOOSE_LINES = 2,   /* of definitions that are like any other line: macros, aliases */
	LOOSE_DATA = 20,   /* the same of values, which say more together */
	TINY_LINES = 6,    /* of definitions that are put together */
	TOGETHER_MAX = 20, /* lines of such */
};

struct scope {
	unsigned parent;
	str symbol;
	enum chunk_kind kind;
	bool is_function; /* or inside one: what is assigned here is nobody else's business */
	bool is_type;
	bool is_begun; /* it has units */
};

struct unit {
	unsigned first, end;  /* lines; end is the one behind */
	unsigned within, own; /* scopes: around it, and its own, which may be the same */
	bool is_solid;        /* a definition; else lines that may stand together with others */
	bool is_tiny;
	bool is_head; /* of a type that is too large for one chunk */
};

struct reader {
	const struct grammar *g;
	const struct text_lines *lines;
	struct sink *sink;
	struct scope *scopes;
	struct unit *units;
	size_t nscopes, scopes_cap, nunits, units_cap;
	unsigned at;    /* lines before this one are in units */
	unsigned quiet; /* inside of something that is one unit: only names count */
	unsigned nodes;
};

/* -- the tree ---------------------------------------------------------------------------------- */

static struct syntax_node look(const struct reader *r)
{
	return r->g->syntax->look(r->g->parser);
}

static bool go_down(struct reader *r)
{
	return ++r->nodes < NODES_MAX && r->g->syntax->down(r->g->parser);
}

static bool go_next(struct reader *r)
{
	return ++r->nodes < NODES_MAX && r->g->syntax->next(r->g->parser);
}

static void go_up(struct reader *r, unsigned times)
{
	while (times--)
		r->g->syntax->up(r->g->parser);
}

/* To the child that is this part of the node; false: stays. */
static bool go_field(struct reader *r, enum field field)
{
	uint16_t id = r->g->fields[field];

	if (!id || !go_down(r))
		return false;
	do {
		if (look(r).field == id)
			return true;
	} while (go_next(r));
	go_up(r, 1);
	return false;
}

static const struct node_rule *rule_of(const struct reader *r, const struct syntax_node *n)
{
	static const struct node_rule error = { "ERROR", ROLE_BODY, FIELD_NONE, 0 };

	if (n->type == SYNTAX_TYPE_ERROR)
		return &error;
	return n->is_named && n->type < r->g->types ? r->g->rules[n->type] : NULL;
}

static enum role role_of(const struct reader *r, const struct syntax_node *n)
{
	const struct node_rule *rule = rule_of(r, n);

	return rule ? rule->role : ROLE_NONE;
}

static str text_of(const struct reader *r, const struct syntax_node *n)
{
	return str_n(r->lines->text.p + n->begin, n->end - n->begin);
}

/* The line behind a node. Some grammars count line ends and blank lines to what is before them. */
static unsigned end_of(const struct reader *r, const struct syntax_node *n)
{
	unsigned row = n->last_row;

	for (uint32_t i = n->end; i > n->begin && row > n->row && memchr(" \t\r\n", r->lines->text.p[i - 1], 4); i--)
		row -= r->lines->text.p[i - 1] == '\n';
	return MIN(row + 1, r->lines->n);
}

/* -- definitions ------------------------------------------------------------------------------- */

struct definition {
	enum role role;
	enum chunk_kind kind;
	struct syntax_node node; /* which may be inside of what is read */
	str symbol, name;        /* the name with its own qualification, and alone; not set: it has none */
	unsigned line;
};

/* From a declarator to the one inside. */
static bool go_inside(struct reader *r, bool *is_prototype)
{
	struct syntax_node n = look(r);
	enum role role = role_of(r, &n);

	*is_prototype |= role == ROLE_PROTOTYPE;
	if (role != ROLE_PAREN)
		return go_field(r, FIELD_DECLARATOR);
	if (!go_down(r))
		return false;
	while (!look(r).is_named)
		if (!go_next(r)) {
			go_up(r, 1);
			return false;
		}
	return true;
}

/* The node that has the name. False: there is none. */
static bool find_name(struct reader *r, const struct node_rule *rule, struct syntax_node *ret, bool *is_prototype)
{
	unsigned downs = 0;
	bool found = false;

	if (rule->role == ROLE_SECTION && go_down(r)) /* the name is in the heading, which comes first */
		downs++;
	if (rule->name != FIELD_NONE && go_field(r, rule->name)) {
		downs++;
		while (downs < NAME_DEPTH && go_inside(r, is_prototype))
			downs++;
		*ret = look(r);
		found = true;
	}
	go_up(r, downs);
	return found;
}

/* Of a name that something is assigned to: what that is. */
static enum role role_of_value(struct reader *r)
{
	struct syntax_node n;

	if (!go_field(r, FIELD_VALUE) && !go_field(r, FIELD_RIGHT))
		return ROLE_NONE;
	n = look(r);
	go_up(r, 1);
	return role_of(r, &n);
}

static bool has_field(struct reader *r, enum field field)
{
	if (!go_field(r, field))
		return false;
	go_up(r, 1);
	return true;
}

static str receiver_of(struct reader *r)
{
	struct syntax_node n;

	if (!go_field(r, FIELD_RECEIVER))
		return STR_NONE;
	n = look(r);
	go_up(r, 1);
	return name_receiver(text_of(r, &n));
}

static void name_definition(struct reader *r, const struct node_rule *rule, struct definition *d)
{
	struct arena *a = r->sink->arena;
	struct syntax_node at;
	bool is_prototype = false, is_name;

	if (!find_name(r, rule, &at, &is_prototype) || (rule->role == ROLE_DATA && is_prototype))
		return;
	if (rule->flags & RULE_PLAIN)
		is_name = name_plain(text_of(r, &at), &d->symbol), d->name = d->symbol;
	else
		is_name = name_identifier(text_of(r, &at), a, &d->symbol, &d->name);
	if (!is_name)
		d->symbol = d->name = STR_NONE;
	else if (rule->flags & RULE_RECEIVER)
		d->symbol = arena_strf(a, STR_FMT "." STR_FMT, STR_ARG(receiver_of(r)), STR_ARG(d->symbol));
	d->line = at.row;
}

static enum chunk_kind kind_of(enum role role)
{
	switch (role) {
	case ROLE_FUNCTION: return CHUNK_FUNCTION;
	case ROLE_TYPE:
	case ROLE_SCOPE: return CHUNK_TYPE;
	case ROLE_SECTION: return CHUNK_SECTION;
	case ROLE_DATA: return CHUNK_DATA;
	default: return CHUNK_LINES;
	}
}

static unsigned describe(struct reader *r, unsigned depth, struct definition *ret);

static unsigned describe_wrapped(struct reader *r, const struct node_rule *rule, unsigned depth, struct definition *ret)
{
	struct definition d;
	unsigned n = 0;

	if (depth == WRAPS_MAX || !go_down(r))
		return 0;
	do {
		unsigned more = describe(r, depth + 1, &d);

		if (more && !n)
			*ret = d;
		n += more;
	} while (n < 2 && go_next(r));
	go_up(r, 1);
	if (n == 1 && !str_is_set(ret->name) && rule->flags & RULE_DEFAULT)
		ret->symbol = ret->name = STR("default");
	return n;
}

/* How many definitions the node is or wraps, 2 standing for more; and the first of them. */
static unsigned describe(struct reader *r, unsigned depth, struct definition *ret)
{
	struct syntax_node n = look(r);
	const struct node_rule *rule = rule_of(r, &n);
	enum role role = rule ? rule->role : ROLE_NONE, value;

	if (role == ROLE_WRAP)
		return describe_wrapped(r, rule, depth, ret);
	if (kind_of(role) == CHUNK_LINES && role != ROLE_ASSIGN)
		return 0;
	if (rule->flags & RULE_NEEDS_BODY && !has_field(r, FIELD_BODY))
		return 0;
	if (role == ROLE_DATA || role == ROLE_ASSIGN) {
		value = role_of_value(r);
		if (value == ROLE_FUNCTION || value == ROLE_TYPE)
			role = value;
		else if (role == ROLE_ASSIGN)
			return 0;
	}
	*ret = (struct definition){ .role = role, .kind = kind_of(role), .node = n, .line = n.row };
	name_definition(r, rule, ret);
	return 1;
}

/* -- units ------------------------------------------------------------------------------------- */

static unsigned add_scope(struct reader *r, unsigned parent, const struct definition *d)
{
	str outer = r->scopes[parent].symbol, symbol = d->symbol;

	if (str_is_set(outer))
		symbol = arena_strf(r->sink->arena, STR_FMT "%s" STR_FMT, STR_ARG(outer), r->g->language->joint,
			STR_ARG(d->symbol));
	r->scopes = grow_array(r->sink->arena, r->scopes, r->nscopes, &r->scopes_cap, sizeof *r->scopes);
	r->scopes[r->nscopes] = (struct scope){ .parent = parent,
		.symbol = str_cut_utf8(symbol, CHUNK_SYMBOL_BYTES),
		.kind = d->kind,
		.is_type = d->role == ROLE_TYPE,
		.is_function = r->scopes[parent].is_function || d->role == ROLE_FUNCTION };
	return (unsigned)r->nscopes++;
}

static void push_unit(struct reader *r, struct unit u)
{
	while (u.first < u.end && line_is_blank(line_at(r->lines, u.first)))
		u.first++;
	while (u.first < u.end && line_is_blank(line_at(r->lines, u.end - 1)))
		u.end--;
	if (u.first == u.end)
		return;
	u.is_tiny = u.end - u.first <= TINY_LINES;
	u.is_head = r->scopes[u.within].is_type && !r->scopes[u.within].is_begun;
	r->scopes[u.within].is_begun = true;
	r->units = grow_array(r->sink->arena, r->units, r->nunits, &r->units_cap, sizeof *r->units);
	r->units[r->nunits++] = u;
}

/* What no node has claimed up to a line belongs to the scope around it. */
static void close_gap(struct reader *r, unsigned until, unsigned within)
{
	if (r->quiet || until <= r->at)
		return;
	push_unit(r, (struct unit){ .first = r->at, .end = until, .within = within, .own = within });
	r->at = until;
}

/* Lines that an earlier unit has are its own. */
static void add_unit(struct reader *r, struct unit u)
{
	if (r->quiet)
		return;
	close_gap(r, u.first, u.within);
	u.first = MAX(u.first, r->at);
	if (u.first >= u.end)
		return;
	r->at = u.end;
	push_unit(r, u);
}

/* Comments and attributes, until it is known what they belong to. */
struct lead {
	unsigned first, end;
};

static void read_children(struct reader *r, unsigned scope, unsigned depth, const struct syntax_node *named);

/* A definition, which may be inside of the node at hand. */
static void read_definition(struct reader *r, const struct definition *d, struct unit u, unsigned depth)
{
	bool is_container = d->kind == CHUNK_TYPE || d->kind == CHUNK_SECTION;

	if (d->role != ROLE_DATA || !r->scopes[u.within].is_function) {
		u.own = add_scope(r, u.within, d);
		if (d->role != ROLE_SCOPE)
			sink_symbol(r->sink, d->name, d->line, d->kind);
	}
	u.is_solid = u.end - u.first > (d->role == ROLE_DATA ? LOOSE_DATA : LOOSE_LINES);
	if (r->quiet || lines_fit(r->lines, u.first, u.end)) {
		add_unit(r, u);
		r->quiet++;
		if (is_container)
			read_children(r, u.own, depth + 1, &d->node);
		r->quiet--;
	} else {
		close_gap(r, u.first, u.within);
		read_children(r, u.own, depth + 1, &d->node);
		close_gap(r, u.end, u.own);
	}
}

static bool is_around(const struct syntax_node *outer, const struct syntax_node *inner)
{
	return outer->begin <= inner->begin && outer->end >= inner->end;
}

/* named: a definition in here that has its scope already. */
static void read_node(struct reader *r, unsigned scope, unsigned depth, const struct syntax_node *named,
	struct lead *lead)
{
	struct syntax_node n = look(r);
	enum role role = role_of(r, &n);
	struct unit u = { .first = MIN(n.row, r->lines->n), .end = end_of(r, &n), .within = scope, .own = scope };
	struct definition d;

	if (!n.is_named)
		return;
	if (role == ROLE_LEAD) {
		if (lead->end < u.first || !lead->end)
			lead->first = u.first;
		lead->end = u.end;
		return;
	}
	if (lead->end && lead->end >= u.first)
		u.first = MIN(lead->first, u.first);
	lead->end = 0;
	if (named && role != ROLE_NONE && is_around(&n, named)) {
		read_children(r, scope, depth + 1, n.type == named->type && n.begin == named->begin ? NULL : named);
		return;
	}
	if (role != ROLE_NONE && role != ROLE_BODY && describe(r, 0, &d) == 1 && str_is_set(d.name)) {
		read_definition(r, &d, u, depth);
		return;
	}
	/* A type without a name, as in typedef enum { A } e, is opened for what is in it. What is opened but has nothing inside
	 * falls to the gaps. */
	if (role == ROLE_BODY || role == ROLE_WRAP || role == ROLE_TYPE || role == ROLE_SCOPE ||
		(!r->quiet && !lines_fit(r->lines, u.first, u.end)))
		read_children(r, scope, depth + 1, named);
	else
		add_unit(r, u);
}

static void read_children(struct reader *r, unsigned scope, unsigned depth, const struct syntax_node *named)
{
	struct lead lead = { 0 };

	if (depth > DEPTH_MAX || !go_down(r))
		return;
	do {
		read_node(r, scope, depth, named, &lead);
	} while (go_next(r));
	go_up(r, 1);
}

/* -- packing ----------------------------------------------------------------------------------- */

static bool is_few(const struct reader *r, const struct unit *u)
{
	unsigned n = 0;

	for (unsigned i = u->first; i < u->end && n <= FEW_LINES; i++)
		n += !line_is_blank(line_at(r->lines, i));
	return n <= FEW_LINES;
}

/* Only brackets, or the word that some languages have for them. */
static bool is_closing(const struct reader *r, const struct unit *u)
{
	for (unsigned i = u->first; i < u->end; i++) {
		str line = str_trim(line_at(r->lines, i));

		if (str_eq(line, STR("end")))
			continue;
		for (size_t k = 0; k < line.n; k++)
			if (!memchr("})];,", line.p[k], 5))
				return false;
	}
	return !u->is_solid;
}

/* Whether a unit goes into the chunk that g is so far. want: how many lines such a run of units should have. */
static bool can_join(const struct reader *r, const struct unit *g, const struct unit *u, unsigned want)
{
	if (!lines_fit(r->lines, g->first, u->end))
		return false;
	if (is_closing(r, u))
		return true;
	if (g->within != u->within)
		return false;
	if (g->is_solid)
		return u->is_solid && g->is_tiny && u->is_tiny && u->end - g->first <= TOGETHER_MAX;
	return u->is_solid ? is_few(r, g) && !g->is_head : g->end - g->first < want;
}

static unsigned common_scope(const struct reader *r, const struct unit *a, const struct unit *b)
{
	enum chunk_kind around = r->scopes[a->within].kind;

	if (a->own == b->own || !b->is_solid)
		return a->is_solid || a->own == b->own ? a->own : a->within;
	if (!a->is_solid)
		return b->own;
	return around == CHUNK_TYPE || around == CHUNK_SECTION ? a->within : a->own;
}

static void join(const struct reader *r, struct unit *g, const struct unit *u)
{
	g->own = common_scope(r, g, u);
	g->is_tiny = g->is_tiny && u->is_tiny;
	g->is_solid |= u->is_solid;
	g->end = u->end;
}

static bool is_inside(const struct reader *r, unsigned scope, unsigned outer)
{
	while (scope != outer && scope)
		scope = r->scopes[scope].parent;
	return scope == outer;
}

/* A few lines that go to the chunk before, because nothing after them wants them. */
static bool can_append(const struct reader *r, const struct unit *done, const struct unit *g)
{
	return done->end && !g->is_solid && is_few(r, g) && lines_fit(r->lines, done->first, g->end) &&
		is_inside(r, done->within, g->within);
}

static void put_group(struct reader *r, const struct unit *g)
{
	const struct scope *s = &r->scopes[g->own];

	sink_lines(r->sink, g->first, g->end, s->kind, s->symbol);
}

/* A function of 65 lines is better cut into 33 and 32 than into 60 and 5. */
static unsigned even_share(const struct reader *r, size_t from)
{
	const struct unit *u = &r->units[from];
	unsigned lines = 0, pieces;

	for (size_t i = from; i < r->nunits && r->units[i].within == u->within && !r->units[i].is_solid; i++) {
		lines = r->units[i].end - u->first;
		if (lines > 4 * CHUNK_LINES_MAX)
			return CHUNK_LINES_MAX;
	}
	pieces = (lines + CHUNK_LINES_MAX - 1) / CHUNK_LINES_MAX;
	return pieces ? (lines + pieces - 1) / pieces : CHUNK_LINES_MAX;
}

static void pack(struct reader *r)
{
	struct unit done = { 0 }; /* the chunk before */

	for (size_t i = 0; i < r->nunits;) {
		unsigned want = even_share(r, i);
		struct unit g = r->units[i++];

		while (i < r->nunits && can_join(r, &g, &r->units[i], want))
			join(r, &g, &r->units[i++]);
		if (can_append(r, &done, &g)) {
			done.end = g.end;
			continue;
		}
		put_group(r, &done);
		done = g;
	}
	put_group(r, &done);
}

bool tree_read(const struct grammar *g, struct sink *s)
{
	str text = s->lines->text;
	struct reader r = { .g = g, .lines = s->lines, .sink = s };

	if (text.n > GRAMMAR_BYTES_MAX ||
		!g->syntax->parse(g->parser, g->handle, text.p, (uint32_t)text.n, PARSE_MS, PARSE_MEMORY))
		return false;
	r.scopes = grow_array(s->arena, NULL, 0, &r.scopes_cap, sizeof *r.scopes);
	r.scopes[r.nscopes++].kind = s->language->class == FILE_CONFIG ? CHUNK_DATA : CHUNK_LINES;
	read_children(&r, 0, 0, NULL);
	close_gap(&r, s->lines->n, 0);
	pack(&r);
	s->ret->cut |= r.nodes >= NODES_MAX;
	return true;
}
