/* svg: pictures with axes, written to a stream; numbers have a point, whatever the locale. */
#ifndef TACHO_SVG_H
#define TACHO_SVG_H

#include <glib.h>
#include <stdio.h>

void svg_begin(FILE *out, guint width, guint height);
void svg_end(FILE *out);
/* `before`, and the number behind it in a format as "%.1f". */
void svg_number(FILE *out, const gchar *before, gdouble value, const gchar *format);
/* A text at a place, which must have nothing in it that XML knows otherwise. `anchor`: "start", "middle", "end". */
void svg_text(FILE *out, gdouble x, gdouble y, const gchar *anchor, const gchar *text);
/* A line of an axis. */
void svg_line(FILE *out, gdouble x1, gdouble y1, gdouble x2, gdouble y2);
/* A point of that radius; `title` is shown when it is pointed at, or NULL. */
void svg_point(FILE *out, gdouble x, gdouble y, gdouble radius, const gchar *colour,
	       const gchar *title);

#endif
