/* call_words: a tool of an MCP server as a command line. Its name is taken apart into words, members of its input are
 * options: delete_branch of github with {"branch": "main"} is `mcp-tool github delete branch --branch=main`, and
 * data/programs/mcp-tool.json says what that does. A tool that hands a line to a client is that client. */
#include "guard/internal.h"

/* Whose commands a tool takes that has one of these words in its name. */
static const struct {
	const char *words, *program;
} clients[] = {
	{ "redis valkey", "redis-cli" },
	{ "kubernetes kubectl k8s", "kubectl" },
	{ "helm", "helm" },
	{ "docker", "docker" },
	{ "terraform", "terraform" },
	{ "aws", "aws" },
	{ "gcloud", "gcloud" },
};

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* deleteMany, delete_many, delete-many: its words, in small letters. */
static void add_name_words(struct run *x, str name, struct fields *f)
{
	struct text t = { .a = x->a };
	str rest, word;

	for (size_t i = 0; i < name.n; i++) {
		if (is_upper(name.p[i]) && i && !is_upper(name.p[i - 1]))
			text_char(&t, ' ');
		text_char(&t, strchr("_-./:", name.p[i]) ? ' ' : name.p[i]);
	}
	rest = str_lower(x->a, text_str(&t));
	while (str_split(&rest, ' ', &word))
		if (word.n && !str_eq(word, STR("mcp")))
			fields_add(x->a, f, word);
}

static void add_members(struct run *x, const struct json *input, struct fields *f)
{
	enum { VALUE_MAX = 200 };

	json_each(m, input) {
		str value = m->type == JSON_STRING            ? json_str(m)
			: m->type == JSON_OBJECT && !m->count ? STR("{}")
			: m->type == JSON_ARRAY && !m->count  ? STR("[]")
							      : STR_NONE;

		if (str_is_set(value) && value.n < VALUE_MAX && m->key.n < VALUE_MAX)
			fields_add(x->a, f,
				arena_strf(x->a, "--" STR_FMT "=" STR_FMT, STR_ARG(m->key), STR_ARG(value)));
	}
}

static void run_client(struct run *x, const struct fields *words, str command)
{
	for (size_t i = 0; i < countof(clients); i++)
		for (size_t k = 1; k < words->n; k++)
			if (str_in(words->v[k], clients[i].words) &&
				!str_starts(str_trim(command), str_of(clients[i].program))) {
				(void)run_child_text(x,
					arena_strf(x->a, "%s " STR_FMT, clients[i].program, STR_ARG(command)),
					STR_NONE);
				return;
			}
}

void judge_tool_words(struct run *x, const struct event *e)
{
	struct fields words = { 0 };
	struct cmd c;
	str name;

	fields_add(x->a, &words, STR("mcp-tool"));
	add_name_words(x, str_head(e->tool_name, MIN(e->tool_name.n, (size_t)256)), &words);
	if (e->command.n)
		run_client(x, &words, e->command);
	if (e->tool_input && e->tool_input->type == JSON_OBJECT)
		add_members(x, e->tool_input, &words);
	name = words.v[0];
	c = (struct cmd){ .v = words.v, .n = words.n, .name = name, .in = STR_NONE };
	judge_by_name(x, &c);
}
