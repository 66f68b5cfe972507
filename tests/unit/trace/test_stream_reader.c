/* Counting a stream's slices, then reading them into a place of that size, while files change. */
#include <string.h>
#include <unistd.h>

#include "trace/slice_columns.h"
#include "trace/source.h"
#include "trace/stream_reader.h"
#include "trace/trace_metadata.h"

#define N_SLICES 10

static struct trace_class slice_class = { .name = 1, .kind = TRACE_KIND_ANNOTATION };

static void write_slices(const gchar *path, guint n)
{
	struct packet_header packet = { .magic = TRACE_PACKET_MAGIC };
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	g_byte_array_append(bytes, (const guint8 *)&packet, sizeof(packet));
	for (guint i = 0; i < n; i++) {
		struct record_slice slice = {
			.header = { .size_bytes = sizeof(slice), .stamp = 100 * i }, .duration = 50
		};

		g_byte_array_append(bytes, (const guint8 *)&slice, sizeof(slice));
	}
	g_assert_true(g_file_set_contents(path, (const gchar *)bytes->data, bytes->len, NULL));
}

static struct tacho_source *open_source(const gchar *path)
{
	struct tacho_source *source = tacho_source_new();
	struct mapped_file file;

	g_assert_true(mapped_file_open(&file, path, NULL));
	tacho_source_take_file(source, &file, file.size_bytes);
	return source;
}

/* One slice more than there is room for is a fault of the file, not a slice in another's place. */
static void test_no_room(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autofree gchar *path = g_build_filename(folder, "0-1.0", NULL);
	struct trace_metadata metadata = { .classes = &slice_class, .n_classes = 1 };
	const struct stream_file_place place = { 0 };
	struct stream_rows rows = { 0 };
	TachoSlices slices = { 0 };
	struct tacho_source *source;
	const struct stream_fault *fault;

	g_assert_true(trace_clock_init(&metadata.clock, 1000000000, 0, 0));
	metadata.frequency_hz = 1000000000;
	write_slices(path, N_SLICES);
	source = open_source(path);
	g_assert_cmpuint(stream_reader_count(source, &metadata, &place, 1).n_slices, ==, N_SLICES);
	g_assert_cmpuint(stream_reader_count(source, &metadata, &place, 1).n_queued, ==, 0);
	g_assert_true(slice_columns_reserve(&slices, N_SLICES));
	memset(slices.start_ns, 0xee, N_SLICES * sizeof(*slices.start_ns));
	rows.slices = slice_columns_view(&slices, 2, 4);
	stream_reader_read(&rows, source, &metadata, &place, 1, 0);
	g_assert_cmpuint(rows.slices.n, ==, 4);
	g_assert_cmpint(slices.start_ns[2], ==, 0);
	g_assert_cmpint(slices.start_ns[5], ==, 300);
	g_assert_cmphex((guint64)slices.start_ns[1], ==, G_GUINT64_CONSTANT(0xeeeeeeeeeeeeeeee));
	g_assert_cmphex((guint64)slices.start_ns[6], ==, G_GUINT64_CONSTANT(0xeeeeeeeeeeeeeeee));
	g_assert_false(rows.is_out_of_memory);
	g_assert_cmpuint(rows.faults.n, ==, 1);
	fault = rows.faults.rows;
	g_assert_cmpuint(fault->offset, ==,
			 sizeof(struct packet_header) + 4 * sizeof(struct record_slice));
	g_assert_nonnull(strstr(fault->reason, "changed"));
	stream_rows_release(&rows);
	slice_columns_release(&slices);
	tacho_source_free(source);
	unlink(path);
	rmdir(folder);
}

/* A file that is cut behind the reader's back: what is gone is counted and read as nothing. */
static void test_cut(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autofree gchar *path = g_build_filename(folder, "0-1.0", NULL);
	struct trace_metadata metadata = { .classes = &slice_class, .n_classes = 1 };
	const struct stream_file_place place = { 0 };
	struct tacho_source *source;
	guint64 n_slices;

	write_slices(path, 10000);
	source = open_source(path);
	g_assert_cmpint(truncate(path, 4096), ==, 0);
	n_slices = stream_reader_count(source, &metadata, &place, 1).n_slices;
	g_assert_cmpuint(n_slices, >, 0);
	g_assert_cmpuint(n_slices, <=, 4096 / sizeof(struct record_slice));
	tacho_source_free(source);
	unlink(path);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stream-reader/no-room", test_no_room);
	g_test_add_func("/stream-reader/cut", test_cut);
	return g_test_run();
}
