/* How long a command line takes to parse: shell_bench < RECORDS prints one line for each record,
 * nanoseconds (the best of many), 1 if refused, simple commands. A record is its length (four bytes, little
 * end first) and its bytes, so that any text can be one. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "shell/shell.h"

static double nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void count(const struct shell_node *simple, void *arg)
{
	(void)simple;
	++*(unsigned *)arg;
}

static void measure(struct arena *a, str text)
{
	unsigned commands = 0;
	double best = 1e18;
	int r = 0;

	for (int i = 0; i < (text.n > 10000 ? 5 : 200); i++) {
		struct shell_node *list = NULL;
		struct err err;
		double took, began;

		arena_reset(a);
		began = nanoseconds();
		r = shell_parse(a, text, NULL, &list, NULL, &err);
		took = nanoseconds() - began;
		best = took < best ? took : best;
		if (r == 0 && i == 0)
			shell_each_simple(list, count, &commands);
	}
	printf("%.0f %d %u\n", best, r < 0, commands);
}

int main(void)
{
	unsigned char head[4];
	struct arena a;

	arena_init(&a);
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
		char *text = malloc(n + 1);

		if (!text || fread(text, 1, n, stdin) != n)
			return 1;
		measure(&a, str_n(text, n));
		free(text);
	}
	arena_release(&a);
	return 0;
}
