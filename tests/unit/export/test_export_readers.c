/* Stacks, graphs of calls and views of random timelines, in every format that others read: each export says what the timeline
 * does, as found in another way (stack_checks.h, page_checks.h). */
#include <glib/gstdio.h>
#include <unistd.h>

#include "byte_timeline.h"
#include "page_checks.h"
#include "stack_checks.h"
#include "trace_lines.h"

enum { N_TIMELINES = 40, MOST_BYTES = 600 };

/* Every fourth byte or so is 0: that is a rank of a training job. */
static TachoTimeline *draw_timeline(guint32 seed)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(seed);
	guint8 bytes[MOST_BYTES];
	gsize n = (gsize)g_rand_int_range(chance, 10, MOST_BYTES);

	for (gsize i = 0; i < n; i++)
		bytes[i] = g_rand_int_range(chance, 0, 4) ? (guint8)g_rand_int_range(chance, 0, 256)
							  : 0;
	return byte_timeline_new(bytes, n);
}

static gchar *write_export(const gchar *format, const TachoTimeline *timeline,
			   const TachoExportOptions *options)
{
	gchar *path = NULL;
	gint fd = g_file_open_tmp("tacho-test-XXXXXX", &path, NULL);
	gsize n;
	g_autofree guint8 *bytes =
		export_to_memory(tacho_export_find(format, NULL), timeline, options, &n);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, bytes, n), ==, n);
	close(fd);
	return path;
}

static void check_stacks(gconstpointer format_pointer,
			 void (*check)(const TachoTimeline *timeline, const gchar *path))
{
	const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	guint n_slices = 0;

	for (guint32 seed = 0; seed < N_TIMELINES; seed++) {
		g_autoptr(TachoTimeline) timeline = draw_timeline(seed);
		g_autofree gchar *path = write_export(format_pointer, timeline, &all);

		check(timeline, path);
		g_unlink(path);
		n_slices += timeline->slices.n;
	}
	g_assert_cmpuint(n_slices, >, 1000); /* there was something to be wrong */
}

static void test_folded(void)
{
	check_stacks("folded", stack_check_folded);
}

static void test_pprof(void)
{
	check_stacks("pprof", stack_check_pprof);
}

static void test_dot(void)
{
	check_stacks("dot", stack_check_dot);
}

static void check_pages(const gchar *format,
			void (*check)(const TachoTimeline *timeline,
				      const TachoExportOptions *options, const gchar *path))
{
	if (!tacho_export_find(format, NULL)) {
		g_test_skip("it is not in this build");
		return;
	}
	for (guint32 seed = 0; seed < N_TIMELINES; seed++) {
		TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
		g_autoptr(TachoTimeline) timeline = draw_timeline(seed);
		g_autofree gchar *path = NULL;

		options.is_whole = seed % 2;
		path = write_export(format, timeline, &options);
		check(timeline, &options, path);
		g_unlink(path);
	}
}

static void test_html(void)
{
	check_pages("html", page_check_html);
}

static void test_xlsx(void)
{
	check_pages("xlsx", page_check_xlsx);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/export-readers/folded", test_folded);
	g_test_add_func("/export-readers/pprof", test_pprof);
	g_test_add_func("/export-readers/dot", test_dot);
	g_test_add_func("/export-readers/html", test_html);
	g_test_add_func("/export-readers/xlsx", test_xlsx);
	return g_test_run();
}
