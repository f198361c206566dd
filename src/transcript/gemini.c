#include "transcript/internal.h"

static bool knows(str head)
{
	return false;
}

static bool wants(const struct transcript *t, str line)
{
	return true;
}

static void read_line(struct transcript *t, const struct json *line)
{
}

const struct transcript_format transcript_gemini = {
	.agent = "gemini",
	.knows = knows,
	.wants = wants,
	.line = read_line,
};
