/* fuzz_chakra: open whatever bytes as a Chakra execution trace, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("trace.0.et", data, size);
}
