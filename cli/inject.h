/* inject: have a thread in another process ask its agent something: attach_room.h. */
#ifndef TACHO_INJECT_H
#define TACHO_INJECT_H

#include <glib.h>

#include "target.h"

typedef struct {
	gchar *text;	   /* what the agent said, the caller's; NULL: nothing */
	gint64 stopped_us; /* so long a thread was stopped */
} Answer;

/* Ask `request` (trace/attach_layout.h). `library`: where the target finds libtacho.so, should it not have it. FALSE with the
 * reason. */
gboolean inject_request(Target *target, const gchar *library, const gchar *request,
			Answer *ret_answer, GError **error);

#endif
