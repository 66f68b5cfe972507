/* opencl_calls CASE: programs that use OpenCL in one way each. Those that time their kernels by events themselves print the sum, for
 * the test to compare with what was recorded. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/paced.h"

#define N_ITEMS 65536
#define BYTES	(N_ITEMS * sizeof(float))

static const char source[] =
	"kernel void scale(global float *x, float by) { size_t i = get_global_id(0);\n"
	"	float v = x[i]; for (int k = 0; k < 10; k++) v = v * by + 0.5f; x[i] = v; }\n"
	"kernel void add(global float *x, global const float *y) { size_t i = get_global_id(0); "
	"x[i] += y[i]; }\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;
static float host[N_ITEMS];

static void must(bool is_right, const char *what)
{
	if (is_right)
		return;
	printf("wrong: %s\n", what);
	exit(1);
}

static void open_device(void)
{
	const char *text = source;
	cl_int status;

	must(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS, "platforms");
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS,
	     "devices");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
	must(status == CL_SUCCESS, "context");
	program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	must(status == CL_SUCCESS, "program");
	must(clBuildProgram(program, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS, "build");
}

static cl_kernel make_kernel(const char *name)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);

	must(status == CL_SUCCESS, "kernel");
	return kernel;
}

static cl_mem make_buffer(void)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &status);

	must(status == CL_SUCCESS, "buffer");
	return buffer;
}

static cl_command_queue make_queue(cl_command_queue_properties properties)
{
	const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
	cl_int status;
	cl_command_queue queue = clCreateCommandQueueWithProperties(
		context, device, properties ? list : NULL, &status);

	must(status == CL_SUCCESS, "queue");
	return queue;
}

static cl_kernel make_scale(cl_mem buffer)
{
	cl_kernel kernel = make_kernel("scale");
	float by = 0.99f;

	must(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) == CL_SUCCESS, "argument");
	must(clSetKernelArg(kernel, 1, sizeof(by), &by) == CL_SUCCESS, "argument");
	return kernel;
}

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
	cl_ulong ns = 0;

	must(clGetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL) == CL_SUCCESS, "profile");
	return ns;
}

static cl_ulong last_of(cl_event event)
{
	return time_of(event, CL_PROFILING_COMMAND_END) -
	       time_of(event, CL_PROFILING_COMMAND_START);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Kernels and copies in a queue that the program profiles. */
static int profiled(void)
{
	static cl_event events[200];
	cl_mem buffer = make_buffer();
	cl_kernel kernel = make_scale(buffer);
	cl_command_queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
	const size_t global = N_ITEMS, local = 64;
	cl_ulong kernels_ns = 0, copies_ns = 0;

	for (int i = 0; i < 100; i++) {
		must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, BYTES, host, 0, NULL,
					  &events[2 * i]) == CL_SUCCESS,
		     "write");
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
					    &events[2 * i + 1]) == CL_SUCCESS,
		     "launch");
	}
	must(clFinish(queue) == CL_SUCCESS, "finish");
	for (int i = 0; i < 100; i++) {
		copies_ns += last_of(events[2 * i]);
		kernels_ns += last_of(events[2 * i + 1]);
		clReleaseEvent(events[2 * i]);
		clReleaseEvent(events[2 * i + 1]);
	}
	printf("%llu %llu\n", (unsigned long long)kernels_ns, (unsigned long long)copies_ns);
	return 0;
}

/* A program that has asked for no profiling sees none. */
static int unprofiled(void)
{
	cl_mem buffer = make_buffer();
	cl_kernel kernel = make_scale(buffer);
	cl_command_queue queue = make_queue(0), old;
	cl_command_queue_properties properties = 77;
	cl_queue_properties list[8];
	const size_t global = N_ITEMS;
	cl_uint n_references = 0;
	cl_ulong ns = 0;
	cl_event event;
	size_t bytes = 99;
	cl_int status;

	must(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				   NULL) == CL_SUCCESS &&
		     properties == 0,
	     "profiling is seen");
	must(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(list), list, &bytes) ==
			     CL_SUCCESS &&
		     bytes == 0,
	     "properties are seen");
	old = clCreateCommandQueue(context, device, 0, &status);
	must(old &&
		     clGetCommandQueueInfo(old, CL_QUEUE_PROPERTIES, sizeof(properties),
					   &properties, NULL) == CL_SUCCESS &&
		     properties == 0,
	     "profiling is seen in an old queue");
	must(clCreateCommandQueue(context, device, (cl_command_queue_properties)1 << 60, &status) ==
			     NULL &&
		     status == CL_INVALID_VALUE,
	     "properties that there are not");
	for (int i = 0; i < 50; i++)
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL) ==
			     CL_SUCCESS,
		     "launch");
	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event) ==
		     CL_SUCCESS,
	     "launch");
	must(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(n_references), &n_references,
			    NULL) == CL_SUCCESS &&
		     n_references >= 1,
	     "references");
	clWaitForEvents(1, &event);
	must(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(ns), &ns, NULL) ==
		     CL_PROFILING_INFO_NOT_AVAILABLE,
	     "times are told");
	clReleaseEvent(event);
	must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, host, 0, NULL, NULL) ==
		     CL_SUCCESS,
	     "read");
	/* the end comes without a finish */
	return 0;
}

static void *run_queue(void *unused)
{
	cl_mem buffer = make_buffer();
	cl_kernel kernel = make_scale(buffer);
	cl_command_queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
	const size_t global = N_ITEMS;
	cl_ulong *sum_ns = calloc(1, sizeof(*sum_ns));
	cl_event event;

	(void)unused;
	for (int i = 0; i < 200; i++) {
		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL,
					    &event) == CL_SUCCESS,
		     "launch");
		if (i % 10 == 0)
			clFlush(queue);
		if (i % 50 == 49)
			clWaitForEvents(1, &event);
		clReleaseEvent(event);
	}
	clFinish(queue);
	clReleaseKernel(kernel);
	clReleaseCommandQueue(queue);
	clReleaseMemObject(buffer);
	return sum_ns;
}

/* Two threads with a queue each, again and again: queues and kernels come and go. */
static int threads(void)
{
	pthread_t threads[2];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, run_queue, NULL);
		for (int i = 0; i < 2; i++) {
			void *sum;

			pthread_join(threads[i], &sum);
			free(sum);
		}
	}
	return 0;
}

/* Enqueues that fail: the errors are those of the driver. */
static int failing(void)
{
	cl_mem buffer = make_buffer();
	cl_kernel bare = make_kernel("scale"), kernel = make_scale(buffer);
	cl_command_queue queue = make_queue(0);
	const size_t global = N_ITEMS, local = 7, none[3] = { 0 };
	cl_event event = (cl_event)0x77;
	cl_int status = 0;

	printf("%d", clEnqueueNDRangeKernel(queue, bare, 1, NULL, &global, NULL, 0, NULL, NULL));
	printf(" %d", clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &global, NULL, 0, NULL, NULL));
	printf(" %d",
	       clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, &event));
	printf(" %d", clEnqueueReadBuffer(queue, buffer, CL_TRUE, BYTES, 1, host, 0, NULL, NULL));
	printf(" %d", clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
	printf(" %d", clEnqueueReadBufferRect(queue, buffer, CL_TRUE, none, none, none, 0, 0, 0, 0,
					      host, 0, NULL, NULL));
	must(!clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, BYTES, 1, 0, NULL, NULL,
				 NULL),
	     "a map");
	must(!clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, BYTES, 1, 0, NULL, NULL,
				 &status),
	     "a map");
	printf(" %d %d\n", status, event == (cl_event)0x77);
	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL) ==
		     CL_SUCCESS,
	     "launch");
	must(clFinish(queue) == CL_SUCCESS, "finish");
	return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_called;

/* Releases all that the program has of the command, the last of it. */
static void CL_CALLBACK release_all(cl_event event, cl_int status, void *queue)
{
	(void)status;
	clReleaseEvent(event);
	clReleaseCommandQueue(queue);
	pthread_mutex_lock(&lock);
	n_called++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

/* Commands behind events of the program's, that come, and that fail; and what is released in callbacks. */
static int user_events(void)
{
	cl_mem buffer = make_buffer();
	cl_kernel kernel = make_scale(buffer);
	const size_t global = N_ITEMS;
	cl_int status;

	for (int i = 0; i < 20; i++) {
		cl_command_queue queue = make_queue(i % 2 ? CL_QUEUE_PROFILING_ENABLE : 0);
		cl_event gate = clCreateUserEvent(context, &status), event;
		bool fails = i % 5 == 4;

		must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, &gate,
					    &event) == CL_SUCCESS,
		     "launch");
		/* PoCL calls none of those of a command that fails */
		if (!fails)
			must(clSetEventCallback(event, CL_COMPLETE, release_all, queue) ==
				     CL_SUCCESS,
			     "callback");
		must(clFlush(queue) == CL_SUCCESS, "flush");
		must(clSetUserEventStatus(gate, fails ? -1 : CL_COMPLETE) == CL_SUCCESS, "gate");
		if (fails) {
			must(clWaitForEvents(1, &event) ==
				     CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
			     "a command that failed");
			release_all(event, 0, queue);
		}
		pthread_mutex_lock(&lock);
		while (n_called <= i)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		clReleaseEvent(gate);
	}
	clReleaseKernel(kernel);
	clReleaseMemObject(buffer);
	clReleaseProgram(program);
	clReleaseContext(context);
	return 0;
}

/* What is not a kernel: copies of all sorts, fills, markers; and a queue that is out of order. */
static int commands(void)
{
	cl_mem first = make_buffer(), second = make_buffer();
	cl_command_queue queue =
		make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
	cl_kernel kernel = make_kernel("add");
	const size_t origin[3] = { 0 }, region[3] = { 256, 4, 2 }, global[2] = { 256, 16 };
	const size_t local[2] = { 16, 4 };
	cl_event events[2];
	float *mapped, one = 1;
	cl_int status;

	must(clEnqueueFillBuffer(queue, first, &one, sizeof(one), 0, BYTES, 0, NULL, &events[0]) ==
		     CL_SUCCESS,
	     "fill");
	must(clEnqueueCopyBuffer(queue, first, second, 0, 0, BYTES / 2, 1, events, &events[1]) ==
		     CL_SUCCESS,
	     "copy");
	must(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL) == CL_SUCCESS, "barrier");
	must(clEnqueueWriteBufferRect(queue, first, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
				      host, 0, NULL, NULL) == CL_SUCCESS,
	     "rectangle");
	clSetKernelArg(kernel, 0, sizeof(first), &first);
	clSetKernelArg(kernel, 1, sizeof(second), &second);
	must(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL) ==
		     CL_SUCCESS,
	     "launch");
	must(clEnqueueMarker(queue, &events[0]) == CL_SUCCESS, "marker");
	mapped = clEnqueueMapBuffer(queue, first, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL,
				    &status);
	must(mapped && status == CL_SUCCESS && mapped[N_ITEMS - 1] == 1, "map");
	must(clEnqueueUnmapMemObject(queue, first, mapped, 0, NULL, NULL) == CL_SUCCESS, "unmap");
	must(clFinish(queue) == CL_SUCCESS, "finish");
	return 0;
}

/* For ever, until it is killed. */
static int endless(void)
{
	cl_mem buffer = make_buffer();
	cl_kernel kernel = make_scale(buffer);
	cl_command_queue queue = make_queue(0);
	const size_t global = N_ITEMS;

	for (;;) {
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
		clFinish(queue);
	}
	return 0;
}

/* A kernel in each round, waited for. */
static int paced(void)
{
	cl_command_queue queue = make_queue(0);
	cl_kernel kernel = make_scale(make_buffer());
	const size_t global = N_ITEMS;
	static struct paced rounds;

	for (unsigned int i = 0; i < 100 /* warm then */ || paced_goes_on(&rounds); i++) {
		clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
		clFinish(queue);
	}
	paced_tell(&rounds);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {
		{ "profiled", profiled },	{ "unprofiled", unprofiled },
		{ "threads", threads },		{ "failing", failing },
		{ "user_events", user_events }, { "commands", commands },
		{ "endless", endless },		{ "paced", paced },
	};

	open_device();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run();
	return 2;
}
