/* story: one session in order, for whatever writes it out. For cli/ only.
 *
 * story.c walks through the answer of `show` (windows, prompts, what was done, answers, plans, numbers) and calls
 * a style for each part; a style knows one way of writing: the terminal, Markdown, HTML. Nothing of what agents and
 * people wrote is trusted: styles add text only through functions that make it harmless there. */
#ifndef HOOKD_CLI_STORY_H
#define HOOKD_CLI_STORY_H

#include <stdio.h>

#include "cli/commands.h"

struct story;

struct story_style {
	void (*begin)(struct story *s); /* of the document, which may hold several sessions */
	void (*header)(struct story *s, const struct json *session);
	void (*window)(struct story *s, const struct json *window);
	void (*prompt)(struct story *s, const struct json *batch);
	/* The list of what was done begins, and ends; with at least one activity in it. */
	void (*activities)(struct story *s, bool begin);
	void (*activity)(struct story *s, const struct json *activity, bool in_subagent);
	void (*response)(struct story *s, const struct json *batch);
	void (*plan)(struct story *s, const struct json *plan);
	void (*files)(struct story *s, const struct json *files);
	void (*numbers)(struct story *s, str line);
	void (*end)(struct story *s);
};

extern const struct story_style story_text, story_markdown, story_html;

struct story {
	struct cli *cli;
	const struct story_style *style;
	FILE *out;
	struct buf b; /* what is to be written next */
	bool colour, full;
	size_t width; /* of the terminal */
	/* Of the current session. */
	const struct json *show, *outside;
	int64_t window; /* the last one that was written */
	int windows;    /* how many so far */
	bool listing;   /* activities have begun */
};

/* One session; 0, or -EIO when it could not be written. */
int story_tell(struct story *s, const struct json *show);
int story_flush(struct story *s);

/* A session as a person wrote it, or by its key when that is not 0. */
struct story_ref {
	str id;
	int64_t key;
};

void story_add_ref(struct json_writer *w, struct story_ref ref);

/* All pages of `show` as one tree; NULL after printing why not. */
struct json *story_fetch(struct cli *cli, struct story_ref session);

/* -- what styles share ------------------------------------------------------------------------- */

struct story_fact {
	const char *label;
	str value;
};

enum { STORY_FACTS = 16 };

/* Who, where, when; returns how many. */
int story_facts(struct story *s, const struct json *session, struct story_fact out[STORY_FACTS]);
str story_title(const struct json *session);
/* "2 · 10:21:07 · plan" */
str story_prompt_label(struct story *s, const struct json *batch);
/* "window 2 · compact · 10:21:07 · opus" */
str story_window_label(struct story *s, const struct json *window);
/* The prompt, or why there is none. */
str story_prompt_text(const struct json *batch);
/* Tool or event, the one thing to know about it, how long it took, and how it ended. */
str story_activity_name(const struct json *activity);
str story_activity_gist(const struct json *activity);
str story_duration(struct story *s, const struct json *activity);
str story_state(const struct json *activity);  /* a word */
str story_symbol(const struct json *activity); /* a sign */
/* "denied by git.push-force: …"; what hookd said about it, or the agent's own error. Empty: nothing to say. */
str story_verdict(struct cli *cli, const struct json *verdict);
str story_complaint(struct story *s, const struct json *activity);
str story_file_notes(struct story *s, const struct json *file);

#endif
