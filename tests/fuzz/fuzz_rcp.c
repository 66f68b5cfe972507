/* fuzz_rcp: open whatever bytes as a trace of that format, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("Session1.csv", data, size);
}
