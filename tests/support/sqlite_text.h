/* sqlite_text: SQLite files for tests, written as SQL. */
#ifndef TACHO_SQLITE_TEXT_H
#define TACHO_SQLITE_TEXT_H

#include <glib.h>

/* Write what the SQL makes into a file in a folder of its own; its path, to be ended with foreign_remove(). An
 * error ends the test. */
gchar *sqlite_text_write(const gchar *name, const gchar *sql);

#endif
