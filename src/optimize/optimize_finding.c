/* optimize_finding: the plan that gains most, for a report and a page: found with few tries, the same in every run. */
#include <tacho/optimize.h>

#include "analyze/table_columns.h"
#include "trace/run_share.h"

/* Source: a rule: a report is read within seconds; the replays of a search of a larger run take longer. If wrong, reports are slow, or lack
 * a plan that `tacho optimize` finds. */
#define MOST_SLICES (100 * 1000)
#define N_TRIED	    2000
/* Source: as ADVICE_WORTH_PCT of the other findings: what gains less would drown in what steps differ by. */
#define WORTH_PCT 5.0

static const TachoColumn columns[] = {
	TEXT_COLUMN("change", "change", .is_flexible = TRUE),
	NUMBER_COLUMN("predicted_step_ms", "step ms", 3),
	NUMBER_COLUMN("gain_pct", "gain %", 1),
	NUMBER_COLUMN("low_gain_pct", "from", 1),
	NUMBER_COLUMN("high_gain_pct", "to", 1),
	TEXT_COLUMN("needs", "needs", .is_flexible = TRUE),
	TEXT_COLUMN("how", "how", .is_flexible = TRUE),
};

TachoTable *tacho_optimize_finding(TachoTimeline *timeline, gint64 first_step, gint64 last_step)
{
	static const gchar *const numbers[] = { "predicted_step_ms", "gain_pct", "low_gain_pct",
						"high_gain_pct" };
	TachoRecording recording = { "run", timeline };
	TachoOptimizeOptions options = {
		.max_tried = N_TRIED, .seed = 1, .first_step = first_step, .last_step = last_step
	};
	g_autoptr(TachoOptimization) found = NULL;
	guint64 kinds[TACHO_N_SLICE_KINDS];
	TachoTable *table;

	if (run_share_count_kinds(timeline, kinds) > MOST_SLICES || timeline->steps->len == 0 ||
	    timeline->share) /* it needs the graph of all ranks */
		return NULL;
	found = tacho_optimize(&recording, 1, &options, NULL);
	if (!found || found->plans->len == 0 ||
	    tacho_table_cell_number(found->candidates, 0, "gain_pct") < WORTH_PCT)
		return NULL;
	table = tacho_table_new("plan", columns, G_N_ELEMENTS(columns));
	tacho_table_row(table);
	tacho_table_text(table, tacho_table_cell_text(found->candidates, 0, "change"));
	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		tacho_table_number(table,
				   tacho_table_cell_number(found->candidates, 0, numbers[i]));
	tacho_table_text(table, tacho_table_cell_text(found->candidates, 0, "needs"));
	tacho_table_text(table, tacho_table_cell_text(found->candidates, 0, "how"));
	tacho_table_note(table, "Predicted by the replay; 'tacho optimize' looks further.");
	return table;
}
