/* doctor_devices: accelerators, and what would record them. Nothing of theirs is loaded or called. */
#include "doctor.h"

#include <string.h>
#include <unistd.h>

#define NVIDIA_PARAMETERS "/proc/driver/nvidia/params"
#define ADMIN_ONLY	  "RmProfilingAdminOnly: "

/* What says that a device's driver is there, and how the device is recorded. */
static const struct {
	const gchar *subject, *path, *maker, *how;
} devices[] = {
	{ "cuda", "/proc/driver/nvidia/version", "NVIDIA",
	  "calls, kernels, copies and waits are recorded by CUPTI" },
	{ "hsa", "/dev/kfd", "AMD",
	  "calls, kernels, copies and memory are recorded with --probes all,rocprofiler (ROCm 6.2 "
	  "and later), calls of the HSA runtime, kernels, copies and barriers with --probes "
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

/* By the driver's own word: developer.nvidia.com/ERR_NVGPUCTRPERM. */
static gboolean are_counters_of_root(void)
{
	g_autofree gchar *text = NULL;
	const gchar *found;

	if (!g_file_get_contents(NVIDIA_PARAMETERS, &text, NULL, NULL))
		return FALSE;
	found = strstr(text, ADMIN_ONLY);
	return found && found[strlen(ADMIN_ONLY)] == '1';
}

static void add_counters(Diagnosis *diagnosis)
{
	if (!are_counters_of_root() || geteuid() == 0)
		diagnosis_add(diagnosis, "counters", FINDING_WORKS,
			      g_strdup("NVIDIA's driver lets this user read counters (--counters, "
				       "--kernel-counters); this was not tried"),
			      NULL);
	else
		diagnosis_add(
			diagnosis, "counters", FINDING_PARTLY,
			g_strdup("NVIDIA's driver lets root alone read counters, so --counters and "
				 "--kernel-counters have none"),
			g_strdup("record as root, or have the driver's module loaded with "
				 "NVreg_RestrictProfilingToAdminUsers=0"));
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
	if (g_file_test(devices[0].path, G_FILE_TEST_EXISTS))
		add_counters(diagnosis);
	diagnosis_add(diagnosis, "nccl", FINDING_WORKS,
		      g_strdup("NCCL and RCCL, where a job uses them, are recorded by their "
			       "profiler's interface; this was not tried"),
		      NULL);
}
