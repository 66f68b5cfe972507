/* follow_report: the step view of a run while it is being written: each row when its step has ended. */
#ifndef TACHO_FOLLOW_REPORT_H
#define TACHO_FOLLOW_REPORT_H

#include <glib.h>

/* Follow the runs that argv names from argv[1] on until they are over, or somebody interrupts. Prints for `command`. Returns its exit
 * status. */
int follow_report_run(const gchar *command, gboolean is_json, int argc, char **argv);

/* Make ready to follow: from here on SIGINT and SIGTERM are only noted, and memory is kept from one look to the next. */
void follow_begin(void);
/* Whether one of the two has come since. */
gboolean follow_is_interrupted(void);
/* Sleep, or until a signal comes. */
void follow_pause(guint milliseconds);

#endif
