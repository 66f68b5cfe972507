/* export_walk: a timeline told as what every viewer of traces shows: processes with tracks, on the
 * tracks slices that nest, moments and counts. A target gives the functions that write these down
 * in its format; the walk decides what there is, in which order and under which numbers:
 *
 *     process "rank 0 (host, pid N)"
 *       steps             the rank's steps, on its main process
 *       allocated         bytes, over time
 *       counters          as the job named them
 *       gpu 0 ... %       how much of each device is filled, over time
 *       threads           ops, annotations, modules and waits, kernels nested under them
 *       collectives ...   as many tracks of one name as overlap
 *
 * (1) A track is described before its first event, and only when it has one; a process always.
 * (2) On one track, events are in the order of time; slices nest, and each begin has its end.
 * (3) The same timeline makes the same calls.
 * (4) Memory needed does not grow with the events, but for the order of rows, and the kernels of one device. */
#ifndef TACHO_EXPORT_WALK_H
#define TACHO_EXPORT_WALK_H

#include "export/slice_links.h"
#include "trace/slice_args.h"

enum export_track_kind {
	EXPORT_TRACK_PROCESS, /* the process itself, and what concerns all of it */
	EXPORT_TRACK_STEPS,
	EXPORT_TRACK_BYTES, /* a counter of bytes */
	EXPORT_TRACK_COUNTER,
	EXPORT_TRACK_SHARE, /* a counter of percent */
	EXPORT_TRACK_THREAD,
	EXPORT_TRACK_LANE, /* of what overlaps; lanes of one name belong together */
};

/* Names are valid UTF-8, good during the call. */
struct export_track {
	enum export_track_kind kind;
	guint32 number;		/* 1, 2 ... */
	guint32 process;	/* index in the timeline */
	guint32 process_number; /* of the process's track; its own for a process */
	gint32 pid, tid;	/* for the viewer; tid 0: of no thread */
	gint32 order;		/* among the processes, or among the process's tracks */
	const gchar *name;
};

struct export_slice {
	gint64 start_ns, end_ns;
	const gchar *name; /* as recorded: may be no UTF-8 */
	const gchar *category;
	gboolean is_open;
	const struct slice_args *args;
	const struct slice_link
		*links; /* its flows; the begin of one comes before the end in time */
	guint32 n_links;
};

struct export_moment {
	gint64 time_ns;
	const gchar *name, *category;
	const struct slice_args *args;
};

struct export_target {
	void (*track)(const struct export_track *track, gpointer data);
	void (*begin)(const struct export_track *track, const struct export_slice *slice,
		      gpointer data);
	void (*end)(const struct export_track *track, gint64 end_ns, gpointer data); /* or NULL */
	void (*moment)(const struct export_track *track, const struct export_moment *moment,
		       gpointer data);
	void (*count)(const struct export_track *track, gint64 time_ns, gdouble value,
		      gpointer data);
	void (*share)(const struct export_track *track, gint64 time_ns, gdouble percent,
		      gpointer data);
	gboolean (*has_failed)(gpointer data); /* the rest need not be told */
};

/* False: nothing to tell; see export_scope_init(). */
gboolean export_walk(const TachoTimeline *timeline, const TachoExportOptions *options,
		     const struct export_target *target, gpointer data, GError **error);

#endif
