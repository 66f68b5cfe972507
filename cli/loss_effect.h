/* loss_effect: what a plan does to a job's losses, from runs with it and without. */
#ifndef TACHO_LOSS_EFFECT_H
#define TACHO_LOSS_EFFECT_H

#include <glib.h>
#include <stdio.h>

typedef struct {
	guint n_passes; /* backward passes that all runs have; 0: no losses are known */
	gboolean
		is_equal; /* every loss of every run with the plan is to the last bit that of a run without */
	/* The mean over the last quarter of the passes, and over the runs. */
	gdouble baseline, planned;
	gdouble spread; /* of that of runs without the plan: the greatest less the least */
} LossEffect;

/* Losses of runs (GArray of gdouble, one a backward pass) without the plan and with it. */
LossEffect loss_effect_of(const GPtrArray *baselines, const GPtrArray *planned);
/* By how much of the baseline's the planned loss is greater, %; NAN: that is 0. */
gdouble loss_effect_pct(const LossEffect *effect);

/* A line of text; an object of JSON, or null. */
void loss_effect_print(const LossEffect *effect, FILE *out);
void loss_effect_print_json(const LossEffect *effect, FILE *out);

#endif
