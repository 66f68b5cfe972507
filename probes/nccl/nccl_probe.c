/* nccl_probe: a plug-in of NCCL's profiler (RCCL's, too): collectives, sends and receives with their sizes, and what NCCL does
 * for them: calls, launches, channels of its kernels, operations and steps of its proxy, and what the network tells.
 *
 *     ncclAllReduce() ----> RUNTIME  ncclAllReduce
 *        plan       ----> COLLECTIVE AllReduce RING/LL128  .......................................... until the last of:
 *           kernel     ---->  ANNOTATION  NCCL: channel 3   (by the device's clock)
 *           proxy      ---->  SPAN  NCCL: sends to 1
 *                                SPAN  NCCL: send step,  SPAN  NCCL: send waits for device, ... for peer, ... is on its way
 *
 * (1) A plug-in that the user has named, or that NCCL would have found, is loaded and told of the same (nccl_other.h).
 * (2) Where nothing is recorded, handles are the other plug-in's own, or NULL.
 * (3) Nothing is believed that NCCL brings back: nccl_slot.h.
 * (4) Where the CUDA probe records NCCL's kernels, each of them is a collective; what NCCL tells of it is then a span: it is there once.
 * (5) What works for what is told by parents. A parent of another process (an operation that a rank passes to the proxy of
 *     another one, PXN) is none of ours, though it may look so. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/activity.h"
#include "common/call_cost.h"
#include "common/region_stack.h"
#include "nccl/nccl_communicator.h"
#include "nccl/nccl_event.h"
#include "nccl/nccl_names.h"
#include "nccl/nccl_other.h"
#include "nccl/nccl_slot.h"

#define PLUGIN_NAME "tacho"
#define DOMAIN	    "NCCL"

enum {
	CALLS = NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API |
		NCCL_KERNEL_LAUNCH | NCCL_CE_COLL | NCCL_CE_SYNC | NCCL_CE_BATCH,
	CHANNELS = CALLS | NCCL_KERNEL_CH | NCCL_PROXY_OP,
};

static uint64_t recorded_types = NCCL_ALL_TYPES;
static const char domain[] = DOMAIN;

static bool is_wanted(uint64_t type)
{
	if (tacho_writer.is_inside || !(type & recorded_types))
		return false;
	return tacho_is_partial() ? tacho_is_recording() && type & (NCCL_COLL | NCCL_P2P)
				  : tacho_is_recording();
}

/* --- records -------------------------------------------------------------------------------- */

/* A span, or a call, which stands in the thread's stack; both may be ended by another thread. */
static struct record_slice *begin_slice(uint32_t class_id, uint64_t id)
{
	return tacho_span_begin(class_id, id);
}

static void keep(struct nccl_slot *slot, struct record_slice *record)
{
	if (!record)
		return;
	slot->duration = &record->duration;
	slot->stamp = record->header.stamp;
}

static void begin_region(struct nccl_slot *slot, enum trace_kind kind, const char *name,
			 uint64_t id)
{
	keep(slot, begin_slice(region_class(kind, domain, name), id));
}

static void begin_call(struct nccl_slot *slot, const char *func)
{
	const struct nccl_name name = { .before = "nccl", .func = func, .number = NCCL_NO_NUMBER };

	keep(slot, begin_slice(nccl_class(TRACE_KIND_RUNTIME, &name), 0));
}

static uint64_t input_bytes(const char *func, uint64_t count, const char *datatype, int n_ranks)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, nccl_datatype_bytes(datatype), &bytes))
		return 0;
	if (func && strcmp(func, "ReduceScatter") == 0 && n_ranks > 0 &&
	    __builtin_mul_overflow(bytes, (uint64_t)n_ranks, &bytes))
		return 0;
	return bytes;
}

/* A collective of so many elements, which lie at `data`; `peer` -1: it has none. */
struct told_collective {
	struct nccl_name name;
	uint64_t group, count;
	const char *datatype;
	const void *data;
	int n_ranks, peer;
};

/* Where its kernel is recorded, that is the collective, and this is what NCCL says of it. */
static void begin_described(struct nccl_slot *slot, const struct told_collective *told)
{
	struct nccl_name name = told->name;

	name.before = DOMAIN ": ";
	keep(slot,
	     begin_slice(nccl_class(TRACE_KIND_SPAN, &name),
			 input_bytes(told->name.func, told->count, told->datatype, told->n_ranks)));
}

static void begin_collective(struct nccl_slot *slot, const struct told_collective *told)
{
	uint32_t size_bytes = sizeof(struct record_collective) + sizeof(struct record_tensor) +
			      sizeof(int64_t) + sizeof(struct record_peer);
	struct record_collective *record = tacho_record_begin_async(
		nccl_class(TRACE_KIND_COLLECTIVE, &told->name), size_bytes);
	struct record_tensor *tensor;
	struct record_peer *peer;

	if (!record)
		return;
	record->duration = TRACE_OPEN;
	record->bytes = input_bytes(told->name.func, told->count, told->datatype, told->n_ranks);
	record->group = told->group;
	record->end_tid = 0;
	record->n_inputs = 1;
	tensor = (struct record_tensor *)(record + 1);
	*tensor = (struct record_tensor){ .storage = (uint64_t)(uintptr_t)told->data,
					  .dtype = nccl_datatype_dtype(told->datatype),
					  .device = TRACE_DEVICE_CUDA,
					  .n_dims = 1 };
	*(int64_t *)(tensor + 1) = (int64_t)told->count;
	peer = (struct record_peer *)((int64_t *)(tensor + 1) + 1);
	*peer = (struct record_peer){ .peer = (uint32_t)(told->peer + 1) };
	tacho_record_commit(record);
	slot->duration = &record->duration;
	slot->end_tid = &record->end_tid;
	slot->stamp = record->header.stamp;
}

/* --- beginnings ------------------------------------------------------------------------------ */

static void begin_task(struct nccl_slot *slot, const struct nccl_communicator *communicator,
		       const struct nccl_event *event)
{
	struct told_collective told = {
		.name = { .func = event->func,
			  .algo = event->algo,
			  .proto = event->proto,
			  .number = NCCL_NO_NUMBER },
		.group = communicator->id ? communicator->id : event->hash,
		.count = event->count,
		.datatype = event->datatype,
		.data = event->type == NCCL_P2P ? event->receive : event->send,
		.n_ranks = communicator->n_ranks,
		.peer = event->type == NCCL_P2P && communicator->is_whole ? event->root : -1,
	};

	if (communicator->has_kernels)
		begin_described(slot, &told);
	else
		begin_collective(slot, &told);
}

static void begin_ce_task(struct nccl_slot *slot, const struct nccl_communicator *communicator,
			  const struct nccl_event *event)
{
	struct told_collective told = {
		.name = { .func = event->same.ce_coll.func,
			  .algo = "CE",
			  .proto = event->same.ce_coll.how ? event->same.ce_coll.how : "?",
			  .number = NCCL_NO_NUMBER },
		.group = communicator->id,
		.count = event->same.ce_coll.count,
		.datatype = event->same.ce_coll.datatype,
		.data = event->same.ce_coll.send,
		.n_ranks = communicator->n_ranks,
		.peer = -1,
	};

	begin_collective(slot, &told);
}

static void begin_proxy_op(struct nccl_slot *slot, const struct nccl_event *event)
{
	struct nccl_name name = { .before = DOMAIN ": ",
				  .func = event->same.proxy_op.is_send ? "sends to"
								       : "receives from",
				  .number = event->same.proxy_op.peer };

	slot->is_send = event->same.proxy_op.is_send != 0;
	slot->channel = event->same.proxy_op.channel;
	keep(slot, begin_slice(nccl_class(TRACE_KIND_SPAN, &name), slot->channel));
}

/* What a network plug-in tells behind `data` is known of NCCL's own two. */
static void begin_net(struct nccl_slot *slot, const struct nccl_event *event)
{
	const struct nccl_net_ib *ib = event->same.net.data;
	const struct nccl_net_socket *socket = event->same.net.data;

	if (event->same.net.id == NCCL_NET_IB && ib && ib->type == 1)
		begin_region(slot, TRACE_KIND_SPAN, "network, InfiniBand", ib->bytes);
	else if (event->same.net.id == NCCL_NET_SOCKET && socket && socket->type == 1)
		begin_region(slot, TRACE_KIND_SPAN, "network, socket", socket->bytes);
	else
		begin_region(slot, TRACE_KIND_SPAN, "network", 0);
}

/* What a device's clock tells is written when it is over. */
static void begin_channel(struct nccl_slot *slot, struct nccl_communicator *communicator,
			  const struct nccl_event *event)
{
	const struct nccl_name name = { .before = DOMAIN ": ",
					.func = "channel",
					.number = event->same.kernel_ch.channel };
	uint64_t launch = __atomic_load_n(&communicator->launch_ticks, __ATOMIC_RELAXED);

	slot->channel = event->same.kernel_ch.channel;
	slot->timer = event->same.kernel_ch.timer;
	if (slot->timer) {
		nccl_timer_heard(&communicator->timer, slot->timer, slot->begin_ticks);
		nccl_timer_launched(&communicator->timer, slot->timer, launch);
	} else {
		keep(slot, begin_slice(nccl_class(TRACE_KIND_SPAN, &name), slot->channel));
	}
}

static void begin(struct nccl_slot *slot, struct nccl_communicator *communicator,
		  const struct nccl_event *event)
{
	switch (slot->type) {
	case NCCL_GROUP:
		begin_region(slot, TRACE_KIND_SPAN, "group", 0);
		break;
	case NCCL_GROUP_API:
		begin_region(slot, TRACE_KIND_SPAN, "group call", 0);
		break;
	case NCCL_COLL_API:
		begin_call(slot, event->same.coll_api.func);
		break;
	case NCCL_P2P_API:
		begin_call(slot, event->same.p2p_api.func);
		break;
	case NCCL_KERNEL_LAUNCH:
		__atomic_store_n(&communicator->launch_ticks, slot->begin_ticks, __ATOMIC_RELAXED);
		begin_region(slot, TRACE_KIND_RUNTIME, "kernel launch", 0);
		break;
	case NCCL_COLL:
	case NCCL_P2P:
		begin_task(slot, communicator, event);
		break;
	case NCCL_CE_COLL:
		begin_ce_task(slot, communicator, event);
		break;
	case NCCL_CE_SYNC:
		begin_region(slot, TRACE_KIND_SPAN, "copy engines meet", 0);
		break;
	case NCCL_CE_BATCH:
		begin_region(slot, TRACE_KIND_SPAN, "copy engines copy",
			     event->same.ce_batch.bytes);
		break;
	case NCCL_KERNEL_CH:
		begin_channel(slot, communicator, event);
		break;
	case NCCL_PROXY_OP:
		begin_proxy_op(slot, event);
		break;
	case NCCL_PROXY_STEP:
		begin_region(slot, TRACE_KIND_SPAN, slot->is_send ? "send step" : "receive step",
			     (uint64_t)event->same.proxy_step.step);
		break;
	case NCCL_NET_PLUGIN:
		begin_net(slot, event);
		break;
	default: /* NCCL_PROXY_CTRL: its states tell */
		break;
	}
}

/* Found before the slot's record is begun, which may say so. */
static void find_parent(struct nccl_slot *slot, const struct nccl_event *event)
{
	const struct nccl_slot *parent = nccl_slot_find(event->parent);
	bool is_here = event->type != NCCL_PROXY_OP || event->same.proxy_op.pid == getpid();

	if (!parent || !is_here)
		return;
	slot->is_send = parent->is_send;
	slot->channel = parent->channel;
	if (parent->type == NCCL_COLL || parent->type == NCCL_P2P || parent->type == NCCL_CE_COLL)
		nccl_slot_join(slot, (uintptr_t)event->parent >> 1);
	else if (parent->collective && event->type & (NCCL_PROXY_STEP | NCCL_NET_PLUGIN))
		nccl_slot_join(slot, parent->collective);
}

/* --- states ----------------------------------------------------------------------------------- */

static const char *state_name(int state)
{
	switch (state) {
	case NCCL_SEND_GPU_WAIT:
		return "send waits for device";
	case NCCL_SEND_PEER_WAIT:
		return "send waits for peer";
	case NCCL_SEND_WAIT:
		return "send is on its way";
	case NCCL_RECV_WAIT:
		return "receive waits for data";
	case NCCL_RECV_FLUSH_WAIT:
		return "receive is flushed";
	case NCCL_RECV_GPU_WAIT:
		return "receive waits for device";
	case NCCL_CTRL_IDLE:
		return "proxy is idle";
	case NCCL_CTRL_ACTIVE:
		return "proxy is active";
	case NCCL_CTRL_SLEEP:
		return "proxy sleeps";
	case NCCL_CTRL_WAKEUP:
		return "proxy wakes up";
	case NCCL_CTRL_APPEND:
		return "proxy takes operations";
	case NCCL_CTRL_APPEND_END:
		return "proxy has taken operations";
	case NCCL_OP_IN_PROGRESS:
		return "in progress";
	case NCCL_GROUP_END_BEGIN:
		return "group end";
	}
	return NULL;
}

static void enter_state(struct nccl_slot *slot, int state, const union nccl_state_args *args,
			int version)
{
	const char *name = state_name(state);
	uint64_t id = 0;

	if (state == NCCL_KERNEL_STOP) {
		slot->timer_end = args ? args->timer : 0;
		return;
	}
	tacho_slice_finish(slot->state);
	slot->state = NULL;
	if (!name || !is_wanted(slot->type))
		return;
	if (args && version >= 4 && slot->type == NCCL_PROXY_STEP)
		id = args->step_bytes;
	else if (args && slot->type == NCCL_PROXY_CTRL)
		id = (uint64_t)(int64_t)args->n_appended;
	slot->state = begin_slice(region_class(TRACE_KIND_SPAN, domain, name), id);
}

/* --- ends -------------------------------------------------------------------------------------- */

/* The channel's time by the device's clock, brought here. `now` where that is not told. */
static uint64_t end_channel(struct nccl_slot *slot, struct nccl_communicator *communicator,
			    uint64_t now)
{
	const struct nccl_name name = { .before = DOMAIN ": ",
					.func = "channel",
					.number = slot->channel };
	uint64_t begin_ticks, end_ticks;

	if (!slot->timer || !communicator)
		return now;
	nccl_timer_heard(&communicator->timer, slot->timer_end, now);
	begin_ticks = nccl_timer_ticks(&communicator->timer, slot->timer);
	end_ticks = nccl_timer_ticks(&communicator->timer, slot->timer_end);
	if (!begin_ticks || !end_ticks)
		return now;
	/* one that cannot have been is told as it is: who reads leaves it out and counts it */
	tacho_slice_late(nccl_class(TRACE_KIND_LATE, &name), TRACE_KIND_ANNOTATION, begin_ticks,
			 end_ticks, slot->channel);
	return end_ticks > now ? now : end_ticks;
}

static struct nccl_communicator *communicator_of(const struct nccl_slot *slot)
{
	return nccl_communicator_find((const void *)(uintptr_t)slot->context);
}

static void end(struct nccl_slot *slot)
{
	uint64_t now = tacho_ticks();
	bool is_task =
		slot->type == NCCL_COLL || slot->type == NCCL_P2P || slot->type == NCCL_CE_COLL;

	/* nothing ends later than what is no collective */
	if (!nccl_slot_stop(slot, is_task ? now : 0))
		return;
	if (is_task) {
		nccl_slot_settle(slot);
		return;
	}
	tacho_slice_finish(slot->state);
	if (slot->duration)
		tacho_duration_store(slot->duration, now > slot->stamp ? now - slot->stamp : 0);
	if (slot->type == NCCL_KERNEL_CH)
		now = end_channel(slot, communicator_of(slot), now);
	nccl_slot_leave(slot, now);
}

/* --- the five functions ------------------------------------------------------------------------- */

static void make_event(uint64_t i, void *communicator)
{
	const struct nccl_event event = { .type = NCCL_PROXY_STEP };
	struct nccl_slot *slot = nccl_slot_new();

	(void)i;
	if (!slot)
		return;
	slot->type = NCCL_PROXY_STEP;
	begin(slot, communicator, &event);
	end(slot);
}

/* What it costs a job that NCCL tells of one event: begin and end. */
static void tell_cost(struct nccl_communicator *communicator)
{
	static uint64_t measured_ps; /* atomic */
	uint64_t cost_ps = __atomic_load_n(&measured_ps, __ATOMIC_RELAXED);

	if (!cost_ps)
		cost_ps = tacho_call_cost_ps(2 * sizeof(struct record_slice), make_event,
					     communicator);
	if (!cost_ps)
		return;
	__atomic_store_n(&measured_ps, cost_ps, __ATOMIC_RELAXED);
	tacho_cost(TRACE_KIND_SPAN, "nccl", cost_ps);
}

static bool is_told_by(const char *library_name, const char *function)
{
	void *library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
	bool (*tells_kernels)(void) = NULL;

	if (library)
		*(void **)&tells_kernels = dlsym(library, function);
	return tells_kernels && tells_kernels();
}

/* Asked of the probes of devices, where the process has them. */
static bool are_kernels_recorded(void)
{
	return is_told_by("libtacho_cuda.so", "tacho_cuda_tells_kernels") ||
	       is_told_by("libtacho_rocprofiler.so", "tacho_rocprofiler_tells_kernels");
}

static void read_setting(void)
{
	const char *what = getenv("TACHO_NCCL");

	if (what && strcmp(what, "calls") == 0)
		recorded_types = CALLS;
	else if (what && strcmp(what, "channels") == 0)
		recorded_types = CHANNELS;
}

static int begin_communicator(void **context, int *mask, const struct nccl_beginning *beginning)
{
	struct nccl_communicator *communicator;
	void *other = NULL;
	bool has_other = nccl_other_init(&other, beginning);

	read_setting();
	*mask = (int)(recorded_types | (has_other ? nccl_other_types() : 0));
	communicator = nccl_communicator_new();
	if (!communicator) {
		tacho_say("NCCL has more communicators than tacho keeps: those behind are not "
			  "recorded");
		*context = has_other && !((uintptr_t)other & 1) ? other : NULL;
		return NCCL_SUCCESS;
	}
	communicator->id = beginning->id;
	communicator->n_ranks = beginning->n_ranks;
	communicator->rank = beginning->rank;
	communicator->has_other = has_other;
	communicator->other = other;
	communicator->has_kernels = are_kernels_recorded();
	nccl_communicator_tell(communicator, beginning->name);
	tell_cost(communicator);
	*context = nccl_communicator_context(communicator);
	return NCCL_SUCCESS;
}

static void tell_error(struct nccl_communicator *communicator)
{
	if (communicator->timer.error_ticks && tacho_clock_scale)
		region_mark(domain, "device clock known to ns",
			    (int64_t)(((unsigned __int128)communicator->timer.error_ticks << 40) /
				      tacho_clock_scale),
			    "");
}

static int finalize(void *context)
{
	struct nccl_communicator *communicator = nccl_communicator_find(context);

	if (!communicator) {
		if (context && !((uintptr_t)context & 1))
			nccl_other_finalize(context);
		return NCCL_SUCCESS;
	}
	if (tacho_is_recording_all())
		tell_error(communicator);
	if (communicator->has_other)
		nccl_other_finalize(communicator->other);
	nccl_communicator_free(communicator);
	return NCCL_SUCCESS;
}

/* A handle of ours as the other plug-in knows it. */
static void *handle_of_other(void *handle)
{
	const struct nccl_slot *slot = nccl_slot_find(handle);

	return !nccl_handle_is_ours(handle) ? handle : slot ? slot->other : NULL;
}

static void *start_other(const struct nccl_communicator *communicator, void *context,
			 const struct nccl_event *told)
{
	struct nccl_event event = *told;

	if (!(told->type & nccl_other_types()) || (communicator && !communicator->has_other))
		return NULL;
	/* one of another process stays what it is: the plug-in must look at the pid */
	if (told->type != NCCL_PROXY_OP || told->same.proxy_op.pid == getpid())
		event.parent = handle_of_other(told->parent);
	event.group = handle_of_other(told->group);
	return nccl_other_start(communicator ? communicator->other : context, &event);
}

static int start_event(int version, void *context, void **handle,
		       const struct nccl_descriptor *descriptor)
{
	struct nccl_communicator *communicator = nccl_communicator_find(context);
	bool is_others = !communicator && context && !((uintptr_t)context & 1);
	struct nccl_slot *slot = NULL;
	struct nccl_event event;
	void *other = NULL;

	if (!handle)
		return NCCL_SUCCESS;
	*handle = NULL;
	nccl_event_read(&event, version, descriptor);
	if (!event.type)
		return NCCL_SUCCESS;
	if (communicator || is_others)
		other = start_other(communicator, context, &event);
	if (communicator && is_wanted(event.type))
		slot = nccl_slot_new();
	else if (other && (uintptr_t)other & 1) /* it must be told from ours */
		slot = nccl_slot_new();
	if (!slot) {
		*handle = other;
		if (communicator && is_wanted(event.type))
			tacho_record_make_room(0); /* counts as lost */
		if ((uintptr_t)other & 1) {
			nccl_other_stop(other);
			*handle = NULL;
		}
		return NCCL_SUCCESS;
	}
	slot->other = other;
	slot->type = (uint32_t)event.type;
	slot->context = (uint64_t)(uintptr_t)context;
	*handle = nccl_slot_handle(slot);
	if (!communicator || !is_wanted(event.type))
		return NCCL_SUCCESS;
	if (event.type & (NCCL_KERNEL_CH | NCCL_KERNEL_LAUNCH))
		slot->begin_ticks = tacho_ticks();
	find_parent(slot, &event);
	begin(slot, communicator, &event);
	return NCCL_SUCCESS;
}

static int stop_event(void *handle)
{
	struct nccl_slot *slot = nccl_slot_find(handle);

	if (!handle)
		return NCCL_SUCCESS;
	if (!nccl_handle_is_ours(handle)) {
		nccl_other_stop(handle);
	} else if (slot && !__atomic_load_n(&slot->is_stopped, __ATOMIC_SEQ_CST)) {
		nccl_other_stop(slot->other);
		end(slot);
	}
	return NCCL_SUCCESS;
}

static int record_state(int version, void *handle, int state, union nccl_state_args *args)
{
	struct nccl_slot *slot = nccl_slot_find(handle);

	if (!nccl_handle_is_ours(handle)) {
		nccl_other_state(handle, state, args, version);
	} else if (slot && !__atomic_load_n(&slot->is_stopped, __ATOMIC_SEQ_CST) && state >= 0 &&
		   nccl_has_state(version, state)) {
		nccl_other_state(slot->other, state, args, version);
		enter_state(slot, state, args, version);
	}
	return NCCL_SUCCESS;
}

/* --- the interface's versions -------------------------------------------------------------------- */

static int init_v1(void **context, int *mask)
{
	const struct nccl_beginning beginning = { .rank = -1 };

	return begin_communicator(context, mask, &beginning);
}

static int init_v4(void **context, int *mask, const char *name, uint64_t id, int n_nodes,
		   int n_ranks, int rank, nccl_logger *logger)
{
	const struct nccl_beginning beginning = { id, name, n_nodes, n_ranks, rank, logger };

	return begin_communicator(context, mask, &beginning);
}

static int init_v5(void **context, uint64_t id, int *mask, const char *name, int n_nodes,
		   int n_ranks, int rank, nccl_logger *logger)
{
	const struct nccl_beginning beginning = { id, name, n_nodes, n_ranks, rank, logger };

	return begin_communicator(context, mask, &beginning);
}

#define PLUGIN(number, init)                                                                       \
	static int start_event_v##number(void *context, void **handle,                             \
					 struct nccl_descriptor *descriptor)                       \
	{                                                                                          \
		return start_event(number, context, handle, descriptor);                           \
	}                                                                                          \
	static int record_state_v##number(void *handle, int state, union nccl_state_args *args)    \
	{                                                                                          \
		return record_state(number, handle, state, args);                                  \
	}                                                                                          \
	TACHO_EXPORT extern const struct nccl_plugin ncclProfiler_v##number;                       \
	const struct nccl_plugin ncclProfiler_v##number = {                                        \
		PLUGIN_NAME, { .init }, start_event_v##number, stop_event, record_state_v##number, \
		finalize                                                                           \
	}

PLUGIN(1, init_v1 = init_v1);
PLUGIN(2, init_v1 = init_v1);
PLUGIN(3, init_v1 = init_v1);
PLUGIN(4, init_v4 = init_v4);
PLUGIN(5, init_v5 = init_v5);
PLUGIN(6, init_v5 = init_v5);
