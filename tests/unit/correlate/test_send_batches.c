/* Batches of sends and receives whose peers are not told: pipelines, and what only looks like one. */
#include <string.h>

#include <tacho/correlate.h>

#include "pipeline_text.h"
#include "timeline_text.h"

static const gchar *begin_key(gchar *room, gsize n, gint32 rank, gint64 begin_us)
{
	g_snprintf(room, n, "%d@%" G_GINT64_FORMAT, rank, begin_us);
	return room;
}

/* "rank@begin in us" of each batch that has a partner -> the partner's rank + 1 */
static GHashTable *collect_peers(const TachoTimeline *timeline)
{
	GHashTable *peers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);
		const guint32 *members =
			&g_array_index(timeline->members, guint32, row->first_member);

		g_assert_cmpuint(row->n_members, ==, 2);
		for (guint k = 0; k < 2; k++) {
			gchar key[64];
			gint32 rank = tacho_slice_process(timeline, members[k])->rank;

			begin_key(key, sizeof(key), rank,
				  timeline->slices.start_ns[members[k]] / 1000);
			g_assert_false(g_hash_table_contains(peers, key));
			g_hash_table_insert(
				peers, g_strdup(key),
				GINT_TO_POINTER(tacho_slice_process(timeline, members[!k])->rank +
						1));
		}
	}
	return peers;
}

/* Each batch's partner is the one that it had; both halves of each pair were over together. */
static void check_pipeline(const struct pipeline *pipeline)
{
	g_autoptr(GArray) batches = g_array_new(FALSE, FALSE, sizeof(struct pipeline_batch));
	g_autofree gchar *text = pipeline_text(pipeline, batches);
	g_autoptr(TachoTimeline) timeline = correlated(text);
	g_autoptr(GHashTable) peers = NULL;

	peers = collect_peers(timeline);
	g_assert_cmpuint(batches->len, >, 0);
	g_assert_cmpuint(g_hash_table_size(peers), ==, batches->len);
	for (guint i = 0; i < batches->len; i++) {
		const struct pipeline_batch *batch =
			&g_array_index(batches, struct pipeline_batch, i);
		gchar key[64];

		begin_key(key, sizeof(key), (gint32)batch->stage, batch->begin_us);
		g_assert_cmpint(GPOINTER_TO_INT(g_hash_table_lookup(peers, key)) - 1, ==,
				(gint)batch->peer);
	}
}

static void test_pipelines(void)
{
	for (guint n_stages = 3; n_stages <= 8; n_stages++)
		for (guint seed = 0; seed < 6; seed++) {
			struct pipeline pipeline = { .n_stages = n_stages,
						     .n_micro_batches = n_stages + seed * 2,
						     .seed = seed,
						     .forward_us = 5000,
						     .backward_us = 9000,
						     .transfer_us = 150 };

			check_pipeline(&pipeline);
		}
}

static void assert_n_pairs(const gchar *text, guint n_pairs)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);

	g_assert_cmpuint(timeline->collectives->len, ==, n_pairs);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* All four end together: nobody knows who was with whom. */
static void test_ambiguous(void)
{
	g_autoptr(GString) text = g_string_new("unit us\nworld 4\n");

	for (guint rank = 0; rank < 4; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n stream 7\n", rank, rank + 1);
		for (guint i = 0; i < 8; i++)
			g_string_append_printf(text, "  collective SendRecv %u..%u bytes=8\n",
					       i * 1000 + rank * 100, i * 1000 + 800 + rank);
	}
	assert_n_pairs(text->str, 0);
}

/* If two may be meant, the size decides; without a size, neither is taken. */
static void test_sizes(void)
{
	for (guint has_sizes = 0; has_sizes < 2; has_sizes++) {
		g_autoptr(GString) text = g_string_new("unit us\nworld 4\n");

		for (guint rank = 0; rank < 4; rank++) {
			g_string_append_printf(text, "rank %u thread %u main\n stream 7\n", rank,
					       rank + 1);
			for (guint i = 0; i < 8; i++)
				g_string_append_printf(text,
						       "  collective SendRecv %u..%u bytes=%u\n",
						       i * 1000 + rank * 100, i * 1000 + 800 + rank,
						       has_sizes ? 8 + rank / 2 : 0);
		}
		assert_n_pairs(text->str, has_sizes ? 16 : 0);
	}
}

/* Two ranks that met once, by chance: that is no neighbourhood. What runs beside itself is none of a pipeline's. */
static void test_no_pipeline(void)
{
	assert_n_pairs("unit us\nworld 3\n"
		       "rank 0 thread 1 main\n stream 7\n"
		       "  collective SendRecv 100..800\n"
		       "rank 1 thread 2 main\n stream 7\n"
		       "  collective SendRecv 200..801\n"
		       "rank 2 thread 3 main\n",
		       0);
	assert_n_pairs("unit us\nworld 3\n"
		       "rank 0 thread 1 main\n stream 7\n"
		       "  collective SendRecv 100..800\n"
		       "  collective SendRecv 1100..1800\n"
		       " stream 8\n"
		       "  collective SendRecv 700..900\n"
		       "rank 1 thread 2 main\n stream 7\n"
		       "  collective SendRecv 200..801\n"
		       "  collective SendRecv 1200..1801\n"
		       "rank 2 thread 3 main\n",
		       0);
}

/* The recording of one stage is lost: the others' batches with it stay alone, all others are paired. */
static void test_lost_stage(void)
{
	struct pipeline pipeline = { .n_stages = 4,
				     .n_micro_batches = 8,
				     .seed = 3,
				     .forward_us = 5000,
				     .backward_us = 9000,
				     .transfer_us = 150 };
	g_autoptr(GArray) batches = g_array_new(FALSE, FALSE, sizeof(struct pipeline_batch));
	g_autofree gchar *text = pipeline_text(&pipeline, batches);
	gchar *end = strstr(text, "rank 3 ");
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_expected = 0;

	*end = '\0';
	for (guint i = 0; i < batches->len; i++) {
		const struct pipeline_batch *batch =
			&g_array_index(batches, struct pipeline_batch, i);

		n_expected += batch->stage < 3 && batch->peer < batch->stage;
	}
	timeline = correlated(text);
	g_assert_cmpuint(timeline->collectives->len, ==, n_expected);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/send-batches/pipelines", test_pipelines);
	g_test_add_func("/send-batches/ambiguous", test_ambiguous);
	g_test_add_func("/send-batches/sizes", test_sizes);
	g_test_add_func("/send-batches/no-pipeline", test_no_pipeline);
	g_test_add_func("/send-batches/lost-stage", test_lost_stage);
	return g_test_run();
}
