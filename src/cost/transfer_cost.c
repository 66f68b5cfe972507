#include "cost/transfer_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZES	  512		/* for whose pairs slopes are taken */
#define MAX_SEGMENT_BYTES (1024 * 1024) /* gloo's kMaxSegmentSize */

static gint compare_samples(gconstpointer a, gconstpointer b)
{
	const struct transfer_sample *x = a, *y = b;

	if (x->wire_bytes != y->wire_bytes)
		return x->wire_bytes < y->wire_bytes ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return (x > y) - (x < y);
}

static gdouble median(gdouble *values, guint n)
{
	qsort(values, n, sizeof(*values), compare_numbers);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* One sample a size, its median time; `samples` are sorted. Returns how many. */
static guint merge_sizes(const struct transfer_sample *samples, guint n,
			 struct transfer_sample *sizes)
{
	guint n_sizes = 0;

	for (guint i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && samples[end].wire_bytes == samples[i].wire_bytes;)
			end++;
		sizes[n_sizes].wire_bytes = samples[i].wire_bytes;
		sizes[n_sizes++].time_ns =
			(samples[(i + end - 1) / 2].time_ns + samples[(i + end) / 2].time_ns) / 2;
	}
	return n_sizes;
}

/* Keep `MAX_SIZES` of them, evenly; the number of pairs grows with the square. */
static guint thin_out(struct transfer_sample *sizes, guint n)
{
	if (n <= MAX_SIZES)
		return n;
	for (guint i = 0; i < MAX_SIZES; i++)
		sizes[i] = sizes[(guint64)i * (n - 1) / (MAX_SIZES - 1)];
	return MAX_SIZES;
}

static gdouble median_slope(const struct transfer_sample *sizes, guint n)
{
	g_autofree gdouble *slopes = g_new(gdouble, (gsize)n * (n - 1) / 2);
	guint n_slopes = 0;

	for (guint i = 0; i < n; i++)
		for (guint j = i + 1; j < n; j++)
			slopes[n_slopes++] = (sizes[j].time_ns - sizes[i].time_ns) /
					     (sizes[j].wire_bytes - sizes[i].wire_bytes);
	return median(slopes, n_slopes);
}

/* The line through the origin: no latency can be told apart from the bytes. */
static void fit_origin(struct transfer_cost *cost, const struct transfer_sample *sizes, guint n)
{
	g_autofree gdouble *slopes = g_new(gdouble, n);

	for (guint i = 0; i < n; i++)
		slopes[i] = sizes[i].time_ns / sizes[i].wire_bytes;
	cost->ns_per_byte = median(slopes, n);
	cost->fixed_ns = 0;
}

static void fit_line(struct transfer_cost *cost, const struct transfer_sample *sizes, guint n)
{
	g_autofree gdouble *rests = g_new(gdouble, n);

	cost->ns_per_byte = MAX(median_slope(sizes, n), 0.0);
	for (guint i = 0; i < n; i++)
		rests[i] = sizes[i].time_ns - cost->ns_per_byte * sizes[i].wire_bytes;
	cost->fixed_ns = median(rests, n);
	if (cost->fixed_ns < 0)
		fit_origin(cost, sizes, n);
}

static gdouble error_share(const struct transfer_cost *cost, const struct transfer_sample *samples,
			   guint n)
{
	g_autofree gdouble *errors = g_new(gdouble, n);

	for (guint i = 0; i < n; i++)
		errors[i] =
			fabs(samples[i].time_ns - transfer_cost_ns(cost, samples[i].wire_bytes)) /
			samples[i].time_ns;
	return median(errors, n);
}

void transfer_cost_fit(struct transfer_cost *cost, struct transfer_sample *samples, guint n)
{
	g_autofree struct transfer_sample *sizes = NULL;
	guint n_used = 0;

	memset(cost, 0, sizeof(*cost));
	for (guint i = 0; i < n; i++)
		if (samples[i].wire_bytes > 0 && samples[i].time_ns > 0)
			samples[n_used++] = samples[i];
	if (n_used == 0)
		return;
	qsort(samples, n_used, sizeof(*samples), compare_samples);
	sizes = g_new(struct transfer_sample, n_used);
	cost->n_sizes = merge_sizes(samples, n_used, sizes);
	if (cost->n_sizes == 1)
		fit_origin(cost, sizes, 1);
	else
		fit_line(cost, sizes, thin_out(sizes, cost->n_sizes));
	cost->error_share = error_share(cost, samples, n_used);
}

gdouble transfer_cost_ns(const struct transfer_cost *cost, gdouble wire_bytes)
{
	return cost->fixed_ns + cost->ns_per_byte * wire_bytes;
}

gdouble transfer_wire_bytes(const gchar *name, guint64 bytes, guint32 n_ranks)
{
	gdouble others = n_ranks > 1 ? n_ranks - 1 : 0;

	if (strstr(name, "all_reduce") || strstr(name, "allreduce") || strstr(name, "AllReduce"))
		return 2 * others / MAX(n_ranks, 1u) * (gdouble)bytes;
	if (strstr(name, "reduce_scatter") || strstr(name, "ReduceScatter") ||
	    strstr(name, "all_to_all") || strstr(name, "alltoall"))
		return others / MAX(n_ranks, 1u) * (gdouble)bytes;
	if (strstr(name, "all_gather") || strstr(name, "allgather") || strstr(name, "AllGather"))
		return others * (gdouble)bytes;
	return n_ranks > 1 ? (gdouble)bytes : 0;
}

gdouble transfer_latency_ns(guint64 bytes, guint32 n_ranks, gdouble ns_per_byte, gdouble latency_ns)
{
	gdouble chunk_bytes, n_segments, segment_ns;

	if (n_ranks < 2)
		return 0;
	chunk_bytes = (gdouble)bytes / n_ranks;
	n_segments = MAX(2.0, ceil(chunk_bytes / MAX_SEGMENT_BYTES)); /* a chunk */
	segment_ns = chunk_bytes / n_segments * ns_per_byte;
	return MAX(2 * latency_ns, (n_ranks - 1) * n_segments * MAX(0.0, latency_ns - segment_ns));
}
