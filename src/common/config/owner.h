/* owner: proof that a change comes from the person who owns this hookd, and a record of every such change.
 *
 * An agent runs under the user's uid, so the uid proves nothing. What changes what runs (hooks, trust, rules,
 * options) or destroys what was captured needs a person at a terminal, or the owner's token: 64 hexadecimal digits in
 * <state>/owner.token, which the guard lets no agent read. Commands at a terminal read the token themselves and send
 * it along; the daemon compares it.
 *
 * Every change adds a line to <state>/changes.jsonl, whether or not a daemon runs: {at_us, what, detail, by}. `hookd
 * status` shows those that nobody has seen yet. Everything here may block. */
#ifndef HOOKD_CONFIG_OWNER_H
#define HOOKD_CONFIG_OWNER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "config/paths.h"
#include "json/json.h"

enum { OWNER_TOKEN = 64, OWNER_CHANGES_SHOWN = 20 };

/* The token of a state directory, made if there is none. */
int owner_token(const struct paths *p, char ret[OWNER_TOKEN + 1], struct err *err);
/* Likewise for HTTP over TCP. It may stand in the settings of agents, and so is worth less. */
int owner_http_token(const struct paths *p, char ret[OWNER_TOKEN + 1], struct err *err);
/* The token in any file of the user. -EPERM: others could have written or read it; -EBADMSG: no token. */
int owner_token_from(const char *path, char ret[OWNER_TOKEN + 1]);
/* Takes the same time wherever they differ. */
bool owner_token_is(const char token[OWNER_TOKEN + 1], str given);

/* Adds to the record. what: "config set"; detail: what of it; by: "terminal" (a person at one), "token" (who has the
 * owner's), "program" (neither; for what needs neither), "unknown" (a file was found changed). Best effort: a full disk
 * must not keep a person from switching something off. */
void owner_note(const struct paths *p, const char *what, str detail, const char *by);

/* The newest first, at most OWNER_CHANGES_SHOWN: [{at_us, what, detail, by, seen}]. Returns how many are not seen. */
unsigned owner_write_changes(const struct paths *p, struct json_writer *w);
/* A person has been shown what there is now. */
void owner_changes_seen(const struct paths *p);

#endif
