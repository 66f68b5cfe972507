/* The writing half of the agent: what is recorded is in the files, whole and in order, from many
 * threads, over forks, on a full disk. Each case runs in a process of its own, as a job would. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process_trace.h"
#include "agent/settings.h"
#include "agent/stream.h"
#include "agent/thread_start.h"
#include "common/probe.h"

#define N_THREADS     4
#define AGENT_CLASSES 4 /* it declares its own first; all others are the tests' slices */

int thread_start_first(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		       void *argument)
{
	return pthread_create(thread, attributes, start, argument);
}

static gchar *folder; /* of the run */

static void before_fork(void)
{
	streams_before_fork();
}

static void after_fork_in_parent(void)
{
	streams_after_fork(false);
}

static void after_fork_in_child(void)
{
	streams_after_fork(true);
}

static struct agent_settings settings; /* its texts live as long as the process */

static void restart_agent(void)
{
	g_assert_true(process_trace_configure(&settings));
	g_assert_true(streams_configure(&settings));
}

static void start_agent(const gchar *run_dir)
{
	g_setenv("TACHO_RUN_DIR", run_dir, TRUE);
	agent_settings_read(&settings);
	restart_agent();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static struct record_slice *begin(uint32_t class_id, uint64_t id)
{
	struct record_slice *slice = tacho_record_begin(class_id, sizeof(*slice));

	if (!slice)
		return NULL;
	slice->duration = TRACE_OPEN;
	slice->id = id;
	tacho_record_commit(slice);
	return slice;
}

static uint32_t declare(const gchar *name)
{
	return tacho_class(TRACE_KIND_ANNOTATION, name, strlen(name));
}

/* --- reading back ------------------------------------------------------------------------- */

struct count {
	guint64 slices, open, others, files;
	guint64 discarded;     /* the most that a file tells: right for one stream */
	guint64 all_discarded; /* of all files: right for streams of one file each */
};

static void count_file(const gchar *path, struct count *count)
{
	g_autofree gchar *bytes = NULL;
	gsize length;
	const struct packet_header *packet;
	uint64_t last_stamp = 0;

	g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
	g_assert_cmpuint(length, >=, sizeof(*packet));
	packet = (const struct packet_header *)bytes;
	g_assert_cmphex(packet->magic, ==, TRACE_PACKET_MAGIC);
	g_assert_cmpuint(packet->packet_bits, ==, length * 8);
	g_assert_cmpuint(packet->content_bits, <=, packet->packet_bits);
	for (gsize at = sizeof(*packet); at < packet->content_bits / 8;) {
		const struct record_slice *record = (const struct record_slice *)(bytes + at);

		g_assert_cmpuint(record->header.class_id, >, 0);
		g_assert_cmpuint(record->header.size_bytes % 8, ==, 0);
		g_assert_cmpuint(record->header.size_bytes, >=, sizeof(record->header));
		g_assert_cmpuint(record->header.stamp, >=, last_stamp);
		last_stamp = record->header.stamp;
		if (record->header.class_id > AGENT_CLASSES) {
			count->slices++;
			count->open += record->duration == TRACE_OPEN;
		} else {
			count->others++;
		}
		at += record->header.size_bytes;
	}
	count->discarded = MAX(count->discarded, packet->discarded);
	count->all_discarded += packet->discarded;
	count->files++;
}

static struct count count_trace(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	struct count count = { 0 };
	const gchar *name;

	g_assert_nonnull(entries);
	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *file = g_build_filename(path, name, NULL);

		if (*name != '.' && strcmp(name, TRACE_METADATA_FILE) != 0)
			count_file(file, &count);
	}
	return count;
}

static guint count_traces(void)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	guint n = 0;

	while (g_dir_read_name(entries))
		n++;
	return n;
}

/* --- the cases ---------------------------------------------------------------------------- */

static void test_nothing_without_record(void)
{
	start_agent(folder);
	declare("known, but never used");
	streams_close(0);
	g_assert_cmpuint(count_traces(), ==, 0);
}

static void test_slices(void)
{
	struct count count;
	struct record_slice *outer;
	uint32_t class_id;

	start_agent(folder);
	class_id = declare("slice");
	outer = begin(class_id, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		struct record_slice *slice = begin(class_id, i);

		g_assert_nonnull(slice);
		tacho_slice_end(slice, &slice->duration);
		g_assert_cmpuint(slice->duration, <, 10000 * (guint64)1000000000);
	}
	g_assert_cmpuint(outer->duration, ==, TRACE_OPEN);
	streams_close(7);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.slices, ==, 1001);
	g_assert_cmpuint(count.open, ==, 1);
	g_assert_cmpuint(count.discarded, ==, 0);
	g_assert_cmpuint(count.others, >=, 2); /* thread, exit */
	g_assert_null(begin(class_id, 0));
}

static volatile gboolean is_over; /* of the thread below */

static guint64 n_recorded; /* atomic */

static void *record_until_over(void *class_id)
{
	for (uint64_t i = 0; !is_over; i++) {
		struct record_slice *slice = begin(GPOINTER_TO_UINT(class_id), i);

		if (!slice)
			continue;
		tacho_slice_end(slice, &slice->duration);
		__atomic_fetch_add(&n_recorded, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Until that thread has recorded some more, however busy the machine is. */
static void wait_for_records(gint64 deadline_us)
{
	guint64 before = __atomic_load_n(&n_recorded, __ATOMIC_RELAXED);

	while (__atomic_load_n(&n_recorded, __ATOMIC_RELAXED) < before + 10) {
		g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
		g_usleep(1000);
	}
}

/* A recording is stopped and another begun, while a thread records all the time. */
G_GNUC_UNUSED static void test_stop(void)
{
	g_autofree gchar *first = NULL;
	gint64 deadline_us = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
	struct record_slice *open;
	struct count count;
	uint32_t class_id;
	pthread_t thread;

	start_agent(folder);
	class_id = declare("slice");
	g_assert_cmpint(
		pthread_create(&thread, NULL, record_until_over, GUINT_TO_POINTER(class_id)), ==,
		0);
	open = begin(class_id, 1);
	g_assert_true(streams_hold(open));
	wait_for_records(deadline_us);
	first = g_strdup(process_trace_path());
	streams_stop();
	g_assert_null(begin(class_id, 2));
	while (!streams_settle())
		g_assert_cmpint(g_get_monotonic_time(), <, deadline_us);
	g_assert_false(streams_hold(open)); /* or its end would be stored nowhere */
	count = count_trace(first);
	g_assert_cmpuint(count.slices, >, 2);
	g_assert_cmpuint(count.open, >=, 1);

	restart_agent();
	g_assert_nonnull(begin(class_id, 3));
	g_assert_cmpstr(process_trace_path(), !=, first);
	wait_for_records(deadline_us);
	is_over = TRUE;
	pthread_join(thread, NULL);
	streams_close(0);
	g_assert_cmpuint(count_traces(), ==, 2);
	g_assert_cmpuint(count_trace(first).slices, ==, count.slices);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.slices, >, 1);
	g_assert_cmpuint(count.open, ==, 1);
}

static void test_busy_drops(void)
{
	struct record_slice *slice;

	start_agent(folder);
	slice = tacho_record_begin(declare("first"), sizeof(*slice));
	slice->duration = TRACE_OPEN;
	slice->id = 0;
	g_assert_null(begin(declare("from a signal handler"), 0));
	g_assert_null(tacho_record_begin(0, sizeof(*slice)));
	tacho_record_commit(slice);
	g_assert_cmpuint(tacho_writer.packet->discarded, ==, 2);
	g_assert_nonnull(begin(declare("after"), 0));
	streams_close(0);
}

#define RECORDS_A_THREAD 200000 /* more than a first file holds */

/* What is dropped, since the helper waits for a core, is tried again until the recording ends. */
static void *record_much(void *unused)
{
	uint32_t class_id = declare("threads");

	for (uint64_t i = 0; i < RECORDS_A_THREAD && tacho_is_alive();) {
		struct record_slice *slice = begin(class_id, i);

		if (slice) {
			tacho_slice_end(slice, &slice->duration);
			i++;
		}
		if (!slice || i % 500 == 0)
			g_usleep(1000); /* a job works between its records */
	}
	return unused;
}

static void test_threads(void)
{
	pthread_t threads[N_THREADS];
	struct count count;

	start_agent(folder);
	for (guint i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, record_much, NULL);
	for (guint i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	g_usleep(50000); /* so that the helper, mostly, cuts the files of threads that ended */
	streams_close(0);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.slices, ==, (guint64)N_THREADS * RECORDS_A_THREAD);
	g_assert_cmpuint(count.open, ==, 0);
	g_assert_cmpuint(count.files, >=, 2 * N_THREADS);
}

static gsize blocks_of_first_file(void)
{
	g_autofree gchar *name = g_strdup_printf("0-%d.0", getpid());
	g_autofree gchar *path = g_build_filename(process_trace_path(), name, NULL);
	struct stat facts;

	g_assert_cmpint(stat(path, &facts), ==, 0);
	return (gsize)facts.st_blocks * 512;
}

/* A record that does not fit calls for memory although its room is not used yet: the helper must
 * not take the thread for one that has hardly begun. */
static void test_memory_for_a_large_record(void)
{
	enum { LARGE_BYTES = 8192, LONGEST_S = 60 };
	gint64 until_us = g_get_monotonic_time() + LONGEST_S * G_USEC_PER_SEC;
	struct record_slice *slice;
	uint32_t class_id;
	gsize at_first;

	g_unsetenv("TACHO_START_KB");
	start_agent(folder);
	class_id = declare("large");
	g_assert_nonnull(begin(class_id, 0));
	at_first = blocks_of_first_file();
	do {
		const char *limit = tacho_writer.limit;

		slice = tacho_record_begin(class_id, LARGE_BYTES);
		g_assert_nonnull(slice);
		memset((char *)slice + sizeof(slice->header), 0,
		       LARGE_BYTES - sizeof(slice->header));
		if (tacho_writer.limit != limit)
			break; /* that one called */
		tacho_record_commit(slice);
	} while (TRUE);
	while (blocks_of_first_file() <= at_first && g_get_monotonic_time() < until_us)
		g_usleep(1000);
	g_assert_cmpuint(blocks_of_first_file(), >, at_first);
	tacho_record_commit(slice);
	streams_close(0);
}

/* The thread that is called as the helper is; 0: it has not begun. */
static pid_t find_helper(void)
{
	g_autoptr(GDir) threads = g_dir_open("/proc/self/task", 0, NULL);
	const gchar *name;

	while ((name = g_dir_read_name(threads))) {
		g_autofree gchar *path = g_build_filename("/proc/self/task", name, "comm", NULL);
		g_autofree gchar *text = NULL;

		if (g_file_get_contents(path, &text, NULL, NULL) && strcmp(text, "tacho\n") == 0)
			return atoi(name);
	}
	return 0;
}

static gboolean is_asleep(pid_t thread)
{
	g_autofree gchar *path = g_strdup_printf("/proc/self/task/%d/stat", thread);
	g_autofree gchar *text = NULL;
	const gchar *state;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* A core that the helper does not get while this thread has it. */
static void keep_core_from(pid_t helper)
{
	const struct sched_param none = { 0 };
	cpu_set_t cores, core;

	g_assert_cmpint(sched_getaffinity(0, sizeof(cores), &cores), ==, 0);
	CPU_ZERO(&core);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&core) == 0; i++)
		if (CPU_ISSET(i, &cores))
			CPU_SET(i, &core);
	g_assert_cmpint(sched_setaffinity(helper, sizeof(core), &core), ==, 0);
	g_assert_cmpint(sched_setaffinity(0, sizeof(core), &core), ==, 0);
	g_assert_cmpint(sched_setscheduler(helper, SCHED_IDLE, &none), ==, 0);
}

/* A burst while the helper waits for a core: the thread makes its memory ready by itself. */
static void test_late_helper(void)
{
	enum { BURST = 50000, LONGEST_S = 60 };
	gint64 until_us = g_get_monotonic_time() + LONGEST_S * G_USEC_PER_SEC;
	uint32_t class_id;
	struct count count;
	pid_t helper;

	g_unsetenv("TACHO_START_KB");
	start_agent(folder);
	class_id = declare("burst");
	g_assert_nonnull(begin(class_id, 0));
	while (!(helper = find_helper()) && g_get_monotonic_time() < until_us)
		g_usleep(1000);
	g_assert_cmpint(helper, >, 0);
	keep_core_from(helper);
	while (!is_asleep(helper) && g_get_monotonic_time() < until_us)
		g_usleep(1000);
	for (guint i = 1; i < BURST; i++)
		begin(class_id, i);
	streams_close(0);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.discarded, ==, 0);
	g_assert_cmpuint(count.slices, ==, BURST);
}

static void test_end_with_running_threads(void)
{
	pthread_t threads[N_THREADS];

	start_agent(folder);
	begin(declare("main"), 0);
	for (guint i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, record_much, NULL);
	g_usleep(20000);
	streams_close(0);
	count_trace(process_trace_path());
	for (guint i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	count_trace(process_trace_path());
}

static void test_fork(void)
{
	struct record_slice *slice;
	struct count count;
	uint32_t class_id;
	int status;
	pid_t pid;

	start_agent(folder);
	class_id = declare("before and after");
	slice = begin(class_id, 1);
	pid = fork();
	if (pid == 0) {
		tacho_slice_end(slice, &slice->duration);
		for (uint64_t i = 0; i < 10; i++)
			begin(class_id, i);
		count = (struct count){ 0 };
		streams_close(0);
		count = count_trace(process_trace_path());
		_exit(count.slices == 10 && count.open == 10 ? 0 : 1);
	}
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_cmpint(status, ==, 0);
	g_assert_cmpuint(slice->duration, ==, TRACE_OPEN);
	streams_close(0);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.slices, ==, 1);
	g_assert_cmpuint(count_traces(), ==, 2);
}

static void test_classes(void)
{
	g_autofree gchar *metadata_path = NULL, *metadata = NULL, *longest = g_strnfill(5000, '"');
	gsize length;
	uint32_t first;

	start_agent(folder);
	first = declare("early");
	g_assert_cmpuint(first, ==, declare("early"));
	g_assert_nonnull(begin(first, 0));
	for (guint i = 0; i < 3000; i++) {
		g_autofree gchar *name = g_strdup_printf("a name with \"quotes\", \\ and \n %u", i);

		g_assert_cmpuint(declare(name), >, first);
	}
	g_assert_cmpuint(tacho_class(TRACE_KIND_MODULE, "early", 5), !=, first);
	g_assert_cmpuint(declare(longest), >, 0);
	metadata_path = g_build_filename(process_trace_path(), TRACE_METADATA_FILE, NULL);
	streams_close(0);
	g_assert_true(g_file_get_contents(metadata_path, &metadata, &length, NULL));
	g_assert_true(g_str_has_prefix(metadata, "/* CTF 1.8 */"));
	for (gsize at = 0; at < length;) {
		const gchar *line = metadata + at;
		gsize size = (gsize)(strchr(line, '\n') - line) + 1;

		/* Those declared before the trace was opened came in its first, hidden write. */
		if (strstr(line, "event { id = ") == line && !strstr(line, "early"))
			g_assert_cmpuint(at / 4096, ==, (at + size - 1) / 4096);
		at += size;
	}
}

static void test_scratch(void)
{
	struct record_slice *slice;
	uint32_t class_id;

	start_agent(folder);
	class_id = declare("measured");
	g_assert_true(tacho_scratch_begin(4096));
	for (uint64_t i = 0; i < 10000; i++) {
		slice = begin(class_id, i);
		g_assert_nonnull(slice);
		tacho_slice_end(slice, &slice->duration);
	}
	tacho_scratch_end();
	g_assert_cmpuint(count_traces(), ==, 0);
	streams_close(0);
}

static void test_unwritable(void)
{
	g_autofree gchar *missing = g_build_filename(folder, "no", "such", "folder", NULL);

	start_agent(missing);
	g_assert_null(begin(declare("lost"), 0));
	g_assert_null(begin(declare("lost"), 1));
	streams_close(0);
}

/* From here on stderr goes to a file in `folder`; whether something was said; what, to stderr. */
static int said_fd;

static void listen_to_stderr(void)
{
	g_autofree gchar *path = g_build_filename(folder, "said", NULL);
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	said_fd = dup(STDERR_FILENO);
	g_assert_cmpint(dup2(fd, STDERR_FILENO), ==, STDERR_FILENO);
	close(fd);
}

static gboolean was_said(void)
{
	struct stat status;

	return fstat(STDERR_FILENO, &status) == 0 && status.st_size > 0;
}

static void repeat_what_was_said(void)
{
	gchar text[1024];
	gssize n = pread(STDERR_FILENO, text, sizeof(text), 0);

	g_assert_cmpint(dup2(said_fd, STDERR_FILENO), ==, STDERR_FILENO);
	g_assert_cmpint(write(STDERR_FILENO, text, (gsize)MAX(n, 0)), ==, n);
}

/* A file system of 2 MB: the disk is full in no time; nothing may fault, and the drops count. */
static void test_full_disk(void)
{
	g_autofree gchar *small = g_build_filename(folder, "small", NULL);
	uint32_t class_id;
	guint64 n_dropped = 0;
	struct count count;

	g_assert_cmpint(g_mkdir(small, 0700), ==, 0);
	if (mount("tacho-test", small, "tmpfs", 0, "size=2m") < 0) {
		g_test_skip("needs the right to mount");
		return;
	}
	start_agent(small);
	listen_to_stderr();
	class_id = declare("full");
	for (uint64_t i = 0; i < 200000; i++) {
		struct record_slice *slice = begin(class_id, i);

		if (slice)
			tacho_slice_end(slice, &slice->duration);
		else if (n_dropped++ < 100000 && !was_said())
			g_usleep(500); /* or all is over before the helper has met the full disk */
	}
	repeat_what_was_said();
	declare("a class the disk has no room for, perhaps");
	streams_close(0);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(n_dropped, >, 0);
	g_assert_cmpuint(count.slices + n_dropped, ==, 200000);
	g_assert_cmpuint(count.discarded, >=, n_dropped);
	umount2(small, MNT_DETACH);
}

/* Threads that find no room for their first file lose their records; those of the others, and the
 * recording, go on. */
static void *record_once(void *unused)
{
	(void)unused;
	return begin(declare("late"), 0);
}

static void fill_disk(const gchar *path)
{
	static const gchar zeros[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	g_assert_cmpint(errno, ==, ENOSPC);
	close(fd);
}

static void test_full_disk_for_a_thread(void)
{
	g_autofree gchar *small = g_build_filename(folder, "small", NULL);
	g_autofree gchar *filler = g_build_filename(small, "filler", NULL);
	struct record_slice *slice;
	pthread_t threads[N_THREADS];
	struct count count;
	void *result;

	g_assert_cmpint(g_mkdir(small, 0700), ==, 0);
	if (mount("tacho-test", small, "tmpfs", 0, "size=1m") < 0) {
		g_test_skip("needs the right to mount");
		return;
	}
	start_agent(small);
	slice = begin(declare("early"), 0);
	g_assert_nonnull(slice);
	declare("late");
	fill_disk(filler);
	for (guint i = 0; i < N_THREADS; i++) {
		g_assert_cmpint(pthread_create(&threads[i], NULL, record_once, NULL), ==, 0);
		pthread_join(threads[i], &result);
		g_assert_null(result);
		slice = begin(declare("early"), i);
		g_assert_nonnull(slice);
	}
	streams_close(0);
	count = count_trace(process_trace_path());
	g_assert_cmpuint(count.slices, >=, N_THREADS + 1);
	/* the helper, which has no file either, may have dropped some of its own */
	g_assert_cmpuint(count.slices + count.all_discarded, >=, 2 * N_THREADS + 1);
	umount2(small, MNT_DETACH);
}

/* --- each in its own process -------------------------------------------------------------- */

struct test_case {
	const gchar *name;
	void (*run)(void);
	const gchar *said; /* on stderr; NULL: nothing */
};

static const struct test_case cases[] = {
	{ "/stream/nothing-without-record", test_nothing_without_record, NULL },
#ifndef __SANITIZE_THREAD__ /* it cannot see that a stop waits for threads to leave their hooks: by what they have run, and not by what they say */
	{ "/stream/stop", test_stop, NULL },
#endif
	{ "/stream/slices", test_slices, NULL },
	{ "/stream/busy-drops", test_busy_drops, NULL },
	{ "/stream/threads", test_threads, NULL },
	{ "/stream/memory-for-a-large-record", test_memory_for_a_large_record, NULL },
	{ "/stream/late-helper", test_late_helper, NULL },
	{ "/stream/end-with-running-threads", test_end_with_running_threads, NULL },
	{ "/stream/fork", test_fork, NULL },
	{ "/stream/classes", test_classes, NULL },
	{ "/stream/scratch", test_scratch, NULL },
	{ "/stream/unwritable", test_unwritable, "tacho: cannot record*No such file*" },
	{ "/stream/full-disk", test_full_disk, "*No space left*" },
	{ "/stream/full-disk-for-a-thread", test_full_disk_for_a_thread, "*No space left*" },
};

static void remove_tree(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *child = g_build_filename(path, name, NULL);

		remove_tree(child);
	}
	g_remove(path);
}

static void run_case(gconstpointer data)
{
	const struct test_case *test = data;

	if (g_test_subprocess()) {
		folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
		g_assert_nonnull(folder);
		test->run();
		remove_tree(folder);
		g_free(folder);
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_passed();
	if (test->said && geteuid() == 0)
		g_test_trap_assert_stderr(test->said);
	else if (!test->said)
		g_test_trap_assert_stderr("");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		g_test_add_data_func(cases[i].name, &cases[i], run_case);
	return g_test_run();
}
