/* describe: the text of a descriptor becomes a struct descriptor. Whoever writes one is told what is wrong with it and
 * where; nothing is guessed. */
#include <errno.h>

#include "guard/descriptor.h"

struct reading {
	struct arena *a;
	str text;
	struct err *err;
	struct descriptor *d;
};

static int wrong(struct reading *r, const struct json *v, const char *what, str shown)
{
	unsigned line = 0, col = 0;

	json_locate(r->text, v->begin, &line, &col);
	return err_set_at(r->err, -EINVAL, line, col, "%s: '" STR_FMT "'", what, STR_ARG(str_cut_utf8(shown, 60)));
}

static str text_of(struct reading *r, const struct json *v)
{
	return v->type == JSON_STRING ? arena_str(r->a, v->text) : STR_NONE;
}

static int take_text(struct reading *r, const struct json *v, const char **ret)
{
	if (v->type != JSON_STRING)
		return wrong(r, v, "this must be a text", v->key);
	*ret = arena_cstr(r->a, v->text);
	return 0;
}

/* -- roles ------------------------------------------------------------------------------------- */

static const char *const role_names[ROLE_MAX] = {
	[ROLE_VALUE] = "value",
	[ROLE_DIRECTORY] = "directory",
	[ROLE_ASSIGNMENTS] = "assignments",
	[ROLE_COMMAND] = "command",
	[ROLE_SHELL] = "shell",
	[ROLE_WORDS] = "words",
	[ROLE_CODE] = "code",
	[ROLE_SQL] = "sql",
	[ROLE_SQL_FILE] = "sql-file",
	[ROLE_READS] = "reads",
	[ROLE_WRITES] = "writes",
	[ROLE_EDITS] = "edits",
	[ROLE_DELETES] = "deletes",
	[ROLE_TREE] = "tree",
	[ROLE_SENDS] = "sends",
};

/* "code python": the language stands behind it. */
static int take_role(struct reading *r, const struct json *v, str text, struct role_use *ret)
{
	str word, rest = text;
	bool more = str_split(&rest, ' ', &word) && rest.n;

	for (enum role role = 0; role < ROLE_MAX; role++) {
		if (!str_eq(word, str_of(role_names[role])))
			continue;
		if (more != (role == ROLE_CODE))
			return wrong(r, v, role == ROLE_CODE ? "this needs a language" : "nothing may stand behind it",
				text);
		*ret = (struct role_use){ role, role == ROLE_CODE ? arena_str(r->a, rest) : STR_NONE };
		return 0;
	}
	return wrong(r, v, "there is no such role", text);
}

/* -- options ----------------------------------------------------------------------------------- */

static int take_spelling(struct reading *r, const struct json *v, str word, struct form *f, struct role_use use)
{
	struct option_use *o = &f->options[f->noptions];

	if (f->noptions == DESCRIPTOR_OPTIONS)
		return wrong(r, v, "there are too many options", word);
	if (word.n == 2 && word.p[0] == '-' && word.p[1] != '-')
		*o = (struct option_use){ .letter = word.p[1], .use = use };
	else if (word.n > 3 && str_starts(word, STR("--")))
		*o = (struct option_use){ .name = arena_str(r->a, str_from(word, 2)), .use = use };
	else if (word.n > 2 && word.p[0] == '-')
		*o = (struct option_use){ .name = arena_str(r->a, str_from(word, 1)), .use = use };
	else
		return wrong(r, v, "an option begins with a dash", word);
	f->noptions++;
	return 0;
}

static void add_spellings(const struct form *f, struct text *shorts, struct text *longs)
{
	for (size_t i = 0; i < f->noptions; i++) {
		const struct option_use *o = &f->options[i];

		if (o->use.role == ROLE_COMMAND) /* what follows is no value, but all the rest */
			continue;
		if (o->letter) {
			text_char(shorts, o->letter);
			continue;
		}
		if (longs->n)
			text_char(longs, ' ');
		text_add(longs, o->name);
	}
}

/* What takes a value, as struct args wants to be told. Options of the program are options of each of its forms. */
static void list_spellings(struct reading *r, struct form *f)
{
	struct text shorts = { .a = r->a }, longs = { .a = r->a };

	add_spellings(f, &shorts, &longs);
	if (f != &r->d->base)
		add_spellings(&r->d->base, &shorts, &longs);
	f->shorts = arena_cstr(r->a, text_str(&shorts));
	f->longs = arena_cstr(r->a, text_str(&longs));
}

static int take_spellings(struct reading *r, const struct json *v, struct form *f, struct role_use use)
{
	str rest = text_of(r, v), word;
	int e = v->type == JSON_STRING ? 0 : wrong(r, v, "options are texts, such as -u --user", v->key);

	while (e == 0 && str_split(&rest, ' ', &word))
		e = word.n ? take_spelling(r, v, word, f, use) : 0;
	return e;
}

/* "value": "-u --user", or a list of such texts */
static int take_options(struct reading *r, const struct json *v, struct form *f)
{
	if (v->type != JSON_OBJECT)
		return wrong(r, v, "options must be an object", v->key);
	f->options = arena_alloc(r->a, DESCRIPTOR_OPTIONS * sizeof *f->options);
	json_each(m, v) {
		struct role_use use;
		int e = take_role(r, m, arena_str(r->a, m->key), &use);

		if (e == 0 && m->type != JSON_ARRAY)
			e = take_spellings(r, m, f, use);
		json_each(one, m)
			e = e < 0 ? e : take_spellings(r, one, f, use);
		if (e < 0)
			return e;
	}
	return 0;
}

/* -- forms ------------------------------------------------------------------------------------- */

static int take_operands(struct reading *r, const struct json *v, struct form *f)
{
	if (v->type != JSON_ARRAY || v->count > DESCRIPTOR_OPERANDS)
		return wrong(r, v, "operands must be a short list", v->key);
	if (f->operands)
		return wrong(r, v, "this is said twice", v->key);
	f->operands = arena_alloc(r->a, v->count * sizeof *f->operands);
	json_each(m, v) {
		str text = text_of(r, m);
		int e;

		if (f->goes_on)
			return wrong(r, m, "nothing may stand behind '...'", text);
		f->goes_on = str_ends(text, STR("..."));
		e = take_role(r, m, f->goes_on ? str_head(text, text.n - 3) : text, &f->operands[f->noperands++]);
		if (e < 0)
			return e;
	}
	return 0;
}

static int take_as(struct reading *r, const struct json *v, struct form *f)
{
	str text = text_of(r, v);

	if (str_eq(text, STR("root")))
		f->as |= AS_ROOT;
	else if (str_eq(text, STR("remote")))
		f->as |= AS_REMOTE;
	else
		return wrong(r, v, "'as' is root or remote, not", text);
	return 0;
}

static int take_form_flag(struct reading *r, const struct json *v, const char *said, bool *ret)
{
	if (!str_eq(text_of(r, v), str_of(said)))
		return wrong(r, v, "this is not known here", text_of(r, v));
	*ret = true;
	return 0;
}

/* Members that the whole descriptor and each of its forms may have. 1: it is none of them. */
static int take_form_member(struct reading *r, const struct json *m, struct form *f)
{
	if (str_eq(m->key, STR("options")))
		return take_options(r, m, f);
	if (str_eq(m->key, STR("operands")))
		return take_operands(r, m, f);
	if (str_eq(m->key, STR("input")))
		return take_role(r, m, text_of(r, m), &f->input);
	if (str_eq(m->key, STR("input_when")))
		return take_text(r, m, &f->input_when);
	if (str_eq(m->key, STR("as")))
		return take_as(r, m, f);
	if (str_eq(m->key, STR("options_end")))
		return take_form_flag(r, m, "at the first operand", &f->posix);
	if (str_eq(m->key, STR("long_options")))
		return take_form_flag(r, m, "one dash", &f->single);
	if (str_eq(m->key, STR("behind_dashes")))
		return take_form_flag(r, m, "command", &f->behind_dashes);
	return 1;
}

static int take_form(struct reading *r, const struct json *v, struct form *f)
{
	*f = (struct form){ .posix = r->d->base.posix, .single = r->d->base.single };
	if (v->type != JSON_OBJECT)
		return wrong(r, v, "a form must be an object", v->key);
	json_each(m, v) {
		int e = str_eq(m->key, STR("when")) ? take_text(r, m, &f->when) : take_form_member(r, m, f);

		if (e)
			return e < 0 ? e : wrong(r, m, "a form knows no such member", m->key);
	}
	if (!f->when)
		return wrong(r, v, "a form needs", STR("when"));
	list_spellings(r, f);
	return 0;
}

static int take_forms(struct reading *r, const struct json *v)
{
	struct descriptor *d = r->d;

	if (v->type != JSON_ARRAY || v->count > DESCRIPTOR_FORMS)
		return wrong(r, v, "forms must be a list of at most 16", v->key);
	d->forms = arena_alloc(r->a, v->count * sizeof *d->forms);
	json_each(m, v) {
		int e = take_form(r, m, &d->forms[d->nforms++]);

		if (e < 0)
			return e;
	}
	return 0;
}

/* -- rules ------------------------------------------------------------------------------------- */

static int find_rule(struct reading *r, const struct json *v, enum rule *ret)
{
	for (enum rule rule = 0; rule < RULE_MAX; rule++)
		if (v->type == JSON_STRING && str_eq(v->text, str_of(guard_rules[rule].name))) {
			*ret = rule;
			return 0;
		}
	return wrong(r, v, "there is no rule (hookd rules lists them)", text_of(r, v));
}

static int find_decision(struct reading *r, const struct json *v, enum verdict_action *ret)
{
	str text = text_of(r, v);

	*ret = str_eq(text, STR("deny")) ? VERDICT_DENY : str_eq(text, STR("ask")) ? VERDICT_ASK : VERDICT_NONE;
	return *ret ? 0 : wrong(r, v, "a decision is deny or ask, not", text);
}

static int take_rule(struct reading *r, const struct json *v, struct program_rule *ret)
{
	const struct json *seen = NULL;

	*ret = (struct program_rule){ .when = "", .rule = RULE_MAX };
	json_each(m, v) {
		int e = str_eq(m->key, STR("when"))       ? take_text(r, m, &ret->when)
			: str_eq(m->key, STR("rule"))     ? find_rule(r, m, &ret->rule)
			: str_eq(m->key, STR("decision")) ? find_decision(r, m, &ret->action)
			: str_eq(m->key, STR("reason"))   ? take_text(r, m, &ret->reason)
							  : wrong(r, m, "a rule knows no such member", m->key);

		if (e < 0)
			return e;
		seen = m;
	}
	if (!seen || ret->rule == RULE_MAX || !ret->action || !ret->reason)
		return wrong(r, v, "a rule needs rule, decision and", STR("reason"));
	return 0;
}

static int take_rules(struct reading *r, const struct json *v)
{
	struct descriptor *d = r->d;

	if (v->type != JSON_ARRAY || v->count > DESCRIPTOR_RULES)
		return wrong(r, v, "rules must be a list of at most 64", v->key);
	d->rules = arena_alloc(r->a, v->count * sizeof *d->rules);
	json_each(m, v) {
		int e = take_rule(r, m, &d->rules[d->nrules++]);

		if (e < 0)
			return e;
	}
	return 0;
}

/* -- the whole --------------------------------------------------------------------------------- */

static int take_names(struct reading *r, const struct json *v)
{
	json_each(m, v) {
		if (m->type != JSON_STRING || !m->text.n || m->text.n > 64 || str_find_char(m->text, '/') >= 0)
			return wrong(r, m, "this is no name of a program", text_of(r, m));
		fields_add(r->a, &r->d->names, arena_str(r->a, m->text));
	}
	return v->type == JSON_ARRAY && r->d->names.n ? 0 : wrong(r, v, "names must be a list", v->key);
}

static int take_handlers(struct reading *r, const struct json *v)
{
	struct descriptor *d = r->d;

	json_each(m, v) {
		const struct handler *h = handler_of(text_of(r, m));

		if (!h)
			return wrong(r, m, "nothing in C has this name", text_of(r, m));
		if (d->nhandlers == DESCRIPTOR_HANDLERS)
			return wrong(r, m, "there are too many", text_of(r, m));
		d->handlers[d->nhandlers++] = h;
	}
	return v->type == JSON_ARRAY ? 0 : wrong(r, v, "read_by must be a list", v->key);
}

static int take_touch(struct reading *r, const struct json *v)
{
	str text = text_of(r, v);

	if (str_eq(text, STR("shows")))
		r->d->touch = TOUCH_SHOWS;
	else if (str_eq(text, STR("uses")))
		r->d->touch = TOUCH_USES;
	else
		return wrong(r, v, "files are shown or used: shows, uses, not", text);
	return 0;
}

static int take_member(struct reading *r, const struct json *m)
{
	int e = take_form_member(r, m, &r->d->base);

	if (e <= 0)
		return e;
	if (str_eq(m->key, STR("names")))
		return take_names(r, m);
	if (str_eq(m->key, STR("read_by")))
		return take_handlers(r, m);
	if (str_eq(m->key, STR("files")))
		return take_touch(r, m);
	if (str_eq(m->key, STR("first_operand")))
		return take_form_flag(r, m, "pattern", &r->d->pattern_first);
	if (str_eq(m->key, STR("rules")))
		return take_rules(r, m);
	if (str_in(m->key, "forms about examples"))
		return 0; /* forms come last, because they have the options of the whole; the others are for people */
	return wrong(r, m, "a descriptor knows no such member", m->key);
}

int descriptor_take(struct arena *a, str text, const struct json *root, struct descriptor *ret, struct err *err)
{
	struct reading r = { .a = a, .text = text, .err = err, .d = ret };
	int e;

	*ret = (struct descriptor){ 0 };
	if (root->type != JSON_OBJECT)
		return wrong(&r, root, "a descriptor must be an object", STR_NONE);
	json_each(m, root)
		if ((e = take_member(&r, m)) < 0)
			return e;
	if (!ret->names.n)
		return wrong(&r, root, "a descriptor needs", STR("names"));
	list_spellings(&r, &ret->base);
	return json_get(root, STR("forms")) ? take_forms(&r, json_get(root, STR("forms"))) : 0;
}

int descriptor_read(struct arena *a, str text, struct descriptor *ret, struct err *err)
{
	struct json *root;
	int e = json_parse(a, text, JSON_COMMENTS, &root, err);

	return e < 0 ? e : descriptor_take(a, text, root, ret, err);
}
