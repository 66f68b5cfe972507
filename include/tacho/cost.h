/* cost: how long operations and collectives take, as learned of recordings, tables and measurements; and by how much predictions of plans
 * were off where the plans were measured. A model is a file of JSON (docs/cost-models.md), which is read without running anything. */
#ifndef TACHO_COST_H
#define TACHO_COST_H

#include <stdio.h>

#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

typedef struct cost_model TachoCostModel;

TachoCostModel *tacho_cost_model_new(void);
void tacho_cost_model_free(TachoCostModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoCostModel, tacho_cost_model_free)

/* G_FILE_ERROR: there is no such file, or it is no model of this version; the message names file and byte. */
TachoCostModel *tacho_cost_model_open(const gchar *path, GError **error);
void tacho_cost_model_write(const TachoCostModel *model, FILE *out);

/* Operations and collectives of a correlated run, called `source`. Until tacho_cost_model_train(). */
void tacho_cost_model_add_run(TachoCostModel *model, const TachoTimeline *timeline,
			      const gchar *source);
/* Operations of a table, a CSV file (docs/cost-models.md). */
gboolean tacho_cost_model_add_table(TachoCostModel *model, const gchar *path, GError **error);
/* Communication and corrections of another model. */
void tacho_cost_model_add_known(TachoCostModel *model, const TachoCostModel *other);

typedef struct {
	guint n_trees, depth, min_rows;
	gdouble rate;
} TachoCostTraining;
TachoCostTraining tacho_cost_training_default(void);

/* Fit everything to what was added, once, and hold it against what was held out. */
void tacho_cost_model_train(TachoCostModel *model, const TachoCostTraining *how);
/* All distinct calls, as such a table. Of a trained model. */
void tacho_cost_model_write_calls(const TachoCostModel *model, FILE *out);

/* What is known, as tables for text and JSON; the caller's.
 * classes: a row a class, way and what was held out, with "class", "held_out", "by", "calls", "mean_error_pct", "median_error_pct".
 * sources, devices, communication and corrections: docs/json.md. */
TachoTable *tacho_cost_model_classes(const TachoCostModel *model);
TachoTable *tacho_cost_model_sources(const TachoCostModel *model);
TachoTable *tacho_cost_model_devices(const TachoCostModel *model);
TachoTable *tacho_cost_model_communication(const TachoCostModel *model);
TachoTable *tacho_cost_model_corrections(const TachoCostModel *model);

/* An operation that is asked for: shapes of its inputs as in "[[8,16],[16,4]]", type of its numbers as in "fp16". Operations that one
 * kernel does together are joined by '+', and their shapes by ';'. */
typedef struct {
	const gchar *op, *shapes, *type, *device;
	const gchar *
		by; /* "table", "roofline", "nearest", "trees"; NULL: what was least off on what was held out */
} TachoCostQuestion;

/* A row with "op", "shapes", "type", "device", "class", "by", "time_us", "error_pct" (mean, on what was held out; null: not known), and by
 * each way "table_us" and so on. The device is one of the model's, or one that docs/what-if.md names. NULL: the error says what is not
 * known. */
TachoTable *tacho_cost_predict(TachoCostModel *model, const TachoCostQuestion *question,
			       GError **error);
/* The same of all rows of a table with the columns device, op, shapes and type, and with "measured_us" of its time_us. */
TachoTable *tacho_cost_predict_table(TachoCostModel *model, const gchar *path, const gchar *by,
				     GError **error);
/* A row for each distinct operation of a correlated run, with "count", "measured_us" and "time_us" on the device: what it took times what
 * the model says of both devices; where it is the device of the run, what the model says. */
TachoTable *tacho_cost_predict_run(TachoCostModel *model, const TachoTimeline *timeline,
				   const gchar *device, const gchar *by, GError **error);

/* --- communication --------------------------------------------------------------------------------- */

/* A collective that was measured, of `n` sizes: bytes of one rank's input, the median time in us, of how many. FALSE: there is no such
 * operation, or a figure cannot be. */
gboolean tacho_cost_model_add_collective(TachoCostModel *model, const gchar *host,
					 const gchar *backend, const gchar *operation,
					 guint n_ranks, const guint64 *bytes,
					 const gdouble *time_us, const guint64 *counts, guint n,
					 GError **error);

/* --- corrections ----------------------------------------------------------------------------------- */

/* Where a run was recorded: the host of its first rank, and its device, or "cpu". Both are the timeline's. */
void tacho_cost_place(const TachoTimeline *timeline, const gchar **ret_host,
		      const gchar **ret_device);

typedef struct {
	const gchar *host, *device;
	const gchar *change;	    /* kinds of changes in the plan, joined by '+' */
	gdouble predicted_gain_pct; /* before any correction */
	gdouble measured_gain_pct, low_gain_pct, high_gain_pct;
	guint n_pairs;
	gint64 unix_s;
} TachoCostDifference;

/* FALSE: a figure of it is no number, or 100 or more, and it is not taken. */
gboolean tacho_cost_model_add_difference(TachoCostModel *model,
					 const TachoCostDifference *difference);
/* What a predicted step with such a plan is to be multiplied by, and the spread of that as a logarithm; the number of plans that were
 * measured, 0: 1 and 0. */
guint tacho_cost_model_bias(const TachoCostModel *model, const gchar *host, const gchar *device,
			    const gchar *change, gdouble *ret_factor, gdouble *ret_log_spread);

/* Where corrections are kept if nothing else is said: $XDG_STATE_HOME/tacho/cost.json. The caller's. */
gchar *tacho_cost_default_path(void);

G_END_DECLS

#endif
