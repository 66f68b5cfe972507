/* fuzz_ctf: whatever bytes as what the decoder of CTF traces might write (src/import/ctf/ctf_records.h), read and made a
 * timeline of. The decoder itself is libbabeltrace2, in a process of its own: what it does to itself does not
 * matter here, what comes from there does. */
#include <sys/mman.h>
#include <unistd.h>

#include "foreign_traces.h"
#include "fuzz_input.h"
#include "import/ctf/ctf_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	struct ctf_process *process;

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		g_error("no file in memory can be made");
	lseek(file, 0, SEEK_SET);
	process = ctf_process_of_file(file);
	timeline = import_by(ctf_read_records, process, NULL);
	if (timeline)
		foreign_use(timeline);
	return 0;
}
