#include "base/url.h"

#include <errno.h>

#include "base/macro.h"

/* Host and port of an address, without the scheme and the path. */
static str authority_of(str url, size_t scheme)
{
	str rest = str_from(url, scheme);
	size_t n = 0;

	while (n < rest.n && !strchr("/?#", rest.p[n]))
		n++;
	return str_head(rest, n);
}

/* Names that cannot be anything but this machine. A name that only resolves to it today may not do so tomorrow. */
static bool is_this_machine(str authority)
{
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < countof(hosts); i++) {
		str host = str_of(hosts[i]), rest = str_from(authority, host.n);

		if (str_eq_nocase(str_head(authority, host.n), host) && (str_empty(rest) || rest.p[0] == ':'))
			return true;
	}
	return false;
}

int url_check(str url, struct err *err)
{
	bool https = str_starts(url, STR("https://")), http = str_starts(url, STR("http://"));
	str authority = authority_of(url, https ? 8 : 7);

	for (size_t i = 0; i < url.n; i++)
		if ((unsigned char)url.p[i] <= ' ' || (unsigned char)url.p[i] >= 0x7f || strchr("\"\\<>", url.p[i]))
			return err_set(err, -EINVAL, "the address holds a character that no address may hold");
	if (!https && !http)
		return err_set(err, -EINVAL, "the address must begin with https://, or with http:// on this machine");
	if (str_empty(authority) || authority.p[0] == ':')
		return err_set(err, -EINVAL, "the address names no host");
	if (str_find_char(authority, '@') >= 0)
		return err_set(err, -EINVAL, "a name or password does not belong into the address");
	if (http && !is_this_machine(authority))
		return err_set(err, -EPERM,
			"http:// is for localhost, 127.0.0.1 and [::1] only; elsewhere it must be https://");
	return 0;
}
