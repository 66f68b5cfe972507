#include "run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remove_tree.h"
#include "trace/packet_cut.h"
#include "trace/run_losses.h"
#include "trace/run_registry.h"
#include "trace/trace_layout.h"

/* What operations there are, which reads what which made, and how large tensors are, of each rank (docs/precision-run.md). */
#define PRECISION_FILES "^precision(-statistics)?([.][0-9]+)?[.]json([.][0-9]+[.]part)?$"

static gint64 unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

static gboolean fail(GError **error, int cause, const gchar *what, const gchar *path)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "%s %s: %s", what, path,
		    g_strerror(cause));
	return FALSE;
}

static gboolean is_empty(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);

	return entries && !g_dir_read_name(entries);
}

/* Whether it is a trace that the agent wrote, or had begun to. */
static gboolean is_own_trace(const gchar *folder)
{
	g_autofree gchar *name = g_path_get_basename(folder);
	g_autofree gchar *path = g_build_filename(folder, TRACE_METADATA_FILE, NULL);
	gchar text[8192];
	gssize length = 0;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0) {
		length = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[MAX(length, 0)] = '\0';
	if (*name == '.' && length <= 0)
		return g_regex_match_simple("^\\..*-[0-9]+$", name, 0, 0);
	return strstr(text, "\ttacho_format = ") != NULL;
}

typedef gboolean name_check(const gchar *folder, const gchar *name);

/* The first name in `folder` that does not pass, as a path; NULL: all do. */
static gchar *first_failing(const gchar *folder, name_check *passes)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries)))
		if (!passes(folder, name))
			return g_build_filename(folder, name, NULL);
	return NULL;
}

static gboolean is_of_trace(const gchar *folder, const gchar *name)
{
	(void)folder;
	return g_regex_match_simple("^(metadata|\\.?[0-9]+-[0-9]+\\.[0-9]+)$", name, 0, 0);
}

/* A trace of another tool, which the hook or `tacho add` has put there; one may be unfinished. */
static gboolean is_added(const gchar *folder, const gchar *name)
{
	g_autofree gchar *facts = g_build_filename(folder, name, TRACE_ADDED_FILE, NULL);

	return *name == '.' || g_file_test(facts, G_FILE_TEST_EXISTS);
}

static gboolean is_of_run(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	g_autofree gchar *stranger = NULL;

	if (strcmp(name, TRACE_ADDED_FOLDER) == 0) {
		stranger = first_failing(path, is_added);
		return !stranger;
	}
	if (strcmp(name, TRACE_LTTNG_FOLDER) == 0 || strcmp(name, TRACE_LOSSES_FILE) == 0 ||
	    strcmp(name, TRACE_UNSEEN_FILE) == 0 || g_str_has_prefix(name, TRACE_RUN_FILE))
		return TRUE;
	if (g_regex_match_simple(PRECISION_FILES, name, 0, 0))
		return TRUE;
	if (!is_own_trace(path))
		return FALSE;
	stranger = first_failing(path, is_of_trace);
	return !stranger;
}

/* Remove the folder of a run, if all that is in it was written by tacho. */
static gboolean remove_run(const gchar *path, GError **error)
{
	g_autofree gchar *stranger = first_failing(path, is_of_run);

	if (!stranger)
		return remove_tree(path, error);
	g_set_error(
		error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
		"%s is not tacho's, or has something in it that is not: --force removes only what "
		"tacho wrote; move it, or record into another folder",
		stranger);
	return FALSE;
}

static gboolean make_room(const gchar *path, gboolean is_forced, GError **error)
{
	g_autofree gchar *run_file = g_build_filename(path, TRACE_RUN_FILE, NULL);

	if (!g_file_test(path, G_FILE_TEST_EXISTS) || is_empty(path))
		return TRUE;
	if (!g_file_test(run_file, G_FILE_TEST_EXISTS)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			    "%s exists and is not a run that tacho recorded; name another folder "
			    "with -o",
			    path);
		return FALSE;
	}
	if (!is_forced) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			    "%s holds an earlier run; --force replaces it", path);
		return FALSE;
	}
	return remove_run(path, error);
}

static gboolean write_facts(const RunFolder *folder, GError **error)
{
	g_autofree gchar *file = g_build_filename(folder->path, TRACE_RUN_FILE, NULL);
	g_autofree gchar *text = g_key_file_to_data(folder->facts, NULL, NULL);

	return g_file_set_contents_full(file, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
					error);
}

static void register_run(RunFolder *folder, const gchar *command)
{
	g_autofree gchar *registry = run_registry_path();
	g_autofree gchar *name = g_strdup_printf("%d", (int)getpid());
	g_autoptr(GKeyFile) entry = g_key_file_new();
	g_autofree gchar *text = NULL;

	if (!registry)
		return;
	g_key_file_set_string(entry, "run", "path", folder->path);
	g_key_file_set_string(entry, "run", "command", command);
	g_key_file_set_int64(entry, "run", "start_unix_ns", unix_ns());
	text = g_key_file_to_data(entry, NULL, NULL);
	folder->registry_entry = g_build_filename(registry, name, NULL);
	if (!g_file_set_contents_full(folder->registry_entry, text, -1,
				      G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL))
		g_clear_pointer(&folder->registry_entry, g_free);
}

/* Made while there is room for it: the agents add to it where there is no room for anything else. */
static void make_losses(const RunFolder *folder)
{
	static const gchar head[] = "# what could not be recorded: process, host, records, cause\n";
	g_autofree gchar *file = g_build_filename(folder->path, TRACE_LOSSES_FILE, NULL);

	g_file_set_contents_full(file, head, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL);
}

/* The command line as a shell would take it, in valid UTF-8. */
static gchar *quote_command(gchar **command)
{
	g_autoptr(GString) line = g_string_new(NULL);

	for (guint i = 0; command[i]; i++) {
		g_autofree gchar *quoted = NULL;
		gboolean is_plain =
			*command[i] && !strpbrk(command[i], " \t\n'\"\\$`&|;<>()*?[]#~!{}");

		quoted = is_plain ? g_strdup(command[i]) : g_shell_quote(command[i]);
		g_string_append_printf(line, "%s%s", i ? " " : "", quoted);
	}
	return g_utf8_make_valid(line->str, (gssize)line->len);
}

RunFolder *run_folder_new(const gchar *path, gchar **command, guint n_ranks, gboolean is_forced,
			  GError **error)
{
	g_autoptr(RunFolder) folder = g_new0(RunFolder, 1);
	g_autofree gchar *line = quote_command(command);

	folder->facts = g_key_file_new();
	folder->path = g_canonicalize_filename(path, NULL);
	if (!make_room(folder->path, is_forced, error))
		return NULL;
	if (g_mkdir(folder->path, 0700) < 0 && errno != EEXIST) {
		fail(error, errno, "cannot make", folder->path);
		return NULL;
	}
	if (g_chmod(folder->path, 0700) < 0) {
		fail(error, errno, "cannot use", folder->path);
		return NULL;
	}
	g_key_file_set_string(folder->facts, "run", "version", TACHO_VERSION);
	g_key_file_set_string(folder->facts, "run", "command", line);
	g_key_file_set_string(folder->facts, "run", "host", g_get_host_name());
	g_key_file_set_int64(folder->facts, "run", "start_unix_ns", unix_ns());
	g_key_file_set_integer(folder->facts, "run", "ranks", (gint)n_ranks);
	if (!write_facts(folder, error))
		return NULL;
	make_losses(folder);
	register_run(folder, line);
	return g_steal_pointer(&folder);
}

void run_folder_free(RunFolder *folder)
{
	if (!folder)
		return;
	if (folder->registry_entry)
		g_unlink(folder->registry_entry);
	g_free(folder->registry_entry);
	g_free(folder->path);
	g_clear_pointer(&folder->facts, g_key_file_free);
	g_free(folder);
}

void run_folder_child_began(RunFolder *folder, guint number, pid_t pid, gint rank)
{
	g_autofree gchar *group = g_strdup_printf("child %u", number);

	g_key_file_set_integer(folder->facts, group, "pid", pid);
	g_key_file_set_integer(folder->facts, group, "rank", rank);
	g_key_file_set_int64(folder->facts, group, "start_unix_ns", unix_ns());
	write_facts(folder, NULL);
}

void run_folder_child_ended(RunFolder *folder, guint number, int wait_status)
{
	g_autofree gchar *group = g_strdup_printf("child %u", number);
	g_autofree gchar *status = WIFSIGNALED(wait_status)
					   ? g_strdup_printf("signal=%d", WTERMSIG(wait_status))
					   : g_strdup_printf("exit=%d", WEXITSTATUS(wait_status));

	g_key_file_set_string(folder->facts, group, "status", status);
	g_key_file_set_int64(folder->facts, group, "end_unix_ns", unix_ns());
	write_facts(folder, NULL);
}

void run_folder_ended(RunFolder *folder)
{
	g_autofree gchar *losses = g_build_filename(folder->path, TRACE_LOSSES_FILE, NULL);

	if (!run_losses_count(folder->path))
		g_unlink(losses);
	g_key_file_set_int64(folder->facts, "run", "end_unix_ns", unix_ns());
	write_facts(folder, NULL);
}

void run_folder_note(RunFolder *folder, const gchar *key, const gchar *value)
{
	g_key_file_set_string(folder->facts, "run", key, value);
	write_facts(folder, NULL);
}

void run_folder_note_loss(const RunFolder *folder, guint64 count, const gchar *cause)
{
	g_autofree gchar *file = g_build_filename(folder->path, TRACE_LOSSES_FILE, NULL);
	g_autofree gchar *line = g_strdup_printf("%d\t%s\t%" G_GUINT64_FORMAT "\t%s\n",
						 (int)getpid(), g_get_host_name(), count, cause);
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0)
		g_unlink(file);
	close(fd);
}

void run_folder_note_end(const gchar *path)
{
	g_autoptr(RunFolder) folder = g_new0(RunFolder, 1);
	g_autofree gchar *file = g_build_filename(path, TRACE_RUN_FILE, NULL);

	folder->path = g_strdup(path);
	folder->facts = g_key_file_new();
	if (g_key_file_load_from_file(folder->facts, file, G_KEY_FILE_NONE, NULL))
		run_folder_ended(folder);
}

void run_folder_discard(RunFolder *folder)
{
	remove_tree(folder->path, NULL);
}

/* The process that writes the trace, as its metadata says; 0: not to be found. */
static pid_t trace_pid(const gchar *trace)
{
	static const gchar key[] = "\tpid = ";
	g_autofree gchar *path = g_build_filename(trace, TRACE_METADATA_FILE, NULL);
	gchar text[8192];
	const gchar *place;
	gssize length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	length = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	text[MAX(length, 0)] = '\0';
	place = strstr(text, key);
	return place ? (pid_t)g_ascii_strtoll(place + strlen(key), NULL, 10) : 0;
}

static void trim_file(const gchar *path)
{
	struct packet_header packet;
	struct stat status;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    pread(fd, &packet, sizeof(packet), 0) == sizeof(packet) &&
	    packet.magic == TRACE_PACKET_MAGIC &&
	    packet.packet_bits / 8 == (guint64)status.st_size &&
	    packet.content_bits >= sizeof(packet) * 8 &&
	    packet.content_bits <= packet.packet_bits) {
		if (packet.content_bits == sizeof(packet) * 8)
			g_unlink(path);
		else
			packet_cut(fd, &packet, (guint64)status.st_size, packet.content_bits / 8);
	}
	close(fd);
}

void run_folder_trim(const RunFolder *folder)
{
	g_autoptr(GDir) traces = g_dir_open(folder->path, 0, NULL);
	const gchar *name, *file;

	while (traces && (name = g_dir_read_name(traces))) {
		g_autofree gchar *trace = g_build_filename(folder->path, name, NULL);
		g_autoptr(GDir) files = NULL;
		pid_t pid = *name == '.' ? 0 : trace_pid(trace);

		if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
			continue; /* still writing */
		files = g_dir_open(trace, 0, NULL);
		while (files && (file = g_dir_read_name(files))) {
			g_autofree gchar *path = g_build_filename(trace, file, NULL);

			if (*file != '.' && strcmp(file, TRACE_METADATA_FILE) != 0)
				trim_file(path);
		}
	}
}

/* What the files in it, and in folders in it, take. */
static guint64 disk_bytes(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;
	guint64 bytes = 0;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);
		struct stat status;

		if (lstat(path, &status) != 0)
			continue;
		bytes += S_ISDIR(status.st_mode) ? disk_bytes(path)
						 : (guint64)status.st_blocks * 512;
	}
	return bytes;
}

guint run_folder_count_traces(const RunFolder *folder, guint64 *ret_bytes)
{
	g_autoptr(GDir) entries = g_dir_open(folder->path, 0, NULL);
	g_autofree gchar *added = g_build_filename(folder->path, TRACE_ADDED_FOLDER, NULL);
	const gchar *name;
	guint n_traces = 0;
	guint64 bytes = disk_bytes(added);

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *trace = g_build_filename(folder->path, name, NULL);
		g_autofree gchar *metadata = g_build_filename(trace, TRACE_METADATA_FILE, NULL);

		if (!g_file_test(metadata, G_FILE_TEST_EXISTS))
			continue;
		n_traces++;
		bytes += disk_bytes(trace);
	}
	*ret_bytes = bytes;
	return n_traces;
}
