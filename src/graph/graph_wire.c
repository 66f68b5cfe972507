/* graph_wire: how fast bytes came over the wire, as receives tell.
 *
 * Who receives is woken when bytes have come, takes what is there, and waits again. So of a run of
 * receives on one connection, the calls after the first took what had come since the one before:
 * their bytes, over the time from the end of the first call to the end of the last, is the pace of
 * the wire, whatever came before or between the runs. A small message (a header) begins a new run.
 *
 * Other connections share the wire, the receiver's or the sender's: a root that gathers, or one that
 * scatters. So what counts are all bytes that came to the receiver in that time, or all that came to
 * anyone from the sender, whichever are more.
 *
 * A receiver that comes late finds more, and for once too fast a wire; one that does not keep up is
 * the wire, as far as it can tell. Neither moves the median over the runs, each counting by its
 * bytes. */
#include "base/partition_point.h"
#include "base/weighted_median.h"
#include "graph/graph_builder.h"

/* Source: fitted by validate/wire_pace.py on the kit's recordings, whose links' rates were measured: with these, half
 * or twice of each, the paces of the tuned half are off by 0.3 to 0.4 % in the mean and 0.9 % at most (but for 0.9 and 9.7 % with runs
 * of three calls), those of the half set aside by 0.5 to 0.8 % and 2.3 %. */
#define MIN_CALL_BYTES 4096 /* less is a header: it begins a new run */
#define MIN_CALLS      6    /* of a run: fewer came in lumps, not as the wire brought them */
#define MIN_RUNS       8    /* for a pace to be believed */

/* Receives on one connection with no header between them. */
struct run {
	gint64 key;	/* rank << 32 | descriptor */
	guint32 sender; /* index of a rank; TACHO_NONE: not known */
	guint64 n_calls;
	gint64 first_end_ns, last_end_ns;
	guint64 bytes; /* after the first call */
};

/* Bytes that came, by when the call that took them was over. */
struct come {
	gint64 end_ns;
	guint64 bytes;
};

struct wires {
	GArray **to,
		**from; /* of each rank: struct come, all that came to it, and from it; sums, once they are sorted */
	GArray **paces; /* of each rank: struct weighted */
};

static gint compare_come(gconstpointer a, gconstpointer b)
{
	const struct come *x = a, *y = b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void sum_up(GArray *come)
{
	guint64 bytes = 0;

	g_array_sort(come, compare_come);
	for (guint i = 0; i < come->len; i++) {
		struct come *row = &g_array_index(come, struct come, i);

		row->bytes = bytes += MIN(row->bytes, G_MAXUINT64 - bytes);
	}
}

/* What had come by then. */
static guint64 come_by(const GArray *come, gint64 time_ns)
{
	const struct come *last = LAST_BEFORE(come, struct come, row, row->end_ns <= time_ns);

	return last ? last->bytes : 0;
}

static guint64 come_between(const GArray *come, gint64 from_ns, gint64 to_ns)
{
	return come_by(come, to_ns) - come_by(come, from_ns);
}

/* The pace in the middle of the bytes, ns a byte; 0: there are too few runs. */
static gdouble median_pace(GArray *paces)
{
	if (paces->len < MIN_RUNS)
		return 0;
	return weighted_median((struct weighted *)(void *)paces->data, paces->len);
}

static void end_run(struct run *run, const struct wires *wires)
{
	struct weighted pace = { 0, (gdouble)run->bytes };

	if (run->n_calls >= MIN_CALLS && run->last_end_ns > run->first_end_ns) {
		guint64 bytes = MAX(run->bytes, come_between(wires->to[run->key >> 32],
							     run->first_end_ns, run->last_end_ns));

		if (run->sender != TACHO_NONE)
			bytes = MAX(bytes, come_between(wires->from[run->sender], run->first_end_ns,
							run->last_end_ns));
		pace.value = (gdouble)(run->last_end_ns - run->first_end_ns) / (gdouble)bytes;
		g_array_append_val(wires->paces[run->key >> 32], pace);
	}
	run->n_calls = 0;
	run->bytes = 0;
}

static void take_call(struct run *run, guint64 bytes, gint64 end_ns, const struct wires *wires)
{
	if (bytes < MIN_CALL_BYTES) {
		end_run(run, wires);
		return;
	}
	if (bytes > G_MAXUINT64 - run->bytes)
		end_run(run, wires);
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

/* The index of the rank that sent it, or TACHO_NONE. */
static guint32 sending_rank(const struct graph_builder *builder, guint32 slice)
{
	const TachoMessage *message = tacho_slice_borrow_message(builder->timeline, slice);
	guint32 rank = TACHO_NONE;

	if (message && message->peer_process < builder->timeline->processes->len)
		rank = g_array_index(builder->timeline->processes, TachoProcess,
				     message->peer_process)
			       .rank_index;
	return rank < builder->n_ranks ? rank : TACHO_NONE;
}

static void collect_come(const struct graph_builder *builder, const struct wires *wires)
{
	for (guint32 i = 0; i < builder->timeline->slices.n; i++) {
		TachoMessageArgs args;
		guint32 rank = receiving_rank(builder, i, &args);
		guint32 sender = rank == TACHO_NONE ? TACHO_NONE : sending_rank(builder, i);
		struct come come = { 0, 0 };

		if (rank == TACHO_NONE)
			continue;
		come = (struct come){ tacho_slice_end_ns(builder->timeline, i), args.bytes };
		g_array_append_val(wires->to[rank], come);
		if (sender != TACHO_NONE)
			g_array_append_val(wires->from[sender], come);
	}
	for (guint32 rank = 0; rank < builder->n_ranks; rank++) {
		sum_up(wires->to[rank]);
		sum_up(wires->from[rank]);
	}
}

/* A connection is read by one thread, whose slices stand in the order of time. */
static void collect_paces(const struct graph_builder *builder, const struct wires *wires)
{
	g_autoptr(GHashTable) runs =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	GHashTableIter iter;
	gpointer run;

	for (guint32 i = 0; i < builder->timeline->slices.n; i++) {
		TachoMessageArgs args;
		guint32 rank = receiving_rank(builder, i, &args);
		struct run *of_connection;

		if (rank == TACHO_NONE)
			continue;
		of_connection = take_run(runs, (gint64)((guint64)rank << 32 | args.fd));
		of_connection->sender = sending_rank(builder, i);
		take_call(of_connection, args.bytes, tacho_slice_end_ns(builder->timeline, i),
			  wires);
	}
	g_hash_table_iter_init(&iter, runs);
	while (g_hash_table_iter_next(&iter, NULL, &run))
		end_run(run, wires);
}

static GArray **arrays_new(guint32 n, guint row_bytes)
{
	GArray **arrays = g_new0(GArray *, MAX(n, 1u));

	for (guint32 i = 0; i < n; i++)
		arrays[i] = g_array_new(FALSE, FALSE, row_bytes);
	return arrays;
}

static void arrays_free(GArray **arrays, guint32 n)
{
	for (guint32 i = 0; i < n; i++)
		g_array_unref(arrays[i]);
	g_free(arrays);
}

/* A group is as slow as the slowest of its ranks' wires. */
void builder_measure_wires(struct graph_builder *builder)
{
	TachoGraph *graph = builder->graph;
	guint32 n_ranks = builder->n_ranks;
	struct wires wires = {
		.to = arrays_new(n_ranks, sizeof(struct come)),
		.from = arrays_new(n_ranks, sizeof(struct come)),
		.paces = arrays_new(n_ranks, sizeof(struct weighted)),
	};

	collect_come(builder, &wires);
	collect_paces(builder, &wires);
	for (guint32 rank = 0; rank < n_ranks; rank++)
		builder->wire_ns_per_byte[rank] = median_pace(wires.paces[rank]);
	arrays_free(wires.to, n_ranks);
	arrays_free(wires.from, n_ranks);
	arrays_free(wires.paces, n_ranks);
	for (guint32 i = 0; i < builder->members->len; i++) {
		const struct build_member *member = build_member_at(builder, i);
		struct graph_group *group =
			graph_group_at(graph, graph_transfer_at(graph, member->transfer)->group);

		group->wire_ns_per_byte =
			MAX(group->wire_ns_per_byte, builder->wire_ns_per_byte[member->rank_index]);
	}
}
