#include "import/trace_search.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/byte_stream.h"
#include "base/order.h"
#include "base/scratch_folder.h"
#include "import/added_trace.h"
#include "import/lttng_run.h"
#include "import/own_run.h"
#include "import/refusal.h"
#include "import/trace_archive.h"

const struct import_format *const import_formats[IMPORT_N_FORMATS] = {
#define IMPORT_FORMAT(name) &import_##name,
#include "import/formats.def"
#undef IMPORT_FORMAT
};

/* Links may lead to a folder again, or in circles. */
struct folder_id {
	guint64 device, inode;
};

/* A folder to be searched. */
struct place {
	const gchar *path;
	dev_t device;
	guint depth; /* below the folder that was named */
};

static guint hash_folder(gconstpointer folder)
{
	const struct folder_id *id = folder;

	return g_int64_hash(&id->inode) ^ g_int64_hash(&id->device);
}

static gboolean is_same_folder(gconstpointer first, gconstpointer second)
{
	const struct folder_id *a = first, *b = second;

	return a->device == b->device && a->inode == b->inode;
}

void trace_search_init(struct trace_search *search)
{
	*search = (struct trace_search){ 0 };
	for (guint i = 0; i < IMPORT_N_KINDS; i++)
		search->paths[i] = g_ptr_array_new_with_free_func(g_free);
	search->unreadable = g_ptr_array_new_with_free_func(g_free);
	search->left_out = g_ptr_array_new_with_free_func(g_free);
	search->added = g_ptr_array_new_with_free_func(added_trace_free);
	search->archives = g_ptr_array_new_with_free_func((GDestroyNotify)trace_archive_free);
	search->lttng = g_ptr_array_new_with_free_func(g_free);
	search->scratches = g_ptr_array_new_with_free_func((GDestroyNotify)scratch_folder_free);
	search->folders = g_hash_table_new_full(hash_folder, is_same_folder, g_free, NULL);
}

void trace_search_release(struct trace_search *search)
{
	for (guint i = 0; i < IMPORT_N_KINDS; i++)
		g_ptr_array_unref(search->paths[i]);
	g_ptr_array_unref(search->unreadable);
	g_ptr_array_unref(search->left_out);
	g_ptr_array_unref(search->archives);
	g_ptr_array_unref(search->added);
	g_ptr_array_unref(search->lttng);
	g_ptr_array_unref(search->scratches);
	g_free(search->hint);
	g_hash_table_unref(search->folders);
}

guint trace_search_count_foreign(const struct trace_search *search, const gchar **ret_first)
{
	guint n = 0;

	for (guint i = 0; i < IMPORT_N_FORMATS; i++) {
		if (!n && search->paths[i]->len && ret_first)
			*ret_first = search->paths[i]->pdata[0];
		n += search->paths[i]->len;
	}
	return n;
}

static guint count_found(const struct trace_search *search)
{
	return trace_search_count_foreign(search, NULL) + search->paths[IMPORT_OWN_RUN]->len +
	       search->lttng->len;
}

static gboolean is_exhausted(const struct trace_search *search)
{
	return search->n_fruitless > TRACE_SEARCH_MAX_FRUITLESS;
}

/* --- why nothing was found -------------------------------------------------------------------- */

#define SEE_LIST "'tacho import --list' lists what tacho reads"

/* `advice` is what the file is and what to do instead, or NULL. */
static gboolean fail_file(const gchar *path, const struct stat *status, const gchar *advice,
			  GError **error)
{
	if (S_ISREG(status->st_mode) && status->st_size == 0)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s: the file is empty", path);
	else if (advice)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT, "%s %s",
			    path, advice);
	else
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s is not a run or a trace that tacho can read (" SEE_LIST ")", path);
	return FALSE;
}

static gboolean fail_folder(const struct trace_search *search, const gchar *path, GError **error)
{
	if (search->unreadable->len)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s",
			    (const gchar *)search->unreadable->pdata[search->unreadable->len - 1]);
	else if (search->hint)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s: it holds no trace that tacho can read; %s", path, search->hint);
	else if (search->left_out->len)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s: it holds no trace that tacho can read; %s", path,
			    (const gchar *)search->left_out->pdata[0]);
	else
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
			    "%s is not a run or a trace that tacho can read, and no folder in it, "
			    "down to %d levels, holds one (" SEE_LIST ")",
			    path, TRACE_SEARCH_MAX_DEPTH);
	return FALSE;
}

/* (4) `n_found` in this folder. */
static gboolean fail_exhausted(const gchar *path, guint n_found, GError **error)
{
	g_autofree gchar *found =
		n_found ? g_strdup_printf(", %u others are", n_found) : g_strdup("");

	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
		    "%s: there is too much to search: %d files and folders are not traces%s, and "
		    "more remain; name the trace itself or its folder ('tacho import --list' lists "
		    "what tacho reads)",
		    path, TRACE_SEARCH_MAX_FRUITLESS, found);
	return FALSE;
}

static gboolean fail_kernel(const gchar *path, GError **error)
{
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_UNKNOWN_FORMAT,
		    "%s: this is a file system of the kernel, and tacho does not search it for "
		    "traces; copy the trace elsewhere",
		    path);
	return FALSE;
}

/* --- sniffing --------------------------------------------------------------------------------- */

/* The format of a file or folder, by its place in formats.def; IMPORT_N_KINDS: none. */
static guint sniff(const struct sniff_input *input)
{
	for (guint format = 0; format < IMPORT_N_FORMATS; format++)
		if (import_formats[format]->is_export && import_formats[format]->is_export(input))
			return format;
	for (guint format = 0; format < IMPORT_N_FORMATS; format++)
		if (import_formats[format]->sniff(input))
			return format;
	return IMPORT_N_KINDS;
}

/* What a file is. */
typedef struct sniffed {
	guint format;	       /* by its place in formats.def; IMPORT_N_KINDS: none */
	gboolean is_archive;   /* then it is of no format */
	gboolean is_redundant; /* a better one stands beside it */
	gchar *advice;	       /* of no format: what to do instead, or NULL */
	gboolean is_recording; /* ... with something that was recorded */
} Sniffed;

static void release_sniffed(struct sniffed *sniffed)
{
	g_free(sniffed->advice);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sniffed, release_sniffed)

static gboolean sniff_file(const gchar *path, struct sniffed *ret_sniffed, GError **error)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, error);
	g_autofree gchar *head = NULL, *name = g_path_get_basename(path);
	struct sniff_input input = { .path = path, .name = name };
	const struct import_format *format;
	gssize n;

	if (!stream)
		return FALSE;
	head = g_malloc(SNIFF_BYTES + 1);
	n = byte_stream_read(stream, head, SNIFF_BYTES, error);
	if (n < 0)
		return FALSE;
	head[n] = '\0';
	input.head = head;
	input.n_head = (gsize)n;
	ret_sniffed->is_archive = trace_archive_sniff(&input);
	ret_sniffed->format = ret_sniffed->is_archive ? IMPORT_N_KINDS : sniff(&input);
	if (ret_sniffed->format == IMPORT_N_KINDS) {
		if (!ret_sniffed->is_archive)
			ret_sniffed->advice = refusal_of_file(&input, &ret_sniffed->is_recording);
		return TRUE;
	}
	format = import_formats[ret_sniffed->format];
	ret_sniffed->is_redundant = format->is_redundant && format->is_redundant(&input);
	return TRUE;
}

static guint sniff_folder(const gchar *path)
{
	g_autofree gchar *name = g_path_get_basename(path);
	struct sniff_input input = { .path = path, .name = name, .is_folder = TRUE, .head = "" };

	return sniff(&input);
}

/* --- folders ---------------------------------------------------------------------------------- */

/* The names in a folder; NULL: it cannot be read. */
static GPtrArray *list_folder(const gchar *path, GError **error)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	const gchar *name;
	int cause = errno;

	if (!entries) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "%s: %s", path,
			    g_strerror(cause));
		return NULL;
	}
	while ((name = g_dir_read_name(entries)))
		g_ptr_array_add(names, g_strdup(name));
	g_ptr_array_sort(names, order_text);
	return g_steal_pointer(&names);
}

/* Whether the folder has not been searched yet. */
static gboolean is_new_folder(struct trace_search *search, const struct stat *status)
{
	struct folder_id id = { status->st_dev, status->st_ino };

	return g_hash_table_add(search->folders, g_memdup2(&id, sizeof(id)));
}

/* What the kernel makes up while it is read: there is no end to it, and reading may do harm. */
static gboolean is_of_kernel(const gchar *path)
{
	static const guint32 magics[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		DEBUGFS_MAGIC,	  TRACEFS_MAGIC,  SECURITYFS_MAGIC,   DEVPTS_SUPER_MAGIC,
		BPF_FS_MAGIC,	  PSTOREFS_MAGIC, EFIVARFS_MAGIC,     SELINUX_MAGIC
	};
	struct statfs status;

	if (statfs(path, &status) != 0)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(magics); i++)
		if ((guint32)status.f_type == magics[i])
			return TRUE;
	return FALSE;
}

static gboolean is_link(const gchar *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* In a folder may be what is no file (a pipe, a link to nowhere), which is passed over; what may not or
 * cannot be read may be a trace. */
static void note_unreadable(struct trace_search *search, GError *cause)
{
	if (!g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_INVAL) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NXIO) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_LOOP) &&
	    !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		g_ptr_array_add(search->unreadable, g_strdup(cause->message));
	g_error_free(cause);
}

static void leave_out(struct trace_search *search, const gchar *path, const gchar *why)
{
	g_ptr_array_add(search->left_out, g_strdup_printf("%s: %s", path, why));
}

static void add_found(struct trace_search *search, guint kind, const gchar *path)
{
	gboolean is_ours = kind == IMPORT_PLACE_ctf && lttng_trace_is(path);

	g_ptr_array_add(is_ours ? search->lttng : search->paths[kind], g_strdup(path));
}

/* (7): a folder in which a run is made, for as long as the search; NULL: there can be none. */
static const gchar *new_scratch(struct trace_search *search, GError **error)
{
	struct scratch_folder *scratch = scratch_folder_new("tacho-lttng-XXXXXX", error);

	if (!scratch)
		return NULL;
	g_ptr_array_add(search->scratches, scratch);
	return scratch->path;
}

/* A run of ours; where only LTTng has what it recorded, what is made of that. */
static void add_run(struct trace_search *search, const gchar *path)
{
	g_autoptr(GError) cause = NULL;
	const gchar *scratch;

	if (!lttng_run_is_unread(path)) {
		add_found(search, IMPORT_OWN_RUN, path);
		return;
	}
	scratch = new_scratch(search, &cause);
	if (scratch && lttng_run_read_unread(path, scratch, &cause))
		add_found(search, IMPORT_OWN_RUN, scratch);
	else
		g_ptr_array_add(search->unreadable, g_strdup(cause->message));
}

/* The traces of LTTng's that were found are one run. */
static gboolean make_lttng_run(struct trace_search *search, GError **error)
{
	const gchar *scratch;

	if (!search->lttng->len)
		return TRUE;
	scratch = new_scratch(search, error);
	if (!scratch || !lttng_run_read((const gchar *const *)search->lttng->pdata,
					search->lttng->len, scratch, error)) {
		g_prefix_error(error, "%s: ", (const gchar *)search->lttng->pdata[0]);
		return FALSE;
	}
	add_found(search, IMPORT_OWN_RUN, scratch);
	g_ptr_array_set_size(search->lttng, 0);
	return TRUE;
}

/* A run of ours, and (3) those in it. */
static void add_own_run(struct trace_search *search, const gchar *path)
{
	g_autoptr(GPtrArray) names = list_folder(path, NULL);
	struct stat status;

	add_run(search, path);
	added_traces_find(search->added, path);
	for (guint i = 0; names && i < names->len; i++) {
		g_autofree gchar *child = g_build_filename(path, names->pdata[i], NULL);

		if (!own_run_has_facts(child) || stat(child, &status) != 0 ||
		    !is_new_folder(search, &status))
			continue;
		search->is_guess = TRUE;
		if (*(const gchar *)names->pdata[i] == '.')
			leave_out(search, child,
				  "this run is in a hidden folder; it is read only if you name it");
		else
			add_run(search, child);
	}
}

/* --- searching -------------------------------------------------------------------------------- */

static void search_folder(struct trace_search *search, const struct place *place);

static void search_subfolder(struct trace_search *search, const struct place *place,
			     const struct place *parent, const struct stat *status)
{
	gboolean is_elsewhere = place->device != parent->device;
	guint format;

	if (!is_new_folder(search, status) || (is_elsewhere && is_of_kernel(place->path)))
		return;
	if (own_run_is_certain(place->path)) {
		add_own_run(search, place->path);
		return;
	}
	format = sniff_folder(place->path);
	if (format < IMPORT_N_FORMATS)
		add_found(search, format, place->path);
	else if (is_elsewhere && !is_link(place->path))
		leave_out(search, place->path,
			  "this is another file system; it is searched only if you name it");
	else if (place->depth <= TRACE_SEARCH_MAX_DEPTH)
		search_folder(search, place);
}

static void search_file(struct trace_search *search, const gchar *path)
{
	g_auto(Sniffed) sniffed = { 0 };
	GError *cause = NULL;

	if (!sniff_file(path, &sniffed, &cause))
		note_unreadable(search, cause);
	else if (sniffed.is_archive)
		leave_out(search, path,
			  "this is an archive, which is not opened; name it, or, if it is in "
			  "another one, "
			  "unpack that first");
	else if (sniffed.format < IMPORT_N_FORMATS && !sniffed.is_redundant)
		add_found(search, sniffed.format, path);
	else if (sniffed.advice && sniffed.is_recording && !search->hint)
		search->hint = g_strdup_printf("%s %s", path, sniffed.advice);
}

/* A file or folder within the one that was named. */
static void search_entry(struct trace_search *search, const gchar *path, const struct place *parent)
{
	guint n_before = count_found(search);
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		struct place place = { path, status.st_dev, parent->depth + 1 };

		search_subfolder(search, &place, parent, &status);
	} else {
		search_file(search, path);
	}
	if (count_found(search) == n_before)
		search->n_fruitless++;
}

static void search_folder(struct trace_search *search, const struct place *place)
{
	GError *cause = NULL;
	g_autoptr(GPtrArray) names = list_folder(place->path, &cause);

	if (!names)
		note_unreadable(search, cause);
	for (guint i = 0; names && i < names->len && !is_exhausted(search); i++) {
		g_autofree gchar *child = g_build_filename(place->path, names->pdata[i], NULL);

		if (*(const gchar *)names->pdata[i] != '.')
			search_entry(search, child, place);
		else if (own_run_has_facts(child))
			leave_out(search, child,
				  "this run is in a hidden folder; it is read only if you name it");
	}
}

/* (6), of what was found since there were `n_before` of each kind. */
static void leave_out_foreign(struct trace_search *search, const guint *n_before)
{
	if (search->paths[IMPORT_OWN_RUN]->len == n_before[IMPORT_OWN_RUN])
		return;
	for (guint i = 0; i < IMPORT_N_FORMATS; i++)
		for (guint n = n_before[i]; n < search->paths[i]->len; n++) {
			g_autofree gchar *why =
				g_strdup_printf("this trace (%s) is beside runs of tacho; it is "
						"read only if you name it",
						import_formats[i]->name);

			leave_out(search, search->paths[i]->pdata[n], why);
		}
	for (guint i = 0; i < IMPORT_N_FORMATS; i++)
		g_ptr_array_set_size(search->paths[i], (gint)n_before[i]);
}

static gboolean search_named(struct trace_search *search, const struct place *place, GError **error)
{
	guint n_before[IMPORT_N_KINDS], n_found = count_found(search);

	for (guint i = 0; i < IMPORT_N_KINDS; i++)
		n_before[i] = search->paths[i]->len;
	search->n_fruitless = 0;
	search_folder(search, place);
	n_found = count_found(search) - n_found;
	if (search->paths[IMPORT_OWN_RUN]->len > n_before[IMPORT_OWN_RUN] + 1)
		search->is_guess = TRUE;
	if (is_exhausted(search))
		return fail_exhausted(place->path, n_found, error);
	leave_out_foreign(search, n_before);
	return n_found || fail_folder(search, place->path, error);
}

/* (5). What fails in it is told by the archive's name. */
static gboolean add_archive(struct trace_search *search, const gchar *path, GError **error)
{
	struct trace_archive *archive = trace_archive_open(path, error);
	g_autofree gchar *told = NULL;
	GError *cause = NULL;

	if (!archive)
		return FALSE;
	g_ptr_array_add(search->archives, archive);
	if (trace_search_add(search, archive->folder, &cause))
		return TRUE;
	told = trace_archive_tell(archive, cause->message);
	g_set_error_literal(error, cause->domain, cause->code, told);
	g_error_free(cause);
	return FALSE;
}

static gboolean add_named_file(struct trace_search *search, const gchar *path,
			       const struct stat *status, GError **error)
{
	g_auto(Sniffed) sniffed = { 0 };

	if (!sniff_file(path, &sniffed, error))
		return FALSE;
	if (sniffed.is_archive)
		return add_archive(search, path, error);
	if (sniffed.format == IMPORT_N_KINDS)
		return fail_file(path, status, sniffed.advice, error);
	add_found(search, sniffed.format, path);
	return TRUE;
}

gboolean trace_search_add(struct trace_search *search, const gchar *path, GError **error)
{
	struct place place = { .path = path };
	struct stat status;
	guint format;

	if (stat(path, &status) != 0) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", path,
			    g_strerror(errno));
		return FALSE;
	}
	if (!S_ISDIR(status.st_mode))
		return add_named_file(search, path, &status, error);
	if (!is_new_folder(search, &status))
		return TRUE; /* named before, or in a folder that was */
	if (is_of_kernel(path))
		return fail_kernel(path, error);
	if (own_run_is(path)) {
		add_own_run(search, path);
		return search->paths[IMPORT_OWN_RUN]->len || fail_folder(search, path, error);
	}
	format = sniff_folder(path);
	if (format < IMPORT_N_FORMATS) {
		add_found(search, format, path);
		return make_lttng_run(search, error);
	}
	place.device = status.st_dev;
	return search_named(search, &place, error) && make_lttng_run(search, error);
}
