/* config: the options, as one table.
 *
 * A row of options[] defines an option completely: name, type, default (as text), limits, description. The same rows
 * are used to read the file, check it, print `hookd config`, and generate the JSON Schema. The file is JSON with
 * comments; names are paths ("log.level" is {"log": {"level": …}}).
 *
 * Layers, the later one wins: default, user file. (Project layers come with trust.) Each value
 * remembers where it came from, for `config show --origin`.
 *
 * A broken file never stops hookd: the daemon starts with what it understands and reports the rest; `config validate`
 * names file, line and column. */
#ifndef HOOKD_CONFIG_CONFIG_H
#define HOOKD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macro.h"
#include "base/str.h"
#include "config/paths.h"

/* A LIST is a list of names; as text they are separated by blanks. */
enum option_type { OPTION_BOOL, OPTION_INT, OPTION_ENUM, OPTION_TEXT, OPTION_LIST };

enum option_id {
	OPTION_CONTEXT_ENABLED,
	OPTION_CONTEXT_ENCODER,
	OPTION_CONTEXT_MEMORIES,
	OPTION_CONTEXT_CODE,
	OPTION_CONTEXT_TOKENS,
	OPTION_DURABILITY,
	OPTION_EXTRACT_EXCLUDE,
	OPTION_EXTRACT_MODEL,
	OPTION_EXTRACT_SKIP,
	OPTION_FLEET_TMUX,
	OPTION_GUARD_DISABLE,
	OPTION_GUARD_MODE,
	OPTION_GUARD_OBSERVE,
	OPTION_HOOKS_PATH,
	OPTION_HTTP_ENABLED,
	OPTION_HTTP_PORT,
	OPTION_INDEX_ENABLED,
	OPTION_INDEX_EXCLUDE,
	OPTION_INDEX_MAX_FILES,
	OPTION_LLM_BUDGET,
	OPTION_LLM_CONTEXT,
	OPTION_LLM_KEY_FILE,
	OPTION_LLM_MAX_TOKENS,
	OPTION_LLM_MODEL,
	OPTION_LLM_PROVIDER,
	OPTION_LLM_TIMEOUT_S,
	OPTION_LLM_URL,
	OPTION_LOG_LEVEL,
	OPTION_LOG_MAX_MB,
	OPTION_MEMORY_MUTE_AFTER,
	OPTION_MEMORY_SIMILAR,
	OPTION_MEMORY_TYPES,
	OPTION_OUTBOX_MAX,
	OPTION_REMIND,
	OPTION_RETENTION_DAYS,
	OPTION_STORE_LINGER_MS,
	OPTION_STORE_MAX_MB,
	OPTION_ID_MAX,
};

struct option {
	const char *name;
	enum option_type type;
	const char *fallback;                     /* the default, as text */
	int64_t minimum, maximum;                 /* OPTION_INT */
	const char *const *choices;               /* OPTION_ENUM; ends with NULL */
	int (*check)(str value, struct err *err); /* OPTION_TEXT; may be NULL */
	const char *text;                         /* a sentence: schema, help, reference */
};

extern const struct option options[OPTION_ID_MAX];

enum config_origin { ORIGIN_DEFAULT, ORIGIN_USER, ORIGIN_MAX };
extern const char *const config_origin_names[ORIGIN_MAX];

struct config_value {
	char *text;     /* as written, checked */
	int64_t number; /* int, bool, index of the choice */
	enum config_origin origin;
	unsigned line; /* in the file */
};

struct config {
	struct config_value values[OPTION_ID_MAX];
};

/* One problem with the file: what is wrong and where. */
struct config_problem {
	struct config_problem *next;
	struct err err;
};

/* Reads the user's file. Always gives a usable config; problems (in order, owned by the caller, config_problems_free)
 * say what was ignored. A missing file is not a problem. */
void config_load(const char *path, struct config *ret, struct config_problem **ret_problems);
/* The same for a text that is already in memory: what config_load does after reading. */
void config_parse(str text, struct config *ret, struct config_problem **ret_problems);
void config_release(struct config *c);
void config_problems_free(struct config_problem *p);

static inline int64_t config_number(const struct config *c, enum option_id id)
{
	return c->values[id].number;
}

static inline str config_text(const struct config *c, enum option_id id)
{
	return str_of(c->values[id].text);
}

/* Whether an OPTION_LIST holds this name. */
bool config_lists(const struct config *c, enum option_id id, str name);
/* Whether a directory is, or lies below, one that a pattern of extract.exclude_projects names. */
bool config_excludes_project(const struct config *c, str dir, str home);

/* By name, compared like event names. If there is none: NULL, and err has a suggestion. */
const struct option *config_find(str name, struct err *err);
/* Checks one value; the error names the option, the value and what would be valid. */
int config_check(const struct option *o, str value, struct config_value *ret, struct err *err);

/* Changes one option in the user's file, keeping comments and formatting of everything else; a missing file is
 * created. The value is checked first. */
int config_set(const char *path, const struct option *o, str value, struct err *err);
/* Replaces the text of the user's file, or creates it; a link stays a link. -errno with err. */
int config_write(const char *path, str text, struct err *err);
/* The text that config_set would write, appended to ret; touches no file. -EBADMSG: the text is not
 * JSON, err names line and column. */
int config_edit(str text, const struct option *o, str value, struct buf *ret, struct err *err);

/* The JSON Schema of the file. */
void config_write_schema(struct buf *b);

#endif
