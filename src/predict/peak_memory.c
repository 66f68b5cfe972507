/* peak_memory: the most that one memory of a rank held, the host's or a device's, of what its allocators' probes
 * saw. What was handed out before the recording is worth nothing. */
#include "replay/replay_internal.h"

#include "analyze/memory_blocks.h"
#include "predict/prediction.h"

gint64 peak_memory_bytes(const TachoGraph *graph)
{
	const TachoTimeline *timeline = graph->timeline;
	gint64 peak_bytes = -1;

	if (graph->told)
		return graph->told->peak_bytes;
	for (guint i = 0; i < timeline->ranks->len; i++)
		peak_bytes = MAX(peak_bytes,
				 memory_peak_of_process(
					 timeline, tacho_timeline_rank(timeline, i)->main_process));
	return peak_bytes;
}
