/* The options llm.*, and the key. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/url.h"
#include "llm/internal.h"
#include "os/os.h"

static void take_key_file(struct llm_settings *s, const struct config *c, const char *state)
{
	str file = config_text(c, OPTION_LLM_KEY_FILE);
	char home[FS_PATH] = "";

	if (str_empty(file)) {
		if (fs_join(s->key_file, state, "llm.key") < 0)
			s->key_file[0] = 0;
		return;
	}
	s->key_needed = true; /* somebody named it: it must be there */
	if (str_starts(file, STR("~/"))) {
		(void)os_account_home(home, sizeof home);
		file = str_from(file, 1);
	}
	if (snprintf(s->key_file, sizeof s->key_file, "%s" STR_FMT, home, STR_ARG(file)) >= (int)sizeof s->key_file)
		s->key_file[0] = 0;
}

/* The part of the address that the user gives ends before the protocol's own; a slash at its end does no harm. */
static int take_url(struct llm_settings *s, const struct config *c, struct err *err)
{
	const struct llm_protocol *p = &llm_protocols[s->provider];
	str url = config_text(c, OPTION_LLM_URL);

	if (str_empty(url))
		url = str_of(p->url);
	if (str_empty(url))
		return err_set(err, -EINVAL, "llm.url is missing: the address of the server");
	while (str_ends(url, STR("/")))
		url.n--;
	if (snprintf(s->url, sizeof s->url, STR_FMT "%s", STR_ARG(url), p->path) >= (int)sizeof s->url)
		return err_set(err, -EINVAL, "llm.url is too long");
	return url_check(str_of(s->url), err);
}

bool llm_settings_read(struct llm_settings *s, const struct config *c, const char *state, struct err *err)
{
	str model = config_text(c, OPTION_LLM_MODEL);

	*s = (struct llm_settings){ .provider = (enum llm_provider)config_number(c, OPTION_LLM_PROVIDER),
		.max_tokens = (unsigned)config_number(c, OPTION_LLM_MAX_TOKENS),
		.context = (unsigned)config_number(c, OPTION_LLM_CONTEXT),
		.budget = config_number(c, OPTION_LLM_BUDGET),
		.timeout_us = config_number(c, OPTION_LLM_TIMEOUT_S) * USEC_PER_SEC };
	if (s->provider == LLM_NOBODY)
		return false;
	snprintf(s->model, sizeof s->model, STR_FMT, STR_ARG(model));
	take_key_file(s, c, state);
	if (str_empty(model) || model.n >= sizeof s->model) {
		err_set(err, -EINVAL, "llm.model is %s",
			str_empty(model) ? "missing: the name of the model" : "too long");
		return false;
	}
	/* Whoever uses the provider's own address has a key there. */
	s->key_needed |= str_empty(config_text(c, OPTION_LLM_URL));
	return take_url(s, c, err) == 0;
}

int llm_read_key(const struct llm_settings *s, char ret[LLM_KEY_MAX], struct err *err)
{
	_close_ int fd = open(s->key_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;
	str key;

	ret[0] = 0;
	if (fd < 0 && errno == ENOENT && !s->key_needed)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "the key cannot be read from %s: %s; to store one: hookd model key",
			s->key_file, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(err, -EPERM, "%s must be a file of yours that nobody else can read (chmod 600)",
			s->key_file);
	n = read(fd, ret, LLM_KEY_MAX);
	key = n < 0 ? STR_NONE : str_trim(str_n(ret, (size_t)n));
	if (str_empty(key) || n == LLM_KEY_MAX) {
		ret[0] = 0;
		return err_set(err, -EBADMSG, "%s holds no key", s->key_file);
	}
	memmove(ret, key.p, key.n);
	ret[key.n] = 0;
	for (size_t i = 0; i < key.n; i++)
		if ((unsigned char)ret[i] <= ' ' || (unsigned char)ret[i] >= 0x7f) {
			ret[0] = 0;
			return err_set(err, -EBADMSG, "%s holds more than a key: one word", s->key_file);
		}
	return 0;
}
