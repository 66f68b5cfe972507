/* ctf_profiler: the events of TensorFlow's old LTTng instrumentation (tensorflow-profiler: TensorFlow's own, CUPTI's,
 * HSA's, HIP's, OpenCL's and gRPC's), by name.
 *
 * Intervals of a thread are pairs of events with the same name; what is asynchronous is paired in its process by
 * its name or rendezvous key, first in, first out; what devices did carries its time (ctf_device.c). */
#include <string.h>

#include "import/ctf/ctf_import.h"

/* --- rendezvous ------------------------------------------------------------------------------- */

/* "source;incarnation;destination;tensor;frame:iteration" -> the tensor */
static guint32 tensor_of_key(struct ctf_import *ctf, const gchar *key)
{
	g_auto(GStrv) parts = g_strsplit(key, ";", 6);

	return tacho_timeline_intern(ctf->timeline, g_strv_length(parts) >= 4 ? parts[3] : key, -1);
}

/* Who sends and who receives meet; whoever is first waits. */
static void meet(struct ctf_import *ctf, const struct ctf_plan *plan, const struct ctf_event *event,
		 const gchar *self, const gchar *other)
{
	struct ctf_owner *owner = ctf->thread->owner;
	guint32 key = ctf_intern_field(ctf, event, plan->key_field), row;
	const gchar *text = tacho_timeline_string(ctf->timeline, key);
	g_autofree gchar *mine = g_strdup_printf("%s/%p/%u", self, (void *)owner, key);
	g_autofree gchar *theirs = g_strdup_printf("%s/%p/%u", other, (void *)owner, key);
	struct ctf_pending first;

	if (ctf_take_pending(ctf, theirs, &first)) {
		ctf_end_slice(ctf, first.row, event->time_ns, first.offset, event->offset);
		return;
	}
	row = ctf_add_slice(ctf, plan->kind,
			    ctf_lane(ctf, owner, TACHO_TRACK_ASYNC, plan->lane, 0, 0),
			    tensor_of_key(ctf, text), event->time_ns, 0, 0, event->offset);
	ctf_begin_pending(ctf, mine, row, event->offset, event->time_ns);
}

static void handle_rdv_send(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	meet(ctf, plan, event, "send", "receive");
}

static void handle_rdv_recv(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	meet(ctf, plan, event, "receive", "send");
}

/* --- requests ------------------------------------------------------------------------------- */

/* Clients and servers call the same method by other names. */
static gchar *method_of(const gchar *name)
{
	static const gchar *const ends[] = { "Async", "Handler" };

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
		if (g_str_has_suffix(name, ends[i]))
			return g_strndup(name, strlen(name) - strlen(ends[i]));
	return g_strdup(name);
}

enum request_field { REQUEST_STEP, REQUEST_TEXT };

/* "step": what the process said last of a key, for the spans that follow. */
static gchar *step_key(const struct ctf_import *ctf, guint32 key, gboolean is_receive)
{
	return g_strdup_printf("%p/%d/%u", (void *)ctf->thread->owner, is_receive, key);
}

/* The step of a request for a tensor; -1: it does not tell. */
static gint64 read_step(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event, guint32 key, gboolean is_receive)
{
	gint64 step = -1;
	gsize n;

	if (ctf_event_has_integer(event, plan->fields[REQUEST_STEP]))
		step = MAX(ctf_event_integer(event, plan->fields[REQUEST_STEP]), -1);
	else
		step = ctf_step_of_request(ctf_event_text(event, plan->fields[REQUEST_TEXT], &n));
	if (step >= 0)
		g_hash_table_replace(ctf->request_steps, step_key(ctf, key, is_receive),
				     g_memdup2(&step, sizeof(step)));
	return step;
}

static gint64 last_step(const struct ctf_import *ctf, guint32 key, gboolean is_receive)
{
	g_autofree gchar *text = step_key(ctf, key, is_receive);
	const gint64 *step = g_hash_table_lookup(ctf->request_steps, text);

	return step ? *step : -1;
}

static void handle_request(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event, gboolean is_receive)
{
	guint32 row = ctf->timeline->slices.n;
	guint32 key = ctf_intern_field(ctf, event, plan->key_field);
	gint64 step = read_step(ctf, plan, event, key, is_receive);
	g_autofree gchar *method = method_of(tacho_timeline_string(ctf->timeline, key));
	g_autofree gchar *text = g_strconcat("request/", method, NULL);

	ctf_handle_instant(ctf, plan, event);
	if (row < ctf->timeline->slices.n)
		ctf_add_request(ctf, ctf->thread->owner, text, row, step, event->time_ns,
				is_receive, FALSE);
}

static void handle_send(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	handle_request(ctf, plan, event, FALSE);
}

static void handle_receive(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	handle_request(ctf, plan, event, TRUE);
}

static void handle_span(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event, gboolean is_receive)
{
	guint32 row = ctf->timeline->slices.n;
	guint32 key = ctf_intern_field(ctf, event, plan->key_field);
	g_autofree gchar *text =
		g_strconcat("span/", tacho_timeline_string(ctf->timeline, key), NULL);

	ctf_handle_async_begin(ctf, plan, event);
	if (row < ctf->timeline->slices.n)
		ctf_add_request(ctf, ctf->thread->owner, text, row, last_step(ctf, key, is_receive),
				event->time_ns, is_receive, TRUE);
}

static void handle_client(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	handle_span(ctf, plan, event, FALSE);
}

static void handle_server(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	handle_span(ctf, plan, event, TRUE);
}

/* --- memory --------------------------------------------------------------------------------- */

enum memory_field { MEMORY_ADDRESS, MEMORY_BYTES, MEMORY_DEVICE };

static guint64 read_address(const struct ctf_event *event, gint field)
{
	gsize n;
	const gchar *text = ctf_event_text(event, field, &n);

	return text ? g_ascii_strtoull(text, NULL, 16) : (guint64)ctf_event_integer(event, field);
}

static gchar *allocation_key(const struct ctf_import *ctf, guint64 address)
{
	return g_strdup_printf("%p/%" G_GINT64_MODIFIER "x", (void *)ctf->thread->owner, address);
}

/* Some free without telling of how many bytes, or of which pool: that of the address was told when it was allocated. */
static void complete_free(struct ctf_import *ctf, TachoMemoryEvent *row)
{
	g_autofree gchar *key = allocation_key(ctf, row->address);
	const TachoMemoryEvent *allocated = g_hash_table_lookup(ctf->allocations, key);

	if (allocated && !row->bytes) {
		row->bytes = -allocated->bytes;
		row->device = allocated->device;
	}
	g_hash_table_remove(ctf->allocations, key);
}

static void add_memory(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event, gboolean is_free)
{
	TachoMemoryEvent row = { .time_ns = event->time_ns, .layer = TACHO_MEMORY_OF_DRIVER };
	guint32 device = ctf_intern_field(ctf, event, plan->fields[MEMORY_DEVICE]);
	gint64 bytes = ctf_event_integer(event, plan->fields[MEMORY_BYTES]);

	row.address = read_address(event, plan->fields[MEMORY_ADDRESS]);
	row.bytes = is_free ? -ABS(MAX(bytes, -G_MAXINT64)) : MAX(bytes, 0);
	row.track = ctf_thread_track(ctf, ctf->thread);
	if (is_free)
		complete_free(ctf, &row);
	if (!row.device)
		row.device = (guint32)ctf_device_number(ctf, device) + 1;
	if (!is_free)
		g_hash_table_replace(ctf->allocations, allocation_key(ctf, row.address),
				     g_memdup2(&row, sizeof(row)));
	g_array_append_val(ctf->timeline->memory, row);
}

static void handle_allocate(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	add_memory(ctf, plan, event, FALSE);
}

static void handle_deallocate(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	add_memory(ctf, plan, event, TRUE);
}

/* --- counters ------------------------------------------------------------------------------- */

/* A sample for each of the rule's fields; whose they are, the label's field and the key's say. */
static void handle_counters(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	guint32 of = ctf_intern_field(ctf, event, plan->label_field);
	guint32 part = ctf_intern_field(ctf, event, plan->key_field);
	gdouble value;

	for (guint i = 0; i < CTF_MAX_FIELDS_OF_RULE; i++) {
		g_autofree gchar *name = NULL;

		if (!ctf_event_number(event, plan->fields[i], &value))
			continue;
		name = g_strdup_printf("%s%s%s of %s", event->class->fields[plan->fields[i]].name,
				       part ? " of bin " : "",
				       tacho_timeline_string(ctf->timeline, part),
				       tacho_timeline_string(ctf->timeline, of));
		ctf_add_sample(ctf,
			       ctf_lane(ctf, ctf->thread->owner, TACHO_TRACK_COUNTER, name, 0, 0),
			       event->time_ns, value);
	}
}

/* --- Python --------------------------------------------------------------------------------- */

/* A message "begin:X" or "end:X" is an interval, any other a moment. */
static void handle_python(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct ctf_frame frame = { .pair = plan->pair, .offset = event->offset };
	guint32 message = ctf_intern_field(ctf, event, plan->label_field);
	const gchar *text = tacho_timeline_string(ctf->timeline, message);
	gboolean is_begin = g_str_has_prefix(text, "begin:");
	g_autofree gchar *name = NULL;

	if (is_begin || g_str_has_prefix(text, "end:")) {
		name = g_strdup(strchr(text, ':') + 1);
		frame.key = tacho_timeline_intern(ctf->timeline, name, -1);
	}
	if (is_begin)
		ctf_push_frame(ctf, ctf->thread, plan->kind, frame.key, frame, event->time_ns);
	else if (!name || !ctf_pop_frame(ctf, ctf->thread, frame.pair, frame.key, event))
		ctf_handle_instant(ctf, plan, event);
}

/* --- the catalogue -------------------------------------------------------------------------- */

#define OP	 TACHO_SLICE_OP
#define FUNCTION TACHO_SLICE_FUNCTION
#define RUNTIME	 TACHO_SLICE_RUNTIME
#define KERNEL	 TACHO_SLICE_KERNEL
#define MEMCPY	 TACHO_SLICE_MEMCPY
#define SYNC	 TACHO_SLICE_SYNC
#define EVENT	 TACHO_SLICE_EVENT

#define NAMED .label = "name", .key = "name"

/* An interval of a thread, by the name in it. */
#define INTERVAL(begin, end, slice_kind, id, ...)                                                  \
	{ .event = begin,                                                                          \
	  .handle = ctf_handle_begin,                                                              \
	  .kind = slice_kind,                                                                      \
	  .pair = id,                                                                              \
	  NAMED,                                                                                   \
	  ##__VA_ARGS__ },                                                                         \
	{                                                                                          \
		.event = end, .handle = ctf_handle_end, .kind = slice_kind, .pair = id, NAMED,     \
		##__VA_ARGS__                                                                      \
	}
/* What a device did, on a queue of its own. */
#define DEVICE(begin, end, slice_kind, id, clock_of, ...)                                          \
	{ .event = begin,                                                                          \
	  .handle = ctf_handle_device_begin,                                                       \
	  .kind = slice_kind,                                                                      \
	  .pair = id,                                                                              \
	  .clock = clock_of,                                                                       \
	  NAMED,                                                                                   \
	  __VA_ARGS__ },                                                                           \
	{                                                                                          \
		.event = end, .handle = ctf_handle_device_end, .kind = slice_kind, .pair = id,     \
		.clock = clock_of, NAMED, __VA_ARGS__                                              \
	}
/* An interval of a request, by its rendezvous key. */
#define SPAN(begin, end, begin_handler, id, lane_name)                                             \
	{ .event = begin,                                                                          \
	  .handle = begin_handler,                                                                 \
	  .kind = EVENT,                                                                           \
	  .pair = id,                                                                              \
	  .key = "rendezvous_key",                                                                 \
	  .lane = lane_name },                                                                     \
	{                                                                                          \
		.event = end, .handle = ctf_handle_async_end, .kind = EVENT, .pair = id,           \
		.key = "rendezvous_key", .lane = lane_name                                         \
	}

const struct ctf_rule ctf_profiler_rules[] = {
	/* TensorFlow */
	INTERVAL("tensorflowTracer:process_entry", "tensorflowTracer:process_exit", FUNCTION,
		 "process", .prefix = "process "),
	INTERVAL("tensorflowTracer:inline_ready_entry", "tensorflowTracer:inline_ready_exit",
		 FUNCTION, "inline_ready", .prefix = "inline_ready "),
	INTERVAL("tensorflowTracer:push_succ_entry", "tensorflowTracer:push_succ_exit", FUNCTION,
		 "push_succ", .prefix = "push_succ "),
	{ .event = "tensorflowTracer:session_start",
	  .handle = ctf_handle_session_start,
	  .kind = TACHO_SLICE_ANNOTATION,
	  .pair = "session.run",
	  .key = "count" },
	{ .event = "tensorflowTracer:session_end",
	  .handle = ctf_handle_session_end,
	  .kind = TACHO_SLICE_ANNOTATION,
	  .pair = "session.run",
	  .key = "count" },
	INTERVAL("tensorflowTracer:operation_start", "tensorflowTracer:operation_end", OP,
		 "operation"),
	{ .event = "tensorflowTracer:async_operation_start",
	  .handle = ctf_handle_async_begin,
	  .kind = OP,
	  .pair = "async_operation",
	  NAMED,
	  .lane = "asynchronous operations" },
	{ .event = "tensorflowTracer:async_operation_end",
	  .handle = ctf_handle_async_end,
	  .kind = OP,
	  .pair = "async_operation",
	  NAMED,
	  .lane = "asynchronous operations" },
	{ .event = "tensorflowTracer:rdv_send",
	  .handle = handle_rdv_send,
	  .kind = EVENT,
	  NAMED,
	  .lane = "rendezvous" },
	{ .event = "tensorflowTracer:rdv_recv",
	  .handle = handle_rdv_recv,
	  .kind = EVENT,
	  NAMED,
	  .lane = "rendezvous" },
	{ .event = "tensorflowTracer:bfc_allocator_stats",
	  .handle = handle_counters,
	  .label = "allocator_name",
	  .fields = { "num_allocs", "bytes_in_use", "max_bytes_in_use", "max_alloc_size" } },
	{ .event = "tensorflowTracer:bfc_chunks_stats",
	  .handle = handle_counters,
	  .label = "allocator_name",
	  .fields = { "total_bytes_in_use", "total_requested_bytes_in_use",
		      "total_wasted_bytes_in_use", "total_bytes", "total_requested_bytes",
		      "total_wasted_bytes", "chunks", "in_use_chunks", "free_chunks" } },
	{ .event = "tensorflowTracer:bfc_bins_stats",
	  .handle = handle_counters,
	  .label = "allocator_name",
	  .key = "bin_numero",
	  .fields = { "total_chunks_in_bin", "total_chunks_in_use", "total_bytes_in_bin",
		      "total_bytes_in_use", "total_requested_bytes_in_use" } },
	{ .event = "tensorflowTracer:memory_allocate",
	  .handle = handle_allocate,
	  .fields = { "ptr", "bytes", "device" } },
	{ .event = "tensorflowTracer:memory_deallocate",
	  .handle = handle_deallocate,
	  .fields = { "ptr", "bytes", "device" } },
	INTERVAL("streamTracer:memcpy_start", "streamTracer:memcpy_end", RUNTIME, "stream memcpy",
		 .prefix = "memcpy "),
	INTERVAL("eigenTracer:schedule_entry", "eigenTracer:schedule_exit", FUNCTION, "schedule",
		 .prefix = "schedule "),
	/* gRPC */
	{ .event = "grpcTracer:send_request",
	  .handle = handle_send,
	  .kind = EVENT,
	  .pair = "send_request",
	  NAMED,
	  .prefix = "send " },
	{ .event = "grpcTracer:receive_request",
	  .handle = handle_receive,
	  .kind = EVENT,
	  .pair = "receive_request",
	  NAMED,
	  .prefix = "receive " },
	{ .event = "grpcTracer:send_RecvTensor_request",
	  .handle = handle_send,
	  .kind = EVENT,
	  .pair = "send RecvTensor",
	  .key = "rendezvous_key",
	  .fields = { "step_id", "request" } },
	{ .event = "grpcTracer:receive_RecvTensor_request",
	  .handle = handle_receive,
	  .kind = EVENT,
	  .pair = "receive RecvTensor",
	  .key = "rendezvous_key",
	  .fields = { "step_id" } },
	SPAN("grpcTracer:send_request_tensor_start", "grpcTracer:send_request_tensor_end",
	     handle_client, "send_request_tensor", "gRPC client"),
	SPAN("grpcTracer:prepare_response_tensor_start", "grpcTracer:prepare_response_tensor_end",
	     handle_server, "prepare_response_tensor", "gRPC server"),
	SPAN("grpcTracer:set_proto_from_gpu_start", "grpcTracer:set_proto_from_gpu_end",
	     ctf_handle_async_begin, "set_proto_from_gpu", "gRPC copies from devices"),
	/* HC, HIP and HSA */
	DEVICE("hcTracer:kernel_begin", "hcTracer:kernel_end", KERNEL, "hc kernel",
	       CTF_TIME_MONOTONIC_NS, .lane = "kernels"),
	DEVICE("hcTracer:kernel_log_begin", "hcTracer:kernel_log_end", KERNEL, "hc kernel log",
	       CTF_TIME_MONOTONIC_NS, .lane = "kernels"),
	DEVICE("hcTracer:async_memcpy_begin", "hcTracer:async_memcpy_end", MEMCPY, "hc memcpy",
	       CTF_TIME_MONOTONIC_NS, .lane = "copies"),
	DEVICE("hcTracer:async_memcpyslo_begin", "hcTracer:async_memcpyslo_end", MEMCPY,
	       "hc memcpyslo", CTF_TIME_MONOTONIC_NS, .lane = "slow copies"),
	DEVICE("hcTracer:async_memcpy_log_begin", "hcTracer:async_memcpy_log_end", MEMCPY,
	       "hc memcpy log", CTF_TIME_MONOTONIC_NS, .lane = "copies"),
	DEVICE("hcTracer:async_memcpyslo_log_begin", "hcTracer:async_memcpyslo_log_end", MEMCPY,
	       "hc memcpyslo log", CTF_TIME_MONOTONIC_NS, .lane = "slow copies"),
	DEVICE("hcTracer:barrier_begin", "hcTracer:barrier_end", SYNC, "hc barrier",
	       CTF_TIME_MONOTONIC_NS, .lane = "barriers"),
	DEVICE("hcTracer:barrier_log_begin", "hcTracer:barrier_log_end", SYNC, "hc barrier log",
	       CTF_TIME_MONOTONIC_NS, .lane = "barriers"),
	INTERVAL("hcTracer:unpinned_memory_engine_copy_entry",
		 "hcTracer:unpinned_memory_engine_copy_exit", RUNTIME, "unpinned copy"),
	{ .event = "hcTracer:queue_stats",
	  .handle = handle_counters,
	  .label = "queue_id",
	  .fields = { "size" } },
	INTERVAL("hipTracer:function_entry", "hipTracer:function_exit", RUNTIME, "hip"),
	INTERVAL("hsaTracer:function_entry", "hsaTracer:function_exit", RUNTIME, "hsa"),
	{ .event = "hsaTracer:pool_memory_allocate",
	  .handle = handle_allocate,
	  .fields = { "ptr", "size", "handle" } },
	{ .event = "hsaTracer:pool_memory_free",
	  .handle = handle_deallocate,
	  .fields = { "ptr", "size", "handle" } },
	INTERVAL("interceptionTracer:function_entry", "interceptionTracer:function_exit", RUNTIME,
		 "hsa"),
	{ .event = "interceptionTracer:aql_kernel_dispatch_packet_submitted",
	  .handle = ctf_handle_launch,
	  .kind = EVENT,
	  .pair = "aql_kernel_dispatch_packet_submitted",
	  .label = "kernel_name",
	  .prefix = "submit ",
	  .fields = { "agent_handle", "queue_id", "kernel_object" } },
	DEVICE("interceptionTracer:kernel_begin", "interceptionTracer:kernel_end", KERNEL,
	       "intercepted kernel", CTF_TIME_SINCE_START_NS, .lane = "kernels",
	       .fields = { "agent_handle", "queue_id", "kernel_object" }),
	{ .event = "interceptionTracer:kernel_parameters",
	  .handle = ctf_handle_parameters,
	  .kind = EVENT,
	  .pair = "kernel_parameters" },
	{ .event = "interceptionTracer:perf_counter_*",
	  .handle = ctf_handle_device_counter,
	  .kind = EVENT,
	  .label = "counter_name",
	  .fields = { "value", "kernel_object" } },
	/* CUPTI */
	INTERVAL("cudaTracer:runtime_api_entry", "cudaTracer:runtime_api_exit", RUNTIME,
		 "cuda runtime", .clock = CTF_TIME_UNIX_NS),
	INTERVAL("cudaTracer:driver_api_entry", "cudaTracer:driver_api_exit", RUNTIME,
		 "cuda driver", .clock = CTF_TIME_UNIX_NS),
	{ .event = "cudaTracer:kernel_queued",
	  .handle = ctf_handle_launch,
	  .kind = EVENT,
	  .pair = "kernel_queued",
	  .label = "name",
	  .prefix = "queue " },
	DEVICE("cudaTracer:kernel_begin", "cudaTracer:kernel_end", KERNEL, "cuda kernel",
	       CTF_TIME_UNIX_US, .lane = "kernels"),
	DEVICE("cudaTracer:memcpy_begin", "cudaTracer:memcpy_end", MEMCPY, "cuda memcpy",
	       CTF_TIME_UNIX_US, .lane = "copies"),
	/* OpenCL */
	INTERVAL("openclTracer:function_entry", "openclTracer:function_exit", RUNTIME, "opencl"),
	{ .event = "openclTracer:callback",
	  .handle = ctf_handle_callback,
	  .kind = EVENT,
	  .pair = "callback" },
	{ .event = "openclTracer:kernel_queued",
	  .handle = ctf_handle_device_queued,
	  .pair = "kernel_queued",
	  .label = "name",
	  .prefix = "queued ",
	  .clock = CTF_TIME_DEVICE_NS },
	{ .event = "openclTracer:kernel_submitted",
	  .handle = ctf_handle_device_submitted,
	  .pair = "kernel_submitted",
	  .label = "name",
	  .prefix = "submitted ",
	  .clock = CTF_TIME_DEVICE_NS },
	DEVICE("openclTracer:kernel_begin", "openclTracer:kernel_end", KERNEL, "opencl kernel",
	       CTF_TIME_DEVICE_NS, .lane = "kernels"),
	{ .event = "openclTracer:device_queued",
	  .handle = ctf_handle_device_queued,
	  .pair = "device_queued",
	  .label = "name",
	  .prefix = "queued ",
	  .clock = CTF_TIME_DEVICE_NS },
	{ .event = "openclTracer:device_submitted",
	  .handle = ctf_handle_device_submitted,
	  .pair = "device_submitted",
	  .label = "name",
	  .prefix = "submitted ",
	  .clock = CTF_TIME_DEVICE_NS },
	DEVICE("openclTracer:device_begin", "openclTracer:device_end", MEMCPY, "opencl command",
	       CTF_TIME_DEVICE_NS, .lane = "commands"),
	/* Python's logging */
	{ .event = "lttng_python:event",
	  .handle = handle_python,
	  .kind = FUNCTION,
	  .pair = "python",
	  .label = "msg" },
	{ 0 },
};
