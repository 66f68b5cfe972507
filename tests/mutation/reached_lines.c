/* reached_lines: which of the code was run, for mutate.py.
 *
 * The compiler calls __sanitizer_cov_trace_pc() at the begin of each basic block (-fsanitize-coverage=trace-pc). The byte of
 * the caller's place is set in the file that TACHO_REACHED names, which all processes of a test share, however they end. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char __ehdr_start
	__attribute__((visibility("hidden"))); /* of this library, by the linker */

static unsigned char *reached;
static uintptr_t n_reached;

__attribute__((constructor)) static void open_reached(void)
{
	const char *path = getenv("TACHO_REACHED");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat status;

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0) {
		void *bytes = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (bytes != MAP_FAILED) {
			n_reached = status.st_size;
			reached = bytes;
		}
	}
	close(fd);
}

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void)
{
	uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;

	if (at < n_reached)
		reached[at] = 1;
}
