/* hip_job [N]: a program that uses HIP, linked with the stand-in as with the real one: N rounds of memory, copies and kernels, of which a constructor registers the
 * names, as compilers have it. hip_job cost N: N launches, and nanoseconds for each. hip_job threads N: four at a time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standin_hip.h"
#include "standin_hsa.h"

void __hipRegisterFunction(void **modules, const void *host_function, char *device_function,
			   const char *device_name, unsigned thread_limit, void *thread,
			   void *block, void *block_size, void *grid_size, int *wave_size);

static const struct standin_hsa_kernel gemm = { "Cijk", 40000 }, add = { "add", 10000 };
static const dim3 grid = { 16, 1, 1 }, block = { 128, 1, 1 };

static __attribute__((constructor)) void register_kernels(void)
{
	__hipRegisterFunction(NULL, &gemm, NULL, "Cijk_Ailk_Bljk_SB", 0, NULL, NULL, NULL, NULL,
			      NULL);
	__hipRegisterFunction(NULL, &add, NULL, "_Z3addPf", 0, NULL, NULL, NULL, NULL, NULL);
}

static void *train(void *n)
{
	hipFunction_t mul = NULL;
	static char data[65536];

	hipModuleGetFunction(&mul, NULL, "_Z3mulPf");
	for (int i = 0; i < *(int *)n; i++) {
		void *memory;

		hipMalloc(&memory, sizeof(data));
		hipMemcpy(memory, data, sizeof(data), 1);
		hipLaunchKernel(&gemm, grid, block, NULL, 0, NULL);
		hipLaunchKernel(&add, grid, block, NULL, 0, NULL);
		hipModuleLaunchKernel(mul, 4, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
		hipStreamSynchronize(NULL);
		hipFree(memory);
	}
	hipDeviceSynchronize();
	return NULL;
}

static void cost(int n)
{
	struct timespec begin, end;
	double least = 1e18;

	/* what is not there costs what a call costs, and no more */
	for (int round = 0; round < 9; round++) {
		void *nothing;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int i = 0; i < n; i++)
			hipModuleGetFunction(&nothing, NULL, "_Z3mulPf");
		clock_gettime(CLOCK_MONOTONIC, &end);
		if (least > (double)(end.tv_sec - begin.tv_sec) * 1e9 +
				    (double)(end.tv_nsec - begin.tv_nsec))
			least = (double)(end.tv_sec - begin.tv_sec) * 1e9 +
				(double)(end.tv_nsec - begin.tv_nsec);
	}
	fprintf(stderr, "%.1f\n", least / n);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[argc - 1]) : 10;
	pthread_t threads[4];

	if (argc > 2 && strcmp(argv[1], "cost") == 0) {
		cost(n);
	} else if (argc > 2) {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, train, &n);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	} else {
		train(&n);
	}
	puts("done");
	return 0;
}
