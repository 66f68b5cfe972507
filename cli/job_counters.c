#include "job_counters.h"

#include <string.h>

#include "cli.h"

#define LEAST_US 10
#define MOST_US	 1000000
#define DEFAULT	 "default"

/* What names of counters are made of, and what stands between them. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.|,"

void job_counters_release(JobCounters *counters)
{
	g_free(counters->sampled);
	g_free(counters->kernels);
}

static gboolean names_are_valid(const gchar *option, const gchar *names, gboolean has_amd)
{
	if (!names)
		return TRUE;
	if (*names && !names[strspn(names, NAME_CHARACTERS)] &&
	    (strcmp(names, DEFAULT) == 0 || strstr(names, "__") || has_amd))
		return TRUE;
	cli_fail("record",
		 "%s names CUPTI's metrics, as in "
		 "sm__cycles_active.avg.pct_of_peak_sustained_elapsed,...,%s or is '" DEFAULT
		 "', not '%s'",
		 option, has_amd ? " or rocprofiler-sdk's, as in SQ_WAVES,GRBM_COUNT," : "", names);
	return FALSE;
}

gboolean job_counters_check(const JobCounters *counters, gboolean has_cuda,
			    gboolean has_rocprofiler)
{
	if (!names_are_valid("--counters", counters->sampled, FALSE) ||
	    !names_are_valid("--kernel-counters", counters->kernels, has_rocprofiler))
		return FALSE;
	if (counters->every_us < LEAST_US || counters->every_us > MOST_US) {
		cli_fail("record", "--counters-every must be from %d to %d microseconds, not %d",
			 LEAST_US, MOST_US, counters->every_us);
		return FALSE;
	}
	if (counters->sampled && counters->kernels) {
		cli_fail("record",
			 "--counters and --kernel-counters want the same counters of a device: "
			 "record twice");
		return FALSE;
	}
	if (counters->sampled && !has_cuda) {
		cli_fail("record", "--counters: the probe cuda counts, and --probes leaves it out");
		return FALSE;
	}
	if (counters->kernels && !has_cuda && !has_rocprofiler) {
		cli_fail("record", "--kernel-counters: the probes cuda and rocprofiler count, and "
				   "--probes leaves them out");
		return FALSE;
	}
	return TRUE;
}

static gchar **set_or_unset(gchar **environment, const gchar *variable, const gchar *value)
{
	return value ? g_environ_setenv(environment, variable, value, TRUE)
		     : g_environ_unsetenv(environment, variable);
}

gchar **job_counters_environment(const JobCounters *counters, gchar **environment)
{
	g_autofree gchar *every = g_strdup_printf("%d", counters->every_us);

	environment = set_or_unset(environment, "TACHO_COUNTERS", counters->sampled);
	environment =
		set_or_unset(environment, "TACHO_COUNTERS_EVERY", counters->sampled ? every : NULL);
	return set_or_unset(environment, "TACHO_KERNEL_COUNTERS", counters->kernels);
}
