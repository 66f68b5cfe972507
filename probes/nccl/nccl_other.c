#include "nccl/nccl_other.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/probe.h"

#define OTHER_VARIABLE "TACHO_NCCL_PLUGIN" /* what NCCL_PROFILER_PLUGIN was */
#define DEFAULT_NAME   "libnccl-profiler.so"
#define NAME_BYTES     512

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static const struct nccl_plugin *plugin; /* NULL: there is none */
static int plugin_version;
static int wanted; /* atomic: its mask, which it may change at any time */

/* --- loading -------------------------------------------------------------------------------- */

static bool is_plain(const char *name)
{
	size_t length = strlen(name);

	return !strchr(name, '/') && (strncmp(name, "lib", 3) != 0 || length < 3 ||
				      strcmp(name + length - 3, ".so") != 0);
}

/* As NCCL does it: the name as it is, then as that of a variant. */
static void *open_library(const char *name)
{
	char variant[NAME_BYTES];
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (library || !is_plain(name))
		return library;
	snprintf(variant, sizeof(variant), "libnccl-profiler-%s.so", name);
	return dlopen(variant, RTLD_NOW | RTLD_LOCAL);
}

static bool is_ours(const struct nccl_plugin *found)
{
	Dl_info found_info, own_info;

	return dladdr(found, &found_info) && dladdr(&load_once, &own_info) &&
	       found_info.dli_fbase == own_info.dli_fbase;
}

static void load(void)
{
	const char *name = getenv(OTHER_VARIABLE);
	bool is_named = name && *name;
	void *library;

	if (is_named && strcasecmp(name, "none") == 0)
		return;
	library = open_library(is_named ? name : DEFAULT_NAME);
	if (!library && is_named)
		tacho_say("the NCCL profiler plug-in %s, which was named before tacho's, cannot be "
			  "loaded: %s",
			  name, dlerror());
	for (int version = NCCL_VERSIONS; library && !plugin && version >= 1; version--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
		plugin = dlsym(library, symbol);
		plugin_version = version;
	}
	if (plugin && is_ours(plugin))
		plugin = NULL;
	else if (library && !plugin)
		tacho_say("%s has no version of NCCL's profiler interface that tacho knows: it "
			  "gets nothing",
			  is_named ? name : DEFAULT_NAME);
}

bool nccl_other_init(void **context, const struct nccl_beginning *beginning)
{
	int status;

	*context = NULL;
	pthread_once(&load_once, load);
	if (!plugin || !plugin->init_v1)
		return false;
	if (plugin_version <= 3)
		status = plugin->init_v1(context, &wanted);
	else if (plugin_version == 4)
		status = plugin->init_v4(context, &wanted, beginning->name, beginning->id,
					 beginning->n_nodes, beginning->n_ranks, beginning->rank,
					 beginning->logger);
	else
		status = plugin->init_v5(context, beginning->id, &wanted, beginning->name,
					 beginning->n_nodes, beginning->n_ranks, beginning->rank,
					 beginning->logger);
	return status == NCCL_SUCCESS;
}

void nccl_other_finalize(void *context)
{
	if (plugin && plugin->finalize && context)
		plugin->finalize(context);
}

/* --- what it gets --------------------------------------------------------------------------- */

uint64_t nccl_other_types(void)
{
	enum {
		NET = NCCL_NET_PLUGIN,
		STEP = NCCL_PROXY_STEP | NET,
		OP = NCCL_PROXY_OP | STEP,
		BELOW_TASK = OP | NCCL_KERNEL_CH,
		CE = NCCL_CE_COLL | NCCL_CE_SYNC | NCCL_CE_BATCH,
		COLL = NCCL_COLL | BELOW_TASK,
		P2P = NCCL_P2P | BELOW_TASK,
	};
	/* what NCCL sends -> where one of these is wanted */
	static const struct {
		uint64_t type, asked;
	} sent[] = {
		{ NCCL_GROUP, NCCL_GROUP | COLL | P2P },
		{ NCCL_COLL, COLL },
		{ NCCL_P2P, P2P },
		{ NCCL_PROXY_OP, OP },
		{ NCCL_PROXY_STEP, STEP },
		{ NCCL_PROXY_CTRL, NCCL_PROXY_CTRL },
		{ NCCL_KERNEL_CH, NCCL_KERNEL_CH },
		{ NCCL_NET_PLUGIN, NET },
		{ NCCL_GROUP_API, NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API |
					  NCCL_KERNEL_LAUNCH | NCCL_GROUP | COLL | P2P | CE },
		{ NCCL_COLL_API, NCCL_COLL_API | COLL | CE },
		{ NCCL_P2P_API, NCCL_P2P_API | P2P },
		{ NCCL_KERNEL_LAUNCH, NCCL_KERNEL_LAUNCH },
		{ NCCL_CE_COLL, CE },
		{ NCCL_CE_SYNC, NCCL_CE_SYNC },
		{ NCCL_CE_BATCH, NCCL_CE_BATCH },
	};
	uint64_t asked = plugin ? (uint32_t)__atomic_load_n(&wanted, __ATOMIC_RELAXED) : 0;
	uint64_t types = 0;

	if (!asked)
		return 0;
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++)
		if (asked & sent[i].asked)
			types |= sent[i].type;
	return types & nccl_types(plugin_version);
}

void *nccl_other_start(void *context, const struct nccl_event *event)
{
	struct nccl_descriptor descriptor;
	void *handle = NULL;

	if (!plugin->start_event)
		return NULL;
	nccl_event_write(event, plugin_version, &descriptor);
	plugin->start_event(context, &handle, &descriptor);
	return handle;
}

void nccl_other_stop(void *handle)
{
	if (plugin && plugin->stop_event && handle)
		plugin->stop_event(handle);
}

void nccl_other_state(void *handle, int state, const union nccl_state_args *args, int version)
{
	union nccl_state_args other = { 0 };

	if (!plugin || !plugin->record_state || !handle || !nccl_has_state(plugin_version, state))
		return;
	/* since version 4 all are as they were told, and shorter; before, of a proxy's control alone */
	if (args && version >= 4 && plugin_version >= 4)
		other.timer = args->timer;
	else if (args && version < 4 && plugin_version < 4)
		other = *args;
	else if (args && state >= NCCL_CTRL_IDLE && state <= NCCL_CTRL_APPEND_END)
		other.n_appended = args->n_appended;
	plugin->record_state(handle, state, args ? &other : NULL);
}
