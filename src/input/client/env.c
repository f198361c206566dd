#include "client/client.h"

/* All values together; the head of a frame has LIMIT_FRAME_HEAD bytes for everything. */
#define ENV_BYTES_MAX KIB(64)

static void note_place(str name, const char *value, struct env_places *places)
{
	/* A relative path would mean another place in every directory. */
	if (value[0] != '/')
		return;
	if (str_eq(name, STR("HOME")))
		places->home = value;
	else if (str_eq(name, STR("HOOKD_DIR")))
		places->hookd_dir = value;
	else if (str_eq(name, STR("XDG_RUNTIME_DIR")))
		places->runtime_dir = value;
	else if (str_eq(name, STR("XDG_STATE_HOME")))
		places->state_home = value;
}

void env_collect(char *const *envp, struct env_places *ret, struct wire_hook *h)
{
	size_t bytes = 0;

	*ret = (struct env_places){ NULL };
	h->nenv = 0;
	for (; envp && *envp; envp++) {
		str whole = str_of(*envp), name;
		ptrdiff_t eq = str_find_char(whole, '=');

		if (eq <= 0)
			continue;
		name = str_head(whole, (size_t)eq);
		if (name.p[0] == 'H' || name.p[0] == 'X')
			note_place(name, name.p + eq + 1, ret);
		if (!wire_env_is_allowed(name))
			continue;
		whole = str_cut_utf8(whole, name.n + 1 + WIRE_ENV_VALUE_MAX);
		if (h->nenv == WIRE_ENV_MAX || bytes + whole.n > ENV_BYTES_MAX)
			continue;
		h->env[h->nenv++] = whole;
		bytes += whole.n;
	}
}
