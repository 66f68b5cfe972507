/* reader_job: writes the run that bench/reader.c reads: threads that record slices four deep, some of
 * them operations with tensors.
 *
 *     tacho record -o RUN -- bench_reader_job THREADS SLICES_A_THREAD OPS_OF_4
 *
 * Of every four slices, OPS_OF_4 are operations with 4 tensors of 4 dimensions, the others are
 * annotations without arguments. Records that come quicker than memory can be made ready would be
 * dropped: the threads pause in between. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/probe.h"

#define DEPTH	       4
#define N_TENSORS      4
#define N_DIMS	       4
#define N_NAMES	       64
#define BURST_BYTES    (24 * 1024) /* between two pauses */
#define PAUSE_US       1000
#define MAX_THREADS    64
#define MAX_NAME_BYTES 32

struct op_with_tensors {
	struct record_op op;
	struct {
		struct record_tensor tensor;
		int64_t shape[N_DIMS];
	} inputs[N_TENSORS];
};

static unsigned long n_nests; /* a thread */
static unsigned int n_ops;    /* a nest */
static uint32_t slice_classes[N_NAMES], op_classes[N_NAMES];

static void make_classes(void)
{
	char name[MAX_NAME_BYTES];

	for (int i = 0; i < N_NAMES; i++) {
		snprintf(name, sizeof(name), "region %d", i);
		slice_classes[i] = tacho_class(TRACE_KIND_ANNOTATION, name, strlen(name));
		snprintf(name, sizeof(name), "aten::op_%d", i);
		op_classes[i] = tacho_class(TRACE_KIND_OP, name, strlen(name));
	}
}

static struct record_slice *begin_slice(unsigned long i)
{
	struct record_slice *slice = tacho_record_begin(slice_classes[i % N_NAMES], sizeof(*slice));

	if (!slice)
		return NULL;
	slice->duration = TRACE_OPEN;
	slice->id = i;
	tacho_record_commit(slice);
	return slice;
}

static struct record_op *begin_op(unsigned long i)
{
	struct op_with_tensors *op = tacho_record_begin(op_classes[i % N_NAMES], sizeof(*op));

	if (!op)
		return NULL;
	op->op.duration = TRACE_OPEN;
	op->op.sequence = (int64_t)i;
	op->op.forward_thread = 0;
	op->op.flags = 0;
	op->op.n_inputs = N_TENSORS;
	for (uint32_t t = 0; t < N_TENSORS; t++) {
		op->inputs[t].tensor = (struct record_tensor){ .storage = 0x1000 + i,
							       .dtype = TRACE_DTYPE_F32,
							       .device = TRACE_DEVICE_CPU,
							       .n_dims = N_DIMS,
							       .argument = t };
		for (int64_t dim = 0; dim < N_DIMS; dim++)
			op->inputs[t].shape[dim] = 1 + dim;
	}
	tacho_record_commit(op);
	return &op->op;
}

static void write_nest(unsigned long nest)
{
	struct record_slice *slices[DEPTH] = { 0 };
	struct record_op *ops[DEPTH] = { 0 };

	for (unsigned int i = 0; i < DEPTH; i++) {
		if (i < DEPTH - n_ops)
			slices[i] = begin_slice(nest * DEPTH + i);
		else
			ops[i] = begin_op(nest * DEPTH + i);
	}
	for (unsigned int i = DEPTH; i-- > 0;) {
		if (slices[i])
			tacho_slice_end(slices[i], &slices[i]->duration);
		if (ops[i])
			tacho_slice_end(ops[i], &ops[i]->duration);
	}
}

static void *run_thread(void *unused)
{
	const unsigned long nest_bytes = (DEPTH - n_ops) * sizeof(struct record_slice) +
					 n_ops * sizeof(struct op_with_tensors);
	const unsigned long n_at_once = BURST_BYTES / nest_bytes;

	for (unsigned long i = 0; i < n_nests; i++) {
		write_nest(i);
		if (i % n_at_once == n_at_once - 1)
			usleep(PAUSE_US);
	}
	return unused;
}

int main(int n_arguments, char **arguments)
{
	pthread_t threads[MAX_THREADS];
	unsigned long n_threads, n_started = 0;

	if (n_arguments != 4) {
		fprintf(stderr, "usage: bench_reader_job THREADS SLICES_A_THREAD OPS_OF_4\n");
		return 2;
	}
	n_threads = strtoul(arguments[1], NULL, 10);
	n_nests = strtoul(arguments[2], NULL, 10) / DEPTH;
	n_ops = (unsigned int)strtoul(arguments[3], NULL, 10);
	if (n_threads > MAX_THREADS || n_ops > DEPTH)
		return 2;
	make_classes();
	while (n_started < n_threads &&
	       pthread_create(&threads[n_started], NULL, run_thread, NULL) == 0)
		n_started++;
	while (n_started)
		pthread_join(threads[--n_started], NULL);
	return 0;
}
