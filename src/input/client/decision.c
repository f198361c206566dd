#include "base/macro.h"
#include "client/client.h"
#include "decision_names.h"

bool is_decision(str event)
{
	for (size_t i = 0; i < countof(decision_names); i++)
		if (str_eq_name(event, str_of(decision_names[i])))
			return true;
	return false;
}
