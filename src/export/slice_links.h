/* slice_links: what hangs on a slice from other tables: the flows that leave and reach it, the
 * collective it is a member of. Sorted by slice, so that an export which goes through the slices in
 * order finds a slice's links by walking along. */
#ifndef TACHO_SLICE_LINKS_H
#define TACHO_SLICE_LINKS_H

#include "export/export_scope.h"

enum slice_link_kind {
	SLICE_LINK_COLLECTIVE, /* row: of collectives */
	SLICE_LINK_FLOW_BEGIN, /* row: of flows */
	SLICE_LINK_FLOW_END,
};

struct slice_link {
	guint32 slice;
	guint32 kind; /* enum slice_link_kind */
	guint32 row;
};

struct slice_links {
	GArray *links; /* struct slice_link */
	guint32 at;
};

/* Flows of which one end is out of scope are left out. A flow begins at the end that comes first in
 * (time, slice), whatever it is called in the table: viewers draw no arrow back in time. */
void slice_links_init(struct slice_links *links, const struct export_scope *scope);
void slice_links_release(struct slice_links *links);
/* The links of `slice`, which must not be lower than the one asked for before. */
const struct slice_link *slice_links_next(struct slice_links *links, guint32 slice, guint32 *ret_n);
/* The collective among the links of one slice, or NULL. */
const TachoCollective *slice_links_membership(const TachoTimeline *timeline,
					      const struct slice_link *links, guint32 n_links);

#endif
