/* ort_probe: what programs have ONNX Runtime do: sessions as they are created, and each run with its tensors.
 *
 * (1) A run's record is begun before the run, with its inputs and the names of its outputs; what the outputs are is filled in when they
 *     are there. The run itself is the library's: BLAS, files and what else it calls are recorded within.
 * (2) The program gets what it would get: its session, its status, its outputs. The probe asks the library for types and shapes of
 *     values that the program has at hand, no more.
 * (3) Of an asynchronous run there is a span, ended when the library calls the program back.
 * (4) Each library of the process has functions of its own here: an entry does not say which table it was called by. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/region_stack.h"
#include "common/watch.h"
#include "onnxruntime/ort_profile.h"
#include "onnxruntime/ort_session.h"
#include "onnxruntime/ort_text.h"

#define OUTPUT_BYTES 48	 /* kept free for what an output is */
#define MAX_OUTPUTS  256 /* bytes kept free for all */
#define COST_ROUNDS  5
#define COST_CALLS   16

static inline bool is_wanted(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside;
}

/* --- a run ---------------------------------------------------------------------------------- */

struct tensors {
	const char *const *names;
	const struct ort_value *const *values;
	size_t n;
};

struct run {
	const struct ort_library *library;
	struct ort_known_session *known;
	struct tensors inputs;
	const char *const *output_names;
	size_t n_outputs;
	struct record_kernel *record;
	char *outputs;	 /* in the record: where they stand */
	uint32_t n_free; /* bytes there */
};

/* Write the record of a run that begins. */
static void write_run(struct run *run)
{
	struct record_kernel *record;
	struct ort_text text;
	size_t dims_bytes, n_outputs = run->n_outputs * OUTPUT_BYTES;
	uint32_t n_begin, n_text;
	char *at;

	ort_text_begin(&text);
	ort_text_add(&text, run->library, run->inputs.names, run->inputs.values, run->inputs.n);
	ort_text_arrow(&text);
	n_begin = text.n;
	ort_text_add(&text, run->library, run->output_names, NULL, run->n_outputs);
	n_text = tacho_padded(text.n + (n_outputs < MAX_OUTPUTS ? n_outputs : MAX_OUTPUTS));
	dims_bytes = text.n_dims * sizeof(*text.dims);
	record = tacho_record_begin(run->known->run_class,
				    (uint32_t)(sizeof(*record) + dims_bytes + n_text));
	run->record = record;
	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->flops = 0;
	record->bytes = text.tensor_bytes;
	record->dtype = text.dtype;
	record->n_dims = text.n_dims;
	record->n_text = n_text;
	record->reserved = 0;
	memcpy(record + 1, text.dims, dims_bytes);
	at = (char *)(record + 1) + dims_bytes;
	memcpy(at, text.bytes, text.n);
	memset(at + text.n, 0, n_text - text.n);
	tacho_record_commit(record);
	run->outputs = at + n_begin;
	run->n_free = n_text - n_begin;
}

/* What the outputs are, which are there now. */
static void write_outputs(struct run *run, struct ort_value *const *outputs)
{
	struct ort_text text;

	ort_text_begin(&text);
	ort_text_arrow(&text); /* so that a blank stands before the first */
	ort_text_add(&text, run->library, run->output_names,
		     (const struct ort_value *const *)outputs, run->n_outputs);
	if (text.n - 3 <= run->n_free)
		memcpy(run->outputs, text.bytes + 3, text.n - 3);
	run->record->bytes += text.tensor_bytes;
}

static void begin_run(struct run *run)
{
	int cause = errno;

	tacho_writer.is_inside++;
	if (__atomic_load_n(&run->known->profile, __ATOMIC_RELAXED))
		__atomic_fetch_add(&run->known->n_running, 1, __ATOMIC_ACQ_REL);
	write_run(run);
	tacho_writer.is_inside--;
	errno = cause;
}

static void end_run(struct run *run, const struct ort_status *status,
		    struct ort_value *const *outputs)
{
	int cause = errno;
	struct record_kernel *record = run->record;

	if (record) {
		uint64_t ended = tacho_ticks();

		tacho_writer.is_inside++;
		if (!status && outputs)
			write_outputs(run, outputs);
		tacho_writer.is_inside--;
		__atomic_store_n(&record->duration,
				 ended > record->header.stamp ? ended - record->header.stamp : 0,
				 __ATOMIC_RELEASE);
	}
	if (__atomic_load_n(&run->known->n_running, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&run->known->n_running, 1, __ATOMIC_ACQ_REL);
	errno = cause;
}

/* --- what a run costs ------------------------------------------------------------------------ */

struct measurement {
	struct run run; /* one that has ended */
	struct ort_value *const *outputs;
	uint64_t picoseconds; /* 0: not measured */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(void *measurement_pointer)
{
	struct measurement *asked = measurement_pointer;
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(1 << 16))
		return;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (int i = 0; i < COST_CALLS; i++) {
			begin_run(&asked->run);
			end_run(&asked->run, NULL, asked->outputs);
		}
		taken_ns = now_ns() - begin_ns;
		tacho_scratch_rewind();
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	asked->picoseconds = least_ns * 1000 / COST_CALLS;
}

/* Once a session and process: sessions have tensors of their own. */
static void tell_cost(const struct run *run, struct ort_value *const *outputs)
{
	struct measurement asked = { .run = *run, .outputs = outputs };
	uint32_t generation = tacho_generation();
	int cause = errno;

	if (__atomic_exchange_n(&run->known->told_generation, generation, __ATOMIC_RELAXED) ==
	    generation)
		return;
	tacho_run_aside(measure, &asked);
	if (asked.picoseconds)
		tacho_kernel_cost(run->known->run_class, "onnxruntime", asked.picoseconds);
	errno = cause;
}

static inline bool is_cost_told(const struct run *run)
{
	return __atomic_load_n(&run->known->told_generation, __ATOMIC_RELAXED) ==
	       tacho_generation();
}

/* --- runs ------------------------------------------------------------------------------------ */

static struct ort_status *hook_Run(const struct ort_library *library, struct ort_session *session,
				   const struct ort_run_options *options,
				   const char *const *input_names,
				   const struct ort_value *const *inputs, size_t n_inputs,
				   const char *const *output_names, size_t n_outputs,
				   struct ort_value **outputs)
{
	struct run run = { .library = library,
			   .inputs = { input_names, inputs, n_inputs },
			   .output_names = output_names,
			   .n_outputs = n_outputs };
	struct ort_status *status;

	if (!session || !is_wanted())
		return library->real.Run(session, options, input_names, inputs, n_inputs,
					 output_names, n_outputs, outputs);
	run.known = ort_session_find(library, session);
	begin_run(&run);
	status = library->real.Run(session, options, input_names, inputs, n_inputs, output_names,
				   n_outputs, outputs);
	end_run(&run, status, outputs);
	if (TACHO_UNLIKELY(!is_cost_told(&run)) && !status)
		tell_cost(&run, outputs);
	return status;
}

static struct ort_status *hook_RunWithBinding(const struct ort_library *library,
					      struct ort_session *session,
					      const struct ort_run_options *options,
					      const struct ort_binding *binding)
{
	static const char *const names[] = { "(bound)" };
	struct run run = { .library = library, .inputs = { names, NULL, 1 } };
	struct ort_status *status;

	if (!session || !is_wanted())
		return library->real.RunWithBinding(session, options, binding);
	run.known = ort_session_find(library, session);
	begin_run(&run);
	status = library->real.RunWithBinding(session, options, binding);
	end_run(&run, status, NULL);
	if (TACHO_UNLIKELY(!is_cost_told(&run)) && !status)
		tell_cost(&run, NULL);
	return status;
}

/* (3) */
struct async_run {
	ort_run_ended *ended;
	void *data;
	struct ort_known_session *known;
	uint64_t region;
	bool is_counted;
};

static void end_async(struct async_run *run)
{
	int cause = errno;

	region_end(run->region);
	if (run->is_counted)
		__atomic_fetch_sub(&run->known->n_running, 1, __ATOMIC_ACQ_REL);
	free(run);
	errno = cause;
}

static void async_ended(void *run_pointer, struct ort_value **outputs, size_t n_outputs,
			struct ort_status *status)
{
	struct async_run *run = run_pointer;
	ort_run_ended *ended = run->ended;
	void *data = run->data;

	end_async(run);
	ended(data, outputs, n_outputs, status);
}

static struct async_run *begin_async(const struct ort_library *library, struct ort_session *session,
				     ort_run_ended *ended, void *data)
{
	int cause = errno;
	struct async_run *run = malloc(sizeof(*run));

	if (run) {
		*run = (struct async_run){ .ended = ended,
					   .data = data,
					   .known = ort_session_find(library, session) };
		run->is_counted = __atomic_load_n(&run->known->profile, __ATOMIC_RELAXED) != 0;
		if (run->is_counted)
			__atomic_fetch_add(&run->known->n_running, 1, __ATOMIC_ACQ_REL);
		run->region = region_start(run->known->async_class, 0);
	}
	errno = cause;
	return run;
}

static struct ort_status *
hook_RunAsync(const struct ort_library *library, struct ort_session *session,
	      const struct ort_run_options *options, const char *const *input_names,
	      const struct ort_value *const *inputs, size_t n_inputs,
	      const char *const *output_names, size_t n_outputs, struct ort_value **outputs,
	      ort_run_ended *ended, void *data)
{
	struct async_run *run = session && ended && is_wanted()
					? begin_async(library, session, ended, data)
					: NULL;
	struct ort_status *status =
		library->real.RunAsync(session, options, input_names, inputs, n_inputs,
				       output_names, n_outputs, outputs, run ? async_ended : ended,
				       run ? (void *)run : data);

	/* then nobody is called back */
	if (status && run)
		end_async(run);
	return status;
}

/* --- sessions -------------------------------------------------------------------------------- */

/* A session that is being created. */
struct loading {
	const struct ort_library *library;
	const char *name;
	struct record_slice *record;
	struct ort_options *clone; /* NULL: the program's options are used */
	uint32_t profile;
};

static void write_loading(void *loading_pointer)
{
	struct loading *loading = loading_pointer;
	struct record_slice *record;
	char text[300] = "onnxruntime: load ";

	strncat(text, loading->name, sizeof(text) - strlen(text) - 1);
	record = tacho_record_begin(tacho_class(TRACE_KIND_ANNOTATION, text, strlen(text)),
				    sizeof(*record));
	loading->record = record;
	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->id = 0;
	tacho_record_commit(record);
}

static const struct ort_options *begin_loading(struct loading *loading,
					       const struct ort_options *options)
{
	int cause = errno;

	tacho_writer.is_inside++;
	loading->clone = ort_profile_options(loading->library, options, &loading->profile);
	tacho_run_aside(write_loading, loading);
	tacho_writer.is_inside--;
	errno = cause;
	return loading->clone ? loading->clone : options;
}

/* What the model calls itself, where it came from memory. */
static struct ort_known_session *add_nameless(const struct ort_library *library,
					      struct ort_session *session)
{
	const struct ort_functions *real = &library->real;
	struct ort_known_session *known = NULL;
	struct ort_allocator *allocator = NULL;
	struct ort_model *model = NULL;
	char *name = NULL;

	if (ort_succeeds(library, real->GetAllocatorWithDefaultOptions(&allocator)) &&
	    ort_succeeds(library, real->SessionGetModelMetadata(session, &model)) && model) {
		if (ort_succeeds(library,
				 real->ModelMetadataGetGraphName(model, allocator, &name)) &&
		    name && *name)
			known = ort_session_add(library, session, name);
		real->ReleaseModelMetadata(model);
	}
	if (name)
		ort_succeeds(library, real->AllocatorFree(allocator, name));
	return known ? known : ort_session_add(library, session, "a model");
}

/* It is there: `session` NULL: it could not be created. */
static void end_loading(struct loading *loading, struct ort_session *session, bool has_name)
{
	const struct ort_library *library = loading->library;
	int cause = errno;

	if (loading->record)
		tacho_slice_end(loading->record, &loading->record->duration);
	tacho_writer.is_inside++;
	if (session) {
		struct ort_known_session *known =
			has_name ? ort_session_add(library, session, loading->name)
				 : add_nameless(library, session);

		if (loading->clone)
			ort_profile_begun(library, known, loading->profile);
	}
	if (loading->clone)
		library->real.ReleaseSessionOptions(loading->clone);
	tacho_writer.is_inside--;
	errno = cause;
}

/* With the program's own options, since it could not be with ours. */
static bool must_try_again(struct loading *loading, struct ort_status *status)
{
	if (!status || !loading->clone)
		return false;
	loading->library->real.ReleaseStatus(status);
	ort_profile_begun(loading->library, NULL, loading->profile);
	loading->library->real.ReleaseSessionOptions(loading->clone);
	loading->clone = NULL;
	return true;
}

static const char *file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "?";
}

/* Create a session by the entry `create` of the library, called with `arguments`, in which `used` stands for the options. */
#define CREATE(library, model_name, has_name, options, ret_session, create, ...)                   \
	struct loading loading = { .library = (library), .name = (model_name) };                   \
	const struct ort_options *used = (options);                                                \
	bool is_seen = is_wanted();                                                                \
	struct ort_status *status;                                                                 \
                                                                                                   \
	if (is_seen)                                                                               \
		used = begin_loading(&loading, options);                                           \
	status = (library)->real.create(__VA_ARGS__);                                              \
	if (is_seen && must_try_again(&loading, status)) {                                         \
		used = (options);                                                                  \
		status = (library)->real.create(__VA_ARGS__);                                      \
	}                                                                                          \
	if (is_seen)                                                                               \
		end_loading(&loading, status ? NULL : *(ret_session), has_name);                   \
	return status

static struct ort_status *hook_CreateSession(const struct ort_library *library,
					     const struct ort_env *env, const char *path,
					     const struct ort_options *options,
					     struct ort_session **ret_session)
{
	CREATE(library, file_name(path), true, options, ret_session, CreateSession, env, path, used,
	       ret_session);
}

static struct ort_status *
hook_CreateSessionFromArray(const struct ort_library *library, const struct ort_env *env,
			    const void *model, size_t bytes, const struct ort_options *options,
			    struct ort_session **ret_session)
{
	CREATE(library, "a model in memory", false, options, ret_session, CreateSessionFromArray,
	       env, model, bytes, used, ret_session);
}

static struct ort_status *hook_CreateSessionWithPrepackedWeightsContainer(
	const struct ort_library *library, const struct ort_env *env, const char *path,
	const struct ort_options *options, struct ort_weights *weights,
	struct ort_session **ret_session)
{
	CREATE(library, file_name(path), true, options, ret_session,
	       CreateSessionWithPrepackedWeightsContainer, env, path, used, weights, ret_session);
}

static struct ort_status *hook_CreateSessionFromArrayWithPrepackedWeightsContainer(
	const struct ort_library *library, const struct ort_env *env, const void *model,
	size_t bytes, const struct ort_options *options, struct ort_weights *weights,
	struct ort_session **ret_session)
{
	CREATE(library, "a model in memory", false, options, ret_session,
	       CreateSessionFromArrayWithPrepackedWeightsContainer, env, model, bytes, used,
	       weights, ret_session);
}

static void hook_ReleaseSession(const struct ort_library *library, struct ort_session *session)
{
	struct ort_known_session *known = session ? ort_session_known(session) : NULL;

	if (known && __atomic_load_n(&known->profile, __ATOMIC_RELAXED))
		ort_profile_end(library, known);
	if (known)
		ort_session_remove(session);
	library->real.ReleaseSession(session);
}

/* --- the program's own profiling ------------------------------------------------------------- */

static struct ort_status *hook_EnableProfiling(const struct ort_library *library,
					       struct ort_options *options, const char *prefix)
{
	if (ort_profile_is_wanted())
		ort_profile_enabled(options);
	return library->real.EnableProfiling(options, prefix);
}

static struct ort_status *hook_DisableProfiling(const struct ort_library *library,
						struct ort_options *options)
{
	if (ort_profile_is_wanted())
		ort_profile_disabled(options);
	return library->real.DisableProfiling(options);
}

static struct ort_status *hook_CloneSessionOptions(const struct ort_library *library,
						   const struct ort_options *options,
						   struct ort_options **ret_options)
{
	struct ort_status *status = library->real.CloneSessionOptions(options, ret_options);

	if (!status && ort_profile_is_wanted())
		ort_profile_cloned(options, *ret_options);
	return status;
}

static void hook_ReleaseSessionOptions(const struct ort_library *library,
				       struct ort_options *options)
{
	if (ort_profile_is_wanted() && options)
		ort_profile_disabled(options);
	library->real.ReleaseSessionOptions(options);
}

/* --- the table's entries (4) ----------------------------------------------------------------- */

#define ENTRY(n, name, parameters, ...)                                                            \
	static struct ort_status *name##_##n parameters                                            \
	{                                                                                          \
		return hook_##name(&ort_libraries[n], __VA_ARGS__);                                \
	}
#define FREED_ENTRY(n, name, object)                                                               \
	static void name##_##n(object *freed)                                                      \
	{                                                                                          \
		hook_##name(&ort_libraries[n], freed);                                             \
	}
#define ORT_HOOKED(name, place, since, parameters, ...)                                            \
	ENTRY(0, name, parameters, __VA_ARGS__)                                                    \
	ENTRY(1, name, parameters, __VA_ARGS__)                                                    \
	ENTRY(2, name, parameters, __VA_ARGS__)                                                    \
	ENTRY(3, name, parameters, __VA_ARGS__)
#define ORT_HOOKED_FREED(name, place, object)                                                      \
	FREED_ENTRY(0, name, object)                                                               \
	FREED_ENTRY(1, name, object)                                                               \
	FREED_ENTRY(2, name, object)                                                               \
	FREED_ENTRY(3, name, object)
#include "onnxruntime/ort_calls.def"

void *ort_hook_function(enum ort_hook hook, int n)
{
	static void *const functions[ORT_N_HOOKS][ORT_LIBRARIES] = {
#define ALL_ENTRIES(name)                                                                          \
	{ (void *)name##_0, (void *)name##_1, (void *)name##_2, (void *)name##_3 },
#define ORT_HOOKED(name, ...)	    ALL_ENTRIES(name)
#define ORT_HOOKED_FREED(name, ...) ALL_ENTRIES(name)
#include "onnxruntime/ort_calls.def"
	};

	return functions[hook][n];
}

/* --- its start ------------------------------------------------------------------------------- */

static void library_appeared(const char *path, uintptr_t base_address)
{
	(void)base_address;
	ort_library_appeared(path);
}

static void attached_changed(bool is_attached)
{
	ort_libraries_lead(is_attached);
}

static void __attribute__((constructor)) start(void)
{
	ort_profile_configure();
	tacho_watch_attached(attached_changed);
	tacho_watch_library("libonnxruntime", library_appeared);
}
