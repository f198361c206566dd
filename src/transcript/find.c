#include "transcript/transcript.h"
int transcript_find(const char *home, const char *agent, int (*fn)(const struct transcript_file *f, void *arg), void *arg)
{ (void)home;(void)agent;(void)fn;(void)arg; return 0; }
bool transcript_is_history(const char *home, const char *agent, const char *path)
{ (void)home;(void)agent;(void)path; return true; }
