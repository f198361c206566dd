/* remote: clients that run a command on another machine or in something that lives on: a container,
 * a pod, a dyno. What they delete there is somebody's data. */
#include "guard/internal.h"

/* php artisan …, python manage.py …: a script of a framework with commands of its own. */
static void do_framework(struct run *x, struct cmd *c)
{
	for (size_t i = 1; i < MIN(c->n, 16); i++)
		if (str_in(str_base(c->v[i]), "artisan manage.py rails rake bfg n98-magerun2.phar")) {
			(void)run_argv(x, c->v + i, c->n - i, c->in);
			return;
		}
}

const struct handler pack_remote[] = {
	{ "framework", do_framework },
	{ 0 },
};
