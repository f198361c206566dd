/* Which variables of an agent's process are of use here, and hold no secrets. */
#include "base/macro.h"
#include "wire/wire.h"

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
	"HOOKD_WATCH",
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

bool wire_env_is_allowed(str name)
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
