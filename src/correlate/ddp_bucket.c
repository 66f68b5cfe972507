/* ddp_bucket: the buckets in which DistributedDataParallel reduced gradients, and what was in each.
 *
 * DDP hangs a hook on each AccumulateGrad. The hook brings the gradient into its bucket, and the
 * hook of a bucket's last gradient queues the bucket's all-reduce
 * (torch/csrc/distributed/c10d/reducer.cpp, autograd_hook()):
 *
 *     evaluate_function: AccumulateGrad
 *       AccumulateGrad            input 0: the gradient; it is ready when this ends
 *       mul, copy_, div_ ...      a tensor of its size within the bucket's memory
 *       c10d::allreduce_          of the bucket, where it was the last
 *
 * (1) A bucket is a collective that was queued from within such a slice.
 * (2) A gradient belongs to the bucket in whose memory its hook worked, also where the gradients are
 *     views of their buckets. The last such hook before the bucket was queued counts: those before
 *     were of a pass that reduced nothing (no_sync).
 * (3) Some gradients have hooks that were not seen at work. The last of these before the bucket was queued are
 *     inferred to be in it, if their sizes add up to what it lacks.
 * (4) Where nothing of all this was recorded there are no buckets. */
#include <stdlib.h>

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/correlate_internal.h"
#include "trace/rank_table.h"
#include "trace/region_kind.h"
#include "trace/tensor_bytes.h"

enum {
	MAX_WAITING = 64 * 1024, /* gradients that may be in the next bucket */
	MAX_PLACES = 8,		 /* of a gradient; memory is used again, so there may be several */
};

/* A tensor's place in memory. */
struct place {
	guint64 storage, offset_bytes, bytes;
};

/* A gradient that may be in the next bucket. */
struct ready_gradient {
	TachoGradient gradient;
	guint32 first_place,
		n_places; /* where its hook worked, in memory that some bucket has had */
	gboolean is_taken;
};

/* A bucket's collective. */
struct queued {
	guint32 slice;
	gint64 queued_ns;
	struct place place;
};

/* One rank at work. */
struct finding {
	TachoTimeline *timeline;
	guint32 rank_index;
	GArray *queued;	      /* struct queued, by when queued */
	GArray *ready;	      /* struct ready_gradient, by when ready */
	GArray *places;	      /* struct place, of the gradients */
	GHashTable *storages; /* of the buckets */
	GHashTable *in_pass;  /* storages queued since the pass began */
	guint32 next_index;   /* of a bucket in its pass */
	guint32 last_step;
	guint step; /* cursor in the timeline's steps */
};

static gboolean is_op(const TachoTimeline *timeline, guint32 slice, enum region_kind kind)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_OP &&
	       region_kind_of(timeline, slice) == kind;
}

static gboolean is_accumulate(const TachoTimeline *timeline, guint32 slice)
{
	return is_op(timeline, slice, REGION_ACCUMULATE);
}

/* Whether hooks run in it: PyTorch puts such a slice around AccumulateGrad and its hooks. */
static gboolean holds_hooks(const TachoTimeline *timeline, guint32 slice)
{
	return is_op(timeline, slice, REGION_EVALUATE_ACCUMULATE);
}

static gboolean get_place(const TachoTensor *tensor, struct place *place)
{
	place->storage = tensor->storage;
	place->offset_bytes = tensor->offset_bytes;
	return tensor->storage && tensor_bytes(tensor, &place->bytes);
}

static gpointer storage_key(guint64 storage)
{
	return GSIZE_TO_POINTER((gsize)storage);
}

/* --- buckets ---------------------------------------------------------------------------------- */

/* (1): `slice` queued something from within an AccumulateGrad's hook. */
static gboolean is_in_hook(const TachoTimeline *timeline, guint32 slice)
{
	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice])
		if (holds_hooks(timeline, slice) || is_accumulate(timeline, slice))
			return TRUE;
	return FALSE;
}

static gint compare_queued(gconstpointer a, gconstpointer b)
{
	const struct queued *left = a, *right = b;

	return ORDER(left->queued_ns, right->queued_ns) ?: ORDER(left->slice, right->slice);
}

static void add_queued(struct finding *finding, const TachoFlow *flow)
{
	const TachoTimeline *timeline = finding->timeline;
	struct queued queued = { .slice = flow->to };
	TachoTensor tensor;

	/* a backend that tells of a collective when it is queued does so in the hook itself */
	queued.queued_ns =
		timeline->slices.start_ns[holds_hooks(timeline, flow->from) ||
							  is_accumulate(timeline, flow->from)
						  ? flow->to
						  : flow->from];
	if (tacho_slice_input(timeline, flow->to, 0, &tensor) && get_place(&tensor, &queued.place))
		g_hash_table_add(finding->storages, storage_key(queued.place.storage));
	g_array_append_val(finding->queued, queued);
}

/* Add the collectives that are buckets to their rank's row of `ranks`. */
static void collect_queued(const TachoTimeline *timeline, struct finding *ranks)
{
	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		guint32 rank;

		if (flow->kind != TACHO_FLOW_QUEUE_COLLECTIVE || !is_in_hook(timeline, flow->from))
			continue;
		rank = rank_index_of_main(timeline, timeline->slices.track[flow->to]);
		if (rank != TACHO_NONE)
			add_queued(&ranks[rank], flow);
	}
}

/* --- gradients -------------------------------------------------------------------------------- */

/* Add the tensors of an operation that are as long as the gradient and in the memory of a bucket. */
static void add_places_of(struct finding *finding, guint32 slice, struct ready_gradient *ready,
			  gboolean is_output)
{
	const TachoTimeline *timeline = finding->timeline;
	TachoTensor tensor;
	struct place place;

	for (guint32 i = 0; ready->n_places < MAX_PLACES &&
			    (is_output ? tacho_slice_output(timeline, slice, i, &tensor)
				       : tacho_slice_input(timeline, slice, i, &tensor));
	     i++)
		if (get_place(&tensor, &place) && place.bytes == ready->gradient.bytes &&
		    g_hash_table_contains(finding->storages, storage_key(place.storage))) {
			g_array_append_val(finding->places, place);
			ready->n_places++;
		}
}

/* Add where the AccumulateGrad and the hooks behind it worked: the operations in it, and those that
 * follow within the same slice of autograd's. */
static void add_places(struct finding *finding, struct ready_gradient *ready)
{
	const TachoTimeline *timeline = finding->timeline;
	const TachoSlices *slices = &timeline->slices;
	guint32 accumulate = ready->gradient.slice, around = slices->parent[accumulate];
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[accumulate]);
	gboolean has_hooks = around != TACHO_NONE && holds_hooks(timeline, around);
	guint16 least_depth = slices->depth[accumulate] + !has_hooks;

	ready->first_place = finding->places->len;
	for (guint32 i = accumulate + 1; i < track->first_slice + track->n_slices; i++) {
		if (slices->depth[i] < least_depth || is_accumulate(timeline, i))
			break;
		if (slices->kind[i] != TACHO_SLICE_OP)
			continue;
		add_places_of(finding, i, ready, FALSE);
		add_places_of(finding, i, ready, TRUE);
	}
}

static void add_gradient(struct finding *finding, guint32 slice)
{
	struct ready_gradient ready = { .gradient = { .slice = slice } };
	TachoTensor tensor;

	if (!tacho_slice_input(finding->timeline, slice, 0, &tensor) ||
	    !tensor_bytes(&tensor, &ready.gradient.bytes))
		return;
	ready.gradient.ready_ns = tacho_slice_end_ns(finding->timeline, slice);
	add_places(finding, &ready);
	g_array_append_val(finding->ready, ready);
}

static gint compare_gradients(gconstpointer a, gconstpointer b)
{
	const TachoGradient *left = a, *right = b;

	return ORDER(left->ready_ns, right->ready_ns) ?: ORDER(left->slice, right->slice);
}

static gint compare_ready(gconstpointer a, gconstpointer b)
{
	const struct ready_gradient *left = a, *right = b;

	return compare_gradients(&left->gradient, &right->gradient);
}

/* Add the gradients of ranks that have buckets. */
static void collect_gradients(const TachoTimeline *timeline, struct finding *ranks)
{
	FOR_EACH_AT(const TachoTrack, track, t, timeline->tracks) {
		guint32 rank = rank_index_of_main(timeline, t);

		if (track->kind != TACHO_TRACK_THREAD || rank == TACHO_NONE ||
		    ranks[rank].queued->len == 0)
			continue;
		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
			if (is_accumulate(timeline, i))
				add_gradient(&ranks[rank], i);
	}
}

/* --- which gradients are in which bucket ------------------------------------------------------ */

static struct ready_gradient *ready_at(const struct finding *finding, guint index)
{
	return &g_array_index(finding->ready, struct ready_gradient, index);
}

static gboolean is_within(const struct place *inner, const struct place *outer)
{
	return inner->storage && inner->storage == outer->storage &&
	       inner->offset_bytes >= outer->offset_bytes &&
	       inner->offset_bytes - outer->offset_bytes <= outer->bytes &&
	       outer->bytes - (inner->offset_bytes - outer->offset_bytes) >= inner->bytes;
}

/* Where in the bucket the gradient's hook worked, or NULL. */
static const struct place *find_place(const struct finding *finding,
				      const struct ready_gradient *ready,
				      const struct place *bucket)
{
	for (guint32 i = 0; i < ready->n_places; i++) {
		const struct place *place =
			&g_array_index(finding->places, struct place, ready->first_place + i);

		if (is_within(place, bucket))
			return place;
	}
	return NULL;
}

static void put_in(struct finding *finding, struct ready_gradient *ready)
{
	ready->is_taken = TRUE;
	g_array_append_val(finding->timeline->gradients, ready->gradient);
}

/* (2): take the last of [first, end) whose hooks worked in the bucket, until they have its bytes.
 * Returns theirs. One that comes again was of a pass that reduced nothing. */
static guint64 take_by_place(struct finding *finding, guint first, guint end,
			     const struct queued *queued, guint64 bytes)
{
	g_autoptr(GHashTable) filled = g_hash_table_new(NULL, NULL);
	guint64 found = 0;

	for (guint i = end; i > first && found < bytes; i--) {
		struct ready_gradient *ready = ready_at(finding, i - 1);
		const struct place *place;
		guint64 offset_bytes;

		place = ready->is_taken ? NULL : find_place(finding, ready, &queued->place);
		if (!place)
			continue;
		offset_bytes = place->offset_bytes - queued->place.offset_bytes;
		if (!g_hash_table_add(filled, GSIZE_TO_POINTER((gsize)offset_bytes)))
			continue;
		ready->gradient.offset_bytes = offset_bytes;
		ready->gradient.is_exact = TRUE;
		put_in(finding, ready);
		found += MIN(ready->gradient.bytes, bytes - found);
	}
	return found;
}

static gboolean is_of_unknown_place(const struct ready_gradient *ready)
{
	return !ready->is_taken && ready->n_places == 0;
}

/* (3): take the last of [first, end) that make up `bytes`, if they do. Returns their bytes. */
static guint64 take_by_size(struct finding *finding, guint first, guint end, guint64 bytes)
{
	guint64 left = bytes;
	guint from = end;

	for (; from > first && left > 0; from--) {
		const struct ready_gradient *ready = ready_at(finding, from - 1);

		if (!is_of_unknown_place(ready))
			continue;
		if (ready->gradient.bytes > left)
			return 0;
		left -= ready->gradient.bytes;
	}
	if (left > 0)
		return 0;
	for (guint i = end; i > from; i--)
		if (is_of_unknown_place(ready_at(finding, i - 1)))
			put_in(finding, ready_at(finding, i - 1));
	return bytes;
}

/* Sort the gradients from row `first` on. */
static void sort_gradients(GArray *gradients, guint32 first)
{
	if (gradients->len > first)
		qsort(&g_array_index(gradients, TachoGradient, first), gradients->len - first,
		      sizeof(TachoGradient), compare_gradients);
}

/* The number of the rank's step at that moment; moments do not go back. */
static guint32 step_at(struct finding *finding, gint64 time_ns)
{
	const GArray *steps = finding->timeline->steps;
	const TachoStep *step;

	for (; finding->step < steps->len; finding->step++) {
		step = &g_array_index(steps, TachoStep, finding->step);
		if (step->rank_index > finding->rank_index ||
		    (step->rank_index == finding->rank_index && step->end_ns > time_ns))
			break;
	}
	if (finding->step == steps->len)
		return TACHO_NONE;
	step = &g_array_index(steps, TachoStep, finding->step);
	return step->rank_index == finding->rank_index && step->start_ns <= time_ns ? step->number
										    : TACHO_NONE;
}

/* A pass begins with a step, or where a bucket comes again. */
static guint32 next_index(struct finding *finding, const struct queued *queued, guint32 step)
{
	gpointer key = storage_key(queued->place.storage ^ queued->place.offset_bytes);

	if (step != finding->last_step ||
	    (queued->place.storage && g_hash_table_contains(finding->in_pass, key))) {
		g_hash_table_remove_all(finding->in_pass);
		finding->next_index = 0;
	}
	g_hash_table_add(finding->in_pass, key);
	finding->last_step = step;
	return finding->next_index++;
}

/* Put what is in the bucket into the table, out of the gradients [first, end) of the rank. */
static void fill_bucket(struct finding *finding, const struct queued *queued, TachoBucket *bucket,
			guint first, guint end)
{
	GArray *gradients = finding->timeline->gradients;
	guint64 found;

	bucket->first_gradient = gradients->len;
	found = take_by_place(finding, first, end, queued, bucket->bytes);
	if (found < bucket->bytes)
		found += take_by_size(finding, first, end, bucket->bytes - found);
	bucket->is_whole = found == bucket->bytes;
	bucket->n_gradients = gradients->len - bucket->first_gradient;
	sort_gradients(gradients, bucket->first_gradient);
	if (bucket->n_gradients)
		bucket->ready_ns =
			g_array_index(gradients, TachoGradient, gradients->len - 1).ready_ns;
}

static void add_bucket(struct finding *finding, const struct queued *queued, TachoBucket bucket,
		       guint first, guint end)
{
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(finding->timeline, queued->slice, &args);
	bucket.rank_index = finding->rank_index;
	bucket.slice = queued->slice;
	bucket.bytes = args.bytes ? args.bytes : queued->place.bytes;
	bucket.ready_ns = bucket.queued_ns = queued->queued_ns;
	fill_bucket(finding, queued, &bucket, first, end);
	g_array_append_val(finding->timeline->buckets, bucket);
}

/* Gradients wait from one bucket to the next until the pass is over: a later bucket may have got an
 * earlier gradient. */
static void find_on_rank(struct finding *finding)
{
	guint first = 0, end = 0;

	g_array_sort(finding->queued, compare_queued);
	g_array_sort(finding->ready, compare_ready);
	FOR_EACH(const struct queued, queued, finding->queued) {
		TachoBucket bucket = { .step = step_at(finding, queued->queued_ns) };

		bucket.index = next_index(finding, queued, bucket.step);
		if (bucket.index == 0)
			first = end;
		while (end < finding->ready->len &&
		       ready_at(finding, end)->gradient.ready_ns <= queued->queued_ns)
			end++;
		first = MAX(first, end - MIN(end, MAX_WAITING));
		add_bucket(finding, queued, bucket, first, end);
	}
}

static void finding_init(struct finding *finding, TachoTimeline *timeline, guint32 rank_index)
{
	*finding = (struct finding){ .timeline = timeline,
				     .rank_index = rank_index,
				     .last_step = TACHO_NONE };
	finding->queued = g_array_new(FALSE, FALSE, sizeof(struct queued));
	finding->ready = g_array_new(FALSE, FALSE, sizeof(struct ready_gradient));
	finding->places = g_array_new(FALSE, FALSE, sizeof(struct place));
	finding->storages = g_hash_table_new(NULL, NULL);
	finding->in_pass = g_hash_table_new(NULL, NULL);
}

static void finding_release(struct finding *finding)
{
	g_array_unref(finding->queued);
	g_array_unref(finding->ready);
	g_array_unref(finding->places);
	g_hash_table_unref(finding->storages);
	g_hash_table_unref(finding->in_pass);
}

void find_buckets(TachoTimeline *timeline)
{
	g_autofree struct finding *ranks = g_new0(struct finding, timeline->ranks->len);

	for (guint32 i = 0; i < timeline->ranks->len; i++)
		finding_init(&ranks[i], timeline, i);
	collect_queued(timeline, ranks);
	collect_gradients(timeline, ranks);
	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		find_on_rank(&ranks[i]);
		finding_release(&ranks[i]);
	}
}
