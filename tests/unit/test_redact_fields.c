/* A hundred ways to write a secret, each in thirty fields of the agents' payloads; and ten thousand ordinary values,
 * of which at most ten may change. Everything is made when the test runs, from a fixed seed: no file of the
 * repository holds anything that looks like a credential. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "redact/internal.h"
#include "secret_samples.h"

struct format {
	const char *before, *secret, *after;
};

static const struct format formats[] = {
	/* Letters alone, after a name. */
	{ "password=", "{c14}", "" },
	{ "password=", "{s12}", "" },
	{ "connect with password=", "{c14}", " and wait" },
	{ "connect with password=", "{s12}", " and wait" },
	{ "host=db1 user=app password=", "{s10}", " dbname=shop" },
	{ "passwd: ", "{c12}", "" },
	{ "pwd=", "{c12}", "" },
	{ "token=", "{c24}", "" },
	{ "token=", "{s24}", "" },
	{ "use token=", "{c20}", " there" },
	{ "token: ", "{c32}", "" },
	{ "access_token=", "{c28}", "&scope=all" },
	{ "refresh_token=", "{s28}", "" },
	{ "https://api.example.com/v1/items?token=", "{c24}", "" },
	{ "https://api.example.com/v1/items?api_key=", "{s24}", "&page=2" },
	{ "client_secret=", "{c32}", "" },
	{ "client_secret=", "{s32}", "&grant_type=password" },
	{ "grant_type=client_credentials&client_secret=", "{s20}", "" },
	{ "clientSecret: ", "{c30}", "" },
	{ "client-secret = ", "{s30}", "" },
	{ "api_key=", "{c32}", "" },
	{ "x-api-key: ", "{s32}", "" },
	{ "apikey=", "{c24}", "; rest" },
	{ "auth_token = ", "{c24}", "" },
	{ "AUTH_TOKEN=", "{c24}", "" },
	{ "SECRET_KEY=", "{s40}", "" },
	{ "export DB_PASSWORD=", "{s10}", "" },
	{ "--password ", "{s10}", " --host x" },
	{ "--token=", "{c24}", "" },
	{ "--client-secret ", "{c24}", "" },
	{ "{\"token\": \"", "{c24}", "\"}" },
	{ "{\"password\": \"", "{s9}", "\"}" },
	{ "{'client_secret': '", "{s24}", "'}" },
	{ "token = \"", "{c20}", "\"" },
	{ "const token = '", "{s24}", "';" },
	{ "secret: \"", "{s18}", "\"" },
	{ "signing_key: ", "{c32}", "" },
	{ "encryption_key=", "{c32}", "" },
	{ "private_token=", "{s20}", "" },
	{ "session_secret=", "{c32}", "" },
	{ "webhook_secret: ", "{c32}", "" },
	{ "passphrase: ", "{s16}", "" },
	{ "bearer_token=", "{c40}", "" },
	{ "the password is ", "{c14}", "" },
	{ "my token is ", "{c24}", "" },
	{ "Authorization: Bearer ", "{c40}", "" },
	{ "curl -H 'Authorization: Token ", "{c40}", "' https://x" },
	{ "using bearer ", "{c40}", "" },
	/* Keys in base64. */
	{ "    client-key-data: ", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{b400}==", "" },
	{ "    client-key-data: ", "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk1I{b300}=", "" },
	{ "    client-key-data: ", "MIIEpAIBAAKCAQEA{b400}==", "" },
	{ "client_key_data: \"", "{b200}", "\"" },
	{ "  tls.key: ", "{b240}==", "" },
	{ "  ssh-privatekey: ", "{b240}", "" },
	{ "  .dockerconfigjson: ", "{b120}==", "" },
	{ "key: ", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUV2{b300}", "" },
	{ "PrivateKey = ", "{b43}=", "" },
	{ "PresharedKey = ", "{b43}=", "" },
	/* Discord, signed links, cookies. */
	{ "", "MTE{a2}NjIyNDgzNDcxOTI1MjQ4MQ.G{w5}.{w38}", "" },
	{ "discord token ", "MTk4NjIyNDgzNDcxOTI1MjQ4.C{w5}.{w27}", "" },
	{ "client.run('", "NzkyNzE1NDU0MTk2MDg4ODQy.X{w5}.{w27}", "')" },
	{ "DISCORD=", "OTkyNzE1NDU0MTk2MDg4ODQy.Y{w5}.{w38}", "" },
	{ "https://discord.com/api/webhooks/112233445566778899/", "{w68}", "" },
	{ "https://canary.discord.com/api/v10/webhooks/112233445566778899/", "{w68}", "" },
	{ "https://b.s3.amazonaws.com/k?X-Amz-Expires=900&X-Amz-Signature=", "{h64}", "" },
	{ "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=", "IQoJb3JpZ2lu{a200}", "&X-Amz-Expires=900" },
	{ "x-amz-security-token: ", "IQoJb3JpZ2lu{b200}==", "" },
	{ "https://storage.googleapis.com/b/o?X-Goog-Expires=900&X-Goog-Signature=", "{h128}", "" },
	{ "https://d1.cloudfront.net/a?Expires=1700000000&Signature=", "{w80}~{w20}", "&Key-Pair-Id=K1" },
	{ "https://a.blob.core.windows.net/c?sv=2022-11-02&sig=", "{a43}%3D", "&se=2026" },
	{ "Cookie: sessionid=", "{c32}", "" },
	{ "Cookie: sid=", "{s26}", "; theme=dark" },
	{ "Set-Cookie: auth=", "{c32}", "; Path=/" },
	{ "set-cookie: __Host-session=", "{w60}", "; Secure" },
	{ "curl --cookie 'session=", "{c30}", "' https://x" },
	{ "document.cookie = \"sid=", "{c26}", "\"" },
	{ ".example.com\tTRUE\t/\tTRUE\t1893456000\tsessionid\t", "{c32}", "" },
	{ "PHPSESSID=", "{l26}", "" },
	{ "JSESSIONID=", "{u32}", "; x" },
	{ "connect.sid=s%3A", "{w32}.{w43}", "" },
	{ "csrftoken=", "{c32}", "" },
	{ "cookies={'sessionid': '", "{l32}", "'}" },
	/* Settings files. */
	{ "//registry.example.com/:_authToken=", "{c36}", "" },
	{ "//registry.example.com/:_password=", "{b24}", "" },
	{ "_auth = ", "{b32}=", "" },
	{ "npmAuthToken: ", "{c36}", "" },
	{ "db_password = \"", "{s12}", "\"" },
	{ "variable \"token\" { default = \"", "{c24}", "\" }" },
	{ "TF_VAR_db_password=", "{s14}", "" },
	{ "spring.datasource.password=", "{s12}", "" },
	{ "db.password: ", "{s12}", "" },
	{ "<password>", "{s12}", "</password>" },
	{ "Data Source=x;User ID=sa;Password=", "{s12}", ";Encrypt=yes" },
	{ "machine api.example.com login bob password ", "{s12}", "" },
	{ "config/.env:3:COLOUR=", "{s12}", "" },
	{ "redis://:", "{s12}", "@cache:6379/0" },
	{ "amqp://app:", "{s12}", "@mq/vhost" },
	{ "postgresql://app:", "{s8}", "@db:5432/x" },
	{ "mysqldump -u root -p", "{s12}", " shop" },
	{ "kubectl create secret generic x --from-literal=colour=", "{s12}", "" },
	{ "vault kv put secret/x colour=", "{s12}", "" },
	{ "heroku config:set COLOUR=", "{s12}", "" },
	{ "gh secret set COLOUR --body ", "{s14}", "" },
	{ "fly secrets set COLOUR=", "{s14}", "" },
	/* Letters alone, in a sentence. */
	{ "please use PASSWORD: ", "{c20}", " for it" },
	{ "the password: ", "{c20}", " works now" },
	{ "Passwort: ", "{c20}", " zum Server" },
	{ "my token: ", "{c24}", " as before" },
	{ "**Password:** ", "{c20}", "" },
	{ "login failed with password \"", "{c20}", "\"" },
	{ "the secret: ", "{c20}", ", and then" },
	/* Operands of commands. */
	{ "aws configure set aws_secret_access_key ", "{a20}", "" },
	{ "aws configure set profile.x.aws_session_token ", "{a40}", "" },
	{ "npm config set //r.example.com/:_authToken ", "{a20}", "" },
	{ "npm set //r.example.com/:_authToken ", "{a36}", "" },
	{ "yarn config set npmAuthToken ", "{a24}", "" },
	{ "pip config set global.password ", "{a16}", "" },
	{ "git config --global user.password ", "{a16}", "" },
	{ "composer config http-basic.example.com bob ", "{a24}", "" },
	{ "htpasswd -b /etc/f bob ", "{a20}", "" },
	{ "htpasswd -nbB bob ", "{a12}", "" },
	{ "echo bob:", "{a20}", " | chpasswd" },
	{ "echo 'bob:", "{a20}", "' | sudo chpasswd" },
	{ "chpasswd <<< bob:", "{a16}", "" },
	{ "echo ", "{a16}", " | passwd --stdin bob" },
	{ "smbclient //h/s -U bob%", "{a14}", "" },
	{ "ldapsearch -x -D cn=admin -w ", "{a14}", " -b dc=x" },
	{ "mongosh --host x -u bob -p ", "{a14}", "" },
	{ "zip -r -P ", "{a12}", " out.zip src" },
	{ "useradd -m -p ", "{a14}", " bob" },
	{ "echo ", "{a24}", " | npx wrangler secret put COLOUR" },
	{ "printf '%s' ", "{a24}", " | gh secret set COLOUR" },
	{ "expect -c 'spawn ssh h; expect assword; send \"", "{a12}", "\\r\"'" },
};

/* %s is the text as JSON writes a string, %k is the same without its quotes. */
static const struct {
	enum event_kind kind;
	const char *payload;
	const char *before, *after;
} fields[] = {
	{ EVENT_USER_PROMPT_SUBMIT, "{\"prompt\":%s}", "", "" },
	{ EVENT_USER_PROMPT_SUBMIT, "{\"prompt\":%s}", "Look at this:\n", "\nand tell me." },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":%s}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":%s}}", "cd /srv && x\n", "\nls" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":[\"bash\",\"-lc\",%s]}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_input\":{\"description\":%s}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"a.txt\",\"content\":%s}}",
		"first\n", "\nlast\n" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a.c\",\"old_string\":%s}}",
		"/* x */\n", "\n" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a.c\",\"new_string\":%s}}",
		"/* x */\n", "\n" },
	{ EVENT_PRE_TOOL_USE,
		"{\"tool_name\":\"MultiEdit\",\"tool_input\":{\"edits\":[{\"old_string\":\"a\",\"new_string\":%s}]}}",
		"", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"WebFetch\",\"tool_input\":{\"url\":%s,\"prompt\":\"x\"}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"WebSearch\",\"tool_input\":{\"query\":%s}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Grep\",\"tool_input\":{\"pattern\":%s}}", "", "" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"Task\",\"tool_input\":{\"prompt\":%s}}", "Do this:\n", "\n" },
	{ EVENT_PRE_TOOL_USE, "{\"tool_name\":\"mcp__x__y\",\"tool_input\":{\"args\":{\"deep\":[{\"v\":%s}]}}}", "",
		"" },
	{ EVENT_POST_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_response\":%s}", "", "" },
	{ EVENT_POST_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_response\":{\"stdout\":%s}}", "total 12\n", "\ndone\n" },
	{ EVENT_POST_TOOL_USE, "{\"tool_name\":\"Bash\",\"tool_response\":{\"stderr\":%s}}", "warning:\n", "\n" },
	{ EVENT_POST_TOOL_USE,
		"{\"tool_name\":\"Read\",\"tool_response\":{\"file\":{\"filePath\":\"a.yml\",\"content\":%s}}}",
		"version: 3\n", "\nports: [80]\n" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":[{\"type\":\"text\",\"text\":%s}]}", "", "" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":{\"originalFile\":%s}}", "a\n", "\nb\n" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":{\"structuredPatch\":[{\"lines\":[\" a\",%s]}]}}", "+", "" },
	{ EVENT_POST_TOOL_USE, "{\"tool_response\":{\"rows\":{%s:1}}}", "", "" },
	{ EVENT_POST_TOOL_USE_FAILURE, "{\"tool_name\":\"Bash\",\"error\":%s}", "failed:\n", "\n" },
	{ EVENT_NOTIFICATION, "{\"message\":%s}", "", "" },
	{ EVENT_NOTIFICATION, "{\"title\":%s}", "", "" },
	{ EVENT_STOP, "{\"last_assistant_message\":%s}", "I ran\n", "\nand it worked." },
	{ EVENT_SESSION_END, "{\"reason\":%s}", "", "" },
	{ EVENT_TURN_COMPLETE, "{\"input-messages\":[%s],\"last-assistant-message\":\"done\"}", "", "" },
	{ EVENT_UNKNOWN, "no json: %s", "", "" },
};

/* The record of an event whose payload holds the text; STR_NONE never. */
static str store(struct redactor *r, struct arena *a, size_t field, str text)
{
	_cleanup_(buf_release) struct buf json = BUF_INIT(KIB(64)), all = BUF_INIT(KIB(64)), whole = BUF_INIT(KIB(64));
	struct event e = { .kind = fields[field].kind, .agent = STR("claude") };
	struct json *root = NULL;
	struct record rec;

	buf_add_str(&whole, str_of(fields[field].before));
	buf_add_str(&whole, text);
	buf_add_str(&whole, str_of(fields[field].after));
	json_write_string(&json, buf_str(&whole));
	buf_addf(&all, fields[field].payload, json.p);
	e.raw = arena_str(a, buf_str(&all));
	if (json_parse(a, e.raw, JSON_LENIENT_UTF8, &root, NULL) == 0)
		e.payload = root;
	else
		e.marks |= EVENT_NOT_JSON;
	e.tool_input = json_get(root, STR("tool_input"));
	e.command = json_str(json_get(e.tool_input, STR("command")));
	redact(r, a, &e, 0, &rec, NULL);
	return rec.payload;
}

static bool is_gone(struct redactor *r, struct arena *a, size_t format, size_t field, uint64_t *seed)
{
	_cleanup_(buf_release) struct buf text = BUF_INIT(KIB(16)), secret = BUF_INIT(KIB(16)),
					  json = BUF_INIT(KIB(64));
	const struct format *f = &formats[format];
	str kept;

	sample_expand(&secret, f->secret, seed);
	buf_add_str(&text, str_of(f->before));
	buf_add_str(&text, buf_str(&secret));
	buf_add_str(&text, str_of(f->after));
	kept = store(r, a, field, buf_str(&text));
	json_write_string(&json, buf_str(&secret));
	if (str_find(kept, str_n(json.p + 1, json.len - 2)) < 0)
		return true;
	print_message("# kept: " STR_FMT "\n", STR_ARG(str_head(kept, 300)));
	return false;
}

static void no_format_is_kept_in_any_field(void **state)
{
	struct redactor *r = redactor_new();
	uint64_t seed = 20261116;
	struct arena a;
	unsigned kept = 0;

	assert_true(countof(formats) >= 100);
	assert_int_equal(countof(fields), 30);
	arena_init(&a);
	for (size_t i = 0; i < countof(formats); i++)
		for (size_t j = 0; j < countof(fields); j++) {
			kept += !is_gone(r, &a, i, j, &seed);
			arena_reset(&a);
		}
	print_message("# %u of %zu kept\n", kept, countof(formats) * countof(fields));
	arena_release(&a);
	redactor_free(r);
	assert_int_equal(kept, 0);
}

/* -- files that are secrets ---------------------------------------------------------------------- */

/* MARKER is what is in the file, or goes into it. */
static const char *const touching[] = {
	"cat > .env <<'EOF'\nCOLOUR=MARKER\nEOF",
	"cat <<EOF > app/.env\nCOLOUR=MARKER\nEOF\nls",
	"cat <<-EOF >> .env.local\n\tMARKER\n\tEOF",
	"tee .env <<EOF\nMARKER\nEOF",
	"sudo tee -a /srv/app/.env >/dev/null <<EOF\nCOLOUR=MARKER\nEOF",
	"echo COLOUR=MARKER >> .env",
	"echo \"COLOUR=MARKER\" >>.env && npm start",
	"echo 'COLOUR=MARKER' | tee -a .env",
	"printf 'COLOUR=%s\\n' MARKER >> .env",
	"printf \"COLOUR=MARKER\\n\" > \"$HOME/app/.env\"",
	"{ echo A=1; echo COLOUR=MARKER; } > .env",
	"(echo A=1; echo COLOUR=MARKER) >> .env",
	"F=.env; echo COLOUR=MARKER >> $F",
	"f='.env' && printf MARKER >> \"$f\"",
	"sed -i 's/^COLOUR=.*/COLOUR=MARKER/' .env",
	"sed -i '' -e \"s|COLOUR=.*|COLOUR=MARKER|\" .env",
	"bash -c 'echo COLOUR=MARKER >> .env'",
	"bash -c \"echo \\\"COLOUR=MARKER\\\" > .env\"",
	"docker exec web sh -c 'echo COLOUR=MARKER >> /app/.env'",
	"docker exec -i web sh -c 'cat > /app/.env' <<EOF\nCOLOUR=MARKER\nEOF",
	"ssh host \"echo COLOUR=MARKER >> app/.env\"",
	"kubectl exec -it web -- sh -c 'echo COLOUR=MARKER > .env'",
	"python3 -c \"open('.env','w').write('COLOUR=MARKER')\"",
	"python3 - <<'EOF'\nwith open('.env', 'a') as f:\n    f.write('COLOUR=MARKER')\nEOF",
	"node -e \"require('fs').writeFileSync('.env', 'COLOUR=MARKER')\"",
	"ruby -e 'File.write(\".env\", \"COLOUR=MARKER\")'",
	"perl -e 'open(F, \">.env\"); print F \"COLOUR=MARKER\"'",
	"install -m 600 /dev/stdin .env <<< 'COLOUR=MARKER'",
	"cat > .e\"nv\" <<EOF\nCOLOUR=MARKER\nEOF",
	"cat > .\\env <<EOF\nMARKER\nEOF",
	"echo '//r/:_x=MARKER' >> ~/.npmrc",
	"cat > prod.tfvars <<EOF\ncolour = \"MARKER\"\nEOF",
	"echo 'host:5432:db:me:MARKER' > ~/.pgpass",
	"cat >> ~/.aws/credentials <<EOF\n[x]\ncolour = MARKER\nEOF",
	"echo MARKER | tee .env >/dev/null",
	"export F=.env; cat > \"$F\" <<EOF\nMARKER\nEOF",
	"git apply <<'EOF'\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-COLOUR=1\n+COLOUR=MARKER\nEOF",
	"Set-Content -Path .env -Value 'COLOUR=MARKER'",
};

static const char *const showing[] = {
	"cat .env",
	"F=.env; cat $F",
	"cat ./.en*",
	"cat .e?v",
	"cat .env*",
	"cat $(ls .env)",
	"cat \"$(find . -name .env)\"",
	"find . -name .env -exec cat {} \\;",
	"find . -name '.env*' -exec cat {} +",
	"find / -name '*.pem' | xargs cat",
	"ls -a | grep '^.env$' | xargs head",
	"docker exec web cat /app/.env",
	"docker compose exec web sh -c 'cat .env'",
	"kubectl exec web -- cat /app/.env",
	"ssh host cat app/.env",
	"python3 -c \"print(open('.env').read())\"",
	"python3 -c 'from pathlib import Path; print(Path(\".env\").read_text())'",
	"node -p \"require('fs').readFileSync('.env','utf8')\"",
	"ruby -e 'puts File.read(\".env\")'",
	"perl -ne print .env",
	"awk 1 .env",
	"base64 .env",
	"cp .env /tmp/x && cat /tmp/x",
	"while read l; do echo $l; done < .env",
	"for f in .env .env.local; do cat $f; done",
	"xxd -p .env | head",
	"cat ~/.bash_history",
	"tail -n 50 ~/.zsh_history | grep ssh",
	"cat terraform.tfvars",
	"cat ~/.npmrc",
	"cat /proc/1/environ | tr '\\0' '\\n'",
	"git show HEAD:.env",
	"git diff -- .env",
	"tar cf - .env | base64",
	"vim -c ':%p' -c ':q' .env",
	"sh <<EOF\ncat .env\nEOF",
	"cat .e'n'v",
	"cat < .env",
	"mapfile -t lines < .env; echo \"${lines[@]}\"",
	"rg . .env",
	"cat .env.production.local",
	"Get-Content .env",
	"type .env",
	"cat /run/secrets/db_password",
	"cat ~/.ssh/id_ed25519",
	"cat ~/.config/gh/hosts.yml",
	/* The name in pieces. */
	"a=.e; b=nv; cat $a$b",
	"a=env; cat .${a}",
	"e='env'; cat \"config/.$e.local\"",
	"cat .{env,env.local}",
	"head -3 .e{nv,x}",
	"cat ${FILE:-.env}",
	"cat .[e]nv",
	"cat .en[v]",
	/* What was typed. */
	"history",
	"history 20 | grep ssh",
	"fc -l -20",
	"tail \"$HISTFILE\"",
	"cat ${HISTFILE}",
	"bash -ic 'history 5'",
	/* Programs that print secrets. */
	"dotenvx get",
	"dotenv -f x list",
	"docker compose --env-file prod config",
	"docker-compose -f a.yml config",
	"docker inspect -f '{{.Config.Env}}' web",
	"aws secretsmanager get-secret-value --secret-id x --query SecretString",
	"aws ssm get-parameter --name /x --with-decryption",
	"gcloud secrets versions access latest --secret=x",
	"az keyvault secret show --name x --vault-name y",
	"kubectl get secret x -o jsonpath='{.data.colour}'",
	"kubectl get secret x --output=yaml | head",
	"vault kv get -field=colour secret/x",
	"op read op://vault/item/field",
	"pass show web/x",
	"gh auth token",
	"heroku config -a x",
	"sops -d config.yaml",
	"ansible-vault view group_vars/all.yml",
	"security find-generic-password -w -s x",
	"env FOO=1 doppler secrets download --no-file",
	"sudo -u app vault read secret/x",
};

/* Their output is kept. */
static const char *const open_commands[] = {
	"ls -la .env",
	"test -f .env && npm test",
	"if [ -f .env ]; then npm test; fi",
	"[[ -f .env ]] || touch .env",
	"git add .env.example && git commit -m 'add .env.example'",
	"git check-ignore .env",
	"git status --short .env",
	"echo .env >> .gitignore",
	"printf '.env\\n' >> .gitignore",
	"find . -name .env",
	"grep -rn process.env src/",
	"node -e 'console.log(process.env.HOME)'",
	"jq '.items[].key' data.json",
	"python3 -c \"print(event.key)\"",
	"cat config.env.example",
	"docker run --env-file .env image npm test",
	"docker compose --env-file=.env up -d",
	"node --env-file=.env server.js",
	"cat > README.md <<EOF\nCopy .env.example to .env and fill it in.\nEOF",
	"cat src/env.ts src/keys.ts",
	"chmod 600 .env ~/.ssh/id_rsa",
	"rm -f .env",
	"make && ./run --config settings.yml",
	"npm test -- --grep \"reads the .environment\"",
	"cat package.json tsconfig.json",
	"npm test -- --grep \"history page\"",
	"git log --oneline -- src/history.c",
	"ls history",
	"a=src; cat $a/main.c",
	"cat src/{main,util}.c",
	"echo ${X:-.none}",
	"docker compose config --services",
	"docker compose config -q",
	"docker compose up -d && docker compose logs",
	"kubectl get secrets",
	"kubectl get pods -o wide",
	"aws s3 ls",
	"vault status",
	"gh pr list",
	"pass",
	"npm config get registry",
	"git config user.name",
	"zip -r out.zip src",
	"echo MARKER | gh issue create",
	"for f in *.c; do wc -l ${f}; done",
};

static str store_call(struct redactor *r, struct arena *a, const char *command, const char *output)
{
	_cleanup_(buf_release) struct buf all = BUF_INIT(KIB(64));
	struct event e = { .kind = EVENT_POST_TOOL_USE, .agent = STR("claude") };
	struct json *root = NULL;
	struct record rec;

	buf_add_str(&all, STR("{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":"));
	json_write_string(&all, str_of(command));
	buf_add_str(&all, STR("},\"tool_response\":{\"stdout\":"));
	json_write_string(&all, str_of(output));
	buf_add_str(&all, STR("}}"));
	e.raw = arena_str(a, buf_str(&all));
	assert_int_equal(json_parse(a, e.raw, 0, &root, NULL), 0);
	e.payload = root;
	e.tool_input = json_get(root, STR("tool_input"));
	e.command = json_str(json_get(e.tool_input, STR("command")));
	redact(r, a, &e, 0, &rec, NULL);
	return rec.payload;
}

static unsigned count_calls(const char *const *commands, size_t n, const char *output, bool want)
{
	struct redactor *r = redactor_new();
	unsigned wrong = 0;
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < n; i++) {
		str kept = store_call(r, &a, commands[i], output);

		if ((str_find(kept, STR("MARKER")) >= 0) != want) {
			print_message("# %s: " STR_FMT "\n", want ? "lost" : "kept", STR_ARG(kept));
			wrong++;
		}
		arena_reset(&a);
	}
	arena_release(&a);
	redactor_free(r);
	return wrong;
}

static void what_is_written_to_a_secret_file_is_not_kept(void **state)
{
	assert_int_equal(count_calls(touching, countof(touching), "COLOUR=MARKER\n", false), 0);
}

static void what_is_read_from_a_secret_file_is_not_kept(void **state)
{
	assert_int_equal(count_calls(showing, countof(showing), "COLOUR=MARKER\n", false), 0);
}

static void the_output_of_other_commands_is_kept(void **state)
{
	assert_int_equal(count_calls(open_commands, countof(open_commands), "MARKER\n", true), 0);
}

/* The rest of such a command says what the agent did. */
static void only_what_goes_into_the_file_is_taken_out(void **state)
{
	struct redactor *r = redactor_new();
	struct arena a;
	str kept;

	arena_init(&a);
	kept = store_call(r, &a, "cd /srv && cat > .env <<'EOF'\nA=1\nB=2\nEOF\nchmod 600 .env", "");
	assert_true(str_find(kept,
			    STR("\"cd /srv && cat > .env <<'EOF'\\n[contents of .env not kept: 7 bytes]\\nEOF\\n"
				"chmod 600 .env\"")) >= 0);
	kept = store_call(r, &a, "echo COLOUR=teal >> .env && npm test -- --all", "");
	assert_true(str_find(kept,
			    STR("\"echo [contents of .env not kept: 11 bytes] >> .env && npm test -- --all\"")) >= 0);
	arena_release(&a);
	redactor_free(r);
}

/* A diff shows the lines of other files. */
static void lines_of_a_secret_file_in_a_diff_are_not_kept(void **state)
{
	struct redactor *r = redactor_new();
	struct arena a;
	str kept;

	arena_init(&a);
	kept = store_call(r, &a, "git log -p",
		"diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-one\n+two\n"
		"diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-COLOUR=MARKER\n+COLOUR=MARKER2\n"
		"diff --git a/b.c b/b.c\n--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-three\n+four\n");
	assert_true(str_find(kept, STR("MARKER")) < 0);
	assert_true(str_find(kept, STR("+two")) >= 0 && str_find(kept, STR("+++ b/.env")) >= 0);
	assert_true(str_find(kept, STR("diff --git a/b.c")) >= 0 && str_find(kept, STR("+four")) >= 0);
	kept = store_call(r, &a, "git log -p", "x\n--- /dev/null\n+++ b/app/.env.local\n@@ -0,0 +1 @@\n+MARKER");
	assert_true(str_find(kept, STR("MARKER")) < 0);
	arena_release(&a);
	redactor_free(r);
}

/* -- ordinary values ----------------------------------------------------------------------------- */

static const char *const words[] = { "session", "request", "handler", "index", "buffer", "parse", "config", "update",
	"remote", "account", "worker", "signal", "render", "layout", "widget", "stream", "packet", "cursor", "column",
	"invoice", "balance", "shipping", "address", "customer", "product", "catalog", "search", "filter", "export",
	"import", "schema", "migrate", "backup", "restore", "monitor", "metric", "latency", "timeout", "retry",
	"schedule", "calendar", "message", "thread", "channel", "profile", "avatar", "gallery", "upload", "download",
	"archive", "compress", "decode", "encode", "verify", "digest", "lexer", "grammar", "symbol", "literal", "token",
	"password", "secret", "credential", "auth", "cookie", "private", "key" };

/* {N} an identifier in one of five styles, {W} a word, {P} a path; the rest as in the samples. */
static const char *const ordinary[] = {
	"{N}",
	"{N}.{N}({N})",
	"{W} {W} {W} {W}",
	"{h40}",
	"{h7} {W} the {W} of the {W}",
	"commit {h40}",
	"{h8}-{h4}-{h4}-{h4}-{h12}",
	"request_id={h8}-{h4}-{h4}-{h4}-{h12} status=200",
	"sha256:{h64}",
	"\"integrity\": \"sha512-{b86}==\"",
	"{P}",
	"{P}:{d2}:{d1}: error: '{N}' undeclared",
	"src/{W}/{N}.py",
	"https://example.com/{W}/{W}?page={d1}&sort={W}",
	"https://github.com/{W}/{W}/commit/{h40}",
	"https://docs.example.com/{W}/password-reset#{W}",
	"v{d1}.{d2}.{d1}-rc{d1}",
	"{W}=={d1}.{d1}.{d1}",
	"2026-01-0{d1}T03:04:05Z INFO {W}: {W} {W} in {d2} ms",
	"[{d2}:{d2}:{d2}] WARN {W} token expired for user {d4}",
	"The password field must not be empty in the {W} form.",
	"Enter your password to {W} the {W}",
	"If the token is missing, the {W} returns {d3}.",
	"a token is {W} when the {W} ends",
	"the password is required for every {W}",
	"your password is stored as a hash of the {W}",
	"Each token belongs to one {W} and one {W}.",
	"secret santa {W} {W}",
	"token = get_token()",
	"token = {N}()",
	"token = next_{W}({W})",
	"token = self.{N}",
	"token = {W}",
	"token: {N}",
	"token={W}",
	"token={N},",
	"token = lexer.{N}",
	"tokens = {N}({N})",
	"def {N}(token, {W}):",
	"def {N}(password: str, {W}: int) -> bool:",
	"password = input('{W}: ')",
	"password = {N}.password",
	"password = {N}({W})",
	"password={W}, user={W})",
	"connect(user=user, password=password)",
	"client_secret = os.environ['{W}']",
	"client_secret: process.env.{N}",
	"client_secret={N}.client_secret,",
	"api_key = settings.{N}",
	"api_key={N}({W})",
	"apiKey: {N}.{N},",
	"auth = {N}({W}, {W})",
	"auth: {W}",
	"if (token != {N})",
	"case TOKEN_{W}: return {N};",
	"enum token {{ {W}, {W} }}",
	"struct token *{N}(struct lexer *l);",
	"secret_name = \"{W}-{W}\"",
	"secretKeyRef: {{ name: {W}-{W}, key: {W} }}",
	"max_tokens={d4}, temperature=0.{d1}",
	"total_tokens: {d6} prompt_tokens: {d4}",
	"const {{ token }} = use{W}()",
	"password?: string | undefined",
	"passwordField.setText({N})",
	"<label for=\"password\">{W}</label>",
	"PASSWORD_RESET_TIMEOUT = {d4}",
	"SECRET_KEY = env('{W}')",
	"export TOKEN=$({W} {W})",
	"curl https://example.com/{W} -o {N}.json",
	"git checkout -b {W}/{W}-{d3}",
	"docker build -t {W}/{W}:{h7} .",
	"cookie = make_{W}({N})",
	"Cookie policy of the {W}",
	"npm ERR! {W}@{d1}.{d2}.{d1} {W}: `{N}`",
	"{\"{W}\":\"{W}\",\"id\":{d6}}",
	"{\"token_type\":\"bearer\",\"{W}\":{d3}}",
	"ENOENT: no such file or directory, open '{P}'",
	"  at {N} ({P}:{d2}:{d1})",
	"+import {N} from './{N}'",
	"{d3},{d4},{W},{W},{d2}",
	"key={W}-{d2}",
	"data-testid=\"{W}-{W}\"",
	"etag: \"{h32}\"",
	"X-Request-Id: {a20}",
	"--- a/{P}\n+++ b/{P}\n@@ -1 +1 @@\n-{N}\n+{N}",
	"private_key_path = '{P}'",
	"access_key_id is set by {N}",
	"Signature of {N} does not match",
	"{W}_token_count += {d1}",
	"assert token == '{W}'",
	"passphrase: {N}(),",
	"SELECT {W}, password_hash FROM {W} WHERE id = {d3}",
	"MT{W} and ND{W}",
};

static str random_word(uint64_t *seed)
{
	return str_of(words[sample_random(seed) % countof(words)]);
}

static void add_capitalised(struct buf *b, str word)
{
	buf_add_char(b, (char)(word.p[0] - 32));
	buf_add_str(b, str_from(word, 1));
}

/* snake_case, camelCase, PascalCase, UPPER_CASE, kebab-case; two or three words. */
static void add_identifier(struct buf *b, uint64_t *seed)
{
	uint64_t style = sample_random(seed) % 5;
	int n = 2 + (int)(sample_random(seed) % 2);

	for (int i = 0; i < n; i++) {
		str word = random_word(seed);

		if (i && (style == 0 || style == 3 || style == 4))
			buf_add_char(b, style == 4 ? '-' : '_');
		if (style == 2 || (style == 1 && i))
			add_capitalised(b, word);
		else
			for (size_t j = 0; j < word.n; j++)
				buf_add_char(b, (char)(style == 3 ? word.p[j] - 32 : word.p[j]));
	}
}

static void add_ordinary(struct buf *b, const char *t, uint64_t *seed)
{
	static const char *const ends[] = { ".c", ".py", ".ts", ".json", ".md", ".yml", "" };

	while (*t) {
		char one[16] = { 0 };
		size_t n = strcspn(t + 1, "}") + 2;

		if (t[0] == '{' && t[1] == 'N') {
			add_identifier(b, seed);
		} else if (t[0] == '{' && t[1] == 'W' && t[2] == '}') {
			buf_add_str(b, random_word(seed));
		} else if (t[0] == '{' && t[1] == 'P') {
			buf_add_str(b, STR("/home/user/"));
			buf_add_str(b, random_word(seed));
			buf_add_char(b, '/');
			buf_add_str(b, random_word(seed));
			buf_add_str(b, str_of(ends[sample_random(seed) % countof(ends)]));
		} else if (t[0] == '{' && t[1] >= 'a' && t[1] <= 'z' && t[2] >= '0' && t[2] <= '9' && n < sizeof one) {
			memcpy(one, t, n);
			sample_expand(b, one, seed);
		} else {
			buf_add_char(b, *t++);
			continue;
		}
		t += n;
	}
}

static void ordinary_values_stay(void **state)
{
	enum { VALUES = 10000, WRONG_MOST = VALUES / 1000 };
	struct redactor *r = redactor_new();
	uint64_t seed = 20261117;
	struct arena a;
	unsigned changed = 0;

	arena_init(&a);
	for (size_t i = 0; i < VALUES; i++) {
		_cleanup_(buf_release) struct buf b = BUF_INIT(KIB(4));
		str out;

		add_ordinary(&b, ordinary[i % countof(ordinary)], &seed);
		out = redact_text(r, &a, buf_str(&b));
		if (!str_eq(out, buf_str(&b))) {
			print_message("# changed: " STR_FMT " -> " STR_FMT "\n", STR_ARG(buf_str(&b)), STR_ARG(out));
			changed++;
		}
		arena_reset(&a);
	}
	print_message("# ordinary values: %u of %d changed\n", changed, VALUES);
	arena_release(&a);
	redactor_free(r);
	assert_true(changed <= WRONG_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_format_is_kept_in_any_field),
		cmocka_unit_test(ordinary_values_stay),
		cmocka_unit_test(what_is_written_to_a_secret_file_is_not_kept),
		cmocka_unit_test(what_is_read_from_a_secret_file_is_not_kept),
		cmocka_unit_test(the_output_of_other_commands_is_kept),
		cmocka_unit_test(only_what_goes_into_the_file_is_taken_out),
		cmocka_unit_test(lines_of_a_secret_file_in_a_diff_are_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
