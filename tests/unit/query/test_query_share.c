/* What several processes answer together is, byte for byte, what one answers: of statements that sum up slices, and of those about
 * what all have. What cannot be split is refused by all of them. */
#include <stdlib.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/query.h>

#include "message_jobs.h"
#include "query/query_split.h"
#include "random_job.h"
#include "random_jobs.h"
#include "run_builder.h"
#include "thread_peers.h"
#include "timeline_text.h"

static const gchar *const answered[] = {
	"SELECT name, count(*), sum(dur) FROM slice GROUP BY name",
	"SELECT name, count(*) AS n, avg(dur) / 1e3 FROM slice WHERE depth = 0 GROUP BY name ORDER "
	"BY n DESC LIMIT 5",
	"SELECT rank, category, min(ts), max(ts + dur) AS last FROM slice GROUP BY 1, 2 ORDER BY "
	"2, last DESC",
	"SELECT count(*), sum(self_dur), avg(dur), min(name), max(category), avg(step) FROM slice",
	"SELECT sum(dur), count(dur), avg(dur), min(dur) FROM slice WHERE name = 'nobody''s'",
	"SELECT name n, sum(dur) FROM slice GROUP BY n HAVING sum(dur) > 1000 AND n <> 'x' ORDER "
	"BY sum(dur), n",
	"SELECT process.host, slice.step, count(*) FROM slice JOIN track ON track.id = "
	"slice.track_id "
	"JOIN process USING (upid) GROUP BY process.host, slice.step",
	"SELECT dur / 1000 AS us, count(*) FROM slice WHERE name LIKE 'aten%' GROUP BY dur / 1000 "
	"ORDER BY us DESC",
	"SELECT (dur / 1000) * 2, count(*) FROM slice GROUP BY (dur / 1000) -- behind\n ORDER BY "
	"count(*), 1",
	"SELECT category, CASE WHEN count(*) > 4 THEN 'many' ELSE NULL END AS \"how \"\"many\" "
	"FROM slice GROUP BY category",
	"SELECT upper(category) || '/' || rank AS what, total FROM (SELECT 1 AS total), process "
	"LIMIT 0",
	"SELECT upper(category) || '/' || rank, round(1.0 * sum(dur) / count(*), 2) FROM slice "
	"GROUP BY category, rank",
	"SELECT step, rank FROM slice GROUP BY step, rank HAVING step = '1'",
	"SELECT is_open, max(name), min(step) FROM slice GROUP BY is_open; SELECT count(*) FROM "
	"slice;",
	"SELECT a.track_id, max(a.depth) FROM slice a WHERE a.rank IN (0, 2) GROUP BY a.track_id",
	/* the second walk for a name goes by an index */
	"SELECT count(*) FROM slice WHERE name = 'gloo:all_reduce'; SELECT count(*), sum(dur) FROM "
	"slice WHERE name = 'gloo:all_reduce'",
	"SELECT count(*) FROM slice WHERE name = 'gloo:reduce'; SELECT count(*), sum(dur) FROM "
	"slice WHERE name = 'gloo:reduce'",
	"SELECT * FROM step",
	"SELECT * FROM process",
	"SELECT * FROM thread",
	"SELECT id, name, type, parent_id, upid, utid, rank, host, device, stream, dropped FROM "
	"track",
	"SELECT * FROM collective",
	"SELECT * FROM problem",
	"SELECT collective_id, rank, wait_dur, transfer_dur FROM collective_member",
	"SELECT name, sum(transfer_dur) FROM collective GROUP BY name ORDER BY (SELECT count(*) "
	"FROM step)",
};

/* And the word that is in the way. */
static const struct {
	const gchar *sql, *word;
} refused[] = {
	{ "SELECT name FROM slice", "'name'" },
	{ "SELECT 1 FROM slice", "sums up nothing" },
	{ "SELECT * FROM slice GROUP BY name", "slice.id" },
	{ "SELECT name, dur FROM slice GROUP BY name", "'dur'" },
	{ "SELECT name, max(id) FROM slice GROUP BY name", "slice.id" },
	{ "SELECT count(*) FROM slice WHERE rowid < 3", "slice.ROWID" },
	{ "SELECT max(dur, 5) FROM slice", "'max'" },
	{ "SELECT count(DISTINCT name) FROM slice", "'DISTINCT'" },
	{ "SELECT DISTINCT name FROM slice", "'DISTINCT'" },
	{ "SELECT name, sum(sum(dur)) OVER () FROM slice GROUP BY name", "'OVER'" },
	{ "SELECT count(*) FILTER (WHERE dur > 5) FROM slice", "'FILTER'" },
	{ "SELECT count(*) FROM slice WHERE dur > (SELECT 5)", "'SELECT'" },
	{ "SELECT count(*) FROM slice UNION SELECT 1", "'UNION'" },
	{ "WITH t AS (SELECT 1) SELECT count(*) FROM slice, t", "the table t" },
	{ "SELECT count(*) FROM slice a, slice b", "once" },
	{ "SELECT count(*) FROM track LEFT JOIN slice ON track.id = track_id", "'LEFT'" },
	{ "SELECT count(*) FROM counter", "the table counter" },
	{ "SELECT count(*) FROM thread_slice", "slice.id" },
	{ "SELECT group_concat(name) FROM slice", "'group_concat'" },
	{ "SELECT total(dur) FROM slice", "'total'" },
	{ "SELECT dur + 1 * 2, count(*) FROM slice GROUP BY dur + 1", "'dur'" },
	{ "SELECT max(ts) AS dur, name FROM slice GROUP BY name HAVING dur > 5", "'dur'" },
	{ "SELECT rank AS name, count(*) FROM slice GROUP BY name", "'name'" },
	{ "SELECT * FROM track", "track.n_slices" },
	{ "SELECT slice_id FROM collective_member", "collective_member.slice_id" },
	{ "SELECT name, count(*) FROM slice GROUP BY name COLLATE NOCASE", "'COLLATE'" },
	{ "SELECT count(*) FROM slice GROUP BY name ORDER BY dur", "'dur'" },
	{ "SELECT CAST(rank AS TEXT), count(*) FROM slice GROUP BY CAST(rank AS TEXT)", "'CAST'" },
	{ "SELECT count(*) FROM slice, \"slice\" b", "'\"slice\"'" },
	{ "SELECT count(*) FROM slice, main.slice b", "'main'" },
	{ "SELECT max(dur) AS c0, name FROM slice GROUP BY name HAVING c0 > 1", "'c0'" },
	{ "SELECT NOT (rank) + 1, count(*) FROM slice GROUP BY NOT (rank)", "'rank'" },
	{ "SELECT count(*) FROM (slice), track", "'('" },
	{ "EXPLAIN SELECT count(*) FROM slice", "'EXPLAIN'" },
};

/* What a statement gives, or why it gives nothing; the caller's. */
static gchar *ask(const TachoTimeline *timeline, const gchar *sql)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, &error);
	char *text = NULL;
	size_t n_bytes;
	FILE *out = open_memstream(&text, &n_bytes);
	g_autoptr(TachoResultWriter) writer =
		tacho_result_writer_new(TACHO_QUERY_FORMAT_JSONL, out, 0, 0);
	gchar *copy;

	g_assert_no_error(error);
	tacho_query_run(query, sql, tacho_result_writer_handler(), writer, &error);
	fclose(out);
	copy = g_strdup_printf("%s%s", text, error ? error->message : "");
	free(text);
	return copy;
}

static TachoTimeline *open_run(const gchar *folder, TachoPeers *peers)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	return timeline;
}

struct expected {
	const gchar *folder;
	gchar *answers[G_N_ELEMENTS(answered)];
};

static void ask_together(TachoPeers *peers, gpointer data)
{
	const struct expected *expected = data;
	g_autoptr(TachoTimeline) timeline = open_run(expected->folder, peers);

	for (guint i = 0; i < G_N_ELEMENTS(answered); i++) {
		g_autofree gchar *answer = ask(timeline, answered[i]);

		if (strcmp(answer, expected->answers[i]) != 0)
			g_error("%s: instead of\n%.600s\nit is\n%.600s", answered[i],
				expected->answers[i], answer);
	}
	for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
		g_autofree gchar *answer = ask(timeline, refused[i].sql);

		if (!g_str_has_prefix(answer, "several processes cannot ") ||
		    !strstr(answer, refused[i].word))
			g_error("%s is not refused for %s, but it is\n%.400s", refused[i].sql,
				refused[i].word, answer);
	}
	g_assert_cmpstr(tacho_peers_failure(peers), ==, NULL);
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, 0);
}

/* `text` is freed. */
static void check_text(gchar *text)
{
	g_autofree gchar *owned = text;
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autoptr(TachoTimeline) written = timeline_from_text(text);
	g_autoptr(TachoTimeline) timeline = NULL;
	struct expected expected = { .folder = folder };

	run_builder_write_timeline(written, folder);
	timeline = open_run(folder, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(answered); i++)
		expected.answers[i] = ask(timeline, answered[i]);
	for (guint n = 2; n < 5; n++)
		thread_peers_run(n, ask_together, &expected);
	for (guint i = 0; i < G_N_ELEMENTS(answered); i++)
		g_free(expected.answers[i]);
	run_builder_remove(folder);
}

static void test_answers(void)
{
	check_text(g_string_free(message_pipeline(5, 10), FALSE));
	check_text(g_string_free(message_reduce(5, 2, 2), FALSE));
	for (guint32 seed = 1; seed <= 4; seed++) {
		check_text(random_hosts_text(seed));
		check_text(random_contention_text(seed));
	}
}

/* Where the rows of one process alone cannot be added exactly, all fail. */
static void ask_for_reals(TachoPeers *peers, gpointer data)
{
	g_autoptr(TachoTimeline) timeline = open_run(data, peers);
	g_autofree gchar *answer = ask(
		timeline, "SELECT rank, sum(dur / iif(rank = 2, 7e3, 1)) FROM slice GROUP BY rank");

	g_assert_cmpint(tacho_peers_end(peers, 0), ==, -1);
	g_assert_nonnull(strstr(tacho_peers_failure(peers),
				"cannot make sum(dur / iif(rank = 2, 7e3, 1)) exactly"));
}

static void test_reals(void)
{
	g_autofree gchar *text = g_string_free(message_pipeline(4, 3), FALSE);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

	run_builder_write_timeline(timeline, folder);
	thread_peers_run(3, ask_for_reals, folder);
	run_builder_remove(folder);
}

/* What samples saw only its owner has, so that tracks have other numbers elsewhere; threads have not. */
static void ask_of_samples(TachoPeers *peers, gpointer data)
{
	g_autoptr(TachoTimeline) timeline = open_run(data, peers);
	g_autofree gchar *tracks = ask(timeline, "SELECT max(track_id) FROM slice");
	g_autofree gchar *threads = ask(timeline, "SELECT count(tid), max(utid) FROM thread");
	g_autofree gchar *slices = ask(timeline, "SELECT category, count(*) FROM slice GROUP BY 1");

	g_assert_nonnull(strstr(tracks, "numbers of tracks"));
	g_assert_cmpstr(threads, ==, "{\"count(tid)\":3,\"max(utid)\":2}\n");
	g_assert_cmpstr(slices, ==,
			"{\"category\":\"function\",\"count(*)\":3}\n"
			"{\"category\":\"op\",\"count(*)\":3}\n");
	g_assert_cmpint(tacho_peers_end(peers, 0), ==, 0);
}

static void write_stack(struct run_builder *run, guint32 function, guint64 stamp, guint32 tid)
{
	guint32 stack = run_builder_class(run, TRACE_KIND_STACK, "python");
	struct record_frame frame = { function, 12 };
	struct record_stack *record =
		run_builder_record(run, stack, stamp, sizeof(*record) + sizeof(frame));

	record->before = stamp - 10;
	record->tid = tid;
	record->state = TRACE_THREAD_RUNNING;
	record->n_frames = 1;
	memcpy(record + 1, &frame, sizeof(frame));
}

static void test_samples(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);

	for (guint rank = 0; rank < 3; rank++) {
		struct run_builder_process process = { .pid = 1000 + rank,
						       .rank = (gint)rank,
						       .world_size = 3 };
		struct run_builder *run = run_builder_new(folder, &process);
		guint32 add = run_builder_class(run, TRACE_KIND_OP, "aten::add");
		guint32 main = run_builder_class(run, TRACE_KIND_FUNCTION, "train.py(1): main");

		run_builder_stream(run, process.pid);
		run_builder_op(run, add, 100, 900, -1);
		run_builder_stream(run, 99);
		write_stack(run, main, 200, process.pid);
		run_builder_end(run);
	}
	thread_peers_run(3, ask_of_samples, folder);
	run_builder_remove(folder);
}

/* What of several processes comes may be anything: it is used, or refused, and nobody waits. */
static void ask_damaged(TachoPeers *peers, gpointer data)
{
	const gchar *folder = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline =
		tacho_run_open_share(&folder, 1, peers, NULL, NULL, &error);

	if (timeline)
		tacho_correlate(timeline);
	else
		tacho_peers_fail(peers, error->message);
	for (guint i = 0; timeline && i < 8; i++)
		g_free(ask(timeline, answered[i]));
	tacho_peers_end(peers, 0);
}

static void test_damaged(void)
{
	g_autofree gchar *text = random_hosts_text(2);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);

	run_builder_write_timeline(timeline, folder);
	for (guint32 seed = 1; seed <= 12; seed++)
		thread_peers_run_damaged(3, seed, ask_damaged, folder);
	run_builder_remove(folder);
}

static void test_split(void)
{
	g_autoptr(GHashTable) columns = g_hash_table_new(g_str_hash, g_str_equal);
	struct query_split split;

	g_assert_true(query_split_init(
		&split,
		"select name, count(*) AS n, avg(dur)/1e3 from slice where depth = 0 "
		"group by name order by n desc limit 5; SELECT nothing",
		columns, NULL));
	g_assert_cmpstr(split.part, ==,
			"SELECT name, count(*), sum(dur), count(dur) FROM slice WHERE depth = 0 "
			"GROUP BY name");
	g_assert_cmpstr(split.whole, ==,
			"SELECT c0, sum(c1) AS \"n\", (CAST(sum(c2) AS REAL) / sum(c3))/1e3 FROM "
			"part GROUP BY c0 ORDER BY \"n\" desc LIMIT 5");
	g_assert_cmpuint(split.n_groups, ==, 1);
	query_split_release(&split);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/query-share/split", test_split);
	g_test_add_func("/query-share/answers", test_answers);
	g_test_add_func("/query-share/reals", test_reals);
	g_test_add_func("/query-share/samples", test_samples);
	g_test_add_func("/query-share/damaged", test_damaged);
	return g_test_run();
}
