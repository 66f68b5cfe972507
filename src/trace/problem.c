#include <tacho/problem.h>

#include <string.h>

static const gchar *const names[] = {
#define PROBLEM_NAME(enumerator, name, share_of, most, unknown) #name,
	TACHO_PROBLEMS(PROBLEM_NAME)
#undef PROBLEM_NAME
};

const gchar *tacho_problem_name(TachoProblemKind kind)
{
	return names[kind];
}

TachoProblemKind tacho_problem_of_name(const gchar *name)
{
	guint kind = 0;

	while (kind < TACHO_PROBLEM_OTHER && strcmp(names[kind], name) != 0)
		kind++;
	return (TachoProblemKind)kind;
}
