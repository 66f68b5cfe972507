/* fuzz_rocpd: open whatever bytes as a database of one of AMD's profilers, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("result.db", data, size);
}
