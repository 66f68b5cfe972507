/* fuzz_archive: open whatever bytes as an archive of traces, by the ending of its name, and use all that was read. */
#include "foreign_traces.h"
#include "fuzz_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return foreign_fuzz("traces.tar.xz", data, size);
}
