/* fuzz_plan_bits: whatever bytes as a bit plan of QSync's. One that is taken is written and read again as the same. */
#include <string.h>

#include "fuzz_input.h"
#include "precision/plan_bits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) bits = plan_bits_parse(data, n, &error);
	g_autoptr(GArray) again = NULL;
	g_autoptr(GByteArray) bytes = NULL;

	if (!bits) {
		g_assert_nonnull(error);
		return 0;
	}
	bytes = plan_bits_bytes(bits);
	again = plan_bits_parse(bytes->data, bytes->len, &error);
	if (!again || again->len != bits->len)
		FUZZ_FAIL("what was written is read as another plan");
	for (guint i = 0; i < bits->len; i++) {
		const struct plan_bit *one = &g_array_index(bits, struct plan_bit, i);
		const struct plan_bit *other = &g_array_index(again, struct plan_bit, i);

		if (strcmp(one->layer, other->layer) != 0 || one->bits != other->bits)
			FUZZ_FAIL("what was written is read as another plan");
	}
	return 0;
}
