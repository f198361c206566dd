/* The door: who may come in over HTTP, decided from the head alone. */
#include <stdio.h>
#include <sys/random.h>

#include "api/otlp.h"
#include "api/web.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/owner.h"

#define COOKIE "hookd_login"

static bool is_same(const char *a, str b)
{
	unsigned char different = b.n != WEB_CODE || !a[0];

	for (size_t i = 0; i < WEB_CODE; i++)
		different |= (unsigned char)a[i] ^ (unsigned char)(i < b.n ? b.p[i] : 0);
	return !different;
}

static bool make_code(char out[WEB_CODE + 1])
{
	unsigned char random[WEB_CODE / 2];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return false;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
	return true;
}

bool door_new_code(struct door *d, char ret[WEB_CODE + 1])
{
	bool made = make_code(ret);

	pthread_mutex_lock(&d->lock);
	if (made)
		memcpy(d->codes[d->next_code++ % WEB_LOGINS], ret, WEB_CODE + 1);
	pthread_mutex_unlock(&d->lock);
	return made;
}

bool door_log_in(struct door *d, const char *code, char ret_cookie[WEB_CODE + 1])
{
	bool found = false;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < WEB_LOGINS; i++)
		if (is_same(d->codes[i], str_of(code))) {
			d->codes[i][0] = 0; /* once */
			found = true;
		}
	found = found && make_code(ret_cookie);
	if (found)
		memcpy(d->cookies[d->next_cookie++ % WEB_LOGINS], ret_cookie, WEB_CODE + 1);
	pthread_mutex_unlock(&d->lock);
	return found;
}

/* -- who --------------------------------------------------------------------------------------- */

/* A name that a foreign page's name server could point at us must not do. */
static bool is_our_host(str host, unsigned port)
{
	static const char *const names[] = { "127.0.0.1", "localhost" };
	char ours[64];

	for (size_t i = 0; i < countof(names); i++) {
		snprintf(ours, sizeof ours, "%s:%u", names[i], port);
		if (str_eq_nocase(host, str_of(ours)))
			return true;
	}
	return false;
}

/* A page may call us only if it is ours. */
static bool is_our_page(const struct http_head *h, enum http_door way)
{
	static const str scheme = { "http://", 7 };

	if (str_is_set(h->sec_fetch_site) && !str_eq(h->sec_fetch_site, STR("same-origin")) &&
		!str_eq(h->sec_fetch_site, STR("none")))
		return false;
	if (!str_is_set(h->origin))
		return true;
	return way == HTTP_TCP && str_starts(h->origin, scheme) &&
		str_eq_nocase(str_from(h->origin, scheme.n), h->host);
}

enum proof { PROOF_MISSING, PROOF_WRONG, PROOF_RIGHT };

str door_bearer(const struct http_head *h)
{
	static const str bearer = { "Bearer ", 7 };

	return str_starts(h->authorization, bearer) ? str_from(h->authorization, bearer.n) : STR_NONE;
}

/* Whoever has the token of HTTP has guessed nothing; it is just not enough. */
static enum proof get_owners_proof(struct door *d, const struct http_head *h)
{
	str token = door_bearer(h);

	if (!str_is_set(token) || owner_token_is(d->token, token))
		return PROOF_MISSING;
	return d->owner && owner_token_is(d->owner, token) ? PROOF_RIGHT : PROOF_WRONG;
}

static enum proof get_proof(struct door *d, const struct http_head *h)
{
	str cookie = http_cookie(h->cookie, STR(COOKIE)), token = door_bearer(h);
	bool known = false;

	if (str_is_set(token))
		return owner_token_is(d->token, token) ? PROOF_RIGHT : PROOF_WRONG;
	if (!str_is_set(cookie))
		return PROOF_MISSING;
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < WEB_LOGINS; i++)
		known |= is_same(d->cookies[i], cookie);
	pthread_mutex_unlock(&d->lock);
	return known ? PROOF_RIGHT : PROOF_WRONG;
}

unsigned door_count_guess(struct door *d)
{
	int64_t now = clock_mono_us();

	if (now - d->guesses_since_us > 60 * USEC_PER_SEC || !d->guesses) {
		d->guesses_since_us = now;
		d->guesses = 0;
	}
	d->guesses++;
	if (d->guesses == DOOR_GUESSES + 1)
		log_warn(LOG_API, "more than %d wrong tokens over HTTP within a minute", DOOR_GUESSES);
	return d->guesses > DOOR_GUESSES ? DOOR_LATE_MS : 0;
}

static bool is_json(str type)
{
	static const str json = { "application/json", 16 };

	return str_eq_nocase(str_head(type, json.n), json) && (type.n == json.n || type.p[json.n] == ';');
}

static bool is_encoded(const struct http_head *h)
{
	return str_is_set(h->content_encoding) && !str_eq_nocase(h->content_encoding, STR("identity"));
}

/* -- what -------------------------------------------------------------------------------------- */

/* As sinks and the like are called. */
static bool is_name(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-_", s.p[i]))
			return false;
	return s.n > 0;
}

static bool is_path(const struct route *r, str path)
{
	str own = str_of(r->path);

	if (r->flags & ROUTE_NAME)
		return str_starts(path, own) && is_name(str_from(path, own.n));
	return r->flags & ROUTE_PREFIX ? str_starts(path, own) && path.n > own.n : str_eq(path, own);
}

const struct route *route_find(str method, str path, const char **ret_allow)
{
	static const char *const methods[] = { "GET", "POST", "DELETE" };
	static const char *const fields[1 << countof(methods)] = { NULL, "Allow: GET\r\n", "Allow: POST\r\n",
		"Allow: GET, POST\r\n", "Allow: DELETE\r\n", "Allow: GET, DELETE\r\n", "Allow: POST, DELETE\r\n",
		"Allow: GET, POST, DELETE\r\n" };
	unsigned allowed = 0;

	*ret_allow = NULL;
	for (const struct route *r = routes; r->method; r++) {
		if (!is_path(r, path))
			continue;
		if (str_eq(method, str_of(r->method)))
			return r;
		for (size_t i = 0; i < countof(methods); i++)
			allowed |= strcmp(r->method, methods[i]) == 0 ? 1u << i : 0;
	}
	*ret_allow = fields[allowed];
	return NULL;
}

int door_admit(struct door *d, const struct http_head *h, enum http_door way, struct http_terms *ret)
{
	const char *allow;
	const struct route *r = route_find(h->method, h->path, &allow);
	bool signed_for = r && r->flags & ROUTE_SIGNED && (str_is_set(h->signature) || str_is_set(h->hub_signature));
	bool open = r && r->flags & ROUTE_OPEN, owners = r && r->flags & ROUTE_OWNER;
	enum proof proof;

	if (way == HTTP_TCP && !is_our_host(h->host, d->port))
		return 403;
	if (!is_our_page(h, way))
		return 403;
	proof = way == HTTP_UNIX || open || signed_for ? PROOF_RIGHT
		: owners                               ? get_owners_proof(d, h)
						       : get_proof(d, h);
	if (proof != PROOF_RIGHT) {
		ret->field = "WWW-Authenticate: Bearer\r\n";
		ret->late_ms = proof == PROOF_WRONG ? door_count_guess(d) : 0;
		return 401;
	}
	if (!r) {
		ret->field = allow;
		return allow ? 405 : 404;
	}
	if (r->flags & ROUTE_JSON && !is_json(h->content_type))
		return 415;
	if (r->flags & ROUTE_OTLP && !otlp_is_type(h))
		return 415;
	if (is_encoded(h) && (!r->gzip_max || !str_eq_nocase(h->content_encoding, STR("gzip"))))
		return 415;
	/* A body that nobody announced: GET has none. */
	if (!r->body_max && (h->chunked || h->length))
		return 413;
	/* What follows without being announced would be read as the next request. */
	if (r->body_max && !h->chunked && !h->has_length)
		return 411;
	ret->body_max = is_encoded(h) ? r->gzip_max : r->body_max;
	return 0;
}
