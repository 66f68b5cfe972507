#include "precision/casts.h"

#include <math.h>
#include <string.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/text_file.h"
#include "import/read/json_scan.h"

/* Which sample of a pair is left out to see how wrong the others are.
 * Source: a rule: a fifth is enough to see an error, and little to lose. If wrong, the error that is told is less sure; no time
 * depends on it. */
#define HELD_OUT_OF 5u
/* Samples are within these. Source: derived from what can be: a picosecond, and thirty years; and squares of them that doubles hold. */
#define LEAST_NS 1e-3
#define MOST	 1e18

struct casts *casts_new(void)
{
	struct casts *casts = g_new0(struct casts, 1);

	casts->device = g_strdup("");
	return casts;
}

void casts_free(struct casts *casts)
{
	if (!casts)
		return;
	for (guint from = 0; from < N_NUMBER_FORMATS; from++)
		for (guint to = 0; to < N_NUMBER_FORMATS; to++) {
			g_clear_pointer(&casts->pairs[from][to].samples, g_array_unref);
			g_clear_pointer(&casts->pairs[from][to].knots, g_array_unref);
		}
	g_free(casts->device);
	g_free(casts);
}

void casts_add(struct casts *casts, enum number_format from, enum number_format to,
	       gdouble elements, gdouble ns)
{
	struct cast_pair *pair = &casts->pairs[from][to];
	struct cast_sample sample = { elements, ns };

	if (!(elements >= 1 && elements < MOST && ns >= LEAST_NS && ns < MOST))
		return;
	if (!pair->samples)
		pair->samples = g_array_new(FALSE, FALSE, sizeof(struct cast_sample));
	if (pair->samples->len < CASTS_MAX_SAMPLES)
		g_array_append_val(pair->samples, sample);
}

/* --- fit ---------------------------------------------------------------------------------------- */

static gint compare_samples(gconstpointer a, gconstpointer b)
{
	const struct cast_sample *x = a, *y = b;

	return ORDER(x->elements, y->elements) ?: ORDER(x->ns, y->ns);
}

/* Samples that were made one by pooling. */
struct pool {
	gdouble weight, weighted_ns; /* sums */
	guint first;		     /* sample */
};

static void add_pool(GArray *pools, const struct cast_sample *sample, guint index)
{
	gdouble weight = 1 / (sample->ns * sample->ns);
	struct pool pool = { weight, weight * sample->ns, index };

	while (pools->len > 0) {
		const struct pool *before = &g_array_index(pools, struct pool, pools->len - 1);

		if (before->weighted_ns / before->weight <= pool.weighted_ns / pool.weight)
			break;
		pool = (struct pool){ before->weight + pool.weight,
				      before->weighted_ns + pool.weighted_ns, before->first };
		g_array_set_size(pools, pools->len - 1);
	}
	g_array_append_val(pools, pool);
}

/* The mean of samples of one size, before they are pooled. */
static GArray *merge_sizes(const GArray *sorted)
{
	GArray *merged = g_array_new(FALSE, FALSE, sizeof(struct cast_sample));

	for (guint i = 0, end; i < sorted->len; i = end) {
		struct cast_sample sample = g_array_index(sorted, struct cast_sample, i);
		gdouble sum = 0;

		for (end = i;
		     end < sorted->len &&
		     g_array_index(sorted, struct cast_sample, end).elements == sample.elements;
		     end++)
			sum += g_array_index(sorted, struct cast_sample, end).ns;
		sample.ns = sum / (end - i);
		g_array_append_val(merged, sample);
	}
	return merged;
}

/* Of samples sorted by size; the caller's. */
static GArray *fit_knots(const GArray *sorted)
{
	g_autoptr(GArray) merged = merge_sizes(sorted);
	g_autoptr(GArray) pools = g_array_new(FALSE, FALSE, sizeof(struct pool));
	GArray *knots = g_array_copy(merged);

	FOR_EACH_AT(const struct cast_sample, sample, i, merged)
		add_pool(pools, sample, i);
	FOR_EACH_AT(const struct pool, pool, i, pools) {
		guint end = i + 1 < pools->len ? g_array_index(pools, struct pool, i + 1).first
					       : knots->len;

		for (guint k = pool->first; k < end && end - pool->first > 1; k++)
			g_array_index(knots, struct cast_sample, k).ns =
				pool->weighted_ns / pool->weight;
	}
	return knots;
}

static gdouble knots_ns(const GArray *knots, gdouble elements)
{
	guint low = 0, high = knots->len - 1;
	const struct cast_sample *first = &g_array_index(knots, struct cast_sample, 0);
	const struct cast_sample *last = &g_array_index(knots, struct cast_sample, high);
	const struct cast_sample *a, *b;

	if (elements <= first->elements)
		return first->ns;
	if (elements >= last->elements)
		return last->ns * (elements / last->elements);
	while (high - low > 1) {
		guint middle = (low + high) / 2;

		if (g_array_index(knots, struct cast_sample, middle).elements <= elements)
			low = middle;
		else
			high = middle;
	}
	a = &g_array_index(knots, struct cast_sample, low);
	b = &g_array_index(knots, struct cast_sample, high);
	return a->ns + (b->ns - a->ns) * (elements - a->elements) / (b->elements - a->elements);
}

/* (3); the first and the last sample are never left out. */
static void hold_out(struct cast_pair *pair)
{
	g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(struct cast_sample));
	g_autoptr(GArray) knots = NULL;
	gdouble sum = 0;

	pair->n_held_out = 0;
	pair->error = (gdouble)NAN;
	for (guint i = 0; i < pair->samples->len; i++)
		if (i % HELD_OUT_OF != HELD_OUT_OF / 2 || i + 1 == pair->samples->len)
			g_array_append_val(kept,
					   g_array_index(pair->samples, struct cast_sample, i));
		else
			pair->n_held_out++;
	if (pair->n_held_out == 0)
		return;
	knots = fit_knots(kept);
	for (guint i = HELD_OUT_OF / 2; i + 1 < pair->samples->len; i += HELD_OUT_OF) {
		const struct cast_sample *sample =
			&g_array_index(pair->samples, struct cast_sample, i);
		gdouble off = log(sample->ns / knots_ns(knots, sample->elements));

		sum += off * off;
	}
	pair->error = sqrt(sum / pair->n_held_out);
}

void casts_fit(struct casts *casts)
{
	for (guint from = 0; from < N_NUMBER_FORMATS; from++)
		for (guint to = 0; to < N_NUMBER_FORMATS; to++) {
			struct cast_pair *pair = &casts->pairs[from][to];

			g_clear_pointer(&pair->knots, g_array_unref);
			if (!pair->samples)
				continue;
			g_array_sort(pair->samples, compare_samples);
			hold_out(pair);
			pair->knots = fit_knots(pair->samples);
		}
}

/* --- asked -------------------------------------------------------------------------------------- */

static gdouble moved_bytes(guint from, guint to)
{
	return number_format_bytes(from) + number_format_bytes(to);
}

/* A pair that is measured and like this one: the other way round, or of as many bytes as possible in common. */
static gboolean find_like(const struct casts *casts, guint from, guint to, guint *ret_from,
			  guint *ret_to)
{
	gdouble best = G_MAXDOUBLE;

	for (guint a = 0; a < N_NUMBER_FORMATS; a++)
		for (guint b = 0; b < N_NUMBER_FORMATS; b++) {
			gdouble apart = fabs(log(moved_bytes(from, to) / moved_bytes(a, b))) +
					(a == to && b == from ? 0 : 1);

			/* what quantises does more than cast */
			apart += (a == FORMAT_INT8) != (from == FORMAT_INT8) ? 4 : 0;
			apart += (b == FORMAT_INT8) != (to == FORMAT_INT8) ? 4 : 0;
			if (!casts->pairs[a][b].knots || apart >= best)
				continue;
			best = apart;
			*ret_from = a;
			*ret_to = b;
		}
	return best < G_MAXDOUBLE;
}

gdouble casts_ns(const struct casts *casts, enum number_format from, enum number_format to,
		 gdouble elements, gboolean *ret_is_estimated)
{
	guint a = from, b = to;

	if (ret_is_estimated)
		*ret_is_estimated = FALSE;
	if (from == to || elements <= 0)
		return 0;
	if (casts->pairs[from][to].knots)
		return knots_ns(casts->pairs[from][to].knots, elements);
	if (ret_is_estimated)
		*ret_is_estimated = TRUE;
	if (!find_like(casts, from, to, &a, &b))
		return -1;
	return knots_ns(casts->pairs[a][b].knots, elements) * moved_bytes(from, to) /
	       moved_bytes(a, b);
}

TachoTable *casts_table(const struct casts *casts)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("from", "from"),
		TEXT_COLUMN("to", "to"),
		INTEGER_COLUMN("samples", "samples"),
		INTEGER_COLUMN("held_out", "held out"),
		NUMBER_COLUMN("error_pct", "error %", 1),
		NUMBER_COLUMN("smallest_ns", "smallest ns", 0),
		NUMBER_COLUMN("ns_per_element", "ns/number", 4),
	};
	TachoTable *table = tacho_table_new("casts", columns, G_N_ELEMENTS(columns));

	for (guint from = 0; from < N_NUMBER_FORMATS; from++)
		for (guint to = 0; to < N_NUMBER_FORMATS; to++) {
			const struct cast_pair *pair = &casts->pairs[from][to];
			const struct cast_sample *last;

			if (!pair->knots)
				continue;
			last = &g_array_index(pair->knots, struct cast_sample,
					      pair->knots->len - 1);
			tacho_table_row(table);
			tacho_table_text(table, number_format_name(from));
			tacho_table_text(table, number_format_name(to));
			tacho_table_integer(table, pair->samples->len);
			tacho_table_integer(table, pair->n_held_out);
			tacho_table_number(table, 100 * pair->error);
			tacho_table_number(table,
					   g_array_index(pair->knots, struct cast_sample, 0).ns);
			tacho_table_number(table, last->ns / last->elements);
		}
	return table;
}

/* --- read --------------------------------------------------------------------------------------- */

struct reader {
	struct json_scan scan;
	const gchar *begin;
	struct casts *casts;
	GError **error;
};

static gboolean refuse(const struct reader *reader, const gchar *reason)
{
	if (!*reader->error) /* the first counts */
		g_set_error(reader->error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT,
			    "at byte %" G_GSIZE_FORMAT ": %s",
			    (gsize)(reader->scan.at - reader->begin), reason);
	return FALSE;
}

static gboolean read_format(struct reader *reader, guint *ret_format)
{
	struct json_text text;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "a format of numbers is not a text");
	*ret_format = number_format_find(text.bytes, text.n);
	return *ret_format < N_NUMBER_FORMATS ||
	       refuse(reader, "this format of numbers is not known");
}

static gboolean read_positive(struct reader *reader, gdouble *ret_value)
{
	if (!g_ascii_isdigit(json_peek(&reader->scan)) || !json_number(&reader->scan, ret_value) ||
	    !(*ret_value >= LEAST_NS && *ret_value < MOST))
		return refuse(reader, "a sample is not of two numbers above 0");
	return TRUE;
}

static gboolean read_samples(struct reader *reader, GArray *samples)
{
	struct cast_sample sample;

	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'samples' is not a list");
	while (json_element(&reader->scan)) {
		if (!json_enter(&reader->scan, '[') || !json_element(&reader->scan) ||
		    !read_positive(reader, &sample.elements) || !json_element(&reader->scan) ||
		    !read_positive(reader, &sample.ns) || json_element(&reader->scan))
			return refuse(reader, "a sample is not written as [ELEMENTS, NS]");
		if (sample.elements < 1)
			return refuse(reader, "a sample is of less than one number");
		if (samples->len == CASTS_MAX_SAMPLES)
			return refuse(reader, "a cast has too many samples");
		g_array_append_val(samples, sample);
	}
	return TRUE;
}

static gboolean keep_pair(struct reader *reader, guint from, guint to, const GArray *samples)
{
	if (from == N_NUMBER_FORMATS || to == N_NUMBER_FORMATS || samples->len == 0)
		return refuse(reader, "a cast lacks 'from', 'to' or 'samples'");
	if (from == to)
		return refuse(reader, "a cast is from a format to the same one");
	if (reader->casts->pairs[from][to].samples)
		return refuse(reader, "a cast stands twice");
	FOR_EACH(const struct cast_sample, sample, samples)
		casts_add(reader->casts, from, to, sample->elements, sample->ns);
	return TRUE;
}

static gboolean read_pair(struct reader *reader)
{
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(struct cast_sample));
	guint from = N_NUMBER_FORMATS, to = N_NUMBER_FORMATS;
	gboolean is_read = json_enter(&reader->scan, '{');
	struct json_text key;

	while (is_read && json_member(&reader->scan, &key)) {
		if (JSON_TEXT_IS(&key, "from"))
			is_read = read_format(reader, &from);
		else if (JSON_TEXT_IS(&key, "to"))
			is_read = read_format(reader, &to);
		else if (JSON_TEXT_IS(&key, "samples"))
			is_read = read_samples(reader, samples);
		else
			json_skip(&reader->scan);
	}
	return is_read ? keep_pair(reader, from, to, samples)
		       : refuse(reader, "a cast is not an object");
}

static gboolean read_pairs(struct reader *reader)
{
	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'casts' is not a list");
	while (json_element(&reader->scan))
		if (!read_pair(reader))
			return FALSE;
	return TRUE;
}

static gboolean read_version(struct reader *reader)
{
	gdouble version;

	if (!read_positive(reader, &version))
		return FALSE;
	if (version == 1)
		return TRUE;
	g_set_error(reader->error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_VERSION,
		    "it is of version %g, and only version 1 is known", version);
	return FALSE;
}

static gboolean read_device(struct reader *reader)
{
	struct json_text text;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "'device' is not a text");
	g_free(reader->casts->device);
	reader->casts->device = json_text_dup(&text);
	return TRUE;
}

static gboolean read_file(struct reader *reader)
{
	gboolean has_version = FALSE, is_read = TRUE;
	struct json_text key;

	if (json_peek(&reader->scan) != '{' || !json_take(&reader->scan, '{'))
		return refuse(reader, "this is no object of JSON");
	while (is_read && json_member(&reader->scan, &key)) {
		if (JSON_TEXT_IS(&key, "tacho_casts"))
			is_read = has_version = read_version(reader);
		else if (JSON_TEXT_IS(&key, "device"))
			is_read = read_device(reader);
		else if (JSON_TEXT_IS(&key, "casts"))
			is_read = read_pairs(reader);
		else
			json_skip(&reader->scan);
	}
	if (is_read && reader->scan.status != JSON_OK)
		return refuse(reader, "this is not JSON, or the file ends early");
	if (is_read && !has_version)
		return refuse(reader, "'tacho_casts' is missing");
	return is_read;
}

struct casts *casts_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(casts) casts = casts_new();
	g_autofree gchar *copy = json_padded(text, n);
	struct reader reader = { .casts = casts, .error = &cause, .begin = copy };

	reader.scan = (struct json_scan){ .at = copy, .end = copy + n };
	if (read_file(&reader)) {
		casts_fit(casts);
		return g_steal_pointer(&casts);
	}
	g_propagate_error(error, g_steal_pointer(&cause));
	return NULL;
}

struct casts *casts_read(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *text = text_file_read(path, CASTS_MAX_BYTES, &n, error);
	struct casts *casts = text ? casts_parse(text, n, error) : NULL;

	if (text && !casts)
		g_prefix_error(error, "%s: this is no file of casts: ", path);
	return casts;
}
