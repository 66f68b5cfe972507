/* nccl_host VERSION SCENARIO [N]: what NCCL does with a plug-in of its profiler, without NCCL and without a GPU: opens the library that
 * NCCL_PROFILER_PLUGIN names, takes its ncclProfiler_vVERSION or, as NCCL does, the next lower one that it has, and plays N
 * all-reduces of a communicator from two threads, one that calls and one that is NCCL's proxy. The device's clock is CLOCK_MONOTONIC
 * and DEVICE_AHEAD_NS more; the proxy hears of it NOTICE_NS late. What was played is printed, for a test to compare with the run.
 *
 *     train       as it should be
 *     misuse      stops before starts and twice, unknown handles and types, parents that are gone, no descriptor for a handle,
 *                 events after the communicator's end, a channel that ends before it begins
 *     threads     each event is ended by another thread
 *     unload      the plug-in is closed while events run, which are ended then
 *     fork        a child ends what its parent began, and plays itself
 *     open        is killed in the middle
 *     pxn         an operation of another process's collective
 *     many        more events at once than anybody keeps
 *     cost        N proxy steps, and nothing else
 *
 * RANK is its rank of two (0); rank 0 sends to rank 1. NCCL_HOST_CUDA may name a libcudart.so: then it launches its kernels by that. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl/nccl_abi.h"

#define DEVICE_AHEAD_NS 987654321000u
#define NOTICE_NS	200000
#define WORK_NS		500000 /* of a channel */
#define COUNT		1048576
#define N_CHANNELS	2

static const struct nccl_plugin *plugin;
static int version;
static void *context;
static int rank;
static int mask; /* NCCL has one for all communicators */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_until(uint64_t ns)
{
	while (now_ns() < ns)
		;
}

/* --- the plug-in ---------------------------------------------------------------------------- */

static void log_nothing(int level, unsigned long flags, const char *file, int line,
			const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static void *open_plugin(int highest)
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN");
	bool is_inside = name && strcmp(name, "STATIC_PLUGIN") == 0;
	void *library = name ? dlopen(is_inside ? NULL : name, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (version = highest; library && !plugin && version >= 1; version--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
		plugin = dlsym(library, symbol);
	}
	version++;
	return library;
}

static int initialize(void)
{
	if (version <= 3)
		return plugin->init_v1(&context, &mask);
	if (version == 4)
		return plugin->init_v4(&context, &mask, "the world", 0xfeed, 1, 2, rank,
				       log_nothing);
	return plugin->init_v5(&context, 0xfeed, &mask, "the world", 1, 2, rank, log_nothing);
}

/* NCCL asks itself what the plug-in wants, and what its version has; what is wanted comes with all that is above it. */
static int is_asked(uint64_t type)
{
	static const struct {
		uint64_t type, above;
	} parents[] = {
		{ NCCL_NET_PLUGIN, NCCL_PROXY_STEP },
		{ NCCL_PROXY_STEP, NCCL_PROXY_OP },
		{ NCCL_PROXY_OP, NCCL_COLL | NCCL_P2P },
		{ NCCL_KERNEL_CH, NCCL_COLL | NCCL_P2P },
		{ NCCL_COLL, NCCL_GROUP | NCCL_COLL_API },
		{ NCCL_P2P, NCCL_GROUP | NCCL_P2P_API },
		{ NCCL_GROUP | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH, NCCL_GROUP_API },
	};
	uint64_t has = version <= 2   ? NCCL_KERNEL_CH - 1
		       : version <= 4 ? NCCL_GROUP_API - 1
		       : version == 5 ? NCCL_CE_COLL - 1
				      : NCCL_ALL_TYPES;
	uint64_t asked = (uint64_t)mask;

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++)
		if (asked & parents[i].type)
			asked |= parents[i].above;
	return (asked & has & type) != 0;
}

static void *start(uint64_t type, void *parent, struct nccl_descriptor *descriptor)
{
	void *handle = NULL;

	if (!is_asked(type))
		return NULL;
	if (version >= 5)
		descriptor->head.type = type;
	else
		descriptor->head.short_type = (uint8_t)type;
	descriptor->head.parent = parent;
	plugin->start_event(context, &handle, descriptor);
	return handle;
}

static void stop(void *handle)
{
	if (handle)
		plugin->stop_event(handle);
}

static void state(void *handle, int which, uint64_t value)
{
	union nccl_state_args args = { .timer = value };
	int highest = version <= 3   ? NCCL_CTRL_APPEND_END
		      : version == 4 ? NCCL_KERNEL_STOP
				     : NCCL_GROUP_END_BEGIN;

	if (handle && which <= highest)
		plugin->record_state(handle, which, &args);
}

/* --- a collective --------------------------------------------------------------------------- */

static void *start_coll(const char *func, void *call, void *group)
{
	struct nccl_descriptor descriptor = { 0 };

	if (version == 1) {
		descriptor.coll_v1 = (struct nccl_coll_v1){ .name = "the world",
							    .hash = 0xfeed,
							    .func = 4, /* AllReduce */
							    .count = COUNT,
							    .datatype = 7,
							    .algo = 1,
							    .proto = 0 };
	} else if (version == 2) {
		descriptor.coll_v2 = (struct nccl_coll_v2){ .name = "the world",
							    .hash = 0xfeed,
							    .func = func,
							    .count = COUNT,
							    .datatype = "ncclFloat32",
							    .algo = "RING",
							    .proto = "LL" };
	} else if (version == 3) {
		descriptor.coll_v3 = (struct nccl_coll_v3){ .name = "the world",
							    .hash = 0xfeed,
							    .func = func,
							    .count = COUNT,
							    .datatype = "ncclFloat32",
							    .algo = "RING",
							    .proto = "LL" };
	} else {
		descriptor.coll_v4 = (struct nccl_coll_v4){ .func = func,
							    .count = COUNT,
							    .datatype = "ncclFloat32",
							    .algo = "RING",
							    .proto = "LL" };
		if (version >= 5)
			descriptor.coll_v4.group = group;
	}
	return start(NCCL_COLL, version >= 5 ? call : group, &descriptor);
}

static void *start_p2p(const char *func, int peer, void *call, void *group)
{
	struct nccl_descriptor descriptor = { 0 };

	if (version == 1) {
		descriptor.p2p_v1 = (struct nccl_p2p_v1){
			.func = func[0] == 'S' ? 6 : 7, .count = COUNT, .datatype = 7, .peer = peer
		};
	} else if (version <= 3) {
		descriptor.p2p_v2 = (struct nccl_p2p_v2){
			.func = func, .count = COUNT, .datatype = "ncclFloat32", .peer = peer
		};
	} else {
		descriptor.p2p_v4 = (struct nccl_p2p_v4){
			.func = func, .count = COUNT, .datatype = "ncclFloat32", .peer = peer
		};
		if (version >= 5)
			descriptor.p2p_v4.group = group;
	}
	return start(NCCL_P2P, version >= 5 ? call : group, &descriptor);
}

/* By CUDA, where it has that. */
static int (*launch_kernel)(const void *kernel, uint64_t grid_xy, unsigned grid_z,
			    uint64_t block_xy, unsigned block_z, void **args, size_t shared,
			    void *stream);

static void open_cuda(void)
{
	const char *path = getenv("NCCL_HOST_CUDA");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*set_device)(int) = library ? (int (*)(int))dlsym(library, "cudaSetDevice") : NULL;

	if (set_device)
		set_device(0);
	if (library)
		*(void **)&launch_kernel = dlsym(library, "cudaLaunchKernel");
}

static void launch(void)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} kernel = { "ncclDevKernel_AllReduce_Sum_f32_RING_LL", WORK_NS };

	if (launch_kernel)
		launch_kernel(&kernel, UINT64_C(1) << 32 | N_CHANNELS, 1, UINT64_C(1) << 32 | 512,
			      1, NULL, 0, NULL);
}

/* What the calling thread does; the proxy's part is of what is returned. */
static void *call_all_reduce(void)
{
	static char func[] = "AllReduce", send[] = "Send", receive[] = "Recv";
	const char *p2p_func = rank == 0 ? send : receive;
	struct nccl_descriptor none = { 0 }, call_descriptor = { 0 }, p2p_descriptor = { 0 };
	void *group_call, *call, *group, *coll, *launched, *p2p_call, *p2p;

	call_descriptor.same.coll_api.func = func;
	call_descriptor.same.coll_api.count = COUNT;
	call_descriptor.same.coll_api.datatype = "ncclFloat32";
	p2p_descriptor.same.p2p_api.func = p2p_func;
	p2p_descriptor.same.p2p_api.count = COUNT;
	p2p_descriptor.same.p2p_api.datatype = "ncclFloat32";
	group_call = start(NCCL_GROUP_API, NULL, &none);
	state(group_call, NCCL_GROUP_START_END, 0);
	call = start(NCCL_COLL_API, group_call, &call_descriptor);
	stop(call);
	p2p_call = start(NCCL_P2P_API, group_call, &p2p_descriptor);
	stop(p2p_call);
	state(group_call, NCCL_GROUP_END_BEGIN, 0);
	group = start(NCCL_GROUP, NULL, &none);
	coll = start_coll(func, call, group);
	p2p = start_p2p(p2p_func, 1 - rank, p2p_call, group);
	launched = start(NCCL_KERNEL_LAUNCH, group_call, &none);
	launch();
	stop(launched);
	stop(coll);
	stop(p2p);
	stop(group);
	stop(group_call);
	return coll;
}

/* What the device and the proxy do for it. */
static uint64_t work_for(void *coll)
{
	struct nccl_descriptor op = { 0 }, step = { 0 }, net = { 0 }, none = { 0 };
	void *ops[2], *steps[2], *channels[N_CHANNELS], *nets, *control;
	struct nccl_net_ib ib = { .type = 1, .bytes = 4096 };
	uint64_t begin = now_ns(), end = begin + WORK_NS;

	control = start(NCCL_PROXY_CTRL, NULL, &none);
	state(control, NCCL_CTRL_ACTIVE, 0);
	stop(control);
	for (int i = 0; i < 2; i++) {
		op.same.proxy_op.pid = getpid();
		op.same.proxy_op.is_send = i == 0;
		op.same.proxy_op.peer = 1 - rank;
		ops[i] = start(NCCL_PROXY_OP, coll, &op);
		state(ops[i], NCCL_OP_IN_PROGRESS, 0);
		step.same.proxy_step.step = 3;
		steps[i] = start(NCCL_PROXY_STEP, ops[i], &step);
		state(steps[i], i == 0 ? NCCL_SEND_GPU_WAIT : NCCL_RECV_WAIT, 0);
	}
	wait_until(begin + NOTICE_NS);
	for (int i = 0; i < N_CHANNELS; i++) {
		struct nccl_descriptor channel = { 0 };

		channel.same.kernel_ch.channel = (uint8_t)i;
		channel.same.kernel_ch.timer = begin + DEVICE_AHEAD_NS;
		channels[i] = start(NCCL_KERNEL_CH, coll, &channel);
	}
	state(steps[0], NCCL_SEND_WAIT, 4096);
	net.same.net.id = NCCL_NET_IB;
	net.same.net.data = &ib;
	nets = start(NCCL_NET_PLUGIN, steps[0], &net);
	stop(nets);
	for (int i = 0; i < 2; i++) {
		stop(steps[i]);
		stop(ops[i]);
	}
	wait_until(end + NOTICE_NS);
	for (int i = 0; i < N_CHANNELS; i++) {
		state(channels[i], NCCL_KERNEL_STOP, end + DEVICE_AHEAD_NS);
		stop(channels[i]);
	}
	return end;
}

static void *proxy_thread(void *coll)
{
	work_for(coll);
	return NULL;
}

static void train(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pthread_t proxy;

		pthread_create(&proxy, NULL, proxy_thread, call_all_reduce());
		pthread_join(proxy, NULL);
	}
}

/* --- as it should not be ---------------------------------------------------------------------- */

static void misuse(void)
{
	struct nccl_descriptor none = { 0 }, channel = { 0 }, unknown = { 0 };
	void *coll, *op, *handle = NULL, *late;

	plugin->stop_event(NULL);
	plugin->stop_event((void *)0x12345677);
	plugin->record_state((void *)0x12345677, NCCL_SEND_WAIT, NULL);
	plugin->record_state(NULL, NCCL_SEND_WAIT, NULL);
	coll = call_all_reduce();
	stop(coll); /* again */
	state(coll, NCCL_KERNEL_STOP, 1);
	state(coll, 9999, 1);
	state(coll, -5, 1);
	none.same.proxy_op.pid = getpid();
	op = start(NCCL_PROXY_OP, (void *)0xabcdef01, &none); /* no parent of anybody's */
	plugin->record_state(op, NCCL_OP_IN_PROGRESS, NULL);
	stop(op);
	none = (struct nccl_descriptor){ 0 };
	late = start(NCCL_PROXY_STEP, op, &none);
	unknown.head.type = 1u << 20;
	plugin->start_event(context, &handle, &unknown);
	unknown.head.type = NCCL_COLL | NCCL_P2P;
	plugin->start_event(context, &handle, &unknown);
	plugin->start_event(context, NULL, &unknown);
	channel.same.kernel_ch.timer = now_ns() + DEVICE_AHEAD_NS;
	op = start(NCCL_KERNEL_CH, coll, &channel);
	state(op, NCCL_KERNEL_STOP, channel.same.kernel_ch.timer - 1000000); /* ends before */
	stop(op);
	plugin->finalize(context);
	stop(late);
	start(NCCL_GROUP, NULL, &none); /* of nobody's communicator */
	plugin->finalize(context);
}

static void *stop_in_thread(void *handle)
{
	stop(handle);
	return NULL;
}

static void stop_elsewhere(void *handle)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stop_in_thread, handle);
	pthread_join(thread, NULL);
}

static void threads(unsigned long n)
{
	static char func[] = "AllReduce";

	for (unsigned long i = 0; i < n; i++) {
		struct nccl_descriptor none = { 0 }, call = { 0 };
		void *group = start(NCCL_GROUP, NULL, &none), *api, *coll;

		call.same.coll_api.func = func;
		api = start(NCCL_COLL_API, NULL, &call);
		coll = start_coll(func, api, group);
		stop_elsewhere(api);
		stop_elsewhere(coll);
		stop_elsewhere(group);
	}
}

static void end_child(void *coll)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		stop(coll);
		initialize();
		train(1);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	stop(coll);
}

static void other_process(void)
{
	struct nccl_descriptor op = { 0 };
	void *coll = call_all_reduce(), *handle;

	op.same.proxy_op.pid = getpid() + 1;
	handle = start(NCCL_PROXY_OP, coll, &op);
	wait_until(now_ns() + 2000000);
	stop(handle);
}

static void many(void)
{
	struct nccl_descriptor none = { 0 };

	for (int i = 0; i < 20000; i++)
		start(NCCL_GROUP, NULL, &none);
}

static void cost(unsigned long n)
{
	struct nccl_descriptor step = { 0 };
	uint64_t begin = now_ns();

	for (unsigned long i = 0; i < n; i++)
		stop(start(NCCL_PROXY_STEP, NULL, &step));
	fprintf(stderr, "%.1f ns an event\n", (double)(now_ns() - begin) / (double)n);
}

int main(int argc, char **argv)
{
	const char *scenario = argc > 2 ? argv[2] : "train";
	unsigned long n = argc > 3 ? strtoul(argv[3], NULL, 10) : 10;
	void *library = open_plugin(argc > 1 ? atoi(argv[1]) : NCCL_VERSIONS), *coll;

	open_cuda();
	rank = getenv("RANK") ? atoi(getenv("RANK")) : 0;
	if (!plugin) {
		puts("no plug-in");
		return 0;
	}
	printf("%s version %d\n", plugin->name, version);
	if (initialize() != NCCL_SUCCESS) {
		puts("the plug-in does not want to");
		return 0;
	}
	if (strcmp(scenario, "train") == 0) {
		train(n);
	} else if (strcmp(scenario, "misuse") == 0) {
		misuse();
		return 0;
	} else if (strcmp(scenario, "threads") == 0) {
		threads(n);
	} else if (strcmp(scenario, "unload") == 0) {
		coll = call_all_reduce();
		plugin->finalize(context);
		dlclose(library);
		stop(coll);
		return 0;
	} else if (strcmp(scenario, "fork") == 0) {
		end_child(call_all_reduce());
	} else if (strcmp(scenario, "open") == 0) {
		struct nccl_descriptor op = { 0 };

		coll = call_all_reduce();
		op.same.proxy_op.pid = getpid();
		start(NCCL_PROXY_OP, coll, &op);
		raise(SIGKILL);
	} else if (strcmp(scenario, "pxn") == 0) {
		other_process();
	} else if (strcmp(scenario, "many") == 0) {
		many();
	} else if (strcmp(scenario, "cost") == 0) {
		cost(n);
	}
	if (plugin->finalize)
		plugin->finalize(context);
	return 0;
}
