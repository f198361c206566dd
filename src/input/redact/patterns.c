/* The forms of secrets. A new one is a row here and a line in tests/unit/secret_samples.h.
 *
 * What to know before adding one: the pattern is tried exactly where its literal is, in bytes,
 * and must find its end within `ahead` bytes; every repetition has an upper bound or a class that
 * cannot contain the literal, which keeps hostile text linear. An earlier row gives its
 * name where two find the same text, so the general ones come last. */
#include "redact/internal.h"

#define W "[A-Za-z0-9_-]"
#define A "[A-Za-z0-9]"
#define H "[0-9a-f]"
#define END_A "(?![A-Za-z0-9])"
#define END_W "(?![A-Za-z0-9_-])"
/* Between a name in context and its value: "heroku_key" => '… */
#define TO "[A-Za-z0-9_ .-]{0,40}[\"'\\\\\\]]{0,3}\\s{0,4}(?::=|=>|[:=])\\s{0,4}[\"'\\\\]{0,3}"

#define TAB "(?:\\t|\\\\t)"

/* How a number begins in base64 when its first digits are not zero, less those that ordinary words are full of. */
#define DIGITS_IN_BASE64                                                                                   \
	"MTA MTE MTI MTM MTQ MTU MTY MTc MTg MTk MjA MjE MjI MjM MjQ MjU MjY Mjc Mjg Mjk MzA MzE MzI MzM " \
	"MzQ MzU MzY Mzc Mzg Mzk NDA NDM NDQ NDU NDY NDc NDg NDk NTM NTQ NTU NTY NTc NTg NTk NjA NjE NjI " \
	"NjM NjQ NjU NjY Njc Njg Njk NzA NzE NzI NzM NzQ NzU NzY Nzc Nzg Nzk ODA ODI ODM ODQ ODU ODc ODg " \
	"ODk OTM OTQ OTU OTY OTc OTg OTk"

const struct secret secrets[] = {
	/* Models and their tools. */
	{ "anthropic-key", "sk-ant-", "sk-ant-" W "{20,250}", .run = 20 },
	{ "openrouter-key", "sk-or-", "sk-or-(?:v1-)?" A "{32,80}", .run = 20 },
	{ "langfuse-key", "sk-lf-", "sk-lf-" H "{8}-[0-9a-f-]{27}", .run = 20 },
	{ "openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", "sk-(?:proj|svcacct|admin|None)-" W "{20,250}",
		.run = 20 },
	{ "openai-key", "sk-", "sk-" A "{20,100}" END_W, .run = 20, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "huggingface-token", "hf_ api_org_", "(?:hf_|api_org_)" A "{30,40}" END_A, .run = 30, .flags = SECRET_WORD },
	{ "replicate-token", "r8_", "r8_" A "{37,40}" END_A, .run = 37, .flags = SECRET_WORD },
	{ "groq-key", "gsk_", "gsk_" A "{40,60}", .run = 40, .flags = SECRET_WORD },
	{ "xai-key", "xai-", "xai-" A "{60,90}", .run = 60, .flags = SECRET_WORD },
	{ "perplexity-key", "pplx-", "pplx-" A "{40,64}", .run = 40 },
	{ "nvidia-key", "nvapi-", "nvapi-" W "{50,80}", .run = 50 },
	{ "cerebras-key", "csk-", "csk-[a-z0-9]{40,60}", .run = 40, .flags = SECRET_WORD },
	{ "together-key", "tgp_v1_", "tgp_v1_" W "{40,60}", .run = 40 },
	{ "fireworks-key", "fw_", "fw_" A "{20,40}" END_A, .run = 20, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "langsmith-key", "lsv2_", "lsv2_(?:pt|sk)_" H "{32}_" H "{10}", .run = 30 },
	{ "tavily-key", "tvly-", "tvly-(?:dev-|prod-)?" A "{20,44}", .run = 20 },
	{ "firecrawl-key", "fc-", "fc-" H "{32}" END_A, .run = 32, .flags = SECRET_WORD },
	{ "jina-key", "jina_", "jina_[A-Za-z0-9_]{40,80}", .run = 40 },
	{ "pinecone-key", "pcsk_", "pcsk_[A-Za-z0-9_]{40,90}", .run = 40 },
	{ "voyage-key", "pa-", "pa-" W "{40,50}" END_W, .run = 40, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "e2b-key", "e2b_", "e2b_" H "{40}", .run = 40 },
	{ "elevenlabs-key", "sk_", "sk_" H "{48}" END_A, .run = 48, .flags = SECRET_WORD },
	{ "apify-token", "apify_api_", "apify_api_" A "{30,50}", .run = 30 },
	{ "wandb-key", "wandb", "wandb" TO "(" H "{40})" END_A, .flags = SECRET_NOCASE },

	/* Clouds. */
	{ "aws-key-pair", "AKIA ASIA", "A[KS]IA[A-Z0-9]{16}[\\s,:;|\"']{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
		.run = 16, .flags = SECRET_WORD },
	{ "aws-access-key-id", "AKIA ASIA ABIA ACCA", "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}" END_A, .run = 16,
		.flags = SECRET_WORD },
	{ "aws-secret-key", "secret_access_key secretaccesskey secret-access-key secret_key",
		"secret[_-]?(?:access[_-]?)?key" TO "([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])", .flags = SECRET_NOCASE },
	{ "aws-bedrock-key", "ABSK", "ABSK[A-Za-z0-9+/]{80,250}={0,2}", .flags = SECRET_WORD },
	{ "aws-mws-key", "amzn.mws.", "amzn\\.mws\\." H "{8}-[0-9a-f-]{27}", .run = 20 },
	{ "azure-storage-key", "AccountKey= SharedAccessKey=",
		"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,90}={0,2})", .flags = SECRET_NOCASE },
	{ "azure-sas-signature", "sig=", "(?<=[?&;\"' ])sig=([A-Za-z0-9%/+]{40,120}={0,2})", .flags = SECRET_NOCASE },
	{ "azure-client-secret", "q~", "(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", .back = 4,
		.ahead = 37, .run = 8, .flags = SECRET_NOCASE },
	{ "google-api-key", "AIza", "AIza" W "{35}" END_W, .run = 35 },
	{ "google-oauth-token", "ya29.", "ya29\\." W "{20,400}", .run = 20 },
	{ "google-oauth-secret", "GOCSPX-", "GOCSPX-" W "{20,40}", .run = 20 },
	{ "google-refresh-token", "1//0", "1//0" W "{30,200}", .run = 30, .flags = SECRET_WORD },
	{ "digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "do[opr]_v1_" H "{64}", .run = 64 },
	{ "alibaba-key-id", "LTAI", "LTAI" A "{12,24}" END_A, .run = 12, .flags = SECRET_WORD },
	{ "tencent-key-id", "AKID", "AKID" A "{32}" END_A, .run = 32, .flags = SECRET_WORD },
	{ "heroku-key", "HRKU-", "HRKU-" W "{30,80}", .run = 30 },
	{ "heroku-key", "heroku", "heroku" TO "(" H "{8}-(?:" H "{4}-){3}" H "{12})", .flags = SECRET_NOCASE },
	{ "cloudflare-token", "cloudflare", "cloudflare" TO "(" W "{37,45})" END_W, .flags = SECRET_NOCASE,
		.check = CHECK_MIXED },
	{ "cloudflare-origin-key", "v1.0-", "v1\\.0-" H "{24}-" H "{140,150}", .run = 24 },
	{ "vercel-token", "vcp_ vci_ vca_ vcr_ vck_", "vc[piark]_" A "{24,80}", .run = 24, .flags = SECRET_WORD },
	{ "vercel-token", "vercel", "vercel" TO "(" A "{24})" END_A, .flags = SECRET_NOCASE, .check = CHECK_MIXED },
	{ "netlify-token", "nfp_ nfc_ nfo_ nfu_", "nf[pcou]_[A-Za-z0-9_]{30,60}", .run = 30, .flags = SECRET_WORD },
	{ "fly-token", "fo1_", "fo1_" W "{40,60}", .run = 40, .flags = SECRET_WORD },
	{ "fly-token", "fm1r_ fm1a_ fm2_", "fm[12][ar]?_[A-Za-z0-9+/]{60,560}={0,3}", .flags = SECRET_WORD },
	{ "render-key", "rnd_", "rnd_" A "{28,40}" END_A, .run = 28, .flags = SECRET_WORD },
	{ "tailscale-key", "tskey-", "tskey-[a-z]{3,10}-" A "{8,24}(?:-" A "{16,64})?", .run = 12 },
	{ "pulumi-token", "pul-", "pul-" H "{40}", .run = 40, .flags = SECRET_WORD },
	{ "terraform-token", ".atlasv1.", A "{14}\\.atlasv1\\." W "{60,70}", .back = 14, .ahead = 80, .run = 60 },
	{ "vault-token", "hvs. hvb. hvr.", "hv[sbr]\\." W "{20,250}", .run = 20, .flags = SECRET_WORD },
	{ "databricks-token", "dapi", "dapi" H "{32}(?:-[0-9])?" END_A, .run = 32, .flags = SECRET_WORD },
	{ "planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", "pscale_[a-z]{2,5}_[A-Za-z0-9_.-]{32,64}",
		.run = 10 },
	{ "supabase-token", "sbp_", "sbp_(?:v[0-9]_)?" H "{40}", .run = 40, .flags = SECRET_WORD },
	{ "supabase-key", "sb_secret_", "sb_secret_" W "{20,60}", .run = 20 },
	{ "doppler-token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.",
		"dp\\.(?:pt|st|sa|ct|scim|audit)\\.(?:" W "{2,35}\\.)?" A "{40,44}", .run = 2, .flags = SECRET_WORD },
	{ "onepassword-token", "ops_eyJ", "ops_eyJ[A-Za-z0-9_+/=-]{50,590}" },
	{ "onepassword-key", "A3-", "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,5}[A-Z0-9]{5}", .run = 20,
		.flags = SECRET_WORD },
	{ "age-key", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1[0-9A-Z]{50,62}", .run = 50, .flags = SECRET_NOCASE },

	/* Where code lives and is built. */
	{ "github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "gh[pousr]_" A "{36,255}", .run = 36 },
	{ "github-pat", "github_pat_", "github_pat_[A-Za-z0-9_]{22,255}", .run = 22 },
	{ "gitlab-token", "glpat- gldt- glptt- glft- glrt- glcbt- glsoat- glagent- gloas- glimt- glffct-",
		"gl[a-z]{2,6}-[A-Za-z0-9_.-]{20,120}", .run = 19, .flags = SECRET_WORD },
	{ "gitlab-runner-token", "GR1348941", "GR1348941" W "{20,40}", .run = 20 },
	{ "atlassian-token", "ATATT3 ATCTT3 ATSTT3", "AT[ACS]TT3[A-Za-z0-9_=-]{30,300}", .run = 30 },
	{ "bitbucket-token", "ATBB", "ATBB" A "{28,40}" END_A, .run = 28, .flags = SECRET_WORD },
	{ "npm-token", "npm_", "npm_" A "{36}" END_A, .run = 36, .flags = SECRET_WORD },
	{ "pypi-token", "pypi-", "pypi-" W "{50,590}", .run = 50 },
	{ "rubygems-key", "rubygems_", "rubygems_" H "{48}", .run = 48 },
	{ "crates-token", "cio", "cio" A "{32}" END_A, .run = 32, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "nuget-key", "oy2", "oy2[a-z0-9]{43}" END_A, .run = 43, .flags = SECRET_WORD },
	{ "clojars-token", "CLOJARS_", "CLOJARS_[a-z0-9]{60}", .run = 60 },
	{ "docker-token", "dckr_pat_ dckr_oat_", "dckr_[po]at_" W "{20,60}", .run = 20 },
	{ "artifactory-key", "AKCp", "AKCp" A "{60,80}" END_A, .run = 60, .flags = SECRET_WORD },
	{ "buildkite-token", "bkua_", "bkua_" H "{40}", .run = 40 },
	{ "circleci-token", "CCIPAT_ CCIPRJ_", "CCIP(?:AT|RJ)_" A "{20,24}_" H "{40}", .run = 20 },
	{ "sonar-token", "sqp_ squ_ sqa_", "sq[pua]_" H "{40}", .run = 40, .flags = SECRET_WORD },
	{ "postman-key", "PMAK-", "PMAK-" H "{24}-" H "{34}", .run = 24 },
	{ "linear-key", "lin_api_ lin_oauth_", "lin_(?:api|oauth)_" A "{32,64}", .run = 32 },
	{ "notion-token", "ntn_ secret_", "(?:ntn_|secret_)" A "{40,50}" END_A, .run = 40, .flags = SECRET_WORD,
		.check = CHECK_MIXED },
	{ "figma-token", "figd_", "figd_" W "{30,60}", .run = 30 },
	{ "airtable-token", "pat", "pat" A "{14}\\." H "{64}", .run = 14, .flags = SECRET_WORD },
	{ "typeform-token", "tfp_", "tfp_[A-Za-z0-9_.-]{40,64}", .run = 12, .flags = SECRET_WORD },
	{ "readme-key", "rdme_", "rdme_[a-z0-9]{70}", .run = 70 },
	{ "okta-token", "SSWS", "SSWS\\s{1,4}(" W "{40,44})", .flags = SECRET_WORD },

	/* Money, mail, chat. */
	{ "stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", "[sr]k_(?:live|test)_" A "{10,250}", .run = 10,
		.flags = SECRET_WORD },
	{ "stripe-webhook-secret", "whsec_", "whsec_[A-Za-z0-9+/]{20,90}={0,2}" },
	{ "square-token", "sq0atp- sq0csp- sq0idp-", "sq0[a-z]{3}-" W "{22,43}", .run = 22 },
	{ "square-token", "EAAA", "EAAA" W "{56,64}" END_W, .run = 56, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", "shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}", .run = 32 },
	{ "paypal-token", "access_token$", "access_token\\$(?:production|sandbox)\\$[0-9a-z]{16}\\$" H "{32}" },
	{ "flutterwave-key", "FLWSECK", "FLWSECK(?:_TEST)?-" A "{12,40}-X", .run = 12 },
	{ "easypost-key", "EZAK EZTK", "EZ[AT]K" A "{54}", .run = 54, .flags = SECRET_WORD },
	{ "shippo-token", "shippo_live_ shippo_test_", "shippo_(?:live|test)_" H "{40}", .run = 40 },
	{ "duffel-token", "duffel_live_ duffel_test_", "duffel_(?:live|test)_" W "{40,50}", .run = 40 },
	{ "twilio-key", "SK", "SK" H "{32}" END_A, .run = 32, .flags = SECRET_WORD },
	{ "twilio-token", "twilio", "twilio" TO "(" H "{32})" END_A, .flags = SECRET_NOCASE },
	{ "sendgrid-key", "SG.", "SG\\." W "{16,32}\\." W "{30,64}", .run = 16, .flags = SECRET_WORD },
	{ "mailgun-key", "key-", "key-[0-9a-z]{32}" END_W, .run = 32, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "mailchimp-key", "-us", "(?<![0-9A-Za-z])" H "{32}-us[0-9]{1,2}" END_A, .back = 32, .ahead = 6, .run = 1 },
	{ "brevo-key", "xkeysib- xsmtpsib-", "x(?:key|smtp)sib-" H "{64}-" A "{16}", .run = 64 },
	{ "resend-key", "re_", "re_" A "{8}_" A "{20,30}" END_A, .run = 28, .flags = SECRET_WORD,
		.check = CHECK_MIXED },
	{ "slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", "xox[a-eop-s]-[A-Za-z0-9%-]{10,300}",
		.run = 8 },
	{ "slack-token", "xoxe.xox", "xoxe\\.xox[bp]-[0-9]-[A-Za-z0-9]{40,300}", .run = 8 },
	{ "slack-app-token", "xapp-", "xapp-[0-9]-" W "{10,200}", .run = 10 },
	{ "slack-webhook", "hooks.slack.com/",
		"hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{20,200})", .run = 8,
		.flags = SECRET_NOCASE },
	{ "discord-webhook", "discord.com/api/ discordapp.com/api/",
		"discord(?:app)?\\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/(" W "{50,100})" },
	{ "discord-token", DIGITS_IN_BASE64, "[MNO]" A "{22,27}\\." W "{6}\\." W "{27,40}" END_W, .run = 19,
		.flags = SECRET_WORD },
	{ "discord-token", "discord bot login( .run(",
		"(?:discord|bot|login|\\.run)[^\\n]{0,48}?[^A-Za-z0-9_-]([MNO]" W "{22,28}\\." W "{6}\\." W
		"{27,40})" END_W,
		.ahead = 160, .flags = SECRET_NOCASE },
	{ "telegram-token", ":AA", "(?<![0-9A-Za-z])[0-9]{8,10}:AA" W "{32,34}" END_W, .back = 10, .ahead = 38,
		.run = 32 },
	{ "teams-webhook", "webhook.office.com/", "webhook\\.office\\.com/webhookb2/([A-Za-z0-9@/-]{40,250})", .run = 8,
		.flags = SECRET_NOCASE },
	{ "facebook-token", "EAA", "EAA" A "{80,300}" END_A, .run = 80, .flags = SECRET_WORD, .check = CHECK_MIXED },
	{ "firebase-key", ":APA91b", W "{8,24}:APA91b" W "{100,200}", .back = 24, .ahead = 208, .run = 100 },
	{ "dropbox-token", "sl.", "sl\\.(?:u\\.)?" W "{120,590}", .run = 1, .flags = SECRET_WORD },

	/* Those who watch. */
	{ "grafana-token", "glc_", "glc_[A-Za-z0-9+/]{32,400}={0,3}", .flags = SECRET_WORD },
	{ "grafana-token", "glsa_", "glsa_" A "{32}_[0-9A-Fa-f]{8}", .run = 41 },
	{ "newrelic-key", "NRAK- NRII- NRJS- NRIQ-", "NR(?:AK|II|JS|IQ)-[A-Za-z0-9_-]{19,40}", .run = 19 },
	{ "newrelic-license", "NRAL", "(?<![0-9A-Za-z])" H "{36}NRAL" END_A, .back = 36, .ahead = 5 },
	{ "datadog-key", "datadog ddapp ddapi", "(?:datadog|ddapp|ddapi)" TO "(" H "{32}(?:" H "{8})?)" END_A,
		.flags = SECRET_NOCASE },
	{ "dynatrace-token", "dt0c01. dt0s01. dt0s16.", "dt0[cs][0-9]{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}", .run = 24 },
	{ "sentry-token", "sntrys_ sntryu_", "sntry[su]_[A-Za-z0-9_+/=-]{40,400}" },
	{ "posthog-key", "phc_ phx_", "ph[cx]_" A "{32,60}", .run = 32, .flags = SECRET_WORD },

	/* By their context. */
	{ "private-key", "-----BEGIN", "-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
		.flags = SECRET_PEM },
	{ "private-key", "SSH2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----[^-]{0,4000}", .back = 11, .ahead = 4096 },
	{ "private-key", "PuTTY-User-Key-File",
		"PuTTY-User-Key-File-[0-9]:[\\s\\S]{0,4000}?Private-MAC: [0-9a-f]{40,64}", .ahead = 4200 },
	{ "jwt", "eyJ", "eyJ" W "{8,4000}\\.eyJ?" W "{6,6000}(?:\\." W "{6,2000}(?:\\." W "{6,4000}){0,2})?",
		.ahead = 16000, .run = 8, .flags = SECRET_WORD },
	{ "authorization", "authorization",
		"(?:proxy-)?authorization[\"'\\\\\\]]{0,3}\\s{0,4}(?::|=>?|,)\\s{0,4}[fb]?[\"'\\\\`"
		"]{0,3}"
		"(?|(?:bearer|basic|token|digest|negotiate|apikey|bot|key|aws4-hmac-sha256)\\s{1,4}"
		"([A-Za-z0-9+/=._~:|-]{6,4000})|(?=" W "{0,200}[0-9])([A-Za-z0-9+/=._~-]{16,4000}))",
		.ahead = 4200, .flags = SECRET_NOCASE, .check = CHECK_VALUE },
	{ "bearer-token", "bearer", "bearer\\s{1,4}[\"']?([A-Za-z0-9+/=._~-]{12,4000})", .ahead = 4200,
		.flags = SECRET_NOCASE | SECRET_WORD, .check = CHECK_BOTH },
	{ "basic-auth", "basic", "basic\\s{1,4}[\"']?([A-Za-z0-9+/_-]{6,590}={0,2})",
		.flags = SECRET_NOCASE | SECRET_WORD, .check = CHECK_USER },
	{ "cookie", "set-cookie",
		"set-cookie[\"'\\\\]{0,3}\\s{0,4}[:=,]\\s{0,4}[\"'\\\\`]{0,3}[A-Za-z0-9_.-]{1,80}="
		"([^;\\s\"'\\\\,<>]{6,4000})",
		.ahead = 4200, .flags = SECRET_NOCASE, .check = CHECK_VALUE },
	{ "cookie", "cookie",
		"(?<!set-)cookies?[\"'\\\\]{0,3}\\s{0,4}(?:[:=]|,(?=\\s{0,4}[\"'\\\\`]))\\s{0,4}[\"'\\\\`]{0,3}"
		"((?:[A-Za-z0-9_.-]{1,80}=[^\\s\"'\\\\`;,<>(){}]{0,400};\\s?){0,10}"
		"[A-Za-z0-9_.-]{1,80}=[^\\s\"'\\\\`;,<>(){}]{6,4000}(?:;\\s?[A-Za-z0-9_.-]{1,80}=["
		"^\\s\"'\\\\`;<>]{0,4000}){0,40})",
		.ahead = 8000, .flags = SECRET_NOCASE, .check = CHECK_BOTH },
	{ "cookie", "cookies",
		"cookies\\s{0,4}[:=]\\s{0,4}\\{\\s{0,8}[\"'][A-Za-z0-9_.-]{1,80}[\"']\\s{0,4}:\\s{0,4}[\"']"
		"([^\"'\\n]{8,400})",
		.flags = SECRET_NOCASE, .check = CHECK_BOTH },
	{ "cookie", "PHPSESSID= JSESSIONID= connect.sid= laravel_session= csrftoken= XSRF-TOKEN= ASP.NET_SessionId=",
		"[A-Za-z_.-]{3,20}=(?:s%3A)?([A-Za-z0-9%._~+/=-]{12,400})", .flags = SECRET_NOCASE,
		.check = CHECK_BOTH },
	/* A line of a cookie jar. */
	{ "cookie", "\tTRUE\t/ \tFALSE\t/ tTRUE tFALSE",
		TAB "(?:TRUE|FALSE)" TAB "/[^\\t\\n]{0,100}?" TAB "(?:TRUE|FALSE)" TAB "[0-9.]{1,20}" TAB
		    "[^\\t\\n]{1,100}?" TAB "([^\\t\\n\"\\\\]{6,400})",
		.back = 1 },
	/* Links that are keys for an hour or a week. */
	{ "signed-url", "x-amz-signature x-amz-security-token x-goog-signature x-oss-signature",
		"x-[a-z]{3,4}-(?:signature|security-token)(?:%3D|[\"'\\\\]{0,3}\\s{0,4}[:=,]\\s{0,4}[\"'\\\\]{0,3})"
		"([A-Za-z0-9%/+=_-]{16,4000})",
		.ahead = 4200, .flags = SECRET_NOCASE },
	{ "signed-url", "signature=", "(?<=[?&;, ])signature=([A-Za-z0-9%/+=_~-]{40,900})", .ahead = 1000,
		.flags = SECRET_NOCASE },
	{ "url-password", "://",
		"://[^\\s/@:\"'<>\\[\\\\]{0,100}:([^\\s/"
		"\"'<>`\\\\]{3,300})@(?!sha256:)[A-Za-z0-9\\[{$]",
		.check = CHECK_VALUE },
	{ "url-token", "://", "://([A-Za-z0-9_-]{20,200})@[A-Za-z0-9]", .check = CHECK_MIXED, .run = 20 },
	{ "curl-user", "curl",
		"curl\\b[^\\n|;]{0,500}?\\s(?:-u|--user|--proxy-user|-U)[ "
		"=]{0,2}[\"'\\\\]{0,3}[^\\s:\"'$]{1,80}:"
		"([^\\s\"'\\\\]{3,200})",
		.ahead = 900, .flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "mysql mariadb",
		"(?:mysql|mariadb)[a-z-]{0,10}\\s[^\\n|;]{0,300}?(?<=\\s)-p[\"']?([^\\s\"'$-][^"
		"\\s\"']{3,100})",
		.ahead = 500, .flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "curl-cookie", "curl",
		"curl\\b[^\\n|;]{0,500}?\\s(?:-b|--cookie)[ "
		"=][\"'\\\\]{0,3}[A-Za-z0-9_.-]{1,80}=([^\\s\"'\\\\]{6,400})",
		.ahead = 900, .flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "auth-pair", "auth=( basicauth(",
		"(?:basic)?auth=?\\(\\s{0,8}[\"'][^\"'\\n]{1,80}[\"']\\s{0,4},\\s{0,8}[\"']([^\"'"
		"\\n]{3,200})[\"']",
		.flags = SECRET_NOCASE, .check = CHECK_VALUE },
	{ "sql-password", "identified",
		"identified\\s{1,4}(?:with\\s{1,4}\\S{1,60}\\s{1,4})?by\\s{1,4}(?:password\\s{1,4})"
		"?[\"']([^\"'\\n]{3,200})",
		.flags = SECRET_NOCASE, .check = CHECK_VALUE },
	/* What is piped into a program that reads a secret: alone, or as user:password. */
	{ "command-password", "echo printf",
		"(?:echo|printf)\\s{1,4}(?:-n\\s|-e\\s)?(?:[\"'\\\\]{0,3}%s(?:\\\\n)?[\"'\\\\]{0,3}\\s{1,4})?"
		"[\"'\\\\]{0,3}(?:[A-Za-z0-9._-]{1,64}:)?([^\\s\"'$|\\\\]{4,400})(?:\\\\n)?[\"'\\\\]{0,3}\\s{0,4}"
		"\\|\\s{0,4}(?:sudo\\s(?:-\\S{1,9}\\s){0,3}[^\\n|;]{0,80}?-S|(?:sudo\\s(?:-\\S{1,9}\\s){0,3})?(?:"
		"\\S{1,40}\\s[^\\n|;]{0,200}?--(?:password-stdin|passphrase-fd|with-token|stdin|password-file[ "
		"=]-)|chpasswd|"
		"chgpasswd|smbpasswd\\s[^\\n|;]{0,40}?-s|pw\\s[^\\n|;]{0,80}?-h|cryptsetup\\s|vipw|"
		"(?:npx\\s)?(?:wrangler|docker|podman|gh|fly|flyctl|vercel|netlify|railway|gcloud|doppler|pass|gopass|"
		"op|"
		"secret-tool|keyring|kubectl|heroku|supabase|ansible-vault|vault|npm|az)\\s[^\\n|;]{0,120}?"
		"(?:secrets?|env\\sadd|insert|encrypt_string|login|kv\\sput)))\\b",
		.ahead = 900, .flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "passwd",
		"(?<![A-Za-z])chpasswd[^\\n|;]{0,40}<<<?-?[ \\t]{0,4}[\"'\\\\]{0,3}(?:[A-Za-z_]{1,20}[\"']?\\n)?"
		"[A-Za-z0-9._-]{1,64}:([^\\s\"'$]{4,200})",
		.back = 2, .check = CHECK_VALUE },
	{ "command-password", "passwd",
		"(?<![A-Za-z])htpasswd[ \\t]{1,4}(?:-[A-Za-z0-9]{1,8}[ \\t]{1,4}(?:[0-9]{1,3}[ \\t])?){0,4}?"
		"-[A-Za-z]{0,6}b[A-Za-z]{0,6}[ \\t]{1,4}(?:-[A-Za-z0-9]{1,8}[ \\t]{1,4}(?:[0-9]{1,3}[ \\t])?){0,4}"
		"(?:[^\\s|;&]{1,200}[ \\t]{1,4}){1,2}[\"']?([^\\s\"'$|;&]{4,200})",
		.back = 2, .check = CHECK_VALUE },
	{ "command-password", "smb",
		"smb[a-z]{3,6}\\s[^\\n|;]{0,300}?(?<=\\s)(?:-U|--user)[ "
		"=]{0,2}[\"']?"
		"[^\\s%\"']{1,100}%([^\\s\"']{3,200})",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "ldap",
		"ldap[a-z]{3,8}\\s[^\\n|;]{0,400}?(?<=\\s)-(?:w|s|a)\\s{0,4}[\"']?(?!(?:base|one|sub|children|never|"
		"always|"
		"search|find)\\b)([^\\s\"'$-][^\\s\"']{3,200})",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "mongo",
		"mongo[a-z]{0,8}\\s[^\\n|;]{0,300}?(?<=\\s)-p\\s{0,4}[\"']?([^\\s\"'$-][^\\s\"']{3,200})",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "zip",
		"(?<![A-Za-z0-9])(?:un)?zip\\s[^\\n|;]{0,200}?(?<=\\s)-P\\s{0,4}[\"']?([^\\s\"'$-][^\\s\"']{3,200})",
		.back = 2, .check = CHECK_VALUE },
	{ "command-password", "usera userm",
		"user(?:add|mod)\\s[^\\n|;]{0,200}?(?<=\\s)(?:-p|--password)[ "
		"=]{1,4}[\"']?(\\$[0-9a-z]{1,2}\\$[^\\s\"']{8,200}|"
		"[^\\s\"'$-][^\\s\"']{3,200})",
		.flags = SECRET_WORD },
	/* aws configure set, npm config set, git config: a name that says what the next word is. */
	{ "command-secret", "config",
		"config(?:ure)?[ \\t]{1,4}(?:(?:set|add|--?[a-z-]{1,20})[ "
		"\\t]{1,4}){0,5}(?:[^\\s=]{0,120}(?:token|password|"
		"passwd|secret|_auth|access_key|api_?key|extraheader)[^\\s=]{0,60}[ \\t=]{1,4}|"
		"http-basic\\.\\S{1,80}[ \\t]{1,4}\\S{1,80}[ \\t]{1,4})[\"']?([^\\s\"'$=-][^\\s\"']{5,400})",
		.ahead = 900, .flags = SECRET_NOCASE | SECRET_WORD, .check = CHECK_BOTH },
	{ "command-secret", "npm",
		"npm\\s{1,4}set\\s{1,4}\\S{0,200}(?:_authtoken|_password|_auth)[\\s=]{1,4}[\"']?([^\\s\"'$]{6,400})",
		.flags = SECRET_NOCASE | SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "expect",
		"expect\\b[^\\x00]{0,400}?assword[^\\x00]{0,80}?send\\s{1,4}(?:--\\s)?[\"'\\\\]{0,3}([^\\s\"'$\\\\]{4,"
		"100})\\\\{1,2}[rn]",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
	/* docker inspect */
	{ "environment", "Env", "\"Env\"\\s{0,4}:\\s{0,4}\\[\\s{0,40}(\"[A-Za-z_][^\\]]{4,3800})\\]", .back = 1,
		.ahead = 4000 },
	{ "sql-password", "password", "password\\s{1,4}'([^'\\n]{4,200})'", .flags = SECRET_NOCASE | SECRET_WORD,
		.check = CHECK_VALUE },
	{ "command-password", "pass",
		"(?<=\\s)-(?:src|dest|store|key)(?:store|key)?pass[ \\t]{1,4}[\"']?([^\\s\"'$]{4,200})", .back = 12,
		.check = CHECK_VALUE },
	{ "command-password", "login", "(?:cargo|vault)\\slogin\\s{1,4}([A-Za-z0-9._-]{16,400})", .back = 6,
		.check = CHECK_MIXED },
	{ "netrc-password", "machine", "machine\\s+\\S{1,200}\\s+login\\s+\\S{1,200}\\s+password\\s+(\\S{3,200})",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
	{ "command-password", "sshpass", "sshpass\\s{1,4}-p\\s{0,4}[\"']?([^\\s\"'$]{4,100})", .flags = SECRET_WORD,
		.check = CHECK_VALUE },
	{ "command-password", "login",
		"(?:docker|podman|helm|az|oc|skopeo|buildah)[a-z "
		"]{0,20}\\slogin\\s[^\\n|;]{0,200}?(?<=\\s)-p[ "
		"=]?[\"']?([^\\s\"'$-][^\\s\"']{4,200})",
		.back = 30, .ahead = 500, .check = CHECK_VALUE },
	/* grep shows lines of a file with its name. */
	{ "env-line", ".env: .env.local: .env.production: .env.development: .env-",
		"\\.env(?:\\.[a-z]{1,20})?[:-](?:[0-9]{1,6}[:-])?\\s{0,8}(?:export\\s)?[A-Za-z_][A-Za-z0-9_]{0,80}\\s?="
		"\\s?"
		"([^\\s#][^\\n]{0,400})" },
	{ "command-secret", "--from-literal", "--from-literal[= ][\"']?[A-Za-z0-9_.-]{1,80}=([^\\s\"']{3,400})",
		.check = CHECK_VALUE },
	{ "command-secret", "config:set", "config:set\\s((?:[A-Za-z0-9_.-]{1,80}=\\S{3,200}\\s?){1,20})",
		.flags = SECRET_WORD },
	{ "command-secret", "secrets", "secrets\\s(?:set|put|import)\\s((?:[A-Za-z0-9_.-]{1,80}=\\S{3,200}\\s?){1,20})",
		.flags = SECRET_WORD },
	{ "command-secret", "vault",
		"vault\\s(?:kv\\s)?(?:put|write|patch)\\s[^\\n|;=]{1,200}\\s"
		"((?:[A-Za-z0-9_.-]{1,80}=[^\\s@$]\\S{2,200}\\s?){1,20})",
		.flags = SECRET_WORD },
	{ "command-secret", "--body --secret-string",
		"secret[^\\n|;]{1,120}?\\s--(?:body|secret-string)[= ][\"']?([^\\s\"'$]{3,400})", .back = 140,
		.check = CHECK_VALUE },
	{ "command-password", "redis-cli",
		"redis-cli\\s[^\\n|;]{0,200}?(?<=\\s)-a\\s{0,4}[\"']?([^\\s\"'$-][^\\s\"']{4,200})",
		.flags = SECRET_WORD, .check = CHECK_VALUE },
};
const size_t nsecrets = countof(secrets);
