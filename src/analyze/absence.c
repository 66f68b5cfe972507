#include "analyze/absence.h"

#include "trace/run_share.h"

/* What the timeline holds, of every rank and step. */
struct holdings {
	guint64 n_slices;
	guint64 n_of_kind[TACHO_N_SLICE_KINDS];
	guint64 n_things; /* of those that are missed */
};

static const gchar *const names[] = {
	[ABSENT_OPERATIONS] = "operations",
	[ABSENT_KERNELS] = "kernels",
	[ABSENT_COLLECTIVES] = "collectives",
};

static void count_holdings(struct holdings *holdings, const TachoTimeline *timeline,
			   enum absent_thing thing)
{
	holdings->n_slices = run_share_count_kinds(timeline, holdings->n_of_kind);
	holdings->n_things = thing == ABSENT_OPERATIONS ? holdings->n_of_kind[TACHO_SLICE_OP]
			     : thing == ABSENT_KERNELS	? holdings->n_of_kind[TACHO_SLICE_KERNEL]
							: timeline->collectives->len;
}

/* Whether `tacho record` wrote it. */
static gboolean is_own(const TachoTimeline *timeline)
{
	return timeline->children->len > 0;
}

static const gchar *why_nothing(const TachoTimeline *timeline)
{
	if (is_own(timeline))
		return "nothing was recorded, because no process of the job used PyTorch, BLAS, "
		       "oneDNN, OpenCL, MPI, TCP or Python, which tacho watches";
	return "the trace has nothing with a duration";
}

static const gchar *why_no_operations(const TachoTimeline *timeline,
				      const struct holdings *holdings)
{
	if (is_own(timeline))
		return "no process of the job ran any in PyTorch while the probe was loaded "
		       "('tacho probe list' shows whether there is a probe for the job's PyTorch)";
	if (holdings->n_of_kind[TACHO_SLICE_KERNEL])
		return "the trace has kernels, but not the work of the host (record the activity "
		       "of the CPU, too)";
	return "the trace has none";
}

static const gchar *why_no_kernels(const TachoTimeline *timeline)
{
	if (is_own(timeline))
		return "no process of the job called BLAS or oneDNN where tacho can see it, and no "
		       "device was recorded";
	return "the trace has no work of a device (if the job used one, record its activity, too)";
}

static const gchar *why_no_collectives(const TachoTimeline *timeline)
{
	if (timeline->ranks->len == 1 && timeline->expected_ranks <= 1)
		return "the run has one rank";
	if (timeline->ranks->len == 1)
		return "the trace has none, and it is the trace of one rank of several";
	return "no rank called a collective that tacho knows";
}

void absence_note(const struct selection *selection, TachoTable *table, enum absent_thing thing)
{
	const TachoTimeline *timeline = selection->timeline;
	struct holdings holdings;
	const gchar *why;

	if (tacho_table_n_rows(table))
		return;
	if (selection->filter->name) {
		selection_note_empty(selection, table, names[thing]);
		return;
	}
	count_holdings(&holdings, timeline, thing);
	if (holdings.n_things) {
		tacho_table_note(table,
				 "The run has %" G_GUINT64_FORMAT
				 " %s, but none of them in the chosen ranks and steps.",
				 holdings.n_things, names[thing]);
		return;
	}
	why = !holdings.n_slices	   ? "nothing was recorded"
	      : thing == ABSENT_OPERATIONS ? why_no_operations(timeline, &holdings)
	      : thing == ABSENT_KERNELS	   ? why_no_kernels(timeline)
					   : why_no_collectives(timeline);
	tacho_table_note(table, "There are no %s: %s.", names[thing], why);
}

gchar *absence_of_steps(const TachoTimeline *timeline)
{
	struct holdings holdings;

	count_holdings(&holdings, timeline, ABSENT_OPERATIONS);
	if (!holdings.n_slices)
		return g_strdup_printf("No steps were found: %s.", why_nothing(timeline));
	return g_strdup_printf("No steps were found: the %s has no annotations of steps and no "
			       "steps of an optimizer, and %s. The tables show the whole run.",
			       is_own(timeline) ? "run" : "trace",
			       holdings.n_things
				       ? "no repeated sequence of operations fills most of it"
				       : "no operations among which a sequence could repeat");
}
