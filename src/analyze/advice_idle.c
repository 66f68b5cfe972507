/* advice_idle: time in which a rank or its device does nothing. */
#include "analyze/advice.h"

#include <string.h>

#include "base/for_each.h"
#include "base/time_units.h"

static gboolean has_device(const TachoTimeline *timeline, guint rank_index)
{
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_STREAM && track->n_slices &&
		    tacho_track_process(timeline, track)->rank_index == rank_index)
			return TRUE;
	return FALSE;
}

/* --- waiting for data ------------------------------------------------------------------------- */

/* The chosen rank that waits longest: the step is as long as the slowest rank's. */
static guint longest_data_wait(const struct advice_input *input, guint *ret_n_worth)
{
	guint longest = TACHO_NONE;

	*ret_n_worth = 0;
	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		if (!advice_takes_rank(input, i))
			continue;
		*ret_n_worth +=
			advice_share(input, input->times[i].data_wait_ns) >= ADVICE_WORTH_PCT;
		if (longest == TACHO_NONE ||
		    input->times[i].data_wait_ns > input->times[longest].data_wait_ns)
			longest = i;
	}
	return longest;
}

const gchar *check_data_loader(const struct advice_input *input, GArray *advices)
{
	guint n_worth, longest = longest_data_wait(input, &n_worth);
	struct advice advice = { .checker = "data_loader",
				 .metric = "data_wait_pct",
				 .what_if = "drop:loader",
				 .threshold = ADVICE_WORTH_PCT };

	if (longest == TACHO_NONE)
		return "nothing was recorded in these steps";
	advice.gain_ns = input->times[longest].data_wait_ns;
	advice.value = advice_share(input, advice.gain_ns);
	if (advice.value < advice.threshold)
		return NULL;
	advice.rank = advice_rank(input, longest);
	advice.where = g_strdup("data loader");
	advice.evidence = g_strdup_printf(
		"Rank %d waits %.2f ms %s for its data loader and computes nothing meanwhile; %u "
		"of the chosen ranks wait for more than %.0f %% of the step.",
		advice.rank, MS(advice.gain_ns), input->each, n_worth, ADVICE_WORTH_PCT);
	advice.action = g_strdup(
		"Load ahead with more workers (num_workers), a larger prefetch_factor, pinned "
		"memory, or cheaper decoding and augmentation. 'tacho replay RUN --what-if "
		"scale:loader=0.5' predicts the gain of loading in half the time.");
	g_array_append_val(advices, advice);
	return NULL;
}

/* --- a host that does nothing ------------------------------------------------------------------ */

/* Python itself takes some percent between operations, in any job; so much is not only that. */
#define HOST_IDLE_PCT 10.0

/* What every rank without devices is idle: what one is beyond that is for the straggler checker. */
const gchar *check_host_idle(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "host_idle",
				 .rank = -1,
				 .metric = "host_idle_pct",
				 .threshold = HOST_IDLE_PCT };
	guint n = 0;

	if (input->selection.is_whole)
		return "the run is not divided into steps";
	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		if (!advice_takes_rank(input, i) || has_device(input->timeline, i))
			continue;
		advice.gain_ns = n++ ? MIN(advice.gain_ns, input->times[i].idle_ns)
				     : input->times[i].idle_ns;
	}
	if (n == 0)
		return "devices do the work";
	advice.value = advice_share(input, advice.gain_ns);
	if (advice.value < advice.threshold)
		return NULL;
	advice.where = g_strdup("between operations");
	advice.evidence =
		g_strdup_printf("For %.2f ms %s no operation runs, although the rank waits neither "
				"for communication nor for data; this is the minimum of %u rank%s.",
				MS(advice.gain_ns), input->each, n, n == 1 ? "" : "s");
	advice.action = g_strdup("Find out what the program does there (with --view code for a "
				 "recording with stacks, or with a Python profiler), or use fewer, "
				 "larger operations (torch.compile, a larger batch).");
	g_array_append_val(advices, advice);
	return NULL;
}

/* --- a device that waits ------------------------------------------------------------------------ */

/* Where a step ends (its loss is read, the optimizer is prepared) a device waits for some percent of it also in jobs
 * that feed it well. */
#define DEVICE_IDLE_PCT 20.0
/* So much of the work takes less than its launch that the launches decide. */
#define SHORT_PCT 50.0

enum { WAIT_HOST, WAIT_KERNEL, WAIT_OTHER, WAIT_UNKNOWN, N_WAITS };
static const gchar *const wait_keys[N_WAITS] = { "host_wait_ms", "kernel_wait_ms", "other_ms",
						 "unknown_ms" };
static const gchar *const wait_texts[N_WAITS] = {
	"the host had not launched the next work",
	"the next kernel was about to begin",
	"the next work was launched, but waited for something else",
	"the launch of the next work was not recorded",
};

static gboolean is_same_device(const TachoTable *idle, guint row, guint other)
{
	return other < tacho_table_n_rows(idle) &&
	       tacho_table_cell_number(idle, row, "rank") ==
		       tacho_table_cell_number(idle, other, "rank") &&
	       strcmp(tacho_table_cell_text(idle, row, "device"),
		      tacho_table_cell_text(idle, other, "device")) == 0;
}

/* A device's row in the idle view: that of all its streams, or of its only one. Rows of a device stand together. */
static gboolean is_of_device(const TachoTable *idle, guint row)
{
	if (!tacho_table_cell_text(idle, row, "stream"))
		return TRUE;
	return !is_same_device(idle, row, row + 1) &&
	       (row == 0 || !is_same_device(idle, row, row - 1));
}

static gint main_reason(const TachoTable *idle, guint row)
{
	gint most = 0;

	for (gint i = 1; i < N_WAITS; i++)
		if (tacho_table_cell_number(idle, row, wait_keys[i]) >
		    tacho_table_cell_number(idle, row, wait_keys[most]))
			most = i;
	return most;
}

/* What of the waiting for the host is not waiting for data, which has a checker of its own, a step. */
static gdouble device_gain_ns(const struct advice_input *input, const TachoTable *idle, guint row)
{
	gint reason = main_reason(idle, row);
	guint rank_index =
		advice_rank_index(input, (gint32)tacho_table_cell_number(idle, row, "rank"));
	gdouble wait_ns = NS(tacho_table_cell_number(idle, row, wait_keys[reason]));

	if (rank_index == TACHO_NONE || input->times[rank_index].n_stretches == 0)
		return 0;
	wait_ns /= input->times[rank_index].n_stretches;
	if (reason == WAIT_HOST)
		wait_ns -= input->times[rank_index].data_wait_ns;
	return MAX(wait_ns, 0);
}

/* The device with most to gain; of those that are idle for long. */
static guint find_idle_device(const struct advice_input *input, const TachoTable *idle,
			      guint *ret_n_idle, guint *ret_n)
{
	guint most = TACHO_NONE;

	*ret_n_idle = *ret_n = 0;
	for (guint row = 0; row < tacho_table_n_rows(idle); row++) {
		if (!is_of_device(idle, row))
			continue;
		(*ret_n)++;
		if (tacho_table_cell_number(idle, row, "idle_pct") < DEVICE_IDLE_PCT)
			continue;
		(*ret_n_idle)++;
		if (most == TACHO_NONE ||
		    device_gain_ns(input, idle, row) > device_gain_ns(input, idle, most))
			most = row;
	}
	return most;
}

/* The share of a rank's device work that took less than its launch, in percent. */
static gdouble short_share(const struct advice_input *input, gint32 rank)
{
	TachoFilter filter = input->filter;
	g_autoptr(TachoTable) launches = NULL;
	gdouble n = 0, n_short = 0;

	filter.rank = rank;
	launches = tacho_view_launch(input->timeline, &filter);
	for (guint row = 0; row < tacho_table_n_rows(launches); row++) {
		n += tacho_table_cell_number(launches, row, "count");
		n_short += tacho_table_cell_number(launches, row, "short");
	}
	return n > 0 ? 100.0 * n_short / n : 0;
}

static const gchar *device_action(gint reason, gdouble short_pct)
{
	switch (reason) {
	case WAIT_HOST:
		if (short_pct >= SHORT_PCT)
			return "Launch fewer kernels: fuse operations (torch.compile), launch many "
			       "with one call (CUDA graphs), or give each more to do (a larger "
			       "batch).";
		return "Free the host: remove waits for the device (item(), copies without "
		       "non_blocking) and work that is not training from the step. --view op shows "
		       "what the host does.";
	case WAIT_KERNEL:
		return "Use fewer and larger kernels: fuse operations (torch.compile), or enlarge "
		       "the batch.";
	case WAIT_OTHER:
		return "Find out what its streams wait for: events, copies and synchronisation "
		       "between streams (--view idle, column 'before').";
	default:
		return "Record the launches, too, to see the reason (--view idle shows the work "
		       "after each gap).";
	}
}

/* Fill in what is about the device of that row; `among` says how many there are like it. */
static void describe_device(const struct advice_input *input, const TachoTable *idle, guint row,
			    const gchar *among, struct advice *advice)
{
	gint reason = main_reason(idle, row);
	const gchar *device = tacho_table_cell_text(idle, row, "device");
	gdouble idle_ms = tacho_table_cell_number(idle, row, "idle_ms");
	gdouble busy_ms = tacho_table_cell_number(idle, row, "busy_ms"), short_pct;

	advice->rank = (gint32)tacho_table_cell_number(idle, row, "rank");
	short_pct = short_share(input, advice->rank);
	advice->where = g_strdup(device);
	advice->evidence = g_strdup_printf(
		"The device of rank %d, %s, works for %.0f %% of the time. For %.0f %% of its idle "
		"time %s. %.0f %% of its work took less time than the call that launched it. %s.",
		advice->rank, device, 100.0 * busy_ms / (idle_ms + busy_ms),
		100.0 * tacho_table_cell_number(idle, row, wait_keys[reason]) / idle_ms,
		wait_texts[reason], short_pct, among);
	advice->action = g_strdup(device_action(reason, short_pct));
}

/* tfprof's AcceleratorUtilizationChecker, of moments and not of sums of durations. */
const gchar *check_device_idle(const struct advice_input *input, GArray *advices)
{
	g_autoptr(TachoTable) idle = tacho_view_idle(input->timeline, &input->filter);
	guint n_idle, n, row = find_idle_device(input, idle, &n_idle, &n);
	struct advice advice = { .checker = "device_idle",
				 .metric = "device_idle_pct",
				 .threshold = DEVICE_IDLE_PCT };
	g_autofree gchar *among = NULL;

	if (n == 0)
		return "no work of a device was recorded";
	if (row == TACHO_NONE)
		return NULL;
	advice.value = tacho_table_cell_number(idle, row, "idle_pct");
	advice.gain_ns = device_gain_ns(input, idle, row);
	if (advice_share(input, advice.gain_ns) < ADVICE_WORTH_PCT)
		return NULL;
	among = g_strdup_printf("%u of %u devices are idle for more than %.0f %% of the time",
				n_idle, n, DEVICE_IDLE_PCT);
	describe_device(input, idle, row, among, &advice);
	g_array_append_val(advices, advice);
	return NULL;
}
