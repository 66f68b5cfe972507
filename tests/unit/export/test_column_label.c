/* Headings with units, made of the keys of the JSON. */
#include <glib.h>

#include "export/column_label.h"

static void expect(const gchar *key, const gchar *label)
{
	TachoColumn column = { .key = key };
	g_autofree gchar *actual = column_label(&column);

	g_assert_cmpstr(actual, ==, label);
}

static void test_labels(void)
{
	expect("exposed_communication_ms", "exposed communication (ms)");
	expect("bus_gb_per_s", "bus (GB/s)");
	expect("gflop_per_s", "GFLOP/s");
	expect("late_pct", "late (%)");
	expect("mean_us", "mean (µs)");
	expect("peak_bytes", "peak (bytes)");
	expect("bytes", "bytes");
	expect("name", "name");
	expect("late_rank", "late rank");
	expect("items", "items"); /* ends as a unit does, but not after an underscore */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/column-label", test_labels);
	return g_test_run();
}
