/* chunk: a source file becomes pieces that can stand alone: functions, types, sections, or windows of lines. Knows
 * neither files nor the store; any bytes are valid input.
 *
 *   languages.c  which language a file is in, by its name: one table, which also says what its pieces are
 *   chunk.c      a text becomes chunks, one way or the other
 *   lines.c      windows of lines, for what no grammar knows
 *   tree.c       pieces by the syntax tree
 *   names.c      what a definition is called
 *   grammar.c    tree-sitter and its grammars, loaded when the first file of a language comes
 *   runtime.c    the other side of it: not in hookd, but in grammars/runtime.so (syntax.h is what they share)
 *
 * DESIGN (docs/code.md). Parsers here are other people's: whoever calls this is a process that may die. Bounds on
 * depth, count and time are kept nevertheless, so that dying is rare. */
#ifndef HOOKD_CHUNK_CHUNK_H
#define HOOKD_CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/macro.h"
#include "base/str.h"

/* -- languages --------------------------------------------------------------------------------- */

enum file_class { FILE_CODE, FILE_TEST, FILE_DOCS, FILE_CONFIG, FILE_I18N };

struct language; /* a row of the table */

/* By the name of a file, and for scripts without an ending by their first line. Never NULL: the last row is plain
 * text. */
const struct language *language_of(str path, str head);
const char *language_name(const struct language *l);  /* "python"; stored, and shown */
const char *language_fence(const struct language *l); /* what stands behind ``` */
const struct language *language_find(str name);
/* What kind of file it is, by its path and language. */
enum file_class file_class_of(str path, const struct language *l);
const char *file_class_name(enum file_class c);

/* -- pieces ------------------------------------------------------------------------------------ */

enum {
	CHUNK_LINES_MAX = 60,
	CHUNK_BYTES_MAX = 4096,
	CHUNKS_MAX = 4096, /* of one file; the rest of it is left out */
	CHUNK_SYMBOL_BYTES = 200,
};

enum chunk_kind { CHUNK_LINES, CHUNK_FUNCTION, CHUNK_TYPE, CHUNK_SECTION, CHUNK_DATA };

struct chunk {
	str text;             /* part of the file's */
	unsigned line, lines; /* the first line is 1 */
	enum chunk_kind kind;
	str symbol; /* qualified, as Parser.next, or Manual > Install of headings; valid UTF-8; STR_NONE: none */
};

/* A name that is defined here; a chunk may define many. */
struct chunk_symbol {
	str name; /* not qualified; part of the file's text, but "default" for what is exported so; valid UTF-8 */
	unsigned line;
	enum chunk_kind kind;
	size_t chunk; /* its number */
};

struct chunks {
	struct chunk *all; /* in the order of the file; every line that is not blank is in one, and none in two */
	size_t n;
	struct chunk_symbol *symbols;
	size_t nsymbols;
	bool by_grammar; /* else windows of lines, and no symbols */
	bool cut;        /* a cap was reached: the rest is left out, or read as lines */
};

const char *chunk_kind_name(enum chunk_kind k);

struct chunker;

/* grammars: the directory they are in; NULL or empty: everything is windows of lines. A chunker is one thread's; each
 * thread may have one. */
struct chunker *chunker_new(const char *grammars);
void chunker_free(struct chunker *c);
DEFINE_FREEP(struct chunker, chunker_free);

/* The pieces of a text. plain: no grammar is to be used. Everything lies in the arena or in the text. */
void chunker_read(struct chunker *c, const struct language *l, str text, bool plain, struct arena *a,
	struct chunks *ret);
/* Which grammars are there, for status: names, NULL ends. */
const char *const *chunker_grammars(struct chunker *c);

#endif
