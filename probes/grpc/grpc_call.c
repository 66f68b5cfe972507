#include "grpc/grpc_call.h"

#include <stdlib.h>
#include <string.h>

#include "common/activity.h"
#include "grpc/grpc_peer.h"

#define STATUS_CANCELLED 1

static struct grpc_table calls;
static uint32_t n_under_way[TRACE_N_SIDES]; /* atomic */

/* --- records ---------------------------------------------------------------------------------- */

uint32_t grpc_method_class(const char *name, size_t length)
{
	return tacho_class(TRACE_KIND_REQUEST, name, length);
}

uint32_t grpc_slice_class(const struct grpc_slice *method)
{
	if (method->refcount)
		return grpc_method_class((const char *)method->data.counted.bytes,
					 method->data.counted.length);
	return grpc_method_class((const char *)method->data.inlined.bytes,
				 method->data.inlined.length);
}

static void begin(struct grpc_known_call *call)
{
	uint32_t n_others = __atomic_fetch_add(&n_under_way[call->is_server], 1, __ATOMIC_RELAXED);
	struct record_request *record;

	call->has_begun =
		true; /* also where nothing is wanted now: what follows is no whole call */
	call->generation = tacho_generation();
	record = tacho_is_recording_all()
			 ? tacho_record_begin_async(call->class_id, sizeof(*record))
			 : NULL;
	if (!record)
		return;
	memset(&record->duration, 0, sizeof(*record) - offsetof(struct record_request, duration));
	record->duration = TRACE_OPEN;
	record->side = call->is_server ? TRACE_SIDE_SERVER : TRACE_SIDE_CLIENT;
	record->status = TRACE_STATUS_UNKNOWN;
	record->n_others = n_others;
	record->sort = TRACE_REQUEST_SORT;
	tacho_record_commit(record);
	call->record = record;
}

/* NULL: there is none, or it is of another recording. */
static struct record_request *record_of(const struct grpc_known_call *call)
{
	return call->record && call->generation == tacho_generation() ? call->record : NULL;
}

static void end(struct grpc_known_call *call)
{
	struct record_request *record = record_of(call);

	if (!call->has_begun || __atomic_exchange_n(&call->has_ended, 1, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_sub(&n_under_way[call->is_server], 1, __ATOMIC_RELAXED);
	if (record)
		tacho_slice_end(record, &record->duration);
}

static uint64_t ns_since(const struct record_request *record)
{
	uint64_t now = tacho_ticks(),
		 ticks = now > record->header.stamp ? now - record->header.stamp : 0;

	return (uint64_t)(((unsigned __int128)ticks << 40) / tacho_clock_scale);
}

static void count_received(struct grpc_known_call *call, struct grpc_buffer *message,
			   const void *caller)
{
	struct record_request *record = record_of(call);

	if (!record || !message)
		return;
	record->received_bytes += grpc_buffer_bytes(message, caller);
	record->n_received++;
	if (!call->is_received)
		record->received_after_ns = ns_since(record);
	call->is_received = true;
}

/* --- calls ------------------------------------------------------------------------------------ */

void grpc_call_add(struct grpc_call *handle, uint32_t class_id, struct grpc_queue *queue,
		   bool is_callback, bool is_server, const void *caller)
{
	struct grpc_known_call *call = calloc(1, sizeof(*call));

	if (!call)
		return;
	call->references = call->program_references = 1;
	call->class_id = class_id;
	call->queue = queue;
	call->is_callback = is_callback;
	call->is_server = is_server;
	if (is_server) {
		begin(call);
		if (call->record)
			grpc_peer_tell(call->record, handle, caller);
		call->has_peer = true;
	}
	grpc_table_put(&calls, &call->entry, handle, NULL);
}

static void refer(struct grpc_entry *entry)
{
	__atomic_fetch_add(&((struct grpc_known_call *)entry)->references, 1, __ATOMIC_RELAXED);
}

struct grpc_known_call *grpc_call_find(struct grpc_call *call)
{
	return (struct grpc_known_call *)grpc_table_find(&calls, call, refer);
}

void grpc_call_release(struct grpc_known_call *call)
{
	if (__atomic_sub_fetch(&call->references, 1, __ATOMIC_ACQ_REL))
		return;
	end(call);
	free(call);
}

void grpc_call_referenced(struct grpc_call *handle)
{
	struct grpc_known_call *call = grpc_call_find(handle);

	if (!call)
		return;
	__atomic_fetch_add(&call->program_references, 1, __ATOMIC_RELAXED);
	grpc_call_release(call);
}

void grpc_call_unreferenced(struct grpc_call *handle)
{
	struct grpc_known_call *call = grpc_call_find(handle);

	if (!call)
		return;
	if (!__atomic_sub_fetch(&call->program_references, 1, __ATOMIC_ACQ_REL)) {
		/* gRPC may hand out the address again as soon as it is given back */
		grpc_table_remove(&calls, &call->entry);
		grpc_call_release(call);
	}
	grpc_call_release(call);
}

void grpc_calls_forget(void)
{
	grpc_table_forget(&calls);
	memset(n_under_way, 0, sizeof(n_under_way));
}

/* --- batches ---------------------------------------------------------------------------------- */

static void count_sent(struct grpc_batch *batch, struct grpc_buffer *message)
{
	struct record_request *record = record_of(batch->call);

	if (!record || !message)
		return;
	batch->sent_bytes = grpc_buffer_bytes(message, batch->caller);
	batch->n_sent = 1;
	record->sent_bytes += batch->sent_bytes;
	record->n_sent++;
}

static void look_at(struct grpc_batch *batch, const struct grpc_op *op)
{
	struct record_request *record = record_of(batch->call);

	switch (op->op) {
	case GRPC_SEND_MESSAGE:
		count_sent(batch, op->data.send_message);
		break;
	case GRPC_SEND_STATUS:
		batch->sends_status = true;
		if (record)
			record->status = (uint32_t)op->data.send_status.status;
		break;
	case GRPC_RECEIVE_INITIAL_METADATA:
		batch->receives_metadata = true;
		break;
	case GRPC_RECEIVE_MESSAGE:
		batch->receive_message = op->data.receive_message;
		break;
	case GRPC_RECEIVE_STATUS:
		batch->receive_status = op->data.receive_status.status;
		break;
	case GRPC_RECEIVE_CLOSE:
		batch->is_cancelled = op->data.is_cancelled;
		break;
	default:
		break;
	}
}

struct grpc_batch *grpc_batch_new(struct grpc_known_call *call, const struct grpc_op *ops, size_t n,
				  const void *caller)
{
	struct grpc_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->call = call;
	batch->caller = caller;
	if (!call->has_begun)
		begin(call);
	for (size_t i = 0; i < n; i++)
		look_at(batch, &ops[i]);
	/* Before gRPC has it: the client may have it before the queue tells us of it. */
	if (batch->sends_status)
		end(call);
	return batch;
}

static void tell_ends(struct grpc_known_call *call, const void *caller)
{
	struct record_request *record = record_of(call);

	if (!record || call->has_peer)
		return;
	call->has_peer = true;
	grpc_peer_tell(record, (struct grpc_call *)call->entry.key, caller);
}

/* What the batch received is there, and nobody has taken it yet. */
static void finish(struct grpc_batch *batch, bool is_ok)
{
	struct grpc_known_call *call = batch->call;
	struct record_request *record = record_of(call);

	if (!record)
		return;
	if (batch->n_sent && is_ok && !call->is_sent) {
		call->is_sent = true;
		record->sent_after_ns = ns_since(record);
	}
	if ((batch->receives_metadata && is_ok) || batch->receive_status)
		tell_ends(call, batch->caller);
	if (batch->receive_message && is_ok)
		count_received(call, *batch->receive_message, batch->caller);
	if (batch->receive_status)
		record->status = (uint32_t)*batch->receive_status;
	if (batch->is_cancelled && *batch->is_cancelled && record->status == TRACE_STATUS_UNKNOWN)
		record->status = STATUS_CANCELLED;
	if (batch->receive_status)
		end(call);
}

/* A server has its next call. */
static void take_next(struct grpc_batch *batch)
{
	struct grpc_call *next = *batch->next_call;
	struct grpc_known_call *call;

	if (!next || !tacho_is_recording_all())
		return;
	grpc_call_add(next,
		      batch->details ? grpc_slice_class(&batch->details->method) : batch->class_id,
		      batch->queue, batch->is_callback, true, batch->caller);
	call = batch->payload && *batch->payload ? grpc_call_find(next) : NULL;
	if (!call)
		return;
	count_received(call, *batch->payload, batch->caller);
	grpc_call_release(call);
}

static void free_batch(struct grpc_batch *batch)
{
	if (batch->call)
		grpc_call_release(batch->call);
	free(batch);
}

void grpc_batch_complete(struct grpc_batch *batch, bool is_ok)
{
	if (batch->call)
		finish(batch, is_ok);
	else if (is_ok)
		take_next(batch);
	free_batch(batch);
}

void grpc_batch_refuse(struct grpc_batch *batch)
{
	struct record_request *record = batch->call ? record_of(batch->call) : NULL;

	if (record) {
		record->sent_bytes -= batch->sent_bytes;
		record->n_sent -= batch->n_sent;
	}
	free_batch(batch);
}
