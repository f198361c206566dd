/* What the files of transcript/ share. A format sees one parsed line and calls emit() for every item in it; what it
 * must know on later lines it keeps in t->now, which is all there is to a reader's state. */
#ifndef HOOKD_TRANSCRIPT_INTERNAL_H
#define HOOKD_TRANSCRIPT_INTERNAL_H

#include <sys/types.h>

#include "transcript/transcript.h"

/* -- skim.c: a look at a line without parsing it ------------------------------------------------ */

/* From the value of the line's own member called key (not one of an inner object) to the end of the line; STR_NONE. */
str skim_value(str line, str key);
/* The text between the quotes that rest begins with, as written; STR_NONE when it is no string. */
str skim_string(str rest);

/* -- lines.c: whole lines of a file in bounded memory ------------------------------------------- */

struct lines {
	int fd;
	int64_t limit; /* size at opening: a file that grows as fast as it is read would have no end */
	int64_t base;  /* where in the file p[0] is */
	int64_t end;   /* where the line handed out last ends */
	char *p;
	size_t start, scan, len, cap;
	bool skipping; /* inside a line that is too long */
	bool zeros;    /* what was read last ended in NUL: perhaps a hole */
	struct transcript_counts counts;
};

void lines_init(struct lines *l, int fd, int64_t offset, int64_t limit, bool skipping);
void lines_release(struct lines *l);
/* 1: a line without its end, valid until the next call, and where it begins; 0: no whole line is left; -errno. */
int lines_next(struct lines *l, str *ret, int64_t *ret_offset);
/* Where to go on another time; inside a line only when that is being skipped. */
int64_t lines_offset(const struct lines *l);

/* -- database.c: the messages of a database, as lines ------------------------------------------- */

struct database;

struct database_shape {
	const char *list; /* keys of messages in order, and when each was changed; ?1: nothing older is needed */
	const char *line; /* ?1: a key; the message as JSON */
};

/* -ENOMSG: no such database. */
int database_open(const char *path, const struct database_shape *shape, int64_t since, struct database **ret,
	struct err *err);
void database_close(struct database *d);
/* 1: a line, valid until the next call, STR_NONE: one that cannot be read; 0: the end; -errno. */
int database_next(struct database *d, str *ret);
/* Of what was handed out so far. */
int64_t database_newest(const struct database *d);

/* -- state.c: what is carried from line to line ------------------------------------------------- */

enum memory_text {
	MEMORY_SESSION,
	MEMORY_CWD,
	MEMORY_MODEL,
	MEMORY_PROMPT, /* prompt or turn */
	MEMORY_AGENT_ID,
	MEMORY_AGENT_TYPE,
	MEMORY_USAGE_ID, /* Claude: the message whose tokens are not final yet */
	MEMORY_USAGE_MODEL,
	MEMORY_USAGE_PROMPT,
	MEMORY_ANSWER_ID,  /* Codex, Gemini: the answer that may turn out to be the last of its turn */
	MEMORY_COMPACT_ID, /* Claude: a compaction whose summary is still to come */
	MEMORY_COMPACT_SOURCE,
	MEMORY_TEXTS,
};

enum memory_number {
	MEMORY_AT,
	MEMORY_SIDECHAIN,
	MEMORY_SKIPPING, /* lines.skipping */
	MEMORY_USAGE_AT,
	MEMORY_USAGE_SAID, /* these numbers have been handed out at the end of the file */
	MEMORY_USAGE_SIDECHAIN,
	MEMORY_INPUT,
	MEMORY_CACHE_READ,
	MEMORY_CACHE_WRITE,
	MEMORY_OUTPUT,
	MEMORY_REASONING,
	MEMORY_PROMPT_HASH, /* Codex: of the prompt, as long as nothing has come after it */
	MEMORY_ANSWER_HASH,
	MEMORY_ANSWER_AT, /* Gemini: where the line of MEMORY_ANSWER_ID is, plus 1; Codex: of a prompt */
	MEMORY_ANSWER_BYTES,
	MEMORY_ANSWER_SAID, /* Gemini: it was called final because the file ended there */
	MEMORY_CALLS,       /* Gemini: calls of this message that have been handed out */
	MEMORY_TOTAL,       /* Codex: tokens of the whole thread when usage was handed out last */
	MEMORY_RECORDS,     /* Codex: the file has token_usage_record lines */
	MEMORY_EVENTS,      /* Codex: the file has events for what was said */
	MEMORY_DOCUMENT,    /* Gemini: size of the document that was read */
	MEMORY_NEWEST,      /* of a database: when the newest message that was read had been changed */
	MEMORY_NUMBERS,
};

struct memory {
	struct buf text[MEMORY_TEXTS];
	int64_t number[MEMORY_NUMBERS];
	unsigned changed; /* bit per text, since memory_copy() */
};

/* Longer texts are cut: they come from the file, and the state must stay short. */
enum { MEMORY_TEXT_MAX = 4096 };

void memory_init(struct memory *m);
void memory_release(struct memory *m);
str memory_get(const struct memory *m, enum memory_text which);
/* STR_NONE forgets. */
void memory_set(struct memory *m, enum memory_text which, str text);
/* to becomes what from is; only what changed in from since the last time is touched. */
void memory_copy(struct memory *to, struct memory *from);
void memory_write(const struct memory *m, struct buf *b);
/* -EBADMSG: not what memory_write() wrote. */
int memory_read(struct memory *m, str state);

/* -- read.c ------------------------------------------------------------------------------------ */

struct queued {
	struct transcript_item item;
	struct queued *next;
};

struct transcript_format {
	const char *agent;
	/* Whether a file that begins with these bytes is one of this agent's. */
	bool (*knows)(str head);
	/* Before the first line, also when going on: what the path says. */
	void (*begin)(struct transcript *t);
	/* Whether a line is worth parsing. */
	bool (*wants)(const struct transcript *t, str line);
	void (*line)(struct transcript *t, const struct json *line);
	/* At the end for now. */
	void (*end)(struct transcript *t);
	/* The file is one JSON document, not lines. */
	bool (*is_document)(const char *path);
	const struct database_shape *database; /* the file is one; NULL: it never is */
};

extern const struct transcript_format transcript_claude, transcript_codex, transcript_gemini, transcript_copilot,
	transcript_opencode, transcript_qwen;

struct transcript {
	const struct transcript_format *format;
	char *path;
	int fd;
	int64_t size, mtime_us;
	bool replaced, document, document_read, ended;
	struct lines lines;
	struct database *database; /* instead of lines */
	struct arena a;            /* of one line and its items */
	struct memory now, before; /* before: as it was when everything handed out had been read */
	int64_t before_offset, line_offset, line_bytes;
	struct queued *first, **last;
	str shared[MEMORY_TEXTS]; /* copies in a: the items of a line mostly say the same */
	unsigned place;           /* items of this line without an id of their own so far */
	uint64_t broken, skipped;
	int64_t context_max; /* tokens the context holds, as the file says; 0: it has not said so */
	struct buf identity;
	struct buf *state; /* apart, so that asking for a position changes nothing */
};

/* A new item at the end of the queue, with everything the memory knows; id may be empty. Strings put into it must
 * live in t->a or be constant. */
struct transcript_item *emit(struct transcript *t, enum transcript_kind kind, str id);

/* The session becomes known: START, once. */
void emit_start(struct transcript *t, str id);

/* Up to n bytes of a file from offset on; fewer only at its end; -errno. */
ssize_t read_at(int fd, char *p, size_t n, int64_t offset);

/* The line of this file at that offset, parsed once more into t->a; NULL when it is not what it was. */
const struct json *read_again(struct transcript *t, int64_t at, int64_t bytes);

/* Sets the clock from an RFC 3339 text; anything else leaves it. */
void set_time(struct transcript *t, str text);

/* A text, and an object with the members given (shallow copies with new keys; NULL values left out). */
struct json *make_text(struct arena *a, str text);
struct json *make_object(struct arena *a, const str *keys, const struct json *const *values, size_t n);

/* The texts of an array of {text} or of strings, joined; a string is itself. */
str join_texts(struct arena *a, const struct json *content, str separator);

/* The number of a member, 0 without, never negative. */
int64_t get_count(const struct json *obj, const char *key);

/* FNV-1a, for telling whether a text is the same as before. */
int64_t text_hash(str text);

/* The end of a path, from the nth last '/' on. */
str path_part(const char *path, unsigned nth);

#endif
