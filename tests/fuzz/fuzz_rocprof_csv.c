/* fuzz_rocprof_csv: open whatever bytes as a table of one of AMD's profilers, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("out_kernel_trace.csv", data, size);
}
