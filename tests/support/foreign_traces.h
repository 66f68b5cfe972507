/* foreign_traces: what tests of importers share: traces written for a test, samples made by others, damaged copies.
 *
 * Samples are those of $TACHO_SHARED/data, or of shared/data beside the source; the README there says where each
 * is from. */
#ifndef TACHO_FOREIGN_TRACES_H
#define TACHO_FOREIGN_TRACES_H

#include <tacho/import.h>

/* Write a trace into a folder of its own; its path, to be ended with foreign_remove(). */
gchar *foreign_write(const gchar *name, const gchar *bytes, gsize n);
/* Remove the file and its folder, and free the path. */
void foreign_remove(gchar *path);

/* Open the trace; not correlated. An error ends the test. */
TachoTimeline *foreign_open(const gchar *path);
/* The same of a trace in a text, which is removed when it has been read: its args cannot be asked for. */
TachoTimeline *foreign_open_text(const gchar *name, const gchar *text);
/* The same of JSON with ' in place of ". */
TachoTimeline *foreign_open_json(const gchar *name, const gchar *text);
/* Why it cannot be opened, to be freed; that it can be ends the test. */
gchar *foreign_open_fails(const gchar *path);

/* The path of a sample ("timeline/horovod/..."), to be freed. NULL: it is not there, and the test is to be
 * skipped, which has been said. */
gchar *foreign_sample(const gchar *name);

/* That sample, opened and correlated; NULL as above. */
TachoTimeline *foreign_open_sample(const gchar *name);

guint foreign_count_kind(const TachoTimeline *timeline, TachoSliceKind kind);

/* Correlate, and ask for everything that is known of each slice. */
void foreign_use(TachoTimeline *timeline);

/* Copies of the file with bits turned and ends cut off, always the same ones: each gives an error or a timeline,
 * which is then used. */
void foreign_damage(const gchar *path, guint n_copies);

/* Copies of the folder, in each of which one file, in turns, has bits turned or its end cut off, always the same ones:
 * each gives an error or a timeline, which `use` is then given. */
void foreign_damage_folder(const gchar *path, guint n_copies, void (*use)(TachoTimeline *));

/* For fuzz targets: whatever bytes, in a file called `name`, which the first call of a program chooses. Its path, which is
 * the callee's; the next call replaces what is in it. */
const gchar *foreign_fuzz_file(const gchar *name, const guint8 *bytes, gsize n);
/* The same, opened as a trace and used. */
int foreign_fuzz(const gchar *name, const guint8 *bytes, gsize n);

#endif
