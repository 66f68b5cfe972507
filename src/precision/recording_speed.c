#include "precision/recording_speed.h"

#include <math.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "base/weighted_median.h"

/* How much slower or faster a machine may have been between recordings.
 * Source: a rule: a machine that others share has been a third as fast as alone. If wrong, two recordings of unlike machines are taken for
 * one's. */
#define MAX_SPEED 4.0
/* The standard deviation of what all pieces of the same work share though the machine was as fast, a logarithm.
 * Source: fitted on recordings of the model mlp of validate/precision_models.py, whose fixed operations were up to 15 % shorter in bf16 while the
 * machine was as fast: that is one of these. If wrong, a machine that was slower by less goes into the costs, or what caches do is taken for a slow
 * machine. */
#define SHARED_ERROR 0.136
/* The share of a step from which on it does not matter how much of it the pieces are.
 * Source: a rule: the fixed operations of the six models of validate/precision_models.py are a tenth to a third. If wrong, few small operations tell
 * how fast a machine was, or many do not. */
#define ENOUGH_SHARE 0.15
/* Beyond so many standard deviations it is no chance. Source: derived from a normal distribution, nine in ten of which are within. */
#define BEYOND_CHANCE 1.645
/* Pieces that tell the speed, at least.
 * Source: a rule: the median of fewer is chance. If wrong, a recording keeps its own pace. */
#define LEAST_SAME 4u
/* From median distance to standard deviation. Source: derived from a normal distribution, as in quantile.h. */
#define DEVIATIONS 1.4826

/* [0, 1]: how much of a logarithm counts that is so many times what chance makes. */
static gdouble certainty(gdouble times)
{
	return CLAMP(times - 1, 0, 1);
}

static GArray *logarithms(const GArray *pieces)
{
	GArray *ratios = g_array_new(FALSE, FALSE, sizeof(struct weighted));

	FOR_EACH(const struct same_work, piece, pieces) {
		struct weighted ratio;

		if (piece->own_ns <= 0 || piece->other_ns <= 0)
			continue;
		ratio = (struct weighted){ log(piece->own_ns / piece->other_ns), piece->other_ns };
		g_array_append_val(ratios, ratio);
	}
	return ratios;
}

/* (1): of the median of the ratios, which are used up. */
static gdouble error_of_median(GArray *ratios, gdouble median)
{
	gdouble sum = 0, squares = 0;

	FOR_EACH(struct weighted, ratio, ratios) {
		ratio->value = fabs(ratio->value - median);
		sum += ratio->weight;
		squares += ratio->weight * ratio->weight;
	}
	return MEDIAN_ERROR * DEVIATIONS *
	       weighted_median((struct weighted *)ratios->data, ratios->len) * sqrt(squares) / sum;
}

struct recording_speed recording_speed_of(const GArray *pieces, gdouble whole_ns)
{
	g_autoptr(GArray) ratios = logarithms(pieces);
	struct recording_speed speed = { .seen = 1, .applied = 1 };
	gdouble same_ns = 0, median, own_error, shared_error;

	if (ratios->len < LEAST_SAME)
		return speed;
	FOR_EACH(const struct weighted, ratio, ratios)
		same_ns += ratio->weight;
	median = weighted_median((struct weighted *)ratios->data, ratios->len);
	own_error = error_of_median(ratios, median);
	median = CLAMP(median, -log(MAX_SPEED), log(MAX_SPEED));
	shared_error = SHARED_ERROR / sqrt(MIN(same_ns / MAX(whole_ns, same_ns) / ENOUGH_SHARE, 1));
	speed.is_known = TRUE;
	speed.seen = exp(median);
	speed.error = hypot(own_error, shared_error);
	speed.applied = exp(median * certainty(fabs(median) / (BEYOND_CHANCE * speed.error)));
	return speed;
}

gdouble recording_excess_left(gdouble step_ns, gdouble control_ns, gdouble error)
{
	gdouble left = step_ns > 0 && control_ns > 0 ? log(step_ns / control_ns) : 0;

	left = CLAMP(left, 0, log(MAX_SPEED));
	if (left <= 0)
		return 1;
	return exp(left * (error > 0 ? certainty(left / (BEYOND_CHANCE * error)) : 1));
}
