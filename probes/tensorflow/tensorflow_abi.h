/* tensorflow_abi: what is used of TensorFlow's C++ functions, which its libraries export: their names, and as much of their arguments as
 * is read. Nothing of TensorFlow is needed to build it.
 *
 * Facts from TensorFlow's headers (tensorflow/core/framework/rendezvous.h, core/distributed_runtime/worker_interface.h,
 * core/protobuf/worker.proto; tsl/profiler) and from the symbols of its wheels: of 2.12, 2.15, 2.18, 2.20 and 2.21 for x86-64. */
#ifndef TACHO_TENSORFLOW_ABI_H
#define TACHO_TENSORFLOW_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- names -------------------------------------------------------------------------------------- */

/* How a Status is spelled within the names below: Abseil's has the date of its release in it. Of each release that TensorFlow was
 * built with, and may have been. TensorFlow 2.12 has a Status of its own, in a namespace that some names have had before. */
#define TENSORFLOW_ABSEILS(ABSEIL)                                                                 \
	ABSEIL(20220623)                                                                           \
	ABSEIL(20230125)                                                                           \
	ABSEIL(20230802)                                                                           \
	ABSEIL(20240116)                                                                           \
	ABSEIL(20240722)                                                                           \
	ABSEIL(20250127)                                                                           \
	ABSEIL(20250512)                                                                           \
	ABSEIL(20250814)

#define TENSORFLOW_ABSEIL_STATUS(date) "N4absl12lts_" #date "6StatusE"
#define TENSORFLOW_OWN_STATUS	       "N3tsl6StatusE" /* where nothing before it is of `tsl` */
#define TENSORFLOW_OWN_STATUS_AGAIN    "NS1_6StatusE"  /* behind tsl::CallOptions */

#define TENSORFLOW_SEND                                                                            \
	"_ZN10tensorflow15LocalRendezvous4SendERKNS_19RendezvousInterface9ParsedKeyERKNS1_"        \
	"4ArgsERKNS_6TensorEb"
#define TENSORFLOW_RECEIVE(status)                                                                 \
	"_ZN10tensorflow15LocalRendezvous9RecvAsyncERKNS_19RendezvousInterface9ParsedKeyERKNS1_"   \
	"4ArgsESt8functionIFvRK" status "S7_S7_RKNS_6TensorEbEE"
#define TENSORFLOW_ASK_TENSOR(status)                                                              \
	"_ZN10tensorflow16GrpcRemoteWorker15RecvTensorAsyncEPN3tsl11CallOptionsEPKNS_"             \
	"17RecvTensorRequestEPNS_14TensorResponseESt8functionIFvRK" status "EE"
#define TENSORFLOW_ASK_BUFFER(status)                                                              \
	"_ZN10tensorflow16GrpcRemoteWorker12RecvBufAsyncEPN3tsl11CallOptionsEPKNS_"                \
	"14RecvBufRequestEPNS_15RecvBufResponseESt8functionIFvRK" status "EE"
#define TENSORFLOW_SERVE_TENSOR(status)                                                            \
	"_ZN10tensorflow10GrpcWorker19GrpcRecvTensorAsyncEPN3tsl11CallOptionsEPKNS_"               \
	"17RecvTensorRequestEPN4grpc10ByteBufferESt8functionIFvRK" status "EE"
#define TENSORFLOW_SERVE_BUFFER(status)                                                            \
	"_ZN10tensorflow10GrpcWorker12RecvBufAsyncEPN3tsl11CallOptionsEPKNS_"                      \
	"14RecvBufRequestEPNS_15RecvBufResponseESt8functionIFvRK" status "EE"
#define TENSORFLOW_ENCODE                                                                          \
	"_ZN10tensorflow4grpc24EncodeTensorToByteBufferEbRKNS_6TensorEbPN4grpc10ByteBufferE"

#define TENSORFLOW_PROFILER_RECORD "_ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE"
/* a function of no object; until 2.15 at least one of an object */
#define TENSORFLOW_PROFILER_STOP     "_ZN3tsl8profiler15TraceMeRecorder4StopEv"
#define TENSORFLOW_PROFILER_STOP_OLD "_ZN3tsl8profiler15TraceMeRecorder13StopRecordingEv"

/* Called, not stood before. */
#define TENSORFLOW_TENSOR_BYTES "_ZNK10tensorflow6Tensor10TotalBytesEv"
#define TENSORFLOW_SERIALIZE	"_ZNK6google8protobuf11MessageLite16SerializeToArrayEPvi"

#define TENSORFLOW_DELETE "_ZdlPv" /* operator delete(void *) */

/* What is less is no address. */
#define TENSORFLOW_LEAST_ADDRESS 65536

/* --- arguments ---------------------------------------------------------------------------------- */

/* libstdc++'s std::function, which its ABI fixes. `manage` and `invoke` NULL: it is empty. */
struct tensorflow_function {
	uintptr_t functor[2];
	bool (*manage)(uintptr_t *to, const uintptr_t *from, int operation);
	void *invoke;
};

enum tensorflow_operation {
	TENSORFLOW_TELL_TYPE,
	TENSORFLOW_TELL_FUNCTOR,
	TENSORFLOW_CLONE,
	TENSORFLOW_DESTROY
};

/* A key's first member is a view of the source device's name, which is where the key's own text begins: libstdc++'s view has its
 * length first, Abseil's its address. The text ends in NUL. */
struct tensorflow_key {
	uintptr_t view[2];
};

/* libstdc++'s std::string, which its ABI fixes. A text of up to 15 characters is in `within`, and any other one has its room there. */
struct tensorflow_string {
	char *text;
	size_t length;
	char within[16];
};

/* An event of the profiler (tsl/profiler/backends/cpu/traceme_recorder.h). That something begins has minus its number as its end, that it
 * ends has that as its start. */
struct tensorflow_event {
	struct tensorflow_string name;
	int64_t start_time;
	int64_t end_time;
};

/* Numbers of the fields of both requests' messages. */
enum tensorflow_field {
	TENSORFLOW_TENSOR_KEY = 2,
	TENSORFLOW_TENSOR_ID = 7,
	TENSORFLOW_BUFFER_BYTES = 3,
	TENSORFLOW_BUFFER_ID = 10
};

#endif
