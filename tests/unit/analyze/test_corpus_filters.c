/* Every view of a part of every timeline of the corpus, as text: one rank, some steps, names, devices, and what the profiles
 * choose. An answer has all views of one part. */
#include <tacho/analyze.h>

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

static const struct part {
	const gchar *what;
	const gchar *name, *device, *annotation;
	gint32 rank;
	gint64 first_step, last_step;
	guint width;
	const gchar *profile; /* option=value, between blanks */
} parts[] = {
	{ "rank 0", NULL, NULL, NULL, 0, -1, -1, 0, NULL },
	{ "rank 1, step 0", NULL, NULL, NULL, 1, 0, 0, 60, "max_depth=2 mean=none" },
	{ "from step 1", NULL, NULL, "", -1, 1, -1, 100, "mean=present order_by=name" },
	{ "named", "[aeiou].*[rt]", "7|gpu", "Step", -1, -1, 1, 140,
	  "show=.*a.* hide=.*linear.* trim=.*relu.* displayed_only=yes "
	  "select=micros,bytes,input_shapes,device,op_types order_by=occurrence" },
	{ "large", "e", NULL, NULL, -1, -1, -1, 30,
	  "min=micros=20 start=.*m.* order_by=depth "
	  "select=params,float_ops,peak_bytes,occurrence" },
};

static TachoProfileOptions *read_profile(const gchar *text)
{
	TachoProfileOptions *options = tacho_profile_options_new();
	g_auto(GStrv) words = g_strsplit(text ? text : "", " ", -1);

	for (guint i = 0; words[i] && *words[i]; i++) {
		g_auto(GStrv) halves = g_strsplit(words[i], "=", 2);
		GError *error = NULL;

		tacho_profile_options_set(options, halves[0], halves[1], &error);
		g_assert_no_error(error);
	}
	return options;
}

static GRegex *new_regex(const gchar *pattern)
{
	GError *error = NULL;
	GRegex *regex = pattern ? g_regex_new(pattern, 0, 0, &error) : NULL;

	g_assert_no_error(error);
	return regex;
}

static void ask_part(const struct part *part, const TachoTimeline *timeline, FILE *out)
{
	g_autoptr(GRegex) name = new_regex(part->name), device = new_regex(part->device);
	g_autoptr(TachoProfileOptions) profile = read_profile(part->profile);
	TachoFilter filter = TACHO_FILTER_INIT;

	filter.name = name;
	filter.device = device;
	filter.annotation = part->annotation;
	filter.rank = part->rank;
	filter.first_step = part->first_step;
	filter.last_step = part->last_step;
	filter.profile = profile;
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = views[i].run(timeline, &filter);

		fprintf(out, "%s\n", views[i].name);
		if (part->width == 30)
			tacho_table_limit(table, 2);
		tacho_table_print(table, out, part->width, part->width == 60);
	}
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		FILE *out = corpus_begin(corpus);

		ask_part(&parts[i], timeline, out);
		corpus_end(corpus, name, parts[i].what, out);
	}
}

static void test_filters(void)
{
	corpus_ask("filters", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_DRAWN, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/filters", test_filters);
	return g_test_run();
}
