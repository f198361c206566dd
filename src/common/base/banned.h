/* banned: functions that are easy to get wrong. Every .c file of hookd is compiled with this header
 * in front (see meson.build), so using one of them is a compile error that names the replacement. */
#ifndef HOOKD_BASE_BANNED_H
#define HOOKD_BASE_BANNED_H

/* The declarations must be seen before the names are taken away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef strcpy
#define strcpy(a, b) banned_strcpy_use_buf_or_snprintf
#undef strcat
#define strcat(a, b) banned_strcat_use_buf
#undef strncpy
#define strncpy(a, b, n) banned_strncpy_use_buf_or_memcpy
#undef strncat
#define strncat(a, b, n) banned_strncat_use_buf
#undef sprintf
#define sprintf(...) banned_sprintf_use_snprintf
#undef vsprintf
#define vsprintf(...) banned_vsprintf_use_vsnprintf
#undef strtok
#define strtok(a, b) banned_strtok_use_str_split
#undef gmtime
#define gmtime(t) banned_gmtime_use_gmtime_r
#undef localtime
#define localtime(t) banned_localtime_use_localtime_r
#undef ctime
#define ctime(t) banned_ctime_use_clock_format
#undef asctime
#define asctime(t) banned_asctime_use_clock_format
#undef atoi
#define atoi(s) banned_atoi_use_str_to_int
#undef atol
#define atol(s) banned_atol_use_str_to_int
#undef tmpnam
#define tmpnam(s) banned_tmpnam_use_mkstemp

#endif
