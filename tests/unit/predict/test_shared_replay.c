/* What several processes replay together is, byte for byte, what one replays: of jobs whose ranks they deal out among themselves,
 * with changes and without, whatever a job is like and however many they are. */
#include <stdlib.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "message_jobs.h"
#include "random_job.h"
#include "run_builder.h"
#include "synthetic_job.h"
#include "thread_peers.h"
#include "timeline_text.h"

enum { MAX_WHAT_IFS = 4, MAX_PLAYED = 16 };

/* What is played of each job; the last element of each is NULL. */
static const gchar *const lists[][MAX_WHAT_IFS] = {
	{ NULL },
	{ "bandwidth=10x", "latency=+1ms", NULL },
	{ "straggler:1=1.5", "straggler:0=2", NULL },
	{ "ranks=16", "straggler:3=1.2", NULL },
	{ "cores=1", NULL },
	{ "bucket_mb=2", NULL },
	{ "fusion=1,2", "bandwidth=0.5x", NULL },
	{ "partition_mb=1", "compress=bf16", NULL },
	{ "algorithm=tree", NULL },
	{ "durations=median", "ranks=8", NULL },
};

static TachoTimeline *open_run(const gchar *folder, TachoPeers *peers)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	return timeline;
}

/* The prediction, or why there is none; the caller's, to free(). NULL: another process has it. */
static gchar *play(TachoTimeline *timeline, const gchar *const *what_ifs, gint64 step,
		   guint n_samples)
{
	TachoRecording recording = { "run", timeline };
	TachoPredictOptions options = { .what_ifs = what_ifs,
					.n_what_ifs = g_strv_length((gchar **)what_ifs),
					.first_step = step,
					.last_step = step,
					.n_samples = n_samples,
					.seed = 3,
					.is_explained = TRUE };
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		tacho_predict_together(&recording, 1, &options, &error);
	gchar *text = NULL;
	gsize n_bytes;
	FILE *out;

	if (!prediction && !error)
		return NULL;
	out = open_memstream(&text, &n_bytes);
	if (prediction) {
		prediction->sensitivity = tacho_replay_sensitivity(prediction->graph, NULL);
		tacho_prediction_print_json(prediction, out);
		tacho_graph_dump(prediction->graph, out);
	} else {
		fputs(error->message, out);
	}
	fclose(out);
	return text;
}

/* Of what is played, and what came of it when one process did it. */
struct played {
	const gchar *folder;
	gchar *texts[MAX_PLAYED];
	guint n;
	gint n_fewer;	/* processes that had not all slices; changed by all */
	guint n_slices; /* of the whole run */
};

static void play_all(TachoTimeline *timeline, gchar **ret_texts, guint *ret_n)
{
	guint n = 0;

	for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
		ret_texts[n++] = play(timeline, lists[i], -1, 0);
	ret_texts[n++] = play(timeline, lists[0], 1, 0);
	ret_texts[n++] = play(timeline, lists[0], 77, 0); /* which there is not */
	ret_texts[n++] = play(timeline, lists[2], -1, 5);
	g_assert_cmpuint(n, <=, MAX_PLAYED);
	*ret_n = n;
}

static void assert_same(const gchar *text, const gchar *expected, const gchar *folder, guint n)
{
	gsize at = 0, from;

	if (strcmp(text, expected) == 0)
		return;
	while (text[at] && text[at] == expected[at])
		at++;
	from = at > 200 ? at - 200 : 0;
	g_error("%s: %u: instead of\n%.400s\nit is\n%.400s", folder, n, expected + from,
		text + from);
}

static void replay_together(TachoPeers *peers, gpointer data)
{
	struct played *expected = data;
	g_autoptr(TachoTimeline) timeline = open_run(expected->folder, peers);
	gchar *texts[MAX_PLAYED];
	guint n, n_heard = 0;

	play_all(timeline, texts, &n);
	g_assert_cmpstr(tacho_peers_failure(peers), ==, NULL);
	for (guint i = 0; i < n; i++) {
		if (texts[i] && tacho_peers_index(peers) == 0)
			assert_same(texts[i], expected->texts[i], expected->folder, i);
		n_heard += texts[i] != NULL;
		free(texts[i]);
	}
	if (tacho_peers_index(peers) == 0)
		g_assert_cmpuint(n_heard, ==, n);
	if (timeline->slices.n < expected->n_slices)
		g_atomic_int_inc(&expected->n_fewer);
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, 0);
}

static void check_run(const gchar *folder)
{
	static const guint counts[] = { 2, 3, 5 };
	g_autoptr(TachoTimeline) timeline = open_run(folder, NULL);
	struct played expected = { .folder = folder, .n_slices = timeline->slices.n };

	play_all(timeline, expected.texts, &expected.n);
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		expected.n_fewer = 0;
		thread_peers_run(counts[i], replay_together, &expected);
		if (timeline->ranks->len > 1)
			g_assert_cmpint(expected.n_fewer, >, 0);
	}
	for (guint i = 0; i < expected.n; i++)
		free(expected.texts[i]);
}

/* Write the job that `text`, which is freed, tells of. */
static gchar *write_run(gchar *text)
{
	g_autofree gchar *owned = text;
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);

	run_builder_write_timeline(timeline, folder);
	return folder;
}

static void check_text(gchar *text)
{
	g_autofree gchar *folder = write_run(text);

	check_run(folder);
	run_builder_remove(folder);
}

static gchar *synthetic_text(guint model)
{
	struct synthetic_job job;
	g_autofree guint32 *ends = NULL;
	gchar *text;

	synthetic_job_init(&job, model);
	job.n_ranks = 7;
	job.ranks_per_host = 2;
	job.n_steps = 6;
	job.jitter = 0.2;
	job.offset_ns = 1e6 * model;
	job.drift = 1e-6 * model;
	ends = g_new0(guint32, job.n);
	text = synthetic_job_text(&job, ends, synthetic_job_even(&job, 4, ends));
	synthetic_job_release(&job);
	return text;
}

static void test_data_parallel(void)
{
	for (guint model = 0; model < SYNTHETIC_MODELS; model++)
		check_text(synthetic_text(model));
}

static void test_messages(void)
{
	check_text(g_string_free(message_pipeline(5, 10), FALSE));
	check_text(g_string_free(message_gather(4), FALSE));
	check_text(g_string_free(message_all_to_all(5), FALSE));
	check_text(g_string_free(message_ring_with_stray(5), FALSE));
	check_text(g_string_free(message_reduce(5, 2, 2), FALSE));
	check_text(g_string_free(message_barrier(4, 2), FALSE));
}

static void test_random(void)
{
	for (guint32 seed = 1; seed <= 12; seed++) {
		check_text(random_hosts_text(seed));
		check_text(random_messages_text(seed));
		check_text(random_contention_text(seed));
	}
}

/* What asks for slices is refused by all, by name. */
static void refuse_slices(TachoPeers *peers, gpointer folder)
{
	static const gchar *const what_ifs[] = { "bandwidth=2x", "drop:op~mm", NULL };
	g_autoptr(TachoTimeline) timeline = open_run(folder, peers);
	gchar *text = play(timeline, what_ifs, -1, 0);

	g_assert_nonnull(strstr(text, "what-if 'drop:op~mm'"));
	g_assert_nonnull(strstr(text, "straggler:RANKS=F"));
	free(text);
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, 0);
}

static void test_refused(void)
{
	g_autofree gchar *folder = write_run(random_hosts_text(1));

	thread_peers_run(3, refuse_slices, folder);
	run_builder_remove(folder);
}

/* What comes of another process may be anything: it is used, or refused, and nobody waits. */
static void replay_damaged(TachoPeers *peers, gpointer folder_pointer)
{
	const gchar *folder = folder_pointer;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline =
		tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	if (timeline) {
		tacho_correlate(timeline);
		free(play(timeline, lists[3], -1, 0));
	} else {
		tacho_peers_fail(peers, error->message);
	}
	tacho_peers_end(peers, 0);
}

static void test_damaged(void)
{
	g_autofree gchar *messages = write_run(random_messages_text(3));
	g_autofree gchar *buckets = write_run(synthetic_text(0));

	for (guint32 seed = 1; seed <= 60; seed++) {
		thread_peers_run_damaged(3, seed, replay_damaged, messages);
		thread_peers_run_damaged(3, seed, replay_damaged, buckets);
	}
	run_builder_remove(messages);
	run_builder_remove(buckets);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shared-replay/data-parallel", test_data_parallel);
	g_test_add_func("/shared-replay/messages", test_messages);
	g_test_add_func("/shared-replay/random", test_random);
	g_test_add_func("/shared-replay/refused", test_refused);
	g_test_add_func("/shared-replay/damaged", test_damaged);
	return g_test_run();
}
