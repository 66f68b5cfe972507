/* mean_difference: whether two means differ by more than their spread explains.
 *
 * Welch's t-test (B. L. Welch, The generalization of "Student's" problem when several different
 * population variances are involved, Biometrika 34, 1947), with the degrees of freedom of
 * Satterthwaite: a change often changes the spread as well as the mean. Where one side has a single
 * value, it has no spread of its own; the test is then Student's, with that of the other side.
 *
 * A thousand rows without any difference would have fifty with p < 0.05. So p-values of many rows are
 * adjusted so that among the rows called significant at most 5 % are expected to be so by chance
 * (Y. Benjamini, Y. Hochberg, Controlling the false discovery rate, J. R. Stat. Soc. B 57, 1995). */
#include "analyze/mean_difference.h"

#include <math.h>

#include "base/partition_point.h"
#include "base/student_t.h"

/* How often a difference that is there may be missed with as many values as are said to be needed. */
#define SHARE_MISSED 0.2

/* B. P. Welford, Note on a method for calculating corrected sums of squares and products,
 * Technometrics 4, 1962. */
void moments_add(struct moments *moments, gdouble value)
{
	gdouble before = value - moments->mean;

	moments->n++;
	moments->mean += before / (gdouble)moments->n;
	moments->squares += before * (value - moments->mean);
}

/* T. F. Chan, G. H. Golub, R. J. LeVeque, Updating formulae and a pairwise algorithm for computing
 * sample variances, 1979: two sets as one, where the second is zeros. */
void moments_add_zeros(struct moments *moments, guint64 n)
{
	gdouble before = (gdouble)moments->n, all = before + (gdouble)n;

	if (n == 0)
		return;
	moments->squares += moments->mean * moments->mean * before * (gdouble)n / all;
	moments->mean *= before / all;
	moments->n += n;
}

/* The error of the mean, squared; there are two values or more. */
static gdouble error_of_mean(const struct moments *moments)
{
	return moments->squares / (gdouble)(moments->n - 1) / (gdouble)moments->n;
}

/* The squared standard error of the difference, and its degrees of freedom; false: not known. */
static gboolean find_error(const struct moments *first, const struct moments *second,
			   gdouble *ret_error, gdouble *ret_df)
{
	gdouble n_first = (gdouble)first->n, n_second = (gdouble)second->n;
	gdouble a, b, df;

	if (first->n + second->n < 3)
		return FALSE;
	if (first->n == 1 || second->n == 1) {
		*ret_df = n_first + n_second - 2;
		*ret_error =
			(first->squares + second->squares) / *ret_df * (1 / n_first + 1 / n_second);
		return TRUE;
	}
	a = error_of_mean(first);
	b = error_of_mean(second);
	df = (a + b) * (a + b) / (a * a / (n_first - 1) + b * b / (n_second - 1));
	*ret_error = a + b;
	*ret_df = isfinite(df) ? df : MIN(n_first, n_second) - 1; /* squares too small, or large */
	return TRUE;
}

struct mean_difference mean_difference_test(const struct moments *first,
					    const struct moments *second)
{
	struct mean_difference result = { second->mean - first->mean, (gdouble)NAN, (gdouble)NAN,
					  (gdouble)NAN };
	gdouble error, df, margin;

	if (!find_error(first, second, &error, &df))
		return result;
	error = sqrt(error);
	margin = error > 0 ? error * student_t_critical(MEAN_DIFFERENCE_LEVEL, df) : 0;
	result.low = result.difference - margin;
	result.high = result.difference + margin;
	if (error > 0)
		result.p_value = student_t_two_sided(result.difference / error, df);
	else
		result.p_value = result.difference == 0; /* nothing ever varied */
	return result;
}

/* The difference that `n` values a side find in four of five trials: as many standard errors as the
 * test asks for, and beyond that what one trial in five falls short by. */
static gdouble least_found(gdouble variance, guint n)
{
	gdouble df = 2.0 * n - 2;
	gdouble errors = student_t_critical(MEAN_DIFFERENCE_LEVEL, df) +
			 student_t_critical(2 * SHARE_MISSED, df);

	return errors * sqrt(2 * variance / n);
}

guint mean_difference_values_needed(const struct moments *first, const struct moments *second)
{
	gdouble difference = fabs(second->mean - first->mean), variance;

	if (first->n + second->n < 3 || !(difference > 0))
		return 0;
	variance = (first->squares + second->squares) / (gdouble)(first->n + second->n - 2);
	if (difference < least_found(variance, MEAN_DIFFERENCE_MOST_VALUES))
		return 0;
	return PARTITION_POINT(n, 2u, (guint)MEAN_DIFFERENCE_MOST_VALUES,
			       !(difference >= least_found(variance, n)));
}

static gint compare_p_values(gconstpointer a, gconstpointer b, gpointer data)
{
	const gdouble *p_values = data;
	gdouble left = p_values[*(const guint *)a], right = p_values[*(const guint *)b];

	return (left > right) - (left < right);
}

void adjust_p_values(gdouble *p_values, guint n)
{
	g_autofree guint *order = g_new(guint, n);
	guint n_known = 0;
	gdouble least = 1;

	for (guint i = 0; i < n; i++)
		if (!isnan(p_values[i]))
			order[n_known++] = i;
	g_qsort_with_data(order, (gint)n_known, sizeof(guint), compare_p_values, p_values);
	for (guint rank = n_known; rank > 0; rank--) {
		gdouble *p_value = &p_values[order[rank - 1]];

		least = MIN(least, *p_value * n_known / rank);
		*p_value = least;
	}
}
