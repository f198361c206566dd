/* redact: the one maker of records.
 *
 * DESIGN. An event holds what the agent sent; a record holds what may be stored. redact() walks the
 * parsed payload, changes decoded strings and writes the result out again; it never works on raw
 * bytes, so escapes cannot hide a secret and the output is always valid JSON in valid UTF-8. Three
 * things happen to every string, in this order:
 *
 *  1. Privacy tags. <private>…</private> and the five other tags of privacy_tags[] lose their
 *     contents; attributes are allowed, letter case does not matter, an unclosed tag takes the rest
 *     of the string. A prompt with nothing but private text is "wholly private": the record keeps no
 *     content, and the caller must mute the session until its next prompt (redact/mute.c keeps a
 *     marker file, so that a daemon that restarts and `hookd offline` know it too).
 *  2. Files that are secrets by name (.env, id_rsa, *.pem, .netrc, …): contents that a tool read or
 *     wrote are stored as name and size; so is the output of a command that reads one, and in the
 *     text of a command that writes one what goes into it.
 *  3. Secrets by form. One pass of an automaton over all literal prefixes says which patterns could
 *     match; only those run. What matches becomes [redacted:<name of the pattern>].
 *
 * Base64 of the commonest forms is looked into. Keys of objects are redacted like values; numbers are under the name of
 * a secret. Patterns are compiled in; none is ever fetched.
 *
 * A redactor belongs to one thread (compiled patterns are made on first use). Cost: about 4 µs a KB
 * for ordinary text. */
#ifndef HOOKD_REDACT_REDACT_H
#define HOOKD_REDACT_REDACT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/macro.h"
#include "event/event.h"

struct redactor;

struct redactor *redactor_new(void);
void redactor_free(struct redactor *r);
DEFINE_FREEP(struct redactor, redactor_free);

enum {
	REDACT_MUTED = 1 << 0, /* the session is muted: keep the kind of the event, no content */
};

struct redact_report {
	unsigned secrets;    /* pieces replaced */
	bool wholly_private; /* a prompt of which nothing is left */
};

/* Makes the record of an event in the arena. Cannot fail: what cannot be understood is kept as text
 * after the same treatment, and what is too large after it is cut. ret_report may be NULL. */
void redact(struct redactor *r, struct arena *a, const struct event *e, unsigned flags, struct record *ret,
	struct redact_report *ret_report);

/* Nothing is left of a prompt once everything between privacy tags is taken out. */
bool redact_leaves_nothing(str prompt);

/* The same treatment for a piece of text that did not come as an event (a log line, an error). */
str redact_text(struct redactor *r, struct arena *a, str text);

/* -- files.c: the one list of files that hold secrets ------------------------------------------- */

enum secret_file_class {
	FILE_HOLDS_SECRETS, /* its contents are not stored */
	FILE_IS_SECRET,     /* and an agent asks before it reads them */
	FILE_IS_KEY,        /* and should have no reason to */
};

/* '*' in a pattern stands for part of a component, "**" for everything that follows. */
struct secret_file {
	str pattern; /* its bytes end with a NUL as well */
	enum secret_file_class class;
};

/* By the last component; by the path from a home directory; by the path from the root. */
extern const struct secret_file secret_files_by_name[], secret_files_in_home[], secret_files_of_system[];
extern const size_t nsecret_files_by_name, nsecret_files_in_home, nsecret_files_of_system;

/* Does the path name one of them? */
bool redact_is_secret_file(str path);

/* -- mute.c: which sessions are muted ---------------------------------------------------------- */

/* A marker file per muted session under run_dir/muted, named by a hash, so that the daemon, the next daemon and
 * `hookd offline` agree without talking. It says from which moment to which; at_us is when an event happened, which
 * may be long before it arrives. Checking costs a failed stat, or nothing while it is known that there are none. */
bool redact_is_muted(const char *run_dir, str agent, str session, int64_t at_us);
void redact_mute(const char *run_dir, str agent, str session, int64_t at_us);
/* Ends it at that moment; nothing happens for a moment before it began. */
void redact_unmute(const char *run_dir, str agent, str session, int64_t at_us);
/* Looks whether there are markers at all. If there are none, the disk is not asked again until this process writes one
 * or redact_mutes_changed() is called: for a process that watches the directory, from when it began to watch. */
void redact_mutes_look(const char *run_dir);
void redact_mutes_changed(void);
/* How many sessions are muted in memory only, because their markers could not be written, and the last reason. */
unsigned redact_mute_trouble(int *ret_error);

/* redact(), plus the one implementation of muting: a wholly private prompt mutes what happens after it, its tools
 * and its summary, until the next prompt or the end of the session. */
void redact_and_mute(struct redactor *r, struct arena *a, const char *run_dir, const struct event *e,
	struct record *ret, struct redact_report *ret_report);

#endif
