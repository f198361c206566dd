/* How fast source becomes chunks, and what they are: chunk_bench GRAMMARS FILE... prints a line for each language (files,
 * megabytes, chunks, symbols, MB/s with grammars, MB/s by lines); with -p in front of it also each chunk. Names of files may
 * come from standard input too. GRAMMARS may be "-". */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fs.h"
#include "base/limits.h"
#include "chunk/chunk.h"

struct sums {
	unsigned long files, bytes, chunks, symbols, cut, plain;
	double seconds, seconds_plain;
};

struct row {
	const struct language *language;
	struct sums sums;
};

static struct row rows[256];
static size_t nrows;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sums *sums_of(const struct language *l)
{
	for (size_t i = 0; i < nrows; i++)
		if (rows[i].language == l)
			return &rows[i].sums;
	rows[nrows].language = l;
	return &rows[nrows++].sums;
}

static void show(const char *path, const struct chunks *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct chunk *c = &all->all[i];

		printf("%s:%u-%u %s " STR_FMT "\n", path, c->line, c->line + c->lines - 1, chunk_kind_name(c->kind),
			STR_ARG(c->symbol));
		for (size_t k = 0; k < all->nsymbols; k++)
			if (all->symbols[k].chunk == i)
				printf("    %u " STR_FMT " (%s)\n", all->symbols[k].line, STR_ARG(all->symbols[k].name),
					chunk_kind_name(all->symbols[k].kind));
	}
}

static void measure(struct chunker *c, const char *path, struct arena *a, struct buf *text, bool print)
{
	struct chunks all;
	const struct language *l;
	struct sums *s;
	double began;

	buf_clear(text);
	if (fs_read_file(path, text) < 0)
		return;
	l = language_of(str_of(path), str_head(buf_str(text), 4096));
	s = sums_of(l);
	arena_reset(a);
	began = seconds();
	chunker_read(c, l, buf_str(text), true, a, &all);
	s->seconds_plain += seconds() - began;
	arena_reset(a);
	began = seconds();
	chunker_read(c, l, buf_str(text), false, a, &all);
	s->seconds += seconds() - began;
	s->files++;
	s->bytes += text->len;
	s->chunks += all.n;
	s->symbols += all.nsymbols;
	s->cut += all.cut;
	s->plain += !all.by_grammar;
	if (print)
		show(path, &all);
}

int main(int argc, char **argv)
{
	bool print = argc > 1 && strcmp(argv[1], "-p") == 0;
	struct buf text = BUF_INIT(MIB(256));
	struct chunker *c;
	struct arena a;
	char path[FS_PATH];

	argv += print;
	argc -= print;
	if (argc < 2)
		return 2;
	arena_init(&a);
	c = chunker_new(strcmp(argv[1], "-") == 0 ? NULL : argv[1]);
	for (int i = 2; i < argc; i++)
		measure(c, argv[i], &a, &text, print);
	while (argc == 2 && fgets(path, sizeof path, stdin)) {
		path[strcspn(path, "\n")] = 0;
		measure(c, path, &a, &text, print);
	}
	printf("%-14s %7s %8s %8s %8s %7s %7s %5s %5s\n", "", "files", "MB", "chunks", "symbols", "MB/s", "lines",
		"plain", "cut");
	for (size_t i = 0; i < nrows; i++) {
		const struct sums *s = &rows[i].sums;
		double mb = (double)s->bytes / 1e6;

		printf("%-14s %7lu %8.2f %8lu %8lu %7.1f %7.1f %5lu %5lu\n", language_name(rows[i].language), s->files,
			mb, s->chunks, s->symbols, mb / s->seconds, mb / s->seconds_plain, s->plain, s->cut);
	}
	chunker_free(c);
	arena_release(&a);
	buf_release(&text);
	return 0;
}
