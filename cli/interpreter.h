/* interpreter: which Python a command line runs. */
#ifndef TACHO_INTERPRETER_H
#define TACHO_INTERPRETER_H

#include <glib.h>

/* The Python of the first word that is one, or a script that one runs ("torchrun", "mpirun -n 4 python3 train.py"): its path.
 * NULL: no word tells. The caller's. */
gchar *interpreter_of_command(gchar **command);

#endif
