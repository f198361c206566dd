/* macro: the few macros every file may use. Nothing here hides control flow.
 *
 * _cleanup_(f)   runs f(&variable) when the variable leaves scope
 * TAKE(p)        moves a pointer out of its variable, which becomes NULL
 * DEFINE_FREEP   makes the f for _cleanup_ out of an ordinary free function
 */
#ifndef HOOKD_BASE_MACRO_H
#define HOOKD_BASE_MACRO_H

#include <stddef.h>

#define countof(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _must_check_ __attribute__((warn_unused_result))
#define _unused_ __attribute__((unused))

#define TAKE(p)                             \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

#define DEFINE_FREEP(type, fn)             \
	static inline void fn##p(type **p) \
	{                                  \
		fn(*p);                    \
	}                                  \
	struct swallow_semicolon_

#endif
