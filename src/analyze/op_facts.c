/* op_facts: device time and memory by operation.
 *
 * A kernel's time goes to the innermost operation around its launch, but that of a graph's work to nobody's run
 * (graph_replay); a block of memory to the
 * innermost operation around its allocation. Nothing is counted twice: sums over nested operations are
 * the views' to make. Only operations that used a device or memory have a row, so a timeline of many
 * slices costs no more than its kernels and allocations. */
#include "analyze/op_facts.h"

#include <math.h>

#include "analyze/device_work.h"
#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"

static void add_devices(GArray *facts, const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		struct op_fact fact = { .device_ns = (gdouble)timeline->slices.duration_ns[i] };

		if (timeline->slices.launch[i] == TACHO_NONE || !is_device_work(timeline, i) ||
		    tacho_slice_borrow_graph_work(timeline, i))
			continue;
		fact.op = innermost_op(timeline, timeline->slices.launch[i]);
		if (fact.op != TACHO_NONE) {
			const TachoTrack *track =
				tacho_timeline_track(timeline, timeline->slices.track[i]);

			fact.devices = G_GUINT64_CONSTANT(1) << CLAMP(track->device, 0, 63);
			g_array_append_val(facts, fact);
		}
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

struct change {
	guint32 op;
	gint64 time_ns;
	gint64 bytes; /* < 0: given back */
};

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct change *x = a, *y = b;

	return ORDER(x->op, y->op) ?: ORDER(x->time_ns, y->time_ns) ?: ORDER(x->bytes, y->bytes);
}

/* What the op of each block got and gave back until it ended. */
static GArray *collect_changes(const TachoTimeline *timeline)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct change));

	for (guint32 process = 0; process < timeline->processes->len; process++) {
		g_autoptr(GArray) blocks = NULL;

		if (timeline->memory->len == 0)
			break;
		blocks = memory_blocks_of_process(timeline, process);
		FOR_EACH(const struct memory_block, block, blocks) {
			struct change change = { innermost_op(timeline, block->slice),
						 block->begin_ns, block->bytes };

			if (change.op == TACHO_NONE)
				continue;
			g_array_append_val(changes, change);
			change = (struct change){ change.op, block->end_ns, -block->bytes };
			if (block->end_ns <= tacho_slice_end_ns(timeline, change.op))
				g_array_append_val(changes, change);
		}
	}
	g_array_sort(changes, compare_changes);
	return changes;
}

static void add_memory(GArray *facts, const TachoTimeline *timeline)
{
	g_autoptr(GArray) changes = collect_changes(timeline);
	struct op_fact fact = { .op = TACHO_NONE };

	FOR_EACH(const struct change, change, changes) {
		if (change->op != fact.op) {
			if (fact.op != TACHO_NONE)
				g_array_append_val(facts, fact);
			fact = (struct op_fact){ .op = change->op };
		}
		fact.allocated_bytes += (gdouble)MAX(change->bytes, 0);
		fact.residual_bytes += (gdouble)change->bytes;
		fact.peak_bytes = MAX(fact.peak_bytes, fact.residual_bytes);
	}
	if (fact.op != TACHO_NONE)
		g_array_append_val(facts, fact);
}

/* What the trace tells itself stands for what its allocations add up to. */
static void add_told(GArray *facts, const TachoTimeline *timeline)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		struct op_fact fact = { .op = i, .is_told = TRUE };
		TachoToldOp told;

		if (timeline->slices.kind[i] != TACHO_SLICE_OP ||
		    !tacho_slice_told(timeline, i, &told) || isnan(told.allocated_bytes))
			continue;
		fact.allocated_bytes = told.allocated_bytes;
		fact.peak_bytes = told.peak_bytes;
		fact.residual_bytes = told.residual_bytes;
		g_array_append_val(facts, fact);
	}
}

/* --- as one ----------------------------------------------------------------------------------- */

static gint compare_facts(gconstpointer a, gconstpointer b)
{
	const struct op_fact *x = a, *y = b;

	return ORDER(x->op, y->op);
}

/* At most one of the two is told. */
static void merge_into(struct op_fact *to, const struct op_fact *from)
{
	to->device_ns += from->device_ns;
	to->devices |= from->devices;
	if (to->is_told)
		return;
	if (from->is_told) {
		to->allocated_bytes = to->peak_bytes = to->residual_bytes = 0;
		to->is_told = TRUE;
	}
	to->allocated_bytes += from->allocated_bytes;
	to->peak_bytes += from->peak_bytes;
	to->residual_bytes += from->residual_bytes;
}

static void merge(GArray *facts)
{
	guint n = 0;

	g_array_sort(facts, compare_facts);
	FOR_EACH(struct op_fact, from, facts) {
		struct op_fact *to = n ? &g_array_index(facts, struct op_fact, n - 1) : NULL;

		if (!to || to->op != from->op) {
			g_array_index(facts, struct op_fact, n++) = *from;
			continue;
		}
		merge_into(to, from);
	}
	g_array_set_size(facts, n);
}

void op_facts_init(struct op_facts *facts, const TachoTimeline *timeline, gboolean with_memory)
{
	facts->facts = g_array_new(FALSE, FALSE, sizeof(struct op_fact));
	add_devices(facts->facts, timeline);
	if (with_memory) {
		add_memory(facts->facts, timeline);
		add_told(facts->facts, timeline);
	}
	merge(facts->facts);
}

void op_facts_release(struct op_facts *facts)
{
	g_clear_pointer(&facts->facts, g_array_unref);
}

struct op_fact op_facts_find(const struct op_facts *facts, guint32 op)
{
	guint n = ROWS_BEFORE(facts->facts, struct op_fact, row, row->op < op);

	if (n < facts->facts->len && g_array_index(facts->facts, struct op_fact, n).op == op)
		return g_array_index(facts->facts, struct op_fact, n);
	return (struct op_fact){ .op = op };
}
