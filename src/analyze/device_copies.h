/* device_copies: the copies and fills of each device, by kind. */
#ifndef TACHO_DEVICE_COPIES_H
#define TACHO_DEVICE_COPIES_H

#include "analyze/copy_rate.h"
#include "analyze/selection.h"
#include "analyze/table_columns.h"

struct device_copy {
	guint32 process;
	gint32 device;
	struct copy_rate rate;
	gint64 begin_ns, end_ns;
};

/* The copies (struct device_copy) that the filter's rank, device and name take, by process, device, kind and time; the
 * caller's. Those of a kind stand together: device_copies_end() is where the next kind begins. */
GArray *device_copies(const struct selection *selection);
guint device_copies_end(const GArray *copies, guint first);

/* Whether it has a rate, and takes time: else it is in no curve. */
gboolean device_copy_is_measured(const struct device_copy *copy);

/* The changes (struct curve_change) of how many GB/s those from `first` up to `end` move together; the caller's. */
GArray *device_copies_changes(const GArray *copies, guint first, guint end);

/* Begin a row with where copies are, in these columns: the rank, the device, the kind of `copy`. */
#define DEVICE_COPY_COLUMNS                                                                        \
	INTEGER_COLUMN("rank", "rank"), TEXT_COLUMN("device", "device"), TEXT_COLUMN("kind", "kind")
void device_copy_row(TachoTable *table, const TachoTimeline *timeline,
		     const struct device_copy *copy);

/* Tell under a table that `n` copies are in no curve. */
void note_unmeasured_copies(TachoTable *table, guint64 n);
/* Tell why a table of copies is empty. */
void note_no_copies(TachoTable *table, const struct selection *selection);

#endif
