/* chrome_events: the events of a Chrome trace ("trace event format"), one after the other, as those write
 * them who read half of its specification.
 *
 * It takes an object with "traceEvents", the array alone, or events without any bracket, an array that is never
 * closed, commas too many or missing, numbers in quotes, ids that are texts or fractions. What is broken is passed
 * over and counted (json_elements.h). Any other file of JSON objects, a line each, can be read so, too: what
 * events do not have is found by chrome_event_member().
 *
 * (1) Ends find their begins: an 'E' of a thread, an 'e' of an id, a 'D' of an object is handed out with what the
 *     caller noted at its begin (`mate`). An end with a name ends the last open begin of that name, one without
 *     ends the last.
 * (2) What is open at the end of the file is ended there: an end like any other, but `is_unended`.
 * (3) An end without a begin is counted and not handed out. All else is, in the order of the file.
 * (4) Texts are strings of the timeline. Names of threads, processes and ids that are no whole numbers are a
 *     string id with CHROME_TEXT_ID. */
#ifndef TACHO_CHROME_EVENTS_H
#define TACHO_CHROME_EVENTS_H

#include <tacho/timeline.h>

#include "import/import_format.h"
#include "import/read/json_elements.h"
#include "import/chrome/chrome_facts.h"

#define CHROME_TEXT_ID ((gint64)1 << 62)

struct chrome_event {
	gchar phase; /* "ph"; 0: none, or a text of several letters */
	gchar scope; /* "s" of an instant: 'g', 'p', 't'; 0: none */
	gboolean has_time, has_id;
	gboolean is_enclosing; /* "bp": "e" */
	gboolean is_unended;   /* (2) */
	gint64 pid, tid;       /* (4); 0: none */
	gint64 id;	       /* "id" or "id2" */
	guint32 name, category;
	gint64 time_ns, duration_ns; /* of an end: since its begin; < 0: none */
	guint32 mate; /* to be set at a begin ('B', 'b', 'S', 'N'): handed out with its end, and with what lies
		       * between ('n', 'T', 'p', 'O'; TACHO_NONE: it has no begin) */
	/* Good during the call: */
	const gchar *at, *end;		 /* the event itself */
	const gchar *args_at, *args_end; /* the object "args"; NULL: none, always so of (2) */
	guint64 offset, args_offset;	 /* in the decoded file, for json_file.h; 0: no args */
};

/* A file that has been read. Zeroed storage is none; to be released. */
struct chrome_file {
	const gchar *path;
	struct chrome_facts facts; /* what stands around the events */
	struct json_elements elements;
	guint64 n_events;	 /* handed out, without (2) */
	guint64 n_unmatched;	 /* (3) */
	guint64 n_unended;	 /* (2) */
	guint64 n_bad_texts;	 /* names that are not UTF-8 */
	gint64 first_ns;	 /* the least time above 0; G_MAXINT64: none */
	gint64 last_ns;		 /* the end of the last event; G_MININT64: none */
	gboolean has_fraction;	 /* times finer than a microsecond */
	gboolean has_end;	 /* of the list of events, and of what is behind it */
	gboolean is_bare;	 /* it began without a bracket */
	gboolean is_tail_broken; /* what is behind the list, at: */
	guint64 tail_offset;
	GError *failure; /* why nothing more could be read */
};

typedef void (*ChromeEventFunc)(struct chrome_event *event, gpointer data);

/* Read the file at `path` (which must outlast `file`), decoded where it is compressed, and hand out its events;
 * their texts are strings of import->timeline. False: it is no such file, or nothing of it can be read. What is
 * broken behind its first event is no failure: `file` tells of it. */
gboolean chrome_events_read(struct chrome_file *file, const gchar *path, struct import *import,
			    ChromeEventFunc func, gpointer data, GError **error);
void chrome_file_release(struct chrome_file *file);
/* Make problems of the timeline of what was broken. */
void chrome_file_report(const struct chrome_file *file, TachoTimeline *timeline);

/* Find a member of the event's args, or of the event itself: a scan at its value. */
gboolean chrome_event_arg(const struct chrome_event *event, const gchar *key,
			  struct json_scan *value);
gboolean chrome_event_member(const struct chrome_event *event, const gchar *key,
			     struct json_scan *value);
/* The same as a whole number (rounded), in quotes or not, or as a string of the timeline (of anything but a
 * string: its text as it stands). False: there is none. */
gboolean chrome_event_arg_integer(const struct chrome_event *event, const gchar *key,
				  gint64 *ret_value);
gboolean chrome_event_arg_text(const struct chrome_event *event, const gchar *key,
			       TachoTimeline *timeline, guint32 *ret_text);

/* Whether a pid, tid or id is a text, and which. */
static inline gboolean chrome_id_is_text(gint64 id)
{
	return id >= 0 && id & CHROME_TEXT_ID;
}
static inline const gchar *chrome_id_text(const TachoTimeline *timeline, gint64 id)
{
	return chrome_id_is_text(id)
		       ? tacho_timeline_string(timeline, (guint32)(id & ~CHROME_TEXT_ID))
		       : NULL;
}

#endif
