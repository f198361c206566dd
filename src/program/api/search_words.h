/* search_words: what a person typed, as the full-text index is asked for it. Internal to api/.
 *
 * The index knows words as runs of letters and digits. In scripts that are written without spaces such a run is a whole
 * sentence, so a term with characters of these is looked for inside the words of the index (the table vocabulary), and
 * the texts that have such words are asked for the term itself. */
#ifndef HOOKD_API_SEARCH_WORDS_H
#define HOOKD_API_SEARCH_WORDS_H

#include "api/ops.h"

enum { SEARCH_TERMS_MAX = 32 };

struct search_words {
	struct {
		str text;
		bool prefix;
		str match; /* as the index is asked; STR_NONE: as it is */
	} list[SEARCH_TERMS_MAX];
	size_t n;
	str literal; /* JSON array of the terms that a text must hold as they are */
};

/* Words, and "several words" that must be adjacent. There is no other syntax, so no query is invalid; but one may have
 * no words. */
int search_words_read(struct op_call *call, str query, struct search_words *ret);
/* All of them, or any, for MATCH. */
str search_words_match(struct arena *a, const struct search_words *t, bool all);
/* A piece of a text around the first place that has one of the terms. */
str search_words_snippet(struct arena *a, str text, const struct search_words *t);

#endif
