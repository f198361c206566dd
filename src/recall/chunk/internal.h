/* internal: what the files of chunk share. */
#ifndef HOOKD_CHUNK_INTERNAL_H
#define HOOKD_CHUNK_INTERNAL_H

#include "chunk/chunk.h"
#include "chunk/syntax.h"

/* -- languages --------------------------------------------------------------------------------- */

/* What a node of a syntax tree is to us. */
enum role {
	ROLE_NONE,     /* a statement or the like: a piece by itself only if it is large */
	ROLE_FUNCTION, /* these five define a name */
	ROLE_TYPE,
	ROLE_SECTION,
	ROLE_DATA,
	ROLE_ASSIGN,    /* only if the value is a function or type: exports.f = function () */
	ROLE_SCOPE,     /* names in it are qualified, but it defines nothing: impl T, namespace n */
	ROLE_WRAP,      /* belongs to the one definition that is in it: decorators, export, template <...> */
	ROLE_BODY,      /* what is in it counts as if it were beside it: the body of a class, #ifdef */
	ROLE_LEAD,      /* belongs to what follows: comments, attributes */
	ROLE_PROTOTYPE, /* a declarator of a function: without a body it defines nothing */
	ROLE_PAREN,     /* the declarator is inside */
};

/* Parts of a node that grammars give names to. */
enum field {
	FIELD_NONE,
	FIELD_NAME,
	FIELD_DECLARATOR,
	FIELD_TYPE,
	FIELD_KEY,
	FIELD_LEFT,
	FIELD_PROPERTY,
	FIELD_VALUE,
	FIELD_RIGHT,
	FIELD_RECEIVER,
	FIELD_BODY,
	FIELD_HEADING,
	FIELD_OBJECT,
	FIELD_MAX,
};

enum {
	RULE_NEEDS_BODY = 1, /* struct s; defines nothing */
	RULE_PLAIN = 2,      /* the name is any text, not an identifier */
	RULE_RECEIVER = 4,   /* qualified by the type of the receiver */
	RULE_DEFAULT = 8,    /* export default: what has no name is called so */
};

struct node_rule {
	const char *type; /* as the grammar calls it; NULL ends a list */
	enum role role;
	enum field name; /* where the name is */
	unsigned flags;
};

struct language {
	const char *name, *fence;
	enum file_class class;
	const char *endings;           /* words between blanks, in small letters; those of file names too */
	const char *names;             /* whole names of files, in small letters */
	const char *programs;          /* in a script's first line */
	const char *comment;           /* how a line of comment begins; NULL: none does */
	const struct node_rule *rules; /* NULL: there is no grammar */
	const char *joint;             /* between the parts of a qualified name */
};

extern const struct language languages[];
extern const size_t nlanguages;

/* -- lines ------------------------------------------------------------------------------------- */

struct text_lines {
	str text;
	size_t *begin; /* n + 1: also the end of the last one */
	unsigned n;
	bool cut; /* there are more */
};

void lines_open(str text, struct arena *a, struct text_lines *ret);

static inline str line_at(const struct text_lines *l, unsigned i)
{
	return str_n(l->text.p + l->begin[i], l->begin[i + 1] - l->begin[i]);
}

bool line_is_blank(str line);

/* Whether the lines from first to before end make one chunk. */
static inline bool lines_fit(const struct text_lines *l, unsigned first, unsigned end)
{
	return end <= first || (end - first <= CHUNK_LINES_MAX && l->begin[end] - l->begin[first] <= CHUNK_BYTES_MAX);
}

/* Where a window that begins at first ends best; at most at end. */
unsigned lines_window(const struct text_lines *l, const char *comment, unsigned first, unsigned end);

/* -- chunks ------------------------------------------------------------------------------------ */

struct sink {
	struct arena *arena;
	const struct text_lines *lines;
	const struct language *language;
	struct chunks *ret;
	size_t cap, symbols_cap;
};

/* The lines as a chunk, or as windows if they do not fit. */
void sink_lines(struct sink *s, unsigned first, unsigned end, enum chunk_kind kind, str symbol);
/* line counts from 0. */
void sink_symbol(struct sink *s, str name, unsigned line, enum chunk_kind kind);
/* Tells each symbol its chunk. */
void sink_finish(struct sink *s);

/* Twice as large an array, as long as the arena. */
void *grow_array(struct arena *a, void *old, size_t n, size_t *cap, size_t size);

/* -- grammars ---------------------------------------------------------------------------------- */

struct grammar {
	const struct syntax *syntax;
	struct syntax_parser *parser;
	const void *handle; /* tree-sitter's */
	void *library;
	const struct language *language;
	const struct node_rule **rules; /* of each type; NULL: none */
	uint32_t types;
	uint16_t fields[FIELD_MAX];
};

/* NULL: there is none, or it cannot be used. */
struct grammar *grammar_of(struct chunker *c, const struct language *l);
/* False: it took too much, and nothing was put into the sink. */
bool tree_read(const struct grammar *g, struct sink *s);

#endif
