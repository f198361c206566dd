/* path: file names as text: made absolute, without . and .., links of the same command followed. */
#include <errno.h>

#include "guard/internal.h"

/* The system takes no longer path; a word that is longer names nothing. */
enum { LINKS_MAX = 32, PATH_BYTES = 4096 };

bool path_below(str path, str dir)
{
	if (!dir.n)
		return false;
	if (str_eq(dir, STR("/")))
		return path.n && path.p[0] == '/';
	return str_starts(path, dir) && (path.n == dir.n || path.p[dir.n] == '/');
}

bool path_is_dynamic(str path)
{
	return !path.n || path.p[0] != '/';
}

/* Appends the parts of s to t, taking . and .. away. */
static void add_parts(struct text *t, str s, size_t floor)
{
	str part;

	while (str_split(&s, '/', &part)) {
		if (!part.n || str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR(".."))) {
			while (t->n > floor && t->p[t->n - 1] != '/')
				t->n--;
			if (t->n > floor)
				t->n--;
			continue;
		}
		if (t->n || !floor)
			text_char(t, '/');
		text_add(t, part);
	}
}

/* A link that the command made itself on the way to path, longest first. */
static const struct fact *link_on(struct run *x, str path)
{
	const struct fact *best = NULL;
	unsigned walked = 0;

	for (const struct fact *f = x->fs; f; f = f->next, walked++)
		if (f->kind == FACT_LINK && path_below(path, f->key) && (!best || f->key.n > best->key.n))
			best = f;
	(void)spend(x, walked);
	return best;
}

/* What the system itself put there and only root could change; commands redirect to it all the time. */
static const char plain_devices[] = "/dev/null /dev/zero /dev/tty /dev/stdin /dev/stdout /dev/stderr";

/* Follows links on disk. The longest front that exists; marks and what is new stay as text behind it. */
static str real(struct run *x, str path)
{
	const struct guard_context *c = x->c;
	size_t n = path.n;
	str found;

	if (!c->real_path || x->remote || x->contained || str_in(path, plain_devices) ||
		path_below(path, STR("/dev/fd")) || path_below(path, STR("/proc/self"))) /* not ours: the command's */
		return path;
	while (n > 1) {
		int r = has_mark(str_head(path, n), MARKS_ANY)
			? -ENOENT
			: c->real_path(c->real_path_arg, x->a, str_head(path, n), &found);

		if (r == 0)
			return n == path.n
				? found
				: arena_strf(x->a, STR_FMT STR_FMT, STR_ARG(found), STR_ARG(str_from(path, n)));
		if (r == -EAGAIN)
			x->wants_disk = x->spent = true; /* no step of this reading will count */
		else if (r == -EDQUOT)
			reach_cap(x, "paths");
		else if (r == -ETIMEDOUT)
			x->blind = true;
		if (r != -ENOENT)
			return path;
		while (n > 1 && path.p[n - 1] != '/')
			n--;
		n--;
	}
	return path;
}

static int look_up(struct run *x, str path)
{
	str found;
	int r = x->c->real_path(x->c->real_path_arg, x->a, path, &found);

	if (r == -EAGAIN)
		x->wants_disk = x->spent = true;
	return r;
}

enum presence path_presence(struct run *x, str path)
{
	int r;

	if (!x->c->real_path || x->remote || x->contained || path_is_dynamic(path) || has_mark(path, MARKS_ANY))
		return PRESENCE_UNKNOWN;
	r = look_up(x, path);
	if (r == 0)
		return PRESENCE_THERE;
	return r == -ENOENT && look_up(x, str_head(path, path.n - str_base(path).n - 1)) == 0 ? PRESENCE_NOT
											      : PRESENCE_UNKNOWN;
}

str path_join(struct run *x, str dir, str word)
{
	struct text t = { .a = x->a };

	if (word.n && word.p[0] == '/') {
		add_parts(&t, word, 0);
	} else if (word.n && has_mark(str_head(word, 1), MARKS_HOLE)) {
		/* Unknown from its front on: only what follows can be said. */
		size_t n = 1;

		while (n < word.n && word.p[n] != '/')
			n++;
		text_add(&t, str_head(word, n));
		add_parts(&t, str_from(word, n), n);
	} else {
		if (dir.n && dir.p[0] != '/') {
			text_char(&t, MARK_UNKNOWN);
			add_parts(&t, word, 1);
			return text_str(&t);
		}
		add_parts(&t, dir, 0);
		add_parts(&t, word, 0);
	}
	return t.n ? text_str(&t) : STR("/");
}

/* Takes the first part of a path in /proc off: self, thread-self, or a number. */
static bool take_process(str *rest)
{
	ptrdiff_t end = str_find_char(*rest, '/');
	str part = end < 0 ? *rest : str_head(*rest, (size_t)end);
	bool number = part.n > 0;

	for (size_t i = 0; i < part.n; i++)
		number = number && part.p[i] >= '0' && part.p[i] <= '9';
	if (end < 0 || (!number && !str_eq(part, STR("self")) && !str_eq(part, STR("thread-self"))))
		return false;
	*rest = str_from(*rest, (size_t)end + 1);
	return true;
}

/* /proc/self/root is the root again, whoever's it is called. */
static str without_proc_root(str path)
{
	static const str proc = { "/proc/", 6 }, task = { "task/", 5 }, root = { "root", 4 };

	while (str_starts(path, proc)) {
		str rest = str_from(path, proc.n);

		if (!take_process(&rest))
			return path;
		if (str_starts(rest, task)) {
			rest = str_from(rest, task.n);
			if (!take_process(&rest))
				return path;
		}
		if (!str_starts(rest, root) || (rest.n > root.n && rest.p[root.n] != '/'))
			return path;
		path = rest.n > root.n ? str_from(rest, root.n) : STR("/");
	}
	return path;
}

bool is_inside(struct run *x, str path)
{
	bool host = !x->contained;

	for (const struct mount *m = x->mounts; m && !host; m = m->next)
		host = path_below(path, m->source);
	return !host;
}

/* A path in a container is one of the host where that was mounted. */
static str on_host(struct run *x, str path)
{
	for (const struct mount *m = x->mounts; m && x->contained; m = m->next)
		if (path_below(path, m->target))
			return path_join(x, m->source, str_from(path, MIN(m->target.n + 1, path.n)));
	return path;
}

str path_resolve(struct run *x, str word)
{
	str path;

	if (word.n > PATH_BYTES)
		return STR("\1");
	if (word.n && word.p[0] == '~' && (word.n == 1 || word.p[1] == '/')) /* a program may expand it itself */
		word = arena_strf(x->a, STR_FMT STR_FMT, STR_ARG(x->c->home), STR_ARG(str_from(word, 1)));
	path = without_proc_root(path_join(x, x->st.cwd, word));
	for (int i = 0; x->fs; i++) {
		const struct fact *f = link_on(x, path);

		if (!f || str_eq(f->value, path) || x->spent)
			break;
		if (i == LINKS_MAX) {
			reach_cap(x, "links that lead to links");
			return STR("\1");
		}
		path = path_join(x, f->value, str_from(path, MIN(f->key.n + 1, path.n)));
	}
	(void)spend(x, 4 + (unsigned)(path.n / 16));
	if (path.n > PATH_BYTES)
		return STR("\1");
	if (x->mounts)
		path = on_host(x, path);
	return path_is_dynamic(path) ? path : real(x, path);
}

/* -- patterns on both sides ------------------------------------------------------------------- */

/* Whether some text fits both a pattern and a part of a path with live patterns in it. */
static bool meet(str pat, str s, unsigned depth)
{
	while (depth < 64) {
		if (!pat.n && !s.n)
			return true;
		if (pat.n && pat.p[0] == '*') {
			for (size_t k = 0; k <= s.n; k++)
				if (meet(str_from(pat, 1), str_from(s, k), depth + 1))
					return true;
			return false;
		}
		if (s.n && s.p[0] == MARK_STAR) {
			for (size_t k = 0; k <= pat.n; k++)
				if (meet(str_from(pat, k), str_from(s, 1), depth + 8))
					return true;
			return false;
		}
		if (!pat.n || !s.n || (pat.p[0] != s.p[0] && pat.p[0] != '?' && s.p[0] != MARK_ANY))
			return false;
		pat = str_from(pat, 1);
		s = str_from(s, 1);
	}
	return true;
}

static bool part_like(str pat, str part)
{
	size_t plain = 0;

	if (!has_mark(part, "\2\3"))
		return glob_match(pat, part);
	if (part.n > 48)
		return true;
	/* A pattern does not match a leading dot by itself, and one of nothing but wildcards says
	 * nothing. */
	for (size_t i = 0; i < part.n; i++)
		plain += (unsigned char)part.p[i] >= ' ';
	if (pat.n && pat.p[0] == '.' && part.p[0] != '.')
		return part.p[0] == MARK_ANY && plain >= 2 && meet(pat, part, 0);
	return (plain >= 2 || str_eq(pat, STR("*"))) && meet(pat, part, 0);
}

bool path_like(const char *pattern, str path)
{
	return path_matches(str_of(pattern), path);
}

bool path_matches(str pats, str path)
{
	str pat, part;

	while (str_split(&pats, '/', &pat)) {
		if (str_eq(pat, STR("**")))
			return true;
		if (!str_split(&path, '/', &part) || !part_like(pat, part))
			return false;
	}
	return !path.n;
}
