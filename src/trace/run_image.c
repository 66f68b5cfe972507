#include "trace/run_image.h"

#include <pthread.h>

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

const struct image_table_form *run_image_forms(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_columns);
	return forms;
}
