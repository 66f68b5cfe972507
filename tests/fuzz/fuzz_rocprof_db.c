/* fuzz_rocprof_db: open whatever bytes as the database of AMD's first profiler, and use all that was read. What does not
 * begin as a database does is SQL that makes one: so tables, columns and values are found that no bytes at random have. */
#include "fuzz_input.h"
#include "sqlite_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return sqlite_text_fuzz("result.db", data, size);
}
