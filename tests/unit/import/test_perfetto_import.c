/* Perfetto traces become what they say: one made here byte by byte, tacho's own export, and those that others made. */
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/export.h>
#include <zlib.h>

#include "foreign_traces.h"
#include "timeline_text.h"

/* --- writing -------------------------------------------------------------------------------- */

static void put_number(GByteArray *out, guint64 value)
{
	guint8 byte;

	for (; value >= 0x80; value >>= 7) {
		byte = (guint8)(value | 0x80);
		g_byte_array_append(out, &byte, 1);
	}
	byte = (guint8)value;
	g_byte_array_append(out, &byte, 1);
}

static void put_varint(GByteArray *out, guint field, guint64 value)
{
	put_number(out, (guint64)field << 3);
	put_number(out, value);
}

static void put_bytes(GByteArray *out, guint field, const void *bytes, gsize n)
{
	put_number(out, (guint64)field << 3 | 2);
	put_number(out, n);
	g_byte_array_append(out, bytes, (guint)n);
}

static void put_text(GByteArray *out, guint field, const gchar *text)
{
	put_bytes(out, field, text, strlen(text));
}

static void put_fixed64(GByteArray *out, guint field, guint64 value)
{
	put_number(out, (guint64)field << 3 | 1);
	g_byte_array_append(out, (const guint8 *)&value, sizeof(value));
}

static void put_double(GByteArray *out, guint field, gdouble value)
{
	guint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	put_fixed64(out, field, bits);
}

/* The message becomes a field of `out`, and is freed. */
static void put_message(GByteArray *out, guint field, GByteArray *message)
{
	put_bytes(out, field, message->data, message->len);
	g_byte_array_unref(message);
}

/* A packet of sequence `sequence`, with flags. */
static GByteArray *new_packet(guint sequence, guint flags)
{
	GByteArray *packet = g_byte_array_new();

	put_varint(packet, 10, sequence);
	if (flags)
		put_varint(packet, 13, flags);
	return packet;
}

static void put_clock(GByteArray *snapshot, guint id, guint64 time, gboolean is_incremental,
		      guint64 unit_ns)
{
	GByteArray *clock = g_byte_array_new();

	put_varint(clock, 1, id);
	put_varint(clock, 2, time);
	if (is_incremental)
		put_varint(clock, 3, 1);
	if (unit_ns)
		put_varint(clock, 4, unit_ns);
	put_message(snapshot, 1, clock);
}

static void put_name(GByteArray *interned, guint kind, guint64 iid, const gchar *text)
{
	GByteArray *entry = g_byte_array_new();

	put_varint(entry, 1, iid);
	put_text(entry, 2, text);
	put_message(interned, kind, entry);
}

enum { PROCESS = 1, THREAD, QUEUE, COUNTER, OTHER };

static void put_descriptor(GByteArray *trace, guint uuid, const gchar *name, guint owner_field,
			   GByteArray *owner)
{
	GByteArray *packet = new_packet(1, 0), *track = g_byte_array_new();

	put_varint(track, 1, uuid);
	if (uuid != PROCESS)
		put_varint(track, 5, PROCESS);
	if (name)
		put_text(track, 2, name);
	if (owner)
		put_message(track, owner_field, owner);
	put_message(packet, 60, track);
	put_message(trace, 1, packet);
}

static GByteArray *new_owner(guint tid, const gchar *name)
{
	GByteArray *owner = g_byte_array_new();

	put_varint(owner, 1, 70);
	if (tid)
		put_varint(owner, 2, tid);
	put_text(owner, tid ? 5 : 6, name);
	return owner;
}

static void put_tracks(GByteArray *trace)
{
	GByteArray *counter = g_byte_array_new();

	put_varint(counter, 4, 1000); /* what values are multiplied with */
	put_descriptor(trace, PROCESS, NULL, 3, new_owner(0, "train"));
	put_descriptor(trace, THREAD, NULL, 4, new_owner(71, "worker"));
	put_descriptor(trace, QUEUE, "COMPUTE AGENT [3] QUEUE [5]", 0, NULL);
	put_descriptor(trace, COUNTER, "power", 8, counter);
	put_descriptor(trace, OTHER, "loose", 0, NULL);
}

/* Clock 64 counts microseconds from packet to packet, from 1000 us of the trace's time on. */
static void put_clocks(GByteArray *trace)
{
	GByteArray *packet = new_packet(1, 0), *snapshot = g_byte_array_new();

	put_clock(snapshot, 6, 1000000, FALSE, 0);
	put_clock(snapshot, 1, 1700000000000000000, FALSE, 0);
	put_clock(snapshot, 64, 500, TRUE, 1000);
	put_message(packet, 6, snapshot);
	put_message(trace, 1, packet);
}

/* Begins sequence 1 anew: clock 64, events on the thread, and names. */
static GByteArray *new_first_packet(void)
{
	GByteArray *packet = new_packet(1, 3), *defaults = g_byte_array_new(),
		   *event = g_byte_array_new(), *interned = g_byte_array_new();

	put_varint(event, 11, THREAD);
	put_message(defaults, 11, event);
	put_varint(defaults, 58, 64);
	put_message(packet, 59, defaults);
	put_name(interned, 1, 1, "hip_api");
	put_name(interned, 2, 1, "hipLaunchKernel");
	put_name(interned, 2, 2, "gemm");
	put_name(interned, 3, 1, "size");
	put_name(interned, 29, 7, "a value");
	put_message(packet, 12, interned);
	return packet;
}

static GByteArray *new_event(guint type, guint name, const gchar *category)
{
	GByteArray *event = g_byte_array_new();

	put_varint(event, 9, type);
	if (name)
		put_varint(event, 10, name);
	if (category)
		put_text(event, 22, category);
	return event;
}

static void put_event(GByteArray *trace, GByteArray *packet, guint64 time, GByteArray *event)
{
	put_varint(packet, 8, time);
	put_message(packet, 11, event);
	put_message(trace, 1, packet);
}

/* {"size": 64, "nested": [true, -1, "a value", 0.5]} */
static void put_annotations(GByteArray *event)
{
	GByteArray *size = g_byte_array_new(), *nested = g_byte_array_new();

	put_varint(size, 1, 1);
	put_varint(size, 3, 64);
	put_message(event, 4, size);
	put_text(nested, 10, "nested");
	for (guint i = 0; i < 4; i++) {
		GByteArray *element = g_byte_array_new();

		if (i == 0)
			put_varint(element, 2, 1);
		else if (i == 1)
			put_varint(element, 4, (guint64)-1);
		else if (i == 2)
			put_varint(element, 17, 7);
		else
			put_double(element, 5, 0.5);
		put_message(nested, 12, element);
	}
	put_message(event, 4, nested);
}

/* A call of 30 us from 1010 us on, which launches a kernel of 20 us at 1020 us; on the thread; with arrows. */
static void put_launch(GByteArray *trace)
{
	GByteArray *event = new_event(1, 1, NULL);

	put_varint(event, 3, 1); /* its category */
	put_annotations(event);
	put_fixed64(event, 47, 99);
	put_event(trace, new_first_packet(), 10, event);
	event = new_event(1, 2, "kernel_dispatch");
	put_varint(event, 11, QUEUE);
	put_fixed64(event, 48, 99);
	put_event(trace, new_packet(1, 2), 10, event);
	event = new_event(2, 0, NULL);
	put_varint(event, 11, QUEUE);
	put_event(trace, new_packet(1, 2), 20, event);
	put_event(trace, new_packet(1, 2), 0, new_event(2, 0, NULL));
}

/* A sequence has lost packets: its names are not known until it begins anew. */
static void put_lost(GByteArray *trace)
{
	GByteArray *packet = new_packet(2, 1), *event = new_event(3, 0, NULL);

	put_varint(event, 11, OTHER);
	put_text(event, 23, "a moment");
	put_event(trace, packet, 1050000, event);
	packet = new_packet(2, 2);
	put_varint(packet, 42, 1);
	put_event(trace, packet, 1060000, new_event(1, 1, NULL));
}

static void put_counts(GByteArray *trace)
{
	GByteArray *event = new_event(4, 0, NULL);

	put_varint(event, 11, COUNTER);
	put_varint(event, 30, 7);
	put_event(trace, new_packet(3, 0), 1070000, event);
	event = new_event(4, 0, NULL);
	put_varint(event, 11, COUNTER);
	put_double(event, 44, 2.5);
	put_event(trace, new_packet(3, 0), 1080000, event);
}

/* The core 2: thread 71 from 1100 us to 1150 us, then nobody; told as events, then as columns. */
static void put_switches(GByteArray *trace)
{
	GByteArray *packet = new_packet(4, 0), *bundle = g_byte_array_new(),
		   *event = g_byte_array_new(), *content = g_byte_array_new(),
		   *compact = g_byte_array_new(), *numbers = g_byte_array_new();

	put_varint(bundle, 1, 2);
	put_text(content, 5, "worker");
	put_varint(content, 6, 71);
	put_varint(event, 1, 1100000);
	put_message(event, 4, content);
	put_message(bundle, 2, event);
	put_text(compact, 5, "swapper");
	put_number(numbers, 1150000);
	put_message(compact, 1, numbers);
	put_varint(compact, 3, 0);
	put_varint(compact, 6, 0);
	put_message(bundle, 4, compact);
	put_message(packet, 1, bundle);
	put_message(trace, 1, packet);
}

/* A stage of 5 us on queue 3 of GPU 1. */
static void put_gpu(GByteArray *trace)
{
	GByteArray *packet = new_packet(5, 1), *stage = g_byte_array_new(),
		   *interned = g_byte_array_new();

	put_name(interned, 24, 3, "compute ring");
	put_name(interned, 24, 4, "dispatch");
	put_message(packet, 12, interned);
	put_varint(packet, 8, 1200000);
	put_varint(stage, 2, 5000);
	put_varint(stage, 11, 1);
	put_varint(stage, 13, 3);
	put_varint(stage, 14, 4);
	put_message(packet, 53, stage);
	put_message(trace, 1, packet);
}

/* A slice of 1 us at 1300 us, in packets that are compressed. */
static void put_compressed(GByteArray *trace)
{
	GByteArray *inner = g_byte_array_new(), *event = new_event(1, 0, "cpu_op"),
		   *packet = new_packet(6, 0);
	guint8 bytes[4096];
	uLongf n = sizeof(bytes);

	put_varint(event, 11, THREAD);
	put_text(event, 23, "aten::add");
	put_annotations(event);
	put_event(inner, new_packet(6, 1), 1300000, event);
	event = new_event(2, 0, NULL);
	put_varint(event, 11, THREAD);
	put_event(inner, new_packet(6, 0), 1301000, event);
	g_assert_cmpint(compress(bytes, &n, inner->data, inner->len), ==, Z_OK);
	put_bytes(packet, 50, bytes, n);
	put_message(trace, 1, packet);
	g_byte_array_unref(inner);
}

static gchar *write_trace(void)
{
	g_autoptr(GByteArray) trace = g_byte_array_new();

	put_clocks(trace);
	put_launch(trace); /* tracks may be described later */
	put_tracks(trace);
	put_lost(trace);
	put_counts(trace);
	put_switches(trace);
	put_gpu(trace);
	put_compressed(trace);
	return foreign_write("rank3.pftrace", (const gchar *)trace->data, trace->len);
}

/* --- reading -------------------------------------------------------------------------------- */

static const gchar *name_of_track(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_string(
		timeline, tacho_timeline_track(timeline, timeline->slices.track[slice])->name);
}

static void test_events(void)
{
	gchar *path = write_trace();
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 call = timeline_find(timeline, "hipLaunchKernel", 0);
	guint32 kernel = timeline_find(timeline, "gemm", 0);
	const TachoTrack *queue = tacho_timeline_track(timeline, slices->track[kernel]);
	const TachoProcess *process = tacho_slice_process(timeline, call);
	g_autofree gchar *args = tacho_slice_args_json(timeline, call);

	g_assert_cmpint(timeline->origin_unix_ns, ==,
			G_GINT64_CONSTANT(1700000000000000000) + 10000);
	g_assert_cmpint(slices->start_ns[call], ==, 0);
	g_assert_cmpint(slices->duration_ns[call], ==, 30000);
	g_assert_cmpint(slices->kind[call], ==, TACHO_SLICE_RUNTIME);
	g_assert_cmpstr(name_of_track(timeline, call), ==, "worker");
	g_assert_cmpint(slices->start_ns[kernel], ==, 10000);
	g_assert_cmpint(slices->duration_ns[kernel], ==, 20000);
	g_assert_cmpint(slices->kind[kernel], ==, TACHO_SLICE_KERNEL);
	g_assert_cmpint(queue->kind, ==, TACHO_TRACK_STREAM);
	g_assert_cmpint(queue->device, ==, 3);
	g_assert_cmpuint(queue->tid, ==, 5);
	g_assert_cmpuint(slices->launch[kernel], ==, call);
	g_assert_cmpstr(args, ==, "{\"size\":64,\"nested\":[true,-1,\"a value\",0.5]}");
	g_assert_cmpuint(process->pid, ==, 70);
	g_assert_cmpint(process->rank, ==, 3);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->command), ==, "train");
	foreign_remove(path);
}

static void test_others(void)
{
	gchar *path = write_trace();
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	const TachoSlices *slices = &timeline->slices;
	guint32 stage = timeline_find(timeline, "dispatch", 0);
	guint32 running = timeline_find(timeline, "worker", 0);
	guint32 op = timeline_find(timeline, "aten::add", 0);
	g_autofree gchar *args = tacho_slice_args_json(timeline, op);
	const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, 0);

	g_assert_cmpint(slices->duration_ns[stage], ==, 5000);
	g_assert_cmpstr(name_of_track(timeline, stage), ==, "compute ring");
	g_assert_cmpint(slices->start_ns[running], ==, 1100000 - 1010000);
	g_assert_cmpint(slices->duration_ns[running], ==, 50000);
	g_assert_cmpstr(name_of_track(timeline, running), ==, "CPU 2");
	g_assert_cmpint(slices->kind[op], ==, TACHO_SLICE_OP);
	g_assert_nonnull(args);
	g_assert_nonnull(strstr(args, "\"nested\":[true,-1"));
	g_assert_cmpuint(timeline->marks->len, ==, 1);
	g_assert_cmpstr(tacho_timeline_string(timeline, mark->name), ==, "a moment");
	g_assert_cmpuint(timeline->samples->len, ==, 2);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 0).value, ==, 7000);
	g_assert_cmpfloat(g_array_index(timeline->samples, TachoSample, 1).value, ==, 2500);
	/* the drop itself, and the event whose names it took */
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_LOST_RECORDS)->count,
			 ==, 2);
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	foreign_use(timeline);
	foreign_remove(path);
}

/* Have the image of the run, at the export's end, be of no use: its events are what is read. */
static void spoil_image(const gchar *path)
{
	g_autofree gchar *bytes = NULL;
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	bytes[n - 1] ^= 1; /* of the last block, which has a checksum */
	g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
}

/* What tacho exports reads back as the same work. */
static void test_own_export(void)
{
	static const TachoSliceKind kinds[] = { TACHO_SLICE_OP,	     TACHO_SLICE_ANNOTATION,
						TACHO_SLICE_KERNEL,  TACHO_SLICE_COLLECTIVE,
						TACHO_SLICE_RUNTIME, TACHO_SLICE_MEMCPY };
	g_autoptr(TachoTimeline) timeline = foreign_open(TACHO_TEST_DATA "/kineto"), back = NULL;
	gchar *path = foreign_write("own.pftrace", "", 0);
	const TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	FILE *out = fopen(path, "wb");
	guint n_launched[2] = { 0, 0 };

	g_assert_nonnull(out);
	tacho_correlate(timeline);
	g_assert_true(tacho_export_perfetto(timeline, &options, out, NULL));
	g_assert_cmpint(fclose(out), ==, 0);
	spoil_image(path);
	back = foreign_open(path);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		g_assert_cmpuint(foreign_count_kind(back, kinds[i]), ==,
				 foreign_count_kind(timeline, kinds[i]));
	for (guint32 i = 0; i < timeline->slices.n; i++)
		n_launched[0] += timeline->slices.launch[i] != TACHO_NONE;
	for (guint32 i = 0; i < back->slices.n; i++)
		n_launched[1] += back->slices.launch[i] != TACHO_NONE;
	g_assert_cmpuint(n_launched[1], ==, n_launched[0]);
	tacho_correlate(back);
	g_assert_cmpuint(back->ranks->len, ==, timeline->ranks->len);
	g_assert_cmpuint(back->steps->len, ==, timeline->steps->len);
	for (guint i = 0; i < back->steps->len; i++)
		g_assert_cmpint(back->origin_unix_ns +
					g_array_index(back->steps, TachoStep, i).start_ns,
				==,
				timeline->origin_unix_ns +
					g_array_index(timeline->steps, TachoStep, i).start_ns);
	g_assert_cmpuint(back->collectives->len, ==, timeline->collectives->len);
	g_assert_cmpuint(back->problems->len, ==, 1);
	g_assert_nonnull(tacho_timeline_find_problem(back, TACHO_PROBLEM_CHANGED_EXPORT));
	foreign_use(back);
	foreign_remove(path);
}

static void test_not_perfetto(void)
{
	gchar *path = foreign_write("x.pftrace", "\x0a\x03\x08\x01\x12", 5);
	g_autofree gchar *message = foreign_open_fails(path);

	g_assert_nonnull(strstr(message, "is not a run or a trace"));
	foreign_remove(path);
}

static void test_damaged(void)
{
	gchar *path = write_trace();

	foreign_damage(path, 500);
	foreign_remove(path);
}

/* Beside rocprofv3's trace lies its CSV of the same run: 48 calls of HIP, 681 of HSA, a kernel, three copies. */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n_kernels, n_copies, n_calls, n_samples;
	} samples[] = {
		{ "perfetto/hip_course/rocprofv3_output_results.pftrace", 1, 3, 48 + 681, 59 },
		{ "perfetto/hip_course/fullcircle_12810_results.pftrace", 1, 3, 48 + 681, 59 },
		{ "perfetto/hip_course/rocprof-sys_perfetto-trace-3527607.proto", 1, 3, 44, 968 },
		{ "perfetto/hip_course/omnitrace_perfetto-trace-103379.proto", 0, 0, 44, 687 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path = foreign_sample(samples[i].name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;

		if (!timeline)
			return;
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==,
				 samples[i].n_kernels);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==,
				 samples[i].n_copies);
		g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_RUNTIME), ==,
				 samples[i].n_calls);
		g_assert_cmpuint(timeline->samples->len, ==, samples[i].n_samples);
		for (guint32 k = 0; k < timeline->slices.n; k++)
			if (timeline->slices.kind[k] == TACHO_SLICE_KERNEL)
				g_assert_cmpuint(timeline->slices.launch[k], !=, TACHO_NONE);
		/* only Omnitrace's file is broken: in its byte 65895 */
		g_assert_cmpuint(timeline->problems->len, ==, samples[i].n_kernels ? 0 : 1);
		foreign_use(timeline);
	}
}

static void test_damaged_sample(void)
{
	g_autofree gchar *path =
		foreign_sample("perfetto/hip_course/rocprof-sys_perfetto-trace-3527607.proto");

	if (path)
		foreign_damage(path, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/perfetto/events", test_events);
	g_test_add_func("/perfetto/others", test_others);
	g_test_add_func("/perfetto/own-export", test_own_export);
	g_test_add_func("/perfetto/not-perfetto", test_not_perfetto);
	g_test_add_func("/perfetto/damaged", test_damaged);
	g_test_add_func("/perfetto/samples", test_samples);
	g_test_add_func("/perfetto/damaged-sample", test_damaged_sample);
	return g_test_run();
}
