/* agent_inside: what libtacho.so's constructor does, for programs that have the agent's writing half and a probe compiled in, so that
 * the sanitizers see them: without what stands in front of libc's functions, which would stand in front of the sanitizers' too. */
#include <pthread.h>
#include <stdlib.h>

#include "agent/losses.h"
#include "agent/process_trace.h"
#include "agent/settings.h"
#include "agent/stream.h"
#include "agent/thread_start.h"
#include "common/probe.h"

static struct agent_settings settings;

int thread_start_first(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		       void *argument)
{
	return pthread_create(thread, attributes, start, argument);
}

static void before_fork(void)
{
	streams_before_fork();
}

static void after_fork_in_parent(void)
{
	streams_after_fork(false);
}

static void after_fork_in_child(void)
{
	streams_after_fork(true);
}

static void at_exit(int status, void *unused)
{
	(void)unused;
	streams_close(status);
}

static void __attribute__((constructor)) start(void)
{
	agent_settings_read(&settings);
	if (!*settings.run_dir)
		return;
	losses_configure(&settings);
	if (!process_trace_configure(&settings) || !streams_configure(&settings))
		abort();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	on_exit(at_exit, NULL);
}
