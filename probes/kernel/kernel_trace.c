#include "kernel/kernel_trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel/call_names.h"
#include "kernel/kernel_events.h"
#include "trace/trace_layout.h"

#define CTF_MAGIC	0xC1FC1FC1u
#define MAX_HELD_BYTES	(256u << 20) /* of events that have not been written: more are lost */
#define MAX_EVENT_BYTES 512
#define CTF_FOLDER                                                                                 \
	"kernel" /* as LTTng has it: all other files of a CTF trace's folder would be streams */
#define MAX_NAMES  100 /* of traces in one run */
#define CALL_BYTES 32

/* EVENT(enumerator, name, fields in CTF's language) */
#define KERNEL_TRACE_EVENTS(EVENT)                                                                 \
	EVENT(OFF_CPU, "off_cpu",                                                                  \
	      "u64 out; u64 wake; u64 major_faults; u64 minor_faults; u32 cpu; u32 other_pid; "    \
	      "u32 other_tid; u32 waker_pid; u32 waker_tid; u8 other_is_kernel; string call; "     \
	      "string other; string waker;")                                                       \
	EVENT(RECLAIM, "reclaim", "u64 begin; u64 pages;")                                         \
	EVENT(BLOCK_IO, "block_io",                                                                \
	      "u64 queued; u64 issued; u64 sector; u32 bytes; i32 error; string operation; "       \
	      "string device;")                                                                    \
	EVENT(RETRANSMIT, "retransmit",                                                            \
	      "u64 waited; u64 round_trip; u8 is_timeout; string local; string peer; "             \
	      "string link;")                                                                      \
	EVENT(SUMS, "thread_sums",                                                                 \
	      "u64 run; u64 wait; u64 given_up; u64 taken; u64 minor_faults; u64 major_faults; "   \
	      "u64 io_wait;")

enum trace_event {
#define EVENT_ENUM(enumerator, name, fields) EVENT_##enumerator,
	KERNEL_TRACE_EVENTS(EVENT_ENUM)
#undef EVENT_ENUM
};

static const struct {
	const char *name, *fields;
} classes[] = {
#define EVENT_TEXT(enumerator, name, fields) { name, fields },
	KERNEL_TRACE_EVENTS(EVENT_TEXT)
#undef EVENT_TEXT
};

/* An event that is not written yet. */
struct held {
	uint64_t stamp;
	uint64_t number; /* events of one time stay in the order in which they came */
	size_t offset;	 /* in the bytes */
	uint32_t size_bytes;
};

struct kernel_trace {
	char folder[4000], hidden[4096], name[4096];
	int fd; /* of the stream */
	uint8_t uuid[16];
	uint64_t tick_ns; /* of the kernel's timers */
	struct held *held;
	size_t n_held, held_room;
	uint8_t *bytes;
	size_t n_bytes, room_bytes;
	uint64_t n_events, n_unheld, last_stamp;
};

/* --- bytes ---------------------------------------------------------------------------------- */

/* An event that is being encoded; one that does not fit is cut at its end, which is a text. */
struct encoded {
	uint8_t bytes[MAX_EVENT_BYTES];
	uint32_t n;
};

static void put(struct encoded *to, const void *from, size_t n)
{
	if (n > sizeof(to->bytes) - to->n)
		return;
	memcpy(to->bytes + to->n, from, n);
	to->n += (uint32_t)n;
}

static void put_u8(struct encoded *to, uint8_t value)
{
	put(to, &value, sizeof(value));
}

static void put_u32(struct encoded *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

static void put_u64(struct encoded *to, uint64_t value)
{
	put(to, &value, sizeof(value));
}

static void put_text(struct encoded *to, const char *text, size_t most)
{
	put(to, text, strnlen(text, most));
	put_u8(to, 0);
}

static void begin_event(struct encoded *to, enum trace_event event, uint64_t stamp, uint32_t pid,
			uint32_t tid)
{
	to->n = 0;
	put_u32(to, event);
	put_u64(to, stamp);
	put_u32(to, pid);
	put_u32(to, tid);
}

static int grow(void **rows, size_t *room, size_t wanted, size_t row_bytes)
{
	size_t more = *room ? 2 * *room : 4096;
	void *grown;

	if (wanted <= *room)
		return 1;
	while (more < wanted)
		more *= 2;
	grown = realloc(*rows, more * row_bytes);
	if (!grown)
		return 0;
	*rows = grown;
	*room = more;
	return 1;
}

static void hold(struct kernel_trace *trace, const struct encoded *event, uint64_t stamp)
{
	struct held held = { .stamp = stamp,
			     .number = trace->n_events,
			     .offset = trace->n_bytes,
			     .size_bytes = event->n };

	if (trace->n_bytes + event->n > MAX_HELD_BYTES ||
	    !grow((void **)&trace->held, &trace->held_room, trace->n_held + 1,
		  sizeof(*trace->held)) ||
	    !grow((void **)&trace->bytes, &trace->room_bytes, trace->n_bytes + event->n, 1)) {
		trace->n_unheld++;
		return;
	}
	memcpy(trace->bytes + trace->n_bytes, event->bytes, event->n);
	trace->n_bytes += event->n;
	trace->held[trace->n_held++] = held;
	trace->n_events++;
}

/* --- events --------------------------------------------------------------------------------- */

/* What a thread was in when it went off its core: nothing where another took it. */
static void write_call(const struct kernel_off_cpu *event, char text[CALL_BYTES])
{
	const char *name = "";

	if (event->call == KERNEL_CALL_FAULT)
		name = "page fault";
	else if (event->call >= 0 && event->wake_ns)
		name = call_name(event->call);
	if (name)
		snprintf(text, CALL_BYTES, "%s", name);
	else
		snprintf(text, CALL_BYTES, "call %d", event->call);
}

static void add_off_cpu(struct kernel_trace *trace, const struct kernel_off_cpu *event)
{
	struct encoded to;
	char call[CALL_BYTES];

	write_call(event, call);
	begin_event(&to, EVENT_OFF_CPU, event->event.stamp, event->event.pid, event->event.tid);
	put_u64(&to, event->out_ns);
	put_u64(&to, event->wake_ns);
	put_u64(&to, event->major_faults);
	put_u64(&to, event->minor_faults);
	put_u32(&to, event->event.cpu);
	put_u32(&to, event->other_pid);
	put_u32(&to, event->other_tid);
	put_u32(&to, event->waker_pid);
	put_u32(&to, event->waker_tid);
	put_u8(&to, event->other_is_kernel != 0);
	put_text(&to, call, sizeof(call));
	put_text(&to, event->other, sizeof(event->other));
	put_text(&to, event->waker, sizeof(event->waker));
	hold(trace, &to, event->event.stamp);
}

static void add_reclaim(struct kernel_trace *trace, const struct kernel_reclaim *event)
{
	struct encoded to;

	begin_event(&to, EVENT_RECLAIM, event->event.stamp, event->event.pid, event->event.tid);
	put_u64(&to, event->begin_ns);
	put_u64(&to, event->n_pages);
	hold(trace, &to, event->event.stamp);
}

static void add_block_io(struct kernel_trace *trace, const struct kernel_block_io *event)
{
	static const char *const operations[] = { "read", "write", "flush", "request" };
	struct encoded to;
	char device[32];

	snprintf(device, sizeof(device), "%u:%u", event->major, event->minor);
	begin_event(&to, EVENT_BLOCK_IO, event->event.stamp, event->event.pid, event->event.tid);
	put_u64(&to, event->queued_ns);
	put_u64(&to, event->issued_ns);
	put_u64(&to, event->sector);
	put_u32(&to, event->bytes);
	put_u32(&to, (uint32_t)event->error);
	put_text(&to,
		 operations[event->operation > KERNEL_BLOCK_OTHER ? KERNEL_BLOCK_OTHER
								  : event->operation],
		 16);
	put_text(&to, device, sizeof(device));
	hold(trace, &to, event->event.stamp);
}

/* "10.0.0.1", and "10.0.0.1:29500" or "[fe80::1]:29500". An IPv4 address in IPv6's form is one of IPv4. */
static void address_text(const struct kernel_retransmit *event, const uint8_t *address,
			 uint16_t port, char text[64], char with_port[72])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	int is_v6 = event->is_v6 && memcmp(address, mapped, sizeof(mapped)) != 0;

	if (event->is_v6 && !is_v6)
		address += sizeof(mapped);
	if (!inet_ntop(is_v6 ? AF_INET6 : AF_INET, address, text, 64))
		strcpy(text, "?");
	snprintf(with_port, 72, is_v6 ? "[%s]:%u" : "%s:%u", text, port);
}

static void add_retransmit(struct kernel_trace *trace, const struct kernel_retransmit *event)
{
	char local[64], peer[64], local_end[72], peer_end[72], link[144];
	uint64_t round_trip_ns = event->round_trip_us * UINT64_C(1000);
	struct encoded to;

	address_text(event, event->local, event->local_port, local, local_end);
	address_text(event, event->peer, event->peer_port, peer, peer_end);
	snprintf(link, sizeof(link), "%s -> %s", local, peer);
	begin_event(&to, EVENT_RETRANSMIT, event->event.stamp, event->event.pid, event->event.tid);
	/* at least so long nothing new came to the other end */
	put_u64(&to, event->timeout_ticks ? event->timeout_ticks * trace->tick_ns : round_trip_ns);
	put_u64(&to, round_trip_ns);
	put_u8(&to, event->timeout_ticks != 0);
	put_text(&to, local_end, sizeof(local_end));
	put_text(&to, peer_end, sizeof(peer_end));
	put_text(&to, link, sizeof(link));
	hold(trace, &to, event->event.stamp);
}

void kernel_trace_add(struct kernel_trace *trace, const void *event, size_t size_bytes)
{
	static const size_t sizes[KERNEL_N_EVENTS] = {
		[KERNEL_OFF_CPU] = sizeof(struct kernel_off_cpu),
		[KERNEL_RECLAIM] = sizeof(struct kernel_reclaim),
		[KERNEL_BLOCK_IO] = sizeof(struct kernel_block_io),
		[KERNEL_RETRANSMIT] = sizeof(struct kernel_retransmit),
	};
	const struct kernel_event *head = event;

	if (size_bytes < sizeof(*head) || head->kind >= KERNEL_N_EVENTS ||
	    size_bytes < sizes[head->kind])
		return;
	switch (head->kind) {
	case KERNEL_OFF_CPU:
		add_off_cpu(trace, event);
		break;
	case KERNEL_RECLAIM:
		add_reclaim(trace, event);
		break;
	case KERNEL_BLOCK_IO:
		add_block_io(trace, event);
		break;
	default:
		add_retransmit(trace, event);
	}
}

void kernel_trace_add_sums(struct kernel_trace *trace, uint64_t stamp_ns,
			   const struct thread_sums *sums)
{
	struct encoded to;

	begin_event(&to, EVENT_SUMS, stamp_ns, sums->pid, sums->tid);
	put_u64(&to, sums->run_ns);
	put_u64(&to, sums->wait_ns);
	put_u64(&to, sums->n_given_up);
	put_u64(&to, sums->n_taken);
	put_u64(&to, sums->minor_faults);
	put_u64(&to, sums->major_faults);
	put_u64(&to, sums->io_wait_ns);
	hold(trace, &to, stamp_ns);
}

/* --- writing -------------------------------------------------------------------------------- */

static int write_all(int fd, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		ssize_t written = write(fd, at, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		at += written;
		n -= (size_t)written;
	}
	return 0;
}

static int compare_held(const void *first, const void *second)
{
	const struct held *a = first, *b = second;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The head of a packet as `metadata` declares it; bytes without gaps. */
struct packet_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t begin, end, content_bits, packet_bits, n_lost;
} __attribute__((packed));

static int write_packet(struct kernel_trace *trace, size_t n, uint64_t n_lost)
{
	size_t size_bytes = sizeof(struct packet_head), at = sizeof(struct packet_head);
	struct packet_head head = { .magic = CTF_MAGIC, .n_lost = n_lost + trace->n_unheld };
	uint8_t *packet;
	int error;

	for (size_t i = 0; i < n; i++)
		size_bytes += trace->held[i].size_bytes;
	packet = malloc(size_bytes);
	if (!packet)
		return -ENOMEM;
	memcpy(head.uuid, trace->uuid, sizeof(head.uuid));
	head.begin = n ? trace->held[0].stamp : trace->last_stamp;
	head.end = n ? trace->held[n - 1].stamp : trace->last_stamp;
	head.content_bits = head.packet_bits = size_bytes * 8;
	memcpy(packet, &head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		memcpy(packet + at, trace->bytes + trace->held[i].offset,
		       trace->held[i].size_bytes);
		at += trace->held[i].size_bytes;
	}
	trace->last_stamp = head.end;
	error = write_all(trace->fd, packet, size_bytes);
	free(packet);
	return error;
}

/* What was not written goes to the front. */
static int keep_rest(struct kernel_trace *trace, size_t first)
{
	uint8_t *bytes;
	size_t n = 0;

	if (first == trace->n_held) {
		trace->n_held = trace->n_bytes = 0;
		return 0;
	}
	for (size_t i = first; i < trace->n_held; i++)
		n += trace->held[i].size_bytes;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	n = 0;
	for (size_t i = first; i < trace->n_held; i++) {
		struct held *held = &trace->held[i - first];

		*held = trace->held[i];
		memcpy(bytes + n, trace->bytes + held->offset, held->size_bytes);
		held->offset = n;
		n += held->size_bytes;
	}
	trace->n_held -= first;
	free(trace->bytes);
	trace->bytes = bytes;
	trace->n_bytes = trace->room_bytes = n;
	return 0;
}

int kernel_trace_flush(struct kernel_trace *trace, uint64_t limit_ns, uint64_t n_lost)
{
	size_t n = 0;
	int error;

	if (trace->n_held)
		qsort(trace->held, trace->n_held, sizeof(*trace->held), compare_held);
	/* what comes later than it should would not be in order: CTF has no place for it */
	while (n < trace->n_held && trace->held[n].stamp < trace->last_stamp)
		n++;
	trace->n_unheld += n;
	error = n ? keep_rest(trace, n) : 0;
	for (n = 0; n < trace->n_held && trace->held[n].stamp < limit_ns;)
		n++;
	if (error || n == 0)
		return error;
	error = write_packet(trace, n, n_lost);
	return error ? error : keep_rest(trace, n);
}

/* --- the folder ----------------------------------------------------------------------------- */

static int write_metadata(const struct kernel_trace *trace)
{
	char path[4200], host[256] = "", uuid[37];
	const uint8_t *u = trace->uuid;
	FILE *file;
	int error;

	snprintf(path, sizeof(path), "%s/" CTF_FOLDER "/metadata", trace->hidden);
	file = fopen(path, "we");
	if (!file)
		return -errno;
	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++) /* no host is called so, and CTF would read an escape */
		if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '_';
	snprintf(uuid, sizeof(uuid),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
		 u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		 u[15]);
	fprintf(file,
		"/* CTF 1.8 */\n"
		"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
		"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
		"typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
		"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
		"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
		"\tpacket.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; };\n};\n"
		"env {\n\thostname = \"%s\";\n\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n"
		"\ttracer_name = \"tacho\";\n\ttacho_version = \"%s\";\n};\n"
		"clock {\n\tname = \"monotonic\";\n\tdescription = \"CLOCK_MONOTONIC\";\n"
		"\tfreq = 1000000000;\n\toffset = 0;\n};\n"
		"typealias integer { size = 64; align = 8; signed = false; map = "
		"clock.monotonic.value; } := stamp;\n"
		"stream {\n\tid = 0;\n"
		"\tpacket.context := struct { stamp timestamp_begin; stamp timestamp_end; u64 "
		"content_size; u64 packet_size; u64 events_discarded; };\n"
		"\tevent.header := struct { u32 id; stamp timestamp; };\n"
		"\tevent.context := struct { u32 pid; u32 tid; };\n};\n",
		uuid, host, TACHO_VERSION);
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		fprintf(file,
			"event {\n\tname = \"tacho_kernel:%s\";\n\tid = %zu;\n\tstream_id = 0;\n"
			"\tfields := struct { %s };\n};\n",
			classes[i].name, i, classes[i].fields);
	error = ferror(file) ? -EIO : 0;
	return fclose(file) ? -errno : error;
}

/* So that who looks at the run's folder knows whose it is (docs/trace-format.md). */
static int write_facts(const struct kernel_trace *trace)
{
	static const char text[] = "[trace]\nfrom=tacho record --probes kernel\n";
	char path[4200];
	int fd, error;

	snprintf(path, sizeof(path), "%s/" TRACE_ADDED_FILE, trace->hidden);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	error = write_all(fd, text, sizeof(text) - 1);
	return close(fd) ? -errno : error;
}

static int make_files(struct kernel_trace *trace, const char *run)
{
	struct timespec tick = { .tv_nsec = 4000000 };
	char path[4200];
	int error;

	if (getrandom(trace->uuid, sizeof(trace->uuid), 0) != sizeof(trace->uuid))
		return -errno;
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick); /* it goes on with each tick */
	trace->tick_ns = (uint64_t)tick.tv_nsec;
	if ((size_t)snprintf(trace->folder, sizeof(trace->folder), "%s/" TRACE_ADDED_FOLDER, run) >=
	    sizeof(trace->folder) - 64)
		return -ENAMETOOLONG;
	if (mkdir(trace->folder, 0777) < 0 && errno != EEXIST)
		return -errno;
	snprintf(trace->hidden, sizeof(trace->hidden), "%s/.kernel-%d", trace->folder,
		 (int)getpid());
	snprintf(path, sizeof(path), "%s/" CTF_FOLDER, trace->hidden);
	if (mkdir(trace->hidden, 0777) < 0 || mkdir(path, 0777) < 0)
		return -errno;
	error = write_metadata(trace);
	if (!error)
		error = write_facts(trace);
	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/" CTF_FOLDER "/kernel_0", trace->hidden);
	trace->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return trace->fd < 0 ? -errno : 0;
}

static void remove_files(const struct kernel_trace *trace)
{
	static const char *const names[] = { CTF_FOLDER "/metadata", CTF_FOLDER "/kernel_0",
					     TRACE_ADDED_FILE };
	char path[4200];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", trace->hidden, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/" CTF_FOLDER, trace->hidden);
	rmdir(path);
	rmdir(trace->hidden);
	rmdir(trace->folder); /* where others lie in it, it stays */
}

static void free_trace(struct kernel_trace *trace)
{
	if (trace->fd >= 0)
		close(trace->fd);
	free(trace->held);
	free(trace->bytes);
	free(trace);
}

struct kernel_trace *kernel_trace_open(const char *run)
{
	struct kernel_trace *trace = calloc(1, sizeof(*trace));
	int error;

	if (!trace)
		return NULL;
	trace->fd = -1;
	error = make_files(trace, run);
	if (!error)
		return trace;
	if (trace->hidden[0])
		remove_files(trace);
	free_trace(trace);
	errno = -error;
	return NULL;
}

/* "kernel", or "kernel-2" where the run has one already. */
static int give_name(struct kernel_trace *trace)
{
	for (int i = 1; i < MAX_NAMES; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		snprintf(trace->name, sizeof(trace->name), "%s/kernel%s", trace->folder, number);
		if (rename(trace->hidden, trace->name) == 0)
			return 0;
		if (errno != EEXIST && errno != ENOTEMPTY)
			return -errno;
	}
	return -EEXIST;
}

int kernel_trace_close(struct kernel_trace *trace, uint64_t n_lost)
{
	int error;

	if (!trace)
		return 0;
	error = kernel_trace_flush(trace, UINT64_MAX, n_lost);
	if (!error && trace->n_events && n_lost + trace->n_unheld)
		error = write_packet(trace, 0,
				     n_lost); /* CTF counts losses at the end of packets */
	if (trace->n_events == 0)
		remove_files(trace);
	else if (give_name(trace) < 0 && !error)
		error = -EEXIST;
	free_trace(trace);
	return error;
}
