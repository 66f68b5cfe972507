/* fuzz_casts: whatever bytes as a file of casts. What is taken gives times that are positive, finite, and rise with the size. */
#include <math.h>

#include "fuzz_input.h"
#include "precision/casts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(casts) casts = casts_parse((const gchar *)data, n, &error);

	if (!casts) {
		g_assert_nonnull(error);
		return 0;
	}
	tacho_table_free(casts_table(casts));
	for (guint from = 0; from < N_NUMBER_FORMATS; from++)
		for (guint to = 0; to < N_NUMBER_FORMATS; to++) {
			gdouble before = -1;

			for (gdouble elements = 1; elements < 1e12; elements *= 7) {
				gdouble ns = casts_ns(casts, from, to, elements, NULL);

				if (ns < 0 && before < 0) /* nobody has measured any */
					break;
				if (!isfinite(ns) || ns < before * (1 - 1e-9))
					FUZZ_FAIL(
						"a cast of %g numbers takes %g ns, one of fewer %g",
						elements, ns, before);
				before = ns;
			}
		}
	return 0;
}
