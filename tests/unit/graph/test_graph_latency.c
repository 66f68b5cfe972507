/* How long the first byte is on its way, as small messages tell: on jobs whose latency can be computed by hand. Ranks are on one
 * host, and have its clock. Times are microseconds. */
#include <tacho/correlate.h>

#include "graph/graph_internal.h"
#include "timeline_text.h"

enum { MAX_WAYS = 6 };

/* Small messages from one rank to another, every 20 us: what each takes, but for the first. */
struct words {
	guint from, to;
	guint n;
	gint takes_us, first_takes_us;
	guint bytes;
};

static void write_end(GString *text, const struct words *words, guint i, gboolean is_receive)
{
	gint sent_us = 100 + 20 * (gint)i + (gint)(words->from + words->to);
	gint takes_us = i ? words->takes_us : words->first_takes_us;
	guint own = is_receive ? words->to : words->from, other = words->from + words->to - own;

	g_string_append_printf(
		text, "message m %d..%d bytes=%u fd=%u%s local=10.0.0.%u:%u peer=10.0.0.%u:%u\n",
		is_receive ? sent_us + takes_us - 1 : sent_us,
		is_receive ? sent_us + takes_us : sent_us + 1, words->bytes, 3 + other,
		is_receive ? " receive" : "", 1 + own, 5000 + other, 1 + other, 5000 + own);
}

/* Of a send of rank 0 to rank 1, in nanoseconds. */
static gdouble latency(const struct words *ways, guint n_ways, guint n_ranks)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(GError) error = NULL;

	for (guint rank = 0; rank < n_ranks; rank++) {
		g_string_append_printf(
			text, "rank %u thread %u main\nannotation ProfilerStep#0 0..1000\n", rank,
			1000 + rank);
		if (rank < 2)
			g_string_append_printf(text,
					       "collective gloo:%s 500..600 bytes=6000 peer=%u\n",
					       rank ? "recv" : "send", 1 - rank);
		g_string_append_printf(text, "thread %u io\n", 2000 + rank);
		for (guint way = 0; way < n_ways; way++)
			for (guint i = 0; i < ways[way].n; i++) {
				if (ways[way].from == rank)
					write_end(text, &ways[way], i, FALSE);
				if (ways[way].to == rank)
					write_end(text, &ways[way], i, TRUE);
			}
	}
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	graph = tacho_graph_build(timeline, -1, -1, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < graph->groups->len; i++)
		if (graph_group_at(graph, i)->is_hops)
			return graph_group_at(graph, i)->hop_ns;
	g_assert_not_reached();
}

static void assert_latency(const struct words *ways, guint n_ways, guint n_ranks,
			   gdouble expected_us)
{
	g_assert_cmpfloat_with_epsilon(latency(ways, n_ways, n_ranks), expected_us * 1000, 1e-6);
}

/* What the clocks are apart is in one way as much as it is not in the other. */
static void test_pair(void)
{
	const struct words same[] = { { 0, 1, 8, 3, 3, 64 }, { 1, 0, 8, 3, 3, 64 } };
	const struct words apart[] = { { 0, 1, 8, 2, 2, 64 }, { 1, 0, 9, 6, 6, 64 } };
	const struct words largest[] = { { 0, 1, 8, 3, 3, 4096 }, { 1, 0, 8, 3, 3, 4096 } };
	const struct words damaged[] = { { 0, 1, 8, -5, -5, 64 }, { 1, 0, 8, -3, -3, 64 } };

	assert_latency(same, 2, 2, 3);
	assert_latency(apart, 2, 2, 4);
	assert_latency(largest, 2, 2, 3);
	assert_latency(damaged, 2, 2, 0); /* received before it was sent */
}

/* Too few one way, too large, or one way alone. */
static void test_unknown(void)
{
	const struct words few[] = { { 0, 1, 7, 3, 3, 64 }, { 1, 0, 8, 3, 3, 64 } };
	const struct words few_back[] = { { 0, 1, 8, 3, 3, 64 }, { 1, 0, 7, 3, 3, 64 } };
	const struct words large[] = { { 0, 1, 8, 3, 3, 4097 }, { 1, 0, 8, 3, 3, 64 } };
	const struct words alone[] = { { 0, 1, 9, 3, 3, 64 } };

	assert_latency(few, 2, 2, 0);
	assert_latency(few_back, 2, 2, 0);
	assert_latency(large, 2, 2, 0);
	assert_latency(alone, 1, 2, 0);
}

/* Most waited for something: the first decile of eleven is the second shortest. */
static void test_decile(void)
{
	const struct words ways[] = { { 0, 1, 11, 9, 1, 64 }, { 1, 0, 11, 5, 1, 64 } };

	assert_latency(ways, 2, 2, 7);
}

/* The median over the pairs of ranks. */
static void test_median(void)
{
	const struct words ways[] = { { 0, 1, 8, 2, 2, 64 }, { 1, 0, 8, 2, 2, 64 },
				      { 0, 2, 8, 9, 9, 64 }, { 2, 0, 8, 9, 9, 64 },
				      { 1, 2, 8, 4, 4, 64 }, { 2, 1, 8, 4, 4, 64 } };

	assert_latency(ways, G_N_ELEMENTS(ways), 3, 4);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/graph_latency/pair", test_pair);
	g_test_add_func("/graph_latency/unknown", test_unknown);
	g_test_add_func("/graph_latency/decile", test_decile);
	g_test_add_func("/graph_latency/median", test_median);
	return g_test_run();
}
