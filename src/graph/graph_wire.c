/* graph_wire: how fast bytes came over the wire, as receives tell.
 *
 * Who receives is woken when bytes have come, takes what is there, and waits again. So of a run of
 * receives on one connection, the calls after the first took what had come since the one before:
 * their bytes, over the time from the end of the first call to the end of the last, is the pace of
 * the wire, whatever came before or between the runs. A small message (a header) begins a new run.
 *
 * A receiver that comes late finds more, and for once too fast a wire; one that does not keep up is
 * the wire, as far as it can tell. Neither moves the median over the runs, each counting by its
 * bytes. */
#include "base/weighted_median.h"
#include "graph/graph_builder.h"

#define MIN_CALL_BYTES 4096 /* less is a header: it begins a new run */
#define MIN_CALLS      6    /* of a run: fewer came in lumps, not as the wire brought them */
#define MIN_RUNS       8    /* for a pace to be believed */

/* Receives on one connection with no header between them. */
struct run {
	gint64 key; /* rank << 32 | descriptor */
	guint64 n_calls;
	gint64 first_end_ns, last_end_ns;
	guint64 bytes; /* after the first call */
};

/* The pace in the middle of the bytes, ns a byte; 0: there are too few runs. */
static gdouble median_pace(GArray *paces)
{
	if (paces->len < MIN_RUNS)
		return 0;
	return weighted_median((struct weighted *)(void *)paces->data, paces->len);
}

static void end_run(struct run *run, GArray *paces)
{
	struct weighted pace = { 0, (gdouble)run->bytes };

	if (run->n_calls >= MIN_CALLS && run->last_end_ns > run->first_end_ns) {
		pace.value = (gdouble)(run->last_end_ns - run->first_end_ns) / pace.weight;
		g_array_append_val(paces, pace);
	}
	run->n_calls = 0;
	run->bytes = 0;
}

static void take_call(struct run *run, guint64 bytes, gint64 end_ns, GArray *paces)
{
	if (bytes < MIN_CALL_BYTES) {
		end_run(run, paces);
		return;
	}
	if (bytes > G_MAXUINT64 - run->bytes)
		end_run(run, paces);
	if (run->n_calls++ == 0)
		run->first_end_ns = end_ns;
	else
		run->bytes += bytes;
	run->last_end_ns = end_ns;
}

/* The rank that received the message; TACHO_NONE: none did, or not in the steps. */
static guint32 receiving_rank(const struct graph_builder *builder, guint32 slice,
			      TachoMessageArgs *ret_args)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoProcess *process;

	if (timeline->slices.kind[slice] != TACHO_SLICE_MESSAGE ||
	    (timeline->slices.flags[slice] & TACHO_SLICE_OPEN) ||
	    !tacho_slice_message(timeline, slice, ret_args) || !ret_args->is_receive)
		return TACHO_NONE;
	process = tacho_slice_process(timeline, slice);
	if (!process->is_main || process->rank_index >= builder->n_ranks ||
	    timeline->slices.start_ns[slice] < builder->windows[process->rank_index].from_ns ||
	    timeline->slices.start_ns[slice] >= builder->windows[process->rank_index].to_ns)
		return TACHO_NONE;
	return process->rank_index;
}

/* The run under way on the connection of this key, made when new. */
static struct run *take_run(GHashTable *runs, gint64 key)
{
	struct run *run = g_hash_table_lookup(runs, &key);

	if (!run) {
		run = g_new0(struct run, 1);
		run->key = key;
		g_hash_table_insert(runs, &run->key, run);
	}
	return run;
}

/* By rank. A connection is read by one thread, whose slices stand in the order of time. */
static void collect_paces(const struct graph_builder *builder, GArray *const *paces)
{
	g_autoptr(GHashTable) runs =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	GHashTableIter iter;
	gpointer run;

	for (guint32 i = 0; i < builder->timeline->slices.n; i++) {
		TachoMessageArgs args;
		guint32 rank = receiving_rank(builder, i, &args);

		if (rank != TACHO_NONE)
			take_call(take_run(runs, (gint64)((guint64)rank << 32 | args.fd)),
				  args.bytes, tacho_slice_end_ns(builder->timeline, i),
				  paces[rank]);
	}
	g_hash_table_iter_init(&iter, runs);
	while (g_hash_table_iter_next(&iter, NULL, &run))
		end_run(run, paces[((struct run *)run)->key >> 32]);
}

/* A group is as slow as the slowest of its ranks' wires. */
void builder_measure_wires(struct graph_builder *builder)
{
	TachoGraph *graph = builder->graph;
	guint32 n_ranks = builder->n_ranks;
	g_autofree GArray **paces = g_new0(GArray *, MAX(n_ranks, 1u));
	g_autofree gdouble *ns_per_byte = g_new0(gdouble, MAX(n_ranks, 1u));

	for (guint32 rank = 0; rank < n_ranks; rank++)
		paces[rank] = g_array_new(FALSE, FALSE, sizeof(struct weighted));
	collect_paces(builder, paces);
	for (guint32 rank = 0; rank < n_ranks; rank++) {
		ns_per_byte[rank] = median_pace(paces[rank]);
		g_array_unref(paces[rank]);
	}
	for (guint32 i = 0; i < builder->members->len; i++) {
		const struct build_member *member = build_member_at(builder, i);
		struct graph_group *group =
			graph_group_at(graph, graph_transfer_at(graph, member->transfer)->group);

		group->wire_ns_per_byte =
			MAX(group->wire_ns_per_byte, ns_per_byte[member->rank_index]);
	}
}
