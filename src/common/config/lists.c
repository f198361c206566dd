/* Options that are lists. */
#include "config/config.h"

bool config_lists(const struct config *c, enum option_id id, str name)
{
	str rest = config_text(c, id), item;

	while (str_split(&rest, ' ', &item))
		if (item.n && str_eq(item, name))
			return true;
	return false;
}

/* Where a name ends that begins here. */
static size_t name_end(str path, size_t at)
{
	while (at < path.n && path.p[at] != '/')
		at++;
	return at;
}

/* '*' is part of a name, "**" any number of names; the pattern may end where a name of the path does. A '*' that did
 * not fit takes one more byte, and only the last of its kind is tried again. */
static bool is_within(str pattern, str path)
{
	size_t p = 0, s = 0, star = SIZE_MAX, deep = SIZE_MAX, star_at = 0, deep_at = 0;

	while (p < pattern.n || s < path.n) {
		if (p == pattern.n && path.p[s] == '/')
			return true;
		if (p + 1 < pattern.n && pattern.p[p] == '*' && pattern.p[p + 1] == '*') {
			deep = p += 2;
			deep_at = s;
			star = SIZE_MAX;
		} else if (p < pattern.n && pattern.p[p] == '*') {
			star = ++p;
			star_at = s;
		} else if (p < pattern.n && s < path.n &&
			(pattern.p[p] == path.p[s] || (pattern.p[p] == '?' && path.p[s] != '/'))) {
			p++;
			s++;
		} else if (star != SIZE_MAX && star_at < name_end(path, star_at)) {
			p = star;
			s = ++star_at;
		} else if (deep != SIZE_MAX && deep_at < path.n) {
			p = deep;
			s = ++deep_at;
			star = SIZE_MAX;
		} else {
			return false;
		}
	}
	return true;
}

bool config_excludes_project(const struct config *c, str dir, str home)
{
	str rest = config_text(c, OPTION_EXTRACT_EXCLUDE), pattern;

	while (dir.n > 1 && str_ends(dir, STR("/")))
		dir.n--;
	while (str_split(&rest, ' ', &pattern)) {
		str within = dir;

		while (pattern.n > 1 && str_ends(pattern, STR("/")))
			pattern.n--;
		if (str_empty(pattern) || str_empty(dir))
			continue;
		if (pattern.p[0] == '~' && (pattern.n == 1 || pattern.p[1] == '/')) {
			if (str_empty(home) || !str_starts(dir, home))
				continue;
			pattern = str_from(pattern, 1);
			within = str_from(dir, home.n);
		}
		if (is_within(pattern, within))
			return true;
	}
	return false;
}
