/* tensor_request: a request of one process of TensorFlow's to another for a tensor (RecvTensor), or for a part of a collective's (RecvBuf),
 * as one end sees it: a REQUEST, until its answer is there or has been handed over.
 *
 * Both ends know the number that TensorFlow gives each request, which makes them a pair (record_request.key). */
#ifndef TACHO_TENSORFLOW_TENSOR_REQUEST_H
#define TACHO_TENSORFLOW_TENSOR_REQUEST_H

#include "common/probe.h"
#include "tensorflow/tensorflow_abi.h"

enum tensor_request_kind { REQUEST_OF_TENSOR, REQUEST_OF_BUFFER };

/* TensorFlow is about to ask, or has been asked, by the `message`; it will call `done` at the end. `caller`: an address in who called. */
void tensor_request_begin(enum tensor_request_kind kind, enum trace_side side, const void *message,
			  struct tensorflow_function *done, const void *caller);

/* This thread has made `bytes` of a tensor ready to be sent: the answer of the next request that it ends. */
void tensor_request_encoded(uint64_t bytes);

#endif
