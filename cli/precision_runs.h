/* precision_runs: the recordings that parts of `tacho precision` are given. */
#ifndef TACHO_PRECISION_RUNS_H
#define TACHO_PRECISION_RUNS_H

#include <tacho/precision_job.h>

/* `tacho precision graph` and `tacho precision predict`: argv[0] is the part's name. They return an exit code. */
int tacho_precision_graph_main(int argc, char **argv);
int tacho_precision_predict_main(int argc, char **argv);

/* Open the job of the recordings in argv[1..] and in `more` (values of --run; may be NULL), with files of casts and of kernels, or NULL; prints
 * what is wrong with `command` before it and returns NULL. */
TachoPrecisionJob *precision_runs_open(const gchar *command, int argc, char **argv, gchar **more,
				       const gchar *casts, const gchar *registry);

#endif
