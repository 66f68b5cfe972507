#include "run_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <tacho/live.h>
#include <unistd.h>

#include "trace/trace_layout.h"

#define LOOK_INTERVAL_US 500000
#define FILES_IN_USE	 2	   /* the one that is written, and the next */
#define SLACK_NS	 100000000 /* by which the clock of a step may be off that of a file */

struct _RunLimit {
	gchar *path;
	struct run_bounds bounds;
	TachoFollow *follow; /* where steps are kept; the thread's, then of who has joined it */
	guint64 kept_ns;     /* what is older need not be kept: CLOCK_MONOTONIC; 0: nothing is */
	guint64 n_lost;
	gint is_over; /* atomic */
	pthread_t thread;
};

struct stream_path {
	gchar *path;
	guint trace, stream, index;
	guint64 bytes, made_ns;
	guint64 full_ns;     /* it was full by then at the latest; 0: it may not be */
	gboolean has_writer; /* its process may still write */
	gboolean is_in_use;
};

/* --- what is there ---------------------------------------------------------------------------- */

static void clear_file(gpointer file)
{
	g_free(((struct stream_path *)file)->path);
}

/* A trace is called HOST-PID. */
static gboolean is_alive(const gchar *trace)
{
	const gchar *dash = strrchr(trace, '-');
	gint64 pid = dash ? g_ascii_strtoll(dash + 1, NULL, 10) : 0;

	return pid <= 0 || pid > G_MAXINT || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static void add_file(GArray *files, const gchar *folder, const gchar *name, guint trace,
		     gboolean has_writer)
{
	struct stream_path file = { .trace = trace, .has_writer = has_writer };
	struct packet_header packet;
	struct stat status;
	gint fd, length = 0;
	guint tid;

	if (sscanf(name, "%u-%u.%u%n", &file.stream, &tid, &file.index, &length) != 3 ||
	    name[length])
		return;
	file.path = g_build_filename(folder, name, NULL);
	fd = open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &status) == 0 &&
	    read(fd, &packet, sizeof(packet)) == (gssize)sizeof(packet)) {
		file.bytes = (guint64)status.st_blocks * 512;
		file.made_ns = packet.pair_mono_ns;
		g_array_append_val(files, file);
	} else {
		g_free(file.path);
	}
	if (fd >= 0)
		close(fd);
}

static void mark_those_in_use(GArray *files)
{
	for (guint i = 0; i < files->len; i++) {
		struct stream_path *file = &g_array_index(files, struct stream_path, i);
		guint n_later = 0;

		for (guint k = 0; k < files->len; k++) {
			const struct stream_path *other =
				&g_array_index(files, struct stream_path, k);

			if (other->trace != file->trace || other->stream != file->stream ||
			    other->index <= file->index)
				continue;
			n_later++;
			/* a file is made when the one before it begins to be written */
			if (other->index >= file->index + 2 &&
			    (!file->full_ns || other->made_ns < file->full_ns))
				file->full_ns = other->made_ns;
		}
		file->is_in_use = n_later < (file->has_writer ? FILES_IN_USE : 1);
	}
}

static gint compare_age(gconstpointer first, gconstpointer second)
{
	guint64 a = ((const struct stream_path *)first)->made_ns;
	guint64 b = ((const struct stream_path *)second)->made_ns;

	return a < b ? -1 : a > b;
}

/* The files of all streams, the oldest first. While the job runs all its processes may write; afterwards those that
 * have outlived it. */
static GArray *list_files(const gchar *run, gboolean is_over)
{
	GArray *files = g_array_new(FALSE, FALSE, sizeof(struct stream_path));
	g_autoptr(GDir) traces = g_dir_open(run, 0, NULL);
	const gchar *trace, *name;
	guint n_traces = 0;

	g_array_set_clear_func(files, clear_file);
	while (traces && (trace = g_dir_read_name(traces))) {
		g_autofree gchar *folder = g_build_filename(run, trace, NULL);
		g_autoptr(GDir) entries = *trace == '.' ? NULL : g_dir_open(folder, 0, NULL);
		gboolean has_writer = !is_over || is_alive(trace);

		while (entries && (name = g_dir_read_name(entries)))
			add_file(files, folder, name, n_traces, has_writer);
		n_traces++;
	}
	mark_those_in_use(files);
	g_array_sort(files, compare_age);
	return files;
}

/* --- what goes -------------------------------------------------------------------------------- */

static guint64 count_records(const gchar *path)
{
	g_autoptr(GMappedFile) mapped = g_mapped_file_new(path, FALSE, NULL);
	const gchar *bytes = mapped ? g_mapped_file_get_contents(mapped) : NULL;
	gsize size = mapped ? g_mapped_file_get_length(mapped) : 0;
	gsize at = sizeof(struct packet_header), end;
	guint64 n = 0;

	if (!bytes || size < at)
		return 0;
	end = MIN(size, ((const struct packet_header *)bytes)->content_bits / 8);
	while (at + sizeof(struct record_header) <= end) {
		const struct record_header *record = (const struct record_header *)(bytes + at);

		if (record->size_bytes < sizeof(*record) || record->size_bytes % 8)
			break;
		at += record->size_bytes;
		n++;
	}
	return n;
}

static guint64 free_bytes_at(const gchar *path)
{
	struct statvfs status;

	return statvfs(path, &status) == 0 ? (guint64)status.f_bavail * status.f_frsize
					   : G_MAXUINT64;
}

/* When the oldest of the newest steps began, by the clock that files are dated by. 0: there are not so many steps. */
static guint64 find_kept_steps(const TachoFollow *follow, guint n_kept)
{
	const GArray *steps = tacho_follow_borrow_steps(follow, NULL);
	gint64 from_unix_ns = G_MAXINT64, ago_ns;
	guint32 newest = 0;

	for (guint i = 0; i < steps->len; i++)
		newest = MAX(newest, g_array_index(steps, TachoLiveStep, i).number);
	if (newest < n_kept)
		return 0;
	for (guint i = 0; i < steps->len; i++) {
		const TachoLiveStep *step = &g_array_index(steps, TachoLiveStep, i);

		if (step->number > newest - n_kept)
			from_unix_ns = MIN(from_unix_ns, step->start_unix_ns);
	}
	ago_ns = g_get_real_time() * 1000 - from_unix_ns;
	return (guint64)MAX(g_get_monotonic_time() * 1000 - MAX(ago_ns, 0) - SLACK_NS, 0);
}

/* The run is not there before its job has recorded something. */
static void look_for_steps(RunLimit *limit)
{
	do {
		if (!tacho_follow_look(limit->follow, NULL))
			return;
	} while (tacho_follow_is_behind(limit->follow));
	limit->kept_ns = find_kept_steps(limit->follow, limit->bounds.keep_steps);
}

static void find_kept(RunLimit *limit)
{
	guint64 now_ns = (guint64)g_get_monotonic_time() * 1000;

	if (limit->follow)
		look_for_steps(limit);
	else if (limit->bounds.keep_ns && now_ns > limit->bounds.keep_ns)
		limit->kept_ns = now_ns - limit->bounds.keep_ns;
}

/* Whether all that is in the file is older than what is to be kept. */
static gboolean is_old(const RunLimit *limit, const struct stream_path *file)
{
	return file->full_ns && file->full_ns < limit->kept_ns;
}

static gboolean is_too_much(const RunLimit *limit, guint64 bytes)
{
	const struct run_bounds *bounds = &limit->bounds;

	return (bounds->max_bytes && bytes > bounds->max_bytes) ||
	       (bounds->free_bytes && free_bytes_at(limit->path) < bounds->free_bytes);
}

static void keep_within(RunLimit *limit)
{
	g_autoptr(GArray) files = list_files(limit->path, g_atomic_int_get(&limit->is_over));
	guint64 bytes = 0;

	find_kept(limit);
	for (guint i = 0; i < files->len; i++)
		bytes += g_array_index(files, struct stream_path, i).bytes;
	for (guint i = 0; i < files->len; i++) {
		const struct stream_path *file = &g_array_index(files, struct stream_path, i);
		guint64 n_records;

		if (file->is_in_use || (!is_old(limit, file) && !is_too_much(limit, bytes)))
			continue;
		n_records = count_records(file->path);
		if (g_unlink(file->path) == 0) {
			bytes -= file->bytes;
			limit->n_lost += n_records;
		}
	}
}

static void *watch(void *limit_pointer)
{
	RunLimit *limit = limit_pointer;

	while (!g_atomic_int_get(&limit->is_over)) {
		keep_within(limit);
		g_usleep(LOOK_INTERVAL_US);
	}
	return NULL;
}

static void note_losses(const RunLimit *limit)
{
	g_autofree gchar *file = g_build_filename(limit->path, TRACE_LOSSES_FILE, NULL);
	FILE *losses = limit->n_lost ? fopen(file, "ae") : NULL;

	if (!losses)
		return;
	fprintf(losses,
		"%d\t%s\t%" G_GUINT64_FORMAT
		"\tthe oldest, to stay within --max-size, --keep-free or --keep-last\n",
		(int)getpid(), g_get_host_name(), limit->n_lost);
	fclose(losses);
}

RunLimit *run_limit_start(const gchar *path, const struct run_bounds *bounds)
{
	RunLimit *limit = g_new0(RunLimit, 1);
	sigset_t all, before;

	limit->path = g_strdup(path);
	limit->bounds = *bounds;
	if (bounds->keep_steps)
		limit->follow = tacho_follow_new(&path, 1);
	sigfillset(&all); /* signals are for who waits for the job */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&limit->thread, NULL, watch, limit) != 0)
		g_clear_pointer(&limit->path, g_free);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (limit->path)
		return limit;
	tacho_follow_free(limit->follow);
	g_free(limit);
	return NULL;
}

void run_limit_stop(RunLimit *limit)
{
	if (!limit)
		return;
	g_atomic_int_set(&limit->is_over, 1);
	pthread_join(limit->thread, NULL);
	keep_within(limit);
	note_losses(limit);
	tacho_follow_free(limit->follow);
	g_free(limit->path);
	g_free(limit);
}
