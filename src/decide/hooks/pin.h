/* What resolve.c finds out about a command, for pin.c. */
#ifndef HOOKD_HOOKS_PIN_H
#define HOOKD_HOOKS_PIN_H

#include "guard/guard.h"
#include "hooks/internal.h"

enum { PIN_BUCKETS = 1024, PIN_GLOB_MAX = 32, PIN_CODE_MAX = 200 };

struct seen_word {
	struct guard_word w;
	uint32_t next; /* in its bucket, counted from 1 */
	bool varies;   /* in a loop or a function it becomes several things */
	str link;      /* in a script: what its copy has in this place, or STR_NONE */
};

struct pin {
	struct arena *a;
	const struct hook_tree *tree;
	const struct hook_taker *taker; /* or NULL */
	struct guard_context context;
	struct guard_watcher watcher;
	str text;
	struct seen_word *words;
	uint32_t n, cap, buckets[PIN_BUCKETS];
	str code[PIN_CODE_MAX]; /* programs of interpreters that were read */
	size_t ncode;
	str reading, base; /* the one that is being read, and the directory of its modules */
	unsigned depth;
	str why; /* STR_NONE: it can be pinned */
};

/* Walks the command, and everything it runs. taker: as hook_each_file(), or NULL. */
struct pin *pin_resolve(const struct hook *h, const struct hook_tree *t, const struct hook_taker *taker,
	struct arena *a);

/* It must not run; file: where the reason is, or STR_NONE for the command itself. */
void pin_refuse(struct pin *p, str file, str why);
/* A file of the tree takes part. */
void pin_offer(struct pin *p, str name);

/* An absolute path without . and .., or STR_NONE when the directory is not known. */
str pin_absolute(struct pin *p, str word, str cwd);
/* The name in the tree, or STR_NONE: it is not in it. */
str pin_in_tree(struct pin *p, str word, str cwd);
mode_t pin_type(struct pin *p, str name);
bool pin_is_systems(str path);                /* where only root puts programs */
bool pin_is_outer(const struct seen_word *s); /* of the command itself, not of a script */
bool pin_touches_tree(struct pin *p, const struct guard_word *w);

/* A pattern in the place of a program, as it stands in the text; files of dir that fit. */
size_t pin_glob(struct pin *p, const struct guard_word *w, const char *dir, str ret[PIN_GLOB_MAX]);

/* The interpreter that a file of the tree names in its first line, if that is one of the tree too: the kernel would run
 * it where it is. */
str pin_interpreter(struct pin *p, str name, str *ret_options);
/* What is written in the place of a program or script, quoted for a shell. copies: their directory. */
str pin_words(struct pin *p, str name, str copies, bool program);
void pin_quote(struct buf *b, str s);

#endif
