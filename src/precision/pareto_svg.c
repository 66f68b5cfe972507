/* pareto_svg: the front as a picture: harm over the step, a point a plan, larger with more memory; the chosen one in another colour. */
#include <math.h>
#include <tacho/precision.h>

#include "base/svg.h"

#define WIDTH	   760
#define HEIGHT	   380
#define LEFT	   80
#define RIGHT	   30
#define TOP	   40
#define BOTTOM	   50
#define N_TICKS	   4
#define MIN_RADIUS 3.0
#define MAX_RADIUS 9.0
#define COLOUR	   "#4c78a8"
#define CHOSEN	   "#e45756"

struct range {
	gdouble low, high;
};

static struct range range_of(const TachoTable *table, const gchar *column)
{
	struct range range = { INFINITY, -INFINITY };

	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		gdouble value = tacho_table_cell_number(table, row, column);

		if (!isfinite(value))
			continue;
		range.low = MIN(range.low, value);
		range.high = MAX(range.high, value);
	}
	if (!(range.low <= range.high))
		range = (struct range){ 0, 1 };
	if (range.low == range.high)
		range.high += fabs(range.high) > 0 ? fabs(range.high) / 100 : 1;
	return range;
}

/* How far along the range a value is, 0 to 1; what is not known is at 0. */
static gdouble part_of(const struct range *range, gdouble value)
{
	return isfinite(value) ? (value - range->low) / (range->high - range->low) : 0;
}

static gdouble x_at(gdouble part)
{
	return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static gdouble y_at(gdouble part)
{
	return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void put_axes(FILE *out, const struct range *step, const struct range *harm)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	for (guint i = 0; i <= N_TICKS; i++) {
		gdouble part = (gdouble)i / N_TICKS;

		svg_line(out, LEFT, y_at(part), WIDTH - RIGHT, y_at(part));
		svg_text(out, LEFT - 6, y_at(part) + 4, "end",
			 g_ascii_formatd(text, sizeof(text), "%.3g",
					 harm->low + part * (harm->high - harm->low)));
		svg_line(out, x_at(part), TOP, x_at(part), HEIGHT - BOTTOM);
		svg_text(out, x_at(part), HEIGHT - BOTTOM + 18, "middle",
			 g_ascii_formatd(text, sizeof(text), "%.4g",
					 step->low + part * (step->high - step->low)));
	}
	svg_text(out, LEFT, TOP - 16, "start", "harm; larger points need more memory");
	svg_text(out, WIDTH - RIGHT, HEIGHT - 12, "end", "predicted step, ms");
}

/* "12.3 ms, harm 0.01, 5000000 bytes: bf16 12, fp32 3" */
static gchar *title_of(const TachoTable *table, guint row)
{
	gchar step[G_ASCII_DTOSTR_BUF_SIZE], harm[G_ASCII_DTOSTR_BUF_SIZE],
		bytes[G_ASCII_DTOSTR_BUF_SIZE];

	return g_strdup_printf("%s ms, harm %s, %s bytes: %s",
			       g_ascii_formatd(step, sizeof(step), "%.3f",
					       tacho_table_cell_number(table, row, "step_ms")),
			       g_ascii_formatd(harm, sizeof(harm), "%.3g",
					       tacho_table_cell_number(table, row, "harm")),
			       g_ascii_formatd(bytes, sizeof(bytes), "%.0f",
					       tacho_table_cell_number(table, row, "peak_bytes")),
			       tacho_table_cell_text(table, row, "formats"));
}

static void put_points(FILE *out, const TachoTable *table, const struct range *step,
		       const struct range *harm)
{
	struct range bytes = range_of(table, "peak_bytes");

	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		g_autofree gchar *title = title_of(table, row);
		gboolean is_chosen = tacho_table_cell_number(table, row, "is_chosen") == 1;

		svg_point(out, x_at(part_of(step, tacho_table_cell_number(table, row, "step_ms"))),
			  y_at(part_of(harm, tacho_table_cell_number(table, row, "harm"))),
			  MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) *
					       part_of(&bytes, tacho_table_cell_number(
								       table, row, "peak_bytes")),
			  is_chosen ? CHOSEN : COLOUR, title);
	}
}

void tacho_precision_plan_print_svg(const TachoPrecisionPlan *plan, FILE *out)
{
	svg_begin(out, WIDTH, HEIGHT);
	if (plan->front) {
		struct range step = range_of(plan->front, "step_ms");
		struct range harm = range_of(plan->front, "harm");

		put_axes(out, &step, &harm);
		put_points(out, plan->front, &step, &harm);
	} else {
		svg_text(out, WIDTH / 2.0, HEIGHT / 2.0, "middle", "no front was looked for");
	}
	svg_end(out);
}
