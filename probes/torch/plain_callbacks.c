/* plain_callbacks: PyTorch's RecordFunction callbacks, as records; in C, for any PyTorch from 1.13 on.
 *
 * libtorch calls begin_...() before and end_...() after every operation, autograd node, named region and
 * collective. What is open is kept on a stack of the thread's own instead of in the ObserverContext that
 * PyTorch offers, since that costs a heap object an event; only what another thread may end (collectives,
 * and regions, which Python code may end anywhere) has one.
 *
 * PyTorch boxes the inputs and outputs of an operation for whoever asks, which takes longer than the
 * record. So there are two callbacks for operations, one that asks and one that does not, and at the end
 * of a step one gives way to the other (shape_steps.h). Regions are few and have a callback of their own.
 *
 * (1) Inputs are read in begin_...() alone: afterwards they may be gone. They are read into the record
 *     itself, between its begin and its commit.
 * (2) The outputs record is written before its op's duration is filled in.
 * (3) Ends come in reverse order of begins but for odd cases, which are searched for: an end without a
 *     begin (recording was off) and an end in another thread (its begin stays open).
 * (4) After a fork the stack holds slices of the parent's; they are forgotten at the first begin, and an
 *     end before that writes into the private memory the agent has put there.
 * (5) PyTorch keeps the callbacks' addresses in every thread: this library is never unloaded. */
#include "plain_probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plain_tensors.h"
#include "callback_switch.h"
#include "shape_steps.h"
#include "event_name.h"

#define MAX_OPEN   128
#define LINE_BYTES 64 /* of a processor's caches */

struct open_event {
	const void *function;
	struct record_op *record; /* NULL: dropped */
	uint64_t outer_group;	  /* EVENT_COLLECTIVE_OP: the group to go back to */
	uint8_t role;
};

struct thread_state {
	uint32_t generation;
	uint32_t n_open;
	uint32_t outputs_class;
	uint64_t group;		/* process group of the c10d operation this thread is in, or 0 */
	const void *just_begun; /* the last operation, until one ends */
	bool just_begun_shaped; /* by which callback */
	struct shape_patience patience;
	struct event_name_slot names[EVENT_NAME_SLOTS] __attribute__((aligned(LINE_BYTES)));
	struct open_event open[MAX_OPEN];
	uint64_t tensors[TENSOR_LIST_WORDS]; /* here for their size: a stack may be small */
};

/* A slice that another thread may end. */
struct shared_slice {
	struct torch_context context;
	struct record_header *record;
	uint64_t *duration;
	uint32_t *end_tid; /* NULL: the record has none */
	uint32_t generation;
};

static struct torch_symbols torch;
static struct plain_reader reader;

/* One pointer in the static TLS block: the general model would cost a call at every use. */
static _Thread_local struct thread_state *state __attribute__((tls_model("initial-exec")));
static pthread_key_t state_key;

static void thread_state_free(void *old_state)
{
	state = NULL;
	free(old_state);
}

/* The thread's first event, or its first after a fork. */
static __attribute__((noinline)) struct thread_state *thread_state_renew(void)
{
	struct thread_state *self = state;
	bool is_forked = self != NULL;

	if (!self) {
		if (posix_memalign((void **)&self, LINE_BYTES, sizeof(*self)) != 0)
			return NULL;
		memset(self, 0, sizeof(*self));
		pthread_setspecific(state_key, self);
		state = self;
		callback_switch_meet_thread();
	}
	self->generation = tacho_generation();
	self->n_open = 0;
	self->group = 0;
	self->just_begun = NULL;
	self->outputs_class = tacho_class(TRACE_KIND_OUTPUTS, "outputs", strlen("outputs"));
	/* autograd nodes name the thread of their forward by this number */
	tacho_mark("autograd_thread", (int64_t)torch.thread_id(), 0, "");
	if (is_forked) /* one thread lives on in the child, so this comes once */
		plain_cost_tell();
	return self;
}

/* The thread's state; NULL: nothing is to be recorded now. */
static inline struct thread_state *thread_state_now(void)
{
	struct thread_state *self = state;

	if (TACHO_UNLIKELY(tacho_writer.is_inside))
		return NULL;
	if (TACHO_UNLIKELY(!tacho_is_recording() && !tacho_writer.scratch))
		return NULL;
	if (TACHO_UNLIKELY(!self || self->generation != tacho_generation()))
		return thread_state_renew();
	return self;
}

static __attribute__((noinline)) struct event_name_slot *
slot_fill(struct event_name_slot *slot, const char *text, struct event_name_slot found)
{
	found.name = event_name_intern(text, found.scope);
	if (!found.name)
		return NULL;
	found.role = found.name->role;
	found.class_id = event_name_class(found.name);
	*slot = found;
	return slot;
}

/* What the thread knows of the event's name: an operator's by the address of its schema, another by what the text hashes to. An
 * operator may go and another come in its place, and two texts may hash to one: where tensors are asked, which takes longer by far,
 * the text is compared as well (`is_sure`). NULL: no memory. */
static inline struct event_name_slot *slot_of(struct thread_state *self, const void *function,
					      bool is_sure)
{
	struct event_name_slot found = {
		.scope = torch_byte(function, reader.layout.scope),
		.is_fixed = reader.layout.name_kind &&
			    torch_byte(function, reader.layout.name_kind) == TORCH_NAME_SCHEMA,
	};
	const char *text = found.is_fixed && !is_sure ? NULL : torch.name(function);
	struct event_name_slot *slot;

	found.key = found.is_fixed ? torch_word(function, reader.layout.name)
				   : event_name_hash(text, found.scope);
	slot = event_name_place(self->names, found.key);
	if (TACHO_UNLIKELY(slot->key != found.key || slot->scope != found.scope ||
			   slot->is_fixed != found.is_fixed || !slot->class_id ||
			   (is_sure && strcmp(slot->name->text, text) != 0)))
		return slot_fill(slot, text ? text : torch.name(function), found);
	return slot;
}

/* --- what is open --------------------------------------------------------------------------- */

/* Where the next open event goes. Events that ended in another thread pile up at the bottom, so the
 * older half goes when the stack is full. */
static inline struct open_event *push_open(struct thread_state *self)
{
	if (TACHO_UNLIKELY(self->n_open == MAX_OPEN)) {
		memmove(self->open, self->open + MAX_OPEN / 2, sizeof(self->open) / 2);
		self->n_open = MAX_OPEN / 2;
	}
	return &self->open[self->n_open++];
}

static __attribute__((noinline)) bool pop_odd(struct thread_state *self, const void *function,
					      struct open_event *event)
{
	for (uint32_t i = self->n_open; i > 0; i--) {
		if (self->open[i - 1].function != function)
			continue;
		*event = self->open[i - 1];
		memmove(&self->open[i - 1], &self->open[i], (self->n_open - i) * sizeof(*event));
		self->n_open--;
		return true;
	}
	return false;
}

static inline bool pop_open(struct thread_state *self, const void *function,
			    struct open_event *event)
{
	if (self->n_open && self->open[self->n_open - 1].function == function) {
		*event = self->open[--self->n_open];
		return true;
	}
	return pop_odd(self, function, event);
}

/* --- process groups ------------------------------------------------------------------------- */

/* The process group among the arguments of a c10d operation: the address of the C++ object that the first
 * of its script objects holds (others say how to reduce). */
static uint64_t group_of(struct plain_arguments inputs)
{
	uint64_t group = 0;

	for (size_t i = 0; i < inputs.n && !group; i++, inputs.words += PLAIN_ARGUMENT_WORDS)
		group = plain_object(&reader, inputs.words);
	return group;
}

/* Gloo begins a collective in a thread of its own, where nothing tells the group. So a c10d operation
 * leaves its group under the storage of its first tensor, for the collective to take. Of two at once
 * in one slot the later wins; a collective that finds nothing has group 0. */
#define N_QUEUED 256

static struct queued_group {
	uint64_t storage, group; /* atomic */
} queued[N_QUEUED];

static struct queued_group *queued_slot(uint64_t storage)
{
	return &queued[(storage >> 6 ^ storage >> 14) % N_QUEUED];
}

static void leave_group(struct thread_state *self, struct plain_arguments inputs, uint64_t group)
{
	struct tensor_list tensors;
	struct queued_group *slot;

	plain_write(&tensors, &reader, self->tensors, inputs);
	if (!tensors.n)
		return;
	slot = queued_slot(self->tensors[0]);
	__atomic_store_n(&slot->storage, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->group, group, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->storage, self->tensors[0], __ATOMIC_SEQ_CST);
}

static uint64_t take_group(const struct tensor_list *tensors, const uint64_t *words)
{
	uint64_t storage = tensors->n ? words[0] : 0;
	struct queued_group *slot = queued_slot(storage);
	uint64_t group = __atomic_load_n(&slot->group, __ATOMIC_SEQ_CST);

	return storage && __atomic_compare_exchange_n(&slot->storage, &storage, 0, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
		       ? group
		       : 0;
}

/* --- operations ----------------------------------------------------------------------------- */

static inline uint32_t scope_flags(const void *function)
{
	switch (torch_byte(function, reader.layout.scope)) {
	case TORCH_FUNCTION:
		return 0;
	case TORCH_BACKWARD_FUNCTION:
		return TRACE_OP_BACKWARD;
	default:
		return TRACE_OP_SCRIPT;
	}
}

static inline void fill_op(struct record_op *record, const void *function, uint32_t flags,
			   uint32_t n_inputs)
{
	record->duration = TRACE_OPEN;
	record->sequence = (int64_t)torch_word(function, reader.layout.sequence);
	record->forward_thread = torch_word(function, reader.layout.forward_thread);
	record->flags = flags | scope_flags(function);
	record->n_inputs = n_inputs;
}

static inline struct record_op *begin_bare_record(const void *function, uint32_t class_id)
{
	struct record_op *record = tacho_record_begin(class_id, sizeof(*record));

	if (!record)
		return NULL;
	fill_op(record, function, TRACE_OP_UNASKED, 0);
	tacho_record_commit(record);
	return record;
}

static inline struct record_op *begin_shaped_record(const void *function, uint32_t class_id)
{
	struct record_op *record =
		tacho_record_begin(class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	struct tensor_list inputs;

	if (!record)
		return NULL;
	plain_write(&inputs, &reader, record + 1, plain_inputs(&reader, function));
	fill_op(record, function, inputs.is_cut ? TRACE_OP_CUT : 0, inputs.n);
	commit_with_tensors(&record->header, &inputs);
	return record;
}

static __attribute__((noinline)) void enter_group(struct thread_state *self, const void *function)
{
	struct plain_arguments inputs = plain_inputs(&reader, function);

	self->group = group_of(inputs);
	leave_group(self, inputs, self->group);
}

static inline struct torch_context *begin_op(const void *function, bool is_shaped)
{
	struct thread_state *self = thread_state_now();
	struct event_name_slot *name = self ? slot_of(self, function, is_shaped) : NULL;
	struct open_event *event;

	if (TACHO_UNLIKELY(!name))
		return NULL;
	/* its end finds no begin: (3) */
	if (TACHO_UNLIKELY(tacho_is_partial()) && name->role != EVENT_COLLECTIVE_OP)
		return NULL;
	/* both callbacks were there as it began (shape_steps.c), and the other one has recorded it */
	if (TACHO_UNLIKELY(self->just_begun == function && self->just_begun_shaped != is_shaped))
		return NULL;
	self->just_begun = function;
	self->just_begun_shaped = is_shaped;
	event = push_open(self);
	event->function = function;
	event->role = name->role;
	event->outer_group = self->group;
	if (TACHO_UNLIKELY(is_shaped && name->role == EVENT_COLLECTIVE_OP))
		enter_group(self, function);
	event->record = is_shaped ? begin_shaped_record(function, name->class_id)
				  : begin_bare_record(function, name->class_id);
	shape_steps_see(name, &self->patience, is_shaped);
	return NULL;
}

static struct torch_context *begin_shaped(const void *function)
{
	return begin_op(function, true);
}

static struct torch_context *begin_bare(const void *function)
{
	return begin_op(function, false);
}

/* Write the outputs of `op`, if any is a tensor. Returns when that was, 0: unknown. */
static inline uint64_t write_outputs(const void *function, const struct record_op *op,
				     uint32_t class_id)
{
	struct plain_arguments values = plain_outputs(&reader, function);
	struct record_outputs *record;
	struct tensor_list outputs;

	if (!values.n)
		return 0;
	record = tacho_record_begin(class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	if (!record)
		return 0;
	plain_write(&outputs, &reader, record + 1, values);
	return commit_outputs(record, op, &outputs);
}

static inline void end_op(const void *function, bool is_shaped)
{
	struct thread_state *self = state;
	struct open_event event;
	struct record_op *record;
	uint64_t stamp;

	if (TACHO_UNLIKELY(!self))
		return;
	self->just_begun = NULL;
	if (TACHO_UNLIKELY(!pop_open(self, function, &event)))
		return;
	if (TACHO_UNLIKELY(self->generation != tacho_generation()))
		return;
	self->group = event.outer_group;
	record = event.record;
	if (!record)
		return;
	/* an op with outputs ends when they are written: that saves reading the clock once more */
	stamp = is_shaped ? write_outputs(function, record, self->outputs_class) : 0;
	if (stamp)
		tacho_duration_store(&record->duration, stamp - record->header.stamp);
	else
		tacho_slice_end(record, &record->duration);
}

static void end_shaped(const void *function, struct torch_context *context)
{
	(void)context;
	end_op(function, true);
}

static void end_bare(const void *function, struct torch_context *context)
{
	(void)context;
	end_op(function, false);
}

/* --- regions and collectives ---------------------------------------------------------------- */

static void keep_slice(struct torch_context *slice)
{
	(void)slice;
}

static void free_slice(struct torch_context *slice)
{
	free(slice);
}

/* A class's table of virtual functions: offset and type, then the destructor's two forms. */
static const void *const slice_table[] = { NULL, NULL, (const void *)keep_slice,
					   (const void *)free_slice };

static void begin_collective(const void *function, uint32_t class_id, uint64_t group,
			     struct shared_slice *slice)
{
	struct plain_arguments values = plain_inputs(&reader, function);
	struct record_collective *record =
		tacho_record_begin_async(class_id, (uint32_t)(sizeof(*record) + TENSOR_LIST_BYTES));
	struct tensor_list inputs;

	if (!record)
		return;
	plain_write(&inputs, &reader, record + 1, values);
	record->duration = TRACE_OPEN;
	record->bytes = plain_data_bytes(&reader, values);
	record->group = group ? group : take_group(&inputs, (const uint64_t *)(record + 1));
	record->end_tid = 0;
	record->n_inputs = inputs.n;
	commit_with_tensors(&record->header, &inputs);
	slice->record = &record->header;
	slice->duration = &record->duration;
	slice->end_tid = &record->end_tid;
}

static void begin_region(uint32_t class_id, struct shared_slice *slice)
{
	struct record_slice *record = tacho_record_begin_async(class_id, sizeof(*record));

	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->id = 0;
	tacho_record_commit(record);
	slice->record = &record->header;
	slice->duration = &record->duration;
}

static struct torch_context *begin_user_scope(const void *function)
{
	struct thread_state *self;
	struct event_name_slot *name;
	struct shared_slice *slice;

	shape_steps_begin(torch.name(function));
	self = thread_state_now();
	name = self ? slot_of(self, function, true) : NULL;
	slice = name ? calloc(1, sizeof(*slice)) : NULL;
	if (!slice)
		return NULL;
	slice->context.methods = &slice_table[2];
	slice->generation = self->generation;
	if (name->role == EVENT_COLLECTIVE)
		begin_collective(function, name->class_id, self->group, slice);
	else
		begin_region(name->class_id, slice);
	return &slice->context;
}

static void end_slice(struct shared_slice *slice)
{
	if (!slice->record || slice->generation != tacho_generation())
		return;
	if (slice->end_tid)
		__atomic_store_n(slice->end_tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	tacho_slice_end(slice->record, slice->duration);
}

static void end_user_scope(const void *function, struct torch_context *context)
{
	if (context)
		end_slice((struct shared_slice *)context);
	shape_steps_end(torch.name(function));
}

TORCH_START_CALLBACK(start_shaped, begin_shaped);
TORCH_START_CALLBACK(start_bare, begin_bare);
TORCH_START_CALLBACK(start_user_scope, begin_user_scope);

/* --- installing them ------------------------------------------------------------------------ */

static uint64_t regions_handle;

/* Also where no step is recorded regions are seen, to count steps; where nobody is attached nothing is. */
static void attached_changed(bool is_attached)
{
	if (!callback_switch_is_fixed()) {
		if (is_attached)
			torch.enable(regions_handle);
		else
			torch.disable(regions_handle);
	}
	shape_steps_attached(is_attached);
}

static void add_callbacks(uint64_t shapes_every)
{
	struct torch_callback bare = { .start = start_bare,
				       .end = end_bare,
				       .sampling_probability = 1,
				       .scopes = { [TORCH_FUNCTION] = true,
						   [TORCH_BACKWARD_FUNCTION] = true,
						   [TORCH_SCRIPT_FUNCTION] = true,
						   [TORCH_STATIC_RUNTIME_OP] = true,
						   [TORCH_STATIC_RUNTIME_MODEL] = true } };
	struct torch_callback shaped = bare;
	struct torch_callback regions = { .start = start_user_scope,
					  .end = end_user_scope,
					  .sampling_probability = 1,
					  .scopes = { [TORCH_USER_SCOPE] = true },
					  .needs_inputs = true };
	struct shape_handles handles;

	shaped.start = start_shaped;
	shaped.end = end_shaped;
	shaped.needs_inputs = shaped.needs_outputs = true;
	handles.shaped = torch.add_global(shaped);
	handles.bare = torch.add_global(bare);
	torch.disable(handles.bare);
	regions_handle = torch.add_global(regions);
	tacho_watch_attached(attached_changed);
	shape_steps_start(&torch, &handles, shapes_every);
}

/* What does not fit; NULL: everything does. */
static const char *prove(const char *path)
{
	const char *odd = torch_symbols_find(&torch, path);

	if (odd)
		return odd;
	odd = function_layout_prove(&torch, &reader.layout);
	if (!odd)
		odd = tensor_layout_prove(&torch, &reader.layout);
	reader.undefined_tensor = torch.undefined_tensor;
	return odd;
}

int tacho_torch_start(const char *path, uint64_t shapes_every)
{
	static bool is_started;
	const char *odd;
	int error;

	if (__atomic_exchange_n(&is_started, true, __ATOMIC_ACQ_REL))
		return 0;
	/* what the trial asks of the allocator is none of the job's */
	tacho_writer.is_inside++;
	odd = prove(path);
	tacho_writer.is_inside--;
	if (odd) {
		tacho_unseen(
			"PyTorch operations",
			"operations are not recorded: %s in %s is not as tacho knows it; 'tacho "
			"probe build torch' compiles a probe from PyTorch's headers",
			odd, path);
		return 0;
	}
	error = pthread_key_create(&state_key, thread_state_free);
	if (error)
		return -error;
	add_callbacks(shapes_every);
	/* before the records go to scratch memory: the thread's first mark is a real one */
	if (thread_state_renew())
		plain_cost_measure(&torch, &reader.layout);
	return 0;
}
