/* byteps_timeline: what dPRO makes of BytePS's logs, and may be all that is left of them: `comm_timeline.json` (messages
 * between workers and servers) and `server_timeline.json` (work of servers). */
#ifndef TACHO_BYTEPS_TIMELINE_H
#define TACHO_BYTEPS_TIMELINE_H

#include "import/byteprofile/byteps_log.h"

/* Whether a file begins as one of the two; as the second. */
gboolean byteps_timeline_sniff(const gchar *head);
gboolean byteps_timeline_is_of_servers(const gchar *head);
/* Read it: the same comes of it as of the logs. */
gboolean byteps_timeline_read(struct import *import, const gchar *path, struct byteps_job *job,
			      GError **error);

#endif
