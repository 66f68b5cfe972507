#include "correlate/batch_ops.h"

#include "base/order.h"
#include "correlate/point_to_point.h"

struct batch_ops {
	GArray *ops;	      /* struct batch_op, those of a kernel together */
	GHashTable *first_of; /* kernel -> index of its first + 1 */
};

/* A call that launched a kernel of sends or receives. */
struct launch {
	guint32 call, kernel; /* slices */
	gboolean is_batch;
};

/* A call that waits for the launch that carries it out. */
struct waiting {
	struct batch_op op;
	gint64 end_ns;
};

static gint compare_launches(gconstpointer a, gconstpointer b)
{
	const struct launch *x = a, *y = b;

	return ORDER(x->call, y->call) ?: ORDER(x->kernel, y->kernel);
}

/* By call, and so by thread and begin. Empty where none is a batch. */
static GArray *collect_launches(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	GArray *launches = g_array_new(FALSE, FALSE, sizeof(struct launch));
	gboolean has_batch = FALSE;

	for (guint32 i = 0; i < slices->n; i++) {
		struct launch launch = { .call = slices->launch[i], .kernel = i };
		TachoWay way;

		if (launch.call == TACHO_NONE || slices->kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		way = point_to_point_way(timeline, i);
		if (way == TACHO_WAY_BY_NAME)
			continue;
		launch.is_batch = way == TACHO_WAY_BOTH;
		has_batch |= launch.is_batch;
		g_array_append_val(launches, launch);
	}
	if (!has_batch)
		g_array_set_size(launches, 0);
	g_array_sort(launches, compare_launches);
	return launches;
}

/* False: the slice is no call to send or receive. */
static gboolean read_call(const TachoTimeline *timeline, guint32 slice, struct waiting *ret_waiting)
{
	TachoCollectiveArgs args = { 0 };

	if (timeline->slices.kind[slice] != TACHO_SLICE_OP ||
	    !tacho_slice_collective(timeline, slice, &args) || !args.peer ||
	    (args.way != TACHO_WAY_SEND && args.way != TACHO_WAY_RECEIVE))
		return FALSE;
	*ret_waiting = (struct waiting){ .op = { .kernel = TACHO_NONE,
						 .peer = args.peer,
						 .bytes = args.bytes,
						 .group = args.group,
						 .is_receive = args.way == TACHO_WAY_RECEIVE },
					 .end_ns = tacho_slice_end_ns(timeline, slice) };
	return TRUE;
}

static void take_all(struct batch_ops *ops, GArray *waiting, guint32 kernel)
{
	if (waiting->len == 0)
		return;
	g_hash_table_insert(ops->first_of, GUINT_TO_POINTER(kernel),
			    GUINT_TO_POINTER(ops->ops->len + 1));
	for (guint i = 0; i < waiting->len; i++) {
		struct batch_op op = g_array_index(waiting, struct waiting, i).op;

		op.kernel = kernel;
		g_array_append_val(ops->ops, op);
	}
	g_array_set_size(waiting, 0);
}

static void see_launch(struct batch_ops *ops, const TachoTimeline *timeline, GArray *waiting,
		       const struct launch *launch)
{
	gint64 begin_ns = timeline->slices.start_ns[launch->call];

	if (waiting->len > 0 &&
	    g_array_index(waiting, struct waiting, waiting->len - 1).end_ns > begin_ns)
		g_array_set_size(waiting, waiting->len - 1); /* (2) */
	else if (launch->is_batch)
		take_all(ops, waiting, launch->kernel); /* (1) */
}

/* Slices are in the order of their begins. Returns how many of the launches are of the thread. */
static guint see_thread(struct batch_ops *ops, const TachoTimeline *timeline,
			const struct launch *launches, guint n_launches)
{
	const TachoTrack *track =
		tacho_timeline_track(timeline, timeline->slices.track[launches[0].call]);
	g_autoptr(GArray) waiting = g_array_new(FALSE, FALSE, sizeof(struct waiting));
	guint32 next = track->first_slice;
	guint i = 0;

	for (; i < n_launches && launches[i].call < track->first_slice + track->n_slices; i++) {
		for (; next < launches[i].call; next++) {
			struct waiting call;

			if (read_call(timeline, next, &call))
				g_array_append_val(waiting, call);
		}
		see_launch(ops, timeline, waiting, &launches[i]);
	}
	return i;
}

struct batch_ops *batch_ops_new(const TachoTimeline *timeline)
{
	struct batch_ops *ops = g_new0(struct batch_ops, 1);
	g_autoptr(GArray) launches = collect_launches(timeline);

	ops->ops = g_array_new(FALSE, FALSE, sizeof(struct batch_op));
	ops->first_of = g_hash_table_new(NULL, NULL);
	for (guint i = 0; i < launches->len;)
		i += see_thread(ops, timeline, &g_array_index(launches, struct launch, i),
				launches->len - i);
	return ops;
}

void batch_ops_free(struct batch_ops *ops)
{
	if (!ops)
		return;
	g_array_unref(ops->ops);
	g_hash_table_unref(ops->first_of);
	g_free(ops);
}

const struct batch_op *batch_ops_borrow(const struct batch_ops *ops, guint32 kernel, guint *ret_n)
{
	gpointer found = g_hash_table_lookup(ops->first_of, GUINT_TO_POINTER(kernel));
	guint first, end;

	*ret_n = 0;
	if (!found)
		return NULL;
	first = GPOINTER_TO_UINT(found) - 1;
	for (end = first;
	     end < ops->ops->len && g_array_index(ops->ops, struct batch_op, end).kernel == kernel;)
		end++;
	*ret_n = end - first;
	return &g_array_index(ops->ops, struct batch_op, first);
}
