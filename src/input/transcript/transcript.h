/* transcript: what agents have written to disk themselves, read as one stream of items.
 *
 * DESIGN. Each agent keeps a log of its sessions in a form of its own, which changes without notice. A
 * reader is a row of transcript_formats[]: where its files lie, how one is recognised, and a function from one line
 * to items. Everything else is shared: opening (only plain files of this user, never a FIFO, never through a
 * link), reading whole lines from a byte offset in bounded memory, counting what is broken, noticing that a
 * file was cut or replaced.
 *
 *   read.c      files                        find.c    where history lies
 *   lines.c     whole lines, bounded         skim.c    which lines are worth parsing
 *   state.c     what is carried from line to line
 *   database.c  a database as lines
 *   claude.c    codex.c    gemini.c    copilot.c    opencode.c    qwen.c      one line → items
 *   text.c      what a person or a model said, without what programs put around it
 *   markdown.c  a session to read
 *
 * Items are in the order of the file. What the file does not say is STR_NONE or 0. Names and inputs of tools are
 * those the agent's hooks use (Codex: exec_command {cmd} is Bash {command}), so that what was captured live and
 * what is read later are one call.
 *
 * An item may come again with the same kind and id and then replaces the earlier one: usage whose numbers have
 * grown, an answer that turned out to be the last of its turn (Codex and Gemini say so only afterwards).
 *
 * Reading is incremental: transcript_position() after any item gives offset and state (a short text of the reader's
 * own), from which transcript_open() goes on, also in another process. The last line of a file that is being
 * written may lack its newline: it is left for the next time. Of a database the offset is always 0, and the state says
 * how new the newest message was.
 *
 * Hostile files cost bounded time and memory: a line over TRANSCRIPT_LINE_MAX is skipped and counted, holes
 * of a sparse file are skipped by asking the file system (os/), depth and size of JSON are those of json/. */
#ifndef HOOKD_TRANSCRIPT_TRANSCRIPT_H
#define HOOKD_TRANSCRIPT_TRANSCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "json/json.h"

enum { TRANSCRIPT_LINE_MAX = 16 << 20 };

enum transcript_kind {
	TRANSCRIPT_START,     /* first thing known of a session; source says startup, resume, clear, … if known */
	TRANSCRIPT_PROMPT,    /* text: what the user (or a program in their place) said; id: the prompt's, if any */
	TRANSCRIPT_ANSWER,    /* text: what the model said; final: with it the turn was over */
	TRANSCRIPT_CALL,      /* tool, tool_id, input */
	TRANSCRIPT_RESULT,    /* tool_id, tool if known, output, failed */
	TRANSCRIPT_USAGE,     /* id: of the model's answer, once each; model, tokens */
	TRANSCRIPT_COMPACTED, /* the context was compacted; text: the summary, source: auto or manual */
	TRANSCRIPT_KIND_MAX,
};

struct transcript_tokens {
	int64_t input; /* neither read from nor written to a cache */
	int64_t cache_read, cache_write;
	int64_t output;    /* with reasoning */
	int64_t reasoning; /* of output */
};

struct transcript_item {
	enum transcript_kind kind;
	int64_t at_us; /* wall clock; of the item before, or the file's, when the line has none */
	str id;        /* the agent's own id of this item, unique within kind and session; never empty: where the
	                     * agent has none, the line's offset and the place in it ("4711.2") */
	str session;   /* native id: what hooks call session_id (for a subagent's file the parent's) */
	str cwd, model;
	str prompt_id;            /* the prompt or turn this belongs to, as hooks name it */
	str agent_id, agent_type; /* a subagent's */
	str source;
	str text;
	str tool, tool_id;
	const struct json *input, *output; /* as hooks have them */
	bool failed, final, sidechain;
	struct transcript_tokens tokens;
};

struct transcript_counts {
	uint64_t lines, broken, long_lines, skipped; /* skipped: whole lines that say nothing we need */
	uint64_t bytes;                              /* read or jumped over, from the start of this opening */
};

struct transcript;

struct transcript_request {
	const char *path;
	const char *agent; /* "claude", "codex", …; NULL: recognised by its first lines */
	str identity;      /* of the file as it was read last, or STR_NONE */
	int64_t offset;    /* where to go on, with state as it was there */
	str state;
	int64_t tail; /* lines that begin before the last so many bytes of the file are passed over; 0: none */
};

/* -EINVAL: not a plain file; -EPERM: somebody else's; -ENOMSG: no transcript of an agent we know; -EFBIG: one JSON
 * document (Gemini) over TRANSCRIPT_LINE_MAX; -errno. err says it in words. A file whose identity has changed, or
 * that is shorter than the offset, is read from its beginning: transcript_was_replaced() tells. */
int transcript_open(const struct transcript_request *q, struct transcript **ret, struct err *err);
void transcript_close(struct transcript *t);
DEFINE_FREEP(struct transcript, transcript_close);

/* 1: an item, valid until the next call; 0: the end for now; -errno: the file can be read no further. */
int transcript_next(struct transcript *t, struct transcript_item *ret);

const char *transcript_agent(const struct transcript *t);
bool transcript_was_replaced(const struct transcript *t);
void transcript_get_counts(const struct transcript *t, struct transcript_counts *ret);
int64_t transcript_size(const struct transcript *t); /* of the file when it was opened */

/* Where everything handed out so far ends: only between lines, so ask again after the next item when offset has
 * not moved. Strings live until the next call on t. identity holds for the file's life (device, inode, and a
 * hash of its beginning). */
struct transcript_position {
	int64_t offset;
	str state, identity;
};

void transcript_position(const struct transcript *t, struct transcript_position *ret);

/* -- find.c ------------------------------------------------------------------------------------ */

/* Calls fn for every file of history of the agent (NULL: of all), newest first; its result other than 0 ends it and is
 * returned. home is absolute; CLAUDE_CONFIG_DIR, CODEX_HOME and the like move an agent's folder as they do for
 * the agent itself. Links are not followed, and depth and number are bounded. */
struct transcript_file {
	const char *agent, *path;
	int64_t bytes, mtime_us;
};

int transcript_find(const char *home, const char *agent, int (*fn)(const struct transcript_file *f, void *arg),
	void *arg);

/* Whether this path is one that transcript_find() could give: for paths that came with an event. */
bool transcript_is_history(const char *home, const char *agent, const char *path);

/* -- text.c ------------------------------------------------------------------------------------ */

/* Without <system-reminder> and the like, trimmed; borrows when nothing was in it. */
str transcript_plain_text(struct arena *a, str text);

/* The last message of the user and of the model, in the last `tail` bytes of the file (enough for an answer; 0: all).
 */
int transcript_last_texts(const char *path, const char *agent, int64_t tail, struct arena *a, str *ret_user,
	str *ret_assistant, struct err *err);

/* How full the context of the session was at its last answer, as the last `tail` bytes of the file say (0: all). */
struct transcript_fill {
	int64_t tokens; /* 0: nothing is known, or it was compacted since */
	int64_t max;    /* as the agent says it; 0: it does not */
	char model[64]; /* "": unknown */
	char last[400]; /* what the model said last, or the beginning of it */
};

int transcript_last_fill(const char *path, const char *agent, int64_t tail, struct transcript_fill *ret,
	struct err *err);

/* -- markdown.c -------------------------------------------------------------------------------- */

/* The whole file as Markdown: prompts, answers, calls with their results (each cut), tokens at the end. -E2BIG: the
 * buf is full; what is there ends at an item. */
int transcript_write_markdown(struct transcript *t, struct buf *b);

#endif
