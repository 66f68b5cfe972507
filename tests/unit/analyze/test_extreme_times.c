/* Every view of a timeline with times as far apart as they may be: under the undefined behaviour sanitizer
 * this shows that no sum or difference of times overflows. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/info.h>

#include "timeline_text.h"
#include "views_support.h"

#define LAST  "4611686018427387903" /* TACHO_MAX_TIME_NS */
#define EARLY " -" LAST "..0"
#define LATE  " 0.." LAST

/* Several of everything: each is as long as may be, so that any three of them are more than fits. */
#define PART                                                                                       \
	"  op aten::mm" EARLY " in=float32[8,8]@0x1 out=float32[8,8]@0x2\n"                        \
	"    op aten::mm" EARLY "\n"                                                               \
	"    wait DataLoader" EARLY "\n"                                                           \
	"  op aten::mm" LATE "\n"                                                                  \
	"    wait DataLoader" LATE "\n"                                                            \
	"    wait DataLoader" LATE "\n"                                                            \
	"  runtime launch" EARLY "\n"                                                              \
	"  collective sum" EARLY " bytes=9223372036854775807\n"                                    \
	"  collective sum" LATE " bytes=9223372036854775807\n"                                     \
	"  collective sum " LAST ".." LAST " bytes=9223372036854775807\n"                          \
	"  annotation ProfilerStep#0" EARLY "\n"                                                   \
	"  annotation ProfilerStep#1" LATE "\n"                                                    \
	"  message send" EARLY                                                                     \
	" bytes=18446744073709551615 fd=3 local=10.0.0.1:1 peer=10.0.0.2:2\n"                      \
	"  message send" LATE                                                                      \
	" bytes=18446744073709551615 fd=3 local=10.0.0.1:1 peer=10.0.0.2:2\n"                      \
	"  message recv" EARLY                                                                     \
	" bytes=18446744073709551615 receive fd=4 local=10.0.0.2:2 peer=10.0.0.1:1\n"              \
	"  message recv" LATE                                                                      \
	" bytes=18446744073709551615 receive fd=4 local=10.0.0.2:2 peer=10.0.0.1:1\n"              \
	"  message part" EARLY " bytes=18446744073709551615\n"                                     \
	"  message part" LATE " bytes=18446744073709551615\n"                                      \
	"  message part" LATE " bytes=18446744073709551615\n"                                      \
	"  alloc -" LAST " address=1 bytes=9223372036854775807\n"                                  \
	"  alloc -" LAST " address=2 bytes=9223372036854775807\n"                                  \
	"  free " LAST " address=1 bytes=9223372036854775807\n"                                    \
	"  sample queue -" LAST " -9223372036854775807\n"                                          \
	"  sample queue 0 9223372036854775807\n"                                                   \
	"  sample queue " LAST " -9223372036854775807\n"                                           \
	"  stream 7\n"                                                                             \
	"  kernel gemm -" LAST "..-" LAST " launch=launch\n"                                       \
	"  kernel gemm" EARLY " launch=launch flops=18446744073709551615\n"                        \
	"  kernel gemm" LATE " launch=launch bytes=18446744073709551615\n"                         \
	"  kernel gemm" LATE " launch=launch bytes=18446744073709551615\n"                         \
	"  kernel gemm " LAST ".." LAST "\n"

static const gchar text[] =
	"unit ns\n"
	"rank 0 thread 1 main\n" PART "rank 1 thread 2 main\n" PART "  thread 3\n"
	"  op aten::mm" EARLY "\n"
	"  op aten::mm" LATE "\n"
	"  thread 4\n"
	"  op aten::mm" LATE "\n";

static const struct {
	const gchar *name;
	TachoTable *(*run)(const TachoTimeline *timeline, const TachoFilter *filter);
} views[] = {
#define VIEW_ROW(name, parts, description) { #name, tacho_view_##name },
	TACHO_VIEWS(VIEW_ROW)
#undef VIEW_ROW
		{ "step_summary", tacho_view_step_summary },
};

/* Each collective a bucket of two gradients, each message of the first collective. */
static void add_messages_and_buckets(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		TachoMessage message = { .slice = i,
					 .peer_process = i % 2 ? 0 : TACHO_NONE,
					 .collective = timeline_find(timeline, "sum", 0),
					 .collective_row = 0,
					 .ring_step = i,
					 .bytes = G_MAXUINT64,
					 .paired_bytes = G_MAXUINT64 };
		TachoBucket bucket = { .rank_index = tacho_slice_process(timeline, i)->rank_index,
				       .step = i % 3,
				       .slice = i,
				       .bytes = G_MAXUINT64,
				       .first_gradient = timeline->gradients->len,
				       .n_gradients = 2,
				       .ready_ns = -TACHO_MAX_TIME_NS,
				       .queued_ns = TACHO_MAX_TIME_NS };
		TachoGradient gradient = { .slice = i,
					   .bytes = G_MAXUINT64,
					   .offset_bytes = G_MAXUINT64,
					   .ready_ns = -TACHO_MAX_TIME_NS,
					   .is_exact = TRUE };

		if (slices->kind[i] == TACHO_SLICE_MESSAGE)
			g_array_append_val(timeline->messages, message);
		if (slices->kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		g_array_append_val(timeline->buckets, bucket);
		g_array_append_val(timeline->gradients, gradient);
		g_array_append_val(timeline->gradients, gradient);
	}
}

static void test_view(gconstpointer data)
{
	guint view = GPOINTER_TO_UINT(data);
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoFilter filter = { .rank = -1, .first_step = 0, .last_step = 3 };

	tacho_table_free(views[view].run(timeline, NULL));
	for (guint rank = 0; rank < 2; rank++)
		for (guint number = 0; number < 3; number++) {
			TachoStep step = { rank, number, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS,
					   TRUE };

			g_array_append_val(timeline->steps, step);
		}
	add_collective(timeline, "sum", G_MAXUINT64);
	add_messages_and_buckets(timeline);
	tacho_table_free(views[view].run(timeline, NULL));
	tacho_table_free(views[view].run(timeline, &filter));
}

/* As the report does it: what correlate finds in such times, and then every view of that. */
static void test_correlated(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(text);
	TachoFilter filter = { .rank = -1, .first_step = 0, .last_step = 3 };

	for (guint view = 0; view < G_N_ELEMENTS(views); view++)
		tacho_table_free(views[view].run(timeline, &filter));
}

static void test_info(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);

	g_assert_nonnull(info);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autofree gchar *path = g_strdup_printf("/extreme_times/%s", views[i].name);

		g_test_add_data_func(path, GUINT_TO_POINTER(i), test_view);
	}
	g_test_add_func("/extreme_times/correlated", test_correlated);
	g_test_add_func("/extreme_times/info", test_info);
	return g_test_run();
}
