/* How long decisions take: guard_bench FILE… of commands, one a line ("deny class command" rows
 * too). Prints the median and the worst in microseconds of CPU, then the worst of a set of patterns
 * made to search for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "guard/guard.h"

enum { COMMANDS_MAX = 100000, ROUNDS = 5 };

static const struct guard_context here = { .cwd = { "/home/dev/proj", 14 }, .home = { "/home/dev", 9 } };

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The best of a few rounds: what the work costs, not what the machine did meanwhile. */
static double cost_of(const struct guard_policy *p, struct arena *a, str command)
{
	double best = 1e12;

	for (int i = 0; i < ROUNDS; i++) {
		struct guard_report r = { 0 };
		double from = now_us(), took;

		(void)guard_command(p, &here, command, a, &r);
		took = now_us() - from;
		best = took < best ? took : best;
		arena_reset(a);
	}
	return best;
}

static str command_of(char *line)
{
	str s = str_n(line, strcspn(line, "\n"));

	for (int i = 0; i < 2 && (str_starts(s, STR("deny ")) || str_starts(s, STR("ask ")) || i == 1); i++)
		(void)str_split(&s, ' ', &(str){ 0 });
	return s;
}

static void measure_files(int argc, char **argv, struct arena *a)
{
	double *costs = xcalloc(COMMANDS_MAX, sizeof(double)), worst = 0;
	static char line[1 << 20], slowest[200];
	size_t n = 0;

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "r");

		while (f && n < COMMANDS_MAX && fgets(line, sizeof(line), f)) {
			str s = command_of(line);

			if (!s.n || s.p[0] == '#')
				continue;
			costs[n] = cost_of(NULL, a, s);
			if (costs[n] > worst) {
				worst = costs[n];
				snprintf(slowest, sizeof(slowest), "%.*s", (int)(s.n < 150 ? s.n : 150), s.p);
			}
			n++;
		}
		if (f)
			fclose(f);
	}
	if (n) {
		qsort(costs, n, sizeof(double), by_size);
		printf("%zu commands: median %.1f us, p99 %.1f us, worst %.1f us (%s)\n", n, costs[n / 2],
			costs[n * 99 / 100], costs[n - 1], slowest);
	}
	free(costs);
}

/* Patterns that backtrack without end, on subjects that almost match. */
static void measure_probes(struct arena *a)
{
	static const char *const patterns[] = { "^(a+)+$", "(a|aa)+$", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$",
		"(a|a?)+$", "([a-zA-Z]+)*$", "^(a|b|ab)*c$", "(x+x+)+y", "(.*)*=.*", "^(?:a?){30}a{30}$" };
	static const char letters[] = "axbyz";
	double worst = 0;

	for (size_t i = 0; i < 500; i++) {
		char config[400], command[300] = "echo ";
		struct guard_problem *problems;
		struct guard_policy *p;
		double took;

		snprintf(config, sizeof(config),
			"{\"guard\":{\"rules\":[{\"name\":\"r\",\"decision\":\"deny\",\"regex\":\"%"
			"s\"}]}}",
			patterns[i % (sizeof(patterns) / sizeof(patterns[0]))]);
		memset(command + 5, letters[i / 10 % 5], 30 + i / 2);
		command[35 + i / 2] = '!';
		p = guard_policy_parse(str_of(config), &problems);
		took = cost_of(p, a, str_of(command));
		worst = took > worst ? took : worst;
		guard_problems_free(problems);
		guard_policy_unref(p);
	}
	printf("500 patterns made to search for ever: worst %.1f us\n", worst);
}

int main(int argc, char **argv)
{
	struct arena a;

	arena_init(&a);
	measure_files(argc, argv, &a);
	measure_probes(&a);
	arena_release(&a);
	return 0;
}
