/* sqlite_text: SQLite files for tests, written as SQL. */
#ifndef TACHO_SQLITE_TEXT_H
#define TACHO_SQLITE_TEXT_H

#include <glib.h>

/* Write what the SQL makes into a file in a folder of its own; its path, to be ended with foreign_remove(). An
 * error ends the test. */
gchar *sqlite_text_write(const gchar *name, const gchar *sql);

/* For fuzz targets: whatever bytes, in a file called `name`, opened as a trace and used. They are a database, or, where
 * they do not begin as one, SQL that makes one: as far as it goes. */
int sqlite_text_fuzz(const gchar *name, const guint8 *bytes, gsize n);

#endif
