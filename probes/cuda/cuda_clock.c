#include "cuda/cuda_clock.h"

#include "common/device_clock.h"
#include "cuda/cupti_library.h"

static struct device_clock cupti_clock;
static bool is_ours;

static uint64_t trace_clock(void)
{
	return tacho_clock_scale
		       ? (uint64_t)(((unsigned __int128)tacho_ticks() << 40) / tacho_clock_scale)
		       : 0;
}

static uint64_t read_cupti(const void *cupti)
{
	uint64_t ns = 0;

	return ((const struct cupti *)cupti)->GetTimestamp(&ns) == CUPTI_SUCCESS ? ns : 0;
}

void cuda_clock_start(const struct cupti *cupti)
{
	/* once a process: CUPTI mixes up times where it is registered again */
	if (!is_ours && cupti->ActivityRegisterTimestampCallback &&
	    cupti->ActivityRegisterTimestampCallback(trace_clock) == CUPTI_SUCCESS)
		is_ours = true;
	cuda_clock_begin(&cupti_clock, cupti);
}

void cuda_clock_begin(struct device_clock *clock, const struct cupti *cupti)
{
	if (is_ours)
		*clock = (struct device_clock){ .pair = tacho_clock_pair_at(0, 0) };
	else
		device_clock_start(clock, read_cupti, cupti);
}

bool cuda_clock_keep(struct device_clock *clock)
{
	return is_ours || device_clock_follow(clock);
}

bool cuda_clock_follow(void)
{
	return cuda_clock_keep(&cupti_clock);
}

uint64_t cuda_clock_ticks(uint64_t ns)
{
	return tacho_ticks_at(&cupti_clock.pair, ns);
}

uint64_t cuda_clock_error_ns(void)
{
	return cupti_clock.error_ns;
}
