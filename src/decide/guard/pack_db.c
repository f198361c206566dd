/* pack_db: clients of databases whose languages are not SQL. */
#include "guard/descriptor.h"

/* -- databases of tests ----------------------------------------------------------------------- */

static bool is_test_name(str name)
{
	return str_find_char(name, '/') < 0 &&
		glob_any(name,
			"test testing *_test test_* *-test test-* *_test[0-9] *_test[-_][0-9] *_testing :memory:");
}

static bool is_this_host(str host)
{
	return !host.n || str_in(host, "localhost 127.0.0.1 [::1] ::1") || host.p[0] == '/';
}

/* scheme://user@host:port/name?… */
static bool is_test_url(str url)
{
	ptrdiff_t at = str_find(url, STR("://")), slash;
	str host, name, rest;

	if (at < 0)
		return false;
	rest = str_from(url, (size_t)at + 3);
	if ((slash = str_find_char(rest, '/')) < 0)
		return false;
	host = str_head(rest, (size_t)slash);
	name = str_from(rest, (size_t)slash + 1);
	if ((at = str_find_char(host, '@')) >= 0)
		host = str_from(host, (size_t)at + 1);
	rest = host;
	(void)str_split(&rest, ':', &host);
	rest = name;
	(void)str_split(&rest, '?', &name);
	return is_this_host(host) && is_test_name(name);
}

/* The environment that a framework takes its database from says test. */
static bool is_test_environment(struct run *x, const struct cmd *c)
{
	static const char *const names[] = { "RAILS_ENV", "RACK_ENV", "MIX_ENV", "NODE_ENV", "APP_ENV" };
	const struct fact *url = fact_find(x, x->st.facts, FACT_VAR, STR("DATABASE_URL"));

	if (url)
		return is_test_url(url->value);
	if (!str_in(c->name, "rails rake mix knex sequelize sequelize-cli artisan console"))
		return false; /* others do not look at these */
	for (size_t i = 0; i < countof(names); i++) {
		const struct fact *f = fact_find(x, x->st.facts, FACT_VAR, str_of(names[i]));

		if (f && str_in(f->value, "test testing"))
			return true;
	}
	return false;
}

/* Nothing in it is missed: it is that of tests, of this machine, or of a container that is thrown away. statement: the
 * name that the statement itself gives, or STR_NONE. */
bool is_scratch_database(struct run *x, const struct cmd *c, str statement)
{
	struct args it;
	struct arg a;
	str name = statement;

	if (x->contained && !x->mounts)
		return true;
	if (!c || x->remote)
		return false;
	if (!name.n && is_test_environment(x, c))
		return true;
	if (!str_in(c->name, "psql mysql mariadb dropdb sqlite3 sqlite mysqladmin pgcli mycli"))
		return false;
	it = args_of(c);
	while (args_next(&it, &a)) {
		if (arg_is(&a, 'h', "host") && !is_this_host(a.value))
			return false;
		if (!statement.n &&
			(arg_is(&a, 'd', "dbname") || arg_is(&a, 'D', "database") || (a.operand && !name.n)))
			name = a.value;
		if (str_find(a.value, STR("://")) > 0 && !is_test_url(a.value) && statement.n)
			return false;
	}
	if (str_in(c->name, "sqlite3 sqlite"))
		return name.n &&
			(place_of(x, path_resolve(x, name)) == PLACE_TEMP ||
				glob_any(str_base(name), "test.* *_test.* test_*.* *.test.db *-test.*"));
	return name.n && (is_test_name(name) || is_test_url(name));
}

/* -- clients ---------------------------------------------------------------------------------- */

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
