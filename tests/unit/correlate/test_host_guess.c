/* Which ranks were on one host, where their files do not tell: by device numbers, and by who waited for whom. */
#include <glib/gstdio.h>
#include <string.h>

#include <tacho/correlate.h>

#include "analyze/late_ranks.h"
#include "foreign_traces.h"
#include "timeline_text.h"

enum { N_STEPS = 20, STEP_US = 1000 };

/* A rank of a job: its kernels wait for those of the last one, and all of a collective end at once. */
struct rank_of {
	gint64 ahead_us;   /* its clock */
	guint late_us;	   /* before each collective */
	guint device;	   /* its number; 99: gloo, on the host */
	guint n_visible;   /* devices that the file lists */
	const gchar *host; /* NULL: not told */
};

/* How long the fastest collective takes once all are there. */
static gchar *make_file(const struct rank_of *ranks, guint n_ranks, guint rank, guint transfer_us)
{
	const struct rank_of *own = &ranks[rank];
	GString *text = g_string_new(NULL);
	guint last_us = 0;

	for (guint i = 0; i < n_ranks; i++)
		last_us = MAX(last_us, ranks[i].late_us);
	g_string_append_printf(text,
			       "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": %u, "
			       "\"world_size\": %u}, ",
			       rank, n_ranks);
	if (own->host)
		g_string_append_printf(text, "\"host_name\": \"%s\", ", own->host);
	g_string_append(text, "\"deviceProperties\": [");
	for (guint i = 0; i < own->n_visible; i++)
		g_string_append_printf(text, "%s{\"id\": %u, \"name\": \"H\"}", i ? ", " : "", i);
	g_string_append(text, "], \"traceEvents\": [\n");
	for (guint i = 0; i < N_STEPS; i++) {
		gint64 begin_us = 5000000 + own->ahead_us + (gint64)i * STEP_US;
		guint long_us = last_us - own->late_us + transfer_us + 3 * rank;

		g_string_append_printf(text,
				       "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
				       "\"aten::mm\", \"pid\": %u, "
				       "\"tid\": 1, \"ts\": %" G_GINT64_FORMAT
				       ".5, \"dur\": 10},\n",
				       i ? ",\n" : "", 100 + rank, begin_us);
		g_string_append_printf(
			text,
			own->device == 99 ? "{\"ph\": \"X\", \"cat\": \"user_annotation\", "
					    "\"name\": \"gloo:all_reduce\", \"pid\": %u, "
					    "\"tid\": 2, \"ts\": %" G_GINT64_FORMAT
					    ".25, \"dur\": %u}"
					  : "{\"ph\": \"X\", \"cat\": \"kernel\", "
					    "\"name\": \"ncclKernel_AllReduce_RING_LL_Sum_float\", "
					    "\"pid\": %u, \"tid\": 7, \"ts\": %" G_GINT64_FORMAT
					    ".25, \"dur\": %u, \"args\": {\"correlation\": 0}}",
			own->device == 99 ? 100 + rank : own->device, begin_us + 20 + own->late_us,
			long_us);
	}
	g_string_append(text, "]}\n");
	return g_string_free(text, FALSE);
}

static TachoTimeline *open_ranks(const struct rank_of *ranks, guint n_ranks, guint transfer_us)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-hosts-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline;

	for (guint i = 0; i < n_ranks; i++) {
		g_autofree gchar *path = g_strdup_printf("%s/%u.json", folder, i);
		g_autofree gchar *text = make_file(ranks, n_ranks, i, transfer_us);

		g_assert_true(g_file_set_contents(path, text, -1, NULL));
	}
	timeline = tacho_run_open((const gchar *const *)&folder, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	tacho_correlate(timeline);
	for (guint i = 0; i < n_ranks; i++) {
		g_autofree gchar *path = g_strdup_printf("%s/%u.json", folder, i);

		g_unlink(path);
	}
	g_rmdir(folder);
	return timeline;
}

static const gchar *host_of(const TachoTimeline *timeline, guint rank)
{
	return tacho_timeline_string(timeline,
				     g_array_index(timeline->ranks, TachoRank, rank).host);
}

static guint n_problems(const TachoTimeline *timeline, TachoProblemKind kind)
{
	const TachoProblem *problem = tacho_timeline_find_problem(timeline, kind);

	return problem ? (guint)problem->count : 0;
}

/* Each rank was given one device, which is number 0 to it: a launcher's habit, no sign of another host. */
static void test_one_host(void)
{
	static const struct rank_of ranks[] = { { 0, 0, 0, 1, NULL },
						{ 0, 300, 0, 1, NULL },
						{ 0, 0, 0, 1, NULL } };
	g_autoptr(TachoTimeline) timeline = open_ranks(ranks, 3, 40);

	g_assert_cmpuint(timeline->clocks->len, ==, 1);
	g_assert_cmpstr(host_of(timeline, 0), ==, "unknown");
	g_assert_cmpstr(host_of(timeline, 2), ==, "unknown");
	g_assert_cmpuint(n_problems(timeline, TACHO_PROBLEM_CLOCK_DOUBT), ==, 0);
	g_assert_cmpuint(n_problems(timeline, TACHO_PROBLEM_UNKNOWN_HOST), ==, 1);
	/* rank 2 ends 6 us after rank 0 */
	g_assert_cmpint(g_array_index(timeline->clocks, TachoClock, 0).own_doubt_ns, ==, 6000);
}

/* Clocks 5 ms apart contradict each other in every collective. */
static void test_two_hosts(void)
{
	static const struct rank_of ranks[] = { { 0, 0, 0, 1, NULL },
						{ 0, 100, 0, 1, NULL },
						{ 5000, 0, 0, 1, NULL },
						{ 5000, 0, 0, 1, NULL } };
	g_autoptr(TachoTimeline) timeline = open_ranks(ranks, 4, 40);
	const TachoClock *second = &g_array_index(timeline->clocks, TachoClock, 1);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpstr(host_of(timeline, 0), ==, "unknown");
	g_assert_cmpstr(host_of(timeline, 1), ==, "unknown");
	g_assert_cmpstr(host_of(timeline, 2), ==, "unknown-2");
	g_assert_cmpstr(host_of(timeline, 3), ==, "unknown-2");
	g_assert_cmpuint(second->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(ABS(second->offset_ns - 5000000), <=, second->uncertainty_ns);
}

/* Two ranks use the same device number and see several devices: they are on two hosts, however well
 * their clocks agree. */
static void test_visible_devices(void)
{
	static const struct rank_of ranks[] = { { 0, 0, 0, 8, NULL }, { 0, 0, 0, 8, NULL } };
	g_autoptr(TachoTimeline) timeline = open_ranks(ranks, 2, 40);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpstr(host_of(timeline, 1), ==, "unknown-2");
	g_assert_cmpuint(n_problems(timeline, TACHO_PROBLEM_UNKNOWN_HOST), ==, 0);
}

/* Collectives of 3 ms leave open what NTP does, too: nobody knows. */
static void test_open(void)
{
	static const struct rank_of ranks[] = { { 0, 0, 0, 1, NULL }, { 300, 0, 0, 1, NULL } };
	g_autoptr(TachoTimeline) timeline = open_ranks(ranks, 2, 3000);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpuint(n_problems(timeline, TACHO_PROBLEM_UNKNOWN_HOST), ==, 1);
}

/* Without devices nothing tells them apart but their clocks. */
static void test_processors(void)
{
	static const struct rank_of near[] = { { 0, 0, 99, 0, NULL }, { 0, 50, 99, 0, NULL } };
	static const struct rank_of far[] = { { 0, 0, 99, 0, NULL }, { -70000, 50, 99, 0, NULL } };
	g_autoptr(TachoTimeline) one = open_ranks(near, 2, 900);
	g_autoptr(TachoTimeline) two = open_ranks(far, 2, 900);

	g_assert_cmpuint(one->clocks->len, ==, 1);
	g_assert_cmpuint(one->problems->len, ==, 0);
	g_assert_cmpuint(two->clocks->len, ==, 2);
	g_assert_cmpstr(host_of(two, 1), ==, "unknown-2");
}

/* Hosts that are told stay as told. */
static void test_told(void)
{
	static const struct rank_of ranks[] = { { 0, 0, 0, 1, "a" }, { 0, 0, 0, 1, "b" } };
	g_autoptr(TachoTimeline) timeline = open_ranks(ranks, 2, 40);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpstr(host_of(timeline, 0), ==, "a");
	g_assert_cmpstr(host_of(timeline, 1), ==, "b");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/host-guess/one-host", test_one_host);
	g_test_add_func("/host-guess/two-hosts", test_two_hosts);
	g_test_add_func("/host-guess/visible-devices", test_visible_devices);
	g_test_add_func("/host-guess/open", test_open);
	g_test_add_func("/host-guess/processors", test_processors);
	g_test_add_func("/host-guess/told", test_told);
	return g_test_run();
}
