/* rocprofiler_probe: what AMD's devices do, and what is called for it, as rocprofiler-sdk tells. rocprofiler-register, which HIP and HSA load, brings in
 * rocprofiler-sdk where ROCP_TOOL_LIBRARIES is set, and that calls the rocprofiler_configure() of each library that is named there.
 *
 *     hipLaunchKernel() ----> RUNTIME  hipLaunchKernel       as it is made                            (rocprofiler_calls.h)
 *        kernel     ...  ---> DEVICE_KERNEL  gemm            when a buffer is told, in a thread of its (rocprofiler_records.h)
 *                      ---> COUNTER at its begin        with --kernel-counters                        (rocprofiler_counters.h)
 *
 * (1) Other tools that are named there get the same: each has contexts of its own.
 * (2) Where nothing is to be recorded (--steps, --control) the context of calls and work is stopped.
 * (3) Where tacho's HSA or HIP probe is in the process, they record the same, and nothing is recorded here. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/call_cost.h"
#include "common/region_stack.h"
#include "rocprofiler/rocprofiler_agents.h"
#include "rocprofiler/rocprofiler_calls.h"
#include "rocprofiler/rocprofiler_counters.h"
#include "rocprofiler/rocprofiler_records.h"

#define UNSEEN	 "AMD devices"
#define VARIABLE "TACHO_ROCPROFILER" /* "hsa": calls of HSA too */

TACHO_EXPORT struct rocp_tool *rocprofiler_configure(uint32_t version, const char *version_text,
						     uint32_t priority, void *client);
/* For the NCCL probe: kernels of this process are recorded. */
TACHO_EXPORT bool tacho_rocprofiler_tells_kernels(void);

static struct rocp rocp;
static rocp_handle always, wanted;
static bool is_on, is_ready, has_work;

static void switch_all(bool is_recording)
{
	bool is_wanted = is_recording && !tacho_is_partial();

	if (!is_ready || rocp_is_child() || is_on == is_wanted)
		return;
	is_on = is_wanted;
	if (is_wanted)
		rocp.start_context(wanted);
	else
		rocp.stop_context(wanted);
	rocp_counters_switch(is_wanted);
}

static void at_end(void)
{
	if (!is_ready || rocp_is_child() || !tacho_is_alive())
		return;
	rocp_records_flush();
	rocp_counters_end();
	if (rocp_records_clock_error_ns())
		region_mark("rocprofiler", "device clock known to ns",
			    (int64_t)rocp_records_clock_error_ns(), "");
}

static void make_call(uint64_t i, void *unused)
{
	(void)unused;
	rocp_call_told(ROCP_ENTER, i);
	rocp_call_told(ROCP_EXIT, i);
}

/* What a call's begin and end cost the job; rocprofiler-sdk's own part is not in it. */
static void tell_cost(void)
{
	uint64_t cost_ps;

	if (!tacho_is_recording_all())
		return;
	cost_ps = tacho_call_cost_ps(2 * sizeof(struct record_slice), make_call, NULL);
	if (cost_ps)
		tacho_cost(TRACE_KIND_RUNTIME, "rocprofiler", cost_ps);
}

static int initialize(void (*finalize)(void), void *data)
{
	const char *asked = getenv(VARIABLE);
	bool has_calls;

	(void)finalize, (void)data;
	if (rocp.create_context(&always) != ROCP_SUCCESS ||
	    rocp.create_context(&wanted) != ROCP_SUCCESS) {
		tacho_unseen(UNSEEN, "rocprofiler-sdk gives no context");
		return -1;
	}
	rocp_agents_find(&rocp);
	has_work = rocp_records_configure(&rocp, wanted);
	rocp_counters_configure(&rocp);
	has_calls = rocp_calls_configure(&rocp, always, wanted, asked && strcmp(asked, "hsa") == 0);
	if (!has_work)
		tacho_unseen(UNSEEN, "rocprofiler-sdk tells nothing of kernels");
	if (!has_calls)
		tacho_unseen("HIP", "rocprofiler-sdk tells nothing of HIP's calls");
	is_ready = true;
	if (tacho_is_recording_all())
		rocp_agents_tell();
	rocp.start_context(always);
	switch_all(tacho_is_recording());
	tell_cost();
	tacho_watch_recording(switch_all);
	atexit(at_end);
	return 0;
}

static void finalize(void *data)
{
	(void)data;
	at_end();
	is_ready = false;
}

bool tacho_rocprofiler_tells_kernels(void)
{
	return is_ready && has_work && !rocp_is_child();
}

static bool is_loaded(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);

	if (library)
		dlclose(library);
	return library != NULL;
}

/* rocprofiler-sdk reads what is returned later. NULL: it has no business with us. */
struct rocp_tool *rocprofiler_configure(uint32_t version, const char *version_text,
					uint32_t priority, void *client)
{
	static struct rocp_tool tool = { sizeof(tool), initialize, finalize, NULL };
	const char *hsa_tools = getenv("HSA_TOOLS_LIB"), *missing;

	(void)priority, (void)client;
	if (!tacho_is_alive() || is_ready)
		return NULL;
	if ((hsa_tools && strstr(hsa_tools, "libtacho_hsa.so")) || is_loaded("libtacho_hip.so")) {
		tacho_say("the probes hsa and hip record what rocprofiler would tell: it is not "
			  "used");
		return NULL;
	}
	if (version < ROCP_OLDEST || version >= ROCP_TOO_NEW ||
	    (version >= ROCP_UNRELEASED && version < ROCP_WITH_ANCESTOR)) {
		tacho_unseen(UNSEEN, "rocprofiler-sdk %s is not one of those that are known",
			     version_text ? version_text : "?");
		return NULL;
	}
	missing = rocp_load(&rocp, __builtin_return_address(0));
	if (missing) {
		tacho_unseen(UNSEEN, "this rocprofiler-sdk has no %s", missing);
		return NULL;
	}
	rocp.version = version;
	return &tool;
}
