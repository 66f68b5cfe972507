/* fuzz_perfetto: open whatever bytes as a Perfetto trace, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("trace.pftrace", data, size);
}
