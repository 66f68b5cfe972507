/* fuzz_precision_statistics: whatever bytes as statistics; what every indicator says of those that are taken is finite or said to be
 * missing. */
#include <math.h>

#include "fuzz_input.h"
#include "precision/indicator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrecisionStatistics) statistics =
		precision_statistics_parse((const gchar *)data, n, &error);
	g_autoptr(Indicator) indicator = NULL;
	const gchar *name, *text;

	if (!statistics) {
		g_assert_nonnull(error);
		return 0;
	}
	indicator = indicator_new(statistics, NULL);
	for (guint32 i = 0; i < MIN(statistics->operations->len, 64u); i++)
		for (guint k = 0; k < N_INDICATORS; k++)
			for (guint f = 0; f < N_NUMBER_FORMATS; f++) {
				struct indicator_harm harm =
					indicator_harm_of(indicator, (enum indicator_kind)k, i,
							  (enum number_format)f);
				g_autofree gchar *reason =
					indicator_reason(indicator, i, (enum number_format)f);

				g_assert_nonnull(reason);
				if (!(harm.harm >= 0))
					FUZZ_FAIL("a harm is %g", harm.harm);
			}
	for (guint k = 0; (name = tacho_precision_indicator(k, &text)); k++) {
		g_autoptr(TachoTable) table =
			tacho_precision_indicator_table(statistics, NULL, name, NULL);

		g_assert_nonnull(table);
	}
	return 0;
}
