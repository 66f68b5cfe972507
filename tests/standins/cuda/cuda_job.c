/* cuda_job SCENARIO [N]: a program that uses CUDA, linked with the stand-ins as with the real ones.
 *
 *     train     N steps: copies, kernels in two streams that wait for each other, a fill, waits
 *     graph     captures a stream into a graph and launches it N times
 *     mixed     N times: kernels, a graph that is captured in between, a kernel of NCCL's, kernels
 *     driver    uses the driver without the runtime
 *     managed   managed memory, and copies between devices
 *     threads   train in several threads at once
 *     fork      a child that uses CUDA, before and after its parent does
 *     unload    closes the library that was injected while the device works
 *     kill      is killed in the middle
 *     played    the kernels and copies of a trace, from a file PLAYED of lines "kernel NS GRID BLOCK SHARED NAME", "copy NS BYTES WAY -"
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

#include "standin_cuda.h"

static const struct standin_kernel gemm = { "ampere_sgemm_128x64_nn", 40000 },
				   add = { "_ZN2at6native11elementwiseIfEEvPT_i", 10000 },
				   reduce = { "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20000 },
				   empty = { "empty", 0 };
static const struct dim3 grid = { 16, 1, 1 }, block = { 128, 1, 1 };

static void train(unsigned long n)
{
	cudaStream_t main_stream, side;
	cudaEvent_t event;
	static char host[65536];

	cudaStreamCreate(&main_stream);
	cudaStreamCreate(&side);
	cudaEventCreate(&event);
	for (unsigned long i = 0; i < n; i++) {
		void *memory;

		cudaSetDevice(0);
		cudaMalloc(&memory, 1 << 20);
		cudaMemcpyAsync(memory, host, sizeof(host), cudaMemcpyHostToDevice, main_stream);
		for (int k = 0; k < 4; k++)
			cudaLaunchKernel(k % 2 ? &add : &gemm, grid, block, NULL, 1024,
					 main_stream);
		cudaEventRecord(event, main_stream);
		cudaStreamWaitEvent(side, event, 0);
		cudaLaunchKernel(&gemm, grid, block, NULL, 0, side);
		cudaMemsetAsync(memory, 0, 4096, side);
		cudaMemcpyAsync(host, memory, sizeof(host), cudaMemcpyDeviceToHost, side);
		cudaStreamSynchronize(side);
		cudaFree(memory);
	}
	cudaDeviceSynchronize();
}

static void launch_graph(unsigned long n)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t executable;

	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, 0);
	cudaLaunchKernel(&gemm, grid, block, NULL, 0, stream);
	cudaLaunchKernel(&add, grid, block, NULL, 0, stream);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&executable, graph, 0);
	for (unsigned long i = 0; i < n; i++)
		cudaGraphLaunch(executable, stream);
	cudaStreamSynchronize(stream);
}

static void mix(unsigned long n)
{
	cudaStream_t stream;

	cudaStreamCreate(&stream);
	for (unsigned long i = 0; i < n; i++) {
		cudaLaunchKernel(&gemm, grid, block, NULL, 0, stream);
		launch_graph(1);
		cudaLaunchKernel(&reduce, grid, block, NULL, 0, stream);
		cudaLaunchKernel(&add, grid, block, NULL, 0, stream);
	}
	cudaStreamSynchronize(stream);
}

static void use_driver(unsigned long n)
{
	uint64_t memory;

	cuInit(0);
	cuMemAlloc_v2(&memory, 4096);
	for (unsigned long i = 0; i < n; i++)
		cuLaunchKernel((void *)&gemm, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	usleep(20000);
}

static void use_managed(void)
{
	void *memory;

	cudaMallocManaged(&memory, 1 << 16, 1);
	cudaMallocManaged(&memory, 1 << 16, 1);
	cudaMemcpyPeerAsync(memory, 1, memory, 0, 4096, NULL);
	cudaDeviceSynchronize();
}

static void *train_in_thread(void *n)
{
	train(*(unsigned long *)n);
	return NULL;
}

static void use_child(unsigned long n)
{
	pid_t child;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		train(n);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}

static void play(const char *path)
{
	FILE *file = path ? fopen(path, "r") : NULL;
	char line[8192], name[8000];
	unsigned long long ns, first;
	unsigned way_or_block, shared;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "kernel %llu %llu %u %u %7999[^\n]", &ns, &first, &way_or_block,
			   &shared, name) == 5) {
			struct standin_kernel kernel = { strdup(name), ns };
			struct dim3 kernel_grid = { (unsigned)first, 1, 1 },
				    kernel_block = { way_or_block, 1, 1 };

			cudaLaunchKernel(&kernel, kernel_grid, kernel_block, NULL, shared, NULL);
		} else if (sscanf(line, "copy %llu %llu %u", &ns, &first, &way_or_block) == 3) {
			cudaMemcpyAsync(NULL, NULL, first, (int)way_or_block, NULL);
		}
	}
	if (file)
		fclose(file);
	cudaDeviceSynchronize();
}

static void launch_only(unsigned long n)
{
	struct timespec begin, end;

	cuInit(0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned long i = 0; i < n; i++)
		cudaLaunchKernel(&empty, grid, block, NULL, 0, NULL);
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
	} else if (strcmp(scenario, "graph") == 0) {
		launch_graph(n);
	} else if (strcmp(scenario, "mixed") == 0) {
		mix(n);
	} else if (strcmp(scenario, "driver") == 0) {
		use_driver(n);
	} else if (strcmp(scenario, "managed") == 0) {
		use_managed();
	} else if (strcmp(scenario, "threads") == 0) {
		pthread_t threads[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, train_in_thread, &n);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	} else if (strcmp(scenario, "fork") == 0) {
		use_child(n);
		train(n);
		use_child(n);
	} else if (strcmp(scenario, "unload") == 0) {
		const char *injection = getenv("CUDA_INJECTION64_PATH");
		void *library;

		train(n);
		library = injection ? dlopen(injection, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		for (int i = 0; library && i < 3; i++)
			dlclose(library);
		train(n);
	} else if (strcmp(scenario, "kill") == 0) {
		train(n);
		sleep(3); /* CUPTI's thread tells every second, and later on a busy machine */
		cudaLaunchKernel(&gemm, grid, block, NULL, 0, NULL);
		raise(SIGKILL);
	} else if (strcmp(scenario, "played") == 0) {
		play(getenv("PLAYED"));
	} else if (strcmp(scenario, "cost") == 0) {
		launch_only(n);
	}
	puts("done");
	return 0;
}
