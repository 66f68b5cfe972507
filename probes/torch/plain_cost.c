/* plain_cost: what one recorded event of PyTorch costs the job, measured in the job: by operations (and
 * regions) with the callbacks, less the same without, so that what PyTorch does to call back (boxing the
 * inputs and the outputs) is in it. The operation is one to the dispatcher and next to no work. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain_probe.h"
#include "shape_steps.h"

#define N_BATCHES 15
#define N_EVENTS  60 /* a batch; some 3 ms for everything */
/* More than the events measured write: the first touch of each page belongs to the cost too. */
#define SCRATCH_BYTES (1 << 19)

static struct {
	const struct torch_symbols *torch;
	const struct torch_layout *layout;
	struct torch_tensor tensor;
} subject;

/* 0: not measured. */
static uint64_t op_ps, outputs_ps, region_ps, collective_ps;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_op(const char *unused)
{
	(void)unused;
	subject.torch->zero(&subject.tensor.impl);
}

/* A region with one tensor as its input. */
static void run_region(const char *name)
{
	const uint64_t argument[2] = { (uint64_t)(uintptr_t)subject.tensor.impl, TORCH_TAG_TENSOR };
	struct torch_descriptor descriptor = { strlen(name), name, 0 };
	uint64_t object[TORCH_FUNCTION_WORDS], *inputs = object + subject.layout->inputs / 8;

	subject.torch->construct(object, TORCH_USER_SCOPE);
	inputs[0] = (uint64_t)(uintptr_t)argument;
	inputs[1] = 1;
	if (subject.torch->before_descriptor)
		subject.torch->before_descriptor(object, descriptor, TRACE_NO_SEQUENCE);
	else
		subject.torch->before_text(object, name, TRACE_NO_SEQUENCE);
	subject.torch->destruct(object);
}

typedef void event_function(const char *name);

static uint64_t batch_ps(event_function *event, const char *name)
{
	uint64_t start_ns = now_ns();

	for (int i = 0; i < N_EVENTS; i++)
		event(name);
	return (now_ns() - start_ns) * 1000 / N_EVENTS;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The median of what `event` takes more where PyTorch calls back than where it does not. */
static uint64_t median_extra_ps(event_function *event, const char *name)
{
	uint64_t extra[N_BATCHES];

	for (int batch = 0; batch < N_BATCHES; batch++) {
		uint64_t with_ps = batch_ps(event, name), without_ps;

		subject.torch->set_enabled(false);
		without_ps = batch_ps(event, name);
		subject.torch->set_enabled(true);
		extra[batch] = with_ps > without_ps ? with_ps - without_ps : 0;
	}
	qsort(extra, N_BATCHES, sizeof(*extra), compare_u64);
	return extra[N_BATCHES / 2];
}

/* Tensors of an operation are told as the cost of its outputs, which are recorded with its inputs or not at
 * all. */
static void measure(void)
{
	uint64_t shaped_ps;

	shape_steps_force(false);
	op_ps = median_extra_ps(run_op, NULL);
	shape_steps_force(true);
	shaped_ps = median_extra_ps(run_op, NULL);
	outputs_ps = shaped_ps > op_ps ? shaped_ps - op_ps : 0;
	region_ps = median_extra_ps(run_region, "DistributedDataParallel.forward");
	collective_ps = median_extra_ps(run_region, "gloo:all_reduce");
}

void plain_cost_measure(const struct torch_symbols *torch, const struct torch_layout *layout)
{
	static const int64_t values[] = { 4, 4 }, steps[] = { 4, 1 };
	const struct torch_sizes sizes = { values, 2 }, strides = { steps, 2 };
	bool was_enabled = torch->is_enabled();

	if (!tacho_scratch_begin(SCRATCH_BYTES))
		return;
	subject.torch = torch;
	subject.layout = layout;
	subject.tensor = torch->empty_meta(sizes, strides, TORCH_DOUBLE);
	torch->set_enabled(true);
	measure();
	shape_steps_resume();
	torch->set_enabled(was_enabled);
	tacho_scratch_end();
	plain_cost_tell();
}

void plain_cost_tell(void)
{
	if (op_ps)
		tacho_cost(TRACE_KIND_OP, "torch", op_ps);
	if (outputs_ps)
		tacho_cost(TRACE_KIND_OUTPUTS, "torch", outputs_ps);
	if (region_ps)
		tacho_cost(TRACE_KIND_ANNOTATION, "torch", region_ps);
	if (collective_ps)
		tacho_cost(TRACE_KIND_COLLECTIVE, "torch", collective_ps);
}
