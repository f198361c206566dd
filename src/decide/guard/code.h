/* code: a program in another language, as far as it is read: tokens, variables, values of arguments. For guard/ only.
 *
 *   code_read.c   text → tokens; what names, strings and calls are worth
 *   code.c        what its calls do */
#ifndef HOOKD_GUARD_CODE_H
#define HOOKD_GUARD_CODE_H

#include "guard/internal.h"

enum { TOKENS_MAX = 3000, TOKENS_OF_FILE = 100000, ARGS_MANY = 256 };

enum token_kind { TOKEN_NAME, TOKEN_STRING, TOKEN_COMMAND, TOKEN_NUMBER, TOKEN_MARK, TOKEN_LINE };

struct token {
	enum token_kind kind;
	str text;
};

struct code {
	struct run *x;
	const struct cmd *c;
	str language, all;
	struct token *t;
	size_t n, max;
	struct var {
		struct var *older;
		str name, value;
	} * vars;
	bool args_cut; /* of the call that was read last */
	unsigned depth;
	str in;           /* what it reads, or its arguments, a line each */
	str walked;       /* the first directory whose files it goes through */
	bool loose, tree; /* it deletes what a variable names; with everything in it */
};

void code_tokens(struct code *k, str text);
bool code_mark(const struct code *k, size_t i, char c);            /* token i is this character */
bool code_name(const struct code *k, size_t i, const char *names); /* one of these names */
bool code_has(const struct code *k, const char *names);            /* there is one */
str code_lookup(const struct code *k, str name);                   /* of a variable; STR_NONE: not known */
/* The values of the arguments from token i on, up to the bracket that closes them, or bare: the end of the line. Pieces
 * that operators join are one. Gives where they end. */
size_t code_args(struct code *k, size_t i, bool bare, str *args, size_t *ret_n);

#endif
