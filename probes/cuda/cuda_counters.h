/* cuda_counters: hardware counters, where they are asked for: of devices, sampled (`tacho record --counters`, counter_sampler.h), or of
 * kernels (`--kernel-counters`, kernel_counters.h). Without TACHO_COUNTERS and TACHO_KERNEL_COUNTERS nothing here does anything. */
#ifndef TACHO_CUDA_COUNTERS_H
#define TACHO_CUDA_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct cupti;
struct cupti_call;

#define COUNTERS_OF_MULTIPROCESSORS                                                                \
	"sm__cycles_active.avg.pct_of_peak_sustained_elapsed,"                                     \
	"sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed|"                            \
	"sm__inst_executed.avg.pct_of_peak_sustained_elapsed,"                                     \
	"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed|"                \
	"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed|"                         \
	"sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed,"                \
	"dram__throughput.avg.pct_of_peak_sustained_elapsed|"                                      \
	"dramc__throughput.avg.pct_of_peak_sustained_elapsed"

/* "default". All that a chip of Ampere or later has of them fits in one pass (tests/job/cuda_counters.sh asks CUPTI's own host half); Turing
 * has other names, and its tensor cores' with those of half floats. */
#define DEFAULT_SAMPLED_COUNTERS                                                                   \
	COUNTERS_OF_MULTIPROCESSORS                                                                \
	",pcie__throughput.avg.pct_of_peak_sustained_elapsed,"                                     \
	"nvlrx__bytes.avg.pct_of_peak_sustained_elapsed,"                                          \
	"nvltx__bytes.avg.pct_of_peak_sustained_elapsed"
#define DEFAULT_KERNEL_COUNTERS COUNTERS_OF_MULTIPROCESSORS

/* Once CUPTI has its clock (cuda_clock.h): read what is wanted, and have contexts told. The library stays as it is. */
void cuda_counters_start(const struct cupti *cupti, void *subscriber, bool is_on);
/* CUPTI tells of a context that is made, in the thread that makes it. */
void cuda_counters_context(const struct cupti *cupti, void *context);
void cuda_counters_switch(bool is_on);
/* A call of the driver's begins, or ends, in this thread, in the program's of that correlation. */
void cuda_counters_call(const struct cupti_call *call, uint32_t correlation);
/* CUPTI tells of a kernel that began at `ticks`. One thread at a time. */
void cuda_counters_kernel(uint32_t correlation, uint32_t device, uint64_t ticks);
/* The process ends: before CUPTI has been asked for the last activities, and after. */
void cuda_counters_stop(void);
void cuda_counters_end(void);

#endif
