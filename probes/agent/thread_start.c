#include "agent/thread_start.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/engine.h"
#include "agent/loader_watch.h"
#include "common/probe.h"

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct start {
	void *(*function)(void *);
	void *argument;
	uint32_t parent_tid;
	bool is_of_engine;
};

static create_function *real, *first;

void thread_start_find(void)
{
	real = (create_function *)dlsym(tacho_scope(), "pthread_create");
	first = (create_function *)dlsym(RTLD_DEFAULT, "pthread_create");
}

int thread_start_first(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		       void *argument)
{
	if (!first)
		thread_start_find();
	return first ? first(thread, attributes, start, argument) : EAGAIN;
}

int thread_start_real(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		      void *argument)
{
	if (!real)
		thread_start_find();
	return real ? real(thread, attributes, start, argument) : EAGAIN;
}

static void *run(void *start_pointer)
{
	struct start start = *(struct start *)start_pointer;

	free(start_pointer);
	tacho_writer.parent_tid = start.parent_tid;
	tacho_writer.is_inside = start.is_of_engine;
	return start.function(start.argument);
}

TACHO_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
				void *(*function)(void *), void *argument)
{
	struct start *start;
	int status;

	loader_watch_check();
	/* busy: it is the agent's helper */
	if (!engine_starts_threads && (!tacho_is_alive() || tacho_writer.is_busy))
		return thread_start_real(thread, attributes, function, argument);
	start = malloc(sizeof(*start));
	if (!start)
		return thread_start_real(thread, attributes, function, argument);
	start->function = function;
	start->argument = argument;
	start->parent_tid = (uint32_t)syscall(SYS_gettid);
	start->is_of_engine = engine_starts_threads;
	status = thread_start_real(thread, attributes, run, start);
	if (status != 0)
		free(start);
	return status;
}
