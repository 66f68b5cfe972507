/* graph_wire: how fast bytes came over the wire, as receives tell.
 *
 * Who receives is woken when bytes have come, takes what is there, and waits again.
 *
 * (1) So while bytes wait to come, from one receive to the next, on whatever connection, it takes what the wire takes for the
 *     bytes of the next. When none wait, or a receiver came late, it is anything. The pace is where most of the bytes are
 *     together.
 * (2) Where they are nowhere together, receives come in lumps, and runs tell: of a run of receives on one connection, the calls
 *     after the first took what had come since the one before: their bytes, over the time from the end of the first call to
 *     the end of the last, is the pace of the wire, whatever came before or between the runs. A small message (a header)
 *     begins a new run. Other connections share the wire, the receiver's or the sender's: a root that gathers, or one that
 *     scatters. So what counts are all bytes that came to the receiver in that time, or all that came to anyone from the
 *     sender, whichever are more. A receiver that comes late finds more, and for once too fast a wire; one that does not keep
 *     up is the wire, as far as it can tell. Neither moves the median over the runs, each counting by its bytes. */
#include "base/for_each.h"
#include "base/partition_point.h"
#include "base/weighted_median.h"
#include "graph/graph_builder.h"
#include "trace/rank_table.h"

/* Source: a rule: fewer calls came in lumps, and a few runs may be chance. Chosen before, and held against the measured rates of the
 * kit's links by validate/wire_pace.py: off by 0.3 % in the mean on the tuned half, 0.7 % on the one set aside. The fit to the tuned
 * half alone (2048, 2, 1) is no better there, and 0.9 % off on the other. If wrong, the pace is of lumps, or none is known, and a
 * line is fitted to whole collectives. */
#define MIN_CALL_BYTES 4096 /* less is a header: it begins a new run */
#define MIN_CALLS      6    /* of a run: fewer came in lumps, not as the wire brought them */
#define MIN_RUNS       8    /* for a pace to be believed */
/* Source: a rule: of jitter of a twentieth, and a fifth of the bytes. The paces of the kinds of validate/kinds.ini are within
 * 1.3 % of what was measured of their links (validate/kit/measured.json). If wrong, a processor that does not keep up is taken
 * for the wire, or runs decide. */
#define MIN_STEPS    64	  /* from one receive to the next, for the same */
#define TOGETHER     1.05 /* paces that differ by less are one, but for jitter */
#define MIN_TOGETHER 0.2  /* of the bytes, at one pace: with less, none is the wire's */

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
	FOR_EACH(struct come, row, come)
		row->bytes = bytes += MIN(row->bytes, G_MAXUINT64 - bytes);
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

static gint compare_paces(gconstpointer a, gconstpointer b)
{
	const struct weighted *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

static guint64 call_bytes(const GArray *come, guint i)
{
	guint64 before = i > 0 ? g_array_index(come, struct come, i - 1).bytes : 0;

	return g_array_index(come, struct come, i).bytes - before;
}

/* What each receive of more than a header took after the one before it, ns a byte, by its bytes. */
static GArray *collect_steps(const GArray *come)
{
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(struct weighted));
	const struct come *before = NULL;

	for (guint i = 0; i < come->len; i++) {
		const struct come *row = &g_array_index(come, struct come, i);
		struct weighted step = { 0, (gdouble)call_bytes(come, i) };

		if (call_bytes(come, i) < MIN_CALL_BYTES)
			continue;
		if (before && row->end_ns > before->end_ns) {
			step.value = ((gdouble)row->end_ns - (gdouble)before->end_ns) / step.weight;
			g_array_append_val(steps, step);
		}
		before = row;
	}
	g_array_sort(steps, compare_paces);
	return steps;
}

/* The pace at which most bytes came, ns a byte; 0: there is none. */
static gdouble common_pace(const GArray *come)
{
	g_autoptr(GArray) steps = collect_steps(come);
	struct weighted *rows = (struct weighted *)(void *)steps->data;
	gdouble weight = 0, best = 0, all = 0;
	guint first = 0, best_first = 0, best_n = 0;

	for (guint i = 0; i < steps->len; i++) {
		weight += rows[i].weight;
		all += rows[i].weight;
		while (rows[first].value * TOGETHER < rows[i].value)
			weight -= rows[first++].weight;
		if (weight > best) {
			best = weight;
			best_first = first;
			best_n = i + 1 - first;
		}
	}
	if (steps->len < MIN_STEPS || best < MIN_TOGETHER * all)
		return 0;
	return weighted_median(rows + best_first, best_n);
}

/* The pace, ns a byte, of the bytes that came to a rank and of its runs; 0: not known. */
static gdouble wire_pace(const GArray *come, GArray *paces)
{
	gdouble pace = common_pace(come);

	return pace > 0 ? pace : median_pace(paces);
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

/* What a rank received in the steps. */
struct receive {
	guint32 rank, sender; /* indexes; TACHO_NONE: not known */
	guint32 fd;
	guint64 bytes;
	gint64 end_ns;
};

static void add_receive(GArray *receives, const struct graph_builder *builder, guint32 slice)
{
	const TachoTimeline *timeline = builder->timeline;
	const TachoMessage *message = tacho_slice_borrow_message(timeline, slice);
	const TachoProcess *process;
	TachoMessageArgs args;
	struct receive receive;

	if (timeline->slices.kind[slice] != TACHO_SLICE_MESSAGE ||
	    (timeline->slices.flags[slice] & TACHO_SLICE_OPEN) ||
	    !tacho_slice_message(timeline, slice, &args) || !args.is_receive)
		return;
	process = tacho_slice_process(timeline, slice);
	if (!process->is_main || process->rank_index >= builder->n_ranks ||
	    timeline->slices.start_ns[slice] < builder->windows[process->rank_index].from_ns ||
	    timeline->slices.start_ns[slice] >= builder->windows[process->rank_index].to_ns)
		return;
	receive = (struct receive){ process->rank_index, TACHO_NONE, args.fd, args.bytes,
				    tacho_slice_end_ns(timeline, slice) };
	if (message)
		receive.sender = rank_index_of_process(timeline, message->peer_process);
	if (receive.sender >= builder->n_ranks)
		receive.sender = TACHO_NONE;
	g_array_append_val(receives, receive);
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

static void collect_come(const GArray *receives, const struct wires *wires, guint32 n_ranks)
{
	FOR_EACH(const struct receive, receive, receives) {
		struct come come = { receive->end_ns, receive->bytes };

		g_array_append_val(wires->to[receive->rank], come);
		if (receive->sender != TACHO_NONE)
			g_array_append_val(wires->from[receive->sender], come);
	}
	for (guint32 rank = 0; rank < n_ranks; rank++) {
		sum_up(wires->to[rank]);
		sum_up(wires->from[rank]);
	}
}

/* A connection is read by one thread, whose slices stand in the order of time. */
static void collect_paces(const GArray *receives, const struct wires *wires)
{
	g_autoptr(GHashTable) runs =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);

	FOR_EACH(const struct receive, receive, receives) {
		struct run *run =
			take_run(runs, (gint64)((guint64)receive->rank << 32 | receive->fd));

		run->sender = receive->sender;
		take_call(run, receive->bytes, receive->end_ns, wires);
	}
	FOR_EACH_ENTRY(entry, runs)
		end_run(entry.value, wires);
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
	g_autoptr(GArray) receives = g_array_new(FALSE, FALSE, sizeof(struct receive));
	struct wires wires = {
		.to = arrays_new(n_ranks, sizeof(struct come)),
		.from = arrays_new(n_ranks, sizeof(struct come)),
		.paces = arrays_new(n_ranks, sizeof(struct weighted)),
	};

	for (guint32 i = 0; i < builder->timeline->slices.n; i++)
		add_receive(receives, builder, i);
	collect_come(receives, &wires, n_ranks);
	collect_paces(receives, &wires);
	for (guint32 rank = 0; rank < n_ranks; rank++)
		builder->wire_ns_per_byte[rank] = wire_pace(wires.to[rank], wires.paces[rank]);
	arrays_free(wires.to, n_ranks);
	arrays_free(wires.from, n_ranks);
	arrays_free(wires.paces, n_ranks);
	FOR_EACH(const struct build_member, member, builder->members) {
		struct graph_group *group =
			graph_group_at(graph, graph_transfer_at(graph, member->transfer)->group);

		group->wire_ns_per_byte =
			MAX(group->wire_ns_per_byte, builder->wire_ns_per_byte[member->rank_index]);
	}
}
