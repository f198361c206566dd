/* Whatever the file says, every option has a value that fits; and an option that can be set is set,
 * with every other option as before. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const values[OPTION_ID_MAX] = {
	[OPTION_CONTEXT_ENABLED] = "false",
	[OPTION_CONTEXT_ENCODER] = "false",
	[OPTION_CONTEXT_MEMORIES] = "3",
	[OPTION_CONTEXT_CODE] = "1",
	[OPTION_CONTEXT_TOKENS] = "500",
	[OPTION_DURABILITY] = "strict",
	[OPTION_EXTRACT_EXCLUDE] = "~/private/** /srv/*/keys",
	[OPTION_EXTRACT_MODEL] = "false",
	[OPTION_EXTRACT_SKIP] = "Read TodoWrite",
	[OPTION_FLEET_TMUX] = "true",
	[OPTION_GUARD_DISABLE] = "fs.mv git.clean",
	[OPTION_GUARD_MODE] = "observe",
	[OPTION_GUARD_OBSERVE] = "sys.power",
	[OPTION_HOOKS_PATH] = "caller",
	[OPTION_HTTP_ENABLED] = "true",
	[OPTION_HTTP_PORT] = "4711",
	[OPTION_INDEX_ENABLED] = "false",
	[OPTION_INDEX_EXCLUDE] = "fixtures/ *.sql",
	[OPTION_INDEX_MAX_FILES] = "5000",
	[OPTION_LLM_BUDGET] = "5000",
	[OPTION_LLM_CONTEXT] = "32768",
	[OPTION_LLM_KEY_FILE] = "~/.secrets/model",
	[OPTION_LLM_MAX_TOKENS] = "64",
	[OPTION_LLM_MODEL] = "small:8b",
	[OPTION_LLM_PROVIDER] = "compatible",
	[OPTION_LLM_TIMEOUT_S] = "5",
	[OPTION_LLM_URL] = "http://127.0.0.1:11434/v1",
	[OPTION_LOG_LEVEL] = "warn,store=debug",
	[OPTION_LOG_MAX_MB] = "1024",
	[OPTION_MEMORY_MUTE_AFTER] = "3",
	[OPTION_MEMORY_SIMILAR] = "99",
	[OPTION_MEMORY_TYPES] = "incident run-book",
	[OPTION_OUTBOX_MAX] = "500",
	[OPTION_REMIND] = "plan errors",
	[OPTION_RETENTION_DAYS] = "30",
	[OPTION_STORE_LINGER_MS] = "0",
	[OPTION_STORE_MAX_MB] = "64",
};

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_edit(str text, const struct config *before, size_t id)
{
	struct buf out = BUF_INIT(LIMIT_CONFIG);
	struct config_problem *problems;
	struct config after;
	struct err err;

	require(values[id] != NULL);
	if (config_edit(text, &options[id], str_of(values[id]), &out, &err) == 0) {
		config_parse(buf_str(&out), &after, &problems);
		for (size_t i = 0; i < OPTION_ID_MAX; i++)
			require(strcmp(after.values[i].text, i == id ? values[id] : before->values[i].text) == 0);
		config_release(&after);
		config_problems_free(problems);
	}
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_problem *problems;
	struct config c;
	str text = str_n((const char *)data, size);

	if (size > LIMIT_CONFIG)
		return 0;
	config_parse(text, &c, &problems);
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		require(config_check(&options[i], str_of(c.values[i].text), NULL, NULL) == 0);
	for (size_t i = 0; i < OPTION_ID_MAX; i++)
		check_edit(text, &c, i);
	config_release(&c);
	config_problems_free(problems);
	return 0;
}
