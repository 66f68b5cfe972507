/* pprof_writer: a profile in pprof's format: samples, each a stack of functions with values. A gzip file, as pprof
 * wants it.
 * (1) A function, and its one location, is a distinct name; its id is that of the name's string.
 * (2) String 0 is empty and no function's name, so that no id is 0, which the format forbids. */
#ifndef TACHO_PPROF_WRITER_H
#define TACHO_PPROF_WRITER_H

#include <stdio.h>

#include <tacho/export.h>

/* What a value of every sample is: "time" in "nanoseconds". */
struct pprof_type {
	const gchar *type, *unit;
};

typedef struct pprof_writer pprof_writer;

/* A writer of a profile with the times of `timeline`. `types` must outlive it; the last is what viewers show first. */
pprof_writer *pprof_writer_new(const TachoTimeline *timeline, const struct pprof_type *types,
			       guint n_types);
void pprof_writer_free(pprof_writer *writer);

/* The id of a function, which is made where there is none of that name. `file` NULL: not known. */
guint64 pprof_writer_function(pprof_writer *writer, const gchar *name, const gchar *file,
			      gint64 line);
/* A sample: the ids of its functions, the innermost first, and a value of each type. */
void pprof_writer_sample(pprof_writer *writer, const guint64 *stack, guint n_stack,
			 const gint64 *values);
/* Write the file. The same samples give the same bytes. */
gboolean pprof_writer_write(pprof_writer *writer, FILE *out, GError **error);

#endif
