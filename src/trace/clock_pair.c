#include "trace/clock_pair.h"

#include "base/for_each.h"
#include "base/quantile.h"
#include "base/feasible_lines.h"

/* Times are whole nanoseconds, cut off. */
#define ROUNDING_NS 1.0
/* Steps of the search for a slope; each leaves 0.618 of what was left. */
#define N_SLOPE_STEPS 80
#define GOLDEN	      0.6180339887498949

void clock_pair_release(struct clock_pair *pair)
{
	g_clear_pointer(&pair->above, g_array_unref);
	g_clear_pointer(&pair->below, g_array_unref);
}

static void add_bound(GArray **bounds, gint64 own_ns, gint64 reference_ns)
{
	struct clock_bound bound = { own_ns, clock_map_add(reference_ns, -own_ns) };

	if (!*bounds)
		*bounds = g_array_new(FALSE, FALSE, sizeof(struct clock_bound));
	g_array_append_val(*bounds, bound);
}

void clock_pair_add_before(struct clock_pair *pair, gint64 own_ns, gint64 reference_ns)
{
	add_bound(&pair->above, own_ns, reference_ns);
}

void clock_pair_add_after(struct clock_pair *pair, gint64 own_ns, gint64 reference_ns)
{
	add_bound(&pair->below, own_ns, reference_ns);
}

static void add_bounds(GArray **bounds, const GArray *more)
{
	if (!more)
		return;
	if (!*bounds)
		*bounds = g_array_new(FALSE, FALSE, sizeof(struct clock_bound));
	g_array_append_vals(*bounds, more->data, more->len);
}

void clock_pair_add_all(struct clock_pair *pair, const struct clock_pair *more)
{
	add_bounds(&pair->above, more->above);
	add_bounds(&pair->below, more->below);
}

/* By how much the map contradicts the bound; negative: it leaves so much. */
static gint64 contradiction_ns(const struct clock_bound *bound, const struct clock_map *map,
			       gint sign)
{
	gint64 by_ns = clock_map_add(clock_map_apply(map, bound->own_ns), -bound->own_ns);

	return sign * clock_map_add(by_ns, -bound->correction_ns);
}

static guint32 drop_false(GArray *bounds, const struct clock_map *map, gint sign)
{
	g_autoptr(GArray) slacks_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
	guint n_kept = 0, n = bounds ? bounds->len : 0;
	gdouble usual_ns;

	for (guint i = 0; i < n; i++) {
		gint64 by_ns =
			contradiction_ns(&g_array_index(bounds, struct clock_bound, i), map, sign);

		by_ns = MAX(-by_ns, 0);
		g_array_append_val(slacks_ns, by_ns);
	}
	usual_ns = quantile(slacks_ns, 0.5) + ROUNDING_NS;
	for (guint i = 0; i < n; i++) {
		struct clock_bound bound = g_array_index(bounds, struct clock_bound, i);

		if ((gdouble)contradiction_ns(&bound, map, sign) <= usual_ns)
			g_array_index(bounds, struct clock_bound, n_kept++) = bound;
	}
	if (bounds)
		g_array_set_size(bounds, n_kept);
	return n - n_kept;
}

guint32 clock_pair_drop_false(struct clock_pair *pair, const struct clock_map *map)
{
	return drop_false(pair->above, map, 1) + drop_false(pair->below, map, -1);
}

guint32 clock_pair_n_bounds(const struct clock_pair *pair)
{
	return (pair->above ? pair->above->len : 0) + (pair->below ? pair->below->len : 0);
}

/* --- numbers that a double can hold ---------------------------------------------------------- */

/* The bounds over [0, 1], around a height that most of them are near. */
struct problem {
	gint64 from_ns, base_ns;
	gdouble span_ns;
	GArray *above, *below; /* struct line_point */
};

static void problem_release(struct problem *problem)
{
	g_clear_pointer(&problem->above, g_array_unref);
	g_clear_pointer(&problem->below, g_array_unref);
}

static gint compare_corrections(gconstpointer a, gconstpointer b)
{
	gint64 left = ((const struct clock_bound *)a)->correction_ns;
	gint64 right = ((const struct clock_bound *)b)->correction_ns;

	return left < right ? -1 : left > right;
}

static gint64 median_correction(GArray *bounds)
{
	g_array_sort(bounds, compare_corrections);
	return g_array_index(bounds, struct clock_bound, bounds->len / 2).correction_ns;
}

static void widen_span(const GArray *bounds, gint64 *from_ns, gint64 *to_ns)
{
	for (guint i = 0; i < bounds->len; i++) {
		gint64 own_ns = g_array_index(bounds, struct clock_bound, i).own_ns;

		*from_ns = MIN(*from_ns, own_ns);
		*to_ns = MAX(*to_ns, own_ns);
	}
}

static GArray *make_points(const struct problem *problem, const GArray *bounds)
{
	GArray *points =
		g_array_sized_new(FALSE, FALSE, sizeof(struct line_point), bounds->len + 1);

	FOR_EACH(const struct clock_bound, bound, bounds) {
		struct line_point point = {
			(gdouble)clock_map_add(bound->own_ns, -problem->from_ns) / problem->span_ns,
			(gdouble)clock_map_add(bound->correction_ns, -problem->base_ns)
		};

		g_array_append_val(points, point);
	}
	return points;
}

static void problem_init(struct problem *problem, const struct clock_pair *pair, gint64 from_ns,
			 gint64 to_ns)
{
	widen_span(pair->above, &from_ns, &to_ns);
	widen_span(pair->below, &from_ns, &to_ns);
	problem->from_ns = from_ns;
	problem->span_ns = MAX((gdouble)clock_map_add(to_ns, -from_ns), 1.0);
	/* Between the two medians, as long as less than half of the bounds are false. */
	problem->base_ns = median_correction(pair->below) / 2 + median_correction(pair->above) / 2;
	problem->above = make_points(problem, pair->above);
	problem->below = make_points(problem, pair->below);
}

static gdouble max_slope(const struct problem *problem)
{
	return CLOCK_PAIR_MAX_DRIFT * problem->span_ns;
}

/* --- the line with the least sum of violations: (2) ------------------------------------------ */

struct line {
	gdouble height, slope; /* at 0; over [0, 1] */
};

/* How far the point is on the wrong side; `sign` 1: it should be above the line. */
static gdouble violation(const struct line_point *point, const struct line *line, gdouble sign)
{
	return sign * (line->height + line->slope * point->at - point->height);
}

static gdouble sum_violations(const GArray *points, const struct line *line, gdouble sign)
{
	gdouble sum = 0;

	for (guint i = 0; i < points->len; i++)
		sum += MAX(violation(&g_array_index(points, struct line_point, i), line, sign), 0);
	return sum;
}

static void collect_heights(const GArray *points, gdouble slope, GArray *heights)
{
	FOR_EACH(const struct line_point, point, points) {
		gdouble height = point->height - slope * point->at;

		g_array_append_val(heights, height);
	}
}

/* The `nth` smallest of the values, which it puts in another order: Hoare, "Find" (CACM 4, 1961). */
static gdouble select_nth(gdouble *values, guint n, guint nth)
{
	guint first = 0, last = n - 1;

	while (first < last) {
		gdouble pivot = values[first + (last - first) / 2];
		guint i = first, j = last;

		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			gdouble value = values[i];
			values[i++] = values[j];
			values[j--] = value;
		}
		/* What is left of j is not above the pivot, what is right of it not below. */
		if (nth <= j)
			last = j;
		else
			first = j + 1;
	}
	return values[nth];
}

/* The best line of that slope. Moving it up violates more of those above and fewer of those below;
 * the two numbers are equal where as many heights are under the line as there are points below. */
static gdouble best_of_slope(const struct problem *problem, GArray *heights, struct line *line)
{
	guint n_below = problem->below->len;

	g_array_set_size(heights, 0);
	collect_heights(problem->above, line->slope, heights);
	collect_heights(problem->below, line->slope, heights);
	line->height = select_nth((gdouble *)heights->data, heights->len, n_below - 1);
	return sum_violations(problem->above, line, 1) + sum_violations(problem->below, line, -1);
}

/* The sum is convex in the slope, so halving what is left by the golden section finds the least:
 * Kiefer, "Sequential minimax search for a maximum" (Proc. AMS 4, 1953). */
static struct line least_violating(const struct problem *problem)
{
	g_autoptr(GArray) heights = g_array_new(FALSE, FALSE, sizeof(gdouble));
	gdouble low = -max_slope(problem), high = max_slope(problem);
	struct line left = { .slope = high - GOLDEN * (high - low) };
	struct line right = { .slope = low + GOLDEN * (high - low) };
	gdouble left_sum = best_of_slope(problem, heights, &left);
	gdouble right_sum = best_of_slope(problem, heights, &right);

	for (guint i = 0; i < N_SLOPE_STEPS; i++) {
		if (left_sum <= right_sum) {
			high = right.slope;
			right = left;
			right_sum = left_sum;
			left.slope = high - GOLDEN * (high - low);
			left_sum = best_of_slope(problem, heights, &left);
		} else {
			low = left.slope;
			left = right;
			left_sum = right_sum;
			right.slope = low + GOLDEN * (high - low);
			right_sum = best_of_slope(problem, heights, &right);
		}
	}
	return left_sum <= right_sum ? left : right;
}

static void drop_violated(GArray *points, const struct line *line, gdouble sign, GArray *violations)
{
	guint n_kept = 0;

	FOR_EACH(struct line_point, point, points) {
		gdouble by_ns = violation(point, line, sign);

		if (by_ns > ROUNDING_NS)
			g_array_append_val(violations, by_ns);
		else
			g_array_index(points, struct line_point, n_kept++) = *point;
	}
	g_array_set_size(points, n_kept);
}

/* --- the fit --------------------------------------------------------------------------------- */

static guint32 n_tolerated(guint32 n_bounds)
{
	return MAX((guint32)(CLOCK_PAIR_TOLERATED * n_bounds), CLOCK_PAIR_TOLERATE_N);
}

gboolean clock_fit_is_doubtful(const struct clock_fit *fit)
{
	return fit->n_contradicted > n_tolerated(fit->n_bounds);
}

/* (3): by how much the line contradicts all but the worst that are tolerated. */
static gdouble excess_ns(GArray *violations, guint32 n_bounds)
{
	guint32 n_worst = n_tolerated(n_bounds);

	if (violations->len <= n_worst)
		return 0;
	return select_nth((gdouble *)violations->data, violations->len,
			  violations->len - 1 - n_worst);
}

static gint64 to_ns(gdouble half_width_ns)
{
	gdouble most_ns = (gdouble)TACHO_MAX_TIME_NS; /* rounded up */

	return MIN((gint64)MIN(ceil(half_width_ns + ROUNDING_NS), most_ns), TACHO_MAX_TIME_NS);
}

/* The moment at `share` of the span. */
static gint64 moment_at(const struct problem *problem, gdouble share)
{
	gdouble since_ns = MIN(share * problem->span_ns, (gdouble)TACHO_MAX_TIME_NS);

	return clock_map_add(problem->from_ns, (gint64)since_ns);
}

static void set_fit(struct clock_fit *fit, const struct problem *problem,
		    const struct feasible_lines *lines, gdouble further_ns)
{
	fit->map.pivot_ns = problem->from_ns;
	fit->map.shift_ns = clock_map_add(problem->base_ns, llrint(lines->at_0));
	fit->map.drift = (lines->at_1 - lines->at_0) / problem->span_ns;
	fit->from_ns = problem->from_ns;
	fit->to_ns = moment_at(problem, 1);
	fit->inner_from_ns = moment_at(problem, lines->inner_from);
	fit->inner_to_ns = moment_at(problem, lines->inner_to);
	fit->uncertainty_ns = to_ns(lines->half_width + further_ns);
	fit->inner_uncertainty_ns = to_ns(lines->inner_half_width + further_ns);
	fit->drift_uncertainty = lines->slope_half_width / problem->span_ns;
}

/* The line in the middle once what the best line violates is gone. It keeps the others but for what
 * doubles are short of: give them that. */
static gboolean fit_without_violated(struct clock_fit *fit, struct problem *problem)
{
	g_autoptr(GArray) violations = g_array_new(FALSE, FALSE, sizeof(gdouble));
	struct line line = least_violating(problem);
	struct feasible_lines lines;
	gdouble slack_ns = ROUNDING_NS;

	drop_violated(problem->above, &line, 1, violations);
	drop_violated(problem->below, &line, -1, violations);
	if (problem->above->len == 0 || problem->below->len == 0)
		return FALSE;
	while (!feasible_lines_find(&lines, problem->above, problem->below, slack_ns,
				    max_slope(problem)))
		slack_ns *= 2;
	fit->n_contradicted = violations->len;
	set_fit(fit, problem, &lines,
		slack_ns - ROUNDING_NS + excess_ns(violations, fit->n_bounds));
	return TRUE;
}

gboolean clock_pair_fit(const struct clock_pair *pair, gint64 from_ns, gint64 to_ns,
			struct clock_fit *ret_fit)
{
	struct clock_fit fit = { .n_bounds = clock_pair_n_bounds(pair) };
	struct feasible_lines lines;
	struct problem problem;
	gboolean is_found = TRUE;

	if (!pair->above || !pair->below)
		return FALSE;
	problem_init(&problem, pair, from_ns, to_ns);
	if (feasible_lines_find(&lines, problem.above, problem.below, ROUNDING_NS,
				max_slope(&problem)))
		set_fit(&fit, &problem, &lines, 0);
	else
		is_found = fit_without_violated(&fit, &problem);
	problem_release(&problem);
	if (is_found)
		*ret_fit = fit;
	return is_found;
}
