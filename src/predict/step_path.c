#include "predict/step_path.h"

gint64 step_path_begin_ns(const struct step_span *last)
{
	return last->begin_ns + last->lag_ns;
}

void step_path_visit(const TachoReplay *replay, const struct step_span *last, StepPathVisit visit,
		     gpointer data)
{
	gint64 begin_ns = step_path_begin_ns(last);
	guint32 node = last->node;

	while (node != TACHO_NONE && replay->end_ns[node] > begin_ns) {
		guint32 cause = replay->cause[node];
		gint64 from_ns = begin_ns;

		if (cause != TACHO_NONE)
			from_ns = MAX(begin_ns, replay->end_ns[cause]);
		visit(node, from_ns, replay->end_ns[node], data);
		node = cause;
	}
}
