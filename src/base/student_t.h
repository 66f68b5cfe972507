/* student_t: Student's t distribution, for tests of means. */
#ifndef TACHO_STUDENT_T_H
#define TACHO_STUDENT_T_H

#include <glib.h>

/* The probability that |T| >= |t| with `df` > 0 degrees of freedom, which need not be whole. */
gdouble student_t_two_sided(gdouble t, gdouble df);

/* The t > 0 that |T| exceeds with probability `p`, 0 < p < 1. */
gdouble student_t_critical(gdouble p, gdouble df);

#endif
