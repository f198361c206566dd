/* What .gitignore says. Of the rules of one file the last that matches counts; a file deeper down counts more than one
 * above it. A directory that is ignored is not entered, so nothing in it can be taken back. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/limits.h"
#include "index/internal.h"

enum { RULES_MAX = 20000, STEPS_MAX = 20000 };

struct rule {
	str pattern;
	bool negated, only_directories, anchored;
};

struct ignore {
	const struct ignore *above;
	str base;
	struct rule *rules;
	size_t n;
};

/* -- patterns ---------------------------------------------------------------------------------- */

struct match {
	unsigned steps; /* a pattern of stars must not take forever */
};

/* "[a-z]" at the front of a pattern: whether it has the character; *ret_len: its length, 0 if it is none. */
static bool in_class(str p, char c, size_t *ret_len)
{
	size_t i = 1;
	bool negated = p.n > 1 && (p.p[1] == '!' || p.p[1] == '^'), found = false;

	i += negated;
	for (size_t first = i; i < p.n && (p.p[i] != ']' || i == first); i++) {
		char from = p.p[i];

		if (i + 2 < p.n && p.p[i + 1] == '-' && p.p[i + 2] != ']') {
			found |= (unsigned char)c >= (unsigned char)from &&
				(unsigned char)c <= (unsigned char)p.p[i + 2];
			i += 2;
		} else {
			found |= c == from;
		}
	}
	*ret_len = i < p.n ? i + 1 : 0;
	return found != negated && c != '/';
}

static bool matches(struct match *m, str p, str s);

/* p begins with a star. */
static bool matches_star(struct match *m, str p, str s)
{
	bool deep = p.n > 1 && p.p[1] == '*';
	str rest = str_from(p, deep ? 2 : 1);

	if (deep && rest.n && rest.p[0] == '/') {
		/* Any number of directories, also none. */
		if (matches(m, str_from(rest, 1), s))
			return true;
		for (size_t i = 0; i < s.n; i++)
			if (s.p[i] == '/' && matches(m, str_from(rest, 1), str_from(s, i + 1)))
				return true;
		return false;
	}
	for (size_t i = 0; i <= s.n; i++) {
		if (matches(m, rest, str_from(s, i)))
			return true;
		if (i < s.n && s.p[i] == '/' && !deep)
			return false;
	}
	return false;
}

static bool matches(struct match *m, str p, str s)
{
	size_t len;

	while (p.n && ++m->steps < STEPS_MAX) {
		if (p.p[0] == '*')
			return matches_star(m, p, s);
		if (!s.n)
			return false;
		if (p.p[0] == '[') {
			bool has = in_class(p, s.p[0], &len);

			if (len ? !has : s.p[0] != '[')
				return false;
			p = str_from(p, len ? len : 1);
		} else if (p.p[0] == '?') {
			if (s.p[0] == '/')
				return false;
			p = str_from(p, 1);
		} else {
			if (p.p[0] == '\\' && p.n > 1)
				p = str_from(p, 1);
			if (p.p[0] != s.p[0])
				return false;
			p = str_from(p, 1);
		}
		s = str_from(s, 1);
	}
	return !p.n && !s.n;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Blanks at the end do not count, unless one is written as "\ ". */
static str trim_rule(str line)
{
	while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == '\n'))
		line.n--;
	while (line.n && line.p[line.n - 1] == ' ' && !(line.n > 1 && line.p[line.n - 2] == '\\'))
		line.n--;
	return line;
}

static bool read_rule(str line, struct rule *ret)
{
	*ret = (struct rule){ .pattern = STR_NONE };
	line = trim_rule(line);
	if (!line.n || line.p[0] == '#')
		return false;
	if (line.p[0] == '!') {
		ret->negated = true;
		line = str_from(line, 1);
	}
	if (line.n && line.p[line.n - 1] == '/') {
		ret->only_directories = true;
		line.n--;
	}
	ret->anchored = str_find_char(line, '/') >= 0;
	if (line.n && line.p[0] == '/')
		line = str_from(line, 1);
	ret->pattern = line;
	return line.n > 0;
}

const struct ignore *ignore_parse(struct arena *a, str text, str base, const struct ignore *above)
{
	struct ignore *i = arena_new(a, struct ignore);
	size_t lines = 1;
	str line;

	text = arena_str(a, text);
	for (size_t k = 0; k < text.n; k++)
		lines += text.p[k] == '\n';
	i->above = above;
	i->base = arena_str(a, base);
	i->rules = arena_alloc(a, MIN(lines, (size_t)RULES_MAX) * sizeof *i->rules);
	while (i->n < RULES_MAX && str_split(&text, '\n', &line))
		i->n += read_rule(line, &i->rules[i->n]);
	return i->n ? i : above;
}

const struct ignore *ignore_read(struct arena *a, int dir, const char *name, str base, const struct ignore *above)
{
	_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct buf b = BUF_INIT(MIB(1));
	struct stat st;
	ssize_t n = 1;
	char *room;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)KIB(512))
		return above;
	while (n > 0 && (room = buf_reserve(&b, 4096))) {
		n = read(fd, room, 4096);
		buf_commit(&b, n > 0 ? (size_t)n : 0);
	}
	above = ignore_parse(a, buf_str(&b), base, above);
	buf_release(&b);
	return above;
}

/* -- asking ------------------------------------------------------------------------------------ */

static bool rule_matches(const struct rule *r, str path, bool is_dir)
{
	struct match m = { 0 };

	if (r->only_directories && !is_dir)
		return false;
	if (!r->anchored)
		for (size_t i = path.n; i-- > 0;)
			if (path.p[i] == '/') {
				path = str_from(path, i + 1);
				break;
			}
	return matches(&m, r->pattern, path);
}

bool ignore_has(const struct ignore *i, str path, bool is_dir)
{
	for (; i; i = i->above) {
		str below = i->base.n ? str_from(path, i->base.n + 1) : path;

		for (size_t k = i->n; k-- > 0;)
			if (rule_matches(&i->rules[k], below, is_dir))
				return !i->rules[k].negated;
	}
	return false;
}
