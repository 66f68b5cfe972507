/* Copies of several streams that share an engine. Times are microseconds. */
#include <string.h>

#include <tacho/correlate.h>

#include "graph/graph_unfold.h"
#include "replay/replay_trial.h"
#include "timeline_text.h"

/* A on one stream; on the other B, after a kernel. Launches take 10 and 5, so 7.5 where something else decided. */
#define TWO_STREAMS(copy_a, copy_b)                                                                \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..300\n"                                                     \
	"    runtime lA 0..5\n"                                                                    \
	"    runtime lK 10..15\n"                                                                  \
	"    runtime lB 20..25\n"                                                                  \
	"    runtime cudaDeviceSynchronize 30..200\n"                                              \
	"  stream 7 s7\n"                                                                          \
	"    memcpy '" copy_a "' 10..60 launch=lA\n"                                               \
	"  stream 8 s8\n"                                                                          \
	"    kernel K 15..100 launch=lK\n"                                                         \
	"    memcpy '" copy_b "' 101..141 launch=lB\n"

struct built {
	TachoTimeline *timeline;
	TachoGraph *graph;
};

static struct built build(const gchar *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	struct built built = { timeline_from_text(text), NULL };

	tacho_correlate(built.timeline);
	built.graph = tacho_graph_build(built.timeline, -1, -1, &error);
	g_assert_no_error(error);
	replay = tacho_replay_run(built.graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(built.graph); i++)
		g_assert_cmpint(tacho_replay_begin_ns(replay, i), ==,
				graph_node_at(built.graph, i)->begin_ns);
	return built;
}

static void built_release(struct built *built)
{
	tacho_graph_free(built->graph);
	tacho_timeline_free(built->timeline);
}

/* When the copy whose name has this ending begins, once the graph is changed. */
static gint64 begin_ns_if(const gchar *text, const gchar *what_ifs, const gchar *ending)
{
	struct built built = build(text);
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	gint64 begin_ns = -1;

	for (guint i = 0; list[i]; i++) {
		tacho_graph_what_if(built.graph, list[i], &error);
		g_assert_no_error(error);
	}
	replay = tacho_replay_run(built.graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < tacho_graph_n_nodes(built.graph); i++) {
		const struct graph_node *node = graph_node_at(built.graph, i);

		if (node->kind == TACHO_NODE_COPY &&
		    g_str_has_suffix(tacho_timeline_string(built.timeline, node->name), ending))
			begin_ns = tacho_replay_begin_ns(replay, i);
	}
	built_release(&built);
	return begin_ns;
}

/* Without the kernel, B comes at 27.5, and finds A there until 60. */
static void test_collide(void)
{
	static const gchar *const names[] = { "Memcpy HtoD", "MemcpyH2D", "CopyHostToDevice" };

	g_assert_cmpint(begin_ns_if(TWO_STREAMS("HtoD A", "HtoD B"), "drop:kernel~K", "B"), ==,
			60000);
	g_assert_cmpint(begin_ns_if(TWO_STREAMS("DtoH A", "DtoH B"), "drop:kernel~K", "B"), ==,
			60000);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *text = g_strdup_printf(TWO_STREAMS("%s A", "HtoD B"), names[i]);

		g_assert_cmpint(begin_ns_if(text, "drop:kernel~K", "B"), ==, 60000);
	}
}

/* Directions have engines of their own; what stays on the device has none; nor have names that do not tell. */
static void test_apart(void)
{
	g_assert_cmpint(begin_ns_if(TWO_STREAMS("DtoH A", "HtoD B"), "drop:kernel~K", "B"), ==,
			27500);
	g_assert_cmpint(begin_ns_if(TWO_STREAMS("DtoD A", "DtoD B"), "drop:kernel~K", "B"), ==,
			27500);
	g_assert_cmpint(begin_ns_if(TWO_STREAMS("copy A", "copy B"), "drop:kernel~K", "B"), ==,
			27500);
}

/* Where the recording shows two copies at once, the device has more engines; a moment is the clock's. */
static void test_several_engines(void)
{
	const gchar *overlapping = TWO_STREAMS("HtoD A", "HtoD B") "  stream 9 s9\n"
								   "    memcpy 'HtoD C' 130..150\n";
	const gchar *touching = "unit ns\n"
				"rank 0 thread 1000 main\n"
				"  annotation ProfilerStep#0 0..300000\n"
				"    runtime lA 0..5000\n"
				"    runtime lK 10000..15000\n"
				"    runtime lB 20000..25000\n"
				"  stream 7 s7\n"
				"    memcpy 'HtoD A' 10000..60000 launch=lA\n"
				"  stream 8 s8\n"
				"    kernel K 15000..100000 launch=lK\n"
				"    memcpy 'HtoD B' 101000..141000 launch=lB\n"
				"  stream 9 s9\n"
				"    memcpy 'HtoD C' 140500..150000\n";

	g_assert_cmpint(begin_ns_if(overlapping, "drop:kernel~K", "B"), ==, 27500);
	g_assert_cmpint(begin_ns_if(touching, "drop:kernel~K", "B"), ==, 60000);
}

/* Who comes first is served first, whoever that was in the recording: A at 50, when B is there until 67.5. */
static void test_order(void)
{
	g_assert_cmpint(begin_ns_if(TWO_STREAMS("HtoD A", "HtoD B"),
				    "drop:kernel~K;scale:launch~lA=5", "A"),
			==, 67500);
}

#define RANK(rank)                                                                                 \
	"rank " #rank " host=h thread 100" #rank " main\n"                                         \
	"  annotation ProfilerStep#0 0..300\n"                                                     \
	"    runtime lA 0..5\n"                                                                    \
	"    runtime lK 10..15\n"                                                                  \
	"    runtime lB 20..25\n"                                                                  \
	"    runtime lC 30..35\n"                                                                  \
	"    runtime cudaDeviceSynchronize 40..200\n"                                              \
	"  stream 7 s7\n"                                                                          \
	"    memcpy 'HtoD A' 10..60 launch=lA\n"                                                   \
	"  stream 8 s8\n"                                                                          \
	"    kernel K 15..100 launch=lK\n"                                                         \
	"    memcpy 'HtoD B' 101..141 launch=lB\n"                                                 \
	"    collective nccl_AllReduce 150..170 bytes=1000 group=1 launch=lC\n"

/* Ranks that do the same, of which one is played for both; each by itself; copies of them; and changes tried
 * without playing all: the same. */
static void test_same_however_played(void)
{
	struct built built = build("unit us\n" RANK(0) RANK(1));
	g_autoptr(TachoGraph) unfolded = NULL;
	g_autoptr(TachoReplay) folded = NULL, many = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) edits = g_array_new(FALSE, FALSE, sizeof(struct trial_edit));
	struct trial_base *base = trial_base_new(built.graph, &error);
	struct replay_trial *trial = replay_trial_new(base);
	const TachoReplay *tried = replay_trial_borrow_replay(trial);

	for (guint32 i = 0; i < built.graph->nodes->len; i++) {
		struct trial_edit edit = { .node = i, .duration_ns = 0 };

		if (graph_node_at(built.graph, i)->kind == TACHO_NODE_DEVICE)
			g_array_append_val(edits, edit);
	}
	g_assert_cmpuint(edits->len, ==, 2);
	g_assert_true(replay_trial_play(trial, (const struct trial_edit *)(void *)edits->data,
					edits->len, &error));
	for (guint i = 0; i < edits->len; i++)
		graph_node_at(built.graph, g_array_index(edits, struct trial_edit, i).node)
			->duration_ns = 0;
	g_assert_true(graph_freeze(built.graph, &error));
	folded = tacho_replay_run(built.graph, &error);
	g_assert_no_error(error);
	for (guint32 i = 0; i < built.graph->nodes->len; i++)
		g_assert_cmpint(folded->end_ns[i], ==, tried->end_ns[i]);
	g_assert_true(tacho_graph_what_if(built.graph, "ranks=4", &error));
	g_clear_pointer(&folded, tacho_replay_free);
	folded = tacho_replay_run(built.graph, &error);
	unfolded = graph_unfold(built.graph, &error);
	g_assert_no_error(error);
	many = tacho_replay_run(unfolded, &error);
	g_assert_no_error(error);
	g_assert_cmpfloat(replay_median_step_ns(folded), ==, replay_median_step_ns(many));
	replay_trial_free(trial);
	trial_base_free(base);
	built_release(&built);
}

/* Copies of three streams at any times, one after the other, play back as they were. */
static void test_random(void)
{
	for (guint seed = 0; seed < 100; seed++) {
		g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
		g_autoptr(GString) text = g_string_new("unit us\n"
						       "rank 0 thread 1000 main\n"
						       "  annotation ProfilerStep#0 0..2000\n");
		GString *streams[3];
		gint at = 0, free = 0;
		struct built built;

		for (guint i = 0; i < 3; i++) {
			streams[i] = g_string_new(NULL);
			g_string_append_printf(streams[i], "stream %u s%u\n", i, i);
		}
		for (gint i = 0; i < 30; i++) {
			gint came = at + g_rand_int_range(rand, 3, 20);
			gint begin = MAX(came, free), end;

			end = begin + g_rand_int_range(rand, 0, 40);
			g_string_append_printf(text, "runtime l%d %d..%d\n", i, at, at + 2);
			g_string_append_printf(streams[g_rand_int_range(rand, 0, 3)],
					       "memcpy HtoD %d..%d launch=l%d\n", begin, end, i);
			at += g_rand_int_range(rand, 3, 60);
			free = end;
		}
		for (guint i = 0; i < 3; i++) {
			g_string_append(text, streams[i]->str);
			g_string_free(streams[i], TRUE);
		}
		built = build(text->str);
		g_assert_true(built.graph->is_shared);
		built_release(&built);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/copy-engines/collide", test_collide);
	g_test_add_func("/copy-engines/apart", test_apart);
	g_test_add_func("/copy-engines/several-engines", test_several_engines);
	g_test_add_func("/copy-engines/order", test_order);
	g_test_add_func("/copy-engines/same-however-played", test_same_however_played);
	g_test_add_func("/copy-engines/random", test_random);
	return g_test_run();
}
