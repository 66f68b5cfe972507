/* property_jobs: made-up jobs of many kinds, as timelines' text (timeline_text.h), small enough to ask them everything. */
#ifndef TACHO_PROPERTY_JOBS_H
#define TACHO_PROPERTY_JOBS_H

#include <glib.h>

struct made_up_job {
	const gchar *name;
	gchar *text;
};

enum { MADE_UP_DEVICES = 5 }; /* place of "devices", of two accelerators */

/* struct made_up_job; to be freed with g_ptr_array_unref(). */
GPtrArray *made_up_jobs(void);

#endif
