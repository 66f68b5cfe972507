/* indicator_table: which operations are sensitive to which format, and why. */
#include <math.h>
#include <string.h>

#include "analyze/table_columns.h"
#include "precision/indicator.h"

static const TachoColumn columns[] = {
	TEXT_COLUMN("operation", "operation", .is_flexible = TRUE),
	JSON_TEXT("module"),
	JSON_TEXT("kind"),
	JSON_INTEGER("ordinal"),
	TEXT_COLUMN("format", "format"),
	NUMBER_COLUMN("harm", "harm", 0, .is_any_size = TRUE),
	SHARE_COLUMN("share_pct", "% of all", 1),
	BOOLEAN_COLUMN("is_derived", "derived"),
	TEXT_COLUMN("why", "why", .is_flexible = TRUE),
};

struct sensitivity {
	guint32 operation;
	enum number_format format;
	struct indicator_harm harm;
};

static gint by_format_and_harm(gconstpointer a, gconstpointer b)
{
	const struct sensitivity *one = a, *other = b;

	if (one->format != other->format)
		return one->format < other->format ? -1 : 1;
	if (one->harm.harm != other->harm.harm)
		return one->harm.harm > other->harm.harm ? -1 : 1;
	return one->operation < other->operation ? -1 : one->operation > other->operation;
}

/* Whether the statistics tell anything of a format, for any operation. */
static gboolean is_in_statistics(const TachoPrecisionStatistics *statistics,
				 enum number_format format)
{
	for (guint i = 0; i < statistics->operations->len; i++) {
		const struct operation_statistics *operation =
			&g_array_index(statistics->operations, struct operation_statistics, i);

		if (operation->direct && !isnan(operation->direct[format].loss_change))
			return TRUE;
		for (guint j = 0; j < N_STATISTICS_TENSORS; j++)
			if (operation->tensors[j].formats &&
			    !isnan(operation->tensors[j].formats[format].error2))
				return TRUE;
	}
	return FALSE;
}

static void find(const Indicator *indicator, const TachoPrecisionStatistics *statistics,
		 const struct indicator_mix *mix, GArray *found, gdouble *whole)
{
	for (guint f = 0; f < N_NUMBER_FORMATS; f++) {
		if (f == statistics->reference ||
		    !is_in_statistics(statistics, (enum number_format)f))
			continue;
		for (guint32 i = 0; i < statistics->operations->len; i++) {
			struct sensitivity one = { .operation = i,
						   .format = (enum number_format)f };

			one.harm = indicator_mixed(indicator, mix, i, one.format);
			if (!one.harm.missing && isfinite(one.harm.harm))
				whole[f] += one.harm.harm;
			g_array_append_val(found, one);
		}
	}
}

static void add_row(TachoTable *table, const Indicator *indicator,
		    const TachoPrecisionStatistics *statistics, const struct sensitivity *one,
		    const gdouble *whole)
{
	const struct operation_statistics *facts =
		&g_array_index(statistics->operations, struct operation_statistics, one->operation);
	const struct precision_operation named = { .module = facts->module,
						   .kind = facts->kind,
						   .ordinal = facts->ordinal };
	g_autofree gchar *name = precision_operation_name(&named);
	g_autofree gchar *reason = indicator_reason(indicator, one->operation, one->format);
	g_autofree gchar *missing =
		one->harm.missing
			? g_strdup_printf("not known: the statistics lack %s", one->harm.missing)
			: NULL;
	gdouble harm = one->harm.missing ? NAN : one->harm.harm;

	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_text(table, facts->module);
	tacho_table_text(table, facts->kind);
	tacho_table_integer(table, facts->ordinal);
	tacho_table_text(table, number_format_name(one->format));
	tacho_table_number(table, harm);
	tacho_table_number(table, whole[one->format] > 0 ? 100 * harm / whole[one->format] : NAN);
	tacho_table_boolean(table, one->harm.is_derived);
	tacho_table_text(table, missing ? missing : reason);
}

TachoTable *tacho_precision_indicator_table(const TachoPrecisionStatistics *statistics,
					    const TachoPrecisionProblem *problem,
					    const gchar *indicators, GError **error)
{
	g_autoptr(Indicator) indicator = NULL;
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct sensitivity));
	gdouble whole[N_NUMBER_FORMATS] = { 0 };
	struct indicator_mix mix;
	TachoTable *table;

	if (!indicator_mix_parse(indicators, &mix, error))
		return NULL;
	indicator = indicator_new(statistics, problem);
	find(indicator, statistics, &mix, found, whole);
	g_array_sort(found, by_format_and_harm);
	table = tacho_table_new("indicator", columns, G_N_ELEMENTS(columns));
	for (guint i = 0; i < found->len; i++)
		add_row(table, indicator, statistics, &g_array_index(found, struct sensitivity, i),
			whole);
	if (!problem)
		tacho_table_note(table,
				 "Without a problem, each operation is taken to read what the "
				 "one before it made.");
	return table;
}
