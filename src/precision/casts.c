#include "precision/casts.h"

#include <math.h>
#include <string.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/text_file.h"
#include "import/read/strict_json.h"

/* Which sample of a pair is left out to see how wrong the others are.
 * Source: a rule: a fifth is enough to see an error, and little to lose. If wrong, the error that is told is less sure; no time
 * depends on it. */
#define HELD_OUT_OF 5u
/* Samples are within these. Source: derived from what can be: a picosecond, and thirty years; and squares of them that doubles hold. */
#define LEAST_NS 1e-3
#define MOST	 1e18
#define VERSION	 1
/* Source: a rule: longer names than any device has; what is longer is refused. */
#define MAX_NAME_BYTES 4096

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

static gboolean read_format(StrictJson *json, const gchar *what, guint *ret_format)
{
	g_autofree gchar *name = strict_json_text(json, what, MAX_NAME_BYTES);

	*ret_format = name ? number_format_find(name, strlen(name)) : N_NUMBER_FORMATS;
	return *ret_format < N_NUMBER_FORMATS ||
	       strict_json_refuse(json, "%s is no format of numbers that is known", what);
}

/* [256, 812.0] */
static gboolean read_sample(StrictJson *json, struct cast_sample *sample)
{
	if (!strict_json_enter(json, '[', "a sample"))
		return FALSE;
	return (strict_json_element(json) &&
		strict_json_number(json, "what a sample has", 1, MOST, &sample->elements) &&
		strict_json_element(json) &&
		strict_json_number(json, "what a sample takes", LEAST_NS, MOST, &sample->ns) &&
		!strict_json_element(json)) ||
	       strict_json_refuse(json, "a sample is not written as [ELEMENTS, NS]");
}

static gboolean read_samples(StrictJson *json, GArray *samples)
{
	struct cast_sample sample;

	if (!strict_json_enter(json, '[', "'samples'"))
		return FALSE;
	while (strict_json_element(json)) {
		if (!read_sample(json, &sample))
			return FALSE;
		if (samples->len == CASTS_MAX_SAMPLES)
			return strict_json_refuse(json, "a cast has too many samples");
		g_array_append_val(samples, sample);
	}
	return !json->error;
}

static gboolean keep_pair(StrictJson *json, struct casts *casts, guint from, guint to,
			  const GArray *samples)
{
	if (samples->len == 0)
		return strict_json_refuse(json, "a cast has no samples");
	if (from == to)
		return strict_json_refuse(json, "a cast is from a format to the same one");
	if (casts->pairs[from][to].samples)
		return strict_json_refuse(json, "a cast stands twice");
	FOR_EACH(const struct cast_sample, sample, samples)
		casts_add(casts, from, to, sample->elements, sample->ns);
	return TRUE;
}

static gboolean read_pair(StrictJson *json, struct casts *casts)
{
	static const gchar *const keys[] = { "from", "to", "samples", NULL };
	g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(struct cast_sample));
	guint from = 0, to = 0;
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "a cast"))
		return FALSE;
	while ((key = strict_json_known_key(json, keys, &seen)) >= 0)
		if (key == 0   ? !read_format(json, "'from'", &from)
		    : key == 1 ? !read_format(json, "'to'", &to)
			       : !read_samples(json, samples))
			return FALSE;
	return strict_json_leave(json, keys, seen, 0x7) &&
	       keep_pair(json, casts, from, to, samples);
}

static gboolean read_pairs(StrictJson *json, struct casts *casts)
{
	if (!strict_json_enter(json, '[', "'casts'"))
		return FALSE;
	while (strict_json_element(json))
		if (!read_pair(json, casts))
			return FALSE;
	return !json->error;
}

static gboolean read_device(StrictJson *json, struct casts *casts)
{
	g_free(casts->device);
	casts->device = strict_json_text(json, "'device'", MAX_NAME_BYTES);
	return casts->device != NULL;
}

static gboolean read_file(StrictJson *json, struct casts *casts)
{
	static const gchar *const keys[] = { "tacho_casts", "device", "casts", NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "the file"))
		return FALSE;
	while ((key = strict_json_known_key(json, keys, &seen)) >= 0)
		if (key == 0   ? !strict_json_version(json, keys[0], VERSION,
						      TACHO_PRECISION_ERROR_VERSION)
		    : key == 1 ? !read_device(json, casts)
			       : !read_pairs(json, casts))
			return FALSE;
	return strict_json_leave(json, keys, seen, 1);
}

struct casts *casts_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(casts) casts = casts_new();
	g_auto(StrictJson) json = { 0 };

	strict_json_init(&json, text, n, "the file", TACHO_PRECISION_ERROR,
			 TACHO_PRECISION_ERROR_FORMAT);
	read_file(&json, casts);
	if (!strict_json_finish(&json, error))
		return NULL;
	casts_fit(casts);
	return g_steal_pointer(&casts);
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
