#include "rocprofiler/rocprofiler_kernels.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"

#define CHUNK	 1024
#define N_CHUNKS 1024 /* a million kernels: a process has some ten thousand */

struct kernel {
	char *name; /* atomic; NULL: not told */
	uint32_t registers;
	uint32_t class_id; /* 0: not declared yet */
};

static struct kernel *chunks[N_CHUNKS]; /* atomic */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

static struct kernel *kernel_at(uint64_t number)
{
	struct kernel *chunk = number / CHUNK < N_CHUNKS
				       ? __atomic_load_n(&chunks[number / CHUNK], __ATOMIC_ACQUIRE)
				       : NULL;

	return chunk ? &chunk[number % CHUNK] : NULL;
}

static struct kernel *make_kernel(uint64_t number)
{
	if (number / CHUNK >= N_CHUNKS)
		return NULL;
	if (!kernel_at(number))
		__atomic_store_n(&chunks[number / CHUNK], calloc(CHUNK, sizeof(struct kernel)),
				 __ATOMIC_RELEASE);
	return kernel_at(number);
}

/* Symbols of kernels end in ".kd" (kernel descriptor). */
static char *plain_name(const char *name)
{
	size_t length = strlen(name);

	if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
		length -= 3;
	return strndup(name, length);
}

void rocp_kernel_named(const struct rocp_kernel_symbol *symbol)
{
	struct kernel *kernel;

	if (!symbol || symbol->size < sizeof(*symbol) || !symbol->name)
		return;
	pthread_mutex_lock(&naming);
	kernel = make_kernel(symbol->kernel);
	if (kernel && !kernel->name) {
		kernel->registers = symbol->vgprs + symbol->accumulation_vgprs;
		__atomic_store_n(&kernel->name, plain_name(symbol->name), __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&naming);
}

uint32_t rocp_kernel_class(uint64_t number, uint32_t *ret_registers)
{
	struct kernel *kernel = kernel_at(number);
	const char *name = kernel ? __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE) : NULL;
	char unnamed[40];

	*ret_registers = name ? kernel->registers : 0;
	if (!name) {
		snprintf(unnamed, sizeof(unnamed), "kernel %llu", (unsigned long long)number);
		return tacho_class(TRACE_KIND_DEVICE_KERNEL, unnamed, strlen(unnamed));
	}
	if (!kernel->class_id)
		kernel->class_id = demangled_class(TRACE_KIND_DEVICE_KERNEL, name, strlen(name));
	return kernel->class_id;
}

bool rocp_kernel_waits(uint64_t number)
{
	const struct kernel *kernel = kernel_at(number);
	const char *name = kernel ? __atomic_load_n(&kernel->name, __ATOMIC_ACQUIRE) : NULL;

	return !name || strstr(name, "nccl") || strstr(name, "rccl") || strstr(name, "shmem");
}
