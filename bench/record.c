/* record: what one record costs, begin and end, beside LTTng-UST's pair of tracepoints and beside
 * the two readings of the clock that nothing with a begin and an end can do without.
 *
 *     tacho record -o RUN --probes torch -- bench_record [--json]        (bench/run.sh does it)
 *
 * Short rounds of every case in turn, with pauses in between so that no writer has to wait for its
 * helper; so what disturbs the machine disturbs all alike. The figure is the median of the rounds,
 * with the 95 % interval of a median (order statistics). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/activity.h"
#ifdef HAVE_LTTNG_UST
#include "record_lttng.h"
#endif

#define N_ROUNDS  301
#define N_EVENTS  500 /* a round */
#define N_TENSORS 4
#define N_DIMS	  4
#define PAUSE_US  2000

struct op_with_tensors {
	struct record_op op;
	struct {
		struct record_tensor tensor;
		int64_t shape[N_DIMS];
	} inputs[N_TENSORS];
};

static uint32_t slice_class, op_class, call_class, late_class, kernel_class, copy_class;
static uint32_t counter_class, flow_class;

static unsigned int read_clock_twice(unsigned int n)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t begin = tacho_ticks();

		__asm__ volatile("" ::: "memory");
		sum += tacho_ticks() - begin;
	}
	__asm__ volatile("" ::"r"(sum));
	return 0;
}

static unsigned int write_slices(unsigned int n)
{
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct record_slice *slice = tacho_record_begin(slice_class, sizeof(*slice));

		if (!slice) {
			n_dropped++;
			continue;
		}
		slice->duration = TRACE_OPEN;
		slice->id = i;
		tacho_record_commit(slice);
		__asm__ volatile("" ::: "memory");
		tacho_slice_end(slice, &slice->duration);
	}
	return n_dropped;
}

static void fill_tensor(struct record_tensor *tensor, int64_t *shape, uint32_t argument)
{
	tensor->storage = 0x1000 + argument;
	tensor->offset_bytes = 0;
	tensor->dtype = TRACE_DTYPE_F32;
	tensor->device = TRACE_DEVICE_CPU;
	tensor->n_dims = N_DIMS;
	tensor->argument = argument;
	for (int i = 0; i < N_DIMS; i++)
		shape[i] = i + argument;
}

static unsigned int write_ops(unsigned int n)
{
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct op_with_tensors *op = tacho_record_begin(op_class, sizeof(*op));

		if (!op) {
			n_dropped++;
			continue;
		}
		op->op.duration = TRACE_OPEN;
		op->op.sequence = i;
		op->op.forward_thread = 0;
		op->op.flags = 0;
		op->op.n_inputs = N_TENSORS;
		for (uint32_t t = 0; t < N_TENSORS; t++)
			fill_tensor(&op->inputs[t].tensor, op->inputs[t].shape, t);
		tacho_record_commit(op);
		__asm__ volatile("" ::: "memory");
		tacho_slice_end(op, &op->op.duration);
	}
	return n_dropped;
}

static unsigned int write_calls(unsigned int n)
{
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct record_slice *call = tacho_slice_begin(call_class, i + 1);

		n_dropped += !call;
		__asm__ volatile("" ::: "memory");
		tacho_slice_finish(call);
	}
	return n_dropped;
}

static unsigned int write_late(unsigned int n)
{
	unsigned int n_dropped = 0;
	uint64_t now = tacho_ticks();

	for (unsigned int i = 0; i < n; i++)
		n_dropped += !tacho_slice_late(late_class, TRACE_KIND_FUNCTION, now - 10, now, i);
	return n_dropped;
}

/* What a device told, brought to the trace's clock. */
static struct tacho_activity activity_at(const struct tacho_clock_pair *pair, unsigned int i)
{
	return (struct tacho_activity){ .begin = tacho_ticks_at(pair, pair->ns - 1000 + i),
					.end = tacho_ticks_at(pair, pair->ns - 500 + i),
					.correlation = i + 1,
					.queue = 7 };
}

static unsigned int write_kernels(unsigned int n)
{
	static const struct tacho_launch launch = { { 4, 2, 1 }, { 128, 1, 1 }, 32, 1024 };
	struct tacho_clock_pair pair = tacho_clock_pair_now();
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct tacho_activity activity = activity_at(&pair, i);

		n_dropped += !tacho_device_kernel(kernel_class, &activity, &launch);
	}
	return n_dropped;
}

static unsigned int write_copies(unsigned int n)
{
	struct tacho_clock_pair pair = tacho_clock_pair_now();
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct tacho_activity activity = activity_at(&pair, i);

		n_dropped += !tacho_copy(copy_class, &activity, 4096, TRACE_HOST_TO_DEVICE, -1);
	}
	return n_dropped;
}

static unsigned int write_counters(unsigned int n)
{
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++)
		n_dropped += !tacho_counter(counter_class, i);
	return n_dropped;
}

static unsigned int write_flows(unsigned int n)
{
	unsigned int n_dropped = 0;

	for (unsigned int i = 0; i < n; i++)
		n_dropped += !tacho_flow(flow_class, i, TRACE_FLOW_BEGIN, TRACE_FLOW_OTHER,
					 TRACE_FLOW_OF_PROCESS);
	return n_dropped;
}

static bool is_always(void)
{
	return true;
}

static bool is_recording(void)
{
	return tacho_is_recording();
}

static struct contestant {
	const char *key, *title;
	unsigned int (*run)(unsigned int n); /* returns how many were dropped */
	bool (*is_ready)(void);
	double rounds_ns[N_ROUNDS]; /* an event */
	unsigned int n_dropped;
	bool is_in;
} contestants[] = {
	{ .key = "clock_twice",
	  .title = "two readings of the clock",
	  .run = read_clock_twice,
	  .is_ready = is_always },
	{ .key = "slice",
	  .title = "tacho: a slice, begin and end",
	  .run = write_slices,
	  .is_ready = is_recording },
	{ .key = "op_4_tensors",
	  .title = "tacho: an operation with 4 tensors",
	  .run = write_ops,
	  .is_ready = is_recording },
	{ .key = "call",
	  .title = "tacho: a runtime's call, both ends",
	  .run = write_calls,
	  .is_ready = is_recording },
	{ .key = "late",
	  .title = "tacho: a late slice",
	  .run = write_late,
	  .is_ready = is_recording },
	{ .key = "device_kernel",
	  .title = "tacho: a device's kernel, two times",
	  .run = write_kernels,
	  .is_ready = is_recording },
	{ .key = "copy",
	  .title = "tacho: a device's copy, two times",
	  .run = write_copies,
	  .is_ready = is_recording },
	{ .key = "counter",
	  .title = "tacho: a counter's value",
	  .run = write_counters,
	  .is_ready = is_recording },
	{ .key = "flow",
	  .title = "tacho: an end of a flow",
	  .run = write_flows,
	  .is_ready = is_recording },
#ifdef HAVE_LTTNG_UST
	{ .key = "lttng_ust_pair",
	  .title = "LTTng-UST: a pair of tracepoints",
	  .run = lttng_pairs,
	  .is_ready = lttng_is_tracing },
#endif
};

#define N_CONTESTANTS (sizeof(contestants) / sizeof(*contestants))

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_round(int round)
{
	for (size_t i = 0; i < N_CONTESTANTS; i++) {
		struct contestant *contestant = &contestants[i];
		double begin_ns;

		if (!contestant->is_in)
			continue;
		begin_ns = now_ns();
		contestant->n_dropped += contestant->run(N_EVENTS);
		contestant->rounds_ns[round] = (now_ns() - begin_ns) / N_EVENTS;
		usleep(PAUSE_US);
	}
}

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

/* The interval of the median lies 0.98 sqrt(n) places to either side of the middle. */
static void print(const struct contestant *contestant, bool is_json, bool is_first)
{
	int middle = N_ROUNDS / 2, reach = 17; /* 0.98 sqrt(301) */
	double median_ns = contestant->rounds_ns[middle];
	double low_ns = contestant->rounds_ns[middle - reach];
	double high_ns = contestant->rounds_ns[middle + reach];

	if (is_json)
		printf("%s{\"name\": \"%s\", \"median_ns\": %.2f, \"low_ns\": %.2f, \"high_ns\": "
		       "%.2f, \"rounds\": %d, \"events_a_round\": %d, \"dropped\": %u}",
		       is_first ? "" : ",\n ", contestant->key, median_ns, low_ns, high_ns,
		       N_ROUNDS, N_EVENTS, contestant->n_dropped);
	else
		printf("%-36s %8.1f  [%.1f, %.1f]%s\n", contestant->title, median_ns, low_ns,
		       high_ns, contestant->n_dropped ? "  some were dropped" : "");
}

int main(int n_arguments, char **arguments)
{
	bool is_json = n_arguments == 2 && strcmp(arguments[1], "--json") == 0;
	bool is_first = true;

	slice_class = tacho_class(TRACE_KIND_ANNOTATION, "slice", strlen("slice"));
	op_class = tacho_class(TRACE_KIND_OP, "op", strlen("op"));
	call_class = tacho_class(TRACE_KIND_RUNTIME, "call", strlen("call"));
	late_class = tacho_class(TRACE_KIND_LATE, "late", strlen("late"));
	kernel_class = tacho_class(TRACE_KIND_DEVICE_KERNEL, "kernel", strlen("kernel"));
	copy_class = tacho_class(TRACE_KIND_COPY, "copy", strlen("copy"));
	counter_class = tacho_class(TRACE_KIND_COUNTER, "counter", strlen("counter"));
	flow_class = tacho_class(TRACE_KIND_FLOW, "flow", strlen("flow"));
	for (size_t i = 0; i < N_CONTESTANTS; i++)
		contestants[i].is_in = contestants[i].is_ready();
	for (int round = 0; round < 20; round++) /* to warm up: the first is written over */
		run_round(0);
	for (size_t i = 0; i < N_CONTESTANTS; i++)
		contestants[i].n_dropped = 0;
	for (int round = 0; round < N_ROUNDS; round++)
		run_round(round);
	if (is_json)
		printf("[");
	else
		printf("%-36s %8s  %s\n", "", "ns", "95 % interval of the median");
	for (size_t i = 0; i < N_CONTESTANTS; i++) {
		if (!contestants[i].is_in)
			continue;
		qsort(contestants[i].rounds_ns, N_ROUNDS, sizeof(double), compare);
		print(&contestants[i], is_json, is_first);
		is_first = false;
	}
	if (is_json)
		printf("]\n");
	return 0;
}
