#include "client/client.h"

#include "base/macro.h"

/* All values together; the head of a frame has LIMIT_FRAME_HEAD bytes for everything. */
#define ENV_BYTES_MAX KIB(64)

/* What may be sent. A '*' at the end allows every name with that start. */
static const char allowed[][30] = {
	/* which agent, which session */
	"AGENT_*",
	"AI_AGENT",
	"CLAUDECODE",
	"CLAUDE_CODE_CHILD_SESSION",
	"CLAUDE_CODE_ENTRYPOINT",
	"CLAUDE_CODE_REMOTE*",
	"CLAUDE_CODE_SESSION_ATTENDED",
	"CLAUDE_CODE_SESSION_ID",
	"CLAUDE_EFFORT",
	"CLAUDE_ENV_FILE",
	"CLAUDE_PID",
	"CLAUDE_PROJECT_DIR",
	"CODEX_HOME",
	"CODEX_SANDBOX",
	"CODEX_THREAD_ID",
	"COPILOT_CLI",
	"COPILOT_CLI_BINARY_VERSION",
	"COPILOT_HOME",
	"COPILOT_MODEL",
	"COPILOT_PROJECT_DIR",
	"CURSOR_AGENT",
	"CURSOR_CODE_REMOTE",
	"CURSOR_PROJECT_DIR",
	"CURSOR_TRANSCRIPT_PATH",
	"CURSOR_VERSION",
	"HOOKD_HOOK",
	"GEMINI_CLI",
	"GEMINI_CWD",
	"GEMINI_PLANS_DIR",
	"GEMINI_PROJECT_DIR",
	"GEMINI_SESSION_ID",
	"OPENCODE",
	"OPENCODE_PID",
	"QWEN_CODE",
	"QWEN_CODE_AGENT_ID",
	"QWEN_CODE_MODEL",
	"QWEN_CODE_PROJECT_DIR",
	"QWEN_CODE_PROMPT_ID",
	"QWEN_CODE_SESSION_ID",
	"QWEN_PROJECT_DIR",
	"AUGMENT_CONVERSATION_ID",
	"AUGMENT_PROJECT_DIR",
	"FACTORY_PROJECT_DIR",
	/* which terminal, which machine */
	"CI",
	"COLUMNS",
	"LINES",
	"SSH_TTY",
	"STY",
	"TERM",
	"TERM_PROGRAM",
	"TERM_PROGRAM_VERSION",
	"TMUX",
	"TMUX_PANE",
	"WT_SESSION",
	"KITTY_WINDOW_ID",
	"WEZTERM_PANE",
	"WSL_DISTRO_NAME",
	"ZELLIJ_SESSION_NAME",
};

/* Parts of names that are refused in any case. */
static const char refused[][12] = {
	"TOKEN",
	"KEY",
	"SECRET",
	"PASSWORD",
	"PASSWD",
	"PASSPHRASE",
	"CREDENTIAL",
	"AUTH",
	"COOKIE",
	"MESSAGING",
};

static bool may_be_secret(str name)
{
	for (size_t i = 0; i < countof(refused); i++) {
		str word = str_of(refused[i]);

		for (size_t at = 0; at + word.n <= name.n; at++)
			if (str_eq_nocase(str_n(name.p + at, word.n), word))
				return true;
	}
	return false;
}

bool env_is_allowed(str name)
{
	for (size_t i = 0; name.n && i < countof(allowed); i++) {
		str row;

		/* Most variables do not concern us; they should cost one comparison per row. */
		if (allowed[i][0] != name.p[0])
			continue;
		row = str_of(allowed[i]);
		if (row.p[row.n - 1] == '*' ? str_starts(name, str_head(row, row.n - 1)) : str_eq(name, row))
			return !may_be_secret(name);
	}
	return false;
}

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
		if (!env_is_allowed(name))
			continue;
		whole = str_cut_utf8(whole, name.n + 1 + WIRE_ENV_VALUE_MAX);
		if (h->nenv == WIRE_ENV_MAX || bytes + whole.n > ENV_BYTES_MAX)
			continue;
		h->env[h->nenv++] = whole;
		bytes += whole.n;
	}
}
