#include "base/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#define MAX_WORKERS 64

struct work {
	WorkerTask task;
	gpointer data;
	guint n_tasks;
	guint next; /* atomic */
};

static void *work_on(void *work_pointer)
{
	struct work *work = work_pointer;
	guint index;

	while ((index = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED)) < work->n_tasks)
		work->task(index, work->data);
	return NULL;
}

static guint count_cores(void)
{
	cpu_set_t cores;

	return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (guint)CPU_COUNT(&cores) : 1;
}

guint worker_pool_n_workers(void)
{
	return CLAMP(count_cores(), 1, MAX_WORKERS);
}

void worker_pool_run(guint n_tasks, WorkerTask task, gpointer data)
{
	struct work work = { .task = task, .data = data, .n_tasks = n_tasks };
	pthread_t threads[MAX_WORKERS];
	guint n_wanted = MIN(worker_pool_n_workers(), n_tasks), n_threads = 0;

	while (n_threads + 1 < n_wanted &&
	       pthread_create(&threads[n_threads], NULL, work_on, &work) == 0)
		n_threads++;
	work_on(&work);
	while (n_threads)
		pthread_join(threads[--n_threads], NULL);
}
