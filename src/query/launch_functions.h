/* launch_functions: what SQL can ask of a slice of a device that its trace tells in args: how a kernel was launched, and
 * what a copy moved. */
#ifndef TACHO_LAUNCH_FUNCTIONS_H
#define TACHO_LAUNCH_FUNCTIONS_H

#include "query/query_data.h"

/* Make the functions known to `db`; `data` must outlive it. An SQLITE_ code. */
int launch_functions_add(sqlite3 *db, struct query_data *data);

#endif
