/* tensorflow_probe: TensorFlow's own functions by which tensors go from device to device and from process to process. Its libraries export
 * them and call them through the loader, so that those here stand before them when preloaded (README.md).
 *
 * (1) Each is handed on with its arguments as they came; of some the function that is called at the end is another (watched_function.h).
 * (2) What a C++ function returns by value, a Status, comes through a pointer that is the first argument: handed on as well.
 * (3) Which function is TensorFlow's depends on who calls (real_function.h): a process may have two TensorFlows. */
#include "common/activity.h"
#include "common/call_cost.h"
#include "common/elf_imports.h"
#include "common/real_function.h"
#include "common/watch.h"
#include "tensorflow/meetings.h"
#include "tensorflow/profiler_events.h"
#include "tensorflow/tensor_request.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

typedef size_t tensor_bytes_function(const void *tensor);
typedef void *send_function(void *ret_status, void *self, const struct tensorflow_key *key,
			    const void *args, const void *tensor, bool is_dead);
typedef void receive_function(void *self, const struct tensorflow_key *key, const void *args,
			      struct tensorflow_function *done);
typedef void ask_function(void *self, void *options, const void *request, void *response,
			  struct tensorflow_function *done);
typedef uintptr_t encode_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
typedef void record_function(struct tensorflow_event *event);
typedef void *stop_function(void *ret_events, void *self);

static uint64_t bytes_of(const void *tensor, const void *caller)
{
	static struct real_function real = REAL_FUNCTION_INIT(TENSORFLOW_TENSOR_BYTES);
	tensor_bytes_function *bytes = (tensor_bytes_function *)real_function(&real, caller);

	return bytes ? bytes(tensor) : 0;
}

/* --- rendezvous --------------------------------------------------------------------------------- */

static void come(const void *rendezvous, const struct tensorflow_key *told, enum meeting_side side,
		 uint64_t bytes)
{
	struct rendezvous_key key;

	if (tacho_is_alive() && rendezvous_key_of(&key, told))
		meeting_come(rendezvous, &key, side, bytes);
}

TACHO_EXPORT send_function tacho_tensorflow_send __asm__(TENSORFLOW_SEND);
void *tacho_tensorflow_send(void *ret_status, void *self, const struct tensorflow_key *key,
			    const void *args, const void *tensor, bool is_dead)
{
	static struct real_function kept = REAL_FUNCTION_INIT(TENSORFLOW_SEND);
	const void *caller = __builtin_return_address(0);
	send_function *real = (send_function *)real_function(&kept, caller);

	come(self, key, MEETING_SENDER, tacho_is_recording_all() ? bytes_of(tensor, caller) : 0);
	return real ? real(ret_status, self, key, args, tensor, is_dead) : ret_status;
}

#define RECEIVE(name, status)                                                                      \
	TACHO_EXPORT receive_function tacho_tensorflow_receive_##name __asm__(                     \
		TENSORFLOW_RECEIVE(status));                                                       \
	void tacho_tensorflow_receive_##name(void *self, const struct tensorflow_key *key,         \
					     const void *args, struct tensorflow_function *done)   \
	{                                                                                          \
		static struct real_function kept = REAL_FUNCTION_INIT(TENSORFLOW_RECEIVE(status)); \
		receive_function *real =                                                           \
			(receive_function *)real_function(&kept, __builtin_return_address(0));     \
                                                                                                   \
		come(self, key, MEETING_RECEIVER, 0);                                              \
		if (real)                                                                          \
			real(self, key, args, done);                                               \
	}
#define RECEIVE_OF(date) RECEIVE(date, TENSORFLOW_ABSEIL_STATUS(date))
TENSORFLOW_ABSEILS(RECEIVE_OF)
RECEIVE(own, TENSORFLOW_OWN_STATUS)

/* --- requests ----------------------------------------------------------------------------------- */

#define REQUEST(name, symbol, kind, side)                                                          \
	TACHO_EXPORT ask_function tacho_tensorflow_##name __asm__(symbol);                         \
	void tacho_tensorflow_##name(void *self, void *options, const void *request,               \
				     void *response, struct tensorflow_function *done)             \
	{                                                                                          \
		static struct real_function kept = REAL_FUNCTION_INIT(symbol);                     \
		const void *caller = __builtin_return_address(0);                                  \
		ask_function *real = (ask_function *)real_function(&kept, caller);                 \
                                                                                                   \
		tensor_request_begin(kind, side, request, done, caller);                           \
		if (real)                                                                          \
			real(self, options, request, response, done);                              \
	}
#define REQUESTS(name, status)                                                                     \
	REQUEST(ask_tensor_##name, TENSORFLOW_ASK_TENSOR(status), REQUEST_OF_TENSOR,               \
		TRACE_SIDE_CLIENT)                                                                 \
	REQUEST(ask_buffer_##name, TENSORFLOW_ASK_BUFFER(status), REQUEST_OF_BUFFER,               \
		TRACE_SIDE_CLIENT)                                                                 \
	REQUEST(serve_tensor_##name, TENSORFLOW_SERVE_TENSOR(status), REQUEST_OF_TENSOR,           \
		TRACE_SIDE_SERVER)                                                                 \
	REQUEST(serve_buffer_##name, TENSORFLOW_SERVE_BUFFER(status), REQUEST_OF_BUFFER,           \
		TRACE_SIDE_SERVER)
#define REQUESTS_OF(date) REQUESTS(date, TENSORFLOW_ABSEIL_STATUS(date))
TENSORFLOW_ABSEILS(REQUESTS_OF)
REQUESTS(own, TENSORFLOW_OWN_STATUS_AGAIN)

/* It was void, and returns a Status since; its name does not tell which. Where it does, a pointer to a place on the stack is before the
 * first argument, a bool: no other argument of its width is one. NULL: what should be the tensor is no pointer. */
static const void *encoded_tensor(const uintptr_t arguments[3])
{
	uintptr_t tensor = arguments[arguments[0] > UINT32_MAX ? 2 : 1];

	return tensor >= TENSORFLOW_LEAST_ADDRESS ? (const void *)tensor : NULL;
}

TACHO_EXPORT encode_function tacho_tensorflow_encode __asm__(TENSORFLOW_ENCODE);
uintptr_t tacho_tensorflow_encode(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3,
				  uintptr_t a4)
{
	static struct real_function kept = REAL_FUNCTION_INIT(TENSORFLOW_ENCODE);
	static uint32_t class_id; /* atomic */
	static const char name[] = "EncodeTensorToByteBuffer";
	const void *caller = __builtin_return_address(0);
	encode_function *real = (encode_function *)real_function(&kept, caller);
	const void *tensor = encoded_tensor((const uintptr_t[]){ a0, a1, a2 });
	struct record_slice *slice = NULL;
	uintptr_t result;

	if (tensor && tacho_is_recording_all()) {
		uint64_t bytes = bytes_of(tensor, caller);
		uint32_t id = __atomic_load_n(&class_id, __ATOMIC_RELAXED);

		if (!id) {
			id = tacho_class(TRACE_KIND_ANNOTATION, name, sizeof(name) - 1);
			__atomic_store_n(&class_id, id, __ATOMIC_RELAXED);
		}
		slice = tacho_slice_begin(id, bytes);
		tensor_request_encoded(bytes);
	}
	result = real ? real(a0, a1, a2, a3, a4) : a0;
	tacho_slice_finish(slice);
	return result;
}

/* --- its own profiler --------------------------------------------------------------------------- */

/* Also where nothing is recorded: the profile may be the job's own. */
TACHO_EXPORT record_function tacho_tensorflow_profiler_record __asm__(TENSORFLOW_PROFILER_RECORD);
void tacho_tensorflow_profiler_record(struct tensorflow_event *event)
{
	static struct real_function kept = REAL_FUNCTION_INIT(TENSORFLOW_PROFILER_RECORD);
	record_function *real =
		(record_function *)real_function(&kept, __builtin_return_address(0));

	if (profiler_event_pass(event) && real)
		real(event);
}

static void forget_profile(const void *caller)
{
	static struct real_function kept = REAL_FUNCTION_INIT(TENSORFLOW_DELETE);

	profiler_events_forget((profiler_free *)real_function(&kept, caller));
}

/* `self` is whatever it is where the function is of no object. */
#define PROFILER_STOP(name, symbol)                                                                \
	TACHO_EXPORT stop_function tacho_tensorflow_profiler_##name __asm__(symbol);               \
	void *tacho_tensorflow_profiler_##name(void *ret_events, void *self)                       \
	{                                                                                          \
		static struct real_function kept = REAL_FUNCTION_INIT(symbol);                     \
		const void *caller = __builtin_return_address(0);                                  \
		stop_function *real = (stop_function *)real_function(&kept, caller);               \
		void *result = real ? real(ret_events, self) : ret_events;                         \
                                                                                                   \
		forget_profile(caller);                                                            \
		return result;                                                                     \
	}
PROFILER_STOP(stop, TENSORFLOW_PROFILER_STOP)
PROFILER_STOP(stop_old, TENSORFLOW_PROFILER_STOP_OLD)

/* --- which TensorFlow --------------------------------------------------------------------------- */

static void meet_once(uint64_t i, void *key)
{
	meeting_come((const void *)i, key, MEETING_SENDER, 0);
	meeting_come((const void *)i, key, MEETING_RECEIVER, 0);
}

/* What a job pays for one meeting of two. */
static void tell_cost(void)
{
	static const char text[] = "here;0;there;cost;0:0";
	struct rendezvous_key key;
	uint64_t cost_ps;

	if (!tacho_is_recording_all() || !rendezvous_key_read(&key, text, sizeof(text) - 1))
		return;
	cost_ps = tacho_call_cost_ps(sizeof(struct record_slice), meet_once, &key);
	if (cost_ps)
		tacho_cost(TRACE_KIND_SPAN, "tensorflow", cost_ps);
}

static void tensorflow_appeared(const char *path, uintptr_t base_address)
{
#define NAME_OF(date) TENSORFLOW_RECEIVE(TENSORFLOW_ABSEIL_STATUS(date)),
	static const char *const names[] = { TENSORFLOW_ABSEILS(NAME_OF)
						     TENSORFLOW_RECEIVE(TENSORFLOW_OWN_STATUS) };
#undef NAME_OF

	if (elf_imports_any(base_address, names, COUNT(names)))
		tell_cost();
	else
		tacho_unseen(
			"TensorFlow's rendezvous",
			"TensorFlow's rendezvous and requests for tensors are not recorded: the "
			"names of %s are none of TensorFlow 2.12 to 2.21",
			path);
}

static __attribute__((constructor)) void start(void)
{
	tacho_watch_library("libtensorflow_framework.so", tensorflow_appeared);
}
