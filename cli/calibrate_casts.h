/* calibrate_casts: tacho calibrate casts. */
#ifndef TACHO_CALIBRATE_CASTS_H
#define TACHO_CALIBRATE_CASTS_H

/* As a command: returns its exit code. argv[0] is "casts". */
int tacho_calibrate_casts_main(int argc, char **argv);

#endif
