/* What the files of shell/ share: the state of the reader, and who reads what.
 *
 * There are no tokens. Whether "if" is a word or a keyword, "#" a comment and "{" a group depends on where it stands,
 * so each function of the grammar looks at the characters under the cursor itself. Functions return false or NULL after
 * sh_fail(); the first failure is kept and everything unwinds. */
#ifndef HOOKD_SHELL_INTERNAL_H
#define HOOKD_SHELL_INTERNAL_H

#include "shell/shell.h"

struct shell_pending {
	struct shell_pending *next;
	struct shell_redirect *redirect;
};

struct parser {
	struct arena *a;
	const char *text, *p, *end; /* where it reads; text is not what shell_parse() was given while `copied` */
	const char *given;          /* what shell_parse() was given */
	struct shell_limits limits;
	unsigned nodes, depth;
	size_t looked_ahead; /* bytes, bounded so that nested (( cannot cost their square */

	bool copied; /* all places are those of the whole that was copied */
	uint32_t copied_begin, copied_end;

	struct shell_pending *pending; /* here-documents whose body begins behind the next newline */
	struct shell_pending **pending_tail;
	bool in_substitution; /* inside $(…): its ) may end a here-document */

	int code; /* the first failure */
	const char *what;
	char named[24]; /* what it is about, for %s in what */
	uint32_t where;
};

/* What a word ends at, and what is special in it. */
enum word_mode {
	IN_WORD,         /* arguments, targets */
	IN_VALUE,        /* name=HERE */
	IN_REGEX,        /* behind =~ : parentheses and bars are its own */
	IN_PARAM,        /* ${name-HERE} outside of double quotes */
	IN_REPLACE,      /* ${name/HERE/…}: like it, but also ends at a slash */
	IN_SUBSCRIPT,    /* name[HERE] */
	IN_DOUBLE,       /* "HERE" */
	IN_QUOTED_PARAM, /* "${name-HERE}" */
	IN_BODY,         /* a here-document, up to the end of the text */
	IN_ARITH,        /* ((HERE)) */
};

/* Parts of a word while it is read. */
struct parts {
	struct shell_part *first, *last;
	bool was_quoted; /* something of it */
	bool has_brace;  /* an unquoted { */
};

/* -- lex.c ------------------------------------------------------------------------------------- */

enum reserved {
	NOT_RESERVED,
	WORD_IF,
	WORD_THEN,
	WORD_ELIF,
	WORD_ELSE,
	WORD_FI,
	WORD_FOR,
	WORD_WHILE,
	WORD_UNTIL,
	WORD_DO,
	WORD_DONE,
	WORD_CASE,
	WORD_ESAC,
	WORD_SELECT,
	WORD_FUNCTION,
	WORD_TIME,
	WORD_COPROC,
	WORD_OPEN,
	WORD_CLOSE,
	WORD_NOT,
	WORD_TEST,
	WORD_IN,
	WORD_END_TEST,
	WORD_OPTION_P,
	WORD_DASHES,
};

#define CHAR_META 1 /* ends a word unless quoted: blank, newline, ; & | ( ) < > */
#define CHAR_NAME 2 /* of a name */
#define CHAR_DIGIT 4
#define CHAR_BLANK 8 /* space and tab */
#define CHAR_USER 16 /* beside those of a name, behind ~ */

extern const unsigned char sh_chars[256];

static inline bool sh_is(int c, unsigned classes)
{
	return c >= 0 && (sh_chars[c] & classes);
}

static inline bool sh_is_name_start(int c)
{
	return sh_is(c, CHAR_NAME) && !sh_is(c, CHAR_DIGIT);
}

void *sh_fail(struct parser *s, int code, const char *what);
void *sh_fail_named(struct parser *s, const char *what, str name);
void *sh_unexpected(struct parser *s);
bool sh_count(struct parser *s);
bool sh_enter(struct parser *s);
void sh_leave(struct parser *s);

/* Where the cursor is, for begin and end. */
uint32_t sh_begin(const struct parser *s);
uint32_t sh_end(const struct parser *s);

/* The character under the cursor, behind joined lines (backslash and newline); -1 at the end. */
static inline int sh_peek(struct parser *s)
{
	while (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n')
		s->p += 2;
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

/* The one behind `at`, without moving the cursor. */
int sh_peek_after(const struct parser *s, const char *at);
bool sh_take(struct parser *s, char c);
void sh_blanks(struct parser *s);
/* Blanks, comments and newlines; reads the here-documents behind each newline. */
bool sh_newlines(struct parser *s);
enum reserved sh_reserved(struct parser *s);
bool sh_take_reserved(struct parser *s, enum reserved word);
bool sh_expect_reserved(struct parser *s, enum reserved word);
str sh_name(struct parser *s);
str sh_digits(struct parser *s);
str sh_user(struct parser *s);

/* -- word.c ------------------------------------------------------------------------------------ */

bool sh_add_text(struct parser *s, struct parts *w, str text, bool quoted, uint32_t begin);
struct shell_part *sh_add_part(struct parser *s, struct parts *w, enum shell_part_kind kind, bool quoted,
	uint32_t begin);
bool sh_parts(struct parser *s, struct parts *w, enum word_mode mode);
bool sh_double_quoted(struct parser *s, struct parts *w);
bool sh_single_quoted(struct parser *s, struct parts *w);
bool sh_ansi_quoted(struct parser *s, struct parts *w);
bool sh_escaped(struct parser *s, struct parts *w, enum word_mode mode);
/* Makes a word of parts. */
struct shell_word *sh_word_of(struct parser *s, const struct parts *w, uint32_t begin);
/* An argument; NULL and a failure when there is none. */
struct shell_word *sh_word(struct parser *s);
/* The value of an assignment: no braces, and ~ also behind a colon. */
struct shell_word *sh_value(struct parser *s);
/* The same without braces: subjects, patterns, tests. */
struct shell_word *sh_plain_word(struct parser *s, enum word_mode mode);
/* A word of one unquoted text: operators in [[ ]]. */
struct shell_word *sh_text_word(struct parser *s, size_t n);
/* The words between ( and ), which both are consumed. */
bool sh_array(struct parser *s, struct shell_word **ret);
bool sh_braces(struct parser *s, struct parts *w);

/* -- dollar.c ---------------------------------------------------------------------------------- */

bool sh_dollar(struct parser *s, struct parts *w, enum word_mode mode);
/* Behind a [ : what is in it, the cursor behind the ] that closes it. */
struct shell_word *sh_bracketed(struct parser *s);
bool sh_backquote(struct parser *s, struct parts *w, enum word_mode mode);
bool sh_process(struct parser *s, struct parts *w);
/* Behind "((": the expression as a word, the cursor behind its "))". NULL without a failure, and the cursor where it
 * was, when it is not closed by "))": then they are two parentheses. */
struct shell_word *sh_arith(struct parser *s, str *ret_text);

/* -- redirect.c -------------------------------------------------------------------------------- */

/* Whether there is a redirection here. */
bool sh_at_redirect(struct parser *s);
bool sh_redirect(struct parser *s, struct shell_redirect ***tail);
bool sh_redirects(struct parser *s, struct shell_node *n);
bool sh_here_documents(struct parser *s);
/* Reads from another text until sh_read_on(); if it is a copy, all places in it are begin..end. */
void sh_read_other(struct parser *s, str text, bool copied, uint32_t begin, uint32_t end, struct parser *ret_saved);
void sh_read_on(struct parser *s, const struct parser *saved);

/* -- parse.c and compound.c -------------------------------------------------------------------- */

struct shell_node *sh_node(struct parser *s, enum shell_node_kind kind);
struct shell_node *sh_list(struct parser *s);
/* All of the text. */
struct shell_node *sh_whole(struct parser *s);
/* A list with at least one command. */
struct shell_node *sh_commands(struct parser *s);
/* A list up to the `)` that ends it or, for ${ …; }, the closing brace; with here-documents of its own. */
struct shell_node *sh_substituted(struct parser *s, bool braced);
struct shell_node *sh_command(struct parser *s);
/* NULL without a failure when no compound command begins here. */
struct shell_node *sh_compound(struct parser *s);
bool sh_at_compound(struct parser *s);
struct shell_node *sh_function_body(struct parser *s);

#endif
