/* ctf_mend: a copy of a CTF trace without what is broken in it.
 *
 * libbabeltrace2 refuses a trace, all of it, if the packets of one file are not what their headers say. So each file is
 * tried alone. Those that can be read are linked into a folder; one that cannot is copied there up to the packet
 * where it breaks:
 *
 *     packet packet packet [packet that claims more bytes than there are]      cut, or a size that is wrong
 *     packet packet packet [what is no packet] ...                             bytes that are wrong
 *
 * For the first kind, libbabeltrace2 warns where the packet begins and what it claims. Its sizes are then made what is
 * there, so that its events are read up to the cut. Where in the packet its sizes are is in the metadata, which
 * only libbabeltrace2 reads: they are looked for by their value, and that the file can be read then proves them.
 * For the second kind, the place where it breaks is found by halving: a copy that ends in a packet is of the first kind.
 *
 * It is worth its length, because a trace with one cut file has no events at all without it. The ten CTF samples of
 * Trace Compass and TraceVizLab have 38,384 events. If all their files are cut, as on a full disk, so many are read:
 *
 *     cut at                          50 %    90 %    99 %
 *     mended                         7,493  18,641  26,424
 *     not mended                         0       0       0
 *     without the files that are cut     0       0       0
 *
 * If one file at a time is cut at 50 % (24 traces, 114,510 events), 92,429 are read mended, 90,501 without that file
 * and 0 not mended. None of the samples is broken as it is.
 *
 * (1) The trace itself is not touched.
 * (2) What is left out is told, by file and byte offset. */
#include "import/ctf/ctf_mend.h"

#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/ctf/ctf_record_writer.h"
#include "import/ctf/ctf_source.h"

enum {
	MAX_HEAD_BYTES = 256, /* of a packet's header and context, where its sizes are looked for */
	HEAD_STEP_BYTES = 4,
	MAX_TOLD_BYTES = 4096,
	COPY_BYTES = 1 << 20,
};

struct mending {
	const gchar *folder, *full_folder; /* of the trace: as it was named, and from the root */
	const gchar *mended, *probe;
	struct ctf_record_writer writer;
};

/* A packet that claims more than there is. */
struct claim {
	guint64 offset, size_bytes;
};

/* --- trying --------------------------------------------------------------------------------- */

/* The number after `key` in the text. */
static gboolean find_number(const gchar *text, const gchar *key, guint64 *ret_value)
{
	const gchar *found = strstr(text, key);

	if (!found || !g_ascii_isdigit(found[strlen(key)]))
		return FALSE;
	*ret_value = g_ascii_strtoull(found + strlen(key), NULL, 10);
	return TRUE;
}

/* What libbabeltrace2 has warned of since its words took `n_before` bytes. False: of no claim. */
static gboolean read_claim(gint64 n_before, struct claim *ret_claim)
{
	gchar text[MAX_TOLD_BYTES + 1];
	gssize n = n_before < 0 ? -1 : pread(STDERR_FILENO, text, MAX_TOLD_BYTES, n_before);

	if (n <= 0)
		return FALSE;
	text[n] = '\0';
	return (find_number(text, "packet-offset=", &ret_claim->offset) ||
		find_number(text, "packet-offset-bytes=", &ret_claim->offset)) &&
	       find_number(text, "packet-size-bytes=", &ret_claim->size_bytes);
}

enum verdict { IS_FINE, CLAIMS_TOO_MUCH, IS_BROKEN };

/* Whether the trace in the probe folder can be opened. */
static enum verdict try_probe(const struct mending *mending, struct claim *ret_claim)
{
	gint64 n_before = lseek(STDERR_FILENO, 0, SEEK_END);
	bt_graph *graph = bt_graph_create(0);
	gboolean is_fine = graph && ctf_source_add(graph, mending->probe, TRUE);

	bt_graph_put_ref(graph);
	bt_current_thread_clear_error();
	if (is_fine)
		return IS_FINE;
	return read_claim(n_before, ret_claim) ? CLAIMS_TOO_MUCH : IS_BROKEN;
}

/* --- copying -------------------------------------------------------------------------------- */

/* Have the copy, which is as the file begins, be as its first `n` bytes. */
static gboolean copy_first(int file, int copy, guint64 n)
{
	g_autofree guint8 *bytes = g_malloc(COPY_BYTES);
	struct stat status;
	guint64 n_done;

	if (fstat(copy, &status) != 0)
		return FALSE;
	n_done = (guint64)status.st_size;
	if (n_done > n)
		return ftruncate(copy, (off_t)n) == 0;
	while (n_done < n) {
		gssize n_read = pread(file, bytes, MIN(n - n_done, COPY_BYTES), (off_t)n_done);

		if (n_read < 0 && errno == EINTR)
			continue;
		if (n_read <= 0 || pwrite(copy, bytes, (gsize)n_read, (off_t)n_done) != n_read)
			return FALSE;
		n_done += (guint64)n_read;
	}
	return TRUE;
}

/* What the first `n` bytes of a file show of where its packets end: the end of the last of them, at most `end`; 0:
 * nothing new after `low`. */
static guint64 end_of_packet(const struct mending *mending, int file, int copy, guint64 n,
			     guint64 low, guint64 end)
{
	struct claim claim = { 0 };
	enum verdict verdict = IS_BROKEN;

	if (copy_first(file, copy, n))
		verdict = try_probe(mending, &claim);
	if (verdict == IS_FINE)
		return n > low ? n : 0;
	if (verdict == IS_BROKEN || claim.offset < low || claim.offset >= n ||
	    claim.size_bytes <= n - claim.offset || claim.size_bytes > end - claim.offset)
		return 0;
	return claim.offset + claim.size_bytes;
}

/* Up to where a file holds packets, that breaks without a claim. Halving takes the header of a packet for a break,
 * so that the last packets are found step by step. */
static guint64 find_break(const struct mending *mending, int file, int copy, guint64 size_bytes)
{
	guint64 low = 0, high = size_bytes, n = 0;

	while (low < high) {
		guint64 middle = low + (high - low) / 2;
		guint64 end = end_of_packet(mending, file, copy, middle, low, size_bytes);

		if (end)
			low = end;
		else
			high = middle;
	}
	while ((n += HEAD_STEP_BYTES) <= MIN(size_bytes - low, MAX_HEAD_BYTES)) {
		guint64 end = end_of_packet(mending, file, copy, low + n, low, size_bytes);

		if (!end)
			continue;
		low = end;
		n = 0;
	}
	return low;
}

/* --- sizes of a packet ---------------------------------------------------------------------- */

/* An integer of `width` bytes as it may stand in a header. */
static guint64 get_integer(const guint8 *at, gsize width, gboolean is_big)
{
	guint64 value = 0;

	for (gsize i = 0; i < width; i++)
		value = value << 8 | at[is_big ? i : width - 1 - i];
	return value;
}

static void put_integer(guint8 *at, gsize width, gboolean is_big, guint64 value)
{
	for (gsize i = 0; i < width; i++, value >>= 8)
		at[is_big ? width - 1 - i : i] = (guint8)value;
}

/* Have the packet claim what there is, where its size may stand at `at`; beside it stands the size of its content. */
static void put_sizes(guint8 *head, gsize n, gsize at, gsize width, gboolean is_big,
		      guint64 claimed_bits, guint64 bits)
{
	const gsize beside[] = { at - width, at + width };

	put_integer(head + at, width, is_big, bits);
	for (guint i = 0; i < G_N_ELEMENTS(beside); i++) {
		guint64 content_bits;

		if (beside[i] > n - width) /* also if it is before the first byte */
			continue;
		content_bits = get_integer(head + beside[i], width, is_big);
		if (content_bits <= bits || content_bits > claimed_bits)
			continue;
		put_integer(head + beside[i], width, is_big, bits);
		return;
	}
}

/* The last packet of the copy claims too much: have it claim what there is. False: its sizes were not found. */
static gboolean shrink_packet(const struct mending *mending, int copy, const struct claim *claim,
			      guint64 n_left)
{
	guint8 head[MAX_HEAD_BYTES], changed[MAX_HEAD_BYTES];
	gsize n = MIN(n_left, sizeof(head));
	struct claim again;

	if (claim->size_bytes > G_MAXUINT64 / 8 ||
	    pread(copy, head, n, (off_t)claim->offset) != (gssize)n)
		return FALSE;
	for (guint form = 0; form < 4; form++) {
		gsize width = form & 1 ? 4 : 8;
		gboolean is_big = form >= 2;

		for (gsize at = 0; at + width <= n; at++) {
			if (get_integer(head + at, width, is_big) != 8 * claim->size_bytes)
				continue;
			memcpy(changed, head, n);
			put_sizes(changed, n, at, width, is_big, 8 * claim->size_bytes, 8 * n_left);
			if (pwrite(copy, changed, n, (off_t)claim->offset) != (gssize)n)
				return FALSE;
			if (try_probe(mending, &again) == IS_FINE)
				return TRUE;
		}
	}
	return FALSE;
}

/* --- files ---------------------------------------------------------------------------------- */

G_GNUC_PRINTF(2, 3)
static void tell(struct mending *mending, const gchar *format, ...)
{
	gsize record = ctf_record_begin(&mending->writer, CTF_RECORD_FAILURE,
					sizeof(struct ctf_failure_record));
	g_autofree gchar *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	ctf_record_add_string(&mending->writer, text);
	ctf_record_end(&mending->writer, record);
}

/* Make of `copy`, at first empty, what can be read of `file`; `claim` is what it was refused for, if that is known.
 * False: nothing can. */
static gboolean mend_copy(struct mending *mending, const gchar *path, int file, int copy,
			  const struct claim *claim)
{
	struct stat status;
	guint64 size_bytes, broken, n_left;
	struct claim again;

	if (fstat(file, &status) != 0)
		return FALSE;
	size_bytes = (guint64)status.st_size;
	if (claim && claim->offset < size_bytes && copy_first(file, copy, size_bytes)) {
		n_left = size_bytes - claim->offset;
		if (shrink_packet(mending, copy, claim, n_left)) {
			tell(mending,
			     "%s: the packet at byte %" G_GUINT64_FORMAT
			     " should have %" G_GUINT64_FORMAT " bytes, but only %" G_GUINT64_FORMAT
			     " are there; these are read",
			     path, claim->offset, claim->size_bytes, n_left);
			return TRUE;
		}
	}
	broken = claim ? claim->offset : find_break(mending, file, copy, size_bytes);
	broken = MIN(broken, size_bytes);
	tell(mending,
	     "%s: there is no complete packet at byte %" G_GUINT64_FORMAT "; the %" G_GUINT64_FORMAT
	     " bytes from there on are left out",
	     path, broken, size_bytes - broken);
	return broken && copy_first(file, copy, 0) && copy_first(file, copy, broken) &&
	       try_probe(mending, &again) == IS_FINE;
}

static void mend_file(struct mending *mending, const gchar *path, const gchar *name,
		      const struct claim *claim)
{
	g_autofree gchar *copy_path = g_build_filename(mending->probe, name, NULL);
	g_autofree gchar *mended_path = g_build_filename(mending->mended, name, NULL);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int copy;

	g_unlink(copy_path);
	copy = open(copy_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || copy < 0)
		tell(mending, "%s: %s", path, g_strerror(errno));
	else if (mend_copy(mending, path, file, copy, claim) &&
		 g_rename(copy_path, mended_path) != 0)
		tell(mending, "%s: %s", path, g_strerror(errno));
	g_unlink(copy_path);
	if (file >= 0)
		close(file);
	if (copy >= 0)
		close(copy);
}

/* A link in `to` to the file of that name of the trace. */
static gboolean link_file(const struct mending *mending, const gchar *to, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(mending->full_folder, name, NULL);
	g_autofree gchar *link = g_build_filename(to, name, NULL);

	return symlink(path, link) == 0;
}

static void use_file(struct mending *mending, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(mending->folder, name, NULL);
	g_autofree gchar *probed = g_build_filename(mending->probe, name, NULL);
	struct claim claim;
	enum verdict verdict;

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) || !link_file(mending, mending->probe, name))
		return;
	verdict = try_probe(mending, &claim);
	if (verdict != IS_FINE)
		mend_file(mending, path, name, verdict == CLAIMS_TOO_MUCH ? &claim : NULL);
	else if (!link_file(mending, mending->mended, name))
		tell(mending, "%s: %s", path, g_strerror(errno));
	g_unlink(probed);
}

static void use_files(struct mending *mending)
{
	g_autoptr(GDir) entries = g_dir_open(mending->folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries)))
		if (name[0] != '.' && strcmp(name, "metadata") != 0)
			use_file(mending, name);
}

gboolean ctf_mend(const gchar *folder, const gchar *scratch, int out)
{
	g_autofree gchar *full_folder = g_canonicalize_filename(folder, NULL);
	g_autofree gchar *mended = ctf_mended_folder(scratch);
	g_autofree gchar *probe = g_build_filename(scratch, CTF_MEND_PROBE, NULL);
	struct mending mending = { folder, full_folder, mended, probe, { 0 } };
	struct ctf_record_writer *writer = &mending.writer;
	struct claim claim;
	gboolean is_done;

	bt_logging_set_global_level(BT_LOGGING_LEVEL_NONE);
	ctf_record_writer_init(writer, out);
	is_done = g_mkdir(mended, 0700) == 0 && g_mkdir(probe, 0700) == 0 &&
		  link_file(&mending, mended, "metadata") &&
		  link_file(&mending, probe, "metadata") &&
		  try_probe(&mending, &claim) == IS_FINE; /* else it is the metadata */
	if (is_done)
		use_files(&mending);
	ctf_record_end(writer, ctf_record_begin(writer, CTF_RECORD_END, sizeof(struct ctf_record)));
	ctf_record_flush(writer);
	is_done &= !writer->is_broken;
	ctf_record_writer_release(writer);
	return is_done;
}
