/* pack_db: database clients, and the tools of frameworks that drop databases. */
#include "guard/internal.h"

static const struct client {
	const char *names, *shorts, *longs;
	const char *letters, *options; /* whose values are statements */
	const char *file_letters, *file_options;
	bool operand; /* the last operand is a statement too */
} clients[] = {
	{ "psql pgcli cockroach", "cfdhpUvoFRTLPsn",
		"command file dbname host port username set output field-separator execute url", "ce",
		"command execute", "f", "file", false },
	{ "mysql mariadb mycli mysqlsh", "ehPuSDp", "execute host port user socket database", "e", "execute", "", "",
		false },
	{ "sqlite3 sqlite litecli", "", "init separator cmd", "", "cmd", "", "init", true },
	{ "duckdb", "c", "init", "cs", "cmd", "f", "init", true },
	{ "sqlcmd", "SUPdQqiohHtwsv", "", "Qq", "query", "i", "input-file", false },
	{ "cqlsh", "euptkf", "execute username password file", "e", "execute", "f", "file", false },
	{ "clickhouse-client clickhouse", "qdhu", "query host user password database port queries-file", "q", "query",
		"", "queries-file", false },
	{ "bq", "", "project_id dataset_id location", "", "", "", "", true },
	{ "snowsql", "qacudhwrsf", "query filename", "q", "query", "f", "filename", false },
	{ "presto trino", "", "execute server catalog schema file", "", "execute", "f", "file", false },
	{ "sqlplus", "", "", "", "", "", "", false },
	{ "usql isql osql", "cf", "command file", "c", "command", "f", "file", false },
	{ "hive beeline spark-sql impala-shell", "eqfuni", "", "eq", "query", "f", "file", false },
	{ "wp", "", "", "", "", "", "", true },
	{ "db2", "", "", "", "", "", "", true },
};

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

static void do_client(struct run *x, struct cmd *c)
{
	const struct client *k = clients;
	struct args it;
	str last = STR_NONE;
	struct arg a;

	while (!str_in(c->name, k->names))
		k++;
	for (size_t i = 1; i < c->n; i++)
		if (str_in(c->v[i], ":memory: file::memory:")) {
			in_memory(x, c);
			return;
		}
	it = (struct args){ .c = c, .shorts = k->shorts, .longs = k->longs };
	it.single = str_in(c->name, "sqlite3 sqlite duckdb");
	while (args_next(&it, &a)) {
		if (a.operand) {
			last = a.value;
			if (k->operand && it.i - 1 > 1)
				judge_sql(x, c, a.value);
			continue;
		}
		if (!str_is_set(a.value))
			continue;
		if ((a.letter && strchr(k->letters, a.letter)) || arg_is(&a, 0, k->options))
			judge_sql(x, c, a.value);
		else if ((a.letter && strchr(k->file_letters, a.letter)) || arg_is(&a, 0, k->file_options))
			judge_sql(x, c, fs_content(x, path_resolve(x, a.value)));
	}
	if (str_in(c->name, "sqlite3 sqlite") && str_starts(last, STR(".shell")))
		(void)run_child_text(x, str_from(last, 6), STR_NONE);
	if (str_is_set(c->in))
		judge_sql(x, c, c->in);
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

const struct program pack_db[] = {
	{ "psql pgcli cockroach mysql mariadb mycli mysqlsh sqlite3 sqlite litecli duckdb sqlcmd "
	  "cqlsh clickhouse-client clickhouse bq snowsql presto trino sqlplus usql isql "
	  "osql hive beeline spark-sql impala-shell wp db2",
		do_client },
	{ "mongosh mongo mongo-shell", do_mongo },
	{ "redis-cli valkey-cli keydb-cli", do_redis },
	{ 0 },
};

const struct row rows_db[] = {
	{ "dropdb dropuser pg_dropcluster", "!--help", RULE_DB, VERDICT_DENY, "this drops a database or user" },
	{ "mysqladmin mariadb-admin", ".. drop", RULE_DB, VERDICT_DENY, "this drops a database" },
	{ "mysqladmin mariadb-admin", ".. shutdown", RULE_SERVICE, VERDICT_ASK, "this stops the database server" },
	{ "rails rake bin/rails spring",
		".. "
		"db:drop|db:drop:*|db:reset|db:purge|db:migrate:reset|db:schema:load|db:structure:"
		"load|db:truncate_all|db:wipe",
		RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "rails rake spring", ".. db:rollback|db:migrate:down|db:setup|db:seed:replant", RULE_DB, VERDICT_ASK,
		"this takes parts of the schema away" },
	{ "prisma", "migrate reset", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "prisma", "db push --force-reset|--accept-data-loss", RULE_DB, VERDICT_DENY,
		"this drops data to change the schema" },
	{ "alembic flask", ".. downgrade", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "php artisan", ".. migrate:fresh|migrate:reset|migrate:refresh|db:wipe", RULE_DB, VERDICT_DENY,
		"this drops the tables" },
	{ "php artisan", ".. migrate:rollback", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "php console bin/console symfony", ".. doctrine:database:drop|doctrine:schema:drop|d:d:d", RULE_DB,
		VERDICT_DENY, "this drops the database" },
	{ "python python3 manage.py django-admin ./manage.py", ".. flush|reset_db|sqlflush_x", RULE_DB, VERDICT_NONE,
		"" },
	{ "manage.py django-admin", ".. flush|reset_db", RULE_DB, VERDICT_DENY, "this empties the database" },
	{ "python python3", "manage.py|*/manage.py flush|reset_db", RULE_DB, VERDICT_DENY,
		"this empties the database" },
	{ "python python3", "manage.py|*/manage.py migrate .. zero", RULE_DB, VERDICT_ASK,
		"this takes the schema away" },
	{ "sequelize sequelize-cli", ".. db:drop", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "sequelize sequelize-cli", ".. db:migrate:undo|db:migrate:undo:all|db:seed:undo:all", RULE_DB, VERDICT_ASK,
		"this takes parts of the schema away" },
	{ "knex", "migrate:rollback|migrate:down", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "typeorm typeorm-ts-node-commonjs", "schema:drop", RULE_DB, VERDICT_DENY, "this drops the schema" },
	{ "typeorm", "migration:revert", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "flyway", ".. clean", RULE_DB, VERDICT_DENY, "this drops everything in the schema" },
	{ "liquibase", ".. dropAll|drop-all", RULE_DB, VERDICT_DENY, "this drops everything in the schema" },
	{ "liquibase", ".. rollback*", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "mix", "ecto.drop|ecto.reset", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "mix", "ecto.rollback", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "supabase", "db reset", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "supabase", "projects delete", RULE_CLOUD, VERDICT_DENY, "this deletes a project with its database" },
	{ "diesel", "database reset|drop", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "diesel", "migration revert|redo", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "sqlx", "database drop|reset", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "dbmate", ".. drop", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "goose", ".. reset|down-to|down", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "migrate", ".. drop", RULE_DB, VERDICT_DENY, "this drops everything in the database" },
	{ "migrate", ".. down", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "drizzle-kit", "drop", RULE_DB, VERDICT_ASK, "this drops migrations" },
	{ "drizzle-kit", "push --force", RULE_DB, VERDICT_ASK, "this may drop data to change the schema" },
	{ "hasura", "migrate|metadata .. clear|down", RULE_DB, VERDICT_ASK, "this takes parts of the schema away" },
	{ "pg_restore", "-c|--clean", RULE_DB, VERDICT_ASK, "this drops what is there before it restores" },
	{ "mongorestore", "--drop", RULE_DB, VERDICT_ASK, "this drops collections before it restores" },
	{ "etcdctl", ".. del --prefix|--from-key", RULE_DB, VERDICT_DENY, "this deletes many keys" },
	{ "etcdctl", ".. del", RULE_DB, VERDICT_ASK, "this deletes a key" },
	{ "consul", "kv delete -recurse|--recurse", RULE_DB, VERDICT_DENY, "this deletes many keys" },
	{ "influx", ".. delete|drop", RULE_DB, VERDICT_DENY, "this deletes data" },
	{ "bq", ".. rm", RULE_DB, VERDICT_DENY, "this deletes a table or data set" },
	{ "kafka-topics kafka-topics.sh", "--delete", RULE_DB, VERDICT_DENY, "this deletes a topic with its messages" },
	{ "rabbitmqctl", ".. reset|force_reset|delete_vhost|delete_queue|purge_queue", RULE_DB, VERDICT_DENY,
		"this deletes queues with their messages" },
	{ "nodetool", ".. decommission|removenode", RULE_DB, VERDICT_ASK, "this takes a node out of the cluster" },
	{ "wp", "db drop|reset|clean", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "drush", "sql-drop|sql:drop|site:install", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "pscale", "database|branch delete", RULE_DB, VERDICT_DENY, "this deletes a database" },
	{ "neonctl neon", "projects|branches|databases delete", RULE_DB, VERDICT_DENY, "this deletes a database" },
	{ "turso", "db destroy", RULE_DB, VERDICT_DENY, "this deletes a database" },
	{ "dotnet", "ef database drop", RULE_DB, VERDICT_DENY, "this drops the database" },
	{ "dynamodb", "delete-table", RULE_DB, VERDICT_DENY, "this deletes a table" },
	{ 0 },
};
