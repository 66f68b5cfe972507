#include "query/query_functions.h"

#include <math.h>
#include <stdlib.h>

#include <tacho/query.h>

#include "base/order.h"
#include "query/arg_list.h"
#include "query/kernel_functions.h"
#include "query/launch_functions.h"

#define LEAST_NUMBERS 64 /* there is room for */

static const gchar *const function_names[] = { "extract_arg(",
					       "percentile(",
					       "median(",
					       "stddev(",
					       "regexp(",
					       "kernel_class(",
					       "kernel_type(",
					       "kernel_flops(",
					       "kernel_bytes(",
					       "kernel_op(",
					       "kernel_blocks(",
					       "kernel_block_threads(",
					       "kernel_registers(",
					       "kernel_shared_bytes(",
					       "kernel_occupancy(",
					       "copy_kind(",
					       "copy_bytes(",
					       "copy_gb_per_s(",
					       NULL };

gchar **tacho_query_functions(void)
{
	return g_strdupv((gchar **)function_names);
}

/* --- extract_arg(arg_set_id, key) ------------------------------------------------------------- */

/* The args of the slice asked for last: who wants one of a slice wants others, too. */
struct args_reader {
	struct query_data *data;
	struct arg_list list;
	guint32 slice; /* TACHO_NONE: none yet */
	enum arg_parts parts;
};

static struct args_reader *args_reader_new(struct query_data *data)
{
	struct args_reader *reader = g_new0(struct args_reader, 1);

	reader->data = data;
	reader->slice = TACHO_NONE;
	arg_list_init(&reader->list);
	return reader;
}

static void args_reader_free(void *data)
{
	struct args_reader *reader = data;

	arg_list_release(&reader->list);
	g_free(reader);
}

/* See to it that the list has the args of `slice` that `key` is among. */
static void read_args(struct args_reader *reader, guint32 slice, const gchar *key)
{
	enum arg_parts part = arg_list_part_of(key);

	if (slice != reader->slice)
		reader->parts = 0;
	else if (reader->parts & part)
		return;
	reader->slice = slice;
	reader->parts |= part;
	arg_list_fill(&reader->list, reader->data, slice, reader->parts);
}

static void extract_arg(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct args_reader *reader = sqlite3_user_data(result);
	gint64 slice = sqlite3_value_int64(argv[0]);
	const gchar *key = (const gchar *)sqlite3_value_text(argv[1]);
	const struct arg *arg;

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || !key || slice < 0 ||
	    slice >= reader->data->timeline->slices.n)
		return;
	read_args(reader, (guint32)slice, key);
	arg = arg_list_find(&reader->list, key);
	if (arg)
		arg_list_result(&reader->list, arg, result);
}

/* --- regexp(pattern, text) -------------------------------------------------------------------- */

GRegex *query_regex_new(const gchar *pattern, GError **error)
{
	return g_regex_new(pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, error);
}

gboolean query_regex_matches(const GRegex *regex, const gchar *text)
{
	return g_regex_match(regex, text, 0, NULL);
}

static void free_regex(void *regex)
{
	g_regex_unref(regex);
}

static GRegex *compile(sqlite3_context *result, const gchar *pattern)
{
	g_autoptr(GError) error = NULL;
	GRegex *regex = query_regex_new(pattern, &error);
	g_autofree gchar *message = NULL;

	if (regex)
		return regex;
	message = g_strdup_printf("regexp: %s", error->message);
	sqlite3_result_error(result, message, -1);
	return NULL;
}

/* A pattern that stays the same is compiled once a statement. */
static void regexp(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	const gchar *pattern = (const gchar *)sqlite3_value_text(argv[0]);
	const gchar *text = (const gchar *)sqlite3_value_text(argv[1]);
	GRegex *regex = sqlite3_get_auxdata(result, 0);

	(void)argc;
	if (!pattern || !text)
		return;
	if (!regex) {
		regex = compile(result, pattern);
		if (!regex)
			return;
		sqlite3_result_int(result, query_regex_matches(regex, text));
		sqlite3_set_auxdata(result, 0, regex, free_regex); /* may free it at once */
		return;
	}
	sqlite3_result_int(result, query_regex_matches(regex, text));
}

/* --- aggregates ------------------------------------------------------------------------------- */

/* The numbers of percentile() and median(), sorted at the end; in SQLite's memory, so that its limit holds for them. */
struct numbers {
	gdouble *values;
	guint64 n, capacity;
	gdouble percent;
};

static struct numbers *numbers_of(sqlite3_context *result)
{
	return sqlite3_aggregate_context(result, sizeof(struct numbers));
}

static gboolean make_room(struct numbers *numbers)
{
	guint64 capacity = MAX(2 * numbers->capacity, LEAST_NUMBERS);
	gdouble *values;

	if (numbers->n < numbers->capacity)
		return TRUE;
	values = sqlite3_realloc64(numbers->values, capacity * sizeof(*values));
	if (!values)
		return FALSE;
	numbers->values = values;
	numbers->capacity = capacity;
	return TRUE;
}

/* NULL is left out, as all aggregates do it. */
static void add_number(sqlite3_context *result, struct numbers *numbers, sqlite3_value *value)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return;
	if (numbers && make_room(numbers))
		numbers->values[numbers->n++] = sqlite3_value_double(value);
	else
		sqlite3_result_error_nomem(result);
}

static void median_step(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct numbers *numbers = numbers_of(result);

	(void)argc;
	if (numbers)
		numbers->percent = 50;
	add_number(result, numbers, argv[0]);
}

static void percentile_step(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct numbers *numbers = numbers_of(result);
	gdouble percent = sqlite3_value_double(argv[1]);

	(void)argc;
	if (sqlite3_value_numeric_type(argv[1]) == SQLITE_NULL ||
	    sqlite3_value_numeric_type(argv[1]) == SQLITE_TEXT || !(percent >= 0) ||
	    percent > 100) {
		sqlite3_result_error(
			result, "percentile: the second argument must be a number from 0 to 100",
			-1);
		return;
	}
	if (numbers)
		numbers->percent = percent;
	add_number(result, numbers, argv[0]);
}

/* Between neighbours by linear interpolation, as SQLite's own extension does it. */
static void percentile_final(sqlite3_context *result)
{
	struct numbers *numbers = sqlite3_aggregate_context(result, 0);
	gdouble place, below, above;
	guint64 index;

	if (!numbers || numbers->n == 0)
		return;
	qsort(numbers->values, numbers->n, sizeof(*numbers->values), order_double);
	place = numbers->percent / 100 * (gdouble)(numbers->n - 1);
	index = (guint64)place;
	below = numbers->values[index];
	above = index + 1 < numbers->n ? numbers->values[index + 1] : below;
	sqlite3_result_double(result, below + (above - below) * (place - (gdouble)index));
	sqlite3_free(numbers->values);
	numbers->values = NULL;
}

/* Welford's method: Knuth, The Art of Computer Programming 2, 4.2.2. */
struct spread {
	gint64 n;
	gdouble mean, sum_of_squares;
};

static void stddev_step(sqlite3_context *result, int argc, sqlite3_value **argv)
{
	struct spread *spread = sqlite3_aggregate_context(result, sizeof(struct spread));
	gdouble value = sqlite3_value_double(argv[0]), from_mean;

	(void)argc;
	if (!spread) {
		sqlite3_result_error_nomem(result);
		return;
	}
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	from_mean = value - spread->mean;
	spread->n++;
	spread->mean += from_mean / (gdouble)spread->n;
	spread->sum_of_squares += from_mean * (value - spread->mean);
}

/* The standard deviation of a sample: it divides by n - 1. */
static void stddev_final(sqlite3_context *result)
{
	const struct spread *spread = sqlite3_aggregate_context(result, 0);

	if (spread && spread->n > 1)
		sqlite3_result_double(result,
				      sqrt(spread->sum_of_squares / (gdouble)(spread->n - 1)));
}

int query_functions_add(sqlite3 *db, struct query_data *data)
{
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int status = sqlite3_create_function_v2(db, "extract_arg", 2, flags, args_reader_new(data),
						extract_arg, NULL, NULL, args_reader_free);

	if (status == SQLITE_OK)
		status = sqlite3_create_function_v2(db, "regexp", 2, flags, data, regexp, NULL,
						    NULL, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_create_function_v2(db, "percentile", 2, flags, data, NULL,
						    percentile_step, percentile_final, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_create_function_v2(db, "median", 1, flags, data, NULL, median_step,
						    percentile_final, NULL);
	if (status == SQLITE_OK)
		status = sqlite3_create_function_v2(db, "stddev", 1, flags, data, NULL, stddev_step,
						    stddev_final, NULL);
	if (status == SQLITE_OK)
		status = kernel_functions_add(db, data);
	return status == SQLITE_OK ? launch_functions_add(db, data) : status;
}
