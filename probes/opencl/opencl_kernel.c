#include "opencl/opencl_kernel.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "common/probe.h"

#define N_PLACES   4096 /* a power of 2 */
#define NAME_BYTES 1024

/* A place is changed under the lock, with `kernel` NULL meanwhile. */
static struct place {
	cl_kernel kernel;  /* atomic */
	uint32_t class_id; /* atomic */
} places[N_PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct place *place_of(cl_kernel kernel)
{
	uintptr_t key = (uintptr_t)kernel;

	return &places[(key >> 4 ^ key >> 16) & (N_PLACES - 1)];
}

struct asked {
	cl_kernel kernel;
	uint32_t class_id;
};

static void ask(struct asked *asked)
{
	char name[NAME_BYTES] = "";

	if (opencl_target.clGetKernelInfo(asked->kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name),
					  name, NULL) != CL_SUCCESS)
		return;
	name[NAME_BYTES - 1] = '\0';
	asked->class_id = tacho_class(TRACE_KIND_DEVICE_KERNEL, name, strlen(name));
}

static void put(struct place *place, cl_kernel kernel, uint32_t class_id)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&place->kernel, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&place->class_id, class_id, __ATOMIC_SEQ_CST);
	__atomic_store_n(&place->kernel, kernel, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&lock);
}

uint32_t opencl_kernel_class(cl_kernel kernel)
{
	struct place *place = place_of(kernel);
	struct asked asked = { .kernel = kernel };
	uint32_t class_id;

	if (__atomic_load_n(&place->kernel, __ATOMIC_ACQUIRE) == kernel) {
		class_id = __atomic_load_n(&place->class_id, __ATOMIC_ACQUIRE);
		if (class_id && __atomic_load_n(&place->kernel, __ATOMIC_ACQUIRE) == kernel)
			return class_id;
	}
	ask(&asked);
	if (asked.class_id)
		put(place, kernel, asked.class_id);
	return asked.class_id;
}

void opencl_kernel_is_new(cl_kernel kernel)
{
	struct place *place = place_of(kernel);

	if (kernel && __atomic_load_n(&place->kernel, __ATOMIC_ACQUIRE) == kernel)
		put(place, NULL, 0);
}

void opencl_kernel_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}
