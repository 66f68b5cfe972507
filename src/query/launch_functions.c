#include "query/launch_functions.h"

#include <math.h>

#include "analyze/copy_rate.h"

/* A figure of a kernel that follows from its shape; NaN: not told. */
struct figure {
	const gchar *name;
	gdouble (*of)(const TachoLaunchShape *shape);
};

static gdouble known(gdouble figure)
{
	return figure > 0 ? figure : NAN;
}

static gdouble blocks(const TachoLaunchShape *shape)
{
	return known((gdouble)shape->grid[0] * shape->grid[1] * shape->grid[2]);
}

static gdouble block_threads(const TachoLaunchShape *shape)
{
	return known((gdouble)shape->block[0] * shape->block[1] * shape->block[2]);
}

static gdouble registers(const TachoLaunchShape *shape)
{
	return known(shape->registers);
}

static gdouble shared_bytes(const TachoLaunchShape *shape)
{
	return known((gdouble)shape->shared_bytes);
}

static gdouble occupancy(const TachoLaunchShape *shape)
{
	return shape->occupancy_pct;
}

static const struct figure figures[] = {
	{ "kernel_blocks", blocks },	   { "kernel_block_threads", block_threads },
	{ "kernel_registers", registers }, { "kernel_shared_bytes", shared_bytes },
	{ "kernel_occupancy", occupancy },
};

struct launch_reader {
	const TachoTimeline *timeline;
	const struct figure *figure; /* NULL: of a copy */
};

/* TACHO_NONE: there is no slice of that id. */
static guint32 slice_of(const TachoTimeline *timeline, sqlite3_value *id)
{
	gint64 slice = sqlite3_value_int64(id);

	return sqlite3_value_type(id) == SQLITE_INTEGER && slice >= 0 && slice < timeline->slices.n
		       ? (guint32)slice
		       : TACHO_NONE;
}

static void show(sqlite3_context *result, gdouble figure)
{
	if (isnan(figure))
		return;
	if (figure < 0x1p53 && figure == floor(figure))
		sqlite3_result_int64(result, (gint64)figure);
	else
		sqlite3_result_double(result, figure);
}

static void tell_kernel(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const struct launch_reader *reader = sqlite3_user_data(result);
	guint32 slice = slice_of(reader->timeline, argv[0]);
	TachoLaunchShape shape;

	(void)argc;
	if (slice != TACHO_NONE && tacho_slice_launch_shape(reader->timeline, slice, &shape))
		show(result, reader->figure->of(&shape));
}

/* FALSE: it is neither a copy nor a fill. */
static gboolean read_copy(sqlite3_context *result, sqlite3_value *id, struct copy_rate *ret_rate)
{
	const struct launch_reader *reader = sqlite3_user_data(result);
	guint32 slice = slice_of(reader->timeline, id);

	return slice != TACHO_NONE && copy_rate_of(reader->timeline, slice, ret_rate);
}

static void tell_copy_kind(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct copy_rate rate;

	(void)argc;
	if (read_copy(result, argv[0], &rate))
		sqlite3_result_text(result, copy_kind_name(rate.kind), -1, SQLITE_STATIC);
}

static void tell_copy_bytes(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct copy_rate rate;

	(void)argc;
	if (read_copy(result, argv[0], &rate))
		show(result, known(rate.bytes));
}

static void tell_copy_rate(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct copy_rate rate;

	(void)argc;
	if (read_copy(result, argv[0], &rate) && rate.gb_per_s > 0)
		sqlite3_result_double(result, rate.gb_per_s);
}

static int add(sqlite3 *db, struct query_data *data, const gchar *name, const struct figure *figure,
	       void (*function)(sqlite3_context *, int, sqlite3_value **))
{
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	struct launch_reader *reader = g_new0(struct launch_reader, 1);

	reader->timeline = data->timeline;
	reader->figure = figure;
	return sqlite3_create_function_v2(db, name, 1, flags, reader, function, NULL, NULL, g_free);
}

int launch_functions_add(sqlite3 *db, struct query_data *data)
{
	static const struct {
		const gchar *name;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} copies[] = {
		{ "copy_kind", tell_copy_kind },
		{ "copy_bytes", tell_copy_bytes },
		{ "copy_gb_per_s", tell_copy_rate },
	};
	int status = SQLITE_OK;

	for (guint i = 0; i < G_N_ELEMENTS(figures) && status == SQLITE_OK; i++)
		status = add(db, data, figures[i].name, &figures[i], tell_kernel);
	for (guint i = 0; i < G_N_ELEMENTS(copies) && status == SQLITE_OK; i++)
		status = add(db, data, copies[i].name, NULL, copies[i].function);
	return status;
}
