#include "gathered_run.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "part_copy.h"
#include "remove_tree.h"
#include "base/order.h"
#include "base/visible_names.h"
#include "trace/one_job.h"
#include "trace/trace_layout.h"

#define FACTS_FILE	".gather.ini" /* by source: which parts came from it; also the lock of (1) */
#define INCOMING	".incoming"
#define MAX_NAME_BYTES	100
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

struct _GatheredRun {
	gchar *path; /* absolute */
	GKeyFile *facts;
	int lock;
};

/* A run of tacho's. */
struct part {
	gchar *path,
		*name; /* its name where it is one of the folder's, or what it is to be called */
	gchar *host;
	gint64 start_unix_ns, end_unix_ns; /* 0: it has not ended, or nobody saw it */
	gboolean is_older;		   /* a later state of it is coming */
};

static gboolean fail(GError **error, const gchar *what, const gchar *path)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "cannot %s %s: %s", what,
		    path, g_strerror(cause));
	return FALSE;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void part_free(gpointer pointer)
{
	struct part *part = pointer;

	g_free(part->path);
	g_free(part->name);
	g_free(part->host);
	g_free(part);
}

/* NULL: it is no run that `tacho record` made. */
static struct part *part_new(const gchar *path, const gchar *name)
{
	g_autofree gchar *file = g_build_filename(path, TRACE_RUN_FILE, NULL);
	g_autoptr(GKeyFile) facts = g_key_file_new();
	g_autofree gchar *host = NULL;
	gint64 start_unix_ns, end_unix_ns;
	struct part *part;

	if (!g_key_file_load_from_file(facts, file, G_KEY_FILE_NONE, NULL))
		return NULL;
	host = g_key_file_get_string(facts, "run", "host", NULL);
	start_unix_ns = g_key_file_get_int64(facts, "run", "start_unix_ns", NULL);
	end_unix_ns = g_key_file_get_int64(facts, "run", "end_unix_ns", NULL);
	if (!host || start_unix_ns <= 0 || end_unix_ns < 0)
		return NULL;
	part = g_new0(struct part, 1);
	part->path = g_strdup(path);
	part->name = g_strdup(name);
	part->host = g_steal_pointer(&host);
	part->start_unix_ns = start_unix_ns;
	part->end_unix_ns = end_unix_ns;
	return part;
}

/* The runs in the folder, by name. */
static GPtrArray *list_parts(const gchar *folder)
{
	g_autoptr(GPtrArray) names = visible_names(folder);
	GPtrArray *parts = g_ptr_array_new_with_free_func(part_free);

	g_ptr_array_sort(names, order_text);
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *path = g_build_filename(folder, names->pdata[i], NULL);
		struct part *part = part_new(path, names->pdata[i]);

		if (part)
			g_ptr_array_add(parts, part);
	}
	return parts;
}

/* A source is a run, or a folder with the runs of several ranks. */
static GPtrArray *list_incoming(const gchar *folder)
{
	struct part *part = part_new(folder, NULL);
	GPtrArray *parts;

	if (!part)
		return list_parts(folder);
	part->name = g_strdup(part->host);
	parts = g_ptr_array_new_with_free_func(part_free);
	g_ptr_array_add(parts, part);
	return parts;
}

static struct part *find_same(const GPtrArray *parts, const struct part *part)
{
	for (guint i = 0; i < parts->len; i++) {
		struct part *other = g_ptr_array_index(parts, i);

		if (other->start_unix_ns == part->start_unix_ns &&
		    strcmp(other->host, part->host) == 0)
			return other;
	}
	return NULL;
}

/* A name that is none of a file's of ours and that nobody has. */
static void choose_name(const GatheredRun *run, struct part *part)
{
	g_autofree gchar *base = g_strndup(part->name, MAX_NAME_BYTES);

	g_strcanon(base, NAME_CHARACTERS, '_');
	if (!*base || *base == '.')
		*base = '_';
	for (guint n = 1;; n++) {
		g_autofree gchar *name =
			n == 1 ? g_strdup(base) : g_strdup_printf("%s-%u", base, n);
		g_autofree gchar *path = g_build_filename(run->path, name, NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS) ||
		    g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			continue;
		g_free(part->name);
		part->name = g_steal_pointer(&name);
		return;
	}
}

/* --- the folder ------------------------------------------------------------------------------- */

static gboolean is_empty(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);

	return entries && !g_dir_read_name(entries);
}

static gboolean make_folder(const GatheredRun *run, const gchar *facts, GError **error)
{
	if (g_mkdir(run->path, 0700) == 0)
		return TRUE;
	if (errno != EEXIST)
		return fail(error, "make", run->path);
	if (!is_empty(run->path) && !g_file_test(facts, G_FILE_TEST_EXISTS)) {
		g_set_error(
			error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
			"%s exists and was not made by 'tacho gather'; name another folder with "
			"-o",
			run->path);
		return FALSE;
	}
	return g_chmod(run->path, 0700) == 0 || fail(error, "use", run->path);
}

static gboolean take_lock(GatheredRun *run, const gchar *facts, GError **error)
{
	run->lock = open(facts, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (run->lock < 0)
		return fail(error, "write", facts);
	if (flock(run->lock, LOCK_EX | LOCK_NB) == 0)
		return TRUE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
		    "another 'tacho gather' is adding to %s; wait until it is done", run->path);
	return FALSE;
}

GatheredRun *gathered_run_open(const gchar *path, GError **error)
{
	g_autoptr(GatheredRun) run = g_new0(GatheredRun, 1);
	g_autofree gchar *facts = NULL;

	run->lock = -1;
	run->path = g_canonicalize_filename(path, NULL);
	run->facts = g_key_file_new();
	facts = g_build_filename(run->path, FACTS_FILE, NULL);
	if (!make_folder(run, facts, error) || !take_lock(run, facts, error))
		return NULL;
	g_key_file_load_from_file(run->facts, facts, G_KEY_FILE_NONE, NULL); /* a help, no need */
	return g_steal_pointer(&run);
}

void gathered_run_free(GatheredRun *run)
{
	if (!run)
		return;
	if (run->lock >= 0)
		close(run->lock);
	g_clear_pointer(&run->facts, g_key_file_free);
	g_free(run->path);
	g_free(run);
}

/* Written in place: the file is the lock. */
static void save_facts(const GatheredRun *run)
{
	gsize length;
	g_autofree gchar *text = g_key_file_to_data(run->facts, &length, NULL);

	if (ftruncate(run->lock, 0) == 0 && pwrite(run->lock, text, length, 0) < 0)
		return; /* the next time more is brought than needs to be */
}

/* --- whether it may come ---------------------------------------------------------------------- */

static const gchar **list_paths(const GPtrArray *parts, const GPtrArray *coming, guint *ret_n)
{
	const gchar **paths = g_new0(const gchar *, parts->len + (coming ? coming->len : 0) + 1);

	*ret_n = 0;
	for (guint i = 0; i < parts->len; i++) {
		const struct part *part = g_ptr_array_index(parts, i);

		if (!part->is_older)
			paths[(*ret_n)++] = part->path;
	}
	for (guint i = 0; coming && i < coming->len; i++)
		paths[(*ret_n)++] = ((const struct part *)g_ptr_array_index(coming, i))->path;
	return paths;
}

/* one_job.h, (1) and (3), by what `tacho record` saw. */
static gboolean overlap(const struct part *a, const struct part *b, GError **error)
{
	const struct part *first = a->start_unix_ns <= b->start_unix_ns ? a : b;
	const struct part *second = first == a ? b : a;

	if (!first->end_unix_ns ||
	    second->start_unix_ns - first->end_unix_ns <= ONE_JOB_CLOCK_SLACK_NS)
		return TRUE;
	g_set_error(
		error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
		"%s and %s are not of one job: the second began %.0f s after the first had ended",
		first->path, second->path,
		(gdouble)(second->start_unix_ns - first->end_unix_ns) / 1e9);
	return FALSE;
}

static gboolean are_one_job(const GPtrArray *parts, const GPtrArray *coming, GError **error)
{
	g_auto(JobParts) all = { 0 };
	g_autofree const gchar **paths = NULL;
	guint n_paths;

	for (guint i = 0; i < coming->len; i++)
		for (guint k = 0; k < parts->len; k++)
			if (!overlap(g_ptr_array_index(coming, i), g_ptr_array_index(parts, k),
				     error))
				return FALSE;
	paths = list_paths(parts, coming, &n_paths);
	return job_parts_look(paths, n_paths, &all, error);
}

/* Of what has come, leave what is not here yet, or was not at its end. */
static guint drop_known(const GPtrArray *parts, GPtrArray *coming)
{
	guint n_known = 0;

	for (guint i = coming->len; i-- > 0;) {
		struct part *known = find_same(parts, g_ptr_array_index(coming, i));

		if (known && known->end_unix_ns) {
			g_ptr_array_remove_index(coming, i);
			n_known++;
		} else if (known) {
			known->is_older = TRUE;
		}
	}
	return n_known;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Have `from` be called `to`, which is there; it is then gone, or called `from`. Some file systems cannot exchange two names. */
static gboolean replace(const GatheredRun *run, const gchar *from, const gchar *to, GError **error)
{
	g_autofree gchar *aside = NULL;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return TRUE;
	aside = g_build_filename(run->path, INCOMING, "older", NULL);
	if (g_rename(to, aside) < 0)
		return fail(error, "replace", to);
	if (g_rename(from, to) == 0)
		return remove_tree(aside, error);
	fail(error, "replace", to);
	g_rename(aside, to);
	return FALSE;
}

static gboolean place_part(const GatheredRun *run, const GPtrArray *parts, struct part *part,
			   GError **error)
{
	const struct part *older = find_same(parts, part);
	g_autofree gchar *path = NULL;

	if (older) {
		g_free(part->name);
		part->name = g_strdup(older->name);
		return replace(run, part->path, older->path, error);
	}
	choose_name(run, part);
	path = g_build_filename(run->path, part->name, NULL);
	return g_rename(part->path, path) == 0 || fail(error, "make", path);
}

/* The part that came from there before, if it was one: what of it is the same need not come again. NULL: it is not known. */
static gchar *find_known(const GatheredRun *run, const gchar *key)
{
	g_autofree gchar *name = g_key_file_get_string(run->facts, key, "part", NULL);
	g_autofree gchar *path = NULL;

	if (!name || !*name || strspn(name, NAME_CHARACTERS) != strlen(name) || *name == '.')
		return NULL;
	path = g_build_filename(run->path, name, NULL);
	return g_file_test(path, G_FILE_TEST_IS_DIR) ? g_steal_pointer(&path) : NULL;
}

static gboolean place_all(GatheredRun *run, const gchar *key, const gchar *source,
			  const gchar *folder, guint *ret_n_new, guint *ret_n_known, GError **error)
{
	g_autoptr(GPtrArray) parts = list_parts(run->path);
	g_autoptr(GPtrArray) coming = list_incoming(folder);
	gboolean is_one = coming->len == 1 &&
			  strcmp(((struct part *)g_ptr_array_index(coming, 0))->path, folder) == 0;

	if (!coming->len) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s: it is no run that 'tacho record' made, and no folder in it is one",
			    source);
		return FALSE;
	}
	*ret_n_known = drop_known(parts, coming);
	*ret_n_new = coming->len;
	if (coming->len && !are_one_job(parts, coming, error))
		return FALSE;
	for (guint i = 0; i < coming->len; i++)
		if (!place_part(run, parts, g_ptr_array_index(coming, i), error))
			return FALSE;
	if (is_one && coming->len) {
		g_key_file_set_string(run->facts, key, "source", source);
		g_key_file_set_string(run->facts, key, "part",
				      ((struct part *)g_ptr_array_index(coming, 0))->name);
		save_facts(run);
	}
	return TRUE;
}

/* Messages name what the user named. */
static void tell_source(GError *error, const gchar *folder, const gchar *source)
{
	g_auto(GStrv) pieces = g_strsplit(error->message, folder, -1);

	g_free(error->message);
	error->message = g_strjoinv(source, pieces);
}

gboolean gathered_run_take(GatheredRun *run, const gchar *source, guint *ret_n_new,
			   guint *ret_n_known, GError **error)
{
	g_autofree gchar *key = g_compute_checksum_for_string(G_CHECKSUM_SHA256, source, -1);
	g_autofree gchar *incoming = g_build_filename(run->path, INCOMING, NULL);
	g_autofree gchar *folder = g_build_filename(incoming, key, NULL);
	g_autofree gchar *known = NULL;
	GError *cause = NULL;
	gboolean is_placed;

	if (g_mkdir(incoming, 0700) < 0 && errno != EEXIST)
		return fail(error, "make", incoming);
	known = find_known(run, key);
	if (!part_copy(source, folder, known, &cause)) {
		g_rmdir(folder); /* where nothing has come */
		g_rmdir(incoming);
		g_propagate_error(error, cause);
		return FALSE;
	}
	is_placed = place_all(run, key, source, folder, ret_n_new, ret_n_known, &cause);
	if (g_file_test(folder, G_FILE_TEST_EXISTS))
		remove_tree(folder, NULL);
	g_rmdir(incoming); /* unless others wait in it */
	if (is_placed)
		return TRUE;
	tell_source(cause, folder, source);
	g_propagate_error(error, cause);
	return FALSE;
}

gboolean gathered_run_look(GatheredRun *run, JobParts *ret, GError **error)
{
	g_autoptr(GPtrArray) parts = list_parts(run->path);
	guint n_paths;
	g_autofree const gchar **paths = list_paths(parts, NULL, &n_paths);

	return job_parts_look(paths, n_paths, ret, error);
}
