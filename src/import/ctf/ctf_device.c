/* ctf_device: what devices did, told late, with times of their own: put where it belongs.
 *
 * (1) An event that tells of a device carries the true time in its field "timestamp". Which clock that is, is in
 *     its rule. A time that is hours from when it was told is not believed.
 * (2) The clock of an OpenCL device is fitted to the host's by what cannot be otherwise: a command is queued within
 *     the call that asks for it, and ends before its callback:
 *
 *         call begins - queued <= shift <= call ends - queued,  shift <= callback - end
 *
 *     All commands together leave an interval, whose middle is taken. If it is empty, the clock drifts: then a line between
 *     all of these bounds says the shift at each moment (trace/clock_pair.h). A mark "device clock" tells what was found.
 * (3) Which launch is of which kernel, ctf_work.h says: queue by queue where both sides name queue and kernel. Fills
 *     of memory are kernels that nobody launched. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/ctf/ctf_import.h"
#include "trace/clock_pair.h"

#define HOUR_NS (G_GINT64_CONSTANT(3600) * 1000000000)

/* A call that queues a command, and what the device says of when that was queued. */
struct queue_call {
	gint64 begin_ns, end_ns; /* end: G_MAXINT64 until it has ended */
};

struct ctf_device {
	gint64 start_ns;	 /* when the runtime began, 0: not told */
	GArray *api_launches;	 /* struct ctf_work: calls */
	GArray *packet_launches; /* struct ctf_work: what the queue was given */
	GArray *kernels;	 /* struct ctf_work */
	/* (2) */
	GArray *shifted;	  /* guint32 rows with the device's times */
	GArray *calls;		  /* struct queue_call */
	GArray *queued;		  /* gint64, the device's */
	gint64 callback_ns;	  /* G_MININT64: none since the last command */
	struct clock_pair bounds; /* own: the device's clock */
};

static struct ctf_device *device_of(struct ctf_owner *owner)
{
	struct ctf_device *device = owner->device;

	if (device)
		return device;
	device = owner->device = g_new0(struct ctf_device, 1);
	device->api_launches = g_array_new(FALSE, FALSE, sizeof(struct ctf_work));
	device->packet_launches = g_array_new(FALSE, FALSE, sizeof(struct ctf_work));
	device->kernels = g_array_new(FALSE, FALSE, sizeof(struct ctf_work));
	device->shifted = g_array_new(FALSE, FALSE, sizeof(guint32));
	device->calls = g_array_new(FALSE, FALSE, sizeof(struct queue_call));
	device->queued = g_array_new(FALSE, FALSE, sizeof(gint64));
	device->callback_ns = G_MININT64;
	return device;
}

void ctf_device_free(struct ctf_device *device)
{
	if (!device)
		return;
	g_array_unref(device->api_launches);
	g_array_unref(device->packet_launches);
	g_array_unref(device->kernels);
	g_array_unref(device->shifted);
	g_array_unref(device->calls);
	g_array_unref(device->queued);
	clock_pair_release(&device->bounds);
	g_free(device);
}

gint32 ctf_device_number(struct ctf_import *ctf, guint32 name)
{
	gpointer known = g_hash_table_lookup(ctf->device_numbers, GUINT_TO_POINTER(name));
	guint number = g_hash_table_size(ctf->device_numbers);

	if (known)
		return (gint32)GPOINTER_TO_UINT(known) - 1;
	g_hash_table_insert(ctf->device_numbers, GUINT_TO_POINTER(name),
			    GUINT_TO_POINTER(number + 1));
	return (gint32)number;
}

/* --- times ---------------------------------------------------------------------------------- */

static gboolean is_possible(gint64 time_ns)
{
	return time_ns > -TACHO_MAX_TIME_NS && time_ns < TACHO_MAX_TIME_NS;
}

static gint64 convert(struct ctf_import *ctf, const struct ctf_plan *plan,
		      const struct ctf_event *event)
{
	gint64 stamp = ctf_event_integer(event, plan->time_field), time_ns = event->time_ns;
	gboolean is_wrong = FALSE;
	gint64 start_ns;

	switch (plan->clock) {
	case CTF_TIME_MONOTONIC_NS:
		is_wrong = __builtin_add_overflow(stamp, event->stream->clock_offset_ns, &time_ns);
		break;
	case CTF_TIME_UNIX_NS:
	case CTF_TIME_DEVICE_NS:
		time_ns = stamp;
		break;
	case CTF_TIME_UNIX_US:
		is_wrong = __builtin_mul_overflow(stamp, 1000, &time_ns);
		break;
	case CTF_TIME_SINCE_START_NS:
		start_ns = device_of(ctf->thread->owner)->start_ns;
		is_wrong = !start_ns || __builtin_add_overflow(stamp, start_ns, &time_ns);
		break;
	default:
		break;
	}
	return is_wrong ? G_MININT64 : time_ns;
}

/* (1) */
gint64 ctf_device_time_ns(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	gint64 time_ns, apart_ns;

	if (plan->time_field < 0 || plan->clock == CTF_TIME_OF_EVENT)
		return event->time_ns;
	time_ns = convert(ctf, plan, event);
	if (plan->clock == CTF_TIME_DEVICE_NS)
		return time_ns;
	if (!__builtin_sub_overflow(time_ns, event->time_ns, &apart_ns) && apart_ns < HOUR_NS &&
	    apart_ns > -HOUR_NS)
		return time_ns;
	ctf->n_bad_times++;
	return event->time_ns;
}

/* --- what devices do ------------------------------------------------------------------------ */

enum queue_field { QUEUE_AGENT, QUEUE_NUMBER, QUEUE_OBJECT };

/* The queue the event is about, as a string id; 0: it names none. */
static guint32 queue_name(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event, gint32 *ret_device, guint32 *ret_number)
{
	g_autofree gchar *name = NULL;
	guint32 agent;

	if (plan->fields[QUEUE_AGENT] < 0)
		return 0;
	agent = ctf_intern_field(ctf, event, plan->fields[QUEUE_AGENT]);
	*ret_number = (guint32)ctf_event_integer(event, plan->fields[QUEUE_NUMBER]);
	*ret_device = ctf_device_number(ctf, agent);
	name = g_strdup_printf("queue %u of device %d", *ret_number, *ret_device);
	return tacho_timeline_intern(ctf->timeline, name, -1);
}

/* Its track; where events name no queue, one for each of what they are about. */
static guint32 find_queue(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct ctf_owner *owner = ctf->thread->owner;
	guint32 number = g_hash_table_size(owner->tracks);
	gint32 device = 0;
	guint32 name = queue_name(ctf, plan, event, &device, &number);

	return ctf_lane(ctf, owner, TACHO_TRACK_STREAM,
			name ? tacho_timeline_string(ctf->timeline, name) : plan->lane, device,
			number);
}

/* What is to run: the kernel's code object where that is told, else its name. */
static guint32 what_runs(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	gint object = plan->fields[QUEUE_OBJECT];

	return object >= 0 ? ctf_intern_field(ctf, event, object)
			   : ctf_intern_field(ctf, event, plan->label_field);
}

static struct ctf_work make_work(struct ctf_import *ctf, const struct ctf_plan *plan,
				 const struct ctf_event *event, guint32 row)
{
	struct ctf_work work = { .row = row, .reader = ctf->reader, .offset = event->offset };
	guint32 number;
	gint32 device;

	work.queue = queue_name(ctf, plan, event, &device, &number);
	work.what = what_runs(ctf, plan, event);
	work.is_object = plan->fields[QUEUE_OBJECT] >= 0;
	return work;
}

static gchar *device_key(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event, guint32 track)
{
	return g_strdup_printf("device/%u/%u/%u", track, plan->pair,
			       plan->key_field >= 0 ? ctf_intern_field(ctf, event, plan->key_field)
						    : 0);
}

GArray *ctf_kernels_of(const struct ctf_owner *owner)
{
	return owner->device && owner->device->kernels->len ? owner->device->kernels : NULL;
}

void ctf_handle_device_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
			     const struct ctf_event *event)
{
	struct ctf_device *device = device_of(ctf->thread->owner);
	guint32 track = find_queue(ctf, plan, event), row;
	struct ctf_work kernel;
	g_autofree gchar *key = device_key(ctf, plan, event, track);
	gint64 time_ns = ctf_device_time_ns(ctf, plan, event);

	row = ctf_add_slice(ctf, plan->kind, track, ctf_label_of(ctf, plan, event), time_ns, 0,
			    TACHO_SLICE_OPEN, event->offset);
	ctf_begin_pending(ctf, key, row, event->offset, time_ns);
	if (row == TACHO_NONE)
		return;
	if (plan->clock == CTF_TIME_DEVICE_NS)
		g_array_append_val(device->shifted, row);
	if (plan->kind != TACHO_SLICE_KERNEL)
		return;
	kernel = make_work(ctf, plan, event, row);
	kernel.is_fill =
		strstr(tacho_timeline_string(ctf->timeline, ctf->timeline->slices.name[row]),
		       "Memset") != NULL;
	g_array_append_val(device->kernels, kernel);
}

void ctf_handle_device_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	struct ctf_device *device = device_of(ctf->thread->owner);
	g_autofree gchar *key = device_key(ctf, plan, event, find_queue(ctf, plan, event));
	gint64 time_ns = ctf_device_time_ns(ctf, plan, event);
	struct ctf_pending begun;

	if (plan->clock == CTF_TIME_DEVICE_NS && device->callback_ns != G_MININT64) {
		if (is_possible(time_ns) && is_possible(device->callback_ns))
			clock_pair_add_before(&device->bounds, time_ns, device->callback_ns);
		device->callback_ns = G_MININT64;
	}
	if (ctf_take_pending(ctf, key, &begun)) {
		ctf_end_slice(ctf, begun.row, time_ns, begun.offset, event->offset);
		return;
	}
	ctf->n_unmatched++;
	ctf_handle_instant(ctf, plan, event);
}

/* --- OpenCL: queued, submitted, and the host's side ------------------------------------------- */

static void add_device_moment(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	struct ctf_owner *owner = ctf->thread->owner;
	struct ctf_device *device = device_of(owner);
	guint32 track = ctf_lane(ctf, owner, TACHO_TRACK_ASYNC, "queued commands", 0, 0);
	guint32 row = ctf_add_slice(ctf, TACHO_SLICE_EVENT, track, ctf_label_of(ctf, plan, event),
				    ctf_device_time_ns(ctf, plan, event), 0, 0, event->offset);

	if (row != TACHO_NONE && plan->clock == CTF_TIME_DEVICE_NS)
		g_array_append_val(device->shifted, row);
}

void ctf_handle_device_queued(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	gint64 queued_ns = ctf_event_integer(event, plan->time_field);

	add_device_moment(ctf, plan, event);
	if (plan->time_field >= 0)
		g_array_append_val(device_of(ctf->thread->owner)->queued, queued_ns);
}

void ctf_handle_device_submitted(struct ctf_import *ctf, const struct ctf_plan *plan,
				 const struct ctf_event *event)
{
	add_device_moment(ctf, plan, event);
}

void ctf_handle_callback(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	device_of(ctf->thread->owner)->callback_ns = event->time_ns;
	ctf_handle_instant(ctf, plan, event);
}

/* --- launches ------------------------------------------------------------------------------- */

static const gchar *call_name(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	return tacho_timeline_string(ctf->timeline, ctf_label_of(ctf, plan, event));
}

static void note_queue_call(struct ctf_device *device, gint64 time_ns, gboolean is_begin)
{
	struct queue_call call = { .begin_ns = time_ns, .end_ns = G_MAXINT64 };

	if (is_begin)
		g_array_append_val(device->calls, call);
	else if (device->calls->len)
		g_array_index(device->calls, struct queue_call, device->calls->len - 1).end_ns =
			time_ns;
}

/* Calls that queue a command whose times the tracer asks for: all but these. */
static gboolean is_queue_call(const gchar *name)
{
	return g_str_has_prefix(name, "clEnqueue") && !strstr(name, "WaitForEvents") &&
	       !strstr(name, "Barrier");
}

void ctf_note_call(struct ctf_import *ctf, const struct ctf_plan *plan,
		   const struct ctf_event *event, guint32 row)
{
	const gchar *name = call_name(ctf, plan, event);
	struct ctf_work launch = { 0 };
	struct ctf_device *device;

	if (strcmp(name, "hsa_init") == 0)
		device_of(ctf->thread->owner)->start_ns = event->time_ns; /* its end is the later */
	if (is_queue_call(name))
		note_queue_call(device_of(ctf->thread->owner), event->time_ns, row != TACHO_NONE);
	if (row == TACHO_NONE || (!strstr(name, "Launch") && !strstr(name, "NDRangeKernel")))
		return;
	device = device_of(ctf->thread->owner);
	launch.row = row;
	g_array_append_val(device->api_launches, launch);
}

/* A moment that says: a kernel was queued. The call it is in launches it. */
void ctf_handle_launch(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event)
{
	const GArray *frames = ctf->thread->frames;
	guint32 row = ctf->timeline->slices.n;
	struct ctf_work launch;

	ctf_handle_instant(ctf, plan, event);
	if (row == ctf->timeline->slices.n) /* there is no room for it */
		return;
	if (frames->len) {
		guint32 inside = g_array_index(frames, struct ctf_frame, frames->len - 1).row;

		if (inside != TACHO_NONE &&
		    ctf->timeline->slices.kind[inside] == TACHO_SLICE_RUNTIME)
			row = inside;
	}
	launch = make_work(ctf, plan, event, row);
	g_array_append_val(device_of(ctf->thread->owner)->packet_launches, launch);
}

/* The times as they are known now, sorted; without fills where `is_launchable`. */
static GArray *sorted_work(const struct ctf_import *ctf, const GArray *list, gboolean is_launchable)
{
	GArray *sorted = g_array_sized_new(FALSE, FALSE, sizeof(struct ctf_work), list->len);

	for (guint i = 0; i < list->len; i++) {
		struct ctf_work work = *ctf_work_at(list, i);

		work.time_ns = ctf->timeline->slices.start_ns[work.row];
		if (!is_launchable || !work.is_fill)
			g_array_append_val(sorted, work);
	}
	ctf_work_sort(sorted);
	return sorted;
}

/* Where the steps of the process begin. */
static GArray *step_borders(const struct ctf_import *ctf, const struct ctf_owner *owner)
{
	GArray *borders = g_array_new(FALSE, FALSE, sizeof(gint64));

	FOR_EACH(const TachoMark, mark, ctf->timeline->marks) {
		const struct ctf_thread *thread =
			mark->track >= ctf->first_track
				? ctf->track_threads->pdata[mark->track - ctf->first_track]
				: NULL;

		if (thread && thread->owner == owner)
			g_array_append_val(borders, mark->time_ns);
	}
	g_array_sort(borders, order_int64);
	return borders;
}

/* (3) */
static void match_launches(struct ctf_import *ctf, const struct ctf_owner *owner)
{
	const struct ctf_device *device = owner->device;
	const GArray *told = device->api_launches;
	g_autoptr(GArray) kernels = NULL;
	g_autoptr(GArray) borders = step_borders(ctf, owner);
	g_autoptr(GArray) launches = NULL;
	g_autofree guint *matches = NULL;
	guint n_matched = 0;
	gboolean is_guess;

	if (device->packet_launches->len &&
	    (!told->len || device->packet_launches->len >= device->kernels->len ||
	     device->packet_launches->len >= told->len))
		told = device->packet_launches;
	/* fills are packets, too, but nobody's calls */
	kernels = sorted_work(ctf, device->kernels, told == device->api_launches);
	if (!told->len || !kernels->len)
		return;
	launches = sorted_work(ctf, told, FALSE);
	matches = ctf_work_match(launches, kernels, borders, TRUE, &is_guess);
	for (guint i = 0; i < kernels->len; i++) {
		guint32 kernel = ctf_work_at(kernels, i)->row;

		if (matches[i] != CTF_NO_MATCH) {
			tacho_timeline_set_launch(ctf->timeline, kernel,
						  ctf_work_at(launches, matches[i])->row);
			n_matched++;
			continue;
		}
		ctf->n_kernels_without_launch++;
		ctf->unlaunched_ns = clock_map_add(ctf->unlaunched_ns,
						   ctf->timeline->slices.duration_ns[kernel]);
	}
	ctf->n_launches_without_kernel += launches->len - n_matched;
	ctf->n_guessed_launches += is_guess ? n_matched : 0;
}

/* --- the clock of OpenCL devices -------------------------------------------------------------- */

/* (2) The n-th call queues what is queued as the n-th; where there are not as many, nobody knows. */
static void bound_by_calls(struct ctf_device *device)
{
	if (device->calls->len != device->queued->len)
		return;
	g_array_sort(device->queued, order_int64);
	FOR_EACH_AT(const struct queue_call, call, i, device->calls) {
		gint64 queued_ns = g_array_index(device->queued, gint64, i);

		if (!is_possible(queued_ns) || !is_possible(call->begin_ns))
			continue;
		clock_pair_add_after(&device->bounds, queued_ns, call->begin_ns);
		if (call->end_ns != G_MAXINT64 && is_possible(call->end_ns))
			clock_pair_add_before(&device->bounds, queued_ns, call->end_ns);
	}
}

/* The strictest of the bounds; `sign` -1: of those from below. */
static gint64 strictest(const GArray *bounds, gint sign)
{
	gint64 least_ns = G_MAXINT64;

	for (guint i = 0; bounds && i < bounds->len; i++)
		least_ns = MIN(least_ns,
			       sign * g_array_index(bounds, struct clock_bound, i).correction_ns);
	return least_ns == G_MAXINT64 ? G_MAXINT64 : sign * least_ns;
}

/* One shift for all times; false: there is none. */
static gboolean find_shift(const struct clock_pair *bounds, struct clock_fit *fit)
{
	gint64 high_ns = strictest(bounds->above, 1), low_ns = strictest(bounds->below, -1);

	if (high_ns == G_MAXINT64 || low_ns == G_MAXINT64) {
		fit->map.shift_ns = high_ns != G_MAXINT64  ? high_ns
				    : low_ns != G_MAXINT64 ? low_ns
							   : 0;
		fit->uncertainty_ns = -1;
		return TRUE;
	}
	fit->map.shift_ns = low_ns / 2 + high_ns / 2 + (low_ns % 2 + high_ns % 2) / 2;
	fit->uncertainty_ns = (high_ns - low_ns + 1) / 2;
	return low_ns <= high_ns;
}

static void tell_clock(struct ctf_import *ctf, struct ctf_owner *owner, const struct clock_fit *fit)
{
	const struct clock_map *map = &fit->map;
	TachoMark mark = { .name = tacho_timeline_intern(ctf->timeline, "device clock", -1) };
	g_autofree gchar *text = NULL;

	if (fit->uncertainty_ns < 0 || !owner->device->shifted->len)
		return;
	text = g_strdup_printf(
		"%" G_GINT64_FORMAT
		" ns ahead of the host's at first, %.3f ppm fast; its times are right "
		"to %" G_GINT64_FORMAT " ns",
		-map->shift_ns, -1e6 * map->drift / (1 + map->drift), fit->uncertainty_ns);
	mark.text = tacho_timeline_intern(ctf->timeline, text, -1);
	mark.track = ctf_lane(ctf, owner, TACHO_TRACK_ASYNC, "queued commands", 0, 0);
	mark.time_ns =
		ctf->timeline->slices.start_ns[g_array_index(owner->device->shifted, guint32, 0)];
	g_array_append_val(ctf->timeline->marks, mark);
	if (clock_fit_is_doubtful(fit))
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s: process %u: %u of %u bounds of its OpenCL device's "
					   "clock contradict the "
					   "others: its times are right to %" G_GINT64_FORMAT " ns",
					   owner->trace, owner->pid, fit->n_contradicted,
					   fit->n_bounds, fit->uncertainty_ns);
}

static void fit_clock(struct ctf_import *ctf, const struct ctf_owner *owner, struct clock_fit *fit)
{
	const TachoSlices *slices = &ctf->timeline->slices;
	const GArray *rows = owner->device->shifted;
	struct clock_pair *bounds = &owner->device->bounds;
	gint64 from_ns = TACHO_MAX_TIME_NS, to_ns = -TACHO_MAX_TIME_NS;

	if (find_shift(bounds, fit))
		return;
	for (guint i = 0; i < rows->len; i++) {
		gint64 start_ns = slices->start_ns[g_array_index(rows, guint32, i)];

		if (is_possible(start_ns)) {
			from_ns = MIN(from_ns, start_ns);
			to_ns = MAX(to_ns, start_ns);
		}
	}
	clock_pair_fit(bounds, MIN(from_ns, to_ns), to_ns, fit);
}

static void shift_slices(struct ctf_import *ctf, struct ctf_owner *owner)
{
	TachoSlices *slices = &ctf->timeline->slices;
	struct clock_fit fit = { 0 };

	bound_by_calls(owner->device);
	fit_clock(ctf, owner, &fit);
	for (guint i = 0; i < owner->device->shifted->len; i++) {
		guint32 row = g_array_index(owner->device->shifted, guint32, i);
		gint64 start_ns = slices->start_ns[row];
		gint64 end_ns = clock_map_add(start_ns, slices->duration_ns[row]);

		if (!is_possible(start_ns)) {
			ctf->n_bad_times++;
			continue;
		}
		slices->start_ns[row] = clock_map_apply(&fit.map, start_ns);
		if (fit.map.drift != 0)
			slices->duration_ns[row] =
				MAX(clock_map_apply(&fit.map, end_ns) - slices->start_ns[row], 0);
	}
	tell_clock(ctf, owner, &fit);
}

void ctf_device_finish(struct ctf_import *ctf)
{
	FOR_EACH_POINTER(struct ctf_owner, owner, ctf->owners) {
		if (!owner->device)
			continue;
		shift_slices(ctf, owner);
		match_launches(ctf, owner);
	}
}
