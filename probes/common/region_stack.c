#include "common/region_stack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_CACHED    64
#define NAME_BYTES  512
#define N_STARTED   1024 /* open at once, a power of 2 */
#define COST_ROUNDS 9
#define COST_CALLS  32

struct open_region {
	void *record; /* NULL: dropped */
	uint64_t *duration;
	const void *domain;
};

struct cached_class {
	const char *domain, *name;
	uint32_t class_id;
	enum trace_kind kind;
};

struct thread_regions {
	uint32_t generation;
	uint32_t n; /* open, those that are too deep among them */
	struct open_region open[REGION_STACK_DEEPEST];
	struct cached_class cached[N_CACHED];
};

static _Thread_local struct thread_regions regions;

static struct thread_regions *regions_now(void)
{
	if (TACHO_UNLIKELY(regions.generation != tacho_generation())) {
		memset(&regions, 0, sizeof(regions)); /* costs are told to each process */
		regions.generation = tacho_generation();
	}
	return &regions;
}

static void tell_cost(enum trace_kind kind, uint32_t class_id);

/* --- names ----------------------------------------------------------------------------------- */

struct asked_class {
	enum trace_kind kind;
	const char *domain, *name;
	uint32_t class_id;
};

static void declare(void *asked_pointer)
{
	struct asked_class *asked = asked_pointer;
	char text[NAME_BYTES];
	int length;

	if (asked->domain && *asked->domain)
		length = snprintf(text, sizeof(text), "%s: %s", asked->domain, asked->name);
	else
		length = snprintf(text, sizeof(text), "%s", asked->name);
	if (length < 0)
		return;
	if (length >= (int)sizeof(text))
		length = (int)sizeof(text) - 1;
	asked->class_id = tacho_class(asked->kind, text, (size_t)length);
}

uint32_t region_class_anew(enum trace_kind kind, const char *domain, const char *name)
{
	struct asked_class asked = { .kind = kind, .domain = domain, .name = name };

	tacho_run_aside(declare, &asked);
	return asked.class_id;
}

uint32_t region_class(enum trace_kind kind, const char *domain, const char *name)
{
	uintptr_t key = (uintptr_t)name ^ (uintptr_t)domain << 1;
	struct cached_class *cached = &regions_now()->cached[(key >> 4 ^ key >> 10) % N_CACHED];

	if (cached->class_id && cached->name == name && cached->domain == domain &&
	    cached->kind == kind)
		return cached->class_id;
	cached->class_id = region_class_anew(kind, domain, name);
	cached->name = name;
	cached->domain = domain;
	cached->kind = kind;
	if (cached->class_id && (kind == TRACE_KIND_KERNEL || kind == TRACE_KIND_ANNOTATION))
		tell_cost(kind, cached->class_id);
	return cached->class_id;
}

struct asked_mark {
	const char *domain, *name, *text;
	int64_t first;
};

static void mark(void *asked_pointer)
{
	struct asked_mark *asked = asked_pointer;
	char text[NAME_BYTES];

	if (snprintf(text, sizeof(text), "%s: %s", asked->domain, asked->name) > 0)
		tacho_mark(text, asked->first, 0, asked->text);
}

void region_mark(const char *domain, const char *name, int64_t first, const char *text)
{
	struct asked_mark asked = { .domain = domain, .name = name, .text = text, .first = first };

	tacho_run_aside(mark, &asked);
}

/* --- regions --------------------------------------------------------------------------------- */

static void *begin_slice(uint32_t class_id, uint64_t id, bool is_async, uint64_t **ret_duration)
{
	struct record_slice *record = is_async ? tacho_record_begin_async(class_id, sizeof(*record))
					       : tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return NULL;
	record->duration = TRACE_OPEN;
	record->id = id;
	tacho_record_commit(record);
	*ret_duration = &record->duration;
	return record;
}

static void *begin_kernel(uint32_t class_id, uint64_t **ret_duration)
{
	struct record_kernel *record = tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return NULL;
	memset((char *)record + sizeof(record->header), 0,
	       sizeof(*record) - sizeof(record->header));
	record->duration = TRACE_OPEN;
	tacho_record_commit(record);
	*ret_duration = &record->duration;
	return record;
}

void region_open(enum trace_kind kind, uint32_t class_id, const void *domain, uint64_t id)
{
	struct thread_regions *self = regions_now();
	struct open_region *region;

	if (self->n++ >= REGION_STACK_DEEPEST)
		return;
	region = &self->open[self->n - 1];
	region->domain = domain;
	region->record = !class_id ? NULL
			 : kind == TRACE_KIND_KERNEL
				 ? begin_kernel(class_id, &region->duration)
				 : begin_slice(class_id, id, false, &region->duration);
}

void region_close(const void *domain)
{
	struct thread_regions *self = regions_now();
	uint32_t at;

	if (self->n > REGION_STACK_DEEPEST) {
		self->n--;
		return;
	}
	for (at = self->n; at > 0 && self->open[at - 1].domain != domain; at--)
		;
	if (!at)
		return;
	if (self->open[at - 1].record)
		tacho_slice_end(self->open[at - 1].record, self->open[at - 1].duration);
	memmove(&self->open[at - 1], &self->open[at], (self->n - at) * sizeof(*self->open));
	self->n--;
}

/* --- those that any thread may end ------------------------------------------------------------- */

/* A place is free (0), being filled or emptied (1), or holds a region: its number, which is never used again. */
static struct started_region {
	uint64_t number; /* atomic */
	void *record;
	uint64_t *duration;
	uint32_t generation;
} started[N_STARTED];
static uint64_t n_started; /* atomic */

uint64_t region_start(uint32_t class_id, uint64_t id)
{
	uint64_t number = __atomic_add_fetch(&n_started, 1, __ATOMIC_RELAXED) + 1;
	struct started_region *region = &started[number % N_STARTED];
	uint64_t nothing = 0;

	if (!class_id || !__atomic_compare_exchange_n(&region->number, &nothing, 1, false,
						      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	region->record = begin_slice(class_id, id, true, &region->duration);
	region->generation = tacho_generation();
	__atomic_store_n(&region->number, region->record ? number : 0, __ATOMIC_RELEASE);
	return region->record ? number : 0;
}

void region_end(uint64_t number)
{
	struct started_region *region = &started[number % N_STARTED];
	uint64_t expected = number;

	if (number <= 1 || !__atomic_compare_exchange_n(&region->number, &expected, 1, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (region->generation == tacho_generation())
		tacho_slice_end(region->record, region->duration);
	__atomic_store_n(&region->number, 0, __ATOMIC_RELEASE);
}

/* --- what they cost ---------------------------------------------------------------------------- */

struct measurement {
	enum trace_kind kind;
	uint32_t class_id;
	uint64_t picoseconds; /* 0: not measured */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(void *measurement_pointer)
{
	static const char domain[] = "cost";
	struct measurement *asked = measurement_pointer;
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(2 * COST_CALLS * sizeof(struct record_kernel)))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (int i = 0; i < COST_CALLS; i++) {
			region_open(asked->kind, asked->class_id, domain, 0);
			region_close(domain);
		}
		taken_ns = now_ns() - begin_ns;
		tacho_scratch_rewind();
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	asked->picoseconds = least_ns * 1000 / COST_CALLS;
}

/* Measured once, told of each class and process. */
static void tell_cost(enum trace_kind kind, uint32_t class_id)
{
	static uint64_t measured_ps[TRACE_N_KINDS]; /* atomic */
	struct measurement asked = { .kind = kind, .class_id = class_id };

	asked.picoseconds = __atomic_load_n(&measured_ps[kind], __ATOMIC_RELAXED);
	if (!asked.picoseconds)
		tacho_run_aside(measure, &asked);
	__atomic_store_n(&measured_ps[kind], asked.picoseconds, __ATOMIC_RELAXED);
	if (!asked.picoseconds)
		return;
	if (kind == TRACE_KIND_KERNEL)
		tacho_kernel_cost(class_id, "region", asked.picoseconds);
	else
		tacho_cost(kind, "region", asked.picoseconds);
}
