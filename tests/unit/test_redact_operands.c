/* Passwords that only the program they are given to can tell from other operands, columns of tables, and names in other
 * languages: a row each, with the secret in place of '#'; and rows like them that must be left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "redact/internal.h"

static const char *const commands[] = {
	"sqlcmd -S srv -U sa -P # -Q 'select 1'",
	"sqlcmd -S srv -U sa -P# -Q x",
	"7z a -p# out.7z dir",
	"/usr/bin/7za x -p'#' in.7z",
	"rar a -hp# x.rar d",
	"twine upload -u me -p # dist/*",
	"cd x && twine upload -u me -p \"#\" dist/*",
	"cqlsh -u cassandra -p # host",
	"sudo ipmitool -I lanplus -H h -U admin -P # power status",
	"mosquitto_pub -h h -u me -P # -t t -m m",
	"docker exec -it broker mosquitto_sub -u me -P # -t t",
	"rabbitmqctl add_user bob #",
	"kubectl exec -n mq pod/mq-0 -- rabbitmqctl change_password bob #",
	"ssh host 'rabbitmqctl add_user bob #'",
	"bash -lc \"rabbitmqctl add_user bob '#'\"",
	"mysqladmin -u root password #",
	"lftp -u me,# ftp://h",
	"rpcclient -U me%# h",
	"xfreerdp /v:h /u:me /p:#",
	"sqlplus me/#@db",
	"nmcli dev wifi connect NET password #",
	"wpa_passphrase NET #",
	"http -a me:# example.org",
	"ssh-keygen -t rsa -N # -f k",
	"pdftk a.pdf output b.pdf user_pw #",
	"impacket-psexec me:#@h",
	"security add-generic-password -a me -s x -w #",
	"bw login me@example.org #",
	"db2 connect to d user me using #",
	"mc alias set m http://h me #",
	"kinit me <<< #",
	"echo # | su - bob",
	"echo '#' | pass insert -e x",
	"sudo -S <<< #",
	"requirepass #",
	"bindpw #",
	"$ sqlcmd -P #",
	"+ sqlcmd -P #",
	"if sqlcmd -P # ; then x; fi",
	"set -e\nsqlcmd -S srv \\\n  -U sa \\\n  -P # \\\n  -Q x\n",
	"#!/bin/sh\nset -e\nrabbitmqctl add_user bob #\n",
	"  run: twine upload -p # dist/*",
	"PsExec.exe -u me -p # \\\\h cmd",
};

static const char *const texts[] = {
	"user,password,age\nbob,#,4\neve,#,5\n",
	"id;login;password\n1;bob;#\n",
	"user\ttoken\nbob\t#\n",
	"\"user\",\"Password\"\n\"bob\",\"#\"\n",
	"| user | password |\n|---|---|\n| bob | # |\n| eve | # |\n",
	"| Name | API token | Since |\n|:--|:-:|--:|\n| ci | `#` | 2024 |\n",
	" user | password \n------+----------\n bob  | #\n(1 row)\n",
	"+------+----------+\n| user | password |\n+------+----------+\n| bob  | # |\n+------+----------+\n",
	"these are the users:\n\nuser,password\nbob,#\n\nthat is all\n",
	"kind: Secret\nstringData:\n  thing: #\n  other: '#'\n",
	"apiVersion: v1\ndata:\n  thing: #\nmetadata:\n  name: x\nkind: Secret\ntype: Opaque\n",
	"<key>password</key>\n\t<string>#</string>",
	"Generated password for bob: #",
	"A temporary password is generated for root@localhost: #\n",
	"SET PASSWORD FOR bob = '#';",
	"setx DB_PASSWORD #",
	"set -x MYSQL_PWD #",
	"pw: #",
	"Kennwort = #",
	"contraseña: #",
	"mot de passe : #",
	"mdp=#",
	"senha=#",
	"wachtwoord: #",
	"пароль: #",
	"密码：#",
	"パスワード：#",
	"hasło: #",
	"비밀번호: #",
	"{\"contraseña\": \"#\"}",
};

static const char *const ordinary[] = {
	"mkdir -p build/output",
	"ssh -p 2222 host",
	"docker run -p 8080:80 nginx",
	"7z x archive.7z -ooutput",
	"7z a -mx9 backup.7z folder",
	"mosquitto_sub -h host -p 1883 -t sensors/kitchen",
	"sqlcmd -S server -Q \"select name from sys.tables\"",
	"sqlcmd -P \"$PASSWORD\"",
	"sqlcmd -P ${PASSWORD} -Q x",
	"twine check dist/package.whl",
	"twine upload -p \"$TWINE_PASSWORD\" dist/*",
	"rabbitmqctl list_users --quiet",
	"rabbitmqctl add_user bob \"$PW\"",
	"mysqladmin -u root status extended",
	"man sqlcmd -P something",
	"net user growth increased",
	"http -a readers example.org",
	"echo hello | cat",
	"echo notes | tee file",
	"ssh-keygen -t ed25519 -f keyfile -C comment",
	"openssl enc -aes-256-cbc -kfile secretfile -in a",
	"gh secret list --repo owner/name",
	"use rabbitmqctl to list the users",
	"the -P option of sqlcmd takes the password",
	"it's -P that counts, isn't it",
	"| model | tokens | cost |\n|---|---|---|\n| small | 15321 | 0.12 |\n",
	"| field | type |\n|---|---|\n| password | string |\n| token | identifier |\n",
	"id,password_changed_at\n1,2024-01-31\n",
	"token_count,ratio\n1532,0.75\n",
	"name,token_type\nalpha,bearer\n",
	"user, password, age\nare the three columns of it\n",
	"call(user, password, age);\ncall(alpha, betagamma, delta);\n",
	"the token, a secret\nmatters, greatly2so\n",
	"kind: ConfigMap\ndata:\n  thing: somevalue12\n---\nkind: Secret\nmetadata:\n  name: mysecret12\n",
	"pw = getpwnam(user);",
	"the password for user postgres: required\n",
	"password for this step: see chapter 12\n",
	"set -x\nPATHS value1234x",
	"clave: valor1234",
	"Kennwort vergessen? Dann hier",
	"la parola: contraseña requerida",
	"x = y ? -p : -P;\n",
};

static str cleaned(struct redactor *r, struct arena *a, const char *row, const char *secret)
{
	struct buf b;
	str text;

	buf_init(&b, KIB(64));
	for (; *row; row++)
		if (*row == '#' && row[1] != '!')
			buf_add_str(&b, str_of(secret));
		else
			buf_add_char(&b, *row);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return redact_text(r, a, text);
}

static void expect_gone(const char *const *rows, size_t n, const char *secret)
{
	struct redactor *r = redactor_new();
	struct arena a;
	unsigned kept = 0;

	arena_init(&a);
	for (size_t i = 0; i < n; i++) {
		str text = cleaned(r, &a, rows[i], secret);

		if (str_find(text, str_of(secret)) >= 0) {
			print_message("# kept: %.*s\n", (int)text.n, text.p);
			kept++;
		}
	}
	assert_int_equal(kept, 0);
	arena_release(&a);
	redactor_free(r);
}

static void passwords_that_programs_are_given_are_gone(void **state)
{
	expect_gone(commands, countof(commands), "kR7pLm2x9Q");
}

static void columns_and_foreign_names_of_secrets_are_gone(void **state)
{
	expect_gone(texts, countof(texts), "kR7pLm2x9Q");
}

static void rows_like_them_are_left_alone(void **state)
{
	struct redactor *r = redactor_new();
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < countof(ordinary); i++) {
		str text = redact_text(r, &a, str_of(ordinary[i]));

		if (!str_eq(text, str_of(ordinary[i])))
			print_message("# changed: %.*s\n", (int)text.n, text.p);
		assert_true(str_eq(text, str_of(ordinary[i])));
	}
	arena_release(&a);
	redactor_free(r);
}

static void a_password_may_begin_like_a_constant(void **state)
{
	static const char *const rows[] = { "DB_PASSWORD = \"#\"", "password=#", "sqlcmd -P #" };
	static const char *const plain[] = { "password: null", "password = None if x else y", "token=true;",
		"password=nil)" };
	struct redactor *r = redactor_new();
	struct arena a;

	expect_gone(rows, countof(rows), "nilsson1984x");
	expect_gone(rows, countof(rows), "truelove77");
	expect_gone(rows, countof(rows), "Nullpunkt2k");
	arena_init(&a);
	for (size_t i = 0; i < countof(plain); i++)
		assert_true(str_eq(redact_text(r, &a, str_of(plain[i])), str_of(plain[i])));
	arena_release(&a);
	redactor_free(r);
}

/* The same command on a line of a text too long to be read as a whole. */
static void long_texts_are_read_where_lines_have_options(void **state)
{
	struct redactor *r = redactor_new();
	struct arena a;
	struct buf b;
	str text;

	arena_init(&a);
	buf_init(&b, MIB(1));
	for (int i = 0; i < 2000; i++)
		buf_addf(&b, "line %d of a log - nothing in it\n", i);
	buf_add_str(&b, STR("cd /srv && sqlcmd -S srv -P kR7pLm2x9Q -Q x\n"));
	for (int i = 0; i < 2000; i++)
		buf_addf(&b, "line %d of a log - nothing in it\n", i);
	text = redact_text(r, &a, buf_str(&b));
	assert_true(str_find(text, STR("kR7pLm2x9Q")) < 0);
	assert_true(str_find(text, STR("-P [redacted:command-password] -Q x")) > 0);
	buf_release(&b);
	arena_release(&a);
	redactor_free(r);
}

static str record_of(struct redactor *r, struct arena *a, const char *payload)
{
	struct event e = { .kind = EVENT_PRE_TOOL_USE, .raw = str_of(payload) };
	struct record rec;
	struct json *root;

	assert_int_equal(json_parse(a, str_of(payload), JSON_LENIENT_UTF8, &root, NULL), 0);
	e.payload = root;
	redact(r, a, &e, 0, &rec, NULL);
	return rec.payload;
}

static void commands_that_come_as_lists_and_input_that_comes_as_text(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "{\"args\":[\"sqlcmd\",\"-P\",\"kR7pLm2x9Q\",\"-Q\",\"x\"]}",
			"{\"args\":[\"sqlcmd\",\"-P\",\"[redacted:command-password]\",\"-Q\",\"x\"]}" },
		{ "{\"command\":[\"7z\",\"a\",\"-pkR7pLm2x9Q\",\"o.7z\"]}",
			"{\"command\":[\"7z\",\"a\",\"-p[redacted:command-password]\",\"o.7z\"]}" },
		{ "{\"toolArgs\":\"{\\\"command\\\":\\\"sqlcmd -P kR7pLm2x9Q\\\"}\"}",
			"{\"toolArgs\":\"{\\\"command\\\":\\\"sqlcmd -P [redacted:command-password]\\\"}\"}" },
		{ "{\"toolArgs\":\"{ \\\"command\\\" : \\\"ls -la\\\" }\"}",
			"{\"toolArgs\":\"{ \\\"command\\\" : \\\"ls -la\\\" }\"}" },
		{ "{\"paths\":[\"net\",\"user\",\"bob\"]}", "{\"paths\":[\"net\",\"user\",\"bob\"]}" },
	};
	struct redactor *r = redactor_new();
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < countof(rows); i++)
		assert_string_equal(arena_cstr(&a, record_of(r, &a, rows[i].in)), rows[i].out);
	arena_release(&a);
	redactor_free(r);
}

/* What looks like ever more of the same ends, and leaves valid text. */
static void hostile_lines_and_tables(void **state)
{
	static const char *const pieces[] = { "sqlcmd -P ", "'", "\"a b ", "|token|\n|---|\n", "token,token,token\n",
		"-P -P ", "\\\n", "<<<", "sudo ", "net user ", "|", "echo x|", "mdp:", "：", "7z -p", "kind: Secret\n",
		"---\nkind: Secret\ndata:\n a: b\n", "password for : " };
	struct redactor *r = redactor_new();
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < countof(pieces); i++) {
		struct buf b;

		buf_init(&b, MIB(2));
		while (b.len < KIB(256))
			buf_add_str(&b, str_of(pieces[i]));
		assert_true(redact_text(r, &a, buf_str(&b)).n > 0);
		for (size_t n = 1; n < 40; n++)
			assert_true(redact_text(r, &a, str_head(buf_str(&b), n)).n > 0);
		buf_release(&b);
		arena_reset(&a);
	}
	arena_release(&a);
	redactor_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passwords_that_programs_are_given_are_gone),
		cmocka_unit_test(columns_and_foreign_names_of_secrets_are_gone),
		cmocka_unit_test(rows_like_them_are_left_alone),
		cmocka_unit_test(a_password_may_begin_like_a_constant),
		cmocka_unit_test(long_texts_are_read_where_lines_have_options),
		cmocka_unit_test(commands_that_come_as_lists_and_input_that_comes_as_text),
		cmocka_unit_test(hostile_lines_and_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
