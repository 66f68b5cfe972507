/* duration_samples: many replays, each with durations drawn from what was measured, for the interval.
 *
 * In a sample, each piece of work takes what it, or the same thing in another step (duration_classes.h), took:
 * one of these, each as likely. Draws are independent of each other. What is drawn depends on the seed, the
 * number of the sample and that of the node, and on nothing else: so the result is the same on however many
 * threads. */
#include <math.h>

#include "base/quantile.h"
#include "base/worker_pool.h"
#include "edit/duration_classes.h"
#include "predict/prediction_interval.h"

static const gdouble to_ms = 1e-6;

struct sampling {
	const TachoGraph *graph;
	struct duration_classes classes;
	struct step_marks marks;
	guint64 seed;
	gint64 *steps_ns;  /* [sample * n_steps + step] */
	guint8 *is_played; /* of each sample */
};

/* The finaliser of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
 * generators", 2014). */
static guint64 mix(guint64 x)
{
	x += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The node whose duration `node` has in the sample. */
static guint32 draw(const struct sampling *sampling, guint32 node, guint32 sample)
{
	const struct duration_classes *classes = &sampling->classes;
	guint32 class = classes->class_of[node], n;
	guint64 random;

	if (class == TACHO_NONE)
		return node;
	n = classes->first[class + 1] - classes->first[class];
	random = mix(mix(mix(sampling->seed) + sample) + node) >> 32;
	return classes->nodes[classes->first[class] + (guint32)(random * n >> 32)];
}

static void draw_all(const struct sampling *sampling, TachoGraph *view, guint32 sample)
{
	const TachoGraph *graph = sampling->graph;

	for (guint32 i = 0; i < graph->n_frozen; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 drawn = draw(sampling, i, sample);

		view->duration_ns[i] = graph->duration_ns[drawn];
		if (node->kind == TACHO_NODE_TRANSFER) {
			const struct graph_transfer *from =
				graph_transfer_at(graph, graph_node_at(graph, drawn)->transfer);
			struct graph_transfer *to = graph_transfer_at(view, node->transfer);

			to->fixed_ns = from->fixed_ns;
			to->work_ns = from->work_ns;
		}
	}
}

static void play_sample(guint sample, gpointer data)
{
	struct sampling *sampling = data;
	TachoGraph view = *sampling->graph;
	g_autofree gint64 *duration_ns = g_new(gint64, MAX(view.n_frozen, 1u));
	g_autoptr(GArray) transfers = g_array_copy(view.transfers);
	g_autoptr(TachoReplay) replay = NULL;

	view.duration_ns = duration_ns;
	view.transfers = transfers;
	draw_all(sampling, &view, sample);
	replay = tacho_replay_run(&view, NULL);
	sampling->is_played[sample] = replay != NULL;
	if (replay)
		step_marks_mean_ns(&sampling->marks, replay->end_ns,
				   sampling->steps_ns + (gsize)sample * sampling->marks.n_steps);
}

/* All steps of all samples are the prediction's, and so is what the median step differs by from one to the
 * other. */
static gboolean sum_up(const struct sampling *sampling, guint32 n_samples,
		       TachoPrediction *prediction)
{
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) medians = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint32 n_steps = sampling->marks.n_steps;

	for (guint32 i = 0; i < n_samples; i++) {
		gint64 median_ns;

		if (!sampling->is_played[i])
			continue;
		g_array_set_size(one, 0);
		g_array_append_vals(one, sampling->steps_ns + (gsize)i * n_steps, n_steps);
		g_array_append_vals(steps, one->data, n_steps);
		median_ns = llround(quantile(one, 0.5));
		g_array_append_val(medians, median_ns);
	}
	if (medians->len == 0)
		return FALSE;
	prediction->n_samples = medians->len;
	prediction->seed = sampling->seed;
	prediction->predicted_step_ms = quantile(steps, 0.5) * to_ms;
	prediction_set_interval(prediction->steps_interval_ms, steps);
	prediction_set_interval(prediction->median_interval_ms, medians);
	g_clear_pointer(&prediction->predicted_steps, g_array_unref);
	g_clear_pointer(&prediction->sample_medians, g_array_unref);
	prediction->predicted_steps = g_steal_pointer(&steps);
	prediction->sample_medians = g_steal_pointer(&medians);
	prediction_bound(prediction);
	return TRUE;
}

gboolean tacho_prediction_sample(TachoPrediction *prediction, guint32 n_samples, guint64 seed,
				 GError **error)
{
	struct sampling sampling = { .graph = prediction->graph, .seed = seed };
	gboolean is_done;

	if (prediction->first_step == prediction->last_step) {
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_NO_STEPS,
			    "durations cannot be drawn from one step alone; replay several steps");
		return FALSE;
	}
	duration_classes_init(&sampling.classes, sampling.graph);
	step_marks_init(&sampling.marks, sampling.graph);
	sampling.steps_ns = g_new0(gint64, (gsize)n_samples * sampling.marks.n_steps);
	sampling.is_played = g_new0(guint8, MAX(n_samples, 1u));
	worker_pool_run(n_samples, play_sample, &sampling);
	is_done = sum_up(&sampling, n_samples, prediction);
	if (!is_done)
		g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_CYCLE,
			    "no sample can be played to its end");
	else if (prediction->n_samples < n_samples)
		g_ptr_array_add(prediction->notes,
				g_strdup_printf("%u of %u samples cannot be played to their end",
						n_samples - prediction->n_samples, n_samples));
	g_free(sampling.steps_ns);
	g_free(sampling.is_played);
	step_marks_release(&sampling.marks);
	duration_classes_release(&sampling.classes);
	return is_done;
}
