/* latency_relay: a cable with a length, between two network namespaces.
 *
 *     latency_relay --delay-us 2000 NETNS_A:DEVICE NETNS_B:DEVICE
 *
 * makes a TAP device in each namespace and carries every frame from the one to the other, a fixed time
 * after it came. It is there where the kernel has no netem. It does not limit the rate: tbf on the
 * devices does that, as on a veth pair, so that a link with latency differs from one without in latency
 * alone. TAP and not TUN, so that a frame counts as many bytes for tbf as on Ethernet.
 *
 * It shares the cores with what is measured, so it takes little of them. Frames come and go as the kernel
 * has them, up to 64 KiB with segmentation left to the other side (virtio-net headers). And what costs most
 * is waking up: while frames are on their way it looks and hands on at ticks only, as a network card that
 * gathers its interrupts; a frame that comes when nothing is under way wakes it at once.
 *
 * (1) Frames of one direction leave in the order they came. One is seen up to a tick after it came, and
 *     leaves up to a tick after its time: half a tick each on average, which is taken off the delay. So
 *     single frames are up to a tick early or late.
 * (2) A full queue stops the reading; the device's own queue then fills, and drops as a switch would.
 * (3) The devices end with the process; the process ends with the one that started it.
 *
 * "ready" on stdout says that both devices are there. At SIGINT or SIGTERM it prints one line of JSON:
 * what it carried, how late, and the processor time it took. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	MAX_FRAME = 65536 + 64, /* the largest segment, its Ethernet and virtio-net headers */
	MAX_DELAY_US = 10 * 1000 * 1000,
	BURST = 64,	    /* frames read before the other direction has its turn */
	QUIET_TICKS = 4,    /* without a frame: nothing is under way */
	TIMER_SLACK_NS = 1, /* the kernel's default would add 50 us to every wait */
};

struct frame {
	int64_t due_ns;
	uint32_t size_bytes; /* 0: the rest of the ring is unused, the next frame is at its start */
};

/* Frames on their way: a ring of headers, each followed by its bytes. Empty where head == tail. */
struct queue {
	unsigned char *ring;
	size_t capacity_bytes;
	size_t head; /* next to leave */
	size_t tail; /* where the next to come is put */
};

struct direction {
	struct queue queue;
	int from, to;
	uint64_t frames, bytes, dropped;
	int64_t late_ns, latest_ns; /* sum, and worst */
};

static volatile sig_atomic_t is_ended;

static void end(int signal_number)
{
	(void)signal_number;
	is_ended = 1;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* --- the queue ------------------------------------------------------------------------------ */

static size_t entry_size(uint32_t size_bytes)
{
	size_t align = _Alignof(struct frame);

	return (sizeof(struct frame) + size_bytes + align - 1) / align * align;
}

/* Where a frame of any size may be put, or NULL: full. One byte stays free, so that full is not empty;
 * room for a header stays free at the ring's end, so that there is one to say that the rest is unused. */
static struct frame *queue_reserve(struct queue *queue)
{
	size_t need = entry_size(MAX_FRAME) + sizeof(struct frame);

	if (queue->tail >= queue->head) {
		if (queue->capacity_bytes - queue->tail > need)
			return (struct frame *)(queue->ring + queue->tail);
		if (queue->head <= need)
			return NULL;
		((struct frame *)(queue->ring + queue->tail))->size_bytes = 0;
		queue->tail = 0;
	}
	return queue->head - queue->tail > need ? (struct frame *)(queue->ring + queue->tail)
						: NULL;
}

static void queue_commit(struct queue *queue, const struct frame *frame)
{
	queue->tail += entry_size(frame->size_bytes);
}

static struct frame *queue_borrow_first(struct queue *queue)
{
	struct frame *frame = (struct frame *)(queue->ring + queue->head);

	if (queue->head == queue->tail)
		return NULL;
	if (frame->size_bytes > 0)
		return frame;
	queue->head = 0;
	return queue->head == queue->tail ? NULL : (struct frame *)queue->ring;
}

static void queue_drop_first(struct queue *queue, const struct frame *frame)
{
	queue->head += entry_size(frame->size_bytes);
}

/* --- carrying ------------------------------------------------------------------------------- */

/* Take what has come, to leave at `due_ns`. Returns how many frames. */
static int take_frames(struct direction *direction, int64_t due_ns)
{
	for (int i = 0; i < BURST; i++) {
		struct frame *frame = queue_reserve(&direction->queue);
		ssize_t size_bytes;

		if (!frame)
			return i;
		size_bytes = read(direction->from, frame + 1, MAX_FRAME);
		if (size_bytes <= 0)
			return i;
		frame->due_ns = due_ns;
		frame->size_bytes = (uint32_t)size_bytes;
		queue_commit(&direction->queue, frame);
	}
	return BURST;
}

static void count_frame(struct direction *direction, const struct frame *frame, int64_t late_ns)
{
	direction->frames++;
	direction->bytes += frame->size_bytes;
	direction->late_ns += late_ns;
	if (late_ns > direction->latest_ns)
		direction->latest_ns = late_ns;
}

/* Let go what is due. Returns whether more is on its way. */
static bool give_frames(struct direction *direction)
{
	struct frame *frame;

	while ((frame = queue_borrow_first(&direction->queue))) {
		int64_t now = now_ns();

		if (frame->due_ns > now)
			return true;
		/* a device that is down takes nothing, as an unplugged cable */
		if (write(direction->to, frame + 1, frame->size_bytes) < 0)
			direction->dropped++;
		else
			count_frame(direction, frame, now - frame->due_ns);
		queue_drop_first(&direction->queue, frame);
	}
	return false;
}

/* Until the next tick, or when nothing is under way until a frame comes. */
static void wait_for_frames(const struct direction directions[2], bool is_quiet, int64_t tick_ns,
			    const sigset_t *while_waiting)
{
	struct timespec tick = { tick_ns / 1000000000, tick_ns % 1000000000 };
	struct pollfd polls[2];

	for (int i = 0; i < 2; i++)
		polls[i] = (struct pollfd){ .fd = directions[i].from, .events = POLLIN };
	ppoll(polls, is_quiet ? 2 : 0, is_quiet ? NULL : &tick, while_waiting);
}

static void carry(struct direction directions[2], int64_t delay_ns, int64_t tick_ns,
		  const sigset_t *while_waiting)
{
	int n_quiet = QUIET_TICKS; /* ticks since the last frame */

	while (!is_ended) {
		/* one that woke us has just come, one of a tick came half a tick ago on average */
		int64_t off_ns = n_quiet < QUIET_TICKS ? tick_ns : tick_ns / 2;
		int64_t due_ns = now_ns() + delay_ns - off_ns;
		bool is_under_way = false;

		n_quiet++;
		for (int i = 0; i < 2; i++) {
			if (take_frames(&directions[i], due_ns) > 0)
				n_quiet = 0;
			if (give_frames(&directions[i]))
				is_under_way = true;
		}
		if (is_under_way)
			n_quiet = 0;
		wait_for_frames(directions, n_quiet >= QUIET_TICKS, tick_ns, while_waiting);
	}
}

/* --- the ends ------------------------------------------------------------------------------- */

static int fail(const char *what, const char *where)
{
	fprintf(stderr, "latency_relay: %s %s: %s\n", what, where, strerror(errno));
	return -1;
}

static int enter_namespace(const char *name)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "/run/netns/%s", name) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return fail("cannot enter namespace", name);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail("cannot open", path);
	if (setns(fd, CLONE_NEWNET) < 0) {
		close(fd);
		return fail("cannot enter namespace", name);
	}
	close(fd);
	return 0;
}

/* A TAP device of that name in the present namespace: its descriptor, or -1. */
static int make_tap(const char *device)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return fail("cannot open", "/dev/net/tun");
	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &request) < 0 ||
	    ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) < 0) {
		fail("cannot make the device", device);
		close(fd);
		return -1;
	}
	return fd;
}

/* `end` is NETNS:DEVICE, and is cut at the colon. */
static int open_end(char *end)
{
	char *colon = strchr(end, ':');

	if (!colon || colon == end || !colon[1] || strlen(colon + 1) >= IFNAMSIZ) {
		fprintf(stderr, "latency_relay: '%s' is not NETNS:DEVICE\n", end);
		return -1;
	}
	*colon = '\0';
	return enter_namespace(end) < 0 ? -1 : make_tap(colon + 1);
}

static bool init_direction(struct direction *direction, int from, int to, size_t queue_bytes)
{
	*direction = (struct direction){ .from = from, .to = to };
	direction->queue.capacity_bytes = queue_bytes;
	direction->queue.ring = malloc(queue_bytes);
	return direction->queue.ring;
}

/* Before the ranks on their cores: what waits for a time slice would be longer than the latency. */
static void take_precedence(void)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0 && setpriority(PRIO_PROCESS, 0, -20) < 0)
		fail("goes on without precedence over others", "(delays may be longer)");
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
}

/* The signals that end it reach it only while it waits: none can be missed. */
static void watch_signals(sigset_t *ret_while_waiting)
{
	struct sigaction action = { .sa_handler = end };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, ret_while_waiting);
	sigdelset(ret_while_waiting, SIGINT);
	sigdelset(ret_while_waiting, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void print_totals(const struct direction directions[2])
{
	struct rusage usage;
	uint64_t frames = directions[0].frames + directions[1].frames;
	int64_t late_ns = directions[0].late_ns + directions[1].late_ns;
	int64_t latest_ns = directions[0].latest_ns > directions[1].latest_ns
				    ? directions[0].latest_ns
				    : directions[1].latest_ns;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"frames\": %llu, \"bytes\": %llu, \"dropped\": %llu, \"mean_late_us\": %.1f, "
	       "\"worst_late_us\": %.1f, \"cpu_s\": %.3f}\n",
	       (unsigned long long)frames,
	       (unsigned long long)(directions[0].bytes + directions[1].bytes),
	       (unsigned long long)(directions[0].dropped + directions[1].dropped),
	       frames ? (double)late_ns / (double)frames / 1e3 : 0, (double)latest_ns / 1e3,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/* A whole number in [low, high], or exit. */
static long parse_number(const char *option, const char *text, long low, long high)
{
	char *rest;
	long number;

	errno = 0;
	number = strtol(text, &rest, 10);
	if (errno || rest == text || *rest || number < low || number > high) {
		fprintf(stderr, "latency_relay: --%s takes a number from %ld to %ld, not '%s'\n",
			option, low, high, text);
		exit(EXIT_USAGE);
	}
	return number;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay-us", required_argument, NULL, 'd' },
		{ "tick-us", required_argument, NULL, 't' },
		{ "queue-mb", required_argument, NULL, 'q' },
		{ NULL, 0, NULL, 0 },
	};
	struct direction directions[2];
	long delay_us = 0, tick_us = 200, queue_mb = 16;
	sigset_t while_waiting;
	int option, ends[2];

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd')
			delay_us = parse_number("delay-us", optarg, 0, MAX_DELAY_US);
		else if (option == 't')
			tick_us = parse_number("tick-us", optarg, 1, MAX_DELAY_US);
		else if (option == 'q')
			queue_mb = parse_number("queue-mb", optarg, 1, 1024);
		else
			return EXIT_USAGE;
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: latency_relay [--delay-us N] [--tick-us N] "
				"[--queue-mb N] "
				"NETNS:DEVICE NETNS:DEVICE\n");
		return EXIT_USAGE;
	}
	for (int i = 0; i < 2; i++) {
		ends[i] = open_end(argv[optind + i]);
		if (ends[i] < 0)
			return EXIT_USAGE;
	}
	for (int i = 0; i < 2; i++)
		if (!init_direction(&directions[i], ends[i], ends[!i], (size_t)queue_mb << 20)) {
			fail("cannot have", "its queues");
			return EXIT_FAILURE;
		}
	watch_signals(&while_waiting);
	take_precedence();
	puts("ready");
	fflush(stdout);
	carry(directions, delay_us * 1000LL, tick_us * 1000LL, &while_waiting);
	print_totals(directions);
	for (int i = 0; i < 2; i++) {
		free(directions[i].queue.ring);
		close(ends[i]);
	}
	return EXIT_SUCCESS;
}
