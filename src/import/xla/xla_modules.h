/* xla_modules: which programs of XLA ran on a host without devices, by their operations: each tells its module, which run of
 * it and for which of the host's devices. A run lasts from the begin of its first operation to the end of its last. */
#ifndef TACHO_XLA_MODULES_H
#define TACHO_XLA_MODULES_H

#include "import/import_format.h"
#include "import/xla/xplane_space.h"

struct xla_modules;

struct xla_modules *xla_modules_new(void);
void xla_modules_free(struct xla_modules *modules); /* NULL is fine */
/* An event of a thread, that may be of a module. */
void xla_modules_note(struct xla_modules *modules, const struct xplane_stats *stats,
		      gint64 start_ns, gint64 duration_ns);
/* Add a region for each run, on a track of its device. */
void xla_modules_add(const struct xla_modules *modules, struct import *import, guint32 process);

#endif
