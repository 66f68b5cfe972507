/* make_reader_seeds FOLDER: write the seeds of fuzz_reader into the folder, from runs that the run
 * builder makes. They are kept in the tree; run this when the format changes. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "fuzz_folder.h"
#include "run_builder.h"
#include "timeline_text.h"

static const struct {
	const gchar *name, *text;
} seeds[] = {
	{ "empty-thread", "rank 0 thread 10 main\n" },
	{ "ops", "unit ns\n"
		 "rank 0 thread 10 main\n"
		 "op a 0..100 seq=1 in=float32[2,3]@0x10+8 in=int64[4] out=float32[2]@0x20\n"
		 "op b 10..90 in=float32[1] out=float32[1] out=bool[2,2]\n"
		 "op c 20..30 backward seq=1 fwd=1\n"
		 "op d 40..\n"
		 "op e 50..60\n" },
	{ "kernels", "unit ns\n"
		     "rank 0 thread 10 main\n"
		     "op a 0..100\n"
		     "kernel sgemm 5..20 flops=100 bytes=50 dims=2x3x4\n"
		     "kernel conv 30..40 dims=2 text='a text of more than eight'\n"
		     "kernel conv 50..60 text=exactly8\n" },
	{ "collectives",
	  "unit ns\n"
	  "rank 0 world=2 thread 10 main\n"
	  "collective gloo:all_reduce 0..50 bytes=64 group=1 end_tid=11 in=float32[16]\n"
	  "collective gloo:all_reduce 10..40 bytes=64\n"
	  "collective gloo:barrier 20..\n"
	  "thread 11 worker parent=10\n"
	  "op a 5..8\n" },
	{ "moments", "unit ns\n"
		     "rank 0 thread 10 main\n"
		     "annotation a 0..100 id=3\n"
		     "alloc 10 address=0x100 bytes=64\n"
		     "free 20 address=0x100 bytes=64\n"
		     "mark thread_name 30 first=10 text=renamed\n"
		     "mark m 40 first=1 second=2 text='some text'\n"
		     "wait w 50..60\n"
		     "module net.0 70..80\n" },
	{ "messages", "unit ns\n"
		      "rank 0 thread 10 main\n"
		      "message send 0..10 bytes=64 fd=5 local=10.0.0.1:4000 peer=10.0.0.2:29500\n"
		      "wait epoll_wait 10..20\n"
		      "message recv 20..20 bytes=1 receive fd=5 local=[fe80::1]:1 peer=[::1]:2\n"
		      "message writev 30..\n" },
	{ "killed", "unit ns\n"
		    "rank 3 end=unknown thread 10 main\n"
		    "op a 0..\n"
		    "op b 10..\n"
		    "op c 10..10\n"
		    "op d 10..20\n" },
};

static void append_file(GByteArray *seed, const gchar *path)
{
	g_autofree gchar *bytes = NULL;
	g_autoptr(GError) error = NULL;
	gsize length;

	if (!g_file_get_contents(path, &bytes, &length, &error))
		g_error("%s", error->message);
	fuzz_folder_append(seed, (const guint8 *)bytes, length);
}

/* The trace as one row of files: metadata, then the streams. */
static GByteArray *read_trace(const gchar *trace)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) entries = g_dir_open(trace, 0, NULL);
	GByteArray *seed = g_byte_array_new();
	const gchar *name;

	while ((name = g_dir_read_name(entries)))
		if (strcmp(name, TRACE_METADATA_FILE) != 0)
			g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	g_ptr_array_insert(names, 0, g_strdup(TRACE_METADATA_FILE));
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *path = g_build_filename(trace, names->pdata[i], NULL);

		append_file(seed, path);
	}
	return seed;
}

/* The trace of process `pid` of a run, which is removed. */
static void write_seed(const gchar *folder, const gchar *name, const gchar *run, guint pid)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	g_autofree gchar *trace_name = g_strdup_printf("h0-%u", pid);
	g_autofree gchar *trace = g_build_filename(run, trace_name, NULL);
	g_autoptr(GByteArray) seed = read_trace(trace);
	g_autoptr(GError) error = NULL;

	if (!g_file_set_contents(path, (const gchar *)seed->data, (gssize)seed->len, &error))
		g_error("%s", error->message);
	run_builder_remove(run);
}

static void make_seed(const gchar *folder, guint index)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(seeds[index].text);
	g_autofree gchar *run = g_dir_make_tmp("tacho-seed-XXXXXX", NULL);

	run_builder_write_timeline(timeline, run);
	write_seed(folder, seeds[index].name, run,
		   g_array_index(timeline->processes, TachoProcess, 0).pid);
}

/* Two threads' stacks, which timelines' text has no words for: fuzz_stacks.c has whatever of them. */
static void make_stacks(const gchar *folder)
{
	const struct run_builder_process process = { .pid = 33 };
	g_autofree gchar *path = g_dir_make_tmp("tacho-seed-XXXXXX", NULL);
	struct run_builder *run = run_builder_new(path, &process);
	guint32 main = run_builder_class(run, TRACE_KIND_FUNCTION, "train.py(10): main");
	guint32 stack = run_builder_class(run, TRACE_KIND_STACK, "python");

	run_builder_stream(run, 99);
	for (guint i = 0; i < 4; i++) {
		struct record_stack *record = run_builder_record(
			run, stack, 100 + 50 * i, sizeof(*record) + sizeof(struct record_frame));

		record->before = i < 2 ? 0 : 90 + 50 * i;
		record->tid = 7 + i % 2;
		record->state = i == 2 ? TRACE_THREAD_WAITING : TRACE_THREAD_RUNNING;
		record->n_same = i / 2;
		record->n_frames = 1;
		*(struct record_frame *)(record + 1) = (struct record_frame){ main, 10 + i };
	}
	run_builder_end(run);
	write_seed(folder, "stacks", path, process.pid);
}

/* --- devices, which texts do not have ------------------------------------------------------- */

/* A record of a class of its own, its fields zero. */
static void *add_record(struct run_builder *run, enum trace_kind kind, const gchar *name,
			guint64 stamp, gsize size_bytes)
{
	return run_builder_record(run, run_builder_class(run, kind, name), stamp,
				  (guint32)size_bytes);
}

static void add_activity(struct run_builder *run, enum trace_kind kind, const gchar *name,
			 gsize size_bytes, guint64 begin, guint32 queue)
{
	struct record_activity *activity = add_record(run, kind, name, 2000, size_bytes);

	activity->begin = begin;
	activity->duration = 50;
	activity->correlation = 1;
	activity->queued = begin - 20;
	activity->graph_node = queue;
	activity->queue = queue;
}

static void add_devices(struct run_builder *run)
{
	struct record_device *device =
		add_record(run, TRACE_KIND_DEVICE, "Device X", 1000, sizeof(*device) + 8);
	struct record_device_memory *memory;

	device->n_multiprocessors = 80;
	device->n_text = 8;
	memcpy(device + 1, "sm_99", 5);
	((struct record_queue *)add_record(run, TRACE_KIND_QUEUE, "side", 1000,
					   sizeof(struct record_queue)))
		->queue = 8;
	memory = add_record(run, TRACE_KIND_DEVICE_ALLOC, "cudaMalloc", 1000, sizeof(*memory));
	memory->memory.bytes = 64;
	add_record(run, TRACE_KIND_DEVICE_FREE, "cudaFree", 1000, sizeof(*memory));
}

static void make_device_seed(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_dir_make_tmp("tacho-seed-XXXXXX", NULL);
	struct run_builder *run = run_builder_new(path, &(struct run_builder_process){ .pid = 1 });
	struct record_late *late;
	struct record_flow *flow;
	guint32 class_id;

	run_builder_metadata(run, "env {\n\tprocess_age_ns = 100;\n};\n");
	run_builder_stream(run, 1);
	add_devices(run);
	class_id = run_builder_class(run, TRACE_KIND_RUNTIME, "cudaLaunchKernel");
	run_builder_slice(run, class_id, 1010, 1100, 1);
	class_id = run_builder_class(run, TRACE_KIND_FLOW, "request");
	flow = run_builder_record(run, class_id, 1020, sizeof(*flow));
	run_builder_slice(run, class_id - 1, 1200, 1300, 2);
	flow = run_builder_record(run, class_id, 1210, sizeof(*flow));
	flow->phase = TRACE_FLOW_END;
	late = add_record(run, TRACE_KIND_LATE, "train.py(1): f", 1400, sizeof(*late));
	late->begin = 1005;
	late->duration = 300;
	late->slice_kind = TRACE_KIND_FUNCTION;
	run_builder_stream(run, 2);
	add_activity(run, TRACE_KIND_DEVICE_KERNEL, "gemm", sizeof(struct record_device_kernel),
		     1200, 7);
	add_activity(run, TRACE_KIND_COPY, "Memcpy", sizeof(struct record_copy), 1100, 7);
	add_activity(run, TRACE_KIND_FILL, "Memset", sizeof(struct record_copy), 1150, 8);
	add_activity(run, TRACE_KIND_DEVICE_WORK, "flush", sizeof(struct record_activity), 900, 9);
	add_activity(run, TRACE_KIND_DEVICE_WAIT, "Stream Wait Event",
		     sizeof(struct record_device_wait), 1300, 8);
	((struct record_counter *)add_record(run, TRACE_KIND_COUNTER, "loss", 2000,
					     sizeof(struct record_counter)))
		->value = 2.5;
	run_builder_end(run);
	write_seed(folder, name, path, 1);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_reader_seeds FOLDER\n");
		return 2;
	}
	for (guint i = 0; i < G_N_ELEMENTS(seeds); i++)
		make_seed(argv[1], i);
	make_stacks(argv[1]);
	make_device_seed(argv[1], "devices");
	return 0;
}
