/* ctf_kernel: what a trace of the Linux kernel tells: who had which core, which thread is of which process, and what
 * became of threads meanwhile (ctf_absence.c).
 *
 * Each core has a track of its own, of a process "cores" that its host has: a slice for each stay of a thread. */
#include "import/ctf/ctf_import.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/kernel_event.h"

enum { MAX_CORES = 1 << 16 };

#define SYSCALL "syscall " /* as ctf_rules.c names them */

static struct ctf_core *find_core(struct ctf_import *ctf, guint32 number)
{
	if (number >= MAX_CORES)
		return NULL;
	while (ctf->cores->len <= number) {
		struct ctf_core core = { .row = TACHO_NONE };

		g_array_append_val(ctf->cores, core);
	}
	return &g_array_index(ctf->cores, struct ctf_core, number);
}

static guint32 core_track(struct ctf_import *ctf, guint32 host, guint32 number)
{
	g_autofree gchar *name = g_strdup_printf("core %u", number);
	struct ctf_owner *owner = ctf_owner_of_name(ctf, host, "cores");

	owner->is_of_kernel = TRUE;
	return ctf_lane(ctf, owner, TACHO_TRACK_THREAD, name, 0, number);
}

static struct ctf_thread *name_thread(struct ctf_import *ctf, guint32 host, guint32 tid,
				      guint32 name)
{
	struct ctf_thread *thread = ctf_thread_of(ctf, NULL, host, tid);

	if (name)
		thread->name = name;
	thread->owner->is_of_kernel = TRUE;
	return thread;
}

/* Linux's TASK_REPORT_MAX, in its two forms: the thread could have gone on. Below are the states in which it cannot. */
#define TASK_STATES 0xff

static gboolean are_of_one_process(const struct ctf_thread *first, const struct ctf_thread *second)
{
	return first && second && first->owner->pid && first->owner == second->owner;
}

/* The system call that the thread is in, if calls were traced. */
static guint32 call_of(const struct ctf_import *ctf, const struct ctf_thread *thread)
{
	const gchar *name;

	if (!thread->frames->len)
		return 0;
	name = tacho_timeline_string(
		ctf->timeline,
		g_array_index(thread->frames, struct ctf_frame, thread->frames->len - 1).pair);
	return g_str_has_prefix(name, SYSCALL)
		       ? tacho_timeline_intern(ctf->timeline, name + strlen(SYSCALL), -1)
		       : 0;
}

/* Only of threads whose process is known: the others are nobody's whose time is looked at. */
static void switch_off(struct ctf_import *ctf, struct ctf_thread *thread,
		       const struct ctf_thread *next, gint64 state, const struct ctf_event *event)
{
	struct ctf_absence absence = { .is_taken = (state & TASK_STATES) == 0,
				       .out_ns = event->time_ns,
				       .other = next ? next->name : 0,
				       .is_own = are_of_one_process(thread, next),
				       .offset = event->offset };

	if (!thread->owner->pid)
		return;
	absence.call = absence.is_taken ? 0 : call_of(ctf, thread);
	ctf_absence_begin(ctf, thread, &absence);
}

enum switch_field { PREV_TID, PREV_COMM, NEXT_TID, NEXT_COMM, PREV_STATE };

static void handle_switch(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct ctf_core *core = find_core(ctf, event->cpu);
	guint32 host = ctf_host(ctf, event), name;
	guint32 previous = (guint32)ctf_event_integer(event, plan->fields[PREV_TID]);
	guint32 next = (guint32)ctf_event_integer(event, plan->fields[NEXT_TID]);
	struct ctf_thread *left = NULL, *taking = NULL;

	if (!core) { /* without its core, it is a moment like others */
		ctf_handle_instant(ctf, plan, event);
		return;
	}
	if (previous)
		left = name_thread(ctf, host, previous,
				   ctf_intern_field(ctf, event, plan->fields[PREV_COMM]));
	name = ctf_intern_field(ctf, event, plan->fields[NEXT_COMM]);
	ctf_end_slice(ctf, core->row, event->time_ns, 0, 0);
	core->row = TACHO_NONE;
	core->thread = NULL;
	if (next) {
		taking = name_thread(ctf, host, next, name);
		ctf_absence_end(ctf, taking, left ? left->name : 0,
				are_of_one_process(taking, left), event->time_ns);
	}
	if (left)
		switch_off(ctf, left, taking, ctf_event_integer(event, plan->fields[PREV_STATE]),
			   event);
	if (!next) /* nobody, the core idles: each has an idle thread of its own, all with number 0 */
		return;
	core->thread = taking;
	core->row = ctf_add_slice(ctf, TACHO_SLICE_EVENT, core_track(ctf, host, event->cpu), name,
				  event->time_ns, 0, TACHO_SLICE_OPEN, event->offset);
}

enum wake_field { WOKEN_TID };

/* sched_waking comes when somebody wakes it, sched_wakeup when it is in the queue of a core, and sometimes one of them alone. */
static void handle_wake(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	guint32 tid = (guint32)ctf_event_integer(event, plan->fields[WOKEN_TID]);

	if (tid)
		ctf_absence_ready(name_thread(ctf, ctf_host(ctf, event), tid, 0), event->time_ns);
	ctf_handle_instant(ctf, plan, event);
}

/* --- memory and block devices ------------------------------------------------------------------- */

static gchar *reclaim_key(const struct ctf_import *ctf)
{
	return g_strdup_printf("reclaim/%p", (gconstpointer)ctf->thread);
}

static void handle_reclaim_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
				 const struct ctf_event *event)
{
	g_autofree gchar *key = reclaim_key(ctf);

	(void)plan;
	ctf_begin_pending(ctf, key, TACHO_NONE, event->offset, event->time_ns);
}

static void handle_reclaim_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event)
{
	g_autofree gchar *key = reclaim_key(ctf);
	struct ctf_pending begun;

	(void)plan;
	if (ctf_take_pending(ctf, key, &begun))
		ctf_add_kernel_event(
			ctf, ctf->thread,
			kernel_event_name(ctf->timeline, KERNEL_EVENT_RECLAIM, NULL, FALSE),
			begun.time_ns, event->time_ns, event->offset);
}

enum block_field { BLOCK_DEVICE, BLOCK_SECTOR, BLOCK_OPERATION, BLOCK_TID };

/* What was issued and not completed: who asked, and when. */
static gchar *block_key(const struct ctf_plan *plan, const struct ctf_event *event)
{
	return g_strdup_printf("block/%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT,
			       ctf_event_integer(event, plan->fields[BLOCK_DEVICE]),
			       ctf_event_integer(event, plan->fields[BLOCK_SECTOR]));
}

/* Linux's bits in `rwbs`, as LTTng writes them: 1 << 0 write, 1 << 1 discard, 1 << 2 read, 1 << 6 flush. */
static const gchar *block_operation(gint64 bits)
{
	return bits & 1 << 0   ? "write"
	       : bits & 1 << 2 ? "read"
	       : bits & 1 << 6 ? "flush"
			       : "request";
}

static void handle_block_issue(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event)
{
	g_autofree gchar *key = block_key(plan, event);
	gint64 device = ctf_event_integer(event, plan->fields[BLOCK_DEVICE]);
	g_autofree gchar *detail = g_strdup_printf(
		"%s %" G_GINT64_FORMAT ":%" G_GINT64_FORMAT,
		block_operation(ctf_event_integer(event, plan->fields[BLOCK_OPERATION])),
		device >> 20 & 0xfff, device & 0xfffff);
	guint32 tid = (guint32)ctf_event_integer(event, plan->fields[BLOCK_TID]);
	struct ctf_thread *thread =
		tid ? name_thread(ctf, ctf_host(ctf, event), tid, 0) : ctf->thread;
	guint32 row;

	row = ctf_add_kernel_event(
		ctf, thread, kernel_event_name(ctf->timeline, KERNEL_EVENT_BLOCK_IO, detail, FALSE),
		event->time_ns, event->time_ns, event->offset);
	ctf_begin_pending(ctf, key, row, event->offset, event->time_ns);
}

static void handle_block_complete(struct ctf_import *ctf, const struct ctf_plan *plan,
				  const struct ctf_event *event)
{
	g_autofree gchar *key = block_key(plan, event);
	struct ctf_pending begun;

	if (ctf_take_pending(ctf, key, &begun))
		ctf_end_slice(ctf, begun.row, event->time_ns, begun.offset, event->offset);
}

/* --- processes ---------------------------------------------------------------------------------- */

/* A thread is of that process. */
static void set_owner(struct ctf_import *ctf, guint32 host, guint32 tid, guint32 pid, guint32 name)
{
	struct ctf_thread *thread = name_thread(ctf, host, tid, name);
	struct ctf_owner *owner = ctf_owner_of_pid(ctf, host, pid);

	thread->owner = owner;
	owner->is_of_kernel = TRUE;
	if (name && (tid == pid || !owner->name))
		owner->name = name;
}

enum owner_field { OWNER_TID, OWNER_PID, OWNER_NAME };

/* A statedump, or a fork: a thread, its process and its name. */
static void handle_owner(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	guint32 pid = (guint32)ctf_event_integer(event, plan->fields[OWNER_PID]);

	if (pid)
		set_owner(ctf, ctf_host(ctf, event),
			  (guint32)ctf_event_integer(event, plan->fields[OWNER_TID]), pid,
			  ctf_intern_field(ctf, event, plan->fields[OWNER_NAME]));
	ctf_handle_instant(ctf, plan, event);
}

enum frequency_field { FREQUENCY_CORE, FREQUENCY_KHZ };

static void handle_frequency(struct ctf_import *ctf, const struct ctf_plan *plan,
			     const struct ctf_event *event)
{
	guint32 number = (guint32)ctf_event_integer(event, plan->fields[FREQUENCY_CORE]);
	g_autofree gchar *name = g_strdup_printf("frequency of core %u (kHz)", number);
	struct ctf_owner *owner = ctf_owner_of_name(ctf, ctf_host(ctf, event), "cores");

	ctf_add_sample(ctf, ctf_lane(ctf, owner, TACHO_TRACK_COUNTER, name, 0, number),
		       event->time_ns,
		       (gdouble)ctf_event_integer(event, plan->fields[FREQUENCY_KHZ]));
}

void ctf_kernel_end_trace(struct ctf_import *ctf)
{
	FOR_EACH(const struct ctf_core, core, ctf->cores) {
		if (core->row == TACHO_NONE)
			continue;
		ctf_end_slice(ctf, core->row, ctf->last_ns, 0, 0);
		ctf->timeline->slices.flags[core->row] |= TACHO_SLICE_OPEN;
	}
	g_array_set_size(ctf->cores, 0);
}

const struct ctf_rule ctf_kernel_rules[] = {
	{ .event = "sched_switch",
	  .handle = handle_switch,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "prev_tid", "prev_comm", "next_tid", "next_comm", "prev_state" } },
	{ .event = "sched_waking",
	  .handle = handle_wake,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "tid" } },
	{ .event = "sched_wakeup",
	  .handle = handle_wake,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "tid" } },
	{ .event = "mm_vmscan_direct_reclaim_begin", .handle = handle_reclaim_begin },
	{ .event = "mm_vmscan_direct_reclaim_end", .handle = handle_reclaim_end },
	{ .event = "block_rq_issue",
	  .handle = handle_block_issue,
	  .fields = { "dev", "sector", "rwbs", "tid" } },
	{ .event = "block_rq_complete",
	  .handle = handle_block_complete,
	  .fields = { "dev", "sector" } },
	{ .event = "sched_process_fork",
	  .handle = handle_owner,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "child_tid", "child_pid", "child_comm" } },
	{ .event = "lttng_statedump_process_state",
	  .handle = handle_owner,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "tid", "pid", "name" } },
	{ .event = "power_cpu_frequency",
	  .handle = handle_frequency,
	  .fields = { "cpu_id", "state" } },
	{ 0 },
};

/* --- memory of programs: lttng-ust's library in front of malloc -------------------------------- */

static void add_memory(struct ctf_import *ctf, const struct ctf_event *event, gint address,
		       gint64 bytes)
{
	TachoMemoryEvent row = { .time_ns = event->time_ns, .bytes = bytes };

	row.address = (guint64)ctf_event_integer(event, address);
	if (!row.address)
		return; /* free(NULL), or there was no memory */
	row.track = ctf_thread_track(ctf, ctf->thread);
	g_array_append_val(ctf->timeline->memory, row);
}

enum memory_field { MEMORY_ADDRESS, MEMORY_BYTES, MEMORY_OTHER };

static void handle_malloc(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	gint64 bytes = ctf_event_integer(event, plan->fields[MEMORY_BYTES]);
	gint64 n = plan->fields[MEMORY_OTHER] < 0
			   ? 1
			   : ctf_event_integer(event, plan->fields[MEMORY_OTHER]);

	if (__builtin_mul_overflow(bytes, n, &bytes))
		bytes = 0;
	add_memory(ctf, event, plan->fields[MEMORY_ADDRESS], bytes);
}

static void handle_realloc(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	add_memory(ctf, event, plan->fields[MEMORY_OTHER], 0);
	add_memory(ctf, event, plan->fields[MEMORY_ADDRESS],
		   ctf_event_integer(event, plan->fields[MEMORY_BYTES]));
}

static void handle_free(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	add_memory(ctf, event, plan->fields[MEMORY_ADDRESS], 0);
}

const struct ctf_rule ctf_memory_rules[] = {
	{ .event = "lttng_ust_libc:malloc", .handle = handle_malloc, .fields = { "ptr", "size" } },
	{ .event = "lttng_ust_libc:calloc",
	  .handle = handle_malloc,
	  .fields = { "ptr", "size", "nmemb" } },
	{ .event = "lttng_ust_libc:realloc",
	  .handle = handle_realloc,
	  .fields = { "ptr", "size", "in_ptr" } },
	{ .event = "lttng_ust_libc:memalign",
	  .handle = handle_malloc,
	  .fields = { "ptr", "size" } },
	{ .event = "lttng_ust_libc:posix_memalign",
	  .handle = handle_malloc,
	  .fields = { "out_ptr", "size" } },
	{ .event = "lttng_ust_libc:free", .handle = handle_free, .fields = { "ptr" } },
	{ 0 },
};
