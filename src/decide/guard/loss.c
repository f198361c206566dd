/* loss: what a person made and no build makes again. Deleting one file is everyday work in a project, which has its
 * history; in the places where people keep letters and pictures there is none, and a file that is overwritten, moved to
 * where things are thrown away or packed with removal is as lost as a deleted one. */
#include <errno.h>

#include "guard/internal.h"

static const char personal_dirs[] =
	"Documents Desktop Pictures Photos Music Videos Movies Notes notes Dropbox OneDrive "
	"Nextcloud Bilder Dokumente Images";

static const char document_patterns[] =
	"*.doc *.docx *.odt *.xls *.xlsx *.ods *.ppt *.pptx *.pdf *.tex *.rtf *.pages *.numbers *.key *.jpg *.jpeg "
	"*.png "
	"*.heic *.raw *.psd *.mp4 *.mov *.kdbx *.csv *.zip *.7z *.tar *.tar.gz *.tgz *.epub *.mp3 *.flac *.wav *.svg";

static const char settings_patterns[] = "*.json *.jsonc *.yaml *.yml *.toml *.conf *.cfg *.ini *.xml *.plist *rc";

/* In a place where people keep what they made, outside of the project. ret_whole: all of such a place. */
bool is_personal(struct run *x, str path, bool *ret_whole)
{
	str root = x->c->root.n ? x->c->root : x->c->cwd, rest, part;

	*ret_whole = false;
	if (is_inside(x, path) || x->remote || x->c->home.n < 2 || !path_below(path, x->c->home) ||
		(root.n && path_below(path, root)) || path.n < x->c->home.n + 2)
		return false;
	rest = str_from(path, x->c->home.n + 1);
	/* Whatever walks through a home goes through these too: find names what it finds ~/anything/… */
	if (!str_split(&rest, '/', &part) || !(str_in(part, personal_dirs) || (str_eq(part, STR("\2")) && rest.n)))
		return false;
	*ret_whole = !rest.n;
	return true;
}

/* Several files at once, by a pattern or whatever lists them. */
static bool is_many(str path)
{
	return has_mark(str_base(path), "\2\3") || has_mark(path, MARKS_HOLE);
}

/* What deleting one file, or those that fit a pattern, means in a home outside of projects. */
enum verdict_action loss_of_files(struct run *x, str path)
{
	bool whole, many = is_many(path), listed = has_mark(str_base(path), "\2\3");
	size_t home = x->c->home.n;

	if (is_personal(x, path, &whole))
		return listed || whole ? VERDICT_DENY : VERDICT_ASK;
	/* ~/.cache/x*: what begins with a dot belongs to a program. */
	return many && path_below(path, x->c->home) && home + 1 < path.n && path.p[home + 1] != '.' ? VERDICT_ASK
												    : VERDICT_NONE;
}

/* A file is changed as a whole: emptied, written anew, edited in place. What the command made itself is no loss. */
static bool is_lost(struct run *x, str path, str content)
{
	bool whole;

	if (!x->depth || !is_personal(x, path, &whole) || whole || fact_find(x, x->fs, FACT_FILE, path))
		return false; /* no text of a shell: an agent's own tool, which shows the person what it changes */
	switch (path_presence(x, path)) {
	case PRESENCE_THERE: return true;
	case PRESENCE_UNKNOWN: return !x->adds && (!content.n || glob_any(str_base(path), document_patterns));
	default: return false;
	}
}

void judge_overwriting(struct run *x, const struct cmd *c, str path, str content)
{
	enum place place;

	if (!content.n && is_many(path) && ((place = place_of(x, path)) == PLACE_IN_PROJECT || place == PLACE_PROJECT))
		FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK, "this would empty many files of the project: " STR_FMT,
			STR_ARG(path));
	if (x->depth && !content.n && !is_many(path) && place_of(x, path) == PLACE_IN_HOME &&
		glob_any(str_base(path), settings_patterns) && path_presence(x, path) != PRESENCE_NOT &&
		!fact_find(x, x->fs, FACT_FILE, path))
		FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK, "this would empty settings of the user's: " STR_FMT,
			STR_ARG(path));
	if (is_lost(x, path, content))
		FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK,
			"this would overwrite something of the user's that may have no copy: " STR_FMT, STR_ARG(path));
}

/* Files of other projects or programs, by a pattern. */
static bool is_many_of_others(struct run *x, str path)
{
	return x->depth && has_mark(path, "\2\3") && place_of(x, path) == PLACE_IN_HOME;
}

void judge_edit(struct run *x, const struct cmd *c, str word)
{
	bool whole;
	str path = path_resolve(x, word);
	bool own = fact_find(x, x->fs, FACT_FILE, path) != NULL;

	judge_write(x, c, word, STR("\1"), true);
	if (!own && (is_personal(x, path, &whole) || is_many_of_others(x, path)))
		FAULT(x, c, RULE_TRUNCATE, VERDICT_ASK,
			"this would change something of the user's that may have no copy: " STR_FMT, STR_ARG(path));
}

/* To where things are thrown away. */
void judge_moving(struct run *x, const struct cmd *c, str source, str target)
{
	bool whole;
	enum place to = place_of(x, target), from = place_of(x, source);

	if (guarded_of(x, source) == GUARDED_STARTUP || guarded_of(x, source) == GUARDED_AUTH)
		FAULT(x, c, RULE_MV, VERDICT_ASK, "this would move away what programs look for at its place: " STR_FMT,
			STR_ARG(source));
	if (to != PLACE_TEMP && !str_in(target, "/tmp /var/tmp"))
		return;
	if (is_personal(x, source, &whole))
		FAULT(x, c, RULE_MV, whole || is_many(source) ? VERDICT_DENY : VERDICT_ASK,
			"this would move something of the user's to where it will be deleted: " STR_FMT,
			STR_ARG(source));
	else if (from == PLACE_IN_PROJECT && !is_file_name(source))
		FAULT(x, c, RULE_MV, VERDICT_ASK,
			"this would move a part of the project to where it will be deleted: " STR_FMT, STR_ARG(source));
}
