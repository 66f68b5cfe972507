/* pass_batch: more samples a step, as far as the memory holds them. The step is held against the present one for as many samples. */
#include "optimize/optimizing.h"

static const gchar *const how = "by hand: DataLoader(batch_size=N)";

/* The memory is known, and with F times the samples it holds more than it may. */
static gboolean is_too_large(const struct optimizing *optimizing, guint factor)
{
	g_autofree gchar *what_if = g_strdup_printf("batch=%ux", factor);
	g_autoptr(TachoPrediction) prediction = NULL;
	guint64 most = optimizing->options->memory_bytes;

	if (most == 0)
		return FALSE;
	prediction = optimizing_predict(optimizing, what_if, NULL);
	return prediction && prediction->predicted_peak_memory_bytes > 0 &&
	       (guint64)prediction->predicted_peak_memory_bytes > most;
}

void pass_batch(struct optimizing *optimizing)
{
	static const guint factors[] = { 2, 4, 8 };

	if (!(optimizing->options->allowed & TACHO_ALLOW_BATCH))
		return;
	for (guint i = 0; i < G_N_ELEMENTS(factors) && !optimizing_is_over(optimizing); i++) {
		if (is_too_large(optimizing, factors[i])) {
			optimizing_note(optimizing,
					"%u times the samples a step would need more memory than "
					"there is",
					factors[i]);
			return;
		}
		optimizing_propose_what_if(
			optimizing, g_strdup_printf("batch=%ux", factors[i]),
			g_strdup_printf("%u times the samples a step, for as many samples as now",
					factors[i]),
			factors[i], "memory for them; results change", how);
	}
}
