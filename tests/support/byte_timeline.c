#include "byte_timeline.h"

#include <string.h>
#include <tacho/correlate.h>

#include "import/import_format.h"

enum {
	MAX_PROCESSES = 12,
	MAX_TRACKS = 64,
	MAX_SLICES = 4000,
	MAX_STEPS = 6, /* of one command */
};

static const struct word {
	const gchar *name;
	guint8 kind;
} words[] = {
	{ "ProfilerStep#0", TACHO_SLICE_ANNOTATION },
	{ "ProfilerStep#1", TACHO_SLICE_ANNOTATION },
	{ "ProfilerStep#2", TACHO_SLICE_ANNOTATION },
	{ "aten::mm", TACHO_SLICE_OP },
	{ "aten::add_", TACHO_SLICE_OP },
	{ "aten::copy_", TACHO_SLICE_OP },
	{ "autograd::engine::evaluate_function: AccumulateGrad", TACHO_SLICE_OP },
	{ "torch::autograd::AccumulateGrad", TACHO_SLICE_OP },
	{ "autograd::engine::evaluate_function: MmBackward0", TACHO_SLICE_OP },
	{ "Optimizer.step#SGD.step", TACHO_SLICE_ANNOTATION },
	{ "DistributedDataParallel.forward", TACHO_SLICE_ANNOTATION },
	{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", TACHO_SLICE_ANNOTATION },
	{ "gloo:all_reduce", TACHO_SLICE_COLLECTIVE },
	{ "nccl:all_gather", TACHO_SLICE_COLLECTIVE },
	{ "gloo:send", TACHO_SLICE_COLLECTIVE },
	{ "gloo:recv", TACHO_SLICE_COLLECTIVE },
	{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", TACHO_SLICE_COLLECTIVE },
	{ "volta_sgemm_128x64_nn", TACHO_SLICE_KERNEL },
	{ "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>",
	  TACHO_SLICE_KERNEL },
	{ "Memcpy HtoD (Pageable -> Device)", TACHO_SLICE_MEMCPY },
	{ "Memcpy PtoP (Device -> Device)", TACHO_SLICE_MEMCPY },
	{ "Memset (Device)", TACHO_SLICE_MEMSET },
	{ "cudaLaunchKernel", TACHO_SLICE_RUNTIME },
	{ "cudaMemcpyAsync", TACHO_SLICE_RUNTIME },
	{ "cudaStreamSynchronize", TACHO_SLICE_RUNTIME },
	{ "cudaDeviceSynchronize", TACHO_SLICE_RUNTIME },
	{ "cudaEventRecord", TACHO_SLICE_RUNTIME },
	{ "cudaStreamWaitEvent", TACHO_SLICE_RUNTIME },
	{ "cudaStreamBeginCapture", TACHO_SLICE_RUNTIME },
	{ "cudaGraphLaunch", TACHO_SLICE_RUNTIME },
	{ "hipModuleLaunchKernel", TACHO_SLICE_RUNTIME },
	{ "Stream Synchronize", TACHO_SLICE_SYNC },
	{ "send", TACHO_SLICE_MESSAGE },
	{ "recv", TACHO_SLICE_MESSAGE },
	{ "epoll_wait", TACHO_SLICE_WAIT },
	{ "nn.Module: Linear_0", TACHO_SLICE_MODULE },
	{ "train.py(12): step", TACHO_SLICE_FUNCTION },
	{ "scope/inner/op", TACHO_SLICE_OP },
	{ "a;\"b\", <c>&amp;'|\\ {d} %s]]>", TACHO_SLICE_EVENT },
	{ "two\nlines\tand\x1b[31m a bell\a", TACHO_SLICE_EVENT },
	{ "=HYPERLINK(\"http://x\")", TACHO_SLICE_OP },
	{ "</script><!--\xe2\x80\xa8", TACHO_SLICE_ANNOTATION },
	{ "", TACHO_SLICE_EVENT },
};

/* Places in it that a rank of a training job needs. */
enum { WORD_STEP = 0, WORD_MM = 3, WORD_ACCUMULATE = 6, WORD_OPTIMIZER = 9, WORD_LOADER = 11 };
enum { WORD_ALL_REDUCE = 12, WORD_GEMM = 17, WORD_LAUNCH = 22, WORD_SYNCHRONIZE = 24 };

struct builder {
	const guint8 *at, *end;
	struct import *import;
	TachoTimeline *timeline;
	guint file;
	guint32 track; /* that slices go to; TACHO_NONE: there is none */
	guint32 last_slice;
	gint64 base_ns, now_ns;
	gint32 n_ranks;
};

/* --- what bytes say ------------------------------------------------------------------------- */

static guint8 take(struct builder *builder)
{
	return builder->at < builder->end ? *builder->at++ : 0;
}

/* 0 to 31, times a power of ten. */
static gint64 take_amount(struct builder *builder)
{
	guint8 byte = take(builder);
	gint64 amount = byte & 31;

	for (guint i = byte >> 5; i > 0; i--)
		amount *= 10;
	return amount;
}

static guint64 take_bits(struct builder *builder)
{
	guint64 bits = 0;

	for (guint i = 0; i < 8; i++)
		bits = bits << 8 | take(builder);
	return bits;
}

static guint32 intern(struct builder *builder, const gchar *text)
{
	return tacho_timeline_intern(builder->timeline, text, -1);
}

static guint32 take_name(struct builder *builder)
{
	return intern(builder, words[take(builder) % G_N_ELEMENTS(words)].name);
}

/* A row of the slices, TACHO_NONE where there are none. */
static guint32 take_slice(struct builder *builder)
{
	guint32 n = builder->timeline->slices.n;
	guint back = take(builder);

	return n ? n - 1 - MIN(back, n - 1) : TACHO_NONE;
}

static TachoTrackKind track_kind(const struct builder *builder)
{
	return tacho_timeline_track(builder->timeline, builder->track)->kind;
}

/* --- args ----------------------------------------------------------------------------------- */

static TachoTensor take_tensor(struct builder *builder, guint32 argument)
{
	TachoTensor tensor = { .dtype = "float32", .dtype_bytes = 4, .device = "cpu" };

	tensor.argument = argument;
	tensor.n_dims = take(builder) % 4;
	tensor.storage = take(builder);
	for (guint i = 0; i < tensor.n_dims; i++)
		tensor.shape[i] = take_amount(builder);
	return tensor;
}

static guint64 keep_op(struct builder *builder)
{
	TachoTensor tensors[3];
	guint8 form = take(builder);
	TachoOpArgs args = { .sequence = (form >> 4) - 1, .n_inputs = form & 1 };

	args.n_outputs = form >> 1 & 1;
	args.forward_thread = form >> 2 & 1;
	for (guint i = 0; i < args.n_inputs + args.n_outputs; i++)
		tensors[i] = take_tensor(builder, i);
	return tacho_timeline_keep_op(builder->timeline, &args, tensors);
}

static guint64 keep_kernel(struct builder *builder)
{
	TachoKernelArgs args = { .dtype = "float32", .text = "" };

	args.bytes = (guint64)take_amount(builder);
	args.flops = (guint64)take_amount(builder);
	return tacho_timeline_keep_kernel(builder->timeline, &args);
}

static guint64 keep_collective(struct builder *builder)
{
	guint8 form = take(builder);
	TachoCollectiveArgs args = { .group = form & 3, .n_inputs = 1, .peer = form >> 2 & 3 };
	TachoTensor tensor;

	args.way = (form >> 4) % (TACHO_WAY_BOTH + 1);
	args.packing = (form >> 6) % (TACHO_PACKED_IN_PARTS + 1);
	args.bytes = (guint64)take_amount(builder);
	tensor = take_tensor(builder, 0);
	return tacho_timeline_keep_collective(builder->timeline, &args, &tensor);
}

static guint64 keep_message(struct builder *builder)
{
	guint8 form = take(builder);
	TachoMessageArgs args = { .is_receive = form & 1, .fd = form >> 1 & 7 };

	args.bytes = (guint64)take_amount(builder);
	args.local.port = 1000 + (form >> 4 & 3);
	args.peer.port = 1000 + (form >> 6 & 3);
	return tacho_timeline_keep_message(builder->timeline, &args);
}

static guint64 keep_args(struct builder *builder, TachoSliceKind kind)
{
	switch (kind) {
	case TACHO_SLICE_OP:
		return keep_op(builder);
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return keep_kernel(builder);
	case TACHO_SLICE_COLLECTIVE:
		return keep_collective(builder);
	case TACHO_SLICE_MESSAGE:
		return keep_message(builder);
	default:
		return tacho_timeline_keep_id(builder->timeline, take(builder));
	}
}

/* --- commands ------------------------------------------------------------------------------- */

static void add_process(struct builder *builder)
{
	static const gchar *const hosts[] = { "a", "b", "", "a;\"b\"\n<c>" };
	guint8 form = take(builder);
	TachoProcess process = { .local_rank = -1, .world_size = -1, .path = "bytes" };

	process.rank = (gint32)(form & 7) - 1;
	process.pid = process.ppid = form >> 3 & 3;
	process.host = intern(builder, hosts[form >> 5 & 3]);
	process.end = form >> 7 ? TACHO_END_KILLED : TACHO_END_EXITED;
	process.command = take_name(builder);
	process.clock_scope = take(builder) % (TACHO_CLOCK_OF_OTHER_HOST + 1);
	if (process.clock_scope == TACHO_CLOCK_OF_FILE)
		builder->file = import_new_file(builder->import);
	if (builder->timeline->processes->len < MAX_PROCESSES)
		import_add_process(builder->import, &process, builder->file);
}

static void open_track(struct builder *builder, TachoTrackKind kind, guint32 process, guint32 tid,
		       gint32 device, const gchar *name)
{
	if (builder->timeline->tracks->len >= MAX_TRACKS)
		return;
	builder->track = import_add_track(builder->import, kind, process, tid, name);
	g_array_index(builder->timeline->tracks, TachoTrack, builder->track).device = device;
}

static void add_track(struct builder *builder)
{
	guint n = builder->timeline->processes->len;
	guint8 form = take(builder), whose;

	whose = take(builder);
	if (n)
		open_track(builder, form & 3, whose % n, form >> 2 & 7, (gint32)(form >> 5 & 3) - 1,
			   words[take(builder) % G_N_ELEMENTS(words)].name);
}

static void choose_track(struct builder *builder)
{
	guint n = builder->timeline->tracks->len;
	guint8 which = take(builder);

	if (n)
		builder->track = which % n;
	builder->now_ns = builder->base_ns;
}

static void add_slice_of(struct builder *builder, TachoSliceKind kind, guint32 name,
			 gint64 start_ns, gint64 duration_ns, guint8 flags)
{
	if (builder->track == TACHO_NONE || builder->timeline->slices.n >= MAX_SLICES ||
	    track_kind(builder) == TACHO_TRACK_COUNTER)
		return;
	builder->last_slice =
		tacho_timeline_add_slice(builder->timeline, kind, builder->track, name, start_ns,
					 duration_ns, flags, keep_args(builder, kind));
}

static void add_slice(struct builder *builder)
{
	const struct word *word = &words[take(builder) % G_N_ELEMENTS(words)];

	builder->now_ns += take_amount(builder);
	add_slice_of(builder, word->kind, intern(builder, word->name), builder->now_ns,
		     take_amount(builder), 0);
}

/* Any kind, any time, any flag that importers set. */
static void add_odd_slice(struct builder *builder)
{
	guint8 kind = take(builder) % TACHO_N_SLICE_KINDS;
	guint32 name = take_name(builder);
	gint64 start_ns = (gint64)take_bits(builder);
	gint64 duration_ns = (gint64)take_bits(builder);

	add_slice_of(builder, kind, name, start_ns, MAX(duration_ns, 0),
		     take(builder) & (TACHO_SLICE_OPEN | TACHO_SLICE_BACKWARD));
}

static gboolean is_on_device(const struct builder *builder, guint32 slice)
{
	const TachoTimeline *timeline = builder->timeline;

	return tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
	       TACHO_TRACK_STREAM;
}

/* Importers let nothing but a thread launch what a device does. */
static void set_launch(struct builder *builder, guint32 slice, guint32 launch)
{
	if (slice != TACHO_NONE && launch != TACHO_NONE && is_on_device(builder, slice) &&
	    !is_on_device(builder, launch))
		tacho_timeline_set_launch(builder->timeline, slice, launch);
}

static void link_slice(struct builder *builder)
{
	guint32 slice = take_slice(builder);

	set_launch(builder, slice, take_slice(builder));
}

static void add_flow(struct builder *builder)
{
	TachoFlow flow = { .from = take_slice(builder) };
	guint8 form;

	flow.to = take_slice(
		builder); /* the order in which the members of an initialiser are made is nobody's */
	form = take(builder);
	flow.kind = (form & 15) % TACHO_N_FLOW_KINDS;
	flow.is_exact = form >> 7;
	if (flow.from != TACHO_NONE)
		g_array_append_val(builder->timeline->flows, flow);
}

static void add_memory(struct builder *builder)
{
	TachoMemoryEvent event = { .time_ns = builder->now_ns, .slice = TACHO_NONE };
	guint8 form = take(builder);

	event.address = form & 15;
	event.bytes = take_amount(builder) * (form >> 7 ? -1 : 1);
	event.device = form >> 4 & 3;
	event.track = builder->track;
	if (event.track != TACHO_NONE && track_kind(builder) == TACHO_TRACK_THREAD)
		g_array_append_val(builder->timeline->memory, event);
}

static void add_sample(struct builder *builder)
{
	TachoSample sample = { .time_ns = builder->now_ns, .track = builder->track };

	sample.value = (gdouble)take_amount(builder);
	if (sample.track != TACHO_NONE && track_kind(builder) == TACHO_TRACK_COUNTER)
		g_array_append_val(builder->timeline->samples, sample);
}

static void add_mark(struct builder *builder)
{
	TachoMark mark = { .time_ns = builder->now_ns, .track = builder->track };

	mark.name = take_name(builder);
	mark.text = take_name(builder);
	mark.first = take_amount(builder);
	if (mark.track != TACHO_NONE)
		g_array_append_val(builder->timeline->marks, mark);
}

static void add_chunk(struct builder *builder)
{
	guint n = builder->timeline->processes->len;
	guint8 form = take(builder);
	TachoChunk chunk = { .state = form & 3, .device = form >> 2 & 3 };

	chunk.address = (guint64)take_amount(builder);
	chunk.bytes = (guint64)take_amount(builder);
	chunk.pool = take_name(builder);
	chunk.process = n ? (form >> 4) % n : 0;
	if (n)
		g_array_append_val(builder->timeline->chunks, chunk);
}

static void add_graph_work(struct builder *builder)
{
	TachoGraphWork work = { .slice = take_slice(builder), .capture = TACHO_NONE };

	work.node = take(builder);
	if (work.slice != TACHO_NONE &&
	    (!builder->timeline->graph_work->len ||
	     g_array_index(builder->timeline->graph_work, TachoGraphWork,
			   builder->timeline->graph_work->len - 1)
			     .slice < work.slice))
		g_array_append_val(builder->timeline->graph_work, work);
}

static void add_hop(struct builder *builder)
{
	TachoHop hop = { .slice = take_slice(builder) };
	guint8 form, more;

	hop.collective = take_slice(builder);
	form = take(builder);
	more = take(builder);
	hop.peer = (gint32)(form & 7) - 1;
	hop.step = form >> 3 & 7;
	hop.is_receive = form >> 6 & 1;
	hop.way = more % (TACHO_HOP_SERVER + 1);
	hop.channel = more >> 2 & 1;
	hop.part = more >> 3 & 1;
	hop.fed_by = (gint32)(more >> 4 & 7) - 1;
	hop.fed_step = more >> 7;
	hop.bytes = (guint64)take_amount(builder);
	if (hop.slice != TACHO_NONE)
		g_array_append_val(builder->timeline->hops, hop);
}

/* --- a rank of a job ------------------------------------------------------------------------ */

/* The slice that a rank has in every step, `late_ns` after the last began. */
static guint32 add_usual(struct builder *builder, guint word, gint64 late_ns, gint64 duration_ns)
{
	builder->now_ns += late_ns;
	add_slice_of(builder, words[word].kind, intern(builder, words[word].name), builder->now_ns,
		     duration_ns, 0);
	return builder->last_slice;
}

static void add_step(struct builder *builder, guint32 thread, guint32 async, guint32 stream,
		     guint number)
{
	gint64 late_ns = take_amount(builder), begin_ns = builder->now_ns;
	guint32 launch;

	builder->track = thread;
	add_usual(builder, WORD_STEP + number % 3, 0, 100000 + late_ns);
	add_usual(builder, WORD_LOADER, 10, 1000 + late_ns);
	add_usual(builder, WORD_MM, 2000 + late_ns, 9000);
	launch = add_usual(builder, WORD_LAUNCH, 100, 500);
	add_usual(builder, WORD_ACCUMULATE, 20000, 5000);
	builder->track = async;
	add_usual(builder, WORD_ALL_REDUCE, 6000, 20000 + late_ns);
	builder->track = stream;
	builder->now_ns = begin_ns;
	add_usual(builder, WORD_GEMM, 5000 + late_ns, 30000);
	set_launch(builder, builder->last_slice, launch);
	builder->track = thread;
	add_usual(builder, WORD_SYNCHRONIZE, 50000, 10000);
	add_usual(builder, WORD_OPTIMIZER, 15000, 9000);
	builder->now_ns = begin_ns + 100000 + late_ns;
}

static void add_rank(struct builder *builder)
{
	guint8 form = take(builder);
	TachoProcess process = { .rank = builder->n_ranks, .local_rank = -1, .world_size = -1 };
	guint32 index, first_track = builder->timeline->tracks->len;
	TachoDevice device = { .warp_threads = 32 };

	if (builder->timeline->processes->len >= MAX_PROCESSES || first_track + 3 > MAX_TRACKS)
		return;
	process.host = intern(builder, form & 1 ? "a" : "b");
	process.pid = 100 + (guint32)builder->n_ranks++;
	process.path = "bytes";
	index = import_add_process(builder->import, &process, builder->file);
	device.process = index;
	device.number = form >> 1 & 1;
	device.name = intern(builder, "Tesla V100-SXM2-16GB");
	g_array_append_val(builder->timeline->devices, device);
	open_track(builder, TACHO_TRACK_THREAD, index, process.pid, 0, "main");
	open_track(builder, TACHO_TRACK_ASYNC, index, process.pid, 0, "collectives");
	open_track(builder, TACHO_TRACK_STREAM, index, 7, form >> 1 & 1, "stream 7");
	builder->now_ns = builder->base_ns;
	for (guint i = 0; i < (form >> 2 & 7) % (MAX_STEPS + 1); i++)
		add_step(builder, first_track, first_track + 1, first_track + 2, i);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void run_command(struct builder *builder)
{
	static void (*const commands[])(struct builder * builder) = {
		add_rank,   add_process, add_track,  choose_track,   add_slice,	    add_slice,
		link_slice, add_flow,	 add_memory, add_sample,     add_mark,	    add_chunk,
		add_hop,    add_slice,	 add_rank,   add_graph_work, add_odd_slice,
	};
	guint8 command = take(builder);

	if (command == 0xff) {
		builder->base_ns = builder->now_ns = (gint64)(take_bits(builder) >> 2);
		return;
	}
	commands[command % G_N_ELEMENTS(commands)](builder);
}

static gboolean read_bytes(struct import *import, gpointer data, GError **error)
{
	struct builder *builder = data;

	(void)error;
	builder->import = import;
	builder->timeline = import->timeline;
	builder->file = import_new_file(import);
	builder->track = builder->last_slice = TACHO_NONE;
	while (builder->at < builder->end)
		run_command(builder);
	return TRUE;
}

TachoTimeline *byte_timeline_new(const guint8 *bytes, gsize n)
{
	struct builder builder = { .at = bytes, .end = bytes + n };
	TachoTimeline *timeline = import_by(read_bytes, &builder, NULL);

	tacho_correlate(timeline);
	return timeline;
}
