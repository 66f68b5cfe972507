/* chrome_arrows: the flow events of a Chrome trace as flows between slices.
 *
 * (1) Points of one category, name and id make a chain in the order of their times; an 's' begins another one.
 * (2) A point belongs to the innermost slice of its thread that is open then; an 'f' that does not say
 *     "bp": "e" to the next one that begins, if there is no slice that begins right then. A point that finds no
 *     slice is left out of its chain, and counted. */
#ifndef TACHO_CHROME_ARROWS_H
#define TACHO_CHROME_ARROWS_H

#include "import/chrome/chrome_events.h"

struct chrome_arrows;
struct chrome_row;

struct chrome_arrows *chrome_arrows_new(void);
void chrome_arrows_free(struct chrome_arrows *arrows);
void chrome_arrows_add(struct chrome_arrows *arrows, const struct chrome_event *event,
		       guint32 thread);
/* Add the flows; `rows` are in the order of threads, begins, and longer first. */
void chrome_arrows_resolve(struct chrome_arrows *arrows, TachoTimeline *timeline,
			   struct chrome_row *const *rows, gsize n_rows);

#endif
