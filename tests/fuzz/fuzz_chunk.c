/* Any bytes as a source. The first byte picks the language and whether its grammar is used; GRAMMARS names the folder of
 * grammars. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "chunk/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_blank_between(const char *p, const char *end)
{
	return line_is_blank(str_n(p, (size_t)(end - p)));
}

static void check(str text, const struct chunks *all)
{
	const char *at = text.p;
	unsigned line = 1;

	for (size_t i = 0; i < all->n; i++) {
		const struct chunk *c = &all->all[i];

		require(c->text.n > 0 && c->text.n <= CHUNK_BYTES_MAX && c->lines > 0 && c->lines <= CHUNK_LINES_MAX);
		require(c->line >= line && c->text.p >= at && c->text.p + c->text.n <= text.p + text.n);
		require(c->symbol.n <= CHUNK_SYMBOL_BYTES);
		require(all->cut || is_blank_between(at, c->text.p));
		line = c->line + c->lines;
		at = c->text.p + c->text.n;
	}
	require(all->cut || is_blank_between(at, text.p + text.n));
	for (size_t i = 0; i < all->nsymbols; i++) {
		const struct chunk_symbol *s = &all->symbols[i];
		const struct chunk *c = &all->all[s->chunk];

		require(s->chunk < all->n && s->name.n > 0);
		require(s->line >= c->line && s->line < c->line + c->lines);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct chunker *c;
	const struct language *l;
	struct chunks all;
	struct arena a;
	str text;

	if (!c)
		c = chunker_new(getenv("GRAMMARS"));
	if (!size)
		return 0;
	l = &languages[data[0] % nlanguages];
	text = str_n((const char *)data + 1, size - 1);
	arena_init(&a);
	chunker_read(c, l, text, data[0] >= 0xE0, &a, &all);
	check(text, &all);
	/* Its first line may also be a name, or a script's. */
	require(language_of(str_head(text, 64), text) != NULL);
	file_class_of(str_head(text, 64), l);
	arena_release(&a);
	return 0;
}
