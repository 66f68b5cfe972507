/* ort_probe: what programs have ONNX Runtime do: sessions as they are created, and each run with its tensors.
 *
 * (1) A run is an operation with its inputs; its outputs are told when it ends. What the library calls meanwhile (BLAS, files) is recorded
 *     within. How the tensors are called is told once a session, of its first run.
 * (2) The program gets what it would get: its session, its status, its outputs. The probe asks the library for types and shapes of
 *     values that the program has at hand, no more.
 * (3) Of an asynchronous run there is a span, ended when the library calls the program back.
 * (4) Each library of the process has functions of its own here: an entry does not say which table it was called by. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/real_function.h"
#include "common/region_stack.h"
#include "common/watch.h"
#include "onnxruntime/ort_profile.h"
#include "onnxruntime/ort_session.h"
#include "onnxruntime/ort_tensors.h"

#define COST_ROUNDS 5
#define COST_CALLS  16

static inline bool is_wanted(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside;
}

/* --- a run ---------------------------------------------------------------------------------- */

struct run {
	const struct ort_library *library;
	struct ort_known_session *known;
	const struct ort_value *const *inputs; /* NULL: not known */
	size_t n_inputs, n_outputs;
	struct record_op *record;
};

static void write_run(struct run *run)
{
	struct record_op *record;
	struct ort_tensors inputs;

	ort_tensors_read(&inputs, run->library, run->inputs, run->n_inputs);
	record = tacho_record_begin(run->known->run_class,
				    (uint32_t)sizeof(*record) + inputs.n_bytes);
	run->record = record;
	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->sequence = TRACE_NO_SEQUENCE;
	record->forward_thread = 0;
	record->flags = inputs.is_cut ? TRACE_OP_CUT : run->inputs ? 0 : TRACE_OP_UNASKED;
	record->n_inputs = inputs.n;
	memcpy(record + 1, inputs.bytes, inputs.n_bytes);
	tacho_record_commit(record);
}

static void write_outputs(const struct run *run, struct ort_value *const *outputs)
{
	struct record_outputs *record;
	struct ort_tensors tensors;

	ort_tensors_read(&tensors, run->library, (const struct ort_value *const *)outputs,
			 run->n_outputs);
	record = tacho_record_begin(run->known->outputs_class,
				    (uint32_t)sizeof(*record) + tensors.n_bytes);
	if (!record)
		return;
	record->begin_stamp = run->record->header.stamp;
	record->n_outputs = tensors.n;
	record->reserved = 0;
	memcpy(record + 1, tensors.bytes, tensors.n_bytes);
	tacho_record_commit(record);
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

	if (run->record) {
		tacho_writer.is_inside++;
		if (!status && outputs)
			write_outputs(run, outputs);
		tacho_writer.is_inside--;
		tacho_slice_end(run->record, &run->record->duration);
	}
	if (__atomic_load_n(&run->known->n_running, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&run->known->n_running, 1, __ATOMIC_ACQ_REL);
	errno = cause;
}

/* --- how tensors are called ------------------------------------------------------------------ */

struct naming {
	const char *const *inputs, *const *outputs;
	size_t n_inputs, n_outputs;
	const char *model;
};

static void add_names(char *text, size_t size, const char *const *names, size_t n)
{
	for (size_t i = 0; names && i < n; i++) {
		strncat(text, i ? ", " : " ", size - strlen(text) - 1);
		strncat(text, names[i] ? names[i] : "?", size - strlen(text) - 1);
	}
}

static void write_names(void *naming_pointer)
{
	const struct naming *naming = naming_pointer;
	char text[2048];

	snprintf(text, sizeof(text), "%s:", naming->model);
	add_names(text, sizeof(text), naming->inputs, naming->n_inputs);
	strncat(text, " ->", sizeof(text) - strlen(text) - 1);
	add_names(text, sizeof(text), naming->outputs, naming->n_outputs);
	tacho_mark("onnxruntime: tensors", (int64_t)naming->n_inputs, (int64_t)naming->n_outputs,
		   text);
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

/* Once a session and process: how its tensors are called, and what a run with them costs. */
static void tell_first(const struct run *run, struct ort_value *const *outputs,
		       struct naming *naming)
{
	struct measurement asked = { .run = *run, .outputs = outputs };
	uint32_t generation = tacho_generation();
	int cause = errno;

	if (__atomic_exchange_n(&run->known->told_generation, generation, __ATOMIC_RELAXED) ==
	    generation)
		return;
	tacho_run_aside(write_names, naming);
	tacho_run_aside(measure, &asked);
	if (asked.picoseconds)
		tacho_op_cost(run->known->run_class, "onnxruntime", asked.picoseconds);
	errno = cause;
}

static inline bool is_told(const struct run *run)
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
	struct naming naming = { input_names, output_names, n_inputs, n_outputs, NULL };
	struct run run = {
		.library = library, .inputs = inputs, .n_inputs = n_inputs, .n_outputs = n_outputs
	};
	struct ort_status *status;

	if (!session || !is_wanted())
		return library->real.Run(session, options, input_names, inputs, n_inputs,
					 output_names, n_outputs, outputs);
	run.known = ort_session_find(library, session);
	begin_run(&run);
	status = library->real.Run(session, options, input_names, inputs, n_inputs, output_names,
				   n_outputs, outputs);
	end_run(&run, status, outputs);
	if (TACHO_UNLIKELY(!is_told(&run)) && !status) {
		naming.model = run.known->name;
		tell_first(&run, outputs, &naming);
	}
	return status;
}

static struct ort_status *hook_RunWithBinding(const struct ort_library *library,
					      struct ort_session *session,
					      const struct ort_run_options *options,
					      const struct ort_binding *binding)
{
	struct run run = { .library = library };
	struct ort_status *status;

	if (!session || !is_wanted())
		return library->real.RunWithBinding(session, options, binding);
	run.known = ort_session_find(library, session);
	begin_run(&run);
	status = library->real.RunWithBinding(session, options, binding);
	end_run(&run, status, NULL);
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
	struct async_run *run =
		session && ended && is_wanted() ? begin_async(library, session, ended, data) : NULL;
	struct ort_status *status = library->real.RunAsync(
		session, options, input_names, inputs, n_inputs, output_names, n_outputs, outputs,
		run ? async_ended : ended, run ? (void *)run : data);

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

static struct ort_status *hook_CreateSessionFromArray(const struct ort_library *library,
						      const struct ort_env *env, const void *model,
						      size_t bytes,
						      const struct ort_options *options,
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

/* --- how programs come to the table ---------------------------------------------------------- */

typedef const void *get_base(void);

TACHO_EXPORT get_base OrtGetApiBase;

static void found(void *base)
{
	ort_library_found(base);
}

const void *OrtGetApiBase(void)
{
	static struct real_function real = REAL_FUNCTION_INIT("OrtGetApiBase");
	static const void *seen; /* atomic */
	get_base *get = (get_base *)real_function(&real, __builtin_return_address(0));
	const void *base = get ? get() : NULL;

	if (base && __atomic_exchange_n(&seen, base, __ATOMIC_ACQ_REL) != base)
		tacho_run_aside(found, (void *)(uintptr_t)base);
	return base;
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
