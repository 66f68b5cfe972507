/* fuzz_report: any timeline, correlated, and every view of it by any filter, printed in both ways. The first bytes are
 * the filter, the others the timeline (byte_timeline.h). */
#include <stdio.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/info.h>

#include "byte_timeline.h"
#include "fuzz_input.h"

enum { N_FILTER_BYTES = 3 };

static TachoTable *(*const views[])(const TachoTimeline *, const TachoFilter *) = {
#define VIEW(name, parts, text) tacho_view_##name,
	TACHO_VIEWS(VIEW)
#undef VIEW
};

/* The text is for people and programs alike: valid, and nothing that a terminal would obey. */
static void check_text(const gchar *text, gsize n)
{
	g_assert_true(g_utf8_validate(text, (gssize)n, NULL));
	for (gsize i = 0; i < n; i++)
		if (text[i] != '\n' && text[i] != '\t' && g_ascii_iscntrl(text[i]))
			FUZZ_FAIL("a control character is printed: %.*s", (int)MIN(n - i, 40),
				  text + i);
}

static void print(const TachoTable *table)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	tacho_table_print(table, out, 80, FALSE);
	tacho_table_print_json(table, out);
	g_assert_cmpint(fclose(out), ==, 0);
	check_text(text, n);
	free(text);
}

/* Names that some slices have, none has, and all have. */
static GRegex *choose_names(guint8 byte)
{
	static const gchar *const patterns[] = {
		NULL, "aten", "no such name", "", "7$", "cuda|nccl"
	};
	const gchar *pattern = patterns[byte % G_N_ELEMENTS(patterns)];

	return pattern ? g_regex_new(pattern, 0, 0, NULL) : NULL;
}

static void use_views(const TachoTimeline *timeline, const TachoFilter *filter)
{
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = views[i](timeline, filter);

		g_assert_nonnull(table);
		print(table);
	}
}

static void use_rest(const TachoTimeline *timeline, const TachoFilter *filter)
{
	g_autoptr(TachoTable) summary = tacho_view_step_summary(timeline, filter);
	g_autoptr(TachoTable) findings = tacho_view_findings(timeline, filter);
	g_autofree guint8 *slices = NULL;
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);

	slices = tacho_view_slices("scope", timeline, filter);
	print(summary);
	if (findings)
		print(findings);
	g_assert_nonnull(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GRegex) names = NULL, devices = NULL;

	if (size < N_FILTER_BYTES)
		return 0;
	filter.rank = (gint32)(data[0] & 3) - 1;
	filter.is_whole = data[0] >> 2 & 1;
	filter.by_shape = data[0] >> 3 & 1;
	filter.annotation = data[0] >> 4 & 1 ? "Step" : NULL;
	filter.instance = data[0] >> 5 & 1;
	if (!filter.is_whole) {
		filter.first_step = (gint64)(data[1] & 7) - 1;
		filter.last_step = (gint64)(data[1] >> 3 & 7) - 1;
	}
	filter.name = names = choose_names(data[2] & 7);
	filter.device = devices = choose_names(data[2] >> 3 & 7);
	timeline = byte_timeline_new(data + N_FILTER_BYTES, size - N_FILTER_BYTES);
	use_views(timeline, &filter);
	use_rest(timeline, &filter);
	return 0;
}
