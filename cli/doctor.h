/* doctor: the parts of `tacho doctor`, each of which tries things and adds what it found. */
#ifndef TACHO_DOCTOR_H
#define TACHO_DOCTOR_H

#include "diagnosis.h"

/* The machine: clock, room in `folder` for a run, limits, filters of system calls, what is preloaded already. */
void doctor_machine(Diagnosis *diagnosis, const gchar *folder);

/* What can be recorded: of the smallest job; then of the Python that `command` (NULL: none) runs, or that is called `python`
 * (NULL: the first on the PATH). Runs are made in `scratch`. */
void doctor_probes(Diagnosis *diagnosis, gchar **command, const gchar *python,
		   const gchar *scratch);

/* Accelerators: whether their drivers are here. */
void doctor_devices(Diagnosis *diagnosis);

/* What can be read and written, with the run that doctor_probes() left in `scratch`, and the tools that open it. */
void doctor_formats(Diagnosis *diagnosis, const gchar *scratch);

#define DOCTOR_RUN "smallest.tacho" /* in `scratch` */

#endif
