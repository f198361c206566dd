/* syntax: what grammars/runtime.so offers, which is tree-sitter behind a few functions of ours. hookd is compiled
 * without tree-sitter: it sees this table only, and the compiler that makes runtime.so from runtime.c checks the
 * other side against tree-sitter's own header. A table of another version is not used. */
#ifndef HOOKD_CHUNK_SYNTAX_H
#define HOOKD_CHUNK_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SYNTAX_VERSION = 1, SYNTAX_TYPE_ERROR = 0xFFFF /* what no rule of the grammar explains */ };

struct syntax_node {
	uint32_t begin, end;    /* bytes */
	uint32_t row, last_row; /* lines from 0; the last one is that of its end */
	uint16_t type;
	uint16_t field; /* which part of its parent it is; 0: none */
	bool is_named;  /* else a word or sign of the grammar */
};

/* Memory, the last text's tree and a place in it. */
struct syntax_parser;

struct syntax {
	uint32_t version;
	struct syntax_parser *(*open)(void);
	void (*close)(struct syntax_parser *p);

	/* grammar: what a grammar's own function returned. */
	bool (*is_readable)(const void *grammar);
	uint32_t (*type_count)(const void *grammar);
	const char *(*type_name)(const void *grammar, uint32_t type); /* NULL: not a named one */
	uint16_t (*field)(const void *grammar, const char *name);     /* 0: it has no such field */

	/* Stands on the root then. False: more than that time of the processor, or memory. */
	bool (*parse)(struct syntax_parser *p, const void *grammar, const char *text, uint32_t n, uint32_t ms,
		size_t memory);
	/* Each leaves the place as it is and returns false, if there is no such node. */
	bool (*down)(struct syntax_parser *p);
	bool (*next)(struct syntax_parser *p);
	bool (*up)(struct syntax_parser *p);
	struct syntax_node (*look)(const struct syntax_parser *p);
};

/* The symbol in runtime.so. */
#define SYNTAX_SYMBOL "hookd_syntax"

#endif
