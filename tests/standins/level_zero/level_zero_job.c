/* level_zero_job SCENARIO [N]: a program that uses Level Zero through the real loader. It says where its own events are not as they would be without a tool. With
 * LOOKED_UP=1 it looks all functions up by itself, as programs do that have the loader linked statically.
 *
 *     train      N rounds of memory, copies, kernels, fills and barriers: in a list that is executed, and in an immediate one
 *     twice      a list is executed three times, the second time while the first runs
 *     reuse      one event for N kernels, reset by the host behind each
 *     overwrite  one event for two kernels of a list; and reset between two by the device
 *     flight     lists, queues and the context are destroyed while kernels run
 *     threads    four threads, each with a list of its own
 *     idle       N calls of a function that does nothing, for what a call costs: prints nanoseconds a call; with EMPTY_TRACER=1 behind callbacks that do nothing
 *     append     the same of kernels put into a list, of which each gets an event where somebody follows them */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/ze_api.h>

#define FUNCTIONS(FUNCTION)                                                                        \
	FUNCTION(zeInit)                                                                           \
	FUNCTION(zeDriverGet)                                                                      \
	FUNCTION(zeDeviceGet)                                                                      \
	FUNCTION(zeContextCreate)                                                                  \
	FUNCTION(zeContextDestroy)                                                                 \
	FUNCTION(zeCommandQueueCreate)                                                             \
	FUNCTION(zeCommandQueueDestroy)                                                            \
	FUNCTION(zeCommandQueueExecuteCommandLists)                                                \
	FUNCTION(zeCommandQueueSynchronize)                                                        \
	FUNCTION(zeCommandListCreate)                                                              \
	FUNCTION(zeCommandListCreateImmediate)                                                     \
	FUNCTION(zeCommandListDestroy)                                                             \
	FUNCTION(zeCommandListClose)                                                               \
	FUNCTION(zeCommandListReset)                                                               \
	FUNCTION(zeCommandListAppendBarrier)                                                       \
	FUNCTION(zeCommandListAppendMemoryCopy)                                                    \
	FUNCTION(zeCommandListAppendMemoryFill)                                                    \
	FUNCTION(zeCommandListAppendLaunchKernel)                                                  \
	FUNCTION(zeCommandListAppendEventReset)                                                    \
	FUNCTION(zeEventPoolCreate)                                                                \
	FUNCTION(zeEventPoolDestroy)                                                               \
	FUNCTION(zeEventCreate)                                                                    \
	FUNCTION(zeEventDestroy)                                                                   \
	FUNCTION(zeEventHostReset)                                                                 \
	FUNCTION(zeEventHostSynchronize)                                                           \
	FUNCTION(zeEventQueryStatus)                                                               \
	FUNCTION(zeModuleCreate)                                                                   \
	FUNCTION(zeModuleDestroy)                                                                  \
	FUNCTION(zeKernelCreate)                                                                   \
	FUNCTION(zeKernelDestroy)                                                                  \
	FUNCTION(zeKernelSetGroupSize)                                                             \
	FUNCTION(zeMemAllocDevice)                                                                 \
	FUNCTION(zeMemAllocHost)                                                                   \
	FUNCTION(zeMemAllocShared)                                                                 \
	FUNCTION(zeMemFree)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} ze = {
#define LINKED(name) .name = name,
	FUNCTIONS(LINKED)
#undef LINKED
};

static ze_device_handle_t devices[2];
static ze_context_handle_t context;
static ze_module_handle_t module;
static ze_kernel_handle_t gemm, add, slow;
static const ze_group_count_t groups = { 64, 2, 1 };

static void look_up(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW);

#define LOOK_UP(name) ze.name = (__typeof__(name) *)dlsym(loader, #name);
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

static bool is_faulty(void)
{
	return getenv("STANDIN_FAULTS") && *getenv("STANDIN_FAULTS");
}

static void must(ze_result_t result, const char *what)
{
	if (result != ZE_RESULT_SUCCESS && !is_faulty())
		printf("%s: %x\n", what, (unsigned)result);
}

static ze_kernel_handle_t new_kernel(const char *name)
{
	const ze_kernel_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
					  .pKernelName = name };
	ze_kernel_handle_t kernel = NULL;

	must(ze.zeKernelCreate(module, &wanted, &kernel), "zeKernelCreate");
	ze.zeKernelSetGroupSize(kernel, 32, 4, 1);
	return kernel;
}

static void begin(void)
{
	const ze_context_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	const ze_module_desc_t code = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC };
	ze_driver_handle_t driver;
	uint32_t n = 1;

	if (ze.zeInit(0) != ZE_RESULT_SUCCESS) {
		puts("no driver");
		exit(1);
	}
	ze.zeDriverGet(&n, &driver);
	n = 2;
	ze.zeDeviceGet(driver, &n, devices);
	must(ze.zeContextCreate(driver, &wanted, &context), "zeContextCreate");
	must(ze.zeModuleCreate(context, devices[0], &code, &module, NULL), "zeModuleCreate");
	gemm = new_kernel("gemm_40000");
	add = new_kernel("add_10000");
	slow = new_kernel("slow_5000000");
}

static void end(void)
{
	ze.zeKernelDestroy(gemm);
	ze.zeKernelDestroy(add);
	ze.zeKernelDestroy(slow);
	ze.zeModuleDestroy(module);
	must(ze.zeContextDestroy(context), "zeContextDestroy");
}

static ze_command_queue_handle_t new_queue(void)
{
	const ze_command_queue_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
						 .ordinal = 1 };
	ze_command_queue_handle_t queue = NULL;

	must(ze.zeCommandQueueCreate(context, devices[0], &wanted, &queue), "zeCommandQueueCreate");
	return queue;
}

static ze_command_list_handle_t new_list(void)
{
	const ze_command_list_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
						.commandQueueGroupOrdinal = 1 };
	ze_command_list_handle_t list = NULL;

	must(ze.zeCommandListCreate(context, devices[0], &wanted, &list), "zeCommandListCreate");
	return list;
}

static ze_command_list_handle_t new_immediate(void)
{
	const ze_command_queue_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_handle_t list = NULL;

	must(ze.zeCommandListCreateImmediate(context, devices[0], &wanted, &list),
	     "zeCommandListCreateImmediate");
	return list;
}

static void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
		   ze_event_handle_t event)
{
	must(ze.zeCommandListAppendLaunchKernel(list, kernel, &groups, event, 0, NULL), "launch");
}

/* --- events ----------------------------------------------------------------------------------- */

static ze_event_pool_handle_t new_pool(void)
{
	const ze_event_pool_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					      .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					      .count = 16 };
	ze_event_pool_handle_t pool = NULL;

	must(ze.zeEventPoolCreate(context, &wanted, 0, NULL, &pool), "zeEventPoolCreate");
	if (wanted.flags != ZE_EVENT_POOL_FLAG_HOST_VISIBLE)
		puts("the program's own description was changed");
	return pool;
}

static ze_event_handle_t new_event(ze_event_pool_handle_t pool)
{
	const ze_event_desc_t wanted = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_handle_t event = NULL;

	must(ze.zeEventCreate(pool, &wanted, &event), "zeEventCreate");
	return event;
}

static void expect(ze_event_handle_t event, ze_result_t status, const char *when)
{
	ze_result_t found = ze.zeEventQueryStatus(event);

	if (found != status && !is_faulty())
		printf("an event is %x %s\n", (unsigned)found, when);
}

/* --- scenarios -------------------------------------------------------------------------------- */

static void train(int n)
{
	const ze_device_mem_alloc_desc_t on_device = {
		.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
	};
	const ze_host_mem_alloc_desc_t on_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_command_queue_handle_t queue = new_queue();
	ze_command_list_handle_t immediate = new_immediate();
	static char data[16384];
	const char zero = 0;

	for (int i = 0; i < n; i++) {
		ze_command_list_handle_t list = new_list();
		void *device, *other, *host, *shared;

		ze.zeMemAllocDevice(context, &on_device, sizeof(data), 64, devices[0], &device);
		ze.zeMemAllocDevice(context, &on_device, sizeof(data), 64, devices[1], &other);
		ze.zeMemAllocHost(context, &on_host, sizeof(data), 64, &host);
		ze.zeMemAllocShared(context, &on_device, &on_host, sizeof(data), 64, devices[0],
				    &shared);
		ze.zeCommandListAppendMemoryCopy(immediate, device, data, sizeof(data), NULL, 0,
						 NULL);
		ze.zeCommandListAppendMemoryCopy(list, other, device, 8192, NULL, 0, NULL);
		launch(list, gemm, NULL);
		launch(list, add, NULL);
		must(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL), "barrier");
		ze.zeCommandListAppendMemoryFill(list, device, &zero, 1, 4096, NULL, 0, NULL);
		ze.zeCommandListAppendMemoryCopy(list, host, device, 4096, NULL, 0, NULL);
		ze.zeCommandListAppendMemoryCopy(list, shared, host, 2048, NULL, 0, NULL);
		ze.zeCommandListClose(list);
		ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
		must(ze.zeCommandQueueSynchronize(queue, UINT64_MAX), "synchronize");
		ze.zeCommandListDestroy(list);
		ze.zeMemFree(context, device);
		ze.zeMemFree(context, other);
		ze.zeMemFree(context, host);
		ze.zeMemFree(context, shared);
	}
	ze.zeCommandListDestroy(immediate);
	ze.zeCommandQueueDestroy(queue);
}

static void twice(void)
{
	ze_command_queue_handle_t queue = new_queue();
	ze_command_list_handle_t list = new_list();

	launch(list, slow, NULL);
	launch(list, add, NULL);
	ze.zeCommandListClose(list);
	ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
	ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
	ze.zeCommandQueueSynchronize(queue, UINT64_MAX);
	ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
	ze.zeCommandQueueSynchronize(queue, UINT64_MAX);
	ze.zeCommandListReset(list);
	launch(list, add, NULL);
	ze.zeCommandListClose(list);
	ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
	ze.zeCommandQueueSynchronize(queue, UINT64_MAX);
	ze.zeCommandListDestroy(list);
	ze.zeCommandQueueDestroy(queue);
}

static void reuse(int n)
{
	ze_command_list_handle_t list = new_immediate();
	ze_event_pool_handle_t pool = new_pool();
	ze_event_handle_t event = new_event(pool);

	for (int i = 0; i < n; i++) {
		launch(list, i % 2 ? gemm : add, event);
		ze.zeEventHostSynchronize(event, UINT64_MAX);
		expect(event, ZE_RESULT_SUCCESS, "when its kernel is done");
		ze.zeEventHostReset(event);
		expect(event, ZE_RESULT_NOT_READY, "when it was reset");
	}
	ze.zeEventDestroy(event);
	ze.zeEventPoolDestroy(pool);
	ze.zeCommandListDestroy(list);
}

static void overwrite(void)
{
	ze_command_queue_handle_t queue = new_queue();
	ze_command_list_handle_t list = new_list();
	ze_event_pool_handle_t pool = new_pool();
	ze_event_handle_t event = new_event(pool), other = new_event(pool);

	launch(list, gemm, event);
	launch(list, add, event);
	launch(list, gemm, other);
	ze.zeCommandListAppendEventReset(list, other);
	launch(list, add, other);
	ze.zeCommandListClose(list);
	ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
	ze.zeCommandQueueSynchronize(queue, UINT64_MAX);
	ze.zeEventDestroy(event); /* the list still names it */
	ze.zeEventDestroy(other);
	ze.zeEventPoolDestroy(pool);
	ze.zeCommandListDestroy(list);
	ze.zeCommandQueueDestroy(queue);
}

static void flight(int n)
{
	for (int i = 0; i < n; i++) {
		ze_command_queue_handle_t queue = new_queue();
		ze_command_list_handle_t list = new_list(), immediate = new_immediate();

		launch(list, gemm, NULL);
		launch(immediate, gemm, NULL);
		ze.zeCommandListClose(list);
		ze.zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL);
		ze.zeCommandListDestroy(list);
		ze.zeCommandListDestroy(immediate);
		ze.zeCommandQueueDestroy(queue);
	}
}

static void *work(void *n)
{
	ze_command_list_handle_t list = new_immediate();
	ze_event_pool_handle_t pool = new_pool();

	for (int i = 0; i < *(int *)n; i++) {
		ze_event_handle_t event = new_event(pool);

		launch(list, gemm, NULL);
		launch(list, add, event);
		ze.zeEventHostSynchronize(event, UINT64_MAX);
		ze.zeEventDestroy(event);
	}
	ze.zeEventPoolDestroy(pool);
	ze.zeCommandListDestroy(list);
	return NULL;
}

static void threads(int n)
{
	pthread_t all[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, work, &n);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void ZE_APICALL nothing(ze_command_list_close_params_t *params, ze_result_t result,
			       void *data, void **own)
{
	(void)params, (void)result, (void)data, (void)own;
}

static void trace_emptily(void)
{
	static char data;
	const zel_tracer_desc_t wanted = { .stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC,
					   .pUserData = &data };
	zel_core_callbacks_t callbacks = { .CommandList.pfnCloseCb = nothing };
	zel_tracer_handle_t tracer;

	if (zelTracerCreate(&wanted, &tracer) != ZE_RESULT_SUCCESS)
		return;
	zelTracerSetPrologues(tracer, &callbacks);
	zelTracerSetEpilogues(tracer, &callbacks);
	zelTracerSetEnabled(tracer, true);
}

static void cost(int n, bool is_append)
{
	ze_command_list_handle_t list = new_list();
	double began, least = 1e9;

	if (getenv("EMPTY_TRACER"))
		trace_emptily();
	for (int round = 0; round < 9; round++) {
		ze.zeCommandListReset(list);
		began = seconds();
		for (int i = 0; i < n; i++)
			if (is_append)
				ze.zeCommandListAppendLaunchKernel(list, gemm, &groups, NULL, 0,
								   NULL);
			else
				ze.zeCommandListClose(list);
		if (seconds() - began < least)
			least = seconds() - began;
	}
	fprintf(stderr, "%.1f\n", 1e9 * least / n);
	ze.zeCommandListDestroy(list);
}

int main(int argc, char **argv)
{
	const char *scenario = argc > 1 ? argv[1] : "train";
	int n = argc > 2 ? atoi(argv[2]) : 10;

	if (getenv("LOOKED_UP"))
		look_up();
	begin();
	if (strcmp(scenario, "train") == 0)
		train(n);
	else if (strcmp(scenario, "twice") == 0)
		twice();
	else if (strcmp(scenario, "reuse") == 0)
		reuse(n);
	else if (strcmp(scenario, "overwrite") == 0)
		overwrite();
	else if (strcmp(scenario, "flight") == 0)
		flight(n);
	else if (strcmp(scenario, "threads") == 0)
		threads(n);
	else if (strcmp(scenario, "idle") == 0 || strcmp(scenario, "append") == 0)
		cost(n, *scenario == 'a');
	end();
	puts("done");
	return 0;
}
