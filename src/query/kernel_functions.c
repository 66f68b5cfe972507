#include "query/kernel_functions.h"

#include "analyze/kernel_demands.h"

/* The kernel asked for last: who wants one figure of a kernel wants others, too. */
struct kernel_reader {
	const TachoTimeline *timeline;
	struct kernel_demands demands;
	struct kernel_demand demand;
	guint32 slice, op; /* TACHO_NONE: none */
};

static void kernel_reader_free(void *data)
{
	struct kernel_reader *reader = data;

	kernel_demands_release(&reader->demands);
	g_free(reader);
}

/* NULL: that is no kernel of a device. */
static const struct kernel_reader *read_kernel(sqlite3_context *result, sqlite3_value *id)
{
	struct kernel_reader *reader = sqlite3_user_data(result);
	gint64 slice = sqlite3_value_int64(id);

	if (sqlite3_value_type(id) != SQLITE_INTEGER || slice < 0 ||
	    slice >= reader->timeline->slices.n ||
	    reader->timeline->slices.kind[slice] != TACHO_SLICE_KERNEL)
		return NULL;
	if (reader->slice != slice)
		reader->demand = kernel_demands_of(&reader->demands, (guint32)slice, &reader->op);
	reader->slice = (guint32)slice;
	return reader;
}

static void kernel_class(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct kernel_reader *reader = read_kernel(result, argv[0]);

	(void)argc;
	if (reader)
		sqlite3_result_text(result, kernel_class_name(reader->demand.class), -1,
				    SQLITE_STATIC);
}

static void kernel_type(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct kernel_reader *reader = read_kernel(result, argv[0]);
	const gchar *name = reader ? device_rate_name(reader->demand.rate) : NULL;

	(void)argc;
	if (name)
		sqlite3_result_text(result, name, -1, SQLITE_STATIC);
}

static void kernel_flops(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct kernel_reader *reader = read_kernel(result, argv[0]);

	(void)argc;
	if (reader && reader->op != TACHO_NONE)
		sqlite3_result_double(result, reader->demand.flops);
}

static void kernel_bytes(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct kernel_reader *reader = read_kernel(result, argv[0]);

	(void)argc;
	if (reader && reader->op != TACHO_NONE)
		sqlite3_result_double(result, reader->demand.bytes);
}

static void kernel_op(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct kernel_reader *reader = read_kernel(result, argv[0]);

	(void)argc;
	if (reader && reader->op != TACHO_NONE)
		sqlite3_result_int64(result, reader->op);
}

int kernel_functions_add(sqlite3 *db, struct query_data *data)
{
	static const struct {
		const gchar *name;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "kernel_class", kernel_class }, { "kernel_type", kernel_type },
		{ "kernel_flops", kernel_flops }, { "kernel_bytes", kernel_bytes },
		{ "kernel_op", kernel_op },
	};
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int status = SQLITE_OK;

	for (guint i = 0; i < G_N_ELEMENTS(functions) && status == SQLITE_OK; i++) {
		struct kernel_reader *reader = g_new0(struct kernel_reader, 1);

		reader->timeline = data->timeline;
		reader->slice = reader->op = TACHO_NONE;
		kernel_demands_init(&reader->demands, data->timeline);
		status = sqlite3_create_function_v2(db, functions[i].name, 1, flags, reader,
						    functions[i].function, NULL, NULL,
						    kernel_reader_free);
	}
	return status;
}
