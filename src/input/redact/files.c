/* Files that are secrets by name, and who shows their contents. */
#include "redact/internal.h"

/* Last component with at most one star; `under` is the folder it must be in. */
static const struct {
	const char *name, *under;
} secret_files[] = {
	{ ".env" },
	{ ".env.*" },
	{ "*.env" },
	{ ".envrc" },
	{ "id_rsa" },
	{ "id_dsa" },
	{ "id_ecdsa" },
	{ "id_ed25519" },
	{ "id_ecdsa_sk" },
	{ "id_ed25519_sk" },
	{ "*.pem" },
	{ "*.key" },
	{ "*.p12" },
	{ "*.pfx" },
	{ "*.ppk" },
	{ "*.jks" },
	{ "*.keystore" },
	{ "*.kdbx" },
	{ "*.ovpn" },
	{ "*.p8" },
	{ ".netrc" },
	{ "_netrc" },
	{ ".pgpass" },
	{ ".my.cnf" },
	{ ".pypirc" },
	{ ".htpasswd" },
	{ ".git-credentials" },
	{ ".dockercfg" },
	{ ".vault-token" },
	{ "kubeconfig" },
	{ "*.kubeconfig" },
	{ "credentials", ".aws" },
	{ "config", ".kube" },
	{ "config.json", ".docker" },
	{ "credentials", ".cargo" },
	{ "credentials.toml", ".cargo" },
	{ "hosts.yml", "gh" },
	{ "auth.json", ".codex" },
	{ "shadow", "etc" },
	{ ".credentials.json" },
	{ "credentials.json" },
	{ "*-credentials.json" },
	{ "client_secret*.json" },
	{ "service-account*.json" },
	{ "service_account*.json" },
	{ "serviceaccount*.json" },
	{ "application_default_credentials.json" },
	{ "secrets.yml" },
	{ "secrets.yaml" },
	{ "secrets.json" },
	{ "secrets.toml" },
	{ "secrets.env" },
	{ "*.secrets.yml" },
	{ "*.secrets.yaml" },
};

/* Examples and documentation of the above. */
static const char *const harmless_endings[] = { ".example", ".sample", ".template", ".tmpl", ".dist", ".defaults",
	".schema", ".md", "example.env", "sample.env", "template.env", ".pub" };

static bool fits(str name, const char *pattern)
{
	const char *star = strchr(pattern, '*');
	str head, tail;

	if (!star)
		return str_eq_nocase(name, str_of(pattern));
	head = str_n(pattern, (size_t)(star - pattern));
	tail = str_of(star + 1);
	return name.n > head.n + tail.n && str_eq_nocase(str_head(name, head.n), head) &&
		str_eq_nocase(str_from(name, name.n - tail.n), tail);
}

/* Cuts the last component off; folders may be separated in either way. */
static str take_last(str *path)
{
	size_t i = path->n;
	str last;

	while (i > 0 && path->p[i - 1] != '/' && path->p[i - 1] != '\\')
		i--;
	last = str_from(*path, i);
	*path = str_head(*path, i ? i - 1 : 0);
	return last;
}

bool file_is_secret(str path, str *ret_base)
{
	str base = take_last(&path), folder = take_last(&path);

	if (base.n < 4 || base.n > 255)
		return false;
	for (size_t i = 0; i < countof(harmless_endings); i++) {
		str end = str_of(harmless_endings[i]);

		if (base.n >= end.n && str_eq_nocase(str_from(base, base.n - end.n), end))
			return false;
	}
	for (size_t i = 0; i < countof(secret_files); i++)
		if (fits(base, secret_files[i].name) &&
			(!secret_files[i].under || str_eq_nocase(folder, str_of(secret_files[i].under)))) {
			*ret_base = base;
			return true;
		}
	return false;
}

bool redact_is_secret_file(str path)
{
	str base;

	return file_is_secret(path, &base);
}

/* -- commands ---------------------------------------------------------------------------------- */

static const char *const readers[] = { "cat", "less", "more", "head", "tail", "bat", "batcat", "type", "grep", "egrep",
	"fgrep", "rg", "ag", "sed", "awk", "gawk", "source", ".", "nl", "tac", "strings", "xxd", "od", "hexdump",
	"base64", "sort", "uniq", "cut", "diff", "cmp", "jq", "yq", "openssl", "git", "tee", "paste", "column",
	"get-content", "gc", "dd" };
/* Words in front of the command that do not change what it is. */
static const char *const wrappers[] = { "sudo", "env", "command", "time", "nohup", "exec", "builtin", "nice", "doas",
	"then", "do", "else", "eval" };

static bool in_table(const char *const *table, size_t n, str word)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(word, str_of(table[i])))
			return true;
	return false;
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* The value of an option and the path in a git revision count alone. */
static bool word_names_secret(str word, str *ret_base)
{
	size_t i = word.n;

	while (i > 0 && !is_one_of(word.p[i - 1], "=:@"))
		i--;
	return file_is_secret(word, ret_base) || (i && file_is_secret(str_from(word, i), ret_base));
}

/* The state of a look through a command line. */
struct command {
	bool first;     /* the next word is the name of a command */
	bool reads;     /* which prints what it is given */
	bool from_file; /* after a '<' */
	char quote;     /* around the arguments of a reader */
};

static void command_take_mark(struct command *c, char mark)
{
	if (c->quote) {
		if (mark == c->quote)
			c->quote = 0;
		return;
	}
	if (is_one_of(mark, "\n;|&()`{}")) {
		*c = (struct command){ .first = true };
	} else if (is_one_of(mark, "\"'")) {
		/* What is quoted for anyone else (sh -c '…') may be a command itself. */
		if (c->reads)
			c->quote = mark;
		else
			c->first = true;
	} else if (is_one_of(mark, "<>")) {
		c->from_file = mark == '<';
	}
}

static bool command_take_word(struct command *c, str word, str *ret_base)
{
	str path = word;

	if ((c->reads || c->from_file) && word_names_secret(word, ret_base))
		return true;
	c->from_file = false;
	if (c->first && !in_table(wrappers, countof(wrappers), word) && str_find_char(word, '=') < 0) {
		c->first = false;
		c->reads |= in_table(readers, countof(readers), take_last(&path));
	}
	return false;
}

/* Not a shell: words end at blanks, quotes and operators, and an operator begins a new command.
 * That errs on the side of finding too much, which here only costs an output that is not kept. */
bool file_command_reads(str s, str *ret_base)
{
	struct command c = { .first = true };
	size_t i = 0;

	while (i < s.n) {
		size_t from = i;

		while (i < s.n && !is_one_of(s.p[i], " \t\r\n;|&()`{}<>\"'$"))
			i++;
		if (i > from && command_take_word(&c, str_n(s.p + from, i - from), ret_base))
			return true;
		if (i < s.n)
			command_take_mark(&c, s.p[i++]);
	}
	return false;
}

/* -- members ----------------------------------------------------------------------------------- */

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
	{ "content", FILE_KEY_CONTENT },
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
	{ "tool_response", FILE_KEY_RESPONSE },
	{ "tool_output", FILE_KEY_RESPONSE },
	{ "tool_result", FILE_KEY_RESPONSE },
	{ "result_json", FILE_KEY_RESPONSE },
	{ "result", FILE_KEY_RESPONSE },
	{ "output", FILE_KEY_RESPONSE },
	{ "response", FILE_KEY_RESPONSE },
	{ "llmContent", FILE_KEY_RESPONSE },
	{ "returnDisplay", FILE_KEY_RESPONSE },
	{ "file", FILE_KEY_RESPONSE },
	{ "tool_input", FILE_KEY_INPUT },
	{ "args", FILE_KEY_INPUT },
	{ "arguments", FILE_KEY_INPUT },
	{ "input", FILE_KEY_INPUT },
	{ "command", FILE_KEY_COMMAND },
	{ "cmd", FILE_KEY_COMMAND },
	{ "type", FILE_KEY_PLAIN },
	{ "cwd", FILE_KEY_PLAIN },
};

bool file_is_patch(str text)
{
	return str_find(text, STR("*** Begin Patch")) >= 0;
}

bool file_patch_touches(str patch, str *ret_file)
{
	static const char *const heads[] = { "*** Add File: ", "*** Update File: ", "*** Delete File: ",
		"*** Move to: " };
	str line;

	if (!file_is_patch(patch))
		return false;
	while (str_split(&patch, '\n', &line))
		for (size_t i = 0; i < countof(heads); i++)
			if (str_starts(line, str_of(heads[i])) &&
				file_is_secret(str_trim(str_from(line, strlen(heads[i]))), ret_file))
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
