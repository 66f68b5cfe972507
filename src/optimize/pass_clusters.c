/* pass_clusters: kernels that follow each other on a stream as parts of one, as compilers make them.
 *
 * A cluster is a set of operations. Where kernels that memory bounds (of one element after the other, moves, reductions ...) follow each
 * other, with nothing between them, their operations are of one cluster; clusters that have an operation in common are one. Each is
 * tried by itself (what-if fuse:), and those that gain are proposed together.
 *
 * The model is that of fuse:: launches and gaps between the parts are spared; what a fused kernel reads and writes less is not in it, so it
 * gains rather more than is said. */
#include "optimize/optimizing.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "optimize/bucket_judge.h"
#include "trace/kernel_class.h"

/* Source: a rule: a cluster is a replay. If wrong, the last ones are not tried. */
#define MAX_CLUSTERS 64

struct clustering {
	struct optimizing *optimizing;
	GHashTable *
		set_of; /* name (string id) -> GArray of guint32 names, which it is in; sets stand once for each of theirs */
	GPtrArray *sets; /* owns them; some have been joined to others, and are empty */
};

static gboolean is_of_memory(const TachoTimeline *timeline, guint32 slice)
{
	switch (kernel_class_of_kernel(timeline, timeline->slices.name[slice])) {
	case KERNEL_ELEMENTWISE:
	case KERNEL_MOVE:
	case KERNEL_REDUCTION:
	case KERNEL_SOFTMAX:
	case KERNEL_LAYER_NORM:
		return timeline->slices.kind[slice] == TACHO_SLICE_KERNEL;
	default:
		return FALSE;
	}
}

/* The outermost operation around the call that launched the kernel; TACHO_NONE: none is known. */
static guint32 operation_of(const TachoTimeline *timeline, guint32 kernel)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 operation = TACHO_NONE;

	for (guint32 slice = slices->launch[kernel]; slice != TACHO_NONE;
	     slice = slices->parent[slice])
		if (slices->kind[slice] == TACHO_SLICE_OP &&
		    !(slices->flags[slice] & TACHO_SLICE_BACKWARD))
			operation = slice;
	return operation == TACHO_NONE ? TACHO_NONE : slices->name[operation];
}

static GArray *set_of(struct clustering *clustering, guint32 name)
{
	GArray *set = g_hash_table_lookup(clustering->set_of, GUINT_TO_POINTER(name));

	if (set)
		return set;
	set = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(set, name);
	g_ptr_array_add(clustering->sets, set);
	g_hash_table_insert(clustering->set_of, GUINT_TO_POINTER(name), set);
	return set;
}

static void join(struct clustering *clustering, guint32 a, guint32 b)
{
	GArray *to = set_of(clustering, a), *from = set_of(clustering, b);

	if (to == from)
		return;
	g_array_append_vals(to, from->data, from->len);
	for (guint i = 0; i < from->len; i++)
		g_hash_table_insert(clustering->set_of,
				    GUINT_TO_POINTER(g_array_index(from, guint32, i)), to);
	g_array_set_size(from, 0);
}

static void find_sets(struct clustering *clustering)
{
	const TachoTimeline *timeline = clustering->optimizing->base->graph->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint32 before = TACHO_NONE;

		if (track->kind != TACHO_TRACK_STREAM)
			continue;
		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			guint32 name =
				is_of_memory(timeline, i) ? operation_of(timeline, i) : TACHO_NONE;

			if (name != TACHO_NONE && before != TACHO_NONE)
				join(clustering, before, name);
			before = name;
		}
	}
}

static void add_cluster(struct plan_change *change, const TachoTimeline *timeline,
			const GArray *set)
{
	guint32 n = set->len;

	g_array_append_val(change->n_of, n);
	for (guint32 i = 0; i < n; i++)
		g_ptr_array_add(change->names, g_strdup(tacho_timeline_string(
						       timeline, g_array_index(set, guint32, i))));
}

static gboolean has_good_names(const TachoTimeline *timeline, const GArray *set)
{
	for (guint i = 0; i < set->len; i++)
		if (!plan_name_is_good(
			    tacho_timeline_string(timeline, g_array_index(set, guint32, i))))
			return FALSE;
	return set->len > 0;
}

/* The step with this cluster alone is shorter. */
static gboolean gains(struct clustering *clustering, const GArray *set, gdouble now_ms)
{
	struct optimizing *optimizing = clustering->optimizing;
	const TachoTimeline *timeline = optimizing->base->graph->timeline;
	g_autoptr(TachoPlan) plan = plan_new(1);
	g_autoptr(GError) error = NULL;
	g_autofree gchar *what_if = NULL;
	gdouble step_ms;

	add_cluster(plan_add_names(plan, PLAN_CLUSTERS), timeline, set);
	what_if = plan_change_what_if(plan_find(plan, PLAN_CLUSTERS));
	step_ms = bucket_judge_step_ms(optimizing->base->graph, what_if, &error);
	optimizing->result->candidates_tried++;
	optimizing_note_tried(optimizing, what_if, step_ms, error ? error->message : "cluster");
	return step_ms < now_ms;
}

static void propose_clusters(struct clustering *clustering)
{
	struct optimizing *optimizing = clustering->optimizing;
	const TachoTimeline *timeline = optimizing->base->graph->timeline;
	gdouble now_ms = bucket_judge_step_ms(optimizing->base->graph, "bandwidth=1x", NULL);
	TachoPlan *plan = optimizing_new_plan(optimizing);
	struct plan_change *change = plan_add_names(plan, PLAN_CLUSTERS);
	guint n_tried = 0;

	if (isnan(now_ms)) /* there are no links to leave as they are */
		now_ms = optimizing->result->baseline_step_ms;
	for (guint i = 0; i < clustering->sets->len && n_tried < MAX_CLUSTERS; i++) {
		const GArray *set = clustering->sets->pdata[i];

		if (optimizing_is_over(optimizing) || !has_good_names(timeline, set))
			continue;
		n_tried++;
		if (gains(clustering, set, now_ms))
			add_cluster(change, timeline, set);
	}
	if (change->names->len == 0) {
		tacho_plan_free(plan);
		return;
	}
	optimizing_propose(optimizing, plan,
			   g_strdup_printf("kernels of %u operations fused in %u clusters",
					   change->names->len, change->n_of->len),
			   "a compiler, as torch.compile or XLA", OPTIMIZING_BY_FRAMEWORK, FALSE);
}

void pass_clusters(struct optimizing *optimizing)
{
	struct clustering clustering = {
		.optimizing = optimizing,
		.set_of = g_hash_table_new(NULL, NULL),
		.sets = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
	};

	find_sets(&clustering);
	if (clustering.sets->len > 0)
		propose_clusters(&clustering);
	g_hash_table_unref(clustering.set_of);
	g_ptr_array_unref(clustering.sets);
}
