/* ctf_kernel: what a trace of the Linux kernel tells: who had which core, which thread is of which process.
 *
 * Each core has a track of its own, of a process "cores" that its host has: a slice for each stay of a thread. */
#include "import/ctf/ctf_import.h"

#include "base/for_each.h"

enum { MAX_CORES = 1 << 16 };

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

	return ctf_lane(ctf, owner, TACHO_TRACK_THREAD, name, 0, number);
}

static struct ctf_thread *name_thread(struct ctf_import *ctf, guint32 host, guint32 tid,
				      guint32 name)
{
	struct ctf_thread *thread = ctf_thread_of(ctf, NULL, host, tid);

	if (name)
		thread->name = name;
	return thread;
}

enum switch_field { PREV_TID, PREV_COMM, NEXT_TID, NEXT_COMM };

static void handle_switch(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct ctf_core *core = find_core(ctf, event->cpu);
	guint32 host = ctf_host(ctf, event), name;
	guint32 previous = (guint32)ctf_event_integer(event, plan->fields[PREV_TID]);
	guint32 next = (guint32)ctf_event_integer(event, plan->fields[NEXT_TID]);

	if (!core) { /* without its core, it is a moment like others */
		ctf_handle_instant(ctf, plan, event);
		return;
	}
	if (previous)
		name_thread(ctf, host, previous,
			    ctf_intern_field(ctf, event, plan->fields[PREV_COMM]));
	name = ctf_intern_field(ctf, event, plan->fields[NEXT_COMM]);
	ctf_end_slice(ctf, core->row, event->time_ns, 0, 0);
	core->row = TACHO_NONE;
	core->thread = NULL;
	if (!next) /* nobody, the core idles: each has an idle thread of its own, all with number 0 */
		return;
	core->thread = name_thread(ctf, host, next, name);
	core->row = ctf_add_slice(ctf, TACHO_SLICE_EVENT, core_track(ctf, host, event->cpu), name,
				  event->time_ns, 0, TACHO_SLICE_OPEN, event->offset);
}

/* A thread is of that process. */
static void set_owner(struct ctf_import *ctf, guint32 host, guint32 tid, guint32 pid, guint32 name)
{
	struct ctf_thread *thread = name_thread(ctf, host, tid, name);
	struct ctf_owner *owner = ctf_owner_of_pid(ctf, host, pid);

	thread->owner = owner;
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
	  .fields = { "prev_tid", "prev_comm", "next_tid", "next_comm" } },
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
