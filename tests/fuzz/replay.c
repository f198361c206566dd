/* replay: runs a fuzz target over every file of a corpus directory, in an ordinary build, and with -n N over N
 * inputs more that are made from them: bytes changed, taken out, repeated, put in from another file. The same every
 * time, and no longer than INPUT_MAX, so that a hundred thousand take seconds. A target passes when it returns; a
 * crash, a sanitizer report or a hang fails the test, and the input that did it is left in a file.
 *
 * libFuzzer looks where new code is reached and finds more, but needs clang: tests/fuzz/run. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 4096, INPUT_MAX = 768, CHANGES_MAX = 6 };

struct input {
	uint8_t *data;
	size_t size;
};

static struct input files[FILES_MAX];
static size_t nfiles;
static struct input current;
static uint64_t seed = 0x9E3779B97F4A7C15;
static char left_behind[512];

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? (seed >> 11) % below : 0;
}

static void run(const uint8_t *data, size_t size)
{
	/* A copy of the exact size, so that reading one byte past the end is seen. */
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		exit(1);
	memcpy(exact, data, size);
	current = (struct input){ exact, size };
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

/* abort() and the sanitizers' own end come through here. */
static void leave_behind(int signo)
{
	int fd = open(left_behind, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)!write(fd, current.data, current.size);
	(void)!write(STDERR_FILENO, "the input is in ", 16);
	(void)!write(STDERR_FILENO, left_behind, strlen(left_behind));
	(void)!write(STDERR_FILENO, "\n", 1);
	signal(signo, SIG_DFL);
	raise(signo);
}

static void read_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t size = 0, cap = 1 << 16;
	uint8_t *data = malloc(cap);
	ssize_t n;

	if (fd < 0 || !data || nfiles == FILES_MAX) {
		perror(name);
		exit(1);
	}
	while ((n = read(fd, data + size, cap - size)) > 0) {
		size += (size_t)n;
		if (size == cap && !(data = realloc(data, cap *= 2)))
			exit(1);
	}
	close(fd);
	files[nfiles++] = (struct input){ data, size };
}

/* In the order of names, so that what is made from them is the same on every machine. */
static void read_directory(const char *path)
{
	struct dirent **entries;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = scandir(path, &entries, NULL, alphasort);

	if (dir < 0 || n < 0) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			read_file(dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	close(dir);
}

/* -- inputs from inputs ---------------------------------------------------------------------------- */

struct draft {
	uint8_t bytes[INPUT_MAX];
	size_t n;
};

static void insert(struct draft *d, size_t at, const uint8_t *bytes, size_t n)
{
	n = n < INPUT_MAX - d->n ? n : INPUT_MAX - d->n;
	memmove(d->bytes + at + n, d->bytes + at, d->n - at);
	memcpy(d->bytes + at, bytes, n);
	d->n += n;
}

static void take_out(struct draft *d, size_t at, size_t n)
{
	n = n < d->n - at ? n : d->n - at;
	memmove(d->bytes + at, d->bytes + at + n, d->n - at - n);
	d->n -= n;
}

static void change(struct draft *d)
{
	static const uint8_t odd[] = { 0, 1, 0x7F, 0x80, 0xFF, '"', '\\', '{', '}', '[', ']', '\n', '\'', '$', '(', '<',
		'0', '-', ' ', '/' };
	const struct input *other = &files[draw(nfiles)];
	size_t at = draw(d->n + 1), from = draw(other->size + 1);
	uint8_t piece[64], one = odd[draw(sizeof odd)];
	size_t n = 1 + draw(draw(4) ? 8 : sizeof piece - 1);

	switch (draw(7)) {
	case 0:
		if (at < d->n)
			d->bytes[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		if (at < d->n)
			d->bytes[at] = one;
		break;
	case 2: insert(d, at, &one, 1); break;
	case 3: take_out(d, at, n); break;
	case 4: /* the same again */
		n = n < d->n - at ? n : d->n - at;
		memcpy(piece, d->bytes + at, n);
		insert(d, at, piece, n);
		break;
	case 5: /* from another one */
		insert(d, at, other->data + from, n < other->size - from ? n : other->size - from);
		break;
	default: /* its rest */ d->n = at; insert(d, at, other->data + from, other->size - from);
	}
}

static void run_changed(void)
{
	const struct input *in = &files[draw(nfiles)];
	struct draft d;
	size_t from = in->size > INPUT_MAX && draw(2) ? draw(in->size - INPUT_MAX) : 0;
	unsigned changes = 1 + (unsigned)draw(CHANGES_MAX);

	d.n = in->size - from < INPUT_MAX ? in->size - from : INPUT_MAX;
	memcpy(d.bytes, in->data + from, d.n);
	for (unsigned i = 0; i < changes; i++)
		change(&d);
	run(d.bytes, d.n);
}

int main(int argc, char **argv)
{
	long more = 0;

	snprintf(left_behind, sizeof left_behind, "%s.crash", argv[0]);
	signal(SIGABRT, leave_behind);
	run((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
			more = strtol(argv[++i], NULL, 10);
			continue;
		}
		read_directory(argv[i]);
	}
	for (size_t i = 0; i < nfiles; i++)
		run(files[i].data, files[i].size);
	for (long i = 0; i < more && nfiles; i++)
		run_changed();
	printf("%zu inputs replayed, %ld made from them\n", nfiles, more);
	return nfiles ? 0 : 1;
}
