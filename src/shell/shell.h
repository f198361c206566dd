/* shell: a command line as the shell reads it.
 *
 * DESIGN. A guard that looks at text is fooled by quoting; one that looks at what the shell would run is not. This
 * module knows the grammar of bash (and with it of POSIX sh) and nothing else: text in, tree out. What words expand to
 * and what a command does is guard/'s business.
 *
 *   lex.c     words, operators, quoting, here-documents
 *   parse.c   lists, pipelines, compound commands
 *   word.c    the inside of a word: parameters, substitutions, arithmetic, braces
 *
 * The parser is total and bounded: any bytes give a tree or an error with its place, within the limits given (bytes,
 * nodes, depth), and it does not recurse deeper than the depth limit. What is not understood is an error, never
 * something else that happens to parse: the caller must treat an error as "could be anything".
 *
 * Everything lives in the caller's arena and borrows from the text where it can. Offsets are bytes of the text that was
 * given to shell_parse(); nodes of a backquoted command, whose text is another one after unescaping, carry the
 * offsets of the backquotes. */
#ifndef HOOKD_SHELL_SHELL_H
#define HOOKD_SHELL_SHELL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct shell_node;
struct shell_word;

/* -- words ------------------------------------------------------------------------------------- */

enum shell_part_kind {
	SHELL_TEXT,    /* characters as they are after quoting: text. Unquoted *, ?, [ in it are patterns */
	SHELL_PARAM,   /* $name, ${name…}: name, op, arg */
	SHELL_COMMAND, /* $(…) and `…`: body */
	SHELL_PROCESS, /* <(…) and >(…): body; text is "<" or ">" */
	SHELL_ARITH,   /* $((…)) and $[…]: text is the expression; body: commands substituted in it, if any */
	SHELL_TILDE,   /* ~ or ~user at the start of a word or after : or = in an assignment: text is the user */
	SHELL_BRACE,   /* {a,b} and {1..9}: items (words) when it is a list; text is the range's inside when it is one */
};

enum shell_param_op {
	SHELL_OP_NONE,      /* $name */
	SHELL_OP_DEFAULT,   /* ${name-arg} ${name:-arg} */
	SHELL_OP_ASSIGN,    /* = */
	SHELL_OP_ERROR,     /* ? */
	SHELL_OP_OTHER,     /* + : the alternative value */
	SHELL_OP_LENGTH,    /* ${#name} */
	SHELL_OP_SUBSTRING, /* ${name:offset:length}: arg is everything behind the first colon */
	SHELL_OP_STRIP,     /* # ## % %% : arg is the pattern, text the operator */
	SHELL_OP_REPLACE,   /* / // /# /% : arg is the pattern, with the replacement behind its first slash in arg2 */
	SHELL_OP_CASE,      /* ^ ^^ , ,, */
	SHELL_OP_INDIRECT,  /* ${!name}, ${!prefix*} */
	SHELL_OP_AT,        /* ${name@Q} */
};

struct shell_part {
	struct shell_part *next;
	enum shell_part_kind kind;
	bool quoted; /* by any kind of quote: neither split nor a pattern */
	bool colon;  /* of op: also when empty */
	enum shell_param_op op;
	str text;
	str name;  /* of a parameter; "1", "@", "?" and the like too */
	str index; /* ${name[index]}, or STR_NONE */
	struct shell_word *arg, *arg2, *items;
	struct shell_node *body;
	uint32_t begin, end;
};

struct shell_word {
	struct shell_word *next;
	struct shell_part *parts; /* NULL: '' */
	uint32_t begin, end;
	bool was_quoted; /* some of it: '' is a word, an expansion to nothing is not */
};

/* The text of a word that has nothing to expand (quotes removed); STR_NONE else. Patterns and ~ count as
 * something to expand. */
str shell_word_literal(struct arena *a, const struct shell_word *w);

/* -- redirections and assignments -------------------------------------------------------------- */

enum shell_redirect_op {
	SHELL_IN,        /* < */
	SHELL_OUT,       /* > and >| */
	SHELL_APPEND,    /* >> */
	SHELL_INOUT,     /* <> */
	SHELL_DUP_IN,    /* <& */
	SHELL_DUP_OUT,   /* >& with a number or - */
	SHELL_BOTH,      /* &> and >& with a word */
	SHELL_BOTH_APPEND, /* &>> */
	SHELL_HEREDOC,   /* << and <<- : body */
	SHELL_HERESTRING, /* <<< */
};

struct shell_redirect {
	struct shell_redirect *next;
	enum shell_redirect_op op;
	int fd;                    /* written before it; -1: the operator's own */
	str fd_name;               /* {name}> */
	struct shell_word *target; /* of a here-document its delimiter */
	struct shell_word *body;   /* of a here-document: one word, quoted parts and, unless the delimiter was quoted, expansions */
	uint32_t begin, end;
};

struct shell_assign {
	struct shell_assign *next;
	str name, index;
	bool append, array;
	struct shell_word *value; /* of an array its items */
	uint32_t begin, end;
};

/* -- commands ---------------------------------------------------------------------------------- */

enum shell_node_kind {
	SHELL_SIMPLE,   /* assigns, words, redirects */
	SHELL_PIPELINE, /* children: its commands in order; both: |& */
	SHELL_LIST,     /* children in order, each with the operator behind it in `then` */
	SHELL_SUBSHELL, /* (…): children[0..] a LIST in body */
	SHELL_GROUP,    /* {…} */
	SHELL_IF,       /* condition, body, otherwise (an IF again for elif) */
	SHELL_WHILE,    /* condition, body; until: negated */
	SHELL_FOR,      /* name, words (has_words: `in` was written), body; also select */
	SHELL_FOR_ARITH, /* for ((…)): text, body */
	SHELL_CASE,     /* words: the subject; cases */
	SHELL_FUNCTION, /* name, body */
	SHELL_TEST,     /* [[ … ]]: words, operators among them as literal words */
	SHELL_ARITH_COMMAND, /* ((…)): text; body: commands substituted in it */
	SHELL_COPROC,   /* name if given, body */
};

/* What stands behind a command in a list. */
enum shell_then { SHELL_THEN_END, SHELL_THEN_SEMI, SHELL_THEN_AND, SHELL_THEN_OR, SHELL_THEN_BACKGROUND };

struct shell_case {
	struct shell_case *next;
	struct shell_word *patterns;
	struct shell_node *body; /* NULL: nothing */
};

struct shell_node {
	struct shell_node *next; /* the next child of the same parent */
	enum shell_node_kind kind;
	enum shell_then then;
	bool negated;   /* ! before it; until */
	bool timed;     /* time before it */
	bool both;      /* its output and its errors go to the next of the pipeline: |& */
	bool has_words;
	struct shell_assign *assigns;
	struct shell_word *words;
	struct shell_redirect *redirects; /* of compound commands too */
	struct shell_node *children;      /* PIPELINE, LIST */
	struct shell_node *condition, *body, *otherwise;
	struct shell_case *cases;
	str name, text;
	uint32_t begin, end;
};

struct shell_limits {
	size_t bytes;   /* of the text */
	unsigned nodes; /* nodes, words and parts together */
	unsigned depth; /* of nesting of any kind */
};

extern const struct shell_limits shell_default_limits; /* 1 MiB, 100,000, 100 */

/* 0: *ret is a LIST (empty for a comment or nothing). -EBADMSG: not the shell's grammar; -E2BIG: a limit. err has
 * line and column; *ret_at the offset. */
int shell_parse(struct arena *a, str text, const struct shell_limits *limits, struct shell_node **ret, size_t *ret_at,
	struct err *err);

/* Calls fn for every SIMPLE command of the tree, also inside substitutions, in the order they stand in the text; for
 * tests and statistics. */
void shell_each_simple(const struct shell_node *n, void (*fn)(const struct shell_node *simple, void *arg), void *arg);

#endif
