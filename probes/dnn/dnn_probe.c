/* dnn_probe: a dnnl_primitive_execute() that stands before oneDNN's own when preloaded, asks the
 * library what the primitive is, records the execution as a KERNEL and hands it on.
 *
 * (1) The library asked is the one whose function the caller would have reached (real_function.h).
 * (2) BLAS routines that oneDNN calls are not recorded beside it: the outermost hook records.
 * (3) On a GPU engine the call only queues; what is recorded then is the queueing. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/elf_imports.h"
#include "common/probe.h"
#include "common/real_function.h"
#include "common/watch.h"
#include "dnn/dnn_kernel.h"

#define DNNL_UNIMPLEMENTED 3
#define MAX_LIBRARIES	   4

TACHO_EXPORT dnn_execute dnnl_primitive_execute;

static void measure_cost(const struct dnn_api *api, const struct dnnl_primitive *primitive);

/* --- the libraries --------------------------------------------------------------------------- */

/* The oneDNN libraries of the process: written once each, under a place taken atomically. */
static struct {
	struct dnn_api api;
	uint32_t is_ready;
} libraries[MAX_LIBRARIES];
static uint32_t n_libraries;

struct new_library {
	dnn_execute *execute;
	const struct dnn_api *api;
};

static void add_library(void *new_pointer)
{
	struct new_library *new = new_pointer;
	uint32_t place;

	if (__atomic_load_n(&n_libraries, __ATOMIC_RELAXED) >= MAX_LIBRARIES)
		return;
	place = __atomic_fetch_add(&n_libraries, 1, __ATOMIC_RELAXED);
	if (place >= MAX_LIBRARIES)
		return;
	if (!dnn_api_init(new->execute, &libraries[place].api))
		tacho_unseen(
			"oneDNN kernels",
			"oneDNN kernels are not recorded: this version of oneDNN is not 2 or 3");
	__atomic_store_n(&libraries[place].is_ready, 1, __ATOMIC_RELEASE);
	new->api = &libraries[place].api;
}

/* The functions of the library of `execute`, or NULL where it cannot be asked. */
static const struct dnn_api *find_api(dnn_execute *execute)
{
	struct new_library new = { .execute = execute };
	const struct dnn_api *api = NULL;

	for (uint32_t i = 0; i < MAX_LIBRARIES && !api; i++)
		if (__atomic_load_n(&libraries[i].is_ready, __ATOMIC_ACQUIRE) &&
		    libraries[i].api.execute == execute)
			api = &libraries[i].api;
	if (TACHO_UNLIKELY(!api) && tacho_run_aside(add_library, &new))
		api = new.api;
	return api && api->major ? api : NULL;
}

/* --- recording ------------------------------------------------------------------------------- */

static uint32_t class_of(struct dnn_kernel *kernel)
{
	uint64_t kept = __atomic_load_n(&kernel->class_of_generation, __ATOMIC_RELAXED);
	uint32_t generation = tacho_generation(), class_id = (uint32_t)kept;

	if (TACHO_UNLIKELY(!class_id || kept >> 32 != generation)) {
		class_id = tacho_class(TRACE_KIND_KERNEL, kernel->name, strlen(kernel->name));
		kept = (uint64_t)generation << 32 | class_id;
		__atomic_store_n(&kernel->class_of_generation, kept, __ATOMIC_RELAXED);
	}
	return class_id;
}

/* Write the record of a kernel that begins. NULL: it was dropped. */
static struct record_kernel *write_kernel(struct dnn_kernel *kernel)
{
	size_t dims_bytes = kernel->n_dims * sizeof(*kernel->dims);
	struct record_kernel *record;

	record = tacho_record_begin(class_of(kernel),
				    (uint32_t)(sizeof(*record) + dims_bytes + kernel->n_text));
	if (!record)
		return NULL;
	record->duration = TRACE_OPEN;
	record->flops = kernel->flops;
	record->bytes = kernel->bytes;
	record->dtype = kernel->dtype;
	record->n_dims = kernel->n_dims;
	record->n_text = kernel->n_text;
	record->reserved = 0;
	memcpy(record + 1, kernel->dims, dims_bytes);
	memcpy((char *)(record + 1) + dims_bytes, kernel->text, kernel->n_text);
	tacho_record_commit(record);
	return record;
}

static uint64_t cost_ps; /* atomic; of one record, 0: not measured yet */

static inline bool is_cost_told(const struct dnn_kernel *kernel)
{
	return __atomic_load_n(&kernel->told_generation, __ATOMIC_RELAXED) == tacho_generation();
}

/* Once a kernel and process: BLAS kernels are another probe's, and cost less. */
static void tell_cost(struct dnn_kernel *kernel)
{
	uint64_t measured_ps = __atomic_load_n(&cost_ps, __ATOMIC_RELAXED);

	if (!measured_ps || tacho_writer.scratch)
		return;
	__atomic_store_n(&kernel->told_generation, tacho_generation(), __ATOMIC_RELAXED);
	tacho_kernel_cost(class_of(kernel), "dnn", measured_ps);
}

/* Some kB, for which the caller's stack may be too small. */
struct workspace {
	struct dnn_signature signature;
	struct dnn_kernel spare;
};

#define MAX_WORKSPACES 16
static struct workspace *workspaces[MAX_WORKSPACES]; /* atomic: those that nobody uses now */

static struct workspace *take_workspace(void)
{
	struct workspace *workspace;

	for (int i = 0; i < MAX_WORKSPACES; i++) {
		workspace = __atomic_exchange_n(&workspaces[i], NULL, __ATOMIC_ACQ_REL);
		if (workspace)
			return workspace;
	}
	workspace = mmap(NULL, sizeof(*workspace), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return workspace == MAP_FAILED ? NULL : workspace;
}

static void give_back_workspace(struct workspace *workspace)
{
	for (int i = 0; i < MAX_WORKSPACES; i++) {
		struct workspace *nothing = NULL;

		if (__atomic_compare_exchange_n(&workspaces[i], &nothing, workspace, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	munmap(workspace, sizeof(*workspace));
}

/* Ask what is about to be executed, and begin its record. Until end(), hooks are told to pass. */
static struct record_kernel *begin(const struct dnn_api *api,
				   const struct dnnl_primitive *primitive)
{
	struct record_kernel *record = NULL;
	struct workspace *workspace;
	struct dnn_kernel *kernel = NULL;
	int saved_errno = errno;

	tacho_writer.is_inside++;
	workspace = take_workspace();
	if (workspace && dnn_signature_read(api, primitive, &workspace->signature))
		kernel = dnn_kernel_find(&workspace->signature, &workspace->spare);
	if (kernel) {
		if (TACHO_UNLIKELY(!is_cost_told(kernel)) && kernel != &workspace->spare)
			tell_cost(kernel);
		record = write_kernel(kernel);
	}
	if (workspace)
		give_back_workspace(workspace);
	errno = saved_errno;
	return record;
}

static void end(struct record_kernel *record)
{
	tacho_writer.is_inside--;
	if (record)
		tacho_slice_end(record, &record->duration);
}

int dnnl_primitive_execute(const struct dnnl_primitive *primitive, struct dnnl_stream *stream,
			   int n_arguments, const struct dnnl_exec_arg *arguments)
{
	static struct real_function real_execute = REAL_FUNCTION_INIT("dnnl_primitive_execute");
	dnn_execute *execute = real_function(&real_execute, __builtin_return_address(0));
	const struct dnn_api *api = NULL;
	struct record_kernel *record;
	int status;

	/* Without the library nobody can have made a primitive. */
	if (TACHO_UNLIKELY(!execute))
		return DNNL_UNIMPLEMENTED;
	if (tacho_is_recording_all() && !tacho_writer.is_inside)
		api = find_api(execute);
	if (!api)
		return execute(primitive, stream, n_arguments, arguments);
	measure_cost(api, primitive);
	record = begin(api, primitive);
	status = execute(primitive, stream, n_arguments, arguments);
	end(record);
	return status;
}

/* --- what a record costs --------------------------------------------------------------------- */

#define COST_ROUNDS	   9
#define COST_CALLS	   32
#define COST_SCRATCH_BYTES (COST_CALLS * (sizeof(struct record_kernel) + 128 + DNN_TEXT_BYTES))

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct measurement {
	const struct dnn_api *api;
	const struct dnnl_primitive *primitive;
};

/* Time the records of executing `primitive`, without executing it, and keep the shortest of
 * COST_ROUNDS rounds. */
static void run_measurement(void *measurement_pointer)
{
	const struct measurement *asked = measurement_pointer;
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(COST_SCRATCH_BYTES))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (int i = 0; i < COST_CALLS; i++)
			end(begin(asked->api, asked->primitive));
		taken_ns = now_ns() - begin_ns;
		tacho_scratch_rewind();
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	__atomic_store_n(&cost_ps, least_ns * 1000 / COST_CALLS, __ATOMIC_RELAXED);
}

/* Once a process: some tens of microseconds. */
static void measure_cost(const struct dnn_api *api, const struct dnnl_primitive *primitive)
{
	static uint32_t measured_generation;
	struct measurement asked = { .api = api, .primitive = primitive };
	uint32_t generation = tacho_generation();

	if (__atomic_load_n(&measured_generation, __ATOMIC_RELAXED) == generation ||
	    __atomic_exchange_n(&measured_generation, generation, __ATOMIC_RELAXED) == generation)
		return;
	tacho_run_aside(run_measurement, &asked);
}

/* --- where there is nothing to see ----------------------------------------------------------- */

/* torch::profiler::itt_range_push(), which is there where PyTorch was built with ITT (USE_ITT); so is its oneDNN then. */
#define BUILT_WITH_ITT "_ZN5torch8profiler14itt_range_pushEPKc"

/* Whether the library that has oneDNN in it was built to tell of its primitives by ITT, and tells it to us. */
static bool is_told_by_itt(const char *path)
{
	const char *receiver = getenv("INTEL_LIBITTNOTIFY64");
	void *library = receiver && strstr(receiver, "libtacho_itt.so")
				? dlopen(path, RTLD_LAZY | RTLD_NOLOAD)
				: NULL;
	bool is_told = library && dlsym(library, BUILT_WITH_ITT);

	if (library)
		dlclose(library);
	return is_told;
}

/* PyTorch's wheels link oneDNN in statically. */
static void torch_appeared(const char *path, uintptr_t base_address)
{
	static const char *const calls[] = { "dnnl_primitive_execute" };
	char text[256];

	/* its oneDNN tells of them by ITT, which libtacho_itt.so receives */
	if (elf_imports_any(base_address, calls, 1) || is_told_by_itt(path))
		return;
	tacho_unseen("oneDNN kernels",
		     "no oneDNN kernels are recorded for %s, because oneDNN is linked into it "
		     "statically",
		     path);
	snprintf(text, sizeof(text), "dnn: linked statically into %s", path);
	tacho_mark("no_kernels", 0, 0, text);
}

static __attribute__((constructor)) void start(void)
{
	tacho_watch_library("libtorch_cpu.so", torch_appeared);
}
