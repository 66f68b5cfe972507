/* Profiles for compilers' estimations: what each distinct operation and collective took, by hand. */
#include <tacho/correlate.h>
#include <tacho/export.h>

#include <stdlib.h>
#include <string.h>

#include "timeline_text.h"

/* The ranks queue their all-reduce at 130 and 140, and it is over at 190: 50 us for both, whatever each waited. The medians of the
 * operation are of 40, 10 and 30. */
static const gchar job[] =
	"unit us\n"
	"rank 0 thread 10 main\n"
	"  op aten::mm 10..50 in=float32[8,16] in=float32[16,4]\n"
	"  op aten::mm 60..70 in=float32[8,16] in=float32[16,4]\n"
	"  op aten::mm 80..110 in=float32[8,16] in=float32[16,4]\n"
	"  op aten::mm 110..111 in=int64[2,2]\n"
	"  op silent 112..113\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 in=float32[1024]\n"
	"rank 1 thread 10 main\n"
	"  collective gloo:all_reduce 140..185 bytes=4096 group=7 in=float32[1024]\n";

static gchar *exported(const gchar *text, const gchar *name, GError **error)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	const TachoExportTarget *target = tacho_export_find(name, NULL);
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gchar *written = NULL;
	gsize n;
	FILE *out = open_memstream(&written, &n);
	gboolean is_written;

	tacho_correlate(timeline);
	is_written = target->write(timeline, &options, out, error);
	fclose(out);
	if (is_written)
		return written;
	free(written);
	return NULL;
}

static void assert_has(const gchar *text, const gchar *words)
{
	if (!strstr(text, words))
		g_error("no '%s' in: %s", words, text);
}

static void test_inductor(void)
{
	g_autoptr(GError) error = NULL;
	gchar *text = exported(job, "inductor", &error);

	g_assert_no_error(error);
	assert_has(text, "\"pg_config\":[{\"pg_name\":\"0\",\"ranks\":[0,1]}]");
	assert_has(text,
		   "\"dur\":50,\"args\":{\"Collective name\":\"allreduce\",\"Process Group "
		   "Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\",\"Group size\":2,\"In msg "
		   "nelems\":1024,\"Out msg nelems\":1024,\"dtype\":\"Float\"}");
	assert_has(text, "\"dur\":30,\"args\":{\"External id\":3,\"Input Dims\":[[8,16],[16,4]],"
			 "\"Input Strides\":[[16,1],[4,1]],\"Input type\":[\"float\",\"float\"]}");
	assert_has(text, "\"dur\":1,\"args\":{\"External id\":2,\"Input Dims\":[[2,2]],\"Input "
			 "Strides\":[[2,1]],\"Input type\":[\"long int\"]}");
	g_assert_null(strstr(text, "silent"));
	free(text);
}

/* The same bytes again; and a full disk is told. */
static void test_written(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job);
	const TachoExportTarget *target = tacho_export_find("inductor", NULL);
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(GError) error = NULL;
	gchar *first = exported(job, "inductor", NULL), *second = exported(job, "inductor", NULL);
	FILE *full = fopen("/dev/full", "w");

	g_assert_cmpstr(first, ==, second);
	tacho_correlate(timeline);
	g_assert_false(target->write(timeline, &options, full, &error));
	g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO);
	fclose(full);
	free(first);
	free(second);
}

static void test_nothing(void)
{
	static const gchar *const names[] = { "inductor", "pgle" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(exported("rank 0 thread 1 main\n  op a 1..2\n", names[i], &error));
		g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/estimations/inductor", test_inductor);
	g_test_add_func("/estimations/written", test_written);
	g_test_add_func("/estimations/nothing", test_nothing);
	return g_test_run();
}
