/* Every timeline of the corpus against the one before it, and its own steps against each other: what differs, and in what
 * order the work was done. */
#include <tacho/diff.h>
#include <tacho/run_order.h>

#include "corpus.h"

/* What is kept of a timeline that is gone. */
struct summary {
	TachoDiffRun *run;
	TachoRunOrder *order;
};

static struct summary before; /* of the timeline before */

static struct summary sum_up(const TachoTimeline *timeline, const TachoFilter *filter,
			     const gchar *label, FILE *out)
{
	g_autoptr(GError) run_error = NULL, order_error = NULL;
	struct summary summary = {
		tacho_diff_run_new(timeline, filter, (1 << TACHO_N_DIFF_VIEWS) - 1, label,
				   &run_error),
		tacho_run_order_new(timeline, filter, label, &order_error),
	};

	if (!summary.run)
		fprintf(out, "%s\n", run_error->message);
	if (!summary.order)
		fprintf(out, "%s\n", order_error->message);
	return summary;
}

static void release(struct summary *summary)
{
	tacho_diff_run_free(summary->run);
	tacho_run_order_free(summary->order);
	*summary = (struct summary){ NULL, NULL };
}

static void compare_runs(TachoDiffSide base, TachoDiffSide other, FILE *out)
{
	TachoTable *tables[TACHO_N_DIFF_VIEWS];
	TachoComparison comparison = { other, (const TachoTable *const *)tables,
				       TACHO_N_DIFF_VIEWS };

	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++) {
		tables[i] = tacho_diff_table((TachoDiffView)i, base, other);
		tacho_table_print(tables[i], out, 80, FALSE);
	}
	tacho_diff_print_json(base, &comparison, 1, out);
	for (guint i = 0; i < TACHO_N_DIFF_VIEWS; i++)
		tacho_table_free(tables[i]);
}

static void compare_orders(const TachoRunOrder *base, const TachoRunOrder *other, FILE *out)
{
	g_autoptr(TachoTable) table = tacho_run_order_table(base, other);
	const TachoTable *tables[] = { table };

	fprintf(out, "%" G_GUINT64_FORMAT ", %u differ\n", tacho_run_order_count(other),
		tacho_run_order_n_different(table));
	tacho_run_order_print_json(base, &other, tables, 1, out);
}

static void compare(const struct summary *base, const struct summary *other, FILE *out)
{
	const TachoDiffRun *runs[] = { base->run, other->run };

	if (base->run && other->run) {
		TachoDiffSide one = { runs, 1 }, two = { runs + 1, 1 }, both = { runs, 2 };

		compare_runs(one, two, out);
		compare_runs(both, two, out);
	}
	if (base->order && other->order)
		compare_orders(base->order, other->order, out);
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	TachoFilter all = TACHO_FILTER_INIT, first = TACHO_FILTER_INIT;
	FILE *out = corpus_begin(corpus);
	struct summary summary = sum_up(timeline, &all, name, out), of_first;

	compare(&before, &summary, out);
	corpus_end(corpus, name, "after the one before", out);
	release(&before);
	before = summary;

	out = corpus_begin(corpus);
	first.first_step = first.last_step = 0;
	first.rank = 0;
	of_first = sum_up(timeline, &first, "step 0", out);
	compare(&summary, &of_first, out);
	corpus_end(corpus, name, "its first step", out);
	release(&of_first);
}

static void test_diffs(void)
{
	corpus_ask("diffs", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_DRAWN, ask);
	release(&before);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/diffs", test_diffs);
	return g_test_run();
}
