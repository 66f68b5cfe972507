/* What meetings of ranks tell of hosts that nobody named: when clocks count as one, and when they cannot be. Times are
 * nanoseconds from the begin of a meeting; meetings are 10 ms apart. */
#include <string.h>

#include "correlate/correlate_internal.h"
#include "timeline_text.h"

enum { MAX_RANKS = 4, MAX_MEETINGS = 8 };

#define US(n) ((n)*1000)

struct attendance {
	gint begin_ns, end_ns; /* an end of 0: it was not there */
};

struct ranks {
	guint n, n_meetings;
	struct attendance at[MAX_RANKS][MAX_MEETINGS];
};

/* A timeline whose ranks each have a clock of their own and a host of their own, guessed; not correlated. */
static TachoTimeline *timeline_of(const struct ranks *ranks)
{
	g_autoptr(GString) text = g_string_new("unit ns\n");
	TachoTimeline *timeline;

	for (guint i = 0; i < ranks->n; i++) {
		g_string_append_printf(text,
				       "rank %u host=h%u end=exited:0 thread %u main\nop a 0..1\n",
				       i, i, 10 + i);
		for (guint k = 0; k < ranks->n_meetings; k++)
			if (ranks->at[i][k].end_ns)
				g_string_append_printf(
					text, "collective barrier %d..%d\n",
					10000000 * (gint)(k + 1) + ranks->at[i][k].begin_ns,
					10000000 * (gint)(k + 1) + ranks->at[i][k].end_ns);
		g_string_append(text, "op z 200000000..200000001\n");
	}
	timeline = timeline_from_text(text->str);
	g_assert_cmpuint(timeline->clocks->len, ==, ranks->n);
	for (guint i = 0; i < ranks->n; i++)
		g_array_index(timeline->clocks, TachoClock, i).scope = TACHO_CLOCK_OF_SOME_HOST;
	return timeline;
}

static TachoClock *clock_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->clocks, TachoClock, index);
}

/* The hosts of the ranks, and what is said of them. */
static void check(TachoTimeline *timeline, const gchar *hosts, const gchar *problem)
{
	g_autoptr(GString) found = g_string_new(NULL);
	const TachoProblem *told = NULL;

	settle_hosts(timeline);
	for (guint i = 0; i < timeline->ranks->len; i++)
		g_string_append_printf(
			found, "%s%s", i ? " " : "",
			tacho_timeline_string(timeline, tacho_timeline_rank(timeline, i)->host));
	g_assert_cmpstr(found->str, ==, hosts);
	for (guint i = 0; i < timeline->problems->len && !told; i++)
		if (g_array_index(timeline->problems, TachoProblem, i).kind ==
		    TACHO_PROBLEM_UNKNOWN_HOST)
			told = &g_array_index(timeline->problems, TachoProblem, i);
	g_assert_cmpstr(told ? told->where : NULL, ==, problem);
}

/* Two ranks that meet as often as there are ends of the second; the first always ends at 500 us. */
static struct ranks two_ranks(const gint *ends_ns, guint n)
{
	struct ranks ranks = { .n = 2, .n_meetings = n };

	for (guint k = 0; k < n; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] = (struct attendance){ 0, ends_ns[k] };
	}
	return ranks;
}

#define ONE_HOST(n, us)                                                                            \
	"ranks 0, 1: no file tells its host; half of their collectives (" #n                       \
	") or more ended within " #us " us of each other, so they count as one host"
#define OPEN                                                                                       \
	"2 hosts may be fewer: no file tells its host, the devices of each have the same "         \
	"numbers, "                                                                                \
	"and nothing shows whether their clocks are one"

/* --- near --------------------------------------------------------------------------------------- */

/* Half of at least three meetings end within 100 us. */
static void test_near(void)
{
	static const struct {
		gint ends_ns[MAX_MEETINGS];
		guint n;
		gboolean is_one;
		gint64 doubt_ns;
	} cases[] = {
		{ { US(600), US(600), US(600) }, 3, TRUE, US(100) },
		{ { US(400), US(400), US(400) }, 3, TRUE, US(100) },
		{ { US(600) + 1, US(600) + 1, US(600) + 1 }, 3, FALSE, 0 },
		{ { US(600), US(600) }, 2, FALSE, 0 },
		{ { US(510), US(590), US(900) }, 3, TRUE, US(90) },
		{ { US(510), US(610), US(900) }, 3, FALSE, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct ranks ranks = two_ranks(cases[i].ends_ns, cases[i].n);
		g_autoptr(TachoTimeline) timeline = timeline_of(&ranks);

		check(timeline, cases[i].is_one ? "unknown unknown" : "unknown unknown-2",
		      !cases[i].is_one		  ? OPEN
		      : cases[i].doubt_ns > 95000 ? ONE_HOST(3, 100)
						  : ONE_HOST(3, 90));
		g_assert_cmpuint(timeline->clocks->len, ==, cases[i].is_one ? 1 : 2);
		g_assert_cmpint(clock_at(timeline, 0)->own_doubt_ns, ==, cases[i].doubt_ns);
	}
}

/* Devices that are all visible and have the same numbers are never on one host; and hosts that were told are left alone. */
static void test_scopes(void)
{
	static const gint ends_ns[] = { US(500), US(500), US(500) };
	struct ranks ranks = two_ranks(ends_ns, 3);
	g_autoptr(TachoTimeline) first = timeline_of(&ranks), second = timeline_of(&ranks),
				 told = timeline_of(&ranks), one_told = timeline_of(&ranks);

	clock_at(first, 0)->scope = TACHO_CLOCK_OF_OTHER_HOST;
	check(first, "unknown unknown-2", NULL);
	clock_at(second, 1)->scope = TACHO_CLOCK_OF_OTHER_HOST;
	check(second, "unknown unknown-2", NULL);
	clock_at(told, 0)->scope = clock_at(told, 1)->scope = TACHO_CLOCK_OF_HOST;
	check(told, "h0 h1", NULL);
	clock_at(one_told, 0)->scope = TACHO_CLOCK_OF_HOST;
	check(one_told, "h0 h1", NULL);
}

/* What was mended or still open, and what need not wait for all, tells nothing. */
static void test_what_counts(void)
{
	static const gchar *const lines[] = { "collective barrier 1000..2000 repaired\n",
					      "collective broadcast 1000..2000\n",
					      "collective barrier 1000..2000\n" };

	for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
		g_autoptr(GString) text = g_string_new("unit ns\n");
		g_autoptr(TachoTimeline) timeline = NULL;

		for (guint rank = 0; rank < 2; rank++) {
			g_string_append_printf(
				text, "rank %u host=h%u end=exited:0 thread 1 main\n", rank, rank);
			for (guint k = 0; k < 3; k++)
				g_string_append(text, lines[i]);
		}
		timeline = timeline_from_text(text->str);
		for (guint k = 0; k < 2; k++)
			clock_at(timeline, k)->scope = TACHO_CLOCK_OF_SOME_HOST;
		settle_hosts(timeline);
		g_assert_cmpuint(timeline->clocks->len, ==, i + 1 == G_N_ELEMENTS(lines) ? 1 : 2);
	}
}

/* --- called the same ---------------------------------------------------------------------------- */

/* The second begins as long after the first has ended as it says; the hosts are called the same. */
static gboolean is_one_host(const gint *late_ns, guint n, gint64 resolution_ns)
{
	struct ranks ranks = { .n = 2, .n_meetings = n };
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint k = 0; k < n; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] =
			(struct attendance){ US(500) + late_ns[k], US(500) + late_ns[k] + US(900) };
	}
	timeline = timeline_of(&ranks);
	timeline->resolution_ns = resolution_ns;
	clock_at(timeline, 1)->host = clock_at(timeline, 0)->host;
	settle_hosts(timeline);
	g_assert_cmpuint(timeline_count_problems(timeline, TACHO_PROBLEM_UNKNOWN_HOST), ==, 0);
	return timeline->clocks->len == 1;
}

/* Who has ended cannot have waited for who had not begun, beyond the 10 us that devices' clocks are off and what times were
 * rounded to. Two mistakes are allowed, but not in all meetings that there are. */
static void test_contradicted(void)
{
	static const gint never[] = { -1, -1, -1, -1 },
			  slack[] = { US(10), US(10), US(10), US(10) };
	static const gint beyond[] = { US(10) + 1, US(10) + 1, US(10) + 1, US(10) + 1 };
	static const gint two[] = { US(11), US(11), -1, -1 };
	static const gint three[] = { US(11), US(11), US(11), -1 };

	g_assert_true(is_one_host(never, 4, 0));
	g_assert_true(is_one_host(slack, 4, 0));
	g_assert_false(is_one_host(beyond, 4, 0));
	g_assert_true(is_one_host(beyond, 4, 1));
	g_assert_true(is_one_host(two, 4, 0));
	g_assert_false(is_one_host(three, 4, 0));
	g_assert_false(is_one_host(two, 2, 0));
	g_assert_false(is_one_host(beyond, 1, 0));
	g_assert_true(is_one_host(never, 0, 0));
}

/* Of those that lack meetings it is not known which belong together: nothing contradicts, and what is called the same is one. */
static void test_gaps(void)
{
	struct ranks ranks = { .n = 2, .n_meetings = 4 };
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint k = 0; k < 4; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] = (struct attendance){ US(2000), k < 3 ? US(2500) : 0 };
	}
	timeline = timeline_of(&ranks);
	clock_at(timeline, 1)->host = clock_at(timeline, 0)->host;
	check(timeline, "unknown unknown", NULL);
}

/* --- three and more ----------------------------------------------------------------------------- */

/* All end together, but the last one had not begun when the first had ended: it is not of its host, nor of one that has the
 * first in it. */
static void test_three(void)
{
	struct ranks ranks = { .n = 3, .n_meetings = 4 };
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint k = 0; k < 4; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] = (struct attendance){ 0, US(520) };
		ranks.at[2][k] = (struct attendance){ US(520), US(550) };
	}
	timeline = timeline_of(&ranks);
	check(timeline, "unknown unknown unknown-2", ONE_HOST(4, 20));
	g_assert_cmpint(clock_at(timeline, 0)->own_doubt_ns, ==, US(20));
	g_assert_cmpint(clock_at(timeline, 1)->own_doubt_ns, ==, 0);
}

/* Of one host: the first with the second, the second with the third; the doubt is the greatest of all, and the other host's is
 * its own. The fourth is a host that was told. */
static void test_doubts(void)
{
	struct ranks ranks = { .n = 4, .n_meetings = 3 };
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint k = 0; k < 3; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] = (struct attendance){ 0, US(530) };
		ranks.at[2][k] = (struct attendance){ 0, US(590) };
		ranks.at[3][k] = (struct attendance){ 0, US(590) };
	}
	timeline = timeline_of(&ranks);
	clock_at(timeline, 3)->scope = TACHO_CLOCK_OF_HOST;
	check(timeline, "unknown unknown unknown h3",
	      "ranks 0, 1, 2: no file tells its host; half of their collectives (3) or more ended "
	      "within 90 "
	      "us of each other, so they count as one host");
	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpint(clock_at(timeline, 0)->own_doubt_ns, ==, US(90));
	g_assert_cmpint(clock_at(timeline, 1)->own_doubt_ns, ==, 0);
	g_assert_cmpuint(clock_at(timeline, 1)->reference, ==, 1);
	for (guint i = 0; i < 4; i++)
		g_assert_cmpuint(tacho_timeline_process(timeline, i)->clock, ==, i / 3);
}

/* Called the same, first of all, are the first and the third; the second ends near them. */
static void test_named_first(void)
{
	struct ranks ranks = { .n = 3, .n_meetings = 3 };
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint k = 0; k < 3; k++) {
		ranks.at[0][k] = (struct attendance){ 0, US(500) };
		ranks.at[1][k] = (struct attendance){ 0, US(900) };
		ranks.at[2][k] = (struct attendance){ 0, US(950) };
	}
	timeline = timeline_of(&ranks);
	clock_at(timeline, 2)->host = clock_at(timeline, 0)->host;
	check(timeline, "unknown unknown unknown",
	      "ranks 0, 1, 2: no file tells its host; half of their collectives (3) or more ended "
	      "within 50 "
	      "us of each other, so they count as one host");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host_meetings/near", test_near);
	g_test_add_func("/host_meetings/scopes", test_scopes);
	g_test_add_func("/host_meetings/what_counts", test_what_counts);
	g_test_add_func("/host_meetings/contradicted", test_contradicted);
	g_test_add_func("/host_meetings/gaps", test_gaps);
	g_test_add_func("/host_meetings/three", test_three);
	g_test_add_func("/host_meetings/doubts", test_doubts);
	g_test_add_func("/host_meetings/named_first", test_named_first);
	return g_test_run();
}
