/* kernel_split: what holds of each kernel, whatever it does and whatever was measured; and what can be added up by hand. */
#include "cost/kernel_split.h"

static const gchar *const names[] = { "GTX-1080-Ti", "P100-PCIe", "V100",  "T4",
				      "A100-80GB",   "H100",	  "MI300X" };

/* A row that a test puts into a table. */
static void add(struct kernel_efficiencies *table, const gchar *device, enum kernel_class class,
		enum device_rate rate, gdouble ops_share, gdouble bytes_share)
{
	struct kernel_efficiency row = { .device = device_find(device),
					 .class = class,
					 .rate = rate,
					 .ops_share = ops_share,
					 .bytes_share = bytes_share };

	g_array_append_val(table->rows, row);
}

static struct kernel_demand product(enum device_rate rate, gdouble flops, gdouble bytes)
{
	return (struct kernel_demand){ KERNEL_GEMM, rate, flops, bytes, 0 };
}

static void test_shares(void)
{
	struct kernel_efficiencies table;
	struct device_reach v100, t4;
	struct kernel_demand gemm = product(DEVICE_FP32, 15.7e6, 9e3);
	struct kernel_demand relu = { KERNEL_ELEMENTWISE, DEVICE_FP32, 0, 9e5, 0 };

	kernel_efficiencies_init_equal(&table);
	add(&table, "V100", KERNEL_GEMM, DEVICE_FP32, 0.5, 0.9);
	add(&table, "A100-80GB", KERNEL_GEMM, DEVICE_FP32, 0.7, 0.8);
	add(&table, "H100", KERNEL_GEMM, DEVICE_BF16, 0.4, 0.8);
	device_reach_init(&v100, &table, device_find("V100"));
	device_reach_init(&t4, &table, device_find("T4"));
	/* 15.7 T/s, of which half is reached; at the peak, 1 us */
	g_assert_cmpfloat_with_epsilon(kernel_split_work_ns(&v100, &gemm), 2000, 1e-6);
	g_assert_cmpfloat_with_epsilon(kernel_split_peak_ns(&v100, &gemm), 1000, 1e-6);
	g_assert_true(kernel_split_is_measured(&v100, &gemm));
	/* of a device that was not measured: the median of those that were, 0.6 of 8.1 T/s */
	g_assert_cmpfloat_with_epsilon(kernel_split_work_ns(&t4, &gemm), 15.7e6 / (0.6 * 8100),
				       1e-6);
	g_assert_false(kernel_split_is_measured(&t4, &gemm));
	/* units for matrices: 0.4 of 125 T/s, as the H100 reaches of its own */
	gemm.rate = DEVICE_FP16;
	g_assert_cmpfloat_with_epsilon(kernel_split_work_ns(&v100, &gemm), 15.7e6 / (0.4 * 125e3),
				       1e-6);
	g_assert_false(kernel_split_is_measured(&v100, &gemm));
	/* of a class that nobody measured, the peaks: 900 GB/s */
	g_assert_cmpfloat_with_epsilon(kernel_split_work_ns(&v100, &relu), 1000, 1e-6);
	kernel_efficiencies_release(&table);
}

/* Where units for narrow numbers were seen to reach next to nothing, the others do it. */
static void test_wider_units(void)
{
	struct kernel_efficiencies table;
	struct device_reach v100;
	struct kernel_demand wide = { KERNEL_CONVOLUTION, DEVICE_FP32, 1e9, 1e3, 0 };
	struct kernel_demand narrow = { KERNEL_CONVOLUTION, DEVICE_FP16, 1e9, 1e3, 0 };

	kernel_efficiencies_init_equal(&table);
	add(&table, "V100", KERNEL_CONVOLUTION, DEVICE_FP32, 0.6, 0.9);
	add(&table, "V100", KERNEL_CONVOLUTION, DEVICE_FP16, 0.04, 0.9);
	device_reach_init(&v100, &table, device_find("V100"));
	g_assert_cmpfloat(kernel_split_work_ns(&v100, &narrow), ==,
			  kernel_split_work_ns(&v100, &wide));
	kernel_efficiencies_release(&table);
}

/* With the table that was measured: units for a type make a device no slower. Without such units it gains bytes, and converts. */
static void test_devices(void)
{
	struct kernel_efficiencies table;

	kernel_efficiencies_init(&table);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct device_peak *device = device_find(names[i]);
		struct device_reach reach;

		device_reach_init(&reach, &table, device);
		for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
			for (guint rate = 0; rate < DEVICE_N_RATES; rate++) {
				const struct kernel_reach *own = &reach.of[class][rate];
				const struct kernel_reach *wider =
					&reach.of[class][device_wider_rate((enum device_rate)rate)];

				g_assert_cmpfloat(own->ops_per_ns, >, 0);
				g_assert_cmpfloat(own->bytes_per_ns, >, 0);
				if (rate == DEVICE_TF32 || device->tera_ops[rate] > 0) {
					g_assert_cmpfloat(own->ops_per_ns, >=, wider->ops_per_ns);
					g_assert_cmpfloat(own->bytes_per_ns, >=,
							  wider->bytes_per_ns);
				} else if (device->tera_ops[device_wider_rate(
						   (enum device_rate)rate)] > 0) {
					/* of half as many bytes; and some of the operations convert */
					g_assert_cmpfloat(2 * own->bytes_per_ns, >,
							  wider->bytes_per_ns);
					g_assert_cmpfloat(own->ops_per_ns, <, wider->ops_per_ns);
				}
			}
	}
	kernel_efficiencies_release(&table);
}

static void test_split(void)
{
	struct kernel_efficiencies table;
	struct device_reach v100;
	struct kernel_demand demand =
		product(DEVICE_FP32, 15.7e6, 0); /* 1 us at the peak, 2 us at half of it */
	struct kernel_demand unknown = { .class = KERNEL_GEMM, .rate = DEVICE_N_RATES };
	struct kernel_split split;

	kernel_efficiencies_init_equal(&table);
	add(&table, "V100", KERNEL_GEMM, DEVICE_FP32, 0.5, 0.9);
	device_reach_init(&v100, &table, device_find("V100"));
	/* it takes 20 us, so 18 do not go with the work: four times as much takes 26 */
	split = kernel_split_of(&v100, &demand, 20e3, 4e3, 1);
	g_assert_true(split.is_known);
	g_assert_cmpfloat_with_epsilon(split.work, 0.1, 1e-9);
	g_assert_cmpfloat_with_epsilon(split.least, 0.05, 1e-9);
	g_assert_cmpfloat_with_epsilon(split.most, 0.8, 1e-9);
	g_assert_cmpfloat_with_epsilon(20e3 * kernel_split_factor(split.work, 4), 26e3, 1e-6);
	/* faster than such kernels are: all goes with the work, but for what any kernel takes */
	split = kernel_split_of(&v100, &demand, 1500, 500, 1);
	g_assert_cmpfloat_with_epsilon(split.work, 2.0 / 3, 1e-9);
	g_assert_cmpfloat_with_epsilon(1500 * kernel_split_factor(split.work, 0), 500, 1e-6);
	/* nothing is known of the work, or of the device */
	split = kernel_split_of(&v100, &unknown, 20e3, 4e3, 0.25);
	g_assert_false(split.is_known);
	g_assert_cmpfloat_with_epsilon(split.work, 0.2, 1e-9);
	g_assert_cmpfloat(split.least, ==, 0);
	split = kernel_split_of(NULL, &demand, 20e3, 4e3, 1);
	g_assert_false(split.is_known);
	g_assert_cmpfloat_with_epsilon(split.work, 0.8, 1e-9);
	/* the shortest, and one that took no time */
	g_assert_cmpfloat(kernel_split_of(&v100, &demand, 4e3, 4e3, 1).work, ==, 0);
	g_assert_cmpfloat(kernel_split_of(&v100, &demand, 0, 4e3, 1).work, ==, 0);
	kernel_efficiencies_release(&table);
}

/* A weight of 8 kB, and samples of 1 kB: nine times as many make twice as many bytes. */
static void test_weights(void)
{
	struct kernel_demand demand = { KERNEL_GEMM, DEVICE_FP32, 1e3, 9e3, 8e3 };
	struct kernel_demand more = kernel_demand_batched(demand, 10);

	g_assert_cmpfloat(more.flops, ==, 1e4);
	g_assert_cmpfloat(more.bytes, ==, 18e3);
	g_assert_cmpfloat(more.weight_bytes, ==, 8e3);
	g_assert_cmpfloat(kernel_demand_batched(demand, 0).bytes, ==, 8e3);
	more = kernel_demand_batched(demand, 1);
	g_assert_cmpfloat(more.bytes, ==, demand.bytes);
	g_assert_cmpfloat(more.flops, ==, demand.flops);
}

/* Of a kernel of each class, with little and with much to do, that was short or long. */
static void test_laws(void)
{
	struct kernel_efficiencies table;
	struct device_reach reach;

	kernel_efficiencies_init(&table);
	device_reach_init(&reach, &table, device_find("V100"));
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		for (gdouble flops = 1e3; flops < 1e12; flops *= 30)
			for (gdouble ns = 1e3; ns < 1e8; ns *= 7) {
				struct kernel_demand demand = { class, DEVICE_FP32, flops,
								flops / 10, 0 };
				struct kernel_split split =
					kernel_split_of(&reach, &demand, ns, 2e3, 1);
				gdouble last_ns = ns * (1 - split.most);

				g_assert_cmpfloat(0, <=, split.least);
				g_assert_cmpfloat(split.least, <=, split.work);
				g_assert_cmpfloat(split.work, <=, split.most);
				g_assert_cmpfloat(split.most, <=, 1);
				g_assert_cmpfloat(kernel_split_factor(split.work, 1), ==, 1);
				/* without samples, no less than what any kernel takes; and each more takes as long or longer */
				for (gdouble x = 0; x < 100; x = 2 * x + 0.01) {
					gdouble now_ns = ns * kernel_split_factor(split.work, x);

					g_assert_cmpfloat(now_ns, >=, last_ns * (1 - 1e-12));
					g_assert_cmpfloat(now_ns, <=, ns * MAX(x, 1) * (1 + 1e-12));
					last_ns = now_ns;
				}
			}
	kernel_efficiencies_release(&table);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel_split/shares", test_shares);
	g_test_add_func("/kernel_split/wider_units", test_wider_units);
	g_test_add_func("/kernel_split/devices", test_devices);
	g_test_add_func("/kernel_split/split", test_split);
	g_test_add_func("/kernel_split/weights", test_weights);
	g_test_add_func("/kernel_split/laws", test_laws);
	return g_test_run();
}
