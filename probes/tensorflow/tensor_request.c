#include "tensorflow/tensor_request.h"

#include <stdlib.h>
#include <string.h>

#include "common/real_function.h"
#include "tensorflow/rendezvous_key.h"
#include "tensorflow/request_fields.h"
#include "tensorflow/tensor_names.h"
#include "tensorflow/watched_function.h"

#define MESSAGE_BYTES 1024 /* a request has some 200 */

typedef bool serialize_function(const void *message, void *bytes, int size);

static struct real_function serialize = REAL_FUNCTION_INIT(TENSORFLOW_SERIALIZE);
static uint32_t n_under_way[TRACE_N_SIDES]; /* atomic */
static _Thread_local uint64_t encoded_bytes;

/* One end of a request, until nobody can say any more that it is over. */
struct request {
	struct record_request *record;
	uint32_t generation;
	enum trace_side side;
	uint32_t is_over; /* atomic */
};

/* --- the end ------------------------------------------------------------------------------------ */

static void end(struct request *request)
{
	struct record_request *record = request->record;
	uint64_t bytes = encoded_bytes;

	encoded_bytes = 0;
	if (__atomic_exchange_n(&request->is_over, 1, __ATOMIC_RELAXED))
		return;
	__atomic_fetch_sub(&n_under_way[request->side], 1, __ATOMIC_RELAXED);
	if (request->generation != tacho_generation())
		return;
	if (request->side == TRACE_SIDE_SERVER && bytes)
		record->sent_bytes = bytes;
	tacho_slice_end(record, &record->duration);
}

static void called(void *data, bool is_dropped)
{
	struct request *request = data;

	if (!is_dropped) {
		end(request);
		return;
	}
	/* nobody has said that it was over: it stays open */
	if (!__atomic_exchange_n(&request->is_over, 1, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&n_under_way[request->side], 1, __ATOMIC_RELAXED);
	free(request);
}

/* --- the beginning ------------------------------------------------------------------------------ */

static uint32_t class_of(enum tensor_request_kind kind, const uint8_t *message)
{
	struct rendezvous_key key;
	const char *text;
	size_t length;
	bool has_key =
		kind == REQUEST_OF_TENSOR &&
		request_text(message, MESSAGE_BYTES, TENSORFLOW_TENSOR_KEY, &text, &length) &&
		rendezvous_key_read(&key, text, length);

	/* the key of a collective's part is another one in each step */
	return tensor_class(TRACE_KIND_REQUEST,
			    kind == REQUEST_OF_TENSOR ? "RecvTensor" : "RecvBuf",
			    has_key ? &key : NULL);
}

static struct record_request *write_record(enum tensor_request_kind kind, enum trace_side side,
					   const uint8_t *message)
{
	uint64_t id = request_number(message, MESSAGE_BYTES,
				     kind == REQUEST_OF_TENSOR ? TENSORFLOW_TENSOR_ID
							       : TENSORFLOW_BUFFER_ID);
	uint64_t bytes = kind == REQUEST_OF_BUFFER
				 ? request_number(message, MESSAGE_BYTES, TENSORFLOW_BUFFER_BYTES)
				 : 0;
	struct record_request *record =
		tacho_record_begin_async(class_of(kind, message), sizeof(*record));

	if (!record)
		return NULL;
	memset(&record->duration, 0, sizeof(*record) - offsetof(struct record_request, duration));
	record->duration = TRACE_OPEN;
	record->side = side;
	record->status = TRACE_STATUS_UNKNOWN;
	record->n_others = __atomic_load_n(&n_under_way[side], __ATOMIC_RELAXED);
	record->sort = TRACE_REQUEST_SORT;
	record->key = (uint32_t)(id ^ id >> 32);
	if (side == TRACE_SIDE_SERVER)
		record->sent_bytes = bytes;
	else
		record->received_bytes = bytes;
	tacho_record_commit(record);
	return record;
}

void tensor_request_begin(enum tensor_request_kind kind, enum trace_side side, const void *message,
			  struct tensorflow_function *done, const void *caller)
{
	serialize_function *serialize_real;
	uint8_t bytes[MESSAGE_BYTES] = { 0 }; /* a tag of 0 ends a message */
	struct request *request;

	if (!tacho_is_recording_all())
		return;
	serialize_real = (serialize_function *)real_function(&serialize, caller);
	/* one that is longer is recorded without its name */
	if (!serialize_real || !serialize_real(message, bytes, sizeof(bytes)))
		memset(bytes, 0, sizeof(bytes));
	request = calloc(1, sizeof(*request));
	if (!request)
		return;
	request->side = side;
	request->generation = tacho_generation();
	/* before TensorFlow can end it */
	request->record = write_record(kind, side, bytes);
	if (!request->record || !function_watch(done, called, request)) {
		free(request);
		return;
	}
	__atomic_fetch_add(&n_under_way[side], 1, __ATOMIC_RELAXED);
}

void tensor_request_encoded(uint64_t bytes)
{
	encoded_bytes = bytes;
}
