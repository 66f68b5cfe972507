/* op_callbacks: PyTorch's RecordFunction callbacks, as records.
 *
 * PyTorch runs begin_event() before and end_event() after every operation, autograd node, named
 * region and collective. What is open is kept on a stack of the thread's own instead of in the
 * ObserverContext that PyTorch offers, since that costs a heap object an event; only what another
 * thread may end (collectives, and regions, which Python code may end anywhere) has one.
 *
 * (1) Inputs are read in begin_event() alone: afterwards they may be gone.
 * (2) The outputs record is written before its op's duration is filled in.
 * (3) Ends come in reverse order of begins but for odd cases, which are searched for: an end
 *     without a begin (recording was off) and an end in another thread (its begin stays open).
 * (4) Nothing is thrown into PyTorch: tensors are read inside try, the rest does not throw.
 *     They are read into the record itself, between its begin and its commit.
 * (5) After a fork the stack holds slices of the parent's; they are forgotten at the first begin,
 *     and an end before that writes into the private memory the agent has put there.
 *
 * Compiled against the libtorch of the job's own Python, always with NDEBUG, as PyTorch itself:
 * without it RecordFunction has another layout. */
#include "op_callbacks.h"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "callback_switch.h"
#include "event_name.h"
#include "op_cost.h"
#include "tensor_list.h"

#ifndef NDEBUG
#error "compile with -DNDEBUG: RecordFunction has another layout without it"
#endif

namespace
{

#define MAX_OPEN 128

struct open_event {
	const at::RecordFunction *function;
	struct record_op *record; /* NULL: dropped */
	uint64_t outer_group;	  /* EVENT_COLLECTIVE_OP: the group to go back to */
	uint8_t role;		  /* enum event_role */
};

struct thread_state {
	uint32_t generation;
	uint32_t n_open;
	uint32_t outputs_class;
	uint64_t group; /* process group of the c10d operation this thread is in, or 0 */
	struct open_event open[MAX_OPEN];
	struct event_name_slot names[EVENT_NAME_SLOTS];
	uint64_t tensors[TENSOR_LIST_WORDS]; /* here for their size: a stack may be small */
};

/* One pointer in the static TLS block: the general model would cost a call at every use. */
thread_local struct thread_state *state __attribute__((tls_model("initial-exec")));
pthread_key_t state_key;

/* A slice that another thread may end. */
struct shared_slice : at::ObserverContext {
	struct record_header *record; /* NULL: dropped, or not wanted */
	uint64_t *duration;
	uint32_t *end_tid; /* NULL: the record has none */
	uint32_t generation;
};

void thread_state_free(void *old_state)
{
	state = NULL;
	free(old_state);
}

/* What an event costs; measured once, told in every process. */
struct event_cost {
	enum trace_kind kind;
	at::RecordScope scope;
	const char *name; /* NULL: of an operation */
	uint64_t picoseconds;
} costs[] = {
	{ TRACE_KIND_OP, at::RecordScope::FUNCTION, NULL, 0 },
	{ TRACE_KIND_ANNOTATION, at::RecordScope::USER_SCOPE, "DistributedDataParallel.forward",
	  0 },
	{ TRACE_KIND_COLLECTIVE, at::RecordScope::USER_SCOPE, "gloo:all_reduce", 0 },
};

void tell_costs(void)
{
	for (const struct event_cost &cost : costs)
		if (cost.picoseconds)
			tacho_cost(cost.kind, "torch", cost.picoseconds);
}

/* The thread's first event, or its first after a fork. */
__attribute__((noinline)) struct thread_state *thread_state_renew(void)
{
	struct thread_state *self = state;
	bool is_forked = self != NULL;

	if (!self) {
		self = (struct thread_state *)calloc(1, sizeof(*self));
		if (!self)
			return NULL;
		pthread_setspecific(state_key, self);
		state = self;
		callback_switch_meet_thread();
	}
	self->generation = tacho_generation();
	self->n_open = 0;
	self->group = 0;
	self->outputs_class = tacho_class(TRACE_KIND_OUTPUTS, "outputs", strlen("outputs"));
	/* autograd nodes name the thread of their forward by this number */
	tacho_mark("autograd_thread", (int64_t)at::RecordFunction::currentThreadId(), 0, "");
	if (is_forked) /* one thread lives on in the child, so this comes once */
		tell_costs();
	return self;
}

/* Where the next open event goes. Events that ended in another thread pile up at the bottom, so the
 * older half goes when the stack is full. */
inline struct open_event *push_open(struct thread_state *self)
{
	if (TACHO_UNLIKELY(self->n_open == MAX_OPEN)) {
		memmove(self->open, self->open + MAX_OPEN / 2, sizeof(self->open) / 2);
		self->n_open = MAX_OPEN / 2;
	}
	return &self->open[self->n_open++];
}

__attribute__((noinline)) bool pop_odd(struct thread_state *self,
				       const at::RecordFunction &function, struct open_event *event)
{
	for (uint32_t i = self->n_open; i > 0; i--) {
		if (self->open[i - 1].function != &function)
			continue;
		*event = self->open[i - 1];
		memmove(&self->open[i - 1], &self->open[i], (self->n_open - i) * sizeof(*event));
		self->n_open--;
		return true;
	}
	return false;
}

inline bool pop_open(struct thread_state *self, const at::RecordFunction &function,
		     struct open_event *event)
{
	if (self->n_open && self->open[self->n_open - 1].function == &function) {
		*event = self->open[--self->n_open];
		return true;
	}
	return pop_odd(self, function, event);
}

/* The process group among the arguments of a c10d operation: the address of the C++ object that
 * its script object holds. */
uint64_t group_of(c10::ArrayRef<const c10::IValue> inputs) noexcept
{
	try {
		for (const c10::IValue &value : inputs) {
			if (!value.isObject() || value.toObjectRef().slots().empty())
				continue;
			const c10::IValue &slot = value.toObjectRef().getSlot(0);
			const char *type = value.toObjectRef().type()->name()->name().c_str();

			if (slot.isCapsule() && strstr(type, "ProcessGroup"))
				return (uint64_t)(uintptr_t)slot.toCapsule().get();
		}
	} catch (...) {
	}
	return 0;
}

/* Gloo begins a collective in a thread of its own, where nothing tells the group. So a c10d operation
 * leaves its group under the storage of its first tensor, for the collective to take. Of two at once
 * in one slot the later wins; a collective that finds nothing has group 0. */
constexpr size_t N_QUEUED = 256;

struct queued_group {
	std::atomic<uint64_t> storage;
	std::atomic<uint64_t> group;
} queued[N_QUEUED];

struct queued_group *queued_slot(uint64_t storage)
{
	return &queued[(storage >> 6 ^ storage >> 14) % N_QUEUED];
}

void leave_group(struct thread_state *self, c10::ArrayRef<const c10::IValue> inputs, uint64_t group)
{
	struct tensor_list tensors;
	struct queued_group *slot;

	tensor_list_write(&tensors, self->tensors, inputs);
	if (!tensors.n)
		return;
	slot = queued_slot(self->tensors[0]);
	slot->storage = 0;
	slot->group = group;
	slot->storage = self->tensors[0];
}

uint64_t take_group(const struct tensor_list *tensors, const uint64_t *words)
{
	uint64_t storage = tensors->n ? words[0] : 0;
	struct queued_group *slot = queued_slot(storage);
	uint64_t group = slot->group;

	return storage && slot->storage.compare_exchange_strong(storage, 0) ? group : 0;
}

uint32_t op_flags(const at::RecordFunction &function, const struct tensor_list *inputs)
{
	uint32_t flags = inputs->is_cut ? TRACE_OP_CUT : 0;

	switch (function.scope()) {
	case at::RecordScope::FUNCTION:
		break;
	case at::RecordScope::BACKWARD_FUNCTION:
		flags |= TRACE_OP_BACKWARD;
		break;
	default:
		flags |= TRACE_OP_SCRIPT;
		break;
	}
	return flags;
}

inline struct record_op *begin_op(const at::RecordFunction &function, uint32_t class_id)
{
	struct record_op *record = (struct record_op *)tacho_record_begin(
		class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	struct tensor_list inputs;

	if (!record)
		return NULL;
	tensor_list_write(&inputs, record + 1, function.inputs());
	record->duration = TRACE_OPEN;
	record->sequence = function.seqNr();
	record->forward_thread = function.forwardThreadId();
	record->flags = op_flags(function, &inputs);
	record->n_inputs = inputs.n;
	commit_with_tensors(&record->header, &inputs);
	return record;
}

void begin_collective(const at::RecordFunction &function, uint32_t class_id, uint64_t group,
		      struct shared_slice *slice)
{
	uint64_t data_bytes = tensor_data_bytes(function.inputs());
	struct record_collective *record = (struct record_collective *)tacho_record_begin_async(
		class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	struct tensor_list inputs;

	if (!record)
		return;
	tensor_list_write(&inputs, record + 1, function.inputs());
	record->duration = TRACE_OPEN;
	record->bytes = data_bytes;
	record->group = group ? group : take_group(&inputs, (const uint64_t *)(record + 1));
	record->end_tid = 0;
	record->n_inputs = inputs.n;
	commit_with_tensors(&record->header, &inputs);
	slice->record = &record->header;
	slice->duration = &record->duration;
	slice->end_tid = &record->end_tid;
}

void begin_region(const at::RecordFunction &function, uint32_t class_id, struct shared_slice *slice)
{
	struct record_slice *record =
		(struct record_slice *)tacho_record_begin_async(class_id, sizeof(*record));

	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->id = function.handle();
	tacho_record_commit(record);
	slice->record = &record->header;
	slice->duration = &record->duration;
}

__attribute__((noinline)) std::unique_ptr<at::ObserverContext>
begin_shared(const at::RecordFunction &function, struct event_name *name, uint32_t class_id,
	     struct thread_state *self)
{
	std::unique_ptr<struct shared_slice> slice(new (std::nothrow) struct shared_slice());

	if (!slice)
		return nullptr;
	slice->generation = self->generation;
	if (name->role == EVENT_COLLECTIVE)
		begin_collective(function, class_id, self->group, slice.get());
	else
		begin_region(function, class_id, slice.get());
	return slice;
}

std::unique_ptr<at::ObserverContext> begin_event(const at::RecordFunction &function)
{
	struct thread_state *self = state;
	struct event_name *name;
	struct open_event *event;
	uint32_t class_id;

	if (TACHO_UNLIKELY(tacho_writer.is_inside))
		return nullptr;
	if (TACHO_UNLIKELY(!tacho_is_recording() && !tacho_writer.scratch))
		return nullptr;
	if (TACHO_UNLIKELY(!self || self->generation != tacho_generation())) {
		self = thread_state_renew();
		if (!self)
			return nullptr;
	}
	name = event_name_find(self->names, function.name(), (uint8_t)function.scope());
	if (TACHO_UNLIKELY(!name))
		return nullptr;
	if (TACHO_UNLIKELY(tacho_is_partial()) && name->role == EVENT_OP)
		return nullptr; /* its end finds no begin */
	class_id = event_name_class(name);
	if (name->role > EVENT_COLLECTIVE_OP)
		return begin_shared(function, name, class_id, self);

	event = push_open(self);
	event->function = &function;
	event->role = name->role;
	if (TACHO_UNLIKELY(name->role == EVENT_COLLECTIVE_OP)) {
		event->outer_group = self->group;
		self->group = group_of(function.inputs());
		leave_group(self, function.inputs(), self->group);
	}
	event->record = begin_op(function, class_id);
	return nullptr;
}

void end_shared(struct shared_slice *slice)
{
	if (!slice->record || slice->generation != tacho_generation())
		return;
	if (slice->end_tid)
		__atomic_store_n(slice->end_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	tacho_slice_end(slice->record, slice->duration);
}

/* Write the outputs of `op`, if any is a tensor. Returns when that was, 0: unknown. */
inline uint64_t write_outputs(const at::RecordFunction &function, const struct record_op *op,
			      uint32_t class_id)
{
	struct record_outputs *record;
	struct tensor_list outputs;

	if (function.outputs().empty())
		return 0;
	record = (struct record_outputs *)tacho_record_begin(
		class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	if (!record)
		return 0;
	tensor_list_write(&outputs, record + 1,
			  c10::ArrayRef<const c10::IValue>(function.outputs().data(),
							   function.outputs().size()));
	return commit_outputs(record, op, &outputs);
}

/* An op with outputs ends when they are written: that saves reading the clock once more. */
inline void end_op(const at::RecordFunction &function, struct thread_state *self,
		   struct record_op *record)
{
	uint64_t stamp = write_outputs(function, record, self->outputs_class);

	if (stamp)
		tacho_duration_store(&record->duration, stamp - record->header.stamp);
	else
		tacho_slice_end(record, &record->duration);
}

void end_event(const at::RecordFunction &function, at::ObserverContext *context)
{
	struct thread_state *self = state;
	struct open_event event;

	if (TACHO_UNLIKELY(context != NULL)) {
		end_shared((struct shared_slice *)context);
		return;
	}
	if (TACHO_UNLIKELY(!self || !pop_open(self, function, &event)))
		return;
	if (TACHO_UNLIKELY(self->generation != tacho_generation()))
		return;
	if (TACHO_UNLIKELY(event.role == EVENT_COLLECTIVE_OP))
		self->group = event.outer_group;
	if (event.record)
		end_op(function, self, event.record);
}

/* More than the events measured write: the first touch of each page belongs to the cost too. */
constexpr size_t COST_SCRATCH_BYTES = 1 << 19;

void measure_costs(void)
{
	/* before the records go to scratch memory: the thread's first mark is a real one */
	if (!thread_state_renew() || !tacho_scratch_begin(COST_SCRATCH_BYTES))
		return;
	for (struct event_cost &cost : costs)
		cost.picoseconds = op_cost_measure_ps(cost.scope, cost.name);
	tacho_scratch_end();
	tell_costs();
}

at::CallbackHandle events_handle;
at::CallbackHandle steps_handle;
bool counts_steps;

int add_callback(void)
{
	int error = pthread_key_create(&state_key, thread_state_free);

	if (error)
		return -error;
	try {
		events_handle = at::addGlobalCallback(
			at::RecordFunctionCallback(begin_event, end_event)
				.needsInputs(true)
				.needsOutputs(true)
				.scopes({ at::RecordScope::FUNCTION,
					  at::RecordScope::BACKWARD_FUNCTION,
					  at::RecordScope::TORCHSCRIPT_FUNCTION,
					  at::RecordScope::USER_SCOPE,
					  at::RecordScope::STATIC_RUNTIME_OP,
					  at::RecordScope::STATIC_RUNTIME_MODEL }));
	} catch (...) {
		return -ENOMEM;
	}
	return 0;
}

/* --- steps ---------------------------------------------------------------------------------- */

/* Steps of optimizers that the thread is in: one that wraps another (ZeroRedundancyOptimizer) has both in its steps. */
__thread int open_steps;

std::unique_ptr<at::ObserverContext> begin_any_region(const at::RecordFunction &function)
{
	callback_switch_meet_thread();
	open_steps += event_name_is_optimizer_step(function.name());
	return nullptr;
}

void set_enabled(at::CallbackHandle handle, bool is_enabled)
{
	try {
		if (is_enabled)
			at::reenableCallback(handle);
		else
			at::disableCallback(handle);
	} catch (...) {
	}
}

std::atomic<bool> is_attached{ true };
std::atomic<bool> has_operations{ true }; /* their callback is enabled */

bool operations_are_wanted(void)
{
	return is_attached && tacho_is_recording();
}

/* Where nothing is recorded PyTorch shall not even call back, nor collect inputs to call back with. Where another thread
 * switches or forks, the next step's end asks again. */
void switch_operations(void)
{
	if (operations_are_wanted() == has_operations || !callback_switch_try())
		return;
	has_operations = operations_are_wanted();
	set_enabled(events_handle, has_operations);
	callback_switch_end();
}

void recording_changed(bool)
{
	switch_operations();
}

void end_any_region(const at::RecordFunction &function, at::ObserverContext *)
{
	if (!event_name_is_optimizer_step(function.name()) || open_steps == 0 || --open_steps > 0)
		return;
	tacho_step_end();
	switch_operations();
}

/* If they are others than the thread knows. */
void look_at_callbacks(void)
{
	try {
		at::RecordFunction function(at::RecordScope::USER_SCOPE);
	} catch (...) {
	}
}

/* Steps go on to be counted where nothing is recorded: by a callback of its own, for regions alone. It
 * stands behind the other, so a step's slice has ended before recording goes off. */
void count_steps(void)
{
	if (!tacho_counts_steps() || counts_steps)
		return;
	try {
		steps_handle = at::addGlobalCallback(
			at::RecordFunctionCallback(begin_any_region, end_any_region)
				.scopes({ at::RecordScope::USER_SCOPE }));
	} catch (...) {
		tacho_say("training steps cannot be counted, so --steps and --control have no "
			  "effect");
		return;
	}
	counts_steps = true;
	tacho_watch_recording(recording_changed);
}

/* Nothing of ours is called where nobody is attached. */
void attached_changed(bool is_attached_now)
{
	is_attached = is_attached_now;
	/* its own switch, or that of another thread, which has not seen that the recording is over */
	callback_switch_await();
	switch_operations();
	if (counts_steps && callback_switch_try()) {
		set_enabled(steps_handle, is_attached);
		callback_switch_end();
	}
	if (is_attached)
		count_steps();
}

} // namespace

int tacho_probe_init(void)
{
	static std::atomic<bool> is_installed;
	int error;

	if (is_installed.exchange(true))
		return 0;
	error = add_callback();
	if (error)
		return error;
	callback_switch_start(look_at_callbacks);
	measure_costs();
	count_steps();
	tacho_watch_attached(attached_changed);
	return 0;
}
