/* paths: where everything lives.
 *
 * HOOKD_DIR, when set, holds everything. Otherwise the XDG directories. A state directory given on the
 * command line (--dir, which `hookd init` writes into every hook line) wins over the environment: an
 * agent's environment can be set by a project, and must not lead hookc to another daemon. Such a
 * directory remembers where its config and data are in a file called `places`.
 *
 * The environment chooses a state directory and nothing else. The user's home, from which settings and rules are read,
 * is the account's. Only `places` can say otherwise ("home=/…"): `hookd init` writes it there when it sets up a new
 * state directory under another HOME, and the guard keeps agents from changing it. */
#ifndef HOOKD_CONFIG_PATHS_H
#define HOOKD_CONFIG_PATHS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/fs.h"

struct paths {
	char home[FS_PATH];           /* the user's, or "" */
	char config[FS_PATH];         /* config.json */
	char data[FS_PATH];           /* directory */
	char store[FS_PATH];          /* data/hookd.db */
	char state[FS_PATH];          /* directory: */
	char journal[FS_PATH];        /*   state/journal */
	char spool[FS_PATH];          /*   state/spool */
	char backups[FS_PATH];        /*   state/backups */
	char index[FS_PATH];          /*   state/index: made from the store, and made again when it is gone */
	char log[FS_PATH];            /*   state/hookd.log */
	char run[FS_PATH];            /*   state/run */
	char lock[FS_PATH];           /*   state/run/hookd.lock, held by the daemon for life */
	char socket[FS_PATH];         /*   state/run/hookd.sock, always */
	char http_token[FS_PATH];     /*   state/http.token: likewise */
	char api_socket[FS_PATH];     /*   state/run/api.sock: HTTP */
	char token[FS_PATH];          /*   state/owner.token: see owner.h */
	char changes[FS_PATH];        /*   state/changes.jsonl: the same */
	char runtime_socket[FS_PATH]; /* $XDG_RUNTIME_DIR/hookd/hookd.sock, or "" */
};

/* Where hookd's own children look for programs unless the user says otherwise: nobody but root can write there. */
#define PATHS_PROGRAMS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* dir: the --dir argument, or NULL. -EINVAL with a text that says what is missing (HOME); ret->home is set even
 * then. */
int paths_find(const char *dir, struct paths *ret, struct err *err);

/* A file that was installed with the program, or lies in the source beside the folder it was built in; where it would
 * be when there is none. Empty: nobody knows. */
void paths_installed(const char *name, char ret[FS_PATH]);

/* Nobody has used this state directory yet. */
bool paths_are_new(const struct paths *p);

/* Makes the directories, private, and writes `places`. */
int paths_make(const struct paths *p, struct err *err);
/* Only what the spool needs, for when something else is in the way of a daemon. */
int paths_make_spool(const struct paths *p, struct err *err);

/* Deletes temporary files that killed processes left, if they were not touched for this long. */
void paths_sweep(const struct paths *p, int age_s);

#endif
