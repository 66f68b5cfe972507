/* Who was with whom in batches of which only times and sizes are known: what the limits are. Times are nanoseconds. */
#include <tacho/timeline.h>

#include "correlate/send_batches.h"

#define US(n) ((gint64)(n)*1000)

enum { PERIOD_NS = 1000 * 1000, MAX_BATCHES = 32 };

#define NONE TACHO_NONE
#define B(of_rank, begins, ends, of_peer, ...)                                                     \
	{                                                                                          \
		.rank = of_rank, .begin_ns = begins, .end_ns = ends, .peer = of_peer, __VA_ARGS__  \
	}

/* A batch of a round, and who its partner is. */
struct expected {
	guint32 rank;
	gint64 begin_ns, end_ns;
	guint32 peer;
	guint64 bytes;
	guint32 clock, reference;
	gint64 uncertainty_ns;
};

static void add_round(GArray *batches, const struct expected *round, guint n, guint number)
{
	for (guint i = 0; i < n; i++) {
		struct send_batch batch = { .rank_index = round[i].rank,
					    .slice = batches->len,
					    .bytes = round[i].bytes,
					    .begin_ns =
						    round[i].begin_ns + PERIOD_NS * (gint64)number,
					    .end_ns = round[i].end_ns + PERIOD_NS * (gint64)number,
					    .clock = round[i].clock,
					    .reference = round[i].reference,
					    .uncertainty_ns = round[i].uncertainty_ns,
					    .peer = 77 };

		g_array_append_val(batches, batch);
	}
}

/* The partner of the batch that was added as the `nth`. */
static guint32 peer_of(const GArray *batches, guint nth)
{
	for (guint i = 0; i < batches->len; i++)
		if (g_array_index(batches, struct send_batch, i).slice == nth)
			return g_array_index(batches, struct send_batch, i).peer;
	g_assert_not_reached();
}

/* The same again and again, so that ranks know each other. */
static void check_rounds(const struct expected *round, guint n, guint n_rounds)
{
	g_autoptr(GArray) batches = g_array_new(FALSE, FALSE, sizeof(struct send_batch));

	for (guint i = 0; i < n_rounds; i++)
		add_round(batches, round, n, i);
	send_batches_find_peers(batches);
	for (guint i = 0; i < batches->len; i++)
		g_assert_cmpuint(peer_of(batches, i), ==, round[i % n].peer);
}

#define CHECK(n_rounds, ...)                                                                       \
	do {                                                                                       \
		const struct expected round[] = { __VA_ARGS__ };                                   \
                                                                                                   \
		check_rounds(round, G_N_ELEMENTS(round), n_rounds);                                \
	} while (0)

/* Ends are apart by 20 us and an eighth of the shorter one at most. */
static void test_slack(void)
{
	CHECK(2, B(0, 0, US(80), 1), B(1, US(10), US(110), 0));
	CHECK(2, B(0, 0, US(80), NONE), B(1, US(10), US(110) + 1, NONE));
	CHECK(2, B(0, US(10), US(110), 1), B(1, 0, US(80), 0));
	CHECK(2, B(0, US(10), US(110) + 1, NONE), B(1, 0, US(80), NONE));
}

/* What is unsure of two clocks counts, of one it does not; of clocks that nothing relates nothing is known. */
static void test_clocks(void)
{
	CHECK(2, B(0, 0, US(80), 1, .clock = 0, .uncertainty_ns = US(3)),
	      B(1, US(10), US(115), 0, .clock = 1, .uncertainty_ns = US(2)));
	CHECK(2, B(0, 0, US(80), NONE, .clock = 0, .uncertainty_ns = US(3)),
	      B(1, US(10), US(115) + 1, NONE, .clock = 1, .uncertainty_ns = US(2)));
	CHECK(2, B(0, 0, US(80), NONE, .clock = 5, .uncertainty_ns = US(3)),
	      B(1, US(10), US(115), NONE, .clock = 5, .uncertainty_ns = US(2)));
	CHECK(2, B(0, 0, US(80), NONE, .clock = 0, .reference = 0),
	      B(1, US(10), US(80), NONE, .clock = 1, .reference = 1));
}

/* Partners ran at one time, and are of as many bytes where both are known. */
static void test_partners(void)
{
	CHECK(2, B(0, 0, US(80), NONE), B(1, US(80), US(90), NONE));
	CHECK(2, B(0, 0, US(80), 1), B(1, US(80) - 1, US(90), 0));
	CHECK(2, B(0, US(80), US(90), NONE), B(1, 0, US(80), NONE));
	CHECK(2, B(0, 0, US(80), 1, .bytes = 8), B(1, 0, US(80), 0, .bytes = 8));
	CHECK(2, B(0, 0, US(80), NONE, .bytes = 8), B(1, 0, US(80), NONE, .bytes = 9));
	CHECK(2, B(0, 0, US(80), 1, .bytes = 8), B(1, 0, US(80), 0, .bytes = 0));
	CHECK(2, B(0, 0, US(80), 1, .bytes = 0), B(1, 0, US(80), 0, .bytes = 9));
}

/* Who meets but once is no neighbour, unless others meet as often; who meets less than a fourth as often as those who meet
 * most, neither. */
static void test_neighbours(void)
{
	static const struct expected first[] = { B(0, 0, US(80), 1), B(1, 0, US(80), 0) };
	static const struct expected other[] = { B(2, 0, US(80), 3), B(3, 0, US(80), 2) };

	CHECK(1, B(0, 0, US(80), NONE), B(1, 0, US(80), NONE));
	CHECK(2, B(0, 0, US(80), 1), B(1, 0, US(80), 0));
	for (guint n_often = 8; n_often <= 12; n_often += 4) {
		g_autoptr(GArray) batches = g_array_new(FALSE, FALSE, sizeof(struct send_batch));

		for (guint i = 0; i < n_often; i++)
			add_round(batches, first, 2, i);
		for (guint i = 0; i < 2; i++)
			add_round(batches, other, 2, 100 + i);
		send_batches_find_peers(batches);
		g_assert_cmpuint(peer_of(batches, 0), ==, 1);
		g_assert_cmpuint(peer_of(batches, 2 * n_often), ==, n_often == 8 ? 3 : NONE);
		g_assert_cmpuint(peer_of(batches, 2 * n_often + 3), ==, n_often == 8 ? 2 : NONE);
	}
}

/* Three that end together: those that end five times nearer, and 5 us more, go before the third; else nobody knows. */
static void test_much_nearer(void)
{
	CHECK(3, B(0, 0, US(80), 1), B(1, 0, US(81), 0), B(2, 0, US(91), NONE));
	CHECK(3, B(0, 0, US(80), NONE), B(1, 0, US(81), NONE), B(2, 0, US(90), NONE));
	CHECK(3, B(0, 0, US(91), 1), B(1, 0, US(90), 0), B(2, 0, US(80), NONE));
	CHECK(3, B(0, 0, US(91), NONE), B(1, 0, US(90), NONE), B(2, 0, US(81), NONE));
}

/* Four in a row of which each may only be with the one beside it: there is one way to pair all. Of three there is none, and of
 * four of which all may be with all there are three. */
static void test_ways(void)
{
	CHECK(3, B(0, 0, US(100), 1), B(1, 0, US(125), 0), B(2, 0, US(150), 3),
	      B(3, 0, US(175), 2));
	CHECK(3, B(3, 0, US(100), 1), B(1, 0, US(125), 3), B(0, 0, US(150), 2),
	      B(2, 0, US(175), 0));
	CHECK(3, B(0, 0, US(100), NONE), B(1, 0, US(125), NONE), B(2, 0, US(150), NONE));
	CHECK(3, B(0, 0, US(100), NONE), B(1, 0, US(101), NONE), B(2, 0, US(102), NONE),
	      B(3, 0, US(103), NONE));
	CHECK(3, B(0, 0, US(100), 2, .bytes = 5), B(1, 0, US(101), 3, .bytes = 6),
	      B(2, 0, US(102), 0, .bytes = 5), B(3, 0, US(103), 1, .bytes = 6));
}

/* A rank has several a round, with one neighbour and then the other. */
static void test_pipeline(void)
{
	CHECK(4, B(0, 0, US(80), 1), B(1, 0, US(80), 0), B(1, US(80), US(200), 2),
	      B(2, US(50), US(201), 1), B(0, US(300), US(390), 1), B(1, US(310), US(390), 0));
	/* what has nobody does not hold up what comes after */
	CHECK(4, B(0, 0, US(20), NONE), B(0, US(100), US(180), 1), B(1, US(90), US(180), 0));
}

/* A rank's batches follow each other; where they do not, nothing is known of any. */
static void test_overlap(void)
{
	CHECK(2, B(0, 0, US(80), 1), B(0, US(80), US(180), 1), B(1, 0, US(80), 0),
	      B(1, US(80), US(180), 0));
	CHECK(2, B(0, 0, US(80), NONE), B(0, US(80) - 1, US(180), NONE), B(1, 0, US(80), NONE),
	      B(1, US(80), US(180), NONE));
}

/* Who is with whom shows where sizes tell, and then holds where they do not; where they never do, of many that end together nobody
 * is known. */
static void test_many(void)
{
	for (guint n = 16; n <= 18; n += 2)
		for (guint has_sizes = 0; has_sizes < 2; has_sizes++) {
			g_autoptr(GArray) batches =
				g_array_new(FALSE, FALSE, sizeof(struct send_batch));

			for (guint number = 0; number < 6; number++) {
				struct expected all[MAX_BATCHES];

				for (guint i = 0; i < n; i++)
					all[i] = (struct expected)B(i, 0, US(80), NONE);
				for (guint i = 0; i < n && has_sizes && number % 2; i++)
					all[i].bytes = 1 + i / 2; /* two and two */
				add_round(batches, all, n, number);
			}
			send_batches_find_peers(batches);
			for (guint i = 0; i < batches->len; i++)
				g_assert_cmpuint(peer_of(batches, i), ==,
						 has_sizes ? (i % n) ^ 1u : NONE);
		}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/batch_peers/slack", test_slack);
	g_test_add_func("/batch_peers/clocks", test_clocks);
	g_test_add_func("/batch_peers/partners", test_partners);
	g_test_add_func("/batch_peers/neighbours", test_neighbours);
	g_test_add_func("/batch_peers/much_nearer", test_much_nearer);
	g_test_add_func("/batch_peers/ways", test_ways);
	g_test_add_func("/batch_peers/pipeline", test_pipeline);
	g_test_add_func("/batch_peers/overlap", test_overlap);
	g_test_add_func("/batch_peers/many", test_many);
	return g_test_run();
}
