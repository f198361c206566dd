/* Which files a command names. */
#include "hooks/internal.h"

/* What makes the shell do more than split words, and blanks, which are handled before. */
static bool is_special(char c)
{
	return (unsigned char)c < 0x20 || strchr("|&;<>()$`\\\"'*?[]{}#~=!", c);
}

/* $CLAUDE_PROJECT_DIR or ${CLAUDE_PROJECT_DIR} at p: its length, or 0. */
static size_t root_name(str at)
{
	static const char *const forms[] = { "${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR" };

	for (size_t i = 0; i < countof(forms); i++)
		if (str_starts(at, str_of(forms[i]))) {
			size_t n = strlen(forms[i]);

			/* "$CLAUDE_PROJECT_DIRS" is another variable. */
			if (i == 1 && at.n > n &&
				(at.p[n] == '_' || (at.p[n] >= 'A' && at.p[n] <= 'Z') ||
					(at.p[n] >= 'a' && at.p[n] <= 'z') || (at.p[n] >= '0' && at.p[n] <= '9')))
				return 0;
			return n;
		}
	return 0;
}

/* One word from *at on, appended to b. False: more than a word. */
static bool take_word(str text, size_t *at, str root, bool first, struct buf *b)
{
	char quote = 0;

	for (; *at < text.n; ++*at) {
		char c = text.p[*at];
		size_t n;

		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
		} else if (quote != '\'' && (n = root_name(str_from(text, *at)))) {
			/* Without quotes the shell would split what it stands for. */
			if (!quote && str_find_char(root, ' ') >= 0)
				return false;
			buf_add_str(b, root);
			*at += n - 1;
		} else if (quote == '\'') {
			buf_add_char(b, c);
		} else if (quote) {
			if (c == '$' || c == '`' || c == '\\')
				return false;
			buf_add_char(b, c);
		} else if (c == ' ' || c == '\t') {
			break;
		} else if (is_special(c) && (c != '=' || first)) {
			return false; /* NAME=value in front is no word */
		} else {
			buf_add_char(b, c);
		}
	}
	return !quote;
}

bool hook_plain_words(str command, str root, struct arena *a, const str **ret, size_t *ret_n)
{
	str text = str_trim(command), *words = arena_alloc(a, (text.n + 1) * sizeof *words);
	struct buf b = BUF_INIT(1 << 20);
	bool plain = true;
	size_t n = 0, at = 0;

	while (plain && at < text.n) {
		while (at < text.n && (text.p[at] == ' ' || text.p[at] == '\t'))
			at++;
		if (at == text.n)
			break;
		buf_clear(&b);
		plain = take_word(text, &at, root, n == 0, &b);
		words[n++] = arena_str(a, buf_str(&b));
	}
	buf_release(&b);
	*ret = words;
	*ret_n = n;
	return plain && n;
}

/* Takes . and doubled slashes out; leaving the root upwards is leaving it. */
static str normal(str path, struct arena *a)
{
	struct buf b = BUF_INIT(FS_PATH);
	str piece, result;
	bool out = false;

	while (str_split(&path, '/', &piece)) {
		if (str_empty(piece) || str_eq(piece, STR(".")))
			continue;
		out |= str_eq(piece, STR(".."));
		if (b.len)
			buf_add_char(&b, '/');
		buf_add_str(&b, piece);
	}
	result = out || b.full || !b.len ? STR_NONE : arena_str(a, buf_str(&b));
	buf_release(&b);
	return result;
}

str hook_relative(str word, str root, struct arena *a)
{
	if (str_empty(word) || memchr(word.p, 0, word.n))
		return STR_NONE;
	if (word.p[0] != '/')
		return normal(word, a);
	if (!str_starts(word, root) || word.n <= root.n + 1 || (root.n > 1 && word.p[root.n] != '/'))
		return STR_NONE;
	return normal(str_from(word, root.n), a);
}

static void offer(str word, str root, struct arena *a, void (*fn)(str name, void *arg), void *arg)
{
	str name = hook_relative(word, root, a);
	ptrdiff_t eq = str_find_char(word, '=');

	if (str_is_set(name))
		fn(name, arg);
	/* --config=file */
	if (eq > 0 && str_is_set(name = hook_relative(str_from(word, (size_t)eq + 1), root, a)))
		fn(name, arg);
}

/* Everything between characters that end a word for the shell. Names that are assembled while the command runs are
 * not seen; decisions/0009 says what follows from that. */
static void offer_pieces(str text, str root, struct arena *a, void (*fn)(str name, void *arg), void *arg)
{
	size_t begin = 0;

	for (size_t i = 0; i <= text.n; i++) {
		size_t n = i < text.n ? root_name(str_from(text, i)) : 0;

		if (i < text.n && !n && text.p[i] != ' ' && !(is_special(text.p[i]) && text.p[i] != '='))
			continue;
		if (i > begin) {
			str piece = str_n(text.p + begin, i - begin);

			offer(piece, root, a, fn, arg);
			/* After "$CLAUDE_PROJECT_DIR" and its quote: /x is x in the tree. */
			if (piece.p[0] == '/')
				offer(str_from(piece, 1), root, a, fn, arg);
		}
		i += n ? n - 1 : 0;
		begin = i + 1;
	}
}

str hook_expand_root(str word, str root, struct arena *a)
{
	const str form = STR("${CLAUDE_PROJECT_DIR}");
	ptrdiff_t at = str_find(word, form);

	if (at < 0)
		return word;
	return arena_strf(a, STR_FMT STR_FMT STR_FMT, STR_ARG(str_head(word, (size_t)at)), STR_ARG(root),
		STR_ARG(hook_expand_root(str_from(word, (size_t)at + form.n), root, a)));
}

void hook_each_name(const struct hook *h, str root, struct arena *a, void (*fn)(str name, void *arg), void *arg)
{
	const str *words;
	size_t n;

	for (size_t i = 0; i < h->nfiles; i++)
		offer(h->files[i], root, a, fn, arg);
	if (h->exec_form) {
		words = h->args;
		n = h->nargs;
		offer_pieces(h->command, root, a, fn, arg);
		for (size_t i = 0; i < n; i++)
			offer_pieces(words[i], root, a, fn, arg);
		offer(hook_expand_root(h->command, root, a), root, a, fn, arg);
	} else if (!hook_plain_words(h->command, root, a, &words, &n)) {
		offer_pieces(h->command, root, a, fn, arg);
		return;
	}
	for (size_t i = 0; i < n; i++)
		offer(h->exec_form ? hook_expand_root(words[i], root, a) : words[i], root, a, fn, arg);
}
