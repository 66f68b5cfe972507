#include "cost/transfer_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/weighted_median.h"
#include "trace/operation.h"

/* For whose pairs slopes are taken.
 * Source: a rule: bounds the pairs to 130,816. If wrong, a fit to more sizes has fewer of them, evenly, or takes longer. */
#define MAX_SIZES 512
/* The size of a segment of gloo's ring, at most.
 * Source: cited from gloo/allreduce.cc: kMaxSegmentSize. */
#define MAX_SEGMENT_BYTES (1024 * 1024)
/* Largest size to smallest, for the two terms to be told apart.
 * Source: a rule: with sizes nearer to each other a slope is of the noise of two times rather than of bytes. If wrong, a line is
 * fitted to noise, or all time counts as bandwidth though there was a line. */
#define MIN_SPREAD 1.5

static gint compare_samples(gconstpointer a, gconstpointer b)
{
	const struct transfer_sample *x = a, *y = b;

	return ORDER(x->wire_bytes, y->wire_bytes) ?: ORDER(x->time_ns, y->time_ns);
}

static gdouble median(gdouble *values, guint n)
{
	qsort(values, n, sizeof(*values), order_double);
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

/* A pair counts by the difference of its sizes: what two of nearly one size differ in is noise. */
static gdouble median_slope(const struct transfer_sample *sizes, guint n)
{
	g_autofree struct weighted *slopes = g_new(struct weighted, (gsize)n * (n - 1) / 2);
	guint n_slopes = 0;

	for (guint i = 0; i < n; i++)
		for (guint j = i + 1; j < n; j++) {
			gdouble bytes = sizes[j].wire_bytes - sizes[i].wire_bytes;

			slopes[n_slopes++] =
				(struct weighted){ (sizes[j].time_ns - sizes[i].time_ns) / bytes,
						   bytes };
		}
	return weighted_median(slopes, n_slopes);
}

/* The line with this fixed time. A size counts by its bytes: small ones, which are more easily held
 * up for a share of their time, would else outvote the one that makes up most of a step. */
static void fit_slope(struct transfer_cost *cost, const struct transfer_sample *sizes, guint n,
		      gdouble fixed_ns)
{
	g_autofree struct weighted *slopes = g_new(struct weighted, n);

	for (guint i = 0; i < n; i++)
		slopes[i] = (struct weighted){
			MAX(sizes[i].time_ns - fixed_ns, 0.0) / sizes[i].wire_bytes,
			sizes[i].wire_bytes,
		};
	cost->ns_per_byte = weighted_median(slopes, n);
	cost->fixed_ns = fixed_ns;
}

static void fit_line(struct transfer_cost *cost, const struct transfer_sample *sizes, guint n,
		     gdouble max_fixed_ns)
{
	g_autofree gdouble *rests = g_new(gdouble, n);

	cost->ns_per_byte = MAX(median_slope(sizes, n), 0.0);
	for (guint i = 0; i < n; i++)
		rests[i] = sizes[i].time_ns - cost->ns_per_byte * sizes[i].wire_bytes;
	cost->fixed_ns = median(rests, n);
	if (cost->fixed_ns < 0 || cost->fixed_ns > max_fixed_ns)
		fit_slope(cost, sizes, n, CLAMP(cost->fixed_ns, 0.0, max_fixed_ns));
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

void transfer_cost_fit(struct transfer_cost *cost, struct transfer_sample *samples, guint n,
		       gdouble max_fixed_ns)
{
	g_autofree struct transfer_sample *sizes = NULL;
	guint n_used = 0, n_sizes;

	memset(cost, 0, sizeof(*cost));
	for (guint i = 0; i < n; i++)
		if (samples[i].wire_bytes > 0 && samples[i].time_ns > 0)
			samples[n_used++] = samples[i];
	if (n_used == 0)
		return;
	qsort(samples, n_used, sizeof(*samples), compare_samples);
	sizes = g_new(struct transfer_sample, n_used);
	n_sizes = merge_sizes(samples, n_used, sizes);
	if (sizes[n_sizes - 1].wire_bytes < MIN_SPREAD * sizes[0].wire_bytes) {
		cost->n_sizes = 1;
		fit_slope(cost, sizes, thin_out(sizes, n_sizes), 0);
	} else {
		cost->n_sizes = n_sizes;
		fit_line(cost, sizes, thin_out(sizes, n_sizes), max_fixed_ns);
	}
	cost->error_share = error_share(cost, samples, n_used);
}

gdouble transfer_cost_ns(const struct transfer_cost *cost, gdouble wire_bytes)
{
	return cost->fixed_ns + cost->ns_per_byte * wire_bytes;
}

gdouble transfer_wire_bytes(enum collective_operation operation, guint64 bytes, guint32 n_ranks)
{
	gdouble others = n_ranks > 1 ? n_ranks - 1 : 0;

	if (operation_is_all_reduce(operation))
		return 2 * others / MAX(n_ranks, 1u) * (gdouble)bytes;
	if (operation == OPERATION_REDUCE_SCATTER || operation == OPERATION_ALL_TO_ALL)
		return others / MAX(n_ranks, 1u) * (gdouble)bytes;
	if (operation == OPERATION_ALL_GATHER)
		return others * (gdouble)bytes;
	return n_ranks > 1 ? (gdouble)bytes : 0;
}

/* Segments of a rank's chunk in a ring all-reduce. */
static gdouble segments_of_chunk(guint64 bytes, guint32 n_ranks)
{
	gdouble n_segments = MAX(ceil((gdouble)bytes / MAX_SEGMENT_BYTES), 2.0 * n_ranks);

	return ceil(n_segments / n_ranks);
}

gdouble transfer_hidden_ns(enum collective_operation operation, guint64 bytes, guint32 n_ranks,
			   gdouble latency_ns, gdouble work_ns)
{
	gdouble n_segments = transfer_latencies(operation, bytes, n_ranks);

	if (!operation_is_all_reduce(operation) || n_ranks <= 2)
		return 0;
	return (n_segments / 2 - 2) * MIN(work_ns / n_segments, 2 * latency_ns);
}

gdouble transfer_device_latencies(enum collective_operation operation, guint32 n_ranks)
{
	gdouble others = n_ranks > 1 ? n_ranks - 1 : 0;

	return operation_is_all_reduce(operation) ? 2 * others : others;
}

gdouble transfer_latencies(enum collective_operation operation, guint64 bytes, guint32 n_ranks)
{
	gdouble others = n_ranks > 1 ? n_ranks - 1 : 0;

	if (n_ranks < 2)
		return 0;
	if (operation_is_all_reduce(operation))
		return 2 * others * segments_of_chunk(bytes, n_ranks);
	if (operation == OPERATION_ALL_GATHER)
		return 2 * others;
	return 1 + ceil(log2(n_ranks));
}
