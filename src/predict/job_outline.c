/* job_outline: what the steps of a recording do, to tell recordings of one job from those of several.
 *
 * Compared are the ranks; how many operations and collectives of each name a step has; how many bytes
 * collectives have; and the shapes of the operations' inputs. By how much two sets of names differ is the
 * share of what either does in which the two do not agree: the sum over names of |a - b|, of that of
 * max(a, b). A step that polls does not always do so equally often, and batches may be of different
 * lengths; so a small difference is a note, and so is any of the shapes alone. Times are not compared: that
 * they differ is what one records again for. Kernels are not, either: libraries choose among them by
 * trying. */
#include "predict/job_outline.h"

#include <math.h>

#include "base/for_each.h"
#include "base/hash_mix.h"

/* The share of what either does a step in which they differ, at most.
 * Source: a rule: polling and batches of other lengths differ by a few per cent, other models by most. If wrong, a prediction
 * is of two jobs, or recordings of one job must be predicted one by one. */
#define REFUSED_SHARE 0.25
/* The same, for a note.
 * Source: a rule: less does not show in a step. If wrong, a note is missing, or one too many. */
#define NOTED_SHARE 0.01

/* --- what a recording does --------------------------------------------------------------------- */

static GHashTable *counts_new(gboolean by_name)
{
	return by_name ? g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
		       : g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

static void count_name(GHashTable *counts, const gchar *name, gdouble n)
{
	gdouble *count = g_hash_table_lookup(counts, name);

	if (!count) {
		count = g_new0(gdouble, 1);
		g_hash_table_insert(counts, g_strdup(name), count);
	}
	*count += n;
}

static void count_key(GHashTable *counts, gint64 key, gdouble n)
{
	gdouble *count = g_hash_table_lookup(counts, &key);

	if (!count) {
		count = g_new0(gdouble, 1);
		g_hash_table_insert(counts, g_memdup2(&key, sizeof(key)), count);
	}
	*count += n;
}

static gint64 shaped_key(const TachoTimeline *timeline, guint32 slice)
{
	guint64 hash = HASH_MIX_START;
	TachoTensor tensor;

	for (const gchar *c = tacho_slice_name(timeline, slice); *c; c++)
		hash = hash_mix(hash, (guint8)*c);
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++) {
		hash = hash_mix(hash, i + 1);
		for (guint32 j = 0; j < tensor.n_dims && j < TACHO_MAX_DIMS; j++)
			hash = hash_mix(hash, (guint64)tensor.shape[j] + j);
	}
	return (gint64)hash;
}

/* The steps of the graph on a rank (TachoStep, by time); of a run without any, none. */
static GArray *steps_of_rank(const TachoGraph *graph, guint32 rank_index)
{
	const GArray *all = graph->timeline->steps;
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));

	FOR_EACH(const TachoStep, step, all)
		if (step->rank_index == rank_index && step->is_complete &&
		    graph_step_index(graph, step->number) != TACHO_NONE)
			g_array_append_val(steps, *step);
	return steps;
}

/* Slices of a track are in order, so are steps: `cursor` only goes on. */
static gboolean is_in_steps(const GArray *steps, gint64 time_ns, guint *cursor)
{
	while (*cursor < steps->len && g_array_index(steps, TachoStep, *cursor).end_ns <= time_ns)
		(*cursor)++;
	return *cursor < steps->len && g_array_index(steps, TachoStep, *cursor).start_ns <= time_ns;
}

static void count_track(struct job_outline *outline, const TachoGraph *graph,
			const TachoTrack *track, const GArray *steps)
{
	const TachoTimeline *timeline = graph->timeline;
	gdouble share = 1.0 / MAX(graph->steps->len, 1u);
	guint cursor = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (timeline->slices.kind[i] != TACHO_SLICE_OP ||
		    (graph->whole_ns == 0 &&
		     !is_in_steps(steps, timeline->slices.start_ns[i], &cursor)))
			continue;
		count_name(outline->ops, tacho_slice_name(timeline, i), share);
		count_key(outline->shaped, shaped_key(timeline, i), share);
	}
}

static void count_rank(struct job_outline *outline, const TachoGraph *graph, guint32 rank_index)
{
	const TachoTimeline *timeline = graph->timeline;
	const TachoRank *rank = tacho_timeline_rank(timeline, rank_index);
	g_autoptr(GArray) steps = steps_of_rank(graph, rank_index);

	g_array_append_val(outline->ranks, rank->rank);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (tacho_timeline_track(timeline, i)->process == rank->main_process)
			count_track(outline, graph, tacho_timeline_track(timeline, i), steps);
}

static void count_collectives(struct job_outline *outline, const TachoGraph *graph)
{
	gdouble share = 1.0 / MAX(graph->steps->len, 1u);

	FOR_EACH(const struct graph_transfer, transfer, graph->transfers) {
		if (transfer->is_hop)
			continue;
		count_name(outline->collectives,
			   tacho_timeline_string(graph->timeline, transfer->name), share);
		outline->collective_bytes += (gdouble)transfer->bytes * share;
	}
}

void job_outline_init(struct job_outline *outline, const TachoGraph *graph)
{
	outline->ranks = g_array_new(FALSE, FALSE, sizeof(gint32));
	outline->ops = counts_new(TRUE);
	outline->shaped = counts_new(FALSE);
	outline->collectives = counts_new(TRUE);
	outline->collective_bytes = 0;
	for (guint32 i = 0; i < graph->timeline->ranks->len; i++)
		count_rank(outline, graph, i);
	count_collectives(outline, graph);
}

void job_outline_release(struct job_outline *outline)
{
	g_clear_pointer(&outline->ranks, g_array_unref);
	g_clear_pointer(&outline->ops, g_hash_table_unref);
	g_clear_pointer(&outline->shaped, g_hash_table_unref);
	g_clear_pointer(&outline->collectives, g_hash_table_unref);
}

/* --- whether two do the same ------------------------------------------------------------------- */

/* How two tables of counts differ. */
struct difference {
	gdouble share;	      /* 0: none, 1: nothing in common */
	gconstpointer key;    /* in which they differ most, by that and then by name; NULL */
	gdouble first, other; /* of it */
};

static gdouble count_of(GHashTable *counts, gconstpointer key)
{
	const gdouble *count = g_hash_table_lookup(counts, key);

	return count ? *count : 0;
}

/* What a table of counts has of a difference; of names that both have only in the first. */
static void compare_counts(GHashTable *first, GHashTable *other, gboolean by_name,
			   struct difference *difference)
{
	gdouble sum = 0, all = 0, most = 0;

	for (guint side = 0; side < 2; side++) {

		FOR_EACH_ENTRY(entry, side ? other : first) {
			gdouble a = count_of(first, entry.key), b = count_of(other, entry.key);

			if (side && a > 0)
				continue;
			sum += fabs(a - b);
			all += MAX(a, b);
			if (by_name &&
			    (fabs(a - b) > most || (fabs(a - b) == most && difference->key &&
						    g_strcmp0(entry.key, difference->key) < 0))) {
				most = fabs(a - b);
				difference->key = entry.key;
				difference->first = a;
				difference->other = b;
			}
		}
	}
	difference->share = all > 0 ? sum / all : 0;
}

static gboolean check_ranks(const struct job_outline *first, const struct job_outline *other,
			    GError **error)
{
	if (first->ranks->len != other->ranks->len) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB,
			    "it has %u %s instead of %u", other->ranks->len,
			    other->ranks->len == 1 ? "rank" : "ranks", first->ranks->len);
		return FALSE;
	}
	for (guint i = 0; i < first->ranks->len; i++) {
		gint32 theirs = g_array_index(other->ranks, gint32, i);
		gint32 ours = g_array_index(first->ranks, gint32, i);

		if (theirs == ours)
			continue;
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB,
			    "it has rank %d instead of %d", theirs, ours);
		return FALSE;
	}
	return TRUE;
}

/* Refuse a large difference, note a small one. `text` says what it is. */
static gboolean judge(gdouble share, const gchar *text, GPtrArray *notes, GError **error)
{
	if (share > REFUSED_SHARE) {
		g_set_error_literal(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB, text);
		return FALSE;
	}
	if (share > NOTED_SHARE)
		g_ptr_array_add(notes, g_strdup(text));
	return TRUE;
}

static gboolean check_counts(GHashTable *first, GHashTable *other, const gchar *things,
			     GPtrArray *notes, GError **error)
{
	struct difference difference = { 0 };
	g_autofree gchar *text = NULL;

	compare_counts(first, other, TRUE, &difference);
	text = g_strdup_printf("%.0f %% of its %s differ: %.4g of %s a step instead of %.4g",
			       100 * difference.share, things, difference.other,
			       difference.key ? (const gchar *)difference.key : "",
			       difference.first);
	return judge(difference.share, text, notes, error);
}

static gboolean check_bytes(const struct job_outline *first, const struct job_outline *other,
			    GPtrArray *notes, GError **error)
{
	gdouble most = MAX(first->collective_bytes, other->collective_bytes);
	gdouble apart = fabs(first->collective_bytes - other->collective_bytes);
	g_autofree gchar *text =
		g_strdup_printf("its collectives move %.4g MB a step instead of %.4g",
				other->collective_bytes / 1e6, first->collective_bytes / 1e6);

	return judge(most > 0 ? apart / most : 0, text, notes, error);
}

gboolean job_outline_check(const struct job_outline *first, const struct job_outline *other,
			   GPtrArray *notes, GError **error)
{
	struct difference shapes = { 0 };

	if (!check_ranks(first, other, error) ||
	    !check_counts(first->ops, other->ops, "operations", notes, error) ||
	    !check_counts(first->collectives, other->collectives, "collectives", notes, error) ||
	    !check_bytes(first, other, notes, error))
		return FALSE;
	compare_counts(first->shaped, other->shaped, FALSE, &shapes);
	if (shapes.share > NOTED_SHARE)
		g_ptr_array_add(
			notes,
			g_strdup_printf("%.0f %% of its operations have inputs of other shapes, as "
					"with another batch size or another model",
					100 * shapes.share));
	return TRUE;
}
