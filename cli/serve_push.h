/* serve_push: what tacho serve pushes by OpenTelemetry's protocol: its options, and what it says on stderr. */
#ifndef TACHO_SERVE_PUSH_H
#define TACHO_SERVE_PUSH_H

#include "live/live_series.h"

struct serve_push_options {
	gchar *url, *headers_file, *ca_file; /* NULL: not given */
	gdouble interval_s;		     /* 0: not given */
};

void serve_push_options_release(struct serve_push_options *options);

typedef struct _OtlpPush ServePush;

/* Begin to push, where options or variables ask for it; else `*ret_push` is NULL. `instance` tells this process from others of this
 * host. False: it cannot, as was said. */
gboolean serve_push_begin(const struct serve_push_options *options, const gchar *instance,
			  ServePush **ret_push);
/* With each look: counts of pushes are added to `series`. NULL: nothing is done. */
void serve_push_count(ServePush *push, LiveSeries *series);
/* `series` are pushed if it is time. NULL: nothing is done. */
void serve_push_look(ServePush *push, const LiveSeries *series);
void serve_push_end(ServePush *push);

#endif
