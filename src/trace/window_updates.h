/* window_updates: what of a window says that the model was updated ("Optimizer.step#..."): by these its steps can be counted
 * without reading it. */
#ifndef TACHO_WINDOW_UPDATES_H
#define TACHO_WINDOW_UPDATES_H

#include <glib.h>

#include "trace/trace_metadata.h"

struct mapped_file;

/* Of one process. */
struct window_updates {
	GArray *regions;      /* struct update_region, each stream's in order */
	GByteArray *class_is; /* by class: enum class_is */
	gboolean has_unknown; /* there was a record whose class the metadata did not name yet */
};

void window_updates_init(struct window_updates *updates);
void window_updates_release(struct window_updates *updates);

enum class_is { CLASS_IS_UNKNOWN, CLASS_IS_OTHER, CLASS_IS_UPDATE };

/* Whether records of the class are updates, where that is not in `class_is` yet. */
gboolean window_updates_learn(struct window_updates *updates, const struct trace_metadata *metadata,
			      const struct tacho_string_table *strings, guint32 class_id);

static inline gboolean window_updates_takes(struct window_updates *updates,
					    const struct trace_metadata *metadata,
					    const struct tacho_string_table *strings,
					    guint32 class_id)
{
	if (G_LIKELY(class_id < updates->class_is->len &&
		     updates->class_is->data[class_id] != CLASS_IS_UNKNOWN))
		return updates->class_is->data[class_id] == CLASS_IS_UPDATE;
	return window_updates_learn(updates, metadata, strings, class_id);
}

/* The record at `offset` of the file, which has to be told to window_updates_forget() before it is closed. */
void window_updates_add(struct window_updates *updates, const struct mapped_file *file,
			guint64 offset);
void window_updates_forget(struct window_updates *updates, const struct mapped_file *file);
/* Forget those that had ended at `cut_unix_ns`. */
void window_updates_cut(struct window_updates *updates, const struct trace_clock *clock,
			gint64 cut_unix_ns);
/* When those that are over ended, by time: gint64 Unix ns. The caller's. */
GArray *window_updates_list(const struct window_updates *updates, const struct trace_clock *clock);

#endif
