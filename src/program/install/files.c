#include "install/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "install/mcp.h"
#include "install/notify.h"
#include "install/plugin.h"

static const struct hook_format hooks_json = {
	.noun = "hook",
	.add = install_edit_add,
	.remove = install_edit_remove,
	.list = install_edit_list,
	.is_empty = install_edit_is_empty,
};

static const struct hook_format settings_json = {
	.noun = "hook",
	.add = install_settings_add,
	.remove = install_settings_remove,
	.list = install_settings_list,
	.is_empty = install_edit_is_empty,
};

static const struct hook_format mcp_json = {
	.noun = "MCP server",
	.add = install_mcp_add,
	.remove = install_mcp_remove,
	.list = install_mcp_list,
	.is_empty = install_mcp_is_empty,
};

static const struct hook_format codex_toml = {
	.noun = "setting",
	.add = install_codex_add,
	.remove = install_codex_remove,
	.list = install_codex_list,
	.is_empty = install_notify_is_empty,
};

static const struct hook_format plugin_js = {
	.noun = "plugin",
	.add = install_plugin_add,
	.remove = install_plugin_remove,
	.list = install_plugin_list,
	.is_empty = install_plugin_is_empty,
};

static const char *const codex_root[] = { "description", NULL };

static const struct hook_file hook_files[] = {
	/* In a project, the file that is not checked in: hooks name paths of one machine. */
	{ .agent = "claude",
		.program = "claude",
		.user = "settings.json",
		.project = "settings.local.json",
		.format = &hooks_json,
		.per_second = 1 },
	{ .agent = "claude", .user = ".claude.json", .format = &mcp_json, .mcp = true, .at_home = true },
	{ .agent = "codex",
		.program = "codex",
		.user = "hooks.json",
		.project = "hooks.json",
		.format = &hooks_json,
		.shell = true,
		.suffix = "",
		.per_second = 1,
		.end_seconds = 3,
		.root = codex_root,
		.trust = "config.toml",
		.how_to_trust = "start codex, which asks about new hooks, or type /hooks there, and trust hookc" },
	/* Reports turns even while the hooks are not trusted. In the user's file only: one program is notified, and a
	 * project's would replace it. */
	{ .agent = "codex", .user = "config.toml", .format = &codex_toml },
	/* Here any exit code above 1 with a word on stderr is a refusal, and a shell that does not find a
	 * program says just that: without the suffix a hookc that is gone would refuse every prompt. */
	{ .agent = "gemini",
		.program = "gemini",
		.user = "settings.json",
		.project = "settings.json",
		.format = &settings_json,
		.shell = true,
		.suffix = " 2>/dev/null || exit 0",
		.name = "hookd",
		.off = "hooksConfig",
		.per_second = 1000,
		.comments = true },
	/* A file of our own: all files of that folder are read. Any exit code but 0 refuses the call, so a hookc that
	 * is gone must not become one. */
	{ .agent = "copilot",
		.program = "copilot",
		.user = "hooks/hookd.json",
		.project = "hooks/hookd.json",
		.project_dir = ".github",
		.format = &hooks_json,
		.shell = true,
		.suffix = " 2>/dev/null || exit 0",
		.flat = true,
		.version = true,
		.timeout = "timeoutSec",
		.per_second = 1 },
	{ .agent = "copilot", .user = "mcp-config.json", .format = &mcp_json, .mcp = true },
	{ .agent = "qwen",
		.program = "qwen",
		.user = "settings.json",
		.project = "settings.json",
		.format = &settings_json,
		.shell = true,
		.suffix = "",
		.name = "hookd",
		.per_second = 1000,
		.comments = true },
	{ .agent = "cursor",
		.program = "cursor",
		.user = "hooks.json",
		.project = "hooks.json",
		.format = &hooks_json,
		.shell = true,
		.suffix = "",
		.flat = true,
		.version = true,
		.per_second = 1 },
	{ .agent = "cursor", .user = "mcp.json", .format = &mcp_json, .mcp = true },
	{ .agent = "opencode",
		.program = "opencode",
		.user = "plugins/hookd.js",
		.project = "plugins/hookd.js",
		.project_dir = ".opencode",
		.format = &plugin_js },
	{ .agent = "opencode", .user = "opencode.json", .format = &mcp_json, .mcp = true },
	{ .agent = "windsurf",
		.program = "windsurf",
		.user = "hooks.json",
		.project = "hooks.json",
		.project_dir = ".windsurf",
		.format = &hooks_json,
		.shell = true,
		.suffix = "",
		.flat = true,
		.bare = true },
	{ .agent = "windsurf", .user = "mcp_config.json", .format = &mcp_json, .mcp = true },
};

const struct hook_file *hook_file_first(const struct agent *agent)
{
	for (size_t i = 0; i < countof(hook_files); i++)
		if (strcmp(hook_files[i].agent, agent->name) == 0)
			return &hook_files[i];
	return NULL;
}

const struct hook_file *hook_file_next(const struct install_request *q, const struct hook_file *last)
{
	const struct hook_file *f = last ? last + 1 : hook_file_first(q->agent);

	for (; f && f < hook_files + countof(hook_files); f++)
		if (strcmp(f->agent, q->agent->name) == 0 && (q->project ? f->project : f->user) && (q->mcp || !f->mcp))
			return f;
	return NULL;
}

int hook_file_dir(const struct install_request *q, char out[FS_PATH])
{
	const char *base = q->project ? q->project : q->home;
	const struct hook_file *f;

	if (!base || base[0] != '/')
		return -EINVAL;
	if (!q->project)
		return agent_dir(q->agent, base, out);
	f = hook_file_first(q->agent);
	return fs_join(out, base, f && f->project_dir ? f->project_dir : q->agent->dir);
}

int hook_file_path(const struct install_request *q, const struct hook_file *f, char out[FS_PATH])
{
	const char *moved = q->agent->dir_env ? getenv(q->agent->dir_env) : NULL;
	char dir[FS_PATH];
	int r = hook_file_dir(q, dir);

	if (r == 0 && f->at_home && !(moved && moved[0] == '/'))
		return fs_join(out, q->home, f->user);
	return r < 0 ? r : fs_join(out, dir, q->project ? f->project : f->user);
}
