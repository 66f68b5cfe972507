/* graph_latency: how long the first byte is on its way from one rank to another, as small messages tell.
 *
 * A message of a few bytes that was sent when nothing was before it has come after the latency. From when it was sent to when
 * its receiver had read it is that, what the clocks of the two hosts are apart, and what it waited for: other bytes on the
 * link, a core for the receiver. So
 *
 * (1) of each way between two ranks what counts is the first decile: of messages on an idle link, to a receiver that was
 *     waiting;
 * (2) the mean of both ways between two ranks is the latency: what the clocks are apart is in one as much as it is not in the
 *     other;
 * (3) the median over the pairs of ranks is the run's. */
#include "base/for_each.h"
#include "base/quantile.h"
#include "graph/graph_builder.h"

/* The size of a small message, at most.
 * Source: a rule: a header, a word, a small collective, of at most three packets of Ethernet, which a link of 500 Mbit/s carries in
 * 66 us. If wrong, the latency contains the time of bytes, or too few messages count. */
#define MAX_BYTES 4096
/* Messages each way, for a pair of ranks to count.
 * Source: a rule: of fewer the first decile is the shortest one alone. If wrong, the latency is one lucky message's, or 0. */
#define MIN_SENT 8
/* The share of a way's messages that found the link idle and the receiver waiting: (1).
 * Source: a rule: the least of many is a quantity of clocks, and the median one of load. If wrong, hops begin too soon or too
 * late by the difference. */
#define IDLE_SHARE 0.1
/* How far clocks may be apart: 12 days.
 * Source: a rule: more is damage. If wrong, messages of hosts whose clocks are farther apart do not count. */
#define MAX_NS 1e15

static guint32 rank_of_slice(const struct graph_builder *builder, guint32 slice)
{
	const TachoProcess *process = tacho_slice_process(builder->timeline, slice);

	return process->is_main && process->rank_index < builder->n_ranks ? process->rank_index
									  : TACHO_NONE;
}

/* What each small message took, of each way: from * n_ranks + to -> GArray of gint64. */
static GHashTable *collect_times(const struct graph_builder *builder)
{
	const TachoTimeline *timeline = builder->timeline;
	GHashTable *times = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
						  (GDestroyNotify)g_array_unref);

	FOR_EACH(const TachoFlow, flow, timeline->flows) {
		const TachoMessage *sent, *received;
		guint32 from, to;
		gdouble apart_ns;
		gint64 key, time_ns;
		GArray *way;

		if (flow->kind != TACHO_FLOW_MESSAGE)
			continue;
		sent = tacho_slice_borrow_message(timeline, flow->from);
		received = tacho_slice_borrow_message(timeline, flow->to);
		from = rank_of_slice(builder, flow->from);
		to = rank_of_slice(builder, flow->to);
		if (!sent || !received || sent->bytes > MAX_BYTES || received->bytes > MAX_BYTES ||
		    from == TACHO_NONE || to == TACHO_NONE || from == to)
			continue;
		key = (gint64)((guint64)from * builder->n_ranks + to);
		apart_ns = (gdouble)tacho_slice_end_ns(timeline, flow->to) -
			   (gdouble)timeline->slices.start_ns[flow->from];
		if (ABS(apart_ns) > MAX_NS)
			continue;
		time_ns = tacho_slice_end_ns(timeline, flow->to) -
			  timeline->slices.start_ns[flow->from];
		way = g_hash_table_lookup(times, &key);
		if (!way) {
			way = g_array_new(FALSE, FALSE, sizeof(gint64));
			g_hash_table_insert(times, g_memdup2(&key, sizeof(key)), way);
		}
		g_array_append_val(way, time_ns);
	}
	return times;
}

void builder_measure_latency(struct graph_builder *builder)
{
	g_autoptr(GHashTable) times = collect_times(builder);
	g_autoptr(GArray) latencies = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 a = 0; a < builder->n_ranks; a++)
		for (guint32 b = a + 1; b < builder->n_ranks && g_hash_table_size(times) > 0; b++) {
			gint64 there = (gint64)((guint64)a * builder->n_ranks + b);
			gint64 back = (gint64)((guint64)b * builder->n_ranks + a);
			GArray *to = g_hash_table_lookup(times, &there);
			GArray *fro = g_hash_table_lookup(times, &back);
			gint64 latency_ns;

			if (!to || !fro || to->len < MIN_SENT || fro->len < MIN_SENT)
				continue;
			latency_ns =
				(gint64)((quantile(to, IDLE_SHARE) + quantile(fro, IDLE_SHARE)) /
					 2);
			latency_ns = MAX(latency_ns, 0);
			g_array_append_val(latencies, latency_ns);
		}
	builder->latency_ns = latencies->len > 0 ? (gint64)quantile(latencies, 0.5) : 0;
}
