/* student_t: Student's t distribution, for tests of means.
 *
 * P(|T| >= t) = I_x(df/2, 1/2) with x = df / (df + t^2), the regularized incomplete beta function
 * (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 and 26.5.27); that by its
 * continued fraction (NIST Digital Library of Mathematical Functions, 8.17.22), evaluated from the
 * front with Lentz's method. The inverse is found by bisection: it is asked for once a row. */
#include "base/student_t.h"

#include <math.h>

#define MAX_TERMS      10000
#define PRECISION      1e-15
#define TINY	       1e-300 /* stands for a zero that would be divided by */
#define MAX_DF	       1e7    /* beyond it the normal distribution, to nine digits */
#define MAX_BISECTIONS 200

static gdouble not_zero(gdouble value)
{
	return fabs(value) < TINY ? TINY : value;
}

/* The n-th numerator of the fraction, n >= 1. */
static gdouble numerator(guint n, gdouble x, gdouble a, gdouble b)
{
	gdouble m = n / 2; /* whole */

	if (n % 2)
		return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
	return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/* 1 / (1 + d1 / (1 + d2 / (1 + ...))) */
static gdouble beta_fraction(gdouble x, gdouble a, gdouble b)
{
	gdouble value = 1, c = 1, d = 0;

	for (guint n = 1; n <= MAX_TERMS; n++) {
		gdouble term = numerator(n, x, a, b);

		d = 1 / not_zero(1 + term * d);
		c = not_zero(1 + term / c);
		value *= c * d;
		if (fabs(c * d - 1) < PRECISION)
			break;
	}
	return 1 / value;
}

static gdouble log_gamma(gdouble value)
{
	int sign;

	return lgamma_r(value, &sign); /* lgamma() writes a global variable */
}

/* I_x(a, b); `y` is 1 - x, which the caller knows more exactly. */
static gdouble incomplete_beta(gdouble x, gdouble y, gdouble a, gdouble b)
{
	gdouble front;

	if (x <= 0)
		return 0;
	if (y <= 0)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
	/* The fraction converges fast on this side of the mean only; the other is its mirror. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

gdouble student_t_two_sided(gdouble t, gdouble df)
{
	gdouble x, square = t * t;

	df = MIN(df, MAX_DF);
	if (isinf(square))
		return 0;
	x = df / (df + square);
	return CLAMP(incomplete_beta(x, square / (df + square), df / 2, 0.5), 0.0, 1.0);
}

gdouble student_t_critical(gdouble p, gdouble df)
{
	gdouble low = 0, high = 1;

	while (high < 1e150 && student_t_two_sided(high, df) > p)
		high *= 2;
	for (guint i = 0; i < MAX_BISECTIONS; i++) {
		gdouble middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (student_t_two_sided(middle, df) > p)
			low = middle;
		else
			high = middle;
	}
	return high;
}
