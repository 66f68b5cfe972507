/* loss_effect: losses fall while a job trains, so runs are compared pass by pass: pass i of one has seen as many samples as pass i of the
 * other, also where several passes make an update. What is told is the end of the curve, where an effect would have added up; runs of
 * the same job without the plan tell what chance does to it. */
#include "loss_effect.h"

#include <math.h>

/* The end of the curve. */
#define LAST_PART 4

static guint fewest_passes(const GPtrArray *runs, guint n)
{
	for (guint i = 0; i < runs->len; i++)
		n = MIN(n, ((const GArray *)runs->pdata[i])->len);
	return n;
}

static gdouble loss_at(const GPtrArray *runs, guint run, guint pass)
{
	return g_array_index((const GArray *)runs->pdata[run], gdouble, pass);
}

static gdouble end_of(const GPtrArray *runs, guint run, guint n_passes)
{
	guint first = n_passes - MAX(n_passes / LAST_PART, 1);
	gdouble sum = 0;

	for (guint i = first; i < n_passes; i++)
		sum += loss_at(runs, run, i);
	return sum / (n_passes - first);
}

static gdouble mean_end(const GPtrArray *runs, guint n_passes)
{
	gdouble sum = 0;

	for (guint run = 0; run < runs->len; run++)
		sum += end_of(runs, run, n_passes);
	return sum / runs->len;
}

static gdouble spread_of(const GPtrArray *runs, guint n_passes)
{
	gdouble least = INFINITY, greatest = -INFINITY;

	for (guint run = 0; run < runs->len; run++) {
		gdouble end = end_of(runs, run, n_passes);

		least = MIN(least, end);
		greatest = MAX(greatest, end);
	}
	return greatest - least;
}

/* Both are the whole curve. */
static gboolean are_equal(const GArray *a, const GArray *b)
{
	if (a->len != b->len)
		return FALSE;
	for (guint i = 0; i < a->len; i++)
		if (g_array_index(a, gdouble, i) < g_array_index(b, gdouble, i) ||
		    g_array_index(a, gdouble, i) > g_array_index(b, gdouble, i))
			return FALSE;
	return TRUE;
}

static gboolean is_one_of(const GArray *run, const GPtrArray *runs)
{
	for (guint i = 0; i < runs->len; i++)
		if (are_equal(run, runs->pdata[i]))
			return TRUE;
	return FALSE;
}

LossEffect loss_effect_of(const GPtrArray *baselines, const GPtrArray *planned)
{
	LossEffect effect = { .is_equal = TRUE };

	if (baselines->len == 0 || planned->len == 0)
		return (LossEffect){ 0 };
	effect.n_passes = fewest_passes(planned, fewest_passes(baselines, G_MAXUINT));
	if (effect.n_passes == 0)
		return (LossEffect){ 0 };
	effect.baseline = mean_end(baselines, effect.n_passes);
	effect.planned = mean_end(planned, effect.n_passes);
	effect.spread = spread_of(baselines, effect.n_passes);
	for (guint i = 0; i < planned->len; i++)
		effect.is_equal &= is_one_of(planned->pdata[i], baselines);
	return effect;
}

gdouble loss_effect_pct(const LossEffect *effect)
{
	gdouble size = fabs(effect->baseline);

	return size > 0 ? 100 * (effect->planned - effect->baseline) / size : NAN;
}

void loss_effect_print(const LossEffect *effect, FILE *out)
{
	gdouble pct = loss_effect_pct(effect);

	if (effect->n_passes == 0) {
		fprintf(out, "loss            not known: no backward pass began at one number\n");
		return;
	}
	if (effect->is_equal) {
		fprintf(out, "loss            the same to the last bit in %u passes\n",
			effect->n_passes);
		return;
	}
	fprintf(out, "loss            %.6g as it is, %.6g with the plan", effect->baseline,
		effect->planned);
	if (isfinite(pct))
		fprintf(out, " (%+.3g %%)", pct);
	fprintf(out, ", the last quarter of %u passes; runs as it is differ by %.3g\n",
		effect->n_passes, effect->spread);
}

static void print_number(const gchar *name, gdouble number, FILE *out)
{
	if (isfinite(number))
		fprintf(out, ",\"%s\":%.17g", name, number);
	else
		fprintf(out, ",\"%s\":null", name);
}

void loss_effect_print_json(const LossEffect *effect, FILE *out)
{
	if (effect->n_passes == 0) {
		fputs("null", out);
		return;
	}
	fprintf(out, "{\"passes\":%u,\"is_equal\":%s", effect->n_passes,
		effect->is_equal ? "true" : "false");
	print_number("baseline", effect->baseline, out);
	print_number("planned", effect->planned, out);
	print_number("difference_pct", loss_effect_pct(effect), out);
	print_number("baseline_spread", effect->spread, out);
	fputc('}', out);
}
