#include <isa-l/crc.h>
#include <string.h>

#include "import/exported/exported_run.h"
#include "import/read/wire_walk.h"
#include "trace/run_image.h"

enum { TRACE_PACKET = 1, PACKET_TACHO_RUN = 9900 };

#define MAX_PACKET_BYTES (2 * RUN_IMAGE_MAX_BLOCK_BYTES)
#define MAX_SUM_CHARS	 64
#define CHUNK_BYTES	 (256 * 1024)

/* The next packet of the file, loaded; FALSE: there is none, or it is no packet. */
static gboolean next_packet(struct wire_walk *walk, struct wire_field *packet)
{
	return wire_walk_next(walk, packet) == WIRE_FIELD && packet->number == TRACE_PACKET &&
	       wire_walk_load(walk, packet, MAX_PACKET_BYTES);
}

/* Our field of a packet; FALSE: it has none. */
static gboolean find_run(const struct wire_field *packet, struct wire_field *ret_run)
{
	struct wire_cursor at = wire_cursor_of(packet->bytes, packet->n_bytes);

	while (wire_cursor_next(&at, ret_run) == WIRE_FIELD)
		if (ret_run->number == PACKET_TACHO_RUN)
			return ret_run->type == WIRE_BYTES;
	return FALSE;
}

static gboolean has_sum(const gchar *path, guint64 n_bytes, guint32 expected)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	g_autofree guint8 *bytes = g_malloc(CHUNK_BYTES);
	guint32 crc = 0;

	while (stream && n_bytes) {
		gssize n = byte_stream_read(stream, bytes, MIN(n_bytes, CHUNK_BYTES), NULL);

		if (n <= 0)
			return FALSE;
		crc = crc32_gzip_refl(crc, bytes, (guint64)n);
		n_bytes -= (guint64)n;
	}
	return stream && crc == expected;
}

/* Whether what stands before the sum at `offset` is what it says. */
static gboolean is_unchanged(const gchar *path, guint64 offset, const struct wire_field *sum)
{
	g_autofree gchar *text =
		g_strndup((const gchar *)sum->bytes, MIN(sum->n_bytes, MAX_SUM_CHARS));
	gchar *space;
	guint64 n_bytes = g_ascii_strtoull(text, &space, 10);

	return *space == ' ' && n_bytes == offset &&
	       has_sum(path, offset, (guint32)g_ascii_strtoull(space, NULL, 10));
}

/* FALSE: there is no image, or, `error`, none that is of use. */
static gboolean read_image(struct wire_walk *walk, const gchar *path, RestoredRun *run,
			   GError **error)
{
	struct wire_field packet, field;

	do {
		if (!next_packet(walk, &packet))
			return FALSE;
	} while (!find_run(&packet, &field));
	if (!is_unchanged(path, packet.offset, &field)) {
		g_propagate_error(error, exported_run_changed());
		return FALSE;
	}
	while (next_packet(walk, &packet) && find_run(&packet, &field))
		if (!restored_run_block(run, field.bytes, field.n_bytes, error))
			return FALSE;
	return TRUE;
}

gboolean exported_perfetto_read(struct import *import, const gchar *path, gboolean *ret_is_read,
				GError **error)
{
	g_autoptr(wire_walk) walk = wire_walk_open(path, error);
	g_autoptr(RestoredRun) run = NULL;
	struct wire_field packet, field;
	GError *failure = NULL;

	*ret_is_read = FALSE;
	if (!walk)
		return FALSE;
	if (!next_packet(walk, &packet) || !find_run(&packet, &field))
		return TRUE;
	run = restored_run_new(path);
	if (!read_image(walk, path, run, &failure) && !failure)
		failure = exported_run_cut();
	return exported_run_settle(import, run, path, failure, ret_is_read, error);
}
