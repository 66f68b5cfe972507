/* export_scope: what of a timeline goes out: all of it, or a rank, or some steps. */
#ifndef TACHO_EXPORT_SCOPE_H
#define TACHO_EXPORT_SCOPE_H

#include <tacho/export.h>

struct export_scope {
	const TachoTimeline *timeline;
	struct export_window *windows; /* one a rank, by rank_index */
	const guint8 *only;	       /* of the options */
};

/* False: the run has no such rank or steps. */
gboolean export_scope_init(struct export_scope *scope, const TachoTimeline *timeline,
			   const TachoExportOptions *options, GError **error);
void export_scope_release(struct export_scope *scope);

/* Whether all of the timeline goes out. */
gboolean export_scope_is_whole(const struct export_scope *scope);
/* Whether all of the process does, whenever it was. */
gboolean export_scope_has_all(const struct export_scope *scope, guint32 process);
gboolean export_scope_has_process(const struct export_scope *scope, guint32 process);
/* Whether what happened at `time_ns` on `track` goes out. */
gboolean export_scope_has_moment(const struct export_scope *scope, guint32 track, gint64 time_ns);
gboolean export_scope_has_slice(const struct export_scope *scope, guint32 slice);
gboolean export_scope_has_step(const struct export_scope *scope, const TachoStep *step);

#endif
