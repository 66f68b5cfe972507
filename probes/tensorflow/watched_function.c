#include "tensorflow/watched_function.h"

#include <stdlib.h>

struct watched {
	struct tensorflow_function function; /* the program's */
	watched_called *called;
	void *data;
	uint32_t references; /* atomic: copies */
};

/* The program's function returns nothing, and has one argument, by reference. */
typedef void invoke_function(const uintptr_t *functor, const void *argument);

static void invoke(const uintptr_t *functor, const void *argument)
{
	const struct watched *watched = (const struct watched *)functor[0];
	invoke_function *real = (invoke_function *)watched->function.invoke;

	watched->called(watched->data, false);
	real(watched->function.functor, argument);
}

static void release(struct watched *watched)
{
	if (__atomic_sub_fetch(&watched->references, 1, __ATOMIC_ACQ_REL))
		return;
	watched->function.manage(watched->function.functor, watched->function.functor,
				 TENSORFLOW_DESTROY);
	watched->called(watched->data, true);
	free(watched);
}

/* As libstdc++ asks of a function's manager. What it asks of types, the program's own answers. */
static bool manage(uintptr_t *to, const uintptr_t *from, int operation)
{
	const uintptr_t *of = operation == TENSORFLOW_DESTROY ? to : from;
	struct watched *watched = (struct watched *)of[0];

	switch (operation) {
	case TENSORFLOW_CLONE:
		__atomic_add_fetch(&watched->references, 1, __ATOMIC_RELAXED);
		to[0] = from[0];
		to[1] = 0;
		return false;
	case TENSORFLOW_DESTROY:
		release(watched);
		return false;
	default:
		return watched->function.manage(to, watched->function.functor, operation);
	}
}

bool function_watch(struct tensorflow_function *function, watched_called *called, void *data)
{
	struct watched *watched;

	if (!function->manage || !function->invoke)
		return false;
	watched = malloc(sizeof(*watched));
	if (!watched)
		return false;
	/* as a move does it: what the functor holds may not be where it lies */
	watched->function = *function;
	watched->called = called;
	watched->data = data;
	watched->references = 1;
	function->functor[0] = (uintptr_t)watched;
	function->functor[1] = 0;
	function->manage = manage;
	function->invoke = (void *)invoke;
	return true;
}
