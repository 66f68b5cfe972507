#include "import/trace_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scratch_folder.h"
#include "trace/source.h"

#ifdef TACHO_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

enum {
	TAR_MAGIC_AT = 257, /* "ustar" in a tar's first header, POSIX's and GNU's */
	BLOCK_BYTES = 256 * 1024,
};

gboolean trace_archive_sniff(const struct sniff_input *input)
{
	static const gchar *const endings[] = { ".tar.xz", ".txz",     ".tar.bz2",
						".tbz2",   ".tar.lz4", ".tar.lzma" };

	if (input->is_folder)
		return FALSE;
	if (input->n_head > TAR_MAGIC_AT + 5 && memcmp(input->head + TAR_MAGIC_AT, "ustar", 5) == 0)
		return TRUE;
	/* checkpoints, workbooks and packages are zip files, too */
	if (input->n_head > 4 && memcmp(input->head, "PK\x03\x04", 4) == 0 &&
	    g_str_has_suffix(input->name, ".zip"))
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_str_has_suffix(input->name, endings[i]))
			return TRUE;
	return FALSE;
}

/* --- the folder ------------------------------------------------------------------------------- */

void trace_archive_free(struct trace_archive *archive)
{
	if (!archive)
		return;
	scratch_folder_free(archive->scratch);
	g_free(archive->path);
	g_free(archive->folder);
	g_free(archive);
}

/* --- for who reads what was in it --------------------------------------------------------------- */

gchar *trace_archive_tell(const struct trace_archive *archive, const gchar *text)
{
	g_autoptr(GString) told = g_string_new(text);

	g_string_replace(told, archive->folder, archive->path, 0);
	return g_string_free(g_steal_pointer(&told), FALSE);
}

/* Tells of no slice; it is there to end with the others of the timeline. */
struct holder {
	struct foreign_reader reader;
	struct trace_archive *archive;
};

static void free_holder(struct foreign_reader *reader)
{
	trace_archive_free(((struct holder *)reader)->archive);
	g_free(reader);
}

static void tell(const struct trace_archive *archive, gchar **text)
{
	gchar *told = *text ? trace_archive_tell(archive, *text) : NULL;

	g_free(*text);
	*text = told;
}

void trace_archive_hand_over(struct trace_archive *archive, TachoTimeline *timeline)
{
	struct holder *holder = g_new0(struct holder, 1);

	for (guint i = 0; i < timeline->processes->len; i++)
		tell(archive, &g_array_index(timeline->processes, TachoProcess, i).path);
	for (guint i = 0; i < timeline->problems->len; i++)
		tell(archive, &g_array_index(timeline->problems, TachoProblem, i).where);
	holder->reader.free = free_holder;
	holder->archive = archive;
	tacho_source_take_foreign(timeline->source, &holder->reader);
}

/* --- unpacking -------------------------------------------------------------------------------- */

#ifdef TACHO_HAVE_ARCHIVE

struct unpacking {
	const struct trace_archive *to;
	struct archive *from;
	guint64 n_bytes, n_most;
	guint n_members;
	GError **error;
};

static gboolean fail(struct unpacking *unpacking, const gchar *why)
{
	g_set_error(unpacking->error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT, "%s: %s",
		    unpacking->to->path, why);
	return FALSE;
}

static gboolean fail_broken(struct unpacking *unpacking)
{
	const gchar *why = archive_error_string(unpacking->from);
	g_autofree gchar *text = g_strdup_printf("the archive cannot be read to its end (%s)",
						 why ? why : "it is broken");

	return fail(unpacking, text);
}

static gboolean fail_write(struct unpacking *unpacking, int cause)
{
	g_set_error(unpacking->error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO,
		    "%s: cannot unpack it into %s: %s (set TMPDIR to use another folder)",
		    unpacking->to->path, g_get_tmp_dir(), g_strerror(cause));
	return FALSE;
}

/* Where a member goes, below the folder; NULL: it is none of ours. (1) */
static gchar *place_of(const struct unpacking *unpacking, struct archive_entry *entry)
{
	const gchar *name = archive_entry_pathname(entry);
	g_auto(GStrv) parts = name ? g_strsplit(name, "/", -1) : NULL;
	g_autoptr(GString) place = g_string_new(unpacking->to->folder);

	if (!parts || archive_entry_hardlink(entry) || archive_entry_symlink(entry) ||
	    (archive_entry_filetype(entry) != AE_IFREG &&
	     archive_entry_filetype(entry) != AE_IFDIR))
		return NULL;
	for (guint i = 0; parts[i]; i++) {
		if (strcmp(parts[i], "..") == 0)
			return NULL;
		if (*parts[i] && strcmp(parts[i], ".") != 0)
			g_string_append_printf(place, "/%s", parts[i]);
	}
	return place->len < PATH_MAX ? g_string_free(g_steal_pointer(&place), FALSE) : NULL;
}

/* (2) */
static gboolean count_bytes(struct unpacking *unpacking, gsize n)
{
	unpacking->n_bytes += n;
	if (unpacking->n_bytes <= unpacking->n_most)
		return TRUE;
	return fail(unpacking, "the archive unpacks to far more than traces do; if you trust it, "
			       "unpack it yourself and name the folder");
}

static gboolean copy_bytes(struct unpacking *unpacking, int to)
{
	const void *block;
	la_int64_t offset;
	size_t n;
	int status;

	while ((status = archive_read_data_block(unpacking->from, &block, &n, &offset)) ==
	       ARCHIVE_OK) {
		if (!count_bytes(unpacking, n))
			return FALSE;
		for (gsize done = 0; done < n;) {
			gssize written = pwrite(to, (const gchar *)block + done, n - done,
						offset + (off_t)done);

			if (written < 0 && errno == EINTR)
				continue;
			if (written < 0)
				return fail_write(unpacking, errno);
			done += (gsize)written;
		}
	}
	return status == ARCHIVE_EOF || fail_broken(unpacking);
}

static gboolean unpack_file(struct unpacking *unpacking, const gchar *place)
{
	g_autofree gchar *folder = g_path_get_dirname(place);
	gboolean is_copied;
	int fd;

	if (g_mkdir_with_parents(folder, 0700) != 0)
		return fail_write(unpacking, errno);
	fd = open(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EEXIST || errno == EISDIR))
		return TRUE; /* the first of a name counts */
	if (fd < 0)
		return fail_write(unpacking, errno);
	is_copied = copy_bytes(unpacking, fd);
	close(fd);
	return is_copied;
}

static gboolean unpack_member(struct unpacking *unpacking, struct archive_entry *entry)
{
	g_autofree gchar *place = place_of(unpacking, entry);

	if (++unpacking->n_members > ARCHIVE_MAX_MEMBERS)
		return fail(unpacking, "the archive has too many files for a trace; unpack it "
				       "yourself and name the folder with the trace");
	if (archive_entry_is_encrypted(entry))
		return fail(unpacking,
			    "the archive is encrypted; unpack it yourself and name the folder");
	if (!place)
		return TRUE;
	if (archive_entry_filetype(entry) == AE_IFREG)
		return unpack_file(unpacking, place);
	return g_mkdir_with_parents(place, 0700) == 0 || fail_write(unpacking, errno);
}

static gboolean unpack_all(struct unpacking *unpacking)
{
	struct archive_entry *entry;
	int status;

	while ((status = archive_read_next_header(unpacking->from, &entry)) == ARCHIVE_OK ||
	       status == ARCHIVE_WARN)
		if (!unpack_member(unpacking, entry))
			return FALSE;
	return status == ARCHIVE_EOF || fail_broken(unpacking);
}

static gboolean unpack(const struct trace_archive *archive, GError **error)
{
	struct unpacking unpacking = { .to = archive, .error = error };
	struct stat status;
	gboolean is_unpacked;

	if (stat(archive->path, &status) != 0)
		return fail_write(&unpacking, errno);
	unpacking.n_most = MIN(ARCHIVE_MAX_BYTES, MAX(ARCHIVE_FREE_BYTES,
						      (guint64)status.st_size * ARCHIVE_MAX_RATIO));
	unpacking.from = archive_read_new();
	archive_read_support_filter_all(unpacking.from);
	archive_read_support_format_tar(unpacking.from);
	archive_read_support_format_zip(unpacking.from);
	is_unpacked =
		archive_read_open_filename(unpacking.from, archive->path, BLOCK_BYTES) == ARCHIVE_OK
			? unpack_all(&unpacking)
			: fail_broken(&unpacking);
	archive_read_free(unpacking.from);
	return is_unpacked;
}

#else

static gboolean unpack(const struct trace_archive *archive, GError **error)
{
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "%s: this is an archive, and this tacho was built without libarchive; unpack "
		    "it and name the folder",
		    archive->path);
	return FALSE;
}

#endif

struct trace_archive *trace_archive_open(const gchar *path, GError **error)
{
	struct trace_archive *archive = g_new0(struct trace_archive, 1);
	g_autofree gchar *name = g_path_get_basename(path);
	GError *cause = NULL;

	archive->path = g_strdup(path);
	archive->scratch = scratch_folder_new("tacho-archive-XXXXXX", &cause);
	if (!archive->scratch) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO,
			    "%s: cannot unpack it: %s (set TMPDIR to use another folder)", path,
			    cause->message);
		g_error_free(cause);
		trace_archive_free(archive);
		return NULL;
	}
	archive->folder = g_build_filename(archive->scratch->path, name, NULL);
	g_mkdir(archive->folder, 0700); /* else unpacking says why not */
	if (unpack(archive, error))
		return archive;
	trace_archive_free(archive);
	return NULL;
}
