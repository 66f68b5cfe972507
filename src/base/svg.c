#include "base/svg.h"

void svg_begin(FILE *out, guint width, guint height)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" "
		"height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		width, height, width, height);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void svg_number(FILE *out, const gchar *before, gdouble value, const gchar *format)
{
	gchar text[G_ASCII_DTOSTR_BUF_SIZE];

	fprintf(out, "%s%s", before, g_ascii_formatd(text, sizeof(text), format, value));
}

void svg_text(FILE *out, gdouble x, gdouble y, const gchar *anchor, const gchar *text)
{
	svg_number(out, "<text x=\"", x, "%.1f");
	svg_number(out, "\" y=\"", y, "%.1f");
	fprintf(out, "\" text-anchor=\"%s\">%s</text>\n", anchor, text);
}

void svg_line(FILE *out, gdouble x1, gdouble y1, gdouble x2, gdouble y2)
{
	svg_number(out, "<line stroke=\"#ccc\" x1=\"", x1, "%.1f");
	svg_number(out, "\" y1=\"", y1, "%.1f");
	svg_number(out, "\" x2=\"", x2, "%.1f");
	svg_number(out, "\" y2=\"", y2, "%.1f");
	fputs("\"/>\n", out);
}

void svg_point(FILE *out, gdouble x, gdouble y, gdouble radius, const gchar *colour,
	       const gchar *title)
{
	svg_number(out, "<circle r=\"", radius, "%.3g");
	fprintf(out, "\" fill=\"%s\"", colour);
	svg_number(out, " cx=\"", x, "%.1f");
	svg_number(out, "\" cy=\"", y, "%.1f");
	if (title)
		fprintf(out, "\"><title>%s</title></circle>\n", title);
	else
		fputs("\"/>\n", out);
}
