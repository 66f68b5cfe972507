/* other_plugin: a plug-in of NCCL's profiler of somebody else's, of the version VERSION of the interface alone: counts the events
 * that it gets by their types into the file that OTHER_PLUGIN_COUNTS names, at each communicator's end, and sees that all handles that it
 * gets back are its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/nccl_abi.h"

#define N_EVENTS 4096
#define WANTED	 (NCCL_COLL | NCCL_PROXY_STEP | NCCL_KERNEL_CH)

static struct event {
	uint64_t type;
	int is_stopped;
} events[N_EVENTS];
static unsigned n_events, n_states, n_strange, counts[16];
static char own_context;

static int is_own(const void *handle)
{
	const struct event *event = handle;

	return !handle || (event >= events && event < events + n_events);
}

static int start_event(void *context, void **handle, struct nccl_descriptor *descriptor)
{
	uint64_t type = VERSION >= 5 ? descriptor->head.type : descriptor->head.short_type;
	unsigned i = __atomic_fetch_add(&n_events, 1, __ATOMIC_RELAXED);

	if (i >= N_EVENTS || context != &own_context || !is_own(descriptor->head.parent))
		n_strange++;
	if (i >= N_EVENTS)
		return 0;
	events[i].type = type;
	for (int bit = 0; bit < 15; bit++)
		counts[bit] += type == 1u << bit;
#if VERSION == 3
	if (type == NCCL_COLL &&
	    (strcmp(descriptor->coll_v3.func, "AllReduce") != 0 ||
	     strcmp(descriptor->coll_v3.algo, "RING") != 0 || descriptor->coll_v3.count != 1048576))
		n_strange++;
	if (type == NCCL_COLL && !descriptor->head.parent) /* its group, in this version */
		n_strange++;
#endif
	*handle = &events[i];
	return 0;
}

static int stop_event(void *handle)
{
	if (!is_own(handle) || !handle || ((struct event *)handle)->is_stopped++)
		n_strange++;
	return 0;
}

static int record_state(void *handle, int state, union nccl_state_args *args)
{
	(void)state, (void)args;
	n_states++;
	if (!is_own(handle))
		n_strange++;
	return 0;
}

static int finalize(void *context)
{
	const char *path = getenv("OTHER_PLUGIN_COUNTS");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (context != &own_context)
		n_strange++;
	if (!file)
		return 0;
	for (int bit = 0; bit < 15; bit++)
		if (counts[bit])
			fprintf(file, "type %d: %u\n", bit, counts[bit]);
	fprintf(file, "states: %u\nstrange: %u\n", n_states, n_strange);
	fclose(file);
	return 0;
}

static int init(void **context, int *mask)
{
	*context = &own_context;
	*mask = WANTED;
	return 0;
}

#if VERSION >= 5
static int init_named(void **context, uint64_t id, int *mask, const char *name, int n_nodes,
		      int n_ranks, int rank, nccl_logger *logger)
{
	(void)n_nodes, (void)rank, (void)logger;
	if (id != 0xfeed || strcmp(name, "the world") != 0 || n_ranks != 2)
		n_strange++;
	return init(context, mask);
}
#endif

#define NAME_OF(version) ncclProfiler_v##version
#define NAME(version)	 NAME_OF(version)
extern const struct nccl_plugin NAME(VERSION);
const struct nccl_plugin NAME(VERSION) = {
	.name = "other",
#if VERSION >= 5
	.init_v5 = init_named,
#else
	.init_v1 = init,
#endif
	.start_event = start_event,
	.stop_event = stop_event,
	.record_state = record_state,
	.finalize = finalize,
};
