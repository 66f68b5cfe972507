/* hip_probe: calls of HIP, AMD's runtime, by functions of the same names that are preloaded. What a device does for them the probe of the HSA runtime below
 * tells (probes/hsa); it belongs to the call of HIP's that is the outermost of its thread (common/activity.h: tacho_device_call).
 *
 * (1) What HIP calls itself is not told: it lies within a call that is.
 * (2) Kernels have the names that compilers give to the runtime (__hipRegisterFunction), in constructors that may run before ours: the table of names needs none, and
 *     declares a name when its kernel is launched first.
 * (3) A function that the process's HIP does not have is an error, as if it had not been found. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "common/demangle.h"
#include "common/real_function.h"
#include "common/region_stack.h"
#include "hip/hip_abi.h"

#define CORRELATION_FIRST (UINT64_C(3) << 50) /* apart from other runtimes', exact as a double */
#define N_KERNELS	  16384		      /* a power of 2 */
#define N_TRIED		  32

/* --- kernels ---------------------------------------------------------------------------------- */

/* By the host's function, or a function of a module. What was put in once may change its name, when a library is unloaded and another one loaded. */
static struct kernel {
	const void *function; /* atomic */
	char *name;
	uint32_t class_id; /* atomic; 0: not declared yet */
} kernels[N_KERNELS];
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

/* Its place, or a free one; NULL: there is none. */
static struct kernel *place_of(const void *function)
{
	uintptr_t key = (uintptr_t)function;

	for (unsigned i = 0; i < N_TRIED; i++) {
		struct kernel *kernel = &kernels[((key >> 4 ^ key >> 16) + i) % N_KERNELS];
		const void *there = __atomic_load_n(&kernel->function, __ATOMIC_ACQUIRE);

		if (!there || there == function)
			return kernel;
	}
	return NULL;
}

static void name_kernel(const void *function, const char *name)
{
	struct kernel *kernel;

	if (!function || !name)
		return;
	pthread_mutex_lock(&naming);
	kernel = place_of(function);
	if (kernel && (!kernel->name || strcmp(kernel->name, name) != 0)) {
		free(kernel->name);
		kernel->name = strdup(name);
		__atomic_store_n(&kernel->class_id, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&kernel->function, function, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&naming);
}

/* The class of the kernel; 0: its name is not known. */
static uint32_t registered_kernel(const void *function)
{
	struct kernel *kernel = place_of(function);
	uint32_t class_id;

	if (!kernel || __atomic_load_n(&kernel->function, __ATOMIC_ACQUIRE) != function)
		return 0;
	class_id = __atomic_load_n(&kernel->class_id, __ATOMIC_RELAXED);
	if (class_id)
		return class_id;
	pthread_mutex_lock(&naming);
	if (kernel->name)
		class_id = demangled_class(TRACE_KIND_DEVICE_KERNEL, kernel->name,
					   strlen(kernel->name));
	__atomic_store_n(&kernel->class_id, class_id, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&naming);
	return class_id;
}

/* --- calls ------------------------------------------------------------------------------------ */

enum call_id {
#define CALL(name, parameters, arguments)	    CALL_##name,
#define LAUNCH(name, parameters, arguments, kernel) CALL_##name,
#include "hip/hip_calls.def"
#undef CALL
#undef LAUNCH
	CALL_hipModuleGetFunction,
	N_CALLS
};

static const char *const call_names[N_CALLS] = {
#define CALL(name, parameters, arguments)	    #name,
#define LAUNCH(name, parameters, arguments, kernel) #name,
#include "hip/hip_calls.def"
#undef CALL
#undef LAUNCH
	"hipModuleGetFunction",
};

static uint32_t call_classes[N_CALLS]; /* atomic */

static uint64_t next_correlation(void)
{
	static TACHO_THREAD_LOCAL uint64_t last __attribute__((tls_model("initial-exec")));

	return tacho_next_correlation(&last, CORRELATION_FIRST);
}

static uint32_t call_class(enum call_id id)
{
	uint32_t class_id = __atomic_load_n(&call_classes[id], __ATOMIC_RELAXED);

	if (TACHO_UNLIKELY(!class_id)) {
		class_id = tacho_class(TRACE_KIND_RUNTIME, call_names[id], strlen(call_names[id]));
		__atomic_store_n(&call_classes[id], class_id, __ATOMIC_RELAXED);
	}
	return class_id;
}

/* NULL: it is not told. */
static struct record_slice *call_begin(enum call_id id)
{
	uint64_t correlation;
	struct record_slice *slice;

	if (tacho_device_call.correlation || tacho_writer.is_inside || !tacho_is_recording_all())
		return NULL;
	correlation = next_correlation();
	slice = tacho_slice_begin(call_class(id), correlation);
	if (slice)
		tacho_device_call.correlation = correlation;
	return slice;
}

static void call_end(struct record_slice *slice, enum call_id id, hipError_t status)
{
	if (!slice)
		return;
	tacho_device_call = (struct tacho_device_call){ 0, 0 };
	tacho_slice_finish(slice);
	if (TACHO_UNLIKELY(status && status != HIP_NOT_READY))
		region_mark("HIP failed", call_names[id], status, "");
}

#define REAL(name, parameters)                                                                     \
	static struct real_function real = REAL_FUNCTION_INIT(#name);                              \
	hipError_t(*function) parameters =                                                         \
		(hipError_t(*) parameters)real_function(&real, __builtin_return_address(0));       \
	struct record_slice *slice;                                                                \
	hipError_t status;                                                                         \
                                                                                                   \
	if (!function)                                                                             \
		return HIP_NOT_FOUND;                                                              \
	slice = call_begin(CALL_##name)

#define CALL(name, parameters, arguments)                                                          \
	TACHO_EXPORT hipError_t name parameters;                                                   \
	hipError_t name parameters                                                                 \
	{                                                                                          \
		REAL(name, parameters);                                                            \
		status = function arguments;                                                       \
		call_end(slice, CALL_##name, status);                                              \
		return status;                                                                     \
	}
#define LAUNCH(name, parameters, arguments, kernel)                                                \
	TACHO_EXPORT hipError_t name parameters;                                                   \
	hipError_t name parameters                                                                 \
	{                                                                                          \
		REAL(name, parameters);                                                            \
		if (slice)                                                                         \
			tacho_device_call.kernel_class = kernel;                                   \
		status = function arguments;                                                       \
		call_end(slice, CALL_##name, status);                                              \
		return status;                                                                     \
	}
#include "hip/hip_calls.def"
#undef CALL
#undef LAUNCH

TACHO_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *found, hipModule_t module,
					     const char *name);
TACHO_EXPORT void __hipRegisterFunction(void **modules, const void *host_function,
					char *device_function, const char *device_name,
					unsigned thread_limit, void *thread, void *block,
					void *block_size, void *grid_size, int *wave_size);

hipError_t hipModuleGetFunction(hipFunction_t *found, hipModule_t module, const char *name)
{
	REAL(hipModuleGetFunction, (hipFunction_t *, hipModule_t, const char *));
	status = function(found, module, name);
	if (!status && found)
		name_kernel(*found, name);
	call_end(slice, CALL_hipModuleGetFunction, status);
	return status;
}

/* Compilers make a constructor that calls this for each kernel. */
void __hipRegisterFunction(void **modules, const void *host_function, char *device_function,
			   const char *device_name, unsigned thread_limit, void *thread,
			   void *block, void *block_size, void *grid_size, int *wave_size)
{
	static struct real_function real = REAL_FUNCTION_INIT("__hipRegisterFunction");
	__typeof__(__hipRegisterFunction) *function =
		(__typeof__(__hipRegisterFunction) *)real_function(&real,
								   __builtin_return_address(0));

	name_kernel(host_function, device_name);
	if (function)
		function(modules, host_function, device_function, device_name, thread_limit, thread,
			 block, block_size, grid_size, wave_size);
}
