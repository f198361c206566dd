/* Tools that rows know by a number: those that make most calls. Any other is stored by its name.
 *
 * Numbers stay for ever; schema/0012 has the same list to read them by. */
#include "store/store.h"

/* The most frequent first: both lists are searched in their order. */
static const char *const names[] = { NULL, "Bash", "Read", "Edit", "Write", "Grep", "Glob", "run_shell_command",
	"read_file", "write_file", "replace", "exec_command", "apply_patch", "TodoWrite", "TaskUpdate", "TaskCreate",
	"Agent" };

int64_t store_tool_number(str name)
{
	for (size_t n = 1; n < countof(names); n++)
		if (str_eq(name, str_of(names[n])))
			return (int64_t)n;
	return 0;
}

const char *store_tool_name(int64_t number)
{
	return number > 0 && number < (int64_t)countof(names) ? names[number] : NULL;
}
