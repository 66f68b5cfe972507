/* Every table of every timeline of the corpus: what the stages up to correlate have found. */
#include <tacho/correlate.h>
#include <tacho/query.h>

#include "corpus.h"

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);
	g_auto(GStrv) tables = tacho_query_tables(query);
	FILE *out = corpus_begin(corpus);

	fprintf(out, "%u %u\n", tacho_trust_score(timeline), tacho_trust_present_score(timeline));
	corpus_end(corpus, name, "trust", out);
	for (guint i = 0; tables[i]; i++) {
		g_autofree gchar *sql = g_strdup_printf("SELECT * FROM %s", tables[i]);
		g_autoptr(TachoResultWriter) writer = NULL;
		g_autoptr(GError) error = NULL;

		out = corpus_begin(corpus);
		writer = tacho_result_writer_new(TACHO_QUERY_FORMAT_JSONL, out, 0, 0);
		tacho_query_run(query, sql, tacho_result_writer_handler(), writer, &error);
		g_assert_no_error(error);
		corpus_end(corpus, name, tables[i], out);
	}
}

static void test_tables(void)
{
	corpus_ask("tables", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_JOBS | CORPUS_DRAWN, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/tables", test_tables);
	return g_test_run();
}
