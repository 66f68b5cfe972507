/* calibrate: what `tacho calibrate` can measure, a function each (calibrations.def). They parse options of their own and return an exit
 * status. */
#ifndef TACHO_CALIBRATE_H
#define TACHO_CALIBRATE_H

#define CALIBRATION(name, description) int tacho_calibrate_##name##_main(int argc, char **argv);
#include "calibrations.def"
#undef CALIBRATION

#endif
