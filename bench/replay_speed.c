/* replay_speed: nodes a second of a replay, and how long it takes to try changes, on made-up jobs
 * (tests/support/job_graph.h).
 *
 *   1. 8 ranks with 50,000 operations each and an all-reduce every 250, waited for 200 later:
 *        ordered    one worker a rank, one group: no resource is shared
 *        links      two workers a rank, so transfers share the links
 *        cores      the same, and the 8 ranks have 6 cores
 *        overlap    as links, and moving bytes takes a fifth of what a rank computes
 *        all        links, cores and overlap
 *        waits      as overlap, and transfers wait for cores while ranks compute; with 6 cores, too (all 6)
 *   2. 1000 changes of a step of 8 ranks with 10,000 operations each and 400 gradients, about what
 *      BERT-large is: operations of all ranks twice as fast, one kind at a time, and buckets of 1000 sizes.
 *   3. 1024 ranks with 10,000 operations each, made from two: copies come to all collectives together, so
 *      that only the two are played; and all of them, each by itself, for what that takes.
 *
 * An argument (plays, simgrid, changes, ranks) asks for that part alone. Medians of some rounds, with the fastest and slowest. Making and freezing the graph is not in
 * the first, and stands beside. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tacho/replay.h>

#include "base/worker_pool.h"
#include "graph/graph_unfold.h"
#include "job_graph.h"
#include "replay/replay_trial.h"
#ifdef HAVE_SIMGRID
#include "replay_simgrid.h"
#endif

#define N_ROUNDS  15
#define N_CHANGES 1000
/* Of a segment: a collective of 8 ranks has 28 of them, so an eighth of its time more. */
#define CORE_WAIT_NS 13000

static const struct job_shape large = {
	.n_ranks = 8,
	.ranks_per_host = 8,
	.n_ops = 50000,
	.n_steps = 10,
	.op_ns = 20000,
	.ops_per_collective = 250,
	.ops_to_wait = 200,
	.n_workers = 1,
	.transfer_ns = 3000000,
	.seed = 1,
};

static const struct job_shape bert = {
	.n_ranks = 8,
	.ranks_per_host = 1,
	.n_ops = 10000,
	.n_steps = 1,
	.op_ns = 20000,
	.ops_per_collective = 250,
	.ops_to_wait = 200,
	.gradients_per_collective = 10,
	.gradient_bytes = 3300000,
	.n_workers = 2,
	.transfer_ns = 3000000,
	.seed = 1,
};

static gint compare_times(const void *a, const void *b)
{
	gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static gint64 now_us(void)
{
	return g_get_monotonic_time();
}

static TachoGraph *make_frozen(TachoTimeline *timeline, const struct job_shape *shape,
			       gint64 *ret_freeze_us)
{
	TachoGraph *graph = job_graph_new(timeline, shape);
	g_autoptr(GError) error = NULL;
	gint64 begin_us = now_us();

	if (!graph_freeze(graph, &error)) {
		fprintf(stderr, "cannot freeze: %s\n", error->message);
		exit(EXIT_FAILURE);
	}
	*ret_freeze_us = now_us() - begin_us;
	return graph;
}

/* --- nodes a second --------------------------------------------------------------------------- */

static void measure(const gchar *what, guint32 n_workers, guint32 n_cores, gdouble taken_share,
		    gdouble core_wait_ns)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = large;
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;
	gint64 times_us[N_ROUNDS], freeze_us;
	gdouble n;

	shape.n_workers = n_workers;
	shape.n_cores = n_cores;
	shape.taken_share = taken_share;
	shape.core_wait_ns = core_wait_ns;
	graph = make_frozen(timeline, &shape, &freeze_us);
	for (guint i = 0; i < N_ROUNDS; i++) {
		gint64 begin_us = now_us();
		g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);

		if (!replay) {
			fprintf(stderr, "%s: %s\n", what, error->message);
			exit(EXIT_FAILURE);
		}
		times_us[i] = MAX(now_us() - begin_us, 1);
	}
	qsort(times_us, N_ROUNDS, sizeof(*times_us), compare_times);
	n = tacho_graph_n_nodes(graph);
	printf("%-8s %10.0f %10.2f %10.1f %8.1f %8.1f %10.2f\n", what, n,
	       (gdouble)times_us[N_ROUNDS / 2] / 1e3, n / (gdouble)times_us[N_ROUNDS / 2],
	       n / (gdouble)times_us[N_ROUNDS - 1], n / (gdouble)times_us[0],
	       (gdouble)freeze_us / 1e3);
}

static void measure_simgrid(void)
{
#ifdef HAVE_SIMGRID
	struct job_shape shape = large;

	printf("\n%-8s %10s %14s %10s %14s\n", "", "M nodes/s", "SimGrid's", "times as fast",
	       "end differs, %");
	replay_beside_simgrid("ordered", &shape);
	shape.n_workers = 2;
	replay_beside_simgrid("links", &shape);
	shape.n_cores = 6;
	replay_beside_simgrid("cores", &shape);
#else
	printf("\nSimGrid is not installed (libsimgrid-dev), so it is not beside this.\n");
#endif
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Change i makes the operations number i, i + 1000, i + 2000 ... of each rank twice as fast. */
static GArray *edits_of(const TachoGraph *graph, guint change)
{
	GArray *edits = g_array_new(FALSE, FALSE, sizeof(struct trial_edit));
	g_autofree guint32 *n_ops = g_new0(guint32, graph->lanes->len);

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		struct trial_edit edit = { .node = i, .duration_ns = node->duration_ns / 2 };

		if (node->kind == TACHO_NODE_OP && n_ops[node->lane]++ % N_CHANGES == change)
			g_array_append_val(edits, edit);
	}
	return edits;
}

static void print_changes(const gchar *what, gint64 time_us, gdouble least_ns)
{
	printf("%-34s %10.2f s %10.1f changes/s   (best step %.3f ms)\n", what,
	       (gdouble)time_us / 1e6, N_CHANGES * 1e6 / (gdouble)time_us, least_ns / 1e6);
}

static void measure_faster_ops(const gchar *what, const struct job_shape *shape)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	gint64 begin_us;
	g_autoptr(TachoGraph) graph = make_frozen(timeline, shape, &begin_us);
	struct trial_change *changes = g_new0(struct trial_change, N_CHANGES);
	GArray **edits = g_new(GArray *, N_CHANGES);
	gdouble least_ns = INFINITY;
	struct trial_base *base;

	for (guint i = 0; i < N_CHANGES; i++) {
		edits[i] = edits_of(graph, i);
		changes[i].edits = (struct trial_edit *)edits[i]->data;
		changes[i].n_edits = edits[i]->len;
	}
	begin_us = now_us();
	base = trial_base_new(graph, NULL);
	replay_trials_run(base, changes, N_CHANGES);
	for (guint i = 0; i < N_CHANGES; i++)
		least_ns = MIN(least_ns, changes[i].step_ns);
	print_changes(what, now_us() - begin_us, least_ns);
	for (guint i = 0; i < N_CHANGES; i++)
		g_array_unref(edits[i]);
	trial_base_free(base);
	g_free(edits);
	g_free(changes);
}

struct bucket_changes {
	const TachoGraph *graph;
	gdouble *step_ns;
};

/* Another order of work: the whole graph is copied, changed, frozen and played. */
static void try_buckets(guint index, gpointer data)
{
	struct bucket_changes *changes = data;
	g_autoptr(TachoGraph) graph = graph_copy(changes->graph);
	g_autofree gchar *what_if = g_strdup_printf("bucket_mb=%g", 1 + 0.1 * index);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	g_autoptr(GArray) steps = NULL;

	if (tacho_graph_what_if(graph, what_if, &error))
		replay = tacho_replay_run(graph, &error);
	if (!replay) {
		fprintf(stderr, "%s\n", error->message);
		exit(EXIT_FAILURE);
	}
	steps = replay_step_times(replay);
	changes->step_ns[index] = (gdouble)g_array_index(steps, gint64, 0);
}

static void measure_buckets(const gchar *what, const struct job_shape *shape)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	gint64 begin_us;
	g_autoptr(TachoGraph) graph = make_frozen(timeline, shape, &begin_us);
	g_autofree gdouble *step_ns = g_new0(gdouble, N_CHANGES);
	struct bucket_changes changes = { graph, step_ns };
	gdouble least_ns = INFINITY;

	begin_us = now_us();
	worker_pool_run(N_CHANGES, try_buckets, &changes);
	for (guint i = 0; i < N_CHANGES; i++)
		least_ns = MIN(least_ns, step_ns[i]);
	print_changes(what, now_us() - begin_us, least_ns);
}

/* --- many ranks ------------------------------------------------------------------------------- */

static void fail(const GError *error)
{
	fprintf(stderr, "%s\n", error->message);
	exit(EXIT_FAILURE);
}

static gdouble first_step_ms(const TachoReplay *replay)
{
	g_autoptr(GArray) steps = replay_step_times(replay);

	return (gdouble)g_array_index(steps, gint64, 0) / 1e6;
}

/* In this process since it began, or since it was last asked to be counted anew. */
static gdouble peak_memory_mb(void)
{
	g_autofree gchar *status = NULL;
	const gchar *line;

	if (!g_file_get_contents("/proc/self/status", &status, NULL, NULL))
		return NAN;
	line = strstr(status, "VmHWM:");
	return line ? (gdouble)g_ascii_strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024 / 1e6
		    : NAN;
}

/* Each rank by itself, in a process of its own, of which the memory is known. */
static void play_unfolded(const gchar *what, const TachoGraph *graph)
{
	g_autoptr(GError) error = NULL;
	gint64 begin_us = now_us(), unfolded_us;
	g_autoptr(TachoGraph) unfolded = graph_unfold(graph, &error);
	g_autoptr(TachoReplay) replay = NULL;

	if (!unfolded)
		fail(error);
	unfolded_us = now_us();
	replay = tacho_replay_run(unfolded, &error);
	if (!replay)
		fail(error);
	printf("%-24s %10u %10.3f %10.3f %10.3f %8.0f   (step %.3f ms)\n", what,
	       tacho_graph_n_nodes(unfolded), (gdouble)(unfolded_us - begin_us) / 1e6,
	       (gdouble)(now_us() - unfolded_us) / 1e6, (gdouble)(now_us() - begin_us) / 1e6,
	       peak_memory_mb(), first_step_ms(replay));
}

static void measure_unfolded(const gchar *what, const TachoGraph *graph)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		play_unfolded(what, graph);
		fflush(stdout);
		_exit(EXIT_SUCCESS);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		perror("bench_replay");
}

static void measure_ranks(const gchar *what, guint32 n_workers, gdouble taken_share)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct job_shape shape = bert;
	gint64 begin_us;
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;

	shape.n_ranks = 2;
	shape.n_workers = n_workers;
	shape.taken_share = taken_share;
	graph = make_frozen(timeline, &shape, &begin_us);
	begin_us = now_us();
	if (tacho_graph_what_if(graph, "ranks=1024", &error))
		replay = tacho_replay_run(graph, &error);
	if (!replay)
		fail(error);
	printf("%-24s %10u %10s %10s %10.5f %8s   (step %.3f ms)\n", "two played",
	       tacho_graph_n_nodes(graph), "", "", (gdouble)(now_us() - begin_us) / 1e6, "",
	       first_step_ms(replay));
	measure_unfolded(what, graph);
}

static void measure_plays(void)
{
	printf("%-8s %10s %10s %10s %8s %8s %10s\n", "", "nodes", "ms", "M nodes/s", "slowest",
	       "fastest", "freeze ms");
	measure("ordered", 1, 0, 0, 0);
	measure("links", 2, 0, 0, 0);
	measure("cores", 2, 6, 0, 0);
	measure("overlap", 2, 0, 0.2, 0);
	measure("all", 2, 6, 0.2, 0);
	measure("waits", 2, 0, 0.2, CORE_WAIT_NS);
	measure("all 6", 2, 6, 0.2, CORE_WAIT_NS);
}

static void measure_changes(void)
{
	struct job_shape one_worker = bert, overlap = bert;

	printf("\n%u changes of a step of 8 ranks with 10,000 operations, on %u cores:\n",
	       N_CHANGES, worker_pool_n_workers());
	one_worker.n_workers = 1;
	overlap.taken_share = 0.2;
	measure_faster_ops("operations faster, ordered", &one_worker);
	measure_faster_ops("the same, links shared", &bert);
	measure_faster_ops("the same, links and overlap", &overlap);
	measure_buckets("bucket sizes, links shared", &bert);
	measure_buckets("the same, links and overlap", &overlap);
}

static void measure_many_ranks(void)
{
	printf("\n1024 ranks with 10,000 operations, from 2, on %u cores:\n%-24s %10s %10s %10s "
	       "%10s %8s\n",
	       worker_pool_n_workers(), "", "nodes", "make, s", "play, s", "in all, s", "MB");
	measure_ranks("all, in order", 1, 0);
	measure_ranks("all, links shared", 2, 0);
	measure_ranks("all, links and overlap", 2, 0.2);
}

int main(int argc, char **argv)
{
	static const struct {
		const gchar *name;
		void (*measure)(void);
	} parts[] = {
		{ "plays", measure_plays },
		{ "simgrid", measure_simgrid },
		{ "changes", measure_changes },
		{ "ranks", measure_many_ranks },
	};

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
		if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
			parts[i].measure();
	return EXIT_SUCCESS;
}
