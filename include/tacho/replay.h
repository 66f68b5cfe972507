/* replay: when each node of a graph would run, and what would be different if.
 *
 * A replay is deterministic: the same graph gives the same times. It ends on every graph; one that
 * cannot be played to its end is an error that says why. docs/replay.md describes what is modelled
 * and what is not. */
#ifndef TACHO_REPLAY_H
#define TACHO_REPLAY_H

#include <tacho/cost.h>
#include <tacho/graph.h>
#include <tacho/table.h>

G_BEGIN_DECLS

typedef struct _TachoReplay TachoReplay;

/* Play the graph, which must outlive the result.
 * TACHO_GRAPH_ERROR_CYCLE: ranks queued their collectives in orders that block each other. */
TachoReplay *tacho_replay_run(const TachoGraph *graph, GError **error);
void tacho_replay_free(TachoReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoReplay, tacho_replay_free)

/* Times of a node since the graph's begin. */
gint64 tacho_replay_begin_ns(const TachoReplay *replay, guint32 node);
gint64 tacho_replay_end_ns(const TachoReplay *replay, guint32 node);

/* Change the graph as one what-if says; docs/what-if.md is the language.
 * TACHO_GRAPH_ERROR_WHAT_IF: not understood, or it does not fit; the graph is then unchanged. */
gboolean tacho_graph_what_if(TachoGraph *graph, const gchar *what_if, GError **error);

/* How each what-if begins, its key with the '=' or ':' behind it, NULL-terminated; the library's. */
const gchar *const *tacho_what_if_words(void);

/* The what-ifs in a file, one a line; empty lines and those that begin with '#' say nothing. To be freed
 * with g_strfreev(). Not a file (G_FILE_ERROR), or not text: TACHO_GRAPH_ERROR_WHAT_IF. */
gchar **tacho_what_ifs_read(const gchar *path, GError **error);

/* By how much the median step would be shorter if one thing were 1 % faster: work of each kind and name, of each rank, the
 * links' bandwidth and latency. A row a thing, the largest gain first, with "what", "name", "pieces", "busy_ms" (a step; of
 * work, the mean over ranks), "gain_ms", "gain_pct", and "felt_pct": how much of the time that the thing saves the step is
 * shorter by. The caller's. TACHO_GRAPH_ERROR_CYCLE: it cannot be played. */
TachoTable *tacho_replay_sensitivity(const TachoGraph *graph, GError **error);

/* What a recording says about a change. */
typedef struct {
	guint32 n_ranks, n_steps, first_step, last_step; /* control steps between are not in it */
	gdouble measured_step_ms;   /* median over the steps of the mean over ranks */
	gdouble baseline_step_ms;   /* the same of the replay of what was recorded */
	gdouble unrecorded_step_ms; /* the same without what recording took */
	gdouble predicted_step_ms;  /* the same with the what-ifs, too */
	/* Nine in ten runs that are not recorded have their median step in it: by how far steps and recordings differ, and by how
	 * far the model is off. Not from one step alone. */
	gboolean has_interval;
	gdouble interval_ms[2];
	gdouble model_error; /* so far off are nine in ten predictions at most: the logarithm of measured to predicted; ... */
	gboolean is_error_measured; /* ... of such changes, and not only of others */
	gdouble kernel_doubt_ms
		[2]; /* a step's kernels may take so much less, and so much more, by what is not known of their work */
	gdouble steps_interval_ms[2];  /* 5 % and 95 % quantiles of the predicted steps */
	guint32 n_samples;	       /* replays with drawn durations; 0: none were */
	guint64 seed;		       /* of these */
	gdouble median_interval_ms[2]; /* the same quantiles of the samples' median steps */
	gdouble error_pct;	       /* baseline against measured, of measured */
	/* Where the baseline is off by more than 2 %, of this recording or of another one: which recordings, ranks and steps are,
	 * a row each with "what", "name", "measured_ms", "replayed_ms" and "error_pct"; what that means; and what to do next. Else
	 * NULL. */
	TachoTable *baseline_errors;
	gchar *baseline_warning, *baseline_advice;
	gdouble recording_share;  /* of the work: what recording took */
	gint64 peak_memory_bytes; /* as recorded, of the fullest memory of a rank; -1: not known */
	/* The same within the steps replayed: as recorded, and with the what-ifs, of which rank and memory. */
	gint64 baseline_peak_memory_bytes, predicted_peak_memory_bytes;
	gint32 peak_rank;
	gchar *peak_memory; /* "host", "gpu 0"; NULL: not known */
	/* The share of the time with kernels on a device in which several run: as recorded, and predicted. What
	 * they then take from each other more than recorded is not predicted. */
	gdouble baseline_kernel_overlap_pct, predicted_kernel_overlap_pct;
	guint32 path_step; /* the step that the critical path is of ... */
	gboolean
		path_ends_on_device; /* ... which is over only when a device is, later than its host */
	guint32 n_device_bound_steps; /* that are so, of all those predicted */
	/* Where path_step comes from, only with TachoPredictOptions.is_explained, else NULL: a row a resource on its critical
	 * path, with what that has of the step before the changes and after them, and of that what is measured, scaled,
	 * modelled and guessed; the first row is the whole (docs/replay.md). */
	TachoTable *explanation;
	TachoTable *critical_path; /* in order of time; its times add up to the step */
	TachoTable *path_summary;  /* the same by what it is */
	TachoTable *utilisation;   /* of threads and links, over all steps */
	/* What holds that memory at its predicted peak, how much of it is held over time, and the predicted peaks of all
	 * memories; NULL: not known. */
	TachoTable *peak_owners, *memory_curve, *memory_peaks;
	TachoTable *jobs;	 /* those put beside, a row each; NULL: none were */
	TachoTable *sensitivity; /* NULL; who has asked for it may put it here, for the JSON */
	GPtrArray *notes;	 /* gchar */
	TachoGraph *graph;	 /* with the what-ifs */
	TachoReplay *replay;	 /* of it */
	GArray *predicted_steps; /* gint64, ns: those that steps_interval_ms is of */
	GArray *sample_medians;	 /* the same of median_interval_ms; NULL: no samples */
	gboolean is_changed;	 /* there were what-ifs */
	gboolean is_explained;	 /* as asked for */
	struct path_shares *paths_before; /* of all steps, before the changes; or NULL */
	/* Set by tacho_prediction_unfold(); ranks are 0 before it. */
	guint32 unfolded_ranks, unfolded_pieces;
	gdouble unfolded_step_ms;
	/* Set by tacho_predict_together(), where there are several recordings; else NULL and 0. */
	TachoTable *recordings; /* a row each, in the order given */
	gchar *shown_recording; /* whose graph, critical path, memory and so on these are */
	/* The interval from the recordings_rank-th least of the recordings' predicted steps (1: the least) to the
	 * recordings_rank-th greatest, and how probable it is that it holds the median of all recordings that could be
	 * made, and the next one. */
	guint recordings_rank;
	gdouble recordings_interval_ms[2];
	gdouble recordings_median_pct, recordings_next_pct;
} TachoPrediction;

/* Build the graph of the steps (-1, -1: all but the first, which is warm-up, where there are more),
 * play it, change it, play it again. The timeline is correlated and must outlive the result. */
TachoPrediction *tacho_predict(TachoTimeline *timeline, const gchar *const *what_ifs,
			       guint n_what_ifs, gint64 first_step, gint64 last_step,
			       GError **error);

/* A recording of a job, called so in messages. The timeline is correlated and must outlive the prediction. */
typedef struct {
	const gchar *name;
	TachoTimeline *timeline;
} TachoRecording;

typedef struct {
	const gchar *const *what_ifs; /* made one after the other */
	guint n_what_ifs;
	gint64 first_step, last_step; /* as of tacho_predict() */
	guint32 n_samples; /* of each recording, as of tacho_prediction_sample(); 0: none */
	guint64 seed;
	gboolean is_explained; /* with TachoPrediction.explanation */
	const TachoCostModel
		*costs; /* of communication, where the recording does not tell it; or NULL */
} TachoPredictOptions;

/* Predict from `n_recordings` (1 or more) of one job, made one after the other, each by itself and on all cores.
 * Step times are then medians over the recordings of theirs; steps_interval_ms and median_interval_ms are over the steps and
 * samples of all of them; all else is of the recording whose predicted step is nearest to the median, of two the
 * shorter. Recordings of other ranks, or of other work than the first: TACHO_GRAPH_ERROR_OTHER_JOB, or a
 * note where they differ little. With several recordings, the message of an error names the one that caused it.
 *
 * One recording, not several, may have been read by several processes together (tacho/peers.h): they then all call this, and
 * the first has the prediction; the others have NULL, and no error where they have done their part. What-ifs that ask what
 * operations did: TACHO_GRAPH_ERROR_WHAT_IF. */
TachoPrediction *tacho_predict_together(const TachoRecording *recordings, guint n_recordings,
					const TachoPredictOptions *options, GError **error);

/* Play the graph, with its what-ifs, `n_samples` times (1 or more) with durations drawn from those that each
 * piece of work was measured with in other steps, on all cores: predicted_step_ms and steps_interval_ms are then of
 * the steps of all samples, whatever the number of cores. TACHO_GRAPH_ERROR_NO_STEPS: there is but one;
 * TACHO_GRAPH_ERROR_CYCLE: no sample could be played. */
gboolean tacho_prediction_sample(TachoPrediction *prediction, guint32 n_samples, guint64 seed,
				 GError **error);

/* Play what was predicted once more, with each rank asked for by itself instead of those recorded alone: as many ranks,
 * with so many pieces of work, have the same step. TACHO_GRAPH_ERROR_SIZE, TACHO_GRAPH_ERROR_WHAT_IF: the message
 * says why not. */
gboolean tacho_prediction_unfold(TachoPrediction *prediction, GError **error);
void tacho_prediction_free(TachoPrediction *prediction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPrediction, tacho_prediction_free)

/* One JSON object: the members above under their names (docs/json.md). */
void tacho_prediction_print_json(const TachoPrediction *prediction, FILE *out);

/* The replay as a timeline beside what was measured: for each rank a process of its own, whose
 * command is "replayed", with the same slices where the replay has them. The caller's. */
TachoTimeline *tacho_replay_timeline(const TachoReplay *replay);

G_END_DECLS

#endif
