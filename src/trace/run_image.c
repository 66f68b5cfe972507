#include "trace/run_image.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <pthread.h>
#include <unistd.h>

#define CHUNK_BYTES (256 * 1024)

#define TABLE(table, name, type) typedef type image_row_##table;
#include "trace/run_image.def"

#define FIELD(table, field) (((image_row_##table *)NULL)->field)
#define IS_SIGNED(type)	    ((type)-1 < (type)1)
#define COLUMN(t, field, form)                                                                     \
	.table = IMAGE_##t, .name = #field, .kind = IMAGE_##form,                                  \
	.offset = offsetof(image_row_##t, field), .n_bytes = sizeof(FIELD(t, field))

/* Those of a table stand together, in the order of the tables. */
static const struct image_column columns[] = {
#define NUMBER(table, field)                                                                       \
	{ COLUMN(table, field, NUMBER), .is_signed = IS_SIGNED(__typeof__(FIELD(table, field))) },
#define LIMITED(table, field, max)    { COLUMN(table, field, NUMBER), .limit = (max) },
#define TIME(table, field)	      { COLUMN(table, field, TIME), .is_signed = TRUE },
#define REAL(table, field)	      { COLUMN(table, field, REAL) },
#define STRING(table, field)	      { COLUMN(table, field, STRING) },
#define TEXT(table, field)	      { COLUMN(table, field, TEXT) },
#define ROW(table, field, to)	      { COLUMN(table, field, ROW), .target = IMAGE_##to },
#define ROW_OR_NONE(table, field, to) { COLUMN(table, field, ROW_OR_NONE), .target = IMAGE_##to },
#define ROW_IF_ANY(table, field, to)  { COLUMN(table, field, ROW_IF_ANY), .target = IMAGE_##to },
#define DIMS(table, field, count)                                                                  \
	{ COLUMN(table, field, DIMS), .count_offset = offsetof(image_row_##table, count) },
#include "trace/run_image.def"
};

static struct image_table_form forms[N_IMAGE_TABLES] = {
#define TABLE(table, text, type) [IMAGE_##table] = { .name = (text), .n_bytes = sizeof(type) },
#include "trace/run_image.def"
};

static void find_columns(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(columns); i++) {
		struct image_table_form *form = &forms[columns[i].table];

		if (!form->columns)
			form->columns = &columns[i];
		form->n_columns++;
	}
}

GArray *run_image_array(const TachoTimeline *timeline, enum image_table table)
{
	switch (table) {
	case IMAGE_CLOCK:
		return timeline->clocks;
	case IMAGE_PROCESS:
		return timeline->processes;
	case IMAGE_CHILD:
		return timeline->children;
	case IMAGE_RANK:
		return timeline->ranks;
	case IMAGE_TRACK:
		return timeline->tracks;
	case IMAGE_DEVICE:
		return timeline->devices;
	case IMAGE_FLOW:
		return timeline->flows;
	case IMAGE_SAMPLE:
		return timeline->samples;
	case IMAGE_MEMORY:
		return timeline->memory;
	case IMAGE_CHUNK:
		return timeline->chunks;
	case IMAGE_GRAPH_WORK:
		return timeline->graph_work;
	case IMAGE_MARK:
		return timeline->marks;
	case IMAGE_STEP:
		return timeline->steps;
	case IMAGE_CONTROL_STEP:
		return timeline->control_steps;
	case IMAGE_COLLECTIVE:
		return timeline->collectives;
	case IMAGE_MEMBER:
		return timeline->members;
	case IMAGE_MESSAGE:
		return timeline->messages;
	case IMAGE_HOP:
		return timeline->hops;
	case IMAGE_BUCKET:
		return timeline->buckets;
	case IMAGE_GRADIENT:
		return timeline->gradients;
	default:
		return NULL;
	}
}

const struct image_table_form *run_image_forms(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_columns);
	return forms;
}

static gboolean add_file(const gchar *path, guint64 *n_bytes, guint32 *crc)
{
	g_autofree guint8 *bytes = g_malloc(CHUNK_BYTES);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	gssize n;

	if (file < 0)
		return FALSE;
	while ((n = read(file, bytes, CHUNK_BYTES)) > 0) {
		*crc = crc32_gzip_refl(*crc, bytes, (guint64)n);
		*n_bytes += (guint64)n;
	}
	close(file);
	return n == 0;
}

gboolean run_image_sum_folder(const gchar *folder, guint64 *ret_n_bytes, guint32 *ret_crc)
{
	g_autofree gchar *metadata = g_build_filename(folder, "metadata", NULL);
	guint64 n_bytes = 0;
	guint32 crc = 0;

	if (!add_file(metadata, &n_bytes, &crc))
		return FALSE;
	for (guint i = 0;; i++) {
		g_autofree gchar *stream = g_strdup_printf("%s/stream_%u", folder, i);

		if (access(stream, F_OK) != 0)
			break;
		if (!add_file(stream, &n_bytes, &crc))
			return FALSE;
	}
	*ret_n_bytes = n_bytes;
	*ret_crc = crc;
	return TRUE;
}
