/* advice_communication: communication that nothing hides, and ranks that the others wait for. */
#include "analyze/advice.h"
#include "analyze/bucket_steps.h"
#include "base/for_each.h"
#include "base/time_units.h"

#define MB(bytes) ((bytes) / 1e6)

/* --- exposed communication -------------------------------------------------------------------- */

/* DistributedDataParallel's first bucket has 1 MiB so that it is early, its others 25 (PyTorch's reducer.hpp,
 * kDefaultFirstBucketBytes and kDefaultBucketBytesCap). Who reduces less than the smaller of these at a time, pays
 * for the calls more than for the bytes. */
#define SMALL_BYTES (1024.0 * 1024.0)
#define MANY_CALLS  4
/* With one bucket nothing can be hidden; below this the backward pass hides next to nothing. */
#define FEW_HIDDEN_PCT 20.0

/* What goes out in collectives, over all chosen steps of the chosen ranks. */
struct traffic {
	gdouble n, bytes;
	guint32 name; /* of the collectives that took most time */
	gdouble n_buckets, bucket_bytes;
	guint n_stretches;
};

static void count_time(GHashTable *times_ns, guint32 name, gint64 duration_ns)
{
	gpointer key = GSIZE_TO_POINTER((gsize)name + 1);
	gdouble *time_ns = g_hash_table_lookup(times_ns, key);

	if (!time_ns) {
		time_ns = g_new0(gdouble, 1);
		g_hash_table_insert(times_ns, key, time_ns);
	}
	*time_ns += (gdouble)duration_ns;
}

static void count_track(struct traffic *traffic, const struct advice_input *input,
			const TachoTrack *track, guint rank_index, GHashTable *times_ns)
{
	const TachoTimeline *timeline = input->timeline;
	TachoCollectiveArgs args;
	guint cursor = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		if (timeline->slices.kind[i] != TACHO_SLICE_COLLECTIVE ||
		    !selection_takes_time(&input->selection, rank_index,
					  timeline->slices.start_ns[i], &cursor))
			continue;
		traffic->n++;
		if (tacho_slice_collective(timeline, i, &args))
			traffic->bytes += (gdouble)args.bytes;
		count_time(times_ns, timeline->slices.name[i], timeline->slices.duration_ns[i]);
	}
}

/* The name with the longest time; of equals the first by name, so that the answer is stable. */
static guint32 longest_name(GHashTable *times_ns)
{
	gdouble longest_ns = -1;
	guint32 longest = 0;

	FOR_EACH_ENTRY(entry, times_ns) {
		guint32 name = (guint32)(GPOINTER_TO_SIZE(entry.key) - 1);
		gdouble time_ns = *(const gdouble *)entry.value;

		if (time_ns > longest_ns || (time_ns == longest_ns && name < longest)) {
			longest_ns = time_ns;
			longest = name;
		}
	}
	return longest;
}

static void count_buckets(struct traffic *traffic, const struct advice_input *input)
{
	guint cursor = 0;

	FOR_EACH(const TachoBucket, bucket, input->timeline->buckets) {
		if (!advice_takes_rank(input, bucket->rank_index) ||
		    !bucket_is_chosen(&input->selection, bucket, &cursor))
			continue;
		traffic->n_buckets++;
		traffic->bucket_bytes += (gdouble)bucket->bytes;
	}
}

static struct traffic count_traffic(const struct advice_input *input)
{
	const TachoTimeline *timeline = input->timeline;
	g_autoptr(GHashTable) times_ns = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	struct traffic traffic = { 0 };

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint rank_index = tacho_track_process(timeline, track)->rank_index;

		if (selection_takes_track(&input->selection, track) &&
		    advice_takes_rank(input, rank_index))
			count_track(&traffic, input, track, rank_index, times_ns);
	}
	traffic.name = longest_name(times_ns);
	count_buckets(&traffic, input);
	for (guint i = 0; i < timeline->ranks->len; i++)
		if (advice_takes_rank(input, i))
			traffic.n_stretches += input->times[i].n_stretches;
	return traffic;
}

/* Whether most of it is DistributedDataParallel's. */
static gboolean are_buckets(const struct traffic *traffic)
{
	return traffic->n_buckets > traffic->n / 2;
}

/* Whether any collective tells waiting for a late rank from transferring. */
static gboolean is_wait_known(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoCollective, collective, timeline->collectives)
		if (collective->n_members > 1 && collective->n_members == collective->n_expected)
			return TRUE;
	return FALSE;
}

/* The means of the chosen ranks. */
static void mean_transfer(const struct advice_input *input, const struct traffic *traffic,
			  gdouble *ret_transfer_ns, gdouble *ret_exposed_ns)
{
	*ret_transfer_ns = *ret_exposed_ns = 0;
	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		const struct rank_time *time = &input->times[i];

		if (!advice_takes_rank(input, i))
			continue;
		*ret_transfer_ns += time->transfer_ns * time->n_stretches / traffic->n_stretches;
		*ret_exposed_ns += time->exposed_ns * time->n_stretches / traffic->n_stretches;
	}
}

/* What to do hangs on what goes out at a time, and on whether there is anything to hide it behind. */
static gchar *communication_action(const struct traffic *traffic, gdouble hidden_pct)
{
	gdouble n_buckets = traffic->n_buckets / traffic->n_stretches;
	gdouble bucket_bytes =
		traffic->n_buckets > 0 ? traffic->bucket_bytes / traffic->n_buckets : 0;
	gboolean is_small = are_buckets(traffic) ? bucket_bytes < SMALL_BYTES
						 : traffic->bytes < SMALL_BYTES * traffic->n;

	if (is_small && are_buckets(traffic) && n_buckets >= MANY_CALLS)
		return g_strdup("Use fewer and larger buckets (DistributedDataParallel's "
				"bucket_cap_mb, which is 25 by default). 'tacho replay RUN "
				"--what-if bucket_mb=25' predicts the gain.");
	if (is_small)
		return g_strdup("For so few bytes the call costs more than the transfer. Send "
				"several tensors in one collective, or send less often (accumulate "
				"gradients). 'tacho replay RUN --what-if latency=0.5x' predicts "
				"the gain of half the latency.");
	if (are_buckets(traffic) && n_buckets < 2 && hidden_pct < FEW_HIDDEN_PCT)
		return g_strdup_printf(
			"Use smaller buckets, so that the first is sent while the backward pass "
			"goes on. 'tacho replay RUN --what-if bucket_mb=%.0f' predicts the gain.",
			MAX(bucket_bytes / 4 / SMALL_BYTES, 1));
	return g_strdup("Send less (gradients in lower precision or compressed, more "
			"accumulation), or use faster links. 'tacho replay RUN --what-if "
			"bandwidth=2x' predicts the gain of twice the bandwidth.");
}

static gchar *communication_evidence(const struct advice_input *input,
				     const struct traffic *traffic, gdouble transfer_ns,
				     gdouble exposed_ns)
{
	return g_strdup_printf(
		"Of the communication, %.2f of %.2f ms %s have no computation beside them%s; there "
		"are %.1f collectives of %.3f MB on average%s.",
		MS(exposed_ns), MS(transfer_ns), input->each,
		is_wait_known(input->timeline)
			? ""
			: " (including the waiting for other ranks, which were not recorded)",
		traffic->n / traffic->n_stretches,
		traffic->n > 0 ? MB(traffic->bytes / traffic->n) : 0,
		are_buckets(traffic) ? ", most of them buckets of gradients" : "");
}

const gchar *check_communication(const struct advice_input *input, GArray *advices)
{
	struct traffic traffic = count_traffic(input);
	struct advice advice = { .checker = "communication",
				 .rank = -1,
				 .metric = "exposed_communication_pct",
				 .what_if = "drop:collective~.",
				 .threshold = ADVICE_WORTH_PCT };
	gdouble transfer_ns, exposed_ns;

	if (traffic.n == 0 || traffic.n_stretches == 0)
		return "no collective was recorded";
	mean_transfer(input, &traffic, &transfer_ns, &exposed_ns);
	advice.value = advice_share(input, exposed_ns);
	if (advice.value < advice.threshold)
		return NULL;
	advice.gain_ns = exposed_ns;
	advice.where = g_strdup(tacho_timeline_string(input->timeline, traffic.name));
	advice.evidence = communication_evidence(input, &traffic, transfer_ns, exposed_ns);
	advice.action =
		communication_action(&traffic, 100.0 * (transfer_ns - exposed_ns) / transfer_ns);
	g_array_append_val(advices, advice);
	return NULL;
}
