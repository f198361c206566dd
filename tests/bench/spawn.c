/* spawn: what it costs to start a command, give it stdin and have its answer, as an agent does.
 *
 *     spawn [-n RUNS] [-w WARMUPS] [-t SECONDS] [-i FILE] -- LABEL CMD ARG… [-- LABEL CMD ARG…]…
 *
 * The commands take turns, so that a machine that gets busier in the middle slows them alike and
 * their ratio stays true; each round starts with another one, so that none always inherits the
 * caches of the same predecessor. -t bounds the time spent on each command.
 *
 * Wall time is from just before the spawn until stdout and stderr ended and the process was waited
 * for. CPU time is that of the child and of what it waited for. Prints one JSON object. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { COMMANDS_MAX = 16 };

struct command {
	const char *label;
	char **argv;
	double *wall, *cpu; /* microseconds */
	int runs;
	int failed;    /* exits other than 0 */
	size_t output; /* bytes of the last run */
	double spent;
};

extern char **environ;

static struct command commands[COMMANDS_MAX];
static int ncommands;
static char *input;
static size_t input_size;

static void die(const char *what)
{
	fprintf(stderr, "spawn: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void read_input(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	input_size = (size_t)st.st_size;
	input = malloc(input_size + 1);
	if (!input || read(fd, input, input_size) != (ssize_t)input_size)
		die(path);
	close(fd);
}

static double timeval_us(struct timeval t)
{
	return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

/* One run. False when the command cannot be started at all. */
static bool run(struct command *c, double *ret_wall, double *ret_cpu, int *ret_status)
{
	posix_spawn_file_actions_t actions;
	int to[2], from[2], r;
	struct rusage usage;
	char room[65536];
	int64_t start;
	ssize_t n;
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		die("pipe");
	/* The whole input fits, so that this process never waits for the child to read. */
	if (input_size > 65536)
		(void)fcntl(to[1], F_SETPIPE_SZ, 1 << 20);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	posix_spawn_file_actions_adddup2(&actions, from[1], 2);

	start = clock_mono_us();
	r = posix_spawnp(&pid, c->argv[0], &actions, NULL, c->argv, environ);
	close(to[0]);
	close(from[1]);
	posix_spawn_file_actions_destroy(&actions);
	if (r != 0) {
		close(to[1]);
		close(from[0]);
		errno = r;
		return false;
	}
	for (size_t done = 0; done < input_size; done += (size_t)n) {
		n = write(to[1], input + done, input_size - done);
		if (n <= 0) /* EPIPE: it does not want more */
			break;
	}
	close(to[1]);
	c->output = 0;
	while ((n = read(from[0], room, sizeof room)) > 0)
		c->output += (size_t)n;
	close(from[0]);
	while (wait4(pid, ret_status, 0, &usage) < 0)
		if (errno != EINTR)
			die("wait4");
	*ret_wall = (double)(clock_mono_us() - start);
	*ret_cpu = timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime);
	return true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_series(const char *name, double *v, int n)
{
	double sum = 0;

	if (n == 0) {
		printf("\"%s\":null", name);
		return;
	}
	for (int i = 0; i < n; i++)
		sum += v[i];
	qsort(v, (size_t)n, sizeof *v, by_value);
	printf("\"%s\":{\"min\":%.1f,\"median\":%.1f,\"p95\":%.1f,\"mean\":%.1f,\"max\":%.1f}", name, v[0],
		n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, v[(n - 1) * 95 / 100], sum / n, v[n - 1]);
}

static void usage(void)
{
	fprintf(stderr, "usage: spawn [-n RUNS] [-w WARMUPS] [-t SECONDS] [-i FILE] -- LABEL CMD…\n");
	exit(64);
}

int main(int argc, char **argv)
{
	int runs = 200, warmups = 5, opt, at;
	double seconds = 20;

	while ((opt = getopt(argc, argv, "+n:w:t:i:")) != -1) {
		switch (opt) {
		case 'n': runs = (int)strtol(optarg, NULL, 10); break;
		case 'w': warmups = (int)strtol(optarg, NULL, 10); break;
		case 't': seconds = strtod(optarg, NULL); break;
		case 'i': read_input(optarg); break;
		default: usage();
		}
	}
	for (at = optind; at < argc && ncommands < COMMANDS_MAX;) {
		struct command *c = &commands[ncommands++];

		if (at + 1 >= argc)
			usage();
		c->label = argv[at];
		c->argv = argv + at + 1;
		for (at++; at < argc && strcmp(argv[at], "--") != 0; at++)
			;
		if (at < argc)
			argv[at++] = NULL;
		c->wall = calloc((size_t)runs + 1, sizeof *c->wall);
		c->cpu = calloc((size_t)runs + 1, sizeof *c->cpu);
		if (!c->wall || !c->cpu || !c->argv[0])
			usage();
	}
	if (ncommands == 0 || runs < 1)
		usage();
	signal(SIGPIPE, SIG_IGN);

	for (int round = -warmups; round < runs; round++) {
		for (int k = 0; k < ncommands; k++) {
			struct command *c = &commands[(k + round + warmups) % ncommands];
			double wall, cpu;
			int status;

			if (c->spent > seconds * 1e6)
				continue;
			if (!run(c, &wall, &cpu, &status))
				die(c->label);
			c->spent += wall;
			if (round < 0)
				continue;
			c->wall[c->runs] = wall;
			c->cpu[c->runs++] = cpu;
			c->failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
		}
	}

	printf("{");
	for (int k = 0; k < ncommands; k++) {
		struct command *c = &commands[k];

		printf("%s\"%s\":{\"runs\":%d,\"failed\":%d,\"output\":%zu,", k ? "," : "", c->label, c->runs,
			c->failed, c->output);
		print_series("wall_us", c->wall, c->runs);
		printf(",");
		print_series("cpu_us", c->cpu, c->runs);
		printf("}");
	}
	printf("}\n");
	return 0;
}
