#include "agent/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/aside.h"
#include "agent/call_slots.h"
#include "agent/loader_watch.h"
#include "agent/settings.h"
#include "agent/steps.h"
#include "agent/stream.h"
#include "common/probe.h"
#include "common/watch.h"
#include "trace/attach_layout.h"

#define SETTLE_TRIES                                                                               \
	40 /* a stop waits for threads in hooks, and for the probes' threads, so long */
#define SETTLE_WAIT_US 25000

TACHO_EXPORT attach_entry tacho_attach;

static struct agent_settings settings; /* of what was attached last */
static const struct agent_settings *settings_now;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

struct answer {
	char *text;
	size_t size;
};

static int __attribute__((format(printf, 3, 4)))
refuse(const struct answer *answer, int cause, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text, answer->size, format, args);
	va_end(args);
	return -cause;
}

uint32_t tacho_python_hz(void)
{
	uint64_t hz = settings_now && *settings_now->python ? settings_now->python_hz : 0;

	return hz < UINT32_MAX ? (uint32_t)hz : UINT32_MAX;
}

bool tacho_is_late(void)
{
	return !tacho_attach_state.is_preloaded;
}

const char *tacho_python_hook(void)
{
	return settings_now ? settings_now->python_hook : "";
}

/* --- start ---------------------------------------------------------------------------------- */

static void set_run_dir(const char *run_dir)
{
	struct attach_state *state = &tacho_attach_state;
	size_t length = strnlen(run_dir, sizeof(state->run_dir) - 1);

	memmove(state->run_dir, run_dir, length);
	state->run_dir[length] = '\0';
}

static void note_attached(const char *run_dir)
{
	struct attach_state *state = &tacho_attach_state;

	set_run_dir(run_dir);
	state->n_starts++;
	__atomic_store_n(&state->is_attached, 1, __ATOMIC_RELEASE);
}

void attach_note_preloaded(const struct agent_settings *preloaded)
{
	tacho_attach_state.is_preloaded = 1;
	settings_now = preloaded;
	set_run_dir(preloaded->run_dir);
	if (!preloaded->later)
		note_attached(preloaded->run_dir);
}

static void load_probes(const struct answer *answer, const char *libraries)
{
	while (*libraries) {
		size_t length = strcspn(libraries, ":");
		char *path = strndup(libraries, length);

		if (path && !dlopen(path, RTLD_NOW | RTLD_LOCAL))
			snprintf(answer->text, answer->size, "a probe cannot be loaded: %s",
				 dlerror());
		free(path);
		libraries += length + (libraries[length] == ':');
	}
}

static void object_appeared(const char *path, uintptr_t base_address)
{
	(void)path;
	call_slots_object_appeared(base_address);
}

static void free_settings(struct agent_settings *old)
{
	/* texts that were not told are literals, and the same in each */
	struct agent_settings defaults;

	agent_settings_read_request(&defaults, "");
#define FREE_text(name)                                                                            \
	if (old->name && old->name != defaults.name)                                               \
		free((void *)old->name);
#define FREE_number(name)
#define SETTING(name, type, default_value, meaning) FREE_##type(name)
#include "agent/settings.def"
#undef SETTING
	memset(old, 0, sizeof(*old));
}

/* tacho record --start-later: all is in place but that nothing is recorded. */
static int start_at_last(const char *request)
{
	agent_settings_read_request(&settings, request);
	settings.later = 0;
	steps_configure(&settings);
	note_attached(tacho_attach_state.run_dir);
	return 0;
}

static int start(const char *request, const struct answer *answer)
{
	static bool is_watching;
	static struct agent_settings old;
	bool is_again = tacho_attach_state.n_starts > 0;

	if (tacho_attach_state.is_attached)
		return refuse(answer, EALREADY, "it is recorded already, into %s",
			      tacho_attach_state.run_dir);
	if (tacho_attach_state.is_preloaded && !is_again)
		return start_at_last(request);
	free_settings(&old); /* of the recording before the last: nobody has its texts any more */
	old = settings;
	agent_settings_read_request(&settings, request);
	settings_now = &settings;
	tacho_attach_state.is_past_steps = 0;
	settings.later = 1; /* steps count from when all is in place */
	if (!agent_start(&settings))
		return refuse(answer, EINVAL,
			      "nothing can be recorded: its folder or clock cannot be used");
	note_attached(settings.run_dir);
	load_probes(answer, settings.probes); /* where some were preloaded: the others */
	if (!is_watching)
		is_watching = tacho_watch_library("", object_appeared) == 0;
	attach_watch_tell(true);
	loader_watch_check_from(NULL);
	/* last: kernels are recorded below the operations that they are of */
	call_slots_lead();
	tacho_attach_state.n_hooks = call_slots_count();
	settings.later = 0;
	steps_configure(&settings);
	return 0;
}

/* --- stop ----------------------------------------------------------------------------------- */

static bool settle(void)
{
	bool is_settled = false;

	for (int i = 0; i < SETTLE_TRIES && !is_settled; i++) {
		if (i)
			usleep(SETTLE_WAIT_US);
		is_settled = streams_settle() &&
			     !__atomic_load_n(&tacho_attach_state.n_threads, __ATOMIC_SEQ_CST);
	}
	return is_settled;
}

static int stop(const struct answer *answer)
{
	if (!tacho_attach_state.is_attached)
		return refuse(answer, ESRCH, "it is not recorded");
	tacho_recording_set(false);
	call_slots_restore();
	tacho_attach_state.n_hooks = 0;
	attach_watch_tell(false);
	streams_stop();
	__atomic_store_n(&tacho_attach_state.is_attached, 0, __ATOMIC_RELEASE);
	if (!settle())
		snprintf(answer->text, answer->size,
			 "a thread is still in a call that was recorded; its memory is given back "
			 "at "
			 "the next stop");
	aside_release();
	return 0;
}

int tacho_attach(const char *request, char *answer_text, uint64_t answer_bytes)
{
	const struct answer answer = { answer_text, answer_bytes };
	int status;

	*answer_text = '\0';
	pthread_mutex_lock(&one_at_a_time);
	if (strncmp(request, ATTACH_START "\n", strlen(ATTACH_START "\n")) == 0)
		status = start(request, &answer);
	else if (strncmp(request, ATTACH_STOP "\n", strlen(ATTACH_STOP "\n")) == 0)
		status = stop(&answer);
	else
		status = refuse(&answer, EPROTO, "it has another version of tacho in it");
	pthread_mutex_unlock(&one_at_a_time);
	return status;
}
