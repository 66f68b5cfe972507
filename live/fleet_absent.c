/* fleet_absent: in place of fleet.c where tacho is built without libcurl: there are no other hosts. */
#include "live/fleet.h"

Fleet *fleet_new(const gchar *const *urls, const gchar *token, const gchar *ca_file, GError **error)
{
	(void)urls, (void)token, (void)ca_file;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSYS,
		    "this tacho was built without libcurl, and gathers nothing");
	return NULL;
}

void fleet_free(Fleet *fleet)
{
	(void)fleet;
}

void fleet_add_series(Fleet *fleet, LiveSeries *series)
{
	(void)fleet, (void)series;
}

void fleet_append_jobs(Fleet *fleet, GString *json)
{
	(void)fleet, (void)json;
}

gchar *fleet_hosts_json(Fleet *fleet)
{
	(void)fleet;
	return g_strdup("[]");
}

gchar *fleet_job_json(Fleet *fleet, guint id, gboolean *ret_is_known)
{
	(void)fleet, (void)id;
	*ret_is_known = FALSE;
	return NULL;
}
