/* Every view of every timeline of the corpus. */
#include <tacho/analyze.h>
#include <tacho/info.h>

#include "corpus.h"

static const struct view {
	const gchar *name;
	TachoTable *(*run)(const TachoTimeline *timeline, const TachoFilter *filter);
} views[] = {
#define VIEW_ROW(name, parts, description) { #name, tacho_view_##name },
	TACHO_VIEWS(VIEW_ROW)
#undef VIEW_ROW
		{ "step_summary", tacho_view_step_summary },
};

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	TachoFilter steps = TACHO_FILTER_INIT, whole = TACHO_FILTER_INIT;
	TachoInfo *info = tacho_info_new(timeline);
	FILE *out = corpus_begin(corpus), *absent = corpus_begin(corpus);

	tacho_info_print_json(info, out);
	tacho_info_free(info);
	corpus_end(corpus, name, "info", out);
	whole.is_whole = TRUE;
	whole.by_shape = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autofree gchar *what = g_strdup_printf("%s whole", views[i].name);

		corpus_add_table(corpus, name, views[i].name, views[i].run(timeline, &steps),
				 absent);
		corpus_add_table(corpus, name, what, views[i].run(timeline, &whole), absent);
	}
	corpus_end(corpus, name, "absent", absent);
}

static void test_views(void)
{
	corpus_ask("views", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_JOBS | CORPUS_DRAWN, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/views", test_views);
	return g_test_run();
}
