/* diff_cells: what each name has in each step, over all ranks.
 *
 * There is a cell only where there is something, so that there are never more cells than slices, whatever numbers the steps
 * have. Rows and cells stand in the order in which they were first met. */
#ifndef TACHO_DIFF_CELLS_H
#define TACHO_DIFF_CELLS_H

#include <tacho/timeline.h>

struct diff_cell {
	guint32 row, step; /* places in `rows`, and of the step */
	gdouble ns;
	gint64 count;
};

struct diff_name {
	guint32 name;	/* string id */
	guint32 latest; /* its cell used last: slices of a step come together; TACHO_NONE */
};

struct diff_cells {
	GArray *rows;	     /* struct diff_name */
	GArray *cells;	     /* struct diff_cell */
	GHashTable *by_name; /* string id -> place in rows, plus 1 */
	GHashTable *by_cell; /* gint64 row << 32 | step -> place in cells, plus 1 */
};

void diff_cells_init(struct diff_cells *cells);
void diff_cells_release(struct diff_cells *cells);

/* Something of that name took `ns` in the step. */
void diff_cells_add(struct diff_cells *cells, guint32 name, guint32 step, gdouble ns);

/* The name that stands for `name` in the rows. */
typedef guint32 (*DiffNamer)(gpointer data, guint32 name);

/* Where several processes sum up a run together: make the cells those of all their ranks. Steps are below `n_steps`. All
 * call it, for the same cells; `namer` NULL: names stand for themselves. */
void diff_cells_share(struct diff_cells *cells, const TachoTimeline *timeline, guint32 n_steps,
		      DiffNamer namer, gpointer data);

#endif
