/* ctf_rocm: the tracepoints that AMD has put into its own HIP and HSA runtimes (LTTng-UST, providers rocm_hip and rocm_hsa), in
 * the forms that they have had. Facts about them: rocm_hip_tp.h and rocm_hsa_tp.h of ROCm's rocm-systems, and the script there
 * that makes an event of each function.
 *
 * (1) A function has one event, which comes twice: its field "phase" is 0 where the call begins, and 1 where it ends. Earlier
 *     versions had hip_api_enter, hip_api_exit_status and their kin, with the function's name in "api_name".
 * (2) What a function has in arguments above what one event may have comes in others, NAME_2 ..., right after: they are moments.
 * (3) They tell what was given to a queue, and not when it ran: there are no kernels. */
#include <string.h>

#include "import/ctf/ctf_import.h"

enum rocm_field { ROCM_PHASE };
enum rocm_phase { PHASE_ENTER, PHASE_EXIT };

/* (2) "rocm_hip:hipMemcpy3D_2", where there is a "rocm_hip:hipMemcpy3D" as well. */
static gboolean is_further_part(const struct ctf_import *ctf, const gchar *name)
{
	const gchar *end = strrchr(name, '_');
	g_autofree gchar *whole = NULL;

	if (!end || end[1] < '2' || end[1] > '9' || end[2])
		return FALSE;
	whole = g_strndup(name, (gsize)(end - name));
	return ctf_reader_has_class(ctf->reader, whole);
}

static void handle_call(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	const gchar *name = event->class->name, *colon = strchr(name, ':');
	struct ctf_frame frame = { .offset = event->offset };

	if (plan->fields[ROCM_PHASE] < 0 || !colon || is_further_part(ctf, name)) {
		ctf_handle_instant(ctf, plan, event);
		return;
	}
	frame.pair = tacho_timeline_intern(ctf->timeline, name, colon - name);
	frame.key = tacho_timeline_intern(ctf->timeline, colon + 1, -1);
	switch (ctf_event_integer(event, plan->fields[ROCM_PHASE])) {
	case PHASE_ENTER:
		ctf_push_frame(ctf, ctf->thread, TACHO_SLICE_RUNTIME, frame.key, frame,
			       event->time_ns);
		return;
	case PHASE_EXIT:
		if (ctf_pop_frame(ctf, ctf->thread, frame.pair, frame.key, event))
			return;
		ctf->n_unmatched += ctf->thread->has_begun;
		break;
	default:
		break;
	}
	ctf_handle_instant(ctf, plan, event);
}

#define CALL(event_name, handler, id)                                                              \
	{                                                                                          \
		.event = event_name, .handle = handler, .kind = TACHO_SLICE_RUNTIME, .pair = id,   \
		.label = "api_name", .key = "api_name"                                             \
	}
#define FUNCTIONS(provider)                                                                        \
	{                                                                                          \
		.event = provider, .handle = handle_call, .kind = TACHO_SLICE_EVENT, .fields = {   \
			"phase"                                                                    \
		}                                                                                  \
	}

const struct ctf_rule ctf_rocm_rules[] = {
	CALL("rocm_hip:hip_api_enter", ctf_handle_begin, "rocm_hip"),
	CALL("rocm_hip:hip_api_exit_*", ctf_handle_end, "rocm_hip"),
	CALL("rocm_hsa:hsa_api_enter", ctf_handle_begin, "rocm_hsa"),
	CALL("rocm_hsa:hsa_api_exit_*", ctf_handle_end, "rocm_hsa"),
	{ .event = "rocm_hip:hip_kernel_dispatch_enqueue",
	  .handle = ctf_handle_instant,
	  .kind = TACHO_SLICE_EVENT,
	  .label = "kernel_name",
	  .prefix = "enqueue " },
	FUNCTIONS("rocm_hip:*"),
	FUNCTIONS("rocm_hsa:*"),
	{ 0 },
};
