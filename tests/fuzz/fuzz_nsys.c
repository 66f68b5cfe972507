/* fuzz_nsys: open whatever bytes as an export of Nsight Systems, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("trace.sqlite", data, size);
}
