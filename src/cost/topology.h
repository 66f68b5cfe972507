/* topology: what ranks speak over, from inside out: the links within a host, those of a host, of a rack ...
 *
 * Read from a file (docs/what-if.md):
 *
 *     [host]
 *     size = 8                  ranks of a host
 *     bandwidth = 200gbit       of each rank's link within it
 *     latency = 3us
 *     [network]                 no size: as many hosts as it takes
 *     bandwidth = 100gbit       of each host's link
 *     latency = 10us
 */
#ifndef TACHO_TOPOLOGY_H
#define TACHO_TOPOLOGY_H

#include <glib.h>

/* The levels of a topology, at most.
 * Source: a rule: device, host, rack, network. If wrong, a deeper network must be written with fewer levels. */
#define TOPOLOGY_MAX_LEVELS 4
/* The ranks of a topology, at most.
 * Source: a rule: more ranks than jobs have. If wrong, more are refused. */
#define TOPOLOGY_MAX_RANKS (1u << 20)

struct topology_level {
	guint32 size;	     /* how many of the level below make one of this; 0: any number */
	gdouble ns_per_byte; /* of the link of each of the level below; 0: not said */
	gdouble latency_ns;  /* one way; less than 0: not said */
};

struct topology {
	guint32 n_levels; /* 0: nothing is known of it */
	struct topology_level levels[TOPOLOGY_MAX_LEVELS];
};

/* How many take part at each level where `n_ranks` do in all; 1: the level is not used. */
void topology_spread(const struct topology *topology, guint32 n_ranks, guint32 *ret_sizes);
/* More ranks than there is room for. */
gboolean topology_is_full(const struct topology *topology, guint32 n_ranks);

#define TOPOLOGY_ERROR topology_error_quark()
GQuark topology_error_quark(void);

/* Not a file, not of this form, or a value that cannot be: the message names file and line or level. */
gboolean topology_read(struct topology *topology, const gchar *path, GError **error);

#endif
