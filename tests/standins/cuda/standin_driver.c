/* standin_driver: in place of libcuda.so.1: loads the library that CUDA_INJECTION64_PATH names when it is first used, and has streams that
 * work. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"
#include "standin_cuda.h"

#define N_STREAMS 64

static struct standin_hooks hooks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t stream_end[N_STREAMS];
static uint32_t n_correlations;
static _Thread_local uint32_t depth, outermost;
static char context;

struct standin_hooks *standin_hooks(void)
{
	return &hooks;
}

bool standin_has_fault(const char *fault)
{
	const char *faults = getenv("STANDIN_FAULTS"), *found = faults;
	size_t length = strlen(fault);

	while (found && (found = strstr(found, fault))) {
		if ((found == faults || found[-1] == ',') &&
		    (!found[length] || found[length] == ','))
			return true;
		found += length;
	}
	return false;
}

uint64_t standin_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t standin_next_correlation(void)
{
	return __atomic_add_fetch(&n_correlations, 1, __ATOMIC_RELAXED);
}

unsigned *standin_captures(void)
{
	static unsigned n;

	return &n;
}

uint32_t standin_correlation(void)
{
	return outermost;
}

static void enter(struct standin_call *call, uint32_t domain, uint32_t id, const char *name,
		  const char *symbol, const void *parameters)
{
	*call = (struct standin_call){ .domain = domain, .id = id };
	call->told = (struct cupti_call){ .site = CUPTI_ENTER,
					  .symbol = symbol,
					  .function = name,
					  .parameters = parameters,
					  .context = &context,
					  .context_id = 1,
					  .data = &call->data,
					  .correlation = standin_next_correlation() };
	if (!depth++)
		outermost = call->told.correlation;
	if (hooks.call && !standin_has_fault("noenter"))
		hooks.call(domain, id, &call->told);
}

void standin_enter(struct standin_call *call, uint32_t domain, uint32_t id, const char *name,
		   const void *parameters)
{
	enter(call, domain, id, name, NULL, parameters);
}

void standin_enter_launch(struct standin_call *call, uint32_t domain, uint32_t id, const char *name,
			  const char *symbol)
{
	enter(call, domain, id, name, symbol, NULL);
}

int standin_leave(struct standin_call *call, int result)
{
	call->told.site = CUPTI_EXIT;
	call->result = result;
	call->told.result = &call->result;
	if (hooks.call && !standin_has_fault("noexit"))
		hooks.call(call->domain, call->id, &call->told);
	depth--;
	return result;
}

void standin_work(unsigned stream, uint64_t ns, uint64_t *start, uint64_t *end)
{
	uint64_t now = standin_now_ns() + 2000;

	pthread_mutex_lock(&lock);
	*start = stream_end[stream % N_STREAMS] > now ? stream_end[stream % N_STREAMS] : now;
	*end = stream_end[stream % N_STREAMS] = *start + ns;
	pthread_mutex_unlock(&lock);
}

void standin_truth(const char *kind, unsigned stream, uint64_t start, uint64_t end,
		   uint32_t correlation)
{
	static int fd = -1;
	char line[128];
	int length;

	if (fd < 0 && getenv("STANDIN_TRUTH"))
		fd = open(getenv("STANDIN_TRUTH"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0)
		return;
	length = snprintf(line, sizeof(line), "%s %u %llu %llu %u\n", kind, stream,
			  (unsigned long long)start, (unsigned long long)end, correlation);
	if (write(fd, line, (size_t)length) < 0)
		abort();
}

int cuInit(unsigned flags)
{
	/* other threads wait until all is there; what is injected may call us */
	static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pid_t initialized_in;
	const char *injection = getenv("CUDA_INJECTION64_PATH");
	struct cupti_resource made = { .context = &context };
	void *library;
	int (*initialize)(void);

	(void)flags;
	pthread_mutex_lock(&lock);
	if (initialized_in == getpid()) {
		pthread_mutex_unlock(&lock);
		return 0;
	}
	initialized_in = getpid();
	library = injection && *injection ? dlopen(strcmp(injection, "INSIDE") ? injection : NULL,
						   RTLD_LAZY | RTLD_LOCAL)
					  : NULL;
	initialize = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
	if (initialize)
		initialize();
	if (hooks.node &&
	    !standin_has_fault("nocontext")) /* a real context is made a little later */
		hooks.node(CUPTI_CONTEXT_CREATED, &made);
	pthread_mutex_unlock(&lock);
	return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	static uint64_t next = 0x7f0000000000;
	const struct {
		uint64_t *address;
		size_t bytes;
	} parameters = { address, bytes };
	struct standin_call call;

	cuInit(0);
	standin_enter(&call, CUPTI_DRIVER_API, 243, "cuMemAlloc_v2", &parameters);
	*address = __atomic_fetch_add(&next, (bytes + 511) & ~(size_t)511, __ATOMIC_RELAXED);
	return standin_leave(&call, 0);
}

static void tell_kernel(const struct standin_kernel *kernel, unsigned stream, unsigned grid,
			unsigned block, unsigned shared, uint64_t node)
{
	struct cupti_kernel record = { .kind = CUPTI_CONCURRENT_KERNEL,
				       .registers = 32,
				       .context = 1,
				       .stream = stream,
				       .grid = { (int32_t)grid, 1, 1 },
				       .block = { (int32_t)block, 1, 1 },
				       .dynamic_shared = (int32_t)shared,
				       .correlation = outermost,
				       .name = kernel->name,
				       .graph_node = node };

	standin_work(stream, kernel->ns, &record.start, &record.end);
	record.queued = standin_now_ns();
	record.submitted = record.queued + 1000;
	record.completed = record.end;
	if (hooks.activity)
		hooks.activity(&record, sizeof(record), record.end);
	standin_truth("kernel", stream, record.start, record.end, record.correlation);
}

/* A launch within a graph: what cuGraphLaunch() does. */
void standin_launch_node(const struct standin_kernel *kernel, unsigned stream, uint64_t node);
void standin_launch_node(const struct standin_kernel *kernel, unsigned stream, uint64_t node)
{
	tell_kernel(kernel, stream, 8, 64, 0, node);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
	struct standin_call call;

	(void)gy, (void)gz, (void)by, (void)bz, (void)parameters, (void)extra;
	cuInit(0);
	standin_enter_launch(&call, CUPTI_DRIVER_API, 307, "cuLaunchKernel",
			     ((const struct standin_kernel *)function)->name);
	if (!outermost)
		outermost = call.told.correlation;
	tell_kernel(function, stream ? *(unsigned *)stream : 7, gx, bx, shared, 0);
	return standin_leave(&call, 0);
}
