/* kernel_functions: what SQL can ask of a kernel of a device: its class, and what its operation computes and moves. */
#ifndef TACHO_KERNEL_FUNCTIONS_H
#define TACHO_KERNEL_FUNCTIONS_H

#include "query/query_data.h"

/* Make the functions known to `db`; `data` must outlive it. An SQLITE_ code. */
int kernel_functions_add(sqlite3 *db, struct query_data *data);

#endif
