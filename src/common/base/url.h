/* url: addresses that hookd may send something to. */
#ifndef HOOKD_BASE_URL_H
#define HOOKD_BASE_URL_H

#include "base/err.h"
#include "base/str.h"

/* https:// anywhere, http:// on this machine only (localhost, 127.0.0.1, [::1]), without a name or password in it.
 * 0, or -EINVAL or -EPERM with err. */
int url_check(str url, struct err *err);

#endif
