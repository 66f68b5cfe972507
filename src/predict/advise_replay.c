/* advise_replay: the advise view with what its advices save as the replay says.
 *
 * The checkers stand with the other views and know nothing of graphs (decision 0016). An advice names the what-if that
 * takes away what it is about; here each such what-if is played. */
#include <tacho/analyze.h>
#include <tacho/replay.h>

#include "analyze/advice.h"
#include "replay/replay_internal.h"
#include "trace/run_share.h"

/* The findings of a report are cheap: beyond so many slices there are none, and beyond fewer no replay.
 * Source: a rule: a report of a million slices takes about a second (docs/performance.md), and a replay for each finding as much. If
 * wrong, the report is slow, or lacks findings that `--view advise` has. */
#define MOST_SLICES_OF_FINDINGS (1000 * 1000)
#define MOST_SLICES_REPLAYED	(300 * 1000)
/* The findings of a report, at most.
 * Source: a rule: what one reads. If wrong, `--view advise` has the others. */
#define N_FINDINGS 3

struct replayer {
	TachoTimeline *timeline;
	const TachoFilter *filter;
};

static TachoPrediction *play(struct replayer *replayer, const gchar *what_if)
{
	const TachoFilter *filter = replayer->filter;
	gint64 first = filter && !filter->is_whole ? filter->first_step : -1;
	gint64 last = filter && !filter->is_whole ? filter->last_step : -1;

	return tacho_predict(replayer->timeline, what_if ? &what_if : NULL, what_if ? 1 : 0, first,
			     last, NULL);
}

static gboolean replay_gain(gpointer data, const gchar *what_if, gdouble *ret_gain_ns)
{
	g_autoptr(TachoPrediction) changed = play(data, what_if);

	if (!changed)
		return FALSE;
	*ret_gain_ns = (changed->unrecorded_step_ms - changed->predicted_step_ms) * 1e6;
	return TRUE;
}

/* Advices of one rank are not what the step of all says. */
static gboolean can_replay(const TachoTimeline *timeline, const TachoFilter *filter)
{
	return timeline->steps->len > 0 && (!filter || filter->rank < 0);
}

/* The replay adds names to the timeline's strings, and changes nothing else of it. */
TachoTable *tacho_view_advise(const TachoTimeline *timeline, const TachoFilter *filter)
{
	struct replayer replayer = { .timeline = (TachoTimeline *)timeline, .filter = filter };

	return advise_table(timeline, filter, 0, can_replay(timeline, filter) ? replay_gain : NULL,
			    &replayer);
}

gboolean tacho_has_findings(const TachoTimeline *timeline)
{
	guint64 kinds[TACHO_N_SLICE_KINDS];

	return run_share_count_kinds(timeline, kinds) <= MOST_SLICES_OF_FINDINGS;
}

TachoTable *tacho_view_findings(const TachoTimeline *timeline, const TachoFilter *filter)
{
	struct replayer replayer = { .timeline = (TachoTimeline *)timeline, .filter = filter };
	guint64 kinds[TACHO_N_SLICE_KINDS], n_slices = run_share_count_kinds(timeline, kinds);
	gboolean is_small = n_slices <= MOST_SLICES_REPLAYED;

	/* advice stands on the slices of all ranks */
	if (n_slices > MOST_SLICES_OF_FINDINGS || run_share_borrow_peers(timeline))
		return NULL;
	return advise_table(timeline, filter, N_FINDINGS,
			    is_small && can_replay(timeline, filter) ? replay_gain : NULL,
			    &replayer);
}
