/* gml_graph: a directed graph of named nodes, as networkx writes it in GML: `node [ id 0 label "a" ]`,
 * `edge [ source 0 target 1 ]`. All else in the file is passed over. */
#ifndef TACHO_GML_GRAPH_H
#define TACHO_GML_GRAPH_H

#include <glib.h>

struct gml_edge {
	guint32 from, to; /* indexes into labels */
};

struct gml_graph {
	GPtrArray *labels; /* gchar */
	GArray *edges;	   /* struct gml_edge */
};

/* Read the file at `path`. NULL: it cannot be read, or there is no edge in it. */
struct gml_graph *gml_graph_read(const gchar *path);
void gml_graph_free(struct gml_graph *graph);

#endif
