/* Text that reads like an instruction to an agent. What a user says may be one; what a tool printed, or a page said,
 * or an agent repeated of it, must not become one by being remembered: such a memory is put aside until the user has
 * looked at it. The patterns are about addressing an agent, hiding something or fetching something to run, not about a
 * subject: "never run this in production" is a fact about a program, "ignore what you were told" is not. */
#include <stdlib.h>

#include "base/alloc.h"
#include "match/match.h"
#include "memory/memory.h"

/* Words for what an agent was told. */
#define ORDERS                                                                                                     \
	"(?:instruction|prompt|rule|guideline|direction|message|context|command|order|polic|constraint|safeguard|" \
	"guard)"

static const struct {
	const char *why, *pattern;
} patterns[] = {
	{ "tells an agent to ignore what it was told",
		"\\b(?:ignor|disregard|forget|overrid|bypass|supersed|discard|drop|skip)\\w*\\b[^.\\n]{0,60}\\b(?:"
		"previous|prior|"
		"above|earlier|all|any|every|existing|other|your|system|these|those|the)\\b[^.\\n]{0,40}\\b" ORDERS },
	{ "gives an agent a new role",
		"\\b(?:you are (?:now|no longer|a |an |in )|act as|pretend (?:to be|you)|from now on,? you|new "
		"(?:system )?" ORDERS "s?\\s*:|roleplay as|developer mode|jailbreak)" },
	{ "addresses an agent",
		"\\b(?:dear |hey |attention,? |note (?:to|for) |instructions? (?:to|for) |important (?:for|to) "
		")?(?:the )?(?:ai|llm|"
		"assistant|agent|chatbot|claude|codex|copilot|gemini|cursor|gpt|language model|coding agent)s?\\b[,:]? "
		"?(?:you )?"
		"(?:must|should|shall|need to|has to|have to|please|is (?:required|instructed|authori[sz]ed) to|are "
		"(?:required|"
		"instructed|authori[sz]ed) to|will now)\\b" },
	{ "speaks as the system",
		"(?:^|[\\n>\\]*# "
		"])(?:system|assistant|developer|admin|human|user)\\s*(?:message|override|prompt|notice|note|update)?"
		"\\s*:|<\\/"
		"?(?:system|instructions?|assistant|user|tool|function|important|hookd|antml)[^>]{0,40}>|\\[\\/"
		"?(?:inst|"
		"system|sys)\\]|<\\|[^|]{1,30}\\|>|###\\s*(?:instruction|system|response)" },
	{ "wants something hidden",
		"\\b(?:do "
		"not|don't|never|without|avoid)\\b[^.\\n]{0,30}\\b(?:tell|inform|mention|notify|reveal|alert|ask|show|"
		"warn|"
		"disclos|telling|informing|mentioning|notifying|asking|alerting|report)\\w*\\b[^.\\n]{0,30}\\b(?:user|"
		"human|developer|"
		"anyone|anybody|owner|them|operator|person|maintainer)" },
	{ "fetches something to run",
		"\\b(?:curl|wget|fetch|iwr|invoke-webrequest)\\b[^\\n]{0,200}\\|\\s*(?:sudo\\s+)?(?:ba|z|da|k)?sh\\b|"
		"\\b(?:ba)?sh\\s+<\\("
		"|base64\\s+(?:-d|-D|--decode)[^\\n]{0,80}\\|\\s*(?:ba|z)?sh|\\beval\\s*[\\(\"'$`]+[^\\n]{0,60}(?:curl|"
		"wget|atob|base64)" },
	{ "asks for secrets to be sent",
		"\\b(?:send|post|upload|exfiltrat|forward|email|leak|copy|append|include|embed|paste|transmit|report)"
		"\\w*\\b[^.\\n]{0,80}"
		"\\b(?:secret|credential|token|password|api.?key|private key|ssh key|\\.env|id_rsa|environment "
		"variable|env var)s?\\b"
		"[^.\\n]{0,80}(?:\\bto\\b|https?:|\\bin(?:to)? (?:the|a|your)\\b)" },
	{ "tells an agent what to do from now on",
		"\\b(?:before|after|when(?:ever)?|each time|every time|always|next time|from now "
		"on|first)\\b[^.\\n]{0,60}\\b(?:you|"
		"your|agent|assistant)\\b[^.\\n]{0,40}\\b(?:must|should|run|execute|call|install|add|open|visit|fetch|"
		"reply|respond|"
		"answer|output|include|download|delete|push|commit|approve|disable)" },
	{ "claims a permission that it cannot give",
		"\\b(?:user|owner|admin\\w*|developer|maintainer|security "
		"team|anthropic|openai|google)\\b[^.\\n]{0,40}\\b(?:has|have|"
		"already|explicitly|pre-?)\\s*(?:already |explicitly "
		"|pre-?)?(?:approved|authori[sz]ed|granted|consented|allowed|"
		"confirmed|disabled)" },
	{ "switches a protection off",
		"\\b(?:disable|turn off|switch "
		"off|deactivate|remove|uninstall|bypass|skip)\\b[^.\\n]{0,40}\\b(?:hookd|guard|"
		"hooks?|safety|permission (?:check|prompt)s?|approval|confirmation|sandbox|security "
		"(?:check|scan)s?|verification)\\b"
		"|--dangerously-skip-permissions|--no-sandbox\\b|--yolo\\b|bypasspermissions" },
	{ "hides text",
		"[\\x{200b}-\\x{200f}\\x{202a}-\\x{202e}\\x{2060}-\\x{2069}\\x{e0000}-\\x{e007f}]|[A-Za-z0-9+/"
		"]{120,}={0,2}" },
};

struct poison {
	struct match *compiled[countof(patterns)];
};

struct poison *poison_new(void)
{
	struct poison *p = xcalloc(1, sizeof *p);

	for (size_t i = 0; i < countof(patterns); i++)
		if (match_compile(str_of(patterns[i].pattern), MATCH_NOCASE | MATCH_UTF, &p->compiled[i], NULL) < 0)
			abort(); /* a pattern of our own */
	return p;
}

void poison_free(struct poison *p)
{
	for (size_t i = 0; p && i < countof(patterns); i++)
		match_free(p->compiled[i]);
	free(p);
}

const char *poison_find(const struct poison *p, str text)
{
	/* A limit that was reached is no reason to trust it. */
	for (size_t i = 0; i < countof(patterns); i++)
		if (match_find(p->compiled[i], text, 0, NULL) != 0)
			return patterns[i].why;
	return NULL;
}
