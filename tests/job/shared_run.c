/* shared_run FOLDER RANKS STEPS OPERATIONS: writes the run of a job of many ranks, eight a host: in each step so many
 * operations, some within others, memory, gradients, and an all-reduce that some rank comes late to; a host's clock is off,
 * and the last rank was killed. It is the same at each call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_builder.h"

enum { RANKS_A_HOST = 8, N_NAMES = 24, STEP_NS = 20000000, TRANSFER_NS = 80000, LATE_NS = 60000 };

struct job {
	guint n_ranks, n_steps, n_operations;
};

struct rank {
	const struct job *job;
	struct run_builder *run;
	guint32 ops[N_NAMES], backward, queue, collective, update, alloc, free;
	guint number;
};

static guint64 draw(guint64 a, guint64 b)
{
	guint64 hash = (a * 0x9E3779B97F4A7C15u) ^ (b * 0xC2B2AE3D27D4EB4Fu);

	return (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u >> 40;
}

static guint64 operation_ns(const struct job *job)
{
	return MAX(STEP_NS / 2 / job->n_operations, 20);
}

/* When the rank has queued the step's collective. */
static guint64 queued_ns(const struct job *job, guint rank, guint step)
{
	return (guint64)(step + 1) * STEP_NS + operation_ns(job) * job->n_operations + 2000 +
	       draw(rank, step) % LATE_NS;
}

static guint64 reduced_ns(const struct job *job, guint step)
{
	guint64 last_ns = 0;

	for (guint rank = 0; rank < job->n_ranks; rank++)
		last_ns = MAX(last_ns, queued_ns(job, rank, step));
	return last_ns + TRANSFER_NS;
}

static void declare(struct rank *rank)
{
	for (guint i = 0; i < N_NAMES; i++) {
		g_autofree gchar *name = g_strdup_printf("aten::operation_%u", i);

		rank->ops[i] = run_builder_class(rank->run, TRACE_KIND_OP, name);
	}
	rank->backward = run_builder_class(rank->run, TRACE_KIND_OP, "AddmmBackward0");
	rank->queue = run_builder_class(rank->run, TRACE_KIND_OP, "c10d::allreduce_");
	rank->collective = run_builder_class(rank->run, TRACE_KIND_COLLECTIVE, "gloo:all_reduce");
	rank->update =
		run_builder_class(rank->run, TRACE_KIND_ANNOTATION, "Optimizer.step#SGD.step");
	rank->alloc = run_builder_class(rank->run, TRACE_KIND_ALLOC, "alloc");
	rank->free = run_builder_class(rank->run, TRACE_KIND_FREE, "free");
}

static void write_collective(struct rank *rank, guint step)
{
	guint64 begin_ns = queued_ns(rank->job, rank->number, step);
	struct record_collective *record;

	run_builder_op(rank->run, rank->queue, begin_ns - 500, begin_ns + 1500, -1);
	record = run_builder_record(rank->run, rank->collective, begin_ns, sizeof(*record));
	record->duration = reduced_ns(rank->job, step) - begin_ns;
	record->bytes = 1 << 20;
}

static void write_step(struct rank *rank, guint step)
{
	const struct job *job = rank->job;
	guint64 each_ns = operation_ns(job), begin_ns = (guint64)(step + 1) * STEP_NS, end_ns;

	for (guint i = 0; i < job->n_operations; i += 2) {
		guint64 at_ns = begin_ns + i * each_ns;
		guint64 lasts_ns = each_ns + draw(i, rank->number * 7 + step) % (each_ns / 2);

		run_builder_op(rank->run, rank->ops[draw(i, 1) % N_NAMES], at_ns, at_ns + lasts_ns,
			       (gint64)step * job->n_operations + i);
		if (i % 64 == 0)
			run_builder_memory(rank->run, i % 128 ? rank->free : rank->alloc, at_ns + 2,
					   0x1000 + i / 128, 4096);
		run_builder_op(rank->run, rank->ops[draw(i, 2) % N_NAMES], at_ns + 3,
			       at_ns + lasts_ns / 2, -1);
	}
	write_collective(rank, step);
	end_ns = reduced_ns(job, step);
	run_builder_op(rank->run, rank->backward, end_ns + 10, end_ns + 900, step)->flags =
		TRACE_OP_BACKWARD;
	run_builder_slice(rank->run, rank->update, end_ns + 1000, end_ns + 5000, 0);
}

static void write_rank(const struct job *job, const gchar *folder, guint number)
{
	g_autofree gchar *host = g_strdup_printf("h%u", number / RANKS_A_HOST);
	struct run_builder_process process = {
		.host = host,
		.pid = 1000 + number,
		.rank = (gint)number,
		.world_size = (gint)job->n_ranks,
		.offset_s = 1700000000,
		.offset_ticks = number / RANKS_A_HOST * 7001, /* of nanoseconds: a wrong clock */
	};
	struct rank rank = { .job = job, .number = number };

	rank.run = run_builder_new(folder, &process);
	declare(&rank);
	run_builder_stream(rank.run, process.pid);
	for (guint step = 0; step < job->n_steps; step++)
		write_step(&rank, step);
	if (number + 1 == job->n_ranks)
		run_builder_slice(rank.run, rank.update, (guint64)(job->n_steps + 1) * STEP_NS,
				  G_MAXUINT64, 0);
	run_builder_end(rank.run);
}

int main(int argc, char **argv)
{
	struct job job;

	if (argc != 5)
		return 2;
	job = (struct job){ (guint)atoi(argv[2]), (guint)atoi(argv[3]), (guint)atoi(argv[4]) };
	for (guint rank = 0; rank < job.n_ranks; rank++)
		write_rank(&job, argv[1], rank);
	return 0;
}
