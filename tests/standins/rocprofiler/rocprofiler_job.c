/* rocprofiler_job SCENARIO [N]: a program that uses HIP, linked with the stand-in as with the real ones.
 *
 *     train     N steps: memory, copies, kernels in two streams, ranges, waits
 *     steps     train, and tacho is told of the end of each step
 *     threads   train in several threads at once
 *     fork      a child that uses HIP before its parent does, and one that trains after it
 *     unload    closes the library of the tool while the device works
 *     kill      is killed in the middle
 *     together  N launches of a kernel that waits for other ranks, and of one that does not
 *     cost      N launches, and nothing else */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "standin_rocprofiler.h"

static struct standin_kernel gemm = { "Cijk_Ailk_Bljk_SB_MT128x128.kd", 40000, 0 },
			     add = { "_Z3addPf.kd", 10000, 0 },
			     reduce = { "_Z20ncclDevKernel_Genericv.kd", 5000, 0 },
			     empty = { "empty", 0, 0 };

static void train(unsigned long n)
{
	static char host[65536];

	for (unsigned long i = 0; i < n; i++) {
		uint64_t range;
		void *memory;

		hipMalloc(&memory, 1 << 20);
		range = roctxRangeStartA("step");
		roctxRangePushA("forward");
		hipMemcpyAsync(memory, host, sizeof(host), 1, 0);
		for (int k = 0; k < 4; k++)
			hipLaunchKernel(k % 2 ? &add : &gemm, 16, 256, 1024, 0);
		roctxRangePop();
		hipLaunchKernel(&gemm, 16, 256, 0, 1);
		hipMemcpyAsync(host, memory, sizeof(host), 2, 1);
		hipMemcpyAsync(host, memory, 4096, 4, 1);
		ncclAllReduce(4096);
		hipDeviceSynchronize();
		roctxRangeStop(range);
		roctxMarkA("step ends");
		hipFree(memory);
	}
}

/* The agent's, where there is one. */
void tacho_step_end(void) __attribute__((weak));

static void train_by_steps(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		train(1);
		if (tacho_step_end)
			tacho_step_end();
	}
}

static void *train_in_thread(void *n)
{
	train(*(unsigned long *)n);
	return NULL;
}

/* HIP does not work in a child whose parent has used it: it asks for nothing of the device then. */
static void use_child(unsigned long n, int is_after)
{
	pid_t child;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		if (is_after) {
			roctxRangePushA("in a child");
			ncclAllReduce(1);
			roctxRangePop();
		} else {
			train(n);
		}
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}

static void unload(void)
{
	const char *tool = getenv("ROCP_TOOL_LIBRARIES");
	void *library = tool ? dlopen(tool, RTLD_LAZY | RTLD_NOLOAD) : NULL;

	hipLaunchKernel(&gemm, 16, 256, 0, 0);
	for (int i = 0; library && i < 3; i++)
		dlclose(library);
}

static void launch_only(unsigned long n)
{
	struct timespec begin, end;

	hipLaunchKernel(&empty, 1, 1, 0, 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned long i = 0; i < n; i++)
		hipLaunchKernel(&empty, 1, 1, 0, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%.1f ns a launch\n",
		((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		 (double)(end.tv_nsec - begin.tv_nsec)) /
			(double)n);
}

int main(int argc, char **argv)
{
	const char *scenario = argc > 1 ? argv[1] : "train";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;

	if (strcmp(scenario, "train") == 0) {
		train(n);
	} else if (strcmp(scenario, "steps") == 0) {
		train_by_steps(n);
	} else if (strcmp(scenario, "threads") == 0) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, train_in_thread, &n);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	} else if (strcmp(scenario, "fork") == 0) {
		use_child(n, 0);
		train(n);
		use_child(n, 1);
	} else if (strcmp(scenario, "unload") == 0) {
		train(n);
		unload();
		train(n);
	} else if (strcmp(scenario, "kill") == 0) {
		train(n);
		raise(SIGKILL);
	} else if (strcmp(scenario, "together") == 0) {
		for (unsigned long i = 0; i < n; i++) {
			hipLaunchKernel(&add, 16, 256, 0, 0);
			hipLaunchKernel(&reduce, 16, 256, 0, 1);
		}
		hipDeviceSynchronize();
	} else if (strcmp(scenario, "cost") == 0) {
		launch_only(n);
	}
	puts("done");
	return 0;
}
