#include "diff_order.h"

#include <math.h>

#include <tacho/diff.h>
#include <tacho/info.h>
#include <tacho/run_order.h>

#include "cli.h"
#include "peer_processes.h"

static TachoRunOrder *open_order(const struct diff_order *options, gchar *path)
{
	gchar *arguments[] = { (gchar *)"diff", path, NULL };
	g_autoptr(TachoTimeline) timeline = cli_open_runs("diff", 2, arguments);
	GError *error = NULL;
	TachoRunOrder *order;

	if (!timeline)
		return NULL;
	order = tacho_run_order_new(timeline, &options->filter, path, &error);
	if (order && tacho_run_order_count(order))
		return order;
	if (order)
		g_set_error(&error, TACHO_DIFF_ERROR, TACHO_DIFF_ERROR_NO_STEP,
			    "the steps compared hold no operations, no work of a device and no "
			    "collectives, so there is no order to compare; choose other steps with "
			    "--steps");
	tacho_run_order_free(order);
	g_prefix_error(&error, "%s: ", path);
	cli_fail_error("diff", error);
	return NULL;
}

/* The row whose difference is in the earliest step; rows that differ stand first. */
static guint first_difference(const TachoTable *table, guint n_different)
{
	guint first = 0;

	for (guint i = 1; i < n_different; i++)
		if (tacho_table_cell_number(table, i, "step") <
		    tacho_table_cell_number(table, first, "step"))
			first = i;
	return first;
}

static gchar *printable_cell(const TachoTable *table, guint row, const gchar *key)
{
	const gchar *text = tacho_table_cell_text(table, row, key);

	return tacho_printable(text && text[0] ? text : "nothing");
}

static void print_first(const TachoTable *table, guint row)
{
	g_autofree gchar *base = printable_cell(table, row, "base_name");
	g_autofree gchar *other = printable_cell(table, row, "name");
	g_autofree gchar *lane = printable_cell(table, row, "lane");
	gdouble step = tacho_table_cell_number(table, row, "step");
	g_autofree gchar *when =
		isnan(step) ? g_strdup("") : g_strdup_printf(", in step %.0f", step);

	printf("The first difference is on rank %.0f in %s%s, after %.0f equal entries: the base "
	       "runs %s there, and this run runs %s.\n",
	       tacho_table_cell_number(table, row, "rank"), lane, when,
	       tacho_table_cell_number(table, row, "equal"), base, other);
}

static void print_one(const TachoRunOrder *base, const TachoRunOrder *other, TachoTable *table)
{
	guint n = MIN(tacho_run_order_n_different(table), tacho_table_n_rows(table));
	g_autofree gchar *base_label = tacho_printable(tacho_run_order_label(base));
	g_autofree gchar *label = tacho_printable(tacho_run_order_label(other));

	printf("base  %s\nwith  %s\n", base_label, label);
	if (n == 0)
		printf("Both did the same work in the same order.\n\n");
	else
		print_first(table, first_difference(table, n));
	if (n)
		printf("\n");
	cli_print_table(table);
}

static int compare(const struct diff_order *options, const GPtrArray *orders)
{
	g_autoptr(GPtrArray) tables =
		g_ptr_array_new_with_free_func((GDestroyNotify)tacho_table_free);
	const TachoRunOrder *base = orders->pdata[0];
	int status = CLI_DONE;

	for (guint i = 1; i < orders->len; i++) {
		TachoTable *table = tacho_run_order_table(base, orders->pdata[i]);

		g_ptr_array_add(tables, table);
		if (!tacho_table_n_rows(table)) {
			cli_fail("diff",
				 "no step number has work in both %s and %s; choose steps that "
				 "both have with --steps",
				 tacho_run_order_label(base),
				 tacho_run_order_label(orders->pdata[i]));
			return CLI_BAD;
		}
		if (tacho_run_order_n_different(table))
			status = CLI_NO;
		tacho_table_limit(table, (guint)options->limit);
	}
	if (!peer_processes_agree())
		return CLI_BAD;
	if (options->is_json)
		tacho_run_order_print_json(base, (const TachoRunOrder *const *)orders->pdata + 1,
					   (const TachoTable *const *)tables->pdata, tables->len,
					   stdout);
	for (guint i = 0; !options->is_json && i < tables->len; i++) {
		if (i)
			printf("\n");
		print_one(base, orders->pdata[i + 1], tables->pdata[i]);
	}
	return cli_finish("diff", status);
}

int diff_order(const struct diff_order *options, gchar *const *paths, guint n_paths)
{
	g_autoptr(GPtrArray) orders =
		g_ptr_array_new_with_free_func((GDestroyNotify)tacho_run_order_free);

	for (guint i = 0; i < n_paths; i++) {
		TachoRunOrder *order = open_order(options, paths[i]);

		if (!order)
			return CLI_BAD;
		g_ptr_array_add(orders, order);
	}
	return compare(options, orders);
}
