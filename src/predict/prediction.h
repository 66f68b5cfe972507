/* prediction: tacho_predict() in its three parts, for who does something between them, and what it is composed of. */
#ifndef TACHO_PREDICTION_H
#define TACHO_PREDICTION_H

#include "analyze/table_columns.h"
#include "replay/replay_internal.h"

/* The graph of the steps, not played yet. The caller's, to end with tacho_prediction_free(). */
TachoPrediction *prediction_new(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
				GError **error);

/* All figures but those of the explanation, with the changes (what_if_apply.h); only once. On an error the prediction is good for nothing but
 * to be freed. */
gboolean prediction_play(TachoPrediction *prediction, const GArray *changes, GError **error);

/* The critical path, who is busy, who holds memory; only once, when it has been played. */
void prediction_explain(TachoPrediction *prediction);

/* The baseline against what was measured. */
void prediction_set_error(TachoPrediction *prediction);

/* The 5 % and 95 % quantiles of times (gint64, ns), in milliseconds; sorts them. */
void prediction_set_interval(gdouble interval_ms[2], GArray *values);

/* What every table of parts of a critical path has. */
#define PATH_PART_COLUMNS                                                                          \
	TEXT_COLUMN("what", "what"), NAME_COLUMN("name", "name"),                                  \
		INTEGER_COLUMN("pieces", "pieces"), NUMBER_COLUMN("duration_ms", "ms", 3),         \
		SHARE_COLUMN("share_pct", "%", 1)

/* The critical path of a step, of the rank that ends last, and its parts by what they are; whether it ends with
 * what a device does. */
void replay_critical_path(const TachoReplay *replay, guint32 step, TachoTable **ret_path,
			  TachoTable **ret_summary, gboolean *ret_is_device);
TachoTable *replay_utilisation(const TachoReplay *replay);

/* The graph of the steps, of all but the first where neither end is given (< 0) and there are more. */
TachoGraph *replay_build_graph(TachoTimeline *timeline, gint64 first_step, gint64 last_step,
			       GError **error);

/* Other jobs put beside this one (edit/what_if_jobs.c): how many times as many rounds of them are needed, at the pace they
 * had, for each to outlast this one: a power of two. 1: they did. */
guint32 replay_guests_need(const TachoReplay *replay);
/* A row a guest: "run", "ranks", "offset_ms", "alone_step_ms" and "predicted_step_ms" (beside this job) of its steps
 * that were over before this job, "steps" (how many these are). NULL: there are no guests. */
TachoTable *replay_guest_steps(const TachoReplay *replay);

/* Take what recording cost out of the work; `ret_share` is how much of it that was. `recorded` is the replay of
 * the graph as it is; NULL: it is played here, where it is needed. */
gboolean replay_take_out_recording(TachoGraph *graph, const TachoReplay *recorded,
				   gdouble *ret_share, GError **error);

/* The largest sum of one memory handed out and not yet given back in a rank's main process, or -1 where
 * nothing was recorded. */
gint64 peak_memory_bytes(const TachoGraph *graph);

#endif
