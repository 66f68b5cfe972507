/* Kernels fused to one, on timelines whose results can be computed by hand. Times are microseconds. */
#include "predicted.h"
#include "timeline_text.h"

/* The host is far ahead: 5 us between kernels, and 10 from the last to when it is noticed. */
static const gchar bound_by_device[] = "unit us\n"
				       "rank 0 thread 1000 main\n"
				       "  annotation ProfilerStep#0 0..200\n"
				       "    op aten::mul 0..10\n"
				       "      runtime launch1 2..8\n"
				       "    op aten::add 10..20\n"
				       "      runtime launch2 12..18\n"
				       "    op aten::mm 20..30\n"
				       "      runtime launch3 22..28\n"
				       "    runtime cudaDeviceSynchronize 60..180\n"
				       "stream 7\n"
				       "  kernel mul 100..120 launch=launch1\n"
				       "  kernel add 125..145 launch=launch2\n"
				       "  kernel gemm 150..170 launch=launch3\n";

/* Each kernel of 2 begins when its operation has ended, 8 us after it was launched. */
static const gchar bound_by_host[] = "unit us\n"
				     "rank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 0..40\n"
				     "    op aten::mul 0..10\n"
				     "      runtime launch1 2..8\n"
				     "    op aten::add 10..20\n"
				     "      runtime launch2 12..18\n"
				     "    op aten::mm 20..30\n"
				     "      runtime launch3 22..28\n"
				     "    runtime cudaDeviceSynchronize 30..40\n"
				     "stream 7\n"
				     "  kernel mul 10..12 launch=launch1\n"
				     "  kernel add 20..22 launch=launch2\n"
				     "  kernel gemm 30..32 launch=launch3\n";

static void test_gaps(void)
{
	assert_predicted(bound_by_device, "fuse:op~mul|add", 200 - 5);
	assert_predicted(bound_by_device, "fuse:op~aten", 200 - 10);
	assert_predicted(bound_by_device, "fuse:kernel~mul|add|gemm", 200 - 10);
}

static void test_host(void)
{
	/* the sum is not called: all that follows is 10 sooner */
	assert_predicted(bound_by_host, "fuse:op~mul|add", 30);
	/* the product is not: it is done 2 after the sum, from 20 on */
	assert_predicted(bound_by_host, "fuse:op~add|mm", 32);
	/* only the calls of the runtime are spared, 6 each, of which the device's own time hides none */
	assert_predicted(bound_by_host, "fuse:kernel~mul|add", 34);
	assert_predicted(bound_by_host, "fuse:op~aten", 24);
}

/* An operation that also launches what stays a kernel of its own is called: its call for the sum is not. */
static void test_mixed(void)
{
	static const gchar mixed[] = "unit us\n"
				     "rank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 0..40\n"
				     "    op mul 0..10\n"
				     "      runtime launch1 2..8\n"
				     "    op add 10..30\n"
				     "      runtime launch2 12..18\n"
				     "      runtime launch3 22..28\n"
				     "    runtime cudaDeviceSynchronize 30..40\n"
				     "stream 7\n"
				     "  kernel mul 10..12 launch=launch1\n"
				     "  kernel add 20..22 launch=launch2\n"
				     "  memset fill 30..32 launch=launch3\n";

	assert_predicted(mixed, "fuse:op~mul|add", 34);
}

static void test_refusals(void)
{
	assert_refused(bound_by_host, "fuse:op~mul", "no two such kernels");
	/* something else is between */
	assert_refused(bound_by_host, "fuse:op~mul|mm", "no two such kernels");
	assert_refused(bound_by_host, "fuse:mul", "KIND~REGEX");
	assert_refused("unit us\nrank 0 thread 1000 main\n  annotation ProfilerStep#0 0..10\n"
		       "    op a 0..10\n",
		       "fuse:op~a", "no kernels of a device");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_fuse/gaps", test_gaps);
	g_test_add_func("/what_if_fuse/host", test_host);
	g_test_add_func("/what_if_fuse/mixed", test_mixed);
	g_test_add_func("/what_if_fuse/refusals", test_refusals);
	return g_test_run();
}
