/* fleet: the jobs of other hosts, as their `tacho serve` tells of them. Without libcurl there are none (fleet_absent.c).
 *
 * (1) Hosts are asked by a thread of its own, all at once; one that is slow or gone holds up nobody. Each is asked every two seconds, and
 *     less and less often while it fails.
 * (2) Nothing of an answer is handed on as it is: what is known of it is read and written anew, bounded in bytes, jobs and ranks.
 * (3) A host is asked for its own jobs alone, never for those that it gathers: so a circle of hosts ends where it began.
 * (4) Ids: FLEET_IDS times the number of the host, from 1, and the id that the host has for the job. */
#ifndef TACHO_FLEET_H
#define TACHO_FLEET_H

#include "base/json_writer.h"
#include "live/live_series.h"

#define FLEET_IDS	1000000
#define FLEET_MAX_HOSTS 64
#define FLEET_OWN	"own" /* the argument by which a host is asked for its own jobs alone: (3) */

typedef struct _Fleet Fleet;

/* `token`, `ca_file`: NULL: none, the system's. False URLs, and too many, are errors. */
Fleet *fleet_new(const gchar *const *urls, const gchar *token, const gchar *ca_file,
		 GError **error);
void fleet_free(Fleet *fleet);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fleet, fleet_free)

/* What is known of them now; for any thread. `fleet` may be NULL: there are none. */
void fleet_add_series(Fleet *fleet, LiveSeries *series);
/* The rows of their jobs, each with its comma before it, as members of an open array in JSON. */
void fleet_append_jobs(Fleet *fleet, GString *json);
/* The hosts, as an array in JSON. The caller's. */
gchar *fleet_hosts_json(Fleet *fleet);
/* What a host last said of a job, as JSON: the caller's; NULL: nothing yet. The host is asked for it for a while. `ret_is_known`: there is
 * such a job. */
gchar *fleet_job_json(Fleet *fleet, guint id, gboolean *ret_is_known);

#endif
