/* graph_build: from a correlated timeline to the graph of some of its steps.
 *
 * Each rank's main process is looked at from the begin of the first step chosen to the end of the last. build() calls
 * in turn what graph_builder.h lists; each of these says what it needs. */
#include "graph/graph_builder.h"

#include "trace/run_share.h"

guint32 builder_add_lane(struct graph_builder *builder, guint32 rank_index, guint32 track,
			 guint32 name, gboolean is_main)
{
	struct graph_lane lane = {
		.rank_index = rank_index, .track = track, .name = name, .is_main = is_main
	};

	if (rank_index != TACHO_NONE)
		lane.host = tacho_timeline_rank(builder->timeline, rank_index)->host;
	g_array_append_val(builder->graph->lanes, lane);
	return builder->graph->lanes->len - 1;
}

/* One note for all problems of the kind, which names the first. */
static void note_problems(struct graph_builder *builder, TachoProblemKind kind,
			  const gchar *meaning)
{
	const GArray *problems = builder->timeline->problems;
	const TachoProblem *first = tacho_timeline_find_problem(builder->timeline, kind);
	g_autofree gchar *others = NULL;
	guint n = 0;

	for (guint i = 0; i < problems->len; i++)
		n += g_array_index(problems, TachoProblem, i).kind == kind;
	if (n > 1)
		others = g_strdup_printf(" (and %u more)", n - 1);
	if (first)
		graph_note(builder->graph, "%s: %s%s", meaning, first->where, others ? others : "");
}

/* The trace has an order, and no times. */
static void mark_guessed(TachoGraph *graph)
{
	for (guint32 i = 0; i < graph->nodes->len; i++)
		graph_node_at(graph, i)->origin = ORIGIN_GUESSED;
	for (guint32 i = 0; i < graph->transfers->len; i++)
		graph_transfer_at(graph, i)->fixed_origin =
			graph_transfer_at(graph, i)->work_origin = ORIGIN_GUESSED;
}

static void note_what_is_left_out(struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	guint n_apart = 0;

	if (tacho_timeline_find_problem(timeline, TACHO_PROBLEM_NO_TIMES)) {
		graph_note(builder->graph, "the trace has the order of the operations but not "
					   "their times, so the times here mean nothing");
		mark_guessed(builder->graph);
	}
	note_problems(builder, TACHO_PROBLEM_TRUNCATED_FILE, "a file of the recording is cut off");
	note_problems(builder, TACHO_PROBLEM_LOST_RECORDS, "records were lost");
	for (guint i = 0; i < timeline->clocks->len; i++)
		n_apart +=
			g_array_index(timeline->clocks, TachoClock, i).state == TACHO_CLOCK_APART;
	if (n_apart > 0)
		graph_note(builder->graph,
			   "%u clocks could not be aligned with the clock of the first rank; their "
			   "times are used as recorded",
			   n_apart);
	if (timeline->expected_ranks > (gint64)builder->n_ranks)
		graph_note(builder->graph, "only %u of %d ranks were recorded", builder->n_ranks,
			   timeline->expected_ranks);
}

/* What each rank did by itself; what ranks do with each other is not timed yet. */
static gboolean build_ranks(struct graph_builder *builder, gint64 first_step, gint64 last_step,
			    GError **error)
{
	if (builder->n_ranks == 0) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "the run has no ranks");
		return FALSE;
	}
	builder_find_launches(builder);
	if (!builder_choose_steps(builder, first_step, last_step, error) ||
	    !builder_add_threads(builder, error))
		return FALSE;
	builder_add_work(builder);
	builder_add_collectives(builder);
	builder_cut_threads(builder);
	builder_find_waits(builder);
	builder_find_device_waits(builder);
	builder_add_thread_nodes(builder);
	builder_add_gradients(builder);
	return TRUE;
}

static gboolean build_whole(struct graph_builder *builder, GError **error)
{
	builder_time_collectives(builder);
	builder_add_collective_nodes(builder);
	builder_add_device_nodes(builder);
	builder_mark_transfers(builder);
	builder_measure_wires(builder);
	builder_measure_latency(builder);
	builder_cost_transfers(builder, 0, 0);
	if (builder->timeline->hops->len > 0) {
		builder_unfold_collectives(builder);
	} else {
		builder_unfold_messages(builder);
		builder_take_contention(builder);
	}
	note_what_is_left_out(builder);
	graph_renumber(builder->graph);
	return graph_freeze(builder->graph, error);
}

/* Of several processes, the first makes the whole of the parts, and the others hear whether it could. */
static gboolean build_together(struct graph_builder *builder, GError **error)
{
	TachoPeers *peers = run_share_borrow_peers(builder->timeline);
	g_autoptr(GError) cause = NULL;
	guint64 n_built = 0;

	if (!builder_share_parts(builder, error))
		return FALSE;
	if (tacho_peers_index(peers) == 0)
		n_built = build_whole(builder, &cause);
	run_share_sum(builder->timeline, "graphs", &n_built, 1);
	if (tacho_peers_failure(peers))
		return run_share_fail(builder->timeline, "", error);
	if (cause)
		g_propagate_error(error, g_steal_pointer(&cause));
	else if (!n_built)
		g_set_error_literal(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
				    "the first process cannot put the graph together");
	return n_built > 0;
}

static gboolean build(struct graph_builder *builder, gint64 first_step, gint64 last_step,
		      GError **error)
{
	if (!build_ranks(builder, first_step, last_step, error))
		return FALSE;
	return run_share_borrow_peers(builder->timeline) ? build_together(builder, error)
							 : build_whole(builder, error);
}

static void builder_init(struct graph_builder *builder, TachoGraph *graph)
{
	TachoTimeline *timeline = graph->timeline;

	*builder = (struct graph_builder){ .timeline = timeline, .graph = graph };
	builder->n_ranks = timeline->ranks->len;
	builder->windows = g_new0(struct build_window, MAX(builder->n_ranks, 1u));
	for (guint32 i = 0; i < builder->n_ranks; i++)
		builder->windows[i].steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));
	builder->threads = g_array_new(FALSE, FALSE, sizeof(struct build_thread));
	builder->thread_of = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	builder->members = g_array_new(FALSE, FALSE, sizeof(struct build_member));
	builder->launches = g_new0(guint8, MAX(timeline->slices.n, 1u));
	builder->streams = g_array_new(FALSE, FALSE, sizeof(struct build_stream));
	builder->work = g_array_new(FALSE, FALSE, sizeof(struct build_work));
	builder->work_of = g_hash_table_new(NULL, NULL);
	builder->wire_ns_per_byte = g_new0(gdouble, MAX(builder->n_ranks, 1u));
	builder->events = g_array_new(FALSE, FALSE, sizeof(struct build_event));
	builder->syncs = g_array_new(FALSE, FALSE, sizeof(struct build_sync));
}

static void release_thread(struct build_thread *thread)
{
	g_array_unref(thread->cuts_ns);
	for (guint i = 0; i < thread->passes->len; i++) {
		g_array_unref(g_array_index(thread->passes, struct build_pass, i).gradients);
		g_array_unref(g_array_index(thread->passes, struct build_pass, i).copies);
	}
	g_array_unref(thread->passes);
	g_clear_pointer(&thread->segments, g_array_unref);
}

static void builder_release(struct graph_builder *builder)
{
	for (guint32 i = 0; i < builder->n_ranks; i++)
		g_array_unref(builder->windows[i].steps);
	for (guint32 i = 0; i < builder->threads->len; i++)
		release_thread(build_thread_at(builder, i));
	g_free(builder->windows);
	g_array_unref(builder->threads);
	g_hash_table_unref(builder->thread_of);
	g_array_unref(builder->members);
	g_free(builder->launches);
	g_array_unref(builder->streams);
	g_array_unref(builder->work);
	g_hash_table_unref(builder->work_of);
	g_free(builder->wire_ns_per_byte);
	g_array_unref(builder->events);
	g_array_unref(builder->syncs);
	g_clear_pointer(&builder->told_kinds, g_array_unref);
}

TachoGraph *tacho_graph_build(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
			      GError **error)
{
	g_autoptr(TachoGraph) graph = graph_new(timeline);
	struct graph_builder builder;
	gboolean is_built;

	builder_init(&builder, graph);
	is_built = build(&builder, first_step, last_step, error);
	builder_release(&builder);
	return is_built ? g_steal_pointer(&graph) : NULL;
}
