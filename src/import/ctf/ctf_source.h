/* ctf_source: the component of libbabeltrace2 that opens a CTF trace. */
#ifndef TACHO_CTF_SOURCE_H
#define TACHO_CTF_SOURCE_H

#include <babeltrace2/babeltrace.h>
#include <glib.h>

/* A source.ctf.fs of the trace in `folder`, owned by the graph; NULL: the trace is refused, for the reason that is the
 * thread's error. Its warnings are printed where `is_telling`. */
const bt_component_source *ctf_source_add(bt_graph *graph, const gchar *folder,
					  gboolean is_telling);

#endif
