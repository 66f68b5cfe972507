/* proc_text: what /proc says of a process, in a line. */
#ifndef TACHO_PROC_TEXT_H
#define TACHO_PROC_TEXT_H

#include <glib.h>

#define PROC_TEXT_BYTES 1024

/* The first PROC_TEXT_BYTES - 1 bytes of /proc/PID/NAME; "", and FALSE, where there is none. */
gboolean proc_text_read(guint32 pid, const gchar *name, gchar text[PROC_TEXT_BYTES]);

#endif
