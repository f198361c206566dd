/* shell: a command line as the shell reads it.
 *
 * DESIGN. A guard that looks at text is fooled by quoting; one that looks at what the shell would run is not. This
 * module knows the grammar of bash (and with it of POSIX sh) and nothing else: text in, tree out. What words expand to
 * and what a command does is guard/'s business.
 *
 *   lex.c       position of the reader: blanks, comments, reserved words, errors and limits
 *   word.c      words and quoting
 *   dollar.c    what begins with $ or `: parameters, substitutions, arithmetic
 *   brace.c     {a,b} and {1..9}
 *   redirect.c  redirections and here-documents
 *   parse.c     lists, pipelines, simple commands, assignments, functions
 *   compound.c  if, while, for, case, [[ ]], (( )), groups
 *   tree.c      what others ask of a tree
 *
 * The parser is total and bounded: any bytes give a tree or an error with its place, within the limits given (bytes,
 * nodes, depth), and it does not recurse deeper than the depth limit. What is not understood is an error, never
 * parsed as something else: the caller must treat an error as "could be anything".
 *
 * Where bash and other shells read a text differently, bash (not in POSIX mode, as with -c) is followed; where bash
 * itself would guess, it is an error. A carriage return is an ordinary character, as it is for bash: of a text with
 * CRLF line ends the last word of each line ends in \r, and "then\r" is not a reserved word. A NUL byte is an error.
 *
 * Everything lives in the caller's arena and borrows from the text where it can. Offsets are bytes of the text that was
 * given to shell_parse(); what stands in a backquoted command, or in a here-document of which tabs or joined lines were
 * removed, is read from another text and carries the place of the whole of it.
 *
 * Nesting in the tree (also a chain of elif) never exceeds the depth limit, so functions that walk it may recurse. */
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
	SHELL_TEXT,    /* characters as they are after quoting: text. Unquoted *, ?, [, @( in it are patterns */
	SHELL_PARAM,   /* $name, ${name…}: name, index, op, arg */
	SHELL_COMMAND, /* $(…), `…` and ${ …; }: body, a LIST */
	SHELL_PROCESS, /* <(…) and >(…): body, a LIST; text is "<" or ">" */
	SHELL_ARITH, /* $((…)) and $[…]: text is the expression; arg the same as a word, with what it substitutes */
	SHELL_TILDE, /* ~ or ~user at the start of a word or after : or = in an assignment: text is the user */
	SHELL_BRACE, /* {a,b} and {1..9}: items (words) of a list; text is the inside of a range */
	SHELL_ARRAY, /* behind name= in an argument of declare, export, local …: items are the words in ( ) */
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
	SHELL_OP_REPLACE,   /* / // /# /% : arg is the pattern, arg2 the replacement or NULL, text the operator */
	SHELL_OP_CASE,      /* ^ ^^ , ,, ~ ~~ : arg is the pattern, text the operator */
	SHELL_OP_AT,        /* ${name@Q}: text is the letter */
	SHELL_OP_PREFIX,    /* ${!prefix*} and ${!prefix@}: the names that begin with it */
};

struct shell_part {
	struct shell_part *next;
	enum shell_part_kind kind;
	bool quoted;   /* by any kind of quote: neither split nor a pattern */
	bool colon;    /* of op: also when empty */
	bool indirect; /* ${!name…}: name holds the name; op comes on top of it */
	enum shell_param_op op;
	str text;
	str name;                              /* of a parameter; "1", "@", "?" and the like too */
	struct shell_word *index;              /* ${name[index]}, or NULL: what is substituted in it runs */
	struct shell_word *arg, *arg2, *items; /* arg is set, if with no parts, for every op that takes one */
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

/* Whether unquoted text of the word makes it a pattern for file names: * or ?, a [ with a ] behind it, @(…). */
bool shell_word_is_pattern(const struct shell_word *w);

/* -- redirections and assignments -------------------------------------------------------------- */

enum shell_redirect_op {
	SHELL_IN,          /* < */
	SHELL_OUT,         /* > and >| */
	SHELL_APPEND,      /* >> */
	SHELL_INOUT,       /* <> */
	SHELL_DUP_IN,      /* <& */
	SHELL_DUP_OUT,     /* >& with a number, a number and -, or - */
	SHELL_BOTH,        /* &> and >& with any other word; one that is expanded may turn out to be a number */
	SHELL_BOTH_APPEND, /* &>> */
	SHELL_HEREDOC,     /* << and <<- : body, once the line has ended */
	SHELL_HERESTRING,  /* <<< */
};

struct shell_redirect {
	struct shell_redirect *next;
	enum shell_redirect_op op;
	int fd;                    /* written before it; -1: the operator's own */
	str fd_name;               /* {name}> */
	struct shell_word *target; /* of a here-document its delimiter */
	struct shell_word *body;   /* of a here-document: one word; all quoted; text only if target->was_quoted */
	bool strip_tabs;           /* <<- */
	uint32_t begin, end;
};

struct shell_assign {
	struct shell_assign *next;
	str name;
	struct shell_word *index; /* name[index]=, or NULL */
	bool append, array;
	struct shell_word *value; /* of an array its items, which may look like [index]=value; NULL: name= */
	uint32_t begin, end;
};

/* -- commands ---------------------------------------------------------------------------------- */

enum shell_node_kind {
	SHELL_SIMPLE,        /* assigns, words, redirects */
	SHELL_PIPELINE,      /* children: two commands or more in order */
	SHELL_LIST,          /* children in order, each with the operator behind it in `then` */
	SHELL_SUBSHELL,      /* (…): body */
	SHELL_GROUP,         /* {…}: body */
	SHELL_IF,            /* condition, body, otherwise: an IF for elif, a LIST for else, or NULL */
	SHELL_WHILE,         /* condition, body; until: is_until */
	SHELL_FOR,           /* name, words (has_words: `in` was written), body; select: is_select */
	SHELL_FOR_ARITH,     /* for ((…)): text, words: it as one word with what it substitutes; body */
	SHELL_CASE,          /* words: the subject; cases */
	SHELL_FUNCTION,      /* name, body: a compound command, with its own redirects */
	SHELL_TEST,          /* [[ … ]]: words, operators among them as words of one unquoted TEXT */
	SHELL_ARITH_COMMAND, /* ((…)): text, words: it as one word with what it substitutes */
	SHELL_COPROC,        /* name if given, body: any command */
};

/* What follows a command in a list; a newline is a SEMI. BACKGROUND is for all that is joined by AND and OR. */
enum shell_then { SHELL_THEN_END, SHELL_THEN_SEMI, SHELL_THEN_AND, SHELL_THEN_OR, SHELL_THEN_BACKGROUND };

/* What happens after the commands of a case: nothing more; the next one's commands; the next one that matches. */
enum shell_case_end { SHELL_CASE_BREAK, SHELL_CASE_FALL, SHELL_CASE_CONTINUE };

struct shell_case {
	struct shell_case *next;
	struct shell_word *patterns;
	struct shell_node *body; /* a LIST, maybe empty */
	enum shell_case_end end_with;
	uint32_t begin, end;
};

/* Conditions and bodies are LISTs, but for the body of a FUNCTION or COPROC. A pipeline of one command is that command
 * itself: negated and timed are then its own. */
struct shell_node {
	struct shell_node *next; /* the next child of the same parent */
	enum shell_node_kind kind;
	enum shell_then then;
	bool negated; /* ! before it */
	bool timed;   /* time before it */
	bool both;    /* its output and its errors go to the next of the pipeline: |& */
	bool has_words, is_until, is_select;
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
	unsigned nodes; /* nodes, words, parts, redirections, assignments and cases together */
	unsigned depth; /* of nesting of any kind, open braces in a word and elif included */
};

extern const struct shell_limits shell_default_limits; /* 1 MiB, 100,000, 100 */

/* 0: *ret is a LIST (empty for a comment or nothing). -EBADMSG: not the shell's grammar; -E2BIG: a limit. err has
 * line and column; *ret_at the offset. */
int shell_parse(struct arena *a, str text, const struct shell_limits *limits, struct shell_node **ret, size_t *ret_at,
	struct err *err);

/* Calls fn for every SIMPLE command of the tree, also inside substitutions: a command before what is substituted in
 * it, else in the order of the text. */
void shell_each_simple(const struct shell_node *n, void (*fn)(const struct shell_node *simple, void *arg), void *arg);

#endif
