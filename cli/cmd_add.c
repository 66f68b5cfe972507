/* cmd_add: lay traces of other tools into a run, for every command to read with it.
 *
 * A trace gets a folder of its own in RUN/traces, which appears when it is whole and has been read with the run as a try. */
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tacho/import.h>

#include "cli.h"
#include "new_folder.h"
#include "trace/trace_layout.h"

static const gchar usage[] = "RUN TRACE...";
static const gchar description[] =
	"A trace that another tool wrote while tacho recorded the job: a file, or a folder of "
	"files.\n"
	"All commands then read it with the run, as one timeline on the run's clock. What both\n"
	"recorded counts once.\n"
	"\n"
	"Examples:\n"
	"  tacho add base.tacho rank0.pt.trace.json.gz\n"
	"  tacho add --rank=1 base.tacho logs/plugins/profile/2026_01_31/node7.xplane.pb\n";

struct options {
	gchar *host;
	gint pid, rank; /* -1: not told */
	gboolean is_link;
};

static gboolean fail(GError **error, const gchar *what, const gchar *path, int cause)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "cannot %s %s: %s", what,
		    path, g_strerror(cause));
	return FALSE;
}

/* --- the trace's files ---------------------------------------------------------------------- */

static gboolean link_file(const gchar *from, const gchar *to, GError **error)
{
	g_autofree gchar *absolute = g_canonicalize_filename(from, NULL);

	return symlink(absolute, to) == 0 || fail(error, "make", to, errno);
}

static gboolean copy_bytes(FILE *in, FILE *out)
{
	static gchar buffer[1 << 16];
	gsize n;

	while ((n = fread(buffer, 1, sizeof(buffer), in)))
		if (fwrite(buffer, 1, n, out) != n)
			return FALSE;
	return !ferror(in) && fflush(out) == 0;
}

static gboolean copy_file(const gchar *from, const gchar *to, GError **error)
{
	FILE *in = g_fopen(from, "rbe"), *out;
	gboolean is_copied;
	int cause;

	if (!in)
		return fail(error, "read", from, errno);
	out = g_fopen(to, "wbxe");
	if (!out) {
		cause = errno;
		fclose(in);
		return fail(error, "write", to, cause);
	}
	is_copied = copy_bytes(in, out) && fchmod(fileno(out), 0600) == 0;
	cause = errno;
	fclose(in);
	if (fclose(out) != 0 && is_copied) {
		is_copied = FALSE;
		cause = errno;
	}
	return is_copied || fail(error, "copy", from, cause);
}

static gboolean take_file(const struct options *options, const gchar *from, const gchar *folder,
			  GError **error)
{
	g_autofree gchar *name = g_path_get_basename(from);
	g_autofree gchar *to = g_build_filename(folder, name, NULL);

	return options->is_link ? link_file(from, to, error) : copy_file(from, to, error);
}

/* The files of a folder, not those of folders in it. */
static gboolean take_folder(const struct options *options, const gchar *from, const gchar *folder,
			    GError **error)
{
	g_autoptr(GDir) entries = g_dir_open(from, 0, error);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(from, name, NULL);

		if (*name == '.' || !g_file_test(path, G_FILE_TEST_IS_REGULAR))
			continue;
		if (!take_file(options, path, folder, error))
			return FALSE;
	}
	return entries != NULL;
}

/* trace.ini: whose the trace is, as far as the user knows better than it. */
static gboolean write_facts(const struct options *options, const gchar *from, const gchar *folder,
			    GError **error)
{
	g_autofree gchar *path = g_build_filename(folder, TRACE_ADDED_FILE, NULL);
	g_autofree gchar *absolute = g_canonicalize_filename(from, NULL);
	g_autoptr(GKeyFile) facts = g_key_file_new();
	g_autofree gchar *text = NULL;

	g_key_file_set_string(facts, "trace", "from", absolute);
	if (options->host)
		g_key_file_set_string(facts, "trace", "host", options->host);
	if (options->pid >= 0)
		g_key_file_set_integer(facts, "trace", "pid", options->pid);
	if (options->rank >= 0)
		g_key_file_set_integer(facts, "trace", "rank", options->rank);
	text = g_key_file_to_data(facts, NULL, NULL);
	return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, error);
}

/* --- adding --------------------------------------------------------------------------------- */

static gboolean make_place(const gchar *run, GError **error)
{
	g_autofree gchar *folder = g_build_filename(run, TRACE_ADDED_FOLDER, NULL);

	return g_mkdir(folder, 0700) == 0 || errno == EEXIST || fail(error, "make", folder, errno);
}

/* Without traces in it there is no such folder. */
static void leave_place(const gchar *run)
{
	g_autofree gchar *folder = g_build_filename(run, TRACE_ADDED_FOLDER, NULL);

	g_rmdir(folder);
}

static gboolean fill(const struct options *options, const gchar *trace, const gchar *folder,
		     GError **error)
{
	gboolean is_folder = g_file_test(trace, G_FILE_TEST_IS_DIR);

	return (is_folder ? take_folder(options, trace, folder, error)
			  : take_file(options, trace, folder, error)) &&
	       write_facts(options, trace, folder, error);
}

/* Errors name the folder that is being made, which the user has never seen. */
static void tell_of_trace(GError *error, const gchar *folder, const gchar *trace)
{
	g_autoptr(GString) message = g_string_new(error->message);

	g_string_replace(message, folder, trace, 0);
	g_free(error->message);
	error->message = g_strdup(message->str);
}

static gboolean add(const struct options *options, const gchar *run, const gchar *trace,
		    GError **error)
{
	g_autofree gchar *name = g_path_get_basename(trace);
	g_autofree gchar *path = g_build_filename(run, TRACE_ADDED_FOLDER, name, NULL);
	g_autoptr(NewFolder) folder = NULL;
	guint64 n_added = 0, n_same = 0;
	GError *cause = NULL;

	if (g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			    "%s exists: the run has a trace of that name; remove that folder, or "
			    "rename the trace",
			    path);
		return FALSE;
	}
	if (!make_place(run, error))
		return FALSE;
	folder = new_folder_open(path, "*", FALSE, error);
	if (!folder)
		return FALSE;
	if (!fill(options, trace, new_folder_path(folder), &cause) ||
	    !tacho_run_try_trace(run, new_folder_path(folder), &n_added, &n_same, &cause)) {
		tell_of_trace(cause, new_folder_path(folder), trace);
		g_propagate_error(error, cause);
		g_clear_pointer(&folder, new_folder_abandon);
		leave_place(run);
		return FALSE;
	}
	if (!new_folder_finish(g_steal_pointer(&folder), error))
		return FALSE;
	printf("%s: %" G_GUINT64_FORMAT " events added", trace, n_added);
	if (n_same)
		printf("; %" G_GUINT64_FORMAT " that the run had recorded itself count once",
		       n_same);
	putchar('\n');
	return TRUE;
}

/* A run as `tacho record` writes it: others have no place for traces. */
static gboolean is_run(const gchar *path)
{
	g_autofree gchar *facts = g_build_filename(path, TRACE_RUN_FILE, NULL);

	return g_file_test(facts, G_FILE_TEST_EXISTS);
}

static int add_all(const struct options *options, int argc, char **argv)
{
	if (argc < 3)
		return cli_fail("add", "name the run, and the traces that belong to it (see "
				       "'tacho add --help')");
	if (!is_run(argv[1]))
		return cli_fail("add", "%s is not a run that tacho recorded: it has no %s", argv[1],
				TRACE_RUN_FILE);
	if (argc > 3 && (options->pid >= 0 || options->rank >= 0))
		return cli_fail("add", "--pid and --rank are of one trace; add the others in "
				       "separate commands");
	for (int i = 2; i < argc; i++) {
		GError *error = NULL;

		if (!add(options, argv[1], argv[i], &error))
			return cli_fail_error("add", error);
	}
	return cli_finish("add", CLI_DONE);
}

int cmd_add(int argc, char **argv)
{
	struct options options = { .pid = -1, .rank = -1 };
	const GOptionEntry entries[] = {
		{ "link", 'l', 0, G_OPTION_ARG_NONE, &options.is_link,
		  "link to the trace's files instead of copying them", NULL },
		{ "pid", 'p', 0, G_OPTION_ARG_INT, &options.pid,
		  "the process that the trace is of, where it does not tell", "PID" },
		{ "host", 0, 0, G_OPTION_ARG_STRING, &options.host, "the host that --pid is of",
		  "NAME" },
		{ "rank", 'r', 0, G_OPTION_ARG_INT, &options.rank,
		  "the rank that the trace is of, where it does not tell", "N" },
		G_OPTION_ENTRY_NULL,
	};
	int status;

	if (!cli_parse("add", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	status = add_all(&options, argc, argv);
	g_free(options.host);
	return status;
}
