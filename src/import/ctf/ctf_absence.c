/* ctf_absence: when threads were off their cores and why, and what else the kernel did with them: on a track beside each thread's own. From
 * LTTng's events of the kernel (ctf_kernel.c), and from those of tacho's own recorder, which tell of an absence when it is over.
 *
 * (1) A thread whose core was taken is preempted from then until it has a core again. One that had to wait is blocked until it is woken,
 *     and then in the run queue. Where no wake-up was recorded, all of it counts as blocked.
 * (2) The slices of a thread's absences follow each other; what it reclaimed or asked of a block device may lie beside them. */
#include "import/ctf/ctf_import.h"

#include "trace/kernel_event.h"

static struct ctf_absence *absence_of(struct ctf_thread *thread)
{
	if (!thread->absence) {
		thread->absence = g_new0(struct ctf_absence, 1);
		thread->absence->track = TACHO_NONE;
	}
	return thread->absence;
}

guint32 ctf_add_kernel_event(struct ctf_import *ctf, struct ctf_thread *thread, guint32 name,
			     gint64 start_ns, gint64 end_ns, guint64 offset)
{
	struct ctf_absence *absence = absence_of(thread);
	gint64 duration_ns;

	if (absence->track == TACHO_NONE) {
		g_autofree gchar *track =
			thread->tid ? g_strdup_printf("kernel, thread %u", thread->tid)
				    : g_strdup("kernel, process");

		absence->track = ctf_track_of_thread(ctf, thread, TACHO_TRACK_ASYNC, track);
	}
	if (__builtin_sub_overflow(end_ns, start_ns, &duration_ns))
		duration_ns = -1; /* the timeline mends and counts it */
	return ctf_add_slice(ctf, TACHO_SLICE_EVENT, absence->track, name, start_ns, duration_ns, 0,
			     offset);
}

/* --- events at both ends ---------------------------------------------------------------------- */

void ctf_absence_begin(struct ctf_import *ctf, struct ctf_thread *thread,
		       const struct ctf_absence *begun)
{
	struct ctf_absence *absence = absence_of(thread);
	guint32 track = absence->track;

	(void)ctf;
	*absence = *begun;
	absence->track = track;
	absence->is_off = TRUE;
	absence->ready_ns = G_MININT64;
}

void ctf_absence_ready(struct ctf_thread *thread, gint64 time_ns)
{
	struct ctf_absence *absence = thread->absence;

	if (absence && absence->is_off && !absence->is_taken && absence->ready_ns == G_MININT64)
		absence->ready_ns = MAX(time_ns, absence->out_ns);
}

static guint32 blocked_name(struct ctf_import *ctf, const gchar *call, gboolean is_fault)
{
	return kernel_event_name(ctf->timeline,
				 is_fault ? KERNEL_EVENT_FAULT : KERNEL_EVENT_BLOCKED,
				 is_fault ? NULL : call, FALSE);
}

static void add_absence(struct ctf_import *ctf, struct ctf_thread *thread,
			const struct ctf_absence *absence, gboolean is_fault, gint64 end_ns)
{
	const gchar *other = tacho_timeline_string(ctf->timeline, absence->other);

	if (absence->is_taken) {
		ctf_add_kernel_event(ctf, thread,
				     kernel_event_name(ctf->timeline, KERNEL_EVENT_PREEMPTED, other,
						       absence->is_own),
				     absence->out_ns, end_ns, absence->offset);
		return;
	}
	ctf_add_kernel_event(
		ctf, thread,
		blocked_name(ctf, tacho_timeline_string(ctf->timeline, absence->call), is_fault),
		absence->out_ns, MIN(absence->ready_ns, end_ns), absence->offset);
	if (absence->ready_ns < end_ns)
		ctf_add_kernel_event(ctf, thread,
				     kernel_event_name(ctf->timeline, KERNEL_EVENT_RUN_QUEUE, other,
						       absence->is_own),
				     absence->ready_ns, end_ns, absence->offset);
}

void ctf_absence_end(struct ctf_import *ctf, struct ctf_thread *thread, guint32 other,
		     gboolean is_own, gint64 time_ns)
{
	struct ctf_absence *absence = thread->absence;

	if (!absence || !absence->is_off)
		return;
	absence->is_off = FALSE;
	if (!absence->is_taken) { /* who had the core that it waited for */
		absence->other = other;
		absence->is_own = is_own;
		if (absence->ready_ns == G_MININT64) /* (1) */
			absence->ready_ns = time_ns;
	}
	add_absence(ctf, thread, absence, FALSE, time_ns);
}

/* --- events of tacho's recorder: probes/kernel/README.md ----------------------------------------- */

enum off_cpu_field {
	OFF_OUT,
	OFF_WAKE,
	OFF_CALL,
	OFF_OTHER,
	OFF_OTHER_PID,
	OFF_MINOR_FAULTS,
	OFF_MAJOR_FAULTS,
};

/* A time of its clock as a field, as the time of an event is. */
static gint64 time_of(const struct ctf_event *event, gint field)
{
	return ctf_event_integer(event, field);
}

static void add_counter(struct ctf_import *ctf, enum kernel_counter counter, gint64 time_ns,
			gdouble value)
{
	guint32 key = counter;
	gpointer known;
	guint32 track;

	if (!ctf->thread->counters)
		ctf->thread->counters = g_hash_table_new(NULL, NULL);
	known = g_hash_table_lookup(ctf->thread->counters, GUINT_TO_POINTER(G_MAXUINT32 - key));
	if (!known) {
		g_autofree gchar *name = kernel_counter_name(counter, ctf->thread->tid);

		track = ctf_track_of_thread(ctf, ctf->thread, TACHO_TRACK_COUNTER, name);
		g_hash_table_insert(ctf->thread->counters, GUINT_TO_POINTER(G_MAXUINT32 - key),
				    GUINT_TO_POINTER(track + 1));
	} else {
		track = GPOINTER_TO_UINT(known) - 1;
	}
	ctf_add_sample(ctf, track, time_ns, value);
}

static void handle_off_cpu(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	gint64 wake_ns = time_of(event, plan->fields[OFF_WAKE]);
	guint32 pid = (guint32)ctf_event_integer(event, plan->fields[OFF_OTHER_PID]);
	guint32 call = ctf_intern_field(ctf, event, plan->fields[OFF_CALL]);
	struct ctf_absence absence = {
		.is_taken = wake_ns == 0,
		.out_ns = time_of(event, plan->fields[OFF_OUT]),
		.ready_ns = wake_ns,
		.other = ctf_intern_field(ctf, event, plan->fields[OFF_OTHER]),
		.call = call,
		.is_own = pid && pid == ctf->thread->owner->pid,
		.offset = event->offset,
	};
	gboolean is_fault = g_str_equal(tacho_timeline_string(ctf->timeline, call), "page fault");

	absence.ready_ns = MAX(absence.ready_ns, absence.out_ns);
	add_absence(ctf, ctf->thread, &absence, is_fault, event->time_ns);
	add_counter(ctf, KERNEL_COUNTER_MINOR_FAULTS, event->time_ns,
		    (gdouble)ctf_event_integer(event, plan->fields[OFF_MINOR_FAULTS]));
	add_counter(ctf, KERNEL_COUNTER_MAJOR_FAULTS, event->time_ns,
		    (gdouble)ctf_event_integer(event, plan->fields[OFF_MAJOR_FAULTS]));
}

enum reclaim_field { RECLAIM_BEGIN };

static void handle_reclaim(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	ctf_add_kernel_event(ctf, ctf->thread,
			     kernel_event_name(ctf->timeline, KERNEL_EVENT_RECLAIM, NULL, FALSE),
			     time_of(event, plan->fields[RECLAIM_BEGIN]), event->time_ns,
			     event->offset);
}

enum block_io_field { IO_QUEUED, IO_OPERATION, IO_DEVICE };

static void handle_block_io(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	guint32 operation = ctf_intern_field(ctf, event, plan->fields[IO_OPERATION]);
	guint32 device = ctf_intern_field(ctf, event, plan->fields[IO_DEVICE]);
	g_autofree gchar *detail =
		g_strdup_printf("%s %s", tacho_timeline_string(ctf->timeline, operation),
				tacho_timeline_string(ctf->timeline, device));

	ctf_add_kernel_event(ctf, ctf->thread,
			     kernel_event_name(ctf->timeline, KERNEL_EVENT_BLOCK_IO, detail, FALSE),
			     time_of(event, plan->fields[IO_QUEUED]), event->time_ns,
			     event->offset);
}

enum retransmit_field { RETRANSMIT_WAITED, RETRANSMIT_LINK };

static void handle_retransmit(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	guint32 link = ctf_intern_field(ctf, event, plan->fields[RETRANSMIT_LINK]);
	gint64 waited_ns = MAX(time_of(event, plan->fields[RETRANSMIT_WAITED]), 0);

	ctf_add_kernel_event(ctf, ctf->thread,
			     kernel_event_name(ctf->timeline, KERNEL_EVENT_RETRANSMIT,
					       tacho_timeline_string(ctf->timeline, link), FALSE),
			     event->time_ns - MIN(waited_ns, event->time_ns), event->time_ns,
			     event->offset);
}

enum sums_field {
	SUMS_RUN,
	SUMS_WAIT,
	SUMS_GIVEN_UP,
	SUMS_TAKEN,
	SUMS_MINOR_FAULTS,
	SUMS_MAJOR_FAULTS,
	SUMS_IO_WAIT,
};

static void handle_sums(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	static const struct {
		enum sums_field field;
		enum kernel_counter counter;
		gdouble unit;
	} sums[] = { { SUMS_RUN, KERNEL_COUNTER_RUN_MS, 1e6 },
		     { SUMS_WAIT, KERNEL_COUNTER_READY_MS, 1e6 },
		     { SUMS_GIVEN_UP, KERNEL_COUNTER_GIVEN_UP, 1 },
		     { SUMS_TAKEN, KERNEL_COUNTER_TAKEN, 1 },
		     { SUMS_MINOR_FAULTS, KERNEL_COUNTER_MINOR_FAULTS, 1 },
		     { SUMS_MAJOR_FAULTS, KERNEL_COUNTER_MAJOR_FAULTS, 1 },
		     { SUMS_IO_WAIT, KERNEL_COUNTER_IO_WAIT_MS, 1e6 } };

	for (guint i = 0; i < G_N_ELEMENTS(sums); i++)
		add_counter(ctf, sums[i].counter, event->time_ns,
			    (gdouble)ctf_event_integer(event, plan->fields[sums[i].field]) /
				    sums[i].unit);
}

const struct ctf_rule ctf_recorder_rules[] = {
	{ .event = "tacho_kernel:off_cpu",
	  .handle = handle_off_cpu,
	  .fields = { "out", "wake", "call", "other", "other_pid", "minor_faults",
		      "major_faults" } },
	{ .event = "tacho_kernel:reclaim", .handle = handle_reclaim, .fields = { "begin" } },
	{ .event = "tacho_kernel:block_io",
	  .handle = handle_block_io,
	  .fields = { "queued", "operation", "device" } },
	{ .event = "tacho_kernel:retransmit",
	  .handle = handle_retransmit,
	  .fields = { "waited", "link" } },
	{ .event = "tacho_kernel:thread_sums",
	  .handle = handle_sums,
	  .fields = { "run", "wait", "given_up", "taken", "minor_faults", "major_faults",
		      "io_wait" } },
	{ 0 },
};
