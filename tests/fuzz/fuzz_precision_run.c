/* fuzz_precision_run: whatever bytes as the operations of a run. What is taken is in order, and its numbers are within their limits. */
#include <string.h>

#include "fuzz_input.h"
#include "precision/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(identity) identity = identity_parse((const gchar *)data, n, &error);

	if (!identity) {
		g_assert_nonnull(error);
		return 0;
	}
	for (guint32 i = 0; i < identity->operations->len; i++) {
		const struct identity_operation *own = identity_at(identity, i);

		if (!own->module || !own->kind || own->n_calls == 0 ||
		    own->first_input + own->n_inputs > identity->inputs->len)
			FUZZ_FAIL("operation %u is not whole", i);
		if (!(own->weight >= 0 && own->weight <= IDENTITY_MAX_ELEMENTS))
			FUZZ_FAIL("operation %u has a weight of %g", i, own->weight);
		for (guint32 k = 0; k < own->n_inputs; k++) {
			guint32 from = identity_input_at(identity, own->first_input + k)->producer;

			if (from != IDENTITY_OUTSIDE && from >= i)
				FUZZ_FAIL("operation %u reads what %u makes", i, from);
		}
	}
	return 0;
}
