/* Grammars: shared objects beside the program. GRAMMARS/runtime.so is tree-sitter behind the table of syntax.h,
 * LANGUAGE.so has what tree-sitter's generator wrote for a language. Each is loaded when the first file of its
 * language comes. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "chunk/internal.h"

struct chunker {
	char *dir; /* NULL: no grammars */
	void *library;
	const struct syntax *syntax;
	struct syntax_parser *parser;
	struct grammar *grammars; /* a place for each language */
	bool *tried;              /* the same, and the last one is the runtime's */
	const char **names;
};

static const char *const field_names[FIELD_MAX] = {
	[FIELD_NAME] = "name",
	[FIELD_DECLARATOR] = "declarator",
	[FIELD_TYPE] = "type",
	[FIELD_KEY] = "key",
	[FIELD_LEFT] = "left",
	[FIELD_PROPERTY] = "property",
	[FIELD_VALUE] = "value",
	[FIELD_RIGHT] = "right",
	[FIELD_RECEIVER] = "receiver",
	[FIELD_BODY] = "body",
	[FIELD_HEADING] = "heading_content",
	[FIELD_OBJECT] = "object",
};

struct chunker *chunker_new(const char *grammars)
{
	struct chunker *c = xcalloc(1, sizeof *c);

	c->grammars = xcalloc(nlanguages, sizeof *c->grammars);
	c->tried = xcalloc(nlanguages + 1, sizeof *c->tried);
	c->names = xcalloc(nlanguages + 1, sizeof *c->names);
	if (grammars && *grammars)
		c->dir = xstrdup(grammars);
	return c;
}

void chunker_free(struct chunker *c)
{
	if (!c)
		return;
	if (c->parser)
		c->syntax->close(c->parser);
	for (size_t i = 0; i < nlanguages; i++) {
		free(c->grammars[i].rules);
		if (c->grammars[i].library)
			dlclose(c->grammars[i].library);
	}
	if (c->library)
		dlclose(c->library);
	free(c->grammars);
	free(c->tried);
	free(c->names);
	free(c->dir);
	free(c);
}

static bool path_of(const struct chunker *c, const char *name, char ret[FS_PATH])
{
	char file[64];

	snprintf(file, sizeof file, "%s.so", name);
	return c->dir && fs_join(ret, c->dir, file) == 0;
}

static void *open_library(const struct chunker *c, const char *name)
{
	char path[FS_PATH];

	return path_of(c, name, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static bool has_runtime(struct chunker *c)
{
	if (c->tried[nlanguages])
		return c->parser != NULL;
	c->tried[nlanguages] = true;
	c->library = open_library(c, "runtime");
	c->syntax = c->library ? dlsym(c->library, SYNTAX_SYMBOL) : NULL;
	if (c->syntax && c->syntax->version == SYNTAX_VERSION)
		c->parser = c->syntax->open();
	return c->parser != NULL;
}

/* Which of our rules is for which type of node, so that looking one up is an index. */
static void resolve_rules(struct grammar *g)
{
	g->types = g->syntax->type_count(g->handle);
	g->rules = xcalloc(g->types + 1, sizeof *g->rules);
	for (uint32_t t = 0; t < g->types; t++) {
		const char *name = g->syntax->type_name(g->handle, t);

		for (const struct node_rule *rule = g->language->rules; name && rule->type; rule++)
			if (strcmp(rule->type, name) == 0)
				g->rules[t] = rule;
	}
	for (size_t f = FIELD_NONE + 1; f < FIELD_MAX; f++)
		g->fields[f] = g->syntax->field(g->handle, field_names[f]);
}

/* The address of a function as dlsym() gives it. */
union entry {
	void *object;
	const void *(*function)(void);
};

static void load_grammar(struct chunker *c, const struct language *l, struct grammar *g)
{
	char symbol[64];
	union entry entry;

	if (!l->rules || !has_runtime(c))
		return;
	*g = (struct grammar){ .syntax = c->syntax, .parser = c->parser, .language = l };
	g->library = open_library(c, l->name);
	if (!g->library)
		return;
	snprintf(symbol, sizeof symbol, "tree_sitter_%s", l->name);
	entry.object = dlsym(g->library, symbol);
	if (!entry.object)
		return;
	g->handle = entry.function();
	if (!c->syntax->is_readable(g->handle))
		g->handle = NULL;
	else
		resolve_rules(g);
}

struct grammar *grammar_of(struct chunker *c, const struct language *l)
{
	size_t i = (size_t)(l - languages);

	if (!c->tried[i]) {
		c->tried[i] = true;
		load_grammar(c, l, &c->grammars[i]);
	}
	return c->grammars[i].handle ? &c->grammars[i] : NULL;
}

const char *const *chunker_grammars(struct chunker *c)
{
	char path[FS_PATH];
	size_t n = 0;

	if (path_of(c, "runtime", path) && access(path, R_OK) == 0)
		for (size_t i = 0; i < nlanguages; i++)
			if (languages[i].rules && path_of(c, languages[i].name, path) && access(path, R_OK) == 0)
				c->names[n++] = languages[i].name;
	c->names[n] = NULL;
	return c->names;
}
