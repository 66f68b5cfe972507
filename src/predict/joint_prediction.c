/* joint_prediction: one prediction from several recordings of one job.
 *
 * Runs of a job differ by more than their steps tell: the machine, the placement and the neighbours
 * change between runs. So the changes are made of each recording by itself, and the answer is the median
 * of theirs, with how far they lie apart.
 * (1) Recordings are built, and then played, on all cores, each by one thread, which touches nothing of
 *     the others: the result does not depend on how many threads there are.
 *     One recording that several processes have read (trace/run_share.h) is built by all of them, and played by the first.
 * (2) What cannot be a median, such as a critical path, is of the recording whose predicted step is
 *     nearest to the median; of two that are equally near, the shorter one. The others' are freed. */
#include "analyze/table_columns.h"
#include "predict/prediction.h"
#include "predict/what_if_apply.h"

#include <math.h>
#include <string.h>

#include "base/order_statistics.h"
#include "base/worker_pool.h"
#include "predict/baseline_error.h"
#include "predict/job_outline.h"
#include "predict/known_links.h"
#include "predict/prediction_interval.h"
#include "trace/run_share.h"

/* Two predictions that are as far from the median, but for rounding; a share of it.
 * Source: derived from doubles, whose relative error is 1.1e-16 an operation. If wrong, which of two equally near recordings
 * is shown depends on rounding. */
#define ROUNDING 1e-9

struct joint {
	const TachoRecording *recordings;
	guint n_recordings;
	const TachoPredictOptions *options;
	GArray *changes; /* struct change */
	TachoPrediction **predictions;
	struct job_outline *outlines;
	GError **errors;
	GPtrArray *notes; /* gchar, of recordings beside each other */
};

static void joint_init(struct joint *joint, const TachoRecording *recordings, guint n_recordings,
		       const TachoPredictOptions *options)
{
	*joint = (struct joint){ .recordings = recordings,
				 .n_recordings = n_recordings,
				 .options = options };
	joint->predictions = g_new0(TachoPrediction *, n_recordings);
	joint->outlines = g_new0(struct job_outline, n_recordings);
	joint->errors = g_new0(GError *, n_recordings);
	joint->notes = g_ptr_array_new_with_free_func(g_free);
}

static void joint_release(struct joint *joint)
{
	for (guint i = 0; i < joint->n_recordings; i++) {
		tacho_prediction_free(joint->predictions[i]);
		job_outline_release(&joint->outlines[i]);
		g_clear_error(&joint->errors[i]);
	}
	g_free(joint->predictions);
	g_free(joint->outlines);
	g_free(joint->errors);
	g_clear_pointer(&joint->notes, g_ptr_array_unref);
	g_clear_pointer(&joint->changes, g_array_unref);
}

static void build_one(guint index, gpointer data)
{
	struct joint *joint = data;
	const TachoPredictOptions *options = joint->options;

	joint->predictions[index] =
		prediction_new(joint->recordings[index].timeline, options->first_step,
			       options->last_step, &joint->errors[index]);
	if (joint->predictions[index])
		joint->predictions[index]->is_explained = options->is_explained;
	if (joint->predictions[index] && options->costs)
		known_links_use(joint->predictions[index]->graph, options->costs);
	if (joint->predictions[index] && joint->n_recordings > 1)
		job_outline_init(&joint->outlines[index], joint->predictions[index]->graph);
}

static void play_one(guint index, gpointer data)
{
	struct joint *joint = data;

	prediction_play(joint->predictions[index], joint->changes, &joint->errors[index]);
}

/* Samples are on all cores by themselves. */
static void sample_one(guint index, gpointer data)
{
	struct joint *joint = data;

	tacho_prediction_sample(joint->predictions[index], joint->options->n_samples,
				joint->options->seed, &joint->errors[index]);
}

/* Do it for each recording. The first error, in their order, names the recording where there are several. */
static gboolean for_each(struct joint *joint, WorkerTask task, gboolean on_all_cores,
			 GError **error)
{
	if (on_all_cores)
		worker_pool_run(joint->n_recordings, task, joint);
	else
		for (guint i = 0; i < joint->n_recordings; i++)
			task(i, joint);
	for (guint i = 0; i < joint->n_recordings; i++) {
		if (!joint->errors[i])
			continue;
		if (joint->n_recordings > 1)
			g_prefix_error(&joint->errors[i], "%s: ", joint->recordings[i].name);
		g_propagate_error(error, g_steal_pointer(&joint->errors[i]));
		return FALSE;
	}
	return TRUE;
}

/* All are of the job that the first is of. */
static gboolean check_jobs(struct joint *joint, GError **error)
{
	for (guint i = 1; i < joint->n_recordings; i++) {
		g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);

		if (!job_outline_check(&joint->outlines[0], &joint->outlines[i], notes, error)) {
			g_prefix_error(error, "%s is not of the same job as %s: ",
				       joint->recordings[i].name, joint->recordings[0].name);
			return FALSE;
		}
		for (guint j = 0; j < notes->len; j++)
			g_ptr_array_add(joint->notes,
					g_strdup_printf("%s differs a little from %s: %s",
							joint->recordings[i].name,
							joint->recordings[0].name,
							(const gchar *)notes->pdata[j]));
	}
	return TRUE;
}

/* The processes that have read the recording together; NULL: this one alone has. */
static TachoPeers *peers_of(const struct joint *joint)
{
	return run_share_borrow_peers(joint->recordings[0].timeline);
}

/* What others have told is in the first process's graph, which it plays alone. */
static gboolean is_played_elsewhere(const struct joint *joint)
{
	return peers_of(joint) && tacho_peers_index(peers_of(joint)) > 0;
}

static gboolean build_all(struct joint *joint, GError **error)
{
	const TachoPredictOptions *options = joint->options;

	if (peers_of(joint) && !changes_check_shared(options->what_ifs, options->n_what_ifs, error))
		return FALSE;
	joint->changes = changes_read(options->what_ifs, options->n_what_ifs, error);
	return joint->changes && for_each(joint, build_one, TRUE, error) &&
	       check_jobs(joint, error);
}

static gboolean play_all(struct joint *joint, GError **error)
{
	return for_each(joint, play_one, TRUE, error) &&
	       (joint->options->n_samples == 0 || for_each(joint, sample_one, FALSE, error));
}

/* --- as one ----------------------------------------------------------------------------------- */

static const TachoColumn columns[] = {
	TEXT_COLUMN("recording", "recording", .is_flexible = TRUE),
	INTEGER_COLUMN("steps", "steps"),
	NUMBER_COLUMN("measured_step_ms", "measured", 3),
	NUMBER_COLUMN("baseline_step_ms", "as is", 3),
	NUMBER_COLUMN("unrecorded_step_ms", "unrecorded", 3),
	NUMBER_COLUMN("predicted_step_ms", "predicted", 3),
	NUMBER_COLUMN("low_ms", "nine in ten from", 3),
	NUMBER_COLUMN("high_ms", "to ms", 3),
	JSON_BOOLEAN("is_shown"),
};

static TachoTable *list_recordings(const struct joint *joint, guint shown)
{
	TachoTable *table = tacho_table_new("recordings", columns, G_N_ELEMENTS(columns));

	for (guint i = 0; i < joint->n_recordings; i++) {
		const TachoPrediction *prediction = joint->predictions[i];

		tacho_table_row(table);
		tacho_table_text(table, joint->recordings[i].name);
		tacho_table_integer(table, prediction->n_steps);
		tacho_table_number(table, prediction->measured_step_ms);
		tacho_table_number(table, prediction->baseline_step_ms);
		tacho_table_number(table, prediction->unrecorded_step_ms);
		tacho_table_number(table, prediction->predicted_step_ms);
		tacho_table_number(table, prediction->steps_interval_ms[0]);
		tacho_table_number(table, prediction->steps_interval_ms[1]);
		tacho_table_boolean(table, i == shown);
	}
	return table;
}

/* A figure of all recordings (gdouble), by its place in the struct. */
static GArray *figures_of(const struct joint *joint, gsize offset)
{
	GArray *figures = g_array_new(FALSE, FALSE, sizeof(gdouble));

	for (guint i = 0; i < joint->n_recordings; i++)
		g_array_append_val(figures,
				   G_STRUCT_MEMBER(gdouble, joint->predictions[i], offset));
	return figures;
}

static guint nearest_to_median(const struct joint *joint, gdouble median_ms)
{
	guint best = 0;

	for (guint i = 1; i < joint->n_recordings; i++) {
		gdouble ms = joint->predictions[i]->predicted_step_ms;
		gdouble best_ms = joint->predictions[best]->predicted_step_ms;
		gdouble farther_ms = fabs(ms - median_ms) - fabs(best_ms - median_ms);

		if (fabs(farther_ms) <= ROUNDING * median_ms ? ms < best_ms : farther_ms < 0)
			best = i;
	}
	return best;
}

/* `joined` becomes those of all recordings, one after the other. */
static void join_values(const struct joint *joint, gsize offset, guint shown)
{
	GArray *joined = G_STRUCT_MEMBER(GArray *, joint->predictions[shown], offset);

	for (guint i = 0; joined && i < joint->n_recordings; i++) {
		const GArray *values = G_STRUCT_MEMBER(GArray *, joint->predictions[i], offset);

		if (i != shown)
			g_array_append_vals(joined, values->data, values->len);
	}
}

static void bound(TachoPrediction *prediction, const GArray *sorted)
{
	struct median_bounds bounds = median_bounds_of(sorted->len);

	prediction->recordings_rank = bounds.rank;
	prediction->recordings_interval_ms[0] = g_array_index(sorted, gdouble, bounds.rank - 1);
	prediction->recordings_interval_ms[1] =
		g_array_index(sorted, gdouble, sorted->len - bounds.rank);
	prediction->recordings_median_pct = 100 * bounds.median_share;
	prediction->recordings_next_pct = 100 * bounds.next_share;
}

/* A note without its figures, which differ from recording to recording. */
static gchar *gist(const gchar *note)
{
	GString *text = g_string_new(NULL);

	for (; *note; note++)
		if (!g_ascii_isdigit(*note) && *note != '.')
			g_string_append_c(text, *note);
	return g_string_free(text, FALSE);
}

static gboolean has_gist(const GPtrArray *notes, guint n_notes, const gchar *wanted)
{
	for (guint i = 0; i < n_notes; i++) {
		g_autofree gchar *known = gist(g_ptr_array_index(notes, i));

		if (strcmp(known, wanted) == 0)
			return TRUE;
	}
	return FALSE;
}

/* To the notes of the recording shown, what is to be said of another one and not of this, and of all of
 * them beside each other. */
static void take_notes(struct joint *joint, guint shown)
{
	GPtrArray *notes = joint->predictions[shown]->notes;
	guint n_notes = notes->len;

	for (guint i = 0; i < joint->n_recordings; i++) {
		const GPtrArray *others = joint->predictions[i]->notes;

		for (guint j = 0; i != shown && j < others->len; j++) {
			const gchar *note = g_ptr_array_index(others, j);
			g_autofree gchar *text = gist(note);

			if (!has_gist(notes, n_notes, text))
				g_ptr_array_add(
					notes,
					g_strdup_printf("%s: %s", joint->recordings[i].name, note));
		}
	}
	g_ptr_array_extend_and_steal(notes, g_steal_pointer(&joint->notes));
}

static const gsize medians[] = {
	G_STRUCT_OFFSET(TachoPrediction, measured_step_ms),
	G_STRUCT_OFFSET(TachoPrediction, baseline_step_ms),
	G_STRUCT_OFFSET(TachoPrediction, unrecorded_step_ms),
};

/* How many samples there are over all recordings. */
static guint32 count_samples(const struct joint *joint)
{
	guint32 n_samples = 0;

	for (guint i = 0; i < joint->n_recordings; i++)
		n_samples += joint->predictions[i]->n_samples;
	return n_samples;
}

/* The steps of all, and the samples of all. */
static void join_steps(const struct joint *joint, guint shown)
{
	TachoPrediction *prediction = joint->predictions[shown];

	join_values(joint, G_STRUCT_OFFSET(TachoPrediction, predicted_steps), shown);
	prediction_set_interval(prediction->steps_interval_ms, prediction->predicted_steps);
	join_values(joint, G_STRUCT_OFFSET(TachoPrediction, sample_medians), shown);
	if (prediction->sample_medians)
		prediction_set_interval(prediction->median_interval_ms, prediction->sample_medians);
	prediction->n_samples = count_samples(joint);
}

static TachoPrediction *join(struct joint *joint)
{
	g_autoptr(GArray) predicted =
		figures_of(joint, G_STRUCT_OFFSET(TachoPrediction, predicted_step_ms));
	gdouble median_ms = median_of_doubles(predicted);
	guint shown = nearest_to_median(joint, median_ms);
	TachoPrediction *prediction = joint->predictions[shown];

	for (guint i = 0; i < joint->n_recordings; i++)
		baseline_error_add_recording(prediction, joint->recordings[i].name,
					     joint->predictions[i]->measured_step_ms,
					     joint->predictions[i]->baseline_step_ms);
	prediction->recordings = list_recordings(joint, shown);
	prediction->shown_recording = g_strdup(joint->recordings[shown].name);
	take_notes(joint, shown);
	join_steps(joint, shown);
	for (guint i = 0; i < G_N_ELEMENTS(medians); i++) {
		g_autoptr(GArray) figures = figures_of(joint, medians[i]);

		G_STRUCT_MEMBER(gdouble, prediction, medians[i]) = median_of_doubles(figures);
	}
	prediction->predicted_step_ms = median_ms;
	bound(prediction, predicted);
	prediction_bound(prediction);
	prediction_set_error(prediction);
	joint->predictions[shown] = NULL;
	return prediction;
}

TachoPrediction *tacho_predict_together(const TachoRecording *recordings, guint n_recordings,
					const TachoPredictOptions *options, GError **error)
{
	TachoPrediction *prediction = NULL;
	struct joint joint;

	joint_init(&joint, recordings, n_recordings, options);
	if (build_all(&joint, error) && !is_played_elsewhere(&joint) && play_all(&joint, error)) {
		if (n_recordings > 1)
			prediction = join(&joint);
		else
			prediction = g_steal_pointer(&joint.predictions[0]);
		prediction_explain(prediction);
	}
	joint_release(&joint);
	return prediction;
}
