/* Code that fits a prompt: what a colleague would have pasted. It is read from the file as it is now, so that nobody is
 * given what is not there any more, and no more of it than one screen. */
#include <ctype.h>

#include "base/sha256.h"
#include "context/internal.h"
#include "project/project.h"

enum { CANDIDATES = RATED_MAX, CODE_LINES = 50, ROOT_MS = 10 };

static const float high = 0.75F;

/* -- which repository -------------------------------------------------------------------------- */

/* The checkout that the session works in, which may be a worktree. */
static const char *root_of(struct moment *m)
{
	struct project p;

	if (!m->context->code || !config_number(m->context->config, OPTION_CONTEXT_CODE) || str_empty(m->ask->cwd))
		return NULL;
	if (project_find_within(arena_cstr(m->arena, m->ask->cwd), m->context->home, ROOT_MS, &p) < 0 || !p.found)
		return NULL;
	return arena_cstr(m->arena, str_of(p.root));
}

bool pieces_may_come(struct moment *m)
{
	return root_of(m) != NULL;
}

int64_t pieces_count(struct moment *m)
{
	const char *root = root_of(m);
	struct code_status status;

	return root && code_status(m->context->code, root, &status) == 0 && status.exists ? (int64_t)status.chunks : 0;
}

/* -- one piece --------------------------------------------------------------------------------- */

/* A piece has no name of its own that lasts: it is known by where it is. What was given once is not given again when
 * the lines above it have moved, so a symbol counts for more than a line. */
static struct ulid name_piece(const char *root, const struct code_hit *hit)
{
	uint8_t digest[SHA256_BYTES];
	struct sha256 h;
	struct ulid name;

	sha256_init(&h);
	sha256_add(&h, root, strlen(root) + 1);
	sha256_add(&h, hit->path.p, hit->path.n);
	sha256_add(&h, "", 1);
	if (str_empty(hit->symbol))
		sha256_add(&h, &hit->line, sizeof hit->line);
	else
		sha256_add(&h, hit->symbol.p, hit->symbol.n);
	sha256_end(&h, digest);
	memcpy(name.b, digest, sizeof name.b);
	name.b[0] &= 0x7F; /* the first digit of a ULID has three bits */
	return name;
}

int64_t piece_key(const struct ulid *name)
{
	int64_t key = 0;

	for (int i = 0; i < 7; i++)
		key = key << 8 | name->b[i];
	return -1 - key;
}

/* A fence that the code cannot close. */
static str fence_for(struct moment *m, str code)
{
	size_t longest = 2, run = 0;

	for (size_t i = 0; i < code.n; i++) {
		run = code.p[i] == '`' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest < 64 ? arena_strf(m->arena, "%.*s", (int)longest + 1,
				      "`````````````````````````````````````````````````````````````````")
			    : STR_NONE;
}

/* Whether a text speaks of the frame, in whatever spelling: it could leave it. */
static bool names_frame(str text)
{
	static const char name[] = "hookdcontext";
	size_t at = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = (char)tolower((unsigned char)text.p[i]);

		if (c < 'a' || c > 'z')
			continue;
		at = c == name[at] ? at + 1 : c == name[0];
		if (!name[at])
			return true;
	}
	return false;
}

/* The text as the model gets it, or STR_NONE: this piece cannot be framed. */
static str write_piece(struct moment *m, const struct code_hit *hit, str code)
{
	str fence = fence_for(m, code), name = STR("");

	if (!str_is_set(fence) || names_frame(code))
		return STR_NONE;
	while (code.n && (code.p[code.n - 1] == '\n' || code.p[code.n - 1] == '\r'))
		code.n--;
	if (!str_empty(hit->symbol))
		name = arena_strf(m->arena, " - `" STR_FMT "`", STR_ARG(block_plain(m, hit->symbol)));
	return arena_strf(m->arena, "**" STR_FMT "** (L%u-%u)" STR_FMT "\n" STR_FMT "%s\n" STR_FMT "\n" STR_FMT,
		STR_ARG(block_plain(m, hit->path)), hit->line, hit->line + MIN(hit->lines, (unsigned)CODE_LINES) - 1,
		STR_ARG(name), STR_ARG(fence), language_fence(hit->language), STR_ARG(code), STR_ARG(fence));
}

static void add_piece(struct moment *m, const char *root, const struct code_hit *hit, bool first)
{
	struct ulid name = name_piece(root, hit);
	str code, text, heading = first ? STR("\n**Relevant code:**\n") : STR("");

	if (m->reply->n == CONTEXT_ITEMS || block_was_given(m, piece_key(&name)) ||
		code_read(m->context->code, root, hit, CODE_LINES, m->arena, &code) < 0)
		return;
	text = write_piece(m, hit, code);
	if (!str_is_set(text) || heading.n + text.n + 2 > m->room)
		return;
	if (first)
		block_add_line(m, heading);
	block_add_line(m, text);
	m->reply->items[m->reply->n++] = (struct context_item){ .key = piece_key(&name),
		.uid = name,
		.score = hit->score,
		.confidence = hit->confidence,
		.tokens = context_tokens(text.n + 1),
		.place = arena_strf(m->arena, STR_FMT ":%u-%u", STR_ARG(hit->path), hit->line,
			hit->line + hit->lines - 1) };
}

int recall_pieces(struct moment *m, str query)
{
	size_t max = (size_t)config_number(m->context->config, OPTION_CONTEXT_CODE);
	const char *root = root_of(m);
	struct code_hit hits[CANDIDATES];
	size_t before = m->reply->n;
	int n;

	if (!root || !max)
		return 0;
	n = code_search(m->context->code, root, query, m->arena, hits, CANDIDATES, NULL);
	for (int i = 0; i < n && m->reply->n - before < max; i++)
		if (hits[i].confidence >= high)
			add_piece(m, root, &hits[i], m->reply->n == before);
	return 0; /* an index that cannot be read costs nothing but what it would have given */
}
