#include "rocprofiler/rocprofiler_counters.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/counter_list.h"
#include "common/kernel_values.h"
#include "common/probe.h"
#include "common/region_stack.h"
#include "rocprofiler/rocprofiler_agents.h"
#include "rocprofiler/rocprofiler_calls.h"
#include "rocprofiler/rocprofiler_kernels.h"

#define VARIABLE   "TACHO_KERNEL_COUNTERS"
#define UNSEEN	   "hardware counters"
#define N_DEVICES  64
#define NAME_BYTES 64

/* On all of CDNA and, but for one, of RDNA: how long the device was busy, and what its waves were made of. */
#define DEFAULT_COUNTERS                                                                           \
	"GRBM_COUNT,GRBM_GUI_ACTIVE,SQ_WAVES,SQ_INSTS_VALU,SQ_INSTS_SALU,SQ_INSTS_LDS,"            \
	"SQ_INSTS_VMEM|SQ_INSTS_VMEM_RD|SQ_INSTS_TEX_LOAD"

struct counting {
#define MEMBER(member, name, other, parameters) int(*member) parameters;
	ROCP_COUNTING_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* What is counted of a device: its counters' numbers, each with its place in the list. */
struct counted_device {
	rocp_handle config;
	uint64_t ids[COUNTERS_MOST];
	unsigned places[COUNTERS_MOST];
	unsigned n;
};

static struct counting counting;
static struct counter_list list;
/* Of each of the list, as the first device that has it calls it. */
static char names[COUNTERS_MOST][NAME_BYTES];
static struct counted_device devices[N_DEVICES];
static rocp_handle context;
static const struct rocp *library;
static size_t value_bytes; /* from one to the next */
static bool is_ready, is_counting;

/* --- what can be counted ---------------------------------------------------------------------- */

/* NULL, or what this rocprofiler-sdk has not. */
static const char *find_functions(void)
{
#define FIND(member, name, other, parameters)                                                      \
	*(void **)&counting.member = dlsym(library->handle, "rocprofiler_" name);                  \
	if (!counting.member)                                                                      \
		*(void **)&counting.member = dlsym(library->handle, "rocprofiler_" other);         \
	if (!counting.member)                                                                      \
		return "rocprofiler_" name;
	ROCP_COUNTING_FUNCTIONS(FIND)
#undef FIND
	value_bytes = dlsym(library->handle, "rocprofiler_" ROCP_OLD_SERVICE) ? ROCP_OLD_VALUE_BYTES
									      : ROCP_VALUE_BYTES;
	return NULL;
}

/* What a device has of the counters that are asked for, by their place in the list. */
struct offer {
	uint64_t ids[COUNTERS_MOST];   /* 0: none of the names */
	unsigned ranks[COUNTERS_MOST]; /* which of the names it is */
};

/* Which of the names that stand with a | between them it is, from 1 on; 0: none. */
static unsigned rank_among(const char *choice, const char *name)
{
	size_t length = strlen(name);
	unsigned rank = 1;

	for (const char *at = choice; at; at = strchr(at, '|'), rank++) {
		at += *at == '|';
		if (strncmp(at, name, length) == 0 && (at[length] == '|' || !at[length]))
			return rank;
	}
	return 0;
}

static int look_up(rocp_handle agent, uint64_t *counters, size_t n, void *offer_pointer)
{
	struct offer *offer = offer_pointer;

	(void)agent;
	for (size_t i = 0; i < n; i++) {
		struct rocp_counter_info info = { 0 };

		if (counting.query_counter(counters[i], ROCP_COUNTER_INFO_VERSION, &info) !=
			    ROCP_SUCCESS ||
		    !info.name)
			continue;
		for (unsigned k = 0; k < list.n; k++) {
			unsigned rank = rank_among(list.names[k], info.name);

			if (!rank || (offer->ids[k] && offer->ranks[k] <= rank))
				continue;
			offer->ids[k] = counters[i];
			offer->ranks[k] = rank;
		}
	}
	return ROCP_SUCCESS;
}

/* Add the counter to what is counted, if it fits. */
static bool add_counter(struct counted_device *device, rocp_handle agent, uint64_t id,
			unsigned place)
{
	rocp_handle config = 0;

	device->ids[device->n] = id;
	device->places[device->n] = place;
	if (counting.create_config(agent, device->ids, device->n + 1, &config) != ROCP_SUCCESS)
		return false;
	if (device->config)
		counting.destroy_config(device->config);
	device->config = config;
	device->n++;
	return true;
}

static void add_name(char text[COUNTERS_TEXT_BYTES], const char *name)
{
	size_t used = strlen(text);

	snprintf(text + used, COUNTERS_TEXT_BYTES - used, "%s%s", used ? ", " : "", name);
}

/* The name of that rank. */
static void copy_name(char name[NAME_BYTES], const char *choice, unsigned rank)
{
	while (--rank)
		choice = strchr(choice, '|') + 1;
	snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(choice, "|"), choice);
}

static void choose_counters(int number)
{
	struct counted_device *device = &devices[number];
	rocp_handle agent = rocp_agent_handle(number);
	char unknown[COUNTERS_TEXT_BYTES] = "", unfit[COUNTERS_TEXT_BYTES] = "";
	struct offer offer = { 0 };

	counting.iterate_counters(agent, look_up, &offer);
	for (unsigned k = 0; k < list.n; k++) {
		if (!offer.ids[k])
			add_name(unknown, list.names[k]);
		else if (!add_counter(device, agent, offer.ids[k], k))
			add_name(unfit, list.names[k]);
		else if (!*names[k])
			copy_name(names[k], list.names[k], offer.ranks[k]);
	}
	if (*unknown && !list.is_default)
		tacho_unseen(UNSEEN, "device %d has no counter %s", number, unknown);
	if (*unfit)
		tacho_unseen(UNSEEN,
			     "device %d cannot count %s together with those before: record again "
			     "with these alone",
			     number, unfit);
	if (!device->n)
		tacho_unseen(UNSEEN, "of device %d no counters are left", number);
}

/* --- counting --------------------------------------------------------------------------------- */

/* Before a kernel is queued: what is to be counted of it. In the thread that launches it. */
static void dispatched(struct rocp_counted counted, rocp_handle *config, uint64_t *user_data,
		       void *data)
{
	const struct rocp_dispatch_info *info = rocp_counted_info(&counted);
	int device = rocp_agent_device(info->agent);

	(void)user_data, (void)data;
	if (!__atomic_load_n(&is_counting, __ATOMIC_RELAXED) || rocp_is_child() || device < 0 ||
	    device >= N_DEVICES || !devices[device].config || rocp_kernel_waits(info->kernel))
		return;
	*config = devices[device].config;
}

static void add_value(const struct counted_device *device, const struct rocp_value *told,
		      double values[COUNTERS_MOST])
{
	uint64_t id = 0;

	if (counting.counter_of(told->instance, &id) != ROCP_SUCCESS)
		return;
	for (unsigned k = 0; k < device->n; k++) {
		double *value = &values[device->places[k]];

		if (device->ids[k] == id)
			*value = *value == *value ? *value + told->value : told->value;
	}
}

/* False: they are not where they should be, or of another dispatch. */
static bool add_values(const struct counted_device *device, uint64_t dispatch, const char *told,
		       size_t n, double values[COUNTERS_MOST])
{
	for (size_t i = 0; i < n; i++) {
		const struct rocp_value *value = (const void *)(told + i * value_bytes);

		if (value->dispatch != dispatch)
			return false;
		add_value(device, value, values);
	}
	return true;
}

/* When it is over. In a thread of rocprofiler-sdk's. */
static void values_told(struct rocp_counted counted, const void *told, size_t n, uint64_t user_data,
			void *data)
{
	const struct rocp_dispatch_info *info = rocp_counted_info(&counted);
	int device = rocp_agent_device(info->agent);
	double values[COUNTERS_MOST];

	(void)user_data, (void)data;
	if (rocp_is_child() || !tacho_is_alive() || device < 0 || device >= N_DEVICES || !n)
		return;
	tacho_writer.is_inside++;
	for (unsigned i = 0; i < COUNTERS_MOST; i++)
		values[i] = __builtin_nan("");
	if (add_values(&devices[device], info->dispatch, told, n, values))
		kernel_values_add((uint32_t)info->dispatch, device, tacho_ticks(), values);
	else
		tacho_record_make_room(0); /* they count as lost */
	tacho_writer.is_inside--;
}

static bool start_values(void)
{
	uint32_t classes[COUNTERS_MOST] = { 0 };

	for (unsigned k = 0; k < list.n; k++)
		if (*names[k])
			classes[k] = tacho_class(TRACE_KIND_COUNTER, names[k], strlen(names[k]));
	return kernel_values_start(list.n, classes);
}

/* Whether there is a device with something to be counted. */
static bool choose_all(void)
{
	bool has_any = false;

	for (int i = 0; i < rocp_agent_n_devices() && i < N_DEVICES; i++) {
		choose_counters(i);
		has_any |= devices[i].n > 0;
	}
	return has_any;
}

static void configure(const char *text)
{
	const char *missing = find_functions();

	if (missing) {
		tacho_unseen(UNSEEN, "this rocprofiler-sdk counts nothing: it has no %s", missing);
		return;
	}
	if (!counter_list_parse(&list, text, DEFAULT_COUNTERS))
		tacho_unseen(UNSEEN, "of so many counters the first %u are counted", list.n);
	if (!choose_all() || !start_values())
		return;
	is_ready = library->create_context(&context) == ROCP_SUCCESS &&
		   counting.count_dispatches(context, dispatched, NULL, values_told, NULL) ==
			   ROCP_SUCCESS;
	if (!is_ready)
		tacho_unseen(UNSEEN, "rocprofiler-sdk refuses to count kernels");
}

void rocp_counters_configure(const struct rocp *rocp)
{
	const char *text = getenv(VARIABLE);

	library = rocp;
	if (text && *text)
		configure(text);
}

void rocp_counters_switch(bool is_on)
{
	if (!is_ready || is_on == is_counting)
		return;
	if (is_on && library->start_context(context) != ROCP_SUCCESS) {
		tacho_unseen(UNSEEN, "rocprofiler-sdk does not count: another tool may do so");
		return;
	}
	__atomic_store_n(&is_counting, is_on, __ATOMIC_RELAXED);
	if (!is_on)
		library->stop_context(context);
}

void rocp_counters_began(uint64_t dispatch, uint64_t ticks)
{
	if (is_ready)
		kernel_values_began((uint32_t)dispatch, ticks);
}

void rocp_counters_end(void)
{
	uint64_t n = is_ready ? kernel_values_end() : 0;

	if (n)
		region_mark("rocprofiler", "counters of kernels that were not told", (int64_t)n,
			    "");
}
