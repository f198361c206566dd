/* Aho–Corasick as a plain table: state and byte class give the next state, failure links are
 * resolved when it is built. Bytes that occur in no literal share one class, upper and lower case
 * of a letter another, so that the table stays near 100 KB and the part that ordinary text touches
 * (states one or two letters deep) stays in the first cache. States are numbered so that those
 * where a literal ends come last: the inner loop is two loads and one comparison. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "redact/internal.h"

/* What an entry of 16 bits counts, so that four times as many states fit. */
enum { UNIT = 4 };

struct automaton_output {
	uint16_t value, length;
};

struct node {
	uint16_t *next;      /* per class; 0 is the root and, while building, "none" */
	uint32_t fail, link; /* link: nearest suffix where a literal ends */
	uint32_t literal;    /* first own literal + 1 */
};

struct literal {
	struct automaton_output out;
	uint32_t next; /* another one with the same text, + 1 */
	char *text;
};

struct automaton {
	uint8_t class_of[256];
	unsigned nclasses;
	unsigned stride; /* of a state's row: the classes, rounded up to a multiple of UNIT */
	uint16_t *table; /* entries are where the next state's row begins, in UNITs */
	uint32_t first_ending;
	uint32_t *out_at; /* per ending state, one more at the end: where its outputs begin */
	struct automaton_output *out;
	size_t nout, nstates, nliterals;
	struct literal *literals;
};

static uint8_t fold(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

struct automaton *automaton_new(void)
{
	return xcalloc(1, sizeof(struct automaton));
}

static void free_literals(struct automaton *a)
{
	for (size_t i = 0; i < a->nliterals; i++)
		free(a->literals[i].text);
	free(a->literals);
	a->literals = NULL;
	a->nliterals = 0;
}

void automaton_free(struct automaton *a)
{
	if (!a)
		return;
	free_literals(a);
	free(a->table);
	free(a->out_at);
	free(a->out);
	free(a);
}

void automaton_add(struct automaton *a, str literal, unsigned value)
{
	struct literal *l;

	a->literals = xrealloc(a->literals, (a->nliterals + 1) * sizeof *a->literals);
	l = &a->literals[a->nliterals++];
	*l = (struct literal){ .out = { (uint16_t)value, (uint16_t)literal.n } };
	l->text = xstrndup(literal.p, literal.n);
	for (size_t i = 0; i < literal.n; i++)
		l->text[i] = (char)fold((uint8_t)l->text[i]);
}

/* Class 0 is every byte that no literal has. */
static void make_classes(struct automaton *a)
{
	a->nclasses = 1;
	for (size_t i = 0; i < a->nliterals; i++)
		for (size_t j = 0; j < a->literals[i].out.length; j++) {
			uint8_t c = (uint8_t)a->literals[i].text[j];

			if (!a->class_of[c])
				a->class_of[c] = (uint8_t)a->nclasses++;
		}
	a->stride = (a->nclasses + UNIT - 1) / UNIT * UNIT;
	for (int c = 'A'; c <= 'Z'; c++)
		a->class_of[c] = a->class_of[fold((uint8_t)c)];
}

static struct node *make_trie(struct automaton *a)
{
	size_t most = 1;
	struct node *nodes;

	for (size_t i = 0; i < a->nliterals; i++)
		most += a->literals[i].out.length;
	nodes = xcalloc(most, sizeof *nodes);
	nodes[0].next = xcalloc(most * a->nclasses, sizeof *nodes[0].next);
	for (size_t i = 0; i < most; i++)
		nodes[i].next = nodes[0].next + i * a->nclasses;
	a->nstates = 1;
	for (size_t i = 0; i < a->nliterals; i++) {
		struct literal *l = &a->literals[i];
		uint32_t at = 0;

		for (size_t j = 0; j < l->out.length; j++) {
			uint16_t *to = &nodes[at].next[a->class_of[(uint8_t)l->text[j]]];

			if (!*to)
				*to = (uint16_t)a->nstates++;
			at = *to;
		}
		l->next = nodes[at].literal;
		nodes[at].literal = (uint32_t)i + 1;
	}
	return nodes;
}

/* Breadth first: when a node is reached, everything shorter is already complete. */
static void resolve(struct automaton *a, struct node *nodes)
{
	uint32_t *queue = xmalloc(a->nstates * sizeof *queue);
	size_t head = 0, tail = 0;

	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++];
		struct node *n = &nodes[at];

		n->link = nodes[n->fail].literal ? n->fail : nodes[n->fail].link;
		for (unsigned c = 0; c < a->nclasses; c++) {
			uint32_t to = n->next[c], other = at ? nodes[n->fail].next[c] : 0;

			if (!to) {
				n->next[c] = (uint16_t)other;
				continue;
			}
			nodes[to].fail = other;
			queue[tail++] = to;
		}
	}
	free(queue);
}

static void add_outputs(struct automaton *a, const struct node *nodes, uint32_t at)
{
	for (; at; at = nodes[at].link)
		for (uint32_t l = nodes[at].literal; l; l = a->literals[l - 1].next) {
			a->out = xrealloc(a->out, (a->nout + 1) * sizeof *a->out);
			a->out[a->nout++] = a->literals[l - 1].out;
		}
}

static void make_table(struct automaton *a, const struct node *nodes)
{
	uint32_t *number = xmalloc(a->nstates * sizeof *number), n = 0, ending = 0;

	for (uint32_t i = 0; i < a->nstates; i++)
		if (!nodes[i].literal && !nodes[i].link)
			number[i] = n++;
	a->first_ending = n * a->stride / UNIT;
	a->out_at = xcalloc(a->nstates - n + 1, sizeof *a->out_at);
	for (uint32_t i = 0; i < a->nstates; i++)
		if (nodes[i].literal || nodes[i].link) {
			number[i] = n++;
			add_outputs(a, nodes, i);
			a->out_at[++ending] = (uint32_t)a->nout;
		}
	a->table = xcalloc(a->nstates * a->stride, sizeof *a->table);
	for (uint32_t i = 0; i < a->nstates; i++)
		for (unsigned c = 0; c < a->nclasses; c++)
			a->table[number[i] * a->stride + c] = (uint16_t)(number[nodes[i].next[c]] * a->stride / UNIT);
	free(number);
}

int automaton_build(struct automaton *a)
{
	struct node *nodes;
	size_t letters = 1;

	make_classes(a);
	for (size_t i = 0; i < a->nliterals; i++)
		letters += a->literals[i].out.length;
	if (letters > UINT16_MAX)
		return -E2BIG;
	nodes = make_trie(a);
	if (a->nstates * a->stride / UNIT <= UINT16_MAX) {
		resolve(a, nodes);
		make_table(a, nodes);
	}
	free(nodes[0].next);
	free(nodes);
	free_literals(a);
	return a->table ? 0 : -E2BIG;
}

size_t automaton_bytes(const struct automaton *a)
{
	return sizeof *a + a->nstates * a->stride * sizeof *a->table + a->nout * sizeof *a->out +
		(a->nstates - a->first_ending / (a->stride / UNIT) + 1) * sizeof *a->out_at;
}

/* Runs to the next state where a literal ends. */
static bool run(const struct automaton *a, struct automaton_scan *s)
{
	const uint8_t *p = (const uint8_t *)s->text.p + s->at, *end = p + (s->text.n - s->at);
	const uint16_t *table = a->table;
	const uint8_t *class_of = a->class_of;
	uint32_t state = s->state, limit = a->first_ending, index;

	while (p < end) {
		state = table[state * UNIT + class_of[*p++]];
		if (state >= limit)
			break;
	}
	s->state = state;
	s->at = (size_t)(p - (const uint8_t *)s->text.p);
	if (state < limit)
		return false;
	index = (state - limit) / (a->stride / UNIT);
	s->out = a->out + a->out_at[index];
	s->nout = a->out_at[index + 1] - a->out_at[index];
	return true;
}

bool automaton_next(const struct automaton *a, struct automaton_scan *s, struct automaton_hit *ret)
{
	if (!s->nout && (s->at >= s->text.n || !run(a, s)))
		return false;
	*ret = (struct automaton_hit){ s->out->value, s->at - s->out->length, s->at };
	s->out++;
	s->nout--;
	return true;
}
