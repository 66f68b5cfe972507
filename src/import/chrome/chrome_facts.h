/* chrome_facts: what stands around "traceEvents": who was profiled, and by which clock. */
#ifndef TACHO_CHROME_FACTS_H
#define TACHO_CHROME_FACTS_H

#include <glib.h>

/* A process group of "distributedInfo"."pg_config". */
struct kineto_group {
	gchar *name, *ranks; /* ranks: "[0, 1]" */
};

/* A member that nothing here reads. */
struct kineto_property {
	gchar *key, *json;
};

struct chrome_facts {
	gboolean is_object; /* the array is a member, not all there is */
	gboolean has_distributed_info;
	gint32 rank, world_size; /* -1: not told */
	guint n_devices;	 /* in "deviceProperties": that the process could see */
	gsize head_offset;	 /* how far the head could be read */
	gint64 base_ns;		 /* "baseTimeNanoseconds": all times are since then */
	gchar *host;		 /* NULL: not told */
	GArray *groups;		 /* struct kineto_group */
	GArray *properties;	 /* struct kineto_property, in their order */
};

void chrome_facts_init(struct chrome_facts *facts);
void chrome_facts_release(struct chrome_facts *facts);

/* Read a head as json_chunks wants it (JsonHead); `facts` is a struct chrome_facts, and is begun anew. */
gboolean chrome_facts_read_head(const gchar *bytes, gsize n, gboolean is_all, gpointer facts,
				gsize *ret_n_head);
/* Read the members behind the array, which `bytes` begins with, JSON_PADDING behind it; false: they are
 * broken or not complete at `ret_offset`. */
gboolean chrome_facts_read_tail(struct chrome_facts *facts, const gchar *bytes, gsize n,
				gsize *ret_offset);

#endif
