/* fuzz_nsys: open whatever bytes as an export of Nsight Systems, and use all that was read. */
#include "fuzz_input.h"
#include "sqlite_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return sqlite_text_fuzz("trace.sqlite", data, size);
}
