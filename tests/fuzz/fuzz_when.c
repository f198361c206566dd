/* Times as people and agents write them: refused, or one that can be written again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = str_n((const char *)data, size);
	int64_t us = 0, n;
	char out[CLOCK_TEXT];

	if (clock_parse_when(text, INT64_C(1900000000000000), &us) && us >= 0)
		clock_format(us, /* local= */ false, out);
	(void)str_to_int(text, &n);
	return 0;
}
