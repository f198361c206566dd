/* Files that are secrets by name. */
#include "redact/internal.h"

/* With its length: a name is compared with a hundred of them. */
#define P(text)                        \
	{                              \
		text, sizeof(text) - 1 \
	}

/* By the last component, wherever it is. */
const struct secret_file secret_files_by_name[] = {
	{ P("id_rsa"), FILE_IS_KEY },
	{ P("id_dsa"), FILE_IS_KEY },
	{ P("id_ecdsa"), FILE_IS_KEY },
	{ P("id_ed25519"), FILE_IS_KEY },
	{ P("id_ed25519_sk"), FILE_IS_KEY },
	{ P("id_ecdsa_sk"), FILE_IS_KEY },
	{ P(".env"), FILE_IS_SECRET },
	{ P(".env.*"), FILE_IS_SECRET },
	{ P("*.env"), FILE_IS_SECRET },
	{ P(".env*.local"), FILE_IS_SECRET },
	{ P(".envrc.local"), FILE_IS_SECRET },
	{ P(".dev.vars"), FILE_IS_SECRET },
	{ P(".secrets"), FILE_IS_SECRET },
	{ P("secrets.yml"), FILE_IS_SECRET },
	{ P("secrets.yaml"), FILE_IS_SECRET },
	{ P("secrets.json"), FILE_IS_SECRET },
	{ P("secrets.toml"), FILE_IS_SECRET },
	{ P("credentials.json"), FILE_IS_SECRET },
	{ P("credentials.yml"), FILE_IS_SECRET },
	{ P("credentials.yaml"), FILE_IS_SECRET },
	{ P("*-credentials.json"), FILE_IS_SECRET },
	{ P("*_credentials.json"), FILE_IS_SECRET },
	{ P("client_secret*.json"), FILE_IS_SECRET },
	{ P("service-account*.json"), FILE_IS_SECRET },
	{ P("serviceaccount*.json"), FILE_IS_SECRET },
	{ P("*.pem"), FILE_IS_SECRET },
	{ P("*.key"), FILE_IS_SECRET },
	{ P("*.p12"), FILE_IS_SECRET },
	{ P("*.pfx"), FILE_IS_SECRET },
	{ P("*.ppk"), FILE_IS_SECRET },
	{ P("*.jks"), FILE_IS_SECRET },
	{ P("*.keystore"), FILE_IS_SECRET },
	{ P("*.kdbx"), FILE_IS_SECRET },
	{ P("*.agekey"), FILE_IS_SECRET },
	{ P("*_rsa"), FILE_IS_SECRET },
	{ P("*_ed25519"), FILE_IS_SECRET },
	{ P("*.tfvars.secret"), FILE_IS_SECRET },
	{ P("secring.gpg"), FILE_IS_SECRET },
	{ P("wp-config.php"), FILE_IS_SECRET },
	{ P("kubeconfig"), FILE_IS_SECRET },
	{ P(".htpasswd"), FILE_IS_SECRET },
	{ P(".pgpass"), FILE_IS_SECRET },
	{ P(".netrc"), FILE_IS_SECRET },
	{ P(".vault_pass"), FILE_IS_SECRET },
	{ P("vault_pass.txt"), FILE_IS_SECRET },
	{ P("vault-password"), FILE_IS_SECRET },
	{ P(".envrc"), FILE_HOLDS_SECRETS },
	{ P(".flaskenv"), FILE_HOLDS_SECRETS },
	{ P(".env-*"), FILE_HOLDS_SECRETS },
	{ P(".env_*"), FILE_HOLDS_SECRETS },
	{ P("*.p8"), FILE_HOLDS_SECRETS },
	{ P("*.ovpn"), FILE_HOLDS_SECRETS },
	{ P("*.keytab"), FILE_HOLDS_SECRETS },
	{ P("*.kubeconfig"), FILE_HOLDS_SECRETS },
	{ P("*.tfvars"), FILE_HOLDS_SECRETS },
	{ P("*.tfvars.json"), FILE_HOLDS_SECRETS },
	{ P("*.tfstate"), FILE_HOLDS_SECRETS },
	{ P("*.tfstate.backup"), FILE_HOLDS_SECRETS },
	{ P("*.secrets.yml"), FILE_HOLDS_SECRETS },
	{ P("*.secrets.yaml"), FILE_HOLDS_SECRETS },
	{ P("service_account*.json"), FILE_HOLDS_SECRETS },
	{ P("application_default_credentials.json"), FILE_HOLDS_SECRETS },
	{ P(".credentials.json"), FILE_HOLDS_SECRETS },
	{ P("_netrc"), FILE_HOLDS_SECRETS },
	{ P(".my.cnf"), FILE_HOLDS_SECRETS },
	{ P(".mylogin.cnf"), FILE_HOLDS_SECRETS },
	{ P(".npmrc"), FILE_HOLDS_SECRETS },
	{ P(".yarnrc"), FILE_HOLDS_SECRETS },
	{ P(".yarnrc.yml"), FILE_HOLDS_SECRETS },
	{ P(".pypirc"), FILE_HOLDS_SECRETS },
	{ P(".terraformrc"), FILE_HOLDS_SECRETS },
	{ P(".git-credentials"), FILE_HOLDS_SECRETS },
	{ P(".dockercfg"), FILE_HOLDS_SECRETS },
	{ P(".dockerconfigjson"), FILE_HOLDS_SECRETS },
	{ P(".vault-token"), FILE_HOLDS_SECRETS },
	{ P(".databrickscfg"), FILE_HOLDS_SECRETS },
	{ P(".s3cfg"), FILE_HOLDS_SECRETS },
	{ P(".boto"), FILE_HOLDS_SECRETS },
	{ P("rclone.conf"), FILE_HOLDS_SECRETS },
	{ P("owner.token"), FILE_HOLDS_SECRETS }, /* hookd's own */
	/* What was typed at a prompt, passwords included. */
	{ P(".*_history"), FILE_HOLDS_SECRETS },
	{ P(".histfile"), FILE_HOLDS_SECRETS },
	{ P("fish_history"), FILE_HOLDS_SECRETS },
	{ P("ConsoleHost_history.txt"), FILE_HOLDS_SECRETS },
};
const size_t nsecret_files_by_name = countof(secret_files_by_name);

/* From a home directory on; ** stands for everything below. */
const struct secret_file secret_files_in_home[] = {
	{ P(".aws/credentials"), FILE_IS_KEY },
	{ P(".aws"), FILE_IS_KEY },
	{ P(".kube/config"), FILE_IS_KEY },
	{ P(".kube"), FILE_IS_KEY },
	{ P(".netrc"), FILE_IS_KEY },
	{ P("_netrc"), FILE_IS_KEY },
	{ P(".pgpass"), FILE_IS_KEY },
	{ P(".git-credentials"), FILE_IS_KEY },
	{ P(".gnupg/**"), FILE_IS_KEY },
	{ P(".gnupg"), FILE_IS_KEY },
	{ P(".config/gcloud/**"), FILE_IS_KEY },
	{ P(".config/gcloud"), FILE_IS_KEY },
	{ P(".azure/**"), FILE_IS_KEY },
	{ P(".azure"), FILE_IS_KEY },
	{ P(".config/gh/hosts.yml"), FILE_IS_KEY },
	{ P(".docker/config.json"), FILE_IS_KEY },
	{ P(".vault-token"), FILE_IS_KEY },
	{ P(".password-store/**"), FILE_IS_KEY },
	{ P(".password-store"), FILE_IS_KEY },
	{ P(".terraform.d/credentials.tfrc.json"), FILE_IS_KEY },
	{ P(".cargo/credentials"), FILE_IS_KEY },
	{ P(".cargo/credentials.toml"), FILE_IS_KEY },
	{ P(".gem/credentials"), FILE_IS_KEY },
	{ P(".pypirc"), FILE_IS_KEY },
	{ P(".npmrc"), FILE_IS_KEY },
	{ P(".yarnrc.yml"), FILE_IS_KEY },
	{ P(".config/op/**"), FILE_IS_KEY },
	{ P(".local/share/keyrings/**"), FILE_IS_KEY },
	{ P("Library/Keychains/**"), FILE_IS_KEY },
	{ P(".mozilla/firefox/*/logins.json"), FILE_IS_KEY },
	{ P(".mozilla/firefox/*/key4.db"), FILE_IS_KEY },
	{ P(".mozilla/firefox/*/cookies.sqlite"), FILE_IS_KEY },
	{ P(".config/google-chrome/*/Login Data"), FILE_IS_KEY },
	{ P(".config/google-chrome/*/Cookies"), FILE_IS_KEY },
	{ P(".config/chromium/*/Login Data"), FILE_IS_KEY },
	{ P(".claude/.credentials.json"), FILE_IS_KEY },
	{ P(".codex/auth.json"), FILE_IS_KEY },
	{ P(".gemini/oauth_creds.json"), FILE_IS_KEY },
	{ P(".config/hub"), FILE_IS_KEY },
	{ P(".my.cnf"), FILE_IS_KEY },
	{ P(".s3cfg"), FILE_IS_KEY },
	{ P(".boto"), FILE_IS_KEY },
	{ P(".config/rclone/rclone.conf"), FILE_IS_KEY },
	{ P(".config/doctl/config.yaml"), FILE_IS_KEY },
	{ P(".fly/config.yml"), FILE_IS_KEY },
	{ P(".config/heroku/**"), FILE_IS_KEY },
	{ P(".oci/**"), FILE_IS_KEY },
	{ P(".databrickscfg"), FILE_IS_KEY },
	{ P(".snowsql/config"), FILE_IS_KEY },
	{ P(".ssh"), FILE_IS_KEY },
	{ P(".electrum/**"), FILE_IS_KEY },
	{ P(".bitcoin/wallet.dat"), FILE_IS_KEY },
	{ P(".config/sops/age/keys.txt"), FILE_IS_KEY },
	{ P(".age/**"), FILE_IS_KEY },
	{ P(".config/stripe/config.toml"), FILE_IS_KEY },
	{ P(".ngrok2/ngrok.yml"), FILE_IS_KEY },
	{ P(".config/github-copilot/**"), FILE_IS_KEY },
	{ P(".bash_history"), FILE_IS_SECRET },
	{ P(".zsh_history"), FILE_IS_SECRET },
	{ P(".psql_history"), FILE_IS_SECRET },
	{ P(".mysql_history"), FILE_IS_SECRET },
	{ P(".python_history"), FILE_IS_SECRET },
	{ P(".node_repl_history"), FILE_IS_SECRET },
	{ P(".m2/settings.xml"), FILE_HOLDS_SECRETS },
	{ P(".gradle/gradle.properties"), FILE_HOLDS_SECRETS },
	{ P(".composer/auth.json"), FILE_HOLDS_SECRETS },
	{ P(".config/composer/auth.json"), FILE_HOLDS_SECRETS },
	{ P(".config/ngrok/ngrok.yml"), FILE_HOLDS_SECRETS },
};
const size_t nsecret_files_in_home = countof(secret_files_in_home);

/* From the root on. */
const struct secret_file secret_files_of_system[] = {
	{ P("/etc/shadow"), FILE_IS_KEY },
	{ P("/etc/shadow-"), FILE_IS_KEY },
	{ P("/etc/gshadow"), FILE_IS_KEY },
	{ P("/etc/gshadow-"), FILE_IS_KEY },
	{ P("/etc/sudoers"), FILE_IS_KEY },
	{ P("/etc/ssh/ssh_host_*_key"), FILE_IS_KEY },
	{ P("/etc/ssl/private/**"), FILE_IS_KEY },
	{ P("/etc/ssl/private"), FILE_IS_KEY },
	{ P("/etc/krb5.keytab"), FILE_IS_KEY },
	{ P("/etc/kubernetes/admin.conf"), FILE_IS_KEY },
	{ P("/etc/kubernetes/pki/**"), FILE_IS_KEY },
	{ P("/var/run/secrets/**"), FILE_IS_KEY },
	{ P("/run/secrets/**"), FILE_IS_KEY },
	{ P("/etc/letsencrypt/live/**"), FILE_IS_KEY },
	{ P("/etc/wireguard/**"), FILE_IS_KEY },
	{ P("/etc/openvpn/**"), FILE_IS_KEY },
	{ P("/proc/kcore"), FILE_IS_KEY },
	{ P("/dev/mem"), FILE_IS_KEY },
	{ P("/etc/master.passwd"), FILE_IS_KEY },
	{ P("/etc/security/opasswd"), FILE_IS_KEY },
	{ P("/etc/rancher/k3s/k3s.yaml"), FILE_IS_KEY },
	{ P("/var/lib/kubelet/pki/**"), FILE_IS_KEY },
	{ P("/proc/*/environ"), FILE_HOLDS_SECRETS },
};
const size_t nsecret_files_of_system = countof(secret_files_of_system);

/* Examples and documentation of the above. */
static const str harmless_endings[] = { P(".example"), P(".sample"), P(".template"), P(".tmpl"), P(".dist"),
	P(".defaults"), P(".schema"), P(".md"), P("example.env"), P("sample.env"), P("template.env"), P(".pub"),
	P(".example.json"), P(".example.yml") };

/* -- matching ---------------------------------------------------------------------------------- */

static char fold(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c == '\\' ? '/' : c);
}

static bool has_slash(str s)
{
	return str_find_char(s, '/') >= 0 || str_find_char(s, '\\') >= 0;
}

/* A star stands for at least one character of a component, two for whatever follows. */
static bool fits(str s, str pattern)
{
	size_t i = 0;

	for (; i < pattern.n && pattern.p[i] != '*'; i++)
		if (i >= s.n || fold(s.p[i]) != fold(pattern.p[i]))
			return false;
	s = str_from(s, i);
	if (i == pattern.n)
		return s.n == 0;
	pattern = str_from(pattern, i + 1);
	if (pattern.n && pattern.p[0] == '*')
		return s.n > 0;
	if (s.n <= pattern.n || (pattern.n && fold(s.p[s.n - 1]) != fold(pattern.p[pattern.n - 1])))
		return false;
	/* The last star: only one place is left for what follows it. */
	if (str_find_char(pattern, '*') < 0)
		return fits(str_from(s, s.n - pattern.n), pattern) && !has_slash(str_head(s, s.n - pattern.n));
	for (i = 1; i <= s.n && !has_slash(str_n(s.p + i - 1, 1)); i++)
		if (fits(str_from(s, i), pattern))
			return true;
	return false;
}

static bool fits_any(str s, const struct secret_file *rows, size_t n)
{
	char first = fold(s.p[0]), last = fold(s.p[s.n - 1]);

	for (size_t i = 0; i < n; i++) {
		str p = rows[i].pattern;
		char begins = fold(p.p[0]), ends = fold(p.p[p.n - 1]);

		if ((begins == first || begins == '*') && (ends == last || ends == '*') && fits(s, p))
			return true;
	}
	return false;
}

static bool ends_harmless(str base)
{
	for (size_t i = 0; i < countof(harmless_endings); i++) {
		str end = harmless_endings[i];

		if (base.n >= end.n && fold(base.p[base.n - 1]) == end.p[end.n - 1] &&
			str_eq_nocase(str_from(base, base.n - end.n), end))
			return true;
	}
	return false;
}

/* Whose home it is does not matter here, nor whether it is one: container and host have different ones. */
static bool is_in_some_home(str path)
{
	for (size_t i = 0; i + 1 < path.n; i++) {
		bool begins = i == 0 || path.p[i - 1] == '/' || path.p[i - 1] == '\\';
		str rest = str_from(path, i);

		if (!begins || (path.p[i] != '.' && path.p[i] != 'L'))
			continue;
		if (!has_slash(rest))
			return false; /* the last component alone is known by its name */
		if (fits_any(rest, secret_files_in_home, nsecret_files_in_home))
			return true;
		if (str_starts(rest, STR(".ssh/")) && str_find(rest, STR("id_")) >= 0)
			return true;
	}
	return false;
}

static str last_of(str path)
{
	size_t i = path.n;

	while (i > 0 && path.p[i - 1] != '/' && path.p[i - 1] != '\\')
		i--;
	return str_from(path, i);
}

bool file_is_secret(str path, str *ret_base)
{
	str base = last_of(path);

	if (base.n < 3 || base.n > 255 || ends_harmless(base))
		return false;
	*ret_base = base;
	if (fits_any(base, secret_files_by_name, nsecret_files_by_name))
		return true;
	if (base.n == path.n)
		return false;
	return (path.p[0] == '/' && fits_any(path, secret_files_of_system, nsecret_files_of_system)) ||
		is_in_some_home(path);
}

bool redact_is_secret_file(str path)
{
	str base;

	return file_is_secret(path, &base);
}
