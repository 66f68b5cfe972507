/* fuzz_rocpd: open whatever bytes as a database of one of AMD's profilers, and use all that was read. */
#include "fuzz_input.h"
#include "sqlite_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return sqlite_text_fuzz("result.db", data, size);
}
