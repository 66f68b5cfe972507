/* counter_metrics LIBCUPTI samples|ranges CHIP LIST: which counters of the list (or of "default") the probe would count on the chip, a line
 * each: by the probe's own code, and the host's half of a real CUPTI, which needs no device. What is left out is said on stderr. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/probe.h"
#include "cuda/counter_host.h"
#include "cuda/cuda_counters.h"
#include "cuda/cupti_library.h"

void tacho_unseen(const char *what, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s: ", what);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

int main(int argc, char **argv)
{
	static struct counter_host host;
	static struct counter_list list;
	struct counters_initialize initialize = { .size = COUNTERS_SIZE(counters_initialize,
									reserved) };
	struct counter_library library;
	struct cupti cupti = { 0 };
	const char *missing;
	bool is_of_samples = argc > 2 && strcmp(argv[2], "samples") == 0;
	int result;

	cupti.library = argc == 5 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!cupti.library || !counter_library_load(&library, &cupti, &missing)) {
		fprintf(stderr, "%s\n", cupti.library ? missing : dlerror());
		return 2;
	}
	snprintf(cupti.path, sizeof(cupti.path), "%s", argv[1]);
	library.initialize(
		&initialize); /* it refuses where there is no driver, which the host's half does not need */
	counter_list_parse(&list, argv[4],
			   is_of_samples ? DEFAULT_SAMPLED_COUNTERS : DEFAULT_KERNEL_COUNTERS);
	result = counter_host_open(&host, &library,
				   is_of_samples ? COUNTERS_OF_SAMPLES : COUNTERS_OF_RANGES,
				   argv[3], NULL, &list);
	for (unsigned i = 0; i < host.n; i++)
		puts(host.names[i]);
	fprintf(stderr, "result %d, %zu passes, config of %zu bytes\n", result, host.n_passes,
		host.config_size);
	counter_host_release(&host);
	return result != CUPTI_SUCCESS;
}
