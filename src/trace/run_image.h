/* run_image: all that tacho knows of a correlated run, as bytes that an export carries beside what viewers show, so
 * that the run comes back from it as it was (docs/decisions/0017-exports-come-back.md).
 *
 *     timeline --export/exported_rows--> rows --image_writer--> blocks --> in the export, wherever its format lets us
 *     timeline <--import/restored_run--- rows <--image_reader-- blocks <-- the same
 *
 * An image is a sequence of blocks, each a zstd frame with a checksum. Unpacked, a block is a varint that says what it
 * holds, and that:
 *
 *     BLOCK_HEAD     first: the version; how many tables, and of each its name, its rows (0: not told), how many columns
 *                    and their names
 *     BLOCK_STRINGS  how many, and each; they are numbered from 1 on in all blocks before and up to here; 0 is ""
 *     BLOCK_END      last: how many blocks were before it
 *     else           the number of a table of the head, plus N_BLOCK_KINDS; how many rows; of each column how many bytes
 *                    and these; what is behind them are the texts of `json`
 *
 * A name or string is its length and its bytes. A column is a number a row: the difference to the one of the row before
 * in this block (0 for the first), signs folded in, as a varint; REAL: 8 bytes, little endian; DIMS: how many as a varint,
 * then each as a varint, signs folded in.
 *
 * (1) run_image.def is the one description of the rows, for the writer and the reader.
 * (2) A reader passes over columns and tables that it does not know; those that it misses are 0, or TACHO_NONE.
 * (3) Rows of a table keep their order; what they name by row is numbered as the image's tables are. */
#ifndef TACHO_RUN_IMAGE_H
#define TACHO_RUN_IMAGE_H

#include <tacho/timeline.h>

#include "trace/operation.h"

#define RUN_IMAGE_VERSION 1

enum { BLOCK_HEAD, BLOCK_STRINGS, BLOCK_END, N_BLOCK_KINDS };

/* What a block holds, unpacked, and is itself at most. */
#define RUN_IMAGE_MAX_BLOCK_BYTES (1u << 24)

/* --- rows of tables that the timeline does not have in this form ---------------------------- */

struct image_run {
	gint64 origin_unix_ns, duration_ns, resolution_ns;
	guint step_source;
	gint32 expected_ranks;
	guint64 n_events, n_dropped;
	guint32 n_read_flows, n_read_problems; /* as in TachoTimeline */
};

/* Parents follow from the times. */
struct image_slice {
	gint64 start_ns, duration_ns;
	guint32 name, track, launch;
	guint8 kind, flags;
};

struct image_member {
	guint32 slice;
};

struct image_problem {
	const gchar *kind, *where;
	guint64 count;
};

/* What an importer said that a name means (trace/told_meaning.h). */
struct image_meaning {
	guint32 name; /* string id */
	const gchar *of, *meaning;
};

/* What the accessors of timeline.h say of a slice; by slice, and then as they are declared. */
struct image_op {
	guint32 slice;
	guint32 n_inputs, n_outputs;
	gint64 sequence, forward_thread;
};

struct image_tensor {
	guint32 slice;
	guint32 index;
	guint8 is_output;
	TachoTensor tensor;
};

struct image_kernel {
	guint32 slice;
	TachoKernelArgs kernel;
};

struct image_call {
	guint32 slice;
	TachoCollectiveArgs call;
};

struct image_operation {
	guint32 slice;
	guint8 operation; /* enum collective_operation */
};

struct image_sent {
	guint32 slice;
	guint32 fd;
	guint64 bytes;
	guint64 local[2], peer[2]; /* addresses, as bytes in network order */
	guint16 local_port, peer_port;
	guint8 is_receive;
};

struct image_id {
	guint32 slice;
	guint64 id;
};

struct image_told {
	guint32 slice;
	TachoToldOp told;
};

struct image_maker {
	guint32 slice;
	guint32 index;
	guint32 name; /* string id */
};

/* Its text stands behind the columns of its block. */
struct image_json {
	guint32 slice;
	guint32 n_bytes;
};

/* --- the description ------------------------------------------------------------------------ */

enum image_table {
#define TABLE(table, name, type) IMAGE_##table,
#include "trace/run_image.def"
	N_IMAGE_TABLES
};

enum image_column_kind {
	IMAGE_NUMBER,
	IMAGE_TIME,
	IMAGE_REAL,
	IMAGE_STRING,
	IMAGE_TEXT,
	IMAGE_ROW,
	IMAGE_ROW_OR_NONE,
	IMAGE_ROW_IF_ANY,
	IMAGE_DIMS,
};

struct image_column {
	enum image_table table;
	const gchar *name;
	enum image_column_kind kind;
	guint offset, n_bytes; /* of the field in the row */
	gboolean is_signed;
	guint64 limit;		 /* of NUMBER: below it; 0: none */
	enum image_table target; /* of ROW and its siblings */
	guint count_offset;	 /* of DIMS: the guint32 that says how many */
};

struct image_table_form {
	const gchar *name;
	guint n_bytes; /* of a row */
	const struct image_column *columns;
	guint n_columns;
};

/* The tables, N_IMAGE_TABLES of them. */
const struct image_table_form *run_image_forms(void);

/* The array of the timeline that has the rows of a table as they are; NULL: none has. */
GArray *run_image_array(const TachoTimeline *timeline, enum image_table table);

/* A CTF export is a folder. This is the file in it that holds the image, and how its first line begins. The file is
 * hidden, since readers of CTF take every other file for a stream. The line goes on with the number of bytes that
 * metadata and streams have in all, and their CRC-32. Each block follows behind its number of bytes (32 bits,
 * little endian). */
#define RUN_IMAGE_FILE "." RUN_IMAGE_WORD
#define RUN_IMAGE_WORD "tacho_run"
#define RUN_IMAGE_LINE RUN_IMAGE_WORD " %" G_GUINT64_FORMAT " %u\n"

/* How many bytes metadata and streams (stream_0, stream_1 ...) of such a folder have, and their sum. FALSE: one of them
 * cannot be read. */
gboolean run_image_sum_folder(const gchar *folder, guint64 *ret_n_bytes, guint32 *ret_crc);

/* Whether a column names a row of another table. */
static inline gboolean image_column_is_row(const struct image_column *column)
{
	return column->kind == IMAGE_ROW || column->kind == IMAGE_ROW_OR_NONE ||
	       column->kind == IMAGE_ROW_IF_ANY;
}

#endif
