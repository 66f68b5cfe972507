#include "export/row_buckets.h"

#include <string.h>

/* Every one of these tables begins its elements with the time. */
G_STATIC_ASSERT(offsetof(TachoSample, time_ns) == 0);
G_STATIC_ASSERT(offsetof(TachoMemoryEvent, time_ns) == 0);
G_STATIC_ASSERT(offsetof(TachoMark, time_ns) == 0);

static const gchar *element(const GArray *table, guint32 row)
{
	return table->data + (gsize)row * g_array_get_element_size((GArray *)table);
}

static gint64 time_of(const GArray *table, guint32 row)
{
	gint64 time_ns;

	memcpy(&time_ns, element(table, row), sizeof(time_ns));
	return time_ns;
}

static gint compare_rows(gconstpointer left, gconstpointer right, gpointer table)
{
	guint32 a = *(const guint32 *)left, b = *(const guint32 *)right;
	gint64 a_ns = time_of(table, a), b_ns = time_of(table, b);

	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void sort_bucket(const GArray *table, guint32 *rows, guint32 n)
{
	for (guint32 i = 1; i < n; i++) {
		if (time_of(table, rows[i]) < time_of(table, rows[i - 1])) {
			g_qsort_with_data(rows, (gint)n, sizeof(*rows), compare_rows,
					  (gpointer)table);
			return;
		}
	}
}

void row_buckets_init(struct row_buckets *buckets, const GArray *table, gsize track_offset,
		      const guint32 *bucket_of_track, guint32 n_buckets)
{
	g_autofree guint32 *next = g_new0(guint32, n_buckets + 1);
	guint32 *bucket_of_row = g_new(guint32, table->len);

	buckets->n_buckets = n_buckets;
	buckets->rows = g_new(guint32, MAX(table->len, 1u));
	buckets->first = g_new0(guint32, n_buckets + 1);
	for (guint32 row = 0; row < table->len; row++) {
		guint32 bucket;

		memcpy(&bucket, element(table, row) + track_offset, sizeof(bucket));
		if (bucket_of_track)
			bucket = bucket_of_track[bucket];
		bucket_of_row[row] = bucket;
		buckets->first[bucket + 1]++;
	}
	for (guint32 i = 0; i < n_buckets; i++)
		next[i + 1] = buckets->first[i + 1] += buckets->first[i];
	for (guint32 row = 0; row < table->len; row++)
		buckets->rows[next[bucket_of_row[row]]++] = row;
	g_free(bucket_of_row);
	for (guint32 i = 0; i < n_buckets && table->len; i++)
		sort_bucket(table, buckets->rows + buckets->first[i],
			    buckets->first[i + 1] - buckets->first[i]);
}

void row_buckets_release(struct row_buckets *buckets)
{
	g_clear_pointer(&buckets->rows, g_free);
	g_clear_pointer(&buckets->first, g_free);
}
