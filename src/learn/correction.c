#include "learn/correction.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

static void correction_clear(gpointer data)
{
	struct correction *correction = data;

	g_free(correction->host);
	g_free(correction->device);
	g_free(correction->change);
}

GArray *corrections_new(void)
{
	GArray *corrections = g_array_new(FALSE, TRUE, sizeof(struct correction));

	g_array_set_clear_func(corrections, correction_clear);
	return corrections;
}

void corrections_add(GArray *corrections, struct correction *correction)
{
	if (corrections->len >= CORRECTIONS_MAX)
		g_array_remove_index(corrections, 0);
	g_array_append_val(corrections, *correction);
}

static gdouble difference_of(const struct correction *correction)
{
	return log((1 - correction->measured_pct / 100) / (1 - correction->predicted_pct / 100));
}

static gboolean is_of(const struct correction *correction, const gchar *host, const gchar *device,
		      const gchar *change)
{
	return strcmp(correction->host, host) == 0 && strcmp(correction->device, device) == 0 &&
	       strcmp(correction->change, change) == 0;
}

struct correction_bias corrections_bias(const GArray *corrections, const gchar *host,
					const gchar *device, const gchar *change)
{
	struct correction_bias bias = { 0 };
	gdouble sum = 0, squares;

	FOR_EACH(const struct correction, correction, corrections)
		if (is_of(correction, host, device, change)) {
			sum += difference_of(correction);
			bias.n++;
		}
	if (bias.n == 0)
		return bias;
	bias.log_mean = sum / (bias.n + 1);
	squares = bias.log_mean * bias.log_mean;
	FOR_EACH(const struct correction, correction, corrections)
		if (is_of(correction, host, device, change))
			squares += pow(difference_of(correction) - bias.log_mean, 2);
	bias.log_spread = sqrt(squares / (bias.n + 1));
	return bias;
}
