/* pack_db: clients of databases whose languages are not SQL. */
#include "guard/internal.h"

/* A database that ends with the program: only what leaves it counts. */
static void in_memory(struct run *x, struct cmd *c)
{
	str in = c->in, line;

	for (size_t i = 1; i < c->n; i++)
		if (str_starts(c->v[i], STR(".shell ")) || str_starts(c->v[i], STR(".system ")))
			judge_sql(x, c, c->v[i]);
	while (in.n && str_split(&in, '\n', &line))
		if (line.n && line.p[0] == '.')
			judge_sql(x, c, line);
}

static void do_sqlite(struct run *x, struct cmd *c)
{
	str last = c->v[c->n - 1];

	for (size_t i = 1; i < c->n; i++)
		if (str_in(c->v[i], ":memory: file::memory:")) {
			in_memory(x, c);
			return;
		}
	if (c->n > 1 && str_starts(last, STR(".shell")))
		(void)run_child_text(x, str_from(last, 6), STR_NONE);
}

static void do_mongo(struct run *x, struct cmd *c)
{
	str code = cmd_value(c, "", 0, "eval");
	const char *worst = NULL;

	if (!str_is_set(code))
		code = str_is_set(c->in) ? c->in : STR("");
	if (str_has(code, "dropDatabase(") || str_has(code, ".drop(") || str_has(code, "dropCollection("))
		worst = "this drops a database or collection";
	else if (str_has(code, "deleteMany({})") || str_has(code, ".remove({})") || str_has(code, "deleteMany( {} )") ||
		str_has(code, "deleteMany()"))
		worst = "this deletes every document of a collection";
	else if (str_has(code, "dropUser") || str_has(code, "dropIndexes") || str_has(code, "shutdownServer"))
		worst = "this changes the database server";
	if (worst)
		FAULT(x, c, RULE_DB, VERDICT_DENY, "%s", worst);
}

static void do_redis(struct run *x, struct cmd *c)
{
	struct args it = { .c = c, .shorts = "hpsanurid", .longs = "user pass", .posix = true };
	struct arg a;
	str word = STR_NONE;

	while (args_next(&it, &a))
		if (a.operand) {
			word = a.value;
			break;
		}
	if (!str_is_set(word) && str_is_set(c->in)) {
		judge_sql(x, c, c->in);
		return;
	}
	if (str_in_nocase(word, "flushall flushdb"))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this empties the database");
	else if (str_in_nocase(word, "shutdown swapdb debug slaveof replicaof"))
		FAULT(x, c, RULE_DB, VERDICT_ASK, "this changes the database server");
	else if (str_in_nocase(word, "del unlink") && it.i < c->n && has_mark(c->v[it.i], MARKS_ANY))
		FAULT(x, c, RULE_DB, VERDICT_ASK, "this deletes keys that are only known when it runs");
	else if (str_in_nocase(word, "eval") && it.i < c->n &&
		(str_has_nocase(c->v[it.i], "flushall") || str_has_nocase(c->v[it.i], "flushdb")))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this empties the database");
	else if (str_in_nocase(word, "config") && it.i + 1 < c->n && str_in_nocase(c->v[it.i], "set") &&
		str_in_nocase(c->v[it.i + 1], "dir dbfilename"))
		FAULT(x, c, RULE_DB, VERDICT_DENY, "this makes the server write files elsewhere");
}

const struct handler pack_db[] = {
	{ "sqlite", do_sqlite },
	{ "mongo", do_mongo },
	{ "redis", do_redis },
	{ 0 },
};
