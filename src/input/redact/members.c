/* What the members of a tool's input and output hold: paths, contents, commands. */
#include "redact/internal.h"

static const struct {
	const char *key;
	enum file_key kind;
} members[] = {
	{ "file_path", FILE_KEY_PATH },
	{ "filePath", FILE_KEY_PATH },
	{ "path", FILE_KEY_PATH },
	{ "notebook_path", FILE_KEY_PATH },
	{ "filename", FILE_KEY_PATH },
	{ "absolute_path", FILE_KEY_PATH },
	{ "target_file", FILE_KEY_PATH },
	{ "relative_path", FILE_KEY_PATH },
	{ "fileName", FILE_KEY_PATH },
	{ "file_name", FILE_KEY_PATH },
	{ "paths", FILE_KEY_PATH },
	{ "files", FILE_KEY_PATH },
	{ "filePaths", FILE_KEY_PATH },
	{ "file_paths", FILE_KEY_PATH },
	{ "uri", FILE_KEY_PATH },
	{ "glob", FILE_KEY_PATH },
	{ "include", FILE_KEY_PATH },
	{ "source", FILE_KEY_PATH },
	{ "destination", FILE_KEY_PATH },
	{ "AbsolutePath", FILE_KEY_PATH },
	{ "TargetFile", FILE_KEY_PATH },
	{ "content", FILE_KEY_CONTENT },
	{ "textResultForLlm", FILE_KEY_CONTENT },
	{ "text_result_for_llm", FILE_KEY_CONTENT },
	{ "sessionLog", FILE_KEY_CONTENT },
	{ "session_log", FILE_KEY_CONTENT },
	{ "contents", FILE_KEY_CONTENT },
	{ "new_string", FILE_KEY_CONTENT },
	{ "old_string", FILE_KEY_CONTENT },
	{ "newString", FILE_KEY_CONTENT },
	{ "oldString", FILE_KEY_CONTENT },
	{ "new_str", FILE_KEY_CONTENT },
	{ "old_str", FILE_KEY_CONTENT },
	{ "new_source", FILE_KEY_CONTENT },
	{ "file_text", FILE_KEY_CONTENT },
	{ "insert_text", FILE_KEY_CONTENT },
	{ "originalFile", FILE_KEY_CONTENT },
	{ "structuredPatch", FILE_KEY_CONTENT },
	{ "edits", FILE_KEY_CONTENT },
	{ "diff", FILE_KEY_CONTENT },
	{ "patch", FILE_KEY_CONTENT },
	{ "code_edit", FILE_KEY_CONTENT },
	{ "text", FILE_KEY_CONTENT },
	{ "stdout", FILE_KEY_CONTENT },
	{ "stderr", FILE_KEY_CONTENT },
	{ "ReplacementContent", FILE_KEY_CONTENT },
	{ "CodeContent", FILE_KEY_CONTENT },
	{ "replacement", FILE_KEY_CONTENT },
	{ "body", FILE_KEY_CONTENT },
	{ "data", FILE_KEY_CONTENT },
	{ "tool_response", FILE_KEY_RESPONSE },
	{ "tool_output", FILE_KEY_RESPONSE },
	{ "tool_result", FILE_KEY_RESPONSE },
	{ "toolResult", FILE_KEY_RESPONSE },
	{ "toolResponse", FILE_KEY_RESPONSE },
	{ "toolOutput", FILE_KEY_RESPONSE },
	{ "result_json", FILE_KEY_RESPONSE },
	{ "error", FILE_KEY_RESPONSE },
	{ "error_message", FILE_KEY_RESPONSE },
	{ "result", FILE_KEY_RESPONSE },
	{ "output", FILE_KEY_RESPONSE },
	{ "response", FILE_KEY_RESPONSE },
	{ "llmContent", FILE_KEY_RESPONSE },
	{ "returnDisplay", FILE_KEY_RESPONSE },
	{ "file", FILE_KEY_RESPONSE },
	{ "tool_input", FILE_KEY_INPUT },
	{ "toolArgs", FILE_KEY_INPUT },
	{ "toolInput", FILE_KEY_INPUT },
	{ "args", FILE_KEY_INPUT },
	{ "arguments", FILE_KEY_INPUT },
	{ "input", FILE_KEY_INPUT },
	{ "command", FILE_KEY_COMMAND },
	{ "cmd", FILE_KEY_COMMAND },
	{ "script", FILE_KEY_COMMAND },
	{ "code", FILE_KEY_COMMAND },
	{ "commandLine", FILE_KEY_COMMAND },
	{ "CommandLine", FILE_KEY_COMMAND },
	{ "command_line", FILE_KEY_COMMAND },
	{ "shell_command", FILE_KEY_COMMAND },
	{ "type", FILE_KEY_PLAIN },
	{ "cwd", FILE_KEY_PLAIN },
};

/* A patch names files in its lines; one that is neither of apply_patch nor of diff -u is none. */
bool file_patch_touches(str patch, str *ret_file)
{
	struct patch p;
	struct patch_file file;

	if (!patch_is(patch) && str_find(patch, STR("+++ ")) < 0)
		return false;
	p = patch_open(patch);
	while (patch_next(&p, &file))
		if (file_is_secret(file.path, ret_file))
			return true;
	return false;
}

enum file_key file_key_of(str key)
{
	for (size_t i = 0; i < countof(members); i++)
		if (members[i].key[0] == (key.n ? key.p[0] : 0) && str_eq(key, str_of(members[i].key)))
			return members[i].kind;
	return FILE_KEY_NONE;
}
