/* lttng_session: a recording session of LTTng for one run: made, started, stopped and destroyed by the program lttng, which starts a
 * session daemon where none runs. docs/lttng.md says what is in it. */
#ifndef TACHO_LTTNG_SESSION_H
#define TACHO_LTTNG_SESSION_H

#include <glib.h>

typedef struct _LttngSession LttngSession;

/* The library that has the records told to LTTng, to be freed; NULL with an error that says what to install: it is not there, or
 * does not load. */
gchar *lttng_session_find_library(GError **error);

/* Make and start a session that writes into the run at `run` (absolute), or sends to `url`, which may be NULL. NULL with an error. To
 * be ended with lttng_session_stop(). */
LttngSession *lttng_session_start(const gchar *run, const gchar *url, GError **error);
const gchar *lttng_session_name(const LttngSession *session);
/* Stop it, so that all is written, and destroy it. FALSE with an error: its daemon is gone, or will not. Frees it in any case. NULL
 * is fine. */
gboolean lttng_session_stop(LttngSession *session, GError **error);

#endif
