#include "unseen.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/for_each.h"
#include "preloadable.h"
#include "trace/trace_layout.h"

#define AGENT		 "libtacho.so"
#define PROCESS		 "process "
#define FIRST_LOOK_US	 (200 * 1000)
#define LAST_INTERVAL_US (2 * 1000 * 1000)
#define TICK_US		 (50 * 1000)
#define MAX_FILE_BYTES	 (1 << 20)
#define MAX_NOTED	 1000
#define MAX_SAID	 4

enum { PID, HOST, WHAT, WHY, N_FIELDS };

/* --- the processes below this one ------------------------------------------------------------- */

enum state { SEEN, MISSING, NOTED };

/* A process while it runs one program. */
struct watched {
	gchar *exe;
	enum state state;
	guint round; /* in which it was last there */
};

struct _UnseenWatch {
	gchar *path;
	GHashTable *processes; /* pid -> struct watched */
	gint64 own;	       /* a process of tacho's */
	guint round, n_noted;
	gint is_over; /* atomic */
	pthread_t thread;
};

static void free_watched(gpointer watched)
{
	g_free(((struct watched *)watched)->exe);
	g_free(watched);
}

/* A file of /proc/PID; NULL: it is gone, or not ours to read. */
static gchar *read_proc(gint64 pid, const gchar *name, gsize *ret_length)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/%s", pid, name);
	gchar *text = NULL;

	return g_file_get_contents(path, &text, ret_length, NULL) ? text : NULL;
}

static gint64 parent_of(gint64 pid)
{
	g_autofree gchar *stat = read_proc(pid, "stat", NULL);
	const gchar *behind = stat ? strrchr(stat, ')') : NULL;
	gint64 parent = 0;

	return behind && sscanf(behind, ") %*c %" G_GINT64_FORMAT, &parent) == 1 ? parent : 0;
}

static gboolean has_text(const gchar *bytes, gsize length, const gchar *text)
{
	return bytes && memmem(bytes, length, text, strlen(text)) != NULL;
}

/* Why the agent is not in the process; NULL: it is, or the process is gone. */
static const gchar *why_missing(gint64 pid, const gchar *exe)
{
	gsize n_maps = 0, n_environment = 0;
	g_autofree gchar *maps = read_proc(pid, "maps", &n_maps);
	g_autofree gchar *environment = NULL;
	const gchar *reason;

	if (!maps || !n_maps || has_text(maps, n_maps, AGENT))
		return NULL;
	reason = preloadable_why_not(exe);
	if (reason)
		return reason;
	environment = read_proc(pid, "environ", &n_environment);
	if (environment && !has_text(environment, n_environment, AGENT))
		return "was started without LD_PRELOAD in its environment";
	return "did not load the agent";
}

/* The program that the process runs; where we may not ask (it is set-uid), its name with *ret_is_hidden. NULL: it is gone. */
static gchar *program_of(gint64 pid, gboolean *ret_is_hidden)
{
	g_autofree gchar *link = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/exe", pid);
	g_autoptr(GError) error = NULL;
	gchar *exe = g_file_read_link(link, &error);

	*ret_is_hidden = !exe && g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES);
	return *ret_is_hidden ? read_proc(pid, "comm", NULL) : exe;
}

/* Twice in a row, for the loader may not have come to it yet. */
static void look_at(UnseenWatch *watch, gint64 pid)
{
	struct watched *process = g_hash_table_lookup(watch->processes, &pid);
	gboolean is_hidden, is_known;
	g_autofree gchar *exe = program_of(pid, &is_hidden);
	const gchar *why;

	if (!exe)
		return;
	is_known = process && strcmp(process->exe, exe) == 0;
	if (!is_known) {
		process = g_new0(struct watched, 1);
		process->exe = g_strdup(exe);
		process->state = MISSING;
		g_hash_table_replace(watch->processes, g_memdup2(&pid, sizeof(pid)), process);
	}
	process->round = watch->round;
	if (process->state != MISSING)
		return;
	why = is_hidden ? "runs as another user" : why_missing(pid, exe);
	if (!why) {
		process->state = SEEN;
	} else if (is_known && watch->n_noted++ < MAX_NOTED) {
		unseen_note_process(watch->path, pid, exe, why);
		process->state = NOTED;
	}
}

static gboolean is_of_earlier_round(gpointer pid, gpointer watched, gpointer watch)
{
	(void)pid;
	return ((struct watched *)watched)->round != ((UnseenWatch *)watch)->round;
}

/* Numbers of processes count up, with a jump now and then: parents that come later in the list are found in the next turn. */
static void look(UnseenWatch *watch)
{
	g_autoptr(GDir) all = g_dir_open("/proc", 0, NULL);
	g_autoptr(GHashTable) parents =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	gint64 self = getpid();
	const gchar *name;

	while (all && (name = g_dir_read_name(all))) {
		gint64 pid = g_ascii_strtoll(name, NULL, 10), parent = pid > 0 ? parent_of(pid) : 0;

		if (parent > 0)
			g_hash_table_insert(parents, g_memdup2(&pid, sizeof(pid)),
					    g_memdup2(&parent, sizeof(parent)));
	}
	watch->round++;
	FOR_EACH_ENTRY(entry, parents) {
		const gint64 *parent = entry.value;

		for (guint n = 0; parent && *parent != self && n < g_hash_table_size(parents); n++)
			parent = g_hash_table_lookup(parents, parent);
		if (parent && *parent == self && *(const gint64 *)entry.key != watch->own)
			look_at(watch, *(const gint64 *)entry.key);
	}
	g_hash_table_foreach_remove(watch->processes, is_of_earlier_round, watch);
}

static void *watch_processes(void *watch_pointer)
{
	UnseenWatch *watch = watch_pointer;
	guint64 interval_us = FIRST_LOOK_US, waited_us = 0;

	while (!g_atomic_int_get(&watch->is_over)) {
		g_usleep(TICK_US);
		waited_us += TICK_US;
		if (waited_us < interval_us)
			continue;
		look(watch);
		waited_us = 0;
		interval_us = MIN(2 * interval_us, LAST_INTERVAL_US);
	}
	return NULL;
}

UnseenWatch *unseen_watch_start(const gchar *path, gint64 own)
{
	UnseenWatch *watch = g_new0(UnseenWatch, 1);
	sigset_t all, before;

	watch->path = g_strdup(path);
	watch->own = own;
	watch->processes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_watched);
	sigfillset(&all); /* signals are for who waits for the job */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&watch->thread, NULL, watch_processes, watch) != 0)
		g_clear_pointer(&watch->path, g_free);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (watch->path)
		return watch;
	g_hash_table_unref(watch->processes);
	g_free(watch);
	return NULL;
}

void unseen_watch_stop(UnseenWatch *watch)
{
	if (!watch)
		return;
	g_atomic_int_set(&watch->is_over, 1);
	pthread_join(watch->thread, NULL);
	g_hash_table_unref(watch->processes);
	g_free(watch->path);
	g_free(watch);
}

/* --- the file --------------------------------------------------------------------------------- */

void unseen_note_process(const gchar *path, gint64 pid, const gchar *program, const gchar *why)
{
	g_autofree gchar *file = g_build_filename(path, TRACE_UNSEEN_FILE, NULL);
	g_autofree gchar *name = g_path_get_basename(program);
	g_autofree gchar *line = NULL;
	int fd;

	g_strdelimit(name, "\t\n", ' ');
	line = g_strdup_printf("%" G_GINT64_FORMAT "\t%s\t" PROCESS "%.200s\t%s\n", pid,
			       g_get_host_name(), name, why);
	fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0)
		fprintf(stderr, "tacho: %s cannot be written\n", file);
	close(fd);
}

static void clear_unseen(gpointer unseen)
{
	g_free(((Unseen *)unseen)->what);
	g_free(((Unseen *)unseen)->why);
}

static void add_unseen(GArray *things, const gchar *what, const gchar *why)
{
	Unseen thing = { .n_processes = 1 };

	FOR_EACH(Unseen, known, things) {
		if (strcmp(known->what, what) == 0 &&
		    (!g_str_has_prefix(what, PROCESS) || strcmp(known->why, why) == 0)) {
			known->n_processes++;
			return;
		}
	}
	thing.what = g_utf8_make_valid(what, -1);
	thing.why = g_utf8_make_valid(why, -1);
	g_array_append_val(things, thing);
}

GArray *unseen_read(const gchar *path)
{
	g_autofree gchar *file = g_build_filename(path, TRACE_UNSEEN_FILE, NULL);
	GArray *things = g_array_new(FALSE, FALSE, sizeof(Unseen));
	g_autoptr(GMappedFile) bytes = g_mapped_file_new(file, FALSE, NULL);
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	g_array_set_clear_func(things, clear_unseen);
	if (!bytes || !g_mapped_file_get_contents(bytes))
		return things;
	text = g_strndup(g_mapped_file_get_contents(bytes),
			 MIN(g_mapped_file_get_length(bytes), MAX_FILE_BYTES));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && lines[i + 1];
	     i++) { /* what is behind the last "\n" is not whole */
		g_auto(GStrv) fields = g_strsplit(lines[i], "\t", N_FIELDS);

		if (g_strv_length(fields) == N_FIELDS && *fields[WHAT])
			add_unseen(things, fields[WHAT], fields[WHY]);
	}
	return things;
}

gchar *unseen_summary(const gchar *path)
{
	g_autoptr(GArray) things = unseen_read(path);
	GString *text = g_string_new(NULL);

	FOR_EACH_AT(const Unseen, thing, i, things) {
		gboolean is_process = g_str_has_prefix(thing->what, PROCESS);

		if (i == MAX_SAID && things->len > MAX_SAID + 1) {
			g_string_append_printf(text, " and %u more", things->len - i);
			break;
		}
		g_string_append_printf(text, "%s%s", i ? ", " : "", thing->what);
		if (is_process && thing->n_processes > 1)
			g_string_append_printf(text, " (%u times; it %s)", thing->n_processes,
					       thing->why);
		else if (is_process)
			g_string_append_printf(text, " (it %s)", thing->why);
		else if (thing->n_processes > 1)
			g_string_append_printf(text, " (of %u processes)", thing->n_processes);
	}
	if (text->len)
		return g_string_free(text, FALSE);
	g_string_free(text, TRUE);
	return NULL;
}
