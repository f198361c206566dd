/* Rows from the pages of a file that may hold anything: texts are never longer than the file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macro.h"
#include "store/carve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_event(const struct carved_event *e, void *arg)
{
	size_t size = *(size_t *)arg;

	if (e->payload.n > size || e->native.n > size || e->host.n > size)
		abort();
	return 0;
}

static void take_session(int64_t key, str agent, str native, void *arg)
{
	if (agent.n > *(size_t *)arg || native.n > *(size_t *)arg)
		abort();
}

static void take_name(int64_t seq, str id, void *arg)
{
	if (id.n > *(size_t *)arg)
		abort();
}

static int take_trace(const struct carved_trace *t, void *arg)
{
	size_t size = *(size_t *)arg;

	if (t->input.n > size || t->text.n > size || t->same.n > size || t->kind.n > MAX(size, (size_t)32))
		abort();
	return 0;
}

static bool go_on(void *arg)
{
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct carve_sink sink = { take_event, take_session, take_name, take_trace, go_on, &size };
	static int fd = -1;
	char path[32];

	if (fd < 0)
		fd = memfd_create("carve", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	(void)carve(path, false, &sink);
	return 0;
}
