/* fuzz_memory_snapshot: open whatever bytes as a memory snapshot of PyTorch, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("memory.pickle", data, size);
}
