/* Who called, as far as the environment says that hookc sends along. */
#include "base/hash.h"
#include "event/event.h"

size_t event_read_env(const struct json *object, struct arena *a, str *ret, size_t most)
{
	size_t n = 0;

	json_each(m, object)
		if (n < most && m->type == JSON_STRING)
			ret[n++] = arena_strf(a, STR_FMT "=" STR_FMT, STR_ARG(m->key), STR_ARG(m->text));
	return n;
}

str event_env(const str *env, size_t n, const char *name)
{
	str key = str_of(name);

	for (size_t i = 0; i < n; i++)
		if (str_starts(env[i], key) && env[i].n > key.n && env[i].p[key.n] == '=')
			return str_from(env[i], key.n + 1);
	return STR_NONE;
}

uint64_t event_place(const str *env, size_t n)
{
	static const char *const names[] = { "TMUX_PANE", "KITTY_WINDOW_ID", "WEZTERM_PANE", "WT_SESSION", "SSH_TTY" };
	str value = STR_NONE;

	for (size_t i = 0; i < countof(names) && str_empty(value); i++)
		value = event_env(env, n, names[i]);
	return str_empty(value) ? 0 : hash_part(hash_part(HASH_START, value), event_env(env, n, "TMUX"));
}

uint32_t event_agent_pid(const struct event *e)
{
	int64_t pid;

	return str_to_int(event_env(e->env, e->nenv, "CLAUDE_PID"), &pid) && pid > 1 && pid < INT32_MAX ? (uint32_t)pid
													: 0;
}
