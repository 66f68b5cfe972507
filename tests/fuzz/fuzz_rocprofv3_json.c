/* fuzz_rocprofv3_json: open whatever bytes as rocprofv3's JSON, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("7_results.json", data, size);
}
