/* The list of devices that PyTorch's profiler writes, as rows of the table; and which of them a rank was recorded on. */
#include <string.h>
#include <tacho/import.h>

#include "analyze/recorded_device.h"
#include "foreign_traces.h"
#include "import/device_properties.h"
#include "timeline_text.h"

static const gchar v100[] =
	"[{\"id\": 0, \"name\": \"Tesla V100-SXM2-16GB\", \"totalGlobalMem\": 16945512448,"
	" \"computeMajor\": 7, \"computeMinor\": 0, \"maxThreadsPerBlock\": 1024,"
	" \"maxThreadsPerMultiprocessor\": 2048, \"regsPerBlock\": 65536,"
	" \"regsPerMultiprocessor\": 65535, \"warpSize\": 32, \"sharedMemPerBlock\": 49152,"
	" \"sharedMemPerMultiprocessor\": 98304, \"numSms\": 80, \"sharedMemPerBlockOptin\": "
	"98304},"
	" {\"name\": \"\\u00e9\", \"id\": 1}]";

static const TachoDevice *device_at(const TachoTimeline *timeline, guint row)
{
	g_assert_cmpuint(row, <, timeline->devices->len);
	return &g_array_index(timeline->devices, TachoDevice, row);
}

static void test_members(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const TachoDevice *device;

	device_properties_read(timeline, 3, v100);
	g_assert_cmpuint(timeline->devices->len, ==, 2);
	device = device_at(timeline, 0);
	g_assert_cmpuint(device->process, ==, 3);
	g_assert_cmpint(device->number, ==, 0);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "Tesla V100-SXM2-16GB");
	g_assert_cmpstr(tacho_timeline_string(timeline, device->architecture), ==, "7.0");
	g_assert_cmpuint(device->memory_bytes, ==, 16945512448);
	g_assert_cmpuint(device->n_multiprocessors, ==, 80);
	g_assert_cmpuint(device->warp_threads, ==, 32);
	g_assert_cmpuint(device->multiprocessor_threads, ==, 2048);
	g_assert_cmpuint(device->multiprocessor_registers, ==, 65535);
	g_assert_cmpuint(device->multiprocessor_shared_bytes, ==, 98304);
	g_assert_cmpuint(device->block_threads, ==, 1024);
	g_assert_cmpuint(device->block_registers, ==, 65536);
	g_assert_cmpuint(device->block_shared_bytes, ==, 49152);
	device = device_at(timeline, 1);
	g_assert_cmpint(device->number, ==, 1);
	g_assert_cmpstr(tacho_timeline_string(timeline, device->name), ==, "\xc3\xa9");
	g_assert_cmpuint(device->architecture, ==, 0);
	g_assert_cmpuint(device->memory_bytes, ==, 0);
}

/* What cannot be is not told; what is cut ends the list. */
static void test_broken(void)
{
	static const struct {
		const gchar *json;
		guint n_devices;
	} cases[] = {
		{ "", 0 },
		{ "{\"name\": \"a\"}", 0 },
		{ "[]", 0 },
		{ "[1, null, {\"name\": \"a\"}]", 1 },
		{ "[{\"name\": 5, \"numSms\": -80, \"warpSize\": 99999999999, \"id\": 1e30}]", 1 },
		{ "[{\"name\": \"a\", \"numSms\": \"eighty\", \"computeMajor\": 7}]", 1 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

		device_properties_read(timeline, 0, cases[i].json);
		g_assert_cmpuint(timeline->devices->len, ==, cases[i].n_devices);
		if (!cases[i].n_devices)
			continue;
		g_assert_cmpint(device_at(timeline, 0)->number, ==, 0);
		g_assert_cmpuint(device_at(timeline, 0)->n_multiprocessors, ==, 0);
		g_assert_cmpuint(device_at(timeline, 0)->warp_threads, ==, 0);
		g_assert_cmpuint(device_at(timeline, 0)->architecture, ==, 0);
	}
	for (gsize n = 0; n < strlen(v100); n++) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		g_autofree gchar *cut = g_strndup(v100, n);

		device_properties_read(timeline, 0, cut);
		g_assert_cmpuint(timeline->devices->len, <=, 2);
	}
}

/* A file's devices are those of its process; a list that comes twice is one. */
static void test_file(void)
{
	g_autofree gchar *text = g_strdup_printf(
		"{\"schemaVersion\": 1, \"deviceProperties\": %s, \"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 5,"
		" \"tid\": 5, \"ts\": 1, \"dur\": 2}\n], \"deviceProperties\": %s}",
		v100, v100);
	gchar *path = foreign_write("x.json", text, strlen(text));
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	g_assert_cmpuint(timeline->devices->len, ==, 2);
	g_assert_cmpuint(device_at(timeline, 0)->n_multiprocessors, ==, 80);
	g_assert_cmpint(device_at(timeline, 1)->number, ==, 1);
	g_assert_cmpstr(recorded_device_name(timeline, 0), ==, "Tesla V100-SXM2-16GB");
	foreign_remove(path);
}

/* The rank's device that worked; else its first; else any. */
static void test_recorded(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "  device 1 Accelerator\n"
							       "  device 0 Display\n"
							       "  stream 7 device=1\n"
							       "  kernel a 0..1\n"
							       "rank 1 thread 2 main\n"
							       "  op b 0..1\n"
							       "rank 2 thread 3 main\n"
							       "  device 5 Other\n"
							       "  device 6 Spare\n");
	g_autoptr(TachoTimeline) bare = timeline_from_text("rank 0 thread 1 main\n  op a 0..1\n");

	g_assert_cmpint(device_at(timeline, 0)->number, ==, 0); /* by number */
	g_assert_cmpstr(recorded_device_name(timeline, 0), ==, "Accelerator");
	g_assert_cmpstr(recorded_device_name(timeline, 1), ==, "Display");
	g_assert_cmpstr(recorded_device_name(timeline, 2), ==, "Other");
	g_assert_null(recorded_device_name(bare, 0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device_properties/members", test_members);
	g_test_add_func("/device_properties/broken", test_broken);
	g_test_add_func("/device_properties/file", test_file);
	g_test_add_func("/device_properties/recorded", test_recorded);
	return g_test_run();
}
