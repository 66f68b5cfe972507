/* fuzz_efficiencies: whatever bytes as a file of what kernels reach of devices' peaks (cost/kernel_efficiency.h), and how long
 * kernels then take on the devices that it names. */
#include <math.h>

#include "cost/kernel_efficiency.h"
#include "foreign_traces.h"
#include "fuzz_input.h"

enum { MAX_ROWS = 8 /* that are used, each with each */ };

static gdouble move(const struct kernel_efficiencies *table, const struct device_peak *from,
		    const struct device_peak *to, const struct kernel_demand *demand, gdouble ns)
{
	enum efficiency_ground ground;
	gdouble there_ns = kernel_efficiency_move(table, from, to, demand, ns, &ground);

	g_assert_cmpuint(ground, <, EFFICIENCY_N_GROUNDS);
	if (!isfinite(there_ns) || there_ns < 0)
		FUZZ_FAIL("%g ns on %s are %g ns on %s", ns, from->name, there_ns, to->name);
	return there_ns;
}

/* Where it ran it takes what it took, and elsewhere a longer one is not shorter. */
static void check_demand(const struct kernel_efficiencies *table, const struct device_peak *from,
			 const struct device_peak *to, const struct kernel_demand *demand)
{
	gdouble last_ns = 0;

	for (gdouble ns = 1; ns < 1e9; ns *= 10) {
		gdouble there_ns = move(table, from, to, demand, ns);

		g_assert_cmpfloat(there_ns, >=, last_ns);
		g_assert_cmpfloat(move(table, from, from, demand, ns), ==, ns);
		last_ns = there_ns;
	}
}

static void use_rows(const struct kernel_efficiencies *table, const struct kernel_efficiency *from,
		     const struct kernel_efficiency *to)
{
	const struct kernel_demand demands[] = {
		{ .class = from->class, .rate = from->rate },
		{ from->class, from->rate, 1e9, 1e6, 0 },
		{ from->class, from->rate, 0, 1e6, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(demands); i++)
		check_demand(table, from->device, to->device, &demands[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_efficiencies table;
	g_autoptr(GError) error = NULL;
	const gchar *path = foreign_fuzz_file("efficiencies.ini", data, size);

	if (kernel_efficiencies_read(&table, path, &error)) {
		const struct kernel_efficiency *rows =
			(const struct kernel_efficiency *)(gpointer)table.rows->data;
		guint n = MIN(table.rows->len, MAX_ROWS);

		g_assert_no_error(error);
		for (guint i = 0; i < n; i++)
			for (guint k = 0; k < n; k++)
				use_rows(&table, &rows[i], &rows[k]);
	} else {
		g_assert_nonnull(error);
	}
	kernel_efficiencies_release(&table);
	return 0;
}
