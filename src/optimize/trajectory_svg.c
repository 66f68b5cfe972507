/* trajectory_svg: how a search went, as a picture: the best step over the tries, which stand on a logarithmic axis: a line of the search's
 * own model, and one of the replay. A point is where a better partition was found, in the colour of the way that found it. */
#include <tacho/optimize.h>

#include <math.h>
#include <string.h>

#include "base/svg.h"

#define WIDTH	 760
#define HEIGHT	 380
#define LEFT	 70
#define RIGHT	 150
#define TOP	 30
#define BOTTOM	 50
#define MAX_WAYS 12

static const gchar *const colours[MAX_WAYS] = { "#4c78a8", "#f58518", "#54a24b", "#e45756",
						"#72b7b2", "#b279a2", "#9d755d", "#eeca3b",
						"#79706e", "#d67195", "#439894", "#83bcb6" };

struct picture {
	const TachoTable *table;
	FILE *out;
	gdouble most_tries, low_ms, high_ms;
	const gchar *ways[MAX_WAYS];
	guint n_ways;
};

static gdouble x_of(const struct picture *picture, gdouble tries)
{
	gdouble share = log(MAX(tries, 1.0)) / log(MAX(picture->most_tries, 2.0));

	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static gdouble y_of(const struct picture *picture, gdouble step_ms)
{
	gdouble span = picture->high_ms - picture->low_ms;

	return TOP + (picture->high_ms - step_ms) / (span > 0 ? span : 1) * (HEIGHT - TOP - BOTTOM);
}

static gdouble number(const struct picture *picture, guint row, const gchar *column)
{
	return tacho_table_cell_number(picture->table, row, column);
}

/* Its number among the ways, which it gets where it has none; the last one where there are too many. */
static guint way_of(struct picture *picture, guint row)
{
	const gchar *name = tacho_table_cell_text(picture->table, row, "strategy");

	for (guint i = 0; i < picture->n_ways; i++)
		if (strcmp(picture->ways[i], name) == 0)
			return i;
	if (picture->n_ways == MAX_WAYS)
		return MAX_WAYS - 1;
	picture->ways[picture->n_ways] = name;
	return picture->n_ways++;
}

static void find_range(struct picture *picture)
{
	picture->low_ms = INFINITY;
	picture->high_ms = -INFINITY;
	for (guint row = 0; row < tacho_table_n_rows(picture->table); row++) {
		gdouble step_ms = number(picture, row, "step_ms");

		if (!isfinite(step_ms))
			continue;
		picture->most_tries = MAX(picture->most_tries, number(picture, row, "tries"));
		picture->low_ms = MIN(picture->low_ms, step_ms);
		picture->high_ms = MAX(picture->high_ms, step_ms);
	}
	if (picture->high_ms <= picture->low_ms) {
		picture->low_ms -= picture->low_ms * 0.01;
		picture->high_ms += picture->high_ms * 0.01;
	}
}

static void put_axes(const struct picture *picture)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	for (guint i = 0; i <= 4; i++) {
		gdouble step_ms = picture->low_ms + (picture->high_ms - picture->low_ms) * i / 4.0;

		svg_line(picture->out, LEFT, y_of(picture, step_ms), WIDTH - RIGHT,
			 y_of(picture, step_ms));
		svg_text(picture->out, LEFT - 6, y_of(picture, step_ms) + 4, "end",
			 g_ascii_formatd(text, sizeof(text), "%.4g", step_ms));
	}
	for (gdouble tries = 1; tries <= picture->most_tries; tries *= 10) {
		svg_line(picture->out, x_of(picture, tries), TOP, x_of(picture, tries),
			 HEIGHT - BOTTOM);
		svg_text(picture->out, x_of(picture, tries), HEIGHT - BOTTOM + 18, "middle",
			 g_ascii_formatd(text, sizeof(text), "%.0f", tries));
	}
	svg_text(picture->out, LEFT, TOP - 12, "start", "best step so far, ms");
	svg_text(picture->out, WIDTH - RIGHT, HEIGHT - 12, "end", "tries");
}

/* What one judge said: steps down. */
static void put_course(struct picture *picture, const gchar *judge, const gchar *dashes)
{
	gboolean is_first = TRUE;

	fprintf(picture->out, "<path fill=\"none\" stroke=\"#555\" stroke-dasharray=\"%s\" d=\"",
		dashes);
	for (guint row = 0; row < tacho_table_n_rows(picture->table); row++) {
		if (strcmp(tacho_table_cell_text(picture->table, row, "judged_by"), judge) != 0 ||
		    !isfinite(number(picture, row, "step_ms")))
			continue;
		svg_number(picture->out, is_first ? "M" : "H",
			   x_of(picture, number(picture, row, "tries")), "%.1f");
		svg_number(picture->out, is_first ? "," : "V",
			   y_of(picture, number(picture, row, "step_ms")), "%.1f");
		is_first = FALSE;
	}
	if (!is_first) /* nothing better was found up to the end */
		svg_number(picture->out, "H", WIDTH - RIGHT, "%.1f");
	fputs("\"/>\n", picture->out);
}

static void put_points(struct picture *picture)
{
	for (guint row = 0; row < tacho_table_n_rows(picture->table); row++) {
		if (!isfinite(number(picture, row, "step_ms")))
			continue;
		svg_point(picture->out, x_of(picture, number(picture, row, "tries")),
			  y_of(picture, number(picture, row, "step_ms")), 3,
			  colours[way_of(picture, row)], NULL);
	}
}

static void put_legend(const struct picture *picture)
{
	gdouble y = TOP + 10;

	svg_text(picture->out, WIDTH - RIGHT + 14, y, "start", "dashed: model");
	svg_text(picture->out, WIDTH - RIGHT + 14, y + 18, "start", "whole: replay");
	for (guint i = 0; i < picture->n_ways; i++) {
		svg_point(picture->out, WIDTH - RIGHT + 18, y + 40 + 18 * i, 3, colours[i], NULL);
		svg_text(picture->out, WIDTH - RIGHT + 28, y + 44 + 18 * i, "start",
			 picture->ways[i]);
	}
}

void tacho_optimization_print_svg(const TachoOptimization *optimization, FILE *out)
{
	struct picture picture = { .table = optimization->trajectory, .out = out };

	svg_begin(out, WIDTH, HEIGHT);
	find_range(&picture);
	if (picture.most_tries > 0) {
		put_axes(&picture);
		put_course(&picture, "model", "4 3");
		put_course(&picture, "replay", "none");
		put_points(&picture);
		put_legend(&picture);
	} else {
		svg_text(out, WIDTH / 2.0, HEIGHT / 2.0, "middle", "nothing was searched");
	}
	svg_end(out);
}
