/* byteps_log: logs of BytePS: messages between workers and servers, and what a server does with them. */
#ifndef TACHO_BYTEPS_LOG_H
#define TACHO_BYTEPS_LOG_H

#include "import/import_format.h"

/* Whether a file begins as one of the two. */
gboolean byteps_log_sniff(const gchar *head);
/* Read it as a process of its own. False: it cannot be opened. */
gboolean byteps_log_read(struct import *import, const gchar *path, GError **error);

#endif
