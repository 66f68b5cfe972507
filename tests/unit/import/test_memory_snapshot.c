/* Snapshots of PyTorch's allocator, the pickles they are in, and its memory timelines. */
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "base/order.h"
#include "foreign_traces.h"
#include "import/read/pickle.h"
#include "timeline_text.h"

/* --- pickles -------------------------------------------------------------------------------- */

static Pickle *open_bytes(const gchar *bytes, gsize n, GError **error)
{
	gchar *path = foreign_write("x.pickle", bytes, n);
	Pickle *pickle = pickle_open(path, error);

	foreign_remove(path);
	return pickle;
}
#define OPEN(bytes, error) open_bytes(bytes, sizeof(bytes) - 1, error)

static void test_values(void)
{
	/* {"a": [1, -2, 65535, 2**40, -1 (long), 0.5, None, True, ("x",)], "b": the same list} */
	static const gchar bytes[] =
		"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}(\x8c\x01"
		"a](K\x01J\xfe\xff\xff\xffM\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x01\xff"
		"G\x3f\xe0\x00\x00\x00\x00\x00\x00N\x88\x8c\x01x\x85"
		"e\x94X\x01\x00\x00\x00"
		"bh\x00u.";
	static const gint64 expected[] = { 1, -2, 65535, G_GINT64_CONSTANT(1) << 40, -1, 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(Pickle) pickle = OPEN(bytes, &error);
	g_autofree gchar *json = NULL;
	guint32 list, same;

	g_assert_no_error(error);
	g_assert_true(pickle_find(pickle, pickle_root(pickle), "a", &list));
	g_assert_true(pickle_find(pickle, pickle_root(pickle), "b", &same));
	g_assert_cmpuint(list, ==, same);
	g_assert_cmpuint(pickle_length(pickle, list), ==, 9);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpint(pickle_integer(pickle, pickle_element(pickle, list, i), 99), ==,
				expected[i]);
	json = pickle_to_json(pickle, pickle_root(pickle), 3);
	g_assert_cmpstr(json, ==,
			"{\"a\":[1,-2,65535,1099511627776,-1,0.5,null,true,[\"x\"]],"
			"\"b\":[1,-2,65535,1099511627776,-1,0.5,null,true,[\"x\"]]}");
}

/* What would call or import something is refused, at its byte, wherever it stands. */
static void test_refused(void)
{
	static const gchar refused[] =
		"cRbio\x81\x82\x83\x84\x90\x91\x92\x93\x96\x97\x98PQISFLVpg\x8f\xff";

	for (guint i = 0; i < sizeof(refused) - 1; i++) {
		gchar bytes[] = "\x80\x04]K\x01?..";
		g_autoptr(GError) error = NULL;

		bytes[5] = refused[i];
		g_assert_null(open_bytes(bytes, sizeof(bytes) - 1, &error));
		g_assert_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT);
		g_assert_nonnull(strstr(error->message, "byte 5: opcode 0x"));
		g_assert_nonnull(strstr(error->message, "refused"));
	}
}

/* Programs that are wrong: an error each, with the byte. */
static void test_wrong(void)
{
	static const struct {
		const gchar *bytes;
		gsize n;
	} wrong[] = {
#define WRONG(text) { text, sizeof(text) - 1 }
		WRONG("\x80\x04."),
		WRONG("\x80\x04"
		      "0."),
		WRONG("\x80\x04K\x01"),
		WRONG("\x80\x04K"),
		WRONG("\x80\x04h\x00."),
		WRONG("\x80\x04r\xff\xff\xff\x7f"),
		WRONG("\x80\x04Nr\xff\xff\xff\x7f."),
		WRONG("\x80\x04NNa."),
		WRONG("\x80\x04}Ns."),
		WRONG("\x80\x04}(Nu."),
		WRONG("\x80\x04]e."),
		WRONG("\x80\x04(."),
		WRONG("\x80\x04](a."),
		WRONG("\x80\x04t."),
		WRONG("\x80\x04X\xff\xff\xff\xff"
		      "a."),
		WRONG("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
		      "a."),
		WRONG("\x80\x04\x8b\xff\xff\xff\x7f."),
#undef WRONG
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(open_bytes(wrong[i].bytes, wrong[i].n, &error));
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, "x.pickle: byte "));
	}
}

/* A list that holds itself, and one in a thousand others. */
static void test_nested(void)
{
	static const gchar itself[] = "\x80\x04]\x94h\x00"
				      "a.";
	g_autoptr(GString) deep = g_string_new_len("\x80\x04", 2);
	g_autoptr(Pickle) first = OPEN(itself, NULL);
	g_autoptr(Pickle) second = NULL;
	g_autofree gchar *json = NULL, *deep_json = NULL;

	for (guint i = 0; i < 1000; i++)
		g_string_append_c(deep, ']');
	for (guint i = 0; i < 999; i++)
		g_string_append_c(deep, 'a');
	g_string_append_c(deep, '.');
	second = open_bytes(deep->str, deep->len, NULL);
	json = pickle_to_json(first, pickle_root(first), 3);
	deep_json = pickle_to_json(second, pickle_root(second), 2);
	g_assert_cmpstr(json, ==, "[[[null]]]");
	g_assert_cmpstr(deep_json, ==, "[[null]]");
}

/* --- snapshots ------------------------------------------------------------------------------ */

static gchar *data_path(const gchar *name)
{
	return g_build_filename(TACHO_TEST_DATA, "memory", name, NULL);
}

static const TachoMemoryEvent *memory_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->memory, TachoMemoryEvent, index);
}

/* The row of a table whose `key` is `text`. */
static guint find_row(const TachoTable *table, const gchar *key, const gchar *text)
{
	for (guint i = 0; i < tacho_table_n_rows(table); i++)
		if (g_strcmp0(tacho_table_cell_text(table, i, key), text) == 0)
			return i;
	g_error("no row %s", text);
}

static gdouble cell(const TachoTable *table, guint row, const gchar *key)
{
	return tacho_table_cell_number(table, row, key);
}

static void test_snapshot(void)
{
	g_autofree gchar *path = data_path("small_snapshot.pickle"), *args_json = NULL;
	g_autoptr(TachoTimeline) timeline = foreign_open(path);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) memory = NULL, chunks = NULL, curve = NULL;
	guint32 operation = timeline_find(timeline, "aten::mul_Tensor", 0);
	guint row;

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpuint(timeline->memory->len, ==, 5);
	/* before the trace: what it gives back, and what it never touches */
	g_assert_cmpint(memory_at(timeline, 0)->bytes, ==, 100);
	g_assert_cmpint(memory_at(timeline, 1)->bytes, ==, 1024);
	g_assert_cmpstr(tacho_slice_name(timeline, memory_at(timeline, 1)->slice), ==,
			"aten::empty");
	g_assert_cmpint(memory_at(timeline, 2)->bytes, ==, 512);
	g_assert_cmpuint(memory_at(timeline, 2)->slice, ==, operation);
	g_assert_cmpint(memory_at(timeline, 4)->bytes, ==, -100);
	g_assert_cmpstr(tacho_slice_name(timeline, timeline->slices.parent[operation]), ==,
			"forward, model.py:54");
	args_json = tacho_slice_args_json(timeline, operation);
	g_assert_nonnull(strstr(args_json, "\"filename\":\"/home/me/model.py\",\"line\":54"));
	g_assert_cmpuint(timeline->marks->len, ==, 3); /* segment_alloc, oom, settings */

	memory = tacho_view_memory(timeline, &filter);
	row = find_row(memory, "name", "aten::empty");
	g_assert_cmpfloat(cell(memory, row, "peak_bytes"), ==, 1024);
	g_assert_cmpfloat(cell(memory, row, "memory_peak_bytes"), ==, 100 + 1024 + 512 + 256);
	g_assert_cmpfloat(cell(memory, row, "allocator_reserved_bytes"), ==, 4096 + 8192);

	chunks = tacho_view_chunks(timeline, &filter);
	g_assert_cmpuint(tacho_table_n_rows(chunks), ==, 2);
	row = find_row(chunks, "pool", "small");
	g_assert_cmpfloat(cell(chunks, row, "segments"), ==, 1);
	g_assert_cmpfloat(cell(chunks, row, "used_chunks"), ==, 2);
	g_assert_cmpfloat(cell(chunks, row, "used_bytes"), ==, 1536);
	g_assert_cmpfloat(cell(chunks, row, "rounding_bytes"), ==, 24);
	g_assert_cmpfloat(cell(chunks, row, "free_bytes"), ==, 1560);
	g_assert_cmpfloat(cell(chunks, row, "fragmentation_pct"), ==, 0);
	row = find_row(chunks, "pool", "large");
	g_assert_cmpfloat(cell(chunks, row, "pending_bytes"), ==, 256);

	curve = tacho_view_memory_curve(timeline, &filter);
	row = tacho_table_n_rows(curve) - 1;
	g_assert_cmpfloat(cell(curve, 0, "held_bytes"), ==, 1124);
	g_assert_cmpfloat(cell(curve, row, "held_bytes"), ==, 1024 + 512 + 256);
	g_assert_cmpfloat(cell(curve, row, "reserved_bytes"), ==, 4096 + 8192);
}

static void test_no_snapshot(void)
{
	static const gchar bytes[] = "\x80\x04}\x8c\x0d"
				     "device_traces]s.";
	gchar *path = foreign_write("x.pickle", bytes, sizeof(bytes) - 1);
	g_autofree gchar *failure = foreign_open_fails(path);

	g_assert_nonnull(strstr(failure, "it has no segments"));
	foreign_remove(path);
}

static void test_damaged(void)
{
	g_autofree gchar *path = data_path("small_snapshot.pickle");

	foreign_damage(path, 400);
}

/* --- timelines by category ------------------------------------------------------------------ */

/* The value of the counter when the `nth` time of any has passed, counted from 0. */
static gdouble value_at(const TachoTimeline *timeline, const gchar *name, gint64 time_ns)
{
	gdouble value = 0;

	for (guint i = 0; i < timeline->samples->len; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);
		const TachoTrack *track = tacho_timeline_track(timeline, sample->track);

		if (sample->time_ns <= time_ns &&
		    strcmp(tacho_timeline_string(timeline, track->name), name) == 0)
			value = sample->value;
	}
	return value;
}

static void assert_categories(const TachoTimeline *timeline)
{
	g_assert_cmpint(timeline->origin_unix_ns, ==, 5000);
	g_assert_cmpfloat(value_at(timeline, "parameter bytes", 0), ==, 400);
	g_assert_cmpfloat(value_at(timeline, "unknown bytes", 0), ==, 96);
	g_assert_cmpfloat(value_at(timeline, "temporary bytes", 0), ==, 4);
	g_assert_cmpfloat(value_at(timeline, "activation bytes", 1000), ==, 64);
	g_assert_cmpfloat(value_at(timeline, "gradient bytes", 1000), ==, 8);
	g_assert_cmpfloat(value_at(timeline, "activation bytes", 2000), ==, 0);
}

static void test_categories(void)
{
	static const gchar raw[] =
		"[[-1, 1, 400, 0], [-1, 1, 100, 7], [5000, 2, 64, 4], [5000, 3, -4, 7],"
		" [5000, 3, 4, 3], [6000, 2, 8, 5], [7000, 4, -64, 4]]";
	static const gchar table[] =
		"[[5000, 6000, 7000], [[0, 400, 0, 0, 4, 64, 0, 0, 96],"
		" [0, 400, 0, 0, 4, 64, 8, 0, 96], [0, 400, 0, 0, 4, 0, 8, 0, 96]]]";
	static const gchar wrong[] = "[[5000, 2, 64, 4], [5000, 2, 64], [5000, 2, 64, 9], 7]";
	g_autoptr(TachoTimeline) first = foreign_open_text("x.raw.json", raw);
	g_autoptr(TachoTimeline) second = foreign_open_text("y.memory.json", table);
	g_autoptr(TachoTimeline) third = foreign_open_text("z.memory.json", wrong);
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) curve = NULL;

	assert_categories(first);
	assert_categories(second);
	g_assert_cmpuint(first->problems->len + second->problems->len, ==, 0);
	g_assert_cmpuint(tacho_timeline_find_problem(third, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
			 ==, 3);
	tacho_correlate(first);
	curve = tacho_view_memory_curve(first, &filter);
	g_assert_cmpuint(tacho_table_n_rows(curve), ==, 3);
	g_assert_cmpfloat(cell(curve, 0, "held_bytes"), ==, 564);
	g_assert_cmpfloat(cell(curve, 1, "activation_bytes"), ==, 64);
	g_assert_cmpfloat(cell(curve, 2, "held_bytes"), ==, 508);
}

/* --- samples -------------------------------------------------------------------------------- */

/* The measured segments, blocks and entries; an entry is an allocation, and the two halves of giving back. */
static void test_samples(void)
{
	static const struct {
		const gchar *name;
		guint n_segments, n_blocks, n_entries;
		gdouble reserved, used;
	} samples[] = {
		{ "memory/assignment2/medium_128_inference_memory_snapshot.pickle.gz", 98, 230,
		  3840, 0, 0 },
		{ "memory/assignment2/medium_128_training_memory_snapshot.pickle.gz", 377, 918,
		  19136, 7235174400.0, 6816891392.0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autofree gchar *path = foreign_sample(samples[i].name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		guint n_segments = 0, n_back = 0;
		gdouble reserved = 0, used = 0;

		if (!timeline)
			return;
		for (guint k = 0; k < timeline->chunks->len; k++) {
			const TachoChunk *chunk = &g_array_index(timeline->chunks, TachoChunk, k);

			n_segments += chunk->state == TACHO_CHUNK_SEGMENT;
			reserved += chunk->state == TACHO_CHUNK_SEGMENT ? (gdouble)chunk->bytes : 0;
			used += chunk->state == TACHO_CHUNK_USED ? (gdouble)chunk->bytes : 0;
		}
		for (guint k = 0; k < timeline->memory->len; k++)
			n_back += memory_at(timeline, k)->bytes < 0;
		g_assert_cmpuint(n_segments, ==, samples[i].n_segments);
		g_assert_cmpuint(timeline->chunks->len - n_segments, ==, samples[i].n_blocks);
		g_assert_cmpuint(timeline->problems->len, ==, 0);
		if (i == 0)
			g_assert_cmpuint(n_back * 3, ==, samples[i].n_entries);
		if (samples[i].reserved > 0) {
			g_assert_cmpfloat(reserved, ==, samples[i].reserved);
			g_assert_cmpfloat(used, ==, samples[i].used);
		}
	}
}

/* M1. Its row 0 is empty: what is held before anything is; so row 744 is our 743rd time, counted from 0. */
static void test_oracle(void)
{
	static const struct {
		const gchar *name;
		gint64 bytes;
	} expected[] = {
		{ "parameter bytes", 102440608 },      { "optimizer state bytes", 102228128 },
		{ "input bytes", 19395584 },	       { "temporary bytes", 0 },
		{ "activation bytes", 2618160128 },    { "gradient bytes", 58417152 },
		{ "autograd detail bytes", 41811968 }, { "unknown bytes", 25494440 },
	};
	g_autofree gchar *path = foreign_sample("memory/hta/memory_timeline.raw.gz");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint n = 0;

	if (!timeline)
		return;
	for (guint i = 0; i < timeline->samples->len; i++)
		g_array_append_val(times, g_array_index(timeline->samples, TachoSample, i).time_ns);
	g_array_sort(times, order_int64);
	for (guint i = 0; i < times->len; i++)
		if (!i || g_array_index(times, gint64, i) != g_array_index(times, gint64, i - 1))
			g_array_index(times, gint64, n++) = g_array_index(times, gint64, i);
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpint(
			value_at(timeline, expected[i].name, g_array_index(times, gint64, 743)), ==,
			expected[i].bytes);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pickle/values", test_values);
	g_test_add_func("/pickle/refused", test_refused);
	g_test_add_func("/pickle/wrong", test_wrong);
	g_test_add_func("/pickle/nested", test_nested);
	g_test_add_func("/memory_snapshot/snapshot", test_snapshot);
	g_test_add_func("/memory_snapshot/no_snapshot", test_no_snapshot);
	g_test_add_func("/memory_snapshot/damaged", test_damaged);
	g_test_add_func("/memory_timeline/categories", test_categories);
	g_test_add_func("/memory_snapshot/samples", test_samples);
	g_test_add_func("/memory_timeline/oracle", test_oracle);
	return g_test_run();
}
