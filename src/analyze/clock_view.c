#include "analyze/clock_view.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"

static const TachoColumn columns[] = {
	TEXT_COLUMN("host", "clock of", .is_flexible = TRUE),
	TEXT_COLUMN("ranks", "ranks", .is_flexible = TRUE),
	NUMBER_COLUMN("offset_ms", "ahead ms", 3),
	NUMBER_COLUMN("drift_ppm", "fast ppm", 3),
	NUMBER_COLUMN("uncertainty_us", "± us", 1),
	NUMBER_COLUMN("inner_uncertainty_us", "± us within", 1),
	TEXT_COLUMN("from", "known from"),
	INTEGER_COLUMN("bounds", "bounds"),
	INTEGER_COLUMN("contradicted", "broken"),
	JSON_TEXT("relative_to"),
	JSON_NUMBER("drift_uncertainty_ppm"),
};

/* "0, 2-5" */
static gchar *list_ranks(const TachoTimeline *timeline, guint32 clock)
{
	GString *text = g_string_new(NULL);
	gint32 first = -1, last = -1;

	for (guint i = 0; i <= timeline->ranks->len; i++) {
		const TachoRank *rank = i < timeline->ranks->len
						? &g_array_index(timeline->ranks, TachoRank, i)
						: NULL;

		if (rank && tacho_timeline_process(timeline, rank->main_process)->clock != clock)
			continue;
		if (rank && first >= 0 && rank->rank == last + 1) {
			last = rank->rank;
			continue;
		}
		if (first >= 0)
			g_string_append_printf(text, "%s%d", text->len ? ", " : "", first);
		if (first >= 0 && last > first)
			g_string_append_printf(text, "-%d", last);
		first = last = rank ? rank->rank : -1;
	}
	return g_string_free(text, FALSE);
}

/* "collectives, sends and messages" */
static gchar *evidence_text(const TachoClock *clock)
{
	static const struct {
		TachoClockEvidence evidence;
		const gchar *name;
	} SORTS[] = {
		{ TACHO_CLOCK_BY_COLLECTIVES, "collectives" },
		{ TACHO_CLOCK_BY_HOPS, "hops" },
		{ TACHO_CLOCK_BY_SENDS, "sends" },
		{ TACHO_CLOCK_BY_MESSAGES, "messages" },
	};
	const gchar *names[G_N_ELEMENTS(SORTS)];
	GString *text;
	guint n = 0;

	if (clock->state == TACHO_CLOCK_REFERENCE)
		return g_strdup("reference");
	if (clock->state == TACHO_CLOCK_APART)
		return g_strdup("nothing");
	for (guint i = 0; i < G_N_ELEMENTS(SORTS); i++)
		if (clock->evidence & SORTS[i].evidence)
			names[n++] = SORTS[i].name;
	text = g_string_new(NULL);
	for (guint i = 0; i < n; i++)
		g_string_append_printf(text, "%s%s",
				       i == 0	   ? ""
				       : i + 1 < n ? ", "
						   : " and ",
				       names[i]);
	return g_string_free(text, FALSE);
}

static void add_clock(TachoTable *table, const TachoTimeline *timeline, guint32 index)
{
	const TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, index);
	const TachoClock *reference =
		&g_array_index(timeline->clocks, TachoClock, clock->reference);
	gboolean is_known = clock->state != TACHO_CLOCK_APART;
	g_autofree gchar *ranks = list_ranks(timeline, index);
	g_autofree gchar *evidence = evidence_text(clock);

	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(timeline, clock->host));
	tacho_table_text(table, ranks);
	table_number_if(table, is_known, (gdouble)clock->offset_ns / 1e6);
	table_number_if(table, is_known, clock->drift * 1e6);
	table_number_if(table, is_known, (gdouble)clock->uncertainty_ns / 1e3);
	table_number_if(table, is_known, (gdouble)clock->inner_uncertainty_ns / 1e3);
	tacho_table_text(table, evidence);
	tacho_table_integer(table, clock->n_bounds);
	tacho_table_integer(table, clock->n_contradicted);
	tacho_table_text(table, tacho_timeline_string(timeline, reference->host));
	table_number_if(table, is_known, clock->drift_uncertainty * 1e6);
}

TachoTable *clock_view_new(const TachoTimeline *timeline)
{
	TachoTable *table = tacho_table_new("clocks", columns, G_N_ELEMENTS(columns));

	for (guint32 i = 0; i < timeline->clocks->len; i++)
		add_clock(table, timeline, i);
	return table;
}
