/* doctor_devices: accelerators, and what would record them. Nothing of theirs is loaded or called. */
#include "doctor.h"

#include <string.h>

/* What says that a device's driver is there, and how the device is recorded. */
static const struct {
	const gchar *subject, *path, *maker, *how;
} devices[] = {
	{ "cuda", "/proc/driver/nvidia/version", "NVIDIA",
	  "calls, kernels, copies and waits are recorded by CUPTI" },
	{ "hsa", "/dev/kfd", "AMD",
	  "calls of the HSA runtime, kernels, copies and barriers are recorded with --probes "
	  "all,hsa" },
};

static gchar *find_cupti(void)
{
	static const gchar *const folders[] = { "/usr/local/cuda/extras/CUPTI/lib64",
						"/usr/local/cuda/lib64",
						"/usr/lib/x86_64-linux-gnu",
						"/usr/lib/aarch64-linux-gnu" };

	for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree gchar *path = g_build_filename(folders[i], "libcupti.so", NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			return g_steal_pointer(&path);
	}
	return NULL;
}

void doctor_devices(Diagnosis *diagnosis)
{
	g_autofree gchar *cupti = find_cupti();

	diagnosis_area(diagnosis, "Devices");
	for (guint i = 0; i < G_N_ELEMENTS(devices); i++) {
		if (!g_file_test(devices[i].path, G_FILE_TEST_EXISTS))
			diagnosis_add(
				diagnosis, devices[i].subject, FINDING_ABSENT,
				g_strdup_printf("there is no driver of %s here", devices[i].maker),
				NULL);
		else
			diagnosis_add(
				diagnosis, devices[i].subject, FINDING_WORKS,
				g_strdup_printf("a driver of %s is here: %s; this was not tried",
						devices[i].maker, devices[i].how),
				cupti || strcmp(devices[i].subject, "cuda") != 0
					? NULL
					: g_strdup("CUPTI must be there: PyTorch's wheels bring it "
						   "along, CUDA's toolkit has it, or name "
						   "it: TACHO_CUPTI=/path/to/libcupti.so"));
	}
	diagnosis_add(diagnosis, "nccl", FINDING_WORKS,
		      g_strdup("NCCL and RCCL, where a job uses them, are recorded by their "
			       "profiler's interface; this was not tried"),
		      NULL);
}
