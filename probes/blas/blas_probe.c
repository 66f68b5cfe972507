/* blas_probe: a definition of every BLAS routine (blas_routines.def), which stands before the
 * library's own when preloaded, records the call as a KERNEL and hands it on.
 *
 * (1) The routine called is the one the caller would have reached without us (real_function.h).
 * (2) If routines call each other (cblas_sgemm calls sgemm_), the outermost is recorded.
 * (3) Arguments are handed on as they came, results and errno come back as they are.
 * (4) The state of a routine is zero until its first call, so that a process without BLAS touches
 *     no page for it. */
#include "blas/blas_call.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/elf_imports.h"
#include "common/probe.h"
#include "common/real_function.h"
#include "common/watch.h"

/* What is known of a routine's symbol in this process. */
struct blas_state {
	struct real_function real;
	uint64_t class_of_generation; /* generation in the upper half, class id in the lower */
};

/* What is measured must be called as from elsewhere, not folded into its caller. */
#if defined(__has_attribute) && __has_attribute(noipa)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE __attribute__((noinline))
#endif

static void measure_cost(uint32_t class_id);

/* --- finding the real routine --------------------------------------------------------------- */

/* Called in the place of what is not there. */
static OPAQUE blas_word no_blas(BLAS_PARAMETERS)
{
	(void)(const blas_word[]){ BLAS_WORDS };
	(void)(const double[]){ x0, x1 };
	return 0;
}

/* Nothing in the process defines the routine; the program took our definition for one (dlsym, a weak
 * reference). The system's BLAS does what was asked for; where there is none, the call cannot be
 * carried out. It is said, and the program goes on: a probe does not end its host. */
static blas_function *find_elsewhere(const struct blas_routine *routine)
{
	void *library = dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL);
	void *found = library ? dlsym(library, routine->symbol) : NULL;

	if (found)
		return found;
	tacho_say("%s was called, but no library of this program has it, so its result is not "
		  "computed. Record without BLAS kernels: tacho record --probes torch,dnn",
		  routine->symbol);
	return no_blas;
}

static inline blas_function *find_real(const struct blas_routine *routine, struct blas_state *state,
				       const void *caller)
{
	void *found = real_function_kept(&state->real, caller);

	if (TACHO_UNLIKELY(!found)) {
		int saved_errno = errno;

		found = real_function_search(&state->real, routine->symbol, caller);
		if (!found)
			found = find_elsewhere(routine);
		errno = saved_errno;
	}
	return found;
}

/* --- recording ------------------------------------------------------------------------------ */

static inline bool is_wanted(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside;
}

static uint32_t class_of(const struct blas_routine *routine, struct blas_state *state)
{
	uint64_t kept = __atomic_load_n(&state->class_of_generation, __ATOMIC_RELAXED);
	uint32_t generation = tacho_generation(), class_id = (uint32_t)kept;

	if (TACHO_UNLIKELY(!class_id || kept >> 32 != generation)) {
		class_id = tacho_class(TRACE_KIND_KERNEL, routine->name, strlen(routine->name));
		kept = (uint64_t)generation << 32 | class_id;
		__atomic_store_n(&state->class_of_generation, kept, __ATOMIC_RELAXED);
		measure_cost(class_id);
	}
	return class_id;
}

/* Begin the record of a call; NULL: it was dropped. Until the end, hooks are told to pass. */
static struct record_kernel *begin(const struct blas_routine *routine, struct blas_state *state,
				   const blas_word *words)
{
	int saved_errno = errno;
	uint32_t class_id = class_of(routine, state);
	struct record_kernel *kernel;
	struct blas_work work;
	size_t dims_bytes;

	blas_work_of_call(routine, words, &work);
	dims_bytes = work.n_dims * sizeof(*work.dims);
	kernel = tacho_record_begin(class_id,
				    (uint32_t)(sizeof(*kernel) + dims_bytes + BLAS_TEXT_BYTES));
	if (kernel) {
		kernel->duration = TRACE_OPEN;
		kernel->flops = work.flops;
		kernel->bytes = work.bytes;
		kernel->dtype = routine->dtype;
		kernel->n_dims = work.n_dims;
		kernel->n_text = BLAS_TEXT_BYTES;
		kernel->reserved = 0;
		memcpy(kernel + 1, work.dims, dims_bytes);
		memcpy((char *)(kernel + 1) + dims_bytes, work.text, BLAS_TEXT_BYTES);
		tacho_record_commit(kernel);
	}
	tacho_writer.is_inside++;
	errno = saved_errno;
	return kernel;
}

static void end(struct record_kernel *kernel)
{
	tacho_writer.is_inside--;
	if (kernel)
		tacho_slice_end(kernel, &kernel->duration);
}

/* --- the definitions ------------------------------------------------------------------------ */

/* The body of every definition. `state` and `routine` are its own. */
#define HAND_ON_AND_RECORD(routine, state)                                                         \
	do {                                                                                       \
		const void *caller = __builtin_return_address(0);                                  \
		blas_function *real = find_real(routine, state, caller);                           \
		const blas_word words[] = { BLAS_WORDS };                                          \
		struct record_kernel *kernel;                                                      \
		blas_word result;                                                                  \
                                                                                                   \
		if (!is_wanted())                                                                  \
			return real(BLAS_ARGUMENTS);                                               \
		kernel = begin(routine, state, words);                                             \
		result = real(BLAS_ARGUMENTS);                                                     \
		end(kernel);                                                                       \
		return result;                                                                     \
	} while (0)

/* A definition by hand, of nothing: for measuring. */
static struct blas_state measured_state = {
	.real = { .n_callers = 1, .callers = { { .end = UINTPTR_MAX, .function = no_blas } } },
};

static OPAQUE blas_word measured_gemm(BLAS_PARAMETERS)
{
	static const struct blas_routine routine = {
		.symbol = "",
		.name = "",
		.shape = BLAS_GEMM,
		.dtype = TRACE_DTYPE_F32,
		.language = BLAS_FORTRAN,
	};

	HAND_ON_AND_RECORD(&routine, &measured_state);
}

#define DEFINE(symbol_, name_, dtype_, shape_, language_, is_64bit_)                               \
	TACHO_EXPORT blas_word symbol_(BLAS_PARAMETERS);                                           \
	blas_word symbol_(BLAS_PARAMETERS)                                                         \
	{                                                                                          \
		static struct blas_state state;                                                    \
		static const struct blas_routine routine = {                                       \
			.symbol = #symbol_,                                                        \
			.name = #name_,                                                            \
			.shape = BLAS_##shape_,                                                    \
			.dtype = TRACE_DTYPE_##dtype_,                                             \
			.language = BLAS_##language_,                                              \
			.is_64bit = is_64bit_,                                                     \
		};                                                                                 \
                                                                                                   \
		HAND_ON_AND_RECORD(&routine, &state);                                              \
	}

/* The symbols a routine goes by: Fortran's and C's, with 32-bit and 64-bit integers (ILP64), and the
 * same in the copy of OpenBLAS that the wheels of NumPy and SciPy carry. */
#define ROUTINE(name, dtype, shape)                                                                \
	DEFINE(name##_, name, dtype, shape, FORTRAN, false)                                        \
	DEFINE(name##_64_, name, dtype, shape, FORTRAN, true)                                      \
	DEFINE(cblas_##name, name, dtype, shape, C, false)                                         \
	DEFINE(cblas_##name##64_, name, dtype, shape, C, true)                                     \
	DEFINE(scipy_##name##_, name, dtype, shape, FORTRAN, false)                                \
	DEFINE(scipy_##name##_64_, name, dtype, shape, FORTRAN, true)                              \
	DEFINE(scipy_cblas_##name, name, dtype, shape, C, false)                                   \
	DEFINE(scipy_cblas_##name##64_, name, dtype, shape, C, true)
#include "blas/blas_routines.def"
#undef ROUTINE

/* --- what a record costs -------------------------------------------------------------------- */

#define COST_ROUNDS	   9
#define COST_CALLS	   64
#define COST_SCRATCH_BYTES (COST_CALLS * 128)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What COST_CALLS calls of `function` last. */
static uint64_t time_calls(blas_function *function)
{
	static const char no_trans[] = "N";
	static const int32_t size = 64;
	blas_word option = (blas_word)no_trans, n = (blas_word)&size;
	uint64_t begin_ns = now_ns();

	for (int i = 0; i < COST_CALLS; i++)
		function(option, option, n, n, n, 0, 0, n, 0, n, 0, 0, n, 1, 1, 0, 0, 0, 0, 0, 0,
			 0);
	return now_ns() - begin_ns;
}

/* Time calls with a record against calls without, as many rounds as COST_ROUNDS, and hand the
 * smallest difference to the run. */
static void run_measurement(void *unused)
{
	uint64_t least_ns = UINT64_MAX;

	(void)unused;
	if (!tacho_scratch_begin(COST_SCRATCH_BYTES))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t without_ns = time_calls(no_blas), with_ns;

		tacho_scratch_rewind();
		with_ns = time_calls(measured_gemm);
		if (with_ns > without_ns && with_ns - without_ns < least_ns)
			least_ns = with_ns - without_ns;
	}
	tacho_scratch_end();
	if (least_ns < UINT64_MAX)
		tacho_cost(TRACE_KIND_KERNEL, "blas", least_ns * 1000 / COST_CALLS);
}

/* Once a process: some microseconds. */
static void measure_cost(uint32_t class_id)
{
	static uint32_t measured_generation;
	uint32_t generation = tacho_generation();

	if (__atomic_exchange_n(&measured_generation, generation, __ATOMIC_RELAXED) == generation)
		return;
	measured_state.class_of_generation = (uint64_t)generation << 32 | class_id;
	tacho_run_aside(run_measurement, NULL);
}

/* --- where there is nothing to see ---------------------------------------------------------- */

/* PyTorch's wheels link a BLAS in statically. One of these is called by each build that does not. */
static void torch_appeared(const char *path, uintptr_t base_address)
{
	static const char *const calls[] = { "sgemm_", "cblas_sgemm", "sgemm_64_" };
	char text[256];

	if (elf_imports_any(base_address, calls, sizeof(calls) / sizeof(*calls)))
		return;
	tacho_unseen(
		"BLAS kernels",
		"no BLAS kernels are recorded for %s, because BLAS is linked into it statically",
		path);
	snprintf(text, sizeof(text), "blas: linked statically into %s", path);
	tacho_mark("no_kernels", 0, 0, text);
}

static __attribute__((constructor)) void start(void)
{
	tacho_watch_library("libtorch_cpu.so", torch_appeared);
}
