/* fuzz_onnxruntime: open whatever bytes as a profile of ONNX Runtime, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("trace.json", data, size);
}
