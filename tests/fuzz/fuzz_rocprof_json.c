/* fuzz_rocprof_json: open whatever bytes as rocprof's JSON, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("result.json", data, size);
}
