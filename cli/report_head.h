/* report_head: the lines that stand above everything said about a run: what it was, and how far it
 * can be trusted. */
#ifndef TACHO_REPORT_HEAD_H
#define TACHO_REPORT_HEAD_H

#include <tacho/info.h>

/* What it was: the command, or the name of the trace; as it stands there. The caller's. */
gchar *report_head_title(const TachoInfo *info);
void report_head_print(const TachoInfo *info, FILE *out, gboolean with_colour);
/* "The job ended with exit status 1."; nothing where it ended well, or nobody knows. */
void report_head_print_end(const TachoInfo *info, FILE *out, gboolean with_colour);
/* "Trust 97 of 100: ..." with the reasons, as the run has them: the first `max_reasons`; `where` tells the command that
 * lists the others. */
void report_head_print_trust(const TachoInfo *info, guint max_reasons, const gchar *where,
			     FILE *out, gboolean with_colour);

/* "2026-11-21 10:39:06 UTC", "at no known time"; the caller's. */
gchar *report_head_time(gint64 unix_ns);
/* "12.3 s", "4 min 5 s", "83 ms"; the caller's. */
gchar *report_head_duration(gint64 duration_ns);
void report_head_heading(const gchar *heading, FILE *out, gboolean with_colour);

#endif
