/* agent: libtacho.so, preloaded into the job and inherited by every child. It reads what it was
 * told, arranges to notice forks, the end and new libraries, and then waits for the probes: nothing
 * is on disk, and no thread runs, before the first record. docs/architecture.md has the tour. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/attach.h"
#include "agent/loader_watch.h"
#include "agent/losses.h"
#include "agent/probe_loader.h"
#include "agent/process_trace.h"
#include "agent/settings.h"
#include "agent/steps.h"
#include "agent/stream.h"
#include "agent/thread_start.h"
#include "agent/whole_ranks.h"
#include "common/probe.h"
#include "trace/call_filters.h"

static struct agent_settings settings;

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
	loader_watch_after_fork();
	streams_after_fork(true);
}

static void at_exit(int status, void *unused)
{
	(void)unused;
	streams_close(status);
}

static void at_quick_exit_handler(void)
{
	streams_close(EXIT_SUCCESS);
}

/* The sanitizer's runtime wants to be the first library that is loaded, or ends the program; behind the agent,
 * which hands on to it, it works as well. */
TACHO_EXPORT const char *__asan_default_options(void);

TACHO_EXPORT const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}

bool agent_start(const struct agent_settings *asked)
{
	static bool has_handlers;

	losses_configure(asked);
	if (!process_trace_configure(asked) || !streams_configure(asked))
		return false;
	steps_configure(asked);
	whole_ranks_configure(asked);
	if (!has_handlers) { /* for good: there is no taking them back */
		pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
		on_exit(at_exit, NULL);
		at_quick_exit(at_quick_exit_handler);
	}
	has_handlers = true;
	probe_loader_watch(asked);
	return true;
}

static void __attribute__((constructor)) start(void)
{
	const char *preloaded;

	thread_start_find();
	agent_settings_read(&settings);
	/* not preloaded, but brought along by a probe that a variable names: too late to stand before anything; or by
	 * tacho attach, which says what it wants */
	preloaded = getenv("LD_PRELOAD");
	if (!preloaded || !strstr(preloaded, "libtacho.so"))
		return;
	if (!*settings.run_dir || call_filters_count() > settings.filters)
		return;
	if (!agent_start(&settings)) {
		tacho_say("nothing is recorded, because TACHO_RUN_DIR or TACHO_CLOCK cannot be "
			  "used; start the job with tacho record");
		return;
	}
	attach_note_preloaded(&settings);
}
