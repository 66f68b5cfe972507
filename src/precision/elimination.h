/* elimination: the values of variables that make a sum of tables smallest: variables are taken out one after the other, each with the tables
 * that it stands in, which become one table of the least over its values (bucket elimination: Dechter, "Bucket elimination: a unifying
 * framework for reasoning", Artificial Intelligence 113, 1999).
 *
 * (1) A table has an entry for each combination of its variables' values, that of the last one changing fastest; INFINITY forbids it.
 * (2) The order is by the size of the table that a variable leaves behind, the smallest first, the lowest number among equals.
 *     It depends on which variables stand together only, so that tables can be changed and solved again.
 * (3) Where a removal would look at more than `max_entries` combinations, variables are held at their values, as few as make room, and the others are solved
 *     exactly; then others are held, as long as that gains. The result is then good, not proven.
 * (4) Nothing is random: the same tables give the same values. */
#ifndef TACHO_ELIMINATION_H
#define TACHO_ELIMINATION_H

#include <glib.h>

#define ELIMINATION_MAX_VALUES 255

typedef struct _Elimination Elimination;

/* Combinations that the removal of one variable looks at, its own values among them, are up to `max_entries`. */
Elimination *elimination_new(guint64 max_entries);
void elimination_free(Elimination *elimination);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Elimination, elimination_free)

/* A variable with so many values, 1 to ELIMINATION_MAX_VALUES; its number, from 0. One that follows from others is held last (3), since what it
 * begins with need not fit to them. */
guint32 elimination_add_variable(Elimination *elimination, guint n_values, gboolean follows);
/* A table over `n` different variables, all zero, to be filled through elimination_table(); its number, from 0. */
guint32 elimination_add_table(Elimination *elimination, const guint32 *variables, guint n);
/* Its entries, good until the next table is added. */
gdouble *elimination_table(Elimination *elimination, guint32 table, gsize *ret_n);

struct elimination_result {
	gdouble cost;	     /* INFINITY: all combinations are forbidden, as far as was seen */
	gboolean is_exact;   /* no combination has a smaller one */
	guint width;	     /* variables in the largest table that was made */
	guint64 max_entries; /* its entries */
	guint32 n_held;	     /* variables that were held, at most; 0 where it is exact */
};

/* The best values. `values` are those to begin with where variables must be held, and then the result. */
void elimination_solve(Elimination *elimination, guint8 *values, struct elimination_result *result);

/* What the values cost. */
gdouble elimination_cost(const Elimination *elimination, const guint8 *values);

#endif
