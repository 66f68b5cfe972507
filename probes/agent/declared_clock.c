#include "agent/declared_clock.h"

#include <stdio.h>
#include <string.h>

#include "agent/settings.h"
#include "common/activity.h"
#include "trace/time_namespace.h"

#define NS_PER_S      1000000000
#define MAX_SHIFT_NS  (INT64_C(1) << 60)
#define MAX_DRIFT_PPB 10000000

uint64_t tacho_clock_scale = UINT64_C(1) << 40;

/* At `ticks` of the machine's clock it was `unix_ns`. */
static struct {
	const char *source;
	uint64_t frequency_hz, ticks, unix_ns;
} calibration;

/* How wrong the clock is declared: so much when it was configured, and so much more a second. */
static struct {
	int64_t shift_ns, drift_ppb;
	uint64_t since_mono_ns;
} error;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool read_calibration(const char *setting)
{
	char source[16];
	unsigned long long hz, ticks, unix_ns;
	int length = 0;

	calibration.source = "monotonic";
	calibration.frequency_hz = NS_PER_S;
	tacho_clock_is_tsc = false;
	if (!*setting) {
		calibration.ticks = clock_ns(CLOCK_MONOTONIC) - (uint64_t)time_namespace_ahead_ns();
		calibration.unix_ns = clock_ns(CLOCK_REALTIME);
		return true;
	}
	if (sscanf(setting, "%15[a-z],%llu,%llu,%llu%n", source, &hz, &ticks, &unix_ns, &length) !=
		    4 ||
	    setting[length] || !hz)
		return false;
	if (strcmp(source, "tsc") == 0) {
#if defined(__x86_64__)
		tacho_clock_is_tsc = true;
		calibration.source = "tsc";
#else
		return false;
#endif
	} else if (strcmp(source, "monotonic") != 0 || hz != NS_PER_S) {
		return false;
	}
	calibration.frequency_hz = hz;
	calibration.ticks = ticks;
	calibration.unix_ns = unix_ns;
	return true;
}

static bool read_error(const char *setting)
{
	long long shift_ns = 0, drift_ppb = 0;
	int length = 0;

	if (*setting && (sscanf(setting, "%lld,%lld%n", &shift_ns, &drift_ppb, &length) != 2 ||
			 setting[length] || shift_ns > MAX_SHIFT_NS || shift_ns < -MAX_SHIFT_NS ||
			 drift_ppb > MAX_DRIFT_PPB || drift_ppb < -MAX_DRIFT_PPB))
		return false;
	error.shift_ns = shift_ns;
	error.drift_ppb = drift_ppb;
	error.since_mono_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}

bool declared_clock_configure(const struct agent_settings *settings)
{
	if (!read_calibration(settings->clock) || !read_error(settings->test_clock))
		return false;
	tacho_clock_scale = (uint64_t)(((__uint128_t)calibration.frequency_hz << 40) / NS_PER_S);
	return true;
}

void declared_clock_read(struct declared_clock *clock)
{
	__int128_t ticks = calibration.ticks, total;

	clock->source = calibration.source;
	clock->monotonic_ahead_ns = time_namespace_ahead_ns();
	if (!tacho_clock_is_tsc)
		ticks += clock->monotonic_ahead_ns;
	/* A clock that runs fast counts its seconds in fewer ticks. */
	clock->frequency_hz = (uint64_t)((__uint128_t)calibration.frequency_hz * NS_PER_S /
					 (uint64_t)(NS_PER_S + error.drift_ppb));
	total = ((__int128_t)calibration.unix_ns + error.shift_ns) * clock->frequency_hz /
			NS_PER_S -
		ticks;
	if (total < 0)
		total = 0;
	clock->offset_s = (uint64_t)(total / clock->frequency_hz);
	clock->offset_ticks = (uint64_t)(total % clock->frequency_hz);
}

uint64_t declared_clock_system_ns(clockid_t clock)
{
	int64_t since_ns = (int64_t)(clock_ns(CLOCK_MONOTONIC) - error.since_mono_ns);
	__int128_t drift_ns = (__int128_t)since_ns * error.drift_ppb / NS_PER_S;

	return clock_ns(clock) + (uint64_t)(error.shift_ns + (int64_t)drift_ns);
}
