#include "cli/launch.h"

#include <string.h>

const struct launch launches[] = {
	{ "claude", "claude", NULL },
	{ "codex", "codex", NULL },
	{ "gemini", "gemini", "-i" },
	{ "qwen", "qwen", "-i" },
	{ "copilot", "copilot", "-i" },
	{ "opencode", "opencode", "--prompt" },
	{ "cursor", "cursor-agent", NULL },
	{ 0 },
};

const struct launch *launch_find(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;

	for (const struct launch *l = launches; l->agent; l++)
		if (strcmp(base, l->program) == 0 || strcmp(base, l->agent) == 0)
			return l;
	return NULL;
}

char **launch_argv(struct cli *cli, const struct launch *l, const char *const *words, int n, str prompt)
{
	char **argv = arena_alloc(&cli->arena, ((size_t)n + 4) * sizeof *argv);
	int at = 0;

	for (int i = 0; i < n; i++)
		argv[at++] = (char *)words[i];
	if (!n)
		argv[at++] = (char *)l->program;
	if (l && l->option)
		argv[at++] = (char *)l->option;
	argv[at] = (char *)arena_cstr(&cli->arena, prompt);
	return argv;
}
