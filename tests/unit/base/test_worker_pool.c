/* Every task is done once, however many there are. */
#include "base/worker_pool.h"

static void count(guint index, gpointer counts)
{
	__atomic_add_fetch((guint *)counts + index, 1, __ATOMIC_RELAXED);
}

static void test_every_task_once(void)
{
	for (guint n = 0; n < 300; n += 23) {
		g_autofree guint *counts = g_new0(guint, n + 1);

		worker_pool_run(n, count, counts);
		for (guint i = 0; i < n; i++)
			g_assert_cmpuint(counts[i], ==, 1);
		g_assert_cmpuint(counts[n], ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/worker-pool/every-task-once", test_every_task_once);
	return g_test_run();
}
