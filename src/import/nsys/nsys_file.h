/* nsys_file: what the two halves of reading an export of Nsight Systems share: nsys_import.c knows the file
 * and what describes it, nsys_events.c the tables of events. */
#ifndef TACHO_NSYS_FILE_H
#define TACHO_NSYS_FILE_H

#include "import/read/sqlite_trace.h"
#include "import/track_book.h"

struct nsys_file {
	struct track_book *book;
	TachoTimeline *timeline;
	struct sqlite_trace *trace;
	struct sqlite_args *args;
	gchar **tables;
	GHashTable *strings;	 /* id of StringIds, gint64 -> string id + 1 */
	GHashTable *threads;	 /* globalTid, gint64 -> string id of its name */
	GHashTable *nodes;	 /* struct nsys_node, itself: what made the nodes of graphs */
	GHashTable *running;	 /* cpu + 1 -> struct running */
	GHashTable *metrics;	 /* typeId, metricId -> name */
	GHashTable *stacks;	 /* id of a sample -> string id of its stack */
	struct sqlite_rows rows; /* being read */
	guint args_table;	 /* ... of that table */
	gboolean
		has_end; /* which has a column `end`: where it is empty, something was still going on */
};

/* A node of a graph. Its process comes with it: ids are a process's own. */
struct nsys_node {
	gint64 process, id;
	gint64 original; /* the node it was cloned from; 0: none */
	guint32 row;	 /* of what made it */
};

guint nsys_node_hash(gconstpointer node);
gboolean nsys_node_equal(gconstpointer a, gconstpointer b);

static inline guint32 nsys_intern(struct nsys_file *file, const gchar *text)
{
	return tacho_timeline_intern(file->timeline, text, -1);
}

/* Read all tables of events, with what nsys_import.c has found out about strings, metrics and stacks. */
void nsys_events_read(struct nsys_file *file);

#endif
