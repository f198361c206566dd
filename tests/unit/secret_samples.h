/* One or more samples for every row of secrets[], as templates: {a36} stands for 36 random letters
 * and digits. No file of the repository holds a credential or anything that looks like one in full;
 * the values are made when the test runs, from a fixed seed.
 *
 *   a letters and digits   u capitals and digits   l small letters and digits   h hexadecimal
 *   d digits   w letters, digits, _ and -   b base64   p a password people would choose
 *   c letters alone   s small letters alone   */
#ifndef HOOKD_TESTS_SECRET_SAMPLES_H
#define HOOKD_TESTS_SECRET_SAMPLES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macro.h"

struct sample {
	const char *name;                    /* of the row */
	const char *before, *secret, *after; /* what must stay, what must go, what must stay */
	const char *harmless;                /* looks alike and must not change */
};

static const struct sample samples[] = {
	{ "anthropic-key", "", "sk-ant-api03-{w86}AA", "", "sk-ant-short" },
	{ "openrouter-key", "", "sk-or-v1-{h64}", "", "sk-or-nothing" },
	{ "langfuse-key", "", "sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}", "", "sk-lf-{h8}" },
	{ "openai-key", "", "sk-proj-{w120}", "", "task-proj-manager" },
	{ "openai-key", "", "sk-svcacct-{w100}", "", "sk-svcacct-name" },
	{ "openai-key", "", "sk-{a48}", "", "sk-circle-fade-dot-large-spinner" },
	{ "huggingface-token", "", "hf_{a34}", "", "hf_hub_download" },
	{ "replicate-token", "", "r8_{a37}", "", "r8_unorm" },
	{ "groq-key", "", "gsk_{a52}", "", "gsk_render_node" },
	{ "xai-key", "", "xai-{a80}", "", "xai-org/grok" },
	{ "perplexity-key", "", "pplx-{a48}", "", "pplx-api" },
	{ "nvidia-key", "", "nvapi-{w64}", "", "nvapi-utils" },
	{ "cerebras-key", "", "csk-{l48}", "", "csk-cz" },
	{ "together-key", "", "tgp_v1_{w43}", "", "tgp_v1_x" },
	{ "fireworks-key", "", "fw_{a24}", "", "fw_version_string" },
	{ "langsmith-key", "", "lsv2_pt_{h32}_{h10}", "", "lsv2_pt_name" },
	{ "tavily-key", "", "tvly-dev-{a32}", "", "tvly-client" },
	{ "firecrawl-key", "", "fc-{h32}", "", "fc-list" },
	{ "jina-key", "", "jina_{a60}", "", "jina_embeddings" },
	{ "pinecone-key", "", "pcsk_{a60}", "", "pcsk_x" },
	{ "voyage-key", "", "pa-{w43}", "", "pa-system" },
	{ "e2b-key", "", "e2b_{h40}", "", "e2b_sandbox" },
	{ "elevenlabs-key", "", "sk_{h48}", "", "sk_buff_head" },
	{ "apify-token", "", "apify_api_{a36}", "", "apify_api_base" },
	{ "wandb-key", "wandb_key = ", "{h40}", "", "wandb run {h8}" },
	{ "aws-key-pair", "", "AKIA{u16} {b40}", "\n", "AKIA" },
	{ "aws-access-key-id", "", "AKIA{u16}", "", "AKIAnot" },
	{ "aws-access-key-id", "", "ASIA{u16}", "", "ASIAN_GAMES" },
	{ "aws-secret-key", "aws_secret_access_key = ", "{b40}", "", "secret_access_key is required" },
	{ "aws-secret-key", "\"SecretAccessKey\": \"", "{b40}", "\"", "\"SecretAccessKey\": \"string\"" },
	{ "aws-bedrock-key", "", "ABSK{b100}", "", "ABSKip" },
	{ "aws-mws-key", "", "amzn.mws.{h8}-{h4}-{h4}-{h4}-{h12}", "", "amzn.mws.client" },
	{ "azure-storage-key", "AccountName=x;AccountKey=", "{b86}==", ";EndpointSuffix=y", "AccountKey=..." },
	{ "azure-storage-key", "SharedAccessKey=", "{b43}=", "", "SharedAccessKey=<key>" },
	{ "azure-sas-signature", "https://x.blob.core.windows.net/c?sv=2023&sig=", "{b43}%3D", "&se=1", "config=abc" },
	{ "azure-client-secret", "", "{a3}8Q~{a34}", "", "a8Q~x" },
	{ "google-api-key", "", "AIza{w34}x", "", "AIzaShort" },
	{ "google-oauth-token", "", "ya29.{w120}", "", "ya29.x" },
	{ "google-oauth-secret", "", "GOCSPX-{w28}", "", "GOCSPX-" },
	{ "google-refresh-token", "", "1//0{w60}", "", "1//02" },
	{ "digitalocean-token", "", "dop_v1_{h64}", "", "dop_v1_x" },
	{ "alibaba-key-id", "", "LTAI{a20}", "", "LTAI" },
	{ "tencent-key-id", "", "AKID{a32}", "", "AKID_name" },
	{ "heroku-key", "", "HRKU-{a36}", "", "HRKU-x" },
	{ "heroku-key", "HEROKU_API_KEY=", "{h8}-{h4}-{h4}-{h4}-{h12}", "", "heroku run {h8}-{h4}-{h4}-{h4}-{h12}" },
	{ "cloudflare-token", "CLOUDFLARE_API_TOKEN=", "{w40}", "", "cloudflare: enabled" },
	{ "cloudflare-origin-key", "", "v1.0-{h24}-{h146}", "", "v1.0-beta" },
	{ "vercel-token", "", "vcp_{a56}", "", "vcp_init" },
	{ "vercel-token", "VERCEL_TOKEN=", "{a24}", "", "vercel.json" },
	{ "netlify-token", "", "nfp_{a36}", "", "nfp_cpp" },
	{ "fly-token", "", "fo1_{w43}", "", "fo1_x" },
	{ "fly-token", "FlyV1 ", "fm2_{b120}", "", "fm2_radio" },
	{ "render-key", "", "rnd_{a28}", "", "rnd_seed" },
	{ "tailscale-key", "", "tskey-auth-{a17}-{a32}", "", "tskey-auth" },
	{ "pulumi-token", "", "pul-{h40}", "", "pul-ley" },
	{ "terraform-token", "", "{a14}.atlasv1.{w67}", "", "x.atlasv1.y" },
	{ "vault-token", "", "hvs.{w90}", "", "hvs.client" },
	{ "databricks-token", "", "dapi{h32}", "", "dapi_function" },
	{ "planetscale-token", "", "pscale_tkn_{w43}", "", "pscale_tkn_" },
	{ "supabase-token", "", "sbp_{h40}", "", "sbp_x" },
	{ "supabase-key", "", "sb_secret_{w31}", "", "sb_secret_x" },
	{ "doppler-token", "", "dp.pt.{a43}", "", "dp.pt.x" },
	{ "doppler-token", "", "dp.st.dev.{a43}", "", "dp.st.dev" },
	{ "onepassword-token", "", "ops_eyJ{w120}", "", "ops_eyJ" },
	{ "onepassword-key", "", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}", "", "A3-size paper" },
	{ "age-key", "", "AGE-SECRET-KEY-1{u58}", "", "AGE-SECRET-KEY-1" },
	{ "github-token", "", "ghp_{a36}", "", "ghp_import" },
	{ "github-token", "", "gho_{a36}", "", "gho_x" },
	{ "github-token", "", "ghs_{a36}", "", "ghs_x" },
	{ "github-pat", "", "github_pat_{a22}_{a59}", "", "github_pat_env" },
	{ "gitlab-token", "", "glpat-{w20}", "", "glpat-x" },
	{ "gitlab-token", "", "glrt-{w20}", "", "glrt-runner" },
	{ "gitlab-runner-token", "", "GR1348941{w20}", "", "GR1348941" },
	{ "atlassian-token", "", "ATATT3{w180}", "", "ATATT3" },
	{ "bitbucket-token", "", "ATBB{a32}", "", "ATBBx" },
	{ "npm-token", "", "npm_{a36}", "", "npm_config_registry" },
	{ "pypi-token", "", "pypi-AgEIcHlwaS5vcmc{w120}", "", "pypi-server" },
	{ "rubygems-key", "", "rubygems_{h48}", "", "rubygems_version" },
	{ "crates-token", "", "cio{a32}", "", "cio_write" },
	{ "nuget-key", "", "oy2{l43}", "", "oy2_x" },
	{ "clojars-token", "", "CLOJARS_{l60}", "", "CLOJARS_USER" },
	{ "docker-token", "", "dckr_pat_{w27}", "", "dckr_pat_x" },
	{ "artifactory-key", "", "AKCp{a69}", "", "AKCp5" },
	{ "buildkite-token", "", "bkua_{h40}", "", "bkua_x" },
	{ "circleci-token", "", "CCIPAT_{a22}_{h40}", "", "CCIPAT_x" },
	{ "sonar-token", "", "squ_{h40}", "", "squ_x" },
	{ "postman-key", "", "PMAK-{h24}-{h34}", "", "PMAK-x" },
	{ "linear-key", "", "lin_api_{a40}", "", "lin_api_x" },
	{ "notion-token", "", "ntn_{a46}", "", "ntn_x" },
	{ "notion-token", "", "secret_{a43}", "", "secret_santa" },
	{ "figma-token", "", "figd_{w40}", "", "figd_x" },
	{ "airtable-token", "", "pat{a14}.{h64}", "", "path.join" },
	{ "typeform-token", "", "tfp_{a44}", "", "tfp_x" },
	{ "readme-key", "", "rdme_{l70}", "", "rdme_x" },
	{ "okta-token", "SSWS ", "{w42}", "", "SSWS scheme" },
	{ "stripe-key", "", "sk_live_{a24}", "", "sk_live_" },
	{ "stripe-key", "", "rk_test_{a24}", "", "rk_test_x" },
	{ "stripe-webhook-secret", "", "whsec_{a32}", "", "whsec_x" },
	{ "square-token", "", "sq0atp-{w22}", "", "sq0atp-" },
	{ "square-token", "", "EAAA{w60}", "", "EAAA" },
	{ "shopify-token", "", "shpat_{h32}", "", "shpat_x" },
	{ "paypal-token", "", "access_token$production${l16}${h32}", "", "access_token$x" },
	{ "flutterwave-key", "", "FLWSECK-{a32}-X", "", "FLWSECK-x" },
	{ "easypost-key", "", "EZAK{a54}", "", "EZAK" },
	{ "shippo-token", "", "shippo_live_{h40}", "", "shippo_live_x" },
	{ "duffel-token", "", "duffel_test_{w43}", "", "duffel_test_x" },
	{ "twilio-key", "", "SK{h32}", "", "SKIPPED" },
	{ "twilio-token", "TWILIO_AUTH_TOKEN=", "{h32}", "", "twilio sid" },
	{ "sendgrid-key", "", "SG.{w22}.{w43}", "", "SG.x.y" },
	{ "mailgun-key", "", "key-{h32}", "", "key-value-observing" },
	{ "mailchimp-key", "", "{h32}-us12", "", "x-us12" },
	{ "brevo-key", "", "xkeysib-{h64}-{a16}", "", "xkeysib-x" },
	{ "resend-key", "", "re_{a8}_{a24}", "", "re_compile_pattern" },
	{ "slack-token", "", "xoxb-{d12}-{d13}-{a24}", "", "xoxb-" },
	{ "slack-token", "", "xoxe.xoxp-1-{a146}", "", "xoxe.xox" },
	{ "slack-app-token", "", "xapp-1-{u11}-{d13}-{h64}", "", "xapp-x" },
	{ "slack-webhook", "https://hooks.slack.com/services/", "T{u8}/B{u10}/{a24}", "", "hooks.slack.com/services" },
	{ "discord-webhook", "https://discord.com/api/webhooks/{d18}/", "{w68}", "", "discord.com/api/webhooks/1" },
	{ "discord-token", "DISCORD_BOT=", "MT{a22}.{w6}.{w38}", "", "discord.Client.run" },
	{ "discord-token", "", "MTEz{a20}.{w6}.{w38}", "", "MTEz.c" },
	{ "discord-webhook", "https://ptb.discord.com/api/v10/webhooks/{d18}/", "{w68}", "", "discord.com/api/v10" },
	{ "telegram-token", "", "{d9}:AA{w33}", "", "12:AAB" },
	{ "teams-webhook", "https://x.webhook.office.com/webhookb2/", "{h8}-{h4}-{h4}-{h4}-{h12}@{h32}", "",
		"webhook.office.com/" },
	{ "facebook-token", "", "EAA{a120}", "", "EAA" },
	{ "firebase-key", "", "{w11}:APA91b{w134}", "", "x:APA91b" },
	{ "dropbox-token", "", "sl.{w140}", "", "sl.append" },
	{ "grafana-token", "", "glc_eyJ{b80}", "", "glc_color" },
	{ "grafana-token", "", "glsa_{a32}_{h8}", "", "glsa_x" },
	{ "newrelic-key", "", "NRAK-{u27}", "", "NRAK-x" },
	{ "newrelic-license", "", "{h36}NRAL", "", "xNRAL" },
	{ "datadog-key", "datadog_api = ", "{h32}", "", "datadog agent {h8}" },
	{ "dynatrace-token", "", "dt0c01.{u24}.{u64}", "", "dt0c01.x" },
	{ "sentry-token", "", "sntrys_eyJ{w100}", "", "sntrys_x" },
	{ "posthog-key", "", "phc_{a43}", "", "phc_x" },
	{ "private-key", "", "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n-----END RSA PRIVATE KEY-----", "\nrest",
		"-----BEGIN PUBLIC KEY-----\n{b64}\n-----END PUBLIC KEY-----" },
	{ "private-key", "", "-----BEGIN OPENSSH PRIVATE KEY-----\\n{b64}\\n-----END OPENSSH PRIVATE KEY-----", "\\n",
		"if \"-----BEGIN PRIVATE KEY-----\" in text:" },
	{ "private-key", "", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64}\n", "",
		"-----BEGIN CERTIFICATE-----\n{b64}" },
	{ "private-key", "", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{b64}\n", "", "SSH2 protocol" },
	{ "private-key", "",
		"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: "
		"1\n{b64}\nPrivate-MAC: {h40}",
		"\n", "PuTTY-User-Key-File" },
	{ "jwt", "", "eyJhbGciOi{w24}.eyJzdWIi{w60}.{w43}", "", "eyJ" },
	{ "authorization", "Authorization: Basic ", "{b24}", "", "Authorization: Basic <credentials>" },
	{ "authorization", "-H \"Authorization: Bearer ", "{w40}", "\"", "Authorization: Bearer $TOKEN" },
	{ "authorization", "'Authorization': 'token ", "{h40}", "'", "authorization: required" },
	{ "basic-auth", "Basic ", "dXNlcjpwYXNzd29yZDEyMw==", "", "basic authentication is off" },
	{ "bearer-token", "using bearer ", "{a40}", "", "the bearer of this letter" },
	{ "cookie", "Set-Cookie: sid=", "{a32}", "; Path=/; HttpOnly", "set-cookie header" },
	{ "cookie", "Cookie: ", "session={a32}; csrf={h32}", "\n", "cookie = make_cookie(name)" },
	{ "cookie", "cookies={'sid': '", "{a32}", "'}", "cookies={'theme': 'darkblue'}" },
	{ "cookie", "PHPSESSID=", "{l26}", "", "PHPSESSID=none" },
	{ "cookie", ".x.org\tTRUE\t/\tFALSE\t0\tsid\t", "{a32}", "\n", "x\tTRUE\t/usr" },
	{ "signed-url", "https://b/k?X-Amz-Signature=", "{h64}", "", "x-amz-signature header" },
	{ "signed-url", "https://c/a?Signature=", "{w80}", "&Key-Pair-Id=K", "the signature=short of it" },
	{ "url-password", "postgres://admin:", "{p12}", "@db.internal:5432/x", "http://host:8080/a@b" },
	{ "url-token", "https://", "{h32}", "@o12.ingest.example.io/3", "https://example.com/@user" },
	{ "curl-user", "curl -s -u admin:", "{p12}", " https://x", "curl -u admin: https://x" },
	{ "command-password", "mysql -h db -u root -p", "{p12}", " shop", "mysql -h db -u root -p shop" },
	{ "curl-cookie", "curl -b \"sid=", "{a32}", "\" https://x", "curl -b jar.txt https://x" },
	{ "auth-pair", "get(url, auth=(\"bob\", \"", "{p10}", "\"))", "auth=(user, password)" },
	{ "sql-password", "CREATE USER bob IDENTIFIED BY '", "{p10}", "';", "identified by name" },
	{ "command-password", "echo \"", "{p10}", "\" | sudo -S ls", "echo hello | sudo tee x" },
	{ "command-password", "echo ", "{p10}", " | docker login --password-stdin",
		"echo $X | docker login --password-stdin" },
	{ "netrc-password", "machine x.example login me password ", "{p12}", "\n", "machine x.example login me" },
	{ "command-password", "sshpass -p ", "{p12}", " ssh x", "sshpass -f file" },
	{ "command-password", "docker login -u me -p ", "{p12}", " ghcr.io", "docker login ghcr.io" },
	{ "command-password", "redis-cli -h x -a ", "{p12}", " ping", "redis-cli -h x ping" },
	{ "env-line", "a/.env:3:COLOUR=", "{s12}", "\n", "see .env: it is not there" },
	{ "command-secret", "create secret generic x --from-literal=colour=", "{s12}", "", "--from-literal=NAME" },
	{ "environment", "\"Env\": [", "\"COLOUR={s12}\", \"PATH=/usr/bin\"", "]", "\"Env\": []" },
	{ "command-password", "chpasswd <<< 'bob:", "{p12}", "'", "chpasswd < file" },
	{ "command-password", "htpasswd -b f bob ", "{p12}", "", "htpasswd -c f bob" },
	{ "command-password", "smbclient //h/s -U bob%", "{p12}", "", "smbclient -L h -U bob" },
	{ "command-password", "ldapsearch -x -w ", "{p12}", " -b dc=x", "ldapsearch -x -W -s base" },
	{ "command-password", "mongosh -u bob -p ", "{p12}", "", "mongosh -u bob -p --host x" },
	{ "command-password", "unzip -P ", "{p12}", " a.zip", "unzip -p a.zip x" },
	{ "command-password", "useradd -m -p ", "{p12}", " bob", "useradd -m bob" },
	{ "command-secret", "aws configure set aws_secret_access_key ", "{a30}", "",
		"aws configure set region eu-west-1" },
	{ "command-secret", "npm config set //r/:_authToken ", "{a30}", "", "npm config set registry https://r" },
	{ "command-secret", "composer config http-basic.r.x bob ", "{a16}", "", "composer config http-basic.r.x" },
	{ "command-secret", "npm set //r/:_authToken ", "{a30}", "", "npm set progress=false" },
	{ "command-password", "expect -c 'expect assword; send \"", "{p12}", "\\r\"'",
		"expect the password to be sent" },
	{ "sql-password", "CREATE ROLE bob LOGIN PASSWORD '", "{p12}", "'", "password is 'x'" },
	{ "command-password", "keytool -list -keystore k -storepass ", "{p12}", "", "keytool -list -storepass" },
	{ "command-password", "cargo login ", "{a32}", "", "cargo login --registry x" },
	{ "command-secret", "heroku config:set ", "COLOUR={s12}", "", "heroku config:set" },
	{ "command-secret", "fly secrets set ", "COLOUR={s12}", "", "fly secrets list" },
	{ "command-secret", "vault kv put secret/x ", "colour={s12}", "", "vault kv get secret/x" },
	{ "command-secret", "gh secret set COLOUR --body ", "{s12}", "", "gh pr create --body text" },
	/* Names and values. */
	{ "password", "password = \"", "{p10}", "\"", "password = get_password()" },
	{ "password", "DB_PASSWORD=", "{p12}", "\n", "DB_PASSWORD=$PASSWORD" },
	{ "password", "  password: ", "{p9}", "\n", "  password: string;" },
	{ "password", "{\"user\":\"x\",\"passwd\":\"", "{p9}", "\"}", "{\"passwd\":\"<your password>\"}" },
	{ "password", "host=x password=", "{p9}", " dbname=y", "password=None" },
	{ "password", "<password>", "{p9}", "</password>", "<password></password>" },
	{ "password", "psql --password ", "{p10}", " -h x", "psql --password=$PGPASSWORD" },
	{ "password", "export PGPASSWORD='", "{p10}", "'", "export PGPASSWORD=\"${PGPASSWORD}\"" },
	{ "password", "the password is ", "{p10}", " for now", "if password is None or x" },
	{ "password", "define('DB_PASSWORD', '", "{p10}", "');", "fields = ('password', 'last_login')" },
	{ "password", "ds.setPassword(\"", "{p10}", "\");", "ds.getPassword(\"db2-main\")" },
	{ "password", "var password string = \"", "{p10}", "\"", "var password string" },
	{ "password", "<add key=\"Password\" value=\"", "{p10}", "\"/>", "<add key=\"Password\"/>" },
	{ "password", "#define WIFI_PASSWORD \"", "{p10}", "\"", "#define WIFI_PASSWORD NULL" },
	{ "password", "ENV DB_PASSWORD ", "{p10}", "\n", "ENV DB_PASSWORD_FILE /run/x1" },
	{ "password", "  password: ", "{a11}1=", "\n", "  password: |\n" },
	{ "password", "- name: DB_PASSWORD\n  value: ", "{p10}", "\n", "- name: DB_PASSWORD\n  valueFrom: x1" },
	{ "password", "[{\"name\":\"DB_PASSWORD\",\"value\":\"", "{p10}", "\"}]",
		"{\"name\":\"x\",\"value\":\"y12345\"}" },
	{ "api-key", "os.getenv(\"API_KEY\", \"", "{a24}1", "\")", "os.getenv(\"API_KEY\", \"\")" },
	{ "api-key", "process.env.API_KEY || \"", "{a24}1", "\"", "process.env.API_KEY || \"\"" },
	{ "secret", "client_secret: '", "{a32}", "'", "client_secret: process.env.CLIENT_SECRET" },
	{ "secret", "SECRET_KEY = \"", "{w50}", "\"", "SECRET_KEY = os.environ[\"SECRET_KEY\"]" },
	{ "api-key", "x-api-key: ", "{a32}", "\n", "x-api-key: ${API_KEY}" },
	{ "api-key", "apiKey: \"", "{a32}", "\",", "apiKey: \"your-api-key-here\"" },
	{ "access-key", "access_key=", "{a24}", "&x=1", "access_key=<ACCESS_KEY>" },
	{ "private-key", "private_key: \"", "{b40}", "\"", "private_key: str" },
	{ "credential", "credential = '", "{a20}", "'", "credential = None" },
	{ "token", "token=", "{h32}", "&page=2", "token = lexer.next_token()" },
	{ "token", "\\\"token\\\": \\\"", "{a32}", "\\\"", "\\\"token\\\": \\\"NAME\\\"" },
	{ "auth", "_auth=", "{a32}", "\n", "author = \"Jane Doe 1234\"" },
};

/* xorshift: the same values on every machine. */
static uint64_t sample_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

static const char *sample_alphabet(char kind)
{
	static const char all[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	switch (kind) {
	case 'a': return all;
	case 'u': return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	case 'l': return "0123456789abcdefghijklmnopqrstuvwxyz";
	case 'h': return "0123456789abcdef";
	case 'd': return "1234567890";
	case 'c': return all + 10;
	case 's': return "abcdefghijklmnopqrstuvwxyz";
	case 'w': return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";
	case 'b': return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
	default: return all;
	}
}

/* Two letters, a digit, a sign, and so on: what a rule about passwords makes people type. */
static void sample_add_password(struct buf *b, size_t n, uint64_t *seed)
{
	static const char letters[] = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", signs[] = "!.-_+*%";

	for (size_t i = 0; i < n; i++) {
		uint64_t x = sample_random(seed);

		if (i && i + 1 < n && i % 5 == 4)
			buf_add_char(b, signs[x % (sizeof signs - 1)]);
		else if (i % 4 == 3)
			buf_add_char(b, (char)('0' + x % 10));
		else
			buf_add_char(b, letters[x % (sizeof letters - 1)]);
	}
}

/* Appends a template with its random parts filled in. */
static void sample_expand(struct buf *b, const char *t, uint64_t *seed)
{
	while (*t) {
		char kind = t[0] == '{' ? t[1] : 0, *end;
		size_t n = kind && strchr("aulhdwbpcs", kind) ? strtoul(t + 2, &end, 10) : 0;

		if (!n || *end != '}') {
			buf_add_char(b, *t++);
			continue;
		}
		t = end + 1;
		if (kind == 'p') {
			sample_add_password(b, n, seed);
			continue;
		}
		for (size_t i = 0; i < n; i++) {
			const char *alphabet = sample_alphabet(kind);

			buf_add_char(b, alphabet[sample_random(seed) % strlen(alphabet)]);
		}
	}
}

#endif
