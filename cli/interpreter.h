/* interpreter: which Python a command line runs. */
#ifndef TACHO_INTERPRETER_H
#define TACHO_INTERPRETER_H

#include <glib.h>

/* The Python of the first word that is one, or a script that one runs ("torchrun", "mpirun -n 4 python3 train.py"): its path.
 * NULL: no word tells. The caller's. */
gchar *interpreter_of_command(gchar **command);
/* Run a script of tacho_hook with an argument in that Python: what it says against it, or NULL: nothing, or there is nobody to
 * ask. A script says so on its output, and ends with 1; what is wrong with the Python, the job will say itself. The caller's. */
gchar *interpreter_ask(gchar **command, const gchar *as, const gchar *script,
		       const gchar *argument);

#endif
