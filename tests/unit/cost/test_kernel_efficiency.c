/* kernel_efficiency: times on other devices, with the table that was measured: what holds whatever stands in it. */
#include "cost/kernel_efficiency.h"

static const gchar *const names[] = {
	"V100", "A100-80GB", "H100", "H200", "MI300X", "T4", "MI250X"
};

static gdouble moved(const gchar *from, const gchar *to, struct kernel_demand demand, gdouble ns)
{
	struct kernel_efficiencies table;
	enum efficiency_ground ground;
	gdouble moved_ns;

	kernel_efficiencies_init(&table);
	moved_ns = kernel_efficiency_move(&table, device_find(from), device_find(to), &demand, ns,
					  &ground);
	kernel_efficiencies_release(&table);
	return moved_ns;
}

static void check_demand(struct kernel_demand demand)
{
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		for (guint j = 0; j < G_N_ELEMENTS(names); j++) {
			gdouble last_ns = 0;

			g_assert_cmpfloat(moved(names[i], names[j], demand, 0), ==, 0);
			for (gdouble ns = 1; ns < 1e8; ns *= 3) {
				gdouble there_ns = moved(names[i], names[j], demand, ns);
				gdouble back_ns = moved(names[j], names[i], demand, there_ns);

				/* a longer kernel is not shorter elsewhere; and there and back is no change */
				g_assert_cmpfloat(there_ns, >, last_ns);
				g_assert_cmpfloat_with_epsilon(back_ns, ns, 1e-9 * ns);
				if (i == j)
					g_assert_cmpfloat(there_ns, ==, ns);
				last_ns = there_ns;
			}
		}
}

static void test_properties(void)
{
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++) {
		check_demand((struct kernel_demand){ .class = class, .rate = DEVICE_N_RATES });
		check_demand((struct kernel_demand){ class, DEVICE_BF16, 1e9, 1e6, 0 });
		check_demand((struct kernel_demand){ class, DEVICE_FP32, 0, 1e6, 0 });
	}
}

static void test_grounds(void)
{
	struct kernel_efficiencies table;
	struct kernel_demand gemm = { KERNEL_GEMM, DEVICE_BF16, 1e9, 1e6, 0 };
	struct kernel_demand other = { .class = KERNEL_OTHER, .rate = DEVICE_N_RATES };
	const struct device_peak *h100 = device_find("H100"), *amd = device_find("MI300X");
	enum efficiency_ground ground;

	kernel_efficiencies_init(&table);
	kernel_efficiency_move(&table, h100, amd, &gemm, 1e5, &ground);
	g_assert_cmpint(ground, ==, EFFICIENCY_MEASURED);
	kernel_efficiency_move(&table, h100, device_find("MI210"), &gemm, 1e5, &ground);
	g_assert_cmpint(ground, ==, EFFICIENCY_EQUAL);
	kernel_efficiency_move(&table, h100, amd, &other, 1e5, &ground);
	g_assert_cmpint(ground, ==, EFFICIENCY_UNKNOWN);
	kernel_efficiencies_release(&table);
	g_assert_cmpfloat(kernel_efficiency_error(h100, amd, EFFICIENCY_MEASURED), >, 0);
	g_assert_cmpfloat(kernel_efficiency_error(h100, amd, EFFICIENCY_EQUAL), >,
			  kernel_efficiency_error(h100, amd, EFFICIENCY_MEASURED));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_efficiency/properties", test_properties);
	g_test_add_func("/kernel_efficiency/grounds", test_grounds);
	return g_test_run();
}
