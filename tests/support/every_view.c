#include "every_view.h"

void every_view_use(const TachoTimeline *timeline, const TachoFilter *filter)
{
	static TachoTable *(*const views[])(const TachoTimeline *, const TachoFilter *) = {
#define VIEW(name, parts, text) tacho_view_##name,
		TACHO_VIEWS(VIEW)
#undef VIEW
	};

	for (guint i = 0; i < G_N_ELEMENTS(views); i++)
		tacho_table_free(views[i](timeline, filter));
}
