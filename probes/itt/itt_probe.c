/* itt_probe: receives what programs and libraries tell by ITT, and records it.
 *
 * A static part of ITT is linked into whoever uses it (oneDNN in PyTorch's wheels, OpenVINO, TBB, programs). Where
 * INTEL_LIBITTNOTIFY64 names this library, each loads it at its first call, and has its table of functions filled in.
 *
 * (1) Tasks of oneDNN ("dnnl::primitive::execute") are kernels; all other tasks, regions, frames and events are regions.
 * (2) What is told of a thread whose call a hook of tacho's is in (the dnn probe's) is recorded by that one already.
 * (3) Domains are known by their names, not by their addresses: each static part has its own, and some are ours. */
#include "itt/itt_abi.h"

#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/probe.h"
#include "common/region_stack.h"

#define DNN_EXECUTE "dnnl::primitive::execute"
#define N_EVENTS    1024
#define N_COUNTERS  1024
#define N_OPEN	    256 /* regions and overlapped tasks, by their ids */

TACHO_EXPORT void __itt_api_init(struct itt_global *global, int groups);
TACHO_EXPORT void __itt_api_fini(struct itt_global *global);

/* --- names ------------------------------------------------------------------------------------ */

static bool is_wanted(void)
{
	return tacho_is_recording() && !tacho_writer.is_inside;
}

static const char *text_of(const struct itt_string *string)
{
	return string && string->text ? string->text : "?";
}

static bool is_enabled(const struct itt_domain *domain)
{
	return !domain || domain->flags;
}

static const char *name_of(const struct itt_domain *domain)
{
	return domain ? domain->name : NULL;
}

/* That of oneDNN, and that of OpenVINO's: "dnnl.execute.matmul". */
static bool is_dnn(const char *domain)
{
	return domain && (strcmp(domain, DNN_EXECUTE) == 0 ||
			  strncmp(domain, "dnnl.execute.", strlen("dnnl.execute.")) == 0);
}

static uint32_t class_of(const struct itt_domain *domain, const char *name, enum trace_kind *kind)
{
	const char *domain_name = name_of(domain);

	*kind = is_dnn(domain_name) ? TRACE_KIND_KERNEL : TRACE_KIND_ANNOTATION;
	return region_class(*kind, *kind == TRACE_KIND_KERNEL ? NULL : domain_name, name);
}

/* --- domains and strings -------------------------------------------------------------------- */

/* The static part makes those that come before its first task; from 3.24 on it makes none behind that, and hands on what we
 * make. They are only added: two threads may make one of the same name, which is no harm. */
static struct itt_domain *domains; /* atomic */
static struct itt_string *strings; /* atomic */

static struct itt_domain *domain_create(const char *name)
{
	struct itt_domain *head = __atomic_load_n(&domains, __ATOMIC_ACQUIRE), *domain;

	for (domain = head; name && domain; domain = domain->next)
		if (strcmp(domain->name, name) == 0)
			return domain;
	domain = name ? calloc(1, sizeof(*domain)) : NULL;
	if (!domain || !(domain->name = strdup(name))) {
		free(domain);
		return NULL;
	}
	domain->flags = 1;
	domain->next = head;
	while (!__atomic_compare_exchange_n(&domains, &domain->next, domain, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return domain;
}

static struct itt_string *string_handle_create(const char *text)
{
	struct itt_string *head = __atomic_load_n(&strings, __ATOMIC_ACQUIRE), *string;

	for (string = head; text && string; string = string->next)
		if (strcmp(string->text, text) == 0)
			return string;
	string = text ? calloc(1, sizeof(*string)) : NULL;
	if (!string || !(string->text = strdup(text))) {
		free(string);
		return NULL;
	}
	string->next = head;
	while (!__atomic_compare_exchange_n(&strings, &string->next, string, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return string;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void open_task(const struct itt_domain *domain, struct itt_id id, const char *name)
{
	enum trace_kind kind;
	uint32_t class_id;

	if (!is_wanted() || !is_enabled(domain)) {
		region_open(TRACE_KIND_ANNOTATION, 0, domain, 0); /* for its end */
		return;
	}
	class_id = class_of(domain, name, &kind);
	if (kind == TRACE_KIND_KERNEL && !tacho_is_recording_all())
		class_id = 0;
	region_open(kind, class_id, domain, id.d2);
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       const struct itt_string *name)
{
	(void)parent;
	open_task(domain, id, text_of(name));
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			  void *function)
{
	(void)parent, (void)function;
	open_task(domain, id, "function");
}

static void task_begin_ex(const struct itt_domain *domain, void *clock, unsigned long long ticks,
			  struct itt_id id, struct itt_id parent, const struct itt_string *name)
{
	(void)clock, (void)ticks,
		(void)parent; /* a clock of the program's own: now is near enough */
	open_task(domain, id, text_of(name));
}

static void task_end(const struct itt_domain *domain)
{
	region_close(domain);
}

static void task_end_ex(const struct itt_domain *domain, void *clock, unsigned long long ticks)
{
	(void)clock, (void)ticks;
	region_close(domain);
}

/* --- what any thread may end -------------------------------------------------------------------- */

/* Open regions, overlapped tasks and frames, by their ids; a frame without one has its domain's address. A place is free (0), being changed
 * (1), or holds the number of a region. */
static struct open_by_id {
	uint64_t number; /* atomic */
	struct itt_id id;
	const struct itt_domain *domain;
} open_by_id[N_OPEN];

static bool is_same(struct itt_id a, struct itt_id b)
{
	return a.d1 == b.d1 && a.d2 == b.d2 && a.d3 == b.d3;
}

static void start_by_id(const struct itt_domain *domain, struct itt_id id, const char *name)
{
	enum trace_kind kind;
	uint32_t class_id;

	if (!is_wanted() || !is_enabled(domain))
		return;
	class_id = class_of(domain, name, &kind);
	if (kind == TRACE_KIND_KERNEL)
		return; /* no version of oneDNN does so */
	for (unsigned i = 0; i < N_OPEN; i++) {
		uint64_t nothing = 0;

		if (!__atomic_compare_exchange_n(&open_by_id[i].number, &nothing, 1, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		open_by_id[i].id = id;
		open_by_id[i].domain = domain;
		__atomic_store_n(&open_by_id[i].number, region_start(class_id, id.d2),
				 __ATOMIC_RELEASE);
		return;
	}
}

static void end_by_id(const struct itt_domain *domain, struct itt_id id)
{
	for (unsigned i = 0; i < N_OPEN; i++) {
		uint64_t number = __atomic_load_n(&open_by_id[i].number, __ATOMIC_ACQUIRE);

		if (number <= 1 || open_by_id[i].domain != domain ||
		    !is_same(open_by_id[i].id, id) ||
		    !__atomic_compare_exchange_n(&open_by_id[i].number, &number, 0, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		region_end(number);
		return;
	}
}

static void region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
			 const struct itt_string *name)
{
	(void)parent;
	start_by_id(domain, id, text_of(name));
}

static void task_begin_overlapped(const struct itt_domain *domain, struct itt_id id,
				  struct itt_id parent, const struct itt_string *name)
{
	(void)parent;
	start_by_id(domain, id, text_of(name));
}

static struct itt_id frame_id(const struct itt_domain *domain, const struct itt_id *id)
{
	struct itt_id of_domain = { .d1 = (uintptr_t)domain };

	return id ? *id : of_domain;
}

static void frame_begin_v3(const struct itt_domain *domain, const struct itt_id *id)
{
	start_by_id(domain, frame_id(domain, id), "frame");
}

static void frame_end_v3(const struct itt_domain *domain, const struct itt_id *id)
{
	end_by_id(domain, frame_id(domain, id));
}

/* --- events --------------------------------------------------------------------------------------- */

/* An event is a number that the program gets for a name; this is the name. */
static char *events[N_EVENTS]; /* atomic */
static uint32_t n_events;      /* atomic */

static int event_create(const char *name, int length)
{
	uint32_t place = __atomic_fetch_add(&n_events, 1, __ATOMIC_RELAXED);
	char *copy = place < N_EVENTS && name && length >= 0 ? strndup(name, (size_t)length) : NULL;

	if (!copy)
		return 0;
	__atomic_store_n(&events[place], copy, __ATOMIC_RELEASE);
	return (int)place + 1;
}

static const char *event_name(int event)
{
	return event > 0 && event <= N_EVENTS
		       ? __atomic_load_n(&events[event - 1], __ATOMIC_ACQUIRE)
		       : NULL;
}

static int event_start(int event)
{
	const char *name = event_name(event);

	if (!name)
		return 1;
	region_open(TRACE_KIND_ANNOTATION,
		    is_wanted() ? region_class(TRACE_KIND_ANNOTATION, NULL, name) : 0, name, 0);
	return 0;
}

static int event_end(int event)
{
	const char *name = event_name(event);

	if (!name)
		return 1;
	region_close(name);
	return 0;
}

/* --- marks and counters ----------------------------------------------------------------------------- */

static void marker(const struct itt_domain *domain, struct itt_id id, const struct itt_string *name,
		   int scope)
{
	(void)scope;
	if (is_wanted() && is_enabled(domain))
		region_mark(domain && domain->name ? domain->name : "ITT", text_of(name),
			    (int64_t)id.d2, "");
}

/* What counter_create() gives out. Nothing of it changes but the value. */
struct counter {
	char *name, *domain;
	enum itt_type type;
	int64_t value; /* atomic: of those that are counted up */
};

static struct counter counters[N_COUNTERS];
static uint32_t n_counters; /* atomic */

static void *counter_create_typed(const char *name, const char *domain, int type)
{
	uint32_t place = __atomic_fetch_add(&n_counters, 1, __ATOMIC_RELAXED);
	struct counter *counter = &counters[place < N_COUNTERS ? place : 0];

	if (place >= N_COUNTERS || !name)
		return NULL;
	counter->name = strdup(name);
	counter->domain = strdup(domain ? domain : "ITT");
	counter->type = (enum itt_type)type;
	return counter->name && counter->domain ? counter : NULL;
}

static void *counter_create(const char *name, const char *domain)
{
	return counter_create_typed(name, domain, ITT_U64);
}

static struct counter *counter_of(void *handle)
{
	struct counter *counter = handle;

	return counter >= counters && counter < counters + N_COUNTERS ? counter : NULL;
}

static void tell_value(const struct counter *counter, double value)
{
	if (is_wanted() && !tacho_is_partial())
		tacho_counter(region_class(TRACE_KIND_COUNTER, counter->domain, counter->name),
			      value);
}

static void add(void *handle, int64_t delta)
{
	struct counter *counter = counter_of(handle);

	if (counter)
		tell_value(counter,
			   (double)__atomic_add_fetch(&counter->value, delta, __ATOMIC_RELAXED));
}

static void counter_inc(void *handle)
{
	add(handle, 1);
}

static void counter_dec(void *handle)
{
	add(handle, -1);
}

static void counter_inc_delta(void *handle, unsigned long long delta)
{
	add(handle, (int64_t)delta);
}

static void counter_dec_delta(void *handle, unsigned long long delta)
{
	add(handle, -(int64_t)delta);
}

static void counter_set_value(void *handle, void *value)
{
	const struct counter *counter = counter_of(handle);

	if (!counter || !value)
		return;
	switch (counter->type) {
	case ITT_U64:
		tell_value(counter, (double)*(const uint64_t *)value);
		break;
	case ITT_S64:
		tell_value(counter, (double)*(const int64_t *)value);
		break;
	case ITT_U32:
		tell_value(counter, *(const uint32_t *)value);
		break;
	case ITT_S32:
		tell_value(counter, *(const int32_t *)value);
		break;
	case ITT_U16:
		tell_value(counter, *(const uint16_t *)value);
		break;
	case ITT_S16:
		tell_value(counter, *(const int16_t *)value);
		break;
	case ITT_FLOAT:
		tell_value(counter, (double)*(const float *)value);
		break;
	case ITT_DOUBLE:
		tell_value(counter, *(const double *)value);
		break;
	case ITT_UNKNOWN:
		break;
	}
}

static void counter_set_value_ex(void *handle, void *clock, unsigned long long ticks, void *value)
{
	(void)clock, (void)ticks;
	counter_set_value(handle, value);
}

/* --- putting them in ----------------------------------------------------------------------------------- */

#define RECEIVED(function)                                                                         \
	{                                                                                          \
		"__itt_" #function, (void *)function                                               \
	}

static const struct {
	const char *name;
	void *function;
} received[] = {
	RECEIVED(domain_create),
	RECEIVED(string_handle_create),
	RECEIVED(task_begin),
	RECEIVED(task_begin_fn),
	RECEIVED(task_begin_ex),
	RECEIVED(task_end),
	RECEIVED(task_end_ex),
	RECEIVED(task_begin_overlapped),
	{ "__itt_task_end_overlapped", (void *)end_by_id },
	RECEIVED(region_begin),
	{ "__itt_region_end", (void *)end_by_id },
	RECEIVED(frame_begin_v3),
	RECEIVED(frame_end_v3),
	RECEIVED(event_create),
	RECEIVED(event_start),
	RECEIVED(event_end),
	RECEIVED(marker),
	RECEIVED(counter_create),
	RECEIVED(counter_create_typed),
	RECEIVED(counter_inc),
	RECEIVED(counter_dec),
	RECEIVED(counter_inc_delta),
	RECEIVED(counter_dec_delta),
	RECEIVED(counter_set_value),
	RECEIVED(counter_set_value_ex),
};

static void *find_received(const char *name)
{
	for (size_t i = 0; i < sizeof(received) / sizeof(*received); i++)
		if (strcmp(received[i].name, name) == 0)
			return received[i].function;
	return NULL;
}

/* All entries get something: one that kept its initial function would come here again at each call. */
void __itt_api_init(struct itt_global *global, int groups)
{
	static const unsigned char magic[8] = ITT_MAGIC;

	(void)groups;
	if (!global || memcmp(global->magic, magic, sizeof(magic)) != 0 || !global->apis)
		return;
	for (struct itt_api *api = global->apis; api->name; api++) {
		void *function = global->major == ITT_MAJOR ? find_received(api->name) : NULL;

		*api->function = function ? function : api->null_function;
	}
}

void __itt_api_fini(struct itt_global *global)
{
	(void)global;
}
