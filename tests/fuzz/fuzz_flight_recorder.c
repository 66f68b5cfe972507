/* fuzz_flight_recorder: open whatever bytes as a dump of PyTorch's Flight Recorder, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("nccl_trace_rank_0", data, size);
}
