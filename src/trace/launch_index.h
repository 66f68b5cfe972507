/* launch_index: which call launched what a device did: by an id that both carry.
 *
 * Ids may come more than once, where traces were merged by hand or a counter began again: then the last
 * call before the device's work is meant. */
#ifndef TACHO_LAUNCH_INDEX_H
#define TACHO_LAUNCH_INDEX_H

#include <glib.h>

struct launch_index *launch_index_new(void);
void launch_index_free(struct launch_index *index);

/* The call in `row` began at `start_ns` and carries `id`. A few dozen calls with one id are remembered; a call for
 * which there is no memory is not. */
void launch_index_add(struct launch_index *index, gint64 id, gint64 start_ns, guint32 row);
/* The row of the last call with `id` that began by `time_ns`; else of the first with it; TACHO_NONE: there
 * is none. For any number of threads, while none adds. */
guint32 launch_index_find(const struct launch_index *index, gint64 id, gint64 time_ns);

#endif
