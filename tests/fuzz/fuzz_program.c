/* Whatever the text of a descriptor says: it is read or refused with a place, and what was read can be asked about any
 * command. */
#include <stdint.h>
#include <stdlib.h>

#include "guard/descriptor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct guard_context here = { .cwd = { "/home/dev/proj", 14 }, .home = { "/home/dev", 9 } };
	struct guard_report report = { 0 };
	struct arena a = { 0 };
	struct descriptor d;
	struct err err = { 0 };
	str words[] = { STR("x"), STR("run"), STR("-a"), STR("--all=b"), STR("A=b"), STR("--"), STR("ls") };

	if (descriptor_read(&a, str_n((const char *)data, size), &d, &err) == 0) {
		struct run x = { .a = &a, .c = &here, .report = &report };
		struct cmd c = { .v = words, .n = countof(words), .name = STR("x"), .in = STR("ls") };

		x.st.cwd = here.cwd;
		perform(&x, &c, &d);
	} else if (!err.text[0]) {
		abort();
	}
	arena_release(&a);
	return 0;
}
