/* column_label: the heading of a table's column for people, with its unit, made of its key: the titles of the
 * terminal are shortened to fit, and leave the unit to the neighbour. */
#ifndef TACHO_COLUMN_LABEL_H
#define TACHO_COLUMN_LABEL_H

#include <tacho/table.h>

/* "exposed_communication_ms" gives "exposed communication (ms)"; the caller's, to be freed with g_free(). */
gchar *column_label(const TachoColumn *column);

#endif
