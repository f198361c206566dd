/* replay: runs a fuzz target over every file of a corpus directory, in an ordinary build. A target
 * passes when it returns; a crash, a sanitizer report or a hang fails the test. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t size = 0, cap = 1 << 16;
	uint8_t *data = malloc(cap), *exact;
	ssize_t n;

	if (fd < 0 || !data) {
		perror(name);
		exit(1);
	}
	while ((n = read(fd, data + size, cap - size)) > 0) {
		size += (size_t)n;
		if (size == cap && !(data = realloc(data, cap *= 2)))
			exit(1);
	}
	close(fd);
	/* A copy of the exact size, so that reading one byte past the end is seen. */
	exact = malloc(size ? size : 1);
	if (!exact)
		exit(1);
	for (size_t i = 0; i < size; i++)
		exact[i] = data[i];
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int files = 0;

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *e;

		if (!d) {
			perror(argv[i]);
			return 1;
		}
		while ((e = readdir(d)))
			if (e->d_name[0] != '.') {
				replay_file(dirfd(d), e->d_name);
				files++;
			}
		closedir(d);
	}
	printf("%d inputs replayed\n", files);
	return files ? 0 : 1;
}
